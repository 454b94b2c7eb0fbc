"""Texts as lists of plain words, and the patterns that such words may be elements of, as bits."""

from __future__ import annotations

_WORDS_ONLY = bytes(
    ord(chr(each).lower()) if each < 128 and (chr(each).isalnum() or chr(each) == "_") else ord(" ")
    for each in range(256)
)
"""Maps letters to lower case, and everything that is not part of a word to spaces."""


def plain(text: str) -> bytes:
    """A text in lower case, with a space for each character that is not part of an ASCII word."""
    return text.encode("ascii", "replace").translate(_WORDS_ONLY)


def lanes_of(classes: int, of_class: dict[int, int]) -> int:
    """The lanes of all classes of a word."""
    lanes = 0
    while classes:
        bit = classes & -classes
        lanes |= of_class.get(bit, 0)
        classes ^= bit
    return lanes
