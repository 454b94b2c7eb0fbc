"""Locations of findings in Python source: the parameter, the key or the string that causes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mcproof.core.text.json_positions import Span
from mcproof.results.build import AFTER, BEFORE
from mcproof.results.findings import Snippet

if TYPE_CHECKING:
    from mcproof.core.catalog.model import Catalog, SourceMap
    from mcproof.linting.finding import Finding


class FindingLocation(NamedTuple):
    """The location of a finding in source; without a line if it is about no part of it."""

    file: str
    line: int | None
    column: int | None
    end_column: int | None

    @property
    def order(self) -> tuple[str, int, int]:
        return self.file, self.line or 0, self.column or 0


def locate_findings(catalog: Catalog, findings: list[Finding]) -> list[FindingLocation]:
    """Return the location of each finding: of its pointer, or of the nearest part around it that has one."""
    return [_locate_finding(catalog, each) for each in findings]


def _locate_finding(catalog: Catalog, finding: Finding) -> FindingLocation:
    near = finding.near
    if near is not None and not isinstance(near, (str, Span)):
        return FindingLocation(*near)
    return locate(catalog, near if isinstance(near, str) else finding.item.pointer + finding.pointer)


def locate(catalog: Catalog, pointer: str) -> FindingLocation:
    """Return the location of a part of a catalog; only the name of the target if it has none."""
    found = _nearest(catalog.source, pointer) if catalog.source is not None and pointer else None
    return FindingLocation(catalog.name, None, None, None) if found is None else found


def _nearest(source: SourceMap, pointer: str) -> FindingLocation | None:
    """Return the location of a part, or of what contains it; problems of discovery are under `/problems`."""
    if pointer.startswith("/problems/"):
        file, line, column, _ = source.problems[int(pointer.rpartition("/")[2])]
        return FindingLocation(file, line, column, None)
    while pointer:
        if (location := source.locations.get(pointer)) is not None:
            return FindingLocation(*location)
        pointer = pointer.rpartition("/")[0]
    return None


class SourceLines:
    """The lines of source files, each file read once."""

    def __init__(self) -> None:
        self._lines: dict[str, list[str]] = {}

    def snippet(self, location: FindingLocation) -> Snippet | None:
        """Return the line of a location, with the part to highlight; None if there is none to show."""
        if location.line is None or location.column is None:
            return None
        lines = self._read(location.file)
        if location.line > len(lines):
            return None
        text = lines[location.line - 1].rstrip("\r\n")
        start = min(location.column - 1, len(text))
        end = min(location.end_column - 1, len(text)) if location.end_column is not None else len(text)
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
