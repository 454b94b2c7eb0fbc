"""Calls: into the project, of libraries, and of methods of values."""

from __future__ import annotations

import ast
import re
from functools import reduce
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from mcproof.core.named_tuple import NamedTuple
from mcproof.core.observations.source import ARGUMENT, PATH, PREFIX, SQL
from mcproof.source.flow_marks import ALL_KINDS, Marks, changed, cleaned, extended, merged, replaced
from mcproof.source.python.flows import expressions, tables
from mcproof.source.python.flows.sinks import (
    assumed_check,
    note_uses,
    proven,
    tested_by_function,
    tested_by_method,
    tested_by_pattern,
)
from mcproof.source.python.flows.values import (
    MOST_ELEMENTS,
    NOTHING,
    Alternatives,
    FlowValue,
    constant,
    dotted_name,
    either,
    joined,
)
from mcproof.source.python.interp.containers import assumed
from mcproof.source.python.interp.values import MISSING, UNKNOWN, Class, External, Function, Instance, Method, SuperOf

if TYPE_CHECKING:
    from mcproof.source.python.flows.walk import FunctionWalk


_SEPARATORS = re.compile(r"\[[^\]]*/[^\]]*\]\+?$")
"""A pattern for characters that are taken out of a name, the separators of paths among them."""
_PARSERS = frozenset(("urllib", "httpx", "yarl", "ipaddress"))
"""Modules whose results have parts of their own."""


class FlowCall(NamedTuple):
    """A call with its evaluated arguments."""

    node: ast.Call
    args: list[FlowValue]
    keywords: dict[str, FlowValue]
    rest: Marks
    """The marks of `**keywords`."""

    def everything(self) -> list[FlowValue]:
        return [*self.args, *self.keywords.values(), *([FlowValue(UNKNOWN, self.rest)] if self.rest else [])]

    def argument(self, position: int, names: tuple[str, ...]) -> FlowValue | None:
        """An argument by position or by one of its names."""
        if 0 <= position < len(self.args):
            return self.args[position]
        return next((self.keywords[name] for name in names if name in self.keywords), None)


def call(walk: FunctionWalk, node: ast.Call) -> FlowValue:
    """The value of a call."""
    receiver: FlowValue | None = None
    if isinstance(node.func, ast.Attribute):
        receiver = expressions.evaluate(walk, node.func.value)
        func = _method(walk, receiver, node.func.attr)
        name = node.func.attr
    else:
        func = expressions.evaluate(walk, node.func)
        name = node.func.id if isinstance(node.func, ast.Name) else ""
    given = _arguments(walk, node)
    base = func.base
    if name == "super" and receiver is None and walk.function.owner is not None:
        return constant(SuperOf(walk.function.owner, walk.own_object().base))
    if receiver is not None and isinstance(receiver.base, SuperOf):
        receiver = walk.own_object()
    if isinstance(base, Alternatives):
        return _call_any(walk, base, given)
    if isinstance(base, Function):
        return _project_call(walk, base, receiver, given)
    if isinstance(base, Class):
        return _create(walk, base, given)
    if isinstance(base, Instance) and isinstance(inner := walk.engine.attribute(base, "__call__"), Function):
        return _project_call(walk, inner, func, given)
    if isinstance(base, Method) and isinstance(base.of, Class) and (model := model_of(walk, base.of, name, given)):
        return model
    dotted = dotted_name(base)
    # from here on, the call leaves the project: it may test its arguments, use them, or make something of them
    matched = tested_by_pattern(dotted, receiver, given.args)
    if matched is not None:
        return matched
    if name in tables.ANSWERS and (name != "get_access_token" or dotted.startswith(("mcp.", "fastmcp."))):
        return expressions.sent(walk, tables.ANSWERS[name], node)
    note_uses(walk, dotted, name, receiver, given)
    deferred = _deferred(walk, name, given)
    if deferred is not None:
        return deferred
    if receiver is not None:  # a text, a path, a container or something made from a label: not an object of a library
        is_text = isinstance(receiver.base, str) or dotted_name(receiver.base) in tables.PATH_TYPES
        if not dotted or receiver.marks or receiver.elements is not None or is_text:
            result = _method_of_value(walk, receiver, name, given, dotted)
            if result is not None:
                return result
    if not dotted and any(argument.marks for argument in given.everything()):
        return _unknown_call(walk, name, receiver, given)
    return _external(walk, dotted, given)


def _method(walk: FunctionWalk, receiver: FlowValue, name: str) -> FlowValue:
    if receiver.marks and not isinstance(receiver.base, (Instance, Class)):
        if receiver.fields is not None and name in receiver.fields:
            return receiver.fields[name]
        base = receiver.base
        return constant(External(f"{dotted_name(base)}.{name}")) if dotted_name(base) else NOTHING
    return expressions.attribute_of(walk, receiver, name)


def _arguments(walk: FunctionWalk, node: ast.Call) -> FlowCall:
    args: list[FlowValue] = []
    for argument in node.args[:MOST_ELEMENTS]:
        if isinstance(argument, ast.Starred):
            args += expressions.spread(expressions.evaluate(walk, argument.value))
        else:
            args.append(expressions.evaluate(walk, argument))
    keywords: dict[str, FlowValue] = {}
    rest: list[Marks] = []
    for keyword in node.keywords[:MOST_ELEMENTS]:
        value = expressions.evaluate(walk, keyword.value)
        if keyword.arg is not None:
            keywords[keyword.arg] = value
        else:
            keywords.update(value.fields or {})
            rest.append(value.marks)
    return FlowCall(node, args, keywords, merged(rest))


def _call_any(walk: FunctionWalk, choice: Alternatives, given: FlowCall) -> FlowValue:
    """Call one of several: what one of them checks says nothing about the others."""
    before, ended = walk.state, walk.has_ended
    results, after, ends = [], [], []
    for option, cases in zip_longest(choice.options, choice.cases, fillvalue=frozenset[Any]()):
        walk.state, walk.has_ended = before.passed(cases), False
        results.append(_call_option(walk, option, given))
        after.append(walk.state)
        ends.append(walk.has_ended)
    walk.state, walk.has_ended = joined(after) or before, ended or all(ends)
    return either_of(results)


def _call_option(walk: FunctionWalk, option: Any, given: FlowCall) -> FlowValue:
    """Call one of several functions, classes or objects."""
    if isinstance(option, Class):
        return _create(walk, option, given)
    if isinstance(option, Instance):
        option = walk.engine.attribute(option, "__call__")
    return _project_call(walk, option, None, given) if isinstance(option, Function) else NOTHING


def _project_call(walk: FunctionWalk, function: Function, receiver: FlowValue | None, given: FlowCall) -> FlowValue:
    function = function if function.bound_to is not None else function.exposed()
    if function.wrapped is not None and isinstance(function.exposed().node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        function = function.exposed().bound(function.bound_to)
    bound = bind(walk, function, receiver, given)
    result, fields = walk.engine.call(walk, function, bound, given.node)
    target = given.node.func.value if isinstance(given.node.func, ast.Attribute) else None
    if fields and isinstance(target, ast.Name) and receiver is not None:
        before = walk.lookup(target.id)
        walk.state.names[target.id] = FlowValue(before.base, before.marks, fields={**(before.fields or {}), **fields})
    return result


def bind(walk: FunctionWalk, function: Function, receiver: FlowValue | None, given: FlowCall) -> dict[str, FlowValue]:
    """The values of the parameters of a function in a call."""
    spec = function.node.args
    positional = [*spec.posonlyargs, *spec.args]
    bound: dict[str, FlowValue] = {}
    args = list(given.args)
    if function.partial is not None:
        args = [*map(constant, function.partial[0]), *args]
    if function.bound_to is not None and positional:
        own = receiver if receiver is not None and isinstance(receiver.base, (Instance, Class)) else None
        bound[positional.pop(0).arg] = own or constant(function.bound_to)
    for index, parameter in enumerate(positional):
        if index < len(args):
            bound[parameter.arg] = args[index]
            if args[index].is_open:  # the rest of `*args` may be anywhere
                args += [args[index]] * (len(positional) - len(args))
    if spec.vararg is not None:
        bound[spec.vararg.arg] = FlowValue(UNKNOWN, elements=args[len(positional) :])
    names = {parameter.arg for parameter in (*positional, *spec.kwonlyargs)}
    more = {name: value for name, value in given.keywords.items() if name not in names}
    bound.update((name, value) for name, value in given.keywords.items() if name in names)
    if spec.kwarg is not None:
        bound[spec.kwarg.arg] = FlowValue(UNKNOWN, given.rest, fields=more)
    defaults = {parameter.arg: value for parameter, value in function.parameters() if value is not MISSING}
    for parameter in (*positional, *spec.kwonlyargs):
        if parameter.arg not in bound:
            value = constant(defaults[parameter.arg]) if parameter.arg in defaults else NOTHING
            if given.rest:
                value = either(FlowValue(UNKNOWN, extended(given.rest, parameter.arg)), value)
            bound[parameter.arg] = value
        bound[parameter.arg] = typed(walk, function, parameter, bound[parameter.arg])
    return bound


def typed(walk: FunctionWalk, function: Function, parameter: ast.arg, value: FlowValue) -> FlowValue:
    """A value with what the annotation of its parameter adds."""
    if parameter.annotation is None or (value.base is not UNKNOWN and value.base is not None):
        return value
    kind = walk.engine.type_of(parameter.annotation, function.scope)
    base = walk.engine.value_of_type(kind).base
    if base is UNKNOWN:
        return value
    return FlowValue(base, value.marks, fields=value.fields, elements=value.elements, text=value.text)


def _create(walk: FunctionWalk, cls: Class, given: FlowCall) -> FlowValue:
    """An instance of a class of the project."""
    instance = walk.engine.instance_of(cls)
    own = cls.attribute("__init__")
    if isinstance(own, Function):
        bound = bind(walk, own.bound(instance), constant(instance), given)
        _, fields = walk.engine.call(walk, own.bound(instance), bound, given.node)
        return FlowValue(instance, fields=fields)
    names = list(dict.fromkeys(name for ancestor in reversed(cls.ancestry()) for name in ancestor.annotations))
    fields = dict(zip(names, given.args, strict=False))
    fields.update(given.keywords)
    for name in [*fields]:
        for ancestor in cls.ancestry():
            if name in ancestor.annotations:
                kind = walk.engine.type_of(ancestor.annotations[name].annotation, ancestor.body)
                if walk.engine.is_plain(kind):
                    fields[name] = NOTHING
                break
    return FlowValue(instance, given.rest, fields=fields)


def _deferred(walk: FunctionWalk, name: str, given: FlowCall) -> FlowValue | None:
    """The result of a library function that calls a function of the project: `asyncio.to_thread(function, …)`."""
    if name not in tables.DEFERRED_CALLS:
        return None
    for index, argument in enumerate(given.args[:3]):
        inner = given._replace(args=given.args[index + 1 :])
        if isinstance(argument.base, Function):
            return _project_call(walk, argument.base, None, inner)
        dotted = dotted_name(argument.base)
        if any(dotted in table for table in (tables.SINKS, tables.RUNNERS, tables.SAFE_RESULTS)):
            note_uses(walk, dotted, dotted.rpartition(".")[2], None, inner)
            return _external(walk, dotted, inner)
    return either_of(given.args) if name in ("gather", "wait_for", "create_task", "ensure_future") else None


def either_of(values: list[FlowValue]) -> FlowValue:
    """The value that is any of several."""
    return reduce(either, values) if values else NOTHING


def _external(walk: FunctionWalk, name: str, given: FlowCall) -> FlowValue:
    """The result of an external function."""
    tested = tested_by_function(name, given.args)
    if tested is not None:
        return tested
    marks = merged(argument.all_marks() for argument in given.everything())
    base = External(f"{name}()") if name else UNKNOWN
    if not marks:
        if name in tables.ENVIRONMENT:
            default = given.argument(1, ("default",))
            return constant(assumed(None if default is None else default.base))
        is_kept = (
            name in tables.PASSES and given.args and isinstance(given.args[0].base, (Alternatives, Function, Instance))
        )
        return given.args[0] if is_kept else FlowValue(base)
    if name == "os.path.commonprefix":
        walk.use(PREFIX, FlowValue(UNKNOWN, marks), given.node, "os.path.commonprefix")
    if name in ("os.path.commonpath", "os.path.commonprefix"):
        return FlowValue(UNKNOWN, marks)
    if name == "os.path.relpath":
        return FlowValue(UNKNOWN, replaced(given.args[0].all_marks() if given.args else marks, relative=True))
    if name in tables.SAFE_RESULTS:
        return FlowValue(UNKNOWN, cleaned(marks, *tables.SAFE_RESULTS[name]))
    if name in tables.RESOLVES:
        # an absolute path begins with `/` or a drive, never with `-`
        clean = (ARGUMENT,) if name != "os.path.normpath" else ()
        return FlowValue(UNKNOWN, cleaned(replaced(marks, resolved=True), *clean))
    if name in tables.JOINS:
        return _joined_path(given)
    if name == "re.sub" and given.args and isinstance(given.args[0].base, str):
        pattern = given.args[0].base
        kinds = ALL_KINDS if pattern.startswith("[^") else (PATH,) if _SEPARATORS.match(pattern) else ()
        return FlowValue(UNKNOWN, cleaned(given.args[2].marks if len(given.args) > 2 else marks, *kinds))
    if name == "shlex.split":
        return FlowValue(UNKNOWN, changed(marks, lambda mark: mark._replace(part=True)), is_open=True)
    if name in tables.PASSES:
        is_shaped = f"{name}()" in tables.PATH_TYPES
        source = given.args[0] if len(given.args) == 1 and not given.keywords else None
        if name.partition(".")[0] in _PARSERS:
            return FlowValue(base, marks)
        if source is not None and not is_shaped:
            return FlowValue(UNKNOWN, source.marks, fields=source.fields, elements=source.elements, text=source.text)
        return FlowValue(base if is_shaped else UNKNOWN, _joined_path(given).marks if is_shaped else marks)
    if any(word in name.rpartition(".")[2].lower() for word in tables.CHECK_WORDS):
        walk.state = walk.state.passed(assumed_check(given.everything()))
    return FlowValue(base)


def _joined_path(given: FlowCall) -> FlowValue:
    """`os.path.join(a, b)`: an absolute part replaces those before it."""
    single = len(given.args) == 1
    parts = [
        changed(part.all_marks(), lambda mark: mark._replace(whole=mark.whole and single, joined=not single))
        for part in given.args
    ]
    last = given.args[-1].base if given.args else None
    return FlowValue(UNKNOWN, merged(parts), text="/" if last == "" else None)


def _unknown_call(walk: FunctionWalk, name: str, receiver: FlowValue | None, given: FlowCall) -> FlowValue:
    """A call of something that the source does not show: by its only possible method, or by its name."""
    if receiver is not None and not receiver.marks:
        method = walk.engine.unique_method(name)
        if method is not None:
            return _project_call(walk, method, None, given)
    # docs/decisions/0046-flows-assume-checks.md: a false report of a checked argument costs more trust than a miss
    if any(word in name.lower() for word in tables.CHECK_WORDS):
        walk.state = walk.state.passed(assumed_check(given.everything()))
    return NOTHING


def _method_of_value(
    walk: FunctionWalk, receiver: FlowValue, name: str, given: FlowCall, dotted: str
) -> FlowValue | None:
    """The result of a method of a text, a path or a container; None for other methods."""
    tested = tested_by_method(walk, receiver, name, given.args, given.node)
    if tested is not None:
        return tested
    mutated = _mutation(walk, receiver, name, given)
    if mutated is not None:
        return mutated
    first = given.args[0] if given.args else NOTHING
    if name == "relative_to" and receiver.marks:
        walk.state = walk.state.passed(proven(receiver, PATH))
        return FlowValue(receiver.base, receiver.marks)
    if name == "values" and (chosen := expressions.choice_of(receiver)) is not None:
        return FlowValue(list(chosen.options), receiver.marks)
    if name in ("get", "pop", "setdefault") and given.args:
        item = expressions.item_of(walk, receiver, first, given.node)
        return either(item, given.args[1]) if len(given.args) > 1 else item
    if name == "format" and (isinstance(receiver.base, str) or receiver.marks):
        filled = FlowValue(UNKNOWN, merged(argument.all_marks() for argument in given.everything()))
        return expressions.composed(walk, expressions.formatted_text(receiver, filled), given.node)
    if name == "join":
        text = FlowValue(UNKNOWN, changed(first.all_marks(), lambda mark: mark._replace(whole=False)))
        return expressions.composed(walk, text, given.node)
    if name == "items":
        is_model = receiver.fields is not None or isinstance(receiver.base, Instance)
        keys = NOTHING if is_model else FlowValue(UNKNOWN, receiver.marks)
        pair = FlowValue(UNKNOWN, elements=[keys, FlowValue(UNKNOWN, receiver.all_marks())])
        return FlowValue(UNKNOWN, elements=[pair])
    if name in ("model_dump", "dict", "copy", "model_copy", "values"):
        base = receiver.base if isinstance(receiver.base, Instance) else UNKNOWN
        return FlowValue(base, receiver.marks, fields=receiver.fields, elements=receiver.elements)
    if name == "joinpath":
        below = [changed(part.all_marks(), lambda mark: mark._replace(whole=False, joined=True)) for part in given.args]
        return FlowValue(receiver.base, merged((receiver.marks, *below)))
    if not receiver.marks:
        return None
    if name in tables.LOSING_METHODS:
        return FlowValue(External(f"{dotted}()") if dotted else UNKNOWN)
    return _changed_text(receiver, name, given)


def _changed_text(receiver: FlowValue, name: str, given: FlowCall) -> FlowValue:
    """The result of a method that returns a changed text or path."""
    marks = receiver.marks
    first = given.args[0] if given.args else NOTHING
    if name == "replace" and isinstance(first.base, str):
        kinds = {"/": (PATH,), "\\": (PATH,), "'": (SQL,), '"': (SQL,), "`": (SQL,)}.get(first.base, ())
        return FlowValue(receiver.base, cleaned(marks, *kinds), text=receiver.text)
    if name in tables.RESOLVING_METHODS:
        return FlowValue(receiver.base, cleaned(replaced(marks, resolved=True), ARGUMENT))
    if name in tables.WORD_METHODS:
        return FlowValue(UNKNOWN, changed(marks, lambda mark: mark._replace(part=True)), is_open=True)
    base = receiver.base if dotted_name(receiver.base) in tables.PATH_TYPES and name != "as_posix" else UNKNOWN
    return FlowValue(base, marks, text=receiver.text)


def _mutation(walk: FunctionWalk, receiver: FlowValue, name: str, given: FlowCall) -> FlowValue | None:
    """A change of a list or dictionary that has a name."""
    target = given.node.func.value if isinstance(given.node.func, ast.Attribute) else None
    if not isinstance(target, ast.Name) or name not in ("append", "extend", "insert", "add", "update"):
        return None
    elements = receiver.elements
    if name == "update":
        other = given.args[0] if given.args else NOTHING
        fields = {**(receiver.fields or {}), **(other.fields or {}), **given.keywords}
        changed_value = FlowValue(receiver.base, merged((receiver.marks, other.marks)), fields=fields)
    elif elements is None and not any(argument.all_marks() for argument in given.args):
        return NOTHING
    elif name == "insert" and len(given.args) > 1:
        changed_value = FlowValue(UNKNOWN, receiver.marks, elements=[given.args[1], *(elements or [])])
    else:
        added = [given.args[0]] if name != "extend" else expressions.spread(given.args[0])
        changed_value = FlowValue(UNKNOWN, receiver.marks, elements=[*(elements or []), *added][:MOST_ELEMENTS])
    walk.state.names[target.id] = changed_value
    return NOTHING


def model_of(walk: FunctionWalk, cls: Class, name: str, given: FlowCall) -> FlowValue | None:
    """`Model.model_validate(data)`: an instance whose fields are parts of the data."""
    if name not in tables.MODEL_METHODS or not given.args:
        return None
    data = given.args[0]
    return FlowValue(walk.engine.instance_of(cls), data.marks, fields=data.fields)
