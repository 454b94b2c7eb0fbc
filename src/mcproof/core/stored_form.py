"""How a type is written as JSON and published as a JSON Schema, declared where the type is.

`runs.codec` reads these declarations. The docstrings of a type and of its fields are the descriptions of its schema,
with `null` for `None`.
Why types are the source of the JSON form: docs/decisions/0060-json-from-types.md.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal, TypeVar

from mcproof.core.named_tuple import NamedTuple

T = TypeVar("T")

Presence = Literal["always", "newer", "unless empty"]
"""When a field is in a document: always; always, but not in those of older versions; unless it has its default."""


class Member(NamedTuple):
    """How a field is written."""

    key: str | None
    """Its name in JSON, if that is not the name of the field."""
    presence: Presence
    limits: tuple[tuple[str, Any], ...]
    """Keywords of JSON Schema that hold besides those of its type."""


def member(key: str | None = None, *, presence: Presence = "always", **limits: Any) -> Member:
    """Declare how a field is written: the second part of its `Annotated` type."""
    hashable = (tuple(limit) if isinstance(limit, list | dict) else limit for limit in limits.values())
    return Member(key, presence, tuple(zip(limits, hashable, strict=True)))


def record(*names: str) -> Callable[[type[T]], type[T]]:
    """Declare that a NamedTuple is written as an object.

    It has these fields and properties, in this order; all fields if none are named. Linters know by this decorator that
    the annotations are needed at run time.
    """

    def declare(kind: type[T]) -> type[T]:
        kind.__written__ = names  # type: ignore[attr-defined]  # a NamedTuple cannot declare it itself
        return kind

    return declare


Fault = Annotated[str, member(pattern="^FAULT-[A-Z-]+$")]
"""An id in the fault taxonomy."""
Count = Annotated[int, member(minimum=0)]
Position = Annotated[int, member(minimum=1)]
"""A line or a column, counted from 1."""
Text = Annotated[str, member(minLength=1)]
"""A text that is not empty."""
