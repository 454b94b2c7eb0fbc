"""What a sentence certainly instructs a model to do: read secrets, send data away, tamper with another tool.

A sentence is certain if two things agree that know nothing of each other: what it names, such as a path of keys, and
its score. What a text quotes does not count. Everything less certain is left to `suspicion`.
Why both must agree: docs/decisions/0074-one-score-for-sentences.md.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mcproof.checks.texts.markup import secret_path, secret_paths
from mcproof.core.named_tuple import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from mcproof.checks.texts.model_texts import ModelText, ModelTexts


SECRETS, SENDS, TAMPERS, OVERRIDES = "secret-access", "outside-address", "another-tool", "override"
RULE_OF_KIND = {SECRETS: "TRU-105", SENDS: "TRU-107", TAMPERS: "TRU-108", OVERRIDES: "TRU-104"}
_SHORTEST = 20
"""Characters of the shortest text in ASCII that can be a directive."""
_MARGINS = {SECRETS: 0.0, SENDS: 0.1, TAMPERS: 0.25, OVERRIDES: 0.1}
"""The score from which a sentence that names something telling is a directive: names of tools tell least."""
_WORDS_OF_KIND = {
    SECRETS: frozenset(),
    SENDS: frozenset(("sending", "putting in", "money")),
    TAMPERS: frozenset(("changing", "putting in")),
    OVERRIDES: frozenset(("overriding", "instructions")),
}
"""Classes of which a sentence must have one, besides what it names; an override needs both."""
_KEY_PATH = r"(?:[~.]?[\w$-]*[/\\.])[^\s\"'`,;()<>]+|\bid_(?:rsa|ed25519)\b"
_ADDRESS = r"(?i)\b[a-z]{2,6}://[^\s\"'`<>)\]]+|[\w.+-]{1,64}@[\w-]{1,64}\.[\w.-]{2,64}|\b\d{1,3}(?:\.\d{1,3}){3}\b"
_NAME_BYTES = bytes(code if (chr(code).isalnum() and code < 128) or code in b"_-" else 32 for code in range(256))
"""Maps everything that is not part of a name to spaces."""
_SIGNS = ("@", "://", "www.", "ignor", "disregard", "forget", "overrid", "bypass")
_SIGN = r"@\w|://|www\.|ignor|disregard|forget|overrid|bypass"
"""Of these a text has one that names an address or an override."""


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
    telling = _telling(texts)
    directives: dict[tuple[str, str], Directive] = {}
    for text in texts.distinct:
        for kind, sentence, about in _directives_in(text, _tools_in(text, names), may_name=text in telling):
            # A tool that speaks of itself speaks of no other tool.
            uses = [use for use in texts.uses(text) if kind != TAMPERS or use.item.name != about]
            if uses:
                directives.setdefault((kind, sentence), Directive(kind, sentence, about, [])).uses.extend(uses)
    return list(directives.values())


def names_of(texts: ModelTexts) -> frozenset[str]:
    """The names of a server's tools."""
    return texts.analysis("names", lambda texts: frozenset(tool.name for tool in texts.catalog.tools if tool.name))


def _telling(texts: ModelTexts) -> set[str]:
    """The texts that may name an address, a path of secrets or an override; most servers have none."""
    joined = texts.joined.lower()
    if len(joined) != len(texts.joined):  # a few letters become two in lower case
        return set(filter(_may_name, texts.distinct))
    offsets = list(secret_paths(joined))
    for sign in _SIGNS:
        at = joined.find(sign)
        while at >= 0:
            offsets.append(at)
            at = joined.find(sign, at + 1)
    return set(filter(_may_name, map(texts.text_at, offsets)))


def directives_in(text: str, names: frozenset[str] = frozenset()) -> Iterator[tuple[str, str, str]]:
    """The directives of a text: kind, sentence and what it names. `names` are those of the tools that a model sees."""
    return _directives_in(text, _tools_in(text, names), may_name=_may_name(text))


def _directives_in(text: str, others: Collection[str], *, may_name: bool) -> Iterator[tuple[str, str, str]]:
    """The same for a text of which it is known which tools it names, and whether it may name anything else."""
    if not (may_name or others) or (text.isascii() and len(text) < _SHORTEST):
        return
    # Here, since many servers have no text that gets so far.
    from mcproof.checks.texts.suspicion import model, sentences

    for sentence in sentences(text):
        for kind, about in _named_in(sentence, others, may_name=may_name):
            if model().score(sentence) > _MARGINS[kind]:
                yield kind, sentence, about


def _named_in(sentence: str, others: Collection[str], *, may_name: bool) -> Iterator[tuple[str, str]]:
    """What a sentence names, by kind, if it has words that tell what is to be done with it."""
    other = ""
    if any(name in sentence for name in others):
        other = next((word for word in _words(sentence) if word in others and _is_tool(word, sentence)), "")
    if not other and not (may_name and _may_name(sentence)):
        return
    from mcproof.checks.texts.suspicion import model, words_in

    words = words_in(sentence)
    classes = model().classes_of(words)
    if "xsecretx" in words:
        yield SECRETS, next(filter(secret_path, map(str.lower, re.findall(_KEY_PATH, sentence))), "")
    if ("xmailx" in words or "xurlx" in words) and not _WORDS_OF_KIND[SENDS].isdisjoint(classes):
        address = re.search(_ADDRESS, sentence)
        yield SENDS, address[0].rstrip(".") if address is not None else ""
    if other and not _WORDS_OF_KIND[TAMPERS].isdisjoint(classes):
        yield TAMPERS, other
    if _WORDS_OF_KIND[OVERRIDES] <= classes:
        yield OVERRIDES, "instructions"


def _may_name(text: str) -> bool:
    """Whether a text may have an address, a path of secrets or an override; most have none."""
    lowered = text.lower()
    return re.search(_SIGN, lowered) is not None or secret_path(lowered)


def _tools_in(text: str, names: frozenset[str]) -> Collection[str]:
    """The tools that a text names; a name by itself tells a model nothing."""
    if not names or (text.isascii() and len(text) < _SHORTEST):
        return ()
    named = names.intersection(_words(text))
    return [name for name in named if name != text and _is_tool(name, text)] if named else ()


def _words(text: str) -> list[str]:
    """The words of a text that may be names."""
    # Splitting translated bytes is ten times as fast as an expression for words, and most texts name no tool.
    return text.encode("latin-1", "replace").translate(_NAME_BYTES).decode("latin-1").split()


def _is_tool(name: str, text: str) -> bool:
    """Whether a name in a text is that of a tool: one that is an ordinary word only in code or before "tool"."""
    return not (name.isalpha() and name.islower()) or f"`{name}`" in text or f"{name} tool" in text
