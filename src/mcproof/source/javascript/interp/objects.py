"""Methods of promises, functions, objects, maps and sets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.source.javascript.interp.builtins import METHODS, Collection, argument, method
from mcproof.source.javascript.interp.functions import JsFunction, NativeFunction
from mcproof.source.javascript.interp.interpreter import either, over_options
from mcproof.source.javascript.interp.members import call_value, items_of, property_key
from mcproof.source.javascript.interp.operators import (
    text_of,
)
from mcproof.source.javascript.values import (
    UNDEFINED,
    JsArray,
    JsObject,
    JsPromise,
    Unknown,
    like,
    may_be_missing,
    may_lack,
    present,
)

if TYPE_CHECKING:
    from mcproof.source.javascript.interp.builtins import Method
    from mcproof.source.javascript.interp.interpreter import Interpreter
    from mcproof.source.javascript.values import Value


@method("Promise", "then")
def _then(run: Interpreter, this: JsPromise, given: list[Value]) -> Value:
    if not getattr(argument(given, 0), "is_callable", False):
        return this
    result = call_value(run, given[0], UNDEFINED, [this.value], None)
    return result if isinstance(result, JsPromise) else JsPromise(result)


METHODS["Promise"]["catch"] = lambda run, this, given: this


@method("Promise", "finally")
def _finally(run: Interpreter, this: JsPromise, given: list[Value]) -> Value:
    call_value(run, argument(given, 0), UNDEFINED, [], None)
    return this


@method("Function", "call")
def _function_call(run: Interpreter, this: Value, given: list[Value]) -> Value:
    return call_value(run, this, argument(given, 0), given[1:], None)


@method("Function", "apply")
def _apply(run: Interpreter, this: Value, given: list[Value]) -> Value:
    items, _ = items_of(run, argument(given, 1))
    return call_value(run, this, argument(given, 0), items, None)


@method("Function", "bind")
def _bind(run: Interpreter, this: Value, given: list[Value]) -> Value:
    if isinstance(this, JsFunction):
        return this.bound(argument(given, 0), given[1:])
    bound, rest = argument(given, 0), given[1:]
    return NativeFunction("bound", lambda _, more: call_value(run, this, bound, [*rest, *more], None))


@method("Function", "toString")
def _function_text(run: Interpreter, this: Value, given: list[Value]) -> Value:
    return this.code.text() if isinstance(this, JsFunction) else Unknown("the text of a function is not known")


@method("Object", "hasOwnProperty")
def _has_own(run: Interpreter, this: Value, given: list[Value]) -> Value:
    key = property_key(argument(given, 0))
    if isinstance(this, JsObject) and isinstance(key, str):
        if key in this.members:
            return Unknown("whether a member exists is not known") if may_lack(this.members[key]) else True
        return Unknown("whether a member exists is not known") if this.is_open else False
    return Unknown("whether a member exists is not known")


METHODS["Object"]["toString"] = lambda run, this, given: text_of(this)
METHODS["Object"]["valueOf"] = lambda run, this, given: this
METHODS["Object"]["propertyIsEnumerable"] = _has_own


def collection(run: Interpreter, kind: str, source: Value) -> Value:
    """A map or a set of the items of something iterable."""
    if isinstance(source, Unknown) and source.is_default:
        return over_options(source, lambda option: collection(run, kind, option))
    target = JsObject({})
    target.native = Collection(kind)
    items, target.is_open = items_of(run, source) if source is not None and source is not UNDEFINED else ([], False)
    run.charge(len(items) // 4)
    for item in items:
        entry = present(item)
        if kind == "Set":
            key, value = entry, entry
        elif isinstance(entry, JsArray) and len(entry.items) > 1:
            key, value = entry.items[0], entry.items[1]
        else:
            target.is_open = True
            continue
        if isinstance(key, Unknown) and not key.options:
            target.is_open = True
        target.native.entries[key] = like(value, item)
    return target


@method("Map", "set")
def _map_set(run: Interpreter, this: JsObject, given: list[Value]) -> Value:
    key = argument(given, 0)
    if isinstance(key, Unknown) and not key.options:
        this.is_open = True
    run.write(this.native.entries, key, argument(given, 1), this.birth)
    return this


@method("Set", "add")
def _add(run: Interpreter, this: JsObject, given: list[Value]) -> Value:
    key = argument(given, 0)
    if isinstance(key, Unknown):
        this.is_open = True
    else:
        run.write(this.native.entries, key, key, this.birth)
    return this


@method("Map", "get")
def _map_get(run: Interpreter, this: JsObject, given: list[Value]) -> Value:
    key = argument(given, 0)
    if isinstance(key, Unknown):
        values = list(this.native.entries.values())
        return either([*values, UNDEFINED], key.reason) if 0 < len(values) <= 4 else Unknown(key.reason)
    if key in this.native.entries:
        value = this.native.entries[key]
        return either([present(value), UNDEFINED], value.reason) if may_lack(value) else value
    return Unknown("the content of a map is not known") if this.is_open else UNDEFINED


def _collection_has(run: Interpreter, this: JsObject, given: list[Value]) -> Value:
    key = argument(given, 0)
    if isinstance(key, Unknown):
        return Unknown(key.reason)
    if key in this.native.entries:
        entry = this.native.entries[key]
        if not may_be_missing(entry):
            return Unknown(entry.reason, (True,), is_default=True) if may_lack(entry) else True
    is_known = not this.is_open and key not in this.native.entries
    return False if is_known else Unknown("the content of a collection is not known")


def _collection_delete(run: Interpreter, this: JsObject, given: list[Value]) -> Value:
    run.delete(this.native.entries, argument(given, 0), this.birth)
    return True


def _collection_clear(run: Interpreter, this: JsObject, given: list[Value]) -> Value:
    for key in list(this.native.entries):
        run.delete(this.native.entries, key, this.birth)
    return UNDEFINED


def _collection_each(run: Interpreter, this: JsObject, given: list[Value]) -> Value:
    for key, value in list(this.native.entries.items()):
        call_value(run, argument(given, 0), UNDEFINED, [present(value), key, this], None)
    return UNDEFINED


def _collection_part(index: int) -> Method:
    def method(run: Interpreter, this: JsObject, given: list[Value]) -> Value:
        items = [like((key, value)[index], value) for key, value in this.native.entries.items()]
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
