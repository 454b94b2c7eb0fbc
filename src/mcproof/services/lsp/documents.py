"""Positions in a text as a client counts them: lines as LSP defines them, columns in units of an encoding."""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cached_property
from typing import TYPE_CHECKING

from lsprotocol.types import Position, PositionEncodingKind, Range

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lsprotocol.types import TextDocumentContentChangeEvent

_LINE_END = re.compile(r"\r\n|\r|\n")
_LF_ONLY = (".json", ".toml")
"""Formats whose readers count lines by line feeds alone."""


class TextPositions:
    """A text, with conversions between offsets, positions of a client, and lines and columns of mcproof."""

    def __init__(self, text: str, encoding: str = PositionEncodingKind.Utf16, path: str = "") -> None:
        self.text = text
        self._encoding = encoding
        self._has_lf_lines = path.endswith(_LF_ONLY)

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *(found.end() for found in _LINE_END.finditer(self.text))]

    @cached_property
    def _reader_starts(self) -> list[int]:
        """The offsets of the lines as the reader of this format counts them."""
        if not self._has_lf_lines or "\r" not in self.text:
            return self._starts
        return [0, *(at + 1 for at, character in enumerate(self.text) if character == "\n")]

    def line(self, number: int) -> str:
        """A line of the client, by its index and without its end; empty if there is none."""
        if not 0 <= number < len(self._starts):
            return ""
        return self.text[self._starts[number] : self._line_end(self._starts, number)]

    @property
    def line_count(self) -> int:
        return len(self._starts)

    def _line_end(self, starts: list[int], number: int) -> int:
        """The offset of the end of a line, before its line break."""
        end = starts[number + 1] if number + 1 < len(starts) else len(self.text)
        while end > starts[number] and self.text[end - 1] in "\r\n":
            end -= 1
        return end

    # --- the client's positions

    def offset_at(self, position: Position) -> int:
        """The offset of a client's position; positions outside the text are moved to its nearest one."""
        if position.line >= len(self._starts):
            return len(self.text)
        start = self._starts[max(0, position.line)]
        line = self.text[start : self._line_end(self._starts, max(0, position.line))]
        return start + self._characters(line, position.character)

    def position_at(self, offset: int) -> Position:
        """The client's position of an offset."""
        offset = max(0, min(offset, len(self.text)))
        number = bisect_right(self._starts, offset) - 1
        return Position(number, self._units(self.text[self._starts[number] : offset]))

    def range_of(self, start: int, end: int) -> Range:
        """The client's range of two offsets."""
        return Range(self.position_at(start), self.position_at(end))

    def _units(self, text: str) -> int:
        """The length of a text in units of the client."""
        if text.isascii() or self._encoding == PositionEncodingKind.Utf32:
            return len(text)
        if self._encoding == PositionEncodingKind.Utf8:
            return len(text.encode("utf-8", "surrogatepass"))
        return len(text) + sum(character > "\uffff" for character in text)

    def _characters(self, line: str, units: int) -> int:
        """How many characters of a line a number of units covers; all of them if it is longer than the line."""
        if line.isascii() or self._encoding == PositionEncodingKind.Utf32:
            return max(0, min(units, len(line)))
        at = 0
        for number, character in enumerate(line):
            if at >= units:
                return number
            at += self._units(character)
        return len(line)

    # --- the lines and columns of mcproof

    def offset_of(self, line: int, column: int) -> int:
        """The offset of a line and column of mcproof, which start at one; columns count characters."""
        starts = self._reader_starts
        if line > len(starts):
            return len(self.text)
        start = starts[max(0, line - 1)]
        return min(start + max(0, column - 1), self._line_end(starts, max(0, line - 1)))

    def range_at(self, line: int | None, column: int | None, end_column: int | None) -> Range:
        """The client's range of a location; up to the end of the line if the location has no end."""
        starts = self._reader_starts
        number = min(max(1, line or 1), len(starts))
        end_of_line = self._line_end(starts, number - 1)
        if column is None:
            text = self.text[starts[number - 1] : end_of_line]
            start = starts[number - 1] + len(text) - len(text.lstrip())
        else:
            start = self.offset_of(number, column)
        end = end_of_line if end_column is None else self.offset_of(number, end_column)
        return self.range_of(start, max(start, end))


def changed_text(text: str, changes: Iterable[TextDocumentContentChangeEvent], encoding: str) -> str:
    """A text after a client's changes, which apply one after the other."""
    for change in changes:
        where: Range | None = getattr(change, "range", None)
        if where is None:
            text = change.text
            continue
        positions = TextPositions(text, encoding)
        start, end = sorted((positions.offset_at(where.start), positions.offset_at(where.end)))
        text = f"{text[:start]}{change.text}{text[end:]}"
    return text
