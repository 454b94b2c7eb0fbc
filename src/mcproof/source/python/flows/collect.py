"""Collect the flows of a project from the parameters of its tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.core.observations.source import (
    ARGUMENT,
    ATTRIBUTE,
    COMMAND,
    EVAL,
    PATH,
    PROGRAM,
    SHELL,
    SQL,
    URL,
    FlowStep,
    SourceFlow,
    SourceFlows,
    SourceLocation,
)
from mcproof.discovery.flows.flow_engine import FlowEngine, FlowLimitError
from mcproof.discovery.flows.flow_state import DOTS, EQUALS, NOT_ABSOLUTE
from mcproof.discovery.flows.function_walk import FlowUse, described
from mcproof.discovery.flows.tool_inputs import inputs_of, tool_entries, unused_methods
from mcproof.discovery.rendering.node_locations import location_of

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping

    from mcproof.discovery.flows.flow_values import CodePlace
    from mcproof.discovery.flows.tool_inputs import ToolEntry
    from mcproof.discovery.frameworks.mcp_domain import McpDomain

MOST_FLOWS = 2_000
_KINDS_OF_UNUSED = frozenset((SHELL, EVAL, PATH))
"""The kinds of use that are reported for methods that no tool calls."""
_MINOR_CALLS = frozenset(("mkdir", "makedirs", "listdir", "walk", "glob", "iterdir", "scandir"))
"""Calls on a path that say less than reading or writing a file."""


def collect_flows(domain: McpDomain, tools: list[Mapping[str, Any]], lines: Container[tuple[str, int]]) -> SourceFlows:
    """The flows from the parameters of tools, as they are served; `lines` define or register them."""
    engine = FlowEngine(domain.run)
    found: dict[Any, _Reached] = {}
    incomplete = []
    plain = plain_arguments(tools)
    for entry in tool_entries(domain):
        if not _is_served(entry, lines):
            continue
        uses = _uses(engine, entry, plain if entry.is_common else frozenset())
        if uses is None:
            incomplete.append(entry.name or entry.function.name)
        for use in uses or ():
            _add(found, use, entry, tools)
    for entry in unused_methods(engine):
        for use in _uses(engine, entry, frozenset()) or ():
            kind = reported_kind(use)
            if kind in _KINDS_OF_UNUSED and (kind, id(use.place.node)) not in found:
                _add(found, use, entry, tools)
    flows = _one_for_each_function(_flow(kind, reached) for (kind, _), reached in found.items())
    return SourceFlows(tuple(flows), tuple(incomplete))


def _uses(engine: FlowEngine, entry: ToolEntry, plain: frozenset[str]) -> list[FlowUse] | None:
    """The dangerous uses of the parameters of an entry; None if its source is too large to follow."""
    engine.allow()
    try:
        summary = engine.summary(entry.function, inputs_of(engine, entry, plain))
    except (FlowLimitError, RecursionError):
        return None
    return [use for use in summary.uses if is_dangerous(use)]


def _is_served(entry: ToolEntry, lines: Container[tuple[str, int]]) -> bool:
    """Whether an entry belongs to one of some tools, by the lines that define or register them."""
    if not entry.is_common:
        return (entry.function.module.file, entry.function.node.lineno) in lines
    items = [each for each in entry.server.items if each.kind == "tools"] if entry.server is not None else []
    places = [(each.module.file, getattr(each.node, "lineno", 0)) for each in items if each.module is not None]
    return not places or any(place in lines for place in places)


def plain_arguments(tools: Iterable[Mapping[str, Any]]) -> frozenset[str]:
    """The names of arguments that are numbers or choices in every tool that has them."""
    plain: set[str] = set()
    free: set[str] = set()
    for tool in tools:
        schema = tool.get("inputSchema")
        properties = schema.get("properties") if isinstance(schema, dict) else None
        for name, each in properties.items() if isinstance(properties, dict) else ():
            (plain if _is_plain(each) else free).add(name)
    return frozenset(plain - free)


def _is_plain(schema: Any) -> bool:
    """Whether a schema allows only numbers, truth values or a choice of constants."""
    if not isinstance(schema, dict):
        return False
    if "enum" in schema or "const" in schema or schema.get("type") in ("integer", "number", "boolean", "null"):
        return True
    choices = schema.get("anyOf")
    return isinstance(choices, list) and bool(choices) and all(map(_is_plain, choices))


def reported_kind(use: FlowUse) -> str:
    """The kind of use that a rule reports: who chooses the program can run anything, others add arguments."""
    if use.kind == COMMAND:
        return SHELL if use.mark.head else ARGUMENT
    return SHELL if use.kind == PROGRAM else use.kind


def is_dangerous(use: FlowUse) -> bool:
    """Whether a use is dangerous, considering how the value depends on the parameter."""
    mark = use.mark
    if use.kind == SQL:
        return not (mark.whole or mark.head)  # a tool that runs a whole query does what it is for
    if use.kind in (URL, ARGUMENT, ATTRIBUTE):
        return mark.head
    if use.kind == EVAL and use.call.endswith(("import_module", "__import__")):
        return mark.head
    if use.kind == PATH:
        return not (DOTS in mark.clean and (NOT_ABSOLUTE in mark.clean or not mark.head))
    return True


class _Reached(NamedTuple):
    """A dangerous call, with every way that reaches it."""

    use: FlowUse
    """The use by the most direct parameter."""
    start: FlowStep
    parameters: dict[str, None]
    tools: dict[str, None]
    is_used: bool
    """Whether a tool reaches it."""


def _add(found: dict[Any, _Reached], use: FlowUse, entry: ToolEntry, tools: list[Mapping[str, Any]]) -> None:
    """Add a use; a call that several parameters reach is one."""
    parameter = _parameter(use, entry)
    names = dict.fromkeys(_tools_of(use, parameter, tools) if entry.is_common else (entry.name,))
    if not entry.is_reached:
        names = {}
    kind = reported_kind(use)
    key = kind, id(_place(use).node)
    known = found.get(key)
    if known is None:
        if len(found) < MOST_FLOWS:
            found[key] = _Reached(use, _start(entry, use), {parameter: None}, names, entry.is_reached)
        return
    known.tools.update(names)
    if _directness(use) > _directness(known.use):
        parameters = {parameter: None, **known.parameters}
        found[key] = known._replace(use=use, start=_start(entry, use), parameters=parameters)
    else:
        known.parameters.setdefault(parameter)


def _place(use: FlowUse) -> CodePlace:
    """The place to change: a query is fixed where its text is made, everything else at the call."""
    return use.mark.composed if use.kind == SQL and use.mark.composed is not None else use.place


def _directness(use: FlowUse) -> tuple[bool, bool]:
    return use.mark.whole, use.mark.head


def _step(place: CodePlace) -> FlowStep:
    return FlowStep(place.module.file, getattr(place.node, "lineno", 0), described(place.node))


def _flow(kind: str, reached: _Reached) -> SourceFlow:
    use = reached.use
    place = _place(use)
    located = location_of(place.module, place.node)
    return SourceFlow(
        kind=kind,
        parameters=tuple(reached.parameters),
        tools=tuple(reached.tools),
        call=use.call,
        function=place.function,
        location=located or SourceLocation(place.module.file, 1, 1, None),
        is_used=reached.is_used,
        steps=tuple(dict.fromkeys((reached.start, *use.mark.trail, _step(use.place)))),
    )


def _one_for_each_function(flows: Iterable[SourceFlow]) -> list[SourceFlow]:
    """Flows in which further calls of one function, from the same parameter, are part of the first."""
    groups: dict[Any, list[SourceFlow]] = {}
    for flow in sorted(flows, key=lambda flow: (*flow.location[:3], flow.kind)):
        key = flow.kind, flow.location.file, flow.function, flow.parameters[0], flow.tools
        groups.setdefault(key, []).append(flow)
    found = []
    for group in groups.values():
        first = next((flow for flow in group if flow.call.rpartition(".")[2] not in _MINOR_CALLS), group[0])
        parameters = tuple(dict.fromkeys(name for flow in (first, *group) for name in flow.parameters))
        further = tuple(flow.steps[-1] for flow in group if flow is not first)
        found.append(first._replace(parameters=parameters, further=further))
    return found


def _start(entry: ToolEntry, use: FlowUse) -> FlowStep:
    node = entry.function.node
    return FlowStep(entry.function.module.file, node.lineno, f"parameter `{use.label[0]}` of {entry.function.name}()")


def _parameter(use: FlowUse, entry: ToolEntry) -> str:
    """The argument of the tool that a label stands for."""
    if not entry.is_common or len(use.label) == 1:
        return use.label[0]
    inner = (each for each in use.label[1:] if not each.isdigit() and each != "arguments")
    return next(inner, use.label[0])


def _tools_of(use: FlowUse, parameter: str, tools: list[Mapping[str, Any]]) -> tuple[str, ...]:
    """The tools of a common handler that reach a use: by the name that it compares, else by the argument."""
    named = [kind.removeprefix(EQUALS) for _, kind in use.cases]
    known = [str(tool["name"]) for tool in tools if isinstance(tool.get("name"), str)]
    if chosen := [name for name in known if name in named]:
        return tuple(chosen)
    having = []
    for tool in tools:
        schema = tool.get("inputSchema")
        properties = schema.get("properties") if isinstance(schema, dict) else None
        if isinstance(properties, dict) and parameter in properties:
            having.append(str(tool.get("name")))
    return tuple(having)
