"""Methods of strings, dictionaries, lists, and sets, which are represented by lists."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcproof.core.text.english import word_set
from mcproof.source.python.interp.branches import join
from mcproof.source.python.interp.containers import (
    EXACT,
    Assumed,
    SourceDict,
    SourceList,
    assumed,
    default_of,
    doubtful_positions,
    extent_of,
    is_certain,
)
from mcproof.source.python.interp.operators import (
    LONGEST,
    MOST_ITEMS,
    displayed,
    fits,
    items_of,
    set_algebra,
    unwrapped,
)
from mcproof.source.python.interp.values import PLAIN, UNKNOWN, EnumMember

if TYPE_CHECKING:
    from mcproof.source.python.interp.interpreter import Interpreter

_STRING_METHODS = word_set(
    "capitalize casefold endswith expandtabs find join lower lstrip removeprefix removesuffix replace rstrip "
    "split splitlines startswith strip swapcase title upper zfill count isidentifier isdigit isupper islower "
    "rfind"
)


def method(run: Interpreter, value: Any, name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Call a method of plain data, including its changes to lists and dictionaries."""
    if isinstance(value, EnumMember):
        value = unwrapped(value)
    if isinstance(value, str):
        if name == "format":
            return _format(value, args, kwargs)
        return _string_method(value, name, [unwrapped(argument) for argument in args], kwargs)
    if isinstance(value, dict):
        return _dict_method(run, value, name, args, kwargs)
    if isinstance(value, list):
        return _list_method(value, name, args)
    return UNKNOWN


def _string_method(value: str, name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
    if name not in _STRING_METHODS or kwargs:
        return UNKNOWN
    if name == "join":
        items = items_of(args[0]) if args else None
        if items is None or not is_certain(args[0]):
            return UNKNOWN
        if any(isinstance(item, Assumed) for item in items):
            return assumed(_string_method(value, name, [[default_of(item) for item in items]], kwargs))
        args = [[unwrapped(item) for item in items]]
        if not all(isinstance(item, str) for item in args[0]):
            return UNKNOWN
        if sum(map(len, args[0])) + len(value) * len(args[0]) > LONGEST:
            return UNKNOWN
    elif not all(isinstance(argument, (*PLAIN, tuple)) for argument in args):
        return UNKNOWN
    if name in ("zfill", "expandtabs") and any(isinstance(argument, int) and argument > 1000 for argument in args):
        return UNKNOWN
    if (
        name == "expandtabs"
        and value.count("\t") * max((argument for argument in args if isinstance(argument, int)), default=8) > LONGEST
    ):
        return UNKNOWN
    if name == "replace" and len(value) * max(1, len(str(args[1])) if len(args) > 1 else 1) > LONGEST:
        return UNKNOWN
    try:
        result = getattr(value, name)(*args)
    except Exception:
        return UNKNOWN
    if isinstance(result, str) and len(result) > LONGEST:
        return UNKNOWN
    if isinstance(result, list):
        return SourceList(result) if len(result) <= MOST_ITEMS else UNKNOWN
    return result


def _format(text: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """`text.format(...)`, unless a field accesses parts of a value or has a nested width."""
    from string import Formatter

    if "!" in text and any(isinstance(value, EnumMember) for value in (*args, *kwargs.values())):
        return UNKNOWN
    args, kwargs = [displayed(value) for value in args], {key: displayed(value) for key, value in kwargs.items()}
    given = [*args, *kwargs.values()]
    if not all(isinstance(value, PLAIN) for value in given) or not fits(text, text.count("{"), given):
        return UNKNOWN
    try:
        for _, field, spec, _ in Formatter().parse(text):
            if "{" in (spec or "") or any(mark in (field or "") for mark in ".["):
                return UNKNOWN
        return text.format(*args, **kwargs)
    except Exception:
        return UNKNOWN


def _dict_method(run: Interpreter, value: dict[Any, Any], name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
    complete = extent_of(value) is EXACT
    if name in ("items", "keys", "values"):
        made = (
            SourceList(tuple(pair) for pair in value.items()) if name == "items" else SourceList(getattr(value, name)())
        )
        made.mark_open(not complete)
        made.doubtful = doubtful_positions(value)
        return made
    if name in ("get", "pop", "setdefault") and args:
        key = unwrapped(args[0])
        if not isinstance(key, (*PLAIN, tuple)):
            return UNKNOWN
        default = args[1] if len(args) > 1 else None
        if key in value:
            return _value_of_key(run, value, name, key, default)
        if name == "setdefault":
            value[key] = default
        return default if complete or name == "setdefault" else UNKNOWN
    if name == "copy":
        return value.copy()
    if name == "update":
        made_dict = value if isinstance(value, SourceDict) else None
        for other in [*args, kwargs]:
            if isinstance(other, dict) and made_dict is not None:
                made_dict.merge(other)
            elif made_dict is not None:
                made_dict.mark_open()
        return None
    if name == "clear":
        value.clear()
    elif isinstance(value, SourceDict) and name != "fromkeys":
        value.mark_open()
    return UNKNOWN


def _value_of_key(run: Interpreter, value: dict[Any, Any], name: str, key: Any, default: Any) -> Any:
    """The value of a key, joined with the default if the key is doubtful."""
    found = value[key]
    if isinstance(value, SourceDict) and key in value.doubtful:
        found = join(run, found, default)
        if name != "get":
            value.doubtful.discard(key)
            value[key] = found
    if name == "pop":
        del value[key]
    return found


_MOVING = frozenset(("insert", "reverse", "pop", "remove", "discard"))
"""Methods of a list that move items."""


def _list_method(value: list[Any], name: str, args: list[Any]) -> Any:
    if isinstance(value, SourceList) and name in _MOVING:
        value.nodes = []
        if value.doubtful or value.unordered:
            return _move_in_doubt(value, name, args)
    if name in ("append", "add") and args and len(value) < 50_000:
        if name == "append" or not any(args[0] is item or _are_equal(args[0], item) for item in value):
            value.append(args[0])
    elif name in ("extend", "update") and args:
        items = items_of(args[0])
        if items is not None and len(value) + len(items) < 50_000:
            value.extend(items)
        if isinstance(value, SourceList):
            value.mark_open(items is None or extent_of(args[0]) is not EXACT)
    elif name == "insert" and len(args) == 2 and isinstance(args[0], int):
        value.insert(args[0], args[1])
    elif name == "copy":
        return SourceList(value).inherit_doubt(value, doubtful_positions(value))
    elif name == "clear":
        value.clear()
        if isinstance(value, SourceList):
            value.doubtful, value.extent, value.unordered = set(), EXACT, False
    elif name == "reverse":
        value.reverse()
    elif name == "pop" and value and not args:
        return value.pop()
    elif name in ("remove", "discard") and args:
        found = next((index for index, item in enumerate(value) if args[0] is item or _are_equal(args[0], item)), None)
        if found is not None:
            del value[found]
    elif name in ("union", "intersection", "difference"):
        return set_algebra(value, name, args)
    else:
        if isinstance(value, SourceList) and name not in ("count", "index", "issubset", "issuperset", "isdisjoint"):
            value.mark_open()
        return UNKNOWN
    return None


def _move_in_doubt(value: SourceList, name: str, args: list[Any]) -> Any:
    """Change a list whose contents are uncertain: the positions become unknown."""
    if name == "insert" and len(args) == 2:
        value.append(args[1])
        value.unordered = True
        return None
    if name != "reverse" and len(value.doubtful) < len(value):
        value.doubt_all()
    value.unordered = True
    return None if name in ("reverse", "remove", "discard") else UNKNOWN


def _are_equal(left: Any, right: Any) -> bool:
    return isinstance(left, PLAIN) and isinstance(right, PLAIN) and left == right
