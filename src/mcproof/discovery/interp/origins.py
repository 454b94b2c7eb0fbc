"""Where strings and dictionaries are written in the source, however many names they are passed through."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import ast

    from mcproof.discovery.interp.modules import Module

MOST_KEPT = 8 << 20
"""How much computed data is kept only to know its origin, roughly in characters."""


class Origins:
    """The node and the module of values, by identity; a value is kept so that its identity stays unique."""

    __slots__ = ("_kept", "by_id")

    def __init__(self) -> None:
        self.by_id: dict[int, tuple[Any, Any, Module]] = {}
        self._kept = 0

    def of(self, value: Any) -> tuple[ast.AST, Module] | None:
        """Where a string or a dictionary is written; None if unknown."""
        known = self.by_id.get(id(value))
        if known is None or (isinstance(value, str) and len(value) < 2):  # Python shares strings of one character
            return None
        return known[1:]

    def note(self, value: Any, node: ast.AST, module: Module) -> None:
        """Remember where a value was computed, as long as not too much is kept."""
        self._kept += len(value) + 100
        if self._kept < MOST_KEPT:
            self.by_id[id(value)] = value, node, module
