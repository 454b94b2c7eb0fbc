"""Instances of project classes: creation and fields."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcproof.discovery.interp.assumptions import assumed
from mcproof.discovery.interp.builtin_values import unwrapped
from mcproof.discovery.interp.call_user_function import call_function
from mcproof.discovery.interp.containers import SourceDict, SourceList
from mcproof.discovery.interp.enumerations import is_enum, members_of
from mcproof.discovery.interp.values import (
    CONTENTS,
    MISSING,
    PLAIN,
    UNKNOWN,
    Call,
    Class,
    ExternalCall,
    Function,
    Instance,
    SuperOf,
)

if TYPE_CHECKING:
    from mcproof.discovery.interp.interpreter import Interpreter

_DICTS = frozenset(("builtins.dict", "collections.OrderedDict", "collections.UserDict"))
_LISTS = frozenset(("builtins.list", "collections.UserList"))


def instantiate(run: Interpreter, cls: Class, call: Call) -> Any:
    """Create an instance of a project class; follows `__init__`."""
    if is_enum(cls):
        wanted = unwrapped(call.args[0]) if call.args else UNKNOWN
        return next((member for member in members_of(cls) if member.value == wanted), UNKNOWN)
    made = Instance(cls, call.node)
    made.doubt = run.doubt
    run.instances.setdefault(id(cls), made)
    made.native = run.domain.native_part(cls, call)
    kinds = {base.name for base in cls.external_bases()}
    if not _DICTS.isdisjoint(kinds):
        made.attributes[CONTENTS] = SourceDict()
    elif not _LISTS.isdisjoint(kinds):
        made.attributes[CONTENTS] = SourceList()
    own = cls.attribute("__init__")
    if isinstance(own, Function):
        call_function(run, own.bound(made), call)
    elif made.native is None:
        set_fields(run, made, call)
        after = cls.attribute("__post_init__")
        if isinstance(after, Function):
            call_function(run, after.bound(made), Call([], {}))
    made.doubt = 0
    return made


def set_fields(run: Interpreter, made: Instance, call: Call) -> None:
    """Set the fields of a model, a dataclass or a named tuple from arguments and defaults."""
    fields = [name for each in reversed(made.cls.ancestry()) for name in each.annotations]
    for name, value in zip(dict.fromkeys(fields), call.args, strict=False):
        made.attributes[name] = value
    made.attributes.update(call.kwargs)
    reads_environment = any(base.last in run.domain.environment_bases for base in made.cls.external_bases())
    for name in fields:
        if name in made.attributes:
            continue
        default = made.cls.attribute(name)
        if isinstance(default, ExternalCall) and (
            default.func.last == "field" or default.func.last in run.domain.field_functions
        ):
            factory = default.kwargs.get("default_factory", MISSING)
            if factory is not MISSING:
                default = run.call(factory, Call([], {}))
            else:
                default = default.argument(0, "default", UNKNOWN)
        made.attributes[name] = UNKNOWN if default is MISSING else default
        if reads_environment and isinstance(default, PLAIN):
            made.attributes[name] = assumed(default)


def call_super(run: Interpreter, holder: SuperOf, name: str, call: Call) -> Any:
    """Call a method of `super()` that no project class defines."""
    if name == "__init__" and isinstance(holder.instance, Instance):
        if holder.instance.native is not None:
            run.domain.initialize(holder.instance.native, call)
        elif any(
            base.last == "NamedTuple" or base.last in run.domain.data_bases for base in holder.cls.external_bases()
        ):
            set_fields(run, holder.instance, call)
        return None
    return run.domain.class_method(holder.cls, name, call)
