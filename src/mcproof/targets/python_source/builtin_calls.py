"""Built-in functions, and small pure ones of the standard library, on plain data."""

from __future__ import annotations

import inspect
import json
import textwrap
from typing import Any

from mcproof.targets.python_source.plain import LONGEST, PLAIN, bare, doubtful_positions, is_short, items_of
from mcproof.targets.python_source.values import UNKNOWN, PlacedDict, PlacedList, is_known, truth


def builtin(name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """A call of a built-in or of a small pure function of the standard library; UNKNOWN for any other."""
    function = _BUILTINS.get(name)
    if function is None:
        return UNKNOWN
    try:
        result = function(*args, **kwargs)
    except Exception:
        return UNKNOWN
    return UNKNOWN if isinstance(result, str) and len(result) > LONGEST else result


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


def _as_set(value: Any = ()) -> Any:
    """A set as a list in which every text and number stands once."""
    made = _as_list(value)
    plain = [each for each in made if isinstance(each, (str, int, float))]
    if len(plain) != len(made) or len(set(plain)) == len(plain):
        return made
    once = PlacedList(dict.fromkeys(made))
    once.incomplete = made.incomplete
    once.doubtful = {once.index(made[at]) for at in made.doubtful} - {
        once.index(each) for at, each in enumerate(made) if at not in made.doubtful
    }
    return once


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
    backwards = kwargs.get("reverse", False)
    if kwargs.keys() <= {"reverse"} and isinstance(backwards, bool):
        for kind in (str, (int, float)):
            if all(isinstance(each, kind) for each in items):
                return PlacedList(sorted(items, reverse=backwards))
    return PlacedList(items)


def _changed(value: Any, change: Any) -> Any:
    """The items in another shape or order; where one is there only under a condition, all of them may be."""
    items = items_of(value)
    if items is None:
        return UNKNOWN
    made = PlacedList(change(items))
    made.incomplete = getattr(value, "incomplete", False)
    made.doubtful = set(range(len(made))) if doubtful_positions(value) else set()
    return made


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
    return str(value) if isinstance(value, PLAIN) else UNKNOWN


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


def _loads(text: Any, **_: Any) -> Any:
    """What a JSON text holds, as data that knows no places."""
    return placed(json.loads(text)) if isinstance(text, str) else UNKNOWN


def placed(value: Any) -> Any:
    """Plain data with the containers that everything here expects."""
    if isinstance(value, dict):
        return PlacedDict((key, placed(item)) for key, item in value.items())
    return PlacedList(placed(item) for item in value) if isinstance(value, list) else value


def _dumps(value: Any, **options: Any) -> Any:
    """A JSON text, where every option is known and none makes it grow without end."""
    for key, option in options.items():
        if key not in ("indent", "sort_keys", "ensure_ascii") or not isinstance(option, (int, type(None))):
            return UNKNOWN
    indent = options.get("indent") or 0
    if indent > 16 or not is_short(value, indent) or not is_known(value):
        return UNKNOWN
    return json.dumps(value, **options)


def _shallow(value: Any) -> Any:
    if isinstance(value, PlacedList):
        made = PlacedList(value, value.module)
        made.nodes, made.incomplete, made.doubtful = list(value.nodes), value.incomplete, set(value.doubtful)
        return made
    return value.copy() if isinstance(value, dict) else value


def _copied(value: Any, depth: int = 0) -> Any:
    """A copy all the way down, so that a change of one leaves the other alone."""
    if depth > 40:
        return UNKNOWN
    if isinstance(value, PlacedDict):
        made = value.copy()
        for key, item in value.items():
            made[key] = _copied(item, depth + 1)
        return made
    if isinstance(value, PlacedList):
        copy = PlacedList((_copied(item, depth + 1) for item in value), value.module)
        copy.nodes, copy.incomplete, copy.doubtful = value.nodes, value.incomplete, set(value.doubtful)
        return copy
    return value


def _range(*bounds: Any) -> Any:
    return range(*bounds) if all(isinstance(each, int) for each in bounds) else UNKNOWN


def _dedent(text: Any) -> Any:
    return textwrap.dedent(text) if isinstance(text, str) else UNKNOWN


_BUILTINS: dict[str, Any] = {
    "builtins.list": _as_list,
    "builtins.set": _as_set,
    "builtins.frozenset": _as_set,
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
    "builtins.repr": lambda value: repr(value) if isinstance(value, PLAIN) else UNKNOWN,
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
    "copy.deepcopy": _copied,
    "json.loads": _loads,
    "json.dumps": _dumps,
    "copy.copy": _shallow,
    "typing.cast": lambda _, value: value,
}


NAMES = frozenset(
    (
        "str", "int", "float", "bool", "bytes", "list", "dict", "tuple", "set", "frozenset", "type", "object",
        "None", "len", "sorted", "reversed", "enumerate", "zip", "range", "any", "all", "min", "max", "sum",
        "repr", "getattr", "setattr", "hasattr", "isinstance", "issubclass", "callable", "property",
        "staticmethod", "classmethod", "super", "globals", "locals", "vars", "dir", "map", "filter", "print",
        "open", "iter", "next", "exit", "quit", "abs", "round", "Exception", "ValueError", "TypeError",
        "RuntimeError", "KeyError", "ImportError", "OSError", "AttributeError", "NotImplementedError",
        "Ellipsis", "complex", "bytearray",
    )
)  # fmt: skip
"""The names that Python itself defines, as far as they matter here."""
