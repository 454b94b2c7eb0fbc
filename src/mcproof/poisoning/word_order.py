"""Which patterns have their elements in a sentence in the right order: a second look, before its words are classified.

All patterns advance at once: bit `n` of lane `k` means that the first `k + 1` elements of pattern `n` occurred.
Distances, commands and negations are not considered. Classes that follow from how a word is written count as present
anywhere in a sentence with the characters that they need.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from mcproof.poisoning.sentence_patterns import CONCEALS, CONDITIONAL, FIRM, FRAMED, OBLIGED, OVERRIDES, patterns
from mcproof.poisoning.word_classes import class_bits, lexicon
from mcproof.poisoning.word_pieces import lanes_of, plain

if TYPE_CHECKING:
    from mcproof.poisoning.sentence_words import ToolNames

_FRAMING = ("OBLIGE", "MUST", "COND", "WHEN", "STRONGCOND", "FIRST", "PRETEXT", "VOCATIVE")
_PURPOSES = ("SECRET", "RUINER")
"""Classes of tools whose names show their purpose."""
_quote = re.compile(r"[\"“`«「]|(?<!\w)'").search
_inner_dot = re.compile(r"\.\S").search
_digit = re.compile(r"\d").search


class _Piece(NamedTuple):
    """What a word may be, and what phrases it may start."""

    lanes: int
    classes: int
    phrases: list[tuple[list[bytes], int, int]]
    """The other words of each phrase, its lanes and its classes."""


class _OrderTable(NamedTuple):
    pieces: dict[bytes, _Piece]
    size: int
    """The number of patterns."""
    first: int
    """The lane of the first elements."""
    unused: int
    """The lanes that patterns with fewer elements do not use."""
    last_lane: int
    quoted: int
    """The lanes of classes that quotation marks may give a word; likewise the next ones."""
    place: int
    number: int
    sibling: int
    purpose: int
    needing: tuple[tuple[int, int], ...]
    """Classes of which a sentence must have one, and the patterns that need it."""
    framed: int
    """The patterns that need a sentence that speaks to a model."""
    framing: int
    """Classes of words that speak to a model."""
    framing_patterns: int
    """The patterns that do so themselves."""


@cache
def _order_table() -> _OrderTable:
    bits = class_bits()
    all_patterns = patterns()
    count = len(all_patterns)
    lanes = max(len(pattern.elements) for pattern in all_patterns)
    of_class: dict[int, int] = {}
    unused = 0
    for number, pattern in enumerate(all_patterns):
        for lane, element in enumerate(pattern.elements):
            position = 1 << (lane * count + number)
            for bit in bits.values():
                if (element.also or element.classes) & bit:
                    of_class[bit] = of_class.get(bit, 0) | position
        for lane in range(len(pattern.elements), lanes):
            unused |= 1 << (lane * count + number)

    def lanes_for(*names: str) -> int:
        return lanes_of(sum(bits[name] for name in names), of_class)

    def needing(needs: int) -> int:
        return sum(1 << number for number, pattern in enumerate(all_patterns) if pattern.needs & needs)

    return _OrderTable(
        _pieces(of_class),
        count,
        first=(1 << count) - 1,
        unused=unused,
        last_lane=(lanes - 1) * count,
        quoted=lanes_for("LITERAL", "QUOTED", "PARAM", "SIBLING", *_PURPOSES),
        place=lanes_for("PATH", "ADDRESS"),
        number=lanes_for("NUMBER"),
        sibling=lanes_for("SIBLING"),
        purpose=lanes_for(*_PURPOSES),
        needing=((bits["COND"], needing(CONDITIONAL)), (bits["OBLIGE"] | bits["MUST"], needing(OBLIGED))),
        framed=needing(FRAMED | FIRM),
        framing=sum(bits[name] for name in _FRAMING),
        framing_patterns=sum(
            1 << number for number, pattern in enumerate(all_patterns) if pattern.kind in (CONCEALS, OVERRIDES)
        ),
    )


def _pieces(of_class: dict[int, int]) -> dict[bytes, _Piece]:
    """The words and the first words of phrases of the lexicon."""
    known = lexicon()
    single: dict[bytes, int] = {}
    phrases: dict[bytes, list[tuple[list[bytes], int, int]]] = {}
    listed = list(known.words.items())
    listed += [(" ".join((first, *rest)), classes) for first, below in known.phrases.items() for rest, classes in below]
    for written, classes in listed:
        pieces = plain(written).split()
        if not pieces:  # a punctuation mark, which is not an element of a pattern
            continue
        first, *rest = pieces
        if rest:
            phrases.setdefault(first, []).append((rest, lanes_of(classes, of_class), classes))
        else:
            single[first] = single.get(first, 0) | classes
    return {
        word: _Piece(lanes_of(single.get(word, 0), of_class), single.get(word, 0), phrases.get(word, []))
        for word in single.keys() | phrases.keys()
    }


def ordered(lowered: str, words: list[bytes], names: ToolNames, *, is_framed: bool) -> int:
    """The patterns, as bits, whose elements a sentence may have in order."""
    table = _order_table()
    count, first, of_word = table.size, table.first, table.pieces.get
    anywhere = _lanes_anywhere(lowered, table)
    siblings = names.words.intersection(words)
    if "_" in lowered:
        siblings = siblings.union(word for word in words if b"_" in word)
    classes = reached = 0
    for at, word in enumerate(words):
        lanes = anywhere
        known = of_word(word)
        if known is not None:
            lanes |= known.lanes
            classes |= known.classes
            for rest, phrase_lanes, phrase_classes in known.phrases:
                if words[at + 1 : at + 1 + len(rest)] == rest:
                    lanes |= phrase_lanes
                    classes |= phrase_classes
        if word in siblings:
            lanes |= table.sibling
            if word in names.telling:
                lanes |= table.purpose
        if lanes:
            reached |= (reached << count | first) & lanes
    for _ in range(table.last_lane // count):
        reached |= reached << count & table.unused
    possible = reached >> table.last_lane & first
    for needed, numbers in table.needing:
        if not classes & needed:
            possible &= ~numbers
    if not (is_framed or classes & table.framing or possible & table.framing_patterns):
        possible &= ~table.framed
    return possible


def may_have_place(sentence: str) -> bool:
    """Whether a sentence has a character of paths and addresses."""
    return "/" in sentence or "@" in sentence or "~" in sentence or "\\" in sentence or _inner_dot(sentence) is not None


def _lanes_anywhere(lowered: str, table: _OrderTable) -> int:
    """The lanes of classes that a sentence may have at any word, by its characters."""
    lanes = 0
    if _quote(lowered):
        lanes |= table.quoted
    if may_have_place(lowered):
        lanes |= table.place
    if _digit(lowered):
        lanes |= table.number
    return lanes
