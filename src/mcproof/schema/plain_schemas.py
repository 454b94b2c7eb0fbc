"""Tell schemas that are valid in every dialect from those that only a validator can judge.

The meta-schema of a dialect takes a library that is slow to load. Nearly all schemas of real servers use a few
keywords with values of the expected types, so a look at the types of their values is enough.
"""

from __future__ import annotations

from typing import Any, NamedTuple

TYPES = frozenset({"string", "number", "integer", "boolean", "object", "array", "null"})
COUNTS = frozenset({"minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"})
UNIONS = frozenset({"anyOf", "oneOf", "allOf"})
DEFINITIONS = frozenset({"$defs", "definitions"})

_TEXT, _NUMBER, _COUNT, _FLAG, _LIST, _OBJECT = (str,), (int, float), (int,), (bool,), (list,), (dict,)
_NEVER: tuple[type, ...] = ()
_TEXTS = frozenset({str})
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

_JUDGED_BY_VALUE = frozenset({"required", "enum"}) | COUNTS | UNIONS | DEFINITIONS
_WITH_SCHEMAS = frozenset({"properties", "items", "not", "additionalProperties"}) | UNIONS | DEFINITIONS
_MOST_SHAPES, _LARGEST_SHAPE = 5_000, 40


class _Shape(NamedTuple):
    """What to look at in schemas of the same type, with the same keywords and types of values."""

    by_value: tuple[str, ...]
    """The keywords whose values must be judged."""
    inside: tuple[str, ...]
    """The keywords with schemas inside."""


_known: dict[tuple[object, ...], _Shape | None] = {}
"""The shapes by type, keywords and types of values; None if a value is not usual."""
_SIMPLE = _Shape((), ())


def is_plainly_valid(schema: Any) -> bool:
    """Whether a schema is valid in every dialect, as far as a quick look can tell; if not, ask a validator."""
    known = _known
    schemas = [schema]
    for each in schemas:  # grows
        if type(each) is not dict:
            return False
        kind = each.get("type")
        signature = (kind if type(kind) is str else str(kind), *each, *map(type, each.values()))
        try:
            shape = known[signature]
        except KeyError:
            shape = _shape(each)
            if len(known) < _MOST_SHAPES and len(signature) <= _LARGEST_SHAPE and len(signature[0]) <= _LARGEST_SHAPE:
                known[signature] = shape
        if shape is _SIMPLE:
            continue
        if shape is None:
            return False
        for keyword in shape.by_value:
            if not _is_usual(keyword, each[keyword]):
                return False
        for keyword in shape.inside:
            value = each[keyword]
            if keyword == "properties" or keyword in DEFINITIONS:
                schemas += value.values()
            elif keyword in UNIONS:
                schemas += value
            else:
                schemas.append(value)
    return True


def _shape(schema: dict[str, Any]) -> _Shape | None:
    for keyword, value in schema.items():
        if type(value) not in VALUE_TYPES.get(keyword, (type(value),)):
            return None
    if "type" in schema and not _is_type(schema["type"]):
        return None
    inside = tuple(each for each in schema if each in _WITH_SCHEMAS and type(schema[each]) is not bool)
    by_value = tuple(each for each in schema if each in _JUDGED_BY_VALUE)
    return _Shape(by_value, inside) if by_value or inside else _SIMPLE


def _is_type(value: Any) -> bool:
    return value in TYPES if type(value) is str else TYPES.issuperset(distinct_texts(value) or ("",))


def _is_usual(keyword: str, value: Any) -> bool:
    """Whether every dialect accepts a value, which has one of the expected types."""
    if keyword == "required":
        return distinct_texts(value) is not None
    if keyword in COUNTS:
        return bool(value >= 0)
    return bool(value) or keyword in DEFINITIONS  # an empty union is invalid everywhere, an empty enum in draft-07


def distinct_texts(values: Any) -> set[str] | None:
    """The entries of a list of distinct texts; None if it is something else."""
    if type(values) is not list or not _TEXTS.issuperset(map(type, values)):
        return None
    names = set(values)
    return names if len(names) == len(values) else None
