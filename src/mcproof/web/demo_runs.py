"""An example for `serve --demo`: the example server and a dozen made-up ones, each with a history."""

from __future__ import annotations

import json
from copy import deepcopy
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from mcproof.console import Counter
from mcproof.execution.execute import execute
from mcproof.execution.run_requests import (
    CatalogDocument,
    CompatRequest,
    Detail,
    LintRequest,
    Policy,
    ScanRequest,
    SettingsSource,
    TargetSelection,
)
from mcproof.store.recording import record_run

if TYPE_CHECKING:
    from mcproof.store.database import Database

DAYS_AGO = (14, 10, 6, 0)
"""When the made-up servers were checked."""
_POLICY = Policy(SettingsSource(is_disabled=True))
_DETAIL = Detail(lines=True, identities=True, scores=True)
_SERVERS = {
    "bookshop": "book",
    "calendar": "event",
    "ticket-desk": "ticket",
    "parcel-tracker": "parcel",
    "recipes": "recipe",
    "train-times": "train",
    "museum": "painting",
    "garden": "plant",
    "payroll": "payslip",
    "fleet": "vehicle",
    "archive": "letter",
    "kitchen-stock": "ingredient",
}


def fill(database: Database) -> None:
    """Record the example: servers that get better or worse over two weeks. Shows progress on a terminal."""
    now = datetime.now(UTC)
    progress = Counter()
    total = 1 + len(_SERVERS)
    progress.step(0, total, "servers of the example")
    weather = json.loads((files("mcproof.demo") / "weather.json").read_text(encoding="utf-8"))
    _record(database, "weather", weather, now)
    for number, (name, thing) in enumerate(_SERVERS.items()):
        progress.step(1 + number, total, "servers of the example")
        for step, days in enumerate(DAYS_AGO):
            quality = step if number % 3 else 3 - step
            _record(database, name, _catalog(thing, quality, number), now - timedelta(days=days, minutes=number))
    progress.clear()


def _record(database: Database, name: str, catalog: dict[str, Any], moment: datetime) -> None:
    text = json.dumps(catalog, indent=2)
    targets = TargetSelection(documents=(CatalogDocument(name, text.encode()),))
    for request in (
        LintRequest(targets, policy=_POLICY, detail=_DETAIL),
        CompatRequest(targets, policy=_POLICY, detail=_DETAIL),
        ScanRequest(targets, policy=_POLICY, detail=_DETAIL),
    ):
        run = execute(request)._replace(started=moment.strftime("%Y-%m-%dT%H:%M:%SZ"))
        record_run(database, run, [text], name)


def _catalog(thing: str, quality: int, number: int) -> dict[str, Any]:
    """A catalog of the quality 0 to 3: undescribed, then with descriptions, then with types, then complete."""
    schema: dict[str, Any] = {"type": "object", "properties": {"id": {}, "limit": {}}}
    if quality >= 2:
        schema["properties"] = {"id": {"type": "string"}, "limit": {"type": "integer"}}
    if quality >= 3:
        schema["properties"]["id"]["description"] = f"The number of the {thing}, as `list_{thing}s` shows it."
        schema["properties"]["limit"]["description"] = "How many at most, from 1 to 100."
        schema["required"] = ["id"]
    described = {"description": f"Find a {thing} and return what is known about it."} if quality >= 1 else {}
    tools = [
        {"name": f"{verb}_{thing}", **described, "inputSchema": deepcopy(schema)}
        for verb in ("find", "list", "compare", "count")[: 2 + number % 3]
    ]
    return {"tools": tools}
