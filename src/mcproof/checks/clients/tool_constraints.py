"""Constraints on a tool and on its schemas as a whole, and on all tools of a server together.

A check takes a tool, or a server, and the constraint's parameters, and yields every place that breaks the constraint:
the pointer from the tool, for a server with the tool if it is about one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from mcproof.checks.clients.profiles import matcher, occurs_in
from mcproof.checks.clients.schema_constraints import (
    ClientView,
    Params,
    ServerView,
    ToolCheck,
    optional_names,
    size_of,
)
from mcproof.checks.scores.tokens import bytes_of
from mcproof.core.catalog.model import HINTS, Tool
from mcproof.core.schema.tree import STRICT_LEVELS, SchemaTree

if TYPE_CHECKING:
    from mcproof.core.schema.references import Reference

    Fault = Callable[[Reference, Params], bool]

ServerCheck = Callable[[ServerView, Params], Iterator[tuple[Tool | None, str]]]

_DEFINED = re.compile(r"#/(?:\$defs|definitions)/[^/]+")
_MAPS = frozenset({"properties", "$defs", "definitions"})
_LISTS = frozenset({"anyOf", "oneOf", "allOf"})
_SURVIVING = _MAPS | _LISTS | {"type", "description", "enum", "items", "required", "additionalProperties", "$ref"}
"""The keywords that survive the reduction of `input.large_lossy`."""
_MEMBERS = {"title": str, "description": str, "annotations": dict, "icons": list, "_meta": dict}
"""The types of members that may be absent; whether they may be null is a constraint of its own."""


def _at_most(measure: Callable[[ClientView, Params], int], pointer: str = "/inputSchema") -> ToolCheck:
    """The check of a constraint on a size or a count."""

    def check(tool: ClientView, params: Params) -> Iterator[str]:
        if measure(tool, params) > params["max"]:
            yield pointer

    return check


def _at_most_on_server(measure: Callable[[ServerView], int]) -> ServerCheck:
    """The same for a server."""

    def check(server: ServerView, params: Params) -> Iterator[tuple[Tool | None, str]]:
        if measure(server) > params["max"]:
            yield None, ""

    return check


def _name_regex(tool: ClientView, params: Params) -> Iterator[str]:
    """The whole name must match a pattern, and must not contain another."""
    name = tool.tool.name
    if not matcher(params["pattern"])(name) or ("forbid" in params and occurs_in(params["forbid"], name)):
        yield tool.tool.pointer_to("name")


def _name_forbids(tool: ClientView, params: Params) -> Iterator[str]:
    if occurs_in(params["pattern"], tool.tool.name):
        yield "/name"


def _name_combined(tool: ClientView, params: Params) -> Iterator[str]:
    """The name must be short enough with the server's name before it; on its own, if that name is unknown."""
    name, template, limit = tool.tool.name, params["template"], params["max"]
    server = tool.server_key[: params.get("server_max")]
    # Without formatting first: the template is longer with its placeholders than with nothing in their places.
    if len(name) + len(server) + len(template) <= limit:
        return
    if len(template.format(server=server, tool=name) if server else name) > limit:
        yield "/name"


def _description_required(tool: ClientView, _: Params) -> Iterator[str]:
    if not tool.tool.description.strip():
        yield tool.tool.pointer_to("description")


def _description_empty(tool: ClientView, _: Params) -> Iterator[str]:
    if tool.fields.get("description") == "":
        yield "/description"


def _null_members(tool: ClientView, params: Params) -> Iterator[str]:
    """These members may be absent but not null."""
    return (f"/{member}" for member in params["members"] if member in tool.fields and tool.fields[member] is None)


def _member_types(tool: ClientView, _: Params) -> Iterator[str]:
    """A name, and members of the right type: texts, objects and lists; hints must be booleans."""
    fields = tool.fields
    if not isinstance(fields.get("name"), str):
        yield tool.tool.pointer_to("name")
    for member, expected in _MEMBERS.items():
        if not isinstance(fields.get(member), (expected, type(None))):
            yield f"/{member}"
    annotations = fields.get("annotations")
    if isinstance(annotations, dict):
        for hint in HINTS:
            if not isinstance(annotations.get(hint, False), bool):
                yield f"/annotations/{hint}"
        if not isinstance(annotations.get("title", ""), str):
            yield "/annotations/title"
    icons = fields.get("icons")
    for index, icon in enumerate(icons if isinstance(icons, list) else ()):
        if isinstance(icon, dict) and not isinstance(icon.get("sizes", []), list):
            yield f"/icons/{index}/sizes"


def _read_only(tool: ClientView, params: Params) -> Iterator[str]:
    """Annotations must show that the tool only reads; with `or_closed`, or that it neither destroys nor reaches out."""
    annotations = tool.fields.get("annotations")
    hints = annotations if isinstance(annotations, dict) else {}
    reads = hints.get("readOnlyHint") is True
    closed = hints.get("destructiveHint") is False and hints.get("openWorldHint") is False
    if hints.get("destructiveHint") is True or not (reads or (params.get("or_closed") and closed)):
        yield tool.tool.pointer_to("annotations")


def _root_type(tool: ClientView, _: Params) -> Iterator[str]:
    if tool.schema is None or tool.schema.get("type") != "object":
        yield _pointer_to(tool, "type")


def _root_forbids(tool: ClientView, params: Params) -> Iterator[str]:
    schema = tool.schema or {}
    return (f"/inputSchema/{keyword}" for keyword in params["keywords"] if keyword in schema)


def _root_requires(tool: ClientView, params: Params) -> Iterator[str]:
    schema = tool.schema or {}
    return (_pointer_to(tool, keyword) for keyword in params["keywords"] if keyword not in schema)


def _required_list(tool: ClientView, _: Params) -> Iterator[str]:
    """The root's `required` must be a list of strings."""
    required = (tool.schema or {}).get("required", [])
    if not isinstance(required, list) or not all(isinstance(name, str) for name in required):
        yield "/inputSchema/required"


def _pointer_to(tool: ClientView, keyword: str) -> str:
    """The pointer of a member of the input schema, or of what is there instead."""
    if "inputSchema" not in tool.fields:
        return ""
    return f"/inputSchema/{keyword}" if tool.schema is not None and keyword in tool.schema else "/inputSchema"


def _dialect(member: str) -> ToolCheck:
    def check(tool: ClientView, params: Params) -> Iterator[str]:
        """A declared `$schema` must name one of these dialects."""
        schema = tool.fields.get(member)
        declared = schema.get("$schema") if isinstance(schema, dict) else None
        if isinstance(declared, str) and not any(f"/{name}/" in declared for name in params["allowed"]):
            yield f"/{member}/$schema"

    return check


def _is_valid(tree: SchemaTree | None, params: Params) -> bool:
    from mcproof.core.schema.validation import is_valid_in  # here, as nearly all schemas are plainly valid

    return tree is not None and is_valid_in(params["dialect"], tree)


def _valid(tool: ClientView, params: Params) -> Iterator[str]:
    """The input schema must be valid in this dialect, whatever it declares; a missing schema is not."""
    if not _is_valid(tool.tree, params):
        yield tool.tool.pointer_to("inputSchema")


def _output_valid(tool: ClientView, params: Params) -> Iterator[str]:
    """The output schema, if there is one, must be valid in this dialect."""
    if tool.output_schema is not None and not _is_valid(tool.tool.output_tree, params):
        yield "/outputSchema"


def _output_root_type(tool: ClientView, _: Params) -> Iterator[str]:
    schema = tool.output_schema
    if schema is not None and not (isinstance(schema, dict) and schema.get("type") == "object"):
        yield "/outputSchema"


def _schema_bytes(tool: ClientView, params: Params) -> Iterator[str]:
    if tool.exceeds(params["max"]):
        yield "/inputSchema"


def _large_lossy(tool: ClientView, params: Params) -> Iterator[str]:
    """The compact JSON of the keywords that survive a reduction must not exceed this many bytes."""
    # To reduce takes a copy; an `enum` in place of a `const` is the only thing in it that may be longer.
    if tool.tree is None or not tool.exceeds(params["max"] // 2):
        return
    # `_reduced` is recursive, so a schema that is nested deeper counts as too large.
    if tool.tree.deepest > STRICT_LEVELS or bytes_of(_reduced(tool.tree.root)) > params["max"]:
        yield "/inputSchema"


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


def _depth(tool: ClientView, params: Params) -> Iterator[str]:
    """Objects and arrays must not nest deeper than this; unions and definitions add no level."""
    if tool.tree is None or tool.tree.deepest <= params["max"]:  # a schema level has at least one level of JSON
        return
    depths: dict[int, int] = {}
    for node in tool.nodes:  # parents come before their children
        above = depths[id(node.parent)] if node.parent is not None else 0
        adds = node.keyword in ("properties", "patternProperties", "items", "additionalProperties")
        depths[id(node)] = above + adds
        if above + adds > params["max"]:
            yield "/inputSchema"
            return


def _enum_values(tool: ClientView, _: Params) -> int:
    enums = (node.schema["enum"] for node in tool.using("enum"))
    return sum(len(enum) for enum in enums if isinstance(enum, list))


def _string_total(tool: ClientView, _: Params) -> int:
    """The characters of names, definition names, enum and const values together."""
    total = 0
    for node in tool.nodes:
        schema = node.schema
        if type(schema) is not dict:
            continue
        for keyword in _MAPS:
            if isinstance(schema.get(keyword), dict):
                total += sum(map(len, schema[keyword]))
        enum = schema.get("enum")
        values = [*(enum if isinstance(enum, list) else []), schema.get("const")]
        total += sum(len(value) for value in values if isinstance(value, str))
    return total


def _references(tool: ClientView, params: Params) -> Iterator[str]:
    """References of these forms are not accepted; with `only_with`, if the root has one of these keywords."""
    tree = tool.tree
    if tree is None or ("only_with" in params and not any(keyword in tree.root for keyword in params["only_with"])):
        return iter(())
    return _refused_references(tree, params, _INPUT_FAULTS)


def _output_references(tool: ClientView, params: Params) -> Iterator[str]:
    """The same for the output schema, where anything that does not resolve inside counts as unresolvable."""
    return _refused_references(tool.tool.output_tree, params, _FAULTS)


def _refused_references(tree: SchemaTree | None, params: Params, by_form: Mapping[str, Fault]) -> Iterator[str]:
    faults = [by_form[form] for form in params["forbid"]]
    for reference, pointer in tree.references.placed if tree is not None and tree.holders else ():
        if any(is_refused(reference, params) for is_refused in faults):
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


def _unique_names(server: ServerView, _: Params) -> Iterator[tuple[Tool | None, str]]:
    seen: set[str] = set()
    for tool in server.tools:
        if tool.name and tool.name in seen:
            yield tool, tool.pointer_to("name")
        seen.add(tool.name)


def _instructions_max(server: ServerView, params: Params) -> Iterator[tuple[Tool | None, str]]:
    if size_of(server.instructions, params) > params["max"]:
        yield None, server.instructions_at


def _optional_properties(tool: Tool) -> int:
    """The number of optional properties at all levels."""
    return sum(len(optional_names(node, declared)) for node, declared in ClientView(tool).declared())


def _unions(tool: Tool) -> int:
    """The number of schemas that use `anyOf` or a list of types."""
    schemas = (node.schema for node in ClientView(tool).nodes)
    return sum("anyOf" in schema or isinstance(schema.get("type"), list) for schema in schemas if type(schema) is dict)


TOOL_CHECKS: dict[str, ToolCheck] = {
    "name.regex": _name_regex,
    "name.max": _at_most(lambda tool, params: size_of(tool.tool.name, params), "/name"),
    "name.forbids": _name_forbids,
    "name.combined": _name_combined,
    "description.required": _description_required,
    "description.empty": _description_empty,
    "description.max": _at_most(lambda tool, params: size_of(tool.tool.description, params), "/description"),
    "tool.bytes": _at_most(lambda tool, _: bytes_of(tool.tool.raw), ""),
    "tool.null_members": _null_members,
    "tool.member_types": _member_types,
    "annotations.read_only": _read_only,
    "input.root_type": _root_type,
    "input.root_forbids": _root_forbids,
    "input.root_requires": _root_requires,
    "input.valid": _valid,
    "input.dialect": _dialect("inputSchema"),
    "input.bytes": _schema_bytes,
    "input.large_lossy": _large_lossy,
    "input.depth": _depth,
    "input.properties": _at_most(lambda tool, _: sum(len(declared) for _, declared in tool.declared())),
    "input.string_total": _at_most(_string_total),
    "input.enum_total": _at_most(_enum_values),
    "input.ref": _references,
    "input.required_list": _required_list,
    "output.root_type": _output_root_type,
    "output.dialect": _dialect("outputSchema"),
    "output.ref": _output_references,
    "output.valid": _output_valid,
}
"""The checks on tools, by kind of constraint; those on every schema inside an input schema are in another module."""

SERVER_CHECKS: dict[str, ServerCheck] = {
    "name.unique": _unique_names,
    "tools.max": _at_most_on_server(lambda server: len(server.tools)),
    "tools.bytes": _at_most_on_server(lambda server: sum(bytes_of(tool.raw) for tool in server.tools)),
    "optional_params.max": _at_most_on_server(lambda server: sum(map(_optional_properties, server.tools))),
    "union_params.max": _at_most_on_server(lambda server: sum(map(_unions, server.tools))),
    "instructions.max": _instructions_max,
    "list.pages": _at_most_on_server(lambda server: server.pages or 0),
}
"""The checks that need more than one tool."""
