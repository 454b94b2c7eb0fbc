"""Defaults as Pydantic serializes them into a schema."""

from __future__ import annotations

import datetime
import math
from typing import TYPE_CHECKING, Any

from mcproof.source.python.interp.containers import SourceDict, default_of, has_doubt
from mcproof.source.python.interp.values import (
    UNKNOWN,
    Class,
    EnumMember,
    External,
    ExternalCall,
    Instance,
    Scope,
    UnionOf,
    generic_name,
)
from mcproof.source.python.pydantic import classes, fields
from mcproof.source.python.pydantic.fields import configuration
from mcproof.source.python.pydantic.nodes import SETS

if TYPE_CHECKING:
    from mcproof.source.python.pydantic.generator import SchemaGenerator

DEEPEST = 30
MOST_VALUES = 2_000
"""The maximum number of values in a default; shared values count each time."""


class Quota:
    """How many more values may be written."""

    def __init__(self) -> None:
        self.left = MOST_VALUES


def encode(value: Any, generator: SchemaGenerator | None = None, depth: int = 0, quota: Quota | None = None) -> Any:
    """A value as JSON; UNKNOWN if unknown. Instances need a generator."""
    quota = Quota() if quota is None else quota
    quota.left -= 1
    if depth > DEEPEST or quota.left < 0:
        return UNKNOWN
    value = default_of(value)
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, EnumMember):
        return encode(value.value, generator, depth + 1, quota)
    if isinstance(value, float):
        # JSON has no infinity and no NaN; Pydantic writes null for them.
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        if isinstance(value, SourceDict) and (has_doubt(value)):
            return UNKNOWN
        encoded = {key: encode(item, generator, depth + 1, quota) for key, item in value.items()}
        is_plain = all(isinstance(key, str) for key in encoded)
        return UNKNOWN if any(item is UNKNOWN for item in encoded.values()) or not is_plain else encoded
    if isinstance(value, (list, tuple, set, frozenset)):
        if has_doubt(value):
            return UNKNOWN
        items = [encode(item, generator, depth + 1, quota) for item in value]
        return UNKNOWN if any(item is UNKNOWN for item in items) else items
    if isinstance(value, bytes):
        return _text(value)
    if isinstance(value, ExternalCall):
        return _called(value)
    if isinstance(value, Instance) and generator is not None:
        return _object(generator, value, depth, quota)
    return UNKNOWN


def in_type_order(value: Any, kind: Any) -> Any:
    """A default in the order of its type: Pydantic sorts sets."""
    if generic_name(kind) in SETS and isinstance(value, list) and len(value) > 1:
        return sorted(set(value)) if all(isinstance(item, str) for item in value) else UNKNOWN
    return value


def _text(value: bytes) -> Any:
    try:
        return value.decode()
    except UnicodeDecodeError:  # bytes that are no text have no form in JSON
        return UNKNOWN


_MOMENTS = {"datetime.date": datetime.date, "datetime.datetime": datetime.datetime, "datetime.time": datetime.time}


def _called(value: ExternalCall) -> Any:
    name, args = value.func.last, value.args
    if value.func.name in _MOMENTS:
        return _moment(value)
    if value.kwargs or not value.complete:
        return UNKNOWN
    if name in ("Path", "PurePath", "PosixPath", "PurePosixPath") and all(
        isinstance(argument, str) for argument in args
    ):
        from pathlib import PurePosixPath

        return str(PurePosixPath(*args))
    only = args[0] if len(args) == 1 else None
    if name == "UUID" and isinstance(only, str):
        return _uuid(only)
    if name == "Decimal" and isinstance(only, (str, int)) and not isinstance(only, bool):
        return str(only)
    if name in ("SecretStr", "SecretBytes") and isinstance(only, (str, bytes)):
        return "**********" if only else ""
    return UNKNOWN


def _uuid(text: str) -> Any:
    from uuid import UUID

    try:
        return str(UUID(text))
    except ValueError:
        return UNKNOWN


def _moment(value: ExternalCall) -> Any:
    """A date or time with literal numbers."""
    if value.kwargs or not all(isinstance(number, int) for number in value.args):
        return UNKNOWN
    try:
        return str(_MOMENTS[value.func.name](*value.args).isoformat())
    except (ValueError, TypeError, OverflowError):
        return UNKNOWN


def _object(generator: SchemaGenerator, value: Instance, depth: int, quota: Quota) -> Any:
    kind = classes.kind_of(value.cls)
    declared = fields.fields(value.cls, kind or "hints")
    if kind == "tuple":
        items = [encode(value.attributes.get(field.name, UNKNOWN), generator, depth + 1, quota) for field in declared]
        return UNKNOWN if any(item is UNKNOWN for item in items) else items
    if kind not in ("model", "dataclass") or fields.changes_values(generator, value.cls):
        return UNKNOWN
    is_validated = kind == "model" or fields.is_validated(value.cls)
    config = configuration(value.cls)
    if config.get("extra") in ("allow", UNKNOWN):
        return UNKNOWN
    members: dict[str, Any] = {}
    for field in declared:
        if quota.left < 0:
            return UNKNOWN
        annotation = generator.run.annotation(field.node.annotation, field.owner.body)
        given = _given(generator, value, field, annotation, config)
        encoded = encode(given, generator, depth + 1, quota)
        if is_validated and encoded is not UNKNOWN:
            # Pydantic writes what it validated: `1` in a `float` field is `1.0`
            encoded = _validated(generator, given, encoded, annotation, field.owner.body)
        written = _written_name(generator, field, annotation, config) if is_validated else field.name
        if encoded is UNKNOWN or not isinstance(written, str):
            return UNKNOWN
        members[written] = encoded
    return members


def _given(
    generator: SchemaGenerator,
    value: Instance,
    field: fields.DeclaredField,
    annotation: Any,
    config: dict[str, Any],
) -> Any:
    """The value of an instance's field, given by alias, by name or by default."""
    alias = generator.alias(annotation, field.default(), field.owner.body)
    if alias is None:
        generated_name = fields.generated(generator.run, config.get("alias_generator"), field.name)
        if generated_name is UNKNOWN:
            return UNKNOWN
        alias = str(generated_name) if generated_name is not None else field.name
    return value.attributes.get(alias, value.attributes.get(field.name, UNKNOWN))


def _written_name(
    generator: SchemaGenerator, field: fields.DeclaredField, annotation: Any, config: dict[str, Any]
) -> Any:
    if generator.for_serialization:
        return field.name
    alias = generator.alias(annotation, field.default(), field.owner.body, for_serialization=True)
    if alias is not None:
        return alias
    generated_name = fields.generated(generator.run, config.get("alias_generator"), field.name, for_serialization=True)
    return field.name if generated_name is None else generated_name


_TYPES = {"str": str, "int": int, "bool": bool}


def _validated(generator: SchemaGenerator, given: Any, encoded: Any, kind: Any, scope: Scope) -> Any:
    """A value as Pydantic writes it after validation; UNKNOWN if that would change it, except for simple numbers."""
    kind = generator.parsed_type(kind, scope)
    if name := generic_name(kind):
        args = kind.args
        if name == "Annotated":
            return _validated(generator, given, encoded, args[0], scope)
        if name in ("Optional", "Union"):
            return _validated_union(generator, given, encoded, (*args, None) if name == "Optional" else args, scope)
        if name == "Literal":
            return encoded
        if name in ("list", "List", "Sequence") and isinstance(encoded, list) and len(args) == 1:
            items = [_validated(generator, *pair, args[0], scope) for pair in zip(given, encoded, strict=True)]
            return UNKNOWN if any(item is UNKNOWN for item in items) else items
        if name in ("dict", "Dict", "Mapping") and isinstance(encoded, dict) and len(args) == 2:
            values = {key: _validated(generator, given[key], item, args[1], scope) for key, item in encoded.items()}
            return UNKNOWN if any(item is UNKNOWN for item in values.values()) else values
        return encoded if encoded in ([], {}) else UNKNOWN
    if isinstance(kind, UnionOf):
        return _validated_union(generator, given, encoded, kind.args, scope)
    if isinstance(kind, Class):
        fits = isinstance(given, (Instance, EnumMember)) and given.cls is kind
        return encoded if fits else UNKNOWN
    if kind is None:
        return None if encoded is None else UNKNOWN
    return _validated_plain(given, encoded, kind)


def _validated_plain(given: Any, encoded: Any, kind: Any) -> Any:
    name = kind.last if isinstance(kind, External) else ""
    if name in ("Any", "object", "list", "dict"):
        return encoded
    if encoded is None:
        return None if given is None else UNKNOWN  # Pydantic does not validate defaults
    if name == "float" and isinstance(encoded, (int, float)) and not isinstance(encoded, bool):
        return float(encoded)
    if name in _TYPES:
        return encoded if type(encoded) is _TYPES[name] else UNKNOWN
    is_made = isinstance(given, ExternalCall) and given.func.last == name
    return encoded if is_made else UNKNOWN


def _validated_union(generator: SchemaGenerator, given: Any, encoded: Any, arms: tuple[Any, ...], scope: Scope) -> Any:
    """The result of the only branch that accepts a value; UNKNOWN if several do."""
    if encoded is None:
        return None if None in arms else UNKNOWN
    taken = [_validated(generator, given, encoded, arm, scope) for arm in arms if arm is not None]
    results = [result for result in taken if result is not UNKNOWN]
    return results[0] if len(results) == 1 else UNKNOWN
