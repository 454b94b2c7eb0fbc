"""Decide which watched servers are due. It has no clock and starts nothing, so tests need not wait."""

from __future__ import annotations

from datetime import UTC, datetime
from hashlib import sha256
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mcproof.runs.config import WatchEntry
    from mcproof.store.watch_states import WatchState

FAILURES_TO_BE_GONE = 2
"""How many runs in a row must fail before a server is reported as gone."""
RECHECK_SECONDS = 60
"""When a server is checked again after a first failure, unless its interval is shorter."""
_SPREAD = 20
"""Runs are delayed by up to this part of the interval, so that entries with one interval do not run at once."""


def spread_of(name: str, every: int) -> int:
    """Return by how many seconds the runs of an entry are delayed: always the same for one name."""
    return int.from_bytes(sha256(name.encode("utf-8", "surrogatepass")).digest()[:4]) % (every // _SPREAD + 1)


def seconds_of(time: str) -> float:
    """Return a time of the store in seconds since 1970; 0 if it is damaged."""
    try:
        return datetime.strptime(time, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC).timestamp()
    except ValueError:
        return 0.0


class WatchSchedule:
    """The next run of each entry. After a restart it continues from the last runs in the store."""

    def __init__(self, entries: Iterable[WatchEntry], states: Mapping[str, WatchState], now: float) -> None:
        self._entries = {each.name: each for each in entries}
        self._running: set[str] = set()
        self._due = dict.fromkeys(self._entries, now)
        for name, state in states.items():
            started = min(seconds_of(state.last_run), now)  # the clock may have been set back
            self._due[name] = started + self._pause(self._entries[name], state.failures)

    @property
    def running(self) -> int:
        return len(self._running)

    def take(self, now: float, room: int) -> list[WatchEntry]:
        """Return entries that are due, those that wait longest first, at most `room`; they count as running."""
        waiting = sorted((due, name) for name, due in self._due.items() if due <= now and name not in self._running)
        taken = [self._entries[name] for _, name in waiting[: max(0, room)]]
        self._running.update(each.name for each in taken)
        return taken

    def finish(self, name: str, started: float, failures: int) -> None:
        """Plan the next run of an entry, with the number of runs in a row that have failed."""
        self._running.discard(name)
        self._due[name] = started + self._pause(self._entries[name], failures)

    def next_due(self) -> float | None:
        """Return when the next entry is due, of those that are not running."""
        return min((due for name, due in self._due.items() if name not in self._running), default=None)

    def _pause(self, entry: WatchEntry, failures: int) -> int:
        if 0 < failures < FAILURES_TO_BE_GONE:
            return min(entry.every, RECHECK_SECONDS)
        return entry.every + spread_of(entry.name, entry.every)
