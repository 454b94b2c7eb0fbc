"""Schemas of TypeBox: its functions write JSON Schema, so what they return is what a server lists."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.source.javascript.interp.builtins import argument
from mcproof.source.javascript.interp.interpreter import default_of
from mcproof.source.javascript.interp.members import items_of
from mcproof.source.javascript.values import JsArray, JsObject, Unknown

if TYPE_CHECKING:
    from mcproof.source.javascript.interp.interpreter import Interpreter
    from mcproof.source.javascript.values import Value

PACKAGES = frozenset(("@sinclair/typebox", "typebox"))
_SIMPLE: dict[str, dict[str, Value]] = {
    **{name: {"type": name.lower()} for name in ("String", "Number", "Integer", "Boolean", "Null")},
    "Any": {},
    "Unknown": {},
    "Never": {"not": {}},
}
_OF_MANY = {"Union": "anyOf", "Intersect": "allOf"}
_IS_OPTIONAL = "@@optional"
"""The symbol by which a schema says that the member it describes may be missing."""


def _schema(options: Value, **members: Value) -> JsObject:
    options = default_of(options)
    given = options.members if isinstance(options, JsObject) else {}
    return JsObject({**members, **given}, is_open=isinstance(options, Unknown) or getattr(options, "is_open", False))


def _constant(value: Value) -> Value:
    value = default_of(value)
    kind = {bool: "boolean", int: "number", float: "number", str: "string"}.get(type(value))
    return _schema(None, const=value, type=kind) if kind else Unknown("this constant is not known")


def _object(properties: Value, options: Value) -> Value:
    properties = default_of(properties)
    if not isinstance(properties, JsObject):
        return Unknown("the properties of this schema are not known")
    schemas = {name: default_of(value) for name, value in properties.members.items()}
    required: list[Value] = [
        name
        for name, schema in schemas.items()
        if not (isinstance(schema, JsObject) and _IS_OPTIONAL in schema.members)
    ]
    made = _schema(options, type="object", **({"required": JsArray(required)} if required else {}))
    made.members["properties"] = properties
    return made


def schema_of(run: Interpreter, name: str, given: list[Value]) -> Value:
    """What `Type.name(…)` returns."""
    first, second = argument(given, 0), argument(given, 1)
    if name in _SIMPLE:
        members = {key: JsObject({}) if value == {} else value for key, value in _SIMPLE[name].items()}
        return _schema(first, **members)
    if name in _OF_MANY:
        items, is_open = items_of(run, first)
        if len(items) > 1 or is_open:
            return _schema(second, **{_OF_MANY[name]: JsArray(items, is_open=is_open)})
        only = default_of(items[0]) if items else JsObject({"not": JsObject({})})
        return _schema(second, **only.members) if isinstance(only, JsObject) else only
    plain = default_of(first)
    if name == "Object":
        return _object(first, second)
    if name == "Array":
        return _schema(second, type="array", items=first)
    if name == "Literal":
        made = _constant(first)
        return _schema(second, **made.members) if isinstance(made, JsObject) else made
    if name == "Enum" and isinstance(plain, JsObject):
        return _schema(second, anyOf=JsArray([_constant(value) for value in plain.members.values()]))
    is_text = isinstance(plain, JsObject) and {*plain.members} == {"type"} and plain.members["type"] == "string"
    if name == "Record" and is_text:
        return _schema(argument(given, 2), type="object", patternProperties=JsObject({"^(.*)$": second}))
    if name in ("Optional", "Readonly", "Unsafe") and isinstance(plain, JsObject):
        marked = JsObject({**plain.members, **({_IS_OPTIONAL: True} if name == "Optional" else {})})
        marked.is_open, marked.sources = plain.is_open, plain.sources
        return marked
    return Unknown(f"nothing is known of Type.{name}()")
