"""The difference between two versions of a text or a JSON value, as lines that start with `-` and `+`.

Time and size are bounded, because the values come from servers: equal ends of a text are skipped, not aligned.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from mcproof.core.text.json_positions import escape

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_PLACES = 20
"""How many changed places of a JSON value are shown."""
LONGEST = 2_000
"""How many characters of a changed text are shown."""
_CONTEXT = 40
ABSENT = object()
"""Stands for a member that is not there; null is a value."""


def difference(before: Any, after: Any) -> list[str]:
    """Return what changed between two JSON values; None stands for an absent one."""
    if isinstance(before, str | None) and isinstance(after, str | None):
        return text_difference(before, after)
    lines: list[str] = []
    places = 0
    for pointer, old, new in changed_places(before, after):
        places += 1
        if places <= MOST_PLACES:
            lines += [f"- {pointer}: {_shown(old)}"] if old is not ABSENT else []
            lines += [f"+ {pointer}: {_shown(new)}"] if new is not ABSENT else []
    if places > MOST_PLACES:
        lines.append(f"… {places - MOST_PLACES:,} more")
    return lines


def text_difference(before: str | None, after: str | None) -> list[str]:
    """Return the part of two texts that differs, with a little of what surrounds it."""
    old, new = before or "", after or ""
    start = _common(old, new)
    end = _common(old[start:][::-1], new[start:][::-1])
    first = max(0, start - _CONTEXT)
    lines = []
    for mark, text, is_there in (("-", old, before is not None), ("+", new, after is not None)):
        if is_there:
            last = min(len(text), len(text) - end + _CONTEXT)
            cut = text[first:last]
            shown = cut if len(cut) <= LONGEST else f"{cut[:LONGEST]}… ({len(cut) - LONGEST:,} more characters)"
            lines.append(f"{mark} {'…' if first else ''}{shown}{'…' if last < len(text) else ''}")
    return lines


def _common(one: str, other: str) -> int:
    """Return how many characters two texts have in common at their start."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (left, right) in pairs if left != right), min(len(one), len(other)))


def changed_places(before: Any, after: Any) -> Iterator[tuple[str, Any, Any]]:
    """Yield the pointer and both values of each changed place, in the order of the new value; not recursive."""
    waiting = [("", ABSENT if before is None else before, ABSENT if after is None else after)]
    while waiting:
        pointer, old, new = waiting.pop()
        if isinstance(old, dict) and isinstance(new, dict):
            keys = reversed({**new, **old})
            waiting += [(f"{pointer}/{escape(key)}", old.get(key, ABSENT), new.get(key, ABSENT)) for key in keys]
        elif isinstance(old, list) and isinstance(new, list):
            waiting += [
                (f"{pointer}/{index}", _entry(old, index), _entry(new, index))
                for index in reversed(range(max(len(old), len(new))))
            ]
        elif type(old) is not type(new) or old != new:
            yield pointer, old, new


def _entry(values: list[Any], index: int) -> Any:
    return values[index] if index < len(values) else ABSENT


def _shown(value: Any) -> str:
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (RecursionError, ValueError):
        return "…"
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}… ({len(text) - LONGEST:,} more characters)"
