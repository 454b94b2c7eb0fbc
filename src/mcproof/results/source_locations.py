"""Where findings about Python source stand: the parameter, the key or the string that causes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mcproof.results.findings import Snippet

if TYPE_CHECKING:
    from mcproof.catalog.model import Catalog
    from mcproof.discovery import Discovered
    from mcproof.linting.finding import Finding

BEFORE, AFTER = 100, 200
"""How much of a line a snippet keeps around the place; more than any terminal shows."""


class Placed(NamedTuple):
    """A finding's place in the source; no line where it is about no part of it."""

    file: str
    line: int | None
    column: int | None
    end_column: int | None

    @property
    def order(self) -> tuple[str, int, int]:
        return self.file, self.line or 0, self.column or 0


def placed(catalog: Catalog, findings: list[Finding]) -> list[Placed]:
    """The place of each finding: of what it points at, or of the nearest thing around that is written somewhere."""
    return [
        place_at(catalog, each.near if isinstance(each.near, str) else each.item.pointer + each.pointer)
        for each in findings
    ]


def place_at(catalog: Catalog, pointer: str) -> Placed:
    """Where a part of a catalog from source is written; only the target's name for what is written nowhere."""
    found = _nearest(catalog.source, pointer) if catalog.source is not None and pointer else None
    return Placed(catalog.name, None, None, None) if found is None else found


def _nearest(source: Discovered, pointer: str) -> Placed | None:
    """Where a part is written, or else what contains it; what could not be read stands under `/problems`."""
    if pointer.startswith("/problems/"):
        file, line, column, _ = source.problems[int(pointer.rpartition("/")[2])]
        return Placed(file, line, column, None)
    while pointer:
        if (place := source.locations.get(pointer)) is not None:
            return Placed(*place)
        pointer = pointer.rpartition("/")[0]
    return None


class SourceLines:
    """The lines of source files, each file read once."""

    def __init__(self) -> None:
        self._lines: dict[str, list[str]] = {}

    def snippet(self, place: Placed) -> Snippet | None:
        """The line of a place, with the part to point at; None where there is none to show."""
        if place.line is None or place.column is None:
            return None
        lines = self._read(place.file)
        if place.line > len(lines):
            return None
        text = lines[place.line - 1].rstrip("\r\n")
        start = min(place.column - 1, len(text))
        end = min(place.end_column - 1, len(text)) if place.end_column is not None else len(text)
        first, last = max(0, start - BEFORE), min(len(text), start + AFTER)
        marked = max(start, min(end, last))
        return Snippet(text[first:last], start - first, marked - first, first > 0, last < len(text))

    def _read(self, file: str) -> list[str]:
        if file not in self._lines:
            import tokenize

            try:
                with open(file, "rb") as data:
                    encoding, _ = tokenize.detect_encoding(data.readline)
                with open(file, encoding=encoding, errors="replace", newline="") as text:
                    self._lines[file] = text.read().splitlines(keepends=True)
            except (OSError, SyntaxError, LookupError):
                self._lines[file] = []
        return self._lines[file]
