"""Results of runs to record."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcproof.runs import execute
from mcproof.runs.requests import (
    CatalogDocument,
    CompatRequest,
    Detail,
    LintRequest,
    ScanRequest,
    SettingsSource,
    TargetSelection,
)

if TYPE_CHECKING:
    from mcproof.runs.results import RunResult

GOOD = b"""{"tools": [{"name": "find_book", "description": "Find a book by words of its title.",
"inputSchema": {"type": "object", "properties": {"title": {"type": "string", "description": "Words of the title."}},
"required": ["title"]}}]}"""
BAD = b'{"tools": [{"name": "find book", "inputSchema": {"type": "object", "properties": {"x": {}}}}]}'
DETAIL = Detail(lines=True, identities=True, scores=True)


def selection(data: bytes, name: str) -> TargetSelection:
    return TargetSelection(documents=(CatalogDocument(name, data),))


def linted(data: bytes = GOOD, name: str = "books", started: str | None = None) -> RunResult:
    run = execute(LintRequest(selection(data, name), detail=DETAIL, **unconfigured()))
    return run if started is None else run._replace(started=started)


def judged(data: bytes = BAD, name: str = "books") -> RunResult:
    return execute(CompatRequest(selection(data, name), detail=DETAIL, **unconfigured()))


def scanned(data: bytes = GOOD, name: str = "books") -> RunResult:
    return execute(ScanRequest(selection(data, name), detail=DETAIL, **unconfigured()))


def unconfigured() -> dict[str, Any]:
    from mcproof.runs.requests import Policy

    return {"policy": Policy(SettingsSource(is_disabled=True))}
