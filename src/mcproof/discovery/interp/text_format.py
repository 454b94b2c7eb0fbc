"""Values as text: `%`, f-strings, members of enumerations. Bounded, so that no text grows without limit."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Any

from mcproof.discovery.interp.containers import is_certain
from mcproof.discovery.interp.values import MISSING, PLAIN, UNKNOWN, EnumMember, External, Function, Instance

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

LONGEST = 1 << 20
"""The maximum length of a computed string."""
WIDEST = 4
"""The maximum number of digits in a format: a width of a billion is a string of a gigabyte."""
_numbers_in = re.compile(r"\d+").findall
"""The numbers in a text, in the digits of any script, as a format accepts them."""
_SHOW_VALUES = frozenset(("StrEnum", "IntEnum", "IntFlag", "ReprEnum"))
_SHOW_NAMES = frozenset(("Enum", "Flag", "str", "int", "float"))


def displayed(value: Any) -> Any:
    """A member of an enumeration as `str` and `format` show it since Python 3.11; any other value unchanged."""
    if not isinstance(value, EnumMember):
        return value
    bases = {base.last for base in value.cls.external_bases()}
    own = value.cls.attribute("__str__")
    if value.cls.attribute("__format__") is not MISSING:
        return UNKNOWN
    if isinstance(own, Function):
        return _shown_by(own, value)
    if isinstance(own, External) and own.last == "__str__":  # `__str__ = str.__str__`
        return value.value if isinstance(value.value, str) else UNKNOWN
    if own is not MISSING:
        return UNKNOWN
    if bases & _SHOW_VALUES:
        return value.value
    if not bases <= _SHOW_NAMES:
        return UNKNOWN
    same = [name for name, each in value.cls.body.names.items() if isinstance(each, PLAIN) and each == value.value]
    return f"{value.cls.name}.{same[0] if value.name in same else value.name}"


def _shown_by(own: Function, member: EnumMember) -> Any:
    """The result of a member's own `__str__`, if that only returns the value or the name."""
    body = own.node.body
    last = body[-1] if isinstance(body, list) else None
    returned = last.value if isinstance(last, ast.Return) and isinstance(body, list) and len(body) <= 2 else None
    if isinstance(returned, ast.Call) and isinstance(returned.func, ast.Name) and returned.func.id == "str":
        returned = returned.args[0] if len(returned.args) == 1 else None
    if not isinstance(returned, ast.Attribute) or not isinstance(returned.value, ast.Name):
        return UNKNOWN
    found = {"value": member.value, "_value_": member.value, "name": member.name}.get(returned.attr, UNKNOWN)
    return str(found) if isinstance(found, (str, int)) else UNKNOWN


def percent_format(text: str, value: Any) -> Any:
    """`text % value`."""
    values = value if isinstance(value, tuple) else (value,)
    if any(isinstance(each, EnumMember) for each in values):
        if text.count("%") != text.count("%s"):
            return UNKNOWN  # numbers and quoted strings are formatted differently
        value = values = tuple(map(displayed, values))
    if isinstance(value, dict):
        if not all(isinstance(item, PLAIN) for item in value.values()):
            return UNKNOWN
    elif not all(isinstance(item, PLAIN) for item in values):
        return UNKNOWN
    pieces = value.values() if isinstance(value, dict) else values
    if "*" in text or not fits(text, text.count("%"), pieces):
        return UNKNOWN
    try:
        return text % value
    except Exception:
        return UNKNOWN


def fits(text: str, fields: int, pieces: Iterable[Any]) -> bool:
    """Whether formatted text stays short, given its widths and the values that may be inserted."""
    numbers = _numbers_in(text)
    if any(len(digits) > WIDEST for digits in numbers):
        return False
    widest = max(map(int, numbers), default=0)
    return len(text) + fields * (widest + max(map(_size, pieces), default=0)) <= LONGEST


def _size(value: Any) -> int:
    """The approximate length of a plain value as text."""
    if isinstance(value, (str, bytes)):
        return len(value)
    return value.bit_length() // 3 + 2 if isinstance(value, int) else 400  # the largest float has 309 digits


def is_short(value: Any, indent: int = 0) -> bool:
    """Whether data stays short as text, even if parts of it are shared."""
    left = LONGEST
    waiting: list[tuple[Any, int]] = [(value, 0)]
    while waiting:
        each, depth = waiting.pop()
        items: Collection[Any] = ()
        if isinstance(each, dict):
            left -= sum(map(_size, each))
            items = each.values()
        elif isinstance(each, (list, tuple, set, frozenset)):
            items = each
        elif isinstance(each, Instance):
            items = each.attributes.values()
        elif each is not None and not isinstance(each, (bool, float)):
            left -= _size(each)
        left -= len(items) * (4 + (depth + 1) * indent)
        if left <= 0:  # before copying all of them
            return False
        waiting.extend((item, depth + 1) for item in items)
    return True


def format_value(value: Any, conversion: int, spec: Any) -> str | None:
    """One `{...}` of an f-string; None if unknown."""
    if isinstance(value, EnumMember):
        value = displayed(value) if conversion in (-1, ord("s")) else UNKNOWN
    if isinstance(value, (list, tuple, dict)) and spec == "" and is_all_plain(value) and is_short(value):
        return repr(list(value)) if isinstance(value, list) else repr(dict(value) if isinstance(value, dict) else value)
    if not isinstance(value, PLAIN) or not isinstance(spec, str):
        return None
    if not fits(spec, 1, [value]):
        return None
    try:
        if conversion == ord("r"):
            value = repr(value)
        elif conversion == ord("s"):
            value = str(value)
        elif conversion == ord("a"):
            value = ascii(value)
        return format(value, spec)
    except Exception:
        return None


def is_all_plain(value: Any) -> bool:
    """Whether a container is certain, and all its items are plain."""
    if not is_certain(value):
        return False
    items = [*value, *value.values()] if isinstance(value, dict) else value
    return all(isinstance(item, PLAIN) for item in items)
