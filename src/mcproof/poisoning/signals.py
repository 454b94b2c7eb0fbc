"""What a text instructs a model to do, sentence by sentence."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from mcproof.poisoning.sentence_patterns import (
    CONCEALS,
    CONDITIONAL,
    DESTROYS,
    FRAMED,
    KINDS,
    OBLIGED,
    NAMED,
    OTHERS,
    PRETEXT,
    RUINOUS,
    SHELL,
    OVERREACHES,
    OVERRIDES,
    PRAISES,
    SECRETS,
    SENDS,
    TAMPERS,
    Sentence,
    match,
    patterns,
)
from mcproof.poisoning.word_classes import Word, lexicon, words_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

LONGEST_TEXT = 200_000
"""How many characters of a text are read."""
LONGEST_SENTENCE = 1_500
"""Characters after which a sentence is cut."""
_ends = re.compile(r"[.!?]+[\"')\]*_]*(?=\s)|[\n\r]+|[。！？]|;(?=\s)|(?<=\s)[-•*](?=\s+[A-Z])").finditer
_abbreviation = re.compile(r"(?:\b(?:e\.g|i\.e|etc|vs|cf|approx|incl|resp|z\.b|p\. ?ej)|\b\w)$", re.IGNORECASE).search
_tag = re.compile(
    r"[<\[({*#_=!-]{1,4}/?\s?(?:important|hidden|system|instructions?|critical|secret|information|admin|urgent|mandatory"
    r"|override|directive|for (?:ai|llm)|prompt|attention|assistant|priority|internal|confidential|security|protocol)"
    r"|^\s*[A-Z][A-Z ]{5,50}:",
).search
_ruin = re.compile(
    r"\b(?:rm\s+-\w{0,9}[rf]|drop\s+(?:table|database|schema)|truncate\s+table|delete\s+from|mkfs|dd\s+if=|format\s+c:"
    r"|shutdown\s+[-/]|kill\s+-9|killall|chmod\s+(?:-r\s+)?[0-7]?777|del\s+/[fsq]|rmdir\s+/s|git\s+push\s+(?:-f|--force)"
    r"|git\s+reset\s+--hard|terraform\s+destroy|kubectl\s+delete|docker\s+(?:system\s+prune|rm\b))"
).search
_shell = re.compile(
    r"\$\(|\s&&\s|\s\|\|?\s?(?:sh|bash|nc|base64|curl|tee)\b|(?:^|[\s`'\":])(?:sudo|curl|wget|chmod|chown|scp|powershell|iex|whoami|crontab)\s+[-~/$'\"\w]"
).search


class Signal(NamedTuple):
    """One thing that a sentence instructs a model to do."""

    kind: str
    """One of `KINDS`."""
    sentence: str
    start: int
    """Where the sentence starts in the text."""
    end: int
    object: str
    """What the sentence is about: a path, an address, the name of another tool; may be empty."""


def signals_in(text: str, siblings: Collection[str] = (), own_name: str = "") -> list[Signal]:
    """The signals of a text, in its order; `siblings` are the names of the other tools that a model sees."""
    names = {each.lower() for each in siblings}
    own = own_name.lower()
    names.discard(own)
    bits = lexicon().bits
    found: list[Signal] = []
    inherited = 0
    read = [
        (start, end, words) for start, end in sentences(text[:LONGEST_TEXT]) if (words := words_of(text[start:end], names, own))
    ]
    for at, (start, end, words) in enumerate(read):
        written = text[start:end]
        frame = _frame(written, words, bits)
        if at + 1 < len(read) and any(word.classes & bits["PRETEXT"] for word in read[at + 1][2]):
            frame |= PRETEXT
        if frame & (CONDITIONAL | OBLIGED) == CONDITIONAL | OBLIGED or _tag(written.lower()[:80]):
            inherited = 4
        elif inherited:
            inherited -= 1
            frame |= FRAMED
        sentence = Sentence(words, frame)
        if own:
            sentence.met |= NAMED
        kinds = set()
        for pattern in patterns():
            if pattern.kind in kinds:
                continue
            span = match(pattern, sentence)
            if span is None or _is_mention(words, span, bits):
                continue
            kinds.add(pattern.kind)
            found.append(Signal(pattern.kind, written.strip(), start, end, pattern.written))
    return found


def sentences(text: str) -> Iterator[tuple[int, int]]:
    """The spans of the sentences of a text; long ones are cut."""
    start = 0
    for boundary in _ends(text):
        end = boundary.end()
        if boundary[0][0] == "." and _abbreviation(text[max(0, boundary.start() - 8) : boundary.start()]):
            continue
        yield from _pieces(start, end)
        start = end
    yield from _pieces(start, len(text))


def _pieces(start: int, end: int) -> Iterator[tuple[int, int]]:
    for at in range(start, end, LONGEST_SENTENCE):
        yield at, min(end, at + LONGEST_SENTENCE)


def _frame(written: str, words: list[Word], bits: dict[str, int]) -> int:
    met, every = 0, 0
    if words[0].classes & bits["WHETHER"]:
        return 0
    condition, use = bits["COND"], bits["USE"] | bits["TOOL"] | bits["SIBLING"] | bits["OWN"]
    for at, word in enumerate(words):
        every |= word.classes
        if word.classes & condition and any(each.classes & use for each in words[at + 1 : at + 7]):
            met |= CONDITIONAL | FRAMED
    if every & (bits["OBLIGE"] | bits["MUST"]):
        met |= OBLIGED | FRAMED
    if every & (bits["STRONGCOND"] | bits["FIRST"]):
        met |= FRAMED
    if every & bits["PRETEXT"] and every & bits["FOR"]:
        met |= FRAMED
    lowered = written.lower()
    if _ruin(lowered):
        met |= RUINOUS
    if _shell(lowered):
        met |= SHELL
    if every & bits["PRETEXT"]:
        met |= PRETEXT
    if every & bits["SIBLING"]:
        met |= OTHERS
    return met


def _is_mention(words: list[Word], span: tuple[int, int], bits: dict[str, int]) -> bool:
    """Whether a match is what a text warns of, looks for, or gives as an example."""
    example, oblige = bits["EXAMPLE"], bits["OBLIGE"] | bits["COND"]
    for at in range(span[0] - 1, -1, -1):
        if words[at].classes & oblige:
            return False
        if words[at].classes & example:
            return True
    return False
