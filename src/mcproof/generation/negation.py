"""The opposite of a schema, as schemas that say what they allow."""

from __future__ import annotations

from itertools import combinations, islice
from typing import Any

from mcproof.generation.value_rules import is_number, listed, mapping

_MOST_OPTIONS = 20
_PLAINEST = ("string", "integer", "number", "boolean", "array", "object", "null")
_TURNED = frozenset({"type", "const", "enum", "required", "properties", "not", "anyOf", "oneOf", "allOf", "$ref"})
_CONDITION = frozenset({"if", "then", "else"})
_BOUNDS = frozenset({"maxLength", "minLength", "minimum", "maximum"})
_NOTES = frozenset({"description", "title", "default", "examples", "$comment", "$defs", "definitions", "$schema"})


def excluded_values(schema: Any) -> list[Any] | None:
    """The values that `not` rules out, where the schema inside is nothing but a list of them."""
    if type(schema) is not dict or len(schema) != 1:
        return None
    if "const" in schema:
        return [schema["const"]]
    values = schema.get("enum")
    return values if type(values) is list else None


def opposites(schema: dict[str, Any], target: Any) -> list[Any]:
    """Schemas of which one holds where `schema` does not; the last admits all where not every keyword is turned.

    `target` is what the schema's `$ref` leads to, if it has one.
    """
    options: list[Any] = []
    if "type" in schema:
        named = listed(schema["type"])
        options.append({"type": [kind for kind in _PLAINEST if kind not in _with_integer(named)]})
    options += [{"not": {keyword: schema[keyword]}} for keyword in ("const", "enum") if keyword in schema]
    required = schema.get("required")
    if type(required) is list:
        options += [{"properties": {name: False}} for name in required[:_MOST_OPTIONS] if type(name) is str]
    for name, inner in islice(mapping(schema.get("properties")).items(), _MOST_OPTIONS):
        options.append({"required": [name], "properties": {name: {"not": inner}}})
    if "not" in schema:
        options.append({"allOf": [schema["not"]]})
    options += _opposite_unions(schema)
    options += _opposite_bounds(schema)
    if "if" in schema:
        options.append({"allOf": [schema["if"], {"not": schema.get("then", True)}]})
        options.append({"allOf": [{"not": schema["if"]}, {"not": schema.get("else", True)}]})
    if target is not None:
        options.append({"not": target})
    if not schema.keys() <= _TURNED | _CONDITION | _BOUNDS | _NOTES:
        options.append(True)
    return options


def _with_integer(kinds: list[str]) -> list[str]:
    return [*kinds, "integer"] if "number" in kinds else kinds


def _opposite_unions(schema: dict[str, Any]) -> list[Any]:
    options: list[Any] = []
    for keyword in ("anyOf", "oneOf"):
        if type(schema.get(keyword)) is list:
            options.append({"allOf": [{"not": each} for each in schema[keyword]]})
    if type(schema.get("oneOf")) is list:
        options += [{"allOf": list(pair)} for pair in islice(combinations(schema["oneOf"], 2), _MOST_OPTIONS)]
    if type(schema.get("allOf")) is list:
        options += [{"not": each} for each in schema["allOf"][:_MOST_OPTIONS]]
    return options


def _opposite_bounds(schema: dict[str, Any]) -> list[Any]:
    options: list[Any] = []
    if type(schema.get("maxLength")) is int:
        options.append({"type": "string", "minLength": schema["maxLength"] + 1})
    if type(schema.get("minLength")) is int and schema["minLength"] > 0:
        options.append({"type": "string", "maxLength": schema["minLength"] - 1})
    if is_number(schema.get("minimum")):
        options.append({"type": "number", "exclusiveMaximum": schema["minimum"]})
    if is_number(schema.get("maximum")):
        options.append({"type": "number", "exclusiveMinimum": schema["maximum"]})
    return options
