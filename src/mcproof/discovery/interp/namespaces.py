"""The names of a module, a class or an object as data: `vars(module)`, `inspect.getmembers(module)`, `globals()`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from mcproof.discovery.interp.attributes import attribute
from mcproof.discovery.interp.containers import SourceDict, SourceList
from mcproof.discovery.interp.imports import ModuleValue
from mcproof.discovery.interp.value_facts import truth
from mcproof.discovery.interp.values import MISSING, UNKNOWN, Call, Class, Instance

if TYPE_CHECKING:
    from mcproof.discovery.interp.interpreter import Interpreter


def namespace_of(run: Interpreter, value: Any) -> Any:
    """`vars(value)` or `value.__dict__`."""
    if isinstance(value, ModuleValue):
        module = run.module(value.path) if not os.path.isdir(value.path) else None
        return run.names_of(module.scope) if module is not None else UNKNOWN
    if isinstance(value, Class):
        return run.names_of(value.body)
    if isinstance(value, Instance) and not value.is_either:
        made = SourceDict(value.attributes)
        made.doubtful |= value.doubtful
        return made
    return UNKNOWN


def _all_names(run: Interpreter, value: Any) -> Any:
    """Every attribute of a value, inherited ones too, as a dictionary; UNKNOWN if they are unknown."""
    made = namespace_of(run, value)
    if isinstance(value, (Class, Instance)) and isinstance(made, SourceDict):
        cls = value.cls if isinstance(value, Instance) else value
        for each in cls.ancestry():
            for name in each.body.names:
                made.setdefault(name, MISSING)
        made.mark_open(bool(cls.external_bases()))
    return made


def names_listed(run: Interpreter, call: Call) -> Any:
    """`dir(value)`."""
    found = _all_names(run, call.args[0] if call.args else None)
    return SourceList(sorted(name for name in found if isinstance(name, str))) if found is not UNKNOWN else UNKNOWN


def members(run: Interpreter, call: Call) -> Any:
    """`inspect.getmembers(value, predicate)`."""
    holder = call.args[0] if call.args else None
    found = _all_names(run, holder)
    if found is UNKNOWN or not call.complete:
        return UNKNOWN
    predicate = call.args[1] if len(call.args) > 1 else call.kwargs.get("predicate")
    made = SourceList()
    made.extent = found.extent
    for name in sorted(name for name in found if isinstance(name, str)):
        run.budget.step()
        value = run.resolve(attribute(run, holder, name))
        known = True if predicate is None else truth(run.call(predicate, Call([value], {})))
        if known is False:
            continue
        if known is None or name in found.doubtful:
            made.doubtful.add(len(made))
        made.append((name, value))
    return made


def variables(run: Interpreter, call: Call) -> Any:
    """`vars(value)`, or the names of the current scope."""
    if call.args:
        return namespace_of(run, call.args[0])
    return run.names_of(call.scope) if call.scope is not None else UNKNOWN


def global_variables(run: Interpreter, call: Call) -> Any:
    """`globals()`."""
    return run.names_of(call.scope.module.scope) if call.scope is not None else UNKNOWN
