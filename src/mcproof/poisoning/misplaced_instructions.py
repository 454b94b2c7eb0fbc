"""Instructions to a model in places where no sentence belongs: names, values, defaults, unknown keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.core.text.english import word_set
from mcproof.poisoning.text_places import PROSE

if TYPE_CHECKING:
    from mcproof.poisoning.model_texts import ModelText, ModelTexts

_LEAST_WORDS, _LEAST_LENGTH, _LONGEST, _LONGEST_NAME = 4, 16, 20_000, 200
_TELLING = word_set("ignore disregard previous instructions secretly silently exfiltrate passwd ssh rsa dotenv")
"""Words of which two make a long name an instruction."""


def misplaced_instructions(texts: ModelTexts) -> list[ModelText]:
    """The first use of each text that instructs a model outside descriptions and instructions.

    Examples are often requests that a person might make; only clear instructions count there.
    """
    found = []
    for text in texts.outside_prose:
        if len(text) < _LEAST_LENGTH or not (_instructs(text, texts) if " " in text else _is_instructing_name(text)):
            continue
        use = next((use for use in texts.uses(text) if use.place not in PROSE), None)
        if use is not None and (use.place != "example" or _has_signals(text, texts)):
            found.append(use)
    return found


def _instructs(text: str, texts: ModelTexts) -> bool:
    spaces = text.count(" ", 0, _LONGEST)
    if spaces < _LEAST_WORDS - 1:
        return False
    from mcproof.poisoning.prose_signs import commands_model

    return commands_model(text[:_LONGEST]) or (spaces >= _LEAST_WORDS and _has_signals(text, texts))


def _has_signals(text: str, texts: ModelTexts) -> bool:
    from mcproof.poisoning.sentence_survey import suspicions

    if text not in suspicions(texts):
        return False
    from mcproof.poisoning.signals import signals_in

    return bool(signals_in(text[:_LONGEST], texts.tool_names))


def _is_instructing_name(text: str) -> bool:
    if len(text) > _LONGEST_NAME or text.count("_") + text.count("-") < _LEAST_WORDS - 1:
        return False
    words = text.lower().replace("-", "_").split("_")
    return len(_TELLING.intersection(words)) >= 2 or _reads_secret(words)


def _reads_secret(words: list[str]) -> bool:
    """Whether a name asks for the contents of a file with secrets: `content_from_reading_ssh_id_rsa`."""
    return "ssh" in words and not {"reading", "contents", "content"}.isdisjoint(words)
