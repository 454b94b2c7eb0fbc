"""How much a page shows: a browser does not cope with a page of hundreds of megabytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MOST = 5_000
"""How many findings, probes, tests or failed cases a page shows, of each."""

MOST_ROWS = 1_000
"""How many rows a table or a list shows that has one for each tool, notice or reason."""

Entry = TypeVar("Entry")


class PageRoom(NamedTuple):
    """How many findings, probes and tests of a target the page has room for."""

    findings: int = MOST
    probes: int = MOST
    tests: int = MOST


def first_entries(entries: Sequence[Entry], most: int, is_urgent: Callable[[Entry], bool]) -> list[Entry]:
    """Return at most this many entries in their order; urgent ones are left out last."""
    if len(entries) <= most:
        return list(entries)
    ranked = sorted(range(len(entries)), key=lambda at: not is_urgent(entries[at]))
    return [entries[at] for at in sorted(ranked[: max(0, most)])]
