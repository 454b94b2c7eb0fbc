"""Plain data: what its operators and methods do. Bounded, so that no expression can grow without end."""

from __future__ import annotations

import ast
import inspect
import operator
import textwrap
from typing import Any

from mcproof.targets.python_source.values import (
    UNKNOWN,
    Class,
    EnumMember,
    External,
    Function,
    Generic,
    PlacedDict,
    PlacedList,
    TypeAlias,
    UnionOf,
    truth,
)

LONGEST = 1 << 20
_PLAIN = (str, int, float, bool, bytes, type(None))
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
_STRING_METHODS = frozenset(
    ["capitalize", "casefold", "endswith", "expandtabs", "find", "join", "lower", "lstrip", "removeprefix", "removesuffix", "replace", "rstrip", "split", "splitlines", "startswith", "strip", "swapcase", "title", "upper", "zfill", "count", "isidentifier", "isdigit", "isupper", "islower", "rfind"]
)


def is_type(value: Any) -> bool:
    """Whether `value | None` would be a union of types."""
    return isinstance(value, (External, Class, Generic, UnionOf, TypeAlias))


def bare(value: Any) -> Any:
    """A member of a string or number enumeration as the value that it is, anything else as it is."""
    if isinstance(value, EnumMember) and any(base.last in MIXED for base in value.cls.external_bases()):
        return value.value
    return value


MIXED = frozenset(("str", "int", "float", "StrEnum", "IntEnum"))


def items_of(value: Any) -> list[Any] | None:
    """What iterating gives; None where that is not known."""
    if isinstance(value, dict):
        return None if getattr(value, "incomplete", False) and not value else list(value)
    if isinstance(value, (list, tuple, set, frozenset)):
        return None if getattr(value, "incomplete", False) and not value else list(value)
    if isinstance(value, str):
        return list(value[:2000])
    if isinstance(value, range):
        return list(value[:2000])
    if isinstance(value, Class):
        members = [item for name, item in value.body.names.items() if not name.startswith("_")]
        is_enum = any(base.last.endswith("Enum") for base in value.external_bases())
        names = [name for name in value.body.names if not name.startswith("_")]
        if not is_enum:
            return None
        pairs = zip(names, members, strict=True)
        return [EnumMember(value, name, item) for name, item in pairs if not isinstance(item, Function)]
    return None


def doubtful_positions(value: Any) -> set[int]:
    """The positions, in the order of iteration, of what is there only under a condition."""
    doubtful = getattr(value, "doubtful", None)
    if not doubtful:
        return set()
    return {index for index, key in enumerate(value) if key in doubtful} if isinstance(value, dict) else set(doubtful)


def combined(left: Any, op: ast.operator, right: Any) -> Any:
    """`left op right` for plain data."""
    left, right = bare(left), bare(right)
    if isinstance(left, dict) and isinstance(right, dict) and isinstance(op, ast.BitOr):
        made = left.copy() if isinstance(left, PlacedDict) else PlacedDict(left)
        made.merge(right)
        return made
    if isinstance(left, list) and isinstance(right, (list, tuple)) and isinstance(op, ast.Add):
        return _concatenated(left, right)
    if isinstance(left, list) and isinstance(right, list) and isinstance(op, (ast.BitOr, ast.BitAnd, ast.Sub)):
        names = {ast.BitOr: "union", ast.BitAnd: "intersection", ast.Sub: "difference"}
        return _set_method(left, names[type(op)], [right])
    if isinstance(left, list) and isinstance(op, ast.Add):
        made_list = PlacedList(left)
        made_list.incomplete = True
        return made_list
    if isinstance(left, str) and isinstance(op, ast.Mod):
        return _percent(left, right)
    if isinstance(left, tuple) and isinstance(right, tuple) and isinstance(op, ast.Add):
        return left + right
    function = _ARITHMETIC.get(type(op))
    if function is None or not isinstance(left, (str, int, float, bytes)) or not isinstance(right, (str, int, float, bytes)):
        return UNKNOWN
    if not _is_small(left, op, right):
        return UNKNOWN
    try:
        return function(left, right)
    except Exception:
        return UNKNOWN


def _is_small(left: Any, op: ast.operator, right: Any) -> bool:
    """Whether the result cannot be a monster: `9 ** 9 ** 9`, `"a" * 10 ** 12`."""
    if isinstance(op, (ast.Pow, ast.LShift)):
        return isinstance(left, (int, float)) and isinstance(right, (int, float)) and abs(left) < 1 << 32 and 0 <= right <= 64
    if isinstance(op, ast.Mult):
        size = len(left) if isinstance(left, (str, bytes)) else len(right) if isinstance(right, (str, bytes)) else 0
        if size:
            number = right if isinstance(left, (str, bytes)) else left
            return isinstance(number, int) and size * number <= LONGEST
        return abs(left) < 1 << 256 and abs(right) < 1 << 256
    if isinstance(left, (str, bytes)) and isinstance(right, (str, bytes)):
        return len(left) + len(right) <= LONGEST
    return True


def _concatenated(left: list[Any], right: list[Any] | tuple[Any, ...]) -> PlacedList:
    made = PlacedList(left[:20_000])
    made.extend(right[:20_000])
    first, second = getattr(left, "nodes", []), getattr(right, "nodes", [])
    made.nodes = [*first, *second]
    made.module = getattr(left, "module", None)
    made.incomplete = getattr(left, "incomplete", False) or getattr(right, "incomplete", False)
    made.doubtful = doubtful_positions(left) | {len(left) + index for index in doubtful_positions(right)}
    return made


def _percent(text: str, value: Any) -> Any:
    values = value if isinstance(value, tuple) else (value,)
    if isinstance(value, dict):
        if not all(isinstance(item, _PLAIN) for item in value.values()):
            return UNKNOWN
    elif not all(isinstance(item, _PLAIN) for item in values):
        return UNKNOWN
    if "*" in text or any(mark in text for mark in ("%1", "%2", "%3", "%4", "%5", "%6", "%7", "%8", "%9")):
        return UNKNOWN  # a width may be a billion
    try:
        return text % value
    except Exception:
        return UNKNOWN


def formatted(value: Any, conversion: int, spec: Any) -> str | None:
    """One `{...}` of an f-string; None where it is not known."""
    if isinstance(value, EnumMember):
        return None
    if isinstance(value, (list, tuple, dict)) and spec == "" and _is_all_plain(value):
        return repr(list(value)) if isinstance(value, list) else repr(dict(value) if isinstance(value, dict) else value)
    if not isinstance(value, _PLAIN) or not isinstance(spec, str):
        return None
    if any(int(digits) > 1000 for digits in _numbers(spec)):
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


def _numbers(text: str) -> list[str]:
    return "".join(char if char.isascii() and char.isdigit() else " " for char in text).split()


def _is_all_plain(value: Any) -> bool:
    if getattr(value, "incomplete", False):
        return False
    items = [*value, *value.values()] if isinstance(value, dict) else value
    return all(isinstance(item, _PLAIN) for item in items)


def compared(left: Any, op: ast.cmpop, right: Any) -> Any:
    """The outcome of a comparison: True, False or UNKNOWN."""
    if isinstance(op, (ast.Is, ast.IsNot)):
        outcome = _identical(left, right)
        return outcome if outcome is UNKNOWN or isinstance(op, ast.Is) else not outcome
    left, right = bare(left), bare(right)
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
    if not (isinstance(left, (int, float)) and isinstance(right, (int, float))):
        return UNKNOWN
    if isinstance(op, ast.Lt):
        return left < right
    if isinstance(op, ast.LtE):
        return left <= right
    return left > right if isinstance(op, ast.Gt) else left >= right


def _comparable(value: Any) -> bool:
    if isinstance(value, (list, tuple, dict, set)):
        return _is_all_plain(value)
    return isinstance(value, _PLAIN)


def _identical(left: Any, right: Any) -> Any:
    if left is UNKNOWN or right is UNKNOWN:
        return UNKNOWN
    if left is None or right is None or isinstance(left, bool) or isinstance(right, bool):
        from mcproof.targets.python_source.values import Called

        if isinstance(left, Called) or isinstance(right, Called):
            return UNKNOWN
        return left is right
    if isinstance(left, EnumMember) and isinstance(right, EnumMember):
        return left.cls is right.cls and left.name == right.name
    if isinstance(left, External) and isinstance(right, External):
        return left == right or UNKNOWN
    return True if left is right else UNKNOWN


def _contains(holder: Any, item: Any) -> Any:
    if isinstance(holder, str) and isinstance(item, str):
        return item in holder
    items = items_of(holder)
    if items is None or not isinstance(item, _PLAIN):
        return UNKNOWN
    plain_items = [bare(each) for each in items]
    places = [index for index, each in enumerate(plain_items) if isinstance(each, _PLAIN) and each == item]
    if places:
        return True if not doubtful_positions(holder).issuperset(places) else UNKNOWN
    if getattr(holder, "incomplete", False) or not all(isinstance(each, (*_PLAIN, Function, Class)) for each in plain_items):
        return UNKNOWN
    return False


def item(value: Any, index: Any) -> Any:
    """`value[index]`."""
    try:
        if isinstance(value, dict) and isinstance(index, (*_PLAIN, tuple)):
            return value.get(index, UNKNOWN)
        if isinstance(value, (list, tuple, str)) and isinstance(index, int) and not getattr(value, "incomplete", False):
            return value[index]
    except (IndexError, TypeError):
        pass
    return UNKNOWN


def sliced(value: Any, bounds: list[Any]) -> Any:
    if isinstance(value, (list, tuple, str)) and all(each is None or isinstance(each, int) for each in bounds):
        try:
            return value[slice(*bounds)]
        except ValueError:
            pass
    return UNKNOWN


def method(value: Any, name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """A call of a method of plain data; changes of lists and dictionaries happen."""
    if isinstance(value, EnumMember):
        value = bare(value)
    if isinstance(value, str):
        return _string_method(value, name, [bare(each) for each in args], kwargs)
    if isinstance(value, dict):
        return _dict_method(value, name, args, kwargs)
    if isinstance(value, list):
        return _list_method(value, name, args)
    return UNKNOWN


def _string_method(value: str, name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
    if name == "format":
        given = [*args, *kwargs.values()]
        if not all(isinstance(each, _PLAIN) for each in given) or any(int(n) > 1000 for n in _numbers(value)):
            return UNKNOWN
        if "." in value and any(f"{{{key}." in value for key in kwargs):
            return UNKNOWN
        try:
            return value.format(*args, **kwargs)
        except Exception:
            return UNKNOWN
    if name not in _STRING_METHODS or kwargs:
        return UNKNOWN
    if name == "join":
        items = items_of(args[0]) if args else None
        if items is None or getattr(args[0], "incomplete", False):
            return UNKNOWN
        args = [[bare(each) for each in items]]
        if not all(isinstance(each, str) for each in args[0]) or sum(map(len, args[0])) > LONGEST:
            return UNKNOWN
    elif not all(isinstance(each, (*_PLAIN, tuple)) for each in args):
        return UNKNOWN
    if name in ("zfill", "expandtabs") and any(isinstance(each, int) and each > 1000 for each in args):
        return UNKNOWN
    if name == "replace" and len(value) * max(1, len(str(args[1])) if len(args) > 1 else 1) > LONGEST:
        return UNKNOWN
    try:
        result = getattr(value, name)(*args)
    except Exception:
        return UNKNOWN
    return PlacedList(result) if isinstance(result, list) else result


def _dict_method(value: dict[Any, Any], name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
    complete = not getattr(value, "incomplete", False)
    if name in ("items", "keys", "values"):
        made = PlacedList(tuple(pair) for pair in value.items()) if name == "items" else PlacedList(getattr(value, name)())
        made.incomplete = not complete
        doubtful = getattr(value, "doubtful", set())
        made.doubtful = {index for index, key in enumerate(value) if key in doubtful} if doubtful else set()
        return made
    if name in ("get", "pop", "setdefault") and args:
        key = bare(args[0])
        if not isinstance(key, (*_PLAIN, tuple)):
            return UNKNOWN
        default = args[1] if len(args) > 1 else None
        if key in value:
            return value.pop(key) if name == "pop" else value[key]
        if name == "setdefault":
            value[key] = default
        return default if complete or name == "setdefault" else UNKNOWN
    if name == "copy":
        return value.copy()
    if name == "update":
        made_dict = value if isinstance(value, PlacedDict) else None
        for other in [*args, kwargs]:
            if isinstance(other, dict) and made_dict is not None:
                made_dict.merge(other)
            elif made_dict is not None:
                made_dict.incomplete = True
        return None
    if name == "clear":
        value.clear()
    elif isinstance(value, PlacedDict) and name != "fromkeys":
        value.incomplete = True
    return UNKNOWN


def _list_method(value: list[Any], name: str, args: list[Any]) -> Any:
    if name in ("append", "add") and args and len(value) < 50_000:
        if name == "append" or not any(args[0] is each or _same(args[0], each) for each in value):
            value.append(args[0])
    elif name in ("extend", "update") and args:
        items = items_of(args[0])
        if items is not None and len(value) + len(items) < 50_000:
            value.extend(items)
        if isinstance(value, PlacedList) and (items is None or getattr(args[0], "incomplete", False)):
            value.incomplete = True
    elif name == "insert" and len(args) == 2 and isinstance(args[0], int):
        value.insert(args[0], args[1])
    elif name == "copy":
        return PlacedList(value)
    elif name in ("reverse", "clear"):
        getattr(value, name)()
    elif name == "pop" and value and not args:
        return value.pop()
    elif name in ("remove", "discard") and args:
        found = next((index for index, each in enumerate(value) if args[0] is each or _same(args[0], each)), None)
        if found is not None:
            del value[found]
    elif name in ("union", "intersection", "difference"):
        return _set_method(value, name, args)
    elif name != "sort":
        if isinstance(value, PlacedList) and name not in ("count", "index", "issubset", "issuperset", "isdisjoint"):
            value.incomplete = True
        return UNKNOWN
    return None


def _set_method(value: list[Any], name: str, args: list[Any]) -> Any:
    others = [items_of(each) for each in args]
    if any(each is None for each in others) or getattr(value, "incomplete", False):
        return UNKNOWN
    theirs = [item for each in others for item in each or ()]
    if not all(isinstance(each, _PLAIN) for each in (*value, *theirs)):
        return UNKNOWN
    if name == "union":
        return PlacedList(dict.fromkeys((*value, *theirs)))
    return PlacedList(each for each in value if (each in theirs) is (name == "intersection"))


def _same(left: Any, right: Any) -> bool:
    return isinstance(left, _PLAIN) and isinstance(right, _PLAIN) and left == right


def builtin(name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """A call of a built-in or of a small pure function of the standard library; UNKNOWN for any other."""
    function = _BUILTINS.get(name)
    if function is None:
        return UNKNOWN
    try:
        return function(*args, **kwargs)
    except Exception:
        return UNKNOWN


def _as_list(value: Any = ()) -> Any:
    items = items_of(value)
    if items is None:
        made = PlacedList()
        made.incomplete = True
        return made
    made = PlacedList(items)
    made.incomplete = getattr(value, "incomplete", False)
    made.doubtful = doubtful_positions(value)
    return made


def _as_tuple(value: Any = ()) -> Any:
    items = items_of(value)
    return UNKNOWN if items is None or getattr(value, "incomplete", False) else tuple(items)


def _as_dict(*args: Any, **kwargs: Any) -> Any:
    made = PlacedDict()
    for value in args:
        if isinstance(value, dict):
            made.merge(value)
        else:
            items = items_of(value)
            pairs = [each for each in items or () if isinstance(each, tuple) and len(each) == 2]
            made.update((key, item) for key, item in pairs if isinstance(key, (str, int)))
            made.incomplete = items is None or len(pairs) != len(items)
    made.merge(kwargs)
    return made


def _sorted(value: Any, **kwargs: Any) -> Any:
    items = items_of(value)
    if items is None:
        return UNKNOWN
    if not kwargs and all(isinstance(each, str) for each in items):
        return PlacedList(sorted(items))
    return PlacedList(items)


def _changed(value: Any, change: Any) -> Any:
    items = items_of(value)
    return UNKNOWN if items is None else PlacedList(change(items))


def _length(value: Any) -> Any:
    items = items_of(value)
    if isinstance(value, str):
        return len(value)
    return UNKNOWN if items is None or getattr(value, "incomplete", False) else len(items)


def _zip(*values: Any, **_: Any) -> Any:
    lists = [items_of(value) for value in values]
    if any(each is None for each in lists):
        return UNKNOWN
    return PlacedList(zip(*(each or [] for each in lists), strict=False))


def _text(value: Any = "") -> Any:
    value = bare(value)
    return str(value) if isinstance(value, _PLAIN) else UNKNOWN


def _truth(value: Any = False) -> Any:
    known = truth(value)
    return UNKNOWN if known is None else known


def _number(kind: Any) -> Any:
    def convert(value: Any = 0) -> Any:
        value = bare(value)
        return kind(value) if isinstance(value, (str, int, float)) and len(str(value)) < 100 else UNKNOWN

    return convert


def _of_strings(function: Any) -> Any:
    def apply(text: Any) -> Any:
        return function(text) if isinstance(text, str) else UNKNOWN

    return apply


def _all_of(decisive: bool) -> Any:
    def apply(value: Any) -> Any:
        items = items_of(value)
        known = [truth(each) for each in items or ()]
        if decisive in known:
            return decisive
        return UNKNOWN if items is None or None in known or getattr(value, "incomplete", False) else not decisive

    return apply


def _extreme(function: Any) -> Any:
    def apply(*values: Any) -> Any:
        given = items_of(values[0]) if len(values) == 1 else list(values)
        if not given or not all(isinstance(each, (int, float)) for each in given):
            return UNKNOWN
        return function(given)

    return apply


def _range(*bounds: Any) -> Any:
    return range(*bounds) if all(isinstance(each, int) for each in bounds) else UNKNOWN


def _dedent(text: Any) -> Any:
    return textwrap.dedent(text) if isinstance(text, str) else UNKNOWN


_BUILTINS: dict[str, Any] = {
    "builtins.list": _as_list,
    "builtins.set": _as_list,
    "builtins.frozenset": _as_list,
    "builtins.tuple": _as_tuple,
    "builtins.dict": _as_dict,
    "collections.OrderedDict": _as_dict,
    "types.MappingProxyType": _as_dict,
    "builtins.sorted": _sorted,
    "builtins.reversed": lambda value: _changed(value, lambda items: items[::-1]),
    "builtins.enumerate": lambda value, start=0: _changed(value, lambda items: list(enumerate(items, start))),
    "builtins.zip": _zip,
    "builtins.len": _length,
    "builtins.str": _text,
    "builtins.repr": lambda value: repr(value) if isinstance(value, _PLAIN) else UNKNOWN,
    "builtins.bool": _truth,
    "builtins.int": _number(int),
    "builtins.float": _number(float),
    "builtins.any": _all_of(True),
    "builtins.all": _all_of(False),
    "builtins.min": _extreme(min),
    "builtins.max": _extreme(max),
    "builtins.sum": _extreme(sum),
    "builtins.range": _range,
    "textwrap.dedent": _dedent,
    "inspect.cleandoc": _of_strings(inspect.cleandoc),
    "copy.deepcopy": lambda value: value.copy() if isinstance(value, (dict, PlacedDict)) else value,
    "copy.copy": lambda value: value.copy() if isinstance(value, (dict, PlacedDict)) else value,
    "typing.cast": lambda _, value: value,
}
