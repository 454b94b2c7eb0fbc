"""Constraints on a schema as a whole: its root, dialect, validity, size and references.

A function takes a tool and the constraint's parameters, and yields the pointer, from the tool, of every place that
breaks the constraint.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from mcproof.checks.scores.tokens import is_longer, stringify
from mcproof.core.schema.tree import STRICT_LEVELS
from mcproof.core.schema.validation import is_valid_in

if TYPE_CHECKING:
    from mcproof.checks.clients.surface import ToolSurface
    from mcproof.core.schema.references import Reference
    from mcproof.core.schema.tree import SchemaTree

    Params = Mapping[str, Any]
    Fault = Callable[[Reference, Params], bool]

_DEFINED = re.compile(r"#/(?:\$defs|definitions)/[^/]+")
_MAPS = frozenset({"properties", "$defs", "definitions"})
_LISTS = frozenset({"anyOf", "oneOf", "allOf"})
_SURVIVING = _MAPS | _LISTS | {"type", "description", "enum", "items", "required", "additionalProperties", "$ref"}
"""The keywords that survive the reduction of `large_lossy`."""


# The root


def root_type(tool: ToolSurface, _: Params) -> Iterator[str]:
    """The root must be `type: object`."""
    if tool.schema is None or tool.schema.get("type") != "object":
        yield _member(tool, "type")


def root_forbids(tool: ToolSurface, params: Params) -> Iterator[str]:
    """The root must not use these keywords."""
    if tool.schema is not None:
        for keyword in params["keywords"]:
            if keyword in tool.schema:
                yield f"/inputSchema/{keyword}"


def root_requires(tool: ToolSurface, params: Params) -> Iterator[str]:
    """The root must use these keywords."""
    for keyword in params["keywords"]:
        if tool.schema is None or keyword not in tool.schema:
            yield _member(tool, keyword)


def required_list(tool: ToolSurface, _: Params) -> Iterator[str]:
    """The root's `required` must be a list of strings."""
    if tool.schema is not None and "required" in tool.schema:
        required = tool.schema["required"]
        if not isinstance(required, list) or not all(isinstance(name, str) for name in required):
            yield "/inputSchema/required"


def _member(tool: ToolSurface, keyword: str) -> str:
    """The pointer of a member of the input schema, or of what is there instead."""
    if "inputSchema" not in tool.fields:
        return ""
    return f"/inputSchema/{keyword}" if tool.schema is not None and keyword in tool.schema else "/inputSchema"


def dialect(tool: ToolSurface, params: Params) -> Iterator[str]:
    """A declared `$schema` must name one of these dialects."""
    return _dialect(tool.schema, "/inputSchema", params)


def output_dialect(tool: ToolSurface, params: Params) -> Iterator[str]:
    """The same for the output schema."""
    return _dialect(tool.output_schema, "/outputSchema", params)


def _dialect(schema: Any, base: str, params: Params) -> Iterator[str]:
    declared = schema.get("$schema") if isinstance(schema, dict) else None
    if isinstance(declared, str) and not any(f"/{name}/" in declared for name in params["allowed"]):
        yield f"{base}/$schema"


def valid(tool: ToolSurface, params: Params) -> Iterator[str]:
    """The input schema must be valid in this dialect, whatever it declares; a missing schema is not."""
    if tool.schema is None or not is_valid_in(params["dialect"], tool.schema):
        yield tool.tool.pointer_to("inputSchema")


def output_valid(tool: ToolSurface, params: Params) -> Iterator[str]:
    """The output schema, if there is one, must be valid in this dialect."""
    schema = tool.output_schema
    if schema is not None and not (isinstance(schema, dict) and is_valid_in(params["dialect"], schema)):
        yield "/outputSchema"


def output_root_type(tool: ToolSurface, _: Params) -> Iterator[str]:
    """The root of an output schema must be `type: object`."""
    schema = tool.output_schema
    if schema is not None and not (isinstance(schema, dict) and schema.get("type") == "object"):
        yield "/outputSchema"


# Totals


def schema_bytes(tool: ToolSurface, params: Params) -> Iterator[str]:
    """The compact JSON of the input schema must not exceed this many bytes."""
    if tool.tool.may_exceed(params["max"]) and is_longer(tool.schema, params["max"]):
        yield "/inputSchema"


def large_lossy(tool: ToolSurface, params: Params) -> Iterator[str]:
    """The same, counting only the keywords that survive a reduction."""
    if tool.tree is None:
        return
    if not tool.tool.may_exceed(params["max"]):
        return
    # `_reduced` is recursive, so a schema that is nested deeper counts as too large.
    if tool.tree.deepest > STRICT_LEVELS or is_longer(_reduced(tool.tree.root), params["max"]):
        yield "/inputSchema"


def bytes_of(value: Any) -> int:
    """The size of the compact JSON of a value."""
    return len(stringify(value).encode("utf-8", "surrogatepass"))


def _reduced(schema: Any) -> Any:
    """A schema with the keywords that the reduction keeps; `const` becomes an `enum` of one value."""
    if type(schema) is not dict:
        return schema
    reduced: dict[str, Any] = {}
    for keyword, value in schema.items():
        if keyword == "const" and "enum" not in schema:
            reduced["enum"] = [value]
        elif keyword not in _SURVIVING:
            continue
        elif keyword in _MAPS and type(value) is dict:
            reduced[keyword] = {name: _reduced(subschema) for name, subschema in value.items()}
        elif keyword in _LISTS and type(value) is list:
            reduced[keyword] = [_reduced(subschema) for subschema in value]
        elif keyword in ("items", "additionalProperties"):
            reduced[keyword] = [_reduced(subschema) for subschema in value] if type(value) is list else _reduced(value)
        else:
            reduced[keyword] = value
    return reduced


def depth(tool: ToolSurface, params: Params) -> Iterator[str]:
    """Objects and arrays must not nest deeper than this; unions and definitions add no level."""
    most: int = params["max"]
    if tool.tree is None or tool.tree.deepest <= most:  # a schema level has at least one level of JSON
        return
    depths: dict[int, int] = {}
    for node in tool.nodes:  # parents come before their children
        above = depths[id(node.parent)] if node.parent is not None else 0
        adds = node.keyword in ("properties", "patternProperties", "items", "additionalProperties")
        depths[id(node)] = above + adds
        if above + adds > most:
            yield "/inputSchema"
            return


def property_count(tool: ToolSurface, params: Params) -> Iterator[str]:
    """A schema must not declare more properties than this, at all levels together."""
    if sum(len(declared) for _, declared in tool.declared()) > params["max"]:
        yield "/inputSchema"


def enum_total(tool: ToolSurface, params: Params) -> Iterator[str]:
    """A schema must not have more enum values than this, at all levels together."""
    if (
        sum(len(node.schema["enum"]) for node in tool.using("enum") if isinstance(node.schema["enum"], list))
        > params["max"]
    ):
        yield "/inputSchema"


def string_total(tool: ToolSurface, params: Params) -> Iterator[str]:
    """Names, definition names, enum and const values must not exceed this many characters together."""
    total = 0
    for node in tool.nodes:
        schema = node.schema
        if type(schema) is not dict:
            continue
        for keyword in ("properties", "$defs", "definitions"):
            if isinstance(schema.get(keyword), dict):
                total += sum(map(len, schema[keyword]))
        enum = schema.get("enum")
        values = [*(enum if isinstance(enum, list) else []), schema.get("const")]
        total += sum(len(value) for value in values if isinstance(value, str))
    if total > params["max"]:
        yield "/inputSchema"


# References


def references(tool: ToolSurface, params: Params) -> Iterator[str]:
    """References of these forms are not accepted."""
    tree = tool.tree
    if tree is None or not tree.holders:
        return iter(())
    if "only_with" in params and not any(keyword in tree.root for keyword in params["only_with"]):
        return iter(())
    return _references(tree, params, _INPUT_FAULTS)


def output_references(tool: ToolSurface, params: Params) -> Iterator[str]:
    """The same for the output schema, where anything that does not resolve inside counts as unresolvable."""
    tree = tool.tool.output_tree
    return iter(()) if tree is None or not tree.holders else _references(tree, params, _FAULTS)


def _references(tree: SchemaTree, params: Params, by_form: Mapping[str, Fault]) -> Iterator[str]:
    faults = [by_form[form] for form in params["forbid"]]
    for reference, pointer in tree.references.placed:
        if any(fault(reference, params) for fault in faults):
            yield pointer


def _has_siblings(reference: Reference, params: Params) -> bool:
    accepted = params.get("siblings_ok", ())
    return any(key != "$ref" and key not in accepted for key in reference.holder.schema)


_FAULTS: dict[str, Fault] = {
    "any": lambda *_: True,
    "unresolvable": lambda reference, _: not reference.is_resolved,
    "remote": lambda reference, _: not reference.text.startswith("#"),
    "siblings": _has_siblings,
    "not_defs": lambda reference, _: _DEFINED.fullmatch(reference.text) is None,
    "not_dollar_defs": lambda reference, _: not reference.text.startswith("#/$defs/"),
    "recursive": lambda reference, _: reference.holder.tree.references.is_cyclic(reference.holder.schema),
}
_INPUT_FAULTS = {
    **_FAULTS,
    "unresolvable": lambda reference, _: reference.text.startswith("#") and not reference.is_resolved,
}
"""The forms of references that a client may refuse."""
