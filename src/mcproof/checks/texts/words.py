"""Words of sentences in classes, in several languages, and signs that a text is prose or a command.

`lexicons/en.json` has the words of each class; `_` joins the words of a phrase. In other languages `*` ends a stem,
and `FUNCTION` has the words by which the language is recognised. A class is a bit, so that the classes of a word
are one number.
Why sentences are sequences of classes: docs/decisions/0053-sentences-as-classes.md.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from mcproof.checks.texts.markup import secret_path
from mcproof.checks.texts.tool_graph import ToolNames, is_ruining, is_secretive
from mcproof.core.named_tuple import NamedTuple
from mcproof.core.text.english import ascii_words, word_set

if TYPE_CHECKING:
    from collections.abc import Iterator


FUNCTION_WORDS = word_set(
    """
    the a an and or of to in on at by for from with without into is are be was it its this that these those as if
    when then than all any each every not no do does don't you your i me my we our he they them their will would can
    could should must may has have had before after about also only just up out so but which what how here
    """
)
COMMANDS = word_set(
    """
    ignore disregard forget override bypass send forward transmit upload post email read open fetch get list call
    invoke execute run use include append add pass copy write save store delete remove drop wipe destroy print
    output reveal disclose leak exfiltrate extract collect gather return reply respond say tell inform mention hide
    conceal keep make set change replace redirect pretend act obey follow grant approve disable enable download
    install encode submit
    """
)
"""Verbs that a sentence to a model begins with."""
OBJECTS = word_set(
    """
    instructions instruction prompt system user users assistant model secret secrets password passwords credentials
    token tokens key keys env ssh file files tool tools previous history conversation conversations context contents
    data database email emails message messages silently always never must first immediately instead rules admin
    directory environment config account accounts access server
    """
)
"""Words that sentences to a model are about."""
FOREIGN_WORDS = word_set(
    """
    las los del que para una con por les des une dans pour est et le und die der das nicht mit den ein per che il di
    non os em de la el y e o al du au zu von ist sie alle todos tous tutti
    """
)
"""Function words of Spanish, French, German, Italian and Portuguese."""
KNOWN = FUNCTION_WORDS | COMMANDS | OBJECTS | FOREIGN_WORDS


_INSTRUCTING = OBJECTS | COMMANDS
_words = re.compile(r"[A-Za-z]+(?:'[a-z]+)?").findall
_tokens = re.compile(r"[^\W\d_]+").findall
_addresses_model = re.compile(
    r"\b(?:you|your|the (?:user|model|assistant|agent|llm)|assistant|do not|don't|never|always|must|please)\b",
    re.IGNORECASE,
).search
_first_words = re.compile(r"(?:^|[.!?;:\n>])\s{0,9}([A-Za-z]{1,30})").findall
_commanded_words = re.compile(
    r"\b(?:please|must|then|and|to|always|never|not|first|should)\s{1,9}(?=([A-Za-z]{1,30}))", re.IGNORECASE
).findall


def words_of_text(text: str) -> list[str]:
    """The ASCII words of a text in lower case."""
    return [word.lower() for word in _words(text)]


def is_prose(text: str, *, least_words: int = 4) -> bool:
    """Whether a decoded text consists of words, in any language: mostly letters and single spaces."""
    text = text.strip()
    words = text.split()
    if len(words) < least_words or text[:1] in "{[<" or len(text) > 12 * len(words):
        return False
    letters = sum(map(len, _tokens(text)))
    return letters >= 0.6 * (len(text) - len(words))


def is_sentence(text: str, *, share: float = 0.4, least_words: int = 4) -> bool:
    """Whether enough of a text's words are among the most usual ones of sentences, mostly English ones."""
    words = words_of_text(text)
    return len(words) >= least_words and sum(word in KNOWN for word in words) >= share * len(words)


def is_command(text: str) -> bool:
    """Whether a decoded text seems to instruct a model: a verb of command, and what such sentences are about."""
    words = set(words_of_text(text))
    return not words.isdisjoint(COMMANDS) and len(words & _INSTRUCTING) >= 2 and len(words) >= 3


def commands_model(text: str) -> bool:
    """Whether a text has a command in sentence position that addresses a model or user: stricter than `is_command`."""
    if not is_command(text) or _addresses_model(text) is None:
        return False
    return any(word.lower() in COMMANDS for word in (*_first_words(text), *_commanded_words(text)))


WRITTEN = ("CLAUSE", "QUOTED", "LITERAL", "NUMBER", "SIBLING", "SECRETIVE", "OWN", "PATH", "ADDRESS", "FUNCTION")
"""Classes that follow from how a word is written: first of a clause; in a quotation of several words; a quoted word; a
number; the name of another tool, one that shows access to secrets, the name of this one; a path of keys or settings; a
URL, an email or IP address."""

SPACED = ("es", "pt", "fr", "it", "de", "nl", "pl", "tr")
"""Languages in Latin script."""
_SCRIPTS = (
    ("ja", "\u3040", "\u30ff"),
    ("ko", "\uac00", "\ud7af"),
    ("zh", "\u3400", "\u9fff"),
    ("ru", "\u0400", "\u04ff"),
    ("ar", "\u0600", "\u06ff"),
)
"""Languages by the first and the last of their letters. Japanese comes before Chinese, with which it shares letters."""
_UNSPACED = ("ja", "ko", "zh")
_LONGEST_STEM = 14

ENGLISH = frozenset(
    (
        *("the", "of", "and", "to", "for", "with", "from", "this", "that", "these", "are", "by", "it", "its", "be"),
        *("which", "when", "all", "if", "your", "you", "can", "has", "have", "not", "any", "into", "is", "in", "on"),
        *("at", "as", "an", "or", "a", "before", "must", "should"),
    )
)


class Lexicon(NamedTuple):
    """Word classes as bits, and the words of a language that have them."""

    language: str
    bits: dict[str, int]
    words: dict[str, int]
    stems: dict[str, int]
    phrases: dict[str, list[tuple[tuple[str, ...], int]]]
    """Phrases by their first word: the other words, and the classes."""
    unspaced: re.Pattern[str] | None
    """Words of a language without spaces, and everything in ASCII between them."""

    def classes_of(self, word: str) -> int:
        """The classes of a word, by itself or by its stem."""
        classes = self.words.get(word, 0)
        if not classes and self.stems:
            for length in range(min(len(word), _LONGEST_STEM), 1, -1):
                classes = self.stems.get(word[:length], 0)
                if classes:
                    return classes
        return classes


@cache
def lexicon(language: str = "en") -> Lexicon:
    """The lexicon of a language."""
    table = word_classes(language)
    bits = class_bits()
    words: dict[str, int] = {}
    stems: dict[str, int] = {}
    phrases: dict[str, dict[tuple[str, ...], int]] = {}
    for name, listed in table.items():
        bit = bits[name]
        for word in listed.split():
            first, *rest = word.split("_")
            if rest:
                below = phrases.setdefault(first, {})
                below[tuple(rest)] = below.get(tuple(rest), 0) | bit
            elif word.endswith("*"):
                stems[word[:-1]] = stems.get(word[:-1], 0) | bit
            else:
                words[word] = words.get(word, 0) | bit
    if stems:
        for word in words:
            for length in range(len(word), 1, -1):
                # Stems are not looked up for a word that is listed.
                words[word] |= stems.get(word[:length], 0)
    unspaced = None
    if language in _UNSPACED:
        # The first alternative that matches wins.
        longest_first = sorted(words, key=lambda word: (-len(word), word))
        unspaced = re.compile("|".join([*longest_first, "[!-~]+"]))
    listed_phrases = {first: list(below.items()) for first, below in phrases.items()}
    return Lexicon(language, bits, words, stems, listed_phrases, unspaced)


@cache
def class_bits() -> dict[str, int]:
    """The bit of each class."""
    return {name: 1 << at for at, name in enumerate((*WRITTEN, *word_classes("en")))}


@cache
def word_classes(language: str) -> dict[str, str]:
    """The words of each class in a language, as its file has them."""
    table: dict[str, str] = json.loads((Path(__file__).parent / "lexicons" / f"{language}.json").read_bytes())
    return table


@cache
def function_words() -> dict[str, frozenset[str]]:
    """The words by which languages in Latin script are recognised."""
    return {language: frozenset(word_classes(language)["FUNCTION"].split()) for language in SPACED}


@cache
def _all_function_words() -> frozenset[str]:
    return frozenset().union(*function_words().values())


@cache
def foreign_function_words() -> frozenset[str]:
    """Those of all languages in Latin script that are not English words."""
    return _all_function_words() - ENGLISH


def is_foreign(text: str, suspects: list[str]) -> bool:
    """Whether a text may be in another language in Latin script; only its suspicious sentences have words of one."""
    words = {word for sentence in suspects for word in ascii_words(sentence)}
    foreign = len(foreign_ascii_words() & words)
    return foreign > 1 and (foreign > 3 or foreign > len(ENGLISH.intersection(ascii_words(text))))


@cache
def foreign_ascii_words() -> frozenset[str]:
    """The words by which other languages are recognised, as `ascii_words` has them: of some only the longest part."""
    return frozenset(max(ascii_words(word), key=len, default=" ") for word in foreign_function_words())


def has_other_script(text: str) -> bool:
    """Whether a text has letters of a script other than Latin for which there is a lexicon."""
    return not text.isascii() and _language_by_script(text) is not None


def _language_by_script(text: str) -> str | None:
    """The language whose letters a text has, if that is not a language in Latin script."""
    letters = {letter for letter in set(text) if letter >= "\u0400"}
    for language, first, last in _SCRIPTS if letters else ():
        if any(first <= letter <= last for letter in letters):
            return language
    return None


def language_of(text: str, fallback: str = "en") -> str:
    """The language of a text, as far as there is a lexicon for it; the fallback if in doubt."""
    if not text.isascii():
        by_script = _language_by_script(text)
        if by_script is not None:
            return by_script
    words = set(text.lower().replace("'", " ").replace("’", " ").split())
    english = len(words & ENGLISH)
    if not foreign_function_words().isdisjoint(words) and len(words & _all_function_words()) > max(1, english):
        counts = {language: len(words & usual) for language, usual in function_words().items()}
        best = max(counts, key=counts.__getitem__)
        if counts[best] > max(1, english):
            return best
    return "en" if english > 1 else fallback


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
may_have_address = re.compile(
    r"://|@|\.(?<=\w\.)(?:com|net|org|io|ru|cn|xyz|dev|app|info|biz|co|me|tk|top|site|online|cloud|\d)"
).search
"""Finds something in every text in lower case that has an address."""
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


def words_of(sentence: str, names: ToolNames, own_name: str, vocabulary: Lexicon | None = None) -> list[Word]:
    """The words of a sentence in the language of a lexicon; names of tools are given in lower case."""
    vocabulary = vocabulary or lexicon()
    bits = vocabulary.bits
    clause, literal = bits["CLAUSE"], bits["LITERAL"]
    spans = _Quotations(sentence, bits["QUOTED"], literal)
    of_word = vocabulary.words.get
    words: list[Word] = []
    last_end = 0
    for match in _spaced(sentence) if vocabulary.unspaced is None else vocabulary.unspaced.finditer(sentence):
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
        if not words or (gap != " " and not _CLAUSES.isdisjoint(gap)):
            context |= clause
        last_end = end
        lowered = written.lower()
        if lowered == own_name:
            words.append(Word(lowered, bits["OWN"] | context & ~literal, start, end))
        elif lowered in names.names and (context & literal or lowered not in names.plain):
            words.append(Word(lowered, bits["SIBLING"] | context & ~literal | _purpose(lowered, bits), start, end))
        elif lowered.isalpha() and not vocabulary.stems:
            words.append(Word(lowered, of_word(lowered, 0) | context, start, end))
        else:
            words += _classified(lowered, context, start, vocabulary)
    return _in_context(words, vocabulary)


def _purpose(name: str, bits: dict[str, int]) -> int:
    """What the name of a tool shows of its purpose."""
    return (bits["SECRETIVE"] if is_secretive(name) else 0) | (bits["RUINER"] if is_ruining(name) else 0)


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


def _classified(lowered: str, context: int, start: int, vocabulary: Lexicon) -> Iterator[Word]:
    """A run of characters without spaces as words: one, or several joined by punctuation."""
    bits, classes_of = vocabulary.bits, vocabulary.classes_of
    classes = 0
    if "/" in lowered or "." in lowered or "~" in lowered or "\\" in lowered or "@" in lowered:
        if _address(lowered) or _domain(lowered):
            classes = bits["ADDRESS"]
        if secret_path(lowered):
            classes |= bits["PATH"]
    classes |= vocabulary.words.get(lowered, 0)
    if classes:
        yield Word(lowered, classes | context, start, start + len(lowered))
        return
    for part in _pieces(lowered) if vocabulary.stems else _parts(lowered):
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


def _in_context(words: list[Word], vocabulary: Lexicon) -> list[Word]:
    """Words with the classes of the phrases that they start, and names of tools and parameters by their neighbours."""
    bits = vocabulary.bits
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
        for rest, bit in vocabulary.phrases.get(word.text, ()):
            if [next_word.text for next_word in words[at + 1 : at + 1 + len(rest)]] == list(rest):
                classes |= bit
        result.append(word if classes == word.classes else Word(word.text, classes, word.start, word.end))
    return result
