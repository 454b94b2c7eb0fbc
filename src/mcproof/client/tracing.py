"""Messages between mcproof and servers: a trace of all without secrets, and the notifications of a server.

There is one trace for the whole process: every connection that is opened while it is on is traced, whichever
command opens it.
Why the trace is global: docs/decisions/0035-one-trace-per-process.md.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from math import isfinite
from time import perf_counter
from typing import Any, Literal, NoReturn

from mcproof.client.redaction import hiding
from mcproof.core.named_tuple import NamedTuple
from mcproof.core.observations.connection import cropped
from mcproof.core.observations.probes import cropped_value

MOST_KEPT = 100
"""How many notifications are kept during one request."""
_LIST_CHANGED = re.compile("notifications/(tools|resources|prompts)/list_changed")


class ServerNotifications:
    """The notifications of a server, the first of them in full."""

    def __init__(self) -> None:
        self.kept: list[tuple[str, dict[str, Any]]] = []
        """Methods and parameters; without large values, and no more than a limit."""
        self.changed: set[str] = set()
        """The kinds of items whose list has changed: `tools`, `resources`, `prompts`."""
        self.listener: Callable[[str], None] | None = None
        """Gets the log messages and the progress that are kept, in words."""

    def add(self, method: str, params: Any) -> None:
        changed = _LIST_CHANGED.fullmatch(method)
        if changed is not None:
            self.changed.add(changed[1])
        if len(self.kept) >= MOST_KEPT:
            return
        shown = cropped_value(params) if isinstance(params, dict) else {}
        self.kept.append((cropped(method), shown))
        words = _words(method, shown)
        if words and self.listener is not None:
            self.listener(words)


def _words(method: str, params: dict[str, Any]) -> str:
    """A log message or progress in words; empty for other notifications."""
    if method == "notifications/message":
        data = params.get("data")
        text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
        level = params.get("level")
        return f"log ({cropped(level)}): {cropped(text)}" if isinstance(level, str) else f"log: {cropped(text)}"
    if method == "notifications/progress":
        total, message = params.get("total"), params.get("message")
        of_total = f" of {_number(total)}" if total is not None else ""
        about = f": {cropped(message)}" if isinstance(message, str) and message else ""
        return f"progress: {_number(params.get('progress'))}{of_total}{about}"
    return ""


def _number(value: Any) -> str:
    return f"{value:g}" if isinstance(value, int | float) and abs(value) < 1e15 else "?"


Direction = Literal["sent", "received"]


class TracedMessage(NamedTuple):
    """A message, or text that is not one, without secrets."""

    time: str
    """The time of day, in UTC."""
    seconds: float
    """The time since the trace began."""
    connection: int
    """The number of the connection, counted from 1."""
    direction: Direction
    message: Any
    """The parsed message; None for text."""
    text: str | None
    """What was sent or received if it is not JSON, or JSON that Python would change."""


class Trace:
    """Passes every message to a function."""

    def __init__(self, write: Callable[[TracedMessage], None]) -> None:
        self._write = write
        self._start = perf_counter()
        self._secrets: set[str] = set()
        self._hide = hiding(())
        self._connections = 0

    def learn_secrets(self, secrets: Iterable[str]) -> None:
        """Hide these values from now on."""
        new = set(secrets) - self._secrets
        if new:
            self._secrets |= new
            self._hide = hiding(self._secrets)

    def new_connection(self) -> int:
        """Return the number of another connection."""
        self._connections += 1
        return self._connections

    def add(self, connection: int, direction: Direction, data: bytes) -> None:
        """Trace a message; blank lines are left out."""
        if not data.strip():
            return
        message, text = None, None
        try:
            message = self._cleaned(_parsed(data))
        except (ValueError, RecursionError):  # not a message: traced as the text that it is
            text = self._hide(data.decode(errors="backslashreplace"))
        time = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        self._write(TracedMessage(time, perf_counter() - self._start, connection, direction, message, text))

    def _cleaned(self, value: Any) -> Any:
        """A value without secrets in its texts; recursive, as the parser is."""
        if isinstance(value, str):
            return self._hide(value)
        if isinstance(value, list):
            return [self._cleaned(entry) for entry in value]
        if isinstance(value, dict):
            return {self._hide(key): self._cleaned(member) for key, member in value.items()}
        return value


def _parsed(data: bytes) -> Any:
    """Parse a message. Raises ValueError for what Python would change: not a number, infinite, a repeated key."""

    def refuse(_: str) -> NoReturn:
        raise ValueError

    def finite(text: str) -> float:
        value = float(text)
        return value if isfinite(value) else refuse(text)

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        members = dict(pairs)
        return members if len(members) == len(pairs) else refuse("")

    return json.loads(data, parse_constant=refuse, parse_float=finite, object_pairs_hook=unique)


class PeerTrace:
    """The trace of one connection; does nothing unless a trace is on."""

    def __init__(self) -> None:
        # Once for a connection, so that no layer hands a trace down: docs/decisions/0035-one-trace-per-process.md.
        self._trace = _current
        self._connection = 0 if _current is None else _current.new_connection()

    def sent(self, data: bytes) -> None:
        if self._trace is not None:
            self._trace.add(self._connection, "sent", data)

    def received(self, data: bytes) -> None:
        if self._trace is not None:
            self._trace.add(self._connection, "received", data)


_current: Trace | None = None


@contextlib.contextmanager
def tracing(trace: Trace) -> Iterator[None]:
    """Trace all connections that are opened in this context."""
    global _current  # noqa: PLW0603 (see the docstring of the module)
    before, _current = _current, trace
    try:
        yield
    finally:
        _current = before


def hide_in_trace(secrets: Iterable[str]) -> None:
    """Hide these values in the trace, if one is on."""
    if _current is not None:
        _current.learn_secrets(secrets)
