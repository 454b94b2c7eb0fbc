"""Results as grids of symbols: clients against tools, the contract matrix, and the probes of each tool.

Every format draws these grids. Tools with the same outcome in every client share a column. `rules_judging` says
which findings repeat a failed probe, so that each problem is reported once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.checks.clients.verdicts import (
    TOOL_OUTCOMES,
    VERDICTS,
    ClientEffects,
    ClientGain,
    ClientOutcome,
    Improvement,
    ToolOutcome,
    Verdict,
    client_effects,
)
from mcproof.core.console import few, plural
from mcproof.core.named_tuple import NamedTuple
from mcproof.core.observations.probes import HOSTILE_PROBES

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from mcproof.checks.findings import ReportedFinding
    from mcproof.probing.outcomes import Cell, Column, Failure, ProbeResult
    from mcproof.runs.results import CompatPayload, Kind, TargetResult


MEANINGS: dict[Column, str] = {
    "missing": "a required argument is missing",
    "type": "an argument has the wrong type",
    "extra": "an unknown argument is passed",
    "size": "a text or a list is too long",
    "values": "a value is out of range or not allowed",
}
"""The columns of the matrix, and what goes wrong in each."""

PROBES = {
    "baseline": "valid",
    "missing_required": "missing",
    "wrong_type": "type",
    "extra_field": "extra",
    "oversized": "size",
}
"""The columns of the grid of probes, and their titles."""


TITLES = {"prove": "Contract matrix", "probe": "Probes"}
"""The heading of the grid, by kind of run."""


class Symbol(NamedTuple):
    """A symbol that needs no colour, and its meaning."""

    word: str
    unicode: str
    ascii: str
    tone: str
    """Such as `good`; formats with colours choose one by it."""
    meaning: str = ""


LENIENT = Symbol("lenient", "~", "~", "fair", 'accepted though of another type, such as "5" for 5')
"""Stands beside a cell, with the number of such values."""

NOT_TESTED = "not tested"

VERDICT_SYMBOLS = {
    symbol.word: symbol
    for symbol in (
        Symbol("proven", "✓", "+", "good", "promised and kept"),
        Symbol("broken promise", "✗", "X", "bad", "promised and not kept"),
        Symbol("hidden rule", "◆", "*", "fair", "enforced, though the schema does not declare it"),
        Symbol("open", "○", "o", "open", "neither promised nor kept"),
        Symbol("partly tried", "◐", "/", "fair", "kept as far as it was tried"),
        Symbol(
            "not shown",
            "?",
            "?",
            "fair",
            "the responses are those of the valid call, about something else, or depend on the user",
        ),
        Symbol(NOT_TESTED, "·", ".", "none"),
        Symbol("not applicable", "–", "-", "none", "nothing to promise"),
    )
}

_PROBE_SYMBOLS = {
    symbol.word: symbol
    for symbol in (
        Symbol("passed", "✓", "+", "good", "as expected"),
        Symbol("failed", "✗", "X", "bad"),
        Symbol("passed with a finding", "!", "!", "fair", "refused, but not as the revision requires"),
        Symbol("valid call rejected", "!", "!", "fair", "the probes of this tool prove little"),
        Symbol("rejected", "◆", "*", "fair", "though the schema does not declare it"),
        Symbol("open", "○", "o", "open", "accepted, and the schema allows it"),
        Symbol("accepted", "○", "o", "open", "a refusal is recommended, not required"),
        LENIENT,
        Symbol(
            "not shown",
            "?",
            "?",
            "fair",
            "the response is that of the valid call, about something else, or depends on the user",
        ),
        Symbol(NOT_TESTED, "·", ".", "none"),
        Symbol("not applicable", "–", "-", "none", "nothing to violate"),
    )
}


_ADVISED = ("bad_cursor",)
"""The probes that a server should refuse, but need not."""


def symbol_of(probe: ProbeResult, with_findings: Collection[str] = ()) -> Symbol:
    """Return the symbol of a probe; those of the server that have a finding of their own have not just passed."""
    if probe.passed and probe.tool is None and probe.probe in with_findings:
        return _PROBE_SYMBOLS["passed with a finding"]
    # Before the usual verdict: it passes, yet a reader should see that it was let through.
    if probe.passed and probe.outcome == "accepted" and probe.probe in _ADVISED:
        return _PROBE_SYMBOLS["accepted"]
    if probe.passed is not None:
        return _PROBE_SYMBOLS["passed" if probe.passed else "failed"]
    if probe.outcome in ("not_tested", "not_applicable"):
        return _PROBE_SYMBOLS[probe.outcome.replace("_", " ")]
    if probe.probe == "baseline":
        return _PROBE_SYMBOLS["passed" if probe.outcome == "accepted" else "valid call rejected"]
    if not probe.is_exploratory:
        return _PROBE_SYMBOLS["not shown"]
    if probe.is_lenient:
        return _PROBE_SYMBOLS["passed"] if probe.outcome == "rejected" else LENIENT
    return _PROBE_SYMBOLS["rejected" if probe.outcome == "rejected" else "open"]


class Square(NamedTuple):
    """One tool in one column."""

    symbol: Symbol
    reason: str = ""
    ratio: str = ""
    """How many promises are kept of those tried: `3/4`; empty if nothing is promised."""
    lenient: int = 0
    """How many values were converted instead of refused."""

    def label(self, symbol: str) -> str:
        """The square as text: `✓ 3/4 ~2`."""
        return " ".join(
            [symbol, *([self.ratio] if self.ratio else []), *([f"~{self.lenient}"] if self.lenient else [])]
        )


class Row(NamedTuple):
    """A tool and its square in each column, or None."""

    tool: str
    squares: list[Square | None]

    @property
    def was_left_out(self) -> bool:
        """Whether the tool was not called."""
        words = {square.symbol.word for square in self.squares if square is not None}
        return NOT_TESTED in words and words <= {NOT_TESTED, "not applicable"}


class Grid(NamedTuple):
    """A grid of tools and their squares."""

    titles: list[str]
    rows: list[Row]

    def legend(self) -> list[Symbol]:
        """Return the symbols that occur, the best first.

        They are not counted: a square stands for several promises, and those are what the totals count.
        """
        squares = [square for row in self.rows for square in row.squares if square is not None]
        symbols = {square.symbol for square in squares}
        every = dict.fromkeys((*VERDICT_SYMBOLS.values(), *_PROBE_SYMBOLS.values()))
        # Stable: whatever has no tone is last, the others keep their order.
        ranked = sorted(every, key=lambda symbol: symbol.tone == "none")
        is_lenient = any(square.lenient for square in squares) and LENIENT not in symbols
        return [*(symbol for symbol in ranked if symbol in symbols), *([LENIENT] if is_lenient else [])]


def matrix_grid(matrix: Iterable[Cell]) -> Grid:
    """Return the contract matrix as a grid."""
    squares = ((cell.tool, cell.column, _square(cell)) for cell in matrix)
    return Grid(list(MEANINGS), _rows(squares, list(MEANINGS)))


def _square(cell: Cell) -> Square:
    ratio = f"{cell.refused}/{cell.tried}" if cell.declared and cell.tried else ""
    return Square(VERDICT_SYMBOLS[cell.verdict], cell.reason, ratio, cell.lenient)


def probe_grid(probes: Iterable[ProbeResult]) -> Grid:
    """Return the probes of tools as a grid, with a column for each probe that occurs."""
    squares = [
        (probe.tool, probe.probe, Square(symbol_of(probe), probe.reason)) for probe in probes if probe.tool is not None
    ]
    occurring = dict.fromkeys(probe for _, probe, _ in squares)
    columns = [*(name for name in PROBES if name in occurring), *(name for name in occurring if name not in PROBES)]
    return Grid([PROBES.get(name, name) for name in columns], _rows(squares, columns))


def server_probes(probes: Iterable[ProbeResult]) -> list[ProbeResult]:
    """Return the probes of the server as a whole."""
    return [probe for probe in probes if probe.tool is None]


def probes_with_findings(findings: Iterable[ReportedFinding]) -> set[str]:
    """Return the names of the probes of the server as a whole that findings are about."""
    return {
        finding.evidence["probe"]
        for finding in findings
        if finding.tool is None and finding.evidence is not None and "probe" in finding.evidence
    }


def _rows(squares: Iterable[tuple[str, str, Square]], columns: list[str]) -> list[Row]:
    """Return a row for each tool, in order of occurrence; two tools of one name have a row each."""
    rows: list[Row] = []
    latest: dict[str, Row] = {}
    for tool, column, square in squares:
        if column not in columns:
            continue
        at = columns.index(column)
        row = latest.get(tool)
        # A second tool of the same name must not overwrite the squares of the first.
        if row is None or row.squares[at] is not None:
            row = latest[tool] = Row(tool, [None] * len(columns))
            rows.append(row)
        row.squares[at] = square
    return rows


OUTCOME_SYMBOLS: dict[str, Symbol] = {
    symbol.word: symbol
    for symbol in (
        Symbol("works", "✓", "+", "good"),
        Symbol("degraded", "!", "!", "fair", "usable, but not as intended"),
        Symbol("breaks", "✗", "X", "bad", "missing, or every call fails"),
        Symbol("lost", "○", "o", "open", "lost with its neighbours: another tool breaks the list or the request"),
    )
}
"""The symbols of the outcomes."""

KIND_WORDS = {
    "client": "client",
    "api": "model API",
    "api-mode": "API mode",
    "engine": "inference engine",
    "sdk": "SDK",
    "directory": "directory",
}
"""The kinds of profiles, in words."""
_OTHERS = "model APIs, engines and SDKs"
_CLIENTS_NAMED = 4


class ToolColumn(NamedTuple):
    """Tools with the same outcome in every client."""

    tools: list[str]
    """Their names; empty for tools without a hit."""
    size: int

    @property
    def title(self) -> str:
        """The name of the only tool, or the number of tools."""
        return self.tools[0] if len(self.tools) == 1 else f"{self.size:,} tools"

    @property
    def is_rest(self) -> bool:
        """Whether it is the column of all tools that no client has a problem with."""
        return not self.tools


class ClientRow(NamedTuple):
    """Clients with the same outcome of every tool."""

    clients: list[ClientOutcome]
    verdict: Verdict
    server: Verdict
    """The verdict of constraints on the server as a whole."""
    cells: list[ToolOutcome]
    summary: str
    """The verdict and the number of tools that it is about."""

    @property
    def is_client(self) -> bool:
        """Whether it is about clients, not about model APIs, engines or SDKs."""
        return self.clients[0].kind == "client"

    @property
    def names(self) -> list[str]:
        return [client.name for client in self.clients]


class ClientGrid(NamedTuple):
    """Clients against tools."""

    columns: list[ToolColumn]
    rows: list[ClientRow]
    """The clients first, then the others, unless those all work; the worst first."""

    @property
    def has_server_column(self) -> bool:
        """Whether a client has a problem with the server as a whole."""
        return any(row.server != "works" for row in self.rows)

    def symbols(self, row: ClientRow) -> list[Symbol]:
        """The symbols of a row: of the server as a whole, if any client has a problem with it, then of the tools."""
        return [OUTCOME_SYMBOLS[cell] for cell in ([row.server] if self.has_server_column else []) + row.cells]

    def legend(self) -> list[Symbol]:
        """The symbols that occur."""
        used = {cell for row in self.rows for cell in (*row.cells, row.server)}
        return [symbol for word, symbol in OUTCOME_SYMBOLS.items() if word in used]


def shown_outcomes(payload: CompatPayload) -> list[ClientOutcome]:
    """Return the outcomes to show: of the named clients, or of all."""
    return [outcome for outcome in payload.outcomes if not payload.named or outcome.client in payload.named]


def clients_sentence(payload: CompatPayload) -> str:
    """Return in how many clients a server works, is degraded and breaks."""
    return "; ".join(client_counts(payload))


def client_counts(payload: CompatPayload) -> list[str]:
    """Return in how many clients, and in how many model APIs and SDKs, a server works, is degraded and breaks."""
    outcomes = shown_outcomes(payload)
    clients = [outcome for outcome in outcomes if outcome.kind == "client"]
    others = [outcome for outcome in outcomes if outcome.kind != "client"]
    parts = []
    if clients:
        parts.append(_counted(clients, plural(len(clients), "client")))
    if others:
        parts.append(_counted(others, f"{len(others):,} {_OTHERS if len(others) > 1 else 'model API or SDK'}"))
    return parts


def _counted(outcomes: list[ClientOutcome], of: str) -> str:
    """Return a phrase such as "works in 20 of 29 clients, degraded in 4, breaks in 5"."""
    counts = {verdict: sum(outcome.verdict == verdict for outcome in outcomes) for verdict in VERDICTS}
    if counts["works"] == len(outcomes):
        return f"works in {'all ' if len(outcomes) > 1 else ''}{of}"
    others = "".join(f", {word} in {counts[word]:,}" for word in ("degraded", "breaks") if counts[word])
    return f"works in {counts['works']:,} of {of}{others}"


def client_grid(result: TargetResult, payload: CompatPayload, most_columns: int) -> ClientGrid:
    """Return the grid with a limited number of columns; the worst tools have columns of their own."""
    shown = {outcome.client for outcome in shown_outcomes(payload)}
    effects = [client for client in client_effects(payload.outcomes) if client.outcome.client in shown]
    total = result.counts.get("tools", 0)
    columns = _columns(effects, total, most_columns)
    rows: dict[tuple[bool, Verdict, tuple[ToolOutcome, ...], str], list[ClientOutcome]] = {}
    for client in effects:
        cells = tuple(_cell(client, column) for column in columns)
        summary = _summary(client, total)
        key = (client.outcome.kind == "client", client.server, cells, summary)
        rows.setdefault(key, []).append(client.outcome)
    drawn = [
        ClientRow(clients, clients[0].verdict, server, list(cells), summary)
        for (_, server, cells, summary), clients in rows.items()
    ]
    # Rows that only say that everything works elsewhere would push the others off the screen.
    if any(row.is_client for row in drawn) and all(row.is_client or row.verdict == "works" for row in drawn):
        drawn = [row for row in drawn if row.is_client]
    return ClientGrid(columns, sorted(drawn, key=_urgency))


def _urgency(row: ClientRow) -> tuple[bool, int, int, int]:
    """The order of rows: clients first, then the worst verdict, then the most tools."""
    badness = sum(TOOL_OUTCOMES.index(cell) for cell in row.cells)
    return not row.is_client, -VERDICTS.index(row.verdict), -badness, -len(row.clients)


def _columns(effects: list[ClientEffects], total: int, most: int) -> list[ToolColumn]:
    """Group tools by their outcomes, the worst first; tools beyond the limit share the last column of hit tools."""
    hit: dict[str, None] = {}
    for client in effects:
        for effect in client.by_rule.values():
            hit.update(dict.fromkeys(sorted(effect.breaking | effect.degraded)))
    # Clients without a problem have the same outcome for every tool, and would only slow the grouping.
    concerned = [client for client in effects if client.by_rule]
    groups: dict[tuple[ToolOutcome, ...], list[str]] = {}
    for name in hit:
        groups.setdefault(tuple(client.tool(name) for client in concerned), []).append(name)
    ranked = sorted(groups.items(), key=lambda group: (-sum(map(TOOL_OUTCOMES.index, group[0])), -len(group[1])))
    tools = [names for _, names in ranked]
    rest = max(0, total - len(hit))
    room = max(1, most - bool(rest))
    if len(tools) > room:
        # The least bad groups share the last column: whoever fixes the worst first does not need them apart.
        tools[room - 1 :] = [[name for names in tools[room - 1 :] for name in names]]
    columns = [ToolColumn(names, len(names)) for names in tools]
    return [*columns, ToolColumn([], rest)] if rest else columns


def _cell(effects: ClientEffects, column: ToolColumn) -> ToolOutcome:
    """The outcome of the tools of a column: of the worst of them."""
    if column.is_rest:
        return "lost" if effects.loses_all else "works"
    return max((effects.tool(name) for name in column.tools), key=TOOL_OUTCOMES.index)


def _summary(effects: ClientEffects, total: int) -> str:
    """Return the verdict of a client, the number of tools that it is about, and the model APIs that decide it."""
    verdict, through = effects.verdict, effects.outcome.through
    via = f" via {', '.join(through)}" if through else ""
    if effects.loses_all:
        return f"breaks: all {plural(total, 'tool')}{via}" if total > 1 else f"breaks{via}"
    tools = len(effects.tools("breaking" if verdict == "breaks" else "degraded"))
    if verdict == "works" or not tools:
        return f"{verdict}{via}"
    return f"{verdict}: {tools:,} of {plural(total, 'tool')}{via}"


def gain_phrases(improvement: Improvement) -> list[str]:
    """Return what an improvement gains, such as "Claude Desktop, Claude Code +7 tools", the most tools first."""
    clients = [gain for gain in improvement.gains if gain.kind == "client"]
    return [*_gains(clients), *_gains(gain for gain in improvement.gains if gain.kind != "client")]


def _gains(gains: Iterable[ClientGain]) -> list[str]:
    grouped: dict[str, list[str]] = {}
    for gain in gains:
        what = f"+{plural(gain.tools, 'tool')}" if gain.tools else f"from {gain.before} to {gain.after}"
        grouped.setdefault(what, []).append(gain.name)
    return [f"{few(names, _CLIENTS_NAMED)} {what}" for what, names in grouped.items()]


PROBING: tuple[Kind, ...] = ("probe", "prove")
"""The kinds of run that send probes."""

_RULE_OF_PROBE = {
    "unknown_tool": "WIR-011",
    "missing_required": "WIR-012",
    "wrong_type": "WIR-013",
    "extra_field": "WIR-014",
    "oversized": "WIR-015",
    "wrong_value": "WIR-016",
    "unknown_method": "WIR-025",
    "not_json": "WIR-026",
    "not_object": "WIR-026",
    "ping": "WIR-035",
    "no_arguments": "WIR-037",
    "bad_version": "WIR-027",
    "bad_cursor": "WIR-028",
    "unknown_prompt": "WIR-029",
    "unknown_resource": "WIR-030",
    **dict.fromkeys(HOSTILE_PROBES, "WIR-032"),
}

_RULES_OF_OUTCOME = {
    "crash": ("WIR-017",),
    "hang": ("WIR-018",),
    "malformed": ("WIR-019",),
    "rejected": ("WIR-031",),
}
"""The rules that judge the outcome of any probe."""

RULES_OF_CASE_OUTCOME = {
    "accepted": ("WIR-012", "WIR-013", "WIR-014", "WIR-015", "WIR-016"),
    "crash": ("WIR-017",),
    "hang": ("WIR-018",),
    "protocol_violation": ("WIR-019", "WIR-020", "WIR-021", "WIR-022"),
    "leak": ("WIR-024",),
    "injection": ("WIR-032",),
}
"""The rules that judge the outcome of a case."""

UNUSED_RULES: dict[Kind, frozenset[str]] = {
    "probe": frozenset({"WIR-032"}),
    "prove": frozenset({"WIR-032"}),
    "fuzz": frozenset({"WIR-011", "WIR-035", "WIR-037", *(f"WIR-{number:03}" for number in range(25, 33))}),
}
"""The rules that a kind of run sends nothing for, so that no finding does not mean passed."""

PROBED_RULES = frozenset((*_RULE_OF_PROBE.values(), "WIR-016", "WIR-017", "WIR-018", "WIR-019", "WIR-031"))
"""The rules whose findings are the result of a probe."""


def rules_judging(probe: ProbeResult) -> set[str]:
    """Return the ids of the rules whose finding reports the same as a failed probe."""
    rules = set(_RULES_OF_OUTCOME.get(probe.outcome, ()))
    return rules | {_RULE_OF_PROBE[probe.probe]} if probe.probe in _RULE_OF_PROBE else rules


def covered_by_probes(probes: Iterable[ProbeResult]) -> set[tuple[str | None, str]]:
    """Return the tools and rules whose findings the failed probes already report."""
    return {(probe.tool, rule) for probe in probes if probe.passed is False for rule in rules_judging(probe)}


def covered_by_failures(failures: Iterable[Failure]) -> set[tuple[str | None, str]]:
    """Return the tools and rules whose findings the failed cases already report."""
    return {(failure.tool, rule) for failure in failures for rule in RULES_OF_CASE_OUTCOME.get(failure.outcome, ())}
