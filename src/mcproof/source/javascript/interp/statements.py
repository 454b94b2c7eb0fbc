"""Statements, compiled to functions that return how they end if that is not normally."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.source.javascript.interp import calls, functions, operations, patterns  # noqa: F401  (expressions that register themselves)
from mcproof.source.javascript.interp.expressions import compile_expression
from mcproof.source.javascript.interp.interpreter import (
    ITERATIONS_IN_DOUBT,
    MOST_ITERATIONS,
    Completion,
    Context,
    Deferred,
    JsThrowError,
    Scope,
)
from mcproof.source.javascript.interp.members import items_of, keys_of
from mcproof.source.javascript.interp.operators import side_by_default, strictly_equal, truth, unsettled
from mcproof.source.javascript.syntax import children_of, string_of
from mcproof.source.javascript.values import UNDEFINED, JsObject, Unknown, may_lack, present

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tree_sitter import Node

    from mcproof.source.javascript.interp.interpreter import Evaluate, Execute
    from mcproof.source.javascript.interp.modules import Module
    from mcproof.source.javascript.values import Value

_COMPILERS: dict[str, Callable[[Module, Node], Execute]] = {}

FUNCTIONS = ("function_declaration", "generator_function_declaration")
_CLASSES = ("class_declaration", "abstract_class_declaration")
_TYPES = frozenset((
    "interface_declaration", "type_alias_declaration", "ambient_declaration", "empty_statement", "debugger_statement",
    "comment", "function_signature", "hash_bang_line", "import_alias",
))  # fmt: skip


def _compiles(*types: str) -> Callable[[Callable[[Module, Node], Execute]], Callable[[Module, Node], Execute]]:
    def register(compile_node: Callable[[Module, Node], Execute]) -> Callable[[Module, Node], Execute]:
        for type_ in types:
            _COMPILERS[type_] = compile_node
        return compile_node

    return register


def _nothing(scope: Scope) -> None:
    return None


def compile_statement(module: Module, node: Node | None) -> Execute:
    """The function that executes a statement."""
    if node is None or node.type in _TYPES or node.type in FUNCTIONS:
        return _nothing  # functions are defined before the statements around them run
    compiler = _COMPILERS.get(node.type)
    if compiler is None:
        return _expression(module, node) if node.type != "ERROR" else _nothing
    return compiler(module, node)


def hoisted_function(node: Node) -> Node | None:
    """The function that a statement declares."""
    inner = node.child_by_field_name("declaration") if node.type == "export_statement" else node
    return inner if inner is not None and inner.type in FUNCTIONS else None


def compile_block(module: Module, nodes: Iterable[Node], *, own_scope: bool) -> Execute:
    """The function that executes statements one after the other, in a scope of their own."""
    run = module.run
    nodes = [node for node in nodes if node.type not in _TYPES]
    hoisted = [functions.FunctionCode(module, inner) for node in nodes if (inner := hoisted_function(node)) is not None]
    statements = [compile_statement(module, node) for node in nodes if node.type not in FUNCTIONS]
    has_names = bool(hoisted) or any(node.type in ("lexical_declaration", *_CLASSES) for node in nodes)
    count = len(statements)
    is_nested = own_scope and has_names

    def execute(scope: Scope) -> Completion | None:
        run.charge(count)
        if is_nested:
            scope = Scope(scope)
        for code in hoisted:
            scope.variables[code.name] = functions.JsFunction(code, scope, code.name)
        for statement in statements:
            completion = statement(scope)
            if completion is not None:
                return completion
        return None

    return execute


@_compiles("statement_block")
def _block(module: Module, node: Node) -> Execute:
    return compile_block(module, children_of(node), own_scope=True)


@_compiles("expression_statement")
def _expression(module: Module, node: Node) -> Execute:
    inner = children_of(node) if node.type == "expression_statement" else [node]
    if not inner:
        return _nothing
    if inner[0].type == "internal_module":
        return _namespace(module, inner[0])
    return _doing(compile_expression(module, inner[0]))


def _doing(action: Callable[[Scope], object]) -> Execute:
    """A statement that ends normally."""

    def execute(scope: Scope) -> None:
        action(scope)

    return execute


@_compiles("lexical_declaration", "variable_declaration", "using_declaration")
def _declaration(module: Module, node: Node) -> Execute:
    is_var = node.type == "variable_declaration"
    parts: list[tuple[str, patterns.Bind, Evaluate | None]] = []
    loading: dict[str, tuple[str, str]] = {}
    for child in children_of(node):
        if child.type == "variable_declarator":
            name, value = child.child_by_field_name("name"), child.child_by_field_name("value")
            bind = patterns.compile_declaration(module, name, of_function=is_var)
            text = module.source.text(name) if name is not None and name.type == "identifier" else ""
            parts.append((text, bind, compile_expression(module, value) if value is not None else None))
            if text and value is not None and value.type == "call_expression":
                loading[text] = _callees(module, value)

    def execute(scope: Scope) -> Completion | None:
        for name, bind, evaluate in parts:
            if name in loading and evaluate is not None and functions.is_load(scope, *loading[name]):
                # what a bundle loads is followed only if it is used
                delayed = lambda evaluate=evaluate, scope=scope: evaluate(scope)  # noqa: E731
                (scope.function if is_var else scope).variables[name] = Deferred(functions.once(delayed))
                continue
            if evaluate is None:
                if not (is_var and name in scope.function.variables):
                    bind(scope, UNDEFINED)
                continue
            value = evaluate(scope)
            functions.name_function(value, name)
            bind(scope, value)
        return None

    return execute


def _callees(module: Module, node: Node) -> tuple[str, str]:
    """The names in `name(…)` and in `other(name(…))`, where a bundle may load a module."""
    outer, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
    if outer is None or outer.type != "identifier" or arguments is None:
        return "", ""
    inner = next(iter(children_of(arguments)), None)
    if inner is None or inner.type in ("number", "string"):
        return module.source.text(outer), ""
    callee = inner.child_by_field_name("function") if inner.type == "call_expression" else None
    if callee is None or callee.type != "identifier":
        return "", ""
    return module.source.text(callee), module.source.text(outer)


@_compiles(*_CLASSES)
def _class(module: Module, node: Node) -> Execute:
    from mcproof.source.javascript.interp.classes import compile_class

    evaluate = compile_class(module, node)
    name = node.child_by_field_name("name")
    text = module.source.text(name)
    return _doing(lambda scope: scope.variables.update({text: evaluate(scope)}))


@_compiles("enum_declaration")
def _enum(module: Module, node: Node) -> Execute:
    name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
    text = module.source.text(name)
    parts: list[tuple[str, Evaluate | None]] = []
    for child in children_of(body) if body is not None else ():
        key = child.child_by_field_name("name") if child.type == "enum_assignment" else child
        value = child.child_by_field_name("value") if child.type == "enum_assignment" else None
        if key is not None:
            label = string_of(module.source, key) if key.type == "string" else module.source.text(key)
            parts.append((label, compile_expression(module, value) if value is not None else None))

    def execute(scope: Scope) -> Completion | None:
        members: dict[str, Value] = {}
        inner = Scope(scope)
        following: Value = 0
        for label, evaluate in parts:
            value = evaluate(inner) if evaluate is not None else following
            inner.variables[label] = members[label] = value
            if isinstance(value, int) and not isinstance(value, bool):
                members[str(value)] = label
                following = value + 1
        enum = JsObject(members)
        enum.sources = ((module, body),)
        scope.variables[text] = enum
        return None

    return execute


@_compiles("internal_module", "module")
def _namespace(module: Module, node: Node) -> Execute:
    name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
    text = module.source.text(name)
    nodes = [
        (child.child_by_field_name("declaration") if child.type == "export_statement" else child) or child
        for child in (children_of(body) if body is not None else ())
    ]
    block = compile_block(module, nodes, own_scope=False)

    def execute(scope: Scope) -> Completion | None:
        inner = Scope(scope, is_function=True)
        before = scope.variables.get(text)
        scope.variables[text] = namespace = before if isinstance(before, JsObject) else JsObject({})
        completion = block(inner)
        namespace.members.update(inner.variables)
        return completion

    return execute


@_compiles("return_statement", "throw_statement")
def _return(module: Module, node: Node) -> Execute:
    inner = children_of(node)
    evaluate = compile_expression(module, inner[0] if inner else None)
    if node.type == "return_statement":
        return lambda scope: Completion("return", evaluate(scope))
    return lambda scope: Completion("throw", evaluate(scope))


@_compiles("break_statement", "continue_statement")
def _jump(module: Module, node: Node) -> Execute:
    label = node.child_by_field_name("label")
    completion = Completion(node.type.removesuffix("_statement"), module.source.text(label) if label else UNDEFINED)
    return lambda scope: completion


@_compiles("labeled_statement")
def _labeled(module: Module, node: Node) -> Execute:
    label, body = node.child_by_field_name("label"), node.child_by_field_name("body")
    text = module.source.text(label)
    execute_body = compile_statement(module, body)

    def execute(scope: Scope) -> Completion | None:
        completion = execute_body(scope)
        if completion is not None and completion.value == text and completion.kind in ("break", "continue"):
            return None
        return completion

    return execute


@_compiles("if_statement")
def _if(module: Module, node: Node) -> Execute:
    condition = compile_expression(module, node.child_by_field_name("condition"))
    first = compile_statement(module, node.child_by_field_name("consequence"))
    alternative = node.child_by_field_name("alternative")
    second = compile_statement(module, children_of(alternative)[0] if alternative is not None else None)
    run, key = module.run, node.id

    def execute(scope: Scope) -> Completion | None:
        value = condition(scope)
        holds = truth(value)
        if holds is not None:
            return first(scope) if holds else second(scope)
        unknown = unsettled(value)
        sides = [lambda: first(scope), lambda: second(scope)]
        return run.alternatives(key, unknown, sides, side_by_default(unknown))

    return execute


@_compiles("switch_statement")
def _switch(module: Module, node: Node) -> Execute:
    discriminant = compile_expression(module, node.child_by_field_name("value"))
    body = node.child_by_field_name("body")
    run, key = module.run, node.id
    cases: list[tuple[Evaluate | None, Execute]] = []
    for child in children_of(body) if body is not None else ():
        value = child.child_by_field_name("value") if child.type == "switch_case" else None
        statements = children_of(child)[1:] if value is not None else children_of(child)
        test = compile_expression(module, value) if value is not None else None
        cases.append((test, compile_block(module, statements, own_scope=False)))

    def run_from(start: int, scope: Scope) -> Completion | None:
        for _, block in cases[start:]:
            completion = block(scope)
            if completion is not None:
                is_break = completion.kind == "break" and completion.value is UNDEFINED
                return None if is_break else completion
        return None

    def execute(scope: Scope) -> Completion | None:
        value, inner = discriminant(scope), Scope(scope)
        default = next((number for number, (test, _) in enumerate(cases) if test is None), len(cases))
        possible: list[int] = []
        preferred: int | None = None
        for number, (test, _) in enumerate(cases):
            if test is None:
                continue
            equal = strictly_equal(value, test(scope))
            if equal is True:
                possible.append(number)
                break
            if isinstance(equal, Unknown):
                possible.append(number)
                if equal.is_default and equal.options[0] is True and preferred is None:
                    preferred = len(possible) - 1
        else:
            possible.append(default)
            if preferred is None and isinstance(value, Unknown) and value.is_default:
                preferred = len(possible) - 1
        if len(possible) == 1:
            return run_from(possible[0], inner)
        unknown = unsettled(value)
        sides = [lambda number=number: run_from(number, Scope(scope)) for number in possible]
        return run.alternatives(key, unknown, sides, preferred)

    return execute


@_compiles("try_statement")
def _try(module: Module, node: Node) -> Execute:
    body = compile_statement(module, node.child_by_field_name("body"))
    handler, finalizer = node.child_by_field_name("handler"), node.child_by_field_name("finalizer")
    catch = _nothing if handler is None else compile_statement(module, handler.child_by_field_name("body"))
    parameter = handler.child_by_field_name("parameter") if handler is not None else None
    bind = patterns.compile_declaration(module, parameter)
    after = _nothing if finalizer is None else compile_statement(module, finalizer.child_by_field_name("body"))

    def execute(scope: Scope) -> Completion | None:
        try:
            completion = body(scope)
        except JsThrowError as error:
            completion = Completion("throw", error.value)
        if completion is not None and completion.kind == "throw" and handler is not None:
            inner = Scope(scope)
            bind(inner, completion.value)
            try:
                completion = catch(inner)
            except JsThrowError as error:
                completion = Completion("throw", error.value)
        last = after(scope)
        return last if last is not None else completion

    return execute


def _loop(module: Module, body: Execute, scope: Scope, label: str) -> tuple[bool, Completion | None]:
    """One iteration. Returns whether the loop goes on, and else how it ends."""
    run = module.run
    run.charge(2)
    outer = run.context
    run.context = Context("iteration", outer)
    try:
        completion = body(scope)
    finally:
        run.context = outer
    if completion is None:
        return True, None
    is_own = completion.value is UNDEFINED or completion.value == label
    if completion.kind == "continue" and is_own:
        return True, None
    if completion.kind == "break" and is_own:
        return False, None
    return False, completion


def _label(module: Module, node: Node) -> str:
    parent = node.parent
    if parent is not None and parent.type == "labeled_statement":
        label = parent.child_by_field_name("label")
        return module.source.text(label)
    return ""


@_compiles("for_in_statement")
def _for_in(module: Module, node: Node) -> Execute:
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    operator, kind = node.child_by_field_name("operator"), node.child_by_field_name("kind")
    is_of = operator is not None and operator.type == "of"
    collection = compile_expression(module, right)
    if kind is not None:
        bind = patterns.compile_declaration(module, left, of_function=kind.type == "var")
    else:
        bind = patterns.compile_assignment(module, left)
    body = compile_statement(module, node.child_by_field_name("body"))
    run, key, label = module.run, node.id, _label(module, node)

    def one(scope: Scope, item: Value) -> tuple[bool, Completion | None]:
        inner = Scope(scope)
        bind(inner, item)
        return _loop(module, body, inner, label)

    def execute(scope: Scope) -> Completion | None:
        value = collection(scope)
        items, is_open = items_of(run, value) if is_of else keys_of(value)
        with run.within("loop"):
            for number, item in enumerate(items[:MOST_ITERATIONS]):
                if may_lack(item):
                    outcome: list[tuple[bool, Completion | None]] = []
                    side = lambda item=item, outcome=outcome: _noted(outcome, one(scope, present(item)))  # noqa: E731
                    preferred = 0 if item.is_default else None
                    completion = run.alternatives(key + number, item, [side, lambda: None], preferred)
                    goes_on = completion is None
                    if outcome and not outcome[0][0] and completion is None:
                        continue
                else:
                    goes_on, completion = one(scope, item)
                if not goes_on:
                    return completion
            if is_open:
                unknown = Unknown("the items of a list are not known")
                none = 1 if isinstance(value, Unknown) and value.is_default else None
                return run.alternatives(key - 1, unknown, [lambda: one(scope, unknown)[1], lambda: None], none)
        return None

    return execute


def _noted(outcome: list[tuple[bool, Completion | None]], result: tuple[bool, Completion | None]) -> Completion | None:
    outcome.append(result)
    return result[1]


@_compiles("for_statement")
def _for(module: Module, node: Node) -> Execute:
    initializer = node.child_by_field_name("initializer")
    condition_node = next((child for child in node.children_by_field_name("condition") if child.is_named), None)
    if condition_node is not None and condition_node.type == "empty_statement":
        condition_node = None
    if condition_node is not None and condition_node.type == "expression_statement":
        condition_node = children_of(condition_node)[0]
    condition = compile_expression(module, condition_node) if condition_node is not None else None
    increment = node.child_by_field_name("increment")
    start = compile_statement(module, initializer)
    step = compile_expression(module, increment) if increment is not None else None
    body = compile_statement(module, node.child_by_field_name("body"))
    is_lexical = initializer is not None and initializer.type == "lexical_declaration"
    return _conditional_loop(module, node, start, condition, step, body, is_lexical=is_lexical)


@_compiles("while_statement", "do_statement")
def _while(module: Module, node: Node) -> Execute:
    condition = compile_expression(module, node.child_by_field_name("condition"))
    body = compile_statement(module, node.child_by_field_name("body"))
    return _conditional_loop(module, node, _nothing, condition, None, body, is_do=node.type == "do_statement")


def _conditional_loop(
    module: Module,
    node: Node,
    start: Execute,
    condition: Evaluate | None,
    step: Evaluate | None,
    body: Execute,
    *,
    is_lexical: bool = False,
    is_do: bool = False,
) -> Execute:
    run, key, label = module.run, node.id, _label(module, node)

    def execute(scope: Scope) -> Completion | None:
        outer = Scope(scope)
        start(outer)
        with run.within("loop") as loop:
            in_doubt = 0
            for number in range(MOST_ITERATIONS):
                in_doubt += bool(loop.doubts)
                if in_doubt > ITERATIONS_IN_DOUBT:
                    return None
                value = True if condition is None or (is_do and not number) else condition(outer)
                holds = truth(value)
                if holds is False:
                    return None
                inner = Scope(outer)
                if is_lexical:  # each iteration has variables of its own, which closures keep
                    inner.variables.update(outer.variables)
                if holds is None:
                    unknown = unsettled(value)
                    # once is enough to see what an unknown number of iterations does
                    once = lambda inner=inner: _loop(module, body, inner, label)[1]  # noqa: E731
                    return run.alternatives(key, unknown, [once, lambda: None], side_by_default(unknown))
                goes_on, completion = _loop(module, body, inner, label)
                if not goes_on:
                    return completion
                if is_lexical:
                    for name in outer.variables:
                        outer.variables[name] = inner.variables[name]
                if step is not None:
                    step(outer)
        return None

    return execute


@_compiles("with_statement")
def _with(module: Module, node: Node) -> Execute:
    return compile_statement(module, node.child_by_field_name("body"))


@_compiles("import_statement")
def _import(module: Module, node: Node) -> Execute:
    clause = next((child for child in node.children if child.type == "import_require_clause"), None)
    if clause is None:
        return _nothing  # imports are bound before the module runs
    source, name = clause.child_by_field_name("source"), children_of(clause)[0]
    request = string_of(module.source, source) if source is not None else ""
    text = module.source.text(name)
    return _doing(lambda scope: scope.variables.update({text: module.required(request)}))


@_compiles("export_statement")
def _export(module: Module, node: Node) -> Execute:
    declaration, value = node.child_by_field_name("declaration"), node.child_by_field_name("value")
    is_default = any(child.type == "default" for child in node.children)
    if declaration is not None:
        execute_declaration = compile_statement(module, declaration)
        if is_default and declaration.type not in FUNCTIONS:
            name = declaration.child_by_field_name("name")
            if name is None:
                return _default(module, compile_expression(module, declaration))
        return execute_declaration
    if value is not None:
        return _default(module, compile_expression(module, value))
    # TypeScript writes `module.exports = value` in this way.
    if any(child.type == "=" for child in node.children):
        return _default(module, compile_expression(module, children_of(node)[-1]), is_whole=True)
    return _nothing


def _default(module: Module, evaluate: Evaluate, *, is_whole: bool = False) -> Execute:
    def export(scope: Scope) -> None:
        value = evaluate(scope)
        functions.name_function(value, "default")
        if is_whole:
            module.set_whole(value)
        else:
            module.exports.members["default"] = value

    return export
