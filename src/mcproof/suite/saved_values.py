"""Values that a step of a test saves, and references to them: `${steps.NAME}`.

A parsed suite marks references with null characters, so that the escaped text `$${steps.NAME}` is not one.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

WRITTEN = re.compile(r"steps\.([A-Za-z_][A-Za-z0-9_]*+)")
"""A reference as an author writes it, between `${` and `}`."""
_MARKED = re.compile(r"\0steps\.([A-Za-z_][A-Za-z0-9_]*+)\0")


def marked(name: str) -> str:
    """Return the mark of a reference."""
    return f"\0steps.{name}\0"


def references_in(text: str) -> list[str]:
    """Return the names that a text refers to."""
    return _MARKED.findall(text) if "\0" in text else []


def filled(value: Any, saved: Mapping[str, Any]) -> Any:
    """Return a copy of a JSON value with saved values in place of references. The depth of suites is limited.

    A text that is nothing but a reference becomes the saved value itself, whatever its type.
    """
    if isinstance(value, dict):
        return {key: filled(member, saved) for key, member in value.items()}
    if isinstance(value, list):
        return [filled(item, saved) for item in value]
    if not isinstance(value, str) or "\0" not in value:
        return value
    whole = _MARKED.fullmatch(value)
    return saved[whole[1]] if whole is not None else _MARKED.sub(lambda found: _as_text(saved[found[1]]), value)


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
