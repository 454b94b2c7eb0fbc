"""Check the expectations of a test against the facts of a response."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcproof.results.suite_tests import TestFailure
from mcproof.suite.definition import Expect, Expectation, SuiteLocation
from mcproof.suite.matchers import Mismatch, compare, matcher_of, missing_message
from mcproof.suite.snapshots import map_texts
from mcproof.suite.value_paths import MissingValue, parse_value_path

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mcproof.suite.snapshots import SnapshotStore

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
        for each in expect.assertions:
            mismatch = self._mismatch(each, facts)
            if mismatch is not None:
                reason = (reasons or {}).get(each.path.text, "")
                message = f"{mismatch.message} ({reason})" if reason else mismatch.message
                message = f"{each.message}: {message}" if each.message else message
                failure = self.failure(each.path.text, message, mismatch.expected, mismatch.got)
                failures.append(failure._replace(line=each.location.line if each.location is not _NOWHERE else None))
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
