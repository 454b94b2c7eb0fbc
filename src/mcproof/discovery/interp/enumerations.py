"""Enumerations of the project and their members."""

from __future__ import annotations

from typing import Any

from mcproof.discovery.interp.values import UNKNOWN, Class, EnumMember, Function

MIXED = frozenset(("str", "int", "float", "StrEnum", "IntEnum"))
"""Base types whose members equal their values."""


def is_enum(cls: Class) -> bool:
    return any(base.last in ("Enum", "IntEnum", "StrEnum", "Flag", "IntFlag") for base in cls.external_bases())


def members_of(cls: Class) -> list[EnumMember]:
    if cls.members is None:
        members: list[EnumMember] = []
        bases = {base.last for base in cls.external_bases()}
        for name, given in cls.body.names.items():
            if not (name.startswith("_") or isinstance(given, (Function, Class))):
                members.append(EnumMember(cls, name, _enum_value(name, given, bases, members)))
        cls.members = members
    return cls.members


def _enum_value(name: str, given: Any, bases: set[str], before: list[EnumMember]) -> Any:
    """The value of a member: `auto()` increments, a tuple holds the arguments of the mixed-in type."""
    if getattr(getattr(given, "func", None), "last", "") == "auto":
        if "str" in bases:
            return UNKNOWN  # the text form of the number depends on the Python version
        numbers = [each.value for each in before if isinstance(each.value, int)]
        return name.lower() if "StrEnum" in bases else max(numbers, default=0) + 1
    if isinstance(given, tuple) and len(given) == 1 and not MIXED.isdisjoint(bases):
        return given[0]
    return given


def distinct_members(cls: Class) -> list[EnumMember]:
    """The members in an iteration, which skips aliases."""
    seen: set[Any] = set()
    found = []
    for each in members_of(cls):
        is_plain = isinstance(each.value, (str, int, float))
        if not is_plain or each.value not in seen:
            found.append(each)
        if is_plain:
            seen.add(each.value)
    return found
