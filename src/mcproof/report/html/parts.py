"""The parts of a page: findings by item, and the values that the macros of blocks draw, as many as there is room for.

Views are plain values and hold the logic; templates only show them. `PageRoom` bounds how much a page shows.
Why markup lives in templates: docs/decisions/0028-html-markup.md.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, TypeVar

from mcproof.checks.findings import LEVELS, FindingGroup, Level, ReportedFinding, RuleSummary, Snippet, group_by_fault
from mcproof.checks.texts.tool_graph import KINDS, EdgeKind, ToolEdge, ToolGraph
from mcproof.core.console import plural
from mcproof.core.named_tuple import NamedTuple
from mcproof.report.grids import LENIENT, Grid, Row, Square
from mcproof.report.phrases import CHANGE_WORDS
from mcproof.report.sections.outcomes import LOOKS, Look

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from mcproof.checks.fixes.snippets import CodeHelp
    from mcproof.checks.scores.tokens import TokenCost
    from mcproof.probing.outcomes import Failure, ProbeResult
    from mcproof.report.blocks import Share
    from mcproof.runs.results import Kind, RunResult, TargetResult
    from mcproof.testing.outcomes import TestResult


MOST = 5_000
"""How many findings, probes, tests or failed cases a page shows, of each."""

MOST_ROWS = 1_000
"""How many rows a table or a list shows that has one for each tool, notice or reason."""

Entry = TypeVar("Entry")


class PageRoom(NamedTuple):
    """How many findings, probes and tests of a target the page has room for."""

    number: int = 1
    """The number of the target on the page."""
    findings: int = MOST
    probes: int = MOST
    tests: int = MOST


def first_entries(entries: Sequence[Entry], most: int, is_urgent: Callable[[Entry], bool]) -> list[Entry]:
    """Return at most this many entries in their order; urgent ones are left out last."""
    if len(entries) <= most:
        return list(entries)
    # Stable, so that of the urgent ones and of the others the first are shown.
    ranked = sorted(range(len(entries)), key=lambda index: not is_urgent(entries[index]))
    return [entries[index] for index in sorted(ranked[: max(0, most)])]


OPEN_FINDINGS = 30
"""A target with at most this many findings shows them unfolded."""

BEFORE, AFTER = 60, 120
"""How much of a long line is shown around the location; pages wrap, and a minified file is one line."""

_SUPPRESSED_BY = {
    "ignore-for": "Ignored by the configuration",
    "baseline": "Accepted in the baseline",
    "comment": "Ignored by a comment",
}


def count_levels(groups: Iterable[FindingGroup]) -> dict[Level, int]:
    """Return the number of findings of each level."""
    counted: dict[Level, int] = dict.fromkeys(LEVELS, 0)
    for group in groups:
        for finding in (group.shown, *group.others):
            counted[finding.level] += 1
    return counted


class RuleUse(NamedTuple):
    """A rule with findings in a run."""

    rule: RuleSummary
    number: int
    """Identifies the rule on the page; an untrusted id would not be a safe anchor."""
    times: int
    code_help: list[CodeHelp] = []  # noqa: RUF012 (never mutated)
    """What to write in a server's code; of the first target that has it."""


def rules_used(run: RunResult) -> dict[str, RuleUse]:
    """Return the rules with findings, suppressed or not, by id; the most serious and frequent first."""
    facts: dict[str, RuleSummary] = {}
    times: dict[str, int] = {}
    for result in run.targets:
        for finding in (*result.findings, *result.suppressed):
            facts.setdefault(finding.rule.id, finding.rule)
            times[finding.rule.id] = times.get(finding.rule.id, 0) + 1
    # The id last, so that the order does not depend on that of the targets.
    ranked = sorted(facts.values(), key=lambda rule: (LEVELS.index(rule.level), -times[rule.id], rule.id))
    return {
        rule.id: RuleUse(rule, number, times[rule.id], _code_help(run, rule.id))
        for number, rule in enumerate(ranked, 1)
    }


def _code_help(run: RunResult, rule: str) -> list[CodeHelp]:
    by_target = ([snippet for snippet in result.code_help if snippet.rule == rule] for result in run.targets)
    return next((snippets for snippets in by_target if snippets), [])


class FindingView:
    """One finding: message, rules, location, line, and how it is fixed or suppressed."""

    def __init__(self, group: FindingGroup, target: str) -> None:
        self.shown: ReportedFinding = group.shown
        self.rules = [group.shown.rule.id, *group.also]
        self._target = target

    @property
    def location(self) -> str:
        """File, line and column; the file only if it is not the target."""
        parts = [str(part) for part in (self.shown.line, self.shown.column) if part is not None]
        if self.shown.file != self._target:
            return ":".join([self.shown.file[:1000], *parts])
        return f"line {':'.join(parts)}" if parts else ""

    @property
    def excerpt(self) -> tuple[str, str, str] | None:
        """The line without its indentation, in three parts; the second is to be marked."""
        snippet: Snippet | None = self.shown.snippet
        if snippet is None:
            return None
        first = max(0, snippet.start - BEFORE)
        last = min(len(snippet.text), snippet.start + AFTER)
        end = min(snippet.end, last)
        before, marked, after = (
            part.replace("\t", "    ")
            for part in (snippet.text[first : snippet.start], snippet.text[snippet.start : end], snippet.text[end:last])
        )
        before = f"…{before}" if first or snippet.cut_before else before.lstrip()
        after = f"{after}…" if last < len(snippet.text) or snippet.cut_after else after
        return before, marked, after.rstrip()

    @property
    def fix_value(self) -> str:
        return json.dumps(self.shown.fix.value, ensure_ascii=False) if self.shown.fix is not None else ""

    @property
    def suppressed_by(self) -> str:
        by = self.shown.suppression.by if self.shown.suppression is not None else ""
        return _SUPPRESSED_BY.get(by) or f"Suppressed by {by[:40]}"


class ItemFindings(NamedTuple):
    """The findings about one tool or another item."""

    item: str
    shown: list[FindingGroup]
    suppressed: list[FindingGroup]
    target: str

    @property
    def kind(self) -> str:
        return self.item.partition(":")[0]

    @property
    def name(self) -> str:
        return self.item.partition(":")[2]

    @property
    def levels(self) -> dict[Level, int]:
        """The number of findings of each level, without suppressed ones."""
        return count_levels(self.shown)

    @property
    def findings(self) -> list[FindingView]:
        return [FindingView(group, self.target) for group in (*self.shown, *self.suppressed)]


class Findings:
    """The findings of a target, grouped as people see them."""

    def __init__(self, result: TargetResult) -> None:
        self.shown = group_by_fault(result.findings)
        self.suppressed = group_by_fault(result.suppressed)
        self._target = result.target
        self.most = MOST
        """How many findings the page has room for; the page may lower it."""

    @property
    def levels(self) -> dict[Level, int]:
        """The number of findings of each level, without suppressed ones."""
        return count_levels(self.shown)

    @property
    def left_out(self) -> int:
        """The number of findings that the page has no room for."""
        return max(0, len(self.shown) + len(self.suppressed) - self.most)

    @property
    def is_open(self) -> bool:
        return len(self.shown) + len(self.suppressed) <= OPEN_FINDINGS

    @property
    def by_item(self) -> list[ItemFindings]:
        """The findings by item, the item with the most serious first, as many as the page has room for."""
        items: dict[tuple[str, str], ItemFindings] = {}
        for is_suppressed, groups in ((False, self.shown), (True, self.suppressed)):
            for group in groups:
                key = (group.shown.item_pointer, group.shown.item)
                item = items.setdefault(key, ItemFindings(group.shown.item, [], [], self._target))
                (item.suppressed if is_suppressed else item.shown).append(group)
        # Counts of errors, warnings and notes compare as lists: errors decide, then warnings.
        ranked = sorted(items.values(), key=lambda item: [-count for count in item.levels.values()])
        return list(_cropped(ranked, self.most)) if self.left_out else ranked


def _cropped(items: list[ItemFindings], most: int) -> Iterator[ItemFindings]:
    """The first items, with at most this many findings in all."""
    for item in items:
        if most <= 0:
            return
        shown = item.shown[:most]
        suppressed = item.suppressed[: most - len(shown)]
        yield item._replace(shown=shown, suppressed=suppressed)
        most -= len(shown) + len(suppressed)


MOST_GRAPH_ROWS, MOST_SENTENCES = 80, 100
"""How many tools a picture has, and how many sentences are listed below it."""
_ROW, _NAMES, _GAP, _WIDEST = 20, 250, 8, 300
"""The height of a row, the width of the names, the space beside them and the width of the widest arc."""
_WORDS: dict[EdgeKind, str] = {"commands": "commands", "hint": "suggests", "mentions": "mentions"}


class GraphRow(NamedTuple):
    """A tool in the picture."""

    name: str
    y: int


class GraphArc(NamedTuple):
    """An edge in the picture."""

    kind: EdgeKind
    path: str
    """The line from the source to the target, as SVG has it."""
    head: str
    """The corners of the arrow at the target."""
    spoken: str


class GraphPicture(NamedTuple):
    """A tool graph with the positions of all its parts."""

    width: int
    height: int
    names: int
    """Where the names end."""
    rows: list[GraphRow]
    arcs: list[GraphArc]
    kinds: list[tuple[EdgeKind, str, int]]
    """The kinds of edges that occur, with their word and number."""
    sentences: list[ToolEdge]
    """The edges to list, commands first."""
    rows_left_out: int
    sentences_left_out: int
    isolated: int
    """The number of tools without an edge."""


def graph_picture(graph: ToolGraph) -> GraphPicture:
    """Arrange a graph, tools in the order of the catalog."""
    isolated = set(graph.isolated)
    connected = [name for name in graph.tools if name not in isolated]
    shown = connected[:MOST_GRAPH_ROWS]
    height_of = {name: _ROW * number + _ROW // 2 for number, name in enumerate(shown)}
    by_kind = sorted(graph.edges, key=lambda edge: KINDS.index(edge.kind))
    # SVG has no layers but the order of drawing: commands, the first, are on top.
    drawn = [edge for edge in reversed(by_kind) if edge.source in height_of and edge.target in height_of]
    counts = {kind: sum(edge.kind == kind for edge in graph.edges) for kind in KINDS}
    return GraphPicture(
        width=_NAMES + 2 * _GAP + _WIDEST,
        height=_ROW * len(shown),
        names=_NAMES,
        rows=[GraphRow(name, y) for name, y in height_of.items()],
        arcs=[_arc(edge, height_of[edge.source], height_of[edge.target]) for edge in drawn],
        kinds=[(kind, _WORDS[kind], count) for kind, count in counts.items() if count],
        sentences=by_kind[:MOST_SENTENCES],
        rows_left_out=len(connected) - len(shown),
        sentences_left_out=len(by_kind) - len(by_kind[:MOST_SENTENCES]) + graph.left_out,
        isolated=len(isolated),
    )


def _arc(edge: ToolEdge, start: int, end: int) -> GraphArc:
    """An arc to the right of the names; the further apart the tools, the wider it is."""
    x = _NAMES + _GAP
    distance = abs(end - start)
    across = min(_GAP + distance * 0.4, _WIDEST)
    sweep = 1 if end > start else 0
    path = f"M{x} {start}A{across:.0f} {distance / 2:.0f} 0 0 {sweep} {x + 6} {end}"
    head = f"{x},{end} {x + 7},{end - 4} {x + 7},{end + 4}"
    return GraphArc(edge.kind, path, head, f"{edge.source} {_WORDS[edge.kind]} {edge.target}: {edge.sentence}")


class Words(NamedTuple):
    """How a kind of run names its findings, their levels and its targets."""

    noun: str
    heading: str
    levels: dict[str, str]
    is_countable: bool
    """Whether the word of a level has a plural, as in "two errors"."""
    target: str = "target"

    def counted(self, count: int, level: Level) -> str:
        """Return a number of findings of a level, in words."""
        word = self.levels[level]
        return plural(count, word) if self.is_countable else f"{count:,} {word}"


_FINDINGS = Words("finding", "Findings", {"error": "error", "warning": "warning", "note": "note"}, is_countable=True)
_CHANGES = Words("change", "Changes", CHANGE_WORDS, is_countable=False)
_TESTS = _FINDINGS._replace(noun="test", heading="Tests", target="suite")


def words_of(kind: Kind) -> Words:
    """Return the words of a kind of run."""
    return {"diff": _CHANGES, "suite": _TESTS}.get(kind, _FINDINGS)


SLIVER = 0.015
"""The least part of a bar that a share takes, so that one in a thousand is visible."""


def segments(shares: Sequence[Share]) -> Iterator[tuple[str, float, float]]:
    """Yield the tone, the start and the width of each segment of a bar, in percent."""
    total = sum(share.amount for share in shares)
    # The bar is a hint; exact numbers stand beside it.
    weights = [max(share.amount, total * SLIVER) for share in shares]
    start = 0.0
    for share, weight in zip(shares, weights, strict=True):
        width = 100 * weight / sum(weights)
        yield share.tone, start, width
        start += width


def bar_width(share: float) -> float:
    """Return the width of a bar in percent, never invisible."""
    return min(100.0, max(0.5, 100 * share))


class ToolEvidence(NamedTuple):
    """The probes of one tool, and the anchor of its section."""

    tool: str
    anchor: str
    probes: list[ProbeResult]
    """The probes that are shown."""
    more: int
    """How many more were refused, as promised."""
    total: int


def rows_shown(grid: Grid) -> list[Row]:
    """Return as many rows as a page shows, those with a failure first."""
    return first_entries(
        grid.rows, MOST_ROWS, lambda row: any(square and square.symbol.tone == "bad" for square in row.squares)
    )


def anchors_of(probes: Sequence[ProbeResult], room: PageRoom) -> dict[str, str]:
    """Return the anchors of the tools whose probes are shown."""
    return {evidence.tool: evidence.anchor for evidence in evidence_of(probes, room)[0]}


def evidence_of(probes: Sequence[ProbeResult], room: PageRoom) -> tuple[list[ToolEvidence], int]:
    """Return the probes by tool, as many as there is room for, failed ones first; and the number of those left out."""
    tools: dict[str, list[ProbeResult]] = {}
    for probe in probes:
        if probe.tool is not None:
            tools.setdefault(probe.tool, []).append(probe)
    # The anchors of several targets on a page differ.
    every = [_evidence(name, f"e{room.number}-{index}", tools[name]) for index, name in enumerate(tools, 1)]
    worth = [(index, probe) for index, evidence in enumerate(every) for probe in evidence.probes]
    shown: dict[int, list[ProbeResult]] = {}
    for index, probe in first_entries(worth, room.probes, lambda pair: pair[1].passed is False):
        shown.setdefault(index, []).append(probe)
    return [every[index]._replace(probes=shown_probes) for index, shown_probes in shown.items()], max(
        0, len(worth) - room.probes
    )


def _evidence(tool: str, anchor: str, probes: list[ProbeResult]) -> ToolEvidence:
    """Select the probes of a tool that are shown: of those that passed, the first of each kind."""
    shown: list[ProbeResult] = []
    kinds: set[str] = set()
    for probe in probes:
        # Forty refusals of the same kind show nothing that the first one does not.
        if not probe.passed or probe.probe not in kinds:
            shown.append(probe)
        kinds.add(probe.probe)
    return ToolEvidence(tool, anchor, shown, len(probes) - len(shown), len(probes))


def square_title(square: Square, column: str) -> str:
    """Return the verdict and the reason of a square, for a tooltip."""
    symbol = square.symbol
    lenient = f"{square.lenient:,} {LENIENT.meaning}" if square.lenient else ""
    parts = [f"{column}: {symbol.word} {square.ratio}".rstrip(), square.reason or symbol.meaning, lenient]
    return "; ".join(part for part in parts if part)


def failures_shown(failures: Sequence[Failure]) -> list[Failure]:
    """Return as many failed cases as the page has room for; accepted violations are left out first."""
    return first_entries(failures, MOST, lambda failure: failure.outcome != "accepted")


_BARS = 12
"""How many tools the token chart names; the rest are summed up."""


class TokenRow(NamedTuple):
    """The tokens of one tool, or of all others together."""

    name: str
    tokens: int
    width: float
    percent: float
    is_rest: bool


def token_rows(tokens: TokenCost) -> list[TokenRow]:
    """Return the tokens of each tool, the most expensive first."""
    ranked = sorted(tokens.tools.items(), key=lambda item: -item[1])
    widest, total = max(1, ranked[0][1]), max(1, tokens.total)
    rows = [
        TokenRow(name, count, bar_width(count / widest), 100 * count / total, is_rest=False)
        for name, count in ranked[:_BARS]
    ]
    if others := ranked[_BARS:]:
        rest = sum(count for _, count in others)
        rows.append(TokenRow(plural(len(others), "more tool"), rest, 0, 100 * rest / total, is_rest=True))
    return rows


OPEN_TESTS = 30
"""A suite with at most this many tests shows them unfolded; a longer one folds those that passed or did not apply."""

_LONGEST = 1_000_000
"""Seconds; a longer duration comes from a stored report that is not credible."""


class OutcomeGroup(NamedTuple):
    """The tests with one outcome."""

    outcome: str
    look: Look
    tests: list[TestResult]
    """As many as the page has room for."""
    total: int

    @property
    def left_out(self) -> int:
        return self.total - len(self.tests)


def by_outcome(tests: Sequence[TestResult], most: int = MOST) -> list[OutcomeGroup]:
    """Return the tests by outcome, the most urgent first and at most so many; empty outcomes are left out."""
    groups: dict[str, list[TestResult]] = {outcome: [] for outcome in LOOKS}
    for test in tests:
        groups[test.outcome].append(test)
    shown = []
    for outcome, members in groups.items():
        if members:
            shown.append(OutcomeGroup(outcome, LOOKS[outcome], members[: max(0, most)], len(members)))
            most -= len(members)
    return shown


def duration(seconds: float) -> str:
    """Return a duration in words; empty if unknown."""
    seconds = round(seconds, 4)  # as a stored report has it, so that its page is the same
    if not 0 < seconds < _LONGEST:
        return ""
    if seconds < 0.9995:
        return f"{seconds * 1000:.0f} ms" if seconds >= 0.001 else "< 1 ms"
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes:,} min {rest} s"
