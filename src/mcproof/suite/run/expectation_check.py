"""What is expected of an answer, and what is wrong with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcproof.results.suite_tests import TestFailure
from mcproof.suite.definition import Expect, Expectation, Place
from mcproof.suite.matchers import Mismatch, judge, matcher_of
from mcproof.suite.snapshots import hidden
from mcproof.suite.value_paths import Missing, parse_target

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mcproof.suite.snapshots import SnapshotStore

_NOWHERE = Place("", 1, 1)


def _default(target: str, matcher: str, expected: Any) -> Expectation:
    return Expectation(parse_target(target), matcher_of(matcher, expected), "", _NOWHERE)


def call_default(block: str) -> Expect:
    """What must come of a call of which a suite says nothing: that it works."""
    works = [_default("error", "exact", None)]
    return Expect((*works, _default("result.isError", "exact", False)) if block == "tools" else tuple(works))


def quality_default() -> Expect:
    """The gate of descriptions where a suite names none."""
    return Expect(
        (
            _default("min_score", "schema", {"minimum": 0.5}),
            _default("mean_score", "schema", {"minimum": 0.7}),
            _default("critical_count", "schema", {"maximum": 0}),
        )
    )


class Judge:
    """Judges facts; no secret is in what it says or stores."""

    def __init__(self, hide: Callable[[str], str], hide_whole: Callable[[str], str], store: SnapshotStore) -> None:
        self._hide = hide
        self._hide_whole = hide_whole
        self._store = store

    def failures(
        self, expect: Expect, facts: dict[str, Any], reasons: Mapping[str, str] | None = None
    ) -> list[TestFailure]:
        """What is not as expected. Reasons say of a number where it comes from."""
        found = []
        for each in expect.assertions:
            mismatch = self._mismatch(each, facts)
            if mismatch is not None:
                reason = (reasons or {}).get(each.target.text, "")
                message = f"{mismatch.message} ({reason})" if reason else mismatch.message
                message = f"{each.message}: {message}" if each.message else message
                failure = self.failure(each.target.text, message, mismatch.expected, mismatch.got)
                found.append(failure._replace(line=each.place.line if each.place is not _NOWHERE else None))
        taken = facts.get("duration_ms", 0)
        if expect.max_duration_ms is not None and taken > expect.max_duration_ms:
            message = f"took {taken:,} ms, more than {expect.max_duration_ms:,}"
            found.append(TestFailure("duration_ms", message, f"at most {expect.max_duration_ms}", str(taken)))
        return found

    def failure(self, target: str, message: str, expected: str = "", got: str = "") -> TestFailure:
        """A failure without secrets."""
        return TestFailure(target, self._hide(message), self._hide(expected), self._hide(got))

    def _mismatch(self, expectation: Expectation, facts: dict[str, Any]) -> Mismatch | None:
        target = expectation.target
        value = target.value_in(facts)
        error = facts.get("error")
        if isinstance(value, Missing) and target.root == "result" and isinstance(error, dict):
            said = f"error {error.get('code')}: {error.get('message')}"
            return Mismatch(f"there is no result: {said[:300]}", "a result", "an error")
        if expectation.matcher.name != "snapshot":
            return judge(expectation.matcher, value)
        if isinstance(value, Missing):
            return Mismatch(f"there is nothing there: `{value.reached}` {value.why}", "a snapshot", "nothing")
        masked = expectation.mask.of(hidden(value, self._hide_whole), target.steps)
        return self._store.judge(self._hide_whole(expectation.snapshot), masked)
