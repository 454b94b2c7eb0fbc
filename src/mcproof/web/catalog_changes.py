"""What changed between two catalogs of the store."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mcproof.core.errors import McproofError
from mcproof.report.phrases import CHANGE_WORDS
from mcproof.runs import execute
from mcproof.runs.requests import CatalogDocument, DiffRequest, SettingsSource, TargetSelection

if TYPE_CHECKING:
    from mcproof.checks.findings import ReportedFinding

MOST = 200
"""How many changes a page shows."""


class CatalogChanges(NamedTuple):
    """The changes between two catalogs, what breaks callers first."""

    changes: list[ReportedFinding]
    total: int
    problem: str = ""
    """Why they cannot be compared."""

    @staticmethod
    def word(change: ReportedFinding) -> str:
        return CHANGE_WORDS[change.level]


def catalog_changes(old: str, new: str) -> CatalogChanges:
    """Compare two catalogs."""
    try:
        run = execute(DiffRequest(_selection(old), _selection(new), settings=SettingsSource(is_disabled=True)))
    except McproofError as error:
        return CatalogChanges([], 0, error.message)
    order = {"error": 0, "warning": 1, "note": 2}
    found = sorted(run.targets[0].findings, key=lambda each: order[each.level])
    return CatalogChanges(found[:MOST], len(found))


def _selection(text: str) -> TargetSelection:
    return TargetSelection(documents=(CatalogDocument("catalog", text.encode("utf-8", "surrogatepass")),))
