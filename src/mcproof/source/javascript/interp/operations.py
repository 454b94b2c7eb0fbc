"""Operators as expressions: which side is evaluated where that is not known, and assignments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.source.javascript.interp import functions, patterns
from mcproof.source.javascript.interp.expressions import (
    compile_expression,
    compiles,
    constant,
)
from mcproof.source.javascript.interp.interpreter import Completion, either, over_options
from mcproof.source.javascript.interp.operators import (
    binary,
    inverted,
    is_nullish,
    number_of_value,
    side_by_default,
    truth,
    type_name,
    unsettled,
)
from mcproof.source.javascript.values import UNDEFINED, BigInt, JsObject, Unknown

if TYPE_CHECKING:
    from collections.abc import Callable

    from tree_sitter import Node

    from mcproof.source.javascript.interp.interpreter import Evaluate, Scope
    from mcproof.source.javascript.interp.modules import Module
    from mcproof.source.javascript.values import Value


@compiles("unary_expression")
def _unary(module: Module, node: Node) -> Evaluate:
    operator = module.source.text(node.child_by_field_name("operator"))
    argument = node.child_by_field_name("argument")
    if operator == "delete":
        return _delete(module, argument)
    if operator == "typeof" and argument is not None and argument.type == "identifier":
        name = module.source.text(argument)
        named = compile_expression(module, argument)

        def type_of_name(scope: Scope) -> Value:
            value = named(scope)
            is_missing = isinstance(value, Unknown) and value.reason == f"`{name}` is not defined in the source"
            return "undefined" if is_missing and name in ABSENT_GLOBALS else type_name(value)

        return type_of_name
    inner = compile_expression(module, argument)
    if operator == "!":
        return lambda scope: inverted(inner(scope))
    if operator == "typeof":
        return lambda scope: type_name(inner(scope))
    if operator == "void":

        def evaluate(scope: Scope) -> Value:
            inner(scope)
            return UNDEFINED

        return evaluate

    def number(scope: Scope) -> Value:
        value = inner(scope)
        if isinstance(value, BigInt):
            return BigInt(-value.value) if operator == "-" else Unknown("this number is not known")
        return _signed(operator, number_of_value(value))

    return number


ABSENT_GLOBALS = frozenset(
    ("window", "document", "Deno", "Bun", "self", "navigator", "WorkerGlobalScope", "importScripts")
)
"""What Node does not define."""


def _signed(operator: str, value: Value) -> Value:
    if isinstance(value, Unknown):
        return over_options(value, lambda option: _signed(operator, option))
    if operator == "-":
        return -value
    return binary("^", value, -1) if operator == "~" else value


def _delete(module: Module, node: Node | None) -> Evaluate:
    if node is None or node.type not in ("member_expression", "subscript_expression"):
        return constant(True)
    target, key = patterns.compile_reference(module, node)
    run = module.run

    def evaluate(scope: Scope) -> Value:
        value, name = target(scope), key(scope)
        if isinstance(value, JsObject) and isinstance(name, str):
            run.delete(value.members, name, value.birth)
        elif isinstance(value, JsObject):
            value.is_open = True
        return True

    return evaluate


@compiles("binary_expression")
def _binary(module: Module, node: Node) -> Evaluate:
    operators: list[str] = []
    rights: list[Evaluate] = []
    at: Node = node
    # the left side is nested as deep as a sum is long
    while at.type == "binary_expression":
        operator = at.child_by_field_name("operator")
        left = at.child_by_field_name("left")
        if operator is None or left is None or (operators and operator.type in ("&&", "||", "??")):
            break
        operators.append(operator.type)
        rights.append(compile_expression(module, at.child_by_field_name("right")))
        at = left
        if operator.type in ("&&", "||", "??"):
            break
    first = compile_expression(module, at)
    run = module.run
    steps = [*zip(reversed(operators), reversed(rights), strict=True)]
    if len(steps) == 1 and steps[0][0] in ("&&", "||", "??"):
        operator_name, right = steps[0]
        test = is_nullish if operator_name == "??" else truth
        goes_right = operator_name != "||"

        def short(scope: Scope) -> Value:
            return short_circuit(module, node, scope, first(scope), right, test, goes_right)

        return short

    def evaluate(scope: Scope) -> Value:
        value = first(scope)
        for name, right in steps:
            other = right(scope)
            if name == "in":
                value = functions.has_member(value, other)
            elif name == "instanceof":
                value = functions.is_instance(run, value, other)
            else:
                value = binary(name, value, other)
        return value

    return evaluate


def short_circuit(
    module: Module,
    node: Node,
    scope: Scope,
    left: Value,
    right: Evaluate,
    test: Callable[[Value], bool | None],
    goes_right: bool,
) -> Value:
    """The value of `&&`, `||` or `??`; the right side is evaluated if the left one passes the test, or fails it."""
    holds = test(left)
    if holds is not None:
        return right(scope) if holds == goes_right else left
    values: list[Value] = []
    condition = unsettled(left)
    by_default = side_by_default(condition, test)
    # the side that is not taken has the left value, as far as it can be that one
    if isinstance(left, Unknown) and left.options:
        fits = [option for option in left.options if test(option) in (None, not goes_right)]
        left_value = Unknown(left.reason, tuple(fits)) if fits else Unknown(left.reason)
        shown: Value = fits[0] if len(fits) == 1 and not left.is_default else left_value
    else:
        shown = left

    def take_right() -> Completion | None:
        values.append(right(scope))
        return None

    preferred = None if by_default is None else (0 if (by_default == 0) == goes_right else 1)
    module.run.alternatives(node.id, condition, [take_right, lambda: None], preferred)
    if not values:
        return shown
    if preferred == 1:
        return either(
            [left.options[0] if isinstance(left, Unknown) else left, values[0]], condition.reason, is_default=True
        )
    return either([values[0], shown], condition.reason, is_default=preferred == 0)


@compiles("ternary_expression")
def _ternary(module: Module, node: Node) -> Evaluate:
    condition = compile_expression(module, node.child_by_field_name("condition"))
    first = compile_expression(module, node.child_by_field_name("consequence"))
    second = compile_expression(module, node.child_by_field_name("alternative"))
    run = module.run

    def evaluate(scope: Scope) -> Value:
        value = condition(scope)
        holds = truth(value)
        if holds is not None:
            return first(scope) if holds else second(scope)
        unknown = unsettled(value)

        def side(evaluated: Evaluate) -> Callable[[], Completion | None]:
            return lambda: Completion("return", evaluated(scope))

        completion = run.alternatives(node.id, unknown, [side(first), side(second)], side_by_default(unknown))
        return completion.value if completion is not None else UNDEFINED

    return evaluate


@compiles("assignment_expression")
def _assignment(module: Module, node: Node) -> Evaluate:
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    value = compile_expression(module, right)
    assign = patterns.compile_assignment(module, left)
    name = module.source.text(left) if left is not None and left.type == "identifier" else ""

    def evaluate(scope: Scope) -> Value:
        assigned = value(scope)
        functions.name_function(assigned, name)
        assign(scope, assigned)
        return assigned

    return evaluate


@compiles("augmented_assignment_expression")
def _augmented(module: Module, node: Node) -> Evaluate:
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    operator = module.source.text(node.child_by_field_name("operator"))[:-1]
    old, new = compile_expression(module, left), compile_expression(module, right)
    assign = patterns.compile_assignment(module, left)

    def evaluate(scope: Scope) -> Value:
        before = old(scope)
        if operator in ("&&", "||", "??"):
            test = is_nullish if operator == "??" else truth
            assigned = short_circuit(module, node, scope, before, new, test, operator != "||")
        else:
            assigned = binary(operator, before, new(scope))
        assign(scope, assigned)
        return assigned

    return evaluate


@compiles("update_expression")
def _update(module: Module, node: Node) -> Evaluate:
    argument = node.child_by_field_name("argument")
    old, assign = compile_expression(module, argument), patterns.compile_assignment(module, argument)
    step = 1 if any(child.type == "++" for child in node.children) else -1
    is_prefix = not node.children[0].is_named

    def evaluate(scope: Scope) -> Value:
        before = number_of_value(old(scope))
        after = binary("+", before, step)
        assign(scope, after)
        return after if is_prefix else before

    return evaluate
