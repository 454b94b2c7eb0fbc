"""Facts: what a server offers, as received, and where each part of it came from.

Raw JSON is kept as it is. A tool that is no object, or has no name, is an item like any other: rules report it,
and it never hides its neighbours.
"""

from __future__ import annotations

import marshal
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from mcproof.schema.tree import SchemaTree
from mcproof.text.pointers import escape

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.discovery import Discovered
    from mcproof.exchange.connection_facts import ConnectionFacts
    from mcproof.exchange.probe_facts import ItemProbes
    from mcproof.rules.polish.prose import ToolWords
    from mcproof.text.jsontext import JsonText

Kind = Literal["server", "tool", "resource", "template", "prompt"]

SERVER_INFO_META = "io.modelcontextprotocol/serverInfo"
"""Where the stateless protocol era keeps the server's name: a key of the discovery answer's `_meta`."""


CONDITIONAL = "mcproof/conditional"
"""The key of `_meta` that marks what source code registers only under a condition which it does not settle."""


OF_SOURCE = "mcproof/source"
"""The key of `_meta` that marks an introduction which was read from source code: what it lacks is not known."""


class Item:
    """One entry of a catalog: a tool, a resource, a template or a prompt, or the server itself."""

    __slots__ = ("fields", "index", "name", "pointer", "raw")
    kind: Kind

    def __init__(self, raw: Any, pointer: str, index: int = 0) -> None:
        self.raw = raw
        self.pointer = pointer
        """Where it stands in the document that it was read from."""
        self.index = index
        self.fields: dict[str, Any] = raw if isinstance(raw, dict) else {}
        """Its members; none where it is no object."""
        name = self.fields.get("name")
        self.name: str = name if isinstance(name, str) else ""
        """The name that the server gave; empty where it gave none."""

    @property
    def is_object(self) -> bool:
        return isinstance(self.raw, dict)

    @property
    def given_name(self) -> str:
        """What the server calls it by: its name, or what stands for one; empty where there is nothing."""
        return self.name

    @property
    def label(self) -> str:
        """Something to call it by, whether or not it has a name."""
        return self.given_name or f"{self.list_key}[{self.index}]"

    @property
    def list_key(self) -> str:
        """The key of the list that it stands in."""
        return f"{self.kind}s"

    @property
    def subject(self) -> str:
        return f"{self.kind}:{self.label}"

    def place_of(self, key: str) -> str:
        """The pointer of a member, or of the item itself where it has no such member."""
        return f"/{key}" if key in self.fields else ""


class Server(Item):
    """The server itself: the subject of what is true of the whole catalog."""

    __slots__ = ()
    kind: Kind = "server"

    @property
    def subject(self) -> str:
        return "server"


class SourceTool(NamedTuple):
    """What source code tells of a tool beside what the server would serve."""

    schema_is_explicit: bool
    """Whether the input schema is written out, rather than derived from a signature."""
    required_by_signature: tuple[str, ...] = ()
    """The parameters of the function that have no default."""
    unknown: frozenset[str] = frozenset()
    """Pointers from the tool to what only running the code would tell; rules are silent about it."""
    server: int = 0
    """Which of the servers in the source serves it; it has no siblings but the other tools of that one."""

    def knows(self, pointer: str) -> bool:
        """Whether neither what stands at a pointer nor anything around it is unknown."""
        if not self.unknown:
            return True
        around = pointer
        while around not in self.unknown:
            if not around:
                return True
            around = around.rpartition("/")[0]
        return False

    def knows_all(self, pointer: str) -> bool:
        """Whether nothing inside of what stands at a pointer is unknown either."""
        return self.knows(pointer) and not any(each.startswith(f"{pointer}/") for each in self.unknown)


class Tool(Item):
    __slots__ = ("_tree", "_written", "description", "schema", "source", "words")
    kind: Kind = "tool"

    def __init__(self, raw: Any, pointer: str, index: int = 0) -> None:
        super().__init__(raw, pointer, index)
        description, schema = self.fields.get("description"), self.fields.get("inputSchema")
        self.description: str = description if isinstance(description, str) else ""
        """The description as received; empty where it is absent or no string."""
        self.schema: dict[str, Any] | None = schema if isinstance(schema, dict) else None
        """The input schema, if it is an object."""
        self.source: SourceTool | None = None
        """What its source code tells, where it was read from that."""
        self.words: ToolWords | None = None
        """The words of its texts, cached for the `polish` rules until `forget_tree`."""
        self._tree: SchemaTree | None = None
        self._written: bytes | None = None

    def knows(self, pointer: str) -> bool:
        """Whether what stands at a pointer is known: all that a server serves is, of source code only some."""
        return self.source is None or self.source.knows(pointer)

    def knows_all(self, pointer: str) -> bool:
        """Whether what stands at a pointer is known with all that is in it."""
        return self.source is None or self.source.knows_all(pointer)

    @property
    def parameters(self) -> dict[str, Any]:
        """The declared properties of the input schema; none where the keyword is absent or malformed."""
        properties = self.schema.get("properties") if self.schema is not None else None
        return properties if isinstance(properties, dict) else {}

    @property
    def tree(self) -> SchemaTree | None:
        """The input schema, walked; the one walk that all rules share."""
        if self._tree is None and self.schema is not None:
            self._tree = SchemaTree(self.schema)
        return self._tree

    @property
    def written(self) -> bytes:
        """All texts in it but the description, in UTF-8 and among other bytes, for a quick look.

        Empty where it nests too deep for that.
        """
        if self._written is None:
            try:
                rest = {**self.fields, "description": None} if self.description else self.fields
                self._written = marshal.dumps(rest, 4)
            except ValueError:
                self._written = b""
        return self._written

    def forget_tree(self) -> None:
        """Let go of the walk and the like, so that a large catalog is never held twice."""
        self.words = self._written = None
        if self._tree is not None:
            self._tree.release()
            self._tree = None


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
    """Where somebody named a live server: a client configuration, or just a command line."""

    file: str
    line: int | None = None


class Catalog:
    """Everything that a server offers, with the document it was read from."""

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
        speaks_of_server: bool = False,
        has_more: bool = False,
        connection: ConnectionFacts | None = None,
        origin: Origin | None = None,
    ) -> None:
        self.name = name
        """What the user calls it: the file, as given."""
        self.document = document
        self.tools = tools
        self.resources = resources or []
        self.templates = templates or []
        self.prompts = prompts or []
        self.server = server or Server({}, "")
        self.speaks_of_server = speaks_of_server
        """Whether this input says all that the server says of itself: a capture does, a bare list of tools does not,
        and source code leaves some of it to the framework."""
        self.has_more = has_more
        """Whether the list goes on after what was read."""
        self.connection = connection
        """What the connection showed, where it was read from a live server."""
        self.item_probes: list[ItemProbes] | None = None
        """What was tried on the live server, item by item; None where nothing was called."""
        self.source: Discovered | None = None
        """Where each part is written, and what only the source knows, where it was read from Python source."""
        self.origin = origin
        """Where a live server is named, as its catalog stands in no file."""

    @property
    def server_info(self) -> dict[str, Any]:
        """The server's name and version, from whichever protocol era answered."""
        return next((info for _, info in self._introductions() if isinstance(info, dict)), {})

    def tells(self, key: str) -> bool:
        """Whether it is known what the server says under a key of `serverInfo`: that nothing, or what."""
        return self.speaks_of_server or key in self.server_info

    @property
    def server_info_pointer(self) -> str:
        """Where in the document the server introduces itself, or should have."""
        return next((pointer for pointer, info in self._introductions() if info is not None), self.server.pointer)

    def _introductions(self) -> Iterator[tuple[str, Any]]:
        """The places where a server can say its name, with what stands there, the most specific first."""
        handshake, discovery = self.server.fields.get("initialize"), self.server.fields.get("discover")
        if isinstance(handshake, dict):
            yield f"{self.server.pointer}/initialize/serverInfo", handshake.get("serverInfo")
        if isinstance(discovery, dict) and isinstance(discovery.get("_meta"), dict):
            pointer = f"{self.server.pointer}/discover/_meta/{escape(SERVER_INFO_META)}"
            yield pointer, discovery["_meta"].get(SERVER_INFO_META)

    @property
    def protocol(self) -> str | None:
        """The protocol revision that was agreed on, where the input says so."""
        if self.connection is not None:
            return self.connection.agreed
        handshake = self.server.fields.get("initialize")
        revision = handshake.get("protocolVersion") if isinstance(handshake, dict) else None
        return revision if isinstance(revision, str) else None

    @property
    def missing(self) -> str | None:
        """What a live server promised and did not serve, in words; None where everything came."""
        if self.connection is None or not self.connection.unserved:
            return None
        return "; ".join(f"`{method}` is not served: {instead}" for method, instead in self.connection.unserved)

    @property
    def counts(self) -> dict[str, int]:
        """How many items of each kind there are."""
        return {
            "tools": len(self.tools),
            "resources": len(self.resources),
            "templates": len(self.templates),
            "prompts": len(self.prompts),
        }

    def by_server(self) -> list[Catalog]:
        """The tools of each server, where source code holds several: rules about siblings look at one at a time.

        What else there is, and what is true of the source as a whole, is in the first of them alone.
        """
        tools: dict[int, list[Tool]] = {}
        for tool in self.tools:
            tools.setdefault(tool.source.server if tool.source is not None else 0, []).append(tool)
        if len(tools) < 2:
            return [self]
        parts = [Catalog(self.name, self.document, tools=each) for each in tools.values()]
        first = parts[0]
        first.resources, first.templates, first.prompts = self.resources, self.templates, self.prompts
        first.server, first.speaks_of_server, first.source = self.server, self.speaks_of_server, self.source
        return parts

    @property
    def lists_tools(self) -> bool:
        """Whether a list of tools was read at all; any such list counts as a successful handshake."""
        return bool(self.tools) or isinstance(self.server.fields.get("tools"), list)

    @property
    def is_empty(self) -> bool:
        """Whether there is no tool, resource or prompt to use."""
        return not (self.tools or self.resources or self.prompts) and self.missing is None
