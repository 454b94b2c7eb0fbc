"""Constraints on names, descriptions, members and totals: one function for each kind.

A function takes a tool, or all tools of a server, and the constraint's parameters, and yields the pointer of every
place that breaks the constraint: from the tool, or from the server.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcproof.compat.linear_patterns import matches_whole, occurs_in
from mcproof.compat.tool_surface import ToolSurface, optional_names
from mcproof.compat.whole_schema_constraints import bytes_of
from mcproof.core.catalog.tool_marks import HINTS
from mcproof.text.javascript import length

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mcproof.compat.tool_surface import ServerSurface
    from mcproof.core.catalog.model import Tool

    Params = Mapping[str, Any]
    Hit = tuple[Tool | None, str]

_MEMBERS = {"title": str, "description": str, "annotations": dict, "icons": list, "_meta": dict}
"""The types of members that may be absent; whether they may be null is a constraint of its own."""


def size_of(text: str, params: Params) -> int:
    """The length of a text in the unit of a constraint: characters, UTF-8 bytes or UTF-16 units."""
    unit = params.get("unit")
    if unit == "bytes":
        return len(text.encode("utf-8", "surrogatepass"))
    return length(text) if unit == "utf16" else len(text)


# Names


def name_regex(tool: ToolSurface, params: Params) -> Iterator[str]:
    """The whole name must match a pattern, and must not contain another."""
    name = tool.tool.name
    if not matches_whole(params["pattern"], name) or ("forbid" in params and occurs_in(params["forbid"], name)):
        yield tool.tool.pointer_to("name")


def name_forbids(tool: ToolSurface, params: Params) -> Iterator[str]:
    """The name must not contain a pattern."""
    if occurs_in(params["pattern"], tool.tool.name):
        yield "/name"


def name_max(tool: ToolSurface, params: Params) -> Iterator[str]:
    """The name must not be longer than this."""
    if size_of(tool.tool.name, params) > params["max"]:
        yield "/name"


def name_combined(tool: ToolSurface, params: Params) -> Iterator[str]:
    """The name with the server's name before it must not be longer than this; alone, if that name is unknown."""
    name = tool.tool.name
    if tool.server_key:
        server = tool.server_key[: params.get("server_max")]
        name = params["template"].format(server=server, tool=name)
    if len(name) > params["max"]:
        yield "/name"


# Texts


def description_required(tool: ToolSurface, _: Params) -> Iterator[str]:
    """There must be a description."""
    if not tool.tool.description.strip():
        yield tool.tool.pointer_to("description")


def description_empty(tool: ToolSurface, _: Params) -> Iterator[str]:
    """A description that is given must not be empty."""
    if tool.fields.get("description") == "":
        yield "/description"


def description_max(tool: ToolSurface, params: Params) -> Iterator[str]:
    """The description must not be longer than this."""
    if size_of(tool.tool.description, params) > params["max"]:
        yield "/description"


# Members


def tool_bytes(tool: ToolSurface, params: Params) -> Iterator[str]:
    """The compact JSON of the whole entry must not exceed this many bytes."""
    if bytes_of(tool.tool.raw) > params["max"]:
        yield ""


def null_members(tool: ToolSurface, params: Params) -> Iterator[str]:
    """These members may be absent but not null."""
    for member in params["members"]:
        if member in tool.fields and tool.fields[member] is None:
            yield f"/{member}"


def member_types(tool: ToolSurface, _: Params) -> Iterator[str]:
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


def read_only(tool: ToolSurface, params: Params) -> Iterator[str]:
    """Annotations must show that the tool only reads; with `or_closed`, or that it neither destroys nor reaches out."""
    annotations = tool.fields.get("annotations")
    hints = annotations if isinstance(annotations, dict) else {}
    reads = hints.get("readOnlyHint") is True
    closed = hints.get("destructiveHint") is False and hints.get("openWorldHint") is False
    if hints.get("destructiveHint") is True or not (reads or (params.get("or_closed") and closed)):
        yield tool.tool.pointer_to("annotations")


# The server as a whole: each hit is a tool, or None for the server, and a pointer


def unique_names(server: ServerSurface, _: Params) -> Iterator[Hit]:
    """Names must be unique."""
    seen: set[str] = set()
    for tool in server.tools:
        if tool.name and tool.name in seen:
            yield tool, tool.pointer_to("name")
        seen.add(tool.name)


def tool_count(server: ServerSurface, params: Params) -> Iterator[Hit]:
    """There must not be more tools than this."""
    if len(server.tools) > params["max"]:
        yield None, ""


def catalog_bytes(server: ServerSurface, params: Params) -> Iterator[Hit]:
    """The compact JSON of all tools must not exceed this many bytes."""
    if sum(bytes_of(tool.raw) for tool in server.tools) > params["max"]:
        yield None, ""


def optional_params(server: ServerSurface, params: Params) -> Iterator[Hit]:
    """All tools together must not have more optional properties than this."""
    if sum(map(_optional, map(ToolSurface, server.tools))) > params["max"]:
        yield None, ""


def union_params(server: ServerSurface, params: Params) -> Iterator[Hit]:
    """All tools together must not have more unions than this."""
    if sum(map(_unions, map(ToolSurface, server.tools))) > params["max"]:
        yield None, ""


def instructions_max(server: ServerSurface, params: Params) -> Iterator[Hit]:
    """The instructions of the server must not be longer than this."""
    if size_of(server.instructions, params) > params["max"]:
        yield None, server.instructions_at


def list_pages(server: ServerSurface, params: Params) -> Iterator[Hit]:
    """The list of tools must not have more pages than this; only a live server shows it."""
    if server.pages is not None and server.pages > params["max"]:
        yield None, ""


def _optional(tool: ToolSurface) -> int:
    """The number of optional properties at all levels."""
    return sum(len(optional_names(node, declared)) for node, declared in tool.declared())


def _unions(tool: ToolSurface) -> int:
    """The number of schemas that use `anyOf` or a list of types."""
    schemas = (node.schema for node in tool.nodes)
    return sum("anyOf" in each or isinstance(each.get("type"), list) for each in schemas if type(each) is dict)
