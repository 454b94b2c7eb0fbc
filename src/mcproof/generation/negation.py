"""The negation of a schema, as schemas that state what it allows."""

from __future__ import annotations

from itertools import combinations, islice
from typing import Any

from mcproof.generation.json_values import as_object, as_strings, is_number

_MAX_BRANCHES = 20
_SIMPLEST_TYPES = ("string", "integer", "number", "boolean", "array", "object", "null")
_NEGATED = frozenset({"type", "const", "enum", "required", "properties", "not", "anyOf", "oneOf", "allOf", "$ref"})
_CONDITION = frozenset({"if", "then", "else"})
_BOUNDS = frozenset({"maxLength", "minLength", "minimum", "maximum"})
_ANNOTATIONS = frozenset({"description", "title", "default", "examples", "$comment", "$defs", "definitions", "$schema"})


def excluded_values(schema: Any) -> list[Any] | None:
    """The values that `not` excludes; None unless the schema inside is a single `const` or `enum`."""
    if type(schema) is not dict or len(schema) != 1:
        return None
    if "const" in schema:
        return [schema["const"]]
    values = schema.get("enum")
    return values if type(values) is list else None


def negations(schema: dict[str, Any], target: Any) -> list[Any]:
    """Return schemas of which at least one holds for every value that `schema` rejects.

    `target` is the schema that its `$ref` refers to, if any. If a keyword cannot be negated, the last schema is `true`.
    """
    branches: list[Any] = []
    if "type" in schema:
        named = as_strings(schema["type"])
        branches.append({"type": [name for name in _SIMPLEST_TYPES if name not in _with_integer(named)]})
    branches += [{"not": {keyword: schema[keyword]}} for keyword in ("const", "enum") if keyword in schema]
    required = schema.get("required")
    if type(required) is list:
        branches += [{"properties": {name: False}} for name in required[:_MAX_BRANCHES] if type(name) is str]
    for name, subschema in islice(as_object(schema.get("properties")).items(), _MAX_BRANCHES):
        branches.append({"required": [name], "properties": {name: {"not": subschema}}})
    if "not" in schema:
        branches.append({"allOf": [schema["not"]]})
    branches += _negated_unions(schema)
    branches += _negated_bounds(schema)
    if "if" in schema:
        branches.append({"allOf": [schema["if"], {"not": schema.get("then", True)}]})
        branches.append({"allOf": [{"not": schema["if"]}, {"not": schema.get("else", True)}]})
    if target is not None:
        branches.append({"not": target})
    if not schema.keys() <= _NEGATED | _CONDITION | _BOUNDS | _ANNOTATIONS:
        branches.append(True)
    return branches


def _with_integer(types: list[str]) -> list[str]:
    return [*types, "integer"] if "number" in types else types


def _negated_unions(schema: dict[str, Any]) -> list[Any]:
    branches: list[Any] = []
    for keyword in ("anyOf", "oneOf"):
        if type(schema.get(keyword)) is list:
            branches.append({"allOf": [{"not": each} for each in schema[keyword]]})
    if type(schema.get("oneOf")) is list:
        branches += [{"allOf": list(pair)} for pair in islice(combinations(schema["oneOf"], 2), _MAX_BRANCHES)]
    if type(schema.get("allOf")) is list:
        branches += [{"not": each} for each in schema["allOf"][:_MAX_BRANCHES]]
    return branches


def _negated_bounds(schema: dict[str, Any]) -> list[Any]:
    branches: list[Any] = []
    if type(schema.get("maxLength")) is int:
        branches.append({"type": "string", "minLength": schema["maxLength"] + 1})
    if type(schema.get("minLength")) is int and schema["minLength"] > 0:
        branches.append({"type": "string", "maxLength": schema["minLength"] - 1})
    if is_number(schema.get("minimum")):
        branches.append({"type": "number", "exclusiveMaximum": schema["minimum"]})
    if is_number(schema.get("maximum")):
        branches.append({"type": "number", "exclusiveMinimum": schema["maximum"]})
    return branches
