"""Calls of functions and classes of the project: bind parameters, follow the body, join the returned values."""

from __future__ import annotations

import ast
from itertools import islice
from typing import TYPE_CHECKING, Any

from mcproof.source.python.interp.branches import RAISE, join
from mcproof.source.python.interp.containers import SourceDict, SourceList, assumed, is_enum, members_of
from mcproof.source.python.interp.expressions import evaluate
from mcproof.source.python.interp.modules import MemoizedCall
from mcproof.source.python.interp.operators import unwrapped
from mcproof.source.python.interp.values import (
    CONTENTS,
    MISSING,
    PLAIN,
    UNKNOWN,
    BudgetExceededError,
    Call,
    Class,
    EitherFunction,
    ExternalCall,
    Frame,
    Function,
    Instance,
    Method,
    Scope,
    SuperOf,
)

if TYPE_CHECKING:
    from mcproof.source.python.interp.interpreter import Interpreter


MOST_CALLS = 24
DEEPEST_RECURSION = 8
STEPS_WITHOUT_EFFECTS = 2_000
"""The budget of a function in a module without effects; only its result is of interest."""


def call_function(run: Interpreter, function: Function, call: Call) -> Any:
    """Call a function of the project; return its result."""
    if isinstance(function, EitherFunction):
        return UNKNOWN
    node = function.node
    run.functions.followed.add(id(node))
    again = run.active.count(id(node))
    if len(run.active) >= MOST_CALLS or (again and again > _deepest_recursion(call)):
        _report_cut(run, function)
        return UNKNOWN
    if function.partial is not None:
        args, kwargs = function.partial
        call = call._replace(args=[*args, *call.args], kwargs={**kwargs, **call.kwargs})
    key = _memo_key(function, call)
    known = run.functions.results.get(key) if key is not None else None
    before = _state(run, function)
    is_uncertain = UNKNOWN in call.given()
    if known is not None and (known.state == before or (known.value is UNKNOWN and is_uncertain)):
        return known.value
    if run.modules.has_no_effects(function.module) and not any(
        _may_have_effects(run, argument) for argument in call.given()
    ):
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
    return (
        DEEPEST_RECURSION if any(isinstance(argument, (int, str)) for argument in given) and UNKNOWN not in given else 1
    )


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
        run.functions.followed.difference_update(error.unfinished)  # they may be followed again
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
    value = values[0]
    for other in values[1:]:
        value = join(run, value, other)
    return value


def _bind(run: Interpreter, function: Function, scope: Scope, call: Call) -> None:
    spec = function.node.args
    positional = [*spec.posonlyargs, *spec.args]
    args = call.args if function.bound_to is None else [function.bound_to, *call.args]
    names = scope.names
    rest = dict(call.kwargs)
    first_default = len(positional) - len(function.defaults)
    for index, parameter in enumerate(positional):
        name = parameter.arg
        if index < len(args):
            value = args[index]
        elif name in rest:
            value = rest.pop(name)
        elif call.complete and index >= first_default:
            value = function.defaults[index - first_default]
        else:
            value = UNKNOWN
        names[name] = _or_annotated(run, value, parameter, function)
    for parameter, default in zip(spec.kwonlyargs, function.kw_defaults, strict=True):
        if parameter.arg in rest:
            value = rest.pop(parameter.arg)
        else:
            value = default if call.complete and default is not MISSING else UNKNOWN
        names[parameter.arg] = _or_annotated(run, value, parameter, function)
    if spec.vararg is not None:
        names[spec.vararg.arg] = tuple(args[len(positional) :]) if call.complete else UNKNOWN
    if spec.kwarg is not None:
        made = SourceDict(rest)
        made.mark_open(not call.complete)
        names[spec.kwarg.arg] = made


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
    made = run.domain.instance_of_annotation(kind)
    return value if made is UNKNOWN else made


_DICTS = frozenset(("builtins.dict", "collections.OrderedDict", "collections.UserDict"))
_LISTS = frozenset(("builtins.list", "collections.UserList"))


def instantiate(run: Interpreter, cls: Class, call: Call) -> Any:
    """Create an instance of a project class; follows `__init__`."""
    if is_enum(cls):
        wanted = unwrapped(call.args[0]) if call.args else UNKNOWN
        return next((member for member in members_of(cls) if member.value == wanted), UNKNOWN)
    made = Instance(cls, call.node)
    made.doubt = run.doubt
    run.instances.setdefault(id(cls), made)
    made.native = run.domain.native_part(cls, call)
    kinds = {base.name for base in cls.external_bases()}
    if not _DICTS.isdisjoint(kinds):
        made.attributes[CONTENTS] = SourceDict()
    elif not _LISTS.isdisjoint(kinds):
        made.attributes[CONTENTS] = SourceList()
    own = cls.attribute("__init__")
    if isinstance(own, Function):
        call_function(run, own.bound(made), call)
    elif made.native is None:
        set_fields(run, made, call)
        after = cls.attribute("__post_init__")
        if isinstance(after, Function):
            call_function(run, after.bound(made), Call([], {}))
    made.doubt = 0
    return made


def set_fields(run: Interpreter, made: Instance, call: Call) -> None:
    """Set the fields of a model, a dataclass or a named tuple from arguments and defaults."""
    fields = [name for ancestor in reversed(made.cls.ancestry()) for name in ancestor.annotations]
    for name, value in zip(dict.fromkeys(fields), call.args, strict=False):
        made.attributes[name] = value
    made.attributes.update(call.kwargs)
    reads_environment = any(base.last in run.domain.environment_bases for base in made.cls.external_bases())
    for name in fields:
        if name in made.attributes:
            continue
        default = made.cls.attribute(name)
        if isinstance(default, ExternalCall) and (
            default.func.last == "field" or default.func.last in run.domain.field_functions
        ):
            factory = default.kwargs.get("default_factory", MISSING)
            if factory is not MISSING:
                default = run.call(factory, Call([], {}))
            else:
                default = default.argument(0, "default", UNKNOWN)
        made.attributes[name] = UNKNOWN if default is MISSING else default
        if reads_environment and isinstance(default, PLAIN):
            made.attributes[name] = assumed(default)


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
