"""The signals in all texts of a server: one for each distinct sentence, with the places where it occurs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from mcproof.poisoning.sentence_survey import suspicions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.poisoning.model_texts import ModelText, ModelTexts
    from mcproof.poisoning.sentence_survey import Suspicion
    from mcproof.poisoning.signals import Signal

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
        return list(dict.fromkeys(each.item.label for each in self.uses))


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
    found: dict[tuple[str, str], FoundSignal] = {}
    for text, suspicion in suspicions(texts).items():
        for signal, uses in _of_text(text, texts, suspicion):
            key = signal.kind, signal.sentence
            known = found.setdefault(key, FoundSignal(signal, []))
            known.uses.extend(uses)
    return list(found.values())


def _of_text(text: str, texts: ModelTexts, suspicion: Suspicion) -> Iterator[tuple[Signal, list[ModelText]]]:
    """The signals of a text with the places where it has them: whose tool it is decides which tools are others."""
    from mcproof.poisoning.signals import signals_in

    names = texts.tool_names
    uses_of: dict[str, list[ModelText]] = {}
    if not signals_in(text, names, "?", suspicion):
        return
    for use in texts.uses(text):
        owner = use.item.name if use.item.kind == "tool" else ""
        if owner not in uses_of and len(uses_of) >= MAX_OWNERS:
            owner = next(iter(uses_of))
        uses_of.setdefault(owner, []).append(use)
    for owner, uses in uses_of.items():
        for signal in signals_in(text, names, owner, suspicion):
            yield signal, uses
