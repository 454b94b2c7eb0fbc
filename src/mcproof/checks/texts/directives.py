"""What a sentence certainly instructs a model to do: read secrets, send data away, tamper with another tool.

A sentence is certain if two things agree that know nothing of each other: what it names, such as a path of keys, and
its score. What a text quotes does not count. Everything less certain is left to `suspicion`.
Why both must agree: docs/decisions/0074-one-score-for-sentences.md.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mcproof.checks.texts.markup import secret_path
from mcproof.checks.texts.suspicion import LEAST_LETTERS, model, sentences, words_in
from mcproof.core.named_tuple import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from mcproof.checks.texts.model_texts import ModelText, ModelTexts


SECRETS, SENDS, TAMPERS, OVERRIDES = "secret-access", "outside-address", "another-tool", "override"
RULE_OF_KIND = {SECRETS: "TRU-105", SENDS: "TRU-107", TAMPERS: "TRU-108", OVERRIDES: "no_tool_description_manipulation"}
_MARGINS = {SECRETS: 0.0, SENDS: 0.1, TAMPERS: 0.25, OVERRIDES: 0.1}
"""The score from which a sentence that names something telling is a directive: names of tools tell least."""
_WORDS_OF_KIND = {
    SECRETS: frozenset(),
    SENDS: frozenset(("sending", "putting in", "money")),
    TAMPERS: frozenset(("changing", "putting in")),
    OVERRIDES: frozenset(("overriding", "instructions")),
}
"""Classes of which a sentence must have one, besides what it names; an override needs both."""
_secret = re.compile(r"(?:[~.]?[\w$-]*[/\\.])[^\s\"'`,;()<>]+|\bid_(?:rsa|ed25519)\b").findall
_address = re.compile(
    r"\b[a-z]{2,6}://[^\s\"'`<>)\]]+|[\w.+-]{1,64}@[\w-]{1,64}\.[\w.-]{2,64}|\b\d{1,3}(?:\.\d{1,3}){3}\b", re.IGNORECASE
).search
_name = re.compile(r"(?<![\w/.])[A-Za-z]\w*(?:[-.]\w+)*(?![\w/])").findall
_sign = re.compile(r"@\w|://|\bwww\.|\b(?:ignor|disregard|forget|overrid|bypass)", re.IGNORECASE).search


class Directive(NamedTuple):
    """A sentence that certainly instructs a model, and where its text occurs."""

    kind: str
    sentence: str
    object: str
    """The path, the address or the other tool that it names."""
    uses: list[ModelText]

    @property
    def subjects(self) -> list[str]:
        """The names of the items, each once."""
        return list(dict.fromkeys(use.item.label for use in self.uses))


def directives(texts: ModelTexts) -> list[Directive]:
    """The directives of a server in the order of its catalog, computed once for all rules."""
    return texts.analysis("directives", _directives)


def _directives(texts: ModelTexts) -> list[Directive]:
    names = names_of(texts)
    found: dict[tuple[str, str], Directive] = {}
    for text in texts.distinct:
        for kind, sentence, about in directives_in(text, names):
            # A tool that speaks of itself speaks of no other tool.
            uses = [use for use in texts.uses(text) if kind != TAMPERS or use.item.name != about]
            if uses:
                found.setdefault((kind, sentence), Directive(kind, sentence, about, [])).uses.extend(uses)
    return list(found.values())


def names_of(texts: ModelTexts) -> frozenset[str]:
    """The names of a server's tools."""
    return texts.analysis("names", lambda texts: frozenset(tool.name for tool in texts.catalog.tools if tool.name))


def directives_in(text: str, names: Collection[str] = ()) -> Iterator[tuple[str, str, str]]:
    """The directives of a text: kind, sentence and what it names. `names` are those of the tools that a model sees."""
    if (text.isascii() and len(text) < LEAST_LETTERS) or not (_may_name(text) or _named(text, names)):
        return
    for sentence in sentences(text):
        for kind, about in _named_in(sentence, names):
            if model().score(sentence) > _MARGINS[kind]:
                yield kind, sentence, about


def _named_in(sentence: str, names: Collection[str]) -> Iterator[tuple[str, str]]:
    """What a sentence names, by kind, if it has words that tell what is to be done with it."""
    other = _named(sentence, names)
    if not other and not _may_name(sentence):
        return
    words = words_in(sentence)
    classes = model().classes_in(sentence)
    if "xsecretx" in words:
        yield SECRETS, next(filter(secret_path, map(str.lower, _secret(sentence))), "")
    if ("xmailx" in words or "xurlx" in words) and not _WORDS_OF_KIND[SENDS].isdisjoint(classes):
        address = _address(sentence)
        yield SENDS, address[0].rstrip(".") if address is not None else ""
    if other and not _WORDS_OF_KIND[TAMPERS].isdisjoint(classes):
        yield TAMPERS, other
    if _WORDS_OF_KIND[OVERRIDES] <= classes:
        yield OVERRIDES, "instructions"


def _may_name(text: str) -> bool:
    """Whether a text may have an address, a path of secrets or an override; most have none."""
    return _sign(text) is not None or secret_path(text.lower())


def _named(text: str, names: Collection[str]) -> str:
    """The tool that a text names; one that is an ordinary word only in code or before "tool"."""
    written: list[str] = _name(text) if names else []
    for name in written:
        if name in names and (not (name.isalpha() and name.islower()) or f"`{name}`" in text or f"{name} tool" in text):
            return name
    return ""
