"""What clients see of a tool and of a server, and the constraints on names, descriptions, members and totals.

A constraint is one function: it takes a tool, or all tools of a server, with the constraint's parameters, and
yields the pointer of every place that breaks it. Patterns of a configuration are matched in linear time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.checks.clients.whole_schemas import bytes_of
from mcproof.checks.scores.tokens import length
from mcproof.core.catalog.tool_marks import HINTS
from mcproof.core.schema.keywords import ODD

if TYPE_CHECKING:
    from mcproof.core.catalog.model import Catalog, Tool
    from mcproof.core.schema.tree import SchemaNode


LONGEST_PATTERN = 500
_SLOW = re.compile(r"\(\?<?[=!]|\(\?P=|\\[1-9k]")


class LinearPattern(str):
    """A pattern that is matched in linear time."""

    __slots__ = ()


def matches_whole(pattern: str, text: str) -> bool:
    """Whether a pattern matches all of a text."""
    if isinstance(pattern, LinearPattern):
        return _is_valid(_validator(f"^(?:{pattern})$"), text)
    # A pattern of a shipped profile, which is known to be harmless.
    return re.fullmatch(pattern, text) is not None


def occurs_in(pattern: str, text: str) -> bool:
    """Whether a pattern matches a part of a text."""
    if isinstance(pattern, LinearPattern):
        return _is_valid(_validator(str(pattern)), text)
    return re.search(pattern, text) is not None


def problem_of(pattern: str) -> str:
    """Return why a pattern of a configuration cannot be used; empty if it can."""
    if len(pattern) > LONGEST_PATTERN:
        return f"is longer than {LONGEST_PATTERN} characters"
    try:
        _validator(f"^(?:{pattern})$")
        _validator(pattern)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # a panic in the Rust library is a BaseException
        if _SLOW.search(pattern):
            return "uses look-around or a back-reference, which is not supported"
        return "is not a valid regular expression, or too large"
    return ""


@cache
def _validator(pattern: str) -> Any:
    import jsonschema_rs

    # The library matches in linear time, whatever the pattern: docs/decisions/0010-hostile-input.md.
    schema = {"pattern": pattern}
    return jsonschema_rs.validator_for(schema, pattern_options=jsonschema_rs.RegexOptions(), offline=True)


def _is_valid(validator: Any, text: str) -> bool:
    try:
        return bool(validator.is_valid(text))
    except UnicodeEncodeError:  # a lone surrogate
        return bool(validator.is_valid(text.encode("utf-8", "replace").decode()))


class ToolSurface:
    """One tool as client constraints check it. Each part is computed on first use."""

    __slots__ = ("_using", "fields", "output_schema", "schema", "server_key", "tool", "tree")

    def __init__(self, tool: Tool, server_key: str = "") -> None:
        self.tool = tool
        self.server_key = server_key
        """The name of the server in a client's configuration, which clients put before the tool's name."""
        self.fields = tool.fields
        self._using: dict[str, list[SchemaNode]] = {}
        self.schema = tool.schema
        self.tree = tool.tree
        self.output_schema: Any = tool.fields.get("outputSchema")

    @property
    def nodes(self) -> list[SchemaNode]:
        """The input schema and every schema inside it."""
        return self.tree.nodes if self.tree is not None else []

    def using(self, keyword: str) -> list[SchemaNode]:
        """The schemas that use a keyword."""
        using = self._using.get(keyword)
        if using is None:
            if self.tree is None or keyword not in self.tree.marks:
                return []
            nodes = self.tree.nodes
            using = [node for node in nodes if type(node.schema) is dict and keyword in node.schema]
            self._using[keyword] = using
        return using

    def untyped(self) -> list[SchemaNode]:
        """The schemas without any of TYPE_KEYWORDS, and perhaps others."""
        tree = self.tree
        return self.nodes if tree is None or ODD in tree.marks else tree.untyped

    def declared(self) -> Iterator[tuple[SchemaNode, dict[str, Any]]]:
        """The schemas that declare properties, with those."""
        for node in self.using("properties"):
            declared = node.schema["properties"]
            if isinstance(declared, dict) and declared:
                yield node, declared


def optional_names(node: SchemaNode, declared: dict[str, Any]) -> list[str]:
    """The declared properties of a schema that it does not require."""
    required = node.schema.get("required")
    names = required if isinstance(required, list) else []
    return [name for name in declared if name not in names]


class ServerSurface(NamedTuple):
    """A server as client constraints check it."""

    tools: list[Tool]
    instructions: str
    instructions_at: str
    """The pointer of the instructions from the server; empty if there are none."""
    pages: int | None
    """The number of pages of `tools/list`; None if the catalog is not from a live server."""


def server_surface(catalog: Catalog) -> ServerSurface:
    """Return what clients see of a server as a whole."""
    greetings = ((key, catalog.server.fields.get(key)) for key in ("initialize", "discover"))
    texts = (
        (f"/{key}/instructions", greeting.get("instructions"))
        for key, greeting in greetings
        if isinstance(greeting, dict)
    )
    at, instructions = next(((at, text) for at, text in texts if isinstance(text, str)), ("", ""))
    pages = catalog.connection.tool_pages if catalog.connection is not None else None
    return ServerSurface(catalog.tools, instructions, at, pages)


if TYPE_CHECKING:
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
    return sum("anyOf" in schema or isinstance(schema.get("type"), list) for schema in schemas if type(schema) is dict)


LONG_NAME = "(long name)"
"""The name is too long for some client once the server's name is put before it."""
LARGE = "(large)"
"""The compact JSON of the input schema may exceed LARGE_BYTES."""

LONGEST_PLAIN_NAME = 56
"""The most characters of a tool's and a server's name together that are short enough for every client."""
LARGE_BYTES = 16_000


def marks_on(tool: Tool, server_key: str, needed: frozenset[str]) -> frozenset[str]:
    """Return those of the needed marks that a tool has; keywords of its input schema are marks, too."""
    tree = tool.tree
    present = needed & tool.marks
    more: list[str] = []
    if len(tool.name) + len(server_key) > LONGEST_PLAIN_NAME:
        more.append(LONG_NAME)
    if tree is None:
        more.append(ODD)
    else:
        present |= needed & tree.marks
    if tool.may_exceed(LARGE_BYTES):
        more.append(LARGE)
    return present.union(more) & needed if more else present
