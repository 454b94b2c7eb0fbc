"""Marks of a tool: everything unusual about its members, so that rules run only on tools that can break them.

The marks of its input schema are in `SchemaTree.marks`. Most tools of a server have the same members with values of the
same types, so what follows from those is examined once.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from mcproof.core.named_tuple import NamedTuple
from mcproof.core.schema.keywords import plain_look

if TYPE_CHECKING:
    from mcproof.core.catalog.model import Tool

NULL = "(null)"
"""A member is null."""
HYPHENATED = "(hyphen)"
"""The name has hyphens, between letters or digits."""
ODD_NAME = "(name)"
"""The name does not consist of ASCII letters and digits with single hyphens and underscores inside, or is too long.

Too long is more than LONGEST_NAME characters.
"""
NO_DESCRIPTION = "(no description)"
LONG_DESCRIPTION = "(long description)"
"""The description has more than 1,024 characters, or perhaps more than 2,048 bytes of UTF-8."""
ODD_ROOT = "(root)"
"""The input schema is not an object of type `object`."""
NO_PARAMETERS = "(no parameters)"
"""The input schema does not declare properties, or declares an empty or odd list of them."""
ODD_MEMBER = "(member)"
"""A member has another type than the protocol gives it, or there are icons."""
ODD_ANNOTATIONS = "(annotations)"
"""The annotations are not plain hints, or contradict each other."""
ODD_TITLE = "(title)"
"""The title is blank, or not the one of the annotations."""
UNKNOWN = "(unknown)"
"""There is a member that no revision of the protocol defines."""
ODD_OUTPUT = "(output)"
"""The output schema is not an object of type `object`, or not plainly valid."""
OUTPUT_REFERENCE = "(output reference)"
"""The output schema may have a reference."""
OUTPUT_EXTERNAL = "(external output reference)"
"""The output schema may have a reference to another document."""
OUTPUT_DIALECT = "(output dialect)"
"""The output schema declares its dialect."""

TOOL_MEMBERS = frozenset(
    {"name", "title", "description", "inputSchema", "outputSchema", "annotations", "execution", "icons", "_meta"}
)
ROOT_KEYWORDS = frozenset({"oneOf", "anyOf", "allOf", "not", "enum", "if", "then", "else"})
"""Keywords that are unusual at the root of an input schema."""
HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
LONGEST_NAME = 64
_LONG, _LONG_IN_BYTES = 1_024, 512
_PLAIN_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)*").fullmatch
_HYPHENATED_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:[-_][A-Za-z0-9]+)*").fullmatch
_MEMBER_TYPES: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("title", "description"), (str, type(None))),
    **dict.fromkeys(("annotations", "_meta"), (dict, type(None))),
    "name": (str,),
    "icons": (type(None),),
}
_MARKING = frozenset({"icons", "_meta"})
"""Members that are marks themselves."""
_BY_VALUE = frozenset({"annotations", "title", "execution", "outputSchema"})
_NO_TASKS = {"taskSupport": "forbidden"}
_MOST_SHAPES, _LONGEST_SHAPE = 500, 40


class _MemberShape(NamedTuple):
    """What follows from the members of a tool and the types of their values."""

    marks: frozenset[str]
    by_value: bool
    """Whether there are members whose values matter."""


_known: dict[tuple[Any, ...], _MemberShape] = {}


def root_mark(keyword: str) -> str:
    """The mark of a keyword at the root of an input schema, one of ROOT_KEYWORDS."""
    return f"(root) {keyword}"


def marks_of(tool: Tool) -> frozenset[str]:
    """Return the marks of a tool, without those of its input schema."""
    fields, name, description, schema = tool.fields, tool.name, tool.description, tool.schema
    signature = (*fields, *map(type, fields.values()))
    marks, by_value = _known.get(signature) or _shape(fields, signature)
    unusual = _by_value(fields) if by_value else []
    if len(name) > LONGEST_NAME:
        unusual.append(ODD_NAME)
    elif _PLAIN_NAME(name) is None:
        unusual.append(ODD_NAME if _HYPHENATED_NAME(name) is None else HYPHENATED)
    if len(description) > _LONG_IN_BYTES:
        if len(description) > _LONG or not description.isascii():
            unusual.append(LONG_DESCRIPTION)
    elif not description.strip():
        unusual.append(NO_DESCRIPTION)
    if schema is None:
        unusual += (ODD_ROOT, NO_PARAMETERS)
    else:
        if schema.get("type") != "object":
            unusual.append(ODD_ROOT)
        if not schema.get("properties") or type(schema["properties"]) is not dict:
            unusual.append(NO_PARAMETERS)
        if not ROOT_KEYWORDS.isdisjoint(schema):
            unusual += map(root_mark, ROOT_KEYWORDS & schema.keys())
    return marks.union(unusual) if unusual else marks


def _shape(fields: dict[str, Any], signature: tuple[Any, ...]) -> _MemberShape:
    marks = {each for each in fields if each in _MARKING}
    if not fields.keys() <= TOOL_MEMBERS:
        marks.add(UNKNOWN)
    if None in fields.values():
        marks.add(NULL)
    if "name" not in fields or any(_is_odd(*each) for each in fields.items()):
        marks.add(ODD_MEMBER)
    shape = _MemberShape(frozenset(marks), not _BY_VALUE.isdisjoint(fields))
    if len(_known) < _MOST_SHAPES and len(signature) <= _LONGEST_SHAPE and sum(map(len, fields)) <= 1_000:
        _known[signature] = shape
    return shape


def _is_odd(member: str, value: Any) -> bool:
    return member in _MEMBER_TYPES and type(value) not in _MEMBER_TYPES[member]


def _by_value(fields: dict[str, Any]) -> list[str]:
    marks: list[str] = []
    hints = fields.get("annotations")
    if type(hints) is not dict:
        hints = {}
    elif not _are_plain_hints(hints):
        marks += (ODD_ANNOTATIONS, ODD_MEMBER)
    title = fields.get("title")
    if type(title) is str and (title != hints.get("title", title) or not title.strip()):
        marks.append(ODD_TITLE)
    if "execution" in fields and fields["execution"] != _NO_TASKS:
        marks.append("execution")
    if "outputSchema" in fields:
        output = fields["outputSchema"]
        is_plain, has_reference, has_external = plain_look(output)
        if not is_plain or output.get("type") != "object":
            marks.append(ODD_OUTPUT)
        if has_reference:
            marks.append(OUTPUT_REFERENCE)
        if has_external:
            marks.append(OUTPUT_EXTERNAL)
        if type(output) is dict and "$schema" in output:
            marks.append(OUTPUT_DIALECT)
    return marks


def _are_plain_hints(hints: dict[str, Any]) -> bool:
    for key, value in hints.items():
        if type(value) is bool:
            if key not in HINTS:
                return False
        elif type(value) is not str or key != "title":
            return False
    return not (hints.get("readOnlyHint") and hints.get("destructiveHint"))
