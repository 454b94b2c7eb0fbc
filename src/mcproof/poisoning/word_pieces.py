"""Texts as lists of plain words, and the patterns that such words may be elements of, as bits."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

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
