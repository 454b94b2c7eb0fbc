"""Values of JavaScript expressions.

null is `None`; booleans and strings are themselves; numbers are `int` where they are integral, else `float`. Everything
else is an instance of one of the classes below. What only running the program would reveal is `Unknown`: it makes
everything unknown that depends on it, but a container with an unknown member keeps the others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

from mcproof.core.named_tuple import NamedTuple

Value = Any
"""A value of a JavaScript expression."""
Call = Callable[[Value, Sequence[Value]], Value]
"""What calls a function of the source with arguments."""


next_birth = count().__next__
"""What numbers everything that a program can change, in the order of its creation."""


class Undefined:
    """The type of `UNDEFINED`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "undefined"

    def __bool__(self) -> bool:
        return False


UNDEFINED = Undefined()


class Unknown(NamedTuple):
    """A value that the source does not settle."""

    reason: str
    options: tuple[Value, ...] = ()
    """The values that it may have; empty if nothing is known of it. An unknown one among them stands for any other."""
    is_default: bool = False
    """Whether the first option is what it is by default, such as without a variable of the environment."""


class BigInt(NamedTuple):
    """A value such as `10n`."""

    value: int


class Absent:
    """The type of `ABSENT`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "absent"


ABSENT = Absent()
"""An option of an unknown item or member: that it is not there."""


def maybe(value: Value, reason: str, *, by_default: bool = False) -> Unknown:
    """An item or a member that may be missing; `by_default` says that it is there by default."""
    if isinstance(value, Unknown):
        if may_lack(value):
            return value if by_default or not value.is_default else value._replace(is_default=False)
        return Unknown(value.reason, (*(value.options or (value,)), ABSENT), by_default)
    return Unknown(reason, (value, ABSENT), by_default)


def like(value: Value, item: Value) -> Value:
    """What is made of an item, which may be missing if that item may be."""
    return maybe(value, item.reason, by_default=item.is_default) if may_lack(item) else value


def may_be_missing(value: Value) -> bool:
    """Whether an item or a member is not known to be there by default."""
    return isinstance(value, Unknown) and not (value.is_default and value.options[0] is not ABSENT)


def may_lack(item: Value) -> bool:
    """Whether an item or a member may be missing."""
    return item.__class__ is Unknown and ABSENT in item.options


def present(item: Value) -> Value:
    """An item or a member that may be missing, as it is if it is there."""
    if not may_lack(item):
        return item
    rest = tuple(option for option in item.options if option is not ABSENT)
    return rest[0] if len(rest) == 1 else Unknown(item.reason, rest)


class JsArray:
    """An array. It is mutable and may stand in several places, so it is compared by identity."""

    __slots__ = ("birth", "is_open", "items", "members")

    def __init__(self, items: list[Value], *, is_open: bool = False) -> None:
        self.birth = next_birth()
        self.items = items
        self.is_open = is_open
        """Whether it may have more items."""
        self.members: dict[str, Value] | None = None
        """Other members, such as those of an array that a tag of a template gets."""

    def __repr__(self) -> str:
        return f"JsArray({self.items!r})"


class JsObject:
    """An object, with its members in their order; compared by identity like an array."""

    __slots__ = ("birth", "hidden", "is_closed_by_default", "is_open", "members", "native", "proto", "sources")

    def __init__(self, members: dict[str, Value], proto: JsObject | None = None, *, is_open: bool = False) -> None:
        self.birth = next_birth()
        self.members = members
        self.proto = proto
        """The object whose members it inherits."""
        self.is_open = is_open
        """Whether it may have more members."""
        self.is_closed_by_default = False
        """Whether it has no more members by default, if it is open."""
        self.hidden: frozenset[str] = frozenset()
        """The members that `Object.keys` passes over, such as the `__esModule` of a compiled module."""
        self.native: Any = None
        """What it is besides: a server, an error, a map."""
        self.sources: tuple[Any, ...] = ()
        """The literals that its members are written in: module and node, the last first."""

    def __repr__(self) -> str:
        return f"JsObject({self.members!r})"


class JsRegExp(NamedTuple):
    """A regular expression such as `/^a/i`."""

    source: str
    flags: str


class Library(NamedTuple):
    """Something of a known package: `Library("zod", ("z", "string"))` is its function `z.string`."""

    package: str
    path: tuple[str, ...]


class JsDate(NamedTuple):
    """A moment; which one is unknown."""


class JsPromise:
    """A promise; what it comes to is known at once, because nothing waits here."""

    __slots__ = ("value",)

    def __init__(self, value: Value) -> None:
        self.value = value


class Accessor(NamedTuple):
    """A member that is computed when it is read."""

    get: Value
    set: Value


class Symbol(NamedTuple):
    """A symbol, such as `Symbol.iterator`."""

    name: str
