"""How `z.toJSONSchema` shortens what it has written, from zod 4.5 on."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]

FOLDABLE = {"type", "properties", "required", "additionalProperties"}
NUMERIC_KEYWORDS = {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "format", "id"}


def join_types(schema: Json) -> None:
    """Write `anyOf` of schemas that are only a type as a list of types."""
    options = schema.get("anyOf")
    if not isinstance(options, list) or not options or "type" in schema:
        return
    types: list[str] = []
    for option in options:
        join_types(option)
        if list(option) != ["type"]:
            return
        names = option["type"] if isinstance(option["type"], list) else [option["type"]]
        if not all(isinstance(name, str) for name in names):
            return
        types += [name for name in names if name not in types]
    del schema["anyOf"]
    schema["type"] = types if len(types) > 1 else types[0]


def names_of_keys(schema: Any) -> Any:
    """The schema of a record's keys: a number as a key is a string of digits."""
    if not isinstance(schema, dict):
        return schema
    for keyword in ("anyOf", "oneOf"):
        if isinstance(schema.get(keyword), list):
            branches = [names_of_keys(branch) for branch in schema[keyword]]
            if any(branch is not other for branch, other in zip(branches, schema[keyword], strict=True)):
                schema = {**schema, keyword: branches}
    types = schema["type"] if isinstance(schema.get("type"), list) else [schema.get("type")]
    is_numeric = "string" not in types and ("number" in types or "integer" in types)
    values = schema.get("enum", [schema["const"]] if "const" in schema else None)
    if not is_numeric and not any(_is_number(value) for value in values or ()):
        return schema
    result = {key: value for key, value in schema.items() if key not in NUMERIC_KEYWORDS}
    if "enum" in result:
        result["enum"] = [str(value) if _is_number(value) else value for value in result["enum"]]
    elif _is_number(result.get("const")):
        result["const"] = str(result["const"])
    if is_numeric:
        result["type"] = "string"
        if values is None:
            result["pattern"] = r"^-?\d+(?:\.\d+)?$" if "number" in types else r"^-?\d+$"
    return result


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def fold_intersection(schema: Json) -> None:
    """Write an intersection of objects as one object, and one with a union as a union of such objects."""
    members = schema.get("allOf")
    if not isinstance(members, list) or len(members) < 2 or FOLDABLE & schema.keys():
        return
    unions = [member for member in members if "oneOf" in member or "anyOf" in member]
    if unions:
        union = unions[0]
        if len(union) != 1:
            return
        keyword = next(iter(union))
        others = [member for member in members if member is not union]
        branches = [_one_object([*others, branch]) for branch in union[keyword]]
        if any(branch is None for branch in branches):
            return
        folded: Json | None = {keyword: branches}
    else:
        folded = _one_object(members)
    if folded is not None:
        del schema["allOf"]
        schema.update(folded)


def _one_object(members: list[Json]) -> Json | None:
    """The object that all members describe together; None if one says more than an object can."""
    if any(member.get("type") != "object" or member.keys() - FOLDABLE for member in members):
        return None
    properties: Json = {}
    required: list[str] = []
    for member in members:
        for name in member.get("properties", {}):
            if name not in properties:
                said = [_about(other, name) for other in members]
                properties[name] = _all_of([part for part in said if part is not None])
        required += [name for name in member.get("required", ()) if name not in required]
    folded: Json = {"type": "object", "properties": properties}
    if required:
        folded["required"] = required
    if all(member.get("additionalProperties") is False for member in members):
        folded["additionalProperties"] = False
        return folded
    others = _distinct([part for part in map(_about_others, members) if part is not None])
    if others:
        folded["additionalProperties"] = others[0] if len(others) == 1 else {"allOf": others}
    return folded


def _about(member: Json, name: str) -> Json | None:
    """What an object says about a property."""
    part: Json | None = member.get("properties", {}).get(name)
    return _about_others(member) if part is None else part


def _about_others(member: Json) -> Json | None:
    """What an object says about properties that it does not name; None if nothing."""
    extra = member.get("additionalProperties")
    return extra if isinstance(extra, dict) and extra else None


def _all_of(parts: list[Json]) -> Json:
    parts = _distinct(parts)
    return parts[0] if len(parts) == 1 else _one_object(parts) or {"allOf": parts}


def _distinct(parts: list[Json]) -> list[Json]:
    distinct: list[Json] = []
    for part in parts:
        if part not in distinct:
            distinct.append(part)
    return distinct
