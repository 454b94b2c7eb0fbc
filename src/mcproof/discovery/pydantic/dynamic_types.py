"""Types that are created by a call: `Enum("Color", [...])`, `create_model("Row", ...)`."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from mcproof.core.text.json_positions import escape
from mcproof.discovery.interp.containers import has_doubt
from mcproof.discovery.interp.values import MISSING, UNKNOWN, External, ExternalCall, Scope
from mcproof.discovery.pydantic.schema_nodes import common_type

if TYPE_CHECKING:
    from mcproof.discovery.pydantic.generator import SchemaGenerator
    from mcproof.discovery.pydantic.schema_nodes import Schema

_ENUMS = frozenset(("Enum", "StrEnum", "IntEnum"))


def is_dynamic_type(kind: ExternalCall) -> bool:
    """Whether a call creates a type that has its own definition."""
    name, package = kind.func.last, kind.func.package
    return (name in _ENUMS and package == "enum") or (name == "create_model" and package == "pydantic")


def reference(generator: SchemaGenerator, kind: ExternalCall, scope: Scope, at: str) -> Schema:
    """A reference to such a type."""
    name = kind.args[0] if kind.args else None
    if not isinstance(name, str) or not kind.complete:
        return generator.unknown_at(at)
    if kind.func.last == "create_model":
        return generator.defined(kind, name, lambda pointer: _model(generator, kind, name, scope, pointer))
    members = enum_members(kind)
    if members is None:
        return generator.unknown_at(at)
    return generator.defined(kind, name, lambda _: _enumeration(name, list(members.values())))


def enum_members(kind: ExternalCall) -> dict[str, Any] | None:
    """The members of an enumeration and their values; None if unknown."""
    given = kind.argument(1, "names")
    if set(kind.kwargs) - {"names", "module", "qualname"} and kind.kwargs.get("type") != External("builtins.str"):
        return None
    if isinstance(given, str):
        given = given.replace(",", " ").split()
    if has_doubt(given):
        return None
    if isinstance(given, (list, tuple)) and all(isinstance(each, str) for each in given):
        if "type" in kind.kwargs:
            return None
        is_text = kind.func.last == "StrEnum"
        return {name: name.lower() if is_text else number for number, name in enumerate(given, 1)}
    pairs = list(given.items()) if isinstance(given, dict) else given
    if not isinstance(pairs, (list, tuple)):
        return None
    if not all(isinstance(each, (list, tuple)) and len(each) == 2 for each in pairs):
        return None
    members = {name: value for name, value in pairs if isinstance(name, str) and isinstance(value, (str, int, float))}
    return members if len(members) == len(pairs) and members else None


def _enumeration(name: str, values: list[Any]) -> Schema:
    return {"enum": values, "title": name, **common_type(values)}


def _model(generator: SchemaGenerator, kind: ExternalCall, name: str, scope: Scope, at: str) -> Schema:
    properties: Schema = {}
    required: list[str] = []
    for field, declared in kind.kwargs.items():
        if field.startswith("__"):
            continue
        is_pair = isinstance(declared, tuple) and len(declared) == 2
        annotation, default = declared if is_pair else (declared, MISSING)
        shown = generator.alias(annotation, default, scope) or field
        with generator.type_context({}):
            entry = generator.field(shown, annotation, default, scope, f"{at}/properties/{escape(shown)}")
        properties[shown] = entry.schema
        required += [shown] if entry.required else []
    made: Schema = {"properties": properties, "title": name, "type": "object"}
    if required:
        made["required"] = required
    described = kind.kwargs.get("__doc__")
    if isinstance(described, str):
        made["description"] = inspect.cleandoc(described)
    known = {"__doc__", "__module__"}
    if any(key not in known and kind.kwargs[key] is not None for key in kind.kwargs if key.startswith("__")):
        generator.unknown.add(at)
    if described is UNKNOWN:
        generator.unknown.add(f"{at}/description")
    return made
