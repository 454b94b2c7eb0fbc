"""Values of JavaScript expressions.

null is `None`; booleans and strings are themselves; numbers are `int` where they are integral, else `float`. Everything
else is an instance of one of the classes below. What only running the program would reveal is `Unknown`: it makes
everything unknown that depends on it, but a container with an unknown member keeps the others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from mcproof.core.named_tuple import NamedTuple

Value = Any
"""A value of a JavaScript expression."""
Call = Callable[[Value, Sequence[Value]], Value]
"""What calls a function of the source with arguments."""


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


class BigInt(NamedTuple):
    """A value such as `10n`."""

    value: int


class JsArray:
    """An array. It is mutable and may stand in several places, so it is compared by identity."""

    __slots__ = ("items",)

    def __init__(self, items: list[Value]) -> None:
        self.items = items

    def __repr__(self) -> str:
        return f"JsArray({self.items!r})"


class JsObject:
    """An object without a class, with its members in their order; compared by identity like an array."""

    __slots__ = ("members",)

    def __init__(self, members: dict[str, Value]) -> None:
        self.members = members

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
