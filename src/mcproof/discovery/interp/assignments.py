"""Assignments to names, attributes and items."""

from __future__ import annotations

import ast
from types import FunctionType
from typing import TYPE_CHECKING, Any

from mcproof.discovery.interp.assumptions import default_of
from mcproof.discovery.interp.branches import join
from mcproof.discovery.interp.builtin_values import items_of, unwrapped
from mcproof.discovery.interp.containers import SourceDict, SourceList
from mcproof.discovery.interp.expressions import evaluate
from mcproof.discovery.interp.imports import ModuleValue
from mcproof.discovery.interp.parameters import signature_of
from mcproof.discovery.interp.values import (
    DOC_IN_DOUBT,
    MISSING,
    UNKNOWN,
    Class,
    Function,
    Instance,
    Scope,
    contents_of,
)

if TYPE_CHECKING:
    from mcproof.discovery.interp.interpreter import Interpreter

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
        for index, each in enumerate(target.elts):
            assign(run, each, items[index] if fits and items is not None else UNKNOWN, scope)
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
