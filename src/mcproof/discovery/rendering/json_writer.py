"""Values as JSON, with their locations; unknown parts are left out and recorded."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from mcproof.core.text.json_positions import escape
from mcproof.discovery.interp.assumptions import default_of
from mcproof.discovery.interp.builtin_values import unwrapped
from mcproof.discovery.interp.containers import EXACT, SourceDict, SourceList, doubtful_positions
from mcproof.discovery.interp.values import (
    UNKNOWN,
    EnumMember,
    ExternalCall,
    Instance,
)
from mcproof.discovery.rendering.node_locations import location_of

if TYPE_CHECKING:
    import ast

    from mcproof.core.observations.source import SourceLocation
    from mcproof.discovery.interp.interpreter import Interpreter
    from mcproof.discovery.interp.modules import Module

DEEPEST = 200
MOST_WRITTEN = 200_000
"""The maximum number of values in one item; shared values count each time."""
COST_OF_WRITING = 40
"""The cost of rendering data, relative to processing it once."""


def _about(value: dict[Any, Any]) -> tuple[dict[Any, Any], set[Any], bool]:
    """The locations of a dictionary's keys, its doubtful keys, and whether keys may be missing."""
    if isinstance(value, SourceDict):
        return value.origins, value.doubtful, value.extent is not EXACT
    return {}, set(), False


class JsonWriter:
    """Renders one item, and collects locations and the pointers of unknown parts."""

    def __init__(self, run: Interpreter) -> None:
        self.run = run
        self.locations: dict[str, SourceLocation] = {}
        self.unknown: set[str] = set()
        self._left = MOST_WRITTEN

    def locate(self, pointer: str, module: Module, node: ast.AST) -> None:
        """Record the location of a node."""
        location = location_of(module, node)
        if location is not None:
            self.locations[pointer] = location

    def locate_value(self, pointer: str, value: Any, module: Module | None, node: ast.AST | None) -> None:
        """Record where a string or dictionary is written, or else where it is used."""
        written = self.run.origins.of(unwrapped(value))
        if written is not None:
            node, module = written
        if node is not None and module is not None:
            self.locate(pointer, module, node)

    def write(self, value: Any, pointer: str, depth: int = 0) -> Any:
        """A value as JSON; UNKNOWN, and recorded as such, if nothing of it is known."""
        if value is None or isinstance(value, (str, bool, int)):
            return value
        value = unwrapped(default_of(value))
        if value is None or isinstance(value, (str, bool, int)):
            return value
        if isinstance(value, float) and math.isfinite(value):
            return value
        size = len(value) if isinstance(value, (dict, list, tuple)) else 1
        self.run.budget.charge(COST_OF_WRITING * size)
        self._left -= size
        if depth < DEEPEST and self._left > 0:
            if isinstance(value, dict):
                return self._object(value, pointer, depth)
            if isinstance(value, (list, tuple)):
                return self._array(value, pointer, depth)
            if isinstance(value, EnumMember):
                return self.write(value.value, pointer, depth + 1)
            if (
                isinstance(value, ExternalCall)
                and value.kwargs
                and not value.args
                and value.func.package in ("mcp", "mcp_types")
            ):
                return self._object(value.kwargs, pointer, depth)
            if isinstance(value, Instance) and value.attributes:
                return self._object(value.attributes, pointer, depth)
        self.unknown.add(pointer)
        return UNKNOWN

    def _object(self, value: dict[Any, Any], pointer: str, depth: int) -> dict[str, Any]:
        made = {}
        origins, doubtful, is_inexact = _about(value)
        for key, item in value.items():
            if not isinstance(key, str):
                continue
            if type(item) is str and key not in origins and key not in doubtful:
                made[key] = item  # the most frequent case
                continue
            below = f"{pointer}/{escape(key)}"
            if key in origins:
                module, key_node, _ = origins[key]
                self.locate(below, module, key_node)
            written = self.write(item, below, depth + 1)
            if written is not UNKNOWN:
                made[key] = written
            if key in doubtful:
                self.unknown.add(below)
        if is_inexact:
            self.unknown.add(pointer)
        return made

    def _array(self, value: list[Any] | tuple[Any, ...], pointer: str, depth: int) -> list[Any]:
        made: list[Any] = []
        doubtful = doubtful_positions(value)
        for index, item in enumerate(value):
            if index in doubtful:  # doubtful items are left out
                continue
            below = f"{pointer}/{len(made)}"
            node = value.node(index) if isinstance(value, SourceList) else None
            if node is not None and isinstance(value, SourceList) and value.module is not None:
                self.locate(below, value.module, node)
            written = self.write(item, below, depth + 1)
            if written is UNKNOWN:
                self.unknown.discard(below)
                self.unknown.add(pointer)
            else:
                made.append(written)
        if isinstance(value, SourceList) and (value.extent is not EXACT or doubtful):
            self.unknown.add(pointer)
        return made
