"""What calling something does: functions of the project, its classes, built-ins, and whatever is outside."""

from __future__ import annotations

import ast
from itertools import islice
from typing import TYPE_CHECKING, Any

from mcproof.targets.python_source import builtin_calls, plain, plain_methods
from mcproof.targets.python_source.expressions import evaluate
from mcproof.targets.python_source.servers import Pending, ServerValue
from mcproof.targets.python_source.special_calls import SPECIAL, Call
from mcproof.targets.python_source.values import (
    MISSING,
    UNKNOWN,
    Called,
    Class,
    EnumMember,
    External,
    Frame,
    Function,
    Generic,
    Instance,
    Method,
    PlacedDict,
    PlacedList,
    Scope,
    SuperOf,
    TooMuchError,
)

if TYPE_CHECKING:
    from mcproof.targets.python_source.interpreter import Interpreter

MOST_CALLS = 24
STEPS_OF_A_BYSTANDER = 2_000
"""How long a function is followed that registers nothing, and helps only by what it returns."""
_DATA_BASES = frozenset(("BaseModel", "BaseSettings", "NamedTuple", "RootModel"))


def call(
    run: Interpreter,
    func: Any,
    args: list[Any],
    kwargs: dict[str, Any],
    node: ast.Call | None,
    scope: Scope | None,
    *,
    complete: bool,
) -> Any:
    """What a call returns."""
    if isinstance(func, Generic):
        func = func.base
    if isinstance(func, Function):
        return follow(run, func, args, kwargs, complete=complete)
    if isinstance(func, Class):
        return instantiate(run, func, args, kwargs, node, complete=complete)
    if isinstance(func, Method):
        return _method(run, func, args, kwargs, node, scope, complete=complete)
    if isinstance(func, External):
        return _external(run, func, args, kwargs, node, scope, complete=complete)
    if isinstance(func, Called):
        return _called_again(run, func, args, kwargs)
    if isinstance(func, Instance):
        own = func.cls.attribute("__call__")
        if isinstance(own, Function):
            method = own.copy()
            method.bound_to = func
            return follow(run, method, args, kwargs, complete=complete)
        return UNKNOWN
    return run.servers.call(func, args)


def _called_again(run: Interpreter, func: Called, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """A call of what an external call returned: most often a decorator at work."""
    if func.func.name == "functools.wraps" and args and isinstance(args[0], Function):
        made = args[0].copy()
        made.attributes = dict(args[0].attributes)
        made.wrapped = func.args[0] if func.args and isinstance(func.args[0], Function) else None
        return made
    if func.func.name == "functools.partial" and func.args:
        return run.call(func.args[0], [*func.args[1:], *args], {**func.kwargs, **kwargs}, None)
    outcome = run.servers.call(func, args)
    if outcome is not UNKNOWN:
        return outcome
    return args[0] if len(args) == 1 and isinstance(args[0], (Function, Class)) and not kwargs else UNKNOWN


def decorated(run: Interpreter, decorator: Any, function: Any, node: ast.expr, scope: Scope) -> Any:
    """What a decorator makes of a function; one that nobody knows is taken to keep its face."""
    if isinstance(function, Function):
        named = decorator.name if isinstance(decorator, External) else ""
        if named in ("builtins.staticmethod", "builtins.classmethod", "builtins.property") or named.endswith(
            ("cached_property", "abstractproperty")
        ):
            made = function.copy()
            made.decorators = {*function.decorators, "property" if named.endswith("property") else named[9:]}
            return made
        if isinstance(node, ast.Attribute) and node.attr in ("setter", "deleter", "getter"):
            return run.settle(scope.names.get(function.name, function))
    if isinstance(decorator, External):
        outcome = run.servers.decorate(decorator, function, node)
        return function if outcome is UNKNOWN else outcome
    if decorator is UNKNOWN:
        return function
    made = run.call(decorator, [function], {}, node if isinstance(node, ast.Call) else None, scope=scope)
    if isinstance(made, Function) and isinstance(function, Function) and made is not function:
        made.owner = made.owner or function.owner
        return made
    is_something = isinstance(made, (Function, Class, Instance, Called)) or run.servers.is_ours(made)
    return made if is_something else function


def follow(
    run: Interpreter, function: Function, args: list[Any], kwargs: dict[str, Any], *, complete: bool = True
) -> Any:
    """Follow a function of the project with these arguments."""
    node = function.node
    run.followed.add(id(node))
    again = run.active.count(id(node))
    if run.calls >= MOST_CALLS or again > 1 or (again and all(each is UNKNOWN for each in (*args, *kwargs.values()))):
        return UNKNOWN
    if function.partial is not None:
        args, kwargs = [*function.partial[0], *args], {**function.partial[1], **kwargs}
    key = _question(function, args, kwargs)
    if key is not None and key in run.answers:
        return run.answers[key]
    if run.modules.is_bystander(function.module) and not any(map(_can_be_called, (*args, *kwargs.values()))):
        value = _followed_briefly(run, function, args, kwargs, complete=complete)
    else:
        value = _followed(run, function, args, kwargs, complete=complete)
    if key is not None and (value is None or value is UNKNOWN or isinstance(value, (str, int, float))):
        run.answers[key] = value
    return value


def _can_be_called(value: Any, depth: int = 0) -> bool:
    """Whether a value lets who gets it register something: a function, a server, a table of functions."""
    if isinstance(value, (dict, list)) and depth < 3:
        items = value.values() if isinstance(value, dict) else value
        return any(_can_be_called(each, depth + 1) for each in islice(items, 8))
    return isinstance(value, (Function, ServerValue, Method, Pending))


def _followed_briefly(
    run: Interpreter, function: Function, args: list[Any], kwargs: dict[str, Any], *, complete: bool
) -> Any:
    """Follow a function that registers nothing, as far as that is worth it; without end it is not worked out again."""
    if id(function.node) in run.endless:
        return UNKNOWN
    outer = run.limit
    run.limit = min(outer, run.steps + STEPS_OF_A_BYSTANDER)
    try:
        return _followed(run, function, args, kwargs, complete=complete)
    except TooMuchError as error:
        if run.steps > outer:
            raise
        run.followed.difference_update(error.unfinished)  # they get another chance
        run.endless.add(id(function.node))
        return UNKNOWN
    finally:
        run.limit = outer


def _question(function: Function, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """What tells one call of a function from another, where nothing but plain data goes in; None for other calls."""
    given = (*args, *kwargs.values())
    if any(not (each is UNKNOWN or each is None or isinstance(each, (str, int, float))) for each in given):
        return None
    # True and 1 are one key and two values.
    return id(function.node), id(function.scope), id(function.bound_to), *map(type, given), *args, *kwargs.items()


def _followed(run: Interpreter, function: Function, args: list[Any], kwargs: dict[str, Any], *, complete: bool) -> Any:
    node = function.node
    inner = Scope(function.module, function.scope)
    _bind(run, function, inner, args, kwargs, complete=complete)
    frame = Frame(function, 0)
    run.frames.append(frame)
    run.active.append(id(node))
    run.calls += 1
    outer, run.class_under_way = run.class_under_way, None
    try:
        if isinstance(node, ast.Lambda):
            return run.settle(evaluate(run, node.body, inner))
        outcome = run.block(node.body, inner)
    except RecursionError:
        return UNKNOWN
    except TooMuchError as error:
        error.unfinished.append(id(node))
        raise
    finally:
        run.class_under_way = outer
        run.calls -= 1
        run.active.pop()
        run.frames.pop()
        run.doubt -= frame.doubt
    if frame.yields is not None:
        return frame.yields
    returns = frame.returns
    if not returns:
        return None
    if outcome is None:
        returns = [*returns, None]
    value = returns[0]
    for other in returns[1:]:
        value = run.joined(value, other)
    return value


def _bind(
    run: Interpreter, function: Function, scope: Scope, args: list[Any], kwargs: dict[str, Any], *, complete: bool
) -> None:
    spec = function.node.args
    positional = [*spec.posonlyargs, *spec.args]
    if function.bound_to is not None:
        args = [function.bound_to, *args]
    names = scope.names
    rest = dict(kwargs)
    first_default = len(positional) - len(function.defaults)
    for index, parameter in enumerate(positional):
        name = parameter.arg
        if index < len(args):
            value = args[index]
        elif name in rest:
            value = rest.pop(name)
        elif complete and index >= first_default:
            value = function.defaults[index - first_default]
        else:
            value = UNKNOWN
        names[name] = _or_server(run, value, parameter, function)
    for parameter, default in zip(spec.kwonlyargs, function.kw_defaults, strict=True):
        if parameter.arg in rest:
            value = rest.pop(parameter.arg)
        else:
            value = default if complete and default is not MISSING else UNKNOWN
        names[parameter.arg] = _or_server(run, value, parameter, function)
    if spec.vararg is not None:
        names[spec.vararg.arg] = tuple(args[len(positional) :]) if complete else UNKNOWN
    if spec.kwarg is not None:
        made = PlacedDict(rest)
        made.incomplete = not complete
        names[spec.kwarg.arg] = made


def _or_server(run: Interpreter, value: Any, parameter: ast.arg, function: Function) -> Any:
    """A parameter that nobody gave, but whose annotation says that it is a server, is one."""
    if value is not UNKNOWN or parameter.annotation is None:
        return value
    annotation = parameter.annotation
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        last = annotation.value.rpartition(".")[2]
        return run.servers.of_annotation(run.lookup(last, function.scope)) if last.isidentifier() else UNKNOWN
    if isinstance(annotation, (ast.Name, ast.Attribute)):
        return run.servers.of_annotation(run.settle(evaluate(run, annotation, function.scope)))
    return UNKNOWN


def instantiate(
    run: Interpreter,
    cls: Class,
    args: list[Any],
    kwargs: dict[str, Any],
    node: ast.Call | None,
    *,
    complete: bool = True,
) -> Any:
    """An object of a project class, `__init__` followed."""
    if run.is_enum(cls):
        wanted = plain.bare(args[0]) if args else UNKNOWN
        return next((member for member in run.enum_members(cls) if member.value == wanted), UNKNOWN)
    made = Instance(cls, node)
    run.instances.setdefault(id(cls), made)
    server = run.servers.instance_server(cls, args, kwargs, node)
    made.server = server
    own = cls.attribute("__init__")
    if isinstance(own, Function):
        method = own.copy()
        method.bound_to = made
        follow(run, method, args, kwargs, complete=complete)
        return made
    if server is None:
        fill(run, made, args, kwargs)
        after = cls.attribute("__post_init__")
        if isinstance(after, Function):
            method = after.copy()
            method.bound_to = made
            follow(run, method, [], {})
    return made


def fill(run: Interpreter, made: Instance, args: list[Any], kwargs: dict[str, Any]) -> None:
    """Set the fields of a model, a dataclass or a named tuple from the arguments and the defaults."""
    fields = [name for each in reversed(made.cls.ancestry()) for name in each.annotations]
    for name, value in zip(dict.fromkeys(fields), args, strict=False):
        made.attributes[name] = value
    made.attributes.update(kwargs)
    for name in fields:
        if name in made.attributes:
            continue
        default = made.cls.attribute(name)
        if isinstance(default, Called):
            factory = default.kwargs.get("default_factory", MISSING)
            if factory is not MISSING:
                default = run.call(factory, [], {}, None)
            else:
                default = default.argument(0, "default", UNKNOWN)
        made.attributes[name] = UNKNOWN if default is MISSING else default


def _method(
    run: Interpreter,
    func: Method,
    args: list[Any],
    kwargs: dict[str, Any],
    node: ast.Call | None,
    scope: Scope | None,
    *,
    complete: bool,
) -> Any:
    holder, name = func.of, func.name
    if isinstance(holder, (str, dict, list, EnumMember)):
        if run.doubt and name in ("pop", "remove", "clear", "popitem") and isinstance(holder, (PlacedDict, PlacedList)):
            return _perhaps_removed(holder, name, args)
        before = len(holder) if isinstance(holder, PlacedList) else 0
        result = plain_methods.method(holder, name, args, kwargs)
        if isinstance(holder, PlacedList) and name in ("append", "extend", "add", "update"):
            inherited: set[Any] = (
                getattr(args[0], "doubtful", set()) if name in ("extend", "update") and args else set()
            )
            holder.doubtful |= {before + index for index in inherited if isinstance(index, int)}
            if run.doubt:
                holder.doubtful |= set(range(before, len(holder)))
        elif isinstance(holder, PlacedDict) and run.doubt and name == "update":
            holder.doubtful |= {key for each in args if isinstance(each, dict) for key in each}
        return result
    if isinstance(holder, SuperOf):
        return _super_call(run, holder, name, args, kwargs)
    if isinstance(holder, Class):
        if name in ("model_json_schema", "schema"):
            return run.servers.model_schema(holder)
        if name in ("model_construct", "construct"):
            return instantiate(run, holder, args, kwargs, node)
        return UNKNOWN
    return run.servers.method(holder, name, args, kwargs, node, scope, complete=complete)


def _perhaps_removed(holder: PlacedDict | PlacedList, name: str, args: list[Any]) -> Any:
    """Something that is taken away under a condition is still there, in doubt."""
    if isinstance(holder, PlacedList):
        everything = set(range(len(holder)))
        holder.doubtful |= (
            {index for index in everything if holder[index] is args[0]} if name == "remove" and args else everything
        )
        return UNKNOWN
    key = plain.bare(args[0]) if args else UNKNOWN
    if name == "pop" and isinstance(key, (str, int)):
        if key in holder:
            holder.doubtful.add(key)
            return holder[key]
        return args[1] if len(args) > 1 else UNKNOWN
    holder.doubtful |= set(holder)
    return UNKNOWN


def _super_call(run: Interpreter, holder: SuperOf, name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
    if name == "__init__" and isinstance(holder.instance, Instance):
        if holder.instance.server is not None:
            run.servers.configure(holder.instance.server, args, kwargs)
        elif any(base.last in _DATA_BASES for base in holder.cls.external_bases()):
            fill(run, holder.instance, args, kwargs)
        return None
    return UNKNOWN


def _external(
    run: Interpreter,
    func: External,
    args: list[Any],
    kwargs: dict[str, Any],
    node: ast.Call | None,
    scope: Scope | None,
    *,
    complete: bool,
) -> Any:
    special = SPECIAL.get(func.name)
    if special is not None:
        return special(Call(run, args, kwargs, scope))
    value = builtin_calls.builtin(func.name, args, kwargs)
    if value is not UNKNOWN or func.name.startswith("builtins."):
        return value
    made = Called(func, args, kwargs, node, scope.module if scope is not None else None, complete=complete)
    return run.servers.external_call(made)
