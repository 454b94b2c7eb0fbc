"""The names of the tools that a model sees, in the forms that the analysis of sentences needs."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from mcproof.poisoning.word_pieces import plain

if TYPE_CHECKING:
    from collections.abc import Iterable

_MARKS = "’‘ʼ“”«»„…—–·•，。、：；（）！？"
_SECRETIVE = frozenset(b"secret secrets credential credentials password passwords env printenv keys token".split())
_RUINING = frozenset(b"delete remove drop purge wipe destroy reset erase truncate void kill revoke".split())


class ToolNames:
    """The names of the tools that a model sees, in lower case."""

    def __init__(self, names: Iterable[str]) -> None:
        given = set(names)
        ordinary = {each for each in given if each.isalpha() and (each.islower() or each.istitle())}
        self.names = frozenset(map(str.lower, given))
        self.plain = frozenset(map(str.lower, ordinary))
        """Those that are ordinary words, such as `search`: they are names only in quotation marks."""
        self.words = frozenset(map(_longest_piece, given - ordinary))
        """The longest word of each other name."""
        self.looks: dict[str, bool] = {}
        """The sentences that a first look was taken at, and whether it found anything: a cache."""

    @cached_property
    def telling(self) -> frozenset[bytes]:
        """The words of names that show access to secrets or destruction."""
        shown = (name for name in self.names if is_secretive(name) or is_ruining(name))
        return frozenset(map(_longest_piece, shown))


def tool_names(names: Iterable[str]) -> ToolNames:
    """Return names in the form that the analysis needs."""
    return ToolNames(names)


def is_secretive(name: str) -> bool:
    """Whether the name of a tool in lower case shows access to secrets."""
    return "env" in name[-4:] or not _SECRETIVE.isdisjoint(_subwords(name))


def is_ruining(name: str) -> bool:
    """Whether the name of a tool in lower case shows destruction."""
    return not _RUINING.isdisjoint(_subwords(name))


def _subwords(name: str) -> list[bytes]:
    return plain(name).replace(b"_", b" ").split()


def _longest_piece(name: str) -> bytes:
    if name.isascii():
        return max(plain(name).split(), key=len, default=b"")
    separated = "".join(each if not each.isascii() and each not in _MARKS else plain(each).decode() for each in name)
    return max(separated.lower().split(), key=len, default="").encode(errors="replace")
