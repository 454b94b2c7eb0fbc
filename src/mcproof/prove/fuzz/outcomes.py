"""Judge the responses to cases: their outcomes, and whether two failures are the same."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.checks.rule import MISSING_REQUIRED, OVERSIZED, TYPE_MISMATCH, UNEXPECTED_FIELD
from mcproof.core.observations.probes import ERROR_AS_SUCCESS, FAILURE_OF, ResponseFlaw
from mcproof.core.observations.responses import error_text, flaws_of, leak_in

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcproof.client.session import Response
    from mcproof.core.observations.probes import CaseOutcome
    from mcproof.core.observations.responses import OutputContract
    from mcproof.generation.cases import GeneratedCase
    from mcproof.prove.probe_cases import ProbeCase
    from mcproof.prove.seen_responses import SeenResponse

HOW_TO_ANSWER = "answer it with `--answer FILE`, or `answers` in a suite"
"""What to do about a tool that asks the user."""
_VIOLATIONS = ("structured-invalid", "structured-missing", "malformed-content")
_PARTICULARS = re.compile(r"0x[0-9a-f]+|\d+(?:\.\d+)?(?: seconds?)?|'[^'\n]{0,200}'|\"[^\"\n]{0,200}\"|`[^`\n]{0,200}`")
_FAULT_OF_KEYWORD = {
    "required": MISSING_REQUIRED.id,
    "dependentRequired": MISSING_REQUIRED.id,
    "type": TYPE_MISMATCH.id,
    "additionalProperties": UNEXPECTED_FIELD.id,
    "unevaluatedProperties": UNEXPECTED_FIELD.id,
    "maxLength": OVERSIZED.id,
    "maxItems": OVERSIZED.id,
}


class Judgement(NamedTuple):
    """The judgement of one response."""

    outcome: CaseOutcome
    problem: str = ""
    """What is wrong; empty if nothing is."""
    flaws: tuple[ResponseFlaw, ...] = ()

    @property
    def failures(self) -> list[tuple[CaseOutcome, str]]:
        """The failures with their problems: the outcome, a leak, or an error marked as a success."""
        failed: list[tuple[CaseOutcome, str]] = [(self.outcome, self.problem)] if self.outcome != "clean" else []
        if self.leak is not None:
            failed.append(("leak", self.leak))
        if not failed and self.flaws:
            failed.append(("clean", self.flaws[0].kind))
        return failed

    @property
    def counted_as(self) -> list[CaseOutcome]:
        """The outcomes that a case counts for: a leak is counted beside a failure, but instead of `clean`."""
        if self.leak is None:
            return [self.outcome]
        return ["leak"] if self.outcome == "clean" else [self.outcome, "leak"]

    @property
    def leak(self) -> str | None:
        return next((flaw.detail for flaw in self.flaws if flaw.kind == "leak"), None)


def fault_of(keyword: str) -> str | None:
    """The fault that an accepted violation of this keyword proves."""
    return _FAULT_OF_KEYWORD.get(keyword)


def flaws_in(response: Response, revision: str | None, output: OutputContract) -> tuple[ResponseFlaw, ...]:
    """The flaws of the result of a call, if there is one."""
    if (
        response.message is None
        or response.message.error is not None
        or response.outcome not in ("accepted", "rejected")
    ):
        return ()
    return tuple(flaws_of(response.message.result, revision, output))


def passed(case: ProbeCase, response: Response | SeenResponse) -> bool | None:
    """Whether a probe passed; None if it tests no promise."""
    is_response = response.outcome in ("accepted", "rejected")
    if case.is_exploratory or case.probe == "baseline":
        return None if is_response else False
    if case.any_response_passes:
        return is_response
    if is_response and response.asks:
        return None
    return response.outcome == ("accepted" if case.expects == "success" else "rejected")


def failed_as(case: ProbeCase, seen: SeenResponse) -> CaseOutcome | None:
    """The kind of failure that the response to a probe is; None if it is not a failure."""
    if (failure := FAILURE_OF.get(seen.outcome)) is not None:
        return failure
    if any(flaw.kind in _VIOLATIONS for flaw in seen.flaws):
        return "protocol_violation"
    if seen.asks:
        return None
    if case.expects == "rejection" and seen.is_refusal:
        return None
    if case.expects == "rejection" and seen.outcome == "accepted":
        return None if case.any_response_passes and not case.keyword else "accepted"
    return "protocol_violation" if passed(case, seen) is False else None


def judge(
    response: Response,
    arguments: Any,
    *,
    is_valid: bool,
    revision: str | None,
    output: OutputContract,
    secrets: Sequence[str] = (),
) -> Judgement:
    """Judge the response to a call."""
    if (failure := FAILURE_OF.get(response.outcome)) is not None:
        return Judgement(failure, response.why)
    flaws = flaws_in(response, revision, output)
    if response.outcome == "rejected" and (leak := _leak(response, arguments, secrets)) is not None:
        flaws = (*flaws, ResponseFlaw("leak", leak))
    for flaw in flaws:
        if flaw.kind in _VIOLATIONS:
            return Judgement("protocol_violation", flaw.detail, flaws)
    reports_error = any(flaw.kind == ERROR_AS_SUCCESS for flaw in flaws)
    if response.outcome == "accepted" and not is_valid and not reports_error and not response.asks:
        return Judgement("accepted", "an invalid call is accepted", flaws)
    return Judgement("clean", "", flaws)


def _leak(response: Response, arguments: Any, secrets: Sequence[str]) -> str | None:
    text = error_text(response.message.envelope) if response.message is not None else ""
    if len(text) < 8:
        return None
    leak = leak_in(text, "", secrets)
    if leak is None:
        return None
    # Echoing the arguments is not a leak. Checked only now, because most texts contain nothing suspicious.
    leak = leak_in(text, _texts_of(arguments), secrets)
    return None if leak is None else str(leak)


def _texts_of(arguments: Any) -> str:
    """The arguments as a server may repeat them: as JSON, or string by string."""
    texts = [json.dumps(arguments, ensure_ascii=False), json.dumps(arguments)]
    waiting = [arguments]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            texts.append(value)
        elif isinstance(value, dict):
            waiting += [*value, *value.values()]
        elif isinstance(value, list):
            waiting += value
    return "\n".join(texts)


def signature(problem: str) -> str:
    """A problem without numbers and quotations: equal for two failures with the same cause."""
    return _PARTICULARS.sub("#", problem)[:200]


def failure_key(case: GeneratedCase, outcome: CaseOutcome, problem: str) -> tuple[str, ...]:
    """Equal for failures that are reported as one."""
    return (outcome, *(_violation_key(case) if outcome == "accepted" else (signature(problem),)))


def _violation_key(case: GeneratedCase) -> tuple[str, ...]:
    """The violated keyword at any depth, the name of the property if the schema declares it, and the leniency."""
    last = case.pointer.rpartition("/")[2]
    is_own = case.keyword not in ("additionalProperties", "unevaluatedProperties") and not last.isdigit()
    return case.keyword, last if is_own else "", "lenient" if case.is_lenient else ""
