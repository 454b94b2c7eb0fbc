"""Follow statements, one function for each kind."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from mcproof.source.python.interp import calls
from mcproof.source.python.interp.bindings import import_from, import_modules
from mcproof.source.python.interp.branches import (
    BREAK,
    CONTINUE,
    RAISE,
    RETURN,
    follow_branches,
    joining_exits,
    merge_names,
)
from mcproof.source.python.interp.containers import Assumed, SourceList, doubtful_positions, truth, with_defaults
from mcproof.source.python.interp.expressions import LONGEST_LOOP, evaluate
from mcproof.source.python.interp.operators import binary_operation, items_of, unwrapped
from mcproof.source.python.interp.values import (
    UNKNOWN,
    Call,
    Class,
    ExternalCall,
    Function,
    Instance,
    Method,
    Scope,
    TypeAlias,
    last_name,
)

if TYPE_CHECKING:
    from mcproof.source.python.interp.interpreter import Interpreter


def _expression(run: Interpreter, node: ast.Expr, scope: Scope) -> str | None:
    evaluate(run, node.value, scope)
    return RAISE if _exits(node.value.value if isinstance(node.value, ast.Await) else node.value) else None


def _exits(value: ast.expr) -> bool:
    """Whether an expression is a call that ends the program."""
    func = value.func if isinstance(value, ast.Call) else None
    if isinstance(func, ast.Attribute):
        return func.attr in ("exit", "_exit") and isinstance(func.value, ast.Name) and func.value.id in ("sys", "os")
    return isinstance(func, ast.Name) and func.id in ("exit", "quit")


def _assignment(run: Interpreter, node: ast.Assign, scope: Scope) -> None:
    value = run.resolve(evaluate(run, node.value, scope))
    for target in node.targets:
        run.assign(target, value, scope)


def _annotated(run: Interpreter, node: ast.AnnAssign, scope: Scope) -> None:
    if node.value is not None:
        run.assign(node.target, run.resolve(evaluate(run, node.value, scope)), scope)


def _augmented(run: Interpreter, node: ast.AugAssign, scope: Scope) -> None:
    before = run.resolve(evaluate(run, node.target, scope))
    value = run.resolve(evaluate(run, node.value, scope))
    if isinstance(before, list) and isinstance(node.op, ast.Add):
        calls.plain_method(run, before, "extend", [value], {})
        return
    if isinstance(before, (list, dict)) and isinstance(node.op, ast.BitOr):
        calls.plain_method(run, before, "update", [value], {})
        return
    run.assign(
        node.target, with_defaults(lambda one, other: binary_operation(one, node.op, other), before, value), scope
    )


def _if(run: Interpreter, node: ast.If, scope: Scope) -> str | None:
    if isinstance(node.test, ast.Compare) and last_name(node.test.left) == "__name__":
        if isinstance(node.test.ops[0], ast.Eq):  # considered true, as when the program is started
            return run.block(node.body, scope)
        return follow_branches(run, [node.body, node.orelse], scope)
    if last_name(node.test) == "TYPE_CHECKING":
        run.block(node.body, scope)  # annotations use what it imports
        return run.block(node.orelse, scope)  # the branch that runs wins over the one for type checkers
    test = run.resolve(evaluate(run, node.test, scope))
    is_true = truth(test)
    if is_true is None:
        likely = (0 if test.default else 1) if isinstance(test, Assumed) else None
        return follow_branches(run, [node.body, node.orelse], scope, likely)
    return run.block(node.body if is_true else node.orelse, scope)


def _loop(run: Interpreter, node: Any, scope: Scope) -> str | None:
    """Follow a loop; a condition that may have ended it only affects names after the loop."""
    with joining_exits(run, BREAK, scope):
        return _while(run, node, scope) if isinstance(node, ast.While) else _for(run, node, scope)


def _for(run: Interpreter, node: ast.For | ast.AsyncFor, scope: Scope) -> str | None:
    iterated = run.resolve(evaluate(run, node.iter, scope))
    items, doubtful = items_of(iterated), doubtful_positions(iterated)
    if items is None:
        run.assign(node.target, UNKNOWN, scope)
        outcome = _iteration(run, node.body, scope, is_certain=False)
    else:
        effects = run.domain.effects
        outcome = _iterations(run, node, items[:LONGEST_LOOP], doubtful, scope)
        if len(items) > LONGEST_LOOP and run.domain.effects > effects:
            run.domain.cut_short(scope.module, node)
    if outcome in (RETURN, RAISE):
        return outcome
    return None if outcome == BREAK or items is None else run.block(node.orelse, scope)


def _iterations(run: Interpreter, node: Any, items: list[Any], doubtful: set[int], scope: Scope) -> str | None:
    """Follow the iterations of a loop; return how the last one ended."""
    outcome: str | None = None
    for index, item in enumerate(items):
        run.budget.step()
        run.assign(node.target, item, scope)
        outcome = _iteration(run, node.body, scope, is_certain=index not in doubtful)
        if outcome in (RETURN, RAISE, BREAK):
            break
    return outcome


def _while(run: Interpreter, node: ast.While, scope: Scope) -> str | None:
    effects = run.domain.effects
    for _ in range(LONGEST_LOOP):
        is_true = truth(run.resolve(evaluate(run, node.test, scope)))
        if is_true is False:
            return run.block(node.orelse, scope)
        run.budget.step()
        run.budget.charge(len(scope.names))
        before = scope.names.copy()
        outcome = _iteration(run, node.body, scope, is_certain=is_true is True)
        if outcome in (RETURN, RAISE) or (outcome == BREAK and is_true):
            return None if outcome == BREAK else outcome
        unchanged = len(before) == len(scope.names) and all(scope.names.get(name) is before[name] for name in before)
        if is_true is None or isinstance(node.test, ast.Constant) or unchanged:
            break  # the number of iterations is unknown: the next one would be the same
    for part in ast.walk(node):
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
            run.assign(part, UNKNOWN, scope)
    if run.domain.effects > effects:
        run.domain.cut_short(scope.module, node)
    return None


def _iteration(run: Interpreter, body: list[ast.stmt], scope: Scope, *, is_certain: bool) -> str | None:
    """Follow the body of a loop once; a condition that may have ended it does not affect the next iteration."""
    with joining_exits(run, CONTINUE, scope):
        return run.block(body, scope) if is_certain else follow_branches(run, [body, []], scope)


def _try(run: Interpreter, node: Any, scope: Scope) -> str | None:
    handler = _import_error_handler(node)
    before = _before_optional_import(run, node, scope) if handler is not None else len(node.body)
    names = dict(scope.names)
    outcome = run.block(node.body[:before], scope)
    if outcome is None:
        rest = [*node.body[before:], *node.orelse]
        # an optional import makes two alternatives; other errors are exceptions, so the body counts, and a handler
        # only adds what it may have changed
        if handler is None or before == len(node.body) or _leaves(handler.body):
            outcome = run.block(rest, scope)
            for other in node.handlers:
                if outcome is None and _may_happen(other, node.body) and not _leaves(other.body):
                    _follow_handler(run, other.body, names, scope)
        else:
            outcome = follow_branches(run, [rest, handler.body], scope)
    elif outcome == RAISE and node.handlers:
        outcome = follow_branches(run, [other.body for other in node.handlers], scope)
    return run.block(node.finalbody, scope) or outcome


def _may_happen(handler: ast.ExceptHandler, body: list[ast.stmt]) -> bool:
    """Whether a handler may be reached even if all imports succeed."""
    if all(isinstance(statement, (ast.Import, ast.ImportFrom)) for statement in body):
        return False
    return handler.type is None or not set(_caught(handler.type)) <= {"ImportError", "ModuleNotFoundError"}


def _follow_handler(run: Interpreter, body: list[ast.stmt], names: dict[str, Any], scope: Scope) -> None:
    """Follow an exception handler; afterwards names have either the values of the handler or those of the `try` body.

    A `return` in the handler does not make the code after the `try` doubtful.
    """
    after, scope.names = scope.names, dict(names)
    frame = run.frames[-1]
    returns = len(frame.returns)
    outer, frame.left = frame.left, {}
    try:
        with run.in_doubt():
            outcome = run.block(body, scope)
    finally:
        run.lower_doubt(run.doubt - frame.doubts())
        frame.left = outer
    del frame.returns[returns:]
    scope.names = merge_names(run, [after, scope.names]) if outcome is None else after


_IMPORT_ERRORS = frozenset(("ImportError", "ModuleNotFoundError", "Exception", "BaseException"))
"""Exceptions raised by the import of something that is not installed, and their base classes."""


def _import_error_handler(node: Any) -> ast.ExceptHandler | None:
    """The first handler of a `try` that catches a failed import."""
    handlers: list[ast.ExceptHandler] = node.handlers
    for handler in handlers:
        if handler.type is None or not _IMPORT_ERRORS.isdisjoint(_caught(handler.type)):
            return handler
    return None


def _leaves(body: list[ast.stmt]) -> bool:
    """Whether a block always ends in an exception or the end of the program."""
    last = body[-1]
    if isinstance(last, ast.If):
        return bool(last.orelse) and _leaves(last.body) and _leaves(last.orelse)
    return isinstance(last, ast.Raise) or (isinstance(last, ast.Expr) and _exits(last.value))


def _before_optional_import(run: Interpreter, node: Any, scope: Scope) -> int:
    """The number of statements before the import of something that may not be installed."""
    for index, statement in enumerate(node.body):
        names = [alias.name for alias in statement.names] if isinstance(statement, ast.Import) else []
        if isinstance(statement, ast.ImportFrom) and not statement.level:
            names = [statement.module or ""]
        value = statement.value if isinstance(statement, (ast.Expr, ast.Assign, ast.Return)) else None
        if isinstance(value, ast.Call) and last_name(value.func) in ("__import__", "import_module"):
            return index
        if any(not run.modules.import_paths.is_certain(scope.module.path, name) for name in names):
            return index
    return len(node.body)


def _caught(kind: ast.expr) -> list[str]:
    """The names of the exceptions in an `except`."""
    return [name.id for name in (kind.elts if isinstance(kind, ast.Tuple) else [kind]) if isinstance(name, ast.Name)]


def _with(run: Interpreter, node: ast.With | ast.AsyncWith, scope: Scope) -> str | None:
    suppresses = False
    for item in node.items:
        value = run.resolve(evaluate(run, item.context_expr, scope))
        suppresses = suppresses or (isinstance(value, ExternalCall) and value.func.name == "contextlib.suppress")
        if item.optional_vars is not None:
            # a context manager of the project: an object, or a generator that yields once
            is_yield = isinstance(value, SourceList) and len(value) == 1
            entered = value[0] if is_yield else value if isinstance(value, Instance) else UNKNOWN
            run.assign(item.optional_vars, entered, scope)
    if not suppresses:
        return run.block(node.body, scope)
    before = _before_optional_import(run, node, scope)
    names = dict(scope.names)
    outcome = run.block(node.body[:before], scope)
    if outcome is None and before < len(node.body):
        return follow_branches(run, [node.body[before:], []], scope)
    _follow_handler(run, [], names, scope)
    return None if outcome == RAISE else outcome


def _match(run: Interpreter, node: ast.Match, scope: Scope) -> str | None:
    subject = unwrapped(run.resolve(evaluate(run, node.subject, scope)))
    if isinstance(subject, (str, int, bool, type(None))):
        for case in node.cases:
            pattern = case.pattern
            if isinstance(pattern, ast.MatchValue) and case.guard is None:
                value = unwrapped(run.resolve(evaluate(run, pattern.value, scope)))
                if value == subject:
                    return run.block(case.body, scope)
                continue
            if isinstance(pattern, ast.MatchAs) and pattern.pattern is None and case.guard is None:
                return run.block(case.body, scope)
            break
        else:
            return None
    return follow_branches(run, [*(case.body for case in node.cases), []], scope)


def _return(run: Interpreter, node: ast.Return, scope: Scope) -> str:
    run.frames[-1].returns.append(run.resolve(evaluate(run, node.value, scope)) if node.value is not None else None)
    return RETURN


def _function(run: Interpreter, node: ast.FunctionDef | ast.AsyncFunctionDef, scope: Scope) -> None:
    function: Any = run.function(node, scope)
    if scope.is_class:
        function.owner = run.current_class
    for decorator in reversed(node.decorator_list):
        run.decorating = True
        func = run.resolve(evaluate(run, decorator, scope))
        run.decorating = False
        function = calls.decorate(run, func, function, decorator, scope)
    scope.names[node.name] = function


def _class(run: Interpreter, node: ast.ClassDef, scope: Scope) -> None:
    bases = [run.resolve(evaluate(run, base, scope)) for base in node.bases]
    keywords = {
        keyword.arg: run.resolve(evaluate(run, keyword.value, scope)) for keyword in node.keywords if keyword.arg
    }
    cls = Class(node, scope, bases, keywords)
    scope.names[node.name] = cls
    outer, run.current_class = run.current_class, cls
    try:
        for statement in node.body:
            if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                cls.annotations[statement.target.id] = statement
        run.block(node.body, cls.body)
    finally:
        run.current_class = outer
    inherited = (ancestor.body.names.get("__init_subclass__") for ancestor in cls.ancestry()[1:])
    hook = next((method for method in inherited if method is not None), None)
    if isinstance(hook, Function):
        given = {name: value for name, value in keywords.items() if name != "metaclass"}
        run.call(hook.bound(cls), Call([], given))
    result: Any = cls
    for decorator in reversed(node.decorator_list):
        func = run.resolve(evaluate(run, decorator, scope))
        cls.decorators.append(func)
        if isinstance(func, Function):
            result = run.call(func, Call([result], {}))
    scope.names[node.name] = result if isinstance(result, (Class, Function, Instance)) else cls


def _type_alias(_: Interpreter, node: Any, scope: Scope) -> None:
    scope.names[node.name.id] = TypeAlias(node.name.id, node.value, scope)


def _delete(run: Interpreter, node: ast.Delete, scope: Scope) -> None:
    for target in node.targets:
        if isinstance(target, ast.Name):
            scope.names.pop(target.id, None)
        elif isinstance(target, ast.Subscript):
            holder = run.resolve(evaluate(run, target.value, scope))
            key = run.resolve(evaluate(run, target.slice, scope))
            run.call(Method(holder, "pop"), Call([key], {}))


def _global(_: Interpreter, node: ast.Global, scope: Scope) -> None:
    scope.borrowed.update(dict.fromkeys(node.names, scope.module.scope))


def _nonlocal(_: Interpreter, node: ast.Nonlocal, scope: Scope) -> None:
    for name in node.names:
        holder = scope.parent
        while holder is not None and (name not in holder.names or holder.is_class):
            holder = holder.parent
        if holder is not None:
            scope.borrowed[name] = holder


STATEMENTS: dict[type[ast.AST], Any] = {
    ast.Expr: _expression,
    ast.Assign: _assignment,
    ast.AnnAssign: _annotated,
    ast.AugAssign: _augmented,
    ast.Import: import_modules,
    ast.ImportFrom: import_from,
    ast.If: _if,
    **dict.fromkeys((ast.For, ast.AsyncFor, ast.While), _loop),
    **dict.fromkeys((ast.Try, ast.TryStar), _try),
    **dict.fromkeys((ast.With, ast.AsyncWith), _with),
    ast.Match: _match,
    ast.Return: _return,
    ast.Raise: lambda *_: RAISE,
    ast.Break: lambda *_: BREAK,
    ast.Continue: lambda *_: CONTINUE,
    **dict.fromkeys((ast.FunctionDef, ast.AsyncFunctionDef), _function),
    ast.ClassDef: _class,
    ast.Delete: _delete,
    ast.Global: _global,
    ast.Nonlocal: _nonlocal,
}
if hasattr(ast, "TypeAlias"):  # Python 3.11 has no such statement
    STATEMENTS[ast.TypeAlias] = _type_alias
