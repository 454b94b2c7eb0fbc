"""The keys and values that a JSON Schema allows at a path; for the schemas of suites and configurations."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

ITEM = "[]"
"""The step of a path into a list."""
MOST_PARTS = 200


@cache
def shipped_schema(package: str, name: str) -> dict[str, Any]:
    """A schema of the package."""
    schema: dict[str, Any] = json.loads((files(package) / name).read_text(encoding="utf-8"))
    return schema


def keys_at(root: dict[str, Any], path: tuple[str, ...]) -> dict[str, str]:
    """The keys of an object at a path, each with its description."""
    found: dict[str, str] = {}
    for part in _at(root, path):
        for key, value in part.get("properties", {}).items():
            if value is not False:
                found.setdefault(key, _description(root, value))
    return found


def values_at(root: dict[str, Any], path: tuple[str, ...]) -> list[str]:
    """The strings and booleans that are allowed at a path, if the schema lists them."""
    found: dict[str, None] = {}
    for part in _at(root, path):
        listed = [*part.get("enum", ()), *([part["const"]] if "const" in part else [])]
        if part.get("type") == "boolean":
            listed += [True, False]
        for value in listed:
            found[json.dumps(value) if isinstance(value, bool) else str(value)] = None
    return list(found)


def is_list_at(root: dict[str, Any], path: tuple[str, ...]) -> bool:
    """Whether the value at a path may be a list."""
    return any("items" in part for part in _at(root, path))


def holds_rules(root: dict[str, Any], path: tuple[str, ...]) -> bool:
    """Whether the value at a path is the name of a rule or ruleset."""
    rule = root.get("definitions", {}).get("rule")
    return rule is not None and any(part is rule for part in _at(root, path))


def _description(root: dict[str, Any], schema: Any) -> str:
    return next((part["description"] for part in _parts(root, schema) if "description" in part), "")


def _at(root: dict[str, Any], path: tuple[str, ...]) -> list[dict[str, Any]]:
    """All schemas that apply at a path."""
    parts = list(_parts(root, root))
    for step in path:
        below = [each for part in parts for each in _below(part, step)]
        parts = [part for each in below for part in _parts(root, each)][:MOST_PARTS]
    return parts


def _below(part: dict[str, Any], step: str) -> Iterator[Any]:
    if step == ITEM:
        if isinstance(part.get("items"), dict):
            yield part["items"]
    elif step in part.get("properties", {}):
        yield part["properties"][step]
    elif isinstance(part.get("additionalProperties"), dict):
        yield part["additionalProperties"]


def _parts(root: dict[str, Any], schema: Any) -> Iterator[dict[str, Any]]:
    """A schema, with those that it refers to or combines."""
    waiting, seen = [schema], 0
    while waiting and seen < MOST_PARTS:
        part = waiting.pop()
        seen += 1
        if not isinstance(part, dict):
            continue
        yield part
        if isinstance(reference := part.get("$ref"), str):
            target: Any = root
            for token in reference.removeprefix("#/").split("/"):
                target = target[token]
            waiting.append(target)
        for key in ("anyOf", "oneOf", "allOf"):
            waiting += part.get(key, ())
