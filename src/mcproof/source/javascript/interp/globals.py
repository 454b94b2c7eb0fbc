"""The global names of JavaScript and of Node."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

from mcproof.source.javascript.interp import arrays, texts  # noqa: F401  (methods that register themselves)
from mcproof.source.javascript.interp.builtins import METHODS, argument, native_method
from mcproof.source.javascript.interp.functions import JsFunction, NativeFunction
from mcproof.source.javascript.interp.interpreter import MOST_ITEMS, JsThrowError, default_of, either, over_options
from mcproof.source.javascript.interp.members import (
    call_value,
    get_member,
    items_of,
    keys_of,
    property_key,
    resolved,
    set_member,
)
from mcproof.source.javascript.interp.modules import as_value
from mcproof.source.javascript.interp.objects import collection
from mcproof.source.javascript.interp.operators import (
    integral,
    json_text,
    number_of_value,
    parsed_number,
    text_of,
    truth,
)
from mcproof.source.javascript.values import (
    UNDEFINED,
    Accessor,
    BigInt,
    JsArray,
    JsDate,
    JsObject,
    JsPromise,
    JsRegExp,
    Symbol,
    Unknown,
    may_lack,
    maybe,
    present,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcproof.source.javascript.interp.interpreter import Interpreter
    from mcproof.source.javascript.values import Value

    Use = Callable[[list[Value]], Value]


def define_globals(run: Interpreter) -> None:
    """Set the global names."""
    names = run.globals
    names.update(
        Object=_with_members("Object", _object, _object_functions(run)),
        Array=_array(run),
        String=_with_members("String", _string, {"raw": lambda given: _raw(run, given), "fromCharCode": _characters}),
        Number=_with_members("Number", lambda given: number_of_value(given[0]) if given else 0, _OF_NUMBER),
        Boolean=_native("Boolean", lambda given: _boolean(argument(given, 0))),
        BigInt=_native("BigInt", _big),
        Symbol=_with_members("Symbol", _symbol, {"for": _symbol}),
        JSON=_namespace({"stringify": lambda given: _stringify(run, given), "parse": _parse}),
        Math=_namespace(_MATH),
        Promise=_promise(run),
        Reflect=_namespace({**_object_functions(run), "ownKeys": _keys, **_metadata_functions()}),
        Date=_with_members("Date", lambda given: JsDate(), dict.fromkeys(("now", "parse", "UTC"), _time)),
        RegExp=_native("RegExp", _regexp),
        Proxy=_native("Proxy", lambda given: argument(given, 0)),
        parseInt=_native("parseInt", _parse_int),
        parseFloat=_native("parseFloat", _parse_float),
        isNaN=_native("isNaN", lambda given: _tested(number_of_value(argument(given, 0)), _is_nan)),
        isFinite=_native("isFinite", lambda given: _tested(number_of_value(argument(given, 0)), _is_finite)),
        structuredClone=_native("structuredClone", lambda given: _clone(run, argument(given, 0), 0)),
        NaN=math.nan,
        Infinity=math.inf,
        process=_process(),
        console=_namespace(dict.fromkeys(("log", "error", "warn", "info", "debug", "trace", "assert"), _nothing)),
    )
    names["globalThis"] = names["global"] = JsObject(names, is_open=True)
    for name in ("setTimeout", "setImmediate", "setInterval", "queueMicrotask"):
        names[name] = _native(name, lambda given: _later(run, given))
    for name in ("clearTimeout", "clearInterval"):
        names[name] = _native(name, lambda given: UNDEFINED)
    for name in ("Map", "WeakMap", "Set", "WeakSet"):
        kind = name.removeprefix("Weak")
        names[name] = _native(name, lambda given, kind=kind: collection(run, kind, argument(given, 0)))  # type: ignore[misc]
        names[name].name = kind
    for name in ("Error", "TypeError", "RangeError", "SyntaxError", "EvalError", "ReferenceError", "AggregateError"):
        names[name] = _native(name, lambda given, name=name: _error(name, given))  # type: ignore[misc]
    for name in ("iterator", "asyncIterator", "hasInstance", "toStringTag", "toPrimitive"):
        names["Symbol"].members[name] = Symbol(name)
    for name in ("Object", "Array", "String", "Number", "Function", "RegExp", "Promise", "Map", "Set"):
        holder = names.setdefault(
            name, _native(name, lambda given: Unknown("code that is made by the program is not followed"))
        )
        methods = METHODS[name]
        prototype = JsObject({})
        for method_name, method in {**METHODS["Object"], **methods}.items():
            prototype.members[method_name] = native_method(run, name, method_name, method)
        holder.members["prototype"] = prototype


def _is_nan(value: Value) -> Value:
    return value if isinstance(value, Unknown) else math.isnan(value)


def _is_finite(value: Value) -> Value:
    return value if isinstance(value, Unknown) else math.isfinite(value)


def _nothing(given: list[Value]) -> Value:
    return UNDEFINED


def _time(given: list[Value]) -> Value:
    return Unknown("the time is not known")


def _string(given: list[Value]) -> Value:
    return text_of(given[0]) if given else ""


def _characters(given: list[Value]) -> Value:
    return "".join(chr(code) for code in given if isinstance(code, int) and 0 <= code < 0x110000)


def _big(given: list[Value]) -> Value:
    value = argument(given, 0)
    return BigInt(value) if isinstance(value, int) else Unknown("a number is not known")


def _symbol(given: list[Value]) -> Value:
    return Symbol(str(argument(given, 0)))


def _native(name: str, use: Use) -> NativeFunction:
    return NativeFunction(name, lambda this, given: use(given))


def _with_members(name: str, use: Use, members: dict[str, Use]) -> NativeFunction:
    function = _native(name, use)
    function.members.update({key: _native(key, value) for key, value in members.items()})
    return function


def _namespace(members: dict[str, Use]) -> JsObject:
    return JsObject({name: _native(name, use) for name, use in members.items()})


def _tested(value: Value, test: Callable[[Any], bool]) -> Value:
    return over_options(value, test) if isinstance(value, Unknown) else test(value)


def _boolean(value: Value) -> Value:
    holds = truth(value)
    if holds is None:
        return over_options(value, _boolean) if isinstance(value, Unknown) else Unknown("a condition is not settled")
    return holds


def _is_number(test: Callable[[float], bool]) -> Use:
    return lambda given: _tested(argument(given, 0), lambda value: isinstance(value, (int, float)) and test(value))


def _parse_int(given: list[Value]) -> Value:
    text, base = text_of(argument(given, 0)), argument(given, 1)
    if isinstance(text, Unknown):
        return over_options(text, lambda option: _parse_int([option, base]))
    base = 10 if not isinstance(base, int) or base == 0 else base
    text = text.strip().lower()[:40]
    if base == 16 or text.startswith("0x"):
        base, text = 16, text.removeprefix("0x")
    digits = "0123456789abcdefghijklmnopqrstuvwxyz"[: min(max(base, 2), 36)]
    sign, text = (-1, text[1:]) if text.startswith("-") else (1, text.removeprefix("+"))
    count = next((number for number, char in enumerate(text) if char not in digits), len(text))
    return sign * int(text[:count], base) if count else math.nan


def _parse_float(given: list[Value]) -> Value:
    text = text_of(argument(given, 0))
    if isinstance(text, Unknown):
        return over_options(text, lambda option: _parse_float([option]))
    text = text.strip()[:40]
    while text and parsed_number(text) != parsed_number(text):
        text = text[:-1]
    return parsed_number(text) if text else math.nan


_OF_NUMBER: dict[str, Use] = {
    "isInteger": _is_number(lambda value: isinstance(value, int)),
    "isSafeInteger": _is_number(lambda value: isinstance(value, int)),
    "isFinite": _is_number(math.isfinite),
    "isNaN": _is_number(math.isnan),
    "parseInt": _parse_int,
    "parseFloat": _parse_float,
}


def _rounded(value: float) -> int | float:
    return math.floor(value + 0.5) if math.isfinite(value) else value


def _mathematical(use: Callable[..., Any]) -> Use:
    def evaluate(given: list[Value]) -> Value:
        numbers = [number_of_value(value) for value in given]
        for number in numbers:
            if isinstance(number, Unknown):
                return Unknown(number.reason)
        try:
            return integral(use(*numbers))
        except (ValueError, OverflowError, TypeError):
            return math.nan

    return evaluate


_MATH: dict[str, Use] = {
    "max": _mathematical(lambda *numbers: max(numbers, default=-math.inf)),
    "min": _mathematical(lambda *numbers: min(numbers, default=math.inf)),
    "floor": _mathematical(math.floor),
    "ceil": _mathematical(math.ceil),
    "round": _mathematical(_rounded),
    "trunc": _mathematical(math.trunc),
    "abs": _mathematical(abs),
    "sqrt": _mathematical(math.sqrt),
    "pow": _mathematical(lambda base, power: float(base) ** power if abs(power) < 1_000 else math.nan),
    "random": lambda given: Unknown("a number is random"),
}


def _stringify(run: Interpreter, given: list[Value]) -> Value:
    run.charge(20)
    value = argument(given, 0)
    if isinstance(value, Unknown) and value.options:
        return over_options(value, lambda option: _stringify(run, [option, *given[1:]]))
    return json_text(value, argument(given, 2))


def _parse(given: list[Value]) -> Value:
    text = argument(given, 0)
    if isinstance(text, Unknown):
        return over_options(text, lambda option: _parse([option]))
    try:
        return as_value(json.loads(text)) if isinstance(text, str) else Unknown("this JSON is not known")
    except (ValueError, RecursionError):
        return Unknown("this JSON is not known")


def _raw(run: Interpreter, given: list[Value]) -> Value:
    strings = get_member(run, argument(given, 0), "raw")
    if not isinstance(strings, JsArray):
        return Unknown("the text of a template is not known")
    parts: list[Value] = []
    for number, text in enumerate(strings.items):
        parts += [text, *given[1 + number : 2 + number]]
    return get_member(run, JsArray(parts), "join").use(JsArray(parts), [""])


def _regexp(given: list[Value]) -> Value:
    source, flags = argument(given, 0), argument(given, 1)
    if isinstance(source, JsRegExp):
        return source if flags is UNDEFINED else JsRegExp(source.source, str(flags))
    if not isinstance(source, str):
        return Unknown("a regular expression is not known")
    return JsRegExp(source, flags if isinstance(flags, str) else "")


def _error(name: str, given: list[Value]) -> JsObject:
    error = JsObject(
        {"name": name, "message": argument(given, 0) if given else "", "stack": Unknown("a stack is not known")}
    )
    error.native = "error"
    return error


def _array(run: Interpreter) -> NativeFunction:
    def create(given: list[Value]) -> Value:
        if len(given) == 1 and not isinstance(given[0], str):
            count = given[0]
            is_small = isinstance(count, int) and 0 <= count <= MOST_ITEMS
            return JsArray([UNDEFINED] * count) if is_small else JsArray([], is_open=True)
        return JsArray(list(given))

    def from_(given: list[Value]) -> Value:
        source = argument(given, 0)
        items, is_open = items_of(run, source)
        if isinstance(source, JsObject) and isinstance(source.members.get("length"), int):
            length = source.members["length"]
            items, is_open = ([UNDEFINED] * length, False) if length <= MOST_ITEMS else ([], True)
        array = JsArray(items, is_open=is_open)
        if getattr(argument(given, 1), "is_callable", False):
            return METHODS["Array"]["map"](run, array, given[1:])
        return array

    return _with_members("Array", create, {
        "isArray": lambda given: _tested(argument(given, 0), lambda value: isinstance(value, JsArray)),
        "from": from_,
        "of": lambda given: JsArray(list(given)),
    })  # fmt: skip


def _promise(run: Interpreter) -> NativeFunction:
    def create(given: list[Value]) -> Value:
        values: list[Value] = []
        resolve = _native("resolve", lambda more: values.append(argument(more, 0)))
        reject = _native("reject", lambda more: UNDEFINED)
        call_value(run, argument(given, 0), UNDEFINED, [resolve, reject], None)
        value = values[0] if values else Unknown("what a promise comes to is not known")
        return JsPromise(value.value if isinstance(value, JsPromise) else value)

    def all_(given: list[Value]) -> Value:
        items, is_open = items_of(run, argument(given, 0))
        values = [item.value if isinstance(item, JsPromise) else item for item in items]
        return JsPromise(JsArray(values, is_open=is_open))

    def settled(given: list[Value]) -> Value:
        result = all_(given).value
        items = [JsObject({"status": "fulfilled", "value": item}) for item in result.items]
        return JsPromise(JsArray(items, is_open=result.is_open))

    def resolve(given: list[Value]) -> Value:
        value = argument(given, 0)
        return value if isinstance(value, JsPromise) else JsPromise(value)

    def race(given: list[Value]) -> Value:
        items, _ = items_of(run, argument(given, 0))
        values = [item.value if isinstance(item, JsPromise) else item for item in items]
        return JsPromise(
            either(values, "which promise is first is not known") if values else Unknown("a promise is not known")
        )

    return _with_members("Promise", create, {
        "all": all_, "allSettled": settled, "resolve": resolve, "race": race, "any": race,
        "reject": lambda given: JsPromise(Unknown("a promise is rejected")),
    })  # fmt: skip


def _later(run: Interpreter, given: list[Value]) -> Value:
    if isinstance(argument(given, 0), JsFunction):
        run.host.pass_callback(given[0])
    return Unknown("a timer is not known")


class Environment:
    """The variables of the environment: none is set by default."""

    kind = "environment"


def _process() -> JsObject:
    environment = JsObject({})
    environment.native = Environment()
    arguments = JsArray(["node", "server"])
    reason = "the arguments of the command are not known"

    def leave(given: list[Value]) -> Value:
        raise JsThrowError("the program ends")

    version = Unknown("the version of Node is not known", ("22.0.0",), is_default=True)
    return JsObject({
        "env": environment,
        "argv": Unknown(reason, (arguments,), is_default=True),
        "platform": Unknown("the platform is not known", ("linux",), is_default=True),
        "version": version._replace(options=("v22.0.0",)),
        "versions": JsObject({"node": version}, is_open=True),
        "exit": _native("exit", leave),
        "abort": _native("abort", leave),
        "on": _native("on", lambda given: UNDEFINED),
        "once": _native("once", lambda given: UNDEFINED),
        "exitCode": UNDEFINED,
    }, is_open=True)  # fmt: skip


def environment_member(name: str) -> Unknown:
    """A variable of the environment."""
    reason = f"the environment variable {name} is not known"
    if name == "NODE_ENV":
        return Unknown(reason, ("production", UNDEFINED))
    return Unknown(reason, (UNDEFINED,), is_default=True)


def _object(given: list[Value]) -> Value:
    value = argument(given, 0)
    return JsObject({}) if value is UNDEFINED or value is None else value


def _keys(given: list[Value]) -> Value:
    value = argument(given, 0)
    own = value
    if isinstance(value, JsObject) and value.proto is not None:
        own = JsObject(value.members, is_open=value.is_open)
        own.hidden = value.hidden
    names, is_open = keys_of(own)
    return JsArray(names, is_open=is_open)


def _entries(run: Interpreter, given: list[Value], part: int | None) -> Value:
    value = argument(given, 0)
    if isinstance(value, Unknown):
        return (
            over_options(value, lambda option: _entries(run, [option], part))
            if value.options
            else JsArray([], is_open=True)
        )
    names = _keys(given)
    items: list[Value] = []
    for name in names.items:
        key = name.options[0] if isinstance(name, Unknown) else name
        raw = value.members.get(key) if isinstance(value, JsObject) else None
        member = present(raw) if may_lack(raw) else get_member(run, value, key)
        item: Value = JsArray([key, member]) if part is None else member
        items.append(maybe(item, name.reason) if isinstance(name, Unknown) else item)
    run.charge(len(items) // 8)
    return JsArray(items, is_open=names.is_open)


def _assign(run: Interpreter, given: list[Value]) -> Value:
    target = argument(given, 0)
    for source in given[1:]:
        if isinstance(target, JsObject) and isinstance(source, JsObject):
            target.sources = (*source.sources, *target.sources)[:8]
        names, is_open = keys_of(source)
        for name in names:
            if isinstance(name, str):
                set_member(run, target, name, get_member(run, source, name))
        if isinstance(target, JsObject) and is_open:
            target.is_open = True
    return target


def _define(run: Interpreter, given: list[Value]) -> Value:
    target, name, descriptor = argument(given, 0), property_key(argument(given, 1)), argument(given, 2)
    if isinstance(target, JsObject) and isinstance(name, str) and isinstance(descriptor, JsObject):
        # Without the word, a new member is hidden, and another stays as it is.
        shows = descriptor.members.get("enumerable", name in target.members or descriptor.is_open)
        target.hidden = target.hidden - {name} if shows not in (False, UNDEFINED) else target.hidden | {name}
        getter = resolved(descriptor.members.get("get", UNDEFINED))
        if getattr(getter, "is_callable", False):
            accessor = Accessor(getter, descriptor.members.get("set", UNDEFINED))
            run.write(target.members, name, accessor, target.birth)
        elif "value" in descriptor.members:
            run.write(target.members, name, descriptor.members["value"], target.birth)
    return target


def _define_all(run: Interpreter, given: list[Value]) -> Value:
    target, descriptors = argument(given, 0), argument(given, 1)
    for name, descriptor in descriptors.members.items() if isinstance(descriptors, JsObject) else ():
        _define(run, [target, name, descriptor])
    if isinstance(target, JsObject) and (not isinstance(descriptors, JsObject) or descriptors.is_open):
        target.is_open = True
    return target


def _descriptors(given: list[Value]) -> Value:
    """What `Object.getOwnPropertyDescriptors` returns, with which compilers write `{...one, two}`."""
    value = argument(given, 0)
    if not isinstance(value, JsObject):
        return Unknown("the members of a value are not known")
    descriptors = {
        name: JsObject({"get": member.get, "set": member.set} if isinstance(member, Accessor) else {"value": member})
        for name, member in value.members.items()
    }
    return JsObject(descriptors, is_open=value.is_open)


def _from_entries(run: Interpreter, given: list[Value]) -> Value:
    items, is_open = items_of(run, argument(given, 0))
    target = JsObject({}, is_open=is_open)
    for item in items:
        pair = default_of(present(item))
        if isinstance(pair, JsArray) and len(pair.items) > 1:
            key = property_key(pair.items[0])
            if isinstance(key, str):
                value = pair.items[1]
                target.members[key] = maybe(value, item.reason) if isinstance(item, Unknown) else value
                continue
        target.is_open = True
    return target


def _create(given: list[Value]) -> Value:
    proto = argument(given, 0)
    return JsObject({}, proto if isinstance(proto, JsObject) else None)


def _prototype_of(given: list[Value]) -> Value:
    value = argument(given, 0)
    if isinstance(value, JsObject):
        return value.proto if value.proto is not None else JsObject({})
    return Unknown("the prototype of a value is not known")


def _set_prototype(given: list[Value]) -> Value:
    value, proto = argument(given, 0), argument(given, 1)
    if isinstance(value, JsObject) and isinstance(proto, JsObject) and value.proto is None:
        at: JsObject | None = proto
        while at is not None and at is not value:
            at = at.proto
        if at is None:
            value.proto = proto
    return value


def _own_names(given: list[Value]) -> Value:
    value = argument(given, 0)
    if isinstance(value, JsObject):
        return JsArray([name for name in value.members if name[:2] != "@@"], is_open=value.is_open)
    return _keys(given)


def _object_functions(run: Interpreter) -> dict[str, Use]:
    same: Use = lambda given: argument(given, 0)  # noqa: E731
    return {
        "keys": _keys,
        "values": lambda given: _entries(run, given, 1),
        "entries": lambda given: _entries(run, given, None),
        "assign": lambda given: _assign(run, given),
        "fromEntries": lambda given: _from_entries(run, given),
        "freeze": same,
        "seal": same,
        "preventExtensions": same,
        "isFrozen": lambda given: False,
        "create": _create,
        "defineProperty": lambda given: _define(run, given),
        "defineProperties": lambda given: _define_all(run, given),
        "getPrototypeOf": _prototype_of,
        "setPrototypeOf": _set_prototype,
        "getOwnPropertyNames": _own_names,
        "getOwnPropertyDescriptor": lambda given: UNDEFINED,
        "getOwnPropertyDescriptors": _descriptors,
        "getOwnPropertySymbols": lambda given: JsArray([]),
        "hasOwn": lambda given: METHODS["Object"]["hasOwnProperty"](run, argument(given, 0), given[1:]),
        "is": lambda given: given[0] is given[1] if len(given) > 1 else True,
        "get": lambda given: get_member(run, argument(given, 0), str(property_key(argument(given, 1)))),
        "has": lambda given: METHODS["Object"]["hasOwnProperty"](run, argument(given, 0), given[1:]),
    }


def _metadata_functions() -> dict[str, Use]:
    """What the package `reflect-metadata` adds to `Reflect`: facts by which containers create objects."""
    metadata: dict[tuple[int, Value, Value], tuple[Value, Value]] = {}

    def define(given: list[Value]) -> Value:
        key, value, target, member = (*given, *[UNDEFINED] * 4)[:4]
        metadata[id(target), member, key] = (target, value)  # the target is kept, so that its id stays its own
        return UNDEFINED

    def own(given: list[Value]) -> Value:
        key, target, member = (*given, *[UNDEFINED] * 3)[:3]
        return metadata.get((id(target), member, key), (target, UNDEFINED))[1]

    def inherited(given: list[Value]) -> Value:
        key, target, member = (*given, *[UNDEFINED] * 3)[:3]
        while isinstance(target, JsObject):
            if (own_value := own([key, target, member])) is not UNDEFINED:
                return own_value
            target = target.proto
        return UNDEFINED

    def decorator(given: list[Value]) -> Value:
        return _native("decorator", lambda more: define([*given[:2], *more[:2]]))

    return {
        "metadata": decorator,
        "defineMetadata": define,
        "getMetadata": inherited,
        "getOwnMetadata": own,
        "hasMetadata": lambda given: inherited(given) is not UNDEFINED,
        "hasOwnMetadata": lambda given: own(given) is not UNDEFINED,
    }


def _clone(run: Interpreter, value: Value, depth: int) -> Value:
    run.charge(1)
    if depth > 50:
        return Unknown("this is nested too deep")
    if isinstance(value, JsArray):
        return JsArray([_clone(run, item, depth + 1) for item in value.items], is_open=value.is_open)
    if isinstance(value, JsObject) and value.native is None:
        clone = JsObject(
            {name: _clone(run, member, depth + 1) for name, member in value.members.items()}, is_open=value.is_open
        )
        clone.sources = value.sources
        return clone
    return value
