"""Lists and dictionaries whose contents may be uncertain.

Uncertainty has one representation: the `Extent` of a container tells whether it may contain more than its items, and
`doubtful` names the items that it may lack. Sets are represented by lists whose order is unknown.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import ast
    from collections.abc import Iterable

    from mcproof.discovery.interp.modules import Module


class Extent(IntEnum):
    """How much is known about the contents of a container; a combination has the larger extent."""

    EXACT = 0
    """It contains its items; doubtful ones may be missing."""
    BOUNDED = 1
    """It contains nothing else than its items, but their positions are unknown."""
    OPEN = 2
    """It may contain other items."""


EXACT, BOUNDED, OPEN = Extent


class SourceDict(dict[Any, Any]):
    """A dictionary with the nodes of its keys and values."""

    __slots__ = ("doubtful", "extent", "factory", "module", "origins")

    def __init__(self, items: Any = (), module: Module | None = None) -> None:
        super().__init__(items)
        self.module = module
        self.origins: dict[Any, tuple[Module, ast.AST, ast.AST]] = {}
        """For each key: its module, the node of the key and the node of the value."""
        self.factory: Any = None
        """The function that creates the values of missing keys, as in a `defaultdict`."""
        self.extent = EXACT
        self.doubtful: set[Any] = set()
        """The keys that are only present under a condition."""

    def mark_open(self, when: bool = True) -> None:
        """Note that it may contain other keys."""
        if when:
            self.extent = OPEN

    def copy(self) -> SourceDict:
        made = SourceDict(self, self.module)
        made.origins = dict(self.origins)
        made.extent = self.extent
        made.doubtful = set(self.doubtful)
        return made

    def merge(self, other: dict[Any, Any]) -> None:
        """Update it with another dictionary, including its uncertainty."""
        self.update(other)
        for key in other:
            self.origins.pop(key, None)
        self.doubtful.difference_update(other)
        if isinstance(other, SourceDict):
            self.origins.update(other.origins)
            self.extent = max(self.extent, other.extent)
            self.doubtful |= other.doubtful


class SourceList(list[Any]):
    """A list with the nodes of its items."""

    __slots__ = ("alternatives", "doubtful", "extent", "is_iterator", "module", "nodes", "unordered")

    def __init__(self, items: Iterable[Any] = (), module: Module | None = None) -> None:
        super().__init__(items)
        self.module = module
        self.nodes: list[ast.AST] = []
        self.is_iterator = False
        """Whether it is the result of `iter`: `next` removes the first item."""
        self.extent = EXACT
        self.doubtful: set[int] = set()
        """The positions of items that are only present under a condition."""
        self.unordered = False
        """Whether the order of its items is unknown, as in a set."""
        self.alternatives: tuple[list[Any], ...] = ()
        """If it is one of several lists: those lists. A change of it is a change of one of them."""

    def mark_open(self, when: bool = True) -> None:
        """Note that it may contain other items."""
        if when:
            self.extent = OPEN

    def doubt_all(self) -> None:
        """Note that every item may be missing."""
        self.doubtful = set(range(len(self)))

    def inherit_doubt(self, value: Any, doubtful: Iterable[int]) -> SourceList:
        """Become as uncertain as the value that it is made from, with doubt about these positions."""
        self.extent = max(self.extent, extent_of(value))
        self.unordered = self.unordered or is_unordered(value)
        self.doubtful.update(doubtful)
        return self

    def node(self, index: int) -> ast.AST | None:
        """The node of an item, if the nodes are known."""
        return self.nodes[index] if len(self.nodes) == len(self) else None


def extent_of(value: Any) -> Extent:
    """The extent of a container; other values are exact."""
    return value.extent if isinstance(value, (SourceDict, SourceList)) else EXACT


def is_unordered(value: Any) -> bool:
    """Whether the order of a container is unknown."""
    return isinstance(value, SourceList) and value.unordered


def has_doubt(value: Any) -> bool:
    """Whether the contents of a container are uncertain."""
    return isinstance(value, (SourceDict, SourceList)) and (value.extent is not EXACT or bool(value.doubtful))


def is_certain(value: Any) -> bool:
    """Whether the contents of a container and their order are certain."""
    return not has_doubt(value) and not is_unordered(value)


def doubtful_positions(value: Any) -> set[int]:
    """The positions, in the order of iteration, of items that are only present under a condition."""
    if isinstance(value, SourceDict):
        return {index for index, key in enumerate(value) if key in value.doubtful} if value.doubtful else set()
    return set(value.doubtful) if isinstance(value, SourceList) else set()
