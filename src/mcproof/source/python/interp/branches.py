"""Alternatives: follow each branch, then join the names and values at the end."""

from __future__ import annotations

from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from mcproof.source.python.interp.bindings import LazyImport, Signature, either
from mcproof.source.python.interp.containers import (
    BOUNDED,
    Assumed,
    SourceDict,
    SourceList,
    assumed,
    default_of,
    doubtful_positions,
    extent_of,
    or_none,
    truth,
)
from mcproof.source.python.interp.values import (
    MISSING,
    PLAIN,
    UNKNOWN,
    Class,
    EitherFunction,
    External,
    ExternalCall,
    Function,
    Instance,
    Scope,
)

if TYPE_CHECKING:
    import ast
    from collections.abc import Iterator

    from mcproof.source.python.interp.interpreter import Interpreter

MOST_ALTERNATIVES = 16
RETURN, BREAK, CONTINUE, RAISE = "return", "break", "continue", "raise"
"""How control can leave a block before its end."""
_BY_REACH = (None, CONTINUE, BREAK, RETURN, RAISE)
"""How control can continue after a block, ordered by how much of the program is still executed."""
MOST_JOINED = 2_000
"""How many nested dictionaries are joined."""
DEEPEST_JOINED = 40
COST_OF_JOINING = 10
"""The cost of joining data, relative to processing it once."""


def follow_branches(
    run: Interpreter, bodies: list[list[ast.stmt]], scope: Scope, likely: int | None = None
) -> str | None:
    """Follow alternatives of which one is taken under an unknown condition.

    `likely` is the position of the one that the defaults of the environment select: names and results take its values,
    and what it registers is certain.
    """
    run.budget.charge(len(scope.names))
    # only running the program would decide, so all are followed, and where they differ the value is doubtful or
    # unknown, which no rule judges: docs/decisions/0025-unknown-is-silent.md
    before = dict(scope.names)
    ends: list[tuple[str | None, dict[str, Any]]] = []
    frame = run.frames[-1]
    for index, body in enumerate(bodies):
        scope.names = dict(before)
        returned = len(frame.returns)
        with run.in_doubt() if index != likely else nullcontext():
            outcome = run.block(body, scope)
        ends.append((outcome, scope.names))
        if likely not in (None, index):
            frame.unlikely.update(range(returned, len(frame.returns)))
    nearest = next(way for way in _BY_REACH if any(outcome == way for outcome, _ in ends))
    scope.names = merge_names(run, [names for outcome, names in ends if outcome == nearest])
    if likely is not None and ends[likely][0] == nearest:
        for name, value in scope.names.items():
            if name in ends[likely][1]:
                scope.names[name] = as_by_default(value, ends[likely][1][name])
    elif likely is not None and ends[likely][0] == RETURN:
        frame.unlikely_after = min(len(frame.returns), frame.unlikely_after)
    for way in (CONTINUE, BREAK, RETURN):
        left = [names for outcome, names in ends if outcome == way != nearest]
        if likely is not None and ends[likely][0] != way:
            continue  # by default the following code is reached
        if left:  # the following code is only reached under a condition, until the end of what may be left
            run.doubt += 1
            run.frames[-1].left.setdefault(way, []).append(left)
    return nearest


@contextmanager
def joining_exits(run: Interpreter, way: str, scope: Scope) -> Iterator[None]:
    """Follow code that control may leave in this way; afterwards the doubt ends and the names are joined."""
    frame = run.frames[-1]
    outer = frame.left.pop(way, [])
    try:
        yield
        if here := frame.left.get(way):
            scope.names = merge_names(run, [scope.names, *(names for exits in here for names in exits)])
    finally:
        run.lower_doubt(run.doubt - len(frame.left.pop(way, ())))
        frame.left[way] = outer


def as_by_default(joined: Any, default: Any) -> Any:
    """A joined value, and what it is by default: the certain items of that list are certain."""
    if isinstance(joined, SourceList) and isinstance(default, list) and joined is not default:
        unsure = doubtful_positions(default)
        sure = {_identity(item) for index, item in enumerate(default) if index not in unsure}
        joined.doubtful -= {index for index, item in enumerate(joined) if _identity(item) in sure}
    return assumed(default) if joined is UNKNOWN else joined


def merge_names(run: Interpreter, ends: list[dict[str, Any]]) -> dict[str, Any]:
    """Join the names at the end of each alternative."""
    merged = dict(ends[0])
    for names in ends[1:]:
        for name, value in names.items():
            if name not in merged:  # code that reads it would fail on the other way, so that way was not taken
                merged[name] = value
            elif merged[name] is not value:
                merged[name] = join(run, merged[name], value)
    return merged


def _is_type(value: External) -> bool:
    """Whether a value is a built-in type."""
    return value.name.startswith("builtins.")


def join(
    run: Interpreter, left: Any, right: Any, done: dict[tuple[int, int], SourceDict] | None = None, depth: int = 0
) -> Any:
    """The value that is one of two; `done` are nested pairs that are already joined."""
    if left is MISSING or left is right:
        return right
    if right is MISSING:
        return left
    if type(left) is Assumed or type(right) is Assumed:
        return assumed(join(run, default_of(left), default_of(right)))
    if isinstance(left, (str, int, float, bool)) and isinstance(right, (str, int, float, bool)):
        return left if type(left) is type(right) and left == right else UNKNOWN
    if isinstance(left, SourceDict) and isinstance(right, SourceDict):
        return _join_dicts(run, left, right, {} if done is None else done, depth)
    if isinstance(left, list) and isinstance(right, list):
        # Lists that differ only inside dictionaries are one list, an item of which was changed on one way.
        if not _differ_in_dicts(left, right):
            return _join_lists(run, left, right)
        merged = SourceList(left, getattr(left, "module", None))
        merged.nodes = list(getattr(left, "nodes", ()))
        merged.inherit_doubt(right, doubtful_positions(right)).inherit_doubt(left, doubtful_positions(left))
        merged.alternatives = _all_of(left, right)
        for index, item in enumerate(right):
            merged[index] = join(run, merged[index], item, {} if done is None else done, depth + 1)
        return merged
    if isinstance(left, Signature) and isinstance(right, Signature):
        return either(left, right)
    joined = _join_objects(run, left, right)
    joined = _join_objects(run, right, left) if joined is MISSING else joined
    return UNKNOWN if joined is MISSING else joined


def first_or(run: Interpreter, value: Any, rest: list[Any]) -> Any:
    """`value or ...` with an unknown `value`: an object or a function in its place wins."""
    if isinstance(value, ExternalCall) or not rest:  # an object of a library is hardly ever false
        return value
    for alternative in rest:
        value = join(run, value, alternative)
    return value


def first_by_default(run: Interpreter, values: list[Any], decisive: bool) -> Any:
    """The value of `and` or `or`, the first of which is assumed, according to the defaults of the environment."""
    for value in values[:-1]:
        is_true = truth(default_of(value))
        if is_true is None:
            break
        if is_true is decisive:
            return assumed(value)
    else:
        last = values[-1]
        return assumed(last) if isinstance(default_of(last), PLAIN) or not decisive else last
    return first_or(run, UNKNOWN, values) if decisive else UNKNOWN


def _join_objects(run: Interpreter, one: Any, other: Any) -> Any:
    """What the first of two values, a function, class, instance or import, makes of the pair; `MISSING` for others."""
    owned = run.domain.join(one, other)
    if owned is not MISSING:
        return owned
    if not isinstance(one, (Function, Class, Instance, External, LazyImport)):
        return MISSING
    if isinstance(one, Function) and isinstance(other, Function):
        # a function that is wrapped under a condition still exposes the same one
        signatures = [function.attributes.get("__signature__") for function in (one, other)]
        is_same = one.exposed().node is other.exposed().node and signatures[0] is signatures[1]
        return one if is_same else either_function(one)
    if isinstance(one, Class) and isinstance(other, Class):
        return UNKNOWN  # unknown which of the two
    if isinstance(one, External) and isinstance(other, External) and one != other and _is_type(one):
        return UNKNOWN
    if other is None:
        return or_none(one)
    if isinstance(one, Instance) and isinstance(other, Instance):
        if one.cls is other.cls:
            return one
        joined = Instance(one.cls, one.node)  # it has the methods of the first, none of them certain
        joined.is_either = True
        return joined
    if other is UNKNOWN:
        return UNKNOWN if isinstance(one, Class) or (isinstance(one, External) and _is_type(one)) else one
    if isinstance(other, type(one)):
        return one
    if isinstance(one, LazyImport) and isinstance(other, External):
        return one  # an import with a fallback: the one in the project
    return MISSING


def _join_dicts(
    run: Interpreter, left: SourceDict, right: SourceDict, done: dict[tuple[int, int], SourceDict], depth: int
) -> Any:
    """The union of two dictionaries; keys that are not certain in both are doubtful."""
    pair = id(left), id(right)
    if pair in done:
        return done[pair]
    if len(done) > MOST_JOINED or depth > DEEPEST_JOINED:
        return UNKNOWN
    run.budget.charge(COST_OF_JOINING * (2 + len(left) + len(right)))
    joined = done[pair] = left.copy()
    for key, value in right.items():
        ours = left.get(key, MISSING)
        if ours is MISSING:
            joined[key] = value
            joined.doubtful.add(key)
            if key in right.origins:
                joined.origins[key] = right.origins[key]
        elif ours is not value and not (type(ours) is str and ours == value):
            joined[key] = join(run, ours, value, done, depth + 1)
    if len(joined) > len(right):
        joined.doubtful |= left.keys() - right.keys()
    joined.doubtful |= right.doubtful
    joined.extent = max(left.extent, right.extent)
    return joined


def either_function(first: Function) -> EitherFunction:
    """One of two functions, the first of which is known."""
    either = EitherFunction(first.node, first.scope, first.defaults, first.kw_defaults)
    either.bound_to, either.owner, either.wrapped, either.partial = (
        first.bound_to,
        first.owner,
        first.wrapped,
        first.partial,
    )
    either.attributes = {"__name__": UNKNOWN}
    return either


def _differ_in_dicts(left: list[Any], right: list[Any]) -> bool:
    """Whether two lists differ only inside dictionaries: copies, one of which was changed."""
    if len(left) != len(right) or SourceDict not in map(type, left):
        return False
    return all(
        one is other or (type(one) is type(other) and (type(one) is SourceDict or (type(one) is str and one == other)))
        for one, other in zip(left, right, strict=True)
    )


def _join_lists(run: Interpreter, left: list[Any], right: list[Any]) -> SourceList:
    """The union of two lists, in the order of the longer; items that are not certain in both are doubtful."""
    run.budget.charge(COST_OF_JOINING * (len(left) + len(right)))
    if len(left) < len(right):
        left, right = right, left
    is_same = left == right and all(type(item) is str for item in left)
    ours, theirs = ([], []) if is_same else [list(map(_identity, items)) for items in (left, right)]
    joined = SourceList(left, getattr(left, "module", None))
    joined.alternatives = _all_of(left, right)
    joined.nodes = list(getattr(left, "nodes", ()))
    joined.doubtful = doubtful_positions(left)
    joined.extent = max(extent_of(left), extent_of(right))
    if ours == theirs:
        joined.doubtful |= doubtful_positions(right)
        return joined
    unsure = doubtful_positions(right)
    sure = {identity for index, identity in enumerate(theirs) if index not in unsure}
    identities = set(ours)
    joined.extend(item for item, identity in zip(right, theirs, strict=True) if identity not in identities)
    joined.doubtful |= {index for index, identity in enumerate(ours) if identity not in sure} | set(
        range(len(left), len(joined))
    )
    joined.extent = max(joined.extent, BOUNDED)
    return joined


def _all_of(left: list[Any], right: list[Any]) -> tuple[list[Any], ...]:
    """The lists that a joined list may be; if there are too many, their contents become unknown."""
    every = {id(value): value for items in (left, right) for value in (items, *getattr(items, "alternatives", ()))}
    if len(every) <= MOST_ALTERNATIVES:
        return tuple(every.values())
    for alternative in every.values():
        if isinstance(alternative, SourceList):
            alternative.mark_open()
    return ()


def _identity(value: Any) -> Any:
    """What identifies a value: the content of plain data, the object itself otherwise."""
    return (type(value), value) if isinstance(value, PLAIN) else id(value)
