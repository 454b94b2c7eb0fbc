"""Where something is written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import ast

    from mcproof.discovery.interp.modules import Module


class Place(NamedTuple):
    """A place in a source file; lines and columns from one, columns in characters."""

    file: str
    line: int
    column: int
    end_column: int | None
    """The column after its last character; None where it goes on to another line."""


def place_of(module: Module, node: Any) -> Place | None:
    """Where a node stands."""
    line = getattr(node, "lineno", None)
    if line is None:
        return None
    text = module.line(line)
    column = _characters(text, node.col_offset)
    end = None
    if getattr(node, "end_lineno", None) == line:
        end = _characters(text, node.end_col_offset) + 1
    return Place(module.file, line, column + 1, end)


def name_place(module: Module, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Place | None:
    """Where the name of a function stands."""
    place = place_of(module, node)
    if place is None:
        return None
    text = module.line(place.line)
    start = text.find(node.name, place.column + 2)
    if start < 0:
        return place
    return Place(module.file, place.line, start + 1, start + 1 + len(node.name))


def _characters(line: str, offset: int) -> int:
    """How many characters the first `offset` UTF-8 bytes of a line are."""
    if line.isascii():
        return offset
    return len(line.encode("utf-8", "surrogatepass")[:offset].decode("utf-8", "replace"))
