"""Calls: of project functions and classes, methods, built-ins and external code."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from mcproof.source.python.interp import builtins, methods
from mcproof.source.python.interp.bindings import Parameter, Signature, replaced
from mcproof.source.python.interp.branches import join
from mcproof.source.python.interp.containers import (
    Assumed,
    SourceDict,
    SourceList,
    assumed,
    default_of,
    doubtful_positions,
    size_of,
)
from mcproof.source.python.interp.functions import call_function, call_super, instantiate
from mcproof.source.python.interp.library_calls import SPECIAL, ordered
from mcproof.source.python.interp.operators import items_of, unwrapped
from mcproof.source.python.interp.values import (
    UNKNOWN,
    Call,
    Class,
    EnumMember,
    External,
    ExternalCall,
    Function,
    Generic,
    Instance,
    Method,
    Scope,
    SuperOf,
    contents_of,
)

if TYPE_CHECKING:
    from mcproof.source.python.interp.interpreter import Interpreter

COST_OF_GOING_DEEP = 40
"""The cost of a deep copy, relative to processing a list once."""


def call_value(run: Interpreter, func: Any, call: Call) -> Any:
    """Return the result of a call."""
    if isinstance(func, Generic):
        func = func.base
    if isinstance(func, Function):
        return call_function(run, func, call)
    if isinstance(func, Class):
        return instantiate(run, func, call)
    if isinstance(func, Method):
        return _method(run, func, call)
    if isinstance(func, External):
        return _external(run, func, call)
    if isinstance(func, ExternalCall):
        return _call_of_result(run, func, call)
    if isinstance(func, Instance):
        own = func.cls.attribute("__call__")
        return call_function(run, own.bound(func), call) if isinstance(own, Function) else UNKNOWN
    return run.domain.call(func, call.args)


def _call_of_result(run: Interpreter, func: ExternalCall, call: Call) -> Any:
    """A call of the result of an external call, usually a decorator."""
    args, kwargs = call.args, call.kwargs
    if func.func.name == "functools.wraps" and args and isinstance(args[0], Function):
        made = args[0].copy()
        made.attributes = dict(args[0].attributes)
        made.wrapped = func.args[0] if func.args and isinstance(func.args[0], Function) else UNKNOWN
        return made
    if func.func.name == "collections.namedtuple" and call.complete:
        return _named_tuple(func, call)
    if func.func.name == "functools.partial" and func.args:
        return run.call(func.args[0], Call([*func.args[1:], *args], {**func.kwargs, **kwargs}))
    outcome = run.domain.call(func, args)
    if outcome is not UNKNOWN:
        return outcome
    return args[0] if len(args) == 1 and isinstance(args[0], (Function, Class)) and not kwargs else UNKNOWN


def _named_tuple(func: ExternalCall, call: Call) -> Any:
    """An instance of `namedtuple("Tool", "name fn")`, as an object with these attributes."""
    field_names = unwrapped(func.argument(1, "field_names"))
    names = field_names.replace(",", " ").split() if isinstance(field_names, str) else items_of(field_names)
    if names is None or not all(isinstance(name, str) for name in names) or set(func.kwargs) - {"field_names"}:
        return UNKNOWN
    fields = {**dict(zip(names, call.args, strict=False)), **call.kwargs}
    return ExternalCall(External("types.SimpleNamespace"), [], fields, call.node, call.module)


def decorate(run: Interpreter, decorator: Any, function: Any, node: ast.expr, scope: Scope) -> Any:
    """Apply a decorator to a function; an unknown decorator is assumed to keep the function."""
    if isinstance(function, Function):
        named = decorator.name if isinstance(decorator, External) else ""
        if named in ("builtins.staticmethod", "builtins.classmethod", "builtins.property") or named.endswith(
            ("cached_property", "abstractproperty")
        ):
            made = function.copy()
            made.decorators = {*function.decorators, "property" if named.endswith("property") else named[9:]}
            return made
        if isinstance(node, ast.Attribute) and node.attr in ("setter", "deleter", "getter"):
            return run.resolve(scope.names.get(function.name, function))
    if isinstance(decorator, External):
        outcome = run.domain.decorate(decorator, function, node)
        return function if outcome is UNKNOWN else outcome
    if decorator is UNKNOWN:
        return function
    made = run.call(decorator, Call([function], {}, node if isinstance(node, ast.Call) else None, scope))
    if isinstance(made, Function) and isinstance(function, Function) and made is not function:
        made.owner = made.owner or function.owner
        return made
    is_something = isinstance(made, (Function, Class, Instance, ExternalCall)) or run.domain.owns(made)
    return made if is_something else function


def _method(run: Interpreter, func: Method, call: Call) -> Any:
    holder, name = contents_of(func.of), func.name
    if isinstance(holder, Assumed) or (
        isinstance(holder, str) and any(isinstance(argument, Assumed) for argument in call.given())
    ):
        args, kwargs = (
            [default_of(argument) for argument in call.args],
            {key: default_of(argument) for key, argument in call.kwargs.items()},
        )
        return assumed(plain_method(run, default_of(holder), name, args, kwargs))
    if isinstance(holder, (str, dict, list, EnumMember)):
        return plain_method(run, holder, name, call.args, call.kwargs)
    if isinstance(holder, SuperOf):
        return call_super(run, holder, name, call)
    if isinstance(holder, (Parameter, Signature)):
        return replaced(holder, call)
    if isinstance(holder, Class):
        return run.domain.class_method(holder, name, call)
    return run.domain.method(holder, name, call)


_CHANGING = frozenset(
    ("append", "extend", "add", "update", "insert", "remove", "discard", "pop", "clear", "sort", "reverse",
     "setdefault", "popitem")
)  # fmt: skip

_QUICK = frozenset(("append", "get", "setdefault"))
"""Methods that take constant time."""


def plain_method(run: Interpreter, holder: Any, name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Call a method of plain data; changes under a condition are doubtful."""
    if name not in _QUICK:
        run.budget.charge_items(holder, *args)
    if name in _CHANGING:
        run.changes += 1
    if isinstance(holder, SourceList) and holder.alternatives and name in _CHANGING:
        with run.in_doubt():
            for alternative in holder.alternatives:
                _plain_method(run, alternative, name, args, kwargs)
    return _plain_method(run, holder, name, args, kwargs)


def _plain_method(run: Interpreter, holder: Any, name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
    if run.doubt and name in ("pop", "remove", "clear", "popitem") and isinstance(holder, (SourceDict, SourceList)):
        return _remove_in_doubt(holder, name, args)
    if name == "sort" and isinstance(holder, SourceList):
        return _sort(run, holder, kwargs)
    if run.doubt and name == "update" and isinstance(holder, SourceDict):
        return _update_in_doubt(run, holder, args, kwargs)
    before = len(holder) if isinstance(holder, SourceList) else 0
    result = methods.method(run, holder, name, args, kwargs)
    if isinstance(holder, SourceList) and name in ("append", "extend", "add", "update"):
        if name in ("extend", "update") and args:
            holder.inherit_doubt(args[0], (before + index for index in doubtful_positions(args[0])))
        if run.doubt:
            holder.doubtful |= set(range(before, len(holder)))
    elif isinstance(holder, SourceList) and run.doubt and name == "insert":
        holder.doubt_all()
    elif isinstance(holder, SourceList) and run.doubt and name == "reverse":
        holder.unordered = True
    return result


def _sort(run: Interpreter, holder: SourceList, options: dict[str, Any]) -> None:
    """`list.sort`; under a condition, or with unknown keys, the order becomes unknown."""
    in_order = ordered(run, list(holder), options)
    holder.nodes = []
    if in_order is None or run.doubt:
        holder.unordered = True
        return
    if holder.doubtful:
        holder.doubt_all()
    holder[:] = in_order
    holder.unordered = False


def _update_in_doubt(run: Interpreter, holder: SourceDict, args: list[Any], kwargs: dict[str, Any]) -> None:
    """Update a dictionary under a condition: new keys are doubtful, changed values are joined with the old ones."""
    changed = {key for changes in (*args, kwargs) if isinstance(changes, dict) for key in changes}
    before = {key: holder[key] for key in changed if key in holder}
    sure = before.keys() - holder.doubtful
    methods.method(run, holder, "update", args, kwargs)
    for key, value in before.items():
        holder[key] = join(run, value, holder[key])
    holder.doubtful |= changed - sure


def _remove_in_doubt(holder: SourceDict | SourceList, name: str, args: list[Any]) -> Any:
    """Remove an item under a condition: it stays, but is doubtful."""
    if isinstance(holder, SourceList):
        everything = set(range(len(holder)))
        holder.doubtful |= (
            {index for index in everything if holder[index] is args[0]} if name == "remove" and args else everything
        )
        return UNKNOWN
    key = unwrapped(args[0]) if args else UNKNOWN
    if name == "pop" and isinstance(key, (str, int)):
        if key in holder:
            holder.doubtful.add(key)
            return holder[key]
        return args[1] if len(args) > 1 else UNKNOWN
    holder.doubtful |= set(holder)
    return UNKNOWN


def _external(run: Interpreter, func: External, call: Call) -> Any:
    special = SPECIAL.get(func.name)
    if special is not None:
        return special(run, call)
    if func.name in builtins.BUILTINS:
        run.budget.charge_items(*call.args)
        if func.name in builtins.DEEP:
            run.budget.charge(COST_OF_GOING_DEEP * sum(map(size_of, call.args)))
        if any(isinstance(argument, Assumed) for argument in call.args):
            return assumed(builtins.builtin(func.name, [default_of(argument) for argument in call.args], call.kwargs))
    value = builtins.builtin(func.name, call.args, call.kwargs)
    if value is not UNKNOWN or func.name.startswith("builtins."):
        return value
    made = ExternalCall(func, call.args, call.kwargs, call.node, call.module, complete=call.complete)
    return run.domain.external_call(made)
