"""Sentences in languages other than English.

Word order differs between languages, so a pattern here is a set of word classes that occur close to each other: the
negation may follow the verb, and the verb its object.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from mcproof.poisoning.sentence_patterns import (
    CONCEALS,
    CONDITIONAL,
    DESTROYS,
    FRAMED,
    OBLIGED,
    OTHERS,
    OVERREACHES,
    OVERRIDES,
    SECRETS,
    SENDS,
    TAMPERS,
    needs_of,
)
from mcproof.poisoning.word_classes import class_bits

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.poisoning.sentence_words import Word

_FOREIGN_TABLE = {
    (CONCEALS, ""): """
        NEG TELL USER within 9
        WITHOUT TELL USER within 8
        NEG TELL THIS within 5 if framed
        HIDE USER within 6 if framed
        STEALTH SEND|READ|CHANGE|CALL|DESTROY within 5 if framed
    """,
    (OVERRIDES, "instructions"): """
        IGNORE PRIOR INSTR within 7
        PRIORITY INSTR within 8 if framed
    """,
    (OVERRIDES, "user"): """
        IGNORE USER REQUEST within 7
        PRIORITY USER within 9
        REGARDLESS USER REQUEST within 8
    """,
    (SECRETS, ""): """
        READ|SEND PATH within 10 if framed
        READ|SEND SECRET within 5 if obliged, conditional
    """,
    (DESTROYS, ""): """
        DESTROY ALL THINGS within 6 if obliged, conditional
        CALL within 1 if framed, ruinous
    """,
    (SENDS, ""): """
        SEND ADDRESS within 10 if framed
    """,
    (TAMPERS, ""): """
        CHANGE PARAM|LITERAL|NUMBER|ADDRESS within 8 if others, framed
        CALL SIBLING LITERAL within 10 if obliged, conditional
    """,
    (OVERREACHES, ""): """
        SEND|READ CONTEXT within 6 if obliged, conditional
    """,
}


class Cluster(NamedTuple):
    """Word classes that are a signal if they occur close to each other."""

    kind: str
    about: str
    classes: tuple[int, ...]
    within: int
    """How many words the match may span."""
    needs: int
    has_negation: bool
    written: str


@cache
def _clusters() -> list[Cluster]:
    bits = class_bits()
    found = []
    for (kind, about), lines in _FOREIGN_TABLE.items():
        for line in filter(None, map(str.strip, lines.splitlines())):
            sequence, _, conditions = line.partition(" if ")
            names, _, within = sequence.partition(" within ")
            classes = tuple(sum(bits[name] for name in part.split("|")) for part in names.split())
            negation = names.startswith(("NEG", "WITHOUT"))
            found.append(Cluster(kind, about, classes, int(within), needs_of(conditions), negation, line))
    return found


def foreign_needs_met(words: list[Word]) -> int:
    """How a sentence speaks to a model, by its words."""
    bits = class_bits()
    classes = 0
    for word in words:
        classes |= word.classes
    meets = 0
    if classes & bits["MUST"]:
        meets |= OBLIGED | FRAMED
    if classes & bits["COND"]:
        meets |= CONDITIONAL | FRAMED
    if classes & bits["SIBLING"]:
        meets |= OTHERS
    return meets


def foreign_matches(words: list[Word], meets: int) -> Iterator[tuple[Cluster, tuple[int, int]]]:
    """The first cluster of each kind that a sentence has, with its first and last word."""
    found: set[str] = set()
    for cluster in _clusters():
        if cluster.kind not in found and not cluster.needs & ~meets:
            span = _span_of(cluster, words)
            if span is not None:
                found.add(cluster.kind)
                if cluster.kind in (CONCEALS, OVERRIDES):
                    meets |= FRAMED
                yield cluster, span


def _span_of(cluster: Cluster, words: list[Word]) -> tuple[int, int] | None:
    bits = class_bits()
    negative = bits["NEG"] | bits["WITHOUT"]
    for start, word in enumerate(words):
        missing = [each for each in cluster.classes if not word.classes & each]
        if len(missing) == len(cluster.classes):
            continue
        end = start
        for at in range(start + 1, min(start + cluster.within, len(words))):
            left = [each for each in missing if not words[at].classes & each]
            if len(left) < len(missing):
                missing, end = left, at
            if not missing:
                break
        if missing:
            continue
        near = words[max(0, start - 3) : end + 3]
        if cluster.has_negation or not any(each.classes & negative for each in near):
            return start, end
    return None
