"""Fast searches for substrings in the joined texts of a server."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, AnyStr

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


def occurrences(text: AnyStr, part: AnyStr) -> Iterator[int]:
    """Where a part occurs in a text, without overlaps."""
    at = text.find(part)
    while at >= 0:
        yield at
        at = text.find(part, at + len(part))


class RareSearch:
    """A search for an expression that starts with a rare character.

    Such an expression skips to the next one of these characters, while a search for a longer sign looks at every
    character. It is compiled when the character first occurs, which for most files is never.
    """

    __slots__ = "_expression", "_rarest", "_search"

    def __init__(self, rarest: bytes, rest: bytes) -> None:
        """Set the character and the expression for what follows it, which may look behind it too."""
        self._rarest = rarest
        self._expression = re.escape(rarest) + rest
        self._search: Callable[[bytes], Iterator[re.Match[bytes]]] | None = None

    def __call__(self, text: bytes) -> Iterable[re.Match[bytes]]:
        """The matches in a text; they start at the rare character."""
        if self._rarest not in text:
            return ()
        if self._search is None:
            self._search = re.compile(self._expression).finditer
        return self._search(text)


def rare_signs(rarest: bytes, *signs: bytes) -> RareSearch:
    """A search for signs that have a rare character in common."""
    parts = [sign.partition(rarest) for sign in signs]
    ends = b"|".join(b"(?<=" + re.escape(before + rarest) + b")" + re.escape(after) for before, _, after in parts)
    return RareSearch(rarest, b"(?:" + ends + b")")
