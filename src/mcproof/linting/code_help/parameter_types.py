"""Types of parameters in the words of a framework: Python annotations, zod schemas, members of a literal schema."""

from __future__ import annotations

import json
from typing import Any

TEXT_SIZE, LIST_SIZE = 200, 50
"""The sizes in snippets: examples, because only the author knows the right ones."""
_DEEPEST = 4
_MOST_VALUES = 5
_LONGEST_MEMBERS = 60
_PYTHON_TYPES = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
_ZOD = {
    "string": "z.string()",
    "integer": "z.number().int()",
    "number": "z.number()",
    "boolean": "z.boolean()",
    "null": "z.null()",
}


def python_type(schema: Any, *, bounded: bool = False, depth: int = 0) -> str:
    """Return the annotation whose schema this is; with `bounded`, strings and lists have a size limit."""
    if not isinstance(schema, dict) or depth > _DEEPEST:
        return "Any"
    if isinstance(reference := schema.get("$ref"), str):
        return _class_name(reference.rpartition("/")[2]) or "Any"
    if "enum" in schema or "const" in schema:
        return f"Literal[{', '.join(map(python_value, _values(schema))) or '...'}]"
    if parts := _union(schema):
        types = dict.fromkeys(python_type(each, bounded=bounded, depth=depth + 1) for each in parts)
        return " | ".join(types)
    kind = schema.get("type")
    if kind == "array":
        items = schema.get("items")
        inner = f"list[{python_type(items, depth=depth + 1)}]" if isinstance(items, dict) and items else "list"
        return _sized(inner, LIST_SIZE) if bounded and "maxItems" not in schema else inner
    if kind == "object":
        return _class_name(schema.get("title")) or "Model" if "properties" in schema else _mapping(schema, depth)
    name = _PYTHON_TYPES.get(kind, "Any") if isinstance(kind, str) else "Any"
    return _sized(name, TEXT_SIZE) if bounded and kind == "string" and "maxLength" not in schema else name


def _sized(annotation: str, size: int) -> str:
    return f"Annotated[{annotation}, Field(max_length={size})]"


def _class_name(name: Any) -> str:
    return name if isinstance(name, str) and name.isidentifier() and name.isascii() and len(name) <= 64 else ""


def _mapping(schema: dict[str, Any], depth: int) -> str:
    values = schema.get("additionalProperties")
    return f"dict[str, {python_type(values, depth=depth + 1)}]" if isinstance(values, dict) and values else "dict"


def zod_type(schema: Any, *, bounded: bool = False, depth: int = 0) -> str:
    """Return the zod schema whose JSON Schema this is."""
    if not isinstance(schema, dict) or depth > _DEEPEST:
        return "z.any()"
    if "enum" in schema or "const" in schema:
        values = [each for each in _values(schema) if isinstance(each, str)]
        listed = ", ".join(json.dumps(each, ensure_ascii=False) for each in values) or "…"
        return f"z.literal({listed})" if "const" in schema else f"z.enum([{listed}])"
    if parts := _union(schema):
        types = list(dict.fromkeys(zod_type(each, bounded=bounded, depth=depth + 1) for each in parts))
        others = [each for each in types if each != "z.null()"]
        inner = others[0] if len(others) == 1 else f"z.union([{', '.join(others)}])"
        return f"{inner}.nullable()" if len(others) < len(types) else inner
    kind = schema.get("type")
    if kind == "array":
        limit = f".max({LIST_SIZE})" if bounded and "maxItems" not in schema else ""
        return f"z.array({zod_type(schema.get('items'), depth=depth + 1)}){limit}"
    if kind == "object":
        return "z.object({ … })" if "properties" in schema else "z.record(z.string(), z.any())"
    name = _ZOD.get(kind, "z.any()") if isinstance(kind, str) else "z.any()"
    return f"{name}.max({TEXT_SIZE})" if bounded and kind == "string" and "maxLength" not in schema else name


def literal_members(schema: Any, *, is_python: bool) -> str:
    """Return the members of a schema as the start of a literal, such as `"type": "string", `."""
    if not isinstance(schema, dict):
        return ""
    if all(map(is_flat, schema.values())):
        shown = "".join(f"{_literal(key, is_python)}: {_literal(value, is_python)}, " for key, value in schema.items())
        if len(shown) <= _LONGEST_MEMBERS:
            return shown
    kind = schema.get("type")
    return f'"type": "{kind}", ' if isinstance(kind, str) and kind in (*_PYTHON_TYPES, "array", "object") else ""


def _literal(value: Any, is_python: bool) -> str:
    return python_value(value) if is_python else json.dumps(value, ensure_ascii=False)


def is_flat(value: Any) -> bool:
    """Whether a JSON value is a scalar, or has nothing but scalars in it: others are too long to show."""
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return not any(isinstance(each, (dict, list)) for each in parts)


def python_value(value: Any) -> str:
    """Return a flat JSON value as Python, with double quotes."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{python_value(key)}: {python_value(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list):
        return f"[{', '.join(map(python_value, value))}]"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)


def has_format(schema: Any) -> bool:
    """Whether a schema, or a branch of it, names a format: its type in code is unknown."""
    branches = [schema, *_union(schema)] if isinstance(schema, dict) else []
    return any(isinstance(each, dict) and "format" in each for each in branches)


def _values(schema: dict[str, Any]) -> list[Any]:
    """Return the values that an enumeration allows, if they are few and plain."""
    listed = schema.get("enum", [schema["const"]] if "const" in schema else None)
    if not isinstance(listed, list) or not 0 < len(listed) <= _MOST_VALUES:
        return []
    is_short = sum(len(str(each)) for each in listed if is_flat(each)) <= _LONGEST_MEMBERS
    return listed if is_short and all(isinstance(each, str | int | bool) for each in listed) else []


def _union(schema: dict[str, Any]) -> list[Any]:
    """Return the branches of a union."""
    kinds = schema.get("type")
    if isinstance(kinds, list) and len(kinds) <= len(_PYTHON_TYPES) + 2:
        return [{**schema, "type": kind} for kind in kinds if isinstance(kind, str)]
    branches = schema.get("anyOf", schema.get("oneOf"))
    return branches if isinstance(branches, list) and len(branches) <= _MOST_VALUES else []
