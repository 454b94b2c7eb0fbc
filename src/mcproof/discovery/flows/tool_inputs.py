"""Where flows start: the functions that handle a call of a tool, and their parameters."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.core.observations.source import FlowStep
from mcproof.discovery.flows.flow_values import NOTHING, FlowValue, LabelMark, constant
from mcproof.discovery.interp.values import Class, External, Function, Generic, Instance

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.discovery.flows.flow_engine import FlowEngine
    from mcproof.discovery.frameworks.mcp_domain import McpDomain
    from mcproof.discovery.frameworks.servers import ServerValue

_CONTEXT_TYPES = frozenset(("Context", "Request", "RequestContext", "ServerSession", "ToolContext", "FastMCP"))
_CONTEXT_NAMES = frozenset(("ctx", "context", "_ctx", "_context", "self", "cls"))


MOST_UNUSED = 400


class ToolEntry(NamedTuple):
    """A function that a client calls through a tool."""

    name: str
    """The name of the tool; empty if one function handles all tools of a server."""
    function: Function
    server: ServerValue | None
    is_reached: bool = True
    """Whether a client can call it; false for a method that no tool calls."""

    @property
    def is_common(self) -> bool:
        """Whether it handles all tools of a server."""
        return not self.name


def tool_entries(domain: McpDomain) -> Iterator[ToolEntry]:
    """Every function that handles a call of a tool, once."""
    seen: set[tuple[int, int]] = set()
    for server in domain.servers:
        for item in server.items:
            function = item.exposed_function
            if item.kind == "tools" and function is not None and (id(function.node), id(server)) not in seen:
                seen.add((id(function.node), id(server)))
                bound_to = item.function.bound_to if item.function is not None else None
                name = item.name if isinstance(item.name, str) else function.name
                yield ToolEntry(name, function.bound(bound_to) if bound_to is not None else function, server)
        for handler in server.call_handlers:
            function = handler.exposed()
            if (id(function.node), id(server)) not in seen:
                seen.add((id(function.node), id(server)))
                yield ToolEntry("", function, server)


def unused_methods(engine: FlowEngine) -> list[ToolEntry]:
    """The public methods that no tool calls, of classes whose other methods tools call directly."""
    found = []
    for cls in list(engine.classes.values()):
        for name, value in list(cls.body.names.items()):
            method = value.exposed() if isinstance(value, Function) else None
            if method is None or name.startswith("_") or method.owner is not cls or id(method.node) in engine.walked:
                continue
            found.append(ToolEntry(name, method, None, is_reached=False))
    return found[:MOST_UNUSED]


def inputs_of(engine: FlowEngine, entry: ToolEntry, plain: frozenset[str]) -> dict[str, FlowValue]:
    """The values of the parameters of a handler: marked, unless their type carries no free text.

    `plain` are the names of arguments whose schemas allow no free text, for a handler of all tools.
    """
    function = entry.function
    spec = function.node.args
    parameters = [*spec.posonlyargs, *spec.args, *spec.kwonlyargs]
    values: dict[str, FlowValue] = {}
    if (function.bound_to is not None or isinstance(function.owner, Class)) and parameters:
        is_static = "staticmethod" in function.decorators
        if not is_static:
            own = function.bound_to if isinstance(function.bound_to, (Instance, Class)) else None
            if own is None and isinstance(function.owner, Class):
                own = engine.instance_of(function.owner)
            values[parameters.pop(0).arg] = constant(own)
    defaults = _injected(function)
    for parameter in parameters:
        values[parameter.arg] = _input(engine, function, parameter, parameter.arg in defaults, plain)
    if spec.kwarg is not None:
        values[spec.kwarg.arg] = _marked(function, spec.kwarg)
    return values


def _injected(function: Function) -> frozenset[str]:
    """The parameters that the framework fills in: their default is `Depends(…)`."""
    spec = function.node.args
    positional = [*spec.posonlyargs, *spec.args]
    pairs = [*zip(positional[len(positional) - len(spec.defaults) :], spec.defaults, strict=True)]
    pairs += [
        (each, default) for each, default in zip(spec.kwonlyargs, spec.kw_defaults, strict=True) if default is not None
    ]
    return frozenset(
        each.arg
        for each, default in pairs
        if isinstance(default, ast.Call)
        and ast.unparse(default.func).rpartition(".")[2] in ("Depends", "CurrentContext")
    )


def _input(
    engine: FlowEngine, function: Function, parameter: ast.arg, injected: bool, plain: frozenset[str]
) -> FlowValue:
    kind = engine.type_of(parameter.annotation, function.scope)
    shape = engine.value_of_type(kind)
    if injected or parameter.arg in _CONTEXT_NAMES or _is_context(kind):
        return shape
    if engine.is_plain(kind):
        return NOTHING
    made = _marked(function, parameter)
    fields = dict.fromkeys(plain, NOTHING) if plain else None
    return FlowValue(shape.base, made.marks, fields=fields)


def _marked(function: Function, parameter: ast.arg) -> FlowValue:
    step = FlowStep(function.module.file, parameter.lineno, f"parameter `{parameter.arg}` of {function.name}()")
    return FlowValue(marks={(parameter.arg,): LabelMark(trail=(step,))})


def _is_context(kind: Any) -> bool:
    base = kind.base if isinstance(kind, Generic) else kind
    return isinstance(base, External) and base.last in _CONTEXT_TYPES
