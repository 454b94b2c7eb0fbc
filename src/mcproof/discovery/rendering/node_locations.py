"""Locations of syntax nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcproof.core.observations.source import SourceLocation

if TYPE_CHECKING:
    import ast

    from mcproof.discovery.interp.modules import Module


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
