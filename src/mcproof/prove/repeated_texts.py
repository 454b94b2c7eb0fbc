"""Long repeated texts in a JSON value, stored as a unit and a length."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

SHORTEST = 1_000
"""The shortest text that is replaced."""
_LONGEST_UNIT = 64


def without_repeated(value: Any) -> tuple[Any, list[dict[str, Any]]]:
    """Return a copy with long repeated texts emptied, and a record of each: its path, its unit and its length."""
    found: list[dict[str, Any]] = []
    holder = [value]
    waiting: list[tuple[Any, Any, list[str | int]]] = [(holder, 0, [])]
    while waiting:
        parent, step, path = waiting.pop()
        current = parent[step]
        if isinstance(current, dict):
            parent[step] = copy = dict(current)
            waiting += [(copy, name, [*path, name]) for name in copy]
        elif isinstance(current, list):
            parent[step] = items = list(current)
            waiting += [(items, number, [*path, number]) for number in range(len(items))]
        elif isinstance(current, str) and (unit := _unit(current)):
            parent[step] = ""
            found.append({"path": path, "unit": unit, "length": len(current)})
    return holder[0], found[::-1]


def with_repeated(value: Any, repeated: Any, limit: int) -> Any:
    """Return the value with the texts filled in, in place. Raises ValueError if a record is invalid or too long."""
    if not isinstance(repeated, list):
        raise ValueError("not a list")
    holder = [value]
    for each in repeated:
        path, unit, length = (each.get(key) if isinstance(each, dict) else None for key in ("path", "unit", "length"))
        if not (isinstance(path, list) and isinstance(unit, str) and unit and type(length) is int and length > 0):
            raise ValueError("not a record of a text")
        limit -= length
        if limit < 0:
            raise ValueError("too long")
        parent: Any = holder
        step: Any = 0
        try:
            for next_step in path:
                parent, step = parent[step], next_step
            is_empty = parent[step] == ""
        except (LookupError, TypeError):
            is_empty = False
        if not is_empty:
            raise ValueError("no such place")
        parent[step] = _repeated(unit, length)
    return holder[0]


@lru_cache(maxsize=8)  # many failures have the same text
def _repeated(unit: str, length: int) -> str:
    return (unit * (length // len(unit) + 1))[:length]


def _unit(text: str) -> str:
    """The text that a long one repeats; empty if there is none."""
    if len(text) < SHORTEST:
        return ""
    period = text.find(text[:_LONGEST_UNIT], 1, 2 * _LONGEST_UNIT)
    return text[:period] if period > 0 and text.startswith(text[:-period], period) else ""
