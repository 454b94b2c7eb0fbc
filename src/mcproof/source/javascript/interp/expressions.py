"""Expressions, compiled to functions of the scope that they are evaluated in.

Compiling once is what makes loops and repeated calls affordable; the body of a function is compiled at its first call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcproof.source.javascript.interp import functions, patterns
from mcproof.source.javascript.interp.interpreter import (
    MOST_ITEMS,
    Completion,
    Deferred,
    Scope,
    either,
    over_options,
)
from mcproof.source.javascript.interp.members import (
    call_method,
    call_value,
    construct_value,
    get_member,
    items_of,
    property_key,
)
from mcproof.source.javascript.interp.operators import (
    add,
    binary,
    inverted,
    is_nullish,
    number_of_value,
    side_by_default,
    text_of,
    truth,
    type_name,
)
from mcproof.source.javascript.syntax import children_of, number_of, string_of
from mcproof.source.javascript.values import (
    ABSENT,
    UNDEFINED,
    Accessor,
    BigInt,
    JsArray,
    JsObject,
    JsPromise,
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


def _compiles(*types: str) -> Callable[[Callable[[Module, Node], Evaluate]], Callable[[Module, Node], Evaluate]]:
    def register(compile_node: Callable[[Module, Node], Evaluate]) -> Callable[[Module, Node], Evaluate]:
        for type_ in types:
            _COMPILERS[type_] = compile_node
        return compile_node

    return register


def compile_expression(module: Module, node: Node | None) -> Evaluate:
    """The function that evaluates an expression."""
    if node is None:
        return lambda scope: UNDEFINED
    found = _COMPILERS.get(node.type)
    if found is None:
        why = f"`{node.type.replace('_', ' ')}` is not followed"
        return lambda scope: Unknown(why)
    return found(module, node)


def _constant(value: Value) -> Evaluate:
    return lambda scope: value


@_compiles("string")
def _string(module: Module, node: Node) -> Evaluate:
    return _constant(string_of(module.source, node))


@_compiles("number")
def _number(module: Module, node: Node) -> Evaluate:
    value = number_of(module.source.text(node))
    if isinstance(value, str):
        return _constant(BigInt(int(value[:-1], 0)) if len(value) < 400 else Unknown("a number is too large"))
    return _constant(value)


for _type, _value in (("true", True), ("false", False), ("null", None), ("undefined", UNDEFINED)):
    _COMPILERS[_type] = lambda module, node, value=_value: _constant(value)  # type: ignore[misc]


@_compiles("regex")
def _regex(module: Module, node: Node) -> Evaluate:
    pattern, flags = node.child_by_field_name("pattern"), node.child_by_field_name("flags")
    return _constant(
        JsRegExp(module.source.text(pattern) if pattern else "", module.source.text(flags) if flags else "")
    )


@_compiles("template_string")
def _template(module: Module, node: Node) -> Evaluate:
    parts: list[str | Evaluate] = []
    plain: list[Any] = []
    for child in node.children:
        if child.type == "template_substitution":
            inner = children_of(child)
            parts.append(compile_expression(module, inner[0] if inner else None))
        elif child.type == "escape_sequence":
            parts.append(functions.escape_text(module.source.text(child)))
        elif child.type == "string_fragment":
            parts.append(module.source.text(child).replace("\r\n", "\n"))
    if all(isinstance(part, str) for part in parts):
        return _constant(functions.whole_text("".join(map(str, parts))))
    del plain

    def evaluate(scope: Scope) -> Value:
        made: Value = ""
        for part in parts:
            made = add(made, part if isinstance(part, str) else text_of(part(scope)))
        return made

    return evaluate


@_compiles("identifier", "shorthand_property_identifier", "type_identifier")
def _identifier(module: Module, node: Node) -> Evaluate:
    name = module.source.text(node)
    if name == "undefined":
        return _constant(UNDEFINED)
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


@_compiles("this")
def _this(module: Module, node: Node) -> Evaluate:
    return lambda scope: scope.frame.this if scope.frame is not None else UNDEFINED


@_compiles("super")
def _super(module: Module, node: Node) -> Evaluate:
    return lambda scope: Unknown("`super` is not known here")


@_compiles("parenthesized_expression", "non_null_expression", "as_expression", "satisfies_expression")
def _inner(module: Module, node: Node) -> Evaluate:
    inner = children_of(node)
    return compile_expression(module, inner[0] if inner else None)


@_compiles("type_assertion")
def _assertion(module: Module, node: Node) -> Evaluate:
    return compile_expression(module, children_of(node)[-1])


@_compiles("instantiation_expression")
def _instantiation(module: Module, node: Node) -> Evaluate:
    return compile_expression(module, children_of(node)[0])


@_compiles("sequence_expression")
def _sequence(module: Module, node: Node) -> Evaluate:
    parts = [compile_expression(module, child) for child in _flat(node)]

    def evaluate(scope: Scope) -> Value:
        value: Value = UNDEFINED
        for part in parts:
            value = part(scope)
        return value

    return evaluate


def _flat_all(node: Node) -> list[Node]:
    return [part for child in children_of(node) for part in _flat(child)]


def _last(scope: Scope, parts: list[Evaluate]) -> Value:
    """The value of the last of several expressions, which may be awaited."""
    values = [part(scope) for part in parts] or [UNDEFINED]
    return values[-1].value if isinstance(values[-1], JsPromise) else values[-1]


def _flat(node: Node) -> list[Node]:
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


@_compiles("array")
def _array(module: Module, node: Node) -> Evaluate:
    run = module.run
    parts: list[tuple[bool, Evaluate]] = []
    is_after_comma = True
    for child in node.children[1:]:
        if child.type == "comment":
            continue
        if child.type == ",":
            if is_after_comma:
                parts.append((False, _constant(UNDEFINED)))
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
        made = JsArray(items[:MOST_ITEMS], is_open=is_open or len(items) > MOST_ITEMS)
        return made if by_default is None else Unknown(by_default.reason, (made,), is_default=True)

    return evaluate


@_compiles("object")
def _object(module: Module, node: Node) -> Evaluate:
    run = module.run
    children = children_of(node)
    plain: list[tuple[str, Evaluate]] = []
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
    plain = [(name, value) for _, name, value in parts] if is_plain else []
    source = (module, node)

    def evaluate_plain(scope: Scope) -> Value:
        run.charge(1 + len(plain) // 8)
        made = JsObject({name: value(scope) for name, value in plain})
        made.sources = (source,)
        return made

    def evaluate(scope: Scope) -> Value:
        run.charge(1 + len(parts) // 8)
        made = JsObject({})
        made.sources = (source,)
        members = made.members
        for kind, key, value in parts:
            if kind == "spread":
                _spread_into(run, made, value(scope))
                run.charge(len(members) // 16)
                continue
            name = key if isinstance(key, str) else property_key(key(scope))
            if isinstance(name, Unknown):
                made.is_open = True
            elif kind == "pair":
                members[name] = value(scope)
            elif kind == "method":
                members[name] = functions.JsFunction(value, scope, name, home=made)
            else:
                functions.add_accessor(members, name, kind, functions.JsFunction(value, scope, name, home=made))
        return made

    if "__proto__" in dict(plain):
        del plain[[name for name, _ in plain].index("__proto__")]
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


def _spread_into(run: Interpreter, made: JsObject, value: Value) -> None:
    """Copy the members of a value into a new object."""
    if isinstance(value, Unknown):
        options = [option for option in value.options if isinstance(option, JsObject)]
        is_open = not value.options
        if value.options:
            known = [option.members if isinstance(option, JsObject) else {} for option in value.options]
            for name in dict.fromkeys(name for members in known for name in members):
                here = made.members.get(name, ABSENT)
                made.members[name] = either(
                    [members.get(name, here) for members in known], value.reason, is_default=value.is_default
                )
        made.is_open = made.is_open or is_open
        for option in options:
            made.sources = (*option.sources, *made.sources)
        return
    if isinstance(value, JsArray):
        made.members.update({str(index): item for index, item in enumerate(value.items)})
    elif isinstance(value, JsObject):
        for name, member in list(value.members.items()):
            is_computed = type(member) in (Accessor, Deferred)
            made.members[name] = get_member(run, value, name) if is_computed else member
        made.is_open = made.is_open or value.is_open
        made.sources = (*value.sources, *made.sources)[:8]
        if run.host.is_native(value.native):
            made.native = value.native  # a copy of the environment
    elif not (value is None or value is UNDEFINED or isinstance(value, (bool, int, float, str))):
        made.is_open = True


@_compiles("arrow_function", "function_expression", "function", "generator_function")
def _function(module: Module, node: Node) -> Evaluate:
    code = functions.FunctionCode(module, node)
    if code.is_arrow:
        return lambda scope: functions.JsFunction(code, scope, "")
    if not code.name:
        return lambda scope: functions.JsFunction(code, scope, "")

    def evaluate(scope: Scope) -> Value:
        inner = Scope(scope)  # the name of a function expression is known only in it
        made = functions.JsFunction(code, inner, code.name)
        inner.variables[code.name] = made
        return made

    return evaluate


@_compiles("class", "class_declaration", "abstract_class_declaration")
def _class(module: Module, node: Node) -> Evaluate:
    from mcproof.source.javascript.interp.classes import compile_class

    return compile_class(module, node)


@_compiles("member_expression")
def _member(module: Module, node: Node) -> Evaluate:
    object_node, property_node = node.child_by_field_name("object"), node.child_by_field_name("property")
    name = module.source.text(property_node) if property_node is not None else ""
    run = module.run
    if object_node is not None and object_node.type == "super":
        return lambda scope: functions.super_member(run, scope, name)
    target = compile_expression(module, object_node)
    return lambda scope: get_member(run, target(scope), name)


@_compiles("subscript_expression")
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


@_compiles("meta_property")
def _meta(module: Module, node: Node) -> Evaluate:
    if module.source.text(node).startswith("import"):
        return lambda scope: module.meta
    return lambda scope: scope.frame.target if scope.frame is not None else UNDEFINED


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
        plain = [part for _, part in parts]
        return lambda scope: [part(scope) for part in plain]
    run = module.run

    def evaluate(scope: Scope) -> list[Value]:
        made: list[Value] = []
        for is_spread, part in parts:
            if is_spread:
                items, is_open = items_of(run, part(scope))
                made += items
                if is_open:
                    made.append(Unknown("the arguments of this call are not known"))
            else:
                made.append(part(scope))
        return made

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


@_compiles("call_expression")
def _call(module: Module, node: Node) -> Evaluate:
    callee, given = node.child_by_field_name("function"), node.child_by_field_name("arguments")
    run, place = module.run, (module, node)
    while callee is not None and callee.type in ("parenthesized_expression", "non_null_expression"):
        if callee.type == "parenthesized_expression" and children_of(callee)[0].type == "sequence_expression":
            break
        callee = children_of(callee)[0]
    if callee is None:
        return _constant(Unknown("this call is not known"))
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
        return lambda scope: JsPromise(module.imported(arguments(scope)[0] if given is not None else UNDEFINED))
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
        name = module.source.text(property_node) if property_node is not None else ""
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

        def call_awaited(scope: Scope) -> Value:
            value = call_value(run, function(scope), UNDEFINED, arguments(scope), place)
            return value.value if isinstance(value, JsPromise) else value

        return call_awaited
    return lambda scope: call_value(run, function(scope), UNDEFINED, arguments(scope), place)


def _is_awaited(module: Module, callee: Node) -> bool:
    """Whether a callee is `await (…)`, which the grammar reads as a call."""
    name = callee.child_by_field_name("function") if callee.type == "call_expression" else None
    return name is not None and name.type == "identifier" and module.source.text(name) == "await"


@_compiles("new_expression")
def _new(module: Module, node: Node) -> Evaluate:
    callee = compile_expression(module, node.child_by_field_name("constructor"))
    arguments = compile_arguments(module, node.child_by_field_name("arguments"))
    run, place = module.run, (module, node)
    return lambda scope: construct_value(run, callee(scope), arguments(scope), place)


@_compiles("await_expression")
def _await(module: Module, node: Node) -> Evaluate:
    inner = compile_expression(module, children_of(node)[0])

    def evaluate(scope: Scope) -> Value:
        value = inner(scope)
        return value.value if isinstance(value, JsPromise) else value

    return evaluate


@_compiles("yield_expression")
def _yield(module: Module, node: Node) -> Evaluate:
    inner = compile_expression(module, children_of(node)[0] if children_of(node) else None)
    is_many = any(child.type == "*" for child in node.children)
    run = module.run

    def evaluate(scope: Scope) -> Value:
        value = inner(scope)
        found = scope.function.variables.get(functions.YIELDED)
        if found is UNDEFINED:
            return value.value if isinstance(value, JsPromise) else value
        if isinstance(found, JsArray):
            run.will_change(found)
            if is_many:
                items, is_open = items_of(run, value)
                found.items = found.items + items
                found.is_open = found.is_open or is_open
            else:
                found.items.append(value)
        return Unknown("what is sent to a generator is not known")

    return evaluate


@_compiles("unary_expression")
def _unary(module: Module, node: Node) -> Evaluate:
    operator = module.source.text(node.child_by_field_name("operator"))  # type: ignore[arg-type]
    argument = node.child_by_field_name("argument")
    run = module.run
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
    del run

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
        return _constant(True)
    target, key = patterns.compile_reference(module, node)
    run = module.run

    def evaluate(scope: Scope) -> Value:
        value, name = target(scope), key(scope)
        if isinstance(value, JsObject) and isinstance(name, str):
            run.delete(value.members, name)
        elif isinstance(value, JsObject):
            value.is_open = True
        return True

    return evaluate


@_compiles("binary_expression")
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
    condition = left if isinstance(left, Unknown) else Unknown("a condition is not settled")
    by_default = side_by_default(condition, test)
    # the side that is not taken has the left value, as far as it can be that one
    if isinstance(left, Unknown) and left.options:
        fits = [option for option in left.options if test(option) in (None, not goes_right)]
        kept = Unknown(left.reason, tuple(fits)) if fits else Unknown(left.reason)
        shown: Value = fits[0] if len(fits) == 1 and not left.is_default else kept
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


@_compiles("ternary_expression")
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
        unknown = value if isinstance(value, Unknown) else Unknown("a condition is not settled")

        def side(evaluated: Evaluate) -> Callable[[], Completion | None]:
            return lambda: Completion("return", evaluated(scope))

        completion = run.alternatives(node.id, unknown, [side(first), side(second)], side_by_default(unknown))
        return completion.value if completion is not None else UNDEFINED

    return evaluate


@_compiles("assignment_expression")
def _assignment(module: Module, node: Node) -> Evaluate:
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    value = compile_expression(module, right)
    assign = patterns.compile_assignment(module, left)
    name = module.source.text(left) if left is not None and left.type == "identifier" else ""

    def evaluate(scope: Scope) -> Value:
        made = value(scope)
        functions.name_function(made, name)
        assign(scope, made)
        return made

    return evaluate


@_compiles("augmented_assignment_expression")
def _augmented(module: Module, node: Node) -> Evaluate:
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    operator = module.source.text(node.child_by_field_name("operator"))[:-1]  # type: ignore[arg-type]
    old, new = compile_expression(module, left), compile_expression(module, right)
    assign = patterns.compile_assignment(module, left)

    def evaluate(scope: Scope) -> Value:
        before = old(scope)
        if operator in ("&&", "||", "??"):
            test = is_nullish if operator == "??" else truth
            made = short_circuit(module, node, scope, before, new, test, operator != "||")
        else:
            made = binary(operator, before, new(scope))
        assign(scope, made)
        return made

    return evaluate


@_compiles("update_expression")
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


@_compiles("jsx_element", "jsx_self_closing_element", "jsx_fragment")
def _jsx(module: Module, node: Node) -> Evaluate:
    return _constant(Unknown("JSX is not followed"))
