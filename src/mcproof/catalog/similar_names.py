"""Names that are easily taken for each other: equal but for case, separators, lookalike letters or one character."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

LEAST_LETTERS, LONGEST_COMPARED_NAME, MOST_PAIRS = 8, 100, 200
"""The least length of names that may differ in one character; the longest name and the most pairs considered."""

_separators = re.compile(r"[^0-9a-z]+")
_digits = re.compile(r"\d+")


class SimilarNames(NamedTuple):
    """Two names, each from one of two lists."""

    name: str
    other: str


def similar_names(names: Iterable[str], others: Iterable[str]) -> list[SimilarNames]:
    """The pairs of names that are easily taken for each other; names that differ only in a number are a series."""
    known: dict[str, list[str]] = {}
    for other in dict.fromkeys(others):
        for key in _keys(other):
            known.setdefault(key, []).append(other)
    found: dict[SimilarNames, None] = {}
    for name in dict.fromkeys(names):
        for key in _keys(name):
            for other in known.get(key, ())[:MOST_PAIRS]:
                if len(found) < MOST_PAIRS and not _are_series(name, other):
                    found[SimilarNames(name, other)] = None
    return list(found)


def _keys(name: str) -> Iterator[str]:
    """A name without case and separators, and, if it is long, every form of it with one character less."""
    plain = _plain(name[:LONGEST_COMPARED_NAME])
    if plain:
        yield plain
    if len(plain) >= LEAST_LETTERS:
        for at in range(len(plain)):
            yield plain[:at] + plain[at + 1 :]


def _plain(name: str) -> str:
    return _separators.sub("", name.lower().translate(_LOOKALIKES))


_LOOKALIKES = str.maketrans("аеорсухіјѕԁ", "aeopcyxijsd")
"""Cyrillic letters that look like Latin ones, in names the most usual ones."""


def _are_series(name: str, other: str) -> bool:
    return name != other and _digits.sub("0", name) == _digits.sub("0", other)
