"""Whether the service works, and how much it does: `/healthz` and `/metrics` in Prometheus' text format."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, PlainTextResponse, Response
from sqlalchemy import select

from mcproof import __version__
from mcproof.core.errors import McproofError

if TYPE_CHECKING:
    from mcproof.store.database import Database

router = APIRouter()
_BUCKETS = (0.005, 0.025, 0.1, 0.5, 2.5, 10.0)
"""Upper bounds of the time of a response, in seconds."""


class Metrics:
    """Counts responses by status and how long they took, and whatever else the service does."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._counters: dict[str, dict[str, int]] = {}
        """For each name the counts by labels."""
        self._gauges: dict[str, float] = {}
        self._statuses: dict[int, int] = {}
        self._buckets = dict.fromkeys(_BUCKETS, 0)
        self._seconds = 0.0

    def count(self, status: int, seconds: float) -> None:
        self._statuses[status] = self._statuses.get(status, 0) + 1
        self._seconds += seconds
        for bound in self._buckets:
            self._buckets[bound] += seconds <= bound

    def increase(self, name: str, **labels: str) -> None:
        """Count something under labels; a name ends with `_total`."""
        words = ",".join(f'{label}="{value}"' for label, value in labels.items())
        with self._lock:
            counts = self._counters.setdefault(name, {})
            counts[words] = counts.get(words, 0) + 1

    def set(self, name: str, value: float) -> None:
        """Set a number that may also fall."""
        self._gauges[name] = value

    def text(self) -> str:
        """Return the counts as Prometheus reads them."""
        total = sum(self._statuses.values())
        lines = ["# TYPE mcproof_http_responses_total counter"]
        lines += [
            f'mcproof_http_responses_total{{status="{status}"}} {count}'
            for status, count in sorted(self._statuses.items())
        ]
        lines.append("# TYPE mcproof_http_response_seconds histogram")
        lines += [
            f'mcproof_http_response_seconds_bucket{{le="{bound}"}} {count}' for bound, count in self._buckets.items()
        ]
        lines.append(f'mcproof_http_response_seconds_bucket{{le="+Inf"}} {total}')
        lines.append(f"mcproof_http_response_seconds_sum {self._seconds:.6f}")
        lines.append(f"mcproof_http_response_seconds_count {total}")
        for name, counts in sorted(self._counters.items()):
            lines.append(f"# TYPE {name} counter")
            lines += [f"{name}{{{words}}} {count}" if words else f"{name} {count}" for words, count in counts.items()]
        for name, value in sorted(self._gauges.items()):
            lines += [f"# TYPE {name} gauge", f"{name} {value:g}"]
        return "\n".join(lines) + "\n"


def store_status(database: Database) -> dict[str, Any]:
    """Return whether the store can be read."""
    try:
        with database.reading() as connection:
            connection.execute(select(1))
    except McproofError as error:
        return {"status": "failing", "detail": error.message, "version": __version__}
    return {"status": "ok", "version": __version__}


@router.get("/healthz")
def healthz(request: Request) -> Response:
    found = store_status(request.app.state.database)
    return JSONResponse(found, 200 if found["status"] == "ok" else 503)


@router.get("/metrics")
def metrics(request: Request) -> Response:
    counted: Metrics = request.app.state.metrics
    states = request.app.state.visits.counts()
    visits = "".join(f'mcproof_visits{{state="{state}"}} {count}\n' for state, count in states.items())
    text = f"{counted.text()}# TYPE mcproof_visits gauge\n{visits}"
    return PlainTextResponse(text, media_type="text/plain; version=0.0.4")
