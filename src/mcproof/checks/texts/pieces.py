"""Pieces of words and substrings: what the prefilters search texts for, many at once."""

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


_WORDS_ONLY = bytes(
    ord(chr(each).lower()) if each < 128 and (chr(each).isalnum() or chr(each) == "_") else ord(" ")
    for each in range(256)
)
"""Maps letters to lower case, and everything that is not part of a word to spaces."""


def plain(text: str) -> bytes:
    """A text in lower case, with a space for each character that is not part of an ASCII word."""
    return text.encode("ascii", "replace").translate(_WORDS_ONLY)


def bits_in(classes: int) -> Iterator[int]:
    """The single bits of a set of classes."""
    while classes:
        bit = classes & -classes
        yield bit
        classes ^= bit


class Lanes(dict[int, int]):
    """The lanes of sets of classes, computed when they are first needed: there are few different sets."""

    def __init__(self) -> None:
        self._of_class: dict[int, int] = {}

    def add(self, classes: int, lanes: int) -> None:
        """Add lanes to each of some classes."""
        for bit in bits_in(classes):
            self._of_class[bit] = self._of_class.get(bit, 0) | lanes

    def __missing__(self, classes: int) -> int:
        lanes = 0
        for bit in bits_in(classes):
            lanes |= self._of_class.get(bit, 0)
        self[classes] = lanes
        return lanes
