"""The lexicons: words that instructions to a model are made of, in classes, for each language.

`lexicons/en.json` has the words of each class; `_` joins the words of a phrase. In other languages `*` ends a stem, and
`FUNCTION` has the words by which the language is recognised. A class is a bit, so that the classes of a word are one
number.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

WRITTEN = ("CLAUSE", "QUOTED", "LITERAL", "NUMBER", "SIBLING", "TELLING", "OWN", "PATH", "ADDRESS", "FUNCTION")
"""Classes that follow from how a word is written: first of a clause; in a quotation of several words; a quoted word; a
number; the name of another tool, also one that shows its purpose, or of this one; a path of keys or settings; a URL, an
email or IP address."""

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
        found = self.words.get(word, 0)
        if not found and self.stems:
            for length in range(min(len(word), _LONGEST_STEM), 1, -1):
                found = self.stems.get(word[:length], 0)
                if found:
                    return found
        return found


@cache
def lexicon(language: str = "en") -> Lexicon:
    """The lexicon of a language."""
    table = _table(language)
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
                words[word] |= stems.get(word[:length], 0)
    unspaced = None
    if language in _UNSPACED:
        longest_first = sorted(words, key=lambda each: (-len(each), each))
        unspaced = re.compile("|".join([*longest_first, "[!-~]+"]))
    listed_phrases = {first: list(below.items()) for first, below in phrases.items()}
    return Lexicon(language, bits, words, stems, listed_phrases, unspaced)


@cache
def class_bits() -> dict[str, int]:
    """The bit of each class."""
    return {name: 1 << at for at, name in enumerate((*WRITTEN, *_table("en")))}


@cache
def _table(language: str) -> dict[str, str]:
    table: dict[str, str] = json.loads((Path(__file__).parent / "lexicons" / f"{language}.json").read_bytes())
    return table


@cache
def function_words() -> dict[str, frozenset[str]]:
    """The words by which languages in Latin script are recognised."""
    return {language: frozenset(_table(language)["FUNCTION"].split()) for language in SPACED}


@cache
def _all_function_words() -> frozenset[str]:
    return frozenset().union(*function_words().values())


@cache
def foreign_function_words() -> frozenset[str]:
    """Those of all languages in Latin script that are not English words."""
    return _all_function_words() - ENGLISH


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
        counts = {language: len(words & known) for language, known in function_words().items()}
        best = max(counts, key=counts.__getitem__)
        if counts[best] > max(1, english):
            return best
    return "en" if english > 1 else fallback
