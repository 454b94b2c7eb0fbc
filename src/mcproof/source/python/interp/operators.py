"""Operators and text formatting on plain data, bounded so that no result grows without limit."""

from __future__ import annotations

import ast
import operator
import re
from typing import TYPE_CHECKING, Any

from mcproof.source.python.interp.containers import (
    EXACT,
    MIXED,
    SourceDict,
    SourceList,
    distinct_members,
    doubtful_positions,
    extent_of,
    has_doubt,
    is_certain,
    is_enum,
    may_be_none,
)
from mcproof.source.python.interp.values import (
    MISSING,
    PLAIN,
    UNKNOWN,
    Class,
    EnumMember,
    External,
    ExternalCall,
    Function,
    Generic,
    Instance,
    TypeAlias,
    UnionOf,
    contents_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable


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
    if isinstance(own, External) and own.last == "__str__":  # shown by its value, as after `__str__ = str.__str__`
        return value.value if isinstance(value.value, str) else UNKNOWN
    if own is not MISSING:
        return UNKNOWN
    if bases & _SHOW_VALUES:
        return value.value
    if not bases <= _SHOW_NAMES:
        return UNKNOWN
    same = [
        name for name, member in value.cls.body.names.items() if isinstance(member, PLAIN) and member == value.value
    ]
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
    shown = {"value": member.value, "_value_": member.value, "name": member.name}.get(returned.attr, UNKNOWN)
    return str(shown) if isinstance(shown, (str, int)) else UNKNOWN


def percent_format(text: str, value: Any) -> Any:
    """`text % value`."""
    values = value if isinstance(value, tuple) else (value,)
    if any(isinstance(item, EnumMember) for item in values):
        if text.count("%") != text.count("%s"):
            return UNKNOWN  # numbers and quoted strings are formatted differently
        value = values = tuple(map(displayed, values))
    pieces = value.values() if isinstance(value, dict) else values
    if not all(isinstance(piece, PLAIN) for piece in pieces):
        return UNKNOWN
    if "*" in text or not fits(text, text.count("%"), pieces):
        return UNKNOWN
    try:
        return text % value
    except Exception:  # the program would raise it, too, so there is no value
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
        part, depth = waiting.pop()
        items: Collection[Any] = ()
        if isinstance(part, dict):
            left -= sum(map(_size, part))
            items = part.values()
        elif isinstance(part, (list, tuple, set, frozenset)):
            items = part
        elif isinstance(part, Instance):
            items = part.attributes.values()
        elif part is not None and not isinstance(part, (bool, float)):
            left -= _size(part)
        left -= len(items) * (4 + (depth + 1) * indent)
        if left <= 0:  # before copying all of them
            return False
        waiting.extend((item, depth + 1) for item in items)
    return True


_CONVERSIONS: dict[int, Callable[[Any], str]] = {ord("r"): repr, ord("s"): str, ord("a"): ascii}


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
        return format(_CONVERSIONS[conversion](value) if conversion in _CONVERSIONS else value, spec)
    except Exception:
        return None


def is_all_plain(value: Any) -> bool:
    """Whether a container is certain, and all its items are plain."""
    if not is_certain(value):
        return False
    items = [*value, *value.values()] if isinstance(value, dict) else value
    return all(isinstance(item, PLAIN) for item in items)


MOST_ITEMS = 20_000
_ARITHMETIC: dict[type[ast.operator], Any] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitOr: operator.or_,
    ast.BitAnd: operator.and_,
    ast.BitXor: operator.xor,
}


_TYPE_FUNCTIONS = frozenset(("TypeVar", "NewType", "TypeAliasType"))
"""Functions of the standard library that return a type."""


def is_type(value: Any, type_functions: frozenset[str]) -> bool:
    """Whether `value | None` is a union of types; `type_functions` are further functions that return a type."""
    if isinstance(value, ExternalCall):
        return value.func.last in _TYPE_FUNCTIONS or value.func.last in type_functions
    return isinstance(value, (External, Class, Generic, UnionOf, TypeAlias))


def unwrapped(value: Any) -> Any:
    """The value of a member of a string or number enumeration; any other value unchanged."""
    if isinstance(value, EnumMember) and any(base.last in MIXED for base in value.cls.external_bases()):
        return value.value
    return value


MOST_STEPS = 2_000
"""The maximum length of a string or range that is iterated over; longer ones are unknown."""


def items_of(value: Any) -> list[Any] | None:
    """The items of an iteration; None if unknown."""
    value = contents_of(value)
    if isinstance(value, (dict, list, tuple, set, frozenset)):
        return list(value) if value or extent_of(value) is EXACT else None
    if isinstance(value, (str, range)):
        return list(value) if len(value) <= MOST_STEPS else None
    if isinstance(value, Class):
        return distinct_members(value) if is_enum(value) else None
    return None


def binary_operation(left: Any, op: ast.operator, right: Any) -> Any:
    """`left op right` for plain data."""
    left = unwrapped(left)
    if isinstance(left, str) and isinstance(op, ast.Mod):
        return percent_format(left, right)
    right = unwrapped(right)
    if isinstance(left, dict) and isinstance(right, dict) and isinstance(op, ast.BitOr):
        merged = left.copy() if isinstance(left, SourceDict) else SourceDict(left)
        merged.merge(right)
        return merged
    if isinstance(left, list) and isinstance(right, (list, tuple)) and isinstance(op, ast.Add):
        return _concatenated(left, right)
    if isinstance(left, list) and isinstance(right, list) and isinstance(op, (ast.BitOr, ast.BitAnd, ast.Sub)):
        names = {ast.BitOr: "union", ast.BitAnd: "intersection", ast.Sub: "difference"}
        return set_algebra(left, names[type(op)], [right])
    if isinstance(left, list) and isinstance(op, ast.Add):
        made_list = SourceList(left).inherit_doubt(left, doubtful_positions(left))
        made_list.mark_open()
        return made_list
    if isinstance(left, bytes) and isinstance(op, ast.Mod):
        return UNKNOWN
    if isinstance(left, tuple) and isinstance(right, tuple) and isinstance(op, ast.Add):
        return left + right if len(left) + len(right) <= MOST_ITEMS else UNKNOWN
    function = _ARITHMETIC.get(type(op))
    is_plain = isinstance(left, (str, int, float, bytes)) and isinstance(right, (str, int, float, bytes))
    if function is None or not is_plain or not _is_small(left, op, right):
        return UNKNOWN
    try:
        return function(left, right)
    except Exception:  # as for `%`: what raises here raises in the program
        return UNKNOWN


def _is_small(left: Any, op: ast.operator, right: Any) -> bool:
    """Whether the result has a reasonable size, unlike `9 ** 9 ** 9` or `"a" * 10 ** 12`."""
    if isinstance(op, (ast.Pow, ast.LShift)):
        are_numbers = isinstance(left, (int, float)) and isinstance(right, (int, float))
        return are_numbers and abs(left) < 1 << 32 and 0 <= right <= 64
    texts = [side for side in (left, right) if isinstance(side, (str, bytes))]
    numbers = [side for side in (left, right) if isinstance(side, (int, float))]
    if isinstance(op, ast.Mult) and texts:
        return len(texts) == 1 and isinstance(numbers[0], int) and len(texts[0]) * numbers[0] <= LONGEST
    if isinstance(op, ast.Mult):
        return all(abs(number) < 1 << 256 for number in numbers)
    if isinstance(left, (str, bytes)) and isinstance(right, (str, bytes)):
        return len(left) + len(right) <= LONGEST
    return True


def _concatenated(left: list[Any], right: list[Any] | tuple[Any, ...]) -> SourceList:
    joined = SourceList(left[:MOST_ITEMS])
    joined.extend(right[: MOST_ITEMS - len(joined)])
    joined.nodes = [*getattr(left, "nodes", []), *getattr(right, "nodes", [])][:MOST_ITEMS]
    joined.module = getattr(left, "module", None)
    too_long = len(left) + len(right) > MOST_ITEMS
    joined.mark_open(too_long)
    joined.inherit_doubt(left, doubtful_positions(left))
    return joined.inherit_doubt(right, (len(left) + index for index in doubtful_positions(right)))


def comparison(left: Any, op: ast.cmpop, right: Any) -> Any:
    """The result of a comparison: True, False or UNKNOWN."""
    if isinstance(op, (ast.Is, ast.IsNot)):
        outcome = _identical(left, right)
        return outcome if outcome is UNKNOWN or isinstance(op, ast.Is) else not outcome
    left, right = unwrapped(left), unwrapped(right)
    if isinstance(op, (ast.In, ast.NotIn)):
        outcome = _contains(right, left)
        return outcome if outcome is UNKNOWN or isinstance(op, ast.In) else not outcome
    if isinstance(op, (ast.Eq, ast.NotEq)):
        if isinstance(left, EnumMember) and isinstance(right, EnumMember):
            same: Any = left.cls is right.cls and left.name == right.name
        elif _comparable(left) and _comparable(right):
            same = left == right
        else:
            return UNKNOWN
        return same if isinstance(op, ast.Eq) else not same
    if isinstance(left, External) and left.name == "sys.version_info":
        is_version = isinstance(right, tuple) and all(isinstance(part, int) for part in right)
        # every Python that runs an MCP server is at least 3.10
        return isinstance(op, (ast.Gt, ast.GtE)) if is_version and right <= (3, 10) else UNKNOWN
    if not (isinstance(left, (int, float)) and isinstance(right, (int, float))):
        return UNKNOWN
    return _ORDERS[type(op)](left, right)


_ORDERS: dict[type[ast.cmpop], Any] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


def _comparable(value: Any) -> bool:
    if isinstance(value, (list, tuple, dict, set)):
        return is_all_plain(value)
    return isinstance(value, PLAIN)


def _identical(left: Any, right: Any) -> Any:
    if left is UNKNOWN or right is UNKNOWN:
        return UNKNOWN
    if left is None or right is None or isinstance(left, bool) or isinstance(right, bool):
        if isinstance(left, ExternalCall) or isinstance(right, ExternalCall) or may_be_none(left) or may_be_none(right):
            return UNKNOWN
        return left is right
    if isinstance(left, EnumMember) and isinstance(right, EnumMember):
        return left.cls is right.cls and left.name == right.name
    if is_empty_marker(left) or is_empty_marker(right):
        is_unsure = isinstance(left, ExternalCall) or isinstance(right, ExternalCall)
        return UNKNOWN if is_unsure else is_empty_marker(left) and is_empty_marker(right)
    if isinstance(left, External) and isinstance(right, External):
        return left == right or UNKNOWN
    if left is not right and isinstance(left, _APART) and isinstance(right, _APART) and type(left) is not type(right):
        return False
    # What was created twice here may be one object in the program, so only sameness is certain.
    return True if left is right else UNKNOWN


_APART = (str, dict, list, tuple, Function, Class, EnumMember)
"""Types whose values are never identical to a value of another of these types."""


def is_empty_marker(value: Any) -> bool:
    """Whether a value is the marker of `inspect` for a parameter without a default or annotation."""
    return isinstance(value, External) and value.name in _EMPTY


_EMPTY = frozenset(("inspect.Parameter.empty", "inspect.Signature.empty", "inspect._empty"))


def _contains(holder: Any, item: Any) -> Any:
    if isinstance(holder, str) and isinstance(item, str):
        return item in holder
    items = items_of(holder)
    if items is None or not isinstance(item, PLAIN):
        return UNKNOWN
    plain_items = [unwrapped(item) for item in items]
    positions = [index for index, held in enumerate(plain_items) if isinstance(held, PLAIN) and held == item]
    if positions:
        return True if not doubtful_positions(holder).issuperset(positions) else UNKNOWN
    if extent_of(holder) is not EXACT or not all(isinstance(item, (*PLAIN, Function, Class)) for item in plain_items):
        return UNKNOWN
    return False


def subscript(value: Any, index: Any) -> Any:
    """`value[index]`."""
    try:
        if isinstance(value, dict) and isinstance(index, (*PLAIN, tuple)):
            return value.get(index, UNKNOWN)
        if isinstance(value, (list, tuple, str)) and isinstance(index, int) and is_certain(value):
            return value[index]
    except (IndexError, TypeError):
        pass
    return UNKNOWN


def slice_of(value: Any, bounds: list[Any]) -> Any:
    if not isinstance(value, (list, tuple, str)) or not all(
        bound is None or isinstance(bound, int) for bound in bounds
    ):
        return UNKNOWN
    try:
        part = value[slice(*bounds)]
    except ValueError:
        return UNKNOWN
    return _part_of(value, part) if isinstance(value, list) else part


def _part_of(value: list[Any], items: Iterable[Any]) -> SourceList:
    """Some items of a list; doubtful if the list itself is uncertain."""
    part = SourceList(items)
    part.inherit_doubt(value, ())
    if not is_certain(value):
        part.mark_open()
        part.doubt_all()
    return part


def set_algebra(value: list[Any], name: str, args: list[Any]) -> Any:
    """Union, intersection or difference of sets, which are represented by lists."""
    others = [items_of(argument) for argument in args]
    if any(items is None for items in others) or extent_of(value) is not EXACT:
        return UNKNOWN
    theirs = [item for items in others for item in items or ()]
    if not all(isinstance(item, PLAIN) for item in (*value, *theirs)):
        return UNKNOWN
    if name == "union":
        result = SourceList(dict.fromkeys((*value, *theirs)))
    else:
        those = set(theirs)
        result = SourceList(item for item in value if (item in those) is (name == "intersection"))
    if any(map(has_doubt, (value, *args))):
        result.mark_open()
        result.doubt_all()
    result.unordered = True
    return result
