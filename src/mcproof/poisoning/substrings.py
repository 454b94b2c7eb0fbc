"""Fast searches for substrings in the joined texts of a server."""

from __future__ import annotations

from typing import TYPE_CHECKING, AnyStr

if TYPE_CHECKING:
    from collections.abc import Iterator


def occurrences(text: AnyStr, part: AnyStr) -> Iterator[int]:
    """Where a part occurs in a text, without overlaps."""
    at = text.find(part)
    while at >= 0:
        yield at
        at = text.find(part, at + len(part))
