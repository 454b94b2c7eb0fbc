"""Methods of arrays, strings and the other values of the language."""

from __future__ import annotations

import math
import re
from functools import cmp_to_key
from typing import TYPE_CHECKING, Any

from mcproof.source.javascript.interp.functions import JsFunction, NativeFunction
from mcproof.source.javascript.interp.interpreter import (
    LONGEST_TEXT,
    MOST_ITEMS,
    MOST_ITERATIONS,
    either,
    over_options,
)
from mcproof.source.javascript.interp.members import call_value, items_of, property_key
from mcproof.source.javascript.interp.operators import (
    joined,
    number_of_value,
    number_text,
    strictly_equal,
    text_of,
    truth,
)
from mcproof.source.javascript.values import (
    ABSENT,
    UNDEFINED,
    JsArray,
    JsObject,
    JsPromise,
    JsRegExp,
    Unknown,
    maybe,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcproof.source.javascript.interp.interpreter import Interpreter
    from mcproof.source.javascript.values import Value

    Method = Callable[[Interpreter, Any, list[Value]], Value]

METHODS: dict[str, dict[str, Method]] = {
    name: {} for name in ("Array", "String", "Number", "RegExp", "Promise", "Function", "Object", "Map", "Set")
}


def method_of(run: Interpreter, kind: str, name: str) -> Value:
    """A method of a kind of value; undefined if there is none."""
    method = METHODS[kind].get(name) or METHODS["Object"].get(name)
    if method is None:
        return UNDEFINED
    return native_method(run, kind, name, method)


_TYPES: dict[str, Any] = {
    "Array": JsArray,
    "String": str,
    "RegExp": JsRegExp,
    "Promise": JsPromise,
    "Number": (int, float),
}


_WITH_FUNCTION = frozenset(("every", "filter", "flatMap", "forEach", "map", "reduce", "reduceRight", "some"))
"""Methods that call a function for each item, as often as a loop is followed."""


def native_method(run: Interpreter, kind: str, name: str, method: Method) -> NativeFunction:
    """A method as a function, which a program may call on anything."""

    def use(this: Value, given: list[Value]) -> Value:
        is_own = name in METHODS[kind]
        fits = isinstance(this, _TYPES.get(kind, object)) and (
            kind not in ("Map", "Set") or (isinstance(this, JsObject) and isinstance(this.native, Collection))
        )
        if isinstance(this, Unknown) or (is_own and not fits):
            return Unknown(f"what `{name}` is called on is not known")
        if name in _WITH_FUNCTION and isinstance(this, JsArray) and len(this.items) > MOST_ITERATIONS:
            this = JsArray(this.items[:MOST_ITERATIONS], is_open=True)
        return method(run, this, given)

    return NativeFunction(name, use)


def object_member(run: Interpreter, value: JsObject, name: str) -> Value:
    """A member that every object, function, map or error has."""
    if isinstance(value, (JsFunction, NativeFunction)):
        if name == "name":
            return value.name
        if name == "length":
            return Unknown("how many parameters a function has is not known")
        return method_of(run, "Function", name)
    kind = getattr(value.native, "kind", "Object")
    if name == "size" and kind in ("Map", "Set"):
        is_sure = not value.is_open and not any(_may_lack(item) for item in value.native.entries.values())
        return len(value.native.entries) if is_sure else Unknown("the size of a collection is not known")
    if name == "__proto__":
        return value.proto if value.proto is not None else UNDEFINED
    return method_of(run, kind, name) if kind in METHODS else method_of(run, "Object", name)


def _method(kind: str, *names: str) -> Callable[[Method], Method]:
    def register(method: Method) -> Method:
        for name in names:
            METHODS[kind][name] = method
        return method

    return register


def argument(given: list[Value], number: int) -> Value:
    return given[number] if number < len(given) else UNDEFINED


def _may_lack(item: Value) -> bool:
    return isinstance(item, Unknown) and any(option is ABSENT for option in item.options)


def _present(item: Value) -> Value:
    """An item that may be missing, as it is if it is there."""
    if _may_lack(item):
        rest = tuple(option for option in item.options if option is not ABSENT)
        return rest[0] if len(rest) == 1 and not item.is_default else Unknown(item.reason, rest, item.is_default)
    return item


def _calls(run: Interpreter, function: Value, item: Value, index: int, array: JsArray) -> Value:
    result = call_value(run, function, UNDEFINED, [_present(item), index, array], None)
    return maybe(result, item.reason) if _may_lack(item) else result


# Arrays


@_method("Array", "map")
def _map(run: Interpreter, this: JsArray, given: list[Value]) -> Value:
    function = argument(given, 0)
    items = [_calls(run, function, item, index, this) for index, item in enumerate(list(this.items))]
    if this.is_open and not items:
        call_value(run, function, UNDEFINED, [Unknown("the items of a list are not known"), 0, this], None)
    return JsArray(items, is_open=this.is_open)


@_method("Array", "forEach")
def _for_each(run: Interpreter, this: JsArray, given: list[Value]) -> Value:
    function = argument(given, 0)
    for number, item in enumerate(list(this.items)):
        if _may_lack(item):
            side = lambda item=item, number=number: _nothing(  # noqa: E731
                call_value(run, function, UNDEFINED, [_present(item), number, this], None)
            )
            run.alternatives(id(item), item, [side, lambda: None], None)
        else:
            call_value(run, function, UNDEFINED, [item, number, this], None)
    if this.is_open:
        unknown = Unknown("the items of a list are not known")
        run.alternatives(
            id(this),
            unknown,
            [lambda: _nothing(call_value(run, function, UNDEFINED, [unknown, 0, this], None)), lambda: None],
            None,
        )
    return UNDEFINED


def _nothing(_: Value) -> None:
    return None


@_method("Array", "filter")
def _filter(run: Interpreter, this: JsArray, given: list[Value]) -> Value:
    items: list[Value] = []
    for number, item in enumerate(list(this.items)):
        result = call_value(run, argument(given, 0), UNDEFINED, [_present(item), number, this], None)
        holds = truth(result)
        if holds:
            items.append(item)
        elif holds is None:
            items.append(maybe(item, result.reason if isinstance(result, Unknown) else "a filter is not settled"))
    return JsArray(items, is_open=this.is_open)


@_method("Array", "find", "findLast")
def _find(run: Interpreter, this: JsArray, given: list[Value]) -> Value:
    possible: list[Value] = []
    for number, item in enumerate(list(this.items)):
        holds = truth(call_value(run, argument(given, 0), UNDEFINED, [_present(item), number, this], None))
        if holds is not False:
            possible.append(_present(item))
        if holds and not _may_lack(item):
            break
    else:
        possible.append(Unknown("the items of a list are not known") if this.is_open else UNDEFINED)
    return either(possible, "which item is found is not settled")


@_method("Array", "findIndex", "indexOf", "lastIndexOf", "findLastIndex")
def _find_index(run: Interpreter, this: JsArray, given: list[Value]) -> Value:
    wanted = argument(given, 0)
    for number, item in enumerate(list(this.items)):
        if getattr(wanted, "is_callable", False):
            holds = truth(call_value(run, wanted, UNDEFINED, [_present(item), number, this], None))
        else:
            holds = truth(strictly_equal(item, wanted))
        if holds is None or _may_lack(item):
            return Unknown("which item is found is not settled")
        if holds:
            return number
    return Unknown("the items of a list are not known") if this.is_open else -1


def _quantified(is_any: bool) -> Method:
    def method(run: Interpreter, this: JsArray, given: list[Value]) -> Value:
        unsettled: Unknown | None = Unknown("the items of a list are not known") if this.is_open else None
        for number, item in enumerate(list(this.items)):
            result = call_value(run, argument(given, 0), UNDEFINED, [_present(item), number, this], None)
            holds = truth(result)
            if holds is is_any and not _may_lack(item):
                return is_any
            if holds is None or (holds is is_any and _may_lack(item)):
                unsettled = result if isinstance(result, Unknown) else Unknown("a condition is not settled")
        return Unknown(unsettled.reason) if unsettled is not None else not is_any

    return method


METHODS["Array"]["some"], METHODS["Array"]["every"] = _quantified(True), _quantified(False)


@_method("Array", "includes")
def _includes(run: Interpreter, this: JsArray, given: list[Value]) -> Value:
    unsettled = Unknown("the items of a list are not known") if this.is_open else None
    for item in this.items:
        equal = strictly_equal(_present(item), argument(given, 0))
        if equal is True and not _may_lack(item):
            return True
        if equal is not False:
            unsettled = equal if isinstance(equal, Unknown) else Unknown("the items of a list are not known")
    return unsettled if unsettled is not None else False


@_method("Array", "reduce", "reduceRight")
def _reduce(run: Interpreter, this: JsArray, given: list[Value]) -> Value:
    items = list(this.items)
    if len(given) < 2 and not items:
        return Unknown("the items of a list are not known")
    result = given[1] if len(given) > 1 else items.pop(0)
    for number, item in enumerate(items):
        result = call_value(run, argument(given, 0), UNDEFINED, [result, _present(item), number, this], None)
    if this.is_open:
        return result if isinstance(result, (JsArray, JsObject)) else Unknown("the items of a list are not known")
    return result


@_method("Array", "push")
def _push(run: Interpreter, this: JsArray, given: list[Value]) -> Value:
    run.will_change(this)
    if len(this.items) + len(given) > MOST_ITEMS:
        this.is_open = True
    else:
        this.items = [*this.items, *given]
    return len(this.items)


@_method("Array", "unshift")
def _unshift(run: Interpreter, this: JsArray, given: list[Value]) -> Value:
    run.will_change(this)
    this.items = [*given, *this.items]
    return len(this.items)


@_method("Array", "pop")
def _pop(run: Interpreter, this: JsArray, given: list[Value]) -> Value:
    run.will_change(this)
    *this.items, last = this.items or [Unknown("this item is not known") if this.is_open else UNDEFINED]
    return _present(last)


@_method("Array", "shift")
def _shift(run: Interpreter, this: JsArray, given: list[Value]) -> Value:
    run.will_change(this)
    first, *this.items = this.items or [Unknown("this item is not known") if this.is_open else UNDEFINED]
    return _present(first)


@_method("Array", "splice")
def _splice(run: Interpreter, this: JsArray, given: list[Value]) -> Value:
    run.will_change(this)
    start, count = argument(given, 0), argument(given, 1) if len(given) > 1 else len(this.items)
    if not isinstance(start, int) or not isinstance(count, int):
        this.items = [maybe(item, "what is removed from a list is not known") for item in this.items]
        return JsArray([], is_open=True)
    begin = max(len(this.items) + start, 0) if start < 0 else start
    removed = this.items[begin : begin + max(count, 0)]
    this.items = [*this.items[:begin], *given[2:], *this.items[begin + max(count, 0) :]]
    return JsArray(removed)


@_method("Array", "concat")
def _concat(run: Interpreter, this: JsArray, given: list[Value]) -> Value:
    items, is_open = list(this.items), this.is_open
    for value in given:
        if isinstance(value, (JsArray, Unknown)):
            more, more_open = items_of(run, value)
            items, is_open = items + more, is_open or more_open
        else:
            items.append(value)
    run.charge(len(items) // 8)
    return JsArray(items[:MOST_ITEMS], is_open=is_open or len(items) > MOST_ITEMS)


@_method("Array", "slice")
def _slice(run: Interpreter, this: JsArray, given: list[Value]) -> Value:
    start, end = argument(given, 0), argument(given, 1)
    bounds = [None if bound is UNDEFINED else bound for bound in (start, end)]
    if any(bound is not None and not isinstance(bound, int) for bound in bounds):
        return JsArray([maybe(item, "which part of a list is not known") for item in this.items], is_open=this.is_open)
    return JsArray(this.items[bounds[0] : bounds[1]], is_open=this.is_open)


@_method("Array", "flat", "flatMap")
def _flat(run: Interpreter, this: JsArray, given: list[Value]) -> Value:
    source = _map(run, this, given) if getattr(argument(given, 0), "is_callable", False) else this
    items: list[Value] = []
    is_open = source.is_open
    for item in source.items:
        if isinstance(item, (JsArray, Unknown)):
            more, more_open = items_of(run, item)
            items, is_open = items + more, is_open or more_open
        else:
            items.append(item)
    return JsArray(items, is_open=is_open)


@_method("Array", "join", "toString")
def _join(run: Interpreter, this: JsArray, given: list[Value]) -> Value:
    separator = argument(given, 0)
    run.charge(len(this.items) // 8)
    return joined(this, "," if separator is UNDEFINED else str(text_of(separator)))


@_method("Array", "reverse", "toReversed")
def _reverse(run: Interpreter, this: JsArray, given: list[Value]) -> Value:
    run.will_change(this)
    this.items = this.items[::-1]
    return this


@_method("Array", "sort", "toSorted")
def _sort(run: Interpreter, this: JsArray, given: list[Value]) -> Value:
    run.will_change(this)
    function = argument(given, 0)
    is_known = True

    def compare(left: Value, right: Value) -> int:
        nonlocal is_known
        if function is UNDEFINED:
            first, second = text_of(left), text_of(right)
            is_known = is_known and isinstance(first, str) and isinstance(second, str)
            return (str(first) > str(second)) - (str(first) < str(second))
        result = number_of_value(call_value(run, function, UNDEFINED, [left, right], None))
        if isinstance(result, Unknown) or math.isnan(result):
            is_known = False
            return 0
        return (result > 0) - (result < 0)

    ordered = sorted(this.items, key=cmp_to_key(compare))
    if is_known:
        this.items = ordered
    return this


@_method("Array", "at")
def _at(run: Interpreter, this: Any, given: list[Value]) -> Value:
    at = argument(given, 0)
    items = this.items if isinstance(this, JsArray) else this
    if isinstance(at, int) and -len(items) <= at < len(items):
        return _present(items[at])
    return UNDEFINED if isinstance(at, int) else Unknown("which item is used is not known")


METHODS["String"]["at"] = METHODS["String"]["charAt"] = _at


@_method("Array", "fill")
def _fill(run: Interpreter, this: JsArray, given: list[Value]) -> Value:
    run.will_change(this)
    this.items = [argument(given, 0) for _ in this.items]
    return this


@_method("Array", "entries")
def _entries(run: Interpreter, this: JsArray, given: list[Value]) -> Value:
    return JsArray([JsArray([number, item]) for number, item in enumerate(this.items)], is_open=this.is_open)


@_method("Array", "keys")
def _keys(run: Interpreter, this: JsArray, given: list[Value]) -> Value:
    return JsArray(list(range(len(this.items))), is_open=this.is_open)


METHODS["Array"]["values"] = lambda run, this, given: this

# Strings

_LONGEST_SEARCHED = 20_000


def expression_of(pattern: JsRegExp) -> re.Pattern[str] | None:
    """A regular expression for Python; None if it may mean something else there, or take exponential time."""
    source = pattern.source
    quantified = len(re.findall(r"(?<!\\)[*+]|\{\d+,\d*\}", source))
    if len(source) > 200 or quantified > 3 or re.search(r"\)[*+{]|\(\?<|\\[pPkcu\d]|\[\^?\]", source):
        return None
    flags = (re.IGNORECASE if "i" in pattern.flags else 0) | (re.MULTILINE if "m" in pattern.flags else 0)
    try:
        return re.compile(
            source.replace("\\/", "/").replace("$", r"\Z") if "m" not in pattern.flags else source,
            flags | (re.DOTALL if "s" in pattern.flags else 0) | re.ASCII,
        )
    except (re.error, OverflowError, RecursionError):
        return None


_UNKNOWN_TEXT = Unknown("what a regular expression matches is not known")


@_method("String", "replace", "replaceAll")
def _replace(run: Interpreter, this: str, given: list[Value]) -> Value:
    pattern, new = argument(given, 0), argument(given, 1)
    run.charge(1 + len(this) // 100)
    if isinstance(pattern, JsRegExp):
        found = expression_of(pattern)
        if found is None or len(this) > _LONGEST_SEARCHED:
            return _UNKNOWN_TEXT
        is_all = "g" in pattern.flags
        failed: list[Unknown] = []

        def substitute(match: re.Match[str]) -> str:
            if getattr(new, "is_callable", False):
                groups = [UNDEFINED if group is None else group for group in match.groups()]
                made = text_of(call_value(run, new, UNDEFINED, [match[0], *groups, match.start()], None))
            else:
                made = text_of(new)
                if isinstance(made, str) and "$" in made:
                    made = _substituted(made, match)
            if isinstance(made, Unknown):
                failed.append(made)
                return ""
            return made

        result = found.sub(substitute, this, count=0 if is_all else 1)
        return failed[0] if failed else result
    old = text_of(pattern)
    if isinstance(old, Unknown):
        return old
    text = text_of(call_value(run, new, UNDEFINED, [old], None)) if getattr(new, "is_callable", False) else text_of(new)
    return text if isinstance(text, Unknown) else this.replace(old, text.replace("$$", "$"), 1)


def _substituted(text: str, match: re.Match[str]) -> str:
    def part(reference: re.Match[str]) -> str:
        name = reference[1]
        if name == "&":
            return match[0]
        if name == "$":
            return "$"
        number = int(name)
        return (match[number] or "") if 0 < number <= len(match.groups()) else reference[0]

    return re.sub(r"\$(\$|&|\d)", part, text)


def _replace_all(run: Interpreter, this: str, given: list[Value]) -> Value:
    pattern, new = argument(given, 0), argument(given, 1)
    if isinstance(pattern, str) and isinstance(new, str) and len(this) * (len(new) + 1) < LONGEST_TEXT * 4:
        return this.replace(pattern, new)
    return _replace(run, this, given)


METHODS["String"]["replaceAll"] = _replace_all


@_method("String", "split")
def _split(run: Interpreter, this: str, given: list[Value]) -> Value:
    separator = argument(given, 0)
    run.charge(1 + len(this) // 100)
    if separator is UNDEFINED:
        return JsArray([this])
    if isinstance(separator, JsRegExp):
        found = expression_of(separator)
        if found is None or len(this) > _LONGEST_SEARCHED:
            return JsArray([], is_open=True)
        return JsArray([UNDEFINED if part is None else part for part in found.split(this)])
    text = text_of(separator)
    if isinstance(text, Unknown):
        return JsArray([], is_open=True)
    parts: list[Value] = [*this.split(text)] if text else [*this]
    return JsArray(parts[:MOST_ITEMS])


@_method("String", "matchAll", "search")
def _searched(run: Interpreter, this: str, given: list[Value]) -> Value:
    return _UNKNOWN_TEXT


@_method("String", "charCodeAt", "codePointAt")
def _code(run: Interpreter, this: str, given: list[Value]) -> Value:
    at = argument(given, 0)
    at = 0 if at is UNDEFINED else at
    return ord(this[at]) if isinstance(at, int) and 0 <= at < len(this) else math.nan


@_method("String", "match")
def _match(run: Interpreter, this: str, given: list[Value]) -> Value:
    pattern = argument(given, 0)
    found = expression_of(pattern) if isinstance(pattern, JsRegExp) else None
    if found is None or len(this) > _LONGEST_SEARCHED:
        return _UNKNOWN_TEXT
    if "g" in pattern.flags:
        parts: list[Value] = [match[0] for match in found.finditer(this)]
        return JsArray(parts) if parts else None
    match = found.search(this)
    return None if match is None else JsArray([match[0], *(UNDEFINED if g is None else g for g in match.groups())])


@_method("RegExp", "test")
def _test(run: Interpreter, this: JsRegExp, given: list[Value]) -> Value:
    text, found = text_of(argument(given, 0)), expression_of(this)
    if isinstance(text, Unknown) or found is None or len(text) > _LONGEST_SEARCHED:
        return Unknown("what a regular expression matches is not known")
    return found.search(text) is not None


@_method("RegExp", "exec")
def _exec(run: Interpreter, this: JsRegExp, given: list[Value]) -> Value:
    text = argument(given, 0)
    if "g" in this.flags or not isinstance(text, str):
        return _UNKNOWN_TEXT
    return _match(run, text, [this])


def _part(clamps: bool) -> Method:
    def method(run: Interpreter, this: str, given: list[Value]) -> Value:
        bounds = [number_of_value(bound) if bound is not UNDEFINED else None for bound in given[:2]]
        start, end = (*bounds, None, None)[:2]
        if isinstance(start, Unknown) or isinstance(end, Unknown):
            return Unknown("which part of a text is used is not known")
        if clamps:
            start, end = max(int(start or 0), 0), len(this) if end is None else max(int(end), 0)
            start, end = min(start, end), max(start, end)
        return this[int(start or 0) : None if end is None or end == math.inf else int(end)]

    return method


METHODS["String"]["slice"], METHODS["String"]["substring"] = _part(False), _part(True)


@_method("String", "substr")
def _substr(run: Interpreter, this: str, given: list[Value]) -> Value:
    start, length = argument(given, 0), argument(given, 1)
    if not isinstance(start, int) or not (length is UNDEFINED or isinstance(length, int)):
        return Unknown("which part of a text is used is not known")
    rest = this[start:]
    return rest[: max(length, 0)] if isinstance(length, int) else rest


def _with_text(use: Callable[[str, str], Value]) -> Method:
    def method(run: Interpreter, this: str, given: list[Value]) -> Value:
        value = argument(given, 0)
        if isinstance(value, Unknown):
            return over_options(value, lambda option: method(run, this, [option]))
        text = text_of(value)
        return text if isinstance(text, Unknown) else use(this, text)

    return method


METHODS["String"].update(
    includes=_with_text(lambda this, text: text in this),
    startsWith=_with_text(lambda this, text: this.startswith(text)),
    endsWith=_with_text(lambda this, text: this.endswith(text)),
    indexOf=_with_text(lambda this, text: this.find(text)),
    lastIndexOf=_with_text(lambda this, text: this.rfind(text)),
    localeCompare=_with_text(lambda this, text: (this > text) - (this < text)),
    toUpperCase=lambda run, this, given: this.upper(),
    toLowerCase=lambda run, this, given: this.lower(),
    toLocaleLowerCase=lambda run, this, given: this.lower(),
    toLocaleUpperCase=lambda run, this, given: this.upper(),
    trim=lambda run, this, given: this.strip(),
    trimStart=lambda run, this, given: this.lstrip(),
    trimEnd=lambda run, this, given: this.rstrip(),
    toString=lambda run, this, given: this,
    valueOf=lambda run, this, given: this,
    normalize=lambda run, this, given: this,
    concat=lambda run, this, given: joined(JsArray([this, *given]), ""),
)


@_method("String", "repeat")
def _repeat(run: Interpreter, this: str, given: list[Value]) -> Value:
    count = number_of_value(argument(given, 0))
    if isinstance(count, Unknown) or math.isnan(count) or count < 0 or len(this) * count > LONGEST_TEXT:
        return Unknown("a text is too long")
    run.charge(int(len(this) * count) // 1000)
    return this * int(count)


def _padded(is_start: bool) -> Method:
    def method(run: Interpreter, this: str, given: list[Value]) -> Value:
        length, filler = argument(given, 0), argument(given, 1)
        filler = " " if filler is UNDEFINED else filler
        if not isinstance(length, int) or not isinstance(filler, str) or not filler or length > 10_000:
            return Unknown("the length of a text is not known")
        padding = (filler * length)[: max(length - len(this), 0)]
        return padding + this if is_start else this + padding

    return method


METHODS["String"]["padStart"], METHODS["String"]["padEnd"] = _padded(True), _padded(False)


# Numbers, promises, functions, objects, collections


@_method("Number", "toString")
def _number_text(run: Interpreter, this: Any, given: list[Value]) -> Value:
    base = argument(given, 0)
    if base in (UNDEFINED, 10):
        return text_of(this)
    return Unknown("the text of a number is not known")


@_method("Number", "toLocaleString")
def _locale_text(run: Interpreter, this: Any, given: list[Value]) -> Value:
    return f"{this:,}" if isinstance(this, int) and not given else Unknown("the text of a number is not known")


@_method("Number", "toFixed")
def _fixed(run: Interpreter, this: Any, given: list[Value]) -> Value:
    digits = argument(given, 0)
    digits = 0 if digits is UNDEFINED else digits
    return f"{this:.{digits}f}" if isinstance(digits, int) and 0 <= digits <= 100 else number_text(this)


@_method("Promise", "then")
def _then(run: Interpreter, this: JsPromise, given: list[Value]) -> Value:
    if not getattr(argument(given, 0), "is_callable", False):
        return this
    result = call_value(run, given[0], UNDEFINED, [this.value], None)
    return result if isinstance(result, JsPromise) else JsPromise(result)


METHODS["Promise"]["catch"] = lambda run, this, given: this


@_method("Promise", "finally")
def _finally(run: Interpreter, this: JsPromise, given: list[Value]) -> Value:
    call_value(run, argument(given, 0), UNDEFINED, [], None)
    return this


@_method("Function", "call")
def _function_call(run: Interpreter, this: Value, given: list[Value]) -> Value:
    return call_value(run, this, argument(given, 0), given[1:], None)


@_method("Function", "apply")
def _apply(run: Interpreter, this: Value, given: list[Value]) -> Value:
    items, _ = items_of(run, argument(given, 1))
    return call_value(run, this, argument(given, 0), items, None)


@_method("Function", "bind")
def _bind(run: Interpreter, this: Value, given: list[Value]) -> Value:
    if isinstance(this, JsFunction):
        return this.bound(argument(given, 0), given[1:])
    bound, rest = argument(given, 0), given[1:]
    return NativeFunction("bound", lambda _, more: call_value(run, this, bound, [*rest, *more], None))


@_method("Function", "toString")
def _function_text(run: Interpreter, this: Value, given: list[Value]) -> Value:
    return this.code.text() if isinstance(this, JsFunction) else Unknown("the text of a function is not known")


@_method("Object", "hasOwnProperty")
def _has_own(run: Interpreter, this: Value, given: list[Value]) -> Value:
    key = property_key(argument(given, 0))
    if isinstance(this, JsObject) and isinstance(key, str):
        if key in this.members:
            return Unknown("whether a member exists is not known") if _may_lack(this.members[key]) else True
        return Unknown("whether a member exists is not known") if this.is_open else False
    return Unknown("whether a member exists is not known")


METHODS["Object"]["toString"] = lambda run, this, given: text_of(this)
METHODS["Object"]["valueOf"] = lambda run, this, given: this
METHODS["Object"]["propertyIsEnumerable"] = _has_own


class Collection:
    """The content of a map or a set; a set has its items as keys."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.entries: dict[Value, Value] = {}

    def items(self) -> list[Value]:
        found = [(key, value) for key, value in self.entries.items()]
        if self.kind == "Set":
            return [maybe(key, value.reason) if _may_lack(value) else key for key, value in found]
        return [
            maybe(JsArray([key, _present(value)]), value.reason) if _may_lack(value) else JsArray([key, value])
            for key, value in found
        ]


def collection(run: Interpreter, kind: str, source: Value) -> Value:
    """A map or a set of the items of something iterable."""
    if isinstance(source, Unknown) and source.is_default:
        return over_options(source, lambda option: collection(run, kind, option))
    made = JsObject({})
    made.native = Collection(kind)
    items, made.is_open = items_of(run, source) if source is not None and source is not UNDEFINED else ([], False)
    run.charge(len(items) // 4)
    for item in items:
        present = _present(item)
        if kind == "Set":
            key, value = present, present
        elif isinstance(present, JsArray) and len(present.items) > 1:
            key, value = present.items[0], present.items[1]
        else:
            made.is_open = True
            continue
        if isinstance(key, Unknown) and not key.options:
            made.is_open = True
        made.native.entries[key] = maybe(value, item.reason) if _may_lack(item) else value
    return made


@_method("Map", "set")
def _map_set(run: Interpreter, this: JsObject, given: list[Value]) -> Value:
    key = argument(given, 0)
    if isinstance(key, Unknown) and not key.options:
        this.is_open = True
    run.write(this.native.entries, key, argument(given, 1))
    return this


@_method("Set", "add")
def _add(run: Interpreter, this: JsObject, given: list[Value]) -> Value:
    key = argument(given, 0)
    if isinstance(key, Unknown):
        this.is_open = True
    else:
        run.write(this.native.entries, key, key)
    return this


@_method("Map", "get")
def _map_get(run: Interpreter, this: JsObject, given: list[Value]) -> Value:
    key = argument(given, 0)
    if isinstance(key, Unknown):
        values = list(this.native.entries.values())
        return either([*values, UNDEFINED], key.reason) if 0 < len(values) <= 4 else Unknown(key.reason)
    if key in this.native.entries:
        value = this.native.entries[key]
        return either([_present(value), UNDEFINED], value.reason) if _may_lack(value) else value
    return Unknown("the content of a map is not known") if this.is_open else UNDEFINED


def _collection_has(run: Interpreter, this: JsObject, given: list[Value]) -> Value:
    key = argument(given, 0)
    if isinstance(key, Unknown):
        return Unknown(key.reason)
    if key in this.native.entries and not _may_lack(this.native.entries[key]):
        return True
    is_known = not this.is_open and key not in this.native.entries
    return False if is_known else Unknown("the content of a collection is not known")


def _collection_delete(run: Interpreter, this: JsObject, given: list[Value]) -> Value:
    run.delete(this.native.entries, argument(given, 0))
    return True


def _collection_clear(run: Interpreter, this: JsObject, given: list[Value]) -> Value:
    for key in list(this.native.entries):
        run.delete(this.native.entries, key)
    return UNDEFINED


def _collection_each(run: Interpreter, this: JsObject, given: list[Value]) -> Value:
    for key, value in list(this.native.entries.items()):
        call_value(run, argument(given, 0), UNDEFINED, [_present(value), key, this], None)
    return UNDEFINED


def _collection_part(index: int) -> Method:
    def method(run: Interpreter, this: JsObject, given: list[Value]) -> Value:
        items = [
            maybe((key, value)[index], value.reason) if _may_lack(value) else (key, value)[index]
            for key, value in this.native.entries.items()
        ]
        return JsArray(items, is_open=this.is_open)

    return method


for _kind in ("Map", "Set"):
    METHODS[_kind].update(
        has=_collection_has,
        delete=_collection_delete,
        clear=_collection_clear,
        forEach=_collection_each,
        keys=_collection_part(0),
        values=_collection_part(1),
        entries=lambda run, this, given: JsArray(this.native.items(), is_open=this.is_open),
    )
