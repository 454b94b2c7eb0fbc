"""Members of values, and calls of methods, functions and constructors."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mcproof.source.javascript.interp.builtins import call_builtin, method_of, object_member
from mcproof.source.javascript.interp.functions import JsFunction, NativeFunction, call_function, mentions
from mcproof.source.javascript.interp.interpreter import MOST_ITEMS, Completion, Deferred, either, over_options
from mcproof.source.javascript.interp.operators import text_of
from mcproof.source.javascript.values import (
    ABSENT,
    UNDEFINED,
    Accessor,
    JsArray,
    JsObject,
    JsPromise,
    JsRegExp,
    Library,
    Symbol,
    Unknown,
    like,
    may_lack,
    maybe,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tree_sitter import Node

    from mcproof.source.javascript.interp.interpreter import Interpreter
    from mcproof.source.javascript.interp.modules import Module
    from mcproof.source.javascript.values import Value

    Place = tuple[Module, Node] | None


_ZOD_CLASS = re.compile(r"\$?Zod[A-Z]\w*$")
"""How zod 4 names the classes that it creates with a function."""


def _is_callable(value: Value) -> bool:
    return bool(getattr(value, "is_callable", False))


def property_key(value: Value) -> str | Unknown:
    """A value as the name of a member."""
    if isinstance(value, str):
        return value
    if isinstance(value, Symbol):
        return f"@@{value.name}"
    return text_of(value)


def resolved(value: Value) -> Value:
    """A value that may have to be computed first."""
    return value.compute() if value.__class__ is Deferred else value


def _read(value: Value) -> Value:
    """What reading an item or a member comes to that may be missing."""
    if not may_lack(value):
        return value
    options = tuple(UNDEFINED if option is ABSENT else option for option in value.options)
    return Unknown(value.reason, options, value.is_default)


def member_from(run: Interpreter, holder: JsObject, name: str, this: Value) -> Value:
    """A member of an object or of what it inherits from; UNDEFINED if there is none."""
    at: JsObject | None = holder
    is_open = is_closed_by_default = False
    while at is not None:
        if name in at.members:
            value = at.members[name]
            if value.__class__ is Deferred:
                return value.compute()
            if value.__class__ is Accessor:
                if isinstance(value.get, JsFunction):
                    return call_function(run, value.get, this, ())
                return value.get.use(this, []) if isinstance(value.get, NativeFunction) else UNDEFINED
            return _read(value)
        # of a map it is the content that may be more, not the members
        if at.is_open and not hasattr(at.native, "entries"):
            is_closed_by_default = at.is_closed_by_default and (is_closed_by_default or not is_open)
            is_open = True
        at = at.proto
    if isinstance(holder, JsFunction) and name == "prototype" and not holder.code.is_arrow:
        return holder.prototype()
    if not is_open:
        return UNDEFINED
    reason = f"whether there is a member `{name}` is not known"
    return Unknown(reason, (UNDEFINED,), is_default=True) if is_closed_by_default else Unknown(reason)


def get_member(run: Interpreter, value: Value, name: str) -> Value:
    """A member of any value; undefined where reading it would fail, because a server that runs does not fail there."""
    if isinstance(value, JsObject):
        if value.native is not None and value.native.__class__ is not str and run.host.is_native(value.native):
            own = member_from(run, value, name, value)
            return own if own is not UNDEFINED else run.host.member(value.native, name)
        recognized = run.host.recognized(value) if "ZodObject" in value.members else None
        if recognized is not None:
            return run.host.member(recognized, name)
        member = member_from(run, value, name, value)
        if member is not UNDEFINED:
            return member
        return object_member(run, value, name)
    if isinstance(value, Unknown):
        if value.options:
            return over_options(value, lambda option: get_member(run, option, name))
        return Unknown(value.reason)
    if isinstance(value, JsArray):
        if name == "length":
            if value.is_open or any(map(may_lack, value.items)):
                return Unknown("the length of this list is not known")
            return len(value.items)
        if name.isdigit():
            if int(name) < len(value.items):
                return _read(value.items[int(name)])
            return Unknown("this item is not known") if value.is_open else UNDEFINED
        if value.members is not None and name in value.members:
            return value.members[name]
        return method_of(run, "Array", name)
    if isinstance(value, str):
        if name == "length":
            # JavaScript counts units of UTF-16.
            return len(value) if value.isascii() else len(value.encode("utf-16-le", "surrogatepass")) // 2
        if name.isdigit():
            return value[int(name)] if int(name) < len(value) else UNDEFINED
        return method_of(run, "String", name)
    if value is None or value is UNDEFINED:
        return UNDEFINED
    if isinstance(value, JsRegExp):
        return {"source": value.source, "flags": value.flags, "global": "g" in value.flags}.get(
            name, method_of(run, "RegExp", name)
        )
    if isinstance(value, (int, float)):
        return method_of(run, "Number", name)
    if isinstance(value, JsPromise):
        return method_of(run, "Promise", name)
    return run.host.member(value, name)


def set_member(run: Interpreter, value: Value, name: str | Unknown, new: Value) -> None:
    """Set a member."""
    if isinstance(value, Unknown):
        options = [option for option in value.options if isinstance(option, (JsObject, JsArray))]
        # Which of several objects is written to is unknown, and to write to all would invent members.
        if len(options) == 1:
            set_member(run, options[0], name, new)
        return
    if isinstance(name, Unknown):
        if name.is_default:
            set_member(run, value, property_key(name.options[0]), Unknown(name.reason, (new, ABSENT)))
        if isinstance(value, JsObject):
            run.open(value)
        elif isinstance(value, JsArray):
            value.is_open = True
        return
    if isinstance(value, JsArray):
        run.will_change(value)
        if name.isdigit() and int(name) < MOST_ITEMS:
            while len(value.items) <= int(name):
                value.items.append(UNDEFINED)
            value.items[int(name)] = new
        elif name == "length" and isinstance(new, int):
            value.items = value.items[:new]
        elif name != "length":
            value.members = {**(value.members or {}), name: new}
        return
    if not isinstance(value, JsObject):
        return
    if isinstance(new, JsFunction) and not new.name:
        new.name = name
    at: JsObject | None = value
    while at is not None:
        before = at.members.get(name)
        if before.__class__ is Accessor:
            if isinstance(before.set, JsFunction):
                call_function(run, before.set, value, [new])
            elif at is value:
                break
            return
        at = at.proto
    run.write(value.members, name, new, value.birth)


def items_of(run: Interpreter, value: Value) -> tuple[list[Value], bool]:
    """The items of something iterable, and whether there may be more."""
    if isinstance(value, JsArray):
        return list(value.items), value.is_open
    if isinstance(value, str):
        return list(value[:MOST_ITEMS]), False
    if isinstance(value, Unknown):
        lists = [option for option in value.options if option is not None and option is not UNDEFINED]
        if value.options and all(isinstance(option, (JsArray, JsObject)) for option in lists):
            if value.is_default and value.options[0] in lists and len(value.options) == 1:
                items, _ = items_of(run, lists[0])
                return items, True
            parts = [items_of(run, option) for option in lists]
            default = value.options[0] if value.is_default else None
            return [
                maybe(item, value.reason, by_default=option is default)
                for option, (items, _) in zip(lists, parts, strict=True)
                for item in items
            ], any(is_open for _, is_open in parts)
        return [], True
    if isinstance(value, JsObject):
        if hasattr(value.native, "items"):
            return value.native.items(), value.is_open
        iterator = member_from(run, value, "@@iterator", value)
        if isinstance(iterator, JsFunction):
            return items_of(run, call_function(run, iterator, value, ()))
        return [], True
    if value is None or value is UNDEFINED:
        return [], False
    return [], True


def keys_of(value: Value) -> tuple[list[Value], bool]:
    """The names that `for … in` goes through, and whether there may be more."""
    if isinstance(value, JsObject):
        names: dict[str, Value] = {}
        is_open = False
        at: JsObject | None = value
        while at is not None and (at is value or not isinstance(at, JsFunction)):
            # The prototype of a class has its methods, which `for … in` passes over.
            if at is value or "constructor" not in at.members:
                for name, member in at.members.items():
                    if (
                        name[:2] != "@@"
                        and name not in at.hidden
                        and not (name == "prototype" and isinstance(at, JsFunction))
                    ):
                        names.setdefault(name, like(name, member))
            is_open = is_open or at.is_open
            at = at.proto
        return list(names.values()), is_open
    if isinstance(value, JsArray):
        return [str(index) for index in range(len(value.items))], value.is_open
    if isinstance(value, Unknown):
        objects = [option for option in value.options if isinstance(option, JsObject)]
        if len(objects) == 1:
            names_, is_open = keys_of(objects[0])
            return [either([name, ABSENT], value.reason) for name in names_], is_open
        return [], True
    return [], not (value is None or value is UNDEFINED or isinstance(value, (int, float)))


def call_value(run: Interpreter, function: Value, this: Value, given: list[Value], place: Place) -> Value:
    """Call a value."""
    if isinstance(function, JsFunction):
        code = function.code
        if code.library is UNDEFINED:
            code.library = run.host.recognized(code)
        if code.library is not None:
            return run.host.call(code.library, given, place)
        if len(given) == 4 and isinstance(given[3], JsFunction) and given[3].code.is_generator:
            # what compilers make of async functions for older versions of the language
            items, _ = items_of(run, given[1])
            return call_function(run, given[3], given[0], items, awaits=True)
        if len(given) > 1 and given[0].__class__ is str and _ZOD_CLASS.match(given[0]) and _is_callable(given[1]):
            return run.host.constructor(given[0])
        if given and given[0].__class__ is Library and mentions(code, b"__esModule"):
            return given[0]  # what compilers put around an import of another package
        return call_function(run, function, this, given)
    if isinstance(function, NativeFunction):
        run.charge(2)
        return function.use(this, given)
    if isinstance(function, Unknown):
        callable_options = [option for option in function.options if not _is_no_function(option)]
        if callable_options:
            return call_options(
                run, function, callable_options, lambda option: call_value(run, option, this, given, place)
            )
        pass_on(run, given)
        return Unknown(function.reason)
    run.charge(2)
    if _is_no_function(function):
        pass_on(run, given)
        return Unknown("what is called here is not a function")
    return run.host.call(function, given, place)


def _is_no_function(value: Value) -> bool:
    return value is ABSENT or value is None or value is UNDEFINED or isinstance(value, (str, int, float, JsArray))


def pass_on(run: Interpreter, given: Sequence[Value]) -> None:
    """Note the functions that unknown code gets: it may call them."""
    for value in given:
        if isinstance(value, JsFunction):
            run.host.pass_callback(value)
        elif isinstance(value, JsObject) and value.native is None and len(value.members) <= 20:
            for member in value.members.values():
                if isinstance(member, JsFunction):
                    run.host.pass_callback(member)


def call_options(run: Interpreter, value: Unknown, options: list[Value], call: Callable[[Value], Value]) -> Value:
    """Call each of several functions, or a method of several values, of which only one is meant."""
    if not options:
        return Unknown(value.reason)
    if len(options) == 1:
        return call(options[0])

    def side(option: Value) -> Callable[[], Completion]:
        return lambda: Completion("return", call(option))

    preferred = 0 if value.is_default and options[0] is value.options[0] else None
    completion = run.alternatives(id(value), value, [side(option) for option in options], preferred)
    return completion.value if completion is not None else UNDEFINED


def call_method(run: Interpreter, value: Value, name: str, given: list[Value], place: Place) -> Value:
    """Call a member of a value."""
    result = call_builtin(run, value, name, given)
    if result is not ABSENT:
        return result
    if isinstance(value, Unknown):
        options = [
            option for option in value.options if not (option is ABSENT or option is None or option is UNDEFINED)
        ]
        if not options:
            pass_on(run, given)
            if value.is_default:  # `process.env.TOOLS?.split(",")` is undefined by default
                return Unknown(value.reason, (UNDEFINED,), is_default=True)
            return Unknown(value.reason)
        if len(options) == 1:
            result = call_method(run, options[0], name, given, place)
            if value.is_default and not isinstance(result, Unknown):
                return Unknown(value.reason, (result,), is_default=True)
            return result
        return call_options(run, value, options, lambda option: call_method(run, option, name, given, place))
    if isinstance(value, (JsObject, JsArray, str)):
        if isinstance(value, JsObject) and value.native is not None and run.host.is_native(value.native):
            own = member_from(run, value, name, value)
            if own is UNDEFINED:
                return run.host.method(value.native, name, given, place)
            return call_value(run, own, value, given, place)
        return call_value(run, get_member(run, value, name), value, given, place)
    if value is None or value is UNDEFINED:
        pass_on(run, given)
        return Unknown(f"`{name}` is called on nothing")
    if isinstance(value, (int, float, JsRegExp, JsPromise)):
        return call_value(run, get_member(run, value, name), value, given, place)
    run.charge(2)
    return run.host.method(value, name, given, place)


def construct_value(run: Interpreter, function: Value, given: list[Value], place: Place) -> Value:
    """The value of `new function(…)`."""
    from mcproof.source.javascript.interp.classes import construct

    if isinstance(function, JsFunction):
        return construct(run, function, given, place)
    if isinstance(function, NativeFunction):
        maker = function.members.get("@@construct")
        return maker.use(UNDEFINED, given) if isinstance(maker, NativeFunction) else function.use(UNDEFINED, given)
    if isinstance(function, Unknown):
        options = [option for option in function.options if not _is_no_function(option)]
        if options:
            return call_options(run, function, options, lambda option: construct_value(run, option, given, place))
        pass_on(run, given)
        return Unknown(function.reason)
    return run.host.construct(function, given, place)
