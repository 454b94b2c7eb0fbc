"""Evaluate expressions."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from mcproof.source.python.interp.attributes import attribute, docstring_of
from mcproof.source.python.interp.bindings import ModuleValue
from mcproof.source.python.interp.branches import as_by_default, first_by_default, first_or, join
from mcproof.source.python.interp.containers import (
    BOUNDED,
    CHARACTERS_PER_STEP,
    EXACT,
    ITEMS_PER_STEP,
    OPEN,
    SIZED,
    Assumed,
    SourceDict,
    SourceList,
    default_of,
    doubtful_positions,
    extent_of,
    is_certain,
    is_enum,
    is_unordered,
    members_of,
    truth,
    with_defaults,
)
from mcproof.source.python.interp.operators import (
    LONGEST,
    binary_operation,
    comparison,
    format_value,
    is_type,
    items_of,
    slice_of,
    subscript,
    unwrapped,
)
from mcproof.source.python.interp.values import (
    UNKNOWN,
    BudgetExceededError,
    Call,
    Class,
    External,
    Function,
    Generic,
    Method,
    Scope,
    TypeAlias,
    UnionOf,
    contents_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.source.python.interp.interpreter import Interpreter

DEEPEST_EXPRESSION = 60
LONGEST_LOOP = 2_000


def evaluate(run: Interpreter, node: ast.AST | None, scope: Scope) -> Any:
    """Return the value of an expression; `UNKNOWN` if only running the program would reveal it."""
    kind: Any = type(node)
    if kind is ast.Constant:
        value = node.value  # type: ignore[union-attr]
        if type(value) is str:  # by identity, so that the place survives assignments, calls and containers
            run.origins.by_id[id(value)] = value, node, scope.module
            if len(value) >= CHARACTERS_PER_STEP:
                run.budget.charge_copy(value)
        return UNKNOWN if type(value) is complex else value
    handler = _HANDLERS.get(kind)
    if handler is None:
        return UNKNOWN
    budget = run.budget
    budget.steps += 1  # inlined `budget.step()`: most of the time is spent here
    if budget.steps > budget.limit:
        raise BudgetExceededError
    if kind is ast.Name:
        value = run.lookup(node.id, scope)  # type: ignore[union-attr]
    else:
        run.depth += 1
        try:
            value = UNKNOWN if run.depth > DEEPEST_EXPRESSION + 40 * len(run.active) else handler(run, node, scope)
        finally:
            run.depth -= 1
    if type(value) in SIZED and len(value) >= ITEMS_PER_STEP:
        run.budget.charge_copy(value)  # every operation on it processes all of it
    return value


def _call(run: Interpreter, node: ast.Call, scope: Scope) -> Any:
    func = evaluate(run, node.func, scope)
    call = arguments(run, node, scope)
    if isinstance(func, External) and func.name == "builtins.super":
        return run.super_of(call.args)
    result = run.call(func, call)
    if (type(result) is str or type(result) is SourceDict) and id(result) not in run.origins.by_id:
        # `text.strip()` and `dedent(text)` are located where the text is written
        origin = func.of if isinstance(func, Method) and func.name != "join" else call.args[0] if call.args else None
        if isinstance(origin, Function):  # the docstring of a function, as from `inspect.getdoc(f)`
            origin = docstring_of(origin.exposed())
        _, at, module = run.origins.by_id.get(id(origin), (None, node, scope.module))
        run.origins.note(result, at, module)
    return result


def arguments(run: Interpreter, node: ast.Call, scope: Scope) -> Call:
    """Evaluate the arguments of a call."""
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    complete = True
    for argument in node.args:
        if isinstance(argument, ast.Starred):
            items = items_of(run.resolve(evaluate(run, argument.value, scope)))
            if items is None:
                complete = False
                break
            args.extend(items)
        else:
            args.append(run.resolve(evaluate(run, argument, scope)))
    for keyword in node.keywords:
        value = run.resolve(evaluate(run, keyword.value, scope))
        if keyword.arg is not None:
            kwargs[keyword.arg] = value
        elif isinstance(value, dict):
            kwargs.update((key, item) for key, item in value.items() if isinstance(key, str))
            complete = complete and extent_of(value) is EXACT
        else:
            complete = False
    return Call(args, kwargs, node, scope, complete)


def _list(run: Interpreter, node: ast.List | ast.Tuple | ast.Set, scope: Scope) -> Any:
    literal = SourceList(module=scope.module)
    nodes: list[ast.AST] = []
    for element in node.elts:
        if isinstance(element, ast.Starred):
            value = run.resolve(evaluate(run, element.value, scope))
            items = items_of(value)
            literal.inherit_doubt(value, (len(literal) + index for index in doubtful_positions(value)))
            literal.extend(items or ())
            nodes.extend([element] * len(items or ()))
            literal.mark_open(items is None)
        else:
            literal.append(run.resolve(evaluate(run, element, scope)))
            nodes.append(element)
    literal.nodes = nodes
    literal.unordered = literal.unordered or isinstance(node, ast.Set)
    return tuple(literal) if isinstance(node, ast.Tuple) and is_certain(literal) else literal


def _dict(run: Interpreter, node: ast.Dict, scope: Scope) -> Any:
    members = SourceDict(module=scope.module)
    for key_node, value_node in zip(node.keys, node.values, strict=True):
        value = run.resolve(evaluate(run, value_node, scope))
        if key_node is None:
            if isinstance(value, dict):
                members.merge(value)
            else:
                members.mark_open()
            continue
        key = unwrapped(run.resolve(evaluate(run, key_node, scope)))
        if isinstance(key, (str, int, float, bool, bytes, tuple, External, Class, type(None))):
            members[key] = value
            members.origins[key] = (scope.module, key_node, value_node)
        else:
            members.mark_open()
    run.origins.note(members, node, scope.module)
    return members


def _formatted(run: Interpreter, node: ast.JoinedStr, scope: Scope) -> Any:
    parts: list[str] = []
    length = 0
    is_assumed = False
    for part in node.values:
        if isinstance(part, ast.FormattedValue):
            value = run.resolve(evaluate(run, part.value, scope))
            is_assumed = is_assumed or isinstance(value, Assumed)
            value = default_of(value)
            spec = evaluate(run, part.format_spec, scope) if part.format_spec is not None else ""
            text = format_value(value, part.conversion, spec)
        else:
            text = part.value if isinstance(part, ast.Constant) and isinstance(part.value, str) else None
        length += len(text or "")
        if text is None or length > LONGEST:
            return UNKNOWN
        parts.append(text)
    whole = "".join(parts)
    run.origins.note(whole, node, scope.module)
    return Assumed(whole) if is_assumed else whole


def _binary(run: Interpreter, node: ast.BinOp, scope: Scope) -> Any:
    spine: list[ast.BinOp] = []
    left: ast.expr = node
    while isinstance(left, ast.BinOp):  # a long chain of `+` nests to the left
        spine.append(left)
        left = left.left
    value = run.resolve(evaluate(run, left, scope))
    for operation in reversed(spine):
        value = _combined(run, value, operation.op, run.resolve(evaluate(run, operation.right, scope)))
    if type(default_of(value)) is str:
        run.origins.note(default_of(value), node, scope.module)
    return value


def _combined(run: Interpreter, left: Any, operator: ast.operator, right: Any) -> Any:
    if isinstance(operator, ast.BitOr) and any(is_type(side, run.domain.type_functions) for side in (left, right)):
        if left is UNKNOWN or right is UNKNOWN:
            return UNKNOWN
        arms = [*(left.args if isinstance(left, UnionOf) else (left,))]
        arms += [*(right.args if isinstance(right, UnionOf) else (right,))]
        return UnionOf(tuple(arms))
    return with_defaults(lambda one, other: binary_operation(one, operator, other), left, right)


def _boolean(run: Interpreter, node: ast.BoolOp, scope: Scope) -> Any:
    decisive = isinstance(node.op, ast.Or)
    value: Any = UNKNOWN
    for index, operand in enumerate(node.values):
        value = run.resolve(evaluate(run, operand, scope))
        is_true = truth(value)
        if is_true is decisive:
            return value
        if is_true is None:
            with run.in_doubt():
                rest = [run.resolve(evaluate(run, other, scope)) for other in node.values[index + 1 :]]
            if isinstance(value, Assumed):
                return first_by_default(run, [value, *rest], decisive)
            return first_or(run, value, rest) if decisive else UNKNOWN if rest else value
    return value


def _unary(run: Interpreter, node: ast.UnaryOp, scope: Scope) -> Any:
    value = unwrapped(run.resolve(evaluate(run, node.operand, scope)))
    return with_defaults(lambda operand: _negated(node.op, operand), value)


def _negated(operator: ast.unaryop, value: Any) -> Any:
    if isinstance(operator, ast.Not):
        is_true = truth(value)
        return UNKNOWN if is_true is None else not is_true
    if not isinstance(value, (int, float)):
        return UNKNOWN
    if isinstance(operator, ast.USub):
        return -value
    return value if isinstance(operator, ast.UAdd) else UNKNOWN


def _compare(run: Interpreter, node: ast.Compare, scope: Scope) -> Any:
    left = run.resolve(evaluate(run, node.left, scope))
    for operator, right_node in zip(node.ops, node.comparators, strict=True):
        right = run.resolve(evaluate(run, right_node, scope))
        outcome = with_defaults(lambda one, other, op=operator: comparison(one, op, other), left, right)
        if outcome is not True:
            return outcome
        left = right
    return True


def _conditional(run: Interpreter, node: ast.IfExp, scope: Scope) -> Any:
    test = run.resolve(evaluate(run, node.test, scope))
    is_true = truth(test)
    if is_true is not None:
        return evaluate(run, node.body if is_true else node.orelse, scope)
    with run.in_doubt():
        body, orelse = run.resolve(evaluate(run, node.body, scope)), run.resolve(evaluate(run, node.orelse, scope))
    joined = join(run, body, orelse)
    return as_by_default(joined, body if test.default else orelse) if isinstance(test, Assumed) else joined


def _subscript(run: Interpreter, node: ast.Subscript, scope: Scope) -> Any:
    value = run.resolve(evaluate(run, node.value, scope))
    if isinstance(node.slice, ast.Slice):
        bounds = (node.slice.lower, node.slice.upper, node.slice.step)
        return slice_of(value, [None if bound is None else evaluate(run, bound, scope) for bound in bounds])
    if isinstance(value, External) and value.last == "Annotated" and isinstance(node.slice, ast.Tuple):
        return Generic(value, tuple(run.resolve(evaluate(run, argument, scope)) for argument in node.slice.elts))
    index = run.resolve(evaluate(run, node.slice, scope))
    if isinstance(value, Class) and is_enum(value):
        return next((member for member in members_of(value) if member.name == index), UNKNOWN)
    if isinstance(value, External) and value.name in ("os.environ", "sys.argv", "sys.modules"):
        is_this = value.last == "modules" and index == scope.module.name
        return ModuleValue(scope.module.path) if is_this else UNKNOWN
    if isinstance(value, (External, Class, TypeAlias)):
        if isinstance(index, SourceList) and isinstance(node.slice, ast.Tuple):
            index = (*index, UNKNOWN)  # of `Union[str, *types]` not all types are known
        return Generic(value, index if isinstance(index, tuple) else (index,))
    value, index = contents_of(value), unwrapped(index)
    if isinstance(value, SourceDict) and value.factory is not None and isinstance(index, (str, int)):
        if index not in value:
            value[index] = run.call(value.factory, Call([], {}))
            if run.doubt:
                value.doubtful.add(index)
        return value[index]
    return subscript(value, index)


def _walrus(run: Interpreter, node: ast.NamedExpr, scope: Scope) -> Any:
    value = run.resolve(evaluate(run, node.value, scope))
    scope.names[node.target.id] = value
    return value


def _yield(run: Interpreter, node: ast.Yield | ast.YieldFrom, scope: Scope) -> Any:
    value = run.resolve(evaluate(run, node.value, scope)) if node.value is not None else None
    run.record_yield(value, whole=isinstance(node, ast.YieldFrom))
    return UNKNOWN


def _comprehension(run: Interpreter, node: Any, scope: Scope) -> Any:
    inner = Scope(scope.module, scope)
    is_dict = isinstance(node, ast.DictComp)
    made_dict, made_list = SourceDict(module=scope.module), SourceList(module=scope.module)
    for certain in _iterations(run, node.generators, 0, inner, made_list):
        if is_dict:
            key = unwrapped(run.resolve(evaluate(run, node.key, inner)))
            value = run.resolve(evaluate(run, node.value, inner))
            if isinstance(key, (str, int, float, bool, tuple, type(None))):
                made_dict[key] = value
                if not certain:
                    made_dict.doubtful.add(key)
            made_dict.mark_open(not certain or not isinstance(key, (str, int, float, bool, tuple, type(None))))
            continue
        value = run.resolve(evaluate(run, node.elt, inner))
        if not certain:
            made_list.doubtful.add(len(made_list))
        made_list.append(value)
    made_dict.mark_open(made_list.extent is OPEN)
    if made_list.doubtful:
        made_list.extent = max(made_list.extent, BOUNDED)
    made_list.unordered = made_list.unordered or isinstance(node, ast.SetComp)
    return made_dict if is_dict else made_list


def _iterations(
    run: Interpreter,
    generators: list[ast.comprehension],
    index: int,
    scope: Scope,
    results: SourceList,
) -> Iterator[bool]:
    """Bind the names of a comprehension for each iteration; yield whether the iteration is certain.

    Updates in `made` whether the order of the iterations is known, and whether all of them are.
    """
    if index == len(generators):
        yield True
        return
    generator = generators[index]
    iterated = run.resolve(evaluate(run, generator.iter, scope))
    items = items_of(iterated)
    if items is None or len(items) > LONGEST_LOOP or extent_of(iterated) is OPEN:
        results.mark_open()  # one iteration with an unknown item still shows what the elements look like
    iterated_in_doubt = doubtful_positions(iterated)
    results.unordered = results.unordered or is_unordered(iterated)
    for position, item in enumerate((UNKNOWN,) if items is None else items[:LONGEST_LOOP]):
        certain = items is not None and position not in iterated_in_doubt
        run.budget.step()
        run.assign(generator.target, item, scope)
        conditions = [truth(run.resolve(evaluate(run, test, scope))) for test in generator.ifs]
        if any(outcome is False for outcome in conditions):
            continue
        sure = certain and all(conditions)
        if sure:
            yield from _iterations(run, generators, index + 1, scope, results)
            continue
        with run.in_doubt():
            for _ in _iterations(run, generators, index + 1, scope, results):
                yield False


_HANDLERS: dict[type[ast.AST], Any] = {
    ast.Name: lambda run, node, scope: run.lookup(node.id, scope),
    ast.Attribute: lambda run, node, scope: attribute(run, evaluate(run, node.value, scope), node.attr),
    ast.Call: _call,
    **dict.fromkeys((ast.List, ast.Tuple, ast.Set), _list),
    ast.Dict: _dict,
    ast.JoinedStr: _formatted,
    ast.BinOp: _binary,
    ast.BoolOp: _boolean,
    ast.UnaryOp: _unary,
    ast.Compare: _compare,
    ast.IfExp: _conditional,
    ast.Subscript: _subscript,
    ast.Lambda: lambda run, node, scope: run.function(node, scope),
    ast.Await: lambda run, node, scope: evaluate(run, node.value, scope),
    ast.NamedExpr: _walrus,
    **dict.fromkeys((ast.Yield, ast.YieldFrom), _yield),
    **dict.fromkeys((ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp), _comprehension),
}
