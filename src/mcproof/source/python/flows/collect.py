"""Flows of a project, from what a client sends to dangerous calls.

`entries_of` finds the functions that handle requests, `inputs_of` marks their parameters, and `collect_flows` walks
them and keeps the uses that a rule reports.
"""

from __future__ import annotations

import ast
import os
from typing import TYPE_CHECKING, Any

from mcproof.core.named_tuple import NamedTuple
from mcproof.core.observations.source import (
    ARGUMENT,
    ATTRIBUTE,
    COMMAND,
    DELETE,
    EVAL,
    PATH,
    PREFIX,
    PROGRAM,
    SHELL,
    SQL,
    STDOUT,
    TOKEN,
    URL,
    WRITE,
    FlowStep,
    ForwardedToken,
    HandlerAct,
    SourceFlow,
    SourceFlows,
    SourceLocation,
    SourcePlace,
)
from mcproof.source.flow_facts import one_for_each_fact, plain_arguments, tools_of
from mcproof.source.flow_marks import DIFFERS, EQUALS, LabelMark, is_contained
from mcproof.source.python.flows.engine import FlowEngine, FlowLimitError
from mcproof.source.python.flows.stdout import stdout_prints
from mcproof.source.python.flows.tables import ACCESS_TOKEN, HEADERS
from mcproof.source.python.flows.values import NOTHING, SENT, CodePlace, FlowValue, constant, described
from mcproof.source.python.interp.values import (
    Class,
    External,
    Function,
    Generic,
    Instance,
    declared_parameters,
    last_name,
)
from mcproof.source.python.render_json import location_of

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Mapping

    from mcproof.source.python.flows.walk import FlowUse
    from mcproof.source.python.frameworks.domain import McpDomain
    from mcproof.source.python.frameworks.servers import ServerValue
    from mcproof.source.python.interp.interpreter import Interpreter


_CONTEXT_TYPES = frozenset(("Context", "Request", "RequestContext", "ServerSession", "ToolContext", "FastMCP"))
_CONTEXT_NAMES = frozenset(("ctx", "context", "_ctx", "_context", "self", "cls"))


MOST_UNUSED = 400


class Entry(NamedTuple):
    """A function that a client calls: through a tool, a resource, a prompt or a completion."""

    kind: str
    """The kind of item, such as `tools`."""
    name: str
    """The name of the item; empty if one function handles all of a server."""
    function: Function
    server: ServerValue | None
    is_reached: bool = True
    """Whether a client can call it; false for a method that no tool calls."""

    @property
    def is_common(self) -> bool:
        """Whether it handles all items of its kind."""
        return not self.name

    @property
    def label(self) -> str:
        """What it is called in a message, if it is no tool."""
        return f"{self.kind[:-1]} `{self.name}`" if self.name else f"any {self.kind[:-1]}"


def entries_of(domain: McpDomain) -> Iterator[Entry]:
    """Every function that handles a request, once."""
    seen: set[tuple[int, int]] = set()
    for server in domain.servers:
        for item in server.items:
            function = item.exposed_function
            if function is not None and (id(function.node), id(server)) not in seen:
                seen.add((id(function.node), id(server)))
                bound_to = item.function.bound_to if item.function is not None else None
                name = item.given.get("uri") if item.kind == "resources" else item.name
                name = name if isinstance(name, str) else function.name
                yield Entry(item.kind, name, function.bound(bound_to) if bound_to is not None else function, server)
        for handler in server.call_handlers:
            function = handler.function.exposed()
            if (id(function.node), id(server)) not in seen:
                seen.add((id(function.node), id(server)))
                yield Entry(handler.kind, "", function, server)


def unused_methods(engine: FlowEngine) -> list[Entry]:
    """The public methods that no tool calls, of classes whose other methods tools call directly."""
    found = []
    for cls in list(engine.classes.values()):
        for name, value in list(cls.body.names.items()):
            method = value.exposed() if isinstance(value, Function) else None
            if method is None or name.startswith("_") or method.owner is not cls or id(method.node) in engine.walked:
                continue
            found.append(Entry("tools", name, method, None, is_reached=False))
    return found[:MOST_UNUSED]


def inputs_of(engine: FlowEngine, entry: Entry, plain: frozenset[str]) -> dict[str, FlowValue]:
    """The values of the parameters of a handler: marked, unless their type carries no free text.

    `plain` are the names of arguments whose schemas allow no free text, for a handler of all tools.
    """
    function = entry.function
    spec = function.node.args
    parameters = [*spec.posonlyargs, *spec.args, *spec.kwonlyargs]
    values: dict[str, FlowValue] = {}
    is_method = function.bound_to is not None or function.owner is not None
    if is_method and parameters and "staticmethod" not in function.decorators:
        own = function.bound_to if isinstance(function.bound_to, (Instance, Class)) else None
        if own is None and function.owner is not None:
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
    return frozenset(
        parameter.arg
        for parameter, default in declared_parameters(function.node.args)
        if isinstance(default, ast.Call) and last_name(default.func) in ("Depends", "CurrentContext")
    )


def _input(
    engine: FlowEngine, function: Function, parameter: ast.arg, injected: bool, plain: frozenset[str]
) -> FlowValue:
    kind = engine.type_of(parameter.annotation, function.scope)
    shape = engine.value_of_type(kind)
    base = kind.base if isinstance(kind, Generic) else kind
    is_context = isinstance(base, External) and base.last in _CONTEXT_TYPES
    if injected or is_context or parameter.arg in _CONTEXT_NAMES:
        return shape
    if engine.is_plain(kind):
        return NOTHING
    made = _marked(function, parameter)
    fields = dict.fromkeys(plain, NOTHING) if plain else None
    return FlowValue(shape.base, made.marks, fields=fields)


def _marked(function: Function, parameter: ast.arg) -> FlowValue:
    step = FlowStep(function.module.file, parameter.lineno, f"parameter `{parameter.arg}` of {function.name}()")
    return FlowValue(marks={(parameter.arg,): LabelMark(trail=(step,))})


MOST_FLOWS = 2_000
_KINDS_OF_UNUSED = frozenset((SHELL, EVAL, PATH))
"""The kinds of use that are reported for methods that no tool calls."""


def collect_flows(domain: McpDomain, tools: list[Mapping[str, Any]], lines: Container[tuple[str, int]]) -> SourceFlows:
    """The flows from what clients send; `lines` define or register the items that are served."""
    engine = FlowEngine(domain.run)
    found: dict[Any, _Reached] = {}
    acts: dict[tuple[str, str], HandlerAct] = {}
    incomplete = []
    plain = plain_arguments(tools)
    for entry in entries_of(domain):
        if not _is_served(entry, lines):
            continue
        uses = _uses(engine, entry, plain if entry.is_common else frozenset())
        if uses is None:
            incomplete.append(entry.name or entry.function.name)
        for use in uses or ():
            if act := _act(use) if entry.kind == "tools" else "":
                place = use.place.module.file, getattr(use.place.node, "lineno", 0)
                names = _tools_of(use, entry, tools)
                # of several tools with the same argument, a common handler does not say which one does it
                is_known = not entry.is_common or len(names) == 1 or not set(names).isdisjoint(_compared(use, EQUALS))
                for name in names if is_known else ():
                    acts.setdefault((name, act), HandlerAct(name, act, use.call, *place))
            if use.kind not in (WRITE, DELETE):
                _add(found, use, entry, tools)
    prints = stdout_prints(domain, engine.walked)
    for entry in unused_methods(engine):
        for use in _uses(engine, entry, frozenset()) or ():
            kind = reported_kind(use)
            if kind in _KINDS_OF_UNUSED and (kind, id(use.place.node)) not in found:
                _add(found, use, entry, tools)
    flows = one_for_each_fact(_flow(kind, reached) for (kind, _), reached in found.items())
    found_flows = SourceFlows(tuple(flows), tuple(incomplete), acts=tuple(acts.values()))
    if isinstance(prints, str):
        return found_flows._replace(unread={STDOUT: prints})
    return found_flows._replace(prints=prints)


def _uses(engine: FlowEngine, entry: Entry, plain: frozenset[str]) -> list[FlowUse] | None:
    """The dangerous uses of the parameters of an entry; None if its source is too large to follow."""
    engine.allow()
    try:
        summary = engine.summary(entry.function, inputs_of(engine, entry, plain))
    except (FlowLimitError, RecursionError):
        return None
    return [use for use in summary.uses if use.kind != TOKEN and is_dangerous(use)]


def _act(use: FlowUse) -> str:
    """What a use says about the purpose of its tool; empty if it says nothing."""
    kind = reported_kind(use)
    if kind == SHELL:  # a value inside a fixed command is an accident
        return SHELL if use.mark.whole else ""
    return kind if kind in (WRITE, DELETE, URL) else ""


def forwarded_tokens(run: Interpreter, files: Iterable[str]) -> list[ForwardedToken]:
    """Where functions in some files send the token of a caller on, in tools or anywhere else."""
    engine = FlowEngine(run)
    found: dict[int, ForwardedToken] = {}
    for module in filter(None, (run.modules.load(os.path.abspath(file)) for file in files)):
        for node in ast.walk(module.tree):
            if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                continue
            engine.allow()
            names = (argument.arg for argument in ast.walk(node.args) if isinstance(argument, ast.arg))
            try:
                uses = engine.summary(Function(node, module.scope, [], []), dict.fromkeys(names, NOTHING)).uses
            except (FlowLimitError, RecursionError):
                continue
            for use in uses:
                what, *keys = use.label
                # what an issuer put into the claims may be the credential of that service itself
                is_own = what == SENT + ACCESS_TOKEN and "claims" not in keys
                is_token = is_own or (what == SENT + HEADERS and keys[-1:] in _OF_CALLERS)
                if use.kind == TOKEN and is_token and use.mark.trail:
                    received = SourcePlace(use.mark.trail[0].file, use.mark.trail[0].line, 1)
                    place = location_of(use.place.module, use.place.node) or received
                    made = ForwardedToken(SourcePlace(*place[:3]), received, use.place.function)
                    found.setdefault(id(use.place.node), made)
    return list(found.values())


_OF_CALLERS = (["authorization"], ["Authorization"])


def _is_served(entry: Entry, lines: Container[tuple[str, int]]) -> bool:
    """Whether an entry belongs to one of some items, by the lines that define or register them."""
    if not entry.is_common:
        return (entry.function.module.file, entry.function.node.lineno) in lines
    items = entry.server.items if entry.server is not None else []  # of any kind: a list of resources is often unknown
    places = [(item.module.file, getattr(item.node, "lineno", 0)) for item in items if item.module is not None]
    return not places or any(place in lines for place in places)


def reported_kind(use: FlowUse) -> str:
    """The kind of use that a rule reports: who chooses the program can run anything, others add arguments."""
    if use.is_prefix:
        return PREFIX
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
    if use.kind == EVAL and use.call.endswith(_NAMING):
        return mark.head
    if use.kind == PATH:
        return not is_contained(mark)
    return True


_NAMING = ("import_module", "__import__", " install", " add", " i", " exec", " dlx", "npx", "uvx", "bunx", "locate")
"""The ends of calls that take the name of a module or package: only its beginning chooses which."""


class _Reached(NamedTuple):
    """A dangerous call, with every way that reaches it."""

    use: FlowUse
    """The use by the most direct parameter."""
    start: FlowStep
    parameters: dict[str, None]
    tools: dict[str, None]
    others: dict[str, None]
    is_used: bool
    """Whether a tool reaches it."""


def _add(found: dict[Any, _Reached], use: FlowUse, entry: Entry, tools: list[Mapping[str, Any]]) -> None:
    """Add a use; a call that several parameters reach is one."""
    parameter = _parameter(use, entry)
    names: dict[str, None] = {}
    others: dict[str, None] = {}
    if entry.kind != "tools":
        others[entry.label] = None
    elif entry.is_reached:
        names = dict.fromkeys(_tools_of(use, entry, tools))
    kind = reported_kind(use)
    key = kind, id(_place(use).node)
    known = found.get(key)
    if known is None:
        if len(found) < MOST_FLOWS:
            found[key] = _Reached(use, _start(entry, use), {parameter: None}, names, others, entry.is_reached)
        return
    known.tools.update(names)
    known.others.update(others)
    if _directness(use) > _directness(known.use):
        parameters = {parameter: None, **known.parameters}
        found[key] = known._replace(use=use, start=_start(entry, use), parameters=parameters)
    else:
        known.parameters.setdefault(parameter)


def _tools_of(use: FlowUse, entry: Entry, tools: list[Mapping[str, Any]]) -> tuple[str, ...]:
    """The tools that reach a use through an entry."""
    if not entry.is_common:
        return (entry.name,)
    return tools_of(_compared(use, EQUALS), _parameter(use, entry), tools, _compared(use, DIFFERS))


def _place(use: FlowUse) -> CodePlace:
    """The place to change: a query is fixed where its text is made, everything else at the call."""
    return use.mark.composed if use.kind == SQL and use.mark.composed is not None else use.place


def _directness(use: FlowUse) -> tuple[bool, bool, bool]:
    return not use.mark.switch, use.mark.whole, use.mark.head


def _flow(kind: str, reached: _Reached) -> SourceFlow:
    use = reached.use
    place = _place(use)
    located = location_of(place.module, place.node)
    end = FlowStep(use.place.module.file, getattr(use.place.node, "lineno", 0), described(use.place.node))
    return SourceFlow(
        kind=kind,
        parameters=tuple(reached.parameters),
        tools=tuple(reached.tools),
        others=tuple(reached.others),
        call=use.call,
        function=place.function,
        location=located or SourceLocation(place.module.file, 1, 1, None),
        is_used=reached.is_used,
        switch=use.mark.switch,
        steps=tuple(dict.fromkeys((reached.start, *use.mark.trail, end))),
    )


def _start(entry: Entry, use: FlowUse) -> FlowStep:
    node = entry.function.node
    file, name = entry.function.module.file, use.label[0]
    if name.startswith(SENT):
        return FlowStep(file, node.lineno, f"{entry.function.name}()")
    return FlowStep(file, node.lineno, f"parameter `{name}` of {entry.function.name}()")


def _parameter(use: FlowUse, entry: Entry) -> str:
    """The argument of the tool that a label stands for."""
    if not entry.is_common or len(use.label) == 1 or use.label[0].startswith(SENT):
        return use.label[0].removeprefix(SENT)
    inner = (key for key in use.label[1:] if not key.isdigit() and key != "arguments")
    return next(inner, use.label[0])


def _compared(use: FlowUse, how: str) -> list[str]:
    """The texts that other labels are equal to, or differ from, where a use happens."""
    return [kind.removeprefix(how) for _, kind in use.cases if kind.startswith(how)]
