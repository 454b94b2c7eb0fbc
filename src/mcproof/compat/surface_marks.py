"""A quick survey of a tool, so that only the constraints it can break are checked.

Most tools break none of hundreds of constraints. One pass over the schema collects its keywords and marks for
everything unusual; a constraint names the marks without which it cannot be broken.
"""

from __future__ import annotations

import marshal
import re
from typing import TYPE_CHECKING, Any

from mcproof.schema.plain_schemas import COUNTS, DEFINITIONS, TYPES, UNIONS, VALUE_TYPES, distinct_texts

if TYPE_CHECKING:
    from mcproof.catalog.model import Tool
    from mcproof.schema.tree import SchemaNode

ODD = "(odd)"
"""A value is not what JSON Schema expects there, or is too unusual to tell; without it, every dialect accepts it."""
UNTYPED = "(untyped)"
"""A property, an element or a branch of a union has neither `type`, `$ref` nor `anyOf`."""
TYPE_LIST = "(type list)"
BARE_ARRAY = "(bare array)"
"""An array has no `items`."""
ODD_ROOT = "(root)"
"""The root is not `type: object` with `properties`."""
ODD_KEY = "(key)"
"""The name of a property is not an identifier of at most 64 ASCII characters."""
UNDECLARED = "(undeclared)"
"""`required` names something that is not declared beside it."""
ODD_NAME = "(name)"
"""The name is not an identifier that starts with a letter, has no double underscores, and is short with its prefix."""
NO_DESCRIPTION = "(no description)"
LONG_DESCRIPTION = "(long description)"
"""The description has more than 500 characters."""
OUTPUT = "(output)"
"""There is an output schema."""
OUTPUT_REFERENCE = "(output reference)"
"""The output schema may have a `$ref`."""
MEMBERS = "(members)"
"""There is a null, a member that is neither name, description nor schema, or a name or description that is not text."""

PLAIN_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)*")
LONGEST_PLAIN_NAME = 56
"""The most characters of a tool's and a server's name together that are short enough for every client."""
_LONG = 500
_LONGEST_KEY = 64
_USUAL_MEMBERS = frozenset({"name", "description", "inputSchema"})
_ELEMENTS = frozenset({"properties", "items", "prefixItems", "anyOf", "oneOf"})


def marks_of(tool: Tool, server_key: str) -> frozenset[str]:
    """Return the keywords of a tool's input schema, and marks for what is unusual about the tool."""
    marks: set[str] = set()
    _survey_members(tool, server_key, marks)
    tree = tool.tree
    if tree is None:
        marks.update((ODD, ODD_ROOT))
        return frozenset(marks)
    root = tree.root
    if root.get("type") != "object" or type(root.get("properties")) is not dict:
        marks.add(ODD_ROOT)
    value_types = VALUE_TYPES
    for node in tree.nodes:
        schema = node.schema
        if type(schema) is not dict:
            marks.update((ODD, UNTYPED))
            continue
        marks.update(schema)
        for keyword, value in schema.items():
            expected = value_types.get(keyword)
            if expected is not None and type(value) not in expected:
                marks.add(ODD)
        kind = schema.get("type")
        if type(kind) is str:
            if kind not in TYPES:
                marks.add(ODD)
            elif kind == "array" and "items" not in schema:
                marks.add(BARE_ARRAY)
        elif kind is None:
            if "$ref" not in schema and "anyOf" not in schema and node.step and node.step[0] in _ELEMENTS:
                marks.add(UNTYPED)
        else:
            marks.update((TYPE_LIST, ODD))
        declared = schema.get("properties")
        if type(declared) is dict:
            for name in declared:
                if not (name.isidentifier() and name.isascii() and len(name) <= _LONGEST_KEY):
                    marks.add(ODD_KEY)
        if "required" in schema:
            _survey_required(schema["required"], declared or {}, marks)
    if not marks.isdisjoint(_LESS_SIMPLE):
        _survey_values(tree.nodes, marks)
    return frozenset(marks)


_LESS_SIMPLE = COUNTS | UNIONS | DEFINITIONS


def _survey_members(tool: Tool, server_key: str, marks: set[str]) -> None:
    fields, name, description = tool.fields, tool.name, tool.description
    if len(name) + len(server_key) > LONGEST_PLAIN_NAME or PLAIN_NAME.fullmatch(name) is None:
        marks.add(ODD_NAME)
    if len(description) > _LONG:
        marks.add(LONG_DESCRIPTION)
    elif not description.strip():
        marks.add(NO_DESCRIPTION)
    if "outputSchema" in fields:
        marks.add(OUTPUT)
        if may_have_reference(fields["outputSchema"]):
            marks.add(OUTPUT_REFERENCE)
    texts = fields.get("name"), fields.get("description", "")
    if not fields.keys() <= _USUAL_MEMBERS or not all(type(each) is str for each in texts) or None in fields.values():
        marks.add(MEMBERS)


def _survey_required(required: Any, declared: Any, marks: set[str]) -> None:
    names = distinct_texts(required)
    if names is None:
        marks.add(ODD)
    elif not names.issubset(declared):
        marks.add(UNDECLARED)


def may_have_reference(schema: Any) -> bool:
    """Whether a schema may have a `$ref`: whether the word occurs in it."""
    try:
        return b"$ref" in marshal.dumps(schema, 4)
    except ValueError:  # too deep for marshal
        return True


def _survey_values(nodes: list[SchemaNode], marks: set[str]) -> None:
    """Mark what the types of values do not show: negative counts, empty unions, values that are not schemas."""
    for node in nodes:
        schema = node.schema
        if type(schema) is not dict or ODD in marks:
            continue
        for keyword, value in schema.items():
            if keyword in COUNTS:
                is_usual = type(value) is int and value >= 0
            elif keyword in UNIONS:
                is_usual = type(value) is list and bool(value) and all(type(each) is dict for each in value)
            else:
                is_usual = keyword not in DEFINITIONS or all(type(each) is dict for each in value.values())
            if not is_usual:
                marks.add(ODD)
