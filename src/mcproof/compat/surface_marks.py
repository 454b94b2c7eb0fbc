"""Marks that only constraints of clients need: names with a prefix, and sizes.

The marks of every tool are in `catalog.tool_marks`, those of its input schema in `schema.schema_marks`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.core.schema.keywords import ODD

if TYPE_CHECKING:
    from mcproof.core.catalog.model import Tool

LONG_NAME = "(long name)"
"""The name is too long for some client once the server's name is put before it."""
LARGE = "(large)"
"""The compact JSON of the input schema may exceed LARGE_BYTES."""

LONGEST_PLAIN_NAME = 56
"""The most characters of a tool's and a server's name together that are short enough for every client."""
LARGE_BYTES = 16_000


def marks_on(tool: Tool, server_key: str, needed: frozenset[str]) -> frozenset[str]:
    """Return those of the needed marks that a tool has; keywords of its input schema are marks, too."""
    tree = tool.tree
    found = needed & tool.marks
    more: list[str] = []
    if len(tool.name) + len(server_key) > LONGEST_PLAIN_NAME:
        more.append(LONG_NAME)
    if tree is None:
        more.append(ODD)
    else:
        found |= needed & tree.marks
    if tool.may_exceed(LARGE_BYTES):
        more.append(LARGE)
    return found.union(more) & needed if more else found
