"""The body that a webhook receives, as `report/schemas/event.schema.json` describes it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from mcproof.checks.diff.drift import drift_against
from mcproof.core.console import safe
from mcproof.core.errors import McproofError
from mcproof.store.watch_states import Delivery
from mcproof.targets.snapshots import read_snapshot

if TYPE_CHECKING:
    from mcproof.checks.diff.drift import CatalogDrift
    from mcproof.store.watch_states import WatchState
    from mcproof.web.watch.watch_events import WatchEvent

SCHEMA_VERSION = 1
MOST_CHANGES = 50
"""How many changes of a surface an event lists."""
_STATE_FIELDS = ("grade", "score", "tokens", "verdict", "surface")


class EventSubject:
    """What all events of one check have in common: the server, the run, and the states before and after it."""

    def __init__(self, server: str, run: str, time: str, before: WatchState | None, after: WatchState) -> None:
        self._server = server
        self._run = run
        self._time = time
        self._states = before, after

    def delivery(self, event: WatchEvent, due: int) -> Delivery:
        """Return an event that is due for delivery."""
        identity = str(uuid4())
        before, after = self._states
        data: dict[str, Any] = {
            "server": self._server,
            "run": self._run,
            "summary": event.summary,
            "before": None if before is None else _state_record(before),
            "after": _state_record(after),
            **event.details,
        }
        body = {
            "schema_version": SCHEMA_VERSION,
            "id": identity,
            "type": event.type,
            "timestamp": self._time,
            "data": data,
        }
        return Delivery(identity, self._server, json.dumps(body), due=due)


def _state_record(state: WatchState) -> dict[str, Any]:
    return {field: getattr(state, field) for field in _STATE_FIELDS}


def surface_details(old: str | None, new: str | None) -> dict[str, Any]:
    """Return how two catalogs differ, for an event; empty lists if one is no longer in the store."""
    drift = _drift(old, new)
    if drift is None:
        return {"changes": [], "more_changes": 0}
    listed = [
        {"item": safe(each.evidence["item"]), "part": each.part or None, "summary": safe(each.summary)}
        for each in drift.differences[:MOST_CHANGES]
    ]
    return {"changes": listed, "more_changes": max(0, len(drift.differences) - MOST_CHANGES)}


def _drift(old: str | None, new: str | None) -> CatalogDrift | None:
    if old is None or new is None:
        return None
    try:
        earlier, later = (read_snapshot(text.encode("utf-8", "surrogatepass"), "catalog") for text in (old, new))
        return drift_against(later, earlier)
    except McproofError:
        return None
