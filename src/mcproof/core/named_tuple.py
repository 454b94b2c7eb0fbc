"""`NamedTuple` as in `typing`, in a tenth of the time: a command defines 150 of these classes before it does anything.

`typing` compiles each annotation and a constructor for each class. Here nothing is compiled before the second value of
a class is created, and most classes have none or one in a run.
Why: docs/decisions/0063-named-tuples-of-our-own.md.
"""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, Any, Self

__all__ = ["NamedTuple"]

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import NamedTuple  # checked as the class that it replaces
else:

    class _Fields(type):
        """Turns the annotations of a class that names `NamedTuple` as its base into fields."""

        def __new__(meta, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> type:
            fields = tuple(namespace.get("__annotations__", ()))
            namespace["__slots__"] = ()  # else each value has a dict
            # A class that inherits from one of these adds no fields to it, as in `typing`.
            if not any(getattr(base, "_fields", ()) for base in bases):
                namespace["_fields"] = namespace["__match_args__"] = fields
                namespace["_field_defaults"] = {field: namespace[field] for field in fields if field in namespace}
                namespace |= {field: property(itemgetter(index)) for index, field in enumerate(fields)}
            return super().__new__(meta, name, bases, namespace)

    class NamedTuple(tuple, metaclass=_Fields):
        """A tuple whose items have names."""

        def __new__(cls, *items: Any, **named: Any) -> Self:
            """Create the first value of a class; with the second, the constructor that creates all others."""
            owner = next(kind for kind in cls.__mro__ if "_fields" in vars(kind))
            fields, defaults = owner._fields, owner._field_defaults
            if "_is_used" not in vars(owner):
                owner._is_used = True
                placed = dict(zip(fields, items, strict=False))
                given = {**defaults, **placed, **named}
                # What does not fit raises the error of the constructor.
                if len(placed) == len(items) and placed.keys().isdisjoint(named) and given.keys() == set(fields):
                    return tuple.__new__(cls, map(given.__getitem__, fields))
            # As `collections.namedtuple` does it, which takes three times as long for a class that is not needed. One
            # fits all subclasses too: it takes the class that it is called with.
            listed = "".join(f"{field}, " for field in fields)
            new = eval(f"lambda _cls, {listed}: _new(_cls, ({listed}))", {"_new": tuple.__new__})  # noqa: S307
            new.__name__, new.__defaults__ = "__new__", tuple(defaults.values())
            owner.__new__ = new
            return new(cls, *items, **named)

        @classmethod
        def _make(cls, items: Iterable[Any]) -> Self:
            return cls(*items)

        def _replace(self, **named: Any) -> Self:
            items = tuple(map(named.pop, self._fields, self))
            if named:
                raise ValueError(f"unknown fields: {', '.join(named)}")
            return tuple.__new__(type(self), items)

        def _asdict(self) -> dict[str, Any]:
            return dict(zip(self._fields, self, strict=True))

        def __repr__(self) -> str:
            members = ", ".join(f"{field}={item!r}" for field, item in self._asdict().items())
            return f"{type(self).__name__}({members})"

        def __getnewargs__(self) -> tuple[Any, ...]:
            """The arguments with which a copy is created, also by `pickle`."""
            return tuple(self)
