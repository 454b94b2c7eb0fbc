"""Attributes and namespaces: `value.name`, `vars(module)`, `inspect.getmembers(module)`, `globals()`."""

from __future__ import annotations

import ast
import os
from typing import TYPE_CHECKING, Any

from mcproof.source.python.interp import bindings
from mcproof.source.python.interp.bindings import ModuleValue
from mcproof.source.python.interp.branches import either_function
from mcproof.source.python.interp.containers import SourceDict, SourceList, is_enum, members_of, truth
from mcproof.source.python.interp.values import (
    DOC_IN_DOUBT,
    MISSING,
    UNKNOWN,
    Call,
    Class,
    EitherFunction,
    EnumMember,
    External,
    ExternalCall,
    Function,
    Instance,
    Method,
    SuperOf,
)

if TYPE_CHECKING:
    from mcproof.source.python.interp.interpreter import Interpreter


def attribute(run: Interpreter, value: Any, name: str) -> Any:
    """`value.name`."""
    value = run.resolve(value)
    if name == "__module__" and isinstance(value, (External, ExternalCall)):  # never a module of the project
        return (value.func if isinstance(value, ExternalCall) else value).name.rpartition(".")[0]
    if isinstance(value, External):
        return External(f"{value.name}.{name}")
    if name == "__dict__" and (member := namespace_of(run, value)) is not UNKNOWN:
        return member
    if isinstance(value, Instance):
        return _instance_attribute(run, value, name)
    if isinstance(value, Class):
        return _class_attribute(run, value, name)
    if isinstance(value, EnumMember):
        if name in ("name", "value"):
            return getattr(value, name)
        member = _class_attribute(run, value.cls, name)
        return _bound(run, member, value, value.cls)
    if isinstance(value, Function):
        return _function_attribute(value, name)
    if isinstance(value, SuperOf):
        return _super_attribute(run, value, name)
    if isinstance(value, ExternalCall):
        return run.domain.attribute_of_call(value, name)
    if isinstance(value, (bindings.Parameter, bindings.Signature)):
        return bindings.attribute(run, value, name)
    member = run.attribute_of(value, name)
    if member is not MISSING:
        return member
    return Method(value, name) if value is not None else UNKNOWN


def _instance_attribute(run: Interpreter, value: Instance, name: str) -> Any:
    if value.is_either:
        method = value.cls.attribute(name)
        return either_function(method.bound(value)) if isinstance(method, Function) else UNKNOWN
    if name in value.attributes:
        return value.attributes[name]
    if name == "__class__":
        return value.cls
    member = value.cls.attribute(name)
    if member is not MISSING:
        return _bound(run, member, value, value.cls)
    if value.native is not None:
        return run.attribute_of(value.native, name)
    if any(name in ancestor.annotations for ancestor in value.cls.ancestry()):
        return run.instance_of_annotation(value.cls, name)
    return Method(value, name) if value.cls.external_bases() else UNKNOWN


def _bound(run: Interpreter, member: Any, to: Any, cls: Class) -> Any:
    """A function as a method of an instance or class."""
    if not isinstance(member, Function) or member.owner is None:
        return member
    if "staticmethod" in member.decorators:
        return member
    method = member.bound(cls if "classmethod" in member.decorators else to)
    if "property" in member.decorators:
        return run.call(method, Call([], {}))
    return method


def _class_attribute(run: Interpreter, value: Class, name: str) -> Any:
    if name in ("__name__", "__qualname__"):
        return value.name
    if name == "__doc__":
        return ast.get_docstring(value.node, clean=False)
    if name == "__members__" and is_enum(value):
        return SourceDict((member.name, member) for member in members_of(value))
    inherited = value.attribute(name)
    if inherited is MISSING:
        return Method(value, name)
    if isinstance(inherited, Function):
        return _bound(run, inherited, value, value) if "classmethod" in inherited.decorators else inherited
    if is_enum(value) and not name.startswith("_"):
        return next((member for member in members_of(value) if member.name == name), inherited)
    return inherited


def _function_attribute(value: Function, name: str) -> Any:
    exposed = value.exposed()
    if name in value.attributes:
        return value.attributes[name]
    if isinstance(value, EitherFunction):
        return UNKNOWN
    if name in ("__name__", "__qualname__"):
        return exposed.name
    if name == "__doc__":
        return UNKNOWN if DOC_IN_DOUBT in value.attributes else docstring_of(exposed)
    if name == "__wrapped__":
        return value.wrapped if value.wrapped is not None else UNKNOWN
    if name == "__module__":
        return exposed.module.name
    if name in ("__func__", "fn"):
        return value
    if name == "__self__":
        return value.bound_to
    return UNKNOWN


def docstring_of(function: Function) -> str | None:
    """The docstring of a function, or the text that was assigned in its place."""
    given = function.attributes.get("__doc__")
    if given is not None:
        return given if isinstance(given, str) else None
    if isinstance(function.node, ast.Lambda):
        return None
    return ast.get_docstring(function.node, clean=False)


def _super_attribute(run: Interpreter, value: SuperOf, name: str) -> Any:
    for ancestor in value.cls.ancestry()[1:]:
        if name in ancestor.body.names:
            return _bound(run, ancestor.body.names[name], value.instance, ancestor)
    native = value.instance.native if isinstance(value.instance, Instance) else None
    return run.attribute_of(native, name) if native is not None and name != "__init__" else Method(value, name)


def namespace_of(run: Interpreter, value: Any) -> Any:
    """`vars(value)` or `value.__dict__`."""
    if isinstance(value, ModuleValue):
        module = run.module(value.path) if not os.path.isdir(value.path) else None
        return run.names_of(module.scope) if module is not None else UNKNOWN
    if isinstance(value, Class):
        return run.names_of(value.body)
    if isinstance(value, Instance) and not value.is_either:
        names = SourceDict(value.attributes)
        names.doubtful |= value.doubtful
        return names
    return UNKNOWN


def _all_names(run: Interpreter, value: Any) -> Any:
    """Every attribute of a value, inherited ones too, as a dictionary; UNKNOWN if they are unknown."""
    names = namespace_of(run, value)
    if isinstance(value, (Class, Instance)) and isinstance(names, SourceDict):
        cls = value.cls if isinstance(value, Instance) else value
        for ancestor in cls.ancestry():
            for name in ancestor.body.names:
                names.setdefault(name, MISSING)
        names.mark_open(bool(cls.external_bases()))
    return names


def names_listed(run: Interpreter, call: Call) -> Any:
    """`dir(value)`."""
    names = _all_names(run, call.args[0] if call.args else None)
    return SourceList(sorted(name for name in names if isinstance(name, str))) if names is not UNKNOWN else UNKNOWN


def members(run: Interpreter, call: Call) -> Any:
    """`inspect.getmembers(value, predicate)`."""
    holder = call.args[0] if call.args else None
    names = _all_names(run, holder)
    if names is UNKNOWN or not call.complete:
        return UNKNOWN
    predicate = call.args[1] if len(call.args) > 1 else call.kwargs.get("predicate")
    pairs = SourceList()
    pairs.extent = names.extent
    for name in sorted(name for name in names if isinstance(name, str)):
        run.budget.step()
        value = run.resolve(attribute(run, holder, name))
        is_selected = True if predicate is None else truth(run.call(predicate, Call([value], {})))
        if is_selected is False:
            continue
        if is_selected is None or name in names.doubtful:
            pairs.doubtful.add(len(pairs))
        pairs.append((name, value))
    return pairs


def variables(run: Interpreter, call: Call) -> Any:
    """`vars(value)`, or the names of the current scope."""
    if call.args:
        return namespace_of(run, call.args[0])
    return run.names_of(call.scope) if call.scope is not None else UNKNOWN


def global_variables(run: Interpreter, call: Call) -> Any:
    """`globals()`."""
    return run.names_of(call.scope.module.scope) if call.scope is not None else UNKNOWN
