"""What an answer to a case comes to: the outcome that fuzzing counts, and whether two failures are the same."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.exchange.leaks import leak_in
from mcproof.exchange.probe_facts import ResponseFlaw
from mcproof.exchange.responses import error_text, flaws_of
from mcproof.linting.registry import MISSING_REQUIRED, OVERSIZED, TYPE_MISMATCH, UNEXPECTED_FIELD

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcproof.client.session import Response
    from mcproof.exchange.probe_facts import CaseOutcome
    from mcproof.exchange.responses import OutputContract
    from mcproof.prove.probes import ProbeCase

_HARM: dict[str, CaseOutcome] = {"crash": "crash", "hang": "hang", "malformed": "protocol_violation"}
_VIOLATIONS = ("structured-invalid", "structured-missing", "malformed-content")
_PARTICULARS = re.compile(r"0x[0-9a-f]+|\d+|'[^'\n]{0,200}'|\"[^\"\n]{0,200}\"|`[^`\n]{0,200}`")
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
    """What one answer comes to."""

    outcome: CaseOutcome
    what: str = ""
    """What is wrong, in words; empty where nothing is."""
    flaws: tuple[ResponseFlaw, ...] = ()

    @property
    def failures(self) -> list[tuple[CaseOutcome, str]]:
        """What failed about an answer, and how: its outcome, a leak, an error that is marked as a success."""
        failed: list[tuple[CaseOutcome, str]] = [(self.outcome, self.what)] if self.outcome != "clean" else []
        if self.leak is not None:
            failed.append(("leak", self.leak))
        if not failed and self.flaws:
            failed.append(("clean", self.flaws[0].kind))
        return failed

    @property
    def leak(self) -> str | None:
        return next((flaw.detail for flaw in self.flaws if flaw.kind == "leak"), None)


def fault_of(keyword: str) -> str | None:
    """The fault that is proven where a violation of this keyword is accepted."""
    return _FAULT_OF_KEYWORD.get(keyword)


def flaws_in(response: Response, revision: str | None, output: OutputContract) -> tuple[ResponseFlaw, ...]:
    """What is wrong with the result of a call, where there is one."""
    if (
        response.message is None
        or response.message.error is not None
        or response.outcome not in ("accepted", "rejected")
    ):
        return ()
    return tuple(flaws_of(response.message.result, revision, output))


def passed(case: ProbeCase, response: Response) -> bool | None:
    """Whether a probe passed; None where there is nothing to pass."""
    is_answered = response.outcome in ("accepted", "rejected")
    if case.is_exploratory or case.probe == "baseline":
        return None if is_answered else False
    if case.any_answer_passes:
        return is_answered
    return response.outcome == ("accepted" if case.expects == "success" else "rejected")


def failed_as(case: ProbeCase, response: Response, flaws: tuple[ResponseFlaw, ...]) -> CaseOutcome | None:
    """What kind of failure the answer to a probe is; None where it is none."""
    if (harm := _HARM.get(response.outcome)) is not None:
        return harm
    if any(flaw.kind in _VIOLATIONS for flaw in flaws):
        return "protocol_violation"
    if case.expects == "rejection" and response.outcome == "accepted":
        return None if case.any_answer_passes and not case.keyword else "accepted"  # what breaks a schema is no advice
    return "protocol_violation" if passed(case, response) is False else None


def judged(
    response: Response,
    arguments: Any,
    *,
    is_valid: bool,
    revision: str | None,
    output: OutputContract,
    secrets: Sequence[str] = (),
) -> Judgement:
    """What the answer to a call comes to."""
    if (harm := _HARM.get(response.outcome)) is not None:
        return Judgement(harm, response.why)
    flaws = flaws_in(response, revision, output)
    if response.outcome == "rejected" and (leak := _leak(response, arguments, secrets)) is not None:
        flaws = (*flaws, ResponseFlaw("leak", leak))
    for flaw in flaws:
        if flaw.kind in _VIOLATIONS:
            return Judgement("protocol_violation", flaw.detail, flaws)
    if response.outcome == "accepted" and not is_valid:
        return Judgement("accepted", "an invalid call is answered as a success", flaws)
    return Judgement("clean", "", flaws)


def _leak(response: Response, arguments: Any, secrets: Sequence[str]) -> str | None:
    text = error_text(response.message.envelope) if response.message is not None else ""
    if len(text) < 8:
        return None
    leak = leak_in(text, "", secrets)
    if leak is None:
        return None
    # Only now, as nearly every text has nothing in it: the caller may be told what the caller has said.
    leak = leak_in(text, _said(arguments), secrets)
    return None if leak is None else str(leak)


def _said(arguments: Any) -> str:
    """All that the caller has said, in each way in which a server may repeat it: as JSON, or text by text."""
    said = [json.dumps(arguments, ensure_ascii=False), json.dumps(arguments)]
    waiting = [arguments]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            said.append(value)
        elif isinstance(value, dict):
            waiting += [*value, *value.values()]
        elif isinstance(value, list):
            waiting += value
    return "\n".join(said)


def signature(what: str) -> str:
    """What is the same in two failures of one cause: the words, without numbers and what is quoted."""
    return _PARTICULARS.sub("#", what)[:200]
