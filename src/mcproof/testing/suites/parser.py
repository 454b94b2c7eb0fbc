"""Parse a suite; all its problems are reported, with their locations, before anything is started.

Why suites are checked first: docs/decisions/0020-suites-are-checked-first.md.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from mcproof.client.redaction import hiding_whole
from mcproof.core.errors import nearest
from mcproof.core.observations.probes import CHECKS
from mcproof.testing.suites import model, paths
from mcproof.testing.suites.entries import (
    ExpectationParser,
    check_references,
    read_answers,
    read_command,
    read_server,
    read_steps,
)
from mcproof.testing.suites.loading import (
    SHOWN,
    Fields,
    load,
    members_of,
    nodes_of,
    substituted,
    suite_schema,
    value_of,
)
from mcproof.testing.suites.model import (
    Expect,
    Expectation,
    FuzzBlock,
    NegativePathBlock,
    ServerEntry,
    Step,
    Suite,
    SuiteError,
    SuiteLocation,
    SuiteProblem,
    SuiteTest,
)
from mcproof.testing.suites.paths import quality_refusal, refusal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcproof.client.questions import Answer
    from mcproof.core.text.yaml_document import Node

_SUBJECTS = {"tools": "tool", "resources": "uri", "prompts": "prompt"}
"""The key that names the subject of a test."""
_MOST_HINTS = 100
"""Maximum number of unknown servers that get a suggestion."""


def read_suite(file: str, environment: Mapping[str, str] | None, overrides: Mapping[str, bytes] | None = None) -> Suite:
    """Parse a suite and its imports. Raises SuiteError with all problems.

    Without an environment nothing will be started, and unset variables are not problems. `overrides` replaces the
    content of files, by their real paths.
    """
    problems: list[SuiteProblem] = []
    documents = load(file, problems, overrides)
    if not documents:
        raise SuiteError(problems)
    secrets: list[str] = []
    parser = _SuiteParser(problems)
    for fields, root in substituted(documents, environment, problems, secrets):
        parser.add(fields, root)
    suite = parser.suite(file, secrets, tuple(document.file for document in documents))
    if problems:
        # Imported files were parsed first; the problems of the user's own file are listed first.
        order = {document.file: number for number, document in enumerate(reversed(documents))}
        problems.sort(key=lambda problem: (order.get(problem.file, 0), problem.line or 0, problem.column or 0))
        # Messages may quote values of the environment: docs/decisions/0012-no-environment-values.md.
        hide = hiding_whole(secrets)
        raise SuiteError(list(dict.fromkeys(problem._replace(message=hide(problem.message)) for problem in problems)))
    return suite


class _SuiteParser:
    """Collects the servers, tests and steps of documents in which variables are substituted."""

    def __init__(self, problems: list[SuiteProblem]) -> None:
        self._problems = problems
        self._servers: dict[str, ServerEntry] = {}
        self._tests: list[SuiteTest] = []
        self._names: dict[tuple[str, str], SuiteLocation] = {}
        self._used: list[tuple[str, SuiteLocation]] = []
        """References to servers, checked once all documents are parsed."""
        self._setup: list[Step] = []
        self._teardown: list[Step] = []
        self._answers: tuple[Answer, ...] = ()
        """Those of an importing file come before those of the imported one."""
        self._expectations = ExpectationParser()

    def add(self, fields: Fields, document: Node) -> None:
        """Parse one document."""
        members = members_of(fields.fitting(document, "a suite", suite_schema().root))
        servers = members.get("servers")
        for name, node in members_of(servers).items():
            self._server(fields, name, node, servers.keys[name] if servers is not None else (1, 1))
        for key, steps in (("setup", self._setup), ("teardown", self._teardown)):
            steps += [step for node in nodes_of(members.get(key)) if (step := self._step(fields, node))]
        check_references(fields, members.get("answers"), ())
        # What is closer to the user comes first, and the first answer that fits is sent.
        self._answers = (*read_answers(fields, members.get("answers")), *self._answers)
        for block in model.BLOCKS:
            for node in nodes_of(members.get(block)):
                self._test(fields, block, node)

    def suite(self, file: str, secrets: list[str], files: tuple[str, ...]) -> Suite:
        """Return the suite; records problems that concern several documents."""
        names = list(self._servers)
        expected = f"expected one of {', '.join(names)}" if names else "there is no `servers` block"
        hints: dict[str, str] = {}
        for name, location in self._used:
            if name not in self._servers:
                if name not in hints:
                    hints[name] = nearest(name, names) if len(hints) < _MOST_HINTS else ""
                self._problems.append(
                    SuiteProblem(*location, f"unknown server `{name[:SHOWN]}`{hints[name]}; {expected}")
                )
        self._check_annotations()
        if not self._tests and not self._problems:
            what = f"no tests; add one of {', '.join(model.BLOCKS)}"
            self._problems.append(SuiteProblem(file, 1, 1, what))
        return Suite(
            file=file,
            servers=self._servers,
            tests=tuple(self._tests),
            setup=tuple(self._setup),
            teardown=tuple(self._teardown),
            secrets=tuple(dict.fromkeys(secrets)),
            folder=os.path.dirname(os.path.abspath(file)),
            files=files,
            answers=self._answers,
        )

    def _check_annotations(self) -> None:
        """Record annotations of tools that no test names."""
        for entry in self._servers.values():
            named = [test.subject for test in self._tests if test.block == "tools" and test.server == entry.name]
            for tool, hints in entry.annotations.items():
                if tool not in named and not any("${" in name for name in named):
                    tested = list(dict.fromkeys(named))
                    what = f"no test of the server `{entry.name[:SHOWN]}` names the tool `{tool[:SHOWN]}`"
                    self._problems.append(SuiteProblem(*hints.location, f"{what}{nearest(tool, tested)}"))

    def _server(self, fields: Fields, name: str, node: Node, key: tuple[int, int]) -> None:
        entry = read_server(fields, name, node, key)
        first = self._servers.setdefault(name, entry).location
        if first != entry.location:
            fields.complain_at(key, f"duplicate server `{name[:SHOWN]}`; first defined at {first.file}:{first.line}")

    def _server_reference(self, fields: Fields, node: Node | None) -> str:
        name = node.value if node is not None else None
        if node is None or not isinstance(name, str):
            return ""
        if not fields.is_unresolved(name):
            # Checked at the end, since an importing file may define the server that an imported test names.
            self._used.append((name, fields.location(node)))
        return name

    def _step(self, fields: Fields, node: Node) -> Step | None:
        members = members_of(node)
        if ("run" in members) == ("call" in members):
            fields.complain(node, "a step must have either `run` or `call`")
            return None
        limit = value_of(members, "timeout_ms", 30_000)
        if "run" in members:
            return Step(
                fields.location(node), read_command(fields, members["run"], "`run` of a step"), timeout_ms=limit
            )
        call = members_of(members["call"])
        check_references(fields, call.get("args"), ())
        return Step(
            location=fields.location(node),
            server=self._server_reference(fields, call.get("server")),
            tool=value_of(call, "tool", ""),
            arguments=value_of(call, "args", {}),
            timeout_ms=limit,
        )

    def _test(self, fields: Fields, block: str, node: Node) -> None:
        members = members_of(node)
        name = value_of(members, "name", "")
        if name and (first := self._names.setdefault((block, name), fields.location(node))) != fields.location(node):
            fields.complain(
                members["name"], f"duplicate test name in `{block}`; first used at {first.file}:{first.line}"
            )
        known_as = f"{block}/{name}"
        blocks = tuple(key for key in paths.BLOCKS if key in members)
        refuse = quality_refusal if block == "tool_quality" else lambda path: refusal(path, paths.CALL, blocks)
        own, of_blocks = _split_expect(self._expectations.parse(fields, members.get("expect"), known_as, refuse))
        steps = read_steps(fields, members.get("steps"))
        saved = dict.fromkeys(name for step in steps for name, _ in step.save)
        for key in ("args", "answers", "expect", *blocks):
            check_references(fields, members.get(key), saved)
        if steps and blocks:
            fields.complain(members["steps"], f"`steps` cannot be combined with `{blocks[0]}`")
        called = value_of(members, _SUBJECTS.get(block, ""), "")
        if blocks and called in model.METHODS:
            fields.complain(members[blocks[0]], f"`{called}` is not a tool, so `{blocks[0]}` cannot be used with it")
        self._tests.append(
            SuiteTest(
                number=len(self._tests),
                block=block,
                name=name,
                server=self._server_reference(fields, members.get("server")),
                location=fields.location(node),
                subject=called,
                arguments=value_of(members, "args"),
                expect=own,
                tags=tuple(value_of(members, "tags", ())),
                timeout_ms=value_of(members, "timeout_ms"),
                negative_path=self._negative_path(fields, members, known_as, of_blocks),
                fuzz=self._fuzz(fields, members, known_as, of_blocks),
                steps=steps,
                answers=read_answers(fields, members.get("answers")),
            )
        )

    def _negative_path(
        self, fields: Fields, test: Mapping[str, Node], name: str, more: tuple[Expectation, ...]
    ) -> NegativePathBlock | None:
        if "negative_path" not in test:
            return None
        members = members_of(test["negative_path"])
        words = value_of(members, "checks", CHECKS)
        expect = self._of_block(fields, members.get("expect"), name, "negative_path", more)
        return NegativePathBlock(tuple(check for check in CHECKS if check in words), expect, "checks" in members)

    def _fuzz(
        self, fields: Fields, test: Mapping[str, Node], name: str, more: tuple[Expectation, ...]
    ) -> FuzzBlock | None:
        if "fuzz" not in test:
            return None
        members = members_of(test["fuzz"])
        keys = ("seed", "cases", "max_call_ms", "security")
        numbers = {key: value for key in keys if (value := value_of(members, key)) is not None}
        expect = self._of_block(fields, members.get("expect"), name, "fuzz", more)
        expected = [assertion.path.steps[-1] for assertion in expect.assertions] if expect is not None else []
        if "injections" in expected and not numbers.get("security"):
            fields.complain(test["fuzz"], "the target `fuzz.injections` needs `security: true` in the `fuzz` block")
        return FuzzBlock(**numbers, expect=expect)

    def _of_block(
        self, fields: Fields, node: Node | None, name: str, block: str, more: tuple[Expectation, ...]
    ) -> Expect | None:
        """Return the expectations of a block: its own, and those of the test that refer to it."""
        own = self._expectations.parse(fields, node, name, lambda path: refusal(path, (), (block,)))
        of_test = tuple(assertion for assertion in more if assertion.path.root == block)
        if own is None:
            return Expect(of_test) if of_test else None
        return Expect((*own.assertions, *of_test))


def _split_expect(whole: Expect | None) -> tuple[Expect | None, tuple[Expectation, ...]]:
    """Split expectations into those of the call and those of the `negative_path` and `fuzz` blocks."""
    if whole is None:
        return None, ()
    of_blocks = tuple(assertion for assertion in whole.assertions if assertion.path.root in paths.BLOCKS)
    own = tuple(assertion for assertion in whole.assertions if assertion.path.root not in paths.BLOCKS)
    if of_blocks and not own and whole.max_duration_ms is None:
        return None, of_blocks
    return Expect(own, whole.max_duration_ms), of_blocks
