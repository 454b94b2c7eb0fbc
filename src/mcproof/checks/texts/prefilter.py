"""Sentences worth a look: cheap tests that pass over most texts before the patterns are tried.

Each test finds nothing that a pattern would not also have to match; what passes is read word by word in `signals`.
Why: docs/decisions/0050-texts-in-one-pass.md.
"""

from __future__ import annotations

import re
from functools import cache, reduce
from itertools import repeat
from operator import or_
from typing import TYPE_CHECKING, NamedTuple

from mcproof.checks.texts.markup import secret_path
from mcproof.checks.texts.patterns import (
    CONCEALS,
    CONDITIONAL,
    FIRM,
    FRAMED,
    OBLIGED,
    OTHERS,
    OVERRIDES,
    RUINOUS,
    SHELL,
    Pattern,
    patterns,
)
from mcproof.checks.texts.pieces import Lanes, bits_in, plain
from mcproof.checks.texts.words import ENGLISH, WRITTEN, class_bits, foreign_function_words, has_other_script, lexicon

if TYPE_CHECKING:
    from mcproof.checks.texts.model_texts import ModelTexts
    from mcproof.checks.texts.tool_graph import ToolNames


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


SHORTEST = 20
"""Characters of the shortest text in English that can have a signal."""
LONGEST_TEXT = 200_000
"""How many characters of a text are read."""
_MOST_SURVEYED = 50_000
"""How many sentences of a server are remembered."""

_SUSPICIOUS = 1_000_000
"""Added to what is known of a sentence, the number of its words of other languages, if it may match a pattern."""

_TEXT_END, _SENTENCE_END, _PLACE, _OPERATOR = b"\0", b"\f", b"\t", b"\n"
_new_line = re.compile(rb"\n(?=[ \t]{0,40}[^a-z \t])").sub
_full_stop = re.compile(
    rb"\.(?<=[a-z0-9_]{2}\.)(?<!etc\.)(?<!vs\.)(?<!cf\.)(?<!approx\.)(?<!incl\.)(?<!resp\.)(?<!ej\.)(?=\s)"
).sub
_MARKED = bytes(
    each
    if chr(each) in "\0\fabcdefghijklmnopqrstuvwxyz0123456789_"
    else ord(_PLACE)
    if chr(each) in "/@~\\."
    else ord(_OPERATOR)
    if chr(each) in "|&$"
    else ord(" ")
    for each in range(256)
)
"""Keeps words and ends, and maps the rest to whitespace, with characters of its own for places and operators."""


class Suspicion(NamedTuple):
    """Why a text may have signals."""

    spans: list[tuple[int, int]]
    """Where its suspicious sentences in English start and end."""
    foreign_spans: list[tuple[int, int]]
    """Where it has words of another language; empty if it is in English."""


def suspicions(texts: ModelTexts) -> dict[str, Suspicion]:
    """The texts that may have signals, in the order of the catalog, computed once for all rules."""
    return texts.analysis("suspicions", _survey)


def _survey(texts: ModelTexts) -> dict[str, Suspicion]:
    names = texts.tool_names
    in_other_script: set[str] = set()
    if has_other_script(texts.unusual_characters):
        in_other_script = {text for text in texts.beyond_ascii if has_other_script(text)}
    read = [
        text
        for text in texts.distinct
        if (len(text) >= SHORTEST and (" " in text or not text.isascii() or len(text.split()) > 1))
        or text in in_other_script
    ]
    foreign_words, _ = function_pieces()
    look = first_look()
    lanes_of, size, unused = look.with_names(names.words).get, look.size, look.filled
    notable = look.needed | names.words | foreign_words
    looks: dict[bytes, int] = {}
    found: dict[str, Suspicion] = {}
    for text, marked in zip(read, _marked([text[:LONGEST_TEXT] for text in read]), strict=True):
        spans: list[tuple[int, int]] = []
        foreign_spans: list[tuple[int, int]] = []
        start = foreign = 0
        for sentence in marked.split(_SENTENCE_END):
            known = looks.get(sentence)
            if known is None:
                words = sentence.split()
                others = look.place if _PLACE in sentence else 0
                if _OPERATOR in sentence:
                    others |= look.operator
                known = 0
                if others or not notable.isdisjoint(words):
                    met = reduce(or_, filter(None, map(lanes_of, words)), unused | others)
                    possible = met & met >> size & met >> 2 * size & look.all
                    if possible:
                        possible = _confirm(possible, text[start : start + len(sentence)], words, names)
                    known = len(foreign_words.intersection(words)) + (_SUSPICIOUS if possible else 0)
                if len(looks) < _MOST_SURVEYED:
                    looks[sentence] = known
            end = start + len(sentence)
            if known:
                if known >= _SUSPICIOUS:
                    spans.append((start, end))
                    known -= _SUSPICIOUS
                if known:
                    foreign += known
                    foreign_spans.append((start, end))
            start = end + 1
        if text in in_other_script:
            foreign_spans = [(0, len(text))]
        elif foreign and (foreign == 1 or not is_foreign(marked.split())):
            foreign_spans = []
        if spans or foreign_spans:
            found[text] = Suspicion(spans, foreign_spans)
    return found


def _confirm(possible: int, sentence: str, words: list[bytes], names: ToolNames) -> int:
    """Those of some possible patterns that a second look at a sentence confirms; few small servers need one."""
    return confirmed(possible, sentence, words, names)


def _marked(texts: list[str]) -> list[bytes]:
    """Texts as plain words in lower case, with marks for the ends of sentences; each character is one byte."""
    joined = "\0".join([*texts, ""])
    if joined.count("\0") > len(texts):
        joined = "\0".join([*(text.replace("\0", " ") for text in texts), ""])
    data = joined.encode("latin-1", "replace").replace(_SENTENCE_END, b" ")
    data = _new_line(_SENTENCE_END, data).lower().replace(b".\0", b" \0")
    data = _full_stop(_SENTENCE_END, data).replace(b"; ", b"\f ")
    return data.translate(_MARKED).split(_TEXT_END)[:-1]


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


_MOST_SUSPECTS = 50_000
"""How many sentences of a server are remembered."""
_domain_or_ip = re.compile(
    r"\.(?<=\w\.)(?:com|net|org|io|ru|cn|xyz|dev|app|info|biz|co|me|tk|top|site|online|cloud|\d)"
).search


class _Written(NamedTuple):
    """The patterns, as bits, with an element that is recognised by how it is written."""

    path: int
    address: int
    sibling: int
    shell: int
    ruinous: int


@cache
def _written_elements() -> _Written:
    bits = class_bits()

    def having(name: str = "", needs: int = 0) -> int:
        return sum(
            1 << number
            for number, pattern in enumerate(patterns())
            if pattern.needs & needs or any(element.classes == bits.get(name) for element in pattern.elements)
        )

    return _Written(
        having("PATH"), having("ADDRESS"), having("SIBLING", OTHERS), having(needs=SHELL), having(needs=RUINOUS)
    )


def classes_in(words: list[bytes]) -> int:
    """The classes of words, and of the phrases that they may be parts of."""
    return reduce(or_, map(pieces().get, words, repeat(0)), 0)


def starts_with(words: list[bytes], starters: int) -> bool:
    """Whether the first of the words makes a sentence an order; `starters` are the classes that do."""
    return bool(words) and (words[0] in (b"if", b"to") or bool(pieces().get(words[0], 0) & starters))


def may_match(sentence: str, names: ToolNames) -> bool:
    """Whether a sentence may match a pattern if its context speaks to a model; many tools share sentences."""
    known = names.looks.get(sentence)
    if known is None:
        known = possible_in(sentence, plain(sentence).split(), names, is_framed=True) != 0
        if len(names.looks) < _MOST_SUSPECTS:
            names.looks[sentence] = known
    return known


def possible_in(sentence: str, words: list[bytes], names: ToolNames, *, is_framed: bool) -> int:
    """The patterns that may match a sentence, as bits; `is_framed` if its context speaks to a model."""
    look = first_look()
    others = look.place if may_have_place(sentence) else 0
    if not names.words.isdisjoint(words):
        others |= look.sibling
    if _has_operator(sentence):
        others |= look.operator
    return confirmed(look.possible(words, look.words, others), sentence, words, names, is_framed=is_framed)


def confirmed(possible: int, sentence: str, words: list[bytes], names: ToolNames, *, is_framed: bool = True) -> int:
    """Those of some possible patterns that a sentence has names, paths, addresses and commands for, in order."""
    if possible:
        lowered = sentence.lower()
        possible = _written(possible, lowered, words, names)
        if possible:
            possible = ordered(possible, lowered, words, names, is_framed=is_framed)
    return possible


def _may_have_name(text: str) -> bool:
    """Whether a text has a character by which the name of an unknown tool is recognised."""
    return "'" in text or "`" in text or '"' in text or "_" in text


def _has_operator(text: str) -> bool:
    """Whether a text has an operator of a shell."""
    return "|" in text or "&&" in text or "$(" in text


def _written(possible: int, lowered: str, words: list[bytes], names: ToolNames) -> int:
    """The possible patterns for which a text in lower case has the names, paths, addresses and commands."""
    having = _written_elements()
    if (
        possible & having.sibling
        and names.words.isdisjoint(words)
        and (NAMING.isdisjoint(words) or not _may_have_name(lowered))
    ):
        possible &= ~having.sibling
    if possible & having.path and not (may_have_place(lowered) and secret_path(lowered)):
        possible &= ~having.path
    if possible & having.address and not ("://" in lowered or "@" in lowered or _domain_or_ip(lowered)):
        possible &= ~having.address
    if possible & (having.shell | having.ruinous):
        from mcproof.checks.texts.markup import is_ruinous, is_shell

        if (SHELL_COMMANDS.isdisjoint(words) and not _has_operator(lowered)) or not is_shell(lowered):
            possible &= ~having.shell
        if RUIN_WORDS.isdisjoint(words) or not is_ruinous(lowered):
            possible &= ~having.ruinous
    return possible
