"""Which patterns have their elements in a sentence in the right order: a second look, before its words are classified.

Distances, commands and negations are not considered. Classes that follow from how a word is written count as present
anywhere in a sentence with the characters that they need.
"""

from __future__ import annotations

import re
from functools import cache, reduce
from itertools import repeat
from operator import or_
from typing import TYPE_CHECKING, NamedTuple

from mcproof.poisoning.sentence_patterns import CONCEALS, CONDITIONAL, FIRM, FRAMED, OBLIGED, OVERRIDES, patterns
from mcproof.poisoning.word_classes import class_bits, lexicon
from mcproof.poisoning.word_pieces import bits_in, plain

if TYPE_CHECKING:
    from mcproof.poisoning.sibling_names import ToolNames

_FRAMING = ("OBLIGE", "MUST", "COND", "WHEN", "STRONGCOND", "FIRST", "PRETEXT", "VOCATIVE")
_single_quote = re.compile(r"'(?<!\w')").search
_inner_dot = re.compile(r"\.\S").search
_digit = re.compile(r"\d").search


_Phrases = dict[bytes, list[tuple[list[bytes], int]]]
"""Phrases by their second word: the words after it, and the classes."""


class _OrderTable(NamedTuple):
    words: dict[bytes, int]
    """The classes of each word."""
    phrases: dict[bytes, _Phrases]
    """The phrases that a word starts."""
    elements: list[tuple[int, ...]]
    """The classes of the elements of each pattern."""
    conditions: list[tuple[int, ...]]
    """The classes that the words of a sentence must have besides, for each pattern."""
    quoted: int
    """The classes that quotation marks may give a word; likewise the next ones."""
    place: int
    number: int
    sibling: int
    telling: int
    framed: int
    """The patterns, as bits, that need a sentence that speaks to a model."""
    framing: int
    """Classes of words that speak to a model."""
    framing_patterns: int
    """The patterns that do so themselves."""


@cache
def _order_table() -> _OrderTable:
    bits = class_bits()
    all_patterns = patterns()

    def classes(*names: str) -> int:
        return sum(bits[name] for name in names)

    needed = ((CONDITIONAL, bits["COND"]), (OBLIGED, classes("OBLIGE", "MUST")))
    words, phrases = _words_and_phrases()
    return _OrderTable(
        words,
        phrases,
        elements=[
            tuple(bits["TELLING"] if each.also else each.classes for each in pattern.elements)
            for pattern in all_patterns
        ],
        conditions=[tuple(each for need, each in needed if pattern.needs & need) for pattern in all_patterns],
        quoted=classes("LITERAL", "QUOTED", "PARAM", "SIBLING"),
        place=classes("PATH", "ADDRESS"),
        number=bits["NUMBER"],
        sibling=bits["SIBLING"],
        telling=bits["TELLING"],
        framed=sum(1 << number for number, pattern in enumerate(all_patterns) if pattern.needs & (FRAMED | FIRM)),
        framing=classes(*_FRAMING),
        framing_patterns=sum(
            1 << number for number, pattern in enumerate(all_patterns) if pattern.kind in (CONCEALS, OVERRIDES)
        ),
    )


def _words_and_phrases() -> tuple[dict[bytes, int], dict[bytes, _Phrases]]:
    """The words and the phrases of the lexicon; a word with an apostrophe or a hyphen is a phrase of its parts."""
    known = lexicon()
    words: dict[bytes, int] = {}
    phrases: dict[bytes, _Phrases] = {}
    compounds = []
    for written, classes in known.words.items():
        if written.isalpha():
            words[written.encode()] = classes
        else:
            compounds.append((written, classes))
    compounds += [(" ".join((first, *rest)), each) for first, below in known.phrases.items() for rest, each in below]
    for written, classes in compounds:
        parts = plain(written).split()
        if not parts:  # a punctuation mark, which is not an element of a pattern
            continue
        first, *rest = parts
        if rest:
            phrases.setdefault(first, {}).setdefault(rest[0], []).append((rest[1:], classes))
        else:
            words[first] = words.get(first, 0) | classes
    return words, phrases


def ordered(possible: int, lowered: str, words: list[bytes], names: ToolNames, *, is_framed: bool) -> int:
    """Those of some possible patterns, as bits, whose elements a sentence may have in order."""
    table = _order_table()
    listed, of_lexicon = _classes_in_order(lowered, words, names)
    found = 0
    for bit in bits_in(possible):
        number = bit.bit_length() - 1
        if all(map(of_lexicon.__and__, table.conditions[number])):
            # Take the first word that fits for each element.
            left = iter(listed)
            for element in table.elements[number]:
                if not any(map(element.__and__, left)):
                    break
            else:
                found |= bit
    if not (is_framed or of_lexicon & table.framing or found & table.framing_patterns):
        found &= ~table.framed
    return found


def _classes_in_order(lowered: str, words: list[bytes], names: ToolNames) -> tuple[list[int], int]:
    """The classes that each word of a sentence may have, and all those that they have by the lexicon."""
    table = _order_table()
    listed = list(map(table.words.get, words, repeat(0)))
    for at, started in enumerate(map(table.phrases.get, words[:-1])):
        if started is not None and words[at + 1] in started:
            for rest, classes in started[words[at + 1]]:
                if words[at + 2 : at + 2 + len(rest)] == rest:
                    listed[at] |= classes
    of_lexicon = reduce(or_, listed, 0)
    siblings = names.words.intersection(words)
    if "_" in lowered:
        siblings = siblings.union(word for word in words if b"_" in word)
    by_name = dict.fromkeys(siblings, table.sibling)
    for word in names.telling.intersection(words):
        by_name[word] = by_name.get(word, 0) | table.telling
    if by_name:
        listed = [each | by_name.get(word, 0) for each, word in zip(listed, words, strict=True)]
    anywhere = _classes_anywhere(lowered, table)
    return [each | anywhere for each in listed] if anywhere else listed, of_lexicon


def may_have_place(sentence: str) -> bool:
    """Whether a sentence has a character of paths and addresses."""
    return "/" in sentence or "@" in sentence or "~" in sentence or "\\" in sentence or _inner_dot(sentence) is not None


def _classes_anywhere(lowered: str, table: _OrderTable) -> int:
    """The classes that a sentence may have at any word, by its characters."""
    classes = 0
    if (
        '"' in lowered
        or "`" in lowered
        or ("'" in lowered and _single_quote(lowered))
        or (not lowered.isascii() and any(mark in lowered for mark in "“«「"))
    ):
        classes |= table.quoted
    if may_have_place(lowered):
        classes |= table.place
    if _digit(lowered):
        classes |= table.number
    return classes
