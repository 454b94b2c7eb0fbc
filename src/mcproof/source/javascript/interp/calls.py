"""Calls as expressions: functions, methods, constructors, tags of templates, and what is awaited or yielded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.source.javascript.interp import functions
from mcproof.source.javascript.interp.expressions import (
    compile_expression,
    compiles,
    constant,
    member_at_options,
    parts_of_sequence,
)
from mcproof.source.javascript.interp.members import call_method, call_value, construct_value, items_of, property_key
from mcproof.source.javascript.interp.operators import is_nullish
from mcproof.source.javascript.syntax import callee_of, children_of
from mcproof.source.javascript.values import UNDEFINED, JsArray, JsPromise, Unknown

if TYPE_CHECKING:
    from collections.abc import Callable

    from tree_sitter import Node

    from mcproof.source.javascript.interp.interpreter import Evaluate, Scope
    from mcproof.source.javascript.interp.modules import Module
    from mcproof.source.javascript.values import Value


def _flat_all(node: Node) -> list[Node]:
    return [part for child in children_of(node) for part in parts_of_sequence(child)]


def _last(scope: Scope, parts: list[Evaluate]) -> Value:
    """The value of the last of several expressions, which may be awaited."""
    return _settled([UNDEFINED, *(part(scope) for part in parts)][-1])


def compile_arguments(module: Module, node: Node | None) -> Callable[[Scope], list[Value]]:
    """The function that evaluates the arguments of a call."""
    if node is None:
        return lambda scope: []
    if node.type == "template_string":
        text = compile_expression(module, node)
        return lambda scope: [text(scope)]
    parts: list[tuple[bool, Evaluate]] = []
    for child in children_of(node):
        is_spread = child.type == "spread_element"
        parts.append((is_spread, compile_expression(module, children_of(child)[0] if is_spread else child)))
    if not any(is_spread for is_spread, _ in parts):
        evaluators = [part for _, part in parts]
        return lambda scope: [part(scope) for part in evaluators]
    run = module.run

    def evaluate(scope: Scope) -> list[Value]:
        values: list[Value] = []
        for is_spread, part in parts:
            if is_spread:
                items, is_open = items_of(run, part(scope))
                values += items
                if is_open:
                    values.append(Unknown("the arguments of this call are not known"))
            else:
                values.append(part(scope))
        return values

    return evaluate


def compile_tagged(module: Module, callee: Evaluate, node: Node) -> Evaluate:
    """A template with a tag: the tag is called with the texts between the substitutions, and with their values."""
    strings: list[str] = [""]
    raw: list[str] = [""]
    values: list[Evaluate] = []
    for child in node.children:
        if child.type == "template_substitution":
            inner = children_of(child)
            values.append(compile_expression(module, inner[0] if inner else None))
            strings.append("")
            raw.append("")
        elif child.type == "escape_sequence":
            strings[-1] += functions.escape_text(module.source.text(child))
            raw[-1] += module.source.text(child)
        elif child.type == "string_fragment":
            strings[-1] += module.source.text(child)
            raw[-1] += module.source.text(child)
    run = module.run

    def evaluate(scope: Scope) -> Value:
        texts = JsArray(list(strings))
        texts.members = {"raw": JsArray(list(raw))}
        return call_value(run, callee(scope), UNDEFINED, [texts, *(value(scope) for value in values)], (module, node))

    return evaluate


@compiles("call_expression")
def _call(module: Module, node: Node) -> Evaluate:
    callee, is_awaited = callee_of(node)
    if callee is None:
        return constant(Unknown("this call is not known"))
    called = _compile_call(module, node, callee)
    return (lambda scope: _settled(called(scope))) if is_awaited else called


def _settled(value: Value) -> Value:
    """What awaiting a value comes to."""
    return value.value if isinstance(value, JsPromise) else value


def _compile_call(module: Module, node: Node, callee: Node) -> Evaluate:
    given = node.child_by_field_name("arguments")
    run, place = module.run, (module, node)
    if given is not None and given.type == "template_string":
        return compile_tagged(module, compile_expression(module, callee), given)
    arguments = compile_arguments(module, given)
    if callee.type == "identifier" and module.source.text(callee) == "await":
        # `await (0, f)()` is read as a call of a function with this name
        awaited = [compile_expression(module, child) for child in (_flat_all(given) if given is not None else ())]
        return lambda scope: _last(scope, awaited)
    if callee.type == "super":
        return lambda scope: functions.call_super(run, scope, arguments(scope), place)
    if callee.type == "import":
        return lambda scope: JsPromise(module.imported(next(iter(arguments(scope)), UNDEFINED)))
    if callee.type == "identifier" and module.source.text(callee) == "require":
        named = compile_expression(module, callee)

        def require(scope: Scope) -> Value:
            function = named(scope)
            given = arguments(scope)
            if isinstance(function, Unknown) or function is module.require:
                return module.required(given[0] if given else UNDEFINED)
            return call_value(run, function, UNDEFINED, given, place)

        return require
    if callee.type == "member_expression":
        object_node, property_node = callee.child_by_field_name("object"), callee.child_by_field_name("property")
        name = module.source.text(property_node)
        if object_node is not None and object_node.type == "super":
            return lambda scope: functions.call_super_method(run, scope, name, arguments(scope), place)
        target = compile_expression(module, object_node)
        is_optional = callee.child_by_field_name("optional_chain") is not None

        def call_member(scope: Scope) -> Value:
            value = target(scope)
            if is_optional and is_nullish(value):
                return UNDEFINED
            return call_method(run, value, name, arguments(scope), place)

        return call_member
    if callee.type == "subscript_expression":
        target = compile_expression(module, callee.child_by_field_name("object"))
        index = compile_expression(module, callee.child_by_field_name("index"))

        def call_at(scope: Scope) -> Value:
            value, key = target(scope), property_key(index(scope))
            if isinstance(key, Unknown):
                function = member_at_options(run, value, key)
                return call_value(run, function, value, arguments(scope), place)
            return call_method(run, value, key, arguments(scope), place)

        return call_at
    function = compile_expression(module, callee)
    if _is_awaited(module, callee) and (node.parent is None or node.parent.type != "member_expression"):
        return lambda scope: _settled(call_value(run, function(scope), UNDEFINED, arguments(scope), place))
    return lambda scope: call_value(run, function(scope), UNDEFINED, arguments(scope), place)


def _is_awaited(module: Module, callee: Node) -> bool:
    """Whether a callee is `await (…)`, which the grammar reads as a call."""
    name = callee.child_by_field_name("function") if callee.type == "call_expression" else None
    return name is not None and name.type == "identifier" and module.source.text(name) == "await"


@compiles("new_expression")
def _new(module: Module, node: Node) -> Evaluate:
    callee = compile_expression(module, node.child_by_field_name("constructor"))
    arguments = compile_arguments(module, node.child_by_field_name("arguments"))
    run, place = module.run, (module, node)
    return lambda scope: construct_value(run, callee(scope), arguments(scope), place)


@compiles("await_expression")
def _await(module: Module, node: Node) -> Evaluate:
    inner = compile_expression(module, children_of(node)[0])
    return lambda scope: _settled(inner(scope))


@compiles("yield_expression")
def _yield(module: Module, node: Node) -> Evaluate:
    inner = compile_expression(module, children_of(node)[0] if children_of(node) else None)
    is_many = any(child.type == "*" for child in node.children)
    run = module.run

    def evaluate(scope: Scope) -> Value:
        value = inner(scope)
        yielded = scope.function.variables.get(functions.YIELDED)
        if yielded is UNDEFINED:
            return _settled(value)
        if isinstance(yielded, JsArray):
            run.will_change(yielded)
            if is_many:
                items, is_open = items_of(run, value)
                yielded.items = yielded.items + items
                yielded.is_open = yielded.is_open or is_open
            else:
                yielded.items.append(value)
        return Unknown("what is sent to a generator is not known")

    return evaluate
