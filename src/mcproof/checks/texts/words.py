"""The words of a sentence with their classes: those of the lexicon, and those that follow from how they are written."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from mcproof.poisoning.secret_paths import secret_path
from mcproof.poisoning.sibling_names import is_ruining, is_secretive
from mcproof.poisoning.word_classes import lexicon

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.poisoning.sibling_names import ToolNames
    from mcproof.poisoning.word_classes import Lexicon

_APOSTROPHES = str.maketrans("’‘ʼ＇", "''''")
_NAMING = frozenset(("call", "calling", "invoke", "invoking", "tool", "function", "trigger", "triggering"))
"""Words after which a quoted word is the name of a tool."""
_CLAUSES = frozenset(",:;()—–[]{}|*>，、：；（）")
_quotations = re.compile(
    r"\"[^\"\n]{1,300}\"|“[^”\n]{1,300}”|`[^`\n]{1,300}`|(?<![\w'])'[^'\n]{1,300}'(?!\w)|«[^»\n]{1,300}»|「[^」\n]{1,300}」"
).finditer
_spaced = re.compile(r"[\w@~$%/\\.:#&=+'’‘-]+").finditer
_parts = re.compile(r"\w+(?:['-]\w+)*").finditer
_pieces = re.compile(r"\w+").finditer
_address = re.compile(
    r"(?:https?|wss?|ftps?|smtp|tcp|hxxps?)://[^\s/]|[\w.+-]{1,64}@[\w-]{1,64}\.\w{2}"
    r"|\b\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}\b"
).search
_domain = re.compile(
    r"(?:[a-z0-9-]{1,63}\.){1,4}"
    r"(?:com|net|org|io|ru|cn|xyz|dev|app|info|biz|co|me|tk|top|site|online|cloud|example|test)(?:/|$)"
).match


class Word(NamedTuple):
    """A word of a sentence."""

    text: str
    """In lower case."""
    classes: int
    start: int
    end: int


def words_of(sentence: str, names: ToolNames, own_name: str, known: Lexicon | None = None) -> list[Word]:
    """The words of a sentence in the language of a lexicon; names of tools are given in lower case."""
    known = known or lexicon()
    bits = known.bits
    clause, literal = bits["CLAUSE"], bits["LITERAL"]
    spans = _Quotations(sentence, bits["QUOTED"], literal)
    of_word = known.words.get
    found: list[Word] = []
    last_end = 0
    for match in _spaced(sentence) if known.unspaced is None else known.unspaced.finditer(sentence):
        written = match[0]
        start, end = match.span()
        if not written.isalpha():
            stripped = written.lstrip("\"'`:&=#+-,;()[]{}<>*|!?").rstrip("\"'`:.&=#+-,;()[]{}<>*|!?")
            if not stripped:
                continue
            start += written.index(stripped)
            end, written = start + len(stripped), stripped.translate(_APOSTROPHES)
        context = spans.classes_at(start) if spans.are_any else 0
        gap = sentence[last_end:start]
        if not found or (gap != " " and not _CLAUSES.isdisjoint(gap)):
            context |= clause
        last_end = end
        lowered = written.lower()
        if lowered == own_name:
            found.append(Word(lowered, bits["OWN"] | context & ~literal, start, end))
        elif lowered in names.names and (context & literal or lowered not in names.plain):
            found.append(Word(lowered, bits["SIBLING"] | context & ~literal | _purpose(lowered, bits), start, end))
        elif lowered.isalpha() and not known.stems:
            found.append(Word(lowered, of_word(lowered, 0) | context, start, end))
        else:
            found += _classified(lowered, context, start, known)
    return _in_context(found, known)


def _purpose(name: str, bits: dict[str, int]) -> int:
    """What the name of a tool shows of its purpose."""
    return (bits["SECRET"] if is_secretive(name) else 0) | (bits["RUINER"] if is_ruining(name) else 0)


class _Quotations:
    """The quotations of a sentence, asked for in the order of the sentence."""

    def __init__(self, sentence: str, quoted: int, literal: int) -> None:
        self._spans = [
            (match.start(), match.end(), quoted if " " in match[0] else literal) for match in _quotations(sentence)
        ]
        self.are_any = bool(self._spans)
        self._at = 0

    def classes_at(self, start: int) -> int:
        """The classes that a word there has because it is quoted."""
        spans = self._spans
        while self._at < len(spans) and spans[self._at][1] <= start:
            self._at += 1
        return spans[self._at][2] if self._at < len(spans) and spans[self._at][0] <= start else 0


def _classified(lowered: str, context: int, start: int, known: Lexicon) -> Iterator[Word]:
    """A run of characters without spaces as words: one, or several joined by punctuation."""
    bits, classes_of = known.bits, known.classes_of
    classes = 0
    if "/" in lowered or "." in lowered or "~" in lowered or "\\" in lowered or "@" in lowered:
        if _address(lowered) or _domain(lowered):
            classes = bits["ADDRESS"]
        if secret_path(lowered):
            classes |= bits["PATH"]
    classes |= known.words.get(lowered, 0)
    if classes:
        yield Word(lowered, classes | context, start, start + len(lowered))
        return
    for part in _pieces(lowered) if known.stems else _parts(lowered):
        word = part[0]
        classes = classes_of(word)
        if word.isdigit():
            classes = bits["NUMBER"]
        elif not classes and word.endswith("'s"):
            classes = classes_of(word[:-2])
        elif not classes and "-" in word:
            for piece in word.split("-"):
                classes |= classes_of(piece)
        yield Word(word, classes | context, start + part.start(), start + part.end())
        context &= ~bits["CLAUSE"]


def _in_context(words: list[Word], known: Lexicon) -> list[Word]:
    """Words with the classes of the phrases that they start, and names of tools and parameters by their neighbours."""
    bits = known.bits
    parameter, literal, tool, sibling = bits["PARAM"], bits["LITERAL"], bits["TOOL"], bits["SIBLING"]
    result = []
    for at, word in enumerate(words):
        classes = word.classes
        after = words[at + 1].classes if at + 1 < len(words) else 0
        is_quoted = classes & literal
        if ((is_quoted or "_" in word.text) and after & tool) or (is_quoted and at and words[at - 1].text in _NAMING):
            classes = sibling
        elif is_quoted and after & parameter:
            classes = classes & ~literal | parameter
        for rest, bit in known.phrases.get(word.text, ()):
            if [each.text for each in words[at + 1 : at + 1 + len(rest)]] == list(rest):
                classes |= bit
        result.append(word if classes == word.classes else Word(word.text, classes, word.start, word.end))
    return result
