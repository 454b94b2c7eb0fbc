"""Parse a description into sentences with content.

Praise, function words and repeated sentences carry no content, and a cue such as "use this when" counts only next to
content. So repetition, padding and bare keywords gain nothing.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

from mcproof.scores.description.vocabulary import (
    CONNECTING,
    CUE_RUNS,
    CUES,
    EMPTY,
    EMPTY_RUNS,
    LEADING,
    NEEDS_NUMBER,
    OBLIGATIONS,
    ONLY_FIRST,
    VERBS,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mcproof.scores.description.vocabulary import Aspect

READ_CHARACTERS = 20_000
"""The most characters read of a description: many times what clients show a model."""
READ_NAME = 200
"""The most characters read of a name."""
FEW_WORDS = 1.5
"""Less content than this counts as none: one word, or three characters in a script without spaces."""
_ENOUGH: dict[Aspect, float] = {"returns": 1.0, "examples": 1.0}
"""The content needed next to a cue, where less than usual is enough: "returns JSON"."""
_HEADING_WORDS, _HEADING_CHARACTERS, _REPEATED_WORDS, _IDLE_WORDS = 4, 40, 3, 5

# Scripts without spaces between words: Thai and Lao, kana, Han.
_UNSPACED = "\u0e00-\u0eff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"
_BEFORE_UNSPACED = "\u0dff"
_ASCII_TOKEN = re.compile(r"[A-Za-z0-9]+(?:[.'_-][A-Za-z0-9]+)*")
_EXPLAINS_NOTHING = CONNECTING | EMPTY
_SAYS_NOTHING = CONNECTING | EMPTY | VERBS | frozenset(cue for cue in CUES if " " not in cue)
_first_character = itemgetter(0)
_CLOSING = " .!?*_，。—–-\u00a0"
_HAN_DIGITS = frozenset("二两三四五六七八九十百千")
_LAST_WORDS = frozenset(cue.split()[-1] for cue in CUES)
_EXAMPLE_WORDS = frozenset(cue.split()[-1] for cue, aspect in CUES.items() if aspect == "examples")
# A line break inside a sentence: the next line continues in lower case and is not a list item.
_WRAPPED = re.compile(r"(?<=[\w,)])[ \t]*\r?\n[ \t]*(?=[a-z])(?![\w-]+ ?(?:\([^()\n]{0,80}\))? ?[:–=-])")
# A sentence that follows another without punctuation.
_RUN_ON = re.compile(
    r"[. ](?=[A-Z])(?:(?<=[a-z]{3}\.)(?=.[a-z])|"
    r"(?<=[\w)]{2} )(?:(?=(?:This|It|Its|Use|Our|We|You|These|When|If|Returns) )|"
    r"(?=The [a-z])(?<!\bof )(?<!\bin )(?<!\bon )(?<!\bby )(?<!\bto )(?<!\bfor )(?<!\bfrom )(?<!\bwith )(?<!\band )))"
)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_SENTENCE_END = re.compile(
    r"[.!?](?<![.!?].)(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\bz\.b\.)(?<!\bz\. b\.)(?<!\bca\.)(?<!\bvs\.)(?<!\betc\.)"
    r"[.!?]*+(?=[\s\"')]|$)|[。！？；]+"
)
_LITERAL = re.compile(
    r"(?<![\w\"])\"[^\s\"](?:[^\"\n]{0,120}[^\s\"])?\"(?!\w)|(?<![\w'])'[^\s'](?:[^'\n]{0,60}[^\s'])?'(?!\w)|"
    r"`[^`\n]{1,120}`|「[^」\n]{1,60}」|“[^”\n]{1,120}”"
)
_CALL = re.compile(
    r">>>? ?\w|\([\"'\[{](?<=\w..)[^\n]{0,200}?\)|[{\[] ?[\"'][^\n]{0,60}?[\"'] ?[:,\]]|\((?<=\w.)\w{1,80} ?= ?[\"'\w]"
)


@cache
def _token_pattern() -> re.Pattern[str]:
    """Words in any script; compiled when needed, as most texts are ASCII and compiling takes milliseconds."""
    return re.compile(rf"[{_UNSPACED}]+|[^\W_{_UNSPACED}]+(?:[.'’_-][^\W_{_UNSPACED}]+)*")


@cache
def _unspaced_pattern() -> re.Pattern[str]:
    return re.compile(rf"[{_UNSPACED}]")


@cache
def _empty_run_pattern() -> re.Pattern[str]:
    """Runs without content in scripts without spaces, the longest first."""
    runs = EMPTY_RUNS | {cue for cue, _ in CUE_RUNS if len(cue) > 1}
    return re.compile("|".join(sorted(runs, key=lambda run: (-len(run), run))))


class Sentence(NamedTuple):
    """One sentence or line with content."""

    tokens: tuple[str, ...]
    content: frozenset[str]
    """Its content words; pairs of characters in scripts without spaces."""
    is_about: bool
    """Whether it covers an aspect in a new way, by a cue or by the heading it is under."""
    has_literal: bool
    has_call: bool


class ParsedDescription(NamedTuple):
    """The content of a description."""

    sentences: tuple[Sentence, ...]
    """Without headings, filler and repetitions."""
    covered: dict[Aspect, int]
    """The number of sentences that cover each aspect, each in a new way."""
    idle: int
    """The number of sentences that are filler or repetitions."""

    def stems(self) -> frozenset[str]:
        """The stems of all words, to find what is mentioned."""
        words: set[str] = set().union(*(sentence.tokens for sentence in self.sentences))
        parts = [part for word in words if "_" in word for part in word.split("_")]
        return frozenset(map(stem, words.union(parts)))


def parse_description(description: str, name: frozenset[str]) -> ParsedDescription:
    """Parse a description; words of the tool's name are not content for an aspect."""
    seen: set[tuple[str, ...]] = set()
    lengths: set[int] = set()
    sentences: list[Sentence] = []
    ways: set[tuple[Aspect, str]] = set()
    covered: dict[Aspect, int] = {}
    idle, section, section_used = 0, None, False
    for line in _lines(description):
        if not line:
            section = None if section_used else section
            continue
        for text in _SENTENCE_END.split(line):
            tokens = _tokens(text)
            if not tokens:
                continue
            if _is_heading(line, tokens):
                section, section_used = _heading_aspect(tokens, text) or section, False
                continue
            tokens = _without_repetition(tokens, seen, lengths)
            content = _content(tokens)
            has_call = _has_call(text)
            if tokens in seen or not (content or has_call or _has_number(tokens, text) or any(map(_is_verb, tokens))):
                idle += len(tokens) >= _IDLE_WORDS
                continue
            seen.add(tokens)
            lengths.add(len(tokens))
            has_literal = _has_literal(text)
            about = _covered(tokens, text, content - name, name, has_literal)
            if section is not None:
                section_used = True
                if has_call or amount(content - name) >= _ENOUGH.get(section, FEW_WORDS):
                    about.add((section, "heading"))
            new = about - ways
            ways |= new
            for aspect in {aspect for aspect, _ in new}:
                covered[aspect] = covered.get(aspect, 0) + 1
            sentences.append(Sentence(tokens, content, bool(new), has_literal, has_call))
    return ParsedDescription(tuple(sentences), covered, idle)


@lru_cache(maxsize=4096)
def stems_of(name: str) -> frozenset[str]:
    """The stems of an identifier's words, in any naming style."""
    words = _CAMEL.sub(" ", name[:READ_NAME]).lower().replace("_", " ").replace("-", " ")
    return frozenset(map(stem, _tokens(words)))


@lru_cache(maxsize=16_384)
def stem(word: str) -> str:
    """A word without English inflections, so that a plural is not a new word."""
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


def says_more(text: str, than: frozenset[str]) -> bool:
    """Whether a text explains something beyond these stems; verbs and bounds explain a parameter too."""
    for token in _words_of(text):  # noqa: SIM110 (a generator takes twice as long)
        if _explains(token) and stem(token) not in than:
            return True
    return False


def explains_parameter(tokens: tuple[str, ...], name: str, than: frozenset[str]) -> bool:
    """Whether a sentence explains a parameter after naming it; a verb is enough if the name comes first."""
    place = tokens.index(name)
    return any(
        (_explains(token) if place == 0 else _root(token) or CUES.get(token) == "bounds") and stem(token) not in than
        for token in tokens[place + 1 :]
    )


def _explains(token: str) -> bool:
    return token not in _EXPLAINS_NOTHING and not (_is_unspaced(token) and not _pieces(token))


def amount(content: Iterable[str]) -> float:
    """The amount of content in words; two characters make a word in scripts without spaces."""
    pieces = list(content)
    if "".join(pieces).isascii():
        return float(len(pieces))
    return sum(0.5 if _is_unspaced(piece) else 1.0 for piece in pieces)


def _is_unspaced(text: str) -> bool:
    """Whether a text starts with a character of a script without spaces."""
    return text[0] > _BEFORE_UNSPACED and _unspaced_pattern().match(text) is not None


def _pattern_for(text: str) -> re.Pattern[str]:
    """The pattern of the words of a text."""
    return _ASCII_TOKEN if text.isascii() else _token_pattern()


def _tokens(text: str) -> tuple[str, ...]:
    return tuple(_pattern_for(text).findall(text))


@lru_cache(maxsize=256)  # two components read the parameters of a tool, one after the other
def _words_of(text: str) -> tuple[str, ...]:
    """The words of a text, such as a parameter's description, in lower case."""
    return _tokens(text[:READ_CHARACTERS].lower())


def gives_example(text: str) -> bool:
    """Whether a text, such as a parameter's description, contains an example."""
    tokens = _words_of(text)
    if text.isascii() and _EXAMPLE_WORDS.isdisjoint(tokens):
        return False
    return any(aspect == "examples" for _, _, aspect in _cues(tokens, text[:READ_CHARACTERS].lower()))


def _lines(description: str) -> Iterator[str]:
    text = description[:READ_CHARACTERS]
    if "\n" in text:
        text = _WRAPPED.sub(" ", text)
    return (line.strip() for line in _RUN_ON.sub("\n", text).lower().splitlines())


def _without_repetition(tokens: tuple[str, ...], seen: set[tuple[str, ...]], lengths: set[int]) -> tuple[str, ...]:
    """A sentence without a repetition of another one that follows it without punctuation."""
    half = len(tokens) // 2
    if half >= _REPEATED_WORDS and tokens[:half] == tokens[half : 2 * half]:
        return tokens[:half]
    for length in lengths:
        if _REPEATED_WORDS <= length < len(tokens) and tokens[-length:] in seen:
            return tokens[:-length]
    return tokens


def _content(tokens: Iterable[str]) -> frozenset[str]:
    return frozenset[str]().union(*map(_pieces, set(tokens).difference(_SAYS_NOTHING)))


@lru_cache(maxsize=16_384)
def _pieces(token: str) -> tuple[str, ...]:
    """The content of one word: its stem, or pairs of characters in scripts without spaces."""
    if _is_unspaced(token):
        runs = _empty_run_pattern().split(token)
        return tuple(run[start : start + 2] for run in runs for start in range(len(run) - 1))
    root = _root(token)
    return (root,) if root else ()


@lru_cache(maxsize=16_384)
def _root(token: str) -> str:
    """The stem of a content word; empty for other words."""
    if _is_unspaced(token):
        return token if _pieces(token) else ""
    if token in _SAYS_NOTHING or len(token) < 2 or token.isdigit() or _is_verb(token):
        return ""
    root = stem(token)
    return "" if root in _SAYS_NOTHING else root


@lru_cache(maxsize=16_384)
def _is_verb(token: str) -> bool:
    root = stem(token)
    return token in VERBS or root in VERBS or root + "e" in VERBS


def _has_number(tokens: tuple[str, ...], text: str) -> bool:
    return any(map(str.isdigit, map(_first_character, tokens))) or not (text.isascii() or _HAN_DIGITS.isdisjoint(text))


def _has_literal(text: str) -> bool:
    may = '"' in text or "'" in text or "`" in text or not text.isascii()
    return may and _LITERAL.search(text) is not None


def _has_call(text: str) -> bool:
    may = "(" in text or "[" in text or "{" in text or ">>" in text
    return may and _CALL.search(text) is not None


def _covered(
    tokens: tuple[str, ...], text: str, content: frozenset[str], name: frozenset[str], has_literal: bool
) -> set[tuple[Aspect, str]]:
    """The aspects a sentence covers, each with its cue; `content` is that beyond the tool's name."""
    covered: set[tuple[Aspect, str]] = set()
    cues = list(_cues(tokens, text))
    if not cues:
        return covered
    whole = amount(content)
    has_number = _has_number(tokens, text)
    says_when = any(aspect == "usage" for _, _, aspect in cues)
    for place, cue, aspect in cues:
        if (aspect, cue) in covered:
            continue
        beside = whole
        if cue in LEADING and whole:
            beside = _content_up_to(_ENOUGH.get(aspect, FEW_WORDS), tokens[place:], name)
        if aspect == "limits":
            if (cue in NEEDS_NUMBER and not has_number) or (cue in OBLIGATIONS and says_when):
                continue
            # A verb is enough for what a tool cannot do, a number for how much it accepts.
            beside += sum(map(_is_verb, tokens)) if whole else 0
            beside += FEW_WORDS if cue in NEEDS_NUMBER else 0
        if beside >= _ENOUGH.get(aspect, FEW_WORDS) or (aspect == "examples" and (has_literal or has_number)):
            covered.add((aspect, cue))
    return covered


def _content_up_to(most: float, tokens: tuple[str, ...], name: frozenset[str]) -> float:
    """The amount of content beyond the tool's name, counted until it reaches a limit."""
    content: set[str] = set()
    counted = 0.0
    for token in tokens:
        new = [piece for piece in _pieces(token) if piece not in name and piece not in content]
        if new:
            content.update(new)
            counted = amount(content)
            if counted >= most:
                break
    return counted


def _cues(tokens: tuple[str, ...], text: str) -> Iterator[tuple[int, str, Aspect]]:
    """The cues in a sentence, each with the position of the words after it."""
    for place in [place for place, token in enumerate(tokens) if token in _LAST_WORDS]:
        token, previous = tokens[place], tokens[place - 1] if place else ""
        if (pair := f"{previous} {token}") in CUES:
            yield place + 1, pair, CUES[pair]
        elif token in CUES and (not previous or token not in ONLY_FIRST):
            yield place + 1, token, CUES[token]
    if not text.isascii() and _unspaced_pattern().search(text):
        for cue, aspect in CUE_RUNS:
            if cue in text:
                yield 0, cue, aspect


def _is_heading(line: str, tokens: tuple[str, ...]) -> bool:
    if line.rstrip(_CLOSING)[-1:] not in (":", "：") and line[0] != "#" and not line.startswith("**"):
        return False
    return len(tokens) <= _HEADING_WORDS and sum(map(len, tokens)) <= _HEADING_CHARACTERS


def _heading_aspect(tokens: tuple[str, ...], text: str) -> Aspect | None:
    """The aspect a heading announces, if any."""
    return next((aspect for _, _, aspect in _cues(tokens, text)), None)
