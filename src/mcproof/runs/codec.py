"""Results as JSON and back, by their types: a NamedTuple is an object, a tuple or a list an array.

What a type says besides its fields is declared with `core.stored_form`. `encode` writes and `decode` reads; `make docs`
describes the same types as JSON Schema.
Why types are the source of the JSON form: docs/decisions/0060-json-from-types.md.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Mapping
from functools import cache
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, Union, cast, get_args, get_origin
from typing import get_type_hints as hints_of

from mcproof.core.named_tuple import NamedTuple
from mcproof.core.stored_form import Member, Presence, member
from mcproof.core.text.json_positions import escape

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Reader = Callable[[Any], Any]
    """Turns a JSON value into one of a type."""

T = TypeVar("T")


class DecodeError(ValueError):
    """A JSON value is not of the expected type."""

    def __init__(self, expected: str) -> None:
        super().__init__(expected)
        self.expected = expected
        self.pointer = ""
        """Where it is; it grows while the error passes the objects and arrays around the value."""

    def __str__(self) -> str:
        return f"`{self.pointer or '/'}` is not {self.expected}"

    def inside(self, step: str | int) -> DecodeError:
        self.pointer = f"/{escape(str(step))}{self.pointer}"
        return self


class StoredMember(NamedTuple):
    """A member of the JSON object of a NamedTuple."""

    name: str
    """The name of the field or property."""
    key: str
    hint: Any
    presence: Presence
    is_field: bool
    has_records: bool
    """Whether there are NamedTuples or bytes in its values; others are JSON already."""


@cache
def members_of(kind: Any) -> tuple[StoredMember, ...]:
    """Return the members of a NamedTuple, in the order in which they are written."""
    # Resolved here, once for each type, since annotations are strings until somebody asks.
    hints = hints_of(kind, include_extras=True)
    members = []
    for name in getattr(kind, "__written__", ()) or kind._fields:
        is_field = name in kind._fields
        hint = hints[name] if is_field else hints_of(getattr(kind, name).fget, include_extras=True)["return"]
        declared = _declared(hint)
        has_records = any(part is bytes or is_record(part) for part in _parts(hint))
        members.append(StoredMember(name, declared.key or name, hint, declared.presence, is_field, has_records))
    return tuple(members)


def is_record(kind: Any) -> bool:
    """Whether it is a NamedTuple."""
    return isinstance(kind, type) and issubclass(kind, tuple) and hasattr(kind, "_fields")


def _declared(hint: Any) -> Member:
    """Return what the last declaration in `Annotated` says."""
    declarations = [part for part in getattr(hint, "__metadata__", ()) if isinstance(part, Member)]
    # The last one is the outermost: an alias such as `Text` may be refined where it is used.
    return declarations[-1] if declarations else member()


def _parts(hint: Any) -> Iterator[Any]:
    """Yield a type and all types that it consists of."""
    yield hint
    for part in () if get_origin(hint) is Literal else get_args(hint):
        yield from _parts(part)


def encode(value: Any) -> Any:
    """Return a result as a JSON value."""
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        kind: Any = type(value)
        return {
            key: encode(getattr(value, name)) if has_records else getattr(value, name)
            for name, key, _, presence, _, has_records in members_of(kind)
            # What was added later stays out of documents that do not need it, so that these stay byte for byte.
            if presence != "unless empty" or getattr(value, name) != kind._field_defaults.get(name)
        }
    if isinstance(value, list | tuple):
        return [encode(part) for part in value]
    if isinstance(value, dict):
        return {key: encode(part) for key, part in value.items()}
    return b64encode(value).decode() if isinstance(value, bytes) else value


def decode(kind: type[T], raw: Any, at: str = "") -> T:
    """Return the value of a type that JSON stands for; `at` is the pointer of the JSON in its document.

    A member that is missing has the default of its field, and a member that is no field is ignored. Raises DecodeError.
    """
    hint: Any = kind
    try:
        return cast("T", _reader(hint)(raw))
    except DecodeError as error:
        error.pointer = at + error.pointer
        raise


@cache
def _reader(kind: Any) -> Reader:
    """Return what reads a type, built once."""
    origin, arguments = get_origin(kind), get_args(kind)
    if kind is Any:
        return lambda raw: raw
    if kind in (int, float):
        return _integer if kind is int else _number
    if origin is Annotated:
        return _reader(arguments[0])
    if origin is Literal:
        return _choice(arguments)
    if origin in (Union, UnionType):
        return _union([_reader(part) for part in arguments])
    if origin in (list, tuple):
        return _array(origin, _reader(arguments[0]))
    if origin in (dict, Mapping):
        return _mapping(_reader(arguments[1]))
    if kind is bytes:
        return _bytes
    return _object(kind) if is_record(kind) else _scalar(kind)


_WORDS = {str: "a string", bool: "a boolean", NoneType: "null"}


def _scalar(kind: type) -> Reader:
    def read(raw: Any) -> Any:
        if not isinstance(raw, kind):
            raise DecodeError(_WORDS[kind])
        return raw

    return read


def _number(raw: Any) -> float:
    if isinstance(raw, bool) or not isinstance(raw, int | float):
        raise DecodeError("a number")
    return raw


def _integer(raw: Any) -> int:
    """Read an integer; in JSON Schema, `1.0` is one too."""
    if isinstance(raw, bool) or not (isinstance(raw, int) or (isinstance(raw, float) and raw.is_integer())):
        raise DecodeError("an integer")
    return int(raw)


def _bytes(raw: Any) -> bytes:
    """Read bytes, which JSON has as base64; only messages between processes have them."""
    try:
        return b64decode(raw, validate=True)
    except (TypeError, ValueError):
        raise DecodeError("base64") from None


def _choice(choices: tuple[Any, ...]) -> Reader:
    def read(raw: Any) -> Any:
        if raw not in choices:
            raise DecodeError("one of " + ", ".join(map(str, choices)))
        return raw

    return read


def _union(readers: list[Reader]) -> Reader:
    """Read by the first alternative that fits; if none does, say why the first one does not."""

    def read(raw: Any) -> Any:
        reason = None
        for reader in readers:
            try:
                return reader(raw)
            except DecodeError as error:
                # The first alternative is the usual one; that it is not null helps nobody.
                reason = reason or error
        raise reason or DecodeError("of the type")

    return read


def _array(kind: type, reader: Reader) -> Reader:
    def read(raw: Any) -> Any:
        if not isinstance(raw, list | tuple):
            raise DecodeError("an array")
        return kind(_inside(number, reader, part) for number, part in enumerate(raw))

    return read


def _mapping(reader: Reader) -> Reader:
    def read(raw: Any) -> Any:
        if not isinstance(raw, dict):
            raise DecodeError("an object")
        return {key: _inside(key, reader, part) for key, part in raw.items()}

    return read


def _object(kind: Any) -> Reader:
    members = [(member.name, member.key, _reader(member.hint)) for member in members_of(kind) if member.is_field]
    optional = kind._field_defaults

    def read(raw: Any) -> Any:
        if not isinstance(raw, dict):
            raise DecodeError("an object")
        values = {}
        for name, key, reader in members:
            if key in raw:
                try:
                    values[name] = reader(raw[key])
                except DecodeError as error:
                    raise error.inside(key) from None
            elif name not in optional:
                raise DecodeError(f"an object with `{key}`")
        return kind(**values)

    return read


def _inside(step: str | int, reader: Reader, raw: Any) -> Any:
    try:
        return reader(raw)
    except DecodeError as error:
        raise error.inside(step) from None
