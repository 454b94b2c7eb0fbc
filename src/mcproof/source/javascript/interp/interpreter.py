"""The state of the interpreter: budgets, branches that may not be taken, and writes that are undone.

Where a condition is unknown, each side runs on its own; then the writes of both are merged; what differs is unknown.
What is registered meanwhile is in doubt, see `Interpreter.doubts`.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from mcproof.core.named_tuple import NamedTuple
from mcproof.source.javascript.values import ABSENT, UNDEFINED, JsArray, JsObject, Library, Unknown, maybe, next_birth

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tree_sitter import Node

    from mcproof.source.javascript.interp.modules import Module, Modules
    from mcproof.source.javascript.values import Value

    Evaluate = Callable[["Scope"], Value]
    Execute = Callable[["Scope"], "Completion | None"]

MOST_STEPS = 1_200_000
"""How many steps following a project may take in all; a step is about a statement or a call."""
STEPS_OF_ONE_ROOT = 800_000
LEAST_STEPS_OF_CALL = 20_000
STEPS_OF_CALL = 60_000
"""How many steps a call may take that registers nothing by its text, apart from what it calls that does."""
STEPS_IN_BUNDLE = 15_000
"""The same for a function of a bundle, most of which is code of other packages."""
DEEPEST_CALL = 120
MOST_ITERATIONS = 2_000
ITERATIONS_IN_DOUBT = 8
"""How often a loop goes on that may have ended already."""
MOST_OPTIONS = 6
LONGEST_TEXT = 1 << 20
MOST_ITEMS = 50_000


class BudgetExceededError(Exception):
    """The code takes too long to follow."""


class JsThrowError(Exception):
    """The program throws, or ends."""

    def __init__(self, value: Value) -> None:
        super().__init__()
        self.value = value


class Completion(NamedTuple):
    """How a statement ends other than normally."""

    kind: str
    """`return`, `break`, `continue`, or `throw`."""
    value: Value = UNDEFINED
    """What is returned or thrown, or a label."""


class Scope:
    """The names of a block. Those of a function also have what `this` and `super` are in it."""

    __slots__ = ("birth", "frame", "function", "parent", "variables")

    def __init__(self, parent: Scope | None, *, is_function: bool = False) -> None:
        self.birth = next_birth()
        self.variables: dict[str, Value] = {}
        self.parent = parent
        self.frame: Frame | None = parent.frame if parent is not None else None
        self.function: Scope = self if is_function or parent is None else parent.function
        """The scope of `var`."""


class Frame(NamedTuple):
    """What `this`, `super` and `new.target` mean."""

    this: Value
    home: JsObject | None = None
    """The object that the method is a member of."""
    target: Value = UNDEFINED
    arguments: tuple[Value, ...] = ()


class Context:
    """A call, a loop, an iteration or a branch that is being followed."""

    __slots__ = ("doubts", "kind", "parent", "returned")

    def __init__(self, kind: str, parent: Context | None) -> None:
        self.kind = kind
        self.parent = parent
        self.doubts: list[tuple[int, int]] = []
        """The branches that may have left it early, or that it is itself."""
        self.returned: list[tuple[Value, bool | None]] = []
        """What may have been returned already, and whether that is so by default; None if there is no default."""


class Change(NamedTuple):
    """What was written: to a variable, a member, the items of an array, or whether an object may have more members."""

    container: Any
    name: Any
    """None for an array or an object as a whole."""
    value: Any
    """What it was before, or is to be."""
    birth: int
    """When what has the container was created."""


Journal = dict[Any, Change]


class Deferred:
    """A value that is computed when it is needed: an import, or a part of a bundle."""

    __slots__ = ("compute",)

    def __init__(self, compute: Callable[[], Value]) -> None:
        self.compute = compute


class Host(Protocol):
    """What gives meaning to names of other packages."""

    def member(self, value: Any, name: str) -> Value: ...
    def call(self, value: Any, arguments: Sequence[Value], place: tuple[Module, Node] | None) -> Value: ...
    def method(self, value: Any, name: str, arguments: Sequence[Value], place: tuple[Module, Node] | None) -> Value: ...
    def construct(self, value: Any, arguments: Sequence[Value], place: tuple[Module, Node] | None) -> Value: ...
    def is_native(self, value: Any) -> bool: ...
    def recognized(self, value: Any) -> Value: ...
    def is_instance(self, value: Any, target: Any) -> Value: ...
    def constructor(self, name: str) -> Value: ...
    def pass_callback(self, function: Value) -> None: ...


class Interpreter:
    """Follows the modules of a project."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self.modules: Modules
        self.globals: dict[str, Value] = {}
        self.steps = 0
        self.limit = 0
        self._whole = 0
        self._central = 0
        """Steps that count only towards the limit of the whole run."""
        self.depth = 0
        self.context = Context("root", None)
        self.registering: list[Any] = []
        """The functions with a name in them that registers something."""
        self._journals: list[Journal] = []
        """What the sides of branches that are being followed have changed."""
        self._begun = 0
        """The birth with which the innermost of them began: nothing else has seen what was created after it."""

    def charge(self, steps: int) -> None:
        """Count steps. Raises BudgetExceededError if there are too many."""
        self.steps += steps
        if self.steps > self.limit:
            raise BudgetExceededError

    def allow(self, steps: int) -> None:
        """Allow so many more steps, within those of the whole."""
        self.limit = self._whole = min(self.steps + steps, MOST_STEPS)

    def enter(self, steps: int | None) -> tuple[int, int, int]:
        """Limit the steps of a call, so that its caller can go on without its result. Returns what `leave` takes.

        A call that registers items has no limit of its own: it gets most of the steps that are left.
        """
        entered = (self.steps, self.limit, self._central)
        if steps is None:
            left = self._whole - self.steps
            self.limit = self.steps + min(left, max(LEAST_STEPS_OF_CALL, left * 3 // 4))
        else:
            self.limit = min(self.limit, self.steps + steps)
        return entered

    def leave(self, entered: tuple[int, int, int], *, is_central: bool) -> bool:
        """Restore the limit of the caller. Returns whether it may take more steps."""
        steps, limit, central = entered
        if is_central:
            self._central = central + self.steps - steps
        self.limit = min(self._whole, limit + self._central - central)
        return self.steps <= self.limit

    def reset(self) -> None:
        """Forget what an error left behind."""
        self.depth = 0
        self.context = Context("root", None)
        self._journals.clear()
        self._begun = 0

    @contextmanager
    def within(self, kind: str) -> Iterator[Context]:
        """Follow a call, a loop or an iteration; doubts about it end with it."""
        context = self.context = Context(kind, self.context)
        try:
            yield context
        finally:
            self.context = context.parent or context

    @property
    def is_in_branch(self) -> bool:
        """Whether the present code runs only under a condition that is not known."""
        return bool(self._journals)

    def doubts(self) -> frozenset[tuple[int, int]]:
        """The branches that decide whether the present code runs: the condition's node and the side."""
        doubts: list[tuple[int, int]] = []
        context: Context | None = self.context
        while context is not None:
            doubts += context.doubts
            context = context.parent
        return frozenset(doubts)

    def write(self, container: dict[Any, Value], name: Any, value: Value, birth: int) -> None:
        """Set a variable or a member of something with that birth."""
        if self._journals and birth < self._begun:
            change = Change(container, name, container.get(name, ABSENT), birth)
            self._journals[-1].setdefault((id(container), name), change)
        container[name] = value

    def delete(self, container: dict[Any, Value], name: Any, birth: int) -> None:
        """Remove a member."""
        if name in container:
            self.write(container, name, ABSENT, birth)
            del container[name]

    def will_change(self, array: JsArray) -> None:
        """Note the items of an array before it is changed."""
        if self._journals and array.birth < self._begun:
            items = (list(array.items), array.is_open)
            self._journals[-1].setdefault(id(array), Change(array, None, items, array.birth))

    def open(self, value: JsObject) -> None:
        """Let an object have more members than are known."""
        if self._journals and value.birth < self._begun:
            state = (value.is_open, value.is_closed_by_default)
            self._journals[-1].setdefault(id(value), Change(value, None, state, value.birth))
        value.is_open, value.is_closed_by_default = True, False

    def alternatives(
        self,
        key: int,
        condition: Unknown,
        sides: Sequence[Callable[[], Completion | None]],
        preferred: int | None,
    ) -> Completion | None:
        """Follow each side of a branch, any of which may be taken, and merge what they did.

        `key` identifies the branch, `preferred` is the side that is taken by default.
        """
        self.charge(4)
        outcomes: list[tuple[Completion | None, list[Change]]] = []
        for number, side in enumerate(sides):
            outer, begun = self.context, self._begun
            context = self.context = Context("branch", outer)
            if number != preferred:
                context.doubts.append((key, number))
            self._journals.append({})
            self._begun = next_birth()
            try:
                completion = side()
            except JsThrowError as error:
                completion = Completion("throw", error.value)
            finally:
                changes = _undone(self._journals.pop())
                self.context, self._begun = outer, begun
            outcomes.append((completion, changes))
        going = [
            index for index, (completion, _) in enumerate(outcomes) if completion is None or completion.kind != "throw"
        ]
        if not going:
            self._apply(outcomes[preferred or 0][1])
            raise JsThrowError(outcomes[preferred or 0][0].value)  # type: ignore[union-attr]
        if preferred not in going:
            preferred = None
        # A side that throws ends the program, and what is served comes from the others.
        ends = [outcomes[number][0] for number in going]
        normal = [number for number in going if outcomes[number][0] is None]
        merged = sorted(normal or going, key=lambda number: number != preferred)
        self._merge([outcomes[number][1] for number in merged], condition.reason, has_default=merged[0] == preferred)
        if len(going) == 1:
            return ends[0]
        if normal:
            for number in going:
                completion = outcomes[number][0]
                if completion is not None:
                    self._leave_early(completion, key, number, is_default=_is(number, preferred))
            return None
        first = ends[0] or Completion("return")
        if all(end is not None and end.kind == first.kind == "return" for end in ends):
            return Completion("return", self._either([end.value for end in ends if end], condition, going, preferred))
        for number, end in zip(going[1:], ends[1:], strict=True):
            if end is not None and end.kind == "return":
                self._leave_early(end, key, number, is_default=_is(number, preferred))
        return next((end for end in ends if end is not None and end.kind != "return"), first)

    def _either(self, values: list[Value], condition: Unknown, numbers: list[int], preferred: int | None) -> Value:
        if preferred is not None:
            at = numbers.index(preferred)
            values = [values[at], *values[:at], *values[at + 1 :]]
        return either(values, condition.reason, is_default=preferred is not None)

    def _leave_early(self, completion: Completion, key: int, number: int, *, is_default: bool | None) -> None:
        """Note that the rest of a function, a loop or an iteration may not run."""
        kinds = {"return": ("call",), "break": ("loop", "call"), "continue": ("iteration", "call")}[completion.kind]
        context: Context | None = self.context
        while context is not None and context.kind not in kinds:
            context = context.parent
        if context is not None:
            if is_default is not False:
                context.doubts.append((key, 1 - number))
            if completion.kind == "return":
                context.returned.append((completion.value, is_default))

    def _set(self, container: Any, name: Any, new: Any, birth: int) -> None:
        """Bring about what a side has changed."""
        if isinstance(container, JsObject):
            self.open(container)
            container.is_open, container.is_closed_by_default = new
        elif isinstance(container, JsArray):
            self.will_change(container)
            container.items, container.is_open = new
        elif new is ABSENT:
            self.delete(container, name, birth)
        else:
            self.write(container, name, new, birth)

    def _apply(self, changes: list[Change]) -> None:
        for change in changes:
            self._set(*change)

    def _merge(self, sides: list[list[Change]], reason: str, *, has_default: bool) -> None:
        """Apply the writes of several sides, of which one happened; by default the first, if so."""
        if len(sides) == 1:
            self._apply(sides[0])
            return
        by_place: dict[Any, list[Any]] = {}
        for number, changes in enumerate(sides):
            for container, name, new, birth in changes:
                values = by_place.setdefault((id(container), name), [container, name, birth, *(None,) * len(sides)])
                values[3 + number] = (new,)
        for container, name, birth, *written in by_place.values():
            present = _state(container, name)
            states = [present if new is None else new[0] for new in written]
            merged: Any
            if isinstance(container, JsObject):
                is_open, is_closed = states[0]
                merged = (any(state[0] for state in states), has_default and (is_closed or not is_open))
            elif isinstance(container, JsArray):
                items = _merged_items([items for items, _ in states], reason, has_default=has_default)
                merged = (items, any(is_open for _, is_open in states) or len(items) >= MOST_MERGED)
            else:
                merged = either(states, reason, is_default=has_default)
            self._set(container, name, merged, birth)


def _state(container: Any, name: Any) -> Any:
    """The value of a variable or a member, the items of an array, or whether an object may have more members."""
    if isinstance(container, JsObject):
        return container.is_open, container.is_closed_by_default
    if isinstance(container, JsArray):
        return container.items, container.is_open
    return container.get(name, ABSENT)


def _undone(journal: Journal) -> list[Change]:
    """Undo changes. Returns them."""
    changes = []
    for container, name, old, birth in journal.values():
        changes.append(Change(container, name, _state(container, name), birth))
        if isinstance(container, JsObject):
            container.is_open, container.is_closed_by_default = old
        elif isinstance(container, JsArray):
            container.items, container.is_open = old
        elif old is ABSENT:
            container.pop(name, None)
        else:
            container[name] = old
    return changes


def _is(number: int, preferred: int | None) -> bool | None:
    return None if preferred is None else number == preferred


MOST_MERGED = 3_000
"""How many items an array has at most after a branch: merging one that differs at its start may double it."""


def _merged_items(lists: list[list[Value]], reason: str, *, has_default: bool) -> list[Value]:
    """The items of one of several lists, by default the first: those at their common start, and perhaps the others."""
    shortest = min(map(len, lists))
    first = lists[0]
    common = next(
        (index for index in range(shortest) if not all(items[index] is first[index] for items in lists)), shortest
    )
    rest: dict[Any, Value] = {}
    for number, items in enumerate(lists):
        by_default = has_default and not number
        for item in items[common:]:
            options = item.options if isinstance(item, Unknown) and item.options else (item,)
            rest.setdefault(tuple(map(id, options)), maybe(item, reason, by_default=by_default))
    return (first[:common] + list(rest.values()))[:MOST_MERGED]


def is_same(one: Value, other: Value) -> bool:
    """Whether two values are certainly the same."""
    if one is other:
        return True
    return type(one) is type(other) and isinstance(one, (str, int, float, Library, Unknown)) and one == other


def either(values: Sequence[Value], reason: str, *, is_default: bool = False) -> Value:
    """One of several values; the first by default, if so."""
    options: list[Value] = []
    is_open = False
    for value in values:
        inner = value.options if isinstance(value, Unknown) and value.options else (value,)
        is_open = is_open or (isinstance(value, Unknown) and (not value.options or value.is_default))
        for option in inner:
            if isinstance(option, Unknown):
                is_open = True
            elif not any(is_same(option, other) for other in options):
                options.append(option)
    if len(options) == 1 and not is_open:
        return options[0]
    if not options:
        return next(value for value in values if isinstance(value, Unknown))
    if isinstance(values[0], Unknown) and values[0].is_default:
        is_default = True
    elif isinstance(values[0], Unknown) and not values[0].options:
        is_default = False
    if len(options) > MOST_OPTIONS:
        options, is_open = options[:MOST_OPTIONS], True
    if is_open and not is_default:
        options.append(Unknown(reason))  # it may also be something else
    return Unknown(reason, tuple(options), is_default)


def default_of(value: Value) -> Value:
    """What a value is by default; the value itself if that is not known."""
    return value.options[0] if isinstance(value, Unknown) and value.is_default else value


def over_options(value: Unknown, use: Callable[[Value], Value]) -> Value:
    """The result of an operation on a value of which only the options are known."""
    if not value.options:
        return Unknown(value.reason)
    options = [option for option in value.options if option is not ABSENT] or [UNDEFINED]
    results = [use(option) for option in options]
    result = either(results, value.reason, is_default=value.is_default)
    if value.is_default and not isinstance(result, Unknown):
        return Unknown(value.reason, (result,), is_default=True)
    return result
