"""A suite from its file: everything that is wrong with it is said, with its place, before anything is started."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from mcproof.client.secrets import hiding_whole
from mcproof.errors import nearest
from mcproof.exchange.probe_facts import CHECKS
from mcproof.suite import definition, value_paths
from mcproof.suite.definition import Expect, Expectation, Fuzz, NegativePath, Place, ServerEntry, Step, Suite, SuiteTest
from mcproof.suite.parse.expectations import Expectations
from mcproof.suite.parse.fields import LONGEST_WAIT, SHOWN
from mcproof.suite.parse.loading import filled, load
from mcproof.suite.parse.problems import Problem, SuiteError
from mcproof.suite.parse.server_entries import read_command, read_server
from mcproof.suite.value_paths import quality_refusal, refusal
from mcproof.text.yamltext import json_value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcproof.suite.parse.fields import Fields
    from mcproof.text.yamltext import Node

TEST_KEYS = {
    "tools": ("name", "server", "tool", "args", "expect", "tags", "timeout_ms", "negative_path", "fuzz"),
    "resources": ("name", "server", "uri", "expect", "tags", "timeout_ms"),
    "prompts": ("name", "server", "prompt", "args", "expect", "tags", "timeout_ms"),
    "tool_quality": ("name", "server", "expect", "tags"),
}
SUBJECTS = {"tools": "tool", "resources": "uri", "prompts": "prompt"}
"""The key that says what a test calls."""
_MOST_HINTS = 100
"""For how many unknown servers the nearest name is looked for."""


def read_suite(file: str, environment: Mapping[str, str] | None) -> Suite:
    """A suite with all that it imports. Raises SuiteError with everything that is wrong with it.

    Without an environment nothing will be started, and what only the environment knows is not missed.
    """
    problems: list[Problem] = []
    documents = load(file, problems)
    if not documents:
        raise SuiteError(problems)
    secrets: list[str] = []
    reading = _Reading(problems)
    for fields, root in filled(documents, environment, problems, secrets):
        reading.add(fields, root)
    suite = reading.suite(file, secrets)._replace(files=tuple(document.file for document in documents))
    if problems:
        order = {document.file: number for number, document in enumerate(reversed(documents))}
        problems.sort(key=lambda each: (order.get(each.file, 0), each.line or 0, each.column or 0))
        hide = hiding_whole(secrets)
        raise SuiteError(list(dict.fromkeys(each._replace(message=hide(each.message)) for each in problems)))
    return suite


class _Reading:
    """Filled-in documents in, a suite out."""

    def __init__(self, problems: list[Problem]) -> None:
        self._problems = problems
        self._servers: dict[str, ServerEntry] = {}
        self._tests: list[SuiteTest] = []
        self._names: dict[tuple[str, str], Place] = {}
        self._used: list[tuple[str, Place]] = []
        """The servers that are named somewhere, to be looked up when all are known."""
        self._setup: list[Step] = []
        self._teardown: list[Step] = []
        self._expectations = Expectations()

    def add(self, fields: Fields, root: Node) -> None:
        """Read one document."""
        members = fields.mapping(root, "a suite", definition.KEYS)
        servers = members.get("servers")
        if servers is not None:
            for name, node in fields.any_mapping(servers, "`servers`").items():
                self._server(fields, name, node, servers.keys[name])
        for key, steps in (("setup", self._setup), ("teardown", self._teardown)):
            if key in members:
                steps += [step for node in fields.items(members[key], f"`{key}`") if (step := self._step(fields, node))]
        for block in definition.BLOCKS:
            if block in members:
                for node in fields.items(members[block], f"`{block}`"):
                    self._test(fields, block, node)

    def suite(self, file: str, secrets: list[str]) -> Suite:
        """What was read."""
        names = list(self._servers)
        there = f"there are {', '.join(names)}" if names else "there is no `servers` block"
        hints: dict[str, str] = {}
        for name, place in self._used:
            if name not in self._servers:
                if name not in hints:
                    hints[name] = nearest(name, names) if len(hints) < _MOST_HINTS else ""
                self._problems.append(Problem(*place, f"unknown server `{name[:SHOWN]}`{hints[name]}; {there}"))
        if not self._tests and not self._problems:
            what = f"nothing to test: there is none of {', '.join(definition.BLOCKS)}"
            self._problems.append(Problem(file, 1, 1, what))
        folder = os.path.dirname(os.path.abspath(file))
        tests, setup, teardown = tuple(self._tests), tuple(self._setup), tuple(self._teardown)
        return Suite(file, self._servers, tests, setup, teardown, tuple(dict.fromkeys(secrets)), folder)

    def _server(self, fields: Fields, name: str, node: Node, key: tuple[int, int]) -> None:
        entry = read_server(fields, name, node, key)
        first = self._servers.setdefault(name, entry).place
        if first != entry.place:
            fields.complain_at(key, f"the server `{name[:SHOWN]}` is there already: {first.file}:{first.line}")

    def _named_server(self, fields: Fields, node: Node | None) -> str:
        name = fields.text(node, "`server`")
        if node is not None and name and not fields.is_open(name):
            self._used.append((name, fields.place(node)))
        return name

    def _step(self, fields: Fields, node: Node) -> Step | None:
        members = fields.mapping(node, "a step", ("run", "call", "timeout_ms"))
        if isinstance(node.value, dict) and ("run" in members) == ("call" in members):
            fields.complain(node, "a step has either `run` or `call`")
            return None
        limit = fields.number(members.get("timeout_ms"), "`timeout_ms` of a step", 1, LONGEST_WAIT) or 30_000
        if "run" in members:
            words = read_command(fields, members["run"], "`run` of a step")
            return Step(fields.place(node), words, timeout_ms=limit)
        if "call" not in members:
            return None
        call = fields.mapping(members["call"], "`call` of a step", ("server", "tool", "args"), ("server", "tool"))
        server = self._named_server(fields, call.get("server"))
        tool = fields.text(call.get("tool"), "`tool` of a step")
        return Step(fields.place(node), (), server, tool, _arguments(fields, call.get("args")) or {}, limit)

    def _test(self, fields: Fields, block: str, node: Node) -> None:
        subject = SUBJECTS.get(block)
        needed = ("name", "server", *([subject] if subject is not None else []))
        named = node.value.get("name") if isinstance(node.value, dict) else None
        quoted = named.value[:SHOWN] if named is not None and isinstance(named.value, str) else ""
        what = f"the test `{quoted}`" if quoted else f"a test in `{block}`"
        members = fields.mapping(node, what, TEST_KEYS[block], needed)
        if not isinstance(node.value, dict):
            return
        name = fields.text(members.get("name"), f"`name` of {what}")
        if name and (first := self._names.setdefault((block, name), fields.place(node))) != fields.place(node):
            fields.complain(members["name"], f"another test in `{block}` has this name: {first.file}:{first.line}")
        known_as = f"{block}/{name}"
        negative, fuzz = members.get("negative_path"), members.get("fuzz")
        blocks = tuple(key for key in value_paths.BLOCKS if key in members)
        expect = members.get("expect")
        if block == "tool_quality":
            whole = self._expectations.read(fields, expect, known_as, quality_refusal, measures=False)
        else:
            whole = self._expectations.read(
                fields, expect, known_as, lambda target: refusal(target, value_paths.CALL, blocks), measures=True
            )
        own, of_blocks = _divided(whole)
        called = fields.text(members.get(subject), f"`{subject}` of {what}") if subject is not None else ""
        if blocks and called in definition.METHODS:
            fields.complain(members[blocks[0]], f"`{called}` is no tool, so `{blocks[0]}` makes no sense with it")
        self._tests.append(
            SuiteTest(
                block,
                name,
                self._named_server(fields, members.get("server")),
                fields.place(node),
                called,
                _arguments(fields, members.get("args")),
                own,
                fields.texts(members.get("tags"), f"`tags` of {what}"),
                fields.number(members.get("timeout_ms"), f"`timeout_ms` of {what}", 1, LONGEST_WAIT),
                self._negative_path(fields, negative, known_as, of_blocks) if negative is not None else None,
                self._fuzz(fields, fuzz, known_as, of_blocks) if fuzz is not None else None,
            )
        )

    def _negative_path(self, fields: Fields, node: Node, name: str, more: tuple[Expectation, ...]) -> NegativePath:
        members = {} if node.value is None else fields.mapping(node, "`negative_path`", ("checks", "expect"))
        checks = members.get("checks")
        chosen: tuple[str, ...] = CHECKS
        if checks is not None:
            items = fields.items(checks, "`checks`")
            words = [fields.one_of(each, "a check", "check", CHECKS) for each in items]
            if checks.value == []:
                fields.complain(checks, "`checks` is empty; leave it out to send every probe")
            chosen = tuple(known for known in CHECKS if known in words)
        expect = self._of_block(fields, members.get("expect"), name, "negative_path", more)
        return NegativePath(chosen, expect, are_named=checks is not None)

    def _fuzz(self, fields: Fields, node: Node, name: str, more: tuple[Expectation, ...]) -> Fuzz:
        known = ("seed", "cases", "max_call_ms", "expect")
        members = {} if node.value is None else fields.mapping(node, "`fuzz`", known)
        seed = fields.number(members.get("seed"), "`seed`", 0, 2**63 - 1)
        cases = fields.number(members.get("cases"), "`cases`", 1, 1_000_000)
        limit = fields.number(members.get("max_call_ms"), "`max_call_ms`", 1, LONGEST_WAIT)
        usual = Fuzz()
        return Fuzz(
            usual.seed if seed is None else seed,
            cases or usual.cases,
            limit,
            self._of_block(fields, members.get("expect"), name, "fuzz", more),
        )

    def _of_block(
        self, fields: Fields, node: Node | None, name: str, block: str, more: tuple[Expectation, ...]
    ) -> Expect | None:
        """What must come of a block: what it says itself, and what the test says of it."""
        own = self._expectations.read(fields, node, name, lambda target: refusal(target, (), (block,)), measures=False)
        theirs = tuple(each for each in more if each.target.root == block)
        if own is None:
            return Expect(theirs) if theirs else None
        return Expect((*own.assertions, *theirs))


def _arguments(fields: Fields, node: Node | None) -> dict[str, Any] | None:
    if node is None:
        return None
    return {name: json_value(value) for name, value in fields.any_mapping(node, "`args`").items()}


def _divided(whole: Expect | None) -> tuple[Expect | None, tuple[Expectation, ...]]:
    """What is expected of the call itself, and what of the blocks beside it."""
    if whole is None:
        return None, ()
    of_blocks = tuple(each for each in whole.assertions if each.target.root in value_paths.BLOCKS)
    own = tuple(each for each in whole.assertions if each.target.root not in value_paths.BLOCKS)
    if of_blocks and not own and whole.max_duration_ms is None:
        return None, of_blocks
    return Expect(own, whole.max_duration_ms), of_blocks
