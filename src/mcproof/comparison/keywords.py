"""The keywords of JSON Schema, by what they hold and what they do."""

from __future__ import annotations

SCHEMA_MAPS = frozenset({"properties", "patternProperties", "dependentSchemas", "dependencies"})
SCHEMA_LISTS = frozenset({"anyOf", "oneOf", "allOf", "prefixItems", "items"})
SINGLE_SCHEMAS = frozenset(
    {"items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames"}
    | {"additionalItems", "unevaluatedItems", "unevaluatedProperties"}
)
VALUE_KEYWORDS = frozenset(
    {"type", "enum", "const", "pattern", "multipleOf", "uniqueItems"}
    | {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength"}
    | {"minItems", "maxItems", "minProperties", "maxProperties"}
)
"""Keywords that speak of a value as a whole, without schemas for its parts."""
DYNAMIC = frozenset({"$dynamicRef", "$recursiveRef"})
ASSERTIONS = (
    SCHEMA_MAPS
    | SCHEMA_LISTS
    | SINGLE_SCHEMAS
    | VALUE_KEYWORDS
    | DYNAMIC
    | {"$ref", "format", "required", "dependentRequired", "minContains", "maxContains"}
)
"""Keywords that can refuse a value; all others are notes."""
