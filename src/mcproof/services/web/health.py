"""Whether the service works and what it does: `/healthz`, `/metrics`, and its log.

Nothing secret is logged: no headers, no query strings, no bodies, and of an unexpected error only its type and
place.
"""

from __future__ import annotations

import json
import logging
import re
import sys
import time
from asyncio import CancelledError
from contextlib import suppress
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal, TextIO

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, PlainTextResponse, Response
from sqlalchemy import select

from mcproof import __version__
from mcproof.core.console import safe, without_commands
from mcproof.core.errors import McproofError

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from mcproof.services.store.database import Database


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
            # Cumulative, as Prometheus defines a histogram.
            self._buckets[bound] += seconds <= bound

    def increase(self, name: str, **labels: str) -> None:
        """Count something under labels; a name ends with `_total`."""
        # Labels are words of ours, so nothing in them needs escaping; the threads of checks count here too.
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
    """Return that the store can be read. Raises a McproofError if it cannot."""
    with database.reading() as connection:
        connection.execute(select(1))
    return {"status": "ok", "version": __version__}


@router.get("/healthz")
def healthz(request: Request) -> Response:
    try:
        return JSONResponse(store_status(request.app.state.database))
    except McproofError as error:
        return JSONResponse({"status": "failing", "detail": error.message, "version": __version__}, 503)


@router.get("/metrics")
def metrics(request: Request) -> Response:
    counted: Metrics = request.app.state.metrics
    states = request.app.state.visits.counts()
    visits = "".join(f'mcproof_visits{{state="{state}"}} {count}\n' for state, count in states.items())
    text = f"{counted.text()}# TYPE mcproof_visits gauge\n{visits}"
    return PlainTextResponse(text, media_type="text/plain; version=0.0.4")


LogFormat = Literal["text", "json"]
PRIVATE = ("/lint/",)
"""Paths that continue with a link which only its owner may know."""


class ServiceLog:
    """Writes one line for each event."""

    def __init__(
        self, format: LogFormat = "text", stream: TextIO | None = None, clock: Callable[[], float] = time.time
    ) -> None:
        self._format = format
        self._stream = stream
        self._clock = clock

    def write(self, event: str, message: str, level: str = "info", **fields: Any) -> None:
        """Write an event: its name, a message for people, and fields for programs."""
        moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self._clock()))
        if self._format == "json":
            record = {"time": moment, "level": level, "event": event, "message": message, **fields}
            line = json.dumps(record)
        else:
            prefix = "" if level == "info" else f"{level}: "
            line = without_commands(f"{moment} {prefix}{safe(message)}")
        stream = self._stream or sys.stderr
        with suppress(OSError, ValueError):
            stream.write(line + "\n")
            stream.flush()


class NoLog(ServiceLog):
    """Writes nothing."""

    def write(self, event: str, message: str, level: str = "info", **fields: Any) -> None:
        pass


class RequestLog:
    """Logs every request after its response."""

    def __init__(self, app: ASGIApp, log: ServiceLog) -> None:
        self._app = app
        self._log = log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started, status = time.perf_counter(), 500

        async def keep_status(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, keep_status)
        finally:
            milliseconds = round((time.perf_counter() - started) * 1000, 1)
            method, path = scope["method"], shown_path(scope["path"])
            self._log.write(
                "request",
                f"{method} {path} {status} {milliseconds:g} ms",
                method=method,
                path=path,
                status=status,
                milliseconds=milliseconds,
                client=scope["client"][0] if scope.get("client") else None,
            )


def shown_path(path: str) -> str:
    """Return a path without what only its owner may know, and not too long."""
    for start in PRIVATE:
        if path.startswith(start) and path != start:
            return f"{start}…"
    return path if len(path) <= 500 else f"{path[:500]}…"


_PLACEHOLDER = re.compile(r"%(?:\(\w+\))?[-\d.]*[a-z]")


class LogHandler(logging.Handler):
    """Writes warnings and errors of libraries, without the values in them."""

    def __init__(self, log: ServiceLog) -> None:
        super().__init__(logging.WARNING)
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        if isinstance(error, CancelledError):
            self._log.write("service.warning", "a request was ended because the service stops", "warning")
        elif error is None:
            # Numbers are shown; other values may be secret.
            values = record.args if isinstance(record.args, tuple) else ()
            message = _PLACEHOLDER.sub("…", str(record.msg))
            if values and all(isinstance(value, int) for value in values):
                message = record.getMessage()
            self._log.write("service.warning", message.partition("\n")[0], record.levelname.lower())
        else:
            place = place_of(error)
            message = f"internal error, please report it: {type(error).__name__} ({place})"
            self._log.write("service.error", message, "error", error=type(error).__name__, place=place)


def place_of(error: BaseException) -> str:
    """Return the innermost place in mcproof that an error passed: module and line."""
    place, trace = "unknown", error.__traceback__
    while trace is not None:
        module = trace.tb_frame.f_globals.get("__name__", "")
        if place == "unknown" or module.startswith("mcproof"):
            place = f"{module}, line {trace.tb_lineno}"
        trace = trace.tb_next
    return place
