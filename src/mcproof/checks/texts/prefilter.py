"""Which patterns a sentence may match: one cheap pass over its words, so that few sentences have to be read.

It costs 0.7 ms for a catalog of 170 sentences, and leaves 4 of them; to read them all would take 9 ms more.
Why no sentence that matches is dropped: docs/decisions/0064-one-pass-over-a-sentence.md.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from mcproof.checks.texts.markup import RUINOUS_WORDS, SHELL_WORDS, is_ruinous, is_shell, secret_path
from mcproof.checks.texts.patterns import CONDITIONAL, OBLIGED, OTHERS, RUINOUS, SHELL, patterns
from mcproof.checks.texts.words import WRITTEN, class_bits, foreign_ascii_words, may_have_address, word_classes
from mcproof.core.text.english import word_bytes, word_set

if TYPE_CHECKING:
    from mcproof.checks.texts.patterns import Pattern
    from mcproof.checks.texts.tool_graph import ToolNames


_CONDITION, _ORDER, _REASON = "condition", "order", "reason"
_SIBLING, _TELLING, _NAMING = "sibling", "telling", "naming"
_PATH, _ADDRESS, _QUOTED, _NUMBER = "path", "address", "quoted", "number"
_RUINOUS, _SHELL, _FOREIGN = "ruinous", "shell", "foreign"
_CLASSES = {_CONDITION: ("COND",), _ORDER: ("OBLIGE", "MUST"), _REASON: ("PRETEXT",)}
"""Marks that a sentence has by a word of some classes."""
_WORDS = {
    _NAMING: word_set("tool tools function call calling invoke invoking trigger triggering"),
    _RUINOUS: RUINOUS_WORDS,
    _SHELL: SHELL_WORDS,
    # "This is required for security" often follows an instruction.
    _REASON: frozenset({"required"}),
}
"""Marks that a sentence has by a word: beside some, a quoted word is the name of a tool."""
_NEEDS = {CONDITIONAL: _CONDITION, OBLIGED: _ORDER, OTHERS: _SIBLING, RUINOUS: _RUINOUS, SHELL: _SHELL}
_MOST_REMEMBERED = 50_000
"""How many sentences of a server are remembered."""
_quote = re.compile(r"[\"`“«「]|'(?<!\w')").search
_digit = re.compile(r"\d").search
_place = re.compile(r"[/@~\\]|\.\S").search
_operator = re.compile(r"\||&&|\$\(").search


class _Steps:
    """A bit for each element of each pattern, in the order of the patterns, and above them one for each mark."""

    def __init__(self) -> None:
        bits = class_bits()
        self._classes: list[int] = []
        """The classes of which a word must have one, for each bit."""
        self.entries = 0
        """The bits that need no other one before them: first elements, and marks."""
        self.ends: list[tuple[int, Pattern]] = []
        """The bit of the last element of each pattern."""
        marks_of = {bits["PATH"]: _PATH, bits["ADDRESS"]: _ADDRESS, bits["SIBLING"]: _SIBLING}
        marks_of |= {bits["LITERAL"] | bits["QUOTED"]: _QUOTED, bits["NUMBER"]: _NUMBER}
        self.needed: dict[str, int] = {}
        """The ends of the patterns for which a sentence must have a mark."""
        # Words such as "the" are in every sentence. A path or the name of a tool is not a word that could be looked up:
        # whether a sentence has one is asked last.
        left_out = sum(bits[name] for name in (*WRITTEN, "DET", "TO"))
        for pattern in patterns():
            self.entries |= 1 << len(self._classes)
            self._classes += [element.classes for element in pattern.elements if not element.classes & left_out]
            end = 1 << len(self._classes) - 1
            self.ends.append((end, pattern))
            marks = {mark for need, mark in _NEEDS.items() if pattern.needs & need}
            for element in pattern.elements:
                if element.classes in marks_of:
                    marks.add(_TELLING if element.also else marks_of[element.classes])
            for mark in marks:
                self.needed[mark] = self.needed.get(mark, 0) | end
        self.any_end = sum(end for end, _ in self.ends)
        self.marks: dict[str, int] = {}
        """The bit of each mark."""
        for mark in (*_CLASSES, _SIBLING, _TELLING, _NAMING, _RUINOUS, _SHELL, _FOREIGN):
            self.marks[mark] = 1 << len(self._classes)
            self.entries |= self.marks[mark]
            self._classes.append(sum(bits[name] for name in _CLASSES.get(mark, ())))
        self.needed_marks = [(self.marks[mark], self.needed[mark]) for mark in (_CONDITION, _ORDER, _TELLING)]
        self.needed_signs = [(has_sign, self.needed[mark]) for mark, has_sign in _SIGNS.items()]
        self.phrase = 1 << len(self._classes) + 1
        """Marks words that start phrases. The bit below it is unused, since bits move up."""
        self.phrases: dict[bytes, dict[bytes, list[tuple[list[bytes], int]]]] = {}
        """By the first and the second word of phrases: the words after them, and the bits of the phrase."""
        self.words: dict[bytes, int] = {}
        """The bits of each word."""
        bits_of_class: dict[int, int] = {}
        for at, classes in enumerate(self._classes):
            remaining = classes
            while remaining:
                lowest = remaining & -remaining
                bits_of_class[lowest] = bits_of_class.get(lowest, 0) | 1 << at
                remaining ^= lowest
        for name, listed in word_classes("en").items():
            for word in listed.split():
                # "don't" is a phrase of two words here, like "make_sure".
                self._add(word_bytes(word.replace("_", " ")).split(), bits_of_class.get(bits[name], 0))
        for mark, marking in (*_WORDS.items(), (_FOREIGN, foreign_ascii_words())):
            for word in marking:
                self._add([word.encode()], self.marks[mark])

    def _add(self, words: list[bytes], bits: int) -> None:
        """Add the bits of a word, or of a phrase."""
        if words and bits:
            if len(words) > 1:
                first, second, *rest = words
                self.phrases.setdefault(first, {}).setdefault(second, []).append((rest, bits))
                bits = self.phrase
            self.words[words[0]] = self.words.get(words[0], 0) | bits


@cache
def _steps() -> _Steps:
    return _Steps()


class Outlines:
    """The outlines of sentences on one server: the bits of `_Steps` that a sentence has."""

    def __init__(self, names: ToolNames) -> None:
        steps = _steps()
        self._ordinary_names = frozenset(map(str.encode, names.plain))
        self._words = dict(steps.words)
        for mark, words in ((_SIBLING, names.words), (_TELLING, names.telling)):
            for word in map(str.encode, words):
                self._words[word] = self._words.get(word, 0) | steps.marks[mark]
        self._known: dict[str, int] = {}

    def of(self, text: str, spans: list[tuple[int, int]]) -> list[int]:
        """For each sentence the ends of the patterns that it may match, and its marks."""
        data, known = word_bytes(text), self._known
        outlines = []
        for start, end in spans:
            sentence = text[start:end]
            outline = known.get(sentence)
            if outline is None:
                outline = self._outline(sentence, data[start:end].split())
                if len(known) < _MOST_REMEMBERED:
                    known[sentence] = outline
            outlines.append(outline)
        return outlines

    def _outline(self, sentence: str, words: list[bytes]) -> int:
        steps = _steps()
        entries, phrase, phrases = steps.entries, steps.phrase, steps.phrases
        words.append(b"")
        outline = 0
        for at, bits in enumerate(map(self._words.get, words)):
            if bits:
                fitting = bits
                if bits & phrase:
                    for rest, of_phrase in phrases[words[at]].get(words[at + 1], ()):
                        if words[at + 2 : at + 2 + len(rest)] == rest:
                            fitting |= of_phrase
                # Shift-And, for all patterns at once: an element counts once the one before it, which is one bit
                # below, has been seen.
                outline |= (outline << 1 | entries) & fitting
        if outline & steps.any_end:
            for mark, ends in steps.needed_marks:
                if not outline & mark:
                    outline &= ~ends
            for is_met, ends in ((self._names_tool, steps.needed[_SIBLING]), *steps.needed_signs):
                if outline & ends and not is_met(sentence, words, outline):
                    outline &= ~ends
        return outline

    def _names_tool(self, sentence: str, words: list[bytes], outline: int) -> bool:
        marks = _steps().marks
        return bool(outline & marks[_SIBLING]) or (
            ("_" in sentence or _quote(sentence) is not None)
            and (bool(outline & marks[_NAMING]) or not self._ordinary_names.isdisjoint(words))
        )


def _has_path(sentence: str, _words: list[bytes], _outline: int) -> bool:
    return _place(sentence) is not None and secret_path(sentence.lower())


def _has_address(sentence: str, _words: list[bytes], _outline: int) -> bool:
    return may_have_address(sentence.lower()) is not None


def _has_quotation(sentence: str, _words: list[bytes], _outline: int) -> bool:
    return _quote(sentence) is not None


def _has_number(sentence: str, _words: list[bytes], _outline: int) -> bool:
    return _digit(sentence) is not None


def _ruins(sentence: str, _words: list[bytes], outline: int) -> bool:
    return bool(outline & _steps().marks[_RUINOUS]) and is_ruinous(sentence.lower()) is not None


def _has_shell_command(sentence: str, _words: list[bytes], outline: int) -> bool:
    may_have_one = outline & _steps().marks[_SHELL] or _operator(sentence) is not None
    return bool(may_have_one) and is_shell(sentence.lower()) is not None


_SIGNS = {
    _QUOTED: _has_quotation,
    _NUMBER: _has_number,
    _PATH: _has_path,
    _ADDRESS: _has_address,
    _RUINOUS: _ruins,
    _SHELL: _has_shell_command,
}
"""How a mark is found that does not follow from a single word."""


@lru_cache(maxsize=1)  # all texts of one server are read, then those of the next
def outlines(names: ToolNames) -> Outlines:
    """The outlines of sentences on a server with tools of these names."""
    return Outlines(names)


def may_match(outline: int) -> bool:
    """Whether a sentence may match a pattern, if those before it speak to a model."""
    return bool(outline & _steps().any_end)


def possible_patterns(outline: int) -> list[Pattern]:
    """The patterns that a sentence may match, in their order."""
    return [pattern for end, pattern in _steps().ends if outline & end]


def orders_on_condition(outline: int) -> bool:
    """Whether a sentence may have a condition and an order, which the next ones continue."""
    marks = _steps().marks
    return bool(outline & marks[_CONDITION] and outline & marks[_ORDER])


def gives_reason(outline: int) -> bool:
    """Whether a sentence may justify what the one before it orders."""
    return bool(outline & _steps().marks[_REASON])


def may_be_foreign(outline: int) -> bool:
    """Whether a sentence has a word by which other languages are recognised."""
    return bool(outline & _steps().marks[_FOREIGN])
