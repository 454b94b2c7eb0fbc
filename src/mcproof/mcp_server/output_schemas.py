"""The output schemas of the tools: the shipped schemas of the JSON documents, for one target and one page."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

_PAGE = {
    "description": "The part of the list in this result.",
    "type": "object",
    "properties": {
        "offset": {"description": "The number of entries before this page.", "type": "integer", "minimum": 0},
        "total": {"description": "The number of entries on all pages.", "type": "integer", "minimum": 0},
        "next_cursor": {
            "description": "The `cursor` of the next page; null on the last one.",
            "type": ["string", "null"],
        },
    },
    "required": ["offset", "total", "next_cursor"],
    "additionalProperties": False,
}
_COUNT: dict[str, Any] = {"type": "integer", "minimum": 0}


def document_schema(name: str, entry: str | None = None, *, without: tuple[str, ...] = ()) -> dict[str, Any]:
    """The shipped schema of a document for one target, with `page`, and `without` some members at any depth.

    References are replaced by their targets, because not every client resolves them. `entry` names the definition
    of a document for one target; None if the whole schema is that.
    """
    shipped = _shipped(name)
    root = shipped if entry is None else shipped["$defs"][entry]
    schema: dict[str, Any] = _inlined(root, shipped.get("$defs", {}), frozenset(without))
    for key in ("$schema", "$id", "$defs", "title"):
        schema.pop(key, None)
    schema["properties"]["page"] = _PAGE
    schema["required"] = [*schema["required"], "page"]
    return schema


def rule_schema() -> dict[str, Any]:
    """The output schema of a rule: its record and its page of the documentation."""
    shipped = _shipped("explain")
    schema: dict[str, Any] = _inlined(shipped["$defs"]["rule"], shipped["$defs"], frozenset())
    guide = {"description": "Why it matters, how to fix it, and examples, in Markdown.", "type": "string"}
    schema["properties"]["guide"] = guide
    schema["required"] = [*schema["required"], "guide"]
    return schema


def fix_schema() -> dict[str, Any]:
    """The output schema of a fix."""
    return {
        "description": "The fixed text of a target, and what is left.",
        "type": "object",
        "properties": {
            "schema_version": {"description": "The version of this format.", "const": 1},
            "target": {"description": "The target as given, or `catalog` for a text.", "type": "string"},
            "form": {"description": "What `content` is.", "enum": ["text", "diff"]},
            "content": {"description": "This page of the fixed text or of the unified diff.", "type": "string"},
            "fixed": {"description": "How many findings are fixed.", **_COUNT},
            "made_required": {
                "description": "How many optional parameters become required, which breaks callers that omit them.",
                **_COUNT,
            },
            "left": {
                "description": "The number of findings that need an author, by rule.",
                "type": "object",
                "additionalProperties": {"type": "integer", "minimum": 1},
            },
            "page": {**_PAGE, "description": "The part of the content in this result, in characters."},
        },
        "required": ["schema_version", "target", "form", "content", "fixed", "made_required", "left", "page"],
        "additionalProperties": False,
    }


@cache
def _shipped(name: str) -> Any:
    return json.loads((files("mcproof.runs") / "schemas" / f"{name}.schema.json").read_text(encoding="utf-8"))


def _inlined(node: Any, definitions: dict[str, Any], without: frozenset[str]) -> Any:
    if isinstance(node, list):
        return [_inlined(each, definitions, without) for each in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        return _inlined(definitions[node["$ref"].removeprefix("#/$defs/")], definitions, without)
    found = {key: _inlined(value, definitions, without) for key, value in node.items() if key != "$defs"}
    if isinstance(properties := found.get("properties"), dict):
        found["properties"] = {key: value for key, value in properties.items() if key not in without}
        found["required"] = [key for key in found.get("required", ()) if key not in without]
    return found
