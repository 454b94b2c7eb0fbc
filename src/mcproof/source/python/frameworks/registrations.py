"""Registrations: from the arguments of a call to an item of a server."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from mcproof.discovery.document.omissions import TOO_MANY
from mcproof.discovery.frameworks.servers import Mount, RegisteredItem, server_of
from mcproof.discovery.interp.assumptions import Assumed, default_of
from mcproof.discovery.interp.value_facts import truth
from mcproof.discovery.interp.values import (
    UNKNOWN,
    Class,
    External,
    ExternalCall,
    Function,
    Instance,
    Method,
)

if TYPE_CHECKING:
    from mcproof.discovery.frameworks.mcp_domain import McpDomain
    from mcproof.discovery.frameworks.servers import ServerValue
    from mcproof.discovery.interp.values import Call

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
        domain.omit(TOO_MANY, call.module, call.node, partial=True)
        return
    item = _item_of(kind, value, given, call)
    if item is not None:
        item.doubtful = doubtful or (enabled is not None and truth(enabled) is None)
        item.under_condition = run.doubt > 0
        item.closed = domain.forbids_extra
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
        mark = value.attributes.get(FASTMCP_MARK)
        if isinstance(mark, ExternalCall):
            given = {**dict(zip(("name",), mark.args, strict=False)), **mark.kwargs, **given}
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
    removed = [each for each in server.items if each.kind == "tools" and (name is UNKNOWN or each.name == name)]
    if name is UNKNOWN or doubtful:
        for each in removed:
            each.doubtful = True
    else:
        gone = set(map(id, removed))
        server.items = [each for each in server.items if id(each) not in gone]


def mount(server: ServerValue, call: Call, *, doubtful: bool) -> None:
    """Make one server part of another: `server.mount(other, prefix)`."""
    args, kwargs = call.args, call.kwargs
    values = [*args, *(kwargs[key] for key in ("server", "app") if key in kwargs)]
    inner = next((found for each in values if (found := server_of(each)) is not None), None)
    if inner is None:
        server.open_at.append(call)
        return
    if inner.contains(server):
        return
    rest = [each for each in args if each is not inner and not isinstance(each, Instance)]
    prefix = kwargs.get("prefix", kwargs.get("namespace", rest[0] if rest else None))
    inner.mounted = True
    if len(server.mounts) < MOST_ITEMS:
        renames = kwargs.get("tool_names") is not None
        server.mounts.append(Mount(inner, default_of(prefix), doubtful or renames, call))
        if renames:
            server.open_at.append(call)
