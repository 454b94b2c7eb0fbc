"""Signs that a decoded text is prose, or a command."""

from __future__ import annotations

import re

from mcproof.core.text.english import word_set

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
# Patterns, which `re` compiles on first use: every `lint` loads this, and few servers have a text to decode.
_WORD = r"[A-Za-z]+(?:'[a-z]+)?"
_LETTERS = r"[^\W\d_]+"
_ADDRESSES_MODEL = (
    r"(?i)\b(?:you|your|the (?:user|model|assistant|agent|llm)|assistant|do not|don't|never|always|must|please)\b"
)
_FIRST_WORD = r"(?:^|[.!?;:\n>])\s{0,9}([A-Za-z]{1,30})"
_COMMANDED_WORD = r"(?i)\b(?:please|must|then|and|to|always|never|not|first|should)\s{1,9}(?=([A-Za-z]{1,30}))"


def words_of_text(text: str) -> list[str]:
    """The ASCII words of a text in lower case."""
    return [word.lower() for word in re.findall(_WORD, text)]


def is_prose(text: str, *, least_words: int = 4) -> bool:
    """Whether a decoded text consists of words, in any language: mostly letters and single spaces."""
    text = text.strip()
    words = text.split()
    if len(words) < least_words or text[:1] in "{[<" or len(text) > 12 * len(words):
        return False
    letters = sum(map(len, re.findall(_LETTERS, text)))
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
    if not is_command(text) or re.search(_ADDRESSES_MODEL, text) is None:
        return False
    return any(
        word.lower() in COMMANDS for word in (*re.findall(_FIRST_WORD, text), *re.findall(_COMMANDED_WORD, text))
    )
