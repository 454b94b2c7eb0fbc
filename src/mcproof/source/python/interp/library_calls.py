"""Calls of library functions that the interpreter models, and the assignments that some of them make.

`getattr`, `setattr`, `map`, `functools.partial` and others are here; pure functions are in `builtins`.
"""

from __future__ import annotations

import ast
import inspect
import os
from types import FunctionType
from typing import TYPE_CHECKING, Any

from mcproof.source.python.interp import attributes, bindings
from mcproof.source.python.interp.attributes import attribute
from mcproof.source.python.interp.bindings import ModuleValue, signature_of
from mcproof.source.python.interp.branches import join
from mcproof.source.python.interp.containers import (
    EXACT,
    SourceDict,
    SourceList,
    assumed,
    default_of,
    doubtful_positions,
    extent_of,
    is_certain,
    is_unordered,
    truth,
)
from mcproof.source.python.interp.expressions import LONGEST_LOOP, evaluate
from mcproof.source.python.interp.operators import items_of, unwrapped
from mcproof.source.python.interp.values import (
    DOC_IN_DOUBT,
    MISSING,
    UNKNOWN,
    Call,
    Class,
    External,
    ExternalCall,
    Function,
    Instance,
    Method,
    Scope,
    contents_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcproof.source.python.interp.interpreter import Interpreter


_OF_EVERY_FUNCTION = frozenset(dir(FunctionType)) | {"__signature__", "__wrapped__"}
"""Attributes that every function has, or that `functools` and `inspect` know."""


def assign(run: Interpreter, target: ast.AST, value: Any, scope: Scope) -> None:
    """Bind a target to a value."""
    if isinstance(target, ast.Name):
        if target.id in scope.borrowed:
            _set_name(run, scope.borrowed[target.id], target.id, value)
            return
        scope.names[target.id] = value
        if scope.parent is None or scope.is_class:
            run.changes += 1
        else:
            scope.changes += 1
    elif isinstance(target, (ast.Tuple, ast.List)):
        items = items_of(run.resolve(value))
        fits = items is not None and len(items) == len(target.elts)
        for index, element in enumerate(target.elts):
            assign(run, element, items[index] if fits and items is not None else UNKNOWN, scope)
    elif isinstance(target, ast.Starred):
        assign(run, target.value, UNKNOWN, scope)
    elif isinstance(target, ast.Attribute):
        set_attribute(run, evaluate(run, target.value, scope), target.attr, value)
    elif isinstance(target, ast.Subscript):
        _set_item(run, evaluate(run, target.value, scope), evaluate(run, target.slice, scope), value, target, scope)


def set_attribute(run: Interpreter, holder: Any, name: str, value: Any) -> None:
    holder = run.resolve(holder)
    run.changes += holder is not UNKNOWN
    if isinstance(holder, Instance):
        if run.doubt > holder.doubt:
            before = holder.attributes.get(name, MISSING)
            if before is MISSING:
                before = holder.cls.attribute(name)
                holder.doubtful.add(name)
            value = join(run, before, value)
        else:
            holder.doubtful.discard(name)
        own = holder.cls.attribute(name)
        has_setter = isinstance(own, Function) and "property" in own.decorators
        holder.attributes[name] = UNKNOWN if has_setter else value
    elif isinstance(holder, Function):
        _set_attribute_of_function(run, holder, name, value)
    elif isinstance(holder, Class):
        _set_name(run, holder.body, name, value)
    elif isinstance(holder, ModuleValue):
        module = run.modules.load(holder.path)
        if module is not None:
            _set_name(run, module.scope, name, value)
    else:
        run.domain.set_attribute(holder, name, value)


def _set_attribute_of_function(run: Interpreter, holder: Function, name: str, value: Any) -> None:
    in_doubt = run.doubt > holder.doubt
    if name in ("__annotations__", "__defaults__", "__kwdefaults__"):
        holder.attributes.setdefault("__signature__", UNKNOWN)
    if in_doubt and name == "__doc__":
        holder.attributes[DOC_IN_DOUBT] = True
        return
    if in_doubt:
        before = holder.attributes.get(name, MISSING)
        value = join(run, (signature_of(holder) or UNKNOWN) if name == "__signature__" else before, value)
    if name in ("__doc__", "__name__"):
        value = default_of(value)
    holder.attributes[name] = value
    if name not in _OF_EVERY_FUNCTION:
        run.functions.marks.add(name)
    if name == "__name__":
        holder.name = value if isinstance(value, str) else "<unknown>"


def _set_name(run: Interpreter, scope: Scope, name: str, value: Any) -> None:
    """Bind a name in another scope; under a condition, its value is one of two."""
    scope.names[name] = join(run, scope.names.get(name, MISSING), value) if run.doubt else value
    run.changes += 1


def _set_item(run: Interpreter, holder: Any, key: Any, value: Any, target: ast.Subscript, scope: Scope) -> None:
    holder, key = contents_of(run.resolve(holder)), unwrapped(run.resolve(key))
    run.changes += holder is not UNKNOWN
    if isinstance(holder, dict) and isinstance(key, (str, int, float, bool, tuple)):
        if run.doubt and key in holder:
            value = join(run, holder[key], value)
        if isinstance(holder, SourceDict):
            if run.doubt and key not in holder:
                holder.doubtful.add(key)
            elif not run.doubt:
                holder.doubtful.discard(key)
        if len(holder) < 50_000:
            holder[key] = value
        if isinstance(holder, SourceDict):
            holder.origins[key] = (scope.module, target.slice, target)
    elif isinstance(holder, SourceDict):
        holder.mark_open()
    elif isinstance(holder, list) and isinstance(key, int) and -len(holder) <= key < len(holder):
        holder[key] = join(run, holder[key], value) if run.doubt else value
    elif isinstance(holder, SourceList):
        holder.mark_open()
        holder.doubt_all()
    else:
        run.domain.set_item(holder, key, value)


_PLAIN = (str, int, float, dict, list, tuple, type(None))


def _getattr(run: Interpreter, call: Call) -> Any:
    if len(call.args) < 2 or not isinstance(call.args[1], str):
        return UNKNOWN
    holder, name = call.args[:2]
    member = run.resolve(attribute(run, holder, name))
    if len(call.args) < 3:
        return member
    if _lacks_mark(run, holder, name):
        return call.args[2]
    if isinstance(holder, (Function, Instance)) and name not in holder.attributes:
        has_it = isinstance(holder, Instance) and holder.cls.attribute(name) is not MISSING
        if not has_it and (member is UNKNOWN or isinstance(member, Method)):
            return call.args[2]
    return join(run, member, call.args[2]) if _is_doubtful(holder, name) else member


def _lacks_mark(run: Interpreter, holder: Any, name: str) -> bool:
    """Whether an attribute with which the project marks functions is missing: only the project sets it."""
    if name not in run.functions.marks:  # a library may set it, too
        return False
    if isinstance(holder, Class):
        return holder.attribute(name) is MISSING
    return isinstance(holder, (External, ExternalCall, ModuleValue, *_PLAIN))


def _is_doubtful(holder: Any, name: str) -> bool:
    """Whether an instance only has an attribute under a condition."""
    return isinstance(holder, Instance) and name in holder.doubtful and holder.cls.attribute(name) is MISSING


def _setattr(run: Interpreter, call: Call) -> None:
    if len(call.args) == 3 and isinstance(call.args[1], str):
        set_attribute(run, *call.args)


def _hasattr(run: Interpreter, call: Call) -> Any:
    if len(call.args) != 2 or not isinstance(call.args[1], str):
        return UNKNOWN
    holder, name = call.args
    if _lacks_mark(run, holder, name):
        return False
    if isinstance(holder, Function):
        return name in holder.attributes or name.startswith("__")
    if not isinstance(holder, Instance) or _is_doubtful(holder, name):
        return UNKNOWN
    if name in holder.attributes or holder.cls.attribute(name) is not MISSING:
        return True
    knows_all = not holder.cls.external_bases() and holder.cls.attribute("__getattr__") is MISSING
    return False if knows_all and holder.native is None and not name.startswith("__") else UNKNOWN


def ordered(run: Interpreter, items: list[Any], options: dict[str, Any]) -> list[Any] | None:
    """The items sorted by `key` and `reverse`; None if their order is unknown."""
    key, backwards = options.get("key"), options.get("reverse", False)
    if not options.keys() <= {"key", "reverse"} or not isinstance(backwards, (bool, int)) or len(items) > LONGEST_LOOP:
        return None
    run.budget.steps += len(items)
    keys = [unwrapped(item if key is None else run.call(key, Call([item], {}))) for item in items]
    for kind in (str, (int, float)):
        if all(isinstance(sort_key, kind) for sort_key in keys):
            return [items[index] for index in sorted(range(len(items)), key=keys.__getitem__, reverse=bool(backwards))]
    return None


def _sorted(run: Interpreter, call: Call) -> Any:
    value = call.args[0] if len(call.args) == 1 else UNKNOWN
    items = items_of(value)
    if items is None:
        return UNKNOWN
    in_order = ordered(run, items, call.kwargs)
    result = SourceList(items if in_order is None else in_order)
    result.inherit_doubt(value, range(len(result)) if doubtful_positions(value) else ())
    result.unordered = in_order is None
    return result


def _map(run: Interpreter, call: Call) -> Any:
    items = items_of(call.args[1]) if len(call.args) == 2 else None
    if items is None:
        return UNKNOWN
    results = SourceList(run.call(call.args[0], Call([item], {})) for item in items[:LONGEST_LOOP])
    results.mark_open(len(items) > LONGEST_LOOP)
    return results.inherit_doubt(call.args[1], doubtful_positions(call.args[1]))


def _filter(run: Interpreter, call: Call) -> Any:
    items = items_of(call.args[1]) if len(call.args) == 2 else None
    if items is None:
        return UNKNOWN
    passing = []
    for item in items[:LONGEST_LOOP]:
        is_true = truth(item if call.args[0] is None else run.call(call.args[0], Call([item], {})))
        if is_true is None:
            return UNKNOWN
        if is_true:
            passing.append(item)
    result = SourceList(passing)
    result.mark_open(len(items) > LONGEST_LOOP)
    return result.inherit_doubt(call.args[1], range(len(result)) if doubtful_positions(call.args[1]) else ())


def _partial(_: Interpreter, call: Call) -> Any:
    if not call.args or not isinstance(call.args[0], Function):
        return ExternalCall(External("functools.partial"), call.args, call.kwargs)
    copy = call.args[0].copy()
    before = copy.partial or ([], {})
    copy.partial = ([*before[0], *call.args[1:]], {**before[1], **call.kwargs})
    return copy


def _import_module(run: Interpreter, call: Call) -> Any:
    name = call.args[0] if call.args else None
    if not isinstance(name, str) or call.scope is None or not name:
        if os.path.isfile(run.modules.top):  # in a folder, every module is followed anyway
            run.domain.import_unresolved(call.module, call.node)
        return UNKNOWN
    level = len(name) - len(name.lstrip("."))
    path = run.modules.import_paths.find(call.scope.module.path, name.lstrip("."), level)
    if path is None:
        return External(name) if not level else UNKNOWN
    run.import_file(path, call.scope.module)
    return ModuleValue(path)


def _isinstance(_: Interpreter, call: Call) -> Any:
    if len(call.args) != 2:
        return UNKNOWN
    value, kinds = call.args[0], call.args[1] if isinstance(call.args[1], tuple) else (call.args[1],)
    classes = {"str": str, "dict": dict, "list": list, "int": int, "float": float, "bool": bool, "tuple": tuple}
    types = [classes[kind.last] for kind in kinds if isinstance(kind, External) and kind.last in classes]
    if len(types) == len(kinds) and isinstance(value, (*_PLAIN, Function)):
        return isinstance(value, tuple(types))
    if isinstance(value, Instance) and any(kind in value.cls.ancestry() for kind in kinds if isinstance(kind, Class)):
        return True
    if all(isinstance(kind, Class) for kind in kinds) and isinstance(value, (*_PLAIN, Function, Class)):
        return False  # neither data nor a definition is an instance of a project class
    return UNKNOWN


def _of_one(function: Callable[[Any], Any]) -> Callable[[Interpreter, Call], Any]:
    """Lift a function of one value to calls; with any other number of arguments, the result is unknown."""
    return lambda _, call: function(call.args[0]) if len(call.args) == 1 else UNKNOWN


def _test(accepted: Any, rejected: Any) -> Callable[[Any], Any]:
    """A test that accepts and rejects values by their classes; for any other value, the result is unknown."""
    return lambda value: True if isinstance(value, accepted) else False if isinstance(value, rejected) else UNKNOWN


def _is_coroutine_function(value: Any) -> Any:
    if isinstance(value, Function) and value.wrapped is None:
        return isinstance(value.node, ast.AsyncFunctionDef)
    return UNKNOWN


def _is_method(value: Any) -> Any:
    if isinstance(value, Function):
        return value.bound_to is not None
    return False if isinstance(value, (*_PLAIN, Class, Instance)) else UNKNOWN


def _defaultdict(_: Interpreter, call: Call) -> Any:
    members = SourceDict(call.kwargs)
    if len(call.args) > 1 and isinstance(call.args[1], dict):
        members.merge(call.args[1])
    members.mark_open(not call.complete or (len(call.args) > 1 and not isinstance(call.args[1], dict)))
    members.factory = call.args[0] if call.args else None
    return members


def _replace(run: Interpreter, call: Call) -> Any:
    """`dataclasses.replace(object, **changes)`."""
    first = call.args[0] if call.args else None
    if not isinstance(first, Instance) or not call.complete:
        return UNKNOWN
    replaced = Instance(first.cls, first.node)
    replaced.attributes, replaced.native = {**first.attributes, **call.kwargs}, first.native
    replaced.doubtful = first.doubtful - set(call.kwargs)
    after = replaced.cls.attribute("__post_init__")
    if isinstance(after, Function):
        run.call(after.bound(replaced), Call([], {}))
    return replaced


def _iter(value: Any) -> Any:
    items = items_of(value)
    if items is None:
        return UNKNOWN
    copy = SourceList(items).inherit_doubt(value, doubtful_positions(value))
    copy.is_iterator = True
    return copy


def _next(run: Interpreter, call: Call) -> Any:
    first = call.args[0] if call.args else None
    if isinstance(first, SourceList) and first.is_iterator and first:
        if not run.doubt and is_certain(first):
            return first.pop(0)
        first.mark_open()
        first.doubt_all()
        return UNKNOWN
    items = items_of(first)
    if items:
        first_is_known = 0 not in doubtful_positions(call.args[0])
        return items[0] if first_is_known and not is_unordered(call.args[0]) else UNKNOWN
    return call.args[1] if items is not None and len(call.args) > 1 and extent_of(call.args[0]) is EXACT else UNKNOWN


def _pass_on(_: Interpreter, call: Call) -> Any:
    return call.args[0] if call.args else UNKNOWN


def _apply(run: Interpreter, call: Call) -> Any:
    """`asyncio.run(main())` passes a result; `anyio.run(main, 1)` passes a function to call."""
    if call.args and isinstance(call.args[0], Function):
        return run.call(call.args[0], Call(call.args[1:], {}))
    return call.args[0] if call.args else UNKNOWN


def _environment(run: Interpreter, call: Call) -> Any:
    """`os.environ.get("NAME", default)`: the default, which the environment may replace."""
    default = call.args[1] if len(call.args) > 1 else call.kwargs.get("default")
    # never the value of this machine: docs/decisions/0032-defaults-of-the-environment.md
    value = assumed(default) if call.complete else UNKNOWN
    if value is not UNKNOWN:
        return value
    external = ExternalCall(External("os.environ.get"), call.args, call.kwargs, call.node, call.module)
    return run.domain.external_call(external)


def _getdoc(run: Interpreter, call: Call) -> Any:
    text = attribute(run, call.args[0], "__doc__") if call.args else None
    return inspect.cleandoc(text) if isinstance(text, str) else UNKNOWN


_is_function = _test(Function, (*_PLAIN, Class, Instance))
"""Bound methods count as functions."""
SPECIAL: dict[str, Callable[[Interpreter, Call], Any]] = {
    "builtins.getattr": _getattr,
    "builtins.setattr": _setattr,
    "builtins.hasattr": _hasattr,
    "builtins.sorted": _sorted,
    "builtins.map": _map,
    "builtins.filter": _filter,
    "builtins.isinstance": _isinstance,
    "builtins.callable": _of_one(_test((Function, Class), _PLAIN)),
    "builtins.dir": attributes.names_listed,
    "builtins.vars": attributes.variables,
    "builtins.locals": attributes.variables,
    "builtins.globals": attributes.global_variables,
    "inspect.getmembers": attributes.members,
    "builtins.type": _of_one(lambda value: value.cls if isinstance(value, Instance) else UNKNOWN),
    "builtins.next": _next,
    "builtins.iter": _of_one(_iter),
    "collections.defaultdict": _defaultdict,
    "dataclasses.replace": _replace,
    "functools.partial": _partial,
    "functools.update_wrapper": _pass_on,
    "importlib.import_module": _import_module,
    "asyncio.iscoroutinefunction": _of_one(_is_coroutine_function),
    "inspect.Parameter": bindings.parameter_from_call,
    "inspect.Signature": bindings.signature_from_call,
    "inspect.getdoc": _getdoc,
    "inspect.isclass": _of_one(_test(Class, (*_PLAIN, Function))),
    "inspect.iscoroutinefunction": _of_one(_is_coroutine_function),
    "inspect.isfunction": _of_one(_is_function),
    "inspect.ismethod": _of_one(_is_method),
    "inspect.isroutine": _of_one(_is_function),
    "inspect.signature": bindings.signature_called,
    "inspect.unwrap": _pass_on,
    "os.environ.get": _environment,
    "os.getenv": _environment,
    "decouple.config": _environment,
    "asyncio.run": _apply,
    "anyio.run": _apply,
    "asyncio.get_event_loop().run_until_complete": _apply,
}
