"""What was sent to a live server on purpose, and how it responded: one record for each case.

`ItemProbes` has the records of a tool or of the server. A failure that all tools share becomes one record of the
server.
Why probes are recorded as observations: docs/decisions/0017-probes-are-facts.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from mcproof.core.named_tuple import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mcproof.core.catalog.model import Item


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

CaseOutcome = Literal["clean", "accepted", "crash", "hang", "protocol_violation", "leak", "injection", "not_reached"]
CASE_OUTCOMES: tuple[CaseOutcome, ...] = ("clean", "accepted", "crash", "hang", "protocol_violation", "leak")
"""The outcomes that fuzzing always counts; a leak is counted instead of `clean`, and beside any other outcome."""
ALL_OUTCOMES: tuple[CaseOutcome, ...] = (*CASE_OUTCOMES, "injection", "not_reached")
"""Those and the ones that only hostile calls have, which are sent with `--security`: an effect, and none where the
valid call is refused, too."""

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
            record.probe == "baseline" and record.outcome == "accepted" and record.reported_error is None
            for record in self.records
        ):
            return self.refused_cases
        return self.refused_cases | {
            record.fault
            for record in self.records
            if record.keyword and (record.outcome == "rejected" or record.reported_error is not None)
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
        for key, member in value.items():
            shown[key], missing = _without_long_strings(member)
            hidden += missing
        return shown, hidden
    if isinstance(value, list):
        pairs = list(map(_without_long_strings, value))
        return [item for item, _ in pairs], sum(missing for _, missing in pairs)
    return value, 0


def cropped_value(value: Any, depth: int = 6) -> Any:
    """A value with long strings and lists cropped."""
    if isinstance(value, str):
        return value if len(value) <= 200 else f"{value[:200]}… ({len(value):,} characters)"
    if isinstance(value, (dict, list)) and depth == 0:
        return "…"
    if isinstance(value, dict):
        return {cropped_value(key): cropped_value(member, depth - 1) for key, member in list(value.items())[:50]}
    if isinstance(value, list):
        return [cropped_value(item, depth - 1) for item in value[:50]]
    return value


_RULE_OF_CALLS, _RULE_OF_BODIES = "active_probe_read_tools_honor_their_schema", "resource_contents_no_injection"
_RULE_OF_FILES = "WIR-038"


class ReadCall(NamedTuple):
    """One call of a tool."""

    tool: str
    outcome: str
    """`accepted`, `tool_error` (`isError`), `rejected` (a JSON-RPC error) or `no_response`."""
    detail: str = ""
    """The error, without secrets."""


class ReadCalls(NamedTuple):
    """The calls of a deep scan."""

    calls: tuple[ReadCall, ...] = ()
    why_none: str = ""
    """Why no tool was called."""

    @property
    def not_applicable(self) -> Mapping[str, str]:
        """The rules that do not concern the server, with the reason."""
        return {_RULE_OF_CALLS: self.why_none} if self.why_none else {}

    @property
    def unobserved(self) -> Mapping[str, str]:
        """The other rules that could not be judged, with the reason."""
        return {} if self.calls or self.why_none else {_RULE_OF_CALLS: "the server was not reached again"}


class LeftFiles(NamedTuple):
    """The files that calls have left behind where a local server runs."""

    created: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    allowed: tuple[str, ...] = ()
    """The called tools that the user has allowed to change something."""
    why_none: str = ""
    """Why there is no folder to look at; empty if there is one."""

    @property
    def not_applicable(self) -> Mapping[str, str]:
        """The rules that do not concern the server, with the reason."""
        return {_RULE_OF_FILES: self.why_none} if self.why_none else {}


class ResourceBodies(NamedTuple):
    """The texts of the resources that were read, each with its URI and cut off at a limit."""

    bodies: tuple[tuple[str, str], ...]
    offered: int = 0
    """How many https resources the server has."""
    unlisted: str = ""
    """Why the list of resources was not read as a whole; empty if it was."""

    @property
    def not_applicable(self) -> Mapping[str, str]:
        """The rules that do not concern the server, with the reason."""
        is_concerned = bool(self.bodies or self.offered or self.unlisted)
        return {} if is_concerned else {_RULE_OF_BODIES: "the server has no https resources"}

    @property
    def unobserved(self) -> Mapping[str, str]:
        """The rules that could not be judged, with the reason."""
        why = self.unlisted or ("no resource could be read" if self.offered and not self.bodies else "")
        return {_RULE_OF_BODIES: why} if why else {}


FEWEST = 3
"""The fewest tools that share a failure."""


def with_shared_failures(item_probes: list[ItemProbes], server: Item) -> list[ItemProbes]:
    """The records with shared failures moved to the server.

    A fault is shared if a violation was accepted in at least three tools and refused in none. A hang or a crash is
    shared if at least three tools were sent the same probe and all of them failed.
    """
    tools = [probes for probes in item_probes if probes.item is not server]
    shared = [*_shared_acceptances(tools), *_shared_ends(tools)]
    if not shared:
        return item_probes
    moved = {id(record) for failure in shared for _, record in failure.of_tools}
    of_server = next((probes for probes in item_probes if probes.item is server), None)
    if of_server is None:
        of_server = ItemProbes(server, [], tools[0].revision)
    rest = [tool._replace(records=[record for record in tool.records if id(record) not in moved]) for tool in tools]
    return [of_server._replace(records=[*of_server.records, *shared]), *rest]


def _shared_acceptances(tools: list[ItemProbes]) -> list[ProbeRecord]:
    """One record for each fault of which violations are accepted everywhere."""
    refused = {fault for tool in tools for fault in tool.refused}
    faults = dict.fromkeys(record.fault for tool in tools for record in tool.records if record.is_broken_promise)
    shared = []
    for fault in [name for name in faults if name not in refused]:

        def is_broken(record: ProbeRecord, fault: str | None = fault) -> bool:
            return record.is_broken_promise and record.fault == fault

        shared.append(_shared(tools, is_broken))
    return [record for record in shared if record is not None]


def _shared_ends(tools: list[ItemProbes]) -> list[ProbeRecord]:
    """One record for each probe that ends every server it is sent to."""
    shared = []
    for probe in dict.fromkeys(record.probe for tool in tools for record in tool.records):
        # Fuzzing records only failures, and sends cases to every tool.
        tried = [tool for tool in tools if probe == "fuzz" or any(record.probe == probe for record in tool.records)]
        for outcome in SERVER_LOST:

            def is_end(record: ProbeRecord, probe: str = probe, outcome: str = outcome) -> bool:
                return record.probe == probe and record.outcome == outcome

            if all(any(map(is_end, tool.records)) for tool in tried):
                shared.append(_shared(tried, is_end))
    return [record for record in shared if record is not None]


def _shared(tools: list[ItemProbes], belongs: Callable[[ProbeRecord], bool]) -> ProbeRecord | None:
    """The first of the records, with all of them by tool; None if too few tools have one."""
    records = [(tool.item.name, record) for tool in tools for record in tool.records if belongs(record)]
    if len({name for name, _ in records}) < FEWEST:
        return None
    return records[0][1]._replace(of_tools=tuple(records), times=1)


class Judgements(NamedTuple):
    """What a model of the user's own says about the texts of tools."""

    model: str
    suspicious: tuple[tuple[str, str], ...] = ()
    """The tools whose texts it holds to manipulate a model, each with its reason."""
