"""Values as JSON, with the location of each part in the source.

Unknown parts are left out and recorded, so that no finding is about a guess.
Why an unknown part is silent: docs/decisions/0025-unknown-is-silent.md.
"""

from __future__ import annotations

import ast
import math
from typing import TYPE_CHECKING, Any

from mcproof.core.observations.source import SourceLocation
from mcproof.core.text.json_positions import escape
from mcproof.source.python.interp.containers import EXACT, SourceDict, SourceList, default_of, doubtful_positions
from mcproof.source.python.interp.operators import unwrapped
from mcproof.source.python.interp.values import UNKNOWN, EnumMember, ExternalCall, Instance, declared_parameters

if TYPE_CHECKING:
    from mcproof.source.python.frameworks.servers import RegisteredItem
    from mcproof.source.python.interp.interpreter import Interpreter
    from mcproof.source.python.interp.modules import Module


def location_of(module: Module, node: Any) -> SourceLocation | None:
    """The location of a node; None if it has none."""
    line = getattr(node, "lineno", None)
    if line is None:
        return None
    text = module.line(line)
    column = _characters(text, node.col_offset)
    end = None
    if getattr(node, "end_lineno", None) == line:
        end = _characters(text, node.end_col_offset) + 1
    return SourceLocation(module.file, line, column + 1, end)


def name_location(module: Module, node: ast.FunctionDef | ast.AsyncFunctionDef) -> SourceLocation | None:
    """The location of a function's name."""
    location = location_of(module, node)
    if location is None:
        return None
    text = module.line(location.line)
    start = text.find(node.name, location.column + 2)
    if start < 0:
        return location
    return SourceLocation(module.file, location.line, start + 1, start + 1 + len(node.name))


def _characters(line: str, offset: int) -> int:
    """The number of characters in the first `offset` UTF-8 bytes of a line."""
    if line.isascii():
        return offset
    return len(line.encode("utf-8", "surrogatepass")[:offset].decode("utf-8", "replace"))


MOST_LINES = 2_000
"""The maximum number of lines of one parameter or text."""


def locate(item: RegisteredItem, writer: JsonWriter) -> None:
    """Record the locations of an item, its name and its description."""
    function = item.function.exposed() if item.function is not None else None
    module: Module | None = item.module
    if module is not None and item.node is not None:
        writer.locate("", module, item.node)
    named_at = item.nodes.get("name") or _first_string(item.node) or item.node
    writer.locate_value("/name", item.given.get("name"), module, named_at)
    if function is not None and not isinstance(function.node, ast.Lambda):
        named = name_location(function.module, function.node)
        if named is not None:
            writer.locations.setdefault("", named)
            writer.locations["/inputSchema"] = named
            if item.given.get("name") is None:
                writer.locations["/name"] = named
            writer.locations.setdefault("/description", named)
        docstring = _docstring_node(function.node)
        if docstring is not None:
            writer.locate("/description", function.module, docstring)
    for key in ("description", "title"):
        if item.given.get(key) is not None:
            writer.locate_value(f"/{key}", item.given[key], module, item.nodes.get(key))


def use_own_location(item: RegisteredItem, writer: JsonWriter) -> None:
    """Locate an item that shares its line with others, as in a loop, by its own function or name."""
    function = item.function.exposed() if item.function is not None else None
    if function is not None and not isinstance(function.node, ast.Lambda):
        own = name_location(function.module, function.node)
    else:
        own = writer.locations.get("/name")
    if own is not None:
        writer.locations[""] = own


def _first_string(node: ast.AST | None) -> ast.AST | None:
    if isinstance(node, ast.Call) and node.args:
        first = node.args[0]
        if isinstance(first, ast.Constant) and isinstance(first.value, str):
            return first
    return None


def _docstring_node(node: Any) -> ast.AST | None:
    first = node.body[0] if node.body else None
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
        return first.value
    return None


def locate_parameters(item: RegisteredItem, parameters: dict[str, ast.arg], writer: JsonWriter) -> None:
    if item.function is None:
        return
    module = item.function.exposed().module
    for name, node in parameters.items():
        location = location_of(module, node)
        if location is not None:
            end = location.column + len(node.arg)
            writer.locations[f"/inputSchema/properties/{escape(name)}"] = location._replace(end_column=end)


def lines(item: RegisteredItem) -> tuple[tuple[str, int], ...]:
    """File and line of the decorator or constructor, and of the header of the function."""
    lines: set[tuple[str, int]] = set()
    function = item.function.exposed() if item.function is not None else None
    node: Any = item.node
    if item.module is not None and node is not None and hasattr(node, "lineno"):
        last = node.lineno if function is None else node.end_lineno
        lines.update((item.module.file, line) for line in range(node.lineno, last + 1))
    if function is not None:
        file, head = function.module.file, function.node
        first_body = head.body[0].lineno if isinstance(head.body, list) and head.body else head.lineno + 1
        lines.update((file, line) for line in range(head.lineno, max(first_body, head.lineno + 1)))
        for decorator in getattr(head, "decorator_list", ()):
            lines.update((file, line) for line in range(decorator.lineno, decorator.end_lineno + 1))
    return tuple(sorted(lines))


def continuation_lines(item: RegisteredItem) -> dict[tuple[str, int], int]:
    """The further lines of parameters, docstring and keyword arguments, with the line that each starts on."""
    spans: list[tuple[str, int, int, int]] = []
    if item.function is not None:
        function = item.function.exposed()
        spans += [(function.module.file, *span) for span in _spans_of(function.node)]
    elif item.module is not None and isinstance(item.node, ast.Call):
        spans += [
            (item.module.file, keyword.lineno, keyword.value.lineno, keyword.value.end_lineno or keyword.lineno)
            for keyword in item.node.keywords
        ]
    lines: dict[tuple[str, int], int] = {}
    for file, first, begins, last in spans:
        for line in range(first, min(last, first + MOST_LINES) + 1):
            if line != begins:
                lines.setdefault((file, line), begins)
    return lines


def _spans_of(node: Any) -> list[tuple[int, int, int]]:
    """First line, first line and last line of each parameter and of the docstring."""
    spans = [
        (parameter.lineno, parameter.lineno, (default or parameter).end_lineno or parameter.lineno)
        for parameter, default in declared_parameters(node.args)
    ]
    docstring: Any = None if isinstance(node, ast.Lambda) else _docstring_node(node)
    return spans if docstring is None else [*spans, (docstring.lineno, docstring.lineno, docstring.end_lineno)]


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
        self.run.budget.charge(COST_OF_WRITING * size)  # data that contains itself twice doubles at every level
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
        members: dict[str, Any] = {}
        origins, doubtful, is_inexact = _about(value)
        for key, item in value.items():
            if not isinstance(key, str):
                continue
            if type(item) is str and key not in origins and key not in doubtful:
                members[key] = item  # the most frequent case
                continue
            below = f"{pointer}/{escape(key)}"
            if key in origins:
                module, key_node, _ = origins[key]
                self.locate(below, module, key_node)
            written = self.write(item, below, depth + 1)
            if written is not UNKNOWN:
                members[key] = written
            elif pointer.endswith("/properties"):
                members[key] = {}  # it exists, so what requires it is right
            if key in doubtful:
                self.unknown.add(below)
        if is_inexact:
            self.unknown.add(pointer)
        return members

    def _array(self, value: list[Any] | tuple[Any, ...], pointer: str, depth: int) -> list[Any]:
        items: list[Any] = []
        doubtful = doubtful_positions(value)
        for index, item in enumerate(value):
            if index in doubtful:  # what may be missing must not be judged as if it were there
                continue
            below = f"{pointer}/{len(items)}"
            node = value.node(index) if isinstance(value, SourceList) else None
            if node is not None and isinstance(value, SourceList) and value.module is not None:
                self.locate(below, value.module, node)
            written = self.write(item, below, depth + 1)
            if written is UNKNOWN:
                self.unknown.discard(below)
                self.unknown.add(pointer)
            else:
                items.append(written)
        if isinstance(value, SourceList) and (value.extent is not EXACT or doubtful):
            self.unknown.add(pointer)
        return items
