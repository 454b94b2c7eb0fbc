"""Probes, the contract matrix and fuzzing as a page shows them."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from mcproof.report.html.page_limits import MOST, MOST_ROWS, first_entries
from mcproof.report.html.wording import bar_width
from mcproof.report.matrix_grid import LENIENT, TITLES, matrix_grid, probe_grid, server_probes
from mcproof.report.outcome_phrases import server_sentence

if TYPE_CHECKING:
    from mcproof.probing.outcomes import Failure, Fuzzing, ProbeResult
    from mcproof.report.matrix_grid import Grid, Row, Square
    from mcproof.runs.results import TargetResult

_TONES = {"clean": "good", "accepted": "fair"}


class ToolEvidence(NamedTuple):
    """The probes of one tool, and the anchor of its section."""

    tool: str
    anchor: str
    probes: list[ProbeResult]
    """The probes that are shown."""
    more: int
    """How many more were refused, as promised."""
    total: int


class OutcomeBar(NamedTuple):
    """The number of cases with one outcome."""

    name: str
    cases: int
    tone: str
    width: float


class ProbeView:
    """The probes of a target."""

    def __init__(self, result: TargetResult, number: int, most: int = MOST) -> None:
        self._result = result
        self._number = number
        self._most = most
        """How many probes the page has room for."""

    @property
    def title(self) -> str:
        return TITLES[self._result.payload.kind]

    @property
    def gist(self) -> str:
        """The totals of the probes of the server, for a page whose other totals count promises."""
        return server_sentence(self._result.probes) if self._result.payload.kind == "prove" else ""

    @property
    def grid(self) -> Grid:
        """As many rows as the page has room for, those with a failure first."""
        rows = first_entries(self._whole_grid.rows, MOST_ROWS, _has_failed)
        return self._whole_grid._replace(rows=rows)

    @property
    def rows_left_out(self) -> int:
        return max(0, len(self._whole_grid.rows) - MOST_ROWS)

    @cached_property
    def _whole_grid(self) -> Grid:
        is_matrix = self._result.payload.kind == "prove"
        return matrix_grid(self._result.matrix) if is_matrix else probe_grid(self._result.probes)

    @property
    def of_server(self) -> list[ProbeResult]:
        return server_probes(self._result.probes)

    @property
    def probes_left_out(self) -> int:
        """The number of probes worth showing that the page has no room for."""
        shown = sum(len(each.probes) for each in self.of_tools)
        return sum(len(each.probes) for each in self._evidence) - shown

    @cached_property
    def of_tools(self) -> list[ToolEvidence]:
        """The probes by tool, as many as the page has room for; failed ones are left out last."""
        worth = [(at, each) for at, evidence in enumerate(self._evidence) for each in evidence.probes]
        kept: dict[int, list[ProbeResult]] = {}
        for at, each in first_entries(worth, self._most, lambda pair: pair[1].passed is False):
            kept.setdefault(at, []).append(each)
        return [self._evidence[at]._replace(probes=probes) for at, probes in kept.items()]

    @cached_property
    def _evidence(self) -> list[ToolEvidence]:
        """The probes by tool; the anchors of several targets on a page differ."""
        tools: dict[str, list[ProbeResult]] = {}
        for each in self._result.probes:
            if each.tool is not None:
                tools.setdefault(each.tool, []).append(each)
        return [_evidence(name, f"e{self._number}-{at}", tools[name]) for at, name in enumerate(tools, 1)]

    @property
    def anchors(self) -> dict[str, str]:
        return {each.tool: each.anchor for each in self.of_tools}


def _has_failed(row: Row) -> bool:
    return any(square is not None and square.mark.tone == "bad" for square in row.squares)


def _evidence(tool: str, anchor: str, probes: list[ProbeResult]) -> ToolEvidence:
    """Select the probes of a tool that are shown: of those that passed, the first of each kind."""
    shown: list[ProbeResult] = []
    kinds: set[str] = set()
    for each in probes:
        if not each.passed or each.probe not in kinds:
            shown.append(each)
        kinds.add(each.probe)
    return ToolEvidence(tool, anchor, shown, len(probes) - len(shown), len(probes))


def square_title(square: Square, column: str) -> str:
    """Return the verdict and the reason of a square, for a tooltip."""
    mark = square.mark
    lenient = f"{square.lenient:,} {LENIENT.meaning}" if square.lenient else ""
    parts = [f"{column}: {mark.word} {square.ratio}".rstrip(), square.reason or mark.meaning, lenient]
    return "; ".join(part for part in parts if part)


def outcome_bars(fuzzing: Fuzzing) -> list[OutcomeBar]:
    """Return the number of cases of each outcome, with bars."""
    widest = max(1, *fuzzing.counts.values())
    return [
        OutcomeBar(name, count, outcome_tone(name), bar_width(count / widest)) for name, count in fuzzing.counts.items()
    ]


def outcome_tone(outcome: str) -> str:
    """Return the tone of the outcome of a case."""
    return _TONES.get(outcome, "bad")


def failures_shown(fuzzing: Fuzzing) -> list[Failure]:
    """Return as many failed cases as the page has room for; accepted violations are left out first."""
    return first_entries(fuzzing.failures, MOST, lambda each: each.outcome != "accepted")
