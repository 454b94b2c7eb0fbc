"""Marks that only constraints of clients need: names with a prefix, sizes, output schemas.

The marks of every tool are in `catalog.tool_marks`, those of its input schema in `schema.schema_marks`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.catalog.tool_marks import OUTPUT
from mcproof.schema.schema_marks import ODD

if TYPE_CHECKING:
    from mcproof.catalog.model import Tool

LONG_NAME = "(long name)"
"""The name is too long for some client once the server's name is put before it."""
LARGE = "(large)"
"""The compact JSON of the input schema may exceed LARGE_BYTES."""
ODD_OUTPUT = "(odd output)"
"""The output schema is not an object of type `object`, or not plainly valid."""
OUTPUT_REFERENCE = "(output reference)"
"""The output schema may have a `$ref`."""
OUTPUT_DIALECT = "(output dialect)"
"""The output schema declares its dialect."""

LONGEST_PLAIN_NAME = 56
"""The most characters of a tool's and a server's name together that are short enough for every client."""
LARGE_BYTES = 16_000


def marks_on(tool: Tool, server_key: str, needed: frozenset[str]) -> frozenset[str]:
    """Return those of the needed marks that a tool has; keywords of its input schema are marks, too."""
    marks = tool.marks
    found = [each for each in marks if each in needed]
    if len(tool.name) + len(server_key) > LONGEST_PLAIN_NAME:
        found.append(LONG_NAME)
    if tool.tree is None:
        found.append(ODD)
    else:
        found += needed & tool.tree.marks
    if LARGE in needed and tool.may_exceed(LARGE_BYTES):
        found.append(LARGE)
    if OUTPUT in marks:
        output, look = tool.fields["outputSchema"], tool.output_look
        if not look.is_plain or output.get("type") != "object":
            found.append(ODD_OUTPUT)
        if look.has_reference:
            found.append(OUTPUT_REFERENCE)
        if type(output) is dict and "$schema" in output:
            found.append(OUTPUT_DIALECT)
    return frozenset(found)
