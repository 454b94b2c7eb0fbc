"""Phrases for the messages of changes."""

from __future__ import annotations

import json
from typing import Any

_MAX_VALUE_LENGTH = 40
_MAX_VALUES = 5
_MAX_NAMES = 20
_MAX_NAME_LENGTH = 120


def value_text(value: Any) -> str:
    """A value as JSON, truncated."""
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (RecursionError, ValueError):
        return "…"
    return text if len(text) <= _MAX_VALUE_LENGTH else f"{text[: _MAX_VALUE_LENGTH - 1]}…"


def values_text(values: list[Any]) -> str:
    """Values joined by commas and "or"; a long list is truncated."""
    if not values:
        return "no value"
    texts = [value_text(value) for value in values[:_MAX_VALUES]]
    if len(values) > _MAX_VALUES:
        texts.append(f"{len(values) - _MAX_VALUES} others")
    return " or ".join([", ".join(texts[:-1]), texts[-1]]) if len(texts) > 1 else texts[0]


def names_text(names: list[str]) -> str:
    """Quoted names joined by commas; a long list is truncated."""
    first = ", ".join(f"`{shortened_name(name)}`" for name in names[:_MAX_NAMES])
    more = len(names) - _MAX_NAMES
    return first if more <= 0 else f"{first} and {more} more"


def shortened_name(name: str) -> str:
    """A name or dotted path, cut in the middle if it is too long."""
    return f"{name[:60]}…{name[-50:]}" if len(name) > _MAX_NAME_LENGTH else name


def text_change(name: str, old: Any, new: Any, of: str = "") -> str:
    """How a text changed; both texts are quoted if they are short."""
    subject = f"{name} of {of}" if of else name
    if not old or not new:
        return f"{subject} was {'added' if new else 'removed'}"
    texts = value_text(old), value_text(new)
    return f"{subject} changed" + ("" if any("…" in text for text in texts) else f" from {texts[0]} to {texts[1]}")


def member_change(key: str, old: dict[str, Any], new: dict[str, Any]) -> str:
    """How a member changed, was added or removed, as a predicate."""
    if key not in old:
        return f"was added: {value_text(new[key])}"
    if key not in new:
        return f"was removed: {value_text(old[key])}"
    return f"changed from {value_text(old[key])} to {value_text(new[key])}"


def counted(number: int, noun: str) -> str:
    """A number with its noun."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
