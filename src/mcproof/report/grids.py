"""Clients against tools as a grid of marks, for every format that draws it.

Tools with the same outcome in every client share a column, and clients with the same outcome of every tool a row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mcproof.checks.clients.verdicts import TOOL_OUTCOMES, VERDICTS, client_effects
from mcproof.core.console import plural
from mcproof.report.matrix_grid import Mark

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcproof.checks.clients.verdicts import (
        ClientEffects,
        ClientGain,
        ClientOutcome,
        Improvement,
        ToolOutcome,
        Verdict,
    )
    from mcproof.runs.results import CompatPayload, TargetResult

MARKS: dict[str, Mark] = {
    each.word: each
    for each in (
        Mark("works", "✓", "+", "good"),
        Mark("degraded", "!", "!", "fair", "usable, but not as intended"),
        Mark("breaks", "✗", "X", "bad", "missing, or every call fails"),
        Mark("lost", "○", "o", "open", "lost with its neighbours: another tool breaks the list or the request"),
    )
}
"""The marks of the outcomes."""

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
        return [each.name for each in self.clients]


class ClientGrid(NamedTuple):
    """Clients against tools."""

    columns: list[ToolColumn]
    rows: list[ClientRow]
    """The clients first, then the others, unless those all work; the worst first."""

    @property
    def has_server_column(self) -> bool:
        """Whether a client has a problem with the server as a whole."""
        return any(row.server != "works" for row in self.rows)

    def legend(self) -> list[Mark]:
        """The marks that occur."""
        used = {cell for row in self.rows for cell in (*row.cells, row.server)}
        return [mark for word, mark in MARKS.items() if word in used]


def shown_outcomes(payload: CompatPayload) -> list[ClientOutcome]:
    """Return the outcomes to show: of the named clients, or of all."""
    return [each for each in payload.outcomes if not payload.named or each.client in payload.named]


def clients_sentence(payload: CompatPayload) -> str:
    """Return in how many clients a server works, is degraded and breaks."""
    return "; ".join(client_counts(payload))


def client_counts(payload: CompatPayload) -> list[str]:
    """Return in how many clients, and in how many model APIs and SDKs, a server works, is degraded and breaks."""
    outcomes = shown_outcomes(payload)
    clients = [each for each in outcomes if each.kind == "client"]
    others = [each for each in outcomes if each.kind != "client"]
    parts = []
    if clients:
        parts.append(_counted(clients, plural(len(clients), "client")))
    if others:
        parts.append(_counted(others, f"{len(others):,} {_OTHERS if len(others) > 1 else 'model API or SDK'}"))
    return parts


def _counted(outcomes: list[ClientOutcome], of: str) -> str:
    """Return a phrase such as "works in 20 of 29 clients, degraded in 4, breaks in 5"."""
    counts = {verdict: sum(each.verdict == verdict for each in outcomes) for verdict in VERDICTS}
    if counts["works"] == len(outcomes):
        return f"works in {'all ' if len(outcomes) > 1 else ''}{of}"
    others = "".join(f", {word} in {counts[word]:,}" for word in ("degraded", "breaks") if counts[word])
    return f"works in {counts['works']:,} of {of}{others}"


def client_grid(result: TargetResult, payload: CompatPayload, most_columns: int) -> ClientGrid:
    """Return the grid with a limited number of columns; the worst tools have columns of their own."""
    shown = {each.client for each in shown_outcomes(payload)}
    effects = [each for each in client_effects(payload.outcomes) if each.outcome.client in shown]
    total = result.counts.get("tools", 0)
    columns = _columns(effects, total, most_columns)
    rows: dict[tuple[bool, Verdict, tuple[ToolOutcome, ...], str], list[ClientOutcome]] = {}
    for each in effects:
        cells = tuple(_cell(each, column) for column in columns)
        summary = _summary(each, total)
        key = (each.outcome.kind == "client", each.server, cells, summary)
        rows.setdefault(key, []).append(each.outcome)
    drawn = [
        ClientRow(clients, clients[0].verdict, server, list(cells), summary)
        for (_, server, cells, summary), clients in rows.items()
    ]
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
    for each in effects:
        for effect in each.by_rule.values():
            hit.update(dict.fromkeys(sorted(effect.breaking | effect.degraded)))
    concerned = [each for each in effects if each.by_rule]
    groups: dict[tuple[ToolOutcome, ...], list[str]] = {}
    for name in hit:
        groups.setdefault(tuple(each.tool(name) for each in concerned), []).append(name)
    ranked = sorted(groups.items(), key=lambda each: (-sum(map(TOOL_OUTCOMES.index, each[0])), -len(each[1])))
    tools = [names for _, names in ranked]
    rest = max(0, total - len(hit))
    room = max(1, most - bool(rest))
    if len(tools) > room:
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
    clients = [each for each in improvement.gains if each.kind == "client"]
    return [*_gains(clients), *_gains(each for each in improvement.gains if each.kind != "client")]


def _gains(gains: Iterable[ClientGain]) -> list[str]:
    grouped: dict[str, list[str]] = {}
    for each in gains:
        what = f"+{plural(each.tools, 'tool')}" if each.tools else f"from {each.before} to {each.after}"
        grouped.setdefault(what, []).append(each.name)
    return [f"{_few(names)} {what}" for what, names in grouped.items()]


def _few(names: list[str]) -> str:
    more = f" and {len(names) - _CLIENTS_NAMED:,} more" if len(names) > _CLIENTS_NAMED else ""
    return ", ".join(names[:_CLIENTS_NAMED]) + more
