"""What an assignment changes: names, attributes, items."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from mcproof.targets.python_source import plain
from mcproof.targets.python_source.branches import joined
from mcproof.targets.python_source.expressions import evaluate
from mcproof.targets.python_source.imports import ModuleValue
from mcproof.targets.python_source.parameters import signature_of
from mcproof.targets.python_source.values import (
    DOC_IN_DOUBT,
    MISSING,
    UNKNOWN,
    Class,
    Function,
    Instance,
    PlacedDict,
    Scope,
)

if TYPE_CHECKING:
    from mcproof.targets.python_source.interpreter import Interpreter


def assign(run: Interpreter, target: ast.AST, value: Any, scope: Scope) -> None:
    """Bind a target to a value."""
    if isinstance(target, ast.Name):
        holder = scope.module.scope if target.id in scope.shared else scope
        holder.names[target.id] = value
    elif isinstance(target, (ast.Tuple, ast.List)):
        items = plain.items_of(run.settle(value))
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
    holder = run.settle(holder)
    if isinstance(holder, Instance):
        before = holder.attributes.get(name, MISSING)
        doubtful = run.doubt and before is not MISSING
        holder.attributes[name] = joined(before, value) if doubtful else value
    elif isinstance(holder, Function) and run.doubt and name == "__signature__":
        holder.attributes[name] = joined(signature_of(holder) or UNKNOWN, value)
    elif isinstance(holder, Function) and run.doubt and name == "__doc__":
        holder.attributes[DOC_IN_DOUBT] = True
    elif isinstance(holder, Function):
        if name == "__name__":
            holder.name = value if isinstance(value, str) else "<unknown>"
            holder.attributes["__name__"] = value
        else:
            holder.attributes[name] = value
    elif isinstance(holder, Class):
        holder.body.names[name] = value
    elif isinstance(holder, ModuleValue):
        module = run.modules.load(holder.path)
        if module is not None:
            module.scope.names[name] = value
    else:
        run.servers.set_attribute(holder, name, value)


def _set_item(run: Interpreter, holder: Any, key: Any, value: Any, target: ast.Subscript, scope: Scope) -> None:
    holder, key = run.settle(holder), plain.bare(run.settle(key))
    if isinstance(holder, dict) and isinstance(key, (str, int, float, bool, tuple)):
        if run.doubt and key in holder:
            value = joined(holder[key], value)
        if isinstance(holder, PlacedDict):
            if run.doubt and key not in holder:
                holder.doubtful.add(key)
            elif not run.doubt:
                holder.doubtful.discard(key)
        if len(holder) < 50_000:
            holder[key] = value
        if isinstance(holder, PlacedDict):
            holder.places[key] = (scope.module, target.slice, target)
    elif isinstance(holder, PlacedDict):
        holder.incomplete = True
    elif isinstance(holder, list) and isinstance(key, int) and -len(holder) <= key < len(holder):
        holder[key] = value
    else:
        run.servers.set_item(holder, key, value)
