"""The log of the service on standard error: a line of text or of JSON for each request, check and delivery.

Nothing secret is written: no headers, no query strings, no bodies, and of an unexpected error only its type and place.
"""

from __future__ import annotations

import json
import logging
import sys
import time
from asyncio import CancelledError
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal

from mcproof.core.console import safe, without_commands

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TextIO

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

LogFormat = Literal["text", "json"]
FORMATS: tuple[LogFormat, ...] = ("text", "json")
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
            mark = "" if level == "info" else f"{level}: "
            line = without_commands(f"{moment} {mark}{safe(message)}")
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
            self._log.write("service.warning", str(record.msg).partition("\n")[0], record.levelname.lower())
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
