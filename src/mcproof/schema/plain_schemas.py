"""Tell schemas that are valid in every dialect from those that only a validator can judge.

The meta-schema of a dialect takes a library that is slow to load. Nearly all schemas of real servers use a few
keywords with values of the expected types, so a look at the types of their values is enough.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcproof.schema.tree import SchemaNode

TYPES = frozenset({"string", "number", "integer", "boolean", "object", "array", "null"})
COUNTS = frozenset({"minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"})
UNIONS = frozenset({"anyOf", "oneOf", "allOf"})
DEFINITIONS = frozenset({"$defs", "definitions"})

_TEXT, _NUMBER, _COUNT, _FLAG, _LIST, _OBJECT = (str,), (int, float), (int,), (bool,), (list,), (dict,)
_NEVER: tuple[type, ...] = ()
VALUE_TYPES: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("title", "description", "$schema", "$ref", "$comment", "format", "pattern"), _TEXT),
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), _NUMBER),
    **dict.fromkeys(COUNTS, _COUNT),
    **dict.fromkeys(("uniqueItems", "readOnly", "writeOnly", "deprecated"), _FLAG),
    **dict.fromkeys(("examples", "enum", *UNIONS, "required"), _LIST),
    **dict.fromkeys(("properties", *DEFINITIONS, "items", "not"), _OBJECT),
    "type": (str, list),
    "additionalProperties": (dict, bool),
    **dict.fromkeys(("$id", "id", "$anchor", "$dynamicAnchor", "$dynamicRef", "$recursiveRef"), _NEVER),
    **dict.fromkeys(("$recursiveAnchor", "$vocabulary", "multipleOf", "contentSchema"), _NEVER),
    **dict.fromkeys(("dependencies", "dependentSchemas", "dependentRequired", "patternProperties"), _NEVER),
    **dict.fromkeys(("additionalItems", "unevaluatedItems", "unevaluatedProperties", "prefixItems"), _NEVER),
    **dict.fromkeys(("contains", "minContains", "maxContains", "propertyNames", "if", "then", "else"), _NEVER),
    **dict.fromkeys(("contentEncoding", "contentMediaType"), _NEVER),
}
"""The types of values that every dialect accepts for a keyword; other keywords accept anything."""

_JUDGED_BY_VALUE = frozenset({"type", "required", "enum"}) | COUNTS | UNIONS | DEFINITIONS
_MOST_SHAPES, _LARGEST_SHAPE = 5_000, 40
_known: dict[tuple[object, ...], tuple[str, ...] | None] = {}
"""For each combination of keywords and types of values, the keywords to judge by value; None if a type is wrong."""


def are_plainly_valid(nodes: Iterable[SchemaNode]) -> bool:
    """Whether schemas are valid in every dialect, as far as a quick look can tell; if not, ask a validator."""
    known = _known
    for node in nodes:
        schema = node.schema
        if type(schema) is not dict:
            return False
        shape = (*schema, *map(type, schema.values()))
        try:
            by_value = known[shape]
        except KeyError:
            by_value = _by_value(schema)
            if len(known) < _MOST_SHAPES and len(shape) <= _LARGEST_SHAPE:
                known[shape] = by_value
        if by_value is None:
            return False
        for keyword in by_value:
            if not _is_usual(keyword, schema[keyword]):
                return False
    return True


def _by_value(schema: dict[str, Any]) -> tuple[str, ...] | None:
    for keyword, value in schema.items():
        if type(value) not in VALUE_TYPES.get(keyword, (type(value),)):
            return None
    return tuple(keyword for keyword in schema if keyword in _JUDGED_BY_VALUE)


def _is_usual(keyword: str, value: Any) -> bool:
    """Whether every dialect accepts a value, which has one of the expected types."""
    if keyword == "type":
        return value in TYPES if type(value) is str else TYPES.issuperset(distinct_texts(value) or ("",))
    if keyword == "required":
        return distinct_texts(value) is not None
    if keyword in COUNTS:
        return bool(value >= 0)
    if keyword == "enum":
        return bool(value)  # draft-07 wants a value; newer ones accept none
    if keyword in UNIONS:
        return bool(value) and all(type(each) is dict for each in value)
    return all(type(each) is dict for each in value.values())


def distinct_texts(values: Any) -> set[str] | None:
    """The entries of a list of distinct texts; None if it is something else."""
    if type(values) is not list or not all(type(each) is str for each in values):
        return None
    names = set(values)
    return names if len(names) == len(values) else None
