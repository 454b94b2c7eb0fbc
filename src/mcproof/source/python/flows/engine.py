"""Follow marked values through the functions of a project, with one summary per function and shape of a call.

Why a function that looks like a check is assumed to be one: docs/decisions/0046-flows-assume-checks.md.
"""

from __future__ import annotations

import ast
import builtins
import re
from typing import TYPE_CHECKING, Any

from mcproof.core.named_tuple import NamedTuple
from mcproof.core.text.english import word_set
from mcproof.source.flow_marks import BELOW, Marks, merged
from mcproof.source.python.flows.calls import either_of
from mcproof.source.python.flows.tables import PLAIN_TYPES, WRAPPING_TYPES
from mcproof.source.python.flows.values import NOTHING, OUTER, CodePlace, FlowValue, marks_at, symbolic
from mcproof.source.python.flows.walk import (
    FlowUse,
    FunctionWalk,
    decisive,
    is_abstract,
    walk_function,
    with_exit_tests,
)
from mcproof.source.python.interp.attributes import attribute
from mcproof.source.python.interp.bindings import import_from, import_modules
from mcproof.source.python.interp.calls import instantiate
from mcproof.source.python.interp.containers import is_enum
from mcproof.source.python.interp.values import (
    UNKNOWN,
    BudgetExceededError,
    Call,
    Class,
    External,
    ExternalCall,
    Function,
    Generic,
    Instance,
    Scope,
    UnionOf,
    generic_name,
)

if TYPE_CHECKING:
    from mcproof.core.observations.source import FlowStep
    from mcproof.source.flow_marks import Guard
    from mcproof.source.python.interp.interpreter import Interpreter

MOST_STEPS = 600_000
"""How many statements and expressions are walked in all."""
STEPS_OF_ONE_TOOL = 60_000
DEEPEST_CALL = 14
MOST_SHAPES = 16
"""How many shapes of calls of one function are distinguished."""
MOST_USES = 200
"""How many uses the summary of one function keeps."""
INTERPRETER_STEPS = 4_000
"""The budget of the interpreter for one name, attribute or instance."""
_BUILTINS = frozenset(dir(builtins))
_COMMON_METHODS = word_set(
    "get run execute close read write send connect update delete create list search query start stop"
)


class FlowLimitError(Exception):
    """The budget of the walk is exhausted."""


class Summary(NamedTuple):
    """What a function does with its arguments."""

    uses: list[FlowUse]
    result: FlowValue
    guards: frozenset[Guard]
    """The checks that have passed if it returns."""
    fields: dict[str, FlowValue]
    """The attributes of its first parameter that it sets."""
    returns: bool = True
    """Whether it ever returns, rather than always raise an error."""


_EMPTY = Summary([], NOTHING, frozenset(), {})


class FlowEngine:
    """Walks functions, and keeps what their walks found."""

    def __init__(self, run: Interpreter) -> None:
        self.run = run
        self.closures: dict[int, dict[str, FlowValue]] = {}
        """The names around nested functions, by the identity of their nodes."""
        self.classes: dict[int, Class] = {}
        """The classes whose methods the functions of tools call directly, by identity."""
        self.walked: set[int] = set()
        """The functions that were walked, by the identity of their nodes."""
        self.prefix_checks: dict[str, CodePlace] = {}
        """The comparisons of the start of a path, by the kinds of their guards."""
        self.steps = 0
        self.limit = 0
        self._summaries: dict[tuple[int, Any], Summary] = {}
        self._shapes: dict[int, int] = {}
        self._active: list[tuple[int, Any]] = []
        self._instances: dict[int, Any] = {}
        self._methods: dict[str, Function | None] = {}

    def allow(self) -> None:
        """Start with a new tool."""
        self.limit = min(self.steps + STEPS_OF_ONE_TOOL, MOST_STEPS)
        self._active.clear()

    def count(self, work: int = 1) -> None:
        """Count steps; what copies many values is many steps."""
        self.steps += work
        if self.steps > self.limit:
            raise FlowLimitError

    def _asked(self, ask: Any) -> Any:
        """Ask the interpreter within a budget; `UNKNOWN` if that is exceeded."""
        self.run.budget.allow(INTERPRETER_STEPS)
        try:
            return ask()
        except (BudgetExceededError, RecursionError):
            self.run.reset()
            return UNKNOWN

    def lookup(self, name: str, scope: Scope) -> Any:
        value = self._asked(lambda: self.run.lookup(name, scope))
        return External(f"builtins.{name}") if value is UNKNOWN and name in _BUILTINS else value

    def imported(self, node: ast.Import | ast.ImportFrom, scope: Scope) -> list[tuple[str, Any]]:
        """The names that an import inside a function binds."""
        inner = Scope(scope.module, scope)
        follow = import_modules if isinstance(node, ast.Import) else import_from
        self._asked(lambda: follow(self.run, node, inner))  # type: ignore[arg-type]
        return [(name, self._asked(lambda value=value: self.run.resolve(value))) for name, value in inner.names.items()]

    def attribute(self, base: Any, name: str) -> Any:
        return self._asked(lambda: attribute(self.run, base, name))

    def instance_of(self, cls: Class) -> Any:
        """An instance of a class, with what `__init__` sets."""
        if id(cls) not in self._instances:
            instance = self.run.instances.get(id(cls))
            if instance is None:
                instance = self._asked(lambda: instantiate(self.run, cls, Call([], {})))
            self._instances[id(cls)] = instance if isinstance(instance, Instance) else Instance(cls)
        return self._instances[id(cls)]

    def type_of(self, node: ast.AST | None, scope: Scope) -> Any:
        """The type that an annotation names."""
        return UNKNOWN if node is None else self._asked(lambda: self.run.annotation(node, scope))

    def value_of_type(self, kind: Any) -> FlowValue:
        """A value of which only the type is known."""
        for _ in range(6):
            if isinstance(kind, Generic):
                is_wrapper = generic_name(kind) in ("Annotated", "Optional", "Union", "Type", "Required")
                kind = kind.args[0] if is_wrapper and kind.args else kind.base
            elif isinstance(kind, UnionOf):
                kind = next((arm for arm in kind.args if arm is not None), UNKNOWN)
            else:
                break
        if isinstance(kind, Class) and not is_enum(kind):
            return FlowValue(self.instance_of(kind))
        if isinstance(kind, External) and kind.package not in ("builtins", "typing", "collections"):
            return FlowValue(External(f"{kind.name}()"))
        return NOTHING

    def is_plain(self, kind: Any, depth: int = 0) -> bool:
        """Whether values of a type carry no free text: numbers, members of an enumeration, dates."""
        if isinstance(kind, Class):
            return is_enum(kind)
        if isinstance(kind, External):
            return kind.name in PLAIN_TYPES
        name = generic_name(kind)
        if depth >= 6 or not (name or isinstance(kind, UnionOf)):
            return False
        if name == "Literal" or (name == "Annotated" and any(map(_is_pattern, kind.args[1:]))):
            return True
        args = kind.args[:1] if name == "Annotated" else kind.args
        is_wrapper = isinstance(kind, UnionOf) or (name in WRAPPING_TYPES and bool(args))
        return is_wrapper and all(arg is None or arg is Ellipsis or self.is_plain(arg, depth + 1) for arg in args)

    def unique_method(self, name: str) -> Function | None:
        """The only method of the project with this name, for a call on an unknown object."""
        if name not in self._methods:
            self._methods[name] = None if name in _COMMON_METHODS or len(name) < 5 else self._find_method(name)
        return self._methods[name]

    def _find_method(self, name: str) -> Function | None:
        pattern = re.compile(rb"\n[ \t]+(?:async[ \t]+)?def[ \t]+%b[ \t]*\(" % re.escape(name.encode()))
        modules = self.run.modules
        word = name.encode()
        texts = {path: modules.data(path) or b"" for path in modules.files}
        places = [path for path, text in texts.items() if word in text for _ in pattern.findall(text)]
        if len(places) != 1:
            return None
        module = self._asked(lambda: self.run.module(places[0]))
        for value in list(module.scope.names.values()) if module is not None and module is not UNKNOWN else ():
            if isinstance(value, Class) and isinstance(own_method := value.body.names.get(name), Function):
                method = own_method.exposed()
                return method if "staticmethod" in method.decorators else method.bound(self.instance_of(value))
        return None

    def add_use(self, uses: list[FlowUse], use: FlowUse) -> None:
        """Add a use to a list, once for each node, kind and label."""
        if len(uses) < MOST_USES and not any(
            earlier.place.node is use.place.node and earlier.kind == use.kind and earlier.label == use.label
            for earlier in uses
        ):
            uses.append(use)

    def prefix_check(self, guards: frozenset[Guard], use: FlowUse) -> CodePlace | None:
        """The comparison of the start of a path that this use relies on."""
        for label, kind in guards:
            place = self.prefix_checks.get(kind)
            if place is not None and label == use.label[: len(label)] and not (BELOW in kind and use.mark.whole):
                return place
        return None

    def call(
        self, walk: FunctionWalk, function: Function, bound: dict[str, FlowValue], node: ast.AST
    ) -> tuple[FlowValue, dict[str, FlowValue]]:
        """Call a function of the project: the result, and the attributes that it sets on its first parameter."""
        if function.owner is not None and len(self._active) == 1:
            self.classes.setdefault(id(function.owner), function.owner)
        summary = self.summary(function, bound)
        walk.has_ended = walk.has_ended or not summary.returns
        around = self.closures.get(id(function.node), {})
        everything = {**bound, **{OUTER + name: value for name, value in around.items()}}
        step = walk.step(node, f"{function.name}()")
        guards = walk.state.guards
        for use in summary.uses:
            cases = _mapped_guards(use.cases, everything)
            for label, mark in decisive(use.kind, marks_at(everything, use.label)).items():
                walk.note(use._replace(label=label, mark=mark.after(step).through(use.mark), cases=cases))
        walk.state.guards = guards | _mapped_guards(summary.guards, everything)
        result = self._applied(summary.result, everything, step)
        fields = {key: self._applied(value, everything, step) for key, value in summary.fields.items()}
        return result, fields

    def _applied(self, value: FlowValue, bound: dict[str, FlowValue], step: FlowStep, depth: int = 0) -> FlowValue:
        """A value of a called function in terms of its caller."""
        if value is NOTHING:
            return value
        if value.has_many_parts(depth):
            value = value.collapsed()
        marks: Marks = merged(
            {label: mark.after(step).through(inner) for label, mark in marks_at(bound, own).items()}
            for own, inner in value.marks.items()
        )
        fields, elements = None, None
        if depth < 3 and value.fields is not None:
            fields = {key: self._applied(part, bound, step, depth + 1) for key, part in value.fields.items()}
        if depth < 3 and value.elements is not None:
            elements = [self._applied(part, bound, step, depth + 1) for part in value.elements]
        applied = FlowValue(value.base, marks, fields=fields, elements=elements, text=value.text, is_open=value.is_open)
        applied.when_true = _mapped_guards(value.when_true, bound)
        applied.when_false = _mapped_guards(value.when_false, bound)
        return applied

    def summary(self, function: Function, bound: dict[str, FlowValue]) -> Summary:
        """What a function does with arguments of this shape."""
        names: dict[str, FlowValue] = {}
        keys = []
        for name, value in bound.items():
            names[name], key = symbolic(value, (name,))
            keys.append((name, key))
        # one walk for all calls with arguments of the same shape: their labels are put in afterwards
        place = id(function.node), tuple(keys)
        earlier = self._summaries.get(place)
        if earlier is not None:
            return earlier
        shapes = self._shapes.get(place[0], 0)
        if place in self._active or len(self._active) >= DEEPEST_CALL or shapes >= MOST_SHAPES:
            return _EMPTY
        self._shapes[place[0]] = shapes + 1
        self._active.append(place)
        try:
            summary = self._walk(function, names)
        finally:
            self._active.remove(place)
        self._summaries[place] = summary
        return summary

    def _walk(self, function: Function, names: dict[str, FlowValue]) -> Summary:
        node = function.node
        self.walked.add(id(node))
        walk = FunctionWalk(self, function, dict(names))
        first = next(iter(names), None)
        try:
            walk_function(walk)
        except RecursionError:
            return _EMPTY
        state, exits = walk.end()
        result = either_of([way_out.value for way_out in walk.exits])
        if result.base is UNKNOWN and not isinstance(node, ast.Lambda) and node.returns is not None:
            typed = self.value_of_type(self.type_of(node.returns, function.scope))
            if typed is not NOTHING:
                result = FlowValue(typed.base, result.marks, fields=result.fields, elements=result.elements)
        result = with_exit_tests(result, exits)
        fields: dict[str, FlowValue] = {}
        if first is not None and function.bound_to is not None and (after := state.names.get(first)) is not None:
            before = names[first].fields or {}
            fields = {key: value for key, value in (after.fields or {}).items() if before.get(key) is not value}
        returns = bool(walk.exits) or is_abstract(node)
        return Summary(walk.uses, result, state.guards, fields, returns)


def _mapped_guards(guards: frozenset[Guard], bound: dict[str, FlowValue]) -> frozenset[Guard]:
    """Checks of a called function in terms of its caller."""
    return frozenset((label, kind) for inner, kind in guards for label in marks_at(bound, inner))


def _is_pattern(value: Any) -> bool:
    """Whether a part of `Annotated` restricts the text."""
    kwargs = value.kwargs if isinstance(value, ExternalCall) else {}
    return any(isinstance(kwargs.get(key), str) for key in ("pattern", "regex"))
