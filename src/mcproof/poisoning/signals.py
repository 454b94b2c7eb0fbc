"""What a text tells a model to do that a description has no business telling it, sentence by sentence."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection

CONCEALS = "conceals-from-user"
OVERRIDES = "overrides-user-or-instructions"
SECRETS = "commands-secret-access"
DESTROYS = "commands-destruction"
SENDS = "sends-to-outside-address"
TAMPERS = "tampers-with-another-tool"
OVERREACHES = "out-of-scope-parameter"
PRAISES = "self-praise"
KINDS = (CONCEALS, OVERRIDES, SECRETS, DESTROYS, SENDS, TAMPERS, OVERREACHES, PRAISES)

LONGEST_TEXT = 200_000
"""How many characters of a text are read."""

_sentences = re.compile(r"[^.!?\n]+").finditer
_conceals = re.compile(
    r"\b(?:do not|don't|never|without) (?:tell|inform|notify|alert)(?:ing)? (?:the )?user", re.IGNORECASE
).search


class Signal(NamedTuple):
    """One thing that a sentence tells a model to do."""

    kind: str
    """One of `KINDS`."""
    sentence: str
    start: int
    """Where the sentence starts in the text."""
    end: int
    object: str
    """What the sentence is about: a path, an address, the name of another tool; may be empty."""


def signals_in(text: str, siblings: Collection[str] = (), own_name: str = "") -> list[Signal]:  # noqa: ARG001
    """The signals of a text, in its order; `siblings` are the names of the other tools that a model sees."""
    return [
        Signal(CONCEALS, match[0].strip(), match.start(), match.end(), "")
        for match in _sentences(text[:LONGEST_TEXT])
        if _conceals(match[0])
    ]
