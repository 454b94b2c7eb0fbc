"""What the texts of a server instruct a model to do, sentence by sentence: who is to do what with whose data.

`signals_in` reads one text, `found_signals` all texts of a server, each distinct sentence once. The patterns are in
`patterns`, the words in `words`.
Why sentences are sequences of classes: docs/decisions/0053-sentences-as-classes.md.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mcproof.checks.texts.markup import is_ruinous, is_shell
from mcproof.checks.texts.patterns import (
    CONCEALS,
    CONDITIONAL,
    DESTROYS,
    FIRM,
    FRAMED,
    NAMED,
    OBLIGED,
    OTHERS,
    OVERREACHES,
    OVERRIDES,
    PRETEXT,
    RUINOUS,
    SECRETS,
    SENDS,
    SHELL,
    TAMPERS,
    Cluster,
    Pattern,
    ReadSentence,
    foreign_matches,
    foreign_needs_met,
    match,
)
from mcproof.checks.texts.prefilter import (
    gives_reason,
    may_be_foreign,
    may_match,
    orders_on_condition,
    outlines,
    possible_patterns,
)
from mcproof.checks.texts.tool_graph import ToolNames
from mcproof.checks.texts.words import Word, class_bits, has_other_script, is_foreign, language_of, lexicon, words_of
from mcproof.core.named_tuple import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from mcproof.checks.texts.model_texts import ModelText, ModelTexts


MAX_OWNERS = 20
"""How many of the tools that share a text are considered as its owner; the others are treated like these."""
_TAG = r"(?i)<\s{0,3}(?:important|system|instructions?|hidden)\s{0,3}>[^<]{0,60}"


class FoundSignal(NamedTuple):
    """A signal of a server and where it occurs."""

    signal: Signal
    uses: list[ModelText]

    @property
    def subjects(self) -> list[str]:
        """The names of the items, each once."""
        return list(dict.fromkeys(use.item.label for use in self.uses))


def found_signals(texts: ModelTexts) -> list[FoundSignal]:
    """The signals of a server in the order of its catalog, computed once for all rules."""
    return texts.analysis("signals", _collect)


def instruction_tags(texts: ModelTexts) -> Iterator[tuple[str, str]]:
    """The tools with a tag such as `<IMPORTANT>` in their description, and how it starts."""
    for tool in texts.catalog.tools:
        if "<" in tool.description:
            tag = re.search(_TAG, tool.description)
            if tag is not None:
                yield tool.label, " ".join(tag[0].split())


def _collect(texts: ModelTexts) -> list[FoundSignal]:
    signals: dict[tuple[str, str], FoundSignal] = {}
    for text in texts.distinct:
        for signal, uses in _of_text(text, texts) if may_have_signals(text) else ():
            key = signal.kind, signal.sentence
            entry = signals.setdefault(key, FoundSignal(signal, []))
            entry.uses.extend(uses)
    return list(signals.values())


def may_have_signals(text: str) -> bool:
    """Whether a text is more than a name or a number: most strings of a catalog are not."""
    is_long = len(text) >= SHORTEST and (" " in text or not text.isascii() or len(text.split()) > 1)
    return is_long or has_other_script(text)


def _of_text(text: str, texts: ModelTexts) -> Iterator[tuple[Signal, list[ModelText]]]:
    """The signals of a text with the places where it has them: whose tool it is decides which tools are others."""
    names = texts.tool_names
    # For an owner that does not exist, every tool is another one. A text without signals then has none for any owner.
    if not signals_in(text, names, "?"):
        return
    uses_of: dict[str, list[ModelText]] = {}
    for use in texts.uses(text):
        owner = use.item.name if use.item.kind == "tool" else ""
        if owner not in uses_of and len(uses_of) >= MAX_OWNERS:
            owner = next(iter(uses_of))
        uses_of.setdefault(owner, []).append(use)
    for owner, uses in uses_of.items():
        for signal in signals_in(text, names, owner):
            yield signal, uses


LONGEST_TEXT = 200_000
"""How many characters of a text are read."""
SHORTEST = 20
"""Characters of the shortest text in English that can have a signal."""
LONGEST_SENTENCE = 1_500
"""Characters after which a sentence is cut."""
_FOLLOWING = 4
"""How many sentences after an instruction continue it."""

_ends = re.compile(
    r"[.!?\n。！？;•*-](?:(?<=[.!?])[.!?]{0,2}[\"')\]*_]{0,3}(?=\s)|(?<=\n)(?=[ \t]{0,40}[^a-z \t])|(?<=[。！？])"
    r"|(?<=;)(?=\s)|(?<=\s[-•*])(?=\s+[A-Z]))"
).finditer
"""Begins with the set of all characters that may end a sentence, since `re` looks for those quickly."""
_abbreviation = re.compile(r"(?:\b(?:e\.g|i\.e|etc|vs|cf|approx|incl|resp|z\.b|p\. ?ej)|\b\w)$", re.IGNORECASE).search
_tag = re.compile(
    r"[<\[({*#_=!-]{1,4}/?\s?(?:important|hidden|system|instructions?|critical|secret|information|admin|urgent|mandatory"
    r"|override|directive|for (?:ai|llm)|prompt|attention|assistant|priority|internal|confidential|security|protocol)"
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
    """What it is about: a path, an address, the name of another tool; for `OVERRIDES`, what is overridden."""


def signals_in(text: str, siblings: Collection[str] | ToolNames = (), own_name: str = "") -> list[Signal]:
    """The signals of a text, in its order; `siblings` are the names of the other tools that a model sees."""
    return [signal for signal, _ in explained_signals(text, siblings, own_name)]


def explained_signals(
    text: str, siblings: Collection[str] | ToolNames = (), own_name: str = ""
) -> Iterator[tuple[Signal, Pattern | Cluster]]:
    """The signals of a text with the patterns that they match: one for each kind in a sentence."""
    names = siblings if isinstance(siblings, ToolNames) else ToolNames(siblings)
    read = _read(text[:LONGEST_TEXT], names, own_name.lower())
    if not read:
        return
    starters = _verbs() | class_bits()["STARTER"]
    describes = _describes(text[read[0].start : read[0].end])
    following = 0
    for at, (start, end, language, words, possible, _) in enumerate(read):
        if not words:
            following = max(0, following - 1)
            continue
        written = text[start:end]
        lowered = written.lower()
        meets = _needs_met(words) if language == "en" else foreign_needs_met(words)
        meets |= (
            (RUINOUS if is_ruinous(lowered) else 0) | (SHELL if is_shell(lowered) else 0) | (NAMED if own_name else 0)
        )
        # The reason for an instruction often follows it: "This is required for security."
        if at + 1 < len(read) and read[at + 1].gives_reason:
            meets |= PRETEXT
        if (meets & CONDITIONAL and meets & OBLIGED) or _tag(lowered[:80]):
            following = _FOLLOWING
        elif following:
            following -= 1
            meets |= FRAMED
        if meets & FRAMED:
            meets |= FIRM
        elif describes and at and language == "en" and words[0].classes & starters:
            meets |= FRAMED
        matches = _matches(ReadSentence(words, meets), possible) if language == "en" else foreign_matches(words, meets)
        for pattern, span in matches:
            about = pattern.about or _object_of(pattern.kind, words, span)
            yield Signal(pattern.kind, written.strip(), start, end, about), pattern


class _Sentence(NamedTuple):
    """A sentence of a text."""

    start: int
    end: int
    language: str
    words: list[Word]
    """Empty if no signal depends on them."""
    possible: list[Pattern]
    """The patterns that it may match; empty in languages other than English, which have none."""
    gives_reason: bool
    """Whether it may justify what the sentence before it orders."""


def _read(text: str, names: ToolNames, own_name: str) -> list[_Sentence]:
    """The sentences of a text up to the last one that may have a signal."""
    spans = sentences(text)
    found = outlines(names).of(text, spans)
    languages = _languages(text, spans, found)
    suspects = {at for at, language in enumerate(languages) if language != "en" or may_match(found[at])}
    read: list[_Sentence] = []
    for at in range(min(max(suspects) + 2, len(spans)) if suspects else 0):
        (start, end), language = spans[at], languages[at]
        is_english = language == "en"
        words: list[Word] = []
        if at in suspects or (
            not suspects.isdisjoint(range(at + 1, at + 1 + _FOLLOWING))
            and (orders_on_condition(found[at]) or _tag(text[start : min(end, start + 80)].lower()))
        ):
            words = words_of(text[start:end], names, own_name, lexicon(language))
        possible = possible_patterns(found[at]) if is_english and at in suspects else []
        read.append(_Sentence(start, end, language, words, possible, is_english and gives_reason(found[at])))
    return read


def _languages(text: str, spans: list[tuple[int, int]], found: list[int]) -> list[str]:
    """The language of each sentence, given their outlines."""
    foreign = [span for span, outline in zip(spans, found, strict=True) if may_be_foreign(outline)]
    if has_other_script(text):
        foreign = spans
    elif not foreign or not is_foreign(text, [text[start:end] for start, end in foreign]):
        return ["en"] * len(spans)
    of_text = language_of(text[:2_000])
    if of_text == "en" and all(language_of(text[start:end]) == "en" for start, end in foreign):
        return ["en"] * len(spans)
    return [language_of(text[start:end], of_text) for start, end in spans]


def _describes(first_sentence: str) -> bool:
    """Whether a text begins like a description, "Adds two numbers" or "Dice roller": later imperatives are orders."""
    first = first_sentence.split(None, 5)
    if not first:
        return False
    word = first[0].lower().strip(".,:;")
    if word.endswith("s") and not word.endswith("ss"):
        return True
    return len(first) <= 4 and not lexicon().words.get(word, 0) & (_verbs() | class_bits()["STARTER"])


def _verbs() -> int:
    bits = class_bits()
    return bits["SEND"] | bits["TAKE"] | bits["CALL"] | bits["CHANGE"] | bits["READ"] | bits["SET"] | bits["DESTROY"]


def sentences(text: str) -> list[tuple[int, int]]:
    """The spans of the sentences of a text; long ones are cut."""
    spans = []
    start = 0
    for boundary in _ends(text):
        at, end = boundary.span()
        if text[at] == "." and _abbreviation(text[max(0, at - 8) : at]):
            continue
        if end - start > LONGEST_SENTENCE:
            spans += [(cut, cut + LONGEST_SENTENCE) for cut in range(start, end - LONGEST_SENTENCE, LONGEST_SENTENCE)]
            start = spans[-1][1]
        spans.append((start, end))
        start = end
    spans += [(cut, min(len(text), cut + LONGEST_SENTENCE)) for cut in range(start, len(text), LONGEST_SENTENCE)]
    return spans


def _matches(sentence: ReadSentence, possible: list[Pattern]) -> Iterator[tuple[Pattern, tuple[int, int]]]:
    """The first pattern of each kind that a sentence matches."""
    kinds: set[str] = set()
    for pattern in possible:
        if pattern.kind not in kinds and not (kinds and pattern.kind == OVERREACHES):
            span = match(pattern, sentence)
            if span is not None and not _is_mention(sentence.words, span) and not _is_statement(sentence.words, span):
                kinds.add(pattern.kind)
                if pattern.kind in (CONCEALS, OVERRIDES):
                    # Whoever hides something from the user speaks to a model, whatever else the sentence says.
                    sentence.meets |= FRAMED | FIRM
                yield pattern, span


def _needs_met(words: list[Word]) -> int:
    """How a sentence speaks to a model, by itself."""
    bits = class_bits()
    if words[0].classes & bits["WHETHER"]:
        return 0
    meets, classes = 0, 0
    vocative, clause = bits["VOCATIVE"], bits["CLAUSE"]
    condition, use = bits["COND"], bits["USE"] | bits["TOOL"] | bits["SIBLING"] | bits["OWN"]
    for at, word in enumerate(words):
        classes |= word.classes
        if word.classes & condition and any(next_word.classes & use for next_word in words[at + 1 : at + 7]):
            meets |= CONDITIONAL | FRAMED
        elif word.classes & vocative and at + 1 < len(words) and words[at + 1].classes & clause:
            meets |= FRAMED
    if classes & (bits["OBLIGE"] | bits["MUST"]):
        meets |= OBLIGED | FRAMED
    if (
        classes & (bits["STRONGCOND"] | bits["FIRST"] | bits["WHEN"])
        or words[0].text in ("if", "to")
        or (classes & bits["PRETEXT"] and classes & bits["FOR"])
    ):
        meets |= FRAMED
    if classes & bits["PRETEXT"]:
        meets |= PRETEXT
    if classes & bits["SIBLING"]:
        meets |= OTHERS
    return meets


def _is_mention(words: list[Word], span: tuple[int, int]) -> bool:
    """Whether a match is what a sentence warns of, looks for, or gives as an example."""
    bits = class_bits()
    example, own, quoted = bits["EXAMPLE"], bits["OBLIGE"] | bits["COND"], bits["QUOTED"]
    is_quoted = words[span[0]].classes & quoted
    negative = bits["NEG"]
    without = next((at for at in range(span[0], span[1] + 1) if words[at].classes & bits["WITHOUT"]), None)
    if without is not None and any(word.classes & negative for word in words[max(0, without - 7) : without]):
        return True
    for at in range(span[0] - 1, -1, -1):
        if is_quoted and words[at].classes & quoted:
            continue
        if words[at].classes & own:
            return False
        if words[at].classes & example:
            return True
    return False


_QUESTIONS = {"what", "which", "who", "whose", "where", "when", "why", "how", "whether", "if"}


def _is_statement(words: list[Word], span: tuple[int, int]) -> bool:
    """Whether a match only states what something leaves open, such as "a text that does not say what it returns"."""
    start, end = span
    negation = words[start].text.replace("’", "'")
    if negation not in ("doesn't", "doesnt") and not (negation == "not" and start and words[start - 1].text == "does"):
        return False
    bits = class_bits()
    ordered = bits["MODEL"] | bits["YOUR"] | bits["OBLIGE"] | bits["MUST"] | bits["RESULT"]
    if any(word.classes & ordered for word in words[:start]):
        return False
    return any(word.text in _QUESTIONS for word in words[start + 1 : end])


_OBJECTS = {
    SECRETS: ("PATH", "SECRET|SECRETIVE"),
    SENDS: ("ADDRESS", "OUTSIDE"),
    TAMPERS: ("SIBLING", "PARAM", "TARGET"),
    DESTROYS: ("SIBLING", "THINGS", "COMMAND"),
    OVERREACHES: ("CONTEXT",),
}
"""The classes of the word that a signal is about, by precedence."""


def _object_of(kind: str, words: list[Word], span: tuple[int, int]) -> str:
    """The word that a signal is about: in the match, or else anywhere in the sentence."""
    bits = class_bits()
    for names in _OBJECTS.get(kind, ()):
        classes = sum(bits[name] for name in names.split("|"))
        for word in (*words[span[0] : span[1] + 1], *words):
            if word.classes & classes:
                return word.text
    return ""
