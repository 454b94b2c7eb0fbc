"""The lexicon: words that instructions to a model are made of, in classes.

`lexicon.json` has the words of each class for each language; `_` joins the words of a phrase. A class is a bit, so that
the classes of a word are one number.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

WRITTEN = ("CLAUSE", "QUOTED", "LITERAL", "SIBLING", "OWN", "PATH", "ADDRESS", "FOREIGN")
"""Classes that follow from how a word is written: first of a clause; in a quotation of several words; a quoted word or
a number; the name of another tool, or of this one; a path of keys or settings; a URL, an email or IP address; in a
language other than English."""

UNSPACED = "[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]"
"""Letters of languages without spaces between words, or with endings that join words."""
_is_unspaced = re.compile(UNSPACED).search


class Lexicon(NamedTuple):
    """Word classes as bits, and the words that have them."""

    bits: dict[str, int]
    words: dict[str, int]
    phrases: dict[str, list[tuple[tuple[str, ...], int]]]
    """Phrases by their first word: the other words, and the classes."""
    unspaced: re.Pattern[str]
    """Words of languages without spaces, and everything in ASCII between them."""


@cache
def lexicon() -> Lexicon:
    """The lexicon that ships with mcproof."""
    tables = json.loads(Path(__file__).with_name("lexicon.json").read_bytes())
    bits = {name: 1 << at for at, name in enumerate((*WRITTEN, *tables["en"]))}
    words: dict[str, int] = {}
    phrases: dict[str, dict[tuple[str, ...], int]] = {}
    for language, classes in tables.items():
        foreign = 0 if language == "en" else bits["FOREIGN"]
        for name, listed in classes.items():
            bit = bits[name] | foreign
            for word in listed.split():
                first, *rest = word.split("_")
                if rest:
                    below = phrases.setdefault(first, {})
                    below[tuple(rest)] = below.get(tuple(rest), 0) | bit
                else:
                    words[word] = words.get(word, 0) | bit
    listed_phrases = {first: list(below.items()) for first, below in phrases.items()}
    unspaced = sorted(filter(_is_unspaced, words), key=lambda each: (-len(each), each))
    return Lexicon(bits, words, listed_phrases, re.compile("|".join([*unspaced, r"[!-~]+"])))
