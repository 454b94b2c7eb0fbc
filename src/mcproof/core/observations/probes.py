"""Probe facts: what was sent to a live server on purpose, and how it responded, for the rules to judge."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from mcproof.catalog.model import Item

Outcome = Literal["rejected", "accepted", "hang", "crash", "malformed"]
"""The outcome of a request: an error of the protocol or of the tool, a result, no response in time, the end of the
server, or a response that is not JSON-RPC."""

Expectation = Literal["success", "rejection", "response", "nothing"]
"""What the contract requires: a result, an error, any response, or, for an exploratory probe, nothing."""

CHECKS = ("unknown_tool", "missing_required", "wrong_type", "extra_field", "oversized")
"""The five probes of the negative path, in the order in which they are sent."""

ROOT = "(root)"
"""The name of the arguments as a whole."""

MAX_CALLS = 100
"""How many probes `prove` sends to a tool by default."""

HOSTILE_PROBES = (
    "path_traversal",
    "command_injection",
    "sql_injection",
    "template_injection",
    "request_forgery",
    "hostile_text",
)
"""The families of hostile arguments, in the order in which they are sent with `--security`."""

CaseOutcome = Literal["clean", "accepted", "crash", "hang", "protocol_violation", "leak", "injection"]
CASE_OUTCOMES: tuple[CaseOutcome, ...] = ("clean", "accepted", "crash", "hang", "protocol_violation", "leak")
"""The outcomes that fuzzing always counts; a leak is counted instead of `clean`, and beside any other outcome."""
ALL_OUTCOMES: tuple[CaseOutcome, ...] = (*CASE_OUTCOMES, "injection")
"""Those and the one that only hostile calls have, which are sent with `--security`."""

ERROR_AS_SUCCESS = "error-as-success"
"""The kind of flaw of a result that reports an error without `isError`."""

SERVER_LOST: tuple[Outcome, ...] = ("crash", "hang")
"""The outcomes after which the server must be restarted."""
FAILURE_OF: dict[Outcome, CaseOutcome] = {"crash": "crash", "hang": "hang", "malformed": "protocol_violation"}
"""The outcomes that are failures whatever was sent, as fuzzing counts them."""

SEVERAL = "several calls in a row"
"""The description of what was sent if no single request explains the end of the server."""

LONGEST_EXCERPT = 400
"""How many characters of a request or a response a report shows; many servers echo a megabyte."""


class ResponseFlaw(NamedTuple):
    """Something wrong with the content of a response."""

    kind: str
    """Such as `structured-missing`; each kind belongs to one rule."""
    detail: str
    """The evidence, cropped."""


class ProbeRecord(NamedTuple):
    """One case that was sent, and the response."""

    probe: str
    """`missing_required`, `baseline`, `unknown_method`, `fuzz`."""
    description: str
    """What was sent: "without the required `query`"."""
    expects: Expectation
    outcome: Outcome
    fault: str | None = None
    """The fault that an acceptance proves."""
    keyword: str = ""
    """The schema keyword that the arguments violate."""
    schema_pointer: str = ""
    """The pointer, inside the tool, to the promise that is tested."""
    request: str = ""
    """The parameters, cropped."""
    response: str = ""
    """The response, cropped; or why there is none."""
    code: int | None = None
    """The code of a JSON-RPC error."""
    flaws: tuple[ResponseFlaw, ...] = ()
    failure: str | None = None
    """The id of the stored failure, for `mcproof replay`."""
    times: int = 1
    """How many cases had this result."""
    argument: str = ""
    """The path of the argument that the case is about: `filter.limit`, `rows[].id`; empty for none."""
    is_lenient: bool = False
    """Whether the server accepted what it can coerce to the declared type, such as `"5"` for 5."""
    of_tools: tuple[tuple[str, ProbeRecord], ...] = ()
    """The records of the tools that share this failure, each with the name of its tool."""

    @property
    def is_broken_promise(self) -> bool:
        """Whether a call that violates the schema succeeds; a text that reports an error is not a success."""
        is_accepted = self.expects == "rejection" and self.outcome == "accepted" and self.reported_error is None
        return is_accepted and bool(self.keyword) and not self.is_lenient

    @property
    def reported_error(self) -> str | None:
        """The text of a result that reports an error without `isError`."""
        return next((flaw.detail for flaw in self.flaws if flaw.kind == ERROR_AS_SUCCESS), None)


class ItemProbes(NamedTuple):
    """The probe records of one tool, or of the server as a whole."""

    item: Item
    records: list[ProbeRecord]
    revision: str | None
    """The protocol revision of the server, by which its responses are judged."""
    refused_cases: frozenset[str | None] = frozenset()
    """The faults of which a violation was refused, as far as the records do not show it."""

    @property
    def refused(self) -> frozenset[str | None]:
        """The faults of which a violation was refused, although the valid call succeeds."""
        if not any(
            each.probe == "baseline" and each.outcome == "accepted" and each.reported_error is None
            for each in self.records
        ):
            return self.refused_cases
        return self.refused_cases | {
            each.fault
            for each in self.records
            if each.keyword and (each.outcome == "rejected" or each.reported_error is not None)
        }


def excerpt(text: str, hidden: int = 0) -> str:
    """The beginning of a text, with the length of the whole if it was cropped; `hidden` characters already are."""
    if len(text) + hidden <= LONGEST_EXCERPT:
        return text
    return f"{text[:LONGEST_EXCERPT]}… ({len(text) + hidden:,} characters)"


def as_json(value: Any) -> str:
    """A value as JSON, cropped. Long strings are cropped before they are encoded: many cases have a megabyte."""
    import json

    try:
        shown, hidden = _without_long_strings(value)
        return excerpt(json.dumps(shown, ensure_ascii=False), hidden)
    except (ValueError, RecursionError):
        return "(nested too deeply to be shown)"


def _without_long_strings(value: Any) -> tuple[Any, int]:
    """A value whose strings have at most the length of an excerpt, and how many characters are missing."""
    if isinstance(value, str):
        return value[:LONGEST_EXCERPT], max(0, len(value) - LONGEST_EXCERPT)
    if isinstance(value, dict):
        shown, hidden = {}, 0
        for key, each in value.items():
            shown[key], missing = _without_long_strings(each)
            hidden += missing
        return shown, hidden
    if isinstance(value, list):
        pairs = list(map(_without_long_strings, value))
        return [each for each, _ in pairs], sum(missing for _, missing in pairs)
    return value, 0


def cropped_value(value: Any, depth: int = 6) -> Any:
    """A value with long strings and lists cropped."""
    if isinstance(value, str):
        return value if len(value) <= 200 else f"{value[:200]}… ({len(value):,} characters)"
    if isinstance(value, (dict, list)) and depth == 0:
        return "…"
    if isinstance(value, dict):
        return {cropped_value(key): cropped_value(each, depth - 1) for key, each in list(value.items())[:50]}
    if isinstance(value, list):
        return [cropped_value(each, depth - 1) for each in value[:50]]
    return value
