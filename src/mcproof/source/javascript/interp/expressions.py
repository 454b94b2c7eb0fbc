"""Expressions, compiled to functions of the scope that they are evaluated in.

Compiling once is what makes loops and repeated calls affordable; the body of a function is compiled at its first call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcproof.source.javascript.interp import functions
from mcproof.source.javascript.interp.interpreter import (
    MOST_ITEMS,
    Deferred,
    Scope,
    either,
    over_options,
)
from mcproof.source.javascript.interp.members import (
    get_member,
    items_of,
    property_key,
)
from mcproof.source.javascript.interp.operators import (
    add,
    text_of,
)
from mcproof.source.javascript.syntax import children_of, number_of, string_of
from mcproof.source.javascript.values import (
    ABSENT,
    UNDEFINED,
    Accessor,
    BigInt,
    JsArray,
    JsObject,
    JsRegExp,
    Unknown,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from tree_sitter import Node

    from mcproof.source.javascript.interp.interpreter import Evaluate, Interpreter
    from mcproof.source.javascript.interp.modules import Module
    from mcproof.source.javascript.values import Value

_MISSING = object()
MOST_PROPERTIES = 50_000

_COMPILERS: dict[str, Callable[[Module, Node], Evaluate]] = {}


def compiles(*types: str) -> Callable[[Callable[[Module, Node], Evaluate]], Callable[[Module, Node], Evaluate]]:
    def register(compile_node: Callable[[Module, Node], Evaluate]) -> Callable[[Module, Node], Evaluate]:
        for type_ in types:
            _COMPILERS[type_] = compile_node
        return compile_node

    return register


def compile_expression(module: Module, node: Node | None) -> Evaluate:
    """The function that evaluates an expression."""
    if node is None:
        return lambda scope: UNDEFINED
    compiler = _COMPILERS.get(node.type)
    if compiler is None:
        why = f"`{node.type.replace('_', ' ')}` is not followed"
        return lambda scope: Unknown(why)
    return compiler(module, node)


def constant(value: Value) -> Evaluate:
    return lambda scope: value


@compiles("string")
def _string(module: Module, node: Node) -> Evaluate:
    return constant(string_of(module.source, node))


@compiles("number")
def _number(module: Module, node: Node) -> Evaluate:
    value = number_of(module.source.text(node))
    if isinstance(value, str):
        return constant(BigInt(int(value[:-1], 0)) if len(value) < 400 else Unknown("a number is too large"))
    return constant(value)


for _type, _value in (("true", True), ("false", False), ("null", None), ("undefined", UNDEFINED)):
    _COMPILERS[_type] = lambda module, node, value=_value: constant(value)  # type: ignore[misc]


@compiles("regex")
def _regex(module: Module, node: Node) -> Evaluate:
    pattern, flags = node.child_by_field_name("pattern"), node.child_by_field_name("flags")
    return constant(JsRegExp(module.source.text(pattern), module.source.text(flags)))


@compiles("template_string")
def _template(module: Module, node: Node) -> Evaluate:
    parts: list[str | Evaluate] = []
    for child in node.children:
        if child.type == "template_substitution":
            inner = children_of(child)
            parts.append(compile_expression(module, inner[0] if inner else None))
        elif child.type == "escape_sequence":
            parts.append(functions.escape_text(module.source.text(child)))
        elif child.type == "string_fragment":
            parts.append(module.source.text(child).replace("\r\n", "\n"))
    if all(isinstance(part, str) for part in parts):
        return constant(functions.whole_text("".join(map(str, parts))))

    def evaluate(scope: Scope) -> Value:
        text: Value = ""
        for part in parts:
            text = add(text, part if isinstance(part, str) else text_of(part(scope)))
        return text

    return evaluate


@compiles("identifier", "shorthand_property_identifier", "type_identifier")
def _identifier(module: Module, node: Node) -> Evaluate:
    name = module.source.text(node)
    if name == "undefined":
        return constant(UNDEFINED)
    run = module.run

    def evaluate(scope: Scope) -> Value:
        at: Scope | None = scope
        while at is not None:
            value = at.variables.get(name, _MISSING)
            if value is not _MISSING:
                return value.compute() if value.__class__ is Deferred else value
            at = at.parent
        if name == "arguments":
            given = scope.frame.arguments if scope.frame is not None else ()
            return JsArray(list(given))
        if name in run.globals:
            return run.globals[name]
        return Unknown(f"`{name}` is not defined in the source")

    return evaluate


@compiles("this")
def _this(module: Module, node: Node) -> Evaluate:
    return lambda scope: scope.frame.this if scope.frame is not None else UNDEFINED


@compiles("super")
def _super(module: Module, node: Node) -> Evaluate:
    return lambda scope: Unknown("`super` is not known here")


@compiles("parenthesized_expression", "non_null_expression", "as_expression", "satisfies_expression")
def _inner(module: Module, node: Node) -> Evaluate:
    inner = children_of(node)
    return compile_expression(module, inner[0] if inner else None)


@compiles("type_assertion")
def _assertion(module: Module, node: Node) -> Evaluate:
    return compile_expression(module, children_of(node)[-1])


@compiles("instantiation_expression")
def _instantiation(module: Module, node: Node) -> Evaluate:
    return compile_expression(module, children_of(node)[0])


@compiles("sequence_expression")
def _sequence(module: Module, node: Node) -> Evaluate:
    parts = [compile_expression(module, child) for child in parts_of_sequence(node)]

    def evaluate(scope: Scope) -> Value:
        value: Value = UNDEFINED
        for part in parts:
            value = part(scope)
        return value

    return evaluate


def parts_of_sequence(node: Node) -> list[Node]:
    """The expressions of a sequence, which the grammar nests."""
    parts: list[Node] = []
    waiting = [node]
    while waiting:
        at = waiting.pop()
        if at.type == "sequence_expression":
            waiting += reversed(children_of(at))
        else:
            parts.append(at)
    return parts


@compiles("array")
def _array(module: Module, node: Node) -> Evaluate:
    run = module.run
    parts: list[tuple[bool, Evaluate]] = []
    is_after_comma = True
    for child in node.children[1:]:
        if child.type == "comment":
            continue
        if child.type == ",":
            if is_after_comma:
                # A hole, as in `[1, , 2]`, reads as undefined.
                parts.append((False, constant(UNDEFINED)))
            is_after_comma = True
        elif child.is_named:
            is_after_comma = False
            if child.type == "spread_element":
                parts.append((True, compile_expression(module, children_of(child)[0])))
            else:
                parts.append((False, compile_expression(module, child)))

    def evaluate(scope: Scope) -> Value:
        run.charge(1 + len(parts) // 8)
        items: list[Value] = []
        is_open = False
        by_default: Unknown | None = None
        for is_spread, part in parts:
            value = part(scope)
            if is_spread:
                if isinstance(value, Unknown) and value.is_default and len(value.options) == 1:
                    by_default, value = value, value.options[0]
                more, more_open = items_of(run, value)
                run.charge(len(more) // 8)
                items += more
                is_open = is_open or more_open
            else:
                items.append(value)
        array = JsArray(items[:MOST_ITEMS], is_open=is_open or len(items) > MOST_ITEMS)
        return array if by_default is None else Unknown(by_default.reason, (array,), is_default=True)

    return evaluate


@compiles("object")
def _object(module: Module, node: Node) -> Evaluate:
    run = module.run
    children = children_of(node)
    literal_members: list[tuple[str, Evaluate]] = []
    is_plain = True
    parts: list[tuple[str, Any, Any]] = []
    for child in children[:MOST_PROPERTIES]:
        kind = child.type
        if kind == "pair":
            key = child.child_by_field_name("key")
            value = compile_expression(module, child.child_by_field_name("value"))
            parts.append(("pair", _key(module, key), value))
        elif kind in ("shorthand_property_identifier", "identifier"):
            name = module.source.text(child)
            parts.append(("pair", name, _identifier(module, child)))
        elif kind == "spread_element":
            parts.append(("spread", None, compile_expression(module, children_of(child)[0])))
            is_plain = False
        elif kind == "method_definition":
            code = functions.FunctionCode(module, child)
            parts.append((code.accessor or "method", _key(module, child.child_by_field_name("name")), code))
            is_plain = False
        if parts and not isinstance(parts[-1][1], str):
            is_plain = False
    literal_members = [(name, value) for _, name, value in parts] if is_plain else []
    source = (module, node)

    def evaluate_plain(scope: Scope) -> Value:
        run.charge(1 + len(literal_members) // 8)
        target = JsObject({name: value(scope) for name, value in literal_members})
        target.sources = (source,)
        return target

    def evaluate(scope: Scope) -> Value:
        run.charge(1 + len(parts) // 8)
        target = JsObject({})
        target.sources = (source,)
        members = target.members
        for kind, key, value in parts:
            if kind == "spread":
                _spread_into(run, target, value(scope))
                run.charge(len(members) // 16)
                continue
            name = key if isinstance(key, str) else property_key(key(scope))
            if isinstance(name, Unknown):
                target.is_open = True
            elif kind == "pair":
                members[name] = value(scope)
            elif kind == "method":
                members[name] = functions.JsFunction(value, scope, name, home=target)
            else:
                functions.add_accessor(members, name, kind, functions.JsFunction(value, scope, name, home=target))
        return target

    # `__proto__: value` sets the prototype, and is no member.
    if "__proto__" in dict(literal_members):
        del literal_members[[name for name, _ in literal_members].index("__proto__")]
    return evaluate_plain if is_plain else evaluate


def _key(module: Module, node: Node | None) -> str | Evaluate:
    """The name of a property, or what computes it."""
    if node is None:
        return ""
    if node.type == "string":
        return string_of(module.source, node)
    if node.type == "number":
        return str(text_of(number_of(module.source.text(node))))
    if node.type == "computed_property_name":
        return compile_expression(module, children_of(node)[0])
    return module.source.text(node)


def _spread_into(run: Interpreter, target: JsObject, value: Value) -> None:
    """Copy the members of a value into a new object."""
    if isinstance(value, Unknown):
        options = [option for option in value.options if isinstance(option, JsObject)]
        is_open = not value.options
        if value.options:
            alternatives = [option.members if isinstance(option, JsObject) else {} for option in value.options]
            for name in dict.fromkeys(name for members in alternatives for name in members):
                here = target.members.get(name, ABSENT)
                target.members[name] = either(
                    [members.get(name, here) for members in alternatives], value.reason, is_default=value.is_default
                )
        target.is_open = target.is_open or is_open
        for option in options:
            target.sources = (*option.sources, *target.sources)
        return
    if isinstance(value, JsArray):
        target.members.update({str(index): item for index, item in enumerate(value.items)})
    elif isinstance(value, JsObject):
        for name, member in list(value.members.items()):
            is_computed = type(member) in (Accessor, Deferred)
            target.members[name] = get_member(run, value, name) if is_computed else member
        target.is_open = target.is_open or value.is_open
        target.sources = (*value.sources, *target.sources)[:8]
        if run.host.is_native(value.native):
            target.native = value.native  # a copy of `process.env` is still the environment
    elif not (value is None or value is UNDEFINED or isinstance(value, (bool, int, float, str))):
        target.is_open = True


@compiles("arrow_function", "function_expression", "function", "generator_function")
def _function(module: Module, node: Node) -> Evaluate:
    code = functions.FunctionCode(module, node)
    if code.is_arrow:
        return lambda scope: functions.JsFunction(code, scope, "")
    if not code.name:
        return lambda scope: functions.JsFunction(code, scope, "")

    def evaluate(scope: Scope) -> Value:
        inner = Scope(scope)  # the name of a function expression is known only in it
        function = functions.JsFunction(code, inner, code.name)
        inner.variables[code.name] = function
        return function

    return evaluate


@compiles("class", "class_declaration", "abstract_class_declaration")
def _class(module: Module, node: Node) -> Evaluate:
    from mcproof.source.javascript.interp.classes import compile_class

    return compile_class(module, node)


@compiles("member_expression")
def _member(module: Module, node: Node) -> Evaluate:
    object_node, property_node = node.child_by_field_name("object"), node.child_by_field_name("property")
    name = module.source.text(property_node)
    run = module.run
    if object_node is not None and object_node.type == "super":
        return lambda scope: functions.super_member(run, scope, name)
    target = compile_expression(module, object_node)
    return lambda scope: get_member(run, target(scope), name)


@compiles("subscript_expression")
def _subscript(module: Module, node: Node) -> Evaluate:
    target = compile_expression(module, node.child_by_field_name("object"))
    index = compile_expression(module, node.child_by_field_name("index"))
    run = module.run

    def evaluate(scope: Scope) -> Value:
        value, key = target(scope), index(scope)
        return _at_key(value, key)

    def _at_key(value: Value, key: Value) -> Value:
        name = property_key(key)
        if isinstance(name, Unknown):
            if name.options:
                return member_at_options(run, value, name)
            if isinstance(value, JsObject) and value.members and not value.is_open and value.proto is None:
                return either([*value.members.values()], name.reason)
            return Unknown(name.reason)
        return get_member(run, value, name)

    return evaluate


def member_at_options(run: Interpreter, value: Value, name: Unknown) -> Value:
    """A member by one of several names."""

    def member(option: Value) -> Value:
        key = property_key(option)
        return Unknown(key.reason) if isinstance(key, Unknown) else get_member(run, value, key)

    return over_options(name, member)


@compiles("meta_property")
def _meta(module: Module, node: Node) -> Evaluate:
    if module.source.text(node).startswith("import"):
        return lambda scope: module.meta
    return lambda scope: scope.frame.target if scope.frame is not None else UNDEFINED


@compiles("jsx_element", "jsx_self_closing_element", "jsx_fragment")
def _jsx(module: Module, node: Node) -> Evaluate:
    return constant(Unknown("JSX is not followed"))
