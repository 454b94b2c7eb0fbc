"""Which patterns a sentence may match: a look at its words and their order, since hardly any sentence matches one."""

from __future__ import annotations

import re
from functools import cache, reduce
from itertools import repeat
from operator import or_
from typing import TYPE_CHECKING, NamedTuple

from mcproof.poisoning.first_look import NAMING, RUIN_WORDS, SHELL_COMMANDS, first_look, pieces
from mcproof.poisoning.secret_paths import secret_path
from mcproof.poisoning.sentence_patterns import OTHERS, RUINOUS, SHELL, patterns
from mcproof.poisoning.word_classes import class_bits
from mcproof.poisoning.word_order import may_have_place, ordered
from mcproof.poisoning.word_pieces import plain

if TYPE_CHECKING:
    from mcproof.poisoning.sibling_names import ToolNames

_MOST_SUSPECTS = 50_000
"""How many sentences of a server are remembered."""
_domain_or_ip = re.compile(
    r"\.(?<=\w\.)(?:com|net|org|io|ru|cn|xyz|dev|app|info|biz|co|me|tk|top|site|online|cloud|\d)"
).search


class _Written(NamedTuple):
    """The patterns, as bits, with an element that is recognised by how it is written."""

    path: int
    address: int
    sibling: int
    shell: int
    ruinous: int


@cache
def _written_elements() -> _Written:
    bits = class_bits()

    def having(name: str = "", needs: int = 0) -> int:
        return sum(
            1 << number
            for number, pattern in enumerate(patterns())
            if pattern.needs & needs or any(element.classes == bits.get(name) for element in pattern.elements)
        )

    return _Written(
        having("PATH"), having("ADDRESS"), having("SIBLING", OTHERS), having(needs=SHELL), having(needs=RUINOUS)
    )


def classes_in(words: list[bytes]) -> int:
    """The classes of words, and of the phrases that they may be parts of."""
    return reduce(or_, map(pieces().get, words, repeat(0)), 0)


def starts_with(words: list[bytes], starters: int) -> bool:
    """Whether the first of the words makes a sentence an order; `starters` are the classes that do."""
    return bool(words) and (words[0] in (b"if", b"to") or bool(pieces().get(words[0], 0) & starters))


def may_match(sentence: str, names: ToolNames) -> bool:
    """Whether a sentence may match a pattern if its context speaks to a model; many tools share sentences."""
    known = names.looks.get(sentence)
    if known is None:
        known = possible_in(sentence, plain(sentence).split(), names, is_framed=True) != 0
        if len(names.looks) < _MOST_SUSPECTS:
            names.looks[sentence] = known
    return known


def possible_in(sentence: str, words: list[bytes], names: ToolNames, *, is_framed: bool) -> int:
    """The patterns that may match a sentence, as bits; `is_framed` if its context speaks to a model."""
    look = first_look()
    others = look.place if may_have_place(sentence) else 0
    if not names.words.isdisjoint(words):
        others |= look.sibling
    if _has_operator(sentence):
        others |= look.operator
    return confirmed(look.possible(words, look.words, others), sentence, words, names, is_framed=is_framed)


def confirmed(possible: int, sentence: str, words: list[bytes], names: ToolNames, *, is_framed: bool = True) -> int:
    """Those of some possible patterns that a sentence has names, paths, addresses and commands for, in order."""
    if possible:
        lowered = sentence.lower()
        possible = _written(possible, lowered, words, names)
        if possible:
            possible = ordered(possible, lowered, words, names, is_framed=is_framed)
    return possible


def _may_have_name(text: str) -> bool:
    """Whether a text has a character by which the name of an unknown tool is recognised."""
    return "'" in text or "`" in text or '"' in text or "_" in text


def _has_operator(text: str) -> bool:
    """Whether a text has an operator of a shell."""
    return "|" in text or "&&" in text or "$(" in text


def _written(possible: int, lowered: str, words: list[bytes], names: ToolNames) -> int:
    """The possible patterns for which a text in lower case has the names, paths, addresses and commands."""
    having = _written_elements()
    if (
        possible & having.sibling
        and names.words.isdisjoint(words)
        and (NAMING.isdisjoint(words) or not _may_have_name(lowered))
    ):
        possible &= ~having.sibling
    if possible & having.path and not (may_have_place(lowered) and secret_path(lowered)):
        possible &= ~having.path
    if possible & having.address and not ("://" in lowered or "@" in lowered or _domain_or_ip(lowered)):
        possible &= ~having.address
    if possible & (having.shell | having.ruinous):
        from mcproof.poisoning.shell_commands import is_ruinous, is_shell

        if (SHELL_COMMANDS.isdisjoint(words) and not _has_operator(lowered)) or not is_shell(lowered):
            possible &= ~having.shell
        if RUIN_WORDS.isdisjoint(words) or not is_ruinous(lowered):
            possible &= ~having.ruinous
    return possible
