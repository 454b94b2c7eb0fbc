"""What hidden and encoded texts tell a model, and how certain that is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from mcproof.checks.texts.codes import is_run_together
from mcproof.checks.texts.directives import RULE_OF_KIND, directives_in
from mcproof.checks.texts.encodings import encoded_in
from mcproof.checks.texts.hidden import (
    COMMENT,
    DIRECTIONS,
    ESCAPES,
    HIDDEN_ELEMENT,
    PADDING,
    SELECTORS,
    TAGS,
    ZERO_WIDTH,
    hidden_in,
    readable,
)
from mcproof.checks.texts.suspicion import worst_sentence
from mcproof.checks.texts.words import is_command, is_prose
from mcproof.core.named_tuple import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from mcproof.checks.texts.encodings import EncodedText
    from mcproof.checks.texts.hidden import HiddenText
    from mcproof.checks.texts.suspicious import Encoding
Certainty = Literal["message", "suspicion", "oddity"]
"""A text that says what it should not; characters that can only hide something; something that may be harmless."""

_SUSPICION = "TRU-114"
_MANY = 8
"""How many invisible characters are no accident."""
_FAR = 100
"""How many columns of whitespace hide text, whatever it is."""
_CONCEALED = (COMMENT, HIDDEN_ELEMENT, PADDING)
_CODE_NAMES = (
    "base64",
    "base32",
    "hex",
    "rot13",
    "caesar",
    "cipher",
    "encod",
    "decod",
    "morse",
    "braille",
    "example",
    "e.g.",
)


class JudgedHiding(NamedTuple):
    """A way in which a text hides something, and what comes out."""

    hidden: HiddenText
    certainty: Certainty
    rule: str
    """The id of the rule that the hidden text breaks; empty if it breaks none."""


class JudgedEncoding(NamedTuple):
    """An encoded text that tells a model something."""

    encoded: EncodedText
    certainty: Certainty
    rule: str


def hidings(suspects: Iterable[str], names: frozenset[str]) -> dict[str, list[JudgedHiding]]:
    """The texts that hide something, with what they hide. `names` are those of the server's tools."""
    by_text = {text: list(judged_hidings(text, names)) for text in suspects}
    return {text: judged for text, judged in by_text.items() if judged}


def judged_hidings(text: str, names: frozenset[str] = frozenset()) -> Iterator[JudgedHiding]:
    """What a text hides, judged."""
    hidden_texts = hidden_in(text)
    if not hidden_texts:
        return
    revealed = _revealed(text, names)
    for hidden in hidden_texts:
        rule = _rule_of(hidden.decoded, names) if hidden.decoded else ""
        # People see what is in a code span, so it counts only if it breaks a rule.
        if hidden.is_code and not rule:
            continue
        if hidden.kind in _CONCEALED:
            # Authors comment out what they do not need, and hide what belongs to the layout: only orders are certain.
            certainty: Certainty = "message" if rule else "oddity"
            if certainty == "oddity" and hidden.kind == PADDING and _may_be_layout(hidden.characters):
                continue
        elif hidden.is_message or rule or revealed:
            certainty, rule = "message", rule or revealed
        elif hidden.kind in (TAGS, SELECTORS, DIRECTIONS, ESCAPES) or is_command(hidden.decoded):
            certainty = "suspicion"
        else:
            many = hidden.kind == ZERO_WIDTH and len(hidden.characters) >= _MANY
            certainty = "suspicion" if many else "oddity"
        yield JudgedHiding(hidden, certainty, rule)


def _may_be_layout(whitespace: str) -> bool:
    """Whether whitespace within a line may be a joined line or a column rather than meant to hide what follows."""
    return "\n" not in whitespace and len(whitespace.expandtabs()) < _FAR


def _revealed(text: str, names: frozenset[str]) -> str:
    """The rule that a text breaks only once its disguise is removed; empty if there is none."""
    undisguised = readable(text)
    return "" if undisguised == text or _rule_of(text, names) else _rule_of(undisguised, names)


def _rule_of(text: str, names: frozenset[str]) -> str:
    """The rule that a decoded text breaks; empty if there is none."""
    certain = next(directives_in(text, names), None)
    if certain is not None:
        return RULE_OF_KIND[certain[0]]
    worst = worst_sentence(text)
    return _SUSPICION if worst is not None and worst[1] > 0 else ""


def encodings(suspects: Mapping[str, Iterable[Encoding]], names: frozenset[str]) -> dict[str, JudgedEncoding]:
    """The texts with an encoded instruction, with the clearest one of each."""
    by_text = {}
    for text, tried in suspects.items():
        judged = judged_encoding(text, names, tried)
        if judged is not None:
            by_text[text] = judged
    return by_text


def judged_encoding(
    text: str, names: frozenset[str] = frozenset(), tried: Iterable[Encoding] | None = None
) -> JudgedEncoding | None:
    """The clearest encoded instruction of a text; None if there is none."""
    best: JudgedEncoding | None = None
    for encoded in encoded_in(text, tried):
        rule = _rule_of(encoded.decoded, names)
        # An escape that was needed for technical reasons adds nothing to what the text says anyway.
        if rule and (encoded.is_deliberate or not _rule_of(text, names)):
            return JudgedEncoding(encoded, "message", rule)
        certainty = _certainty(encoded, text)
        if certainty is not None and (best is None or best.certainty == "oddity"):
            best = JudgedEncoding(encoded, certainty, "")
    return best


def _certainty(encoded: EncodedText, text: str) -> Certainty | None:
    """How certain it is that a decoded text without a clear instruction tells a model something."""
    decoded = encoded.decoded
    if not encoded.is_deliberate:
        return None
    if encoded.encoding.startswith("spaced letters"):
        return "suspicion" if is_command(decoded) or is_run_together(decoded) else None
    if is_command(decoded):
        return "suspicion"
    if is_prose(decoded):
        lowered = text[:5_000].lower()
        # A description that names an encoding shows examples of it.
        return None if any(name in lowered for name in _CODE_NAMES) else "oddity"
    return None
