"""The methods of the values of the language: where they are found, and what they are called on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcproof.source.javascript.interp.functions import JsFunction, NativeFunction
from mcproof.source.javascript.interp.interpreter import MOST_ITERATIONS
from mcproof.source.javascript.values import (
    ABSENT,
    UNDEFINED,
    JsArray,
    JsObject,
    JsPromise,
    JsRegExp,
    Unknown,
    like,
    may_lack,
    present,
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


_KINDS = {JsArray: "Array", str: "String", int: "Number", float: "Number", JsRegExp: "RegExp", JsPromise: "Promise"}
_WITH_FUNCTION = frozenset(("every", "filter", "flatMap", "forEach", "map", "reduce", "reduceRight", "some"))
"""Methods that call a function for each item, as often as a loop is followed."""


def native_method(run: Interpreter, kind: str, name: str, method: Method) -> NativeFunction:
    """A method as a function, which a program may call on anything."""

    def use(this: Value, given: list[Value]) -> Value:
        fits = isinstance(this, _TYPES.get(kind, object)) and (
            kind not in ("Map", "Set") or isinstance(getattr(this, "native", None), Collection)
        )
        if isinstance(this, Unknown) or (not fits and name in METHODS[kind]):
            return Unknown(f"what `{name}` is called on is not known")
        return _use(run, method, name, this, given)

    return NativeFunction(name, use)


def _use(run: Interpreter, method: Method, name: str, this: Value, given: list[Value]) -> Value:
    if name in _WITH_FUNCTION and isinstance(this, JsArray) and len(this.items) > MOST_ITERATIONS:
        this = JsArray(this.items[:MOST_ITERATIONS], is_open=True)
    return method(run, this, given)


def call_builtin(run: Interpreter, this: Value, name: str, given: list[Value]) -> Value:
    """Call a method that the language defines for a value; ABSENT if it has none with this name."""
    kind = _KINDS.get(this.__class__)
    method = METHODS[kind].get(name) if kind is not None else None
    if method is None or (kind == "Array" and this.members is not None):
        return ABSENT
    run.charge(2)
    return _use(run, method, name, this, given)


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
        is_sure = not value.is_open and not any(may_lack(item) for item in value.native.entries.values())
        return len(value.native.entries) if is_sure else Unknown("the size of a collection is not known")
    if name == "__proto__":
        return value.proto if value.proto is not None else UNDEFINED
    return method_of(run, kind, name) if kind in METHODS else method_of(run, "Object", name)


def method(kind: str, *names: str) -> Callable[[Method], Method]:
    def register(use: Method) -> Method:
        METHODS[kind].update(dict.fromkeys(names, use))
        return use

    return register


def argument(given: list[Value], number: int) -> Value:
    return given[number] if number < len(given) else UNDEFINED


class Collection:
    """The content of a map or a set; a set has its items as keys."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.entries: dict[Value, Value] = {}

    def items(self) -> list[Value]:
        pairs = [(key, value) for key, value in self.entries.items()]
        if self.kind == "Set":
            return [like(key, value) for key, value in pairs]
        return [like(JsArray([key, present(value)]), value) for key, value in pairs]
