"""The contract matrix and the table of the probes as rows and marks, for every format that draws them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcproof.results.proof import Cell, ProbeResult

FAULTS = {
    "FAULT-SCHEMA-MISSING-REQUIRED": "missing",
    "FAULT-SCHEMA-TYPE-MISMATCH": "type",
    "FAULT-SCHEMA-UNEXPECTED-FIELD": "extra",
    "FAULT-INPUT-OVERSIZED": "size",
}
"""The columns of the matrix, and what people call them."""

MEANINGS = {
    "missing": "a required argument is left out",
    "type": "an argument is of the wrong type",
    "extra": "an argument is there that the tool does not know",
    "size": "a text is longer than it may be",
}

PROBES = {
    "baseline": "valid",
    "missing_required": "missing",
    "wrong_type": "type",
    "extra_field": "extra",
    "oversized": "size",
}
"""The columns of the table of the probes that are sent to each tool."""


TITLES = {"prove": "Contract matrix", "probe": "Probes"}
"""What the table of each command is called."""


class Mark(NamedTuple):
    """How something is drawn: a symbol that needs no colour, and what it means."""

    word: str
    symbol: str
    ascii: str
    tone: str
    """Such as `good`: a colour, where there are some."""
    meaning: str = ""

    def words(self, count: int) -> str:
        """The word for so many."""
        return f"{self.word}s" if count != 1 and self.word.endswith(("promise", "rule")) else self.word


DOUBTFUL = Mark("doubtful", "?", "?", "fair", "the valid call fails as well, so that a refusal proves little")

NOT_TESTED = "not tested"

VERDICTS = {
    each.word: each
    for each in (
        Mark("proven", "✓", "+", "good", "promised and kept"),
        Mark("broken promise", "✗", "X", "bad", "promised and not kept"),
        Mark("hidden rule", "◆", "*", "fair", "kept, though the schema does not say so"),
        Mark("open", "○", "o", "open", "neither promised nor kept"),
        Mark(NOT_TESTED, "·", ".", "none"),
        Mark("not applicable", "–", "-", "none", "there is nothing to promise"),
    )
}

_PROBE_MARKS = {
    each.word: each
    for each in (
        Mark("passed", "✓", "+", "good", "as it should be"),
        Mark("failed", "✗", "X", "bad"),
        Mark("valid call refused", "!", "!", "fair", "the probes of this tool prove little"),
        Mark("refused", "◆", "*", "fair", "though the schema does not say so"),
        Mark("open", "○", "o", "open", "accepted, and the schema does not forbid it"),
        Mark(NOT_TESTED, "·", ".", "none"),
        Mark("not applicable", "–", "-", "none", "there is nothing to violate"),
    )
}


def mark_of(result: ProbeResult) -> Mark:
    """How the result of a probe is drawn."""
    if result.passed is not None:
        return _PROBE_MARKS["passed" if result.passed else "failed"]
    if result.outcome in ("not_tested", "not_applicable"):
        return _PROBE_MARKS[result.outcome.replace("_", " ")]
    if result.probe == "baseline":
        return _PROBE_MARKS["passed" if result.outcome == "accepted" else "valid call refused"]
    return _PROBE_MARKS["refused" if result.outcome == "rejected" else "open"]


class Square(NamedTuple):
    """One tool in one column."""

    mark: Mark
    reason: str = ""
    is_doubtful: bool = False
    """Whether the valid call fails as well."""


class Row(NamedTuple):
    """A tool, and what there is of it in each column; None where there is nothing."""

    tool: str
    squares: list[Square | None]

    @property
    def was_left_out(self) -> bool:
        """Whether the tool was not called."""
        words = {each.mark.word for each in self.squares if each is not None}
        return NOT_TESTED in words and words <= {NOT_TESTED, "not applicable"}


class Grid(NamedTuple):
    """A table of tools."""

    titles: list[str]
    rows: list[Row]

    def legend(self) -> list[tuple[Mark, int]]:
        """The marks that occur and how often, the best news first, doubts last."""
        squares = [each for row in self.rows for each in row.squares if each is not None]
        return counted([each.mark for each in squares] + [DOUBTFUL for each in squares if each.is_doubtful])


def counted(marks: list[Mark]) -> list[tuple[Mark, int]]:
    """The marks that occur and how often, in the order in which a legend has them."""
    known = dict.fromkeys((*VERDICTS.values(), *_PROBE_MARKS.values(), DOUBTFUL))
    ranked = sorted(known, key=lambda mark: (mark == DOUBTFUL, mark.tone == "none"))
    return [(mark, marks.count(mark)) for mark in ranked if mark in marks]


def matrix_grid(matrix: Iterable[Cell]) -> Grid:
    """The contract matrix."""
    squares = (
        (cell.tool, cell.fault, Square(VERDICTS[cell.verdict], cell.reason, cell.is_doubtful)) for cell in matrix
    )
    return Grid(list(FAULTS.values()), _rows(squares, list(FAULTS)))


def probe_grid(probes: Iterable[ProbeResult]) -> Grid:
    """The probes that were sent to tools, with a column for each that occurs."""
    squares = [(each.tool, each.probe, Square(mark_of(each), each.reason)) for each in probes if each.tool is not None]
    occurring = dict.fromkeys(probe for _, probe, _ in squares)
    columns = [*(name for name in PROBES if name in occurring), *(name for name in occurring if name not in PROBES)]
    return Grid([PROBES.get(name, name) for name in columns], _rows(squares, columns))


def server_probes(probes: Iterable[ProbeResult]) -> list[ProbeResult]:
    """The probes that concern the server as a whole."""
    return [each for each in probes if each.tool is None]


def _rows(squares: Iterable[tuple[str, str, Square]], columns: list[str]) -> list[Row]:
    """A row a tool, in the order in which tools occur; two tools of one name have a row each."""
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
