"""The catalog: what a server offers, as received, and where each part came from.

Raw JSON is kept unchanged. A tool that is not an object, or has no name, is an item like any other: rules report
it, and it never hides other items. A catalog also knows which of its lists were not read as a whole, and for source
code where each part is written.
"""

from __future__ import annotations

import marshal
import re
from typing import TYPE_CHECKING, Any, Literal

from mcproof.core.named_tuple import NamedTuple
from mcproof.core.schema.keywords import marks_of
from mcproof.core.schema.tree import SchemaTree
from mcproof.core.text.json_positions import escape

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mcproof.core.observations.connection import ObservedConnection
    from mcproof.core.observations.source import HandlerAct, SourceLocation, SourceProblem
    from mcproof.core.text.json_document import JsonText


Kind = Literal["server", "tool", "resource", "template", "prompt"]

TOOL_MEMBERS = frozenset(
    {"name", "title", "description", "inputSchema", "outputSchema", "annotations", "execution", "icons", "_meta"}
)
"""The members of a tool that some revision of the protocol defines."""
HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")

ODD_NAME = "(name)"
"""Marks a name other than up to 64 ASCII letters and digits with single hyphens and underscores inside."""
NO_DESCRIPTION = "(no description)"
LONG_DESCRIPTION = "(long description)"
"""Marks a description of more than 512 characters, which may be more than 2,048 bytes."""
ODD_MEMBER = "(member)"
"""Marks a required member that is missing, one of another type than the protocol gives it, or of no revision."""
ODD_HINT = "(hint)"
"""Marks annotations other than hints and a title, those that contradict each other, and titles that differ."""
ODD_ROOT = "(root)"
"""Marks an input schema that is not of type `object`, or declares no properties."""
ODD_OUTPUT = "(output)"
"""Marks an output schema that is not of type `object`, or not plainly valid."""
OUTPUT_REFERENCE = "(output reference)"
OUTPUT_DIALECT = "(output dialect)"
LONGEST_NAME = 64
_LONG = 512
_PLAIN_NAME = r"[A-Za-z][A-Za-z0-9]*(?:[-_][A-Za-z0-9]+)*"
_REQUIRED = {("name", str), ("inputSchema", dict)}
_USUAL = _REQUIRED | {("title", str), ("description", str), ("outputSchema", dict), ("annotations", dict)}
_USUAL |= {("execution", dict), ("_meta", dict)}
_USUAL_HINTS = {(hint, bool) for hint in HINTS} | {("title", str)}
_NO_TASKS = {"taskSupport": "forbidden"}

SERVER_INFO_META = "io.modelcontextprotocol/serverInfo"
"""The key of the discovery response's `_meta` that holds the server's name in the stateless era."""


CONDITIONAL = "mcproof/conditional"
"""The key of `_meta` that marks items registered under a condition that the source does not decide."""


FROM_SOURCE = "mcproof/source"
"""The key of `_meta` that marks server info read from source, where missing fields are unknown."""


class Item:
    """One entry of a catalog: a tool, a resource, a resource template, a prompt, or the server itself."""

    __slots__ = ("fields", "index", "name", "pointer", "raw")
    kind: Kind

    def __init__(self, raw: Any, pointer: str, index: int = 0) -> None:
        self.raw = raw
        self.pointer = pointer
        """The item's pointer in the document it was read from."""
        self.index = index
        self.fields: dict[str, Any] = raw if isinstance(raw, dict) else {}
        """Its members; empty if it is not an object."""
        name = self.fields.get("name")
        self.name: str = name if isinstance(name, str) else ""
        """Its name; empty if the server gives none."""

    @property
    def is_object(self) -> bool:
        return isinstance(self.raw, dict)

    @property
    def marks(self) -> frozenset[str] | None:
        """Marks of what few such items have; None if anything may be unusual."""
        return None

    @property
    def given_name(self) -> str:
        """Its name, or its URI if it has no name; empty if it has neither."""
        return self.name

    @property
    def label(self) -> str:
        """A display name, even for an item without a name."""
        return self.given_name or f"{self.list_key}[{self.index}]"

    @property
    def list_key(self) -> str:
        """The key of the list that contains it."""
        return f"{self.kind}s"

    @property
    def subject(self) -> str:
        return f"{self.kind}:{self.name or self.label}"

    def pointer_to(self, key: str) -> str:
        """The pointer of a member, or of the item itself if it has no such member."""
        return f"/{key}" if key in self.fields else ""


class Server(Item):
    """The server itself: the subject of findings about the whole catalog."""

    __slots__ = ()
    kind: Kind = "server"

    @property
    def subject(self) -> str:
        return "server"


class SourceTool(NamedTuple):
    """What source code reveals about a tool beyond what the server would serve."""

    schema_is_explicit: bool
    """Whether the input schema is written out rather than derived from a signature."""
    required_by_signature: tuple[str, ...] = ()
    """The function's parameters without a default."""
    unknown: frozenset[str] = frozenset()
    """Pointers, from the tool, to values that are unknown without running the code; rules ignore them."""
    server: int = 0
    """The index of the server, in the source, that serves it; only tools of that server are its siblings."""
    framework: str = ""
    """The framework of that server, as discovery names it."""

    def knows(self, pointer: str) -> bool:
        """Whether neither the value at a pointer nor anything around it is unknown."""
        if not self.unknown:
            return True
        around = pointer
        while around not in self.unknown:
            if not around:
                return True
            around = around.rpartition("/")[0]
        return False

    def knows_members(self, pointer: str) -> bool:
        """Whether also no member of the value at a pointer is unknown, so that what is missing there is missing."""
        return self.knows(pointer) and not any(unknown.rpartition("/")[0] == pointer for unknown in self.unknown)

    def knows_all(self, pointer: str) -> bool:
        """Whether also nothing inside the value at a pointer is unknown."""
        return self.knows(pointer) and not any(unknown.startswith(f"{pointer}/") for unknown in self.unknown)


class SourceMap(NamedTuple):
    """The catalog in a source tree, and where its parts are."""

    target: str
    """The file or folder that was followed, which may hold other servers too."""
    document: dict[str, Any]
    """The catalog, in the format of a capture."""
    locations: dict[str, SourceLocation]
    """The location of each part of the document, by JSON pointer."""
    tools: list[SourceTool]
    """Facts that only the source has, in the order of the document's tools."""
    lines: dict[str, tuple[tuple[str, int], ...]]
    """File and line of the decorator, `def` or constructor that registers each item, by the item's pointer."""
    comments: dict[str, list[tuple[int, str]]]
    """Comments that mention mcproof, by file: line and text."""
    problems: list[SourceProblem]
    """Files that could not be read."""
    files: list[str]
    """The files that define an item."""
    incomplete_lists: frozenset[str]
    """The lists of the document that may be incomplete."""
    continuation_lines: dict[str, dict[tuple[str, int], int]]
    """For each item, the further lines of a parameter or docstring, with the line that it starts on."""
    omissions: list[SourceProblem]
    """What is not checked, because discovery could not follow it."""
    overrides: Mapping[str, bytes] = {}
    """The content that replaced that of files, by their real paths."""
    read: frozenset[str] = frozenset()
    """The absolute paths of all files that the catalog depends on."""
    is_whole: bool = False
    """Whether it has, for a file, also what the modules that it imports register."""
    server: int | None = None
    """Which of the servers in the folder it is; None if all that was found is one catalog."""
    servers: int = 0
    """How many servers the folder has, if it is one of them."""
    project: object = None
    """The project as it was followed, so that `scan` asks for more of it without following it again."""


class Tool(Item):
    __slots__ = (
        "_marks",
        "_output_tree",
        "_tree",
        "_written",
        "description",
        "document",
        "schema",
        "source",
    )
    kind: Kind = "tool"

    def __init__(self, raw: Any, pointer: str, index: int = 0) -> None:
        super().__init__(raw, pointer, index)
        description, schema = self.fields.get("description"), self.fields.get("inputSchema")
        self.description: str = description if isinstance(description, str) else ""
        """The description as received; empty if it is absent or not a string."""
        self.schema: dict[str, Any] | None = schema if isinstance(schema, dict) else None
        """The input schema, if it is an object."""
        self.document: JsonText | None = None
        """The document it was read from, if it was read from a snapshot."""
        self.source: SourceTool | None = None
        """What its source code reveals, if it was read from source."""
        self._tree: SchemaTree | None = None
        self._written: bytes | None = None
        self._output_tree: SchemaTree | None = None
        self._marks: frozenset[str] | Literal["unknown"] | None = "unknown"

    @property
    def is_plain(self) -> bool:
        """Whether its texts are known to have only ASCII characters, and of control characters only whitespace."""
        return self.document is not None and self.document.is_plain

    def knows(self, pointer: str) -> bool:
        """Whether the value at a pointer is known; always true unless the tool was read from source."""
        return self.source is None or self.source.knows(pointer)

    def knows_all(self, pointer: str) -> bool:
        """Whether the value at a pointer is known entirely."""
        return self.source is None or self.source.knows_all(pointer)

    @property
    def parameters(self) -> dict[str, Any]:
        """The declared properties of the input schema; empty if the keyword is absent or malformed."""
        properties = self.schema.get("properties") if self.schema is not None else None
        return properties if isinstance(properties, dict) else {}

    @property
    def tree(self) -> SchemaTree | None:
        """The input schema as a tree, walked once for all rules."""
        if self._tree is None and self.schema is not None:
            self._tree = SchemaTree(self.schema)
            self._tree.explanation = self.description
        return self._tree

    @property
    def marks(self) -> frozenset[str] | None:
        """The keywords of its input schema, and marks of what few tools have; None if anything may be unusual.

        Rules and constraints name the marks without which they find nothing, and most tools have none of them: without
        this, `compat` and `spec` take twice as long.
        """
        # Why with marks: docs/decisions/0043-survey-before-constraints.md.
        if self._marks == "unknown":
            of_schema = self.tree.marks if self.tree is not None else None
            # A reference may make a schema of what no keyword does, which marks do not show.
            self._marks = None if of_schema is None or "$ref" in of_schema else of_schema.union(self._unusual())
        return self._marks

    def _unusual(self) -> Iterator[str]:
        """The marks of everything but the input schema, which is an object."""
        fields, schema = self.fields, self.schema or {}
        if len(self.name) > LONGEST_NAME or not re.fullmatch(_PLAIN_NAME, self.name):
            yield ODD_NAME
        if len(self.description) > _LONG:
            yield LONG_DESCRIPTION
        elif not self.description.strip():
            yield NO_DESCRIPTION
        if schema.get("type") != "object" or not schema.get("properties"):
            yield ODD_ROOT
        hints, title = fields.get("annotations") or {}, fields.get("title")
        if (
            # Names and types of all members are compared at once: nearly every tool has only usual ones.
            not _REQUIRED <= _pairs(fields) <= _USUAL
            or (type(title) is str and not title.strip())
            or fields.get("execution", _NO_TASKS) != _NO_TASKS
        ):
            yield ODD_MEMBER
        if "_meta" in fields:
            yield "_meta"
        if (
            type(hints) is not dict
            or not _pairs(hints) <= _USUAL_HINTS
            or (hints.get("readOnlyHint") and hints.get("destructiveHint"))
            or (title is not None and hints.get("title", title) != title)
        ):
            yield ODD_HINT
        if "outputSchema" in fields:
            output = marks_of(fields["outputSchema"])
            if output is None or fields["outputSchema"].get("type") != "object":
                yield ODD_OUTPUT
            if output is None or "$ref" in output:
                yield OUTPUT_REFERENCE
            if output is None or "$schema" in output:
                yield OUTPUT_DIALECT

    @property
    def output_tree(self) -> SchemaTree | None:
        """The output schema as a tree; None if it is absent or not an object."""
        schema = self.fields.get("outputSchema")
        if self._output_tree is None and isinstance(schema, dict):
            self._output_tree = SchemaTree(schema, "/outputSchema")
        return self._output_tree

    @property
    def written(self) -> bytes:
        """All its texts except the description, among other bytes, as UTF-8: for fast substring searches.

        Empty if it is nested too deep to encode.
        """
        if self._written is None:
            try:
                rest = {**self.fields, "description": None} if self.description else self.fields
                self._written = marshal.dumps(rest, 4)
            except ValueError:  # nested too deep for marshal
                self._written = b""
        return self._written

    def release_tree(self) -> None:
        """Drop cached trees and texts, so that a large catalog is not held in memory twice."""
        self._written = None
        if self._tree is not None:
            self._tree.release()
            self._tree = None
        if self._output_tree is not None:
            self._output_tree.release()
            self._output_tree = None


def _pairs(members: dict[str, Any]) -> set[tuple[str, type]]:
    """The members of an object, each with the type of its value."""
    return {*zip(members, map(type, members.values()), strict=True)}


class Resource(Item):
    __slots__ = ()
    kind: Kind = "resource"

    @property
    def given_name(self) -> str:
        uri = self.fields.get("uri")
        return self.name or (uri if isinstance(uri, str) else "")


class ResourceTemplate(Item):
    __slots__ = ()
    kind: Kind = "template"

    @property
    def given_name(self) -> str:
        uri = self.fields.get("uriTemplate")
        return self.name or (uri if isinstance(uri, str) else "")

    @property
    def list_key(self) -> str:
        return "resourceTemplates"


class Prompt(Item):
    __slots__ = ()
    kind: Kind = "prompt"


class Origin(NamedTuple):
    """Where a live server is named: in a client configuration or on the command line."""

    file: str
    line: int | None = None


class Neighbour(NamedTuple):
    """Another server of the same client configuration."""

    server: str
    tools: tuple[str, ...]


class Catalog:
    """Everything a server offers, with the document it was read from."""

    def __init__(
        self,
        name: str,
        document: JsonText,
        *,
        tools: list[Tool],
        resources: list[Resource] | None = None,
        templates: list[ResourceTemplate] | None = None,
        prompts: list[Prompt] | None = None,
        server: Server | None = None,
        describes_server: bool = False,
        has_more: bool = False,
        connection: ObservedConnection | None = None,
        origin: Origin | None = None,
    ) -> None:
        self.name = name
        """Its name for the user: the file, as given."""
        self.document = document
        self.tools = tools
        self.resources = resources or []
        self.templates = templates or []
        self.prompts = prompts or []
        self.server = server or Server({}, "")
        self.describes_server = describes_server
        """Whether the input has all that the server reports about itself: true of captures, not of lists or source."""
        self.has_more = has_more
        """Whether the list continues on pages that were not read."""
        self.connection = connection
        """What the connection showed while it was read from a live server; None if it was not."""
        self.source: SourceMap | None = None
        """The location of each part and other facts from source, if it was read from source."""
        self.acts: tuple[HandlerAct, ...] = ()
        """What the handlers of its tools do, if their source was followed."""
        self.origin = origin
        """Where a live server is named, since its catalog is not in a file."""

    @property
    def server_info(self) -> dict[str, Any]:
        """The server's name and version, from either protocol era."""
        return next((info for _, info in self._introductions() if isinstance(info, dict)), {})

    def knows_server_info(self, key: str) -> bool:
        """Whether the value, or the absence, of a key of `serverInfo` is known."""
        return self.describes_server or key in self.server_info

    @property
    def server_info_pointer(self) -> str:
        """The pointer of the server info, or of where it should be."""
        return next((pointer for pointer, info in self._introductions() if info is not None), self.server.pointer)

    def _introductions(self) -> Iterator[tuple[str, Any]]:
        """The pointers where a server can report its name, with the values there, the most specific first."""
        handshake, discovery = self.server.fields.get("initialize"), self.server.fields.get("discover")
        if isinstance(handshake, dict):
            yield f"{self.server.pointer}/initialize/serverInfo", handshake.get("serverInfo")
        if isinstance(discovery, dict) and isinstance(discovery.get("_meta"), dict):
            pointer = f"{self.server.pointer}/discover/_meta/{escape(SERVER_INFO_META)}"
            yield pointer, discovery["_meta"].get(SERVER_INFO_META)

    @property
    def capabilities(self) -> dict[str, Any] | None:
        """The capabilities that the server declares; None if the input does not contain them."""
        at = self.capabilities_at
        declared: dict[str, Any] | None = self.server.fields[at[1:].partition("/")[0]]["capabilities"] if at else None
        return declared

    @property
    def capabilities_at(self) -> str:
        """The pointer of the capabilities from the server; empty if the input does not contain them."""
        for key in ("initialize", "discover"):
            introduction = self.server.fields.get(key)
            if isinstance(introduction, dict) and isinstance(introduction.get("capabilities"), dict):
                return f"/{key}/capabilities"
        return ""

    @property
    def protocol(self) -> str | None:
        """The negotiated protocol revision, if the input contains it."""
        if self.connection is not None:
            return self.connection.agreed
        handshake = self.server.fields.get("initialize")
        revision = handshake.get("protocolVersion") if isinstance(handshake, dict) else None
        return revision if isinstance(revision, str) else None

    @property
    def missing(self) -> str | None:
        """What a live server announced and did not serve, in words; None if nothing is missing."""
        if self.connection is None or not self.connection.unserved:
            return None
        return "; ".join(f"`{method}` is not served: {outcome}" for method, outcome in self.connection.unserved)

    @property
    def counts(self) -> dict[str, int]:
        """The number of items of each kind."""
        return {
            "tools": len(self.tools),
            "resources": len(self.resources),
            "templates": len(self.templates),
            "prompts": len(self.prompts),
        }

    def by_server(self) -> list[Catalog]:
        """One catalog per server, if source code defines several: rules about siblings check one at a time.

        Everything but the tools is only in the first.
        """
        tools: dict[int, list[Tool]] = {}
        for tool in self.tools:
            # Rules about siblings must not compare tools that no client sees together.
            tools.setdefault(tool.source.server if tool.source is not None else 0, []).append(tool)
        if len(tools) < 2:
            return [self]
        parts = [Catalog(self.name, self.document, tools=own) for own in tools.values()]
        first = parts[0]
        # Else findings about them would be reported once for each server.
        first.resources, first.templates, first.prompts = self.resources, self.templates, self.prompts
        first.server, first.describes_server, first.source = self.server, self.describes_server, self.source
        return parts

    @property
    def lists_tools(self) -> bool:
        """Whether a list of tools was read at all; any such list counts as a successful handshake."""
        return bool(self.tools) or isinstance(self.server.fields.get("tools"), list)

    @property
    def misses_tools(self) -> bool:
        """Whether a live server did not serve its list of tools, or not all of it."""
        return self.connection is not None and any(method == "tools/list" for method, _ in self.connection.unserved)

    @property
    def is_empty(self) -> bool:
        """Whether there are no tools, resources or prompts."""
        return not (self.tools or self.resources or self.prompts) and self.missing is None


METHODS = {
    "tools": "tools/list",
    "resources": "resources/list",
    "resourceTemplates": "resources/templates/list",
    "prompts": "prompts/list",
}
"""The method that lists each kind of item, by the key of the list."""
_CUT_OFF = ("bad-cursor", "cursor-loop", "endless-pages")
"""The anomalies that end a list before its last page."""


def unread_lists(catalog: Catalog) -> dict[str, str]:
    """The lists that were not read as a whole, by their key, each with the reason."""
    unread = {}
    facts = catalog.connection
    if facts is not None:
        failed = {method for method, _ in facts.unserved}
        cut_off = {anomaly.method for anomaly in facts.anomalies if anomaly.kind in _CUT_OFF}
        for key, method in METHODS.items():
            if method in failed:
                unread[key] = f"`{method}` was not served, or only in part"
            elif method in cut_off:
                unread[key] = f"the pages of `{method}` do not end"
    else:
        listed = catalog.server.fields
        declared = catalog.capabilities or {} if catalog.describes_server else {}
        for key in METHODS:
            if key in declared and key not in listed:
                unread[key] = f"the server offers {key}, but the input has no list of them"
            elif not isinstance(listed.get(key, []), list):
                unread[key] = f"`{key}` is not a list"
    if catalog.has_more:
        unread.setdefault("tools", "the list of tools continues on a page that was not read")
    return unread
