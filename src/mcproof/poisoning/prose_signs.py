"""Cheap signs that a text is prose, or commands somebody: for decoded texts, and for places where no prose belongs."""

from __future__ import annotations

import re

from mcproof.poisoning.usual_words import COMMANDS, KNOWN, OBJECTS

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
