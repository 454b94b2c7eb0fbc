"""The documents that are open in the editor; their text replaces that of the files on disk."""

from __future__ import annotations

import io
import os
import tokenize
from typing import TYPE_CHECKING, NamedTuple

from lsprotocol.types import PositionEncodingKind
from pygls.uris import from_fs_path, to_fs_path

from mcproof.lsp.text_positions import TextPositions, changed_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from lsprotocol.types import TextDocumentContentChangeEvent

LARGEST_DOCUMENT = 8 << 20
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
        known = self._documents.get(path) if path is not None else None
        if known is None:
            return None
        return self.open(known.uri, version, changed_text(known.text, changes, self.encoding))

    def close(self, uri: str) -> OpenDocument | None:
        path = path_of(uri)
        return None if path is None else self._documents.pop(path, None)

    def contents(self) -> Mapping[str, bytes]:
        """What each document would have on disk if it were saved, by real path and by path."""
        found = {}
        for each in self._documents.values():
            found[os.path.realpath(each.path)] = found[each.path] = each.content
        return found

    def positions_in(self, path: str) -> TextPositions:
        """The text of a file as the editor or else the disk has it; empty if it cannot be read."""
        known = self._documents.get(path)
        return TextPositions(_text_on_disk(path) if known is None else known.text, self.encoding, path)

    def uri_of(self, path: str) -> str:
        """The URI of a file, as the editor writes it if it is open."""
        known = self._documents.get(path)
        return known.uri if known is not None else from_fs_path(path) or ""


def path_of(uri: str) -> str | None:
    """The absolute path of a document; None if it is not a file."""
    path = to_fs_path(uri) if uri.startswith("file:") else None
    return os.path.abspath(path) if path and "\0" not in path else None


def _saved(text: str, path: str) -> bytes:
    """A text as bytes: UTF-8, or the encoding that Python source declares."""
    data = text.encode("utf-8", "surrogatepass")
    if not path.endswith(".py") or "coding" not in text[:400]:
        return data
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        return text.encode(encoding)
    except (SyntaxError, LookupError, UnicodeError):
        return data


def _text_on_disk(path: str) -> str:
    try:
        if not os.path.isfile(path):
            return ""
        with open(path, encoding="utf-8", errors="replace", newline="") as file:
            return file.read(LARGEST_DOCUMENT)
    except (OSError, ValueError):
        return ""
