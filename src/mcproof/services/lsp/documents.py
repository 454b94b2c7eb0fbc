"""The documents that are open in an editor: their text, kind, positions and diagnostics.

Their text replaces that of the files on disk. Positions are converted to the units that the client counts.
"""

from __future__ import annotations

import io
import os
import re
import tokenize
from bisect import bisect_right
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from lsprotocol.types import (
    CodeDescription,
    Diagnostic,
    DiagnosticSeverity,
    Position,
    PositionEncodingKind,
    Range,
    TextDocumentContentChangeEvent,
)
from pygls.uris import from_fs_path, to_fs_path

from mcproof.core.named_tuple import NamedTuple
from mcproof.core.text.files import open_regular
from mcproof.report.phrases import help_uri
from mcproof.runs.config import OWN_FILE, SHARED_FILE
from mcproof.source.packages.projects import SUFFIXES
from mcproof.source.pipeline import registers
from mcproof.testing.suites.model import DEFAULT_NAMES, has_suite_keys

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from mcproof.checks.findings import Level
    from mcproof.services.lsp.analysis import EditorProblem


SOURCE = "mcproof"
_SEVERITIES: dict[Level, DiagnosticSeverity] = {
    "error": DiagnosticSeverity.Error,
    "warning": DiagnosticSeverity.Warning,
    "note": DiagnosticSeverity.Information,
}


def diagnostic_of(problem: EditorProblem, text: TextPositions) -> Diagnostic:
    """A problem as a diagnostic; `text` is that of its file."""
    finding = problem.finding
    return Diagnostic(
        range=text.range_at(problem.line, problem.column, problem.end_column),
        message=problem.message,
        severity=_SEVERITIES[problem.level],
        code=problem.code or None,
        code_description=CodeDescription(help_uri(finding.rule)) if finding is not None else None,
        source=SOURCE,
    )


DocumentKind = Literal["source", "snapshot", "suite", "settings"]

_CATALOG = re.compile(rb'"(?:tools|inputSchema|resources|prompts)"\s*:')
"""A key without which no JSON text is a catalog, except a list of tools that has nothing but names."""


def kind_of_document(path: str, content: bytes) -> DocumentKind | None:
    """The kind of a document; None if mcproof does not check it."""
    name = os.path.basename(path)
    if name in (OWN_FILE, SHARED_FILE):
        return "settings"
    if name.endswith(".py") or (name.endswith(SUFFIXES) and registers(content)):
        return "source"
    if name.endswith(".json"):
        return "snapshot" if _CATALOG.search(content) is not None else None
    if name.endswith((".yaml", ".yml")):
        return "suite" if name in DEFAULT_NAMES or has_suite_keys(content) else None
    return None


_LINE_END = re.compile(r"\r\n|\r|\n")
_LF_ONLY = (".json", ".toml")
"""Formats whose readers count lines by line feeds alone."""


def lines_of(content: bytes) -> list[str]:
    """The lines of a document, without their ends."""
    return _LINE_END.split(content.decode(errors="replace"))


class TextPositions:
    """A text, with conversions between offsets, positions of a client, and lines and columns of mcproof."""

    def __init__(self, text: str, encoding: str = PositionEncodingKind.Utf16, path: str = "") -> None:
        self.text = text
        self._encoding = encoding
        self._has_lf_lines = path.endswith(_LF_ONLY)

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *(line_end.end() for line_end in _LINE_END.finditer(self.text))]

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
        # In UTF-16, characters beyond U+FFFF take two units.
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


LARGEST_DOCUMENT = 2 << 20
"""The most characters of a document that is checked, and the most bytes of another file that is read to locate
a finding in it."""


class OpenDocument(NamedTuple):
    """A document as the editor has it."""

    path: str
    uri: str
    version: int
    text: str
    content: bytes
    """The text as it would be saved."""


class OpenDocuments:
    """All open documents, by absolute path."""

    def __init__(self) -> None:
        self.encoding: str = PositionEncodingKind.Utf16
        self._documents: dict[str, OpenDocument] = {}

    def __iter__(self) -> Iterator[OpenDocument]:
        return iter(list(self._documents.values()))

    def snapshot(self) -> OpenDocuments:
        """The documents as they are now, for a thread that must not see later edits."""
        copied = OpenDocuments()
        copied.encoding = self.encoding
        copied._documents = dict(self._documents)
        return copied

    def get(self, path: str) -> OpenDocument | None:
        return self._documents.get(path)

    def open(self, uri: str, version: int, text: str) -> OpenDocument | None:
        """Add a document, or replace its text; None if it is not a file."""
        path = path_of(uri)
        if path is None:
            return None
        document = OpenDocument(path, uri, version, text, _saved(text, path))
        self._documents[path] = document
        return document

    def change(self, uri: str, version: int, changes: Iterable[TextDocumentContentChangeEvent]) -> OpenDocument | None:
        """Apply changes to a document; None if it is not open."""
        path = path_of(uri)
        document = self._documents.get(path) if path is not None else None
        if document is None:
            return None
        return self.open(document.uri, version, changed_text(document.text, changes, self.encoding))

    def close(self, uri: str) -> OpenDocument | None:
        path = path_of(uri)
        return None if path is None else self._documents.pop(path, None)

    def contents(self) -> Mapping[str, bytes]:
        """What each document would have on disk if it were saved, by real path and by path."""
        contents = {}
        for document in self._documents.values():
            contents[os.path.realpath(document.path)] = contents[document.path] = document.content
        return contents

    def positions_in(self, path: str) -> TextPositions:
        """The text of a file as the editor or else the disk has it; empty if it cannot be read."""
        document = self._documents.get(path)
        return TextPositions(_text_on_disk(path) if document is None else document.text, self.encoding, path)

    def uri_of(self, path: str) -> str:
        """The URI of a file, as the editor writes it if it is open."""
        document = self._documents.get(path)
        return document.uri if document is not None else from_fs_path(path) or ""


def path_of(uri: str) -> str | None:
    """The absolute path of a document; None if it is not a file."""
    path = to_fs_path(uri) if uri.startswith("file:") else None
    return os.path.abspath(path) if path and "\0" not in path else None


def _saved(text: str, path: str) -> bytes:
    """A text as bytes: UTF-8, or the encoding that Python source declares."""
    data = text.encode("utf-8", "surrogatepass")
    # Python reads the declaration of an encoding from the first two lines.
    if not path.endswith(".py") or "coding" not in text[:400]:
        return data
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        return text.encode(encoding)
    except (SyntaxError, LookupError, UnicodeError):
        return data


def _text_on_disk(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace", newline="", opener=open_regular) as file:
            return file.read(LARGEST_DOCUMENT)
    except (OSError, ValueError):
        return ""
