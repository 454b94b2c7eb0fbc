"""Facts: what a live server was asked on purpose, and what it did.

A trial is one case that was sent. Whether the answer is right is for the rules to say; what they need to know about
it is here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from mcproof.catalog.model import Item

Outcome = Literal["rejected", "accepted", "hang", "crash", "malformed"]
"""What came of a request: an error of either kind, a result, no answer in time, no server any more, no JSON-RPC."""

Expectation = Literal["success", "rejection", "answer", "nothing"]
"""What the contract asks for: a result, an error, any answer at all, or, for a question out of curiosity, nothing."""

CHECKS = ("unknown_tool", "missing_required", "wrong_type", "extra_field", "oversized")
"""The five probes of the negative path, in the order in which they are sent."""

CaseOutcome = Literal["clean", "accepted", "crash", "hang", "protocol_violation", "leak"]
CASE_OUTCOMES: tuple[CaseOutcome, ...] = ("clean", "accepted", "crash", "hang", "protocol_violation", "leak")
"""What a case of fuzzing can come to; a leak beside whatever else an answer is."""

SEVERAL = "several calls in a row"
"""What was sent where no single request explains what became of the server."""

LONGEST_EXCERPT = 400
"""How many characters of a request or an answer a report keeps; many servers send a megabyte back."""


class ResponseFlaw(NamedTuple):
    """Something in an answer that should not be there, or is missing."""

    kind: str
    """Such as `structured-missing`; each is the business of one rule."""
    detail: str
    """What was seen, cropped."""


class ProbeRecord(NamedTuple):
    """One case that was sent, and what the server made of it."""

    probe: str
    """Which question it was: `missing_required`, `baseline`, `unknown_method`, `fuzz`."""
    what: str
    """What was sent, in words: "without the required `query`"."""
    expects: Expectation
    outcome: Outcome
    fault: str | None = None
    """The fault that an acceptance would prove."""
    keyword: str = ""
    """The keyword of the schema that the arguments violate."""
    pointer: str = ""
    """The place inside the arguments."""
    place: str = ""
    """The place inside the tool where the promise stands, or should."""
    request: str = ""
    """The parameters as they were sent, cropped."""
    response: str = ""
    """The answer as it came, cropped; or why there is none."""
    code: int | None = None
    """The code of a JSON-RPC error."""
    flaws: tuple[ResponseFlaw, ...] = ()
    failure: str | None = None
    """The id under which it is stored, to be sent again."""
    times: int = 1
    """How many cases did the same."""

    @property
    def is_kept(self) -> bool:
        """Whether the server did what the contract asks for."""
        if self.expects == "success":
            return self.outcome in ("accepted", "rejected")
        if self.expects == "rejection":
            return self.outcome == "rejected"
        return self.outcome in ("accepted", "rejected")


class ItemProbes(NamedTuple):
    """All that was tried on one tool, or on the server as a whole."""

    item: Item
    records: list[ProbeRecord]
    revision: str | None
    """The protocol revision that the server speaks, by which its answers are judged."""


def excerpt(value: str) -> str:
    """What was sent or came back, as much of it as a report keeps, with how much there was."""
    if len(value) <= LONGEST_EXCERPT:
        return value
    return f"{value[:LONGEST_EXCERPT]}… ({len(value):,} characters)"


def as_json(value: Any) -> str:
    """A value as JSON, as much of it as a report keeps."""
    import json

    try:
        return excerpt(json.dumps(value, ensure_ascii=False))
    except (ValueError, RecursionError):
        return "(nested too deeply to be excerpt)"


def cropped_value(value: Any, depth: int = 6) -> Any:
    """A value with its long texts and lists cropped, for a report."""
    if isinstance(value, str):
        return value if len(value) <= 200 else f"{value[:200]}… ({len(value):,} characters)"
    if isinstance(value, (dict, list)) and depth == 0:
        return "…"
    if isinstance(value, dict):
        return {cropped_value(key): cropped_value(each, depth - 1) for key, each in list(value.items())[:50]}
    if isinstance(value, list):
        return [cropped_value(each, depth - 1) for each in value[:50]]
    return value
