"""Methods of arrays."""

from __future__ import annotations

import math
from functools import cmp_to_key
from typing import TYPE_CHECKING, Any

from mcproof.source.javascript.interp.builtins import METHODS, argument, method
from mcproof.source.javascript.interp.interpreter import MOST_ITEMS, default_of, either
from mcproof.source.javascript.interp.members import call_value, items_of
from mcproof.source.javascript.interp.operators import (
    joined,
    number_of_value,
    strictly_equal,
    text_of,
    truth,
)
from mcproof.source.javascript.values import (
    UNDEFINED,
    JsArray,
    JsObject,
    Unknown,
    like,
    may_lack,
    maybe,
    present,
)

if TYPE_CHECKING:
    from mcproof.source.javascript.interp.builtins import Method
    from mcproof.source.javascript.interp.interpreter import Interpreter
    from mcproof.source.javascript.values import Value


def _calls(run: Interpreter, function: Value, item: Value, index: int, array: JsArray) -> Value:
    result = call_value(run, function, UNDEFINED, [present(item), index, array], None)
    return like(result, item)


@method("Array", "map")
def _map(run: Interpreter, this: JsArray, given: list[Value]) -> Value:
    function = argument(given, 0)
    # Over a copy, as the function may change the array.
    items = [_calls(run, function, item, index, this) for index, item in enumerate(list(this.items))]
    # Called for one unknown item, since the function may register something for each.
    if this.is_open and not items:
        call_value(run, function, UNDEFINED, [Unknown("the items of a list are not known"), 0, this], None)
    return JsArray(items, is_open=this.is_open)


@method("Array", "forEach")
def _for_each(run: Interpreter, this: JsArray, given: list[Value]) -> Value:
    function = argument(given, 0)
    for number, item in enumerate(list(this.items)):
        if may_lack(item):
            side = lambda item=item, number=number: _nothing(  # noqa: E731
                call_value(run, function, UNDEFINED, [present(item), number, this], None)
            )
            run.alternatives(id(item), item, [side, lambda: None], 0 if item.is_default else None)
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


@method("Array", "filter")
def _filter(run: Interpreter, this: JsArray, given: list[Value]) -> Value:
    items: list[Value] = []
    for number, item in enumerate(list(this.items)):
        result = call_value(run, argument(given, 0), UNDEFINED, [present(item), number, this], None)
        holds = truth(result)
        if holds:
            items.append(item)
        elif holds is None:
            reason = result.reason if isinstance(result, Unknown) else "a filter is not settled"
            items.append(maybe(item, reason, by_default=truth(default_of(result)) is True))
    return JsArray(items, is_open=this.is_open)


@method("Array", "find", "findLast")
def _find(run: Interpreter, this: JsArray, given: list[Value]) -> Value:
    possible: list[Value] = []
    for number, item in enumerate(list(this.items)):
        holds = truth(call_value(run, argument(given, 0), UNDEFINED, [present(item), number, this], None))
        if holds is not False:
            possible.append(present(item))
        # The first certain match ends the search; what came before it may be the result as well.
        if holds and not may_lack(item):
            break
    else:
        possible.append(Unknown("the items of a list are not known") if this.is_open else UNDEFINED)
    return either(possible, "which item is found is not settled")


@method("Array", "findIndex", "indexOf", "lastIndexOf", "findLastIndex")
def _find_index(run: Interpreter, this: JsArray, given: list[Value]) -> Value:
    wanted = argument(given, 0)
    for number, item in enumerate(list(this.items)):
        if getattr(wanted, "is_callable", False):
            holds = truth(call_value(run, wanted, UNDEFINED, [present(item), number, this], None))
        else:
            holds = truth(strictly_equal(item, wanted))
        if holds is None or may_lack(item):
            return Unknown("which item is found is not settled")
        if holds:
            return number
    return Unknown("the items of a list are not known") if this.is_open else -1


def _quantified(is_any: bool) -> Method:
    def method(run: Interpreter, this: JsArray, given: list[Value]) -> Value:
        unsettled: Unknown | None = Unknown("the items of a list are not known") if this.is_open else None
        for number, item in enumerate(list(this.items)):
            result = call_value(run, argument(given, 0), UNDEFINED, [present(item), number, this], None)
            holds = truth(result)
            if holds is is_any and not may_lack(item):
                return is_any
            if holds is None or (holds is is_any and may_lack(item)):
                unsettled = result if isinstance(result, Unknown) else Unknown("a condition is not settled")
        return Unknown(unsettled.reason) if unsettled is not None else not is_any

    return method


METHODS["Array"]["some"], METHODS["Array"]["every"] = _quantified(True), _quantified(False)


@method("Array", "includes")
def _includes(run: Interpreter, this: JsArray, given: list[Value]) -> Value:
    unsettled = Unknown("the items of a list are not known") if this.is_open else None
    for item in this.items:
        equal = strictly_equal(present(item), argument(given, 0))
        if equal is True and may_lack(item):
            equal = Unknown(item.reason, (True,) if item.is_default else (), item.is_default)
        if equal is True or (isinstance(equal, Unknown) and equal.is_default and equal.options[0] is True):
            return equal
        if equal is not False:
            unsettled = equal
    return unsettled if unsettled is not None else False


def _reduced(step: int) -> Method:
    def method(run: Interpreter, this: JsArray, given: list[Value]) -> Value:
        items = this.items[::step]
        if len(given) < 2 and not items:
            return Unknown("the items of a list are not known")
        result = given[1] if len(given) > 1 else items.pop(0)
        for number, item in enumerate(items):
            result = call_value(run, argument(given, 0), UNDEFINED, [result, present(item), number, this], None)
        if this.is_open:
            return result if isinstance(result, (JsArray, JsObject)) else Unknown("the items of a list are not known")
        return result

    return method


METHODS["Array"]["reduce"], METHODS["Array"]["reduceRight"] = _reduced(1), _reduced(-1)


@method("Array", "push")
def _push(run: Interpreter, this: JsArray, given: list[Value]) -> Value:
    run.will_change(this)
    if len(this.items) + len(given) > MOST_ITEMS:
        this.is_open = True
    else:
        this.items = [*this.items, *given]
    return len(this.items)


@method("Array", "unshift")
def _unshift(run: Interpreter, this: JsArray, given: list[Value]) -> Value:
    run.will_change(this)
    this.items = [*given, *this.items]
    return len(this.items)


@method("Array", "pop")
def _pop(run: Interpreter, this: JsArray, given: list[Value]) -> Value:
    run.will_change(this)
    *this.items, last = this.items or [Unknown("this item is not known") if this.is_open else UNDEFINED]
    return present(last)


@method("Array", "shift")
def _shift(run: Interpreter, this: JsArray, given: list[Value]) -> Value:
    run.will_change(this)
    first, *this.items = this.items or [Unknown("this item is not known") if this.is_open else UNDEFINED]
    return present(first)


@method("Array", "splice")
def _splice(run: Interpreter, this: JsArray, given: list[Value]) -> Value:
    run.will_change(this)
    start, count = argument(given, 0), argument(given, 1) if len(given) > 1 else len(this.items)
    if not isinstance(start, int) or not isinstance(count, int):
        # Which items go is unknown, so each may be missing from now on.
        this.items = [maybe(item, "what is removed from a list is not known") for item in this.items]
        return JsArray([], is_open=True)
    begin = max(len(this.items) + start, 0) if start < 0 else start
    removed = this.items[begin : begin + max(count, 0)]
    this.items = [*this.items[:begin], *given[2:], *this.items[begin + max(count, 0) :]]
    return JsArray(removed)


@method("Array", "concat")
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


@method("Array", "slice")
def _slice(run: Interpreter, this: JsArray, given: list[Value]) -> Value:
    start, end = argument(given, 0), argument(given, 1)
    bounds = [None if bound is UNDEFINED else bound for bound in (start, end)]
    if any(bound is not None and not isinstance(bound, int) for bound in bounds):
        return JsArray([maybe(item, "which part of a list is not known") for item in this.items], is_open=this.is_open)
    return JsArray(this.items[bounds[0] : bounds[1]], is_open=this.is_open)


@method("Array", "flat", "flatMap")
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


@method("Array", "join", "toString")
def _join(run: Interpreter, this: JsArray, given: list[Value]) -> Value:
    separator = argument(given, 0)
    run.charge(len(this.items) // 8)
    return joined(this, "," if separator is UNDEFINED else str(text_of(separator)))


@method("Array", "reverse", "toReversed")
def _reverse(run: Interpreter, this: JsArray, given: list[Value]) -> Value:
    run.will_change(this)
    this.items = this.items[::-1]
    return this


@method("Array", "sort", "toSorted")
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


@method("Array", "at")
def _at(run: Interpreter, this: Any, given: list[Value]) -> Value:
    at = argument(given, 0)
    items = this.items if isinstance(this, JsArray) else this
    if isinstance(at, int) and -len(items) <= at < len(items):
        return present(items[at])
    return UNDEFINED if isinstance(at, int) else Unknown("which item is used is not known")


METHODS["String"]["at"] = METHODS["String"]["charAt"] = _at


@method("Array", "fill")
def _fill(run: Interpreter, this: JsArray, given: list[Value]) -> Value:
    run.will_change(this)
    this.items = [argument(given, 0) for _ in this.items]
    return this


@method("Array", "entries")
def _entries(run: Interpreter, this: JsArray, given: list[Value]) -> Value:
    return JsArray([JsArray([number, item]) for number, item in enumerate(this.items)], is_open=this.is_open)


@method("Array", "keys")
def _keys(run: Interpreter, this: JsArray, given: list[Value]) -> Value:
    return JsArray(list(range(len(this.items))), is_open=this.is_open)


METHODS["Array"]["values"] = lambda run, this, given: this
