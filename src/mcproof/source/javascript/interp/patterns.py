"""Patterns that give names to values: of declarations, parameters and assignments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.source.javascript.interp.interpreter import Scope, either, over_options
from mcproof.source.javascript.interp.members import get_member, items_of, property_key, set_member
from mcproof.source.javascript.syntax import children_of, number_of, string_of
from mcproof.source.javascript.values import UNDEFINED, JsArray, JsObject, Unknown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tree_sitter import Node

    from mcproof.source.javascript.interp.modules import Module
    from mcproof.source.javascript.values import Value

    Bind = Callable[[Scope, Value], None]


def names_in(module: Module, node: Node | None) -> Iterator[str]:
    """The names that a pattern binds."""
    waiting = [node]
    while waiting:
        at = waiting.pop()
        if at is None:
            continue
        if at.type in ("identifier", "shorthand_property_identifier_pattern"):
            yield module.source.text(at)
        elif at.type == "pair_pattern":
            waiting.append(at.child_by_field_name("value"))
        elif at.type in ("assignment_pattern", "object_assignment_pattern"):
            waiting.append(at.child_by_field_name("left"))
        elif at.type in ("object_pattern", "array_pattern", "rest_pattern"):
            waiting += reversed(children_of(at))


def compile_declaration(module: Module, node: Node | None, *, of_function: bool = False) -> Bind:
    """The function that binds the names of a pattern in a scope; `of_function` is for `var`."""
    run = module.run

    def bind_name(name: str) -> Bind:
        if of_function:
            return lambda scope, value: run.write(scope.function.variables, name, value, scope.function.birth)

        def bind(scope: Scope, value: Value) -> None:
            scope.variables[name] = value  # a new variable, which nothing has to undo

        return bind

    return _compile(module, node, bind_name)


def compile_assignment(module: Module, node: Node | None) -> Bind:
    """The function that assigns to a name, a member, or the parts of a pattern."""
    run = module.run

    def assign_name(name: str) -> Bind:
        def assign(scope: Scope, value: Value) -> None:
            at: Scope | None = scope
            while at is not None:
                if name in at.variables:
                    run.write(at.variables, name, value, at.birth)
                    return
                at = at.parent
            run.write(module.scope.variables, name, value, module.scope.birth)

        return assign

    return _compile(module, node, assign_name)


def compile_reference(module: Module, node: Node) -> tuple[Callable[[Scope], Value], Callable[[Scope], str | Unknown]]:
    """What evaluates the object and the key of a member expression."""
    from mcproof.source.javascript.interp.expressions import compile_expression

    target_node = node.child_by_field_name("object")
    if target_node is not None and target_node.type == "super":
        target: Callable[[Scope], Value] = lambda scope: scope.frame.this if scope.frame is not None else UNDEFINED  # noqa: E731
    else:
        target = compile_expression(module, target_node)
    if node.type == "member_expression":
        property_node = node.child_by_field_name("property")
        name = module.source.text(property_node)
        return target, lambda scope: name
    index = compile_expression(module, node.child_by_field_name("index"))
    return target, lambda scope: property_key(index(scope))


def _compile(module: Module, node: Node | None, bind_name: Callable[[str], Bind]) -> Bind:
    from mcproof.source.javascript.interp.expressions import compile_expression

    if node is None:
        return lambda scope, value: None
    kind = node.type
    if kind in ("identifier", "shorthand_property_identifier_pattern", "shorthand_property_identifier"):
        return bind_name(module.source.text(node))
    if kind in ("parenthesized_expression", "non_null_expression", "as_expression", "satisfies_expression"):
        return _compile(module, children_of(node)[0], bind_name)
    if kind in ("assignment_pattern", "object_assignment_pattern", "assignment_expression"):
        inner = _compile(module, node.child_by_field_name("left"), bind_name)
        default = compile_expression(module, node.child_by_field_name("right"))
        return lambda scope, value: inner(scope, with_default(value, scope, default))
    if kind in ("member_expression", "subscript_expression"):
        target, key = compile_reference(module, node)
        run = module.run

        def assign(scope: Scope, value: Value) -> None:
            set_member(run, target(scope), key(scope), value)

        return assign
    if kind in ("object_pattern", "object"):
        return _compile_object(module, node, bind_name)
    if kind in ("array_pattern", "array"):
        return _compile_array(module, node, bind_name)
    return lambda scope, value: None


def with_default(value: Value, scope: Scope, default: Callable[[Scope], Value]) -> Value:
    """A value, or else its default if it is undefined."""
    if value is UNDEFINED:
        return default(scope)
    if isinstance(value, Unknown) and UNDEFINED in value.options:
        other = default(scope)
        return either(
            [other if option is UNDEFINED else option for option in value.options],
            value.reason,
            is_default=value.is_default,
        )
    if isinstance(value, Unknown) and not value.options:
        # an argument of an unknown call: what the default says is the most likely
        other = default(scope)
        return value if isinstance(other, Unknown) else Unknown(value.reason, (other,), is_default=True)
    return value


def _compile_object(module: Module, node: Node, bind_name: Callable[[str], Bind]) -> Bind:
    from mcproof.source.javascript.interp.expressions import compile_expression

    run = module.run
    parts: list[tuple[Callable[[Scope], str | Unknown], Bind]] = []
    names: list[str] = []
    rest: Bind | None = None
    for child in children_of(node):
        if child.type in ("rest_pattern", "spread_element"):
            rest = _compile(module, children_of(child)[0], bind_name)
            continue
        if child.type in ("pair_pattern", "pair"):
            key_node = child.child_by_field_name("key")
            bind = _compile(module, child.child_by_field_name("value"), bind_name)
        else:
            key_node = child.child_by_field_name("left") or child
            bind = _compile(module, child, bind_name)
        if key_node is not None and key_node.type == "computed_property_name":
            computed = compile_expression(module, children_of(key_node)[0])
            parts.append((lambda scope, computed=computed: property_key(computed(scope)), bind))  # type: ignore[misc]
            continue
        if key_node is None:
            continue
        name = module.source.text(key_node)
        if key_node.type == "string":
            name = string_of(module.source, key_node)
        elif key_node.type == "number":
            name = str(number_of(name))
        names.append(name)
        parts.append((lambda scope, name=name: name, bind))  # type: ignore[misc]

    def evaluate(scope: Scope, value: Value) -> None:
        for key, bind in parts:
            name = key(scope)
            member = Unknown(name.reason) if isinstance(name, Unknown) else get_member(run, value, name)
            bind(scope, member)
        if rest is not None:
            rest(scope, _without(value, names))

    return evaluate


def _without(value: Value, names: list[str]) -> Value:
    """The members of an object that have not been taken from it."""
    if isinstance(value, Unknown):
        return over_options(value, lambda option: _without(option, names))
    if not isinstance(value, JsObject):
        return JsObject({}, is_open=not (value is None or value is UNDEFINED))
    rest = JsObject(
        {name: member for name, member in value.members.items() if name not in names}, is_open=value.is_open
    )
    rest.sources = value.sources
    return rest


def _compile_array(module: Module, node: Node, bind_name: Callable[[str], Bind]) -> Bind:
    run = module.run
    parts: list[Bind | None] = []
    rest: Bind | None = None
    is_after_comma = True
    for child in node.children[1:-1]:
        if child.type == ",":
            if is_after_comma:
                parts.append(None)
            is_after_comma = True
        elif child.is_named and child.type != "comment":
            is_after_comma = False
            if child.type in ("rest_pattern", "spread_element"):
                rest = _compile(module, children_of(child)[0], bind_name)
            else:
                parts.append(_compile(module, child, bind_name))

    def evaluate(scope: Scope, value: Value) -> None:
        items, is_open = items_of(run, value)
        missing = Unknown("this item of an array is not known") if is_open else UNDEFINED
        for number, bind in enumerate(parts):
            if bind is not None:
                bind(scope, items[number] if number < len(items) else missing)
        if rest is not None:
            rest(scope, JsArray(items[len(parts) :], is_open=is_open))

    return evaluate
