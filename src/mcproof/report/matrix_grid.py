"""The contract matrix and the probes as grids of marks, for every format that draws them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcproof.probing.outcomes import Cell, Column, ProbeResult

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


class Mark(NamedTuple):
    """A symbol that needs no colour, and its meaning."""

    word: str
    symbol: str
    ascii: str
    tone: str
    """Such as `good`; formats with colours choose one by it."""
    meaning: str = ""


LENIENT = Mark("lenient", "~", "~", "fair", 'accepted though of another type, such as "5" for 5')
"""Stands beside a cell, with the number of such values."""

NOT_TESTED = "not tested"

VERDICT_SYMBOLS = {
    each.word: each
    for each in (
        Mark("proven", "✓", "+", "good", "promised and kept"),
        Mark("broken promise", "✗", "X", "bad", "promised and not kept"),
        Mark("hidden rule", "◆", "*", "fair", "enforced, though the schema does not declare it"),
        Mark("open", "○", "o", "open", "neither promised nor kept"),
        Mark("partly tried", "◐", "/", "fair", "kept as far as it was tried"),
        Mark(
            "not shown",
            "?",
            "?",
            "fair",
            "the responses are those of the valid call, about something else, or depend on the user",
        ),
        Mark(NOT_TESTED, "·", ".", "none"),
        Mark("not applicable", "–", "-", "none", "nothing to promise"),
    )
}

_PROBE_MARKS = {
    each.word: each
    for each in (
        Mark("passed", "✓", "+", "good", "as expected"),
        Mark("failed", "✗", "X", "bad"),
        Mark("valid call rejected", "!", "!", "fair", "the probes of this tool prove little"),
        Mark("rejected", "◆", "*", "fair", "though the schema does not declare it"),
        Mark("open", "○", "o", "open", "accepted, and the schema allows it"),
        Mark("accepted", "○", "o", "open", "a refusal is recommended, not required"),
        LENIENT,
        Mark(
            "not shown",
            "?",
            "?",
            "fair",
            "the response is that of the valid call, about something else, or depends on the user",
        ),
        Mark(NOT_TESTED, "·", ".", "none"),
        Mark("not applicable", "–", "-", "none", "nothing to violate"),
    )
}


_ADVISED = ("bad_cursor",)
"""The probes that a server should refuse, but need not."""


def mark_of(probe: ProbeResult) -> Mark:
    """Return the mark of a probe."""
    if probe.passed and probe.outcome == "accepted" and probe.probe in _ADVISED:
        return _PROBE_MARKS["accepted"]
    if probe.passed is not None:
        return _PROBE_MARKS["passed" if probe.passed else "failed"]
    if probe.outcome in ("not_tested", "not_applicable"):
        return _PROBE_MARKS[probe.outcome.replace("_", " ")]
    if probe.probe == "baseline":
        return _PROBE_MARKS["passed" if probe.outcome == "accepted" else "valid call rejected"]
    if not probe.is_exploratory:
        return _PROBE_MARKS["not shown"]
    if probe.is_lenient:
        return _PROBE_MARKS["passed"] if probe.outcome == "rejected" else LENIENT
    return _PROBE_MARKS["rejected" if probe.outcome == "rejected" else "open"]


class Square(NamedTuple):
    """One tool in one column."""

    mark: Mark
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
        words = {each.mark.word for each in self.squares if each is not None}
        return NOT_TESTED in words and words <= {NOT_TESTED, "not applicable"}


class Grid(NamedTuple):
    """A grid of tools and their squares."""

    titles: list[str]
    rows: list[Row]

    def legend(self) -> list[Mark]:
        """Return the marks that occur, the best first.

        They are not counted: a square stands for several promises, and those are what the totals count.
        """
        squares = [each for row in self.rows for each in row.squares if each is not None]
        marks = {each.mark for each in squares}
        known = dict.fromkeys((*VERDICT_SYMBOLS.values(), *_PROBE_MARKS.values()))
        ranked = sorted(known, key=lambda mark: mark.tone == "none")
        is_lenient = any(each.lenient for each in squares) and LENIENT not in marks
        return [*(mark for mark in ranked if mark in marks), *([LENIENT] if is_lenient else [])]


def matrix_grid(matrix: Iterable[Cell]) -> Grid:
    """Return the contract matrix as a grid."""
    squares = ((cell.tool, cell.column, _square(cell)) for cell in matrix)
    return Grid(list(MEANINGS), _rows(squares, list(MEANINGS)))


def _square(cell: Cell) -> Square:
    ratio = f"{cell.refused}/{cell.tried}" if cell.declared and cell.tried else ""
    return Square(VERDICT_SYMBOLS[cell.verdict], cell.reason, ratio, cell.lenient)


def probe_grid(probes: Iterable[ProbeResult]) -> Grid:
    """Return the probes of tools as a grid, with a column for each probe that occurs."""
    squares = [(each.tool, each.probe, Square(mark_of(each), each.reason)) for each in probes if each.tool is not None]
    occurring = dict.fromkeys(probe for _, probe, _ in squares)
    columns = [*(name for name in PROBES if name in occurring), *(name for name in occurring if name not in PROBES)]
    return Grid([PROBES.get(name, name) for name in columns], _rows(squares, columns))


def server_probes(probes: Iterable[ProbeResult]) -> list[ProbeResult]:
    """Return the probes of the server as a whole."""
    return [each for each in probes if each.tool is None]


def _rows(squares: Iterable[tuple[str, str, Square]], columns: list[str]) -> list[Row]:
    """Return a row for each tool, in order of occurrence; two tools of one name have a row each."""
    rows: list[Row] = []
    latest: dict[str, Row] = {}
    for tool, column, square in squares:
        if column not in columns:
            continue
        at = columns.index(column)
        row = latest.get(tool)
        if row is None or row.squares[at] is not None:
            row = latest[tool] = Row(tool, [None] * len(columns))
            rows.append(row)
        row.squares[at] = square
    return rows
