"""Notifications of a server: log messages, progress, changed lists."""

from __future__ import annotations

import re
from typing import Any

from mcproof.exchange.connection_facts import cropped
from mcproof.exchange.probe_facts import cropped_value

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

    def add(self, method: str, params: Any) -> None:
        changed = _LIST_CHANGED.fullmatch(method)
        if changed is not None:
            self.changed.add(changed[1])
        if len(self.kept) < MOST_KEPT:
            self.kept.append((cropped(method), cropped_value(params) if isinstance(params, dict) else {}))
