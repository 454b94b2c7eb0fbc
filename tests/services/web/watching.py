"""Watch entries, and runs of watched servers, for tests without waiting."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from mcproof.checks.diff.lock import fingerprint, known_parts
from mcproof.core.errors import FAILED, SettingLocation
from mcproof.runs.config import WatchEntry, Webhook
from mcproof.runs.results import RunResult, TargetResult, Trouble
from mcproof.services.store.run_record import record_of
from mcproof.services.web.watch_events import ObservedRun
from mcproof.targets.snapshots import read_snapshot
from services.store.runs import GOOD, linted, scanned

if TYPE_CHECKING:
    from mcproof.runs.results import RunResult as Run

WEBHOOK = Webhook("https://hooks.example/x", "HOOK_SECRET")


def entry(name: str = "books", **fields: Any) -> WatchEntry:
    values: dict[str, Any] = {
        "name": name,
        "target": f"{name}.json",
        "every": 3600,
        "location": SettingLocation("watch.toml", 1),
        **fields,
    }
    return WatchEntry(**values)


def observed(data: bytes = GOOD, *, run: Run | None = None) -> ObservedRun:
    catalog = read_snapshot(data, "books")
    run = run or linted(data)
    return ObservedRun(record_of(run, run.targets[0], data.decode()), fingerprint(catalog, known_parts(catalog)))


def scan_of(data: bytes = GOOD, verdict: str | None = None) -> ObservedRun:
    run = scanned(data)
    if verdict is not None:
        payload: Any = run.targets[0].payload
        trust = payload.trust._replace(verdict=verdict)
        run = run._replace(targets=[run.targets[0]._replace(payload=payload._replace(trust=trust))])
    return observed(data, run=run)


def unreachable(started: str = "2026-01-01T00:00:00Z") -> ObservedRun:
    result = TargetResult("books", Trouble("connection refused", None, None, None))
    run = RunResult("lint", "0", [result], exit_code=FAILED, started=started)
    return ObservedRun(record_of(run, result, None))


def changed(**members: Any) -> bytes:
    """The good catalog with other members in its tool."""
    document = json.loads(GOOD)
    document["tools"][0].update(members)
    return json.dumps(document).encode()
