"""What fastmcp does to a schema before it serves it."""

from __future__ import annotations

from typing import Any

from mcproof.jsontext import escape, unescape
from mcproof.targets.python_source.pydantic_schema import Schema, title


def as_fastmcp(schema: Schema, properties: Schema, unknown: set[str]) -> Schema:
    """A schema as fastmcp serves it: without derived titles, references replaced by what they mean."""
    made: Schema = inlined(untitled(schema), unknown)
    for name, entry in properties.items():
        given = entry.get("title")
        if given is not None and given != title(name) and name in made["properties"]:
            made["properties"][name]["title"] = given
    return made


_STRUCTURE = frozenset(("type", "properties", "$ref", "items", "allOf", "oneOf", "anyOf", "required"))


_NOTES = frozenset(("title", "description", "deprecated", "readOnly", "writeOnly"))


_LITERAL = frozenset(("default", "const", "examples", "example", "enum"))


_NAMED = frozenset(("properties", "patternProperties", "$defs", "definitions", "dependentSchemas"))


def untitled(node: Any, depth: int = 0) -> Any:
    """A schema without its titles."""
    if isinstance(node, list):
        return [untitled(each, depth + 1) for each in node]
    if not isinstance(node, dict) or depth > 100:
        return node
    made = {}
    is_plain = not _STRUCTURE.isdisjoint(node) or _NOTES.issuperset(node)
    for key, value in node.items():
        if key == "title" and isinstance(value, str) and is_plain:
            continue
        if key in _NAMED and isinstance(value, dict):
            made[key] = {name: untitled(each, depth + 1) for name, each in value.items()}
        else:
            made[key] = value if key in _LITERAL else untitled(value, depth + 1)
    return made


def inlined(schema: Schema, unknown: set[str]) -> Schema:
    """A schema with every local reference replaced by its target; one that refers to itself stays as it is.

    The places of what is not known move with it.
    """
    definitions = schema.get("$defs") or {}
    if not definitions:
        return schema
    budget = [20_000]
    moved: dict[str, list[str]] = {}

    def expand(node: Any, path: tuple[str, ...], at: str) -> Any:
        budget[0] -= 1
        if budget[0] < 0 or len(path) > 30:
            raise RecursionError
        if isinstance(node, list):
            return [expand(each, path, f"{at}/{index}") for index, each in enumerate(node)]
        if not isinstance(node, dict):
            return node
        reference = node.get("$ref")
        if isinstance(reference, str) and reference.startswith("#/$defs/"):
            name = reference.removeprefix("#/$defs/")
            if name in path or name not in definitions:
                raise RecursionError
            moved.setdefault(name, []).append(at)
            rest = {key: expand(value, path, f"{at}/{key}") for key, value in node.items() if key != "$ref"}
            return {**expand(definitions[name], (*path, name), at), **rest}
        whole = {
            key: expand(value, path, f"{at}/{escape(key)}")
            for key, value in node.items()
            if key not in ("$defs", "discriminator")
        }
        told_by = node.get("discriminator")
        if isinstance(told_by, dict) and "oneOf" in whole:
            told = told_by.get("propertyName")
            for branch in whole["oneOf"]:
                if told in branch.get("properties", {}) and told not in branch.get("required", []):
                    branch["required"] = [*branch.get("required", []), told]
        return whole

    try:
        made: Schema = expand(schema, (), "")
    except RecursionError:
        return schema
    for place in [each for each in unknown if each.startswith("/$defs/")]:
        unknown.discard(place)
        name, _, rest = place.removeprefix("/$defs/").partition("/")
        below = f"/{rest}" if rest else ""
        unknown.update(f"{at}{below}" for at in moved.get(unescape(name), ()))
    return made
