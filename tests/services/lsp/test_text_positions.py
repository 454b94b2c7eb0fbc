"""Positions as clients count them: lines of LSP, columns in units of an encoding."""

from __future__ import annotations

import pytest
from lsprotocol.types import Position, Range, TextDocumentContentChangePartial, TextDocumentContentChangeWholeDocument

from limits import cpu_limit
from mcproof.services.lsp.completion import completions
from mcproof.services.lsp.documents import TextPositions, changed_text

TEXT = "a\N{FIRE}b\r\n\u00e9x\ry\u2028z\n"
"""Three characters beyond ASCII, each line end of LSP, and a line separator that LSP does not count."""
COLUMNS = {"utf-8": (0, 1, 5, 6), "utf-16": (0, 1, 3, 4), "utf-32": (0, 1, 2, 3)}


@pytest.mark.parametrize("encoding", COLUMNS)
def test_columns_count_units_of_the_encoding(encoding: str) -> None:
    positions = TextPositions(TEXT, encoding)
    assert [positions.position_at(at).character for at in range(4)] == list(COLUMNS[encoding])
    for at in (*range(4), *range(5, len(TEXT) + 1)):
        assert positions.offset_at(positions.position_at(at)) == at


def test_lines_end_where_lsp_ends_them() -> None:
    positions = TextPositions(TEXT)
    lines = [positions.line(number) for number in range(positions.line_count)]
    assert lines == ["a\N{FIRE}b", "\u00e9x", "y\u2028z", ""]
    assert positions.line(9) == ""


def test_a_position_outside_the_text_is_the_nearest_one() -> None:
    positions = TextPositions(TEXT)
    assert positions.offset_at(Position(0, 99)) == 3  # the line end is not part of the line
    assert positions.offset_at(Position(99, 0)) == len(TEXT)
    assert positions.offset_at(Position(0, 2)) == 2  # inside the surrogate pair: after the character
    assert positions.position_at(-5) == Position(0, 0)


def test_json_lines_end_at_line_feeds_only() -> None:
    text = "[\r1,\n2]"
    assert TextPositions(text, path="a.json").range_at(1, 3, 4) == Range(Position(1, 0), Position(1, 1))
    assert TextPositions(text, path="a.py").range_at(2, 1, 2) == Range(Position(1, 0), Position(1, 1))


def test_changes_apply_one_after_the_other() -> None:
    def change(line: int, start: int, end: int, text: str) -> TextDocumentContentChangePartial:
        return TextDocumentContentChangePartial(range=Range(Position(line, start), Position(line, end)), text=text)

    assert changed_text(TEXT, [change(0, 1, 3, ""), change(0, 1, 1, "c"), change(1, 0, 1, "e")], "utf-16") == (
        "acb\r\nex\ry\u2028z\n"
    )
    assert changed_text("a", [change(5, 0, 0, "b")], "utf-16") == "ab"
    assert changed_text("a", [TextDocumentContentChangeWholeDocument(text="b")], "utf-16") == "b"


@pytest.mark.parametrize(
    "line", ["[" + " " * 1_000_000, "x" * 1_000_000 + " =", '"' * 1_000_000, "- " * 500_000, "{" * 1_000_000]
)
def test_completion_below_a_hostile_line_is_fast(line: str) -> None:
    with cpu_limit(10):
        for kind in ("settings", "suite", "source"):
            completions(kind, TextPositions(f"{line}\n\n"), Position(1, 0))
            completions(kind, TextPositions(line), Position(0, len(line)))
