"""The keywords of JSON Schema, grouped by their values and by their effect."""

from __future__ import annotations

from typing import Any

from mcproof.schema.acceptance import ANNOTATIONS

SCHEMA_MAPS = frozenset({"properties", "patternProperties", "dependentSchemas", "dependencies"})
SCHEMA_LISTS = frozenset({"anyOf", "oneOf", "allOf", "prefixItems", "items"})
SINGLE_SCHEMAS = frozenset(
    {"items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames"}
    | {"additionalItems", "unevaluatedItems", "unevaluatedProperties"}
)
ALTERNATIVES = ("anyOf", "oneOf")
IN_PLACE_APPLICATORS = frozenset(
    {"anyOf", "oneOf", "allOf", "if", "then", "else", "not", "dependentSchemas", "dependencies", "$ref"}
)
"""Keywords that apply other schemas to the same value."""
VALUE_KEYWORDS = frozenset(
    {"type", "enum", "const", "pattern", "multipleOf", "uniqueItems"}
    | {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength"}
    | {"minItems", "maxItems", "minProperties", "maxProperties"}
)
"""Keywords that constrain a value without subschemas."""
DYNAMIC = frozenset({"$dynamicRef", "$recursiveRef"})
ASSERTIONS = (
    SCHEMA_MAPS
    | SCHEMA_LISTS
    | SINGLE_SCHEMAS
    | VALUE_KEYWORDS
    | DYNAMIC
    | {"$ref", "format", "required", "dependentRequired", "minContains", "maxContains"}
)
"""Keywords that can reject a value, according to the specification."""


def assertions(schema: dict[str, Any]) -> list[str]:
    """The keywords of a schema that can reject a value."""
    return [keyword for keyword in schema if keyword in ASSERTIONS]


def unknown_keywords(schema: dict[str, Any]) -> dict[str, Any]:
    """The members of a schema that may or may not reject a value: `nullable`, `contentEncoding`."""
    return {
        keyword: value
        for keyword, value in schema.items()
        if keyword not in ASSERTIONS and keyword not in ANNOTATIONS and not keyword.startswith("x-")
    }


def has_in_place_applicator(schema: dict[str, Any]) -> bool:
    """Whether a schema applies other schemas to the same value."""
    return not IN_PLACE_APPLICATORS.isdisjoint(schema)


def is_union(schema: Any) -> bool:
    """Whether the only assertion of a schema is `anyOf` or `oneOf`."""
    if type(schema) is not dict:
        return False
    keywords = assertions(schema)
    return len(keywords) == 1 and keywords[0] in ALTERNATIVES and isinstance(schema[keywords[0]], list)
