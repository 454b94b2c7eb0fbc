"""Servers and their registrations, as values of the interpreter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.source.framework_tables import CONSTRUCTOR_PARAMETERS, LIST_RESULTS, SERVER_CLASSES
from mcproof.source.python.interp.containers import EXACT, SourceList, default_of, doubtful_positions, extent_of
from mcproof.source.python.interp.values import (
    UNKNOWN,
    Call,
    External,
    ExternalCall,
    Function,
    Instance,
    argument_nodes,
)

if TYPE_CHECKING:
    import ast

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
        """Whether the program accesses its schemas after the registration, and may change them."""

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
        self.call_handlers: list[Function] = []
        """The functions that handle calls of all tools of a low-level server."""
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
                found = listed(argument)
                if found[0] is not None:
                    return found
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
