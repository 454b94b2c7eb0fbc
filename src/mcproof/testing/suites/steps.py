"""The stages of a test: batches of tests, steps before it, the check of its expectations, programs around it.

Read-only tests without a check of their duration may run concurrently; all others run one by one, in the order of
the suite. Programs of `setup` and `teardown` run without a shell and leave no processes behind.
Why tests run concurrently: docs/decisions/0003-concurrent-tests.md.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import tempfile
from typing import TYPE_CHECKING, Any

from mcproof.client.connect import INHERITED
from mcproof.client.transports.processes import MARK, STARTED
from mcproof.core.catalog.model import Catalog, Tool
from mcproof.core.named_tuple import NamedTuple
from mcproof.probing.permission import permission
from mcproof.testing.outcomes import TestFailure
from mcproof.testing.suites.matchers import MatcherError, Mismatch, compare, matcher_of, missing_message
from mcproof.testing.suites.model import METHODS, Expect, Expectation, Step, SuiteLocation, SuiteTest, ToolHints, filled
from mcproof.testing.suites.paths import MissingValue, parse_value_path
from mcproof.testing.suites.snapshots import SnapshotStore, map_texts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from mcproof.checks.scores.descriptions import DescriptionScore
    from mcproof.client.session import Response
    from mcproof.testing.suites.servers import Caller


def is_untimed(test: SuiteTest) -> bool:
    """Whether the outcome of a test does not depend on its duration."""
    return test.timeout_ms is None and not _checks_duration(test.expect)


def read_only_tests(tests: list[SuiteTest], catalog: Catalog, annotations: Mapping[str, ToolHints]) -> set[int]:
    """Return the numbers of untimed tests that only read, according to the annotations of their tools.

    The suite's annotations outrank the server's.
    """
    permissions = [permission(annotated(tool, annotations)) for tool in catalog.tools]
    # Words that suggest reading are not enough: docs/decisions/0003-concurrent-tests.md.
    harmless = {permitted.tool.name for permitted in permissions if permitted.is_granted and not permitted.is_presumed}
    return {
        test.number
        for test in tests
        if is_untimed(test)
        and not test.steps
        and not test.answers
        and not test.expects_questions
        and (test.block != "tools" or test.subject in METHODS or test.subject in harmless)
    }


def annotated(tool: Tool, annotations: Mapping[str, ToolHints]) -> Tool:
    """The tool with the hints that the suite gives for it."""
    if tool.name not in annotations:
        return tool
    own = tool.fields.get("annotations")
    hints = {**(own if isinstance(own, dict) else {}), **annotations[tool.name].values}
    return Tool({**tool.fields, "annotations": hints}, tool.pointer)


def batches(tests: list[SuiteTest], read_only: set[int]) -> Iterator[list[SuiteTest]]:
    """Yield the tests in order: runs of read-only tests, and every other test alone."""
    batch: list[SuiteTest] = []
    for test in tests:
        if test.number in read_only:
            batch.append(test)
            continue
        if batch:
            yield batch
            batch = []
        yield [test]
    if batch:
        yield batch


def _checks_duration(expect: Expect | None) -> bool:
    if expect is None:
        return False
    return expect.max_duration_ms is not None or any(
        assertion.path.root == "duration_ms" for assertion in expect.assertions
    )


_NOWHERE = SuiteLocation("", 1, 1)


def _default(path: str, matcher: str, expected: Any) -> Expectation:
    return Expectation(parse_value_path(path), matcher_of(matcher, expected), "", _NOWHERE)


def call_default(block: str) -> Expect:
    """Return the default expectations of a call: it succeeds."""
    succeeds = [_default("error", "exact", None)]
    return Expect((*succeeds, _default("result.isError", "exact", False)) if block == "tools" else tuple(succeeds))


def quality_default() -> Expect:
    """Return the default expectations of `tool_quality`."""
    return Expect(
        (
            _default("min_score", "schema", {"minimum": 0.5}),
            _default("mean_score", "schema", {"minimum": 0.7}),
            _default("critical_count", "schema", {"maximum": 0}),
        )
    )


class ExpectationChecker:
    """Checks facts against expectations; hides secrets in failures and snapshots."""

    def __init__(self, hide: Callable[[str], str], hide_whole: Callable[[str], str], store: SnapshotStore) -> None:
        self._hide = hide
        self._hide_whole = hide_whole
        self._store = store

    def check(
        self, expect: Expect, facts: dict[str, Any], reasons: Mapping[str, str] | None = None
    ) -> list[TestFailure]:
        """Return the unmet expectations. `reasons` explain the values of some paths."""
        failures = []
        for assertion in expect.assertions:
            mismatch = self._mismatch(assertion, facts)
            if mismatch is not None:
                reason = (reasons or {}).get(assertion.path.text, "")
                message = f"{mismatch.message} ({reason})" if reason else mismatch.message
                message = f"{assertion.message}: {message}" if assertion.message else message
                failure = self.failure(assertion.path.text, message, mismatch.expected, mismatch.got)
                failures.append(
                    failure._replace(line=assertion.location.line if assertion.location is not _NOWHERE else None)
                )
        taken = facts.get("duration_ms", 0)
        if expect.max_duration_ms is not None and taken > expect.max_duration_ms:
            message = f"took {taken:,} ms, more than {expect.max_duration_ms:,}"
            failures.append(TestFailure("duration_ms", message, f"at most {expect.max_duration_ms}", str(taken)))
        return failures

    def failure(self, target: str, message: str, expected: str = "", got: str = "") -> TestFailure:
        """Return a failure with secrets hidden."""
        return TestFailure(target, self._hide(message), self._hide(expected), self._hide(got))

    def _mismatch(self, expectation: Expectation, facts: dict[str, Any]) -> Mismatch | None:
        path = expectation.path
        value = path.value_in(facts)
        error = facts.get("error")
        if isinstance(value, MissingValue) and path.root == "result" and isinstance(error, dict):
            details = f"error {error.get('code')}: {error.get('message')}"
            return Mismatch(f"no result: {details[:300]}", "a result", "an error")
        if expectation.matcher.name != "snapshot":
            return compare(expectation.matcher, value)
        if isinstance(value, MissingValue):
            return Mismatch(missing_message(value), "a snapshot", "nothing")
        masked = expectation.mask.apply(map_texts(value, self._hide_whole), path.steps)
        return self._store.compare(self._hide_whole(expectation.snapshot), masked)


NAMED = 3
"""Maximum number of tools named in a reason."""


class Quality(NamedTuple):
    """The numbers by name, and the reason for each."""

    facts: dict[str, Any]
    reasons: dict[str, str]


def quality_of(catalog: Catalog) -> Quality:
    """Rate the tools of a catalog, which must not be empty."""
    from mcproof.checks.engine import check
    from mcproof.checks.rule import rules_of
    from mcproof.checks.scores.descriptions import description_scores, judge

    judged = list(map(judge, catalog.tools))
    scores = description_scores(judged)
    critical: list[str] = []
    warnings: list[str] = []
    for judgement in judged:
        tool, described = judgement.tool, judgement.explained()
        if (why := _critical_flaw(tool, described)) is not None:
            critical.append(f"{tool.label}: {why}")
        else:
            missing = [part.name for part in described.components if part.weight and not part.score]
            warnings += [f"{tool.label}: no {name}" for name in missing]
    findings = [finding for finding in check(catalog, rules_of("strict")) if finding.rule.ruleset == "strict"]
    schema_findings = {
        severity: [
            f"{finding.item.label}: {finding.rule.id}" for finding in findings if finding.rule.severity == severity
        ]
        for severity in ("critical", "warning")
    }
    lowest = sorted(scores.items(), key=lambda pair: pair[1])
    worst = _listed(f"{name} {score:.2f}" for name, score in lowest)
    facts = {
        "min_score": lowest[0][1],
        "mean_score": round(sum(scores.values()) / len(scores), 4),
        "tool": {name: {"score": score} for name, score in scores.items()},
        "critical_count": len(critical),
        "warning_count": len(warnings),
        "schema_criticals": len(schema_findings["critical"]),
        "schema_warnings": len(schema_findings["warning"]),
    }
    reasons = {
        "min_score": f"lowest: {worst}",
        "mean_score": f"lowest: {worst}",
        "critical_count": _listed(critical),
        "warning_count": _listed(warnings),
        "schema_criticals": _listed(schema_findings["critical"]),
        "schema_warnings": _listed(schema_findings["warning"]),
    }
    return Quality(facts, reasons)


def _critical_flaw(tool: Tool, described: DescriptionScore) -> str | None:
    """Return the critical flaw of a description: missing, repeats the name, or a single word; None if it has none."""
    if described.nothing:
        return described.nothing
    words = tool.description.split()
    # Scripts without spaces write whole sentences as one word.
    return "a single word" if len(words) == 1 and words[0].isascii() else None


def _listed(sentences: Iterable[str]) -> str:
    listed = list(sentences)
    more = f" and {len(listed) - NAMED:,} more" if len(listed) > NAMED else ""
    return ", ".join(listed[:NAMED]) + more


class StepFailedError(Exception):
    """A step of a test failed; the message is the reason."""


async def after_steps(test: SuiteTest, caller: Caller, why: Callable[[Response], str]) -> SuiteTest:
    """Run the steps of a test; return the test with the values that they saved. Raises StepFailedError."""
    saved: dict[str, Any] = {}
    for number, step in enumerate(test.steps, start=1):
        label = f"step {number} ({step.tool})"
        params = {"name": step.tool, "arguments": filled(dict(step.arguments), saved)}
        limit = step.timeout_ms if step.timeout_ms is not None else test.timeout_ms
        response, _ = await caller.send(test, ("tools/call", params), limit / 1000 if limit is not None else None)
        if response.outcome != "accepted" or response.message is None:
            raise StepFailedError(f"{label}: the call failed: {why(response)}")
        for name, path in step.save:
            value = path.value_in({"result": response.message.result})
            if isinstance(value, MissingValue):
                raise StepFailedError(f"{label}: cannot save `{name}`: {missing_message(value)}")
            saved[name] = value
    try:
        expect = None if test.expect is None else _filled(test.expect, saved)
    except MatcherError as error:
        raise StepFailedError(f"with the saved values, {error}") from None
    answers = tuple(answer._replace(reply=filled(answer.reply, saved)) for answer in test.answers)
    return test._replace(arguments=filled(test.arguments, saved), expect=expect, answers=answers)


def _filled(expect: Expect, saved: dict[str, Any]) -> Expect:
    """Return expectations with saved values; matchers that use none stay as they are. Raises MatcherError."""
    assertions = []
    for assertion in expect.assertions:
        wanted = filled(assertion.matcher.expected, saved)
        if wanted != assertion.matcher.expected:
            matcher = matcher_of(assertion.matcher.name, wanted, is_negated=assertion.matcher.is_negated)
            assertion = assertion._replace(matcher=matcher)  # noqa: PLW2901
        assertions.append(assertion)
    return expect._replace(assertions=tuple(assertions))


_SHOWN = 300


async def run_program(step: Step, folder: str, process_mark: str) -> str | None:
    """Run a program in a folder until it exits; return why it failed, or None.

    Processes that it starts may keep running during the tests; `mark` identifies them for cleanup.
    """
    STARTED.add(process_mark)
    environment = {name: os.environ[name] for name in INHERITED if name in os.environ} | {MARK: process_mark}
    with tempfile.TemporaryFile() as stderr:
        try:
            process = await asyncio.create_subprocess_exec(
                *step.command,
                cwd=folder,
                env=environment,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=stderr,
                # In a process group of its own, so that its children can be killed with it.
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            return f"cannot start: {getattr(error, 'strerror', None) or error}".lower()
        try:
            async with asyncio.timeout(step.timeout_ms / 1000):
                code = await process.wait()
        except TimeoutError:
            return f"timed out after {step.timeout_ms:,} ms"
        finally:
            if process.returncode is None:
                with contextlib.suppress(OSError):
                    _kill(process)
                await process.wait()
        if code == 0:
            return None
        end = stderr.seek(0, os.SEEK_END)
        stderr.seek(max(0, end - _SHOWN))
        last_output = stderr.read(_SHOWN).decode(errors="replace").strip()
        return f"exit code {code}" + (f": {last_output}" if last_output else "")


def _kill(process: asyncio.subprocess.Process) -> None:
    """Kill a program and, where process groups exist, its children."""
    if hasattr(os, "killpg"):
        os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
