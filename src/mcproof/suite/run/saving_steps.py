"""Run the steps of a test: calls that come before its own, and whose values it uses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcproof.suite.matchers import MatcherError, matcher_of, missing_message
from mcproof.suite.saved_values import filled
from mcproof.suite.value_paths import MissingValue

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcproof.client.session import Response
    from mcproof.suite.definition import Expect, SuiteTest
    from mcproof.suite.run.caller import Caller


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
    answers = tuple(each._replace(reply=filled(each.reply, saved)) for each in test.answers)
    return test._replace(arguments=filled(test.arguments, saved), expect=expect, answers=answers)


def _filled(expect: Expect, saved: dict[str, Any]) -> Expect:
    """Return expectations with saved values; matchers that use none stay as they are. Raises MatcherError."""
    assertions = []
    for each in expect.assertions:
        wanted = filled(each.matcher.expected, saved)
        if wanted != each.matcher.expected:
            matcher = matcher_of(each.matcher.name, wanted, is_negated=each.matcher.is_negated)
            each = each._replace(matcher=matcher)  # noqa: PLW2901
        assertions.append(each)
    return expect._replace(assertions=tuple(assertions))
