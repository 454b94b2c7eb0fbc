"""How fastmcp changes a schema before it serves it."""

from __future__ import annotations

from typing import Any

from mcproof.core.text.json_positions import escape, unescape
from mcproof.discovery.frameworks.framework_versions import INLINED, NO_TITLES, PLAIN_WRAPPER, TOOL_TITLES
from mcproof.discovery.pydantic.schema_nodes import Schema, title


def as_fastmcp(schema: Schema, properties: Schema, unknown: set[str], traits: frozenset[str]) -> Schema:
    """The schema of arguments as fastmcp serves it."""
    made = adapted(schema, unknown, traits)
    for name, entry in properties.items() if TOOL_TITLES in traits else ():
        given = entry.get("title")
        if given is not None and given != title(name) and name in made["properties"]:
            made["properties"][name]["title"] = given
    return made


def adapted(schema: Schema, unknown: set[str], traits: frozenset[str]) -> Schema:
    """A schema as fastmcp serves it: without generated titles, with references inlined."""
    made = untitled(schema, only_structure=PLAIN_WRAPPER not in traits) if NO_TITLES in traits else schema
    return inlined(made, unknown) if INLINED in traits else made


MOST_INLINED = 100_000
"""The maximum number of objects and arrays in an inlined schema; fastmcp does not inline larger ones."""


def inline_output(tool: Schema, unknown: set[str]) -> None:
    """Inline the references in an explicit output schema; derived ones are already inlined."""
    schema = tool.get("outputSchema")
    if not isinstance(schema, dict) or not isinstance(schema.get("$defs"), dict):
        return
    inside = {pointer for pointer in unknown if pointer.startswith("/outputSchema/")}
    moved = {pointer.removeprefix("/outputSchema") for pointer in inside}
    tool["outputSchema"] = inlined(schema, moved)
    unknown -= inside
    unknown |= {f"/outputSchema{pointer}" for pointer in moved}


_STRUCTURE = frozenset(("type", "properties", "$ref", "items", "allOf", "oneOf", "anyOf", "required"))


_NOTES = frozenset(("title", "description", "deprecated", "readOnly", "writeOnly"))


_LITERAL = frozenset(("default", "const", "examples", "example", "enum"))


_NAMED = frozenset(("properties", "patternProperties", "$defs", "definitions", "dependentSchemas"))


def untitled(node: Any, depth: int = 0, *, only_structure: bool = False) -> Any:
    """A schema without its titles; with `only_structure`, those of nodes without a type stay."""
    if isinstance(node, list):
        return [untitled(each, depth + 1, only_structure=only_structure) for each in node]
    if not isinstance(node, dict) or depth > 100:
        return node
    made = {}
    is_plain = not _STRUCTURE.isdisjoint(node) or (not only_structure and _NOTES.issuperset(node))
    for key, value in node.items():
        if key == "title" and isinstance(value, str) and is_plain:
            continue
        if key in _NAMED and isinstance(value, dict):
            made[key] = {name: untitled(each, depth + 1, only_structure=only_structure) for name, each in value.items()}
        else:
            made[key] = value if key in _LITERAL else untitled(value, depth + 1, only_structure=only_structure)
    return made


def _without_discriminator(schema: Schema) -> Schema:
    """A union without the discriminator, which refers to definitions; its property becomes required in each branch."""
    discriminator = schema.get("discriminator")
    if not isinstance(discriminator, dict) or not ("oneOf" in schema or "anyOf" in schema):
        return schema
    del schema["discriminator"]
    name = discriminator.get("propertyName")
    for branches in (schema.get("oneOf"), schema.get("anyOf")):
        for branch in branches if isinstance(branches, list) else ():
            required = branch.get("required", []) if isinstance(branch, dict) else None
            if isinstance(required, list) and name not in required:
                branch["required"] = [*required, name]
    return schema


def inlined(schema: Schema, unknown: set[str]) -> Schema:
    """A schema with local references inlined; unchanged if it is recursive.

    The pointers of unknown parts are adapted.
    """
    definitions = schema.get("$defs") or {}
    if not definitions:
        return schema
    budget = [MOST_INLINED]
    moved: dict[str, list[str]] = {}

    def expand(node: Any, path: tuple[str, ...], at: str, *, named: bool = False) -> Any:
        if not isinstance(node, (list, dict)):
            return node
        budget[0] -= 1
        if budget[0] < 0 or len(path) > 30:
            raise RecursionError
        if isinstance(node, list):
            return [expand(each, path, f"{at}/{index}") for index, each in enumerate(node)]
        if named:
            return {key: expand(value, path, f"{at}/{escape(key)}") for key, value in node.items()}
        reference = node.get("$ref")
        whole = {
            key: value if key in _LITERAL else expand(value, path, f"{at}/{escape(key)}", named=key in _NAMED)
            for key, value in node.items()
            if key not in ("$defs", "$ref")
        }
        if isinstance(reference, str) and reference.startswith("#/$defs/"):
            name = reference.removeprefix("#/$defs/")
            if name in path or not isinstance(definitions.get(name), dict):
                raise RecursionError
            moved.setdefault(name, []).append(at)
            return {**expand(definitions[name], (*path, name), at), **whole}
        if reference is not None:
            whole["$ref"] = reference
        return _without_discriminator(whole)

    try:
        made: Schema = expand(schema, (), "")
    except RecursionError:
        return schema
    for pointer in [each for each in unknown if each.startswith("/$defs/")]:
        unknown.discard(pointer)
        name, _, rest = pointer.removeprefix("/$defs/").partition("/")
        below = f"/{rest}" if rest else ""
        unknown.update(f"{at}{below}" for at in moved.get(unescape(name), ()))
    return made
