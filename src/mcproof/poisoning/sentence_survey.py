"""Which texts of a server may instruct a model: one pass over the sentences of all texts, since hardly any does.

All texts are split into sentences and words together. A first look at the words of each distinct sentence excludes most
of them; only the others are read in full. What the pass takes for a sentence may be several, but never a part of one.
"""

from __future__ import annotations

import re
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, NamedTuple

from mcproof.poisoning.first_look import first_look, function_pieces, is_foreign
from mcproof.poisoning.word_classes import has_other_script

if TYPE_CHECKING:
    from mcproof.poisoning.model_texts import ModelTexts
    from mcproof.poisoning.sibling_names import ToolNames

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
    from mcproof.poisoning.signal_suspects import confirmed

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
