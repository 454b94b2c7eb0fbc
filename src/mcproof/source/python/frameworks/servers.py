"""Servers as values of the interpreter, and registrations: from the arguments of a call to an item of a server.

Functions, tool objects, callable objects, classes and the marked methods of `MCPMixin` can be registered. Tools can
be removed, and servers mounted on each other.
"""

from __future__ import annotations

import ast
import inspect
from typing import TYPE_CHECKING, Any

from mcproof.core.named_tuple import NamedTuple
from mcproof.source.document import TOO_MANY
from mcproof.source.framework_tables import (
    CONSTRUCTOR_PARAMETERS,
    LIST_RESULTS,
    MIXIN_DECORATORS,
    MIXIN_METHODS,
    MIXIN_SEPARATORS,
    PACKAGES,
    SERVER_CLASSES,
)
from mcproof.source.python.frameworks import fastmcp
from mcproof.source.python.interp.attributes import docstring_of
from mcproof.source.python.interp.containers import (
    EXACT,
    Assumed,
    SourceList,
    default_of,
    doubtful_positions,
    extent_of,
    truth,
)
from mcproof.source.python.interp.values import (
    UNKNOWN,
    Call,
    Class,
    External,
    ExternalCall,
    Function,
    Instance,
    Method,
    argument_nodes,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.source.python.frameworks.domain import McpDomain
    from mcproof.source.python.frameworks.served_items import Switch
    from mcproof.source.python.interp.modules import Module


class RegisteredItem:
    """One registered item: made from a function, or from an object of the protocol's types."""

    def __init__(
        self,
        kind: str,
        given: dict[str, Any],
        *,
        function: Function | None = None,
        node: ast.AST | None = None,
        module: Module | None = None,
        doubtful: bool = False,
        complete: bool = True,
    ) -> None:
        self.kind = kind
        self.given = {key: default_of(value) for key, value in given.items()}
        """The arguments of the registration: name, description, schema and so on."""
        self.function = function
        self.node = node
        self.module = module
        self.doubtful = doubtful
        """Whether its server may lack it."""
        self.under_condition = False
        """Whether the registration depends on a condition, if only on that of its server's existence."""
        self.complete = complete
        """Whether all arguments of the registration are known."""
        self.nodes = argument_nodes(node)
        self.closed = False
        """Whether the program has forbidden undeclared arguments before the registration."""
        self.altered = False
        """Whether the program accesses its schemas, and may change them."""

    @property
    def name(self) -> Any:
        """The name that it is registered under; may be unknown."""
        given = self.given.get("name")
        return given if given is not None else self.exposed_function.name if self.exposed_function is not None else None

    @property
    def exposed_function(self) -> Function | None:
        """The function whose name, signature and docstring it has."""
        return self.function.exposed() if self.function is not None else None


class Mount(NamedTuple):
    """A server that is part of another."""

    server: ServerValue
    prefix: Any
    doubtful: bool
    call: Call


class ListHandler(NamedTuple):
    """A function that lists the items of a low-level server."""

    kind: str
    function: Function
    doubtful: bool


class CallHandler(NamedTuple):
    """A function that handles all requests of a kind: calls of tools, reading of resources, prompts, completions."""

    kind: str
    function: Function


class ServerInfo:
    """What a server reports about itself when a client connects; every value may be unknown."""

    FIELDS = ("name", "version", "instructions")

    def __init__(self) -> None:
        self.name: Any = UNKNOWN
        self.version: Any = UNKNOWN
        self.instructions: Any = UNKNOWN


class ListChanges:
    """How a server changes its list of tools before clients see it."""

    def __init__(self) -> None:
        self.namespaces: list[str] = []
        """Prefixes of all names, the innermost first."""
        self.switches: list[Switch] = []
        """What shows or hides items, in the order of the program."""
        self.changed_at: tuple[Module | None, ast.AST | None] | None = None
        """Project code that may add, remove or rename tools."""
        self.unknown: set[str] = set()
        """JSON pointers to the parts of each tool that such code may change."""


class ServerValue:
    """A server that the program creates, or that it is given."""

    def __init__(self, framework: str, *, is_given: bool = False) -> None:
        self.framework = framework
        """`mcp`, `mcp1` (its first major version), `fastmcp` or `lowlevel`; empty if unknown."""
        self.is_given = is_given
        """Whether it stands for a parameter that the project never passes."""
        self.node: ast.AST | None = None
        self.module: Module | None = None
        self.doubt = 0
        """How many of the conditions that it was created under still apply."""
        self.info = ServerInfo()
        self.items: list[RegisteredItem] = []
        self.handlers: list[ListHandler] = []
        self.call_handlers: list[CallHandler] = []
        self.mounts: list[Mount] = []
        self.mounted = False
        """Whether it is part of another server."""
        self.changes = ListChanges()
        self.open_at: list[Call | ExternalCall] = []
        """Calls that add tools from outside the source: a server, a provider or a list."""
        self.on_duplicate: dict[str, Any] = {}
        """The constructor's setting for items with the same name, by kind."""

    def keeps_last(self, kind: str, framework: str) -> bool | None:
        """Whether the later of two items with the same name is served; None if unknown."""
        if framework != "fastmcp":
            return kind == "templates"
        setting = self.on_duplicate.get(kind)
        if setting is None or setting in ("replace", "warn"):
            return True
        return False if setting in ("ignore", "error") else None

    def doubt_everything(self) -> None:
        """Note that it may not be served at all."""
        for item in self.items:
            item.doubtful = True
        self.handlers = [handler._replace(doubtful=True) for handler in self.handlers]
        self.mounts = [mount._replace(doubtful=True) for mount in self.mounts]

    def contains(self, other: ServerValue) -> bool:
        """Whether another server is this one or part of it."""
        waiting, seen = [self], {id(self)}
        while waiting:
            server = waiting.pop()
            if server is other:
                return True
            for mount in server.mounts:
                if id(mount.server) not in seen:
                    seen.add(id(mount.server))
                    waiting.append(mount.server)
        return False


class ToolHandle(NamedTuple):
    """A registered tool that the program looks up by name."""

    server: ServerValue
    name: Any


class PendingRegistration:
    """A decorator that registers what it is applied to: `mcp.tool(...)`."""

    def __init__(
        self, server: ServerValue, method: str, kind: str, call: Call, *, may_do_nothing: bool = False
    ) -> None:
        self.server = server
        self.method = method
        self.kind = kind
        self.call = call
        self.may_do_nothing = may_do_nothing
        """Whether it may be something else that registers nothing."""


def server_of(value: Any) -> ServerValue | None:
    """The server that a value is, or that an instance of a server class contains."""
    value = value.native if isinstance(value, Instance) else value
    return value if isinstance(value, ServerValue) else None


def join_servers(one: Any, other: Any) -> Any:
    """One of two values, the first of which is a server; of two servers, only common info is known."""
    first, second = server_of(one), server_of(other)
    if first is not None and second is not None:
        for key in ServerInfo.FIELDS:
            if getattr(first.info, key) != getattr(second.info, key):
                setattr(first.info, key, UNKNOWN)
    return one


def framework_of(value: Any) -> str | None:
    """The framework of a server class; None for anything else."""
    if not isinstance(value, External):
        return None
    return SERVER_CLASSES.get((value.package, value.last)) or SERVER_CLASSES.get(("", value.last))


def set_info(server: ServerValue, args: list[Any], kwargs: dict[str, Any]) -> None:
    """Take the server's info from the arguments of its constructor."""
    given = {**dict(zip(CONSTRUCTOR_PARAMETERS.get(server.framework, ("name",)), args, strict=False)), **kwargs}
    for key in ServerInfo.FIELDS:
        if key in given:
            setattr(server.info, key, default_of(given[key]))


def listed(value: Any) -> tuple[list[Any] | None, set[int]]:
    """The items in the result of a list handler, None if unknown, and the positions of doubtful ones."""
    if isinstance(value, ExternalCall):
        if value.func.last in LIST_RESULTS:
            for argument in (*value.args, *value.kwargs.values()):
                values = listed(argument)
                if values[0] is not None:
                    return values
        return None, set()
    if isinstance(value, (SourceList, tuple, list)):
        return list(value), doubtful_positions(value)
    return None, set()


def is_incomplete(value: Any) -> bool:
    """Whether the result of a list handler may contain more than is known."""
    while isinstance(value, ExternalCall):
        value = next(
            (argument for argument in (*value.args, *value.kwargs.values()) if listed(argument)[0] is not None), None
        )
    return extent_of(value) is not EXACT


class MarkedMethod(NamedTuple):
    """A method to register, with the arguments of its decorator."""

    kind: str
    method: Function
    given: dict[str, Any]


def is_mark(value: Any) -> bool:
    """Whether a value is one of the mixin's decorators."""
    return isinstance(value, ExternalCall) and value.func.package == "fastmcp" and value.func.last in MIXIN_DECORATORS


def mark(decorator: ExternalCall, function: Function) -> None:
    """Store the decorator in the function that it marks."""
    function.attributes[f"<{MIXIN_DECORATORS[decorator.func.last]}>"] = decorator


def marked(holder: Instance, registering: str, call: Call) -> Iterator[MarkedMethod]:
    """What a registering method of the mixin registers, in order."""
    prefix = call.args[1] if len(call.args) > 1 else call.kwargs.get("prefix")
    for kind in MIXIN_METHODS[registering]:
        word = "separator" if registering != "register_all" else f"{kind[:-1]}_separator"
        separator = call.kwargs.get(word, MIXIN_SEPARATORS[kind])
        names = {name for ancestor in holder.cls.ancestry() for name in ancestor.body.names}
        for name in sorted(names):
            method = holder.cls.attribute(name)
            decorator = method.attributes.get(f"<{kind}>") if isinstance(method, Function) else None
            if isinstance(decorator, ExternalCall):
                yield MarkedMethod(kind, method.bound(holder), _given(decorator, method, kind, prefix, separator))


def _given(decorator: ExternalCall, method: Function, kind: str, prefix: Any, separator: Any) -> dict[str, Any]:
    """The arguments of the decorator, with the prefix in name and address."""
    first = "uri" if kind == "resources" else "name"
    given = {**dict(zip((first,), decorator.args, strict=False)), **decorator.kwargs}
    given["name"] = given.get("name") or method.exposed().name
    if prefix is None or prefix == "":
        return given
    is_known = isinstance(prefix, str) and isinstance(separator, str) and decorator.complete
    for key in ("name", "uri") if kind == "resources" else ("name",):
        given[key] = f"{prefix}{separator}{given.get(key)}" if is_known and isinstance(given.get(key), str) else UNKNOWN
    return given


MOST_ITEMS = 20_000
FASTMCP_MARK = "__fastmcp__"
"""The attribute in which a function keeps the arguments of a fastmcp decorator without a server."""


def register(domain: McpDomain, server: ServerValue, kind: str, value: Any, given: dict[str, Any], call: Call) -> None:
    """Register a function, a tool object, a callable object or a class on a server."""
    run = domain.run
    doubtful = run.doubt > server.doubt or domain.is_doubtful(value)
    if is_opaque(value) or (isinstance(value, Function) and value.exposed().wrapped is UNKNOWN):
        value = UNKNOWN
    enabled = given.get("enabled")
    if enabled is False:
        return
    domain.effects += 1
    if len(server.items) >= MOST_ITEMS:
        domain.omit(TOO_MANY, call.module, call.node, is_incomplete=True)
        return
    item = _item_of(kind, value, given, call)
    if item is not None:
        item.doubtful = doubtful or (enabled is not None and truth(enabled) is None)
        item.under_condition = run.doubt > 0
        item.closed = domain.forbids_extra
        item.altered = any(value is tool for tool in domain.altered)
        server.items.append(item)


def is_opaque(value: Any) -> bool:
    """Whether a value is something of a library or of an unknown object: it may be anything that can be registered."""
    return value is UNKNOWN or isinstance(value, (External, Method))


def _item_of(kind: str, value: Any, given: dict[str, Any], call: Call) -> RegisteredItem | None:
    """The item that a registered value makes; None if it is not one that can be registered."""
    function: Function | None = None
    node: ast.AST | None = call.node
    module, complete = call.module, call.complete
    if isinstance(value, ExternalCall):
        is_wrapper = value.func.last in ("from_function", "FunctionTool")
        inner = value.argument(0, "fn") if is_wrapper else value.kwargs.get("fn")
        function = inner if isinstance(inner, Function) else None
        given = {**value.kwargs, **given}
        complete = complete and value.complete
        node, module = value.node, value.module or module
    elif isinstance(value, Instance):
        own = value.cls.attribute("__call__")
        if isinstance(own, Function):
            function = own.bound(value)
            given.setdefault("name", value.cls.name)
        given = {**value.attributes, **given}
    elif isinstance(value, Function):
        function = value
        metadata = value.attributes.get(FASTMCP_MARK)
        if isinstance(metadata, ExternalCall):
            given = {**dict(zip(("name",), metadata.args, strict=False)), **metadata.kwargs, **given}
    elif isinstance(value, Class):
        own = value.attribute("__init__")
        if isinstance(own, Function):
            function = own.bound(value)
        given = {"name": value.name, "description": ast.get_docstring(value.node, clean=False), **given}
    elif value is not UNKNOWN:
        return None
    return RegisteredItem(kind, given, function=function, node=node, module=module, complete=complete)


def remove_tool(server: ServerValue, name: Any, *, doubtful: bool) -> None:
    """Remove a tool by name; under a condition, or if the name is unknown, tools become doubtful instead."""
    doubtful = doubtful or isinstance(name, Assumed)
    name = default_of(name)
    if name is not UNKNOWN and not isinstance(name, str):
        return
    removed = [item for item in server.items if item.kind == "tools" and (name is UNKNOWN or item.name == name)]
    if name is UNKNOWN or doubtful:
        for item in removed:
            item.doubtful = True
    else:
        gone = set(map(id, removed))
        server.items = [item for item in server.items if id(item) not in gone]


def mount(server: ServerValue, call: Call, *, doubtful: bool) -> None:
    """Make one server part of another: `server.mount(other, prefix)`."""
    args, kwargs = call.args, call.kwargs
    values = [*args, *(kwargs[key] for key in ("server", "app") if key in kwargs)]
    inner = next((mounted for value in values if (mounted := server_of(value)) is not None), None)
    if inner is None:
        server.open_at.append(call)
        return
    if inner.contains(server):  # a cycle would be served without end
        return
    rest = [argument for argument in args if argument is not inner and not isinstance(argument, Instance)]
    prefix = kwargs.get("prefix", kwargs.get("namespace", rest[0] if rest else None))
    inner.mounted = True
    if len(server.mounts) < MOST_ITEMS:
        renames = kwargs.get("tool_names") is not None  # a mapping of names that is not followed
        server.mounts.append(Mount(inner, default_of(prefix), doubtful or renames, call))
        if renames:
            server.open_at.append(call)


def attribute_of_tool(tool: ExternalCall, name: str) -> Any:
    """An attribute of a tool that `from_function` created."""
    function = tool.argument(0, "fn", UNKNOWN)
    if name == "fn":
        return function
    exposed = function.exposed() if isinstance(function, Function) else None
    if name == "name":
        return tool.argument(1, "name") or (exposed.name if exposed is not None else UNKNOWN)
    if name == "description":
        if exposed is None:
            return UNKNOWN
        text = docstring_of(exposed)
        return text or "" if tool.func.package != "fastmcp" else fastmcp.described(text)
    return None if name in ("title", "annotations", "meta", "icons") else Method(tool, name)


def constructed_by_subclass(cls: Class, name: str, call: Call) -> Any:
    """Call an inherited class method of a framework's class."""
    for base in cls.external_bases():
        if name == "from_function" and base.package in PACKAGES:
            external = External(f"{base.name}.{name}")
            return ExternalCall(external, call.args, call.kwargs, call.node, call.module, complete=call.complete)
    return UNKNOWN


def copied(call: ExternalCall, update: Any) -> ExternalCall:
    """`tool.model_copy(update={…})`."""
    if update is None:
        return call
    is_known = isinstance(update, dict) and extent_of(update) is EXACT
    kwargs = {**call.kwargs, **update} if is_known else call.kwargs
    return ExternalCall(call.func, call.args, kwargs, call.node, call.module, complete=call.complete and is_known)


def is_adk_tool(value: Any) -> bool:
    """Whether a value is a tool of Google's Agent Development Kit, which has a converter to MCP."""
    return (
        isinstance(value, ExternalCall)
        and value.func.last == "FunctionTool"
        and value.func.name.startswith("google.adk.")
    )


def adk_attribute(tool: ExternalCall, name: str) -> Any:
    """The name or the description of such a tool."""
    function = tool.argument(0, "func")
    if name in tool.kwargs:
        return tool.kwargs[name]
    if not isinstance(function, Function):
        return UNKNOWN
    return function.exposed().name if name == "name" else inspect.cleandoc(docstring_of(function.exposed()) or "")


def converted_adk_tool(tool: ExternalCall) -> ExternalCall:
    """The converted tool; its schema is unknown."""
    given = {key: adk_attribute(tool, key) for key in ("name", "description")}
    return ExternalCall(External("mcp.types.Tool"), [], {**given, "inputSchema": UNKNOWN}, tool.node, tool.module)
