"""What an answer to a case comes to: the outcome that fuzzing counts, and whether two failures are the same."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.exchange.leaks import leak_in
from mcproof.exchange.probe_facts import Flaw
from mcproof.exchange.responses import error_text, flaws_of
from mcproof.linting.registry import MISSING_REQUIRED, OVERSIZED, TYPE_MISMATCH, UNEXPECTED_FIELD

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcproof.client.calling import Reply
    from mcproof.exchange.probe_facts import Kind
    from mcproof.exchange.responses import OutputContract
    from mcproof.prove.probes import Case

_HARM: dict[str, Kind] = {"crash": "crash", "hang": "hang", "malformed": "protocol_violation"}
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

    outcome: Kind
    what: str = ""
    """What is wrong, in words; empty where nothing is."""
    flaws: tuple[Flaw, ...] = ()

    @property
    def failures(self) -> list[tuple[Kind, str]]:
        """What failed about an answer, and how: its outcome, a leak, an error that is marked as a success."""
        failed: list[tuple[Kind, str]] = [(self.outcome, self.what)] if self.outcome != "clean" else []
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


def flaws_in(reply: Reply, revision: str | None, output: OutputContract) -> tuple[Flaw, ...]:
    """What is wrong with the result of a call, where there is one."""
    if reply.answer is None or reply.answer.error is not None or reply.outcome not in ("accepted", "rejected"):
        return ()
    return tuple(flaws_of(reply.answer.result, revision, output))


def passed(case: Case, reply: Reply) -> bool | None:
    """Whether a probe passed; None where there is nothing to pass."""
    is_answered = reply.outcome in ("accepted", "rejected")
    if case.is_exploratory or case.probe == "baseline":
        return None if is_answered else False
    if case.any_answer_passes:
        return is_answered
    return reply.outcome == ("accepted" if case.expects == "success" else "rejected")


def failed_as(case: Case, reply: Reply, flaws: tuple[Flaw, ...]) -> Kind | None:
    """What kind of failure the answer to a probe is; None where it is none."""
    if (harm := _HARM.get(reply.outcome)) is not None:
        return harm
    if any(flaw.kind in _VIOLATIONS for flaw in flaws):
        return "protocol_violation"
    if case.expects == "rejection" and reply.outcome == "accepted":
        return None if case.any_answer_passes and not case.keyword else "accepted"  # what breaks a schema is no advice
    return "protocol_violation" if passed(case, reply) is False else None


def judged(
    reply: Reply,
    arguments: Any,
    *,
    is_valid: bool,
    revision: str | None,
    output: OutputContract,
    secrets: Sequence[str] = (),
) -> Judgement:
    """What the answer to a call comes to."""
    if (harm := _HARM.get(reply.outcome)) is not None:
        return Judgement(harm, reply.why)
    flaws = flaws_in(reply, revision, output)
    if reply.outcome == "rejected" and (leak := _leak(reply, arguments, secrets)) is not None:
        flaws = (*flaws, Flaw("leak", leak))
    for flaw in flaws:
        if flaw.kind in _VIOLATIONS:
            return Judgement("protocol_violation", flaw.detail, flaws)
    if reply.outcome == "accepted" and not is_valid:
        return Judgement("accepted", "an invalid call is answered as a success", flaws)
    return Judgement("clean", "", flaws)


def _leak(reply: Reply, arguments: Any, secrets: Sequence[str]) -> str | None:
    text = error_text(reply.answer.envelope) if reply.answer is not None else ""
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
