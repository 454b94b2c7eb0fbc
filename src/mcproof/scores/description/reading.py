"""What a description says, sentence by sentence, and what it says again.

A sentence counts for what it adds: words that stood there before, words of praise and words that connect others add
nothing. So nothing can be won by saying a thing twice, or by saying nothing at length.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from mcproof.scores.description.lexicon import CONNECTING, CUE_RUNS, CUES, EMPTY, EMPTY_RUNS, ONLY_FIRST, VERBS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mcproof.scores.description.lexicon import Aspect

READ_CHARACTERS = 20_000
"""How much of a description is read; no client shows a model more of it."""
CUE_CONTENT = 1.5
"""How much must stand beside a cue for it to say anything: two words, or four characters without spaces."""
READ_NAME = 200
"""How much of a name is read."""
_HEADING_WORDS, _HEADING_CHARACTERS, _REPEATED_WORDS = 4, 40, 3

# Scripts that set no spaces between words: Thai to Lao, kana, Han.
_UNSPACED = "\u0e00-\u0eff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"
_TOKEN = re.compile(rf"[{_UNSPACED}]+|[^\W_{_UNSPACED}]+(?:[.'’_-][^\W_{_UNSPACED}]+)*")
_HAS_UNSPACED = re.compile(rf"[{_UNSPACED}]")
_EMPTY_RUN = re.compile("|".join(sorted(EMPTY_RUNS, key=lambda run: (-len(run), run))))
_SAYS_NOTHING = CONNECTING | EMPTY | frozenset(cue for cue in CUES if " " not in cue)
# A line break inside a sentence: the next line goes on in lower case, and is no item of a list.
_WRAPPED = re.compile(r"(?<=[\w,)])[ \t]*\r?\n[ \t]*(?=[a-z])(?![\w-]+ ?(?:\([^()\n]{0,80}\))? ?[:–=-])")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_SENTENCE_END = re.compile(
    r"(?<!\be\.g)(?<!\bi\.e)(?<!\bz\.b)(?<!\bz\. b)(?<!\bca)(?<!\bvs)(?<!\betc)"
    r"(?<![.!?])[.!?]++(?=[\s\"')]|$)|[。！？；]+"
)
_LITERAL = re.compile(
    r"(?<![\w\"])\"[^\s\"](?:[^\"\n]{0,120}[^\s\"])?\"(?!\w)|(?<![\w'])'[^\s'](?:[^'\n]{0,60}[^\s'])?'(?!\w)|`[^`\n]{1,120}`|「[^」\n]{1,60}」|“[^”\n]{1,120}”"
)
_CALL = re.compile(r">>>? ?\w|\w\([\"'\[{][^\n]{0,200}?\)|[{\[] ?[\"'][^\n]{0,60}?[\"'] ?[:,\]]|\w\(\w+ ?= ?[\"'\w]")


class Sentence(NamedTuple):
    """One sentence or line that says something."""

    tokens: tuple[str, ...]
    content: frozenset[str]
    """Its words that say something; pieces of two characters where there are no spaces."""
    cues: tuple[tuple[str, Aspect], ...]
    section: Aspect | None
    """The aspect of the heading that it stands under."""
    has_literal: bool
    has_call: bool


class Reading(NamedTuple):
    """What a description says."""

    sentences: tuple[Sentence, ...]
    """Without headings, and without what says nothing or says it again."""
    idle: int
    """How many sentences say nothing, or say it again."""
    stems: frozenset[str]
    """All words that stand anywhere, for finding mentions of parameters."""


def read(description: str) -> Reading:
    """The sentences of a description that say something."""
    said: set[tuple[str, ...]] = set()
    stems: set[str] = set()
    sentences: list[Sentence] = []
    idle, section = 0, None
    for line in _WRAPPED.sub(" ", description[:READ_CHARACTERS]).lower().splitlines():
        text = line.strip()
        if not text:
            if sentences and sentences[-1].section == section:
                section = None
            continue
        for part in _SENTENCE_END.split(text):
            tokens = tuple(_TOKEN.findall(part))
            if not tokens:
                continue
            cues = tuple(_cues(tokens, part))
            if _is_heading(text, tokens):
                section = cues[0][1] if cues else section
                continue
            content = _content(tokens)
            has_call = _CALL.search(part) is not None
            if tokens in said or not (content or has_call or any(map(_is_verb, tokens))):
                idle += len(tokens) >= _REPEATED_WORDS
                continue
            said.add(tokens)
            for token in tokens:
                stems.update((stem(token), *map(stem, token.split("_"))))
            sentences.append(Sentence(tokens, content, cues, section, _LITERAL.search(part) is not None, has_call))
    return Reading(tuple(sentences), idle, frozenset(stems))


def stems_of(name: str) -> frozenset[str]:
    """The words of an identifier, however it is spelled."""
    words = _CAMEL.sub(" ", name[:READ_NAME]).lower().replace("_", " ").replace("-", " ")
    return frozenset(stem(word) for word in _TOKEN.findall(words))


def stem(word: str) -> str:
    """A word without the endings that English puts to it, so that a plural is no new word."""
    if len(word) > 4:
        if word.endswith("ies"):
            return word[:-3] + "y"
        if word.endswith("ing"):
            return word[:-3]
        if word.endswith("ed"):
            return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith("ss"):
        return word[:-1]
    return word


def content_of(text: str) -> frozenset[str]:
    """What a text says: its words without those that say nothing."""
    return _content(tuple(_TOKEN.findall(text[:READ_CHARACTERS].lower())))


def amount(content: Iterable[str]) -> float:
    """How many words content makes; where there are no spaces, two characters make one."""
    return sum(0.5 if piece[0] > "\u0dff" and _HAS_UNSPACED.match(piece) else 1.0 for piece in content)


def gives_example(text: str) -> bool:
    """Whether a text, such as a parameter's description, has an example in it."""
    lowered = text[:READ_CHARACTERS].lower()
    return any(aspect == "examples" for _, aspect in _cues(tuple(_TOKEN.findall(lowered)), lowered))


def _content(tokens: tuple[str, ...]) -> frozenset[str]:
    content: set[str] = set()
    for token in tokens:
        if token[0] > "\u0dff" and _HAS_UNSPACED.match(token):
            for run in _EMPTY_RUN.split(token):
                content.update(run[start : start + 2] for start in range(max(1, len(run) - 1)) if run)
        elif token not in _SAYS_NOTHING and len(token) > 1 and not token.isdigit():
            root = stem(token)
            if root not in _SAYS_NOTHING and not _is_verb(token):
                content.add(root)
    return frozenset(content)


def _is_verb(token: str) -> bool:
    root = stem(token)
    return token in VERBS or root in VERBS or root + "e" in VERBS


def _cues(tokens: tuple[str, ...], text: str) -> Iterator[tuple[str, Aspect]]:
    previous = ""
    for token in tokens:
        pair = f"{previous} {token}"
        if pair in CUES:
            yield pair, CUES[pair]
        elif token in CUES and (not previous or token not in ONLY_FIRST):
            yield token, CUES[token]
        previous = token
    if _HAS_UNSPACED.search(text):
        yield from ((cue, aspect) for cue, aspect in CUE_RUNS if cue in text)


def _is_heading(line: str, tokens: tuple[str, ...]) -> bool:
    if line[-1] not in ":：" and line[0] != "#" and not line.startswith("**"):
        return False
    return len(tokens) <= _HEADING_WORDS and sum(map(len, tokens)) <= _HEADING_CHARACTERS
