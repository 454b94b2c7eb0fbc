"""What is kept of a response: enough to judge it and to compare it with that of the valid call, never megabytes."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from mcproof.core.observations.probes import ERROR_AS_SUCCESS
from mcproof.core.observations.responses import error_text
from mcproof.generation.json_values import json_size
from mcproof.prove.fuzz.outcomes import flaws_in

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.client.session import Response
    from mcproof.core.observations.probes import Outcome, ResponseFlaw
    from mcproof.core.observations.responses import OutputContract
    from mcproof.prove.probe_cases import ProbeCase

Showing = Literal["refused", "accepted", "nothing"]
"""What a response shows about a promise: that it is kept, that it is not, or neither."""

_LONGEST_WORDS = 4_000
_VARIABLE = re.compile(
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?"  # a date and time
    r"|\d\d:\d\d:\d\d(?:[.,]\d+)?"
    r"|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"  # a UUID
    r"|0x[0-9a-f]+|\b(?=[0-9a-f]*\d)[0-9a-f]{8,}\b"
    r"|\d+(?:\.\d+)?\s?(?:ms|milliseconds?|s|secs?|seconds?|µs|us)\b"
    r"|(?:req|request|trace|correlation|session|error)[ _-]?id\W{0,4}[\w-]+",
    re.IGNORECASE,
)
"""What differs between two responses with the same meaning."""
_RUN = re.compile(r"(.)\1{19,}", re.DOTALL)
_SHORTEST_ECHO = 4
"""How long a value must be to be recognised without quotes."""
_VALIDATION = re.compile(
    r"validation error|invalid (?:tool )?(?:arguments?|params|parameters|input|request)|invalid_type|-32602"
    r"|is not of type|additional propert|unrecognized key|unexpected keyword|required property|input should be"
    r"|extra inputs|failed validation|schema validation|missing \d+ required|unexpected (?:field|propert|argument)",
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
    response: Response, arguments: Any, revision: str | None, output: OutputContract | None
) -> SeenResponse:
    """Reduce a response to what is kept of it; `output` is None for a request that calls no tool."""
    flaws = flaws_in(response, revision, output) if output is not None else ()
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


def is_doubtful(seen: SeenResponse, case: ProbeCase) -> bool:
    """Whether a refusal does not refer to its cause, so that the server may refuse valid calls as well by now."""
    return case.is_promise and seen.is_refusal and not _speaks(seen, case, None)


def _is_about_size(seen: SeenResponse, case: ProbeCase, valid: SeenResponse | None) -> bool:
    """Whether the refusal of a large value shows a bound; otherwise a short value may be refused, too."""
    is_accepted_small = case.changes_only_size and valid is not None and valid.is_success
    return is_accepted_small or _SIZE.search(seen.words) is not None


def _speaks(seen: SeenResponse, case: ProbeCase, valid: SeenResponse | None) -> bool:
    """Whether a refusal is about the argument, as opposed to whatever the valid call fails with."""
    known = valid.words if valid is not None else ""
    if _VALIDATION.search(seen.words) and not _VALIDATION.search(known):
        return True
    if seen.code == -32602 and (valid is None or valid.code != -32602):
        return True
    if case.probe == "oversized" and _SIZE.search(seen.words) and not _SIZE.search(known):
        return True
    for name in _names(case):
        named = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)", re.IGNORECASE)
        if named.search(seen.words):
            is_new = not named.search(known) and len(name) > 1
            return is_new or (_ABOUT_VALUES.search(seen.words) is not None and not _ABOUT_VALUES.search(known))
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
    for echo in sorted(_echoes(arguments), key=len, reverse=True):
        text = text.replace(echo, "#")
    return " ".join(_VARIABLE.sub("#", text).casefold().split())


def _echoes(arguments: Any) -> set[str]:
    """The arguments as a response may repeat them: as JSON or Python, whole or value by value."""
    found = set()
    if json_size(arguments) <= _LONGEST_WORDS:  # longer ones are not repeated in full
        found = {json.dumps(arguments), json.dumps(arguments, ensure_ascii=False), repr(arguments)}
    waiting = list(arguments.values()) if isinstance(arguments, dict) else []
    while waiting:
        value = waiting.pop()
        if isinstance(value, (dict, list)):
            waiting += value.values() if isinstance(value, dict) else value[:50]
        if isinstance(value, str) and len(value) <= _LONGEST_WORDS:
            found |= {json.dumps(value), json.dumps(value, ensure_ascii=False), repr(value)}
            found |= {value} if len(value) >= _SHORTEST_ECHO else set()
        elif not isinstance(value, (str, bool, type(None))):
            text = repr(value)
            found |= {text} if len(text) >= _SHORTEST_ECHO else set()
    return {each for each in found if len(each) > 2}
