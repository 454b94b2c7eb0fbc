"""Built-in functions, pure functions of the standard library, and methods, called with plain data.

Sets are represented by lists.
"""

from __future__ import annotations

import inspect
import json
import textwrap
from typing import TYPE_CHECKING, Any

from mcproof.core.text.english import word_set
from mcproof.source.python.interp.branches import join
from mcproof.source.python.interp.containers import (
    EXACT,
    MOST_VALUES_KNOWN,
    Assumed,
    SourceDict,
    SourceList,
    assumed,
    default_of,
    doubtful_positions,
    extent_of,
    has_doubt,
    is_certain,
    is_known,
    truth,
)
from mcproof.source.python.interp.operators import (
    LONGEST,
    MOST_ITEMS,
    displayed,
    fits,
    is_short,
    items_of,
    set_algebra,
    unwrapped,
)
from mcproof.source.python.interp.values import PLAIN, UNKNOWN, EnumMember

if TYPE_CHECKING:
    from mcproof.source.python.interp.interpreter import Interpreter


def builtin(name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Call a built-in or a pure function of the standard library; UNKNOWN for any other."""
    # A table of names, not the functions themselves: nothing that a source mentions is ever called by chance.
    function = BUILTINS.get(name)
    if function is None:
        return UNKNOWN
    try:
        # Wrong arguments raise here as they would there; then the value is unknown, and the run goes on.
        result = function(*args, **kwargs)
    except Exception:
        return UNKNOWN
    return UNKNOWN if isinstance(result, str) and len(result) > LONGEST else result


def _as_list(value: Any = ()) -> Any:
    items = items_of(value)
    if items is None:
        listed = SourceList()
        listed.mark_open()
        return listed
    return SourceList(items).inherit_doubt(value, doubtful_positions(value))


def _as_set(value: Any = ()) -> Any:
    """A set as a list without duplicate strings and numbers."""
    members = _as_list(value)
    members.unordered = True
    # What cannot be compared may be equal, so nothing is dropped from a set of such values.
    comparable = [item for item in members if isinstance(item, (str, int, float))]
    if len(comparable) != len(members) or len(set(comparable)) == len(comparable):
        return members
    once = SourceList(dict.fromkeys(members))
    once.extent, once.unordered = members.extent, True
    once.doubtful = {once.index(members[index]) for index in members.doubtful} - {
        once.index(item) for index, item in enumerate(members) if index not in members.doubtful
    }
    return once


def _as_tuple(value: Any = ()) -> Any:
    members = _as_list(value)
    return tuple(members) if is_certain(members) else members or UNKNOWN


def _as_dict(*args: Any, **kwargs: Any) -> Any:
    members = SourceDict()
    for value in args:
        if isinstance(value, dict):
            members.merge(value)
        else:
            items = items_of(value)
            pairs = [item for item in items or () if isinstance(item, tuple) and len(item) == 2]
            members.update((key, item) for key, item in pairs if isinstance(key, (str, int)))
            # Left out, not guessed: an open dictionary says that there may be more keys.
            members.mark_open(items is None or len(pairs) != len(items) or extent_of(value) is not EXACT)
            if doubtful_positions(value):
                members.doubtful |= set(members)
    members.merge(kwargs)
    return members


def _from_keys(keys: Any, value: Any = None) -> Any:
    items, doubtful = _as_list(keys), doubtful_positions(keys)
    members = SourceDict()
    members.mark_open(items.extent is not EXACT or not all(isinstance(key, (str, int)) for key in items))
    sure = {key for index, key in enumerate(items) if index not in doubtful and isinstance(key, (str, int))}
    for key in items:
        if isinstance(key, (str, int)):
            members.setdefault(key, value)
    members.doubtful = set(members) - sure
    return members


def _changed(value: Any, change: Any) -> Any:
    """The items in another form or order; if one of them is doubtful, all become doubtful."""
    items = items_of(value)
    if items is None:
        return UNKNOWN
    changed = SourceList(change(items))
    return changed.inherit_doubt(value, range(len(changed)) if doubtful_positions(value) else ())


def _length(value: Any) -> Any:
    items = items_of(value)
    if isinstance(value, str):
        return len(value)
    return UNKNOWN if items is None or has_doubt(value) else len(items)


def _zip(*values: Any, **_: Any) -> Any:
    lists = [items_of(value) for value in values]
    if any(items is None for items in lists):
        return UNKNOWN
    # `strict=False`, as in the source: what is longer is cut off there, too.
    tuples = SourceList(zip(*(items or [] for items in lists), strict=False))
    for value in values:
        tuples.inherit_doubt(value, range(len(tuples)) if doubtful_positions(value) else ())
    return tuples


def _text(value: Any = "") -> Any:
    value = displayed(value)
    return str(value) if isinstance(value, PLAIN) else UNKNOWN


def _truth(value: Any = False) -> Any:
    is_true = truth(value)
    return UNKNOWN if is_true is None else is_true


def _number(kind: Any) -> Any:
    def convert(value: Any = 0) -> Any:
        value = unwrapped(value)
        # `int` of a long text takes quadratic time.
        return kind(value) if isinstance(value, (str, int, float)) and len(str(value)) < 100 else UNKNOWN

    return convert


def _of_strings(function: Any) -> Any:
    def apply(text: Any) -> Any:
        return function(text) if isinstance(text, str) else UNKNOWN

    return apply


def _all_of(decisive: bool) -> Any:
    def apply(value: Any) -> Any:
        items = items_of(value)
        doubtful = doubtful_positions(value)
        outcomes = [truth(item) for item in items or ()]
        # One certain item decides, whatever is unknown about the others.
        if any(outcome is decisive for index, outcome in enumerate(outcomes) if index not in doubtful):
            return decisive
        is_unsure = None in outcomes or decisive in outcomes or extent_of(value) is not EXACT
        return UNKNOWN if items is None or is_unsure else not decisive

    return apply


def _extreme(function: Any) -> Any:
    def apply(*values: Any) -> Any:
        given = items_of(values[0]) if len(values) == 1 else list(values)
        is_unsure = len(values) == 1 and has_doubt(values[0])
        if not given or is_unsure or not all(isinstance(number, (int, float)) for number in given):
            return UNKNOWN
        return function(given)

    return apply


def _placed(value: Any) -> Any:
    """Parsed JSON in the container classes of the interpreter, without source locations."""
    if isinstance(value, dict):
        return SourceDict((key, _placed(item)) for key, item in value.items())
    return SourceList(map(_placed, value)) if isinstance(value, list) else value


def _dumps(value: Any, **options: Any) -> Any:
    """Format JSON, if all options are known and the result stays short."""
    for key, option in options.items():
        if key not in ("indent", "sort_keys", "ensure_ascii") or not isinstance(option, (int, type(None))):
            return UNKNOWN
    indent = options.get("indent") or 0
    # Indentation multiplies with depth: a short value could become a text of gigabytes.
    if indent > 16 or not is_known(value) or not is_short(value, indent) or not is_certain(value):
        return UNKNOWN
    return json.dumps(value, **options)


def _shallow(value: Any) -> Any:
    if isinstance(value, SourceList):
        copy = SourceList(value, value.module)
        copy.nodes = list(value.nodes)
        return copy.inherit_doubt(value, value.doubtful)
    return value.copy() if isinstance(value, dict) else value


def _copied(value: Any, depth: int = 0, done: dict[int, Any] | None = None) -> Any:
    """A deep copy, in which shared parts stay shared."""
    if not isinstance(value, (SourceDict, SourceList)):
        return value
    done = {} if done is None else done
    # A value may contain itself, or the same part a thousand times.
    if depth > 40 or id(value) in done or len(done) > MOST_VALUES_KNOWN:
        return done.get(id(value), UNKNOWN)
    copy = done[id(value)] = _shallow(value)
    for key, item in list(copy.items() if isinstance(copy, dict) else enumerate(copy)):
        copy[key] = _copied(item, depth + 1, done)
    return copy


BUILTINS: dict[str, Any] = {
    "builtins.list": _as_list,
    "builtins.set": _as_set,
    "builtins.frozenset": _as_set,
    "builtins.tuple": _as_tuple,
    "builtins.dict": _as_dict,
    "collections.OrderedDict": _as_dict,
    "types.MappingProxyType": _as_dict,
    "builtins.dict.fromkeys": _from_keys,
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
    "builtins.range": lambda *bounds: range(*bounds) if all(isinstance(bound, int) for bound in bounds) else UNKNOWN,
    "textwrap.dedent": _of_strings(textwrap.dedent),
    "inspect.cleandoc": _of_strings(inspect.cleandoc),
    "copy.deepcopy": _copied,
    "json.loads": lambda text, **_: _placed(json.loads(text)) if isinstance(text, str) else UNKNOWN,
    "json.dumps": _dumps,
    "copy.copy": _shallow,
    "typing.cast": lambda _, value: value,
}


DEEP = frozenset(("copy.deepcopy", "json.dumps"))
"""Functions that process nested data."""
NAMES = word_set(
    "str int float bool bytes list dict tuple set frozenset type object None len sorted reversed enumerate zip "
    "range any all min max sum repr getattr setattr hasattr isinstance issubclass callable property staticmethod "
    "classmethod super globals locals vars dir map filter print open iter next exit quit abs round Exception "
    "ValueError TypeError RuntimeError KeyError ImportError OSError AttributeError NotImplementedError Ellipsis "
    "complex bytearray"
)
"""The relevant built-in names of Python."""


_STRING_METHODS = word_set(
    "capitalize casefold count endswith expandtabs find isdigit isidentifier islower isupper join lower lstrip "
    "partition removeprefix removesuffix replace rfind rpartition rsplit rstrip split splitlines startswith strip "
    "swapcase title upper zfill"
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
    # These methods make long texts of short ones, so the length is checked before and not after.
    widest = max((argument for argument in args if isinstance(argument, int)), default=8)
    if name in ("zfill", "expandtabs") and widest > 1000:
        return UNKNOWN
    if name == "expandtabs" and value.count("\t") * widest > LONGEST:
        return UNKNOWN
    if name == "replace" and len(value) * max(1, len(str(args[1])) if len(args) > 1 else 1) > LONGEST:
        return UNKNOWN
    try:
        result = getattr(value, name)(*args)
    except Exception:  # wrong arguments raise in the program, too, so there is no value
        return UNKNOWN
    if isinstance(result, str) and len(result) > LONGEST:
        return UNKNOWN
    if isinstance(result, list):
        return SourceList(result) if len(result) <= MOST_ITEMS else UNKNOWN
    return result


def _format(text: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """`text.format(...)`, unless a field accesses parts of a value or has a nested width."""
    from string import Formatter

    # `{value!r}` shows the name of a member, which depends on the version of Python.
    if "!" in text and any(isinstance(value, EnumMember) for value in (*args, *kwargs.values())):
        return UNKNOWN
    args, kwargs = [displayed(value) for value in args], {key: displayed(value) for key, value in kwargs.items()}
    given = [*args, *kwargs.values()]
    if not all(isinstance(value, PLAIN) for value in given) or not fits(text, text.count("{"), given):
        return UNKNOWN
    try:
        for _, field, spec, _ in Formatter().parse(text):
            # A field may read attributes, and through them all that Python has loaded.
            if "{" in (spec or "") or any(sign in (field or "") for sign in ".["):
                return UNKNOWN
        return text.format(*args, **kwargs)
    except Exception:
        return UNKNOWN


def _dict_method(run: Interpreter, value: dict[Any, Any], name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
    complete = extent_of(value) is EXACT
    if name in ("items", "keys", "values"):
        listing = SourceList(getattr(value, name)())
        listing.mark_open(not complete)
        listing.doubtful = doubtful_positions(value)
        return listing
    if name in ("get", "pop", "setdefault") and args:
        key = unwrapped(args[0])
        if not isinstance(key, (*PLAIN, tuple)):
            return UNKNOWN
        default = args[1] if len(args) > 1 else None
        if key in value:
            return _value_of_key(run, value, name, key, default)
        if name == "setdefault":
            value[key] = default
        # The missing key of an open dictionary may be one of those that are not known.
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
    member = value[key]
    if isinstance(value, SourceDict) and key in value.doubtful:
        # Both are possible: the value if the key is there, else the default.
        member = join(run, member, default)
        if name != "get":
            value.doubtful.discard(key)
            value[key] = member
    if name == "pop":
        del value[key]
    return member


_MOVING = frozenset(("insert", "reverse", "pop", "remove", "discard"))
"""Methods of a list that move items."""


def _list_method(value: list[Any], name: str, args: list[Any]) -> Any:
    # The places of items in the source are kept by position, which is about to change.
    if isinstance(value, SourceList) and name in _MOVING:
        value.nodes = []
        if value.doubtful or value.unordered:
            return _move_in_doubt(value, name, args)
    if name in ("append", "add") and args and len(value) < 50_000:
        # `add` is that of a set, which is a list here.
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
        position = next(
            (index for index, item in enumerate(value) if args[0] is item or _are_equal(args[0], item)), None
        )
        if position is not None:
            del value[position]
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
