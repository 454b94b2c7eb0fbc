"""Servers and what is registered on them, as values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.catalog.model import FROM_SOURCE
from mcproof.discovery.interp.builtin_values import doubtful_positions, unwrapped
from mcproof.discovery.interp.values import UNKNOWN, Call, Called, External, Function, PlacedList, argument_nodes

if TYPE_CHECKING:
    import ast

    from mcproof.discovery.frameworks.visibility import Switch
    from mcproof.discovery.interp.modules import Module


MOST_ITEMS = 20_000


FRAMEWORKS = frozenset(("mcp", "fastmcp"))


class Item:
    """One thing that is registered: made of a function, or spelt out."""

    __slots__ = (
        "altered", "complete", "doubtful", "function", "given", "kind", "module", "node", "nodes", "under_condition",
    )  # fmt: skip

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
        self.given = given
        """What was said in the call: name, description, schema and so on."""
        self.function = function
        self.node = node
        self.module = module
        self.doubtful = doubtful
        """Whether it is there only under a condition, where its server is."""
        self.under_condition = False
        """Whether it is registered under a condition, be it only that its server is there."""
        self.complete = complete
        self.nodes = argument_nodes(node)
        self.altered = False
        """Whether the program reaches for its schemas after it is registered, and may change them."""


class Mount(NamedTuple):
    server: Any
    prefix: Any
    doubtful: bool
    call: Call


class ServerValue:
    """A server that the program makes, or is given."""

    __slots__ = (
        "floor",
        "framework",
        "handlers",
        "instructions",
        "is_given",
        "items",
        "module",
        "mounted",
        "mounts",
        "name",
        "namespaces",
        "node",
        "on_duplicate", "open_at",
        "removed",
        "reshaped_at",
        "rewrites",
        "switches",
        "version",
    )  # fmt: skip

    def __init__(self, framework: str, *, is_given: bool = False) -> None:
        self.framework = framework
        """`mcp`, `mcp1` (its first major version), `fastmcp` or `lowlevel`; empty where nothing tells."""
        self.is_given = is_given
        """Whether it only stands for a parameter that nobody filled."""
        self.name: Any = UNKNOWN
        self.version: Any = UNKNOWN
        self.instructions: Any = UNKNOWN
        self.items: list[Item] = []
        self.mounts: list[Mount] = []
        self.handlers: list[tuple[str, Function, bool]] = []
        self.mounted = False
        self.removed: list[tuple[str, bool]] = []
        self.rewrites: set[str] = set()
        """The parts of its tools, as JSON pointers, that code of the project may change when they are listed."""
        self.reshaped_at: tuple[Module | None, ast.AST | None] | None = None
        """The code of the project that may change which tools it lists, and how they are called."""
        self.floor = 0
        """Under how many conditions it was made, as far as they still hold."""
        self.open_at: list[Call | Called] = []
        """Where it is given tools that nobody can see: a server, a provider or a list that is not of the project."""
        self.namespaces: list[str] = []
        """What is put before all its names, the innermost first."""
        self.switches: list[Switch] = []
        """What shows or hides some of its items, in the order of the program."""
        self.node: ast.AST | None = None
        self.module: Module | None = None
        self.on_duplicate: dict[str, Any] = {}
        """For a kind of item, what its constructor says of two of one name."""

    def keeps_last(self, kind: str, framework: str) -> bool | None:
        """Whether of two items of one name the later one is served; None where that is not known."""
        if framework != "fastmcp":
            return kind == "templates"
        told = self.on_duplicate.get(kind)
        if told is None or told in ("replace", "warn"):
            return True
        return False if told in ("ignore", "error") else None

    def holds(self, other: ServerValue) -> bool:
        """Whether another server is this one or part of it."""
        waiting, seen = [self], {id(self)}
        while waiting:
            each = waiting.pop()
            if each is other:
                return True
            for mount in each.mounts:
                if id(mount.server) not in seen:
                    seen.add(id(mount.server))
                    waiting.append(mount.server)
        return False


class Registered(NamedTuple):
    """A tool that is asked for by its name after it was registered."""

    server: ServerValue
    name: Any


class Pending:
    """A decorator that will register what it is applied to: `mcp.tool(...)`."""

    __slots__ = ("call", "kind", "may_do_nothing", "server")

    def __init__(self, server: ServerValue, kind: str, call: Call, *, may_do_nothing: bool = False) -> None:
        self.server = server
        self.kind = kind
        self.call = call
        self.may_do_nothing = may_do_nothing
        """Whether it may as well be something that registers nothing."""


def is_server(value: Any) -> bool:
    """Whether a value is a server, or an object that is one."""
    return isinstance(value, ServerValue) or getattr(value, "server", None) is not None


def one_server(one: Any, other: Any) -> Any:
    """One of two values, of which the first is a server; what two servers say of themselves counts where it is one."""
    servers = [each.server if hasattr(each, "server") and each.server is not None else each for each in (one, other)]
    if all(isinstance(each, ServerValue) for each in servers):
        for key in ("name", "version", "instructions"):
            if getattr(servers[0], key) != getattr(servers[1], key):
                setattr(servers[0], key, UNKNOWN)
    return one


def framework_of(value: Any) -> str | None:
    """Which framework's server class this is, if it is one."""
    if not isinstance(value, External):
        return None
    if value.last == "LocalProvider" and value.package == "fastmcp":
        return "fastmcp"
    if value.last == "FastMCP":
        return "fastmcp" if value.package == "fastmcp" else "mcp1"
    if value.last == "MCPServer":
        return "mcp"
    return "lowlevel" if value.last == "Server" and value.package in FRAMEWORKS else None


_INTRODUCTIONS = {
    "fastmcp": ("name", "instructions"),
    "mcp1": ("name", "instructions"),
    "mcp": ("name", "title", "description", "instructions"),
    "lowlevel": ("name",),  # what follows differs between its versions
}
"""What the constructor of a server takes by position, as far as it is about what the server says of itself."""


def introduce(server: ServerValue, args: list[Any], kwargs: dict[str, Any]) -> None:
    """What the constructor of a server is told that it says of itself."""
    given = {**dict(zip(_INTRODUCTIONS.get(server.framework, ("name",)), args, strict=False)), **kwargs}
    server.name = given.get("name", server.name)
    server.version = given.get("version", server.version)
    server.instructions = given.get("instructions", server.instructions)


def introduction(servers: list[ServerValue], announced: list[Called]) -> dict[str, Any]:
    """What a project's server says of itself before it lists anything; of several, what they agree on.

    The options that a low-level server is started with have the last word.
    """
    made = [each for each in servers if not each.mounted and not each.is_given]
    serving = [each for each in made if each.items or each.mounts or each.handlers] or made
    if any(each.is_given and each.items for each in servers):
        serving = made  # it may be any of them
    if not serving:
        return {}
    known: dict[str, str] = {}
    for key in ("name", "version", "instructions"):
        values = [getattr(each, key) for each in serving]
        if announced and serving[0].framework == "lowlevel":
            values = [each.kwargs.get(key if key == "instructions" else f"server_{key}") for each in announced]
        said = {value if isinstance(value := unwrapped(each), str) else None for each in values}
        only = said.pop()
        if only and not said:
            known[key] = str(only)
    info = {key: known[key] for key in ("name", "version") if key in known}
    answer: dict[str, Any] = {"serverInfo": info} if info else {}
    if "instructions" in known:
        answer["instructions"] = known["instructions"]
    return {**answer, "_meta": {FROM_SOURCE: True}} if answer else {}


def name_of(item: Item) -> Any:
    given = item.given.get("name")
    return given if given is not None else item.function.face().name if item.function is not None else None


def listed(value: Any) -> tuple[list[Any] | None, set[int]]:
    """The items in what a list handler returns, None where that is not known, and the positions of doubtful ones."""
    if isinstance(value, Called):
        if value.func.last in ("ListToolsResult", "ListResourcesResult", "ListPromptsResult", "ServerResult",
                               "ListResourceTemplatesResult"):  # fmt: skip
            inner = [*value.args, *value.kwargs.values()]
            for each in inner:
                found = listed(each)
                if found[0] is not None:
                    return found
        return None, set()
    if isinstance(value, (PlacedList, tuple, list)):
        return list(value), doubtful_positions(value)
    return None, set()


def is_incomplete(value: Any) -> bool:
    """Whether what a list handler returns may hold more than is known of it."""
    while isinstance(value, Called):
        value = next((each for each in (*value.args, *value.kwargs.values()) if listed(each)[0] is not None), None)
    return getattr(value, "incomplete", False) is True
