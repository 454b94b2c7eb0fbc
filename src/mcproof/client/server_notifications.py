"""Notifications of a server: log messages, progress, changed lists."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from mcproof.core.observations.connection import cropped
from mcproof.core.observations.probes import cropped_value

if TYPE_CHECKING:
    from collections.abc import Callable

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
        kept = cropped_value(params) if isinstance(params, dict) else {}
        self.kept.append((cropped(method), kept))
        words = _words(method, kept)
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
