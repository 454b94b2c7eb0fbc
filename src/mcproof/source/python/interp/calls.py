"""Calls of functions and classes of the project, of methods, built-ins and external code.

A call of the project binds parameters, follows the body, and joins the returned values.
"""

from __future__ import annotations

import ast
from functools import reduce
from itertools import islice
from typing import TYPE_CHECKING, Any

from mcproof.source.python.interp import builtins
from mcproof.source.python.interp.bindings import Parameter, Signature, replaced
from mcproof.source.python.interp.branches import RAISE, join
from mcproof.source.python.interp.containers import (
    Assumed,
    SourceDict,
    SourceList,
    assumed,
    default_of,
    doubtful_positions,
    is_enum,
    members_of,
    size_of,
)
from mcproof.source.python.interp.expressions import evaluate
from mcproof.source.python.interp.library_calls import SPECIAL, ordered
from mcproof.source.python.interp.modules import MemoizedCall
from mcproof.source.python.interp.operators import items_of, unwrapped
from mcproof.source.python.interp.values import (
    CONTENTS,
    MISSING,
    PLAIN,
    UNKNOWN,
    BudgetExceededError,
    Call,
    Class,
    EitherFunction,
    EnumMember,
    External,
    ExternalCall,
    Frame,
    Function,
    Generic,
    Instance,
    Method,
    Scope,
    SuperOf,
    contents_of,
)

if TYPE_CHECKING:
    from mcproof.source.python.interp.interpreter import Interpreter


MOST_CALLS = 24
DEEPEST_RECURSION = 12
_ENDING = (int, str, dict, list)
"""Types of arguments that end a recursion: they count down, or each call gets a part of the last one."""
STEPS_WITHOUT_EFFECTS = 2_000
"""The budget of a function in a module without effects; only its result is of interest."""


def call_function(run: Interpreter, function: Function, call: Call) -> Any:
    """Call a function of the project; return its result."""
    if isinstance(function, EitherFunction):
        return UNKNOWN
    node = function.node
    run.functions.followed.add(id(node))
    depth = run.active.count(id(node))
    if len(run.active) >= MOST_CALLS or (depth and depth > _deepest_recursion(call)):
        _report_cut(run, function)
        return UNKNOWN
    if function.partial is not None:
        args, kwargs = function.partial
        call = call._replace(args=[*args, *call.args], kwargs={**kwargs, **call.kwargs})
    # without earlier results, functions that call each other several times take exponential time
    key = _memo_key(function, call)
    earlier = run.functions.results.get(key) if key is not None else None
    before = _state(run, function)
    is_uncertain = UNKNOWN in call.given()
    if earlier is not None and (earlier.state == before or (earlier.value is UNKNOWN and is_uncertain)):
        return earlier.value
    # most of a project registers nothing: it is only followed for the values that registrations get from it
    is_harmless = run.modules.has_no_effects(function.module)
    if is_harmless and not any(_may_have_effects(run, argument) for argument in call.given()):
        value = _call_briefly(run, function, call)
    else:
        value = _call(run, function, call)
    if key is not None and (value is None or value is UNKNOWN or isinstance(value, (str, int, float))):
        after = _state(run, function)
        if after == before or (value is UNKNOWN and is_uncertain and run.domain.effects == before[0]):
            run.functions.results[key] = MemoizedCall(value, before, function)
    return value


def _state(run: Interpreter, function: Function) -> tuple[int, ...]:
    """Counters of all changes that are visible to a function."""
    state = [run.domain.effects, run.changes]
    scope: Scope | None = function.scope
    while scope is not None:
        state.append(scope.changes)
        scope = scope.parent
    return tuple(state)


def _deepest_recursion(call: Call) -> int:
    """How often a function may already be active in a recursive call: arguments that change end a recursion."""
    given = call.given()
    if all(argument is UNKNOWN for argument in given):
        return 0
    is_known = not any(argument is UNKNOWN for argument in given)
    return DEEPEST_RECURSION if is_known and any(isinstance(argument, _ENDING) for argument in given) else 1


def _report_cut(run: Interpreter, function: Function) -> None:
    """Report a recursion that is cut off and that has effects in each call."""
    own = [frame for frame in run.frames if frame.function is not None and frame.function.node is function.node]
    if any(run.domain.effects > frame.effects for frame in own):
        run.domain.cut_short(function.module, function.node)


def _may_have_effects(run: Interpreter, value: Any, depth: int = 0) -> bool:
    """Whether a function that receives this value can have effects through it."""
    if isinstance(value, (dict, list)) and depth < 3:
        items = value.values() if isinstance(value, dict) else value
        return any(_may_have_effects(run, item, depth + 1) for item in islice(items, 8))
    return isinstance(value, (Function, Method)) or run.domain.owns(value)


def _call_briefly(run: Interpreter, function: Function, call: Call) -> Any:
    """Call a function in a module without effects, with a small budget; if that is exceeded, never again."""
    if id(function.node) in run.functions.endless:
        return UNKNOWN
    outer = run.budget.limit
    run.budget.limit = min(outer, run.budget.steps + STEPS_WITHOUT_EFFECTS)
    try:
        return _call(run, function, call)
    except BudgetExceededError as error:
        if run.budget.steps > outer or run.budget.items > run.budget.most_items:
            raise
        run.functions.followed.difference_update(error.unfinished)  # another call may follow them to the end
        run.functions.endless.add(id(function.node))
        return UNKNOWN
    finally:
        run.budget.limit = outer


def _memo_key(function: Function, call: Call) -> Any:
    """A key that identifies a call with plain arguments; None for other calls."""
    given = call.given()
    if any(
        not (argument is UNKNOWN or argument is None or isinstance(argument, (str, int, float))) for argument in given
    ):
        return None
    identity = id(function.node), id(function.scope), id(function.bound_to), id(function.defaults)
    return *identity, *map(type, given), *call.args, *call.kwargs.items()  # True and 1 are equal as keys


def _call(run: Interpreter, function: Function, call: Call) -> Any:
    node = function.node
    inner = Scope(function.module, function.scope)
    _bind(run, function, inner, call)
    frame = Frame(function)
    frame.effects = run.domain.effects
    run.frames.append(frame)
    run.active.append(id(node))
    outer, run.current_class = run.current_class, None
    try:
        if isinstance(node, ast.Lambda):
            return run.resolve(evaluate(run, node.body, inner))
        outcome = run.block(node.body, inner)
    except RecursionError:
        return UNKNOWN
    except BudgetExceededError as error:
        error.unfinished.append(id(node))
        raise
    finally:
        run.current_class = outer
        run.active.pop()
        run.frames.pop()
        run.lower_doubt(run.doubt - frame.doubts())
    if frame.yields is not None:
        return frame.yields
    returns = frame.returns
    if not returns:
        return UNKNOWN if outcome == RAISE else None
    if outcome is None:
        returns = [*returns, None]
    value = _joined(run, returns)
    # what is returned if nothing is configured: docs/decisions/0032-defaults-of-the-environment.md
    if value is UNKNOWN:
        likely = [
            returned
            for index, returned in enumerate(returns)
            if index not in frame.unlikely and index < frame.unlikely_after
        ]
        if likely and len(likely) < len(returns):
            return assumed(_joined(run, likely))
    return value


def _joined(run: Interpreter, values: list[Any]) -> Any:
    """The value that is one of several."""
    return reduce(lambda value, other: join(run, value, other), values)


def _bind(run: Interpreter, function: Function, scope: Scope, call: Call) -> None:
    spec = function.node.args
    args = call.args if function.bound_to is None else [function.bound_to, *call.args]
    names = scope.names
    rest = dict(call.kwargs)
    positional = len(spec.posonlyargs) + len(spec.args)
    for index, (parameter, default) in enumerate(function.parameters()):
        if index < min(positional, len(args)):
            value = args[index]
        elif parameter.arg in rest:
            value = rest.pop(parameter.arg)
        else:
            value = default if call.complete and default is not MISSING else UNKNOWN
        names[parameter.arg] = _or_annotated(run, value, parameter, function)
    if spec.vararg is not None:
        names[spec.vararg.arg] = tuple(args[positional:]) if call.complete else UNKNOWN
    if spec.kwarg is not None:
        extra = SourceDict(rest)
        extra.mark_open(not call.complete)
        names[spec.kwarg.arg] = extra


def _or_annotated(run: Interpreter, value: Any, parameter: ast.arg, function: Function) -> Any:
    """The value of a parameter; if it is unknown, the value that its annotation implies in the domain."""
    annotation = parameter.annotation
    if annotation is None or not (value is UNKNOWN or isinstance(value, ExternalCall)):
        return value
    kind: Any = UNKNOWN
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        last = annotation.value.rpartition(".")[2]
        kind = run.lookup(last, function.scope) if last.isidentifier() else UNKNOWN
    elif isinstance(annotation, (ast.Name, ast.Attribute)):
        kind = run.resolve(evaluate(run, annotation, function.scope))
    instance = run.domain.instance_of_annotation(kind)
    return value if instance is UNKNOWN else instance


_DICTS = frozenset(("builtins.dict", "collections.OrderedDict", "collections.UserDict"))
_LISTS = frozenset(("builtins.list", "collections.UserList"))


def instantiate(run: Interpreter, cls: Class, call: Call) -> Any:
    """Create an instance of a project class; follows `__init__`."""
    if is_enum(cls):
        wanted = unwrapped(call.args[0]) if call.args else UNKNOWN
        return next((member for member in members_of(cls) if member.value == wanted), UNKNOWN)
    instance = Instance(cls, call.node)
    instance.doubt = run.doubt
    run.instances.setdefault(id(cls), instance)  # methods that nothing calls are followed on the first instance
    instance.native = run.domain.native_part(cls, call)
    kinds = {base.name for base in cls.external_bases()}
    if not _DICTS.isdisjoint(kinds):
        instance.attributes[CONTENTS] = SourceDict()
    elif not _LISTS.isdisjoint(kinds):
        instance.attributes[CONTENTS] = SourceList()
    own = cls.attribute("__init__")
    if isinstance(own, Function):
        call_function(run, own.bound(instance), call)
    elif instance.native is None:
        set_fields(run, instance, call)
        after = cls.attribute("__post_init__")
        if isinstance(after, Function):
            call_function(run, after.bound(instance), Call([], {}))
    instance.doubt = 0
    return instance


def set_fields(run: Interpreter, instance: Instance, call: Call) -> None:
    """Set the fields of a model, a dataclass or a named tuple from arguments and defaults."""
    fields = [name for ancestor in reversed(instance.cls.ancestry()) for name in ancestor.annotations]
    for name, value in zip(dict.fromkeys(fields), call.args, strict=False):
        instance.attributes[name] = value
    instance.attributes.update(call.kwargs)
    reads_environment = any(base.last in run.domain.environment_bases for base in instance.cls.external_bases())
    for name in fields:
        if name in instance.attributes:
            continue
        default = instance.cls.attribute(name)
        if isinstance(default, ExternalCall) and (
            default.func.last == "field" or default.func.last in run.domain.field_functions
        ):
            factory = default.kwargs.get("default_factory", MISSING)
            if factory is not MISSING:
                default = run.call(factory, Call([], {}))
            else:
                default = default.argument(0, "default", UNKNOWN)
        instance.attributes[name] = UNKNOWN if default is MISSING else default
        if reads_environment and isinstance(default, PLAIN):
            instance.attributes[name] = assumed(default)


def call_super(run: Interpreter, holder: SuperOf, name: str, call: Call) -> Any:
    """Call a method of `super()` that no project class defines."""
    if name == "__init__" and isinstance(holder.instance, Instance):
        if holder.instance.native is not None:
            run.domain.initialize(holder.instance.native, call)
        elif any(
            base.last == "NamedTuple" or base.last in run.domain.data_bases for base in holder.cls.external_bases()
        ):
            set_fields(run, holder.instance, call)
        return None
    return run.domain.class_method(holder.cls, name, call)


COST_OF_GOING_DEEP = 40
"""The cost of a deep copy, relative to processing a list once."""


def call_value(run: Interpreter, func: Any, call: Call) -> Any:
    """Return the result of a call."""
    if isinstance(func, Generic):
        func = func.base
    if isinstance(func, Function):
        return call_function(run, func, call)
    if isinstance(func, Class):
        return instantiate(run, func, call)
    if isinstance(func, Method):
        return _method(run, func, call)
    if isinstance(func, External):
        return _external(run, func, call)
    if isinstance(func, ExternalCall):
        return _call_of_result(run, func, call)
    if isinstance(func, Instance):
        own = func.cls.attribute("__call__")
        return call_function(run, own.bound(func), call) if isinstance(own, Function) else UNKNOWN
    return run.domain.call(func, call.args)


def _call_of_result(run: Interpreter, func: ExternalCall, call: Call) -> Any:
    """A call of the result of an external call, usually a decorator."""
    args, kwargs = call.args, call.kwargs
    if func.func.name == "functools.wraps" and args and isinstance(args[0], Function):
        copy = args[0].copy()
        copy.attributes = dict(args[0].attributes)
        copy.wrapped = func.args[0] if func.args and isinstance(func.args[0], Function) else UNKNOWN
        return copy
    if func.func.name == "collections.namedtuple" and call.complete:
        return _named_tuple(func, call)
    if func.func.name == "functools.partial" and func.args:
        return run.call(func.args[0], Call([*func.args[1:], *args], {**func.kwargs, **kwargs}))
    outcome = run.domain.call(func, args)
    if outcome is not UNKNOWN:
        return outcome
    return args[0] if len(args) == 1 and isinstance(args[0], (Function, Class)) and not kwargs else UNKNOWN


def _named_tuple(func: ExternalCall, call: Call) -> Any:
    """An instance of `namedtuple("Tool", "name fn")`, as an object with these attributes."""
    field_names = unwrapped(func.argument(1, "field_names"))
    names = field_names.replace(",", " ").split() if isinstance(field_names, str) else items_of(field_names)
    if names is None or not all(isinstance(name, str) for name in names) or set(func.kwargs) - {"field_names"}:
        return UNKNOWN
    fields = {**dict(zip(names, call.args, strict=False)), **call.kwargs}
    return ExternalCall(External("types.SimpleNamespace"), [], fields, call.node, call.module)


def decorate(run: Interpreter, decorator: Any, function: Any, node: ast.expr, scope: Scope) -> Any:
    """Apply a decorator to a function; an unknown decorator is assumed to keep the function."""
    if isinstance(function, Function):
        named = decorator.name if isinstance(decorator, External) else ""
        if named in ("builtins.staticmethod", "builtins.classmethod", "builtins.property") or named.endswith(
            ("cached_property", "abstractproperty")
        ):
            decorated = function.copy()
            decorated.decorators = {*function.decorators, "property" if named.endswith("property") else named[9:]}
            return decorated
        if isinstance(node, ast.Attribute) and node.attr in ("setter", "deleter", "getter"):
            return run.resolve(scope.names.get(function.name, function))
    if isinstance(decorator, External):
        outcome = run.domain.decorate(decorator, function, node)
        return function if outcome is UNKNOWN else outcome
    if decorator is UNKNOWN:  # most decorators return the function or a wrapper with its signature
        return function
    decorated = run.call(decorator, Call([function], {}, node if isinstance(node, ast.Call) else None, scope))
    if isinstance(decorated, Function) and isinstance(function, Function) and decorated is not function:
        decorated.owner = decorated.owner or function.owner
        return decorated
    is_something = isinstance(decorated, (Function, Class, Instance, ExternalCall)) or run.domain.owns(decorated)
    return decorated if is_something else function


def _method(run: Interpreter, func: Method, call: Call) -> Any:
    holder, name = contents_of(func.of), func.name
    if isinstance(holder, Assumed) or (
        isinstance(holder, str) and any(isinstance(argument, Assumed) for argument in call.given())
    ):
        args, kwargs = (
            [default_of(argument) for argument in call.args],
            {key: default_of(argument) for key, argument in call.kwargs.items()},
        )
        return assumed(plain_method(run, default_of(holder), name, args, kwargs))
    if isinstance(holder, (str, dict, list, EnumMember)):
        return plain_method(run, holder, name, call.args, call.kwargs)
    if isinstance(holder, SuperOf):
        return call_super(run, holder, name, call)
    if isinstance(holder, (Parameter, Signature)):
        return replaced(holder, call)
    if isinstance(holder, Class):
        return run.domain.class_method(holder, name, call)
    return run.domain.method(holder, name, call)


_CHANGING = frozenset(
    ("append", "extend", "add", "update", "insert", "remove", "discard", "pop", "clear", "sort", "reverse",
     "setdefault", "popitem")
)  # fmt: skip

_QUICK = frozenset(("append", "get", "setdefault"))
"""Methods that take constant time."""


def plain_method(run: Interpreter, holder: Any, name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Call a method of plain data; changes under a condition are doubtful."""
    if name not in _QUICK:
        run.budget.charge_items(holder, *args)
    if name in _CHANGING:
        run.changes += 1
    if isinstance(holder, SourceList) and holder.alternatives and name in _CHANGING:
        with run.in_doubt():  # the program changes one of these lists, and which one is not known
            for alternative in holder.alternatives:
                _plain_method(run, alternative, name, args, kwargs)
    return _plain_method(run, holder, name, args, kwargs)


def _plain_method(run: Interpreter, holder: Any, name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
    if run.doubt and name in ("pop", "remove", "clear", "popitem") and isinstance(holder, (SourceDict, SourceList)):
        return _remove_in_doubt(holder, name, args)
    if name == "sort" and isinstance(holder, SourceList):
        return _sort(run, holder, kwargs)
    if run.doubt and name == "update" and isinstance(holder, SourceDict):
        return _update_in_doubt(run, holder, args, kwargs)
    before = len(holder) if isinstance(holder, SourceList) else 0
    result = builtins.method(run, holder, name, args, kwargs)
    if isinstance(holder, SourceList) and name in ("append", "extend", "add", "update"):
        if name in ("extend", "update") and args:
            holder.inherit_doubt(args[0], (before + index for index in doubtful_positions(args[0])))
        if run.doubt:
            holder.doubtful |= set(range(before, len(holder)))
    elif isinstance(holder, SourceList) and run.doubt and name == "insert":
        holder.doubt_all()
    elif isinstance(holder, SourceList) and run.doubt and name == "reverse":
        holder.unordered = True
    return result


def _sort(run: Interpreter, holder: SourceList, options: dict[str, Any]) -> None:
    """`list.sort`; under a condition, or with unknown keys, the order becomes unknown."""
    in_order = ordered(run, list(holder), options)
    holder.nodes = []
    if in_order is None or run.doubt:
        holder.unordered = True
        return
    if holder.doubtful:
        holder.doubt_all()
    holder[:] = in_order
    holder.unordered = False


def _update_in_doubt(run: Interpreter, holder: SourceDict, args: list[Any], kwargs: dict[str, Any]) -> None:
    """Update a dictionary under a condition: new keys are doubtful, changed values are joined with the old ones."""
    changed = {key for changes in (*args, kwargs) if isinstance(changes, dict) for key in changes}
    before = {key: holder[key] for key in changed if key in holder}
    sure = before.keys() - holder.doubtful
    builtins.method(run, holder, "update", args, kwargs)
    for key, value in before.items():
        holder[key] = join(run, value, holder[key])
    holder.doubtful |= changed - sure


def _remove_in_doubt(holder: SourceDict | SourceList, name: str, args: list[Any]) -> Any:
    """Remove an item under a condition: it stays, but is doubtful."""
    if isinstance(holder, SourceList):
        everything = set(range(len(holder)))
        holder.doubtful |= (
            {index for index in everything if holder[index] is args[0]} if name == "remove" and args else everything
        )
        return UNKNOWN
    key = unwrapped(args[0]) if args else UNKNOWN
    if name == "pop" and isinstance(key, (str, int)):
        if key in holder:
            holder.doubtful.add(key)
            return holder[key]
        return args[1] if len(args) > 1 else UNKNOWN
    holder.doubtful |= set(holder)
    return UNKNOWN


def _external(run: Interpreter, func: External, call: Call) -> Any:
    special = SPECIAL.get(func.name)
    if special is not None:
        return special(run, call)
    if func.name in builtins.BUILTINS:
        run.budget.charge_items(*call.args)
        if func.name in builtins.DEEP:
            run.budget.charge(COST_OF_GOING_DEEP * sum(map(size_of, call.args)))
        if any(isinstance(argument, Assumed) for argument in call.args):
            return assumed(builtins.builtin(func.name, [default_of(argument) for argument in call.args], call.kwargs))
    value = builtins.builtin(func.name, call.args, call.kwargs)
    if value is not UNKNOWN or func.name.startswith("builtins."):
        return value
    external = ExternalCall(func, call.args, call.kwargs, call.node, call.module, complete=call.complete)
    return run.domain.external_call(external)
