"""Which patterns the words of a sentence allow: hardly any sentence has words for all elements of one.

The three rarest elements of each pattern count. All patterns are checked at once: a word maps to a number in which bit
`n` of lane `k` means that the word can be rare element `k` of pattern `n`.
"""

from __future__ import annotations

from functools import cache, reduce
from operator import or_
from typing import TYPE_CHECKING, NamedTuple

from mcproof.poisoning.sentence_patterns import CONDITIONAL, OBLIGED, OTHERS, RUINOUS, SHELL, patterns
from mcproof.poisoning.word_classes import ENGLISH, WRITTEN, class_bits, foreign_function_words, lexicon
from mcproof.poisoning.word_pieces import Lanes, bits_in, plain

if TYPE_CHECKING:
    from mcproof.poisoning.sentence_patterns import Pattern

_LANES = 3
NAMING = frozenset((b"tool", b"tools", b"function", b"call", b"calling", b"invoke", b"invoking", b"trigger"))
NAMING |= {b"triggering"}
"""Words beside which a quoted word is the name of a tool."""
SHELL_COMMANDS = frozenset(b"sudo curl wget chmod chown scp powershell iex whoami crontab".split())
RUIN_WORDS = frozenset(
    b"rm drop truncate delete mkfs dd format shutdown kill killall chmod del rmdir git terraform kubectl docker".split()
)

_SHARES = {
    73: "DET",
    70: "COND",
    66: "TARGET",
    58: "LEAD INTO",
    47: "DATA",
    43: "TO",
    34: "WHEN READ",
    33: "REQUEST",
    30: "THINGS",
    28: "FOR",
    26: "OBLIGE",
    24: "MUST ACT",
    22: "USE THIS",
    21: "STRONGCOND",
    20: "PREFER CALL TAKE",
    19: "SHOW",
    16: "OUTGO PARAM SET EXAMPLE",
    15: "NEWGOAL WEAKSEND ASK NEG PATH ADDRESS",
    14: "SELF SIBLING",
    13: "WHOLE IDENT",
    12: "WEAK SECRET",
    11: "ALL RESULT PRETEXT",
    10: "REMAIN SEND DESTROY",
    9: "TOOL FROM",
    8: "OUTSIDE CALLS ADDED MODEL AS",
    7: "NOW HAVE PRIOR",
    6: "USER CHANGE CONTEXT SAY GUARD",
    5: "CLAIM CHANGED HIGHEST INSTR OTHER",
    4: "ASIF PRAISE NOTHING ACTUAL PROMPT VOID",
    3: "LOGS SOFAR CONSENT STEPS LATEST FIRST",
    2: "GOAL KNOW REGARDLESS MODE",
}
"""The share of descriptions, in percent, that have a word of a class; of the other classes it is smaller."""
_USUAL = frozenset(
    b"a all any api are as be been can default for from has have is it message name new number of on our server that"
    b" the this to up use user will with you your task request call list get data system".split()
)
"""Words of phrases by which the phrases are not looked for, if they have others."""


class FirstLook(NamedTuple):
    """The lanes of words, and those of what else a sentence may have."""

    words: dict[bytes, int]
    filled: int
    """The lanes that patterns with fewer elements do not use."""
    place: int
    """The lanes of elements that are paths or addresses; likewise the next ones."""
    sibling: int
    operator: int
    size: int
    """The number of patterns."""
    all: int
    """All patterns, as bits."""
    needed: frozenset[bytes]
    """Words of which every sentence that matches a pattern has one, unless it has a place, an operator or a name."""

    def with_names(self, names: frozenset[bytes]) -> dict[bytes, int]:
        """The lanes of words on a server, where some are names of tools."""
        return self.words | {name: self.words.get(name, 0) | self.sibling for name in names}

    def possible(self, words: list[bytes], lanes: dict[bytes, int], others: int) -> int:
        """The patterns that words allow, as bits; `others` are the lanes of what is not a word."""
        met = reduce(or_, filter(None, map(lanes.get, words)), self.filled | others)
        return met & met >> self.size & met >> 2 * self.size & self.all


@cache
def first_look() -> FirstLook:
    """The table for a first look."""
    bits = class_bits()
    shares = {bits[name]: percent for percent, names in _SHARES.items() for name in names.split()}
    all_patterns = patterns()
    size = len(all_patterns)
    lanes = Lanes()
    words: dict[bytes, int] = {}
    filled = shell = ruin = 0
    single: list[tuple[int, int]] = []
    for number, pattern in enumerate(all_patterns):
        if len(pattern.elements) == 1 and not pattern.needs & (SHELL | RUINOUS):
            single.append((pattern.elements[0].classes, number))
            continue
        elements = sorted((sum(shares.get(bit, 1) for bit in bits_in(each)), each) for each in _elements(pattern))
        for lane in range(_LANES):
            position = 1 << (lane * size + number)
            if lane >= len(elements):
                filled |= position
            elif elements[lane][1]:
                lanes.add(elements[lane][1], position)
            elif pattern.needs & SHELL:
                shell |= position
            else:
                ruin |= position
    _add_single(words, single, size)
    for piece, classes in pieces().items():
        met = lanes[classes]
        if met:
            words[piece] = words[piece] | met if piece in words else met
    for extra, added in ((SHELL_COMMANDS, shell), (RUIN_WORDS, ruin), (NAMING, lanes[bits["SIBLING"]])):
        words.update({word: words.get(word, 0) | added for word in extra})
    all_bits = (1 << size) - 1
    return FirstLook(
        words,
        filled,
        place=lanes[bits["PATH"] | bits["ADDRESS"]],
        sibling=lanes[bits["SIBLING"]],
        operator=shell,
        size=size,
        all=all_bits,
        needed=frozenset([word for word, met in words.items() if met & all_bits]),
    )


def _add_single(words: dict[bytes, int], single: list[tuple[int, int]], size: int) -> None:
    """Add the words of patterns with one element, given with its classes: of a phrase, the three rarest words."""
    known = lexicon()
    wanted = reduce(or_, (classes for classes, _ in single))
    listed = [(word, each) for word, each in known.words.items() if each & wanted]
    for first, below in known.phrases.items():
        listed += [(" ".join((first, *rest)), each) for rest, each in below if each & wanted]
    for phrase, classes in listed:
        parts = sorted(plain(phrase).split(), key=lambda part: (part in _USUAL, -len(part)))
        for number in (number for of_pattern, number in single if classes & of_pattern):
            for lane in range(_LANES):
                part = parts[min(lane, len(parts) - 1)]
                words[part] = words.get(part, 0) | 1 << (lane * size + number)


def _elements(pattern: Pattern) -> set[int]:
    """The classes of a pattern of which a sentence must have a word, as far as a first look recognises them.

    Zero is a command, for a shell or one that destroys.
    """
    bits = class_bits()
    recognised = (bits["PATH"], bits["ADDRESS"], bits["SIBLING"])
    by_writing = sum(bits[name] for name in WRITTEN)
    found = {each.classes for each in pattern.elements if each.classes in recognised or not each.classes & by_writing}
    needed = (
        (OTHERS, bits["SIBLING"]),
        (CONDITIONAL, bits["COND"]),
        (OBLIGED, bits["OBLIGE"] | bits["MUST"]),
        (SHELL | RUINOUS, 0),
    )
    return found.union(classes for need, classes in needed if pattern.needs & need)


@cache
def pieces() -> dict[bytes, int]:
    """The classes of the words of the lexicon; of those with several parts, and of phrases, of the longest part."""
    known = lexicon()
    found: dict[bytes, int] = {}
    for word, classes in known.words.items():
        piece = word.encode() if word.isalpha() else max(plain(word).split(), key=len, default=b"")
        found[piece] = found.get(piece, 0) | classes
    for first, phrases in known.phrases.items():
        for rest, classes in phrases:
            parts = plain(" ".join((first, *rest))).split()
            piece = max((each for each in parts if each not in _USUAL), key=len, default=b"") or max(parts, key=len)
            found[piece] = found.get(piece, 0) | classes
    return found


def is_foreign(listed: list[bytes]) -> bool:
    """Whether the words of a text may be in another language in Latin script."""
    foreign_words, english_words = function_pieces()
    if foreign_words.isdisjoint(listed):
        return False
    words = set(listed)
    foreign = len(words & foreign_words)
    return foreign > 1 and (foreign > 3 or foreign > len(words & english_words))


@cache
def function_pieces() -> tuple[frozenset[bytes], frozenset[bytes]]:
    """The words by which other languages in Latin script are recognised, and those of English."""
    return frozenset(map(_ascii, foreign_function_words())), frozenset(map(_ascii, ENGLISH))


def _ascii(word: str) -> bytes:
    """A word as `plain` has it; accents become spaces there, so the longest part remains."""
    return max(plain(word).split(), key=len, default=b" ")
