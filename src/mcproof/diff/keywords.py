"""The keywords of JSON Schema, by what they hold and what they do."""

from __future__ import annotations

from typing import Any

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
"""Keywords that can refuse a value, by the specification."""
NOTES = frozenset(
    {"title", "description", "default", "examples", "example", "deprecated", "readOnly", "writeOnly", "$comment"}
    | {"$schema", "$id", "id", "$anchor", "$dynamicAnchor", "$recursiveAnchor", "$vocabulary", "$defs", "definitions"}
    | {"enumNames", "enumDescriptions", "markdownDescription", "externalDocs", "discriminator"}
)
"""Keywords that refuse nothing: notes for people and agents, and what only names or keeps other schemas."""


def unknown(schema: dict[str, Any]) -> dict[str, Any]:
    """The members of a schema of which nobody can say whether they refuse a value: `nullable`, `contentEncoding`."""
    return {
        keyword: value
        for keyword, value in schema.items()
        if keyword not in ASSERTIONS and keyword not in NOTES and not keyword.startswith("x-")
    }
