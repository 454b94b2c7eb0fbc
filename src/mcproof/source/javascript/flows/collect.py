"""Flows of a project in JavaScript, from what a client sends to dangerous calls.

`entries_of` finds the functions that handle requests by how they are registered, and `collect_flows` walks them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcproof.core.named_tuple import NamedTuple
from mcproof.core.observations.source import (
    ARGUMENT,
    ATTRIBUTE,
    EVAL,
    PATH,
    PROGRAM,
    SHELL,
    SQL,
    STDOUT,
    URL,
    FlowStep,
    SourceFlow,
    SourceFlows,
)
from mcproof.source.flow_facts import one_for_each_fact, plain_arguments, tools_of
from mcproof.source.flow_marks import LabelMark, is_contained
from mcproof.source.javascript.flows import tables
from mcproof.source.javascript.flows.expressions import evaluate
from mcproof.source.javascript.flows.stdout import stdout_prints
from mcproof.source.javascript.flows.values import NOTHING, Flow, FunctionRef
from mcproof.source.javascript.flows.walk import Declarations, Use, Walk, WalkLimitError, parameters_of
from mcproof.source.javascript.interp.functions import JsFunction
from mcproof.source.javascript.syntax import children_of, string_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from tree_sitter import Node

    from mcproof.source.javascript.frameworks.servers import RegisteredItem
    from mcproof.source.javascript.interp.modules import Module

MOST_FLOWS = 500
MOST_STEPS_IN_ALL = 400_000
_DESCRIBING = frozenset(("description", "inputSchema", "parameters", "schema", "input"))
"""The members of an object that describes a tool, beside its name and its function."""
_WRAPPERS = frozenset(("arguments", "params", "request", "variables"))

_NESTED = ("params", "arguments")
"""The members in which frameworks of servers pass the arguments on."""
_UNREAD = dict.fromkeys((ARGUMENT, ATTRIBUTE), "it is not looked for in JavaScript and TypeScript")


class Entry(NamedTuple):
    """A function that a client calls: through a tool, a resource, a prompt or a completion."""

    kind: str
    name: str
    """The name of the item; empty if one function handles all of a server."""
    ref: FunctionRef
    inputs: tuple[str, ...]
    """What the client decides about its parameters, in their order; empty for one that the framework fills in."""
    checked: frozenset[str] = frozenset()
    """The arguments that a declared check of the tool names."""


def entries_of(modules: list[Module], items: Iterable[RegisteredItem], declarations: Declarations) -> Iterator[Entry]:
    """Every function that handles a request: those that the interpreter met, then those that the text shows."""
    seen: set[int] = set()
    enclosed: set[tuple[int, int]] = set()
    for item in items:
        function, name = item.handler, item.given.get("name")
        if not isinstance(function, JsFunction) or (id(function.code), id(function.scope)) in enclosed:
            continue
        enclosed.add((id(function.code), id(function.scope)))
        inputs: tuple[str, ...] = ("arguments", "")
        if item.kind in ("resources", "templates"):
            inputs = ("uri", "variables", "")
        elif "inputSchema" not in item.given and "argsSchema" not in item.given:
            inputs = ()
        seen.add(function.code.node.id)
        ref = FunctionRef(function.code.module, function.code.node, {}, function.scope)
        kind = "resources" if item.kind == "templates" else item.kind
        yield Entry(kind, name if isinstance(name, str) else "?", ref, inputs)
    for module in modules:
        waiting = [module.source.root]
        while waiting:
            node = waiting.pop()
            waiting += reversed(node.named_children)
            for entry in _entries_at(module, node, declarations):
                if entry.ref.node.id not in seen:
                    seen.add(entry.ref.node.id)
                    yield entry


def _entries_at(module: Module, node: Node, declarations: Declarations) -> Iterator[Entry]:
    if node.type == "object":
        yield from _described(module, node, declarations, "tools")
        return
    callee = node.child_by_field_name("function") if node.type == "call_expression" else None
    key = callee.child_by_field_name("property") if callee is not None and callee.type == "member_expression" else None
    listed = node.child_by_field_name("arguments")
    if key is None or listed is None:
        return
    method, nodes = module.source.text(key), children_of(listed)
    if len(nodes) < 2:
        return
    if method == "setRequestHandler":
        request = module.source.text(nodes[0]).strip("\"'").rpartition(".")[2]
        ref = _function_at(module, nodes[-1], declarations)
        if request in tables.CALL_REQUESTS and ref is not None:
            yield Entry(tables.CALL_REQUESTS[request], "", ref, ("request", ""))
    elif method in tables.REGISTRATIONS:
        ref = _function_at(module, nodes[-1], declarations)
        kind = tables.REGISTRATIONS[method]
        name = string_of(module.source, nodes[0]) if nodes[0].type == "string" else ""
        has_arguments = any("inputSchema" in module.source.text(one) for one in nodes[1:-1]) or (
            method in ("tool", "prompt", "registerPrompt") and any(one.type != "string" for one in nodes[1:-1])
        )
        if nodes[0].type == "object":  # `server.tool({ name, schema }, function)` of tmcp
            has_arguments = "schema" in module.source.text(nodes[0])
        if ref is not None and (has_arguments or kind == "resources"):
            inputs = ("uri", "variables", "") if kind == "resources" else ("arguments", "")
            yield Entry(kind, name or "?", ref, inputs)


def _described(module: Module, node: Node, declarations: Declarations, kind: str) -> Iterator[Entry]:
    """The function of an object that describes a tool: `{name, description, execute}`."""
    members: dict[str, Node] = {}
    for child in children_of(node):
        key = child.child_by_field_name("key") or child.child_by_field_name("name")
        if key is not None:
            members[module.source.text(key).strip("\"'")] = child.child_by_field_name("value") or child
    if "name" not in members or _DESCRIBING.isdisjoint(members):
        return
    declared = [node for name, node in members.items() if tables.CHECK_WORDS.search(name) and node.type == "object"]
    checked = frozenset(
        module.source.text(key).strip("\"'")
        for check in declared
        for pair in children_of(check)
        if (key := pair.child_by_field_name("key")) is not None
    )
    for word in tables.HANDLER_KEYS:
        ref = _function_at(module, members[word], declarations) if word in members else None
        if ref is not None:
            name = members["name"]
            shown = string_of(module.source, name) if name.type == "string" else "?"
            yield Entry(kind, shown, ref, ("arguments", ""), checked)
            return


def _function_at(module: Module, node: Node, declarations: Declarations) -> FunctionRef | None:
    """The function that an argument is."""
    if node.type in ("arrow_function", "function_expression", "method_definition"):
        return FunctionRef(module, node, {})
    if node.type not in ("identifier", "member_expression", "call_expression"):
        return None
    holder = FunctionRef(module, node, {})
    walk = Walk(None, declarations, holder, {})
    try:
        flow = evaluate(walk, node)
    except (WalkLimitError, RecursionError):
        return None
    if flow.function is None and node.type == "call_expression":  # a wrapper: `withLogging(async (arguments) => …)`
        listed = node.child_by_field_name("arguments")
        inner = [child for child in children_of(listed) if child.type == "arrow_function"] if listed is not None else []
        return FunctionRef(module, inner[-1], {}) if inner else None
    return flow.function


def collect_flows(
    modules: list[Module], items: Iterable[RegisteredItem], tools: list[Mapping[str, Any]]
) -> SourceFlows:
    """The flows from what clients send."""
    declarations = Declarations(modules, MOST_STEPS_IN_ALL)
    uses_at: dict[tuple[str, int], tuple[Use, dict[str, None], dict[str, None], dict[str, None]]] = {}
    incomplete = []
    handlers = []
    for entry in entries_of(modules, items, declarations):
        own = [tool for tool in tools if tool.get("name") == entry.name] or tools
        handlers.append(entry.ref)
        uses, is_complete = _uses(entry, declarations, plain_arguments(own) | entry.checked)
        if not is_complete:
            incomplete.append(entry.name or entry.kind)
        for use in uses:
            parameter = _parameter(use)
            kind = SHELL if use.kind == PROGRAM else use.kind
            _, parameters, names, others = uses_at.setdefault((kind, use.node.id), (use, {}, {}, {}))
            parameters[parameter] = None
            if entry.kind != "tools":
                others[f"{entry.kind[:-1]} `{entry.name}`" if entry.name else f"any {entry.kind[:-1]}"] = None
            elif entry.name not in ("", "?"):
                names[entry.name] = None
            else:
                names.update(dict.fromkeys(tools_of(use.cases, parameter, tools)))
        if len(uses_at) > MOST_FLOWS:
            break
    flows = [_flow(kind, *reached) for (kind, _), reached in uses_at.items()]
    found = SourceFlows(tuple(one_for_each_fact(flows)), tuple(incomplete), _UNREAD)
    prints = stdout_prints(modules, handlers)
    if isinstance(prints, str):
        return found._replace(unread={**_UNREAD, STDOUT: prints})
    return found._replace(prints=prints)


def _uses(entry: Entry, declarations: Declarations, plain: frozenset[str]) -> tuple[list[Use], bool]:
    """The dangerous uses of the inputs of an entry, and whether its source could be followed to the end."""
    source, node = entry.ref.module.source, entry.ref.node
    walk = Walk(None, declarations, entry.ref, {})
    walk.budget[0] = min(walk.budget[0] * (1 if entry.name else 4), declarations.steps_left)
    allowed = walk.budget[0]
    walk.function = entry.name if entry.name not in ("", "?") else walk.function
    for number, pattern in enumerate(parameters_of(node)):
        what = entry.inputs[number] if number < len(entry.inputs) else ""
        if not what:
            walk.bind(pattern, NOTHING)
            continue
        step = FlowStep(source.file, source.line(pattern.start_byte), f"{what} of {walk.function}()")
        fields = dict.fromkeys(plain, NOTHING)
        nested = {key: Flow({(what, key): LabelMark(trail=(step,))}, fields=fields) for key in _NESTED}
        value = Flow({(what,): LabelMark(trail=(step,))}, fields={**nested, **fields})
        if what == "request":
            value = Flow(
                value.marks,
                fields={
                    "params": Flow(
                        {("params",): LabelMark(trail=(step,))},
                        fields={"arguments": Flow({("arguments",): LabelMark(trail=(step,))}, fields=fields)},
                    )
                },
            )
        walk.bind(pattern, value)
    is_complete = True
    try:
        walk.run()
    except (WalkLimitError, RecursionError):
        is_complete = False
    declarations.steps_left -= allowed - walk.budget[0]
    return [use for use in walk.uses if _is_dangerous(use)], is_complete


def _is_dangerous(use: Use) -> bool:
    """Whether a use is dangerous, considering how the value depends on the input."""
    if use.kind == SQL:
        return not (use.mark.whole or use.mark.head)  # a tool that runs a whole query does what it is for
    if use.kind == PATH:
        return not is_contained(use.mark)
    if use.kind in (URL, PROGRAM) or (use.kind == EVAL and use.call in ("require", "import")):
        return use.mark.head
    return True


def _parameter(use: Use) -> str:
    """The argument that a label stands for."""
    return next((key for key in use.label if key not in _WRAPPERS and not key.isdigit()), use.label[0])


def _flow(
    kind: str,
    use: Use,
    parameters: dict[str, None],
    tools: dict[str, None],
    others: dict[str, None],
) -> SourceFlow:
    source = use.module.source
    text = " ".join(source.text(use.node)[:200].split())
    end = FlowStep(source.file, source.line(use.node.start_byte), text if len(text) <= 80 else text[:79] + "…")
    return SourceFlow(
        kind=kind,
        parameters=tuple(parameters),
        tools=tuple(tools),
        others=tuple(others),
        call=use.call,
        function=use.function,
        location=source.location(use.node),
        steps=tuple(dict.fromkeys((*use.mark.trail, end))),
    )
