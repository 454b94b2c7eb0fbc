"""Locations of an item: its name, its texts, its parameters, and the lines where a comment applies to it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from mcproof.core.text.json_positions import escape
from mcproof.discovery.rendering.node_locations import location_of, name_location

if TYPE_CHECKING:
    from mcproof.discovery.frameworks.servers import RegisteredItem
    from mcproof.discovery.interp.modules import Module
    from mcproof.discovery.rendering.json_writer import JsonWriter

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


def continued(item: RegisteredItem) -> dict[tuple[str, int], int]:
    """The further lines of parameters, docstring and keyword arguments, with the line that each starts on."""
    spans: list[tuple[str, int, int, int]] = []
    if item.function is not None:
        function = item.function.exposed()
        spans += [(function.module.file, *span) for span in _spans_of(function.node)]
    elif item.module is not None and isinstance(item.node, ast.Call):
        spans += [
            (item.module.file, each.lineno, each.value.lineno, each.value.end_lineno or each.lineno)
            for each in item.node.keywords
        ]
    lines: dict[tuple[str, int], int] = {}
    for file, first, begins, last in spans:
        for line in range(first, min(last, first + MOST_LINES) + 1):
            if line != begins:
                lines.setdefault((file, line), begins)
    return lines


def _spans_of(node: Any) -> list[tuple[int, int, int]]:
    """First line, first line and last line of each parameter and of the docstring."""
    spec: ast.arguments = node.args
    positional = [*spec.posonlyargs, *spec.args]
    missing = [None] * (len(positional) - len(spec.defaults))
    parameters = [
        *zip(positional, [*missing, *spec.defaults], strict=True),
        *zip(spec.kwonlyargs, spec.kw_defaults, strict=True),
    ]
    spans = [
        (parameter.lineno, parameter.lineno, (default or parameter).end_lineno or parameter.lineno)
        for parameter, default in parameters
    ]
    docstring: Any = None if isinstance(node, ast.Lambda) else _docstring_node(node)
    return spans if docstring is None else [*spans, (docstring.lineno, docstring.lineno, docstring.end_lineno)]
