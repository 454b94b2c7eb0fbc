"""What `Field(...)` and other metadata in `Annotated` add to a schema."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from mcproof.core.text.json_positions import escape
from mcproof.source.python.interp.containers import EXACT, extent_of
from mcproof.source.python.interp.values import (
    MISSING,
    UNKNOWN,
    Absent,
    External,
    ExternalCall,
    Function,
    generic_name,
)
from mcproof.source.python.pydantic.nodes import DecimalNumber

if TYPE_CHECKING:
    from mcproof.source.python.pydantic.generator import SchemaGenerator
    from mcproof.source.python.pydantic.nodes import Schema

FACTORY = Absent()
"""The default of a field with a default factory: optional, without a default in the schema."""

CONSTRAINED = {
    "constr": "builtins.str", "conint": "builtins.int", "confloat": "builtins.float", "conlist": "builtins.list",
    "conset": "builtins.set", "confrozenset": "builtins.frozenset", "conbytes": "builtins.bytes",
    "condecimal": "decimal.Decimal", "condate": "datetime.date",
}  # fmt: skip
_NUMBERS = {
    "gt": "exclusiveMinimum",
    "ge": "minimum",
    "lt": "exclusiveMaximum",
    "le": "maximum",
    "multiple_of": "multipleOf",
}
_LENGTHS = {
    "string": ("minLength", "maxLength"),
    "array": ("minItems", "maxItems"),
    "object": ("minProperties", "maxProperties"),
}
_SINGLE = {
    "Gt": "gt", "Ge": "ge", "Lt": "lt", "Le": "le", "MultipleOf": "multiple_of", "MinLen": "min_length",
    "MaxLen": "max_length",
}  # fmt: skip
_PLACED_BY_FIELD = ("title", "description", "examples")


def is_field(value: Any) -> bool:
    """Whether a default is a `Field(...)` rather than a value."""
    return (
        isinstance(value, ExternalCall)
        and value.func.last in ("Field", "FieldInfo")
        and value.func.package != "dataclasses"
    )


def fields_of(kind: Any) -> list[ExternalCall]:
    """The `Field(...)`s in the `Annotated` of a type."""
    if generic_name(kind) in ("Annotated", "Required"):
        return [*fields_of(kind.args[0]), *(metadata for metadata in kind.args[1:] if is_field(metadata))]
    return []


def is_skipped(kind: Any) -> bool:
    """Whether a type is left out of the schema: `SkipJsonSchema[...]`, or annotated with it."""
    if generic_name(kind) == "Annotated":
        metadata = [extra.func if isinstance(extra, ExternalCall) else extra for extra in kind.args[1:]]
        return any(
            isinstance(kind_of_metadata, External) and kind_of_metadata.last == "SkipJsonSchema"
            for kind_of_metadata in metadata
        )
    return generic_name(kind) == "SkipJsonSchema"


def default_of(info: ExternalCall) -> Any:
    """The default in a `Field(...)`: a value, UNKNOWN, FACTORY or MISSING."""
    if "default_factory" in info.kwargs:
        return FACTORY
    given = info.argument(0, "default", MISSING)
    if given is ... or (isinstance(given, External) and given.last in ("PydanticUndefined", "Ellipsis")):
        return MISSING
    if given is MISSING and not info.complete:
        return UNKNOWN
    return given


def apply(generator: SchemaGenerator, schema: Schema, extra: Any, at: str) -> Schema:
    """Apply one piece of metadata to a schema."""
    if not isinstance(extra, ExternalCall):
        if extra is UNKNOWN:
            generator.unknown.add(at)
        return schema
    name = extra.func.last
    if name == "WithJsonSchema" and extra.args and isinstance(extra.args[0], dict):
        return {**extra.args[0], **{key: schema[key] for key in _PLACED_BY_FIELD if key in schema}}
    if name == "UrlConstraints":
        return _bounded(generator, schema, {"max_length": extra.argument(0, "max_length")}, at)
    if name in _SINGLE:
        return _bounded(generator, schema, {_SINGLE[name]: extra.argument(0, _SINGLE[name], UNKNOWN)}, at)
    if name == "Interval":
        return _bounded(generator, schema, extra.kwargs, at)
    if name == "Len":
        limits = {"min_length": extra.argument(0, "min_length", 0), "max_length": extra.argument(1, "max_length")}
        return _bounded(generator, schema, limits, at)
    if name == "StringConstraints" or name in CONSTRAINED:
        return _bounded(generator, schema, extra.kwargs, at)
    if name in ("Field", "FieldInfo"):
        return _described(generator, _bounded(generator, schema, extra.kwargs, at), extra, at)
    if name == "Discriminator":
        return _with_discriminator(generator, schema, extra, at)
    # A function takes the place of the type's own validation, so the annotation says nothing any more.
    if name == "PlainValidator":
        return generator.unknown_at(at)
    if name in _SERIALIZERS and generator.for_serialization:
        return _serialized(generator, schema, extra, at)
    return schema


_SERIALIZERS = ("PlainSerializer", "WrapSerializer")


def has_serializer(kind: Any) -> bool:
    """Whether a type has a custom serializer, so that the serialized default is unknown."""
    if generic_name(kind) != "Annotated":
        return False
    metadata = [extra for extra in kind.args[1:] if isinstance(extra, ExternalCall)]
    return any(call.func.last in _SERIALIZERS for call in metadata) or has_serializer(kind.args[0])


def _serialized(generator: SchemaGenerator, schema: Schema, extra: ExternalCall, at: str) -> Schema:
    """The schema of the serializer's return type; unchanged if it has none."""
    kind = extra.argument(1, "return_type", MISSING)
    function = extra.argument(0, "func")
    if kind is MISSING and isinstance(function, Function):
        node = function.node
        if not isinstance(node, ast.Lambda) and node.returns is not None:
            kind = generator.run.annotation(node.returns, function.scope)
    if kind is MISSING:
        return schema
    placed = {key: value for key, value in schema.items() if key in _PLACED_BY_FIELD}
    scope = function.scope if isinstance(function, Function) else None
    return generator.unknown_at(at) if scope is None else {**generator.schema(kind, scope, at), **placed}


def add_keywords(generator: SchemaGenerator, schema: Schema, keywords: dict[Any, Any], at: str) -> None:
    """Add explicit keywords to a schema; record unknown values."""
    from mcproof.source.python.pydantic.defaults import encode

    for key, value in keywords.items():
        encoded = encode(value)
        if encoded is UNKNOWN:
            schema.pop(key, None)
            generator.unknown.add(f"{at}/{escape(str(key))}")
        else:
            schema[str(key)] = encoded


def _described(generator: SchemaGenerator, schema: Schema, info: ExternalCall, at: str) -> Schema:
    described = dict(schema)
    keywords = {key: info.kwargs[key] for key in _PLACED_BY_FIELD if info.kwargs.get(key) is not None}
    add_keywords(generator, described, keywords, at)
    discriminator = info.kwargs.get("discriminator")
    if isinstance(discriminator, str):
        described = _discriminated(generator, described, discriminator)
    elif discriminator is not None:
        generator.unknown.add(at)
    if info.kwargs.get("deprecated") not in (None, False):
        described["deprecated"] = True
    extra = info.kwargs.get("json_schema_extra")
    if isinstance(extra, dict):
        add_keywords(generator, described, extra, at)
        if extent_of(extra) is not EXACT:
            generator.unknown.add(at)
    elif extra is UNKNOWN or isinstance(extra, (Function, External)):
        generator.unknown.add(at)
    if not info.complete:
        generator.unknown.add(at)
    return described


def _with_discriminator(generator: SchemaGenerator, schema: Schema, extra: ExternalCall, at: str) -> Schema:
    """A union with a discriminator: a property or a function."""
    discriminator = extra.argument(0, "discriminator")
    if isinstance(discriminator, str):
        return _discriminated(generator, schema, discriminator)
    if {"type": "null"} in schema.get("anyOf", ()):
        return generator.unknown_at(at)
    return {("oneOf" if key == "anyOf" else key): value for key, value in schema.items()}


def _discriminated(generator: SchemaGenerator, schema: Schema, name: str) -> Schema:
    """A union with a discriminating property."""
    branches = [branch for branch in schema.get("anyOf", ()) if branch != {"type": "null"}]
    mapping: dict[str, str] = {}
    for branch in branches:
        reference = branch.get("$ref")
        if not isinstance(reference, str):
            return schema
        target = generator.definitions.get(reference.removeprefix("#/$defs/"), {})
        property_schema = target.get("properties", {}).get(name, {})
        for value in [property_schema["const"]] if "const" in property_schema else property_schema.get("enum", []):
            mapping[str(value)] = reference
    union = {"discriminator": {"mapping": dict(sorted(mapping.items())), "propertyName": name}, "oneOf": branches}
    rest = {key: value for key, value in schema.items() if key != "anyOf"}
    if {"type": "null"} in schema.get("anyOf", ()):
        return {"anyOf": [union, {"type": "null"}], **rest}
    return {**union, **rest}


_NULL = {"type": "null"}


def _bounded(generator: SchemaGenerator, schema: Schema, limits: dict[str, Any], at: str) -> Schema:
    """Apply bounds to a schema; those of a nullable type apply to its other branch."""
    wanted = {key: value for key, value in limits.items() if value is not None and key in _KNOWN_BOUNDS}
    if not wanted:
        return schema
    branches = schema.get("anyOf")
    if isinstance(branches, list) and any(isinstance(branch, DecimalNumber) for branch in branches):
        return {**schema, "anyOf": [_bounded_decimal(generator, branch, wanted, at) for branch in branches]}
    if isinstance(branches, list) and _NULL in branches:
        others = [branch for branch in branches if branch != _NULL]
        inner = others[0] if len(others) == 1 else {"anyOf": others}
        return {**schema, "anyOf": [_bounded(generator, inner, limits, f"{at}/anyOf/0"), dict(_NULL)]}
    bounded = dict(schema)
    for key, value in wanted.items():
        keyword = _keyword(key, schema)
        if keyword is None:
            continue
        # The pattern may be compiled already: `re.compile(pattern)`.
        is_compiled = isinstance(value, ExternalCall) and value.func.last == "compile"
        pattern = value.argument(0, "pattern") if is_compiled and value.args else value
        if isinstance(pattern, str if is_compiled else (int, float, str)):
            bounded[keyword] = pattern
        else:
            generator.unknown.add(f"{at}/{keyword}")
    return bounded


def _bounded_decimal(generator: SchemaGenerator, schema: Schema, wanted: dict[str, Any], at: str) -> Schema:
    if not isinstance(schema, DecimalNumber):
        return schema
    number = DecimalNumber(schema)
    for key, value in wanted.items():
        if key in _NUMBERS and isinstance(value, (int, float)):
            number[_NUMBERS[key]] = float(value)
        elif key in _NUMBERS:
            generator.unknown.add(f"{at}/anyOf/0/{_NUMBERS[key]}")
    return number


_KNOWN_BOUNDS = frozenset((*_NUMBERS, "min_length", "max_length", "pattern", "regex"))


def _keyword(key: str, schema: Schema) -> str | None:
    kind = schema.get("type")
    if key in _NUMBERS:
        if kind is None:
            return key  # without a single type, Pydantic keeps its own name
        return _NUMBERS[key] if kind in ("integer", "number") else None
    if key in ("pattern", "regex"):
        return "pattern"
    lengths = _LENGTHS.get(kind) if isinstance(kind, str) else _LENGTHS["string"]
    return lengths[key == "max_length"] if lengths is not None else None
