"""Instructions to a model at places where nobody expects a sentence: names, values, defaults, unknown keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.poisoning.prose_signs import commands_model, word_set
from mcproof.poisoning.signals import signals_in
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
    names = [tool.name for tool in texts.catalog.tools]
    found = []
    for text in texts.outside_prose:
        if len(text) < _LEAST_LENGTH or not (_is_instructing_name(text) or _instructs(text[:_LONGEST], names)):
            continue
        use = next((use for use in texts.uses(text) if use.place not in PROSE), None)
        if use is not None and (use.place != "example" or signals_in(text[:_LONGEST], names)):
            found.append(use)
    return found


def _instructs(text: str, names: list[str]) -> bool:
    spaces = text.count(" ")
    if spaces < _LEAST_WORDS - 1:
        return False
    return commands_model(text) or (spaces >= _LEAST_WORDS and bool(signals_in(text, names)))


def _is_instructing_name(text: str) -> bool:
    if " " in text or len(text) > _LONGEST_NAME or text.count("_") + text.count("-") < _LEAST_WORDS - 1:
        return False
    words = text.lower().replace("-", "_").split("_")
    return len(_TELLING.intersection(words)) >= 2 or _reads_secret(words)


def _reads_secret(words: list[str]) -> bool:
    """Whether a name asks for the contents of a file with secrets: `content_from_reading_ssh_id_rsa`."""
    return "ssh" in words and not {"reading", "contents", "content"}.isdisjoint(words)
