"""How much a sentence is like those that manipulate a model: a linear model of its words and of what they mean.

The words of a sentence have classes, such as `silence` or `the user`, in several languages. Features are words,
neighbouring words, classes, pairs of classes and neighbouring classes. `suspicion.bin` has a weight for each, made
by `scripts/train_suspicion.py`. A score above 0 is suspicious; its reasons are the classes that weighed most.
What the score sees, and what it does not: docs/scan-texts.md.
Why a score: docs/decisions/0074-one-score-for-sentences.md.
"""

from __future__ import annotations

import json
import re
import zlib
from functools import cache, cached_property
from itertools import pairwise
from math import sqrt
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcproof.checks.texts.markup import QUOTATION, secret_path
from mcproof.core.named_tuple import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mcproof.checks.texts.model_texts import ModelText, ModelTexts


LONGEST_TEXT, LONGEST_SENTENCE = 200_000, 1_500
"""Characters of a text that are read, and those after which a sentence is cut."""

_ends = re.compile(
    r"[.!?\n。！？;•*-](?:(?<=[.!?])[.!?]{0,2}[\"')\]*_]{0,3}(?=\s)|(?<=\n)(?=[ \t]{0,40}[^a-z \t])|(?<=[。！？])"
    r"|(?<=;)(?=\s)|(?<=\s[-•*])(?=\s+[A-Z]))"
).finditer
# It begins with the set of all characters that may end a sentence, since `re` looks for those quickly.
_abbreviation = re.compile(r"(?:\b(?:e\.g|i\.e|etc|vs|cf|approx|incl|resp|z\.b|p\. ?ej)|\b\w)$", re.IGNORECASE).search


def sentences(text: str) -> Iterator[str]:
    """The sentences of a text; long ones are cut."""
    text = text[:LONGEST_TEXT]
    start = 0
    for boundary in _ends(text):
        at, end = boundary.span()
        if text[at] == "." and _abbreviation(text[max(0, at - 8) : at]):
            continue
        yield from _cut(text[start:end])
        start = end
    yield from _cut(text[start:])


def _cut(sentence: str) -> Iterator[str]:
    sentence = sentence.strip()
    for offset in range(0, len(sentence), LONGEST_SENTENCE):
        yield sentence[offset : offset + LONGEST_SENTENCE]


_masked = re.compile(
    rf"(?P<quotation>{QUOTATION})|(?P<url>\bhttps?://[^\s\"'<>]+|\bwww\.\S+)|(?P<mail>[\w.+-]{{1,64}}@[\w-]{{1,64}}\.[\w.]+)"
    r"|(?P<path>[~.$]{0,2}[\w$-]{0,64}[/\\][^\s\"'`,;()]{1,200}|(?<!\w)\.\w[\w./-]{1,64}|\b\w{1,64}\.(?:json|ya?ml|toml|md|env|db|sqlite|pem|dat|txt|ini|sh)\b)"
    r"|(?P<name>\b[a-zA-Z]\w{0,80}_\w{1,80}|\b[a-z]{1,40}[A-Z]\w{0,80})"
).sub
_has_sign = re.compile(r"[/\\@_\"`“„«「『.](?=\S)|'\w|[a-z][A-Z]").search
_words = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?|\d+|[!?:;,()]").findall
_UNSPACED = tuple(
    re.findall("(.)-(.)", "\u0600-\u06ff\u0900-\u097f\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af")
)
# As a set of characters in an expression they would take 2 ms to compile.
"""Scripts whose words are joined to others, so that classes look for parts of words."""


def words_in(sentence: str) -> list[str]:
    """The words of a sentence in lower case; names, addresses, paths and quotations are one word each."""
    if _has_sign(sentence):
        sentence = _masked(_mask, sentence)
    return ["0" if word.isdigit() else word for word in _words(sentence.lower().replace("’", "'"))]


def _mask(match: re.Match[str]) -> str:
    kind, written = match.lastgroup, match[0]
    if kind == "quotation":
        content = written[1:-1]
        if written[0] == "`" and _has_sign(content) and " " not in content:
            return " xsecretx " if secret_path(content.lower()) else " xnamex "
        return " xquotex " if " " in content or len(content) > 24 else " xnamex "
    if kind in ("path", "url") and secret_path(written.lower()):
        return " xsecretx "
    return f" x{kind}x "


HASHED = 1 << 17
"""How many features words and neighbours share, by a hash; those of classes come after them."""
_MIX, _SPREAD = 2_654_435_761, 1_000_003
OFFSET = 30
"""Added to the number of features of a sentence: else a few words would weigh as much as a long sentence."""
_LOWEST, _MOST_REASONS = -9.0, 3
_LONGEST_STEM, _SHORTEST_STEM = 14, 3
_LEAST_WORDS, _LEAST_LETTERS = 4, 20
_MOST_WORDS, _MOST_SENTENCES = 50_000, 20_000
"""How many words and sentences are remembered."""
_ELSEWHERE = frozenset(("example", "pattern", "uri", "icon", "resource body"))
"""Places whose texts are data: what a user may ask, what a document says."""


class Word(NamedTuple):
    """A word as the model sees it."""

    number: int
    features: tuple[int, ...]
    """Its own feature, and those of its parts where a script joins words."""
    classes: tuple[int, ...]
    weight: int
    """The sum of the weights of its features and classes."""


class Model:
    """Classes of words, and a weight for each feature."""

    def __init__(self, parameters: Mapping[str, Any], weights: bytes) -> None:
        """Build the tables of words. `parameters` has the words of the classes, and how weights become a score."""
        classes: dict[str, str] = parameters["classes"]
        self.names = tuple(classes)
        self.note_from: float = parameters["note"]
        """The score from which a sentence is worth a note."""
        self._scale: float = parameters["scale"]
        self._bias: float = parameters["bias"]
        self._gate: int = parameters["gate"]
        self._weights = memoryview(weights).cast("b")
        # Whole words, beginnings of words, and parts of words in scripts that write no spaces.
        self._whole: dict[str, tuple[int, ...]] = {}
        self._stems: dict[str, tuple[int, ...]] = {}
        self._parts: dict[str, tuple[int, ...]] = {}
        for class_number, listed in enumerate(classes.values()):
            for word in listed.split():
                table = self._parts if _joined(word) else self._stems if word[-1] == "*" else self._whole
                key = word.rstrip("*")
                table[key] = (*table.get(key, ()), class_number)
        self._words: dict[str, Word] = {}
        self._scores: dict[str, float] = {}

    @cached_property
    def _part(self) -> re.Pattern[str]:
        """What finds parts of words; compiled for the first text in a script that joins words."""
        longest_first = sorted(map(re.escape, self._parts), key=lambda part: (-len(part), part))
        return re.compile("|".join(longest_first))

    def words(self, sentence: str) -> list[Word]:
        """The words of a sentence."""
        return self.looked_up(words_in(sentence))

    def looked_up(self, texts: list[str]) -> list[Word]:
        """Words with what is known of them."""
        words = []
        for text in texts:
            word = self._words.get(text)
            if word is None:
                word = self._word(text)
                if len(self._words) < _MOST_WORDS:
                    self._words[text] = word
            words.append(word)
        return words

    def _word(self, text: str) -> Word:
        checksum = zlib.crc32(text.encode())
        features = [_hashed(checksum)]
        if _joined(text):
            classes = tuple(
                dict.fromkeys(number for part in self._part.finditer(text) for number in self._parts[part[0]])
            )
            features += {_hashed(zlib.crc32(text[offset : offset + 2].encode())) for offset in range(len(text) - 1)}
        else:
            classes = self._whole.get(text, ())
            for length in range(min(len(text), _LONGEST_STEM), _SHORTEST_STEM - 1, -1):
                if classes:
                    break
                classes = self._stems.get(text[:length], ())
        weights = self._weights
        weight = sum(weights[feature] for feature in features) + sum(weights[HASHED + number] for number in classes)
        return Word(checksum, tuple(features), classes, weight)

    def features(self, words: list[Word]) -> set[int]:
        """The features of a sentence."""
        count = len(self.names)
        pairs = HASHED + count
        neighbours = pairs + count * count
        features: set[int] = set()
        sequence: list[int] = []
        before = 0
        for number, own, classes, _ in words:
            features.update(own)
            features.add(_hashed(before * _SPREAD ^ number))
            before = number
            sequence += classes
        present = sorted(set(sequence))
        features.update([HASHED + class_number for class_number in present])
        features.update([pairs + first * count + second for first in present for second in present if first < second])
        features.update([neighbours + first * count + second for first, second in pairwise(sequence)])
        return features

    def score(self, sentence: str) -> float:
        """How suspicious a sentence is: above 0 it is worth a warning, above `note_from` a note."""
        score = self._scores.get(sentence)
        if score is None:
            score = self._score(self.words(sentence))
            if len(self._scores) < _MOST_SENTENCES:
                self._scores[sentence] = score
        return score

    def _score(self, words: list[Word]) -> float:
        # Words alone exclude most sentences, at a quarter of the cost.
        if sum([word.weight for word in words]) < self._gate:
            return _LOWEST
        features = self.features(words)
        weights = self._weights
        total: int = sum([weights[feature] for feature in features])
        return self._bias + self._scale * total / sqrt(len(features) + OFFSET)

    def classes_of(self, texts: list[str]) -> set[str]:
        """The classes of words."""
        return {self.names[class_number] for word in self.looked_up(texts) for class_number in word.classes}

    def reasons(self, sentence: str) -> list[str]:
        """The classes that weighed most: without their words the score falls furthest."""
        words = self.words(sentence)
        score = self._score(words)
        falls = [
            (score - self._score([word for word in words if class_number not in word.classes]), name)
            for class_number, name in enumerate(self.names)
            if any(class_number in word.classes for word in words)
        ]
        return [name for fall, name in sorted(falls, reverse=True)[:_MOST_REASONS] if fall > 0]


def _joined(word: str) -> bool:
    return not word.isascii() and any(first <= character <= last for character in word for first, last in _UNSPACED)


def _hashed(number: int) -> int:
    return number * _MIX >> 9 & HASHED - 1


@cache
def model() -> Model:
    """The model that ships with mcproof."""
    data = zlib.decompress(Path(__file__).with_name("suspicion.bin").read_bytes())
    parameters, _, weights = data.partition(b"\n")
    return Model(json.loads(parameters), weights)


class Suspect(NamedTuple):
    """A suspicious sentence of a server."""

    sentence: str
    score: float
    uses: list[ModelText]
    """Where its text occurs."""


def suspects(texts: ModelTexts) -> list[Suspect]:
    """The most suspicious sentence of each text of a server, if it is worth a note."""
    return texts.analysis("suspects", _suspects)


def _suspects(texts: ModelTexts) -> list[Suspect]:
    by_sentence: dict[str, Suspect] = {}
    for text in texts.distinct:
        worst = worst_sentence(text)
        if worst is not None:
            uses = [use for use in texts.uses(text) if use.place not in _ELSEWHERE]
            if uses:
                sentence, score = worst
                by_sentence.setdefault(sentence, Suspect(sentence, score, [])).uses.extend(uses)
    return list(by_sentence.values())


def worst_sentence(text: str) -> tuple[str, float] | None:
    """The most suspicious sentence of a text, and its score; None if none is worth a note."""
    if text.isascii() and (len(text) < _LEAST_LETTERS or text.count(" ", 0, LONGEST_SENTENCE) < _LEAST_WORDS - 1):
        return None
    judge = model()
    score, worst = max(((judge.score(sentence), sentence) for sentence in sentences(text)), default=(_LOWEST, ""))
    return (worst, score) if score > judge.note_from else None
