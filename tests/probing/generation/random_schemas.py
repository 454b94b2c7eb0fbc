"""Random input schemas with every keyword that generation supports, in two dialects."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

DRAFT_07 = "http://json-schema.org/draft-07/schema#"
DRAFT_2020 = "https://json-schema.org/draft/2020-12/schema"
NAMES = ("a", "b", "c/~", "ü")
PATTERNS = ("^[a-z]+$", "\\d{2}", "^(x|yy)?z$", "^a", "[^b]", "^\\w{2,4}$")
FORMATS = ("date", "date-time", "uuid", "uri", "email", "ipv4", "hostname", "duration", "no-such-format")
VALUES: tuple[Any, ...] = ("x", "ab", "", 1, 0, -3, 2.5, True, None, [], ["x"], {}, {"a": 1})

_some_names = st.lists(st.sampled_from(NAMES), max_size=3, unique=True)
_some_values = st.lists(st.sampled_from(VALUES), min_size=1, max_size=4)
_small = st.integers(0, 4)


@st.composite
def input_schemas(draw: st.DrawFn) -> dict[str, Any]:
    """A schema for the arguments of a tool; some allow no arguments at all."""
    is_old = draw(st.booleans())
    schema = _object(draw, 3, is_old)
    if is_old or draw(st.booleans()):
        schema["$schema"] = DRAFT_07 if is_old else DRAFT_2020
    schema["definitions" if is_old else "$defs"] = {name: _schema(draw, 1, is_old) for name in ("one", "two")}
    return schema


def _schema(draw: st.DrawFn, depth: int, is_old: bool) -> Any:
    kinds = ["string", "number", "integer", "plain", "values", "reference", "boolean"]
    if depth > 0:
        kinds += ["object", "object", "array", "array", "combined", "combined"]
    kind = draw(st.sampled_from(kinds))
    if kind == "string":
        return _string(draw)
    if kind in ("number", "integer"):
        return _number(draw, kind)
    if kind == "object":
        return _object(draw, depth, is_old)
    if kind == "array":
        return _array(draw, depth, is_old)
    if kind == "combined":
        return _combined(draw, {}, depth, is_old)
    if kind == "values":
        return draw(st.one_of(_some_values.map(lambda values: {"enum": values}), st.builds(_const, _some_values)))
    if kind == "reference":
        part = draw(st.sampled_from(("one", "two")))
        return {"$ref": f"#/{'definitions' if is_old else '$defs'}/{part}"}
    if kind == "boolean":
        return draw(st.sampled_from((True, True, {"type": "boolean"}, False)))
    types = draw(st.lists(st.sampled_from(("string", "null", "integer", "array", "boolean")), min_size=1, unique=True))
    return draw(st.sampled_from(({}, {"type": types}, {"type": "null"}, {"default": "x"}, {"examples": [1]})))


def _const(values: list[Any]) -> dict[str, Any]:
    return {"const": values[0]}


def _string(draw: st.DrawFn) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    extra = draw(st.sampled_from(("", "", "length", "pattern", "format")))
    if extra == "length":
        schema["minLength"] = draw(_small)
        if draw(st.booleans()):
            schema["maxLength"] = schema["minLength"] + draw(_small)
    elif extra == "pattern":
        schema["pattern"] = draw(st.sampled_from(PATTERNS))
    elif extra == "format":
        schema["format"] = draw(st.sampled_from(FORMATS))
    return schema


def _number(draw: st.DrawFn, kind: str) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": kind}
    low = draw(st.sampled_from((None, -5, 0, 1, 2.5, 100)))
    if low is not None:
        schema[draw(st.sampled_from(("minimum", "exclusiveMinimum")))] = low
    if draw(st.booleans()):
        schema[draw(st.sampled_from(("maximum", "exclusiveMaximum")))] = (low or 0) + draw(st.sampled_from((1, 4, 9.5)))
    if draw(st.integers(0, 4)) == 0:
        schema["multipleOf"] = draw(st.sampled_from((2, 3, 0.5)))
    return schema


def _object(draw: st.DrawFn, depth: int, is_old: bool) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object"}
    schema["properties"] = {name: _schema(draw, depth - 1, is_old) for name in draw(_some_names)}
    schema["required"] = draw(_some_names)
    extras = draw(st.lists(st.integers(0, 7), max_size=2, unique=True))
    if 0 in extras:
        schema["additionalProperties"] = _schema(draw, 0, is_old)
    if 1 in extras:
        schema["patternProperties"] = {"^[a-c]": _schema(draw, 0, is_old)}
    if 2 in extras:
        schema["minProperties"] = draw(_small)
    if 3 in extras:
        schema["maxProperties"] = draw(_small)
    if 4 in extras:
        schema["propertyNames"] = draw(st.sampled_from(({"maxLength": 3}, {"pattern": "^[a-z]"})))
    if 5 in extras:
        schema["dependencies" if is_old else "dependentRequired"] = {"a": ["b"]}
    if 6 in extras:
        schema["dependencies" if is_old else "dependentSchemas"] = {"b": _schema(draw, 0, is_old)}
    return _combined(draw, schema, depth, is_old) if draw(st.integers(0, 3)) == 0 else schema


def _array(draw: st.DrawFn, depth: int, is_old: bool) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "array"}
    first = [_schema(draw, depth - 1, is_old) for _ in range(draw(st.sampled_from((0, 0, 1, 2))))]
    rest = _schema(draw, depth - 1, is_old)
    if first and is_old:
        schema |= {"items": first, "additionalItems": rest}
    elif first:
        schema |= {"prefixItems": first, "items": rest}
    else:
        schema["items"] = rest
    if draw(st.booleans()):
        schema["minItems"] = draw(_small)
    if draw(st.integers(0, 3)) == 0:
        schema["maxItems"] = schema.get("minItems", 0) + draw(_small)
    if draw(st.integers(0, 4)) == 0:
        schema["uniqueItems"] = True
    if draw(st.integers(0, 5)) == 0:
        schema["contains"] = _schema(draw, 0, is_old)
    return schema


def _combined(draw: st.DrawFn, schema: dict[str, Any], depth: int, is_old: bool) -> dict[str, Any]:
    kind = draw(st.sampled_from(("anyOf", "anyOf", "oneOf", "allOf", "not", "if")))
    if kind == "not":
        schema["not"] = _schema(draw, depth - 1, is_old)
    elif kind == "if":
        schema["if"] = _schema(draw, depth - 1, is_old)
        for part in draw(st.sampled_from((("then",), ("else",), ("then", "else")))):
            schema[part] = _schema(draw, depth - 1, is_old)
    else:
        schema[kind] = [_schema(draw, depth - 1, is_old) for _ in range(draw(st.integers(1, 3)))]
    return schema
