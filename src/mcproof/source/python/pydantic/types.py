"""The schemas of types: by name, generic, unions, created by a call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcproof.source.python.interp.values import Class, EnumMember, External, ExternalCall, Generic, UnionOf
from mcproof.source.python.pydantic import classes, constraints, dynamic_types
from mcproof.source.python.pydantic.nodes import (
    ANY,
    ARRAYS,
    BASIC,
    MAPPINGS,
    PACKAGES,
    SERIALIZED,
    SETS,
    TRANSPARENT,
    common_type,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcproof.source.python.interp.values import Scope
    from mcproof.source.python.pydantic.generator import SchemaGenerator
    from mcproof.source.python.pydantic.nodes import Schema

    Args = tuple[Any, ...]

_JSON_VALUE = object()
"""The identity of Pydantic's `JsonValue` among the definitions."""
_NULL = {"type": "null"}


def named(generator: SchemaGenerator, kind: External, scope: Scope, at: str) -> Schema:
    """A type without parameters: `int`, `list`, `HttpUrl`."""
    name = kind.last
    if kind.package not in PACKAGES:
        return generator.unknown_at(at)
    if name in generator.variables:
        return generator.schema(generator.variables[name], scope, at)
    if name in ANY:
        return {}
    if name in ARRAYS:
        return {"items": {}, "type": "array"}
    if name in SETS:
        return {"items": {}, "type": "array", "uniqueItems": True}
    if name in MAPPINGS:
        return {"additionalProperties": {"type": "integer"} if name == "Counter" else True, "type": "object"}
    if name == "JsonValue":
        return generator.defined(_JSON_VALUE, name, lambda _: {})
    if name in ("str", "StrictStr") and generator.lengths:
        return _bounded_string(generator, at)
    if generator.for_serialization and name in SERIALIZED:
        return dict(SERIALIZED[name])
    return dict(BASIC[name]) if name in BASIC else generator.unknown_at(at)


def _bounded_string(generator: SchemaGenerator, at: str) -> Schema:
    made: Schema = {"type": "string"}
    for key, value in generator.lengths.items():
        if isinstance(value, int):
            made[key] = value
        else:
            generator.unknown.add(f"{at}/{key}")
    return made


def generic(generator: SchemaGenerator, kind: Generic, scope: Scope, at: str) -> Schema:
    """A type with parameters: `list[int]`, `Literal["a"]`, `Page[Item]`."""
    base = kind.base
    if isinstance(base, Class):
        return classes.generic_reference(generator, base, kind.args, at, scope)
    name = base.last if isinstance(base, External) and base.package in PACKAGES else ""
    made = _GENERIC.get(name)
    return made(generator, kind.args, scope, at) if made is not None else generator.unknown_at(at)


def _array(generator: SchemaGenerator, args: Args, scope: Scope, at: str) -> Schema:
    return {"items": generator.schema(args[0], scope, f"{at}/items"), "type": "array"}


def _set(generator: SchemaGenerator, args: Args, scope: Scope, at: str) -> Schema:
    return {**_array(generator, args, scope, at), "uniqueItems": True}


def _tuple(generator: SchemaGenerator, args: Args, scope: Scope, at: str) -> Schema:
    if len(args) == 2 and args[1] is ...:
        return _array(generator, args, scope, at)
    if args == ((),) or not args:
        return {"maxItems": 0, "minItems": 0, "type": "array"}
    items = [generator.schema(arg, scope, f"{at}/prefixItems/{index}") for index, arg in enumerate(args)]
    return {"maxItems": len(items), "minItems": len(items), "prefixItems": items, "type": "array"}


def _mapping(generator: SchemaGenerator, args: Args, scope: Scope, at: str) -> Schema:
    if len(args) == 1:  # a counter
        args = (*args, External("builtins.int"))
    values = generator.schema(args[1], scope, f"{at}/additionalProperties")
    is_unknown = f"{at}/additionalProperties" in generator.unknown
    keys = generator.schema(args[0], scope, f"{at}/propertyNames")
    made: Schema = {"type": "object"}
    pattern = keys.pop("pattern", None)
    if pattern is not None:
        made["patternProperties"] = {pattern: values}
    elif values or not is_unknown:
        made["additionalProperties"] = values or True
    keys.pop("title", None)
    is_text = keys.get("type", "string") == "string" and "anyOf" not in keys
    if is_text and len(keys) > ("type" in keys):
        made["propertyNames"] = {key: value for key, value in keys.items() if key != "type"}
    return made


def _literal(generator: SchemaGenerator, args: Args, _: Scope, at: str) -> Schema:
    distinct: dict[tuple[type, Any], Any] = {}  # `True` and `1` are equal
    for arg in _flat_literals(args):
        value = arg.value if isinstance(arg, EnumMember) else arg
        if not isinstance(value, (str, int, bool, float, type(None))):
            return generator.unknown_at(at)
        distinct.setdefault((type(value), value), value)
    values = list(distinct.values())
    made: Schema = {"const": values[0]} if len(values) == 1 else {"enum": values}
    return {**made, **common_type(values)}


def _flat_literals(args: tuple[Any, ...]) -> list[Any]:
    flat: list[Any] = []
    for arg in args:
        if isinstance(arg, Generic) and isinstance(arg.base, External) and arg.base.last == "Literal":
            flat.extend(_flat_literals(arg.args))
        else:
            flat.append(arg)
    return flat


def union(generator: SchemaGenerator, args: Args, scope: Scope, at: str) -> Schema:
    """`anyOf`: flattened, without duplicates, null last."""
    arms: list[Any] = []
    for branch in args:
        arg = generator.parsed_type(branch, scope)
        if not constraints.is_skipped(arg):
            arms += union_members(arg) or [arg]
    distinct: dict[str, Schema] = {}
    for arm in arms:
        if _is_none(arm):
            continue
        made = generator.schema(arm, scope, f"{at}/anyOf/{len(distinct)}")
        for branch in made["anyOf"] if list(made) == ["anyOf"] else [made]:
            distinct.setdefault(repr(branch), branch)
    branches = list(distinct.values())
    if _NULL not in branches and any(map(_is_none, arms)):
        branches.append(dict(_NULL))
    return branches[0] if len(branches) == 1 else {"anyOf": branches}


def union_members(kind: Any) -> Args:
    """The branches of `A | B`, `Union[...]` or `Optional[...]`; empty for other types."""
    if isinstance(kind, UnionOf):
        return kind.args
    if isinstance(kind, Generic) and isinstance(kind.base, External) and kind.base.last in ("Optional", "Union"):
        return (*kind.args, None) if kind.base.last == "Optional" else kind.args
    return ()


def _is_none(kind: Any) -> bool:
    return kind is None or (isinstance(kind, External) and kind.last == "NoneType")


def _annotated(generator: SchemaGenerator, args: Args, scope: Scope, at: str) -> Schema:
    made = generator.schema(args[0], scope, at)
    for extra in args[1:]:
        made = constraints.apply(generator, made, extra, at)
    return made


def _json(generator: SchemaGenerator, args: Args, scope: Scope, at: str) -> Schema:
    if generator.for_serialization:
        return generator.schema(args[0], scope, at)
    return {**BASIC["Json"], "contentSchema": generator.schema(args[0], scope, f"{at}/contentSchema")}


_GENERIC: dict[str, Callable[[SchemaGenerator, Args, Scope, str], Schema]] = {
    **dict.fromkeys(TRANSPARENT, lambda generator, args, scope, at: generator.schema(args[0], scope, at)),
    **dict.fromkeys(ARRAYS, _array),
    **dict.fromkeys(SETS, _set),
    **dict.fromkeys(MAPPINGS, _mapping),
    **dict.fromkeys(("tuple", "Tuple"), _tuple),
    **dict.fromkeys(("type", "Type"), lambda *_: {}),
    "Annotated": _annotated,
    "Optional": lambda generator, args, scope, at: union(generator, (*args, None), scope, at),
    "Union": union,
    "Literal": _literal,
    "PathLike": lambda *_: dict(BASIC["PathLike"]),
    "Pattern": lambda *_: dict(BASIC["Pattern"]),
    "Json": _json,
}


def created(generator: SchemaGenerator, kind: ExternalCall, scope: Scope, at: str) -> Schema:
    """A type that a call creates: `NewType(...)`, `TypeVar(...)`, `conint(...)`."""
    name = kind.func.last
    if name == "NewType" and len(kind.args) > 1:
        return generator.schema(kind.args[1], scope, at)
    if name == "TypeVar":
        return generator.schema(variable_type(generator, kind), scope, at)
    if name == "TypeAliasType" and len(kind.args) > 1 and isinstance(kind.args[0], str):
        return generator.defined(kind, kind.args[0], lambda pointer: generator.schema(kind.args[1], scope, pointer))
    if dynamic_types.is_dynamic_type(kind):
        return dynamic_types.reference(generator, kind, scope, at)
    base = constraints.CONSTRAINED.get(name)
    if base is not None:
        is_generic = bool(kind.args) and base in ("builtins.list", "builtins.set", "builtins.frozenset")
        inner = Generic(External(base), (kind.args[0],)) if is_generic else External(base)
        return constraints.apply(generator, generator.schema(inner, scope, at), kind, at)
    return generator.unknown_at(at)


def variable_type(generator: SchemaGenerator, variable: ExternalCall) -> Any:
    """The value of a type variable, or else its default, bound or constraints."""
    name = variable.args[0] if variable.args else None
    if name in generator.variables:
        return generator.variables[name]
    for key in ("default", "bound"):
        if key in variable.kwargs:
            return variable.kwargs[key]
    return UnionOf(tuple(variable.args[1:])) if variable.args[1:] else External("typing.Any")
