"""What is kept of a response, and how it is judged: its outcome, and whether two failures are the same.

Both probes and fuzzing judge here. Responses are reduced to what judging and comparing needs, never megabytes; long
repeated texts are stored as a unit and a length.
Why a refusal must refer to its cause: docs/decisions/0033-proven-means-all.md.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

from mcproof.checks.rule import MISSING_REQUIRED, OVERSIZED, TYPE_MISMATCH, UNEXPECTED_FIELD
from mcproof.core.named_tuple import NamedTuple
from mcproof.core.observations.probes import ERROR_AS_SUCCESS, FAILURE_OF, CaseOutcome, Outcome, ResponseFlaw
from mcproof.core.observations.responses import (
    OutputContract,
    error_text,
    flaws_of,
    internal_error_in,
    leak_in,
    texts_in,
)
from mcproof.probing.generation.constraints import json_size

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mcproof.client.session import Response
    from mcproof.probing.generation.cases import GeneratedCase
    from mcproof.probing.probes.cases import ProbeCase


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


def flaws_in(
    response: Response, arguments: Any, revision: str | None, output: OutputContract, secrets: Sequence[str]
) -> tuple[ResponseFlaw, ...]:
    """The flaws of the response to a call, if there is one; errors are searched for leaks."""
    if response.message is None or response.outcome not in ("accepted", "rejected"):
        return ()
    flaws: list[ResponseFlaw] = []
    if response.message.error is None:
        flaws = flaws_of(response.message.result, revision, output, arguments)
    is_error = response.outcome == "rejected" or any(flaw.kind == ERROR_AS_SUCCESS for flaw in flaws)
    if not is_error or response.message is None:
        return tuple(flaws)
    if (leak := _leak(response, arguments, secrets)) is not None:
        flaws.append(ResponseFlaw("leak", leak))
    elif (words := internal_error_in(error_text(response.message.envelope), _texts_of(arguments))) is not None:
        flaws.append(ResponseFlaw("internal-error", words))
    return tuple(flaws)


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
    flaws = flaws_in(response, arguments, revision, output, secrets)
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
    return "\n".join([json.dumps(arguments, ensure_ascii=False), json.dumps(arguments), *texts_in(arguments)])


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


SHORTEST = 1_000
"""The shortest text that is replaced."""
_LONGEST_UNIT = 64


def without_repeated(value: Any) -> tuple[Any, list[dict[str, Any]]]:
    """Return a copy with long repeated texts emptied, and a record of each: its path, its unit and its length."""
    records: list[dict[str, Any]] = []
    holder = [value]
    waiting: list[tuple[Any, Any, list[str | int]]] = [(holder, 0, [])]
    while waiting:
        parent, step, path = waiting.pop()
        current = parent[step]
        if isinstance(current, dict):
            parent[step] = copy = dict(current)
            waiting += [(copy, name, [*path, name]) for name in copy]
        elif isinstance(current, list):
            parent[step] = items = list(current)
            waiting += [(items, number, [*path, number]) for number in range(len(items))]
        elif isinstance(current, str) and (unit := _unit(current)):
            parent[step] = ""
            records.append({"path": path, "unit": unit, "length": len(current)})
    return holder[0], records[::-1]


def with_repeated(value: Any, repeated: Any, limit: int) -> Any:
    """Return the value with the texts filled in, in place. Raises ValueError if a record is invalid or too long."""
    if not isinstance(repeated, list):
        raise ValueError("not a list")
    holder = [value]
    for record in repeated:
        path, unit, length = (
            record.get(key) if isinstance(record, dict) else None for key in ("path", "unit", "length")
        )
        if not (isinstance(path, list) and isinstance(unit, str) and unit and type(length) is int and length > 0):
            raise ValueError("not a record of a text")
        limit -= length
        if limit < 0:
            raise ValueError("too long")
        parent: Any = holder
        step: Any = 0
        try:
            for next_step in path:
                parent, step = parent[step], next_step
            is_empty = parent[step] == ""
        except (LookupError, TypeError):
            is_empty = False
        if not is_empty:
            raise ValueError("no such place")
        parent[step] = _repeated(unit, length)
    return holder[0]


@lru_cache(maxsize=8)  # many failures have the same text
def _repeated(unit: str, length: int) -> str:
    return (unit * (length // len(unit) + 1))[:length]


def _unit(text: str) -> str:
    """The text that a long one repeats; empty if there is none."""
    if len(text) < SHORTEST:
        return ""
    period = text.find(text[:_LONGEST_UNIT], 1, 2 * _LONGEST_UNIT)
    # A text that repeats its beginning equals itself, moved by that much.
    return text[:period] if period > 0 and text.startswith(text[:-period], period) else ""


Showing = Literal["refused", "accepted", "nothing"]
"""What a response shows about a promise: that it is kept, that it is not, or neither."""

_LONGEST_WORDS = 4_000
_VARIABLE = re.compile(
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?"
    r"|\d\d:\d\d:\d\d(?:[.,]\d+)?"
    r"|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
    r"|0x[0-9a-f]+|\b(?=[0-9a-f]*\d)[0-9a-f]{8,}\b"
    r"|\d+(?:\.\d+)?\s?(?:ms|milliseconds?|s|secs?|seconds?|µs|us)\b"
    r"|(?:req|request|trace|correlation|session|error)[ _-]?id\W{0,4}[\w-]+",
    re.IGNORECASE,
)
"""What differs between two responses with the same meaning: moments, ids, addresses in memory, durations."""
_RUN = re.compile(r"(.)\1{19,}", re.DOTALL)
_SHORTEST_ECHO = 4
"""How long a value must be to be recognised without quotes."""
_VALIDATION = re.compile(
    r"validation error|invalid (?:tool )?(?:arguments?|params|parameters|input|request)|invalid_type|-32602"
    r"|is not of type|additional propert|unrecognized key|unexpected keyword|required property|input should be"
    r"|extra inputs|failed validation|schema validation|missing \d+ required|unexpected (?:field|propert|argument)"
    r"|missing field|unknown field|invalid type: |\bexpected (?:an? )?(?:string|number|integer|boolean|array|object)\b",
    re.IGNORECASE,
)
"""Words that only a check of the arguments uses."""
_ABOUT_VALUES = re.compile(
    r"\b(?:required|missing|must|should|expected|invalid|not (?:a )?valid|not allowed|cannot be|can't be|unknown"
    r"|unexpected|too (?:long|large|short|small|many|few|big)|exceeds?|at (?:most|least)|greater|less|between|range"
    r"|one of|match(?:es)?|format|type|empty|length)\b",
    re.IGNORECASE,
)
"""Words about an argument that also occur elsewhere; they count next to its name."""
_SIZE = re.compile(
    r"too[ _-]?(?:long|large|big|many)|exceed|max(?:imum)?[ _-]?(?:length|size|items)|payload|at most|longer than"
    r"|larger than|more than|limit of|length (?:must|should)|(?:characters?|bytes) or (?:less|fewer)",
    re.IGNORECASE,
)
_ELSEWHERE = re.compile(
    r"E(?:CONN|NOTFOUND|AI_AGAIN|TIMEDOUT|PIPE|HOST)|getaddrinfo|name resolution|connection (?:refused|reset|error)"
    r"|(?:could not|cannot|failed to) connect|network (?:error|is unreachable)|fetch failed|socket|timed? ?out|timeout"
    r"|proxy|certificate|ssl error|(?:http|status)(?: code)?:? ?5\d\d",
    re.IGNORECASE,
)
"""Words about the network, which a call without its cause reaches, too."""
_TRANSIENT = re.compile(
    r"too many (?:requests|calls|connections|attempts)|rate.?limit|throttl|quota|temporarily|overloaded|try again later"
    r"|service unavailable|(?:database|resource|file) is (?:locked|busy)|session (?:has )?expired"
    r"|(?:http|status|error)(?: code)?:? ?(?:429|502|503|504)\b",
    re.IGNORECASE,
)
"""Words of a server that would refuse any call at this moment."""

_UNAUTHORIZED = re.compile(
    r"api[ _-]?(?:key|token)|access token|credentials?\b|unauthori[sz]ed|not (?:authenticated|logged in|connected)"
    r"|log ?in\b|permission denied|(?:http|status|error)(?: code)?:? ?40[13]\b",
    re.IGNORECASE,
)
"""Words of a server that lacks what only its operator can give."""

_LONGEST_NOTHING = 300
_NOTHING = re.compile(
    r"\bnot found\b|\bno [\w ]{1,40} (?:found|match\w*|available)\b|does(?:n't| not) exist|\bunknown\b"
)


class SeenResponse(NamedTuple):
    """What was seen of one response."""

    outcome: Outcome
    text: str
    """The response, cropped; or why there is none."""
    code: int | None = None
    flaws: tuple[ResponseFlaw, ...] = ()
    words: str = ""
    """Its text without what varies, for comparisons."""
    asks: str = ""
    """A question before it that got no answer, in words: what would have happened with one is unknown."""

    @property
    def is_refusal(self) -> bool:
        """Whether it is an error, also one that is marked as a success."""
        return self.outcome == "rejected" or (self.outcome == "accepted" and self.reports_error)

    @property
    def is_success(self) -> bool:
        return self.outcome == "accepted" and not self.reports_error

    @property
    def reports_error(self) -> bool:
        """Whether a success has the text of an error."""
        return any(flaw.kind == ERROR_AS_SUCCESS for flaw in self.flaws)


def seen_response(
    response: Response,
    arguments: Any,
    revision: str | None,
    output: OutputContract | None,
    secrets: Sequence[str] = (),
) -> SeenResponse:
    """Reduce a response to what is kept of it; `output` is None for a request that calls no tool."""
    flaws = flaws_in(response, arguments, revision, output, secrets) if output is not None else ()
    envelope = response.message.envelope if response.message is not None else {}
    text = error_text(envelope) if envelope else ""
    return SeenResponse(
        outcome=response.outcome,
        text=response.text,
        code=response.code,
        flaws=flaws,
        words=_without_variables(text or response.text, arguments),
        asks=response.asks,
    )


def showing(seen: SeenResponse, case: ProbeCase, valid: SeenResponse | None) -> Showing:
    """What a response shows, compared with that of the valid call."""
    if seen.asks:
        return "nothing"
    if not seen.is_refusal:
        return "accepted"
    if _TRANSIENT.search(seen.words) and not _VALIDATION.search(seen.words):
        return "nothing"
    if case.probe == "oversized" and not case.is_promise and not _is_about_size(seen, case, valid):
        return "nothing"
    if valid is None or valid.is_success or valid.asks:  # the valid call gets as far as a question
        is_elsewhere = not case.is_promise and _ELSEWHERE.search(seen.words) is not None
        return "nothing" if is_elsewhere and not _speaks(seen, case, None) else "refused"
    if seen.words == valid.words:
        return "nothing"
    return "refused" if _speaks(seen, case, valid) else "nothing"


def is_elsewhere(seen: SeenResponse) -> bool:
    """Whether a refusal has nothing to do with the arguments, so that others would get the same one."""
    is_other = _ELSEWHERE.search(seen.words) or _TRANSIENT.search(seen.words) or _UNAUTHORIZED.search(seen.words)
    return is_other is not None and _VALIDATION.search(seen.words) is None


def found_nothing(seen: SeenResponse) -> bool:
    """Whether a success says that there is nothing: other arguments may show what the tool returns."""
    return seen.is_success and len(seen.words) < _LONGEST_NOTHING and _NOTHING.search(seen.words) is not None


def is_doubtful(seen: SeenResponse, case: ProbeCase) -> bool:
    """Whether a refusal does not refer to its cause, so that the server may refuse valid calls as well by now."""
    return case.is_promise and seen.is_refusal and not _speaks(seen, case, None)


def _is_about_size(seen: SeenResponse, case: ProbeCase, valid: SeenResponse | None) -> bool:
    """Whether the refusal of a large value shows a bound; otherwise a short value may be refused, too."""
    is_accepted_small = case.changes_only_size and valid is not None and valid.is_success
    return is_accepted_small or _SIZE.search(seen.words) is not None


def _speaks(seen: SeenResponse, case: ProbeCase, valid: SeenResponse | None) -> bool:
    """Whether a refusal is about the argument, as opposed to whatever the valid call fails with."""
    valid_words = valid.words if valid is not None else ""
    if _VALIDATION.search(seen.words) and not _VALIDATION.search(valid_words):
        return True
    # The server has looked at the arguments: -32602 is the code for invalid ones.
    if seen.code == -32602 and (valid is None or valid.code != -32602):
        return True
    if case.probe == "oversized" and _SIZE.search(seen.words) and not _SIZE.search(valid_words):
        return True
    for name in _names(case):
        named = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)", re.IGNORECASE)
        if named.search(seen.words):
            is_new = not named.search(valid_words) and len(name) > 1
            return is_new or (_ABOUT_VALUES.search(seen.words) is not None and not _ABOUT_VALUES.search(valid_words))
    return False


def _names(case: ProbeCase) -> Iterator[str]:
    """The words by which a response may refer to the argument of a case."""
    if case.probe == "extra_field":
        yield "mcproof_unexpected"
    for part in reversed(re.split(r"[.\[\]()*]+", case.argument)):
        if part and part != "root":
            yield part.casefold()


def _without_variables(text: str, arguments: Any) -> str:
    """A text without ids, times and the arguments that it repeats."""
    text = _RUN.sub("#", text[:_LONGEST_WORDS])
    # The longest first, because it may contain others.
    for echo in sorted(_echoes(arguments), key=len, reverse=True):
        text = text.replace(echo, "#")
    return " ".join(_VARIABLE.sub("#", text).casefold().split())


def _echoes(arguments: Any) -> set[str]:
    """The arguments as a response may repeat them: as JSON or Python, whole or value by value."""
    echoes = set()
    if json_size(arguments) <= _LONGEST_WORDS:  # longer ones are not repeated in full
        echoes = {json.dumps(arguments), json.dumps(arguments, ensure_ascii=False), repr(arguments)}
    waiting = list(arguments.values()) if isinstance(arguments, dict) else []
    while waiting:
        value = waiting.pop()
        if isinstance(value, (dict, list)):
            waiting += value.values() if isinstance(value, dict) else value[:50]
        if isinstance(value, str) and len(value) <= _LONGEST_WORDS:
            echoes |= {json.dumps(value), json.dumps(value, ensure_ascii=False), repr(value)}
            echoes |= {value} if len(value) >= _SHORTEST_ECHO else set()
        elif not isinstance(value, (str, bool, type(None))):
            text = repr(value)
            echoes |= {text} if len(text) >= _SHORTEST_ECHO else set()
    return {echo for echo in echoes if len(echo) > 2}
