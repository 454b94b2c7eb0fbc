"""The walk over one function: its state, its uses of marked values, and how it ends."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple

from mcproof.core.observations.source import SQL, FlowStep
from mcproof.source.python.flows.values import (
    EQUALS,
    MOST_FIELDS,
    NOTHING,
    OUTER,
    CodePlace,
    FlowState,
    FlowValue,
    LabelMark,
    checked,
    constant,
    joined,
    symbolic,
)
from mcproof.source.python.interp.values import MISSING, UNKNOWN, Function

if TYPE_CHECKING:
    from mcproof.source.python.flows.engine import FlowEngine
    from mcproof.source.python.flows.values import Guard, Label, Marks


class FlowUse(NamedTuple):
    """A dangerous use of a label."""

    kind: str
    call: str
    """The call, as the source names it."""
    place: CodePlace
    label: Label
    mark: LabelMark
    cases: frozenset[Guard]
    """The texts that other labels are equal to, where it happens."""


class Exit(NamedTuple):
    """One way in which a function returns."""

    value: FlowValue
    state: FlowState
    is_optional: bool
    """Whether only the configuration decides that it is taken."""


class FunctionWalk:
    """The walk over one function."""

    def __init__(self, engine: FlowEngine, function: Function, names: dict[str, FlowValue]) -> None:
        self.engine = engine
        self.function = function
        self.module = function.module
        self.state = FlowState(names)
        self.uses: list[FlowUse] = []
        self.exits: list[Exit] = []
        self.has_ended = False
        """Whether a function was called that never returns."""
        self.labelled_conditions = 0
        """How many of the conditions that apply depend on a label."""
        self.plain_conditions = 0
        self.outer = engine.closures.get(id(function.node), {})
        """The names of the function around it, if that was walked."""
        self.borrowed: dict[str, FlowValue] = {}

    def step(self, node: ast.AST, what: str) -> FlowStep:
        return FlowStep(self.module.file, getattr(node, "lineno", 0), what)

    def lookup(self, name: str) -> FlowValue:
        """The value of a name."""
        found = self.state.names.get(name)
        if found is not None:
            return found
        if name in self.borrowed:
            return self.borrowed[name]
        if name in self.outer:
            self.borrowed[name], _ = symbolic(self.outer[name], (OUTER + name,))
            return self.borrowed[name]
        value = self.engine.lookup(name, self.function.scope)
        return constant(value) if value is not UNKNOWN and value is not MISSING else NOTHING

    def outer_names(self) -> dict[str, FlowValue]:
        """The names of the functions around it, as it sees them."""
        return {name: self.lookup(name) for name in self.outer}

    def own_object(self) -> FlowValue:
        """The object that a method belongs to."""
        spec = self.function.node.args
        first = next(iter((*spec.posonlyargs, *spec.args)), None)
        return self.lookup(first.arg) if first is not None else NOTHING

    def has_marks(self, node: ast.expr) -> bool:
        """Whether a condition names a value that depends on a parameter."""
        names = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
        return any((value := self.state.names.get(name)) is not None and value.all_marks() for name in names)

    def use(self, kind: str, value: FlowValue, node: ast.AST, call: str) -> None:
        """Note that a value is used in a dangerous way, unless checks make that safe."""
        marks = decisive(kind, value.all_marks())
        if not marks:
            return
        cases = frozenset(guard for guard in self.state.guards if guard[1].startswith(EQUALS))
        for label, mark in marks.items():
            left = checked(mark, self.state.guards, label, kind)
            if left is not None:
                place = CodePlace(self.module, node, self.function.name)
                made = FlowUse(kind, call, place, label, left, cases)
                self.engine.add_use(self.uses, made)

    def leave(self, value: FlowValue) -> None:
        """Note that the function may return here."""
        is_optional = bool(self.plain_conditions) and not self.labelled_conditions
        self.exits.append(Exit(value, self.state.copy(), is_optional))

    def end(self) -> tuple[FlowState, list[Exit]]:
        """The state after the function, and the exits that count for it: those without an error."""
        good = [way_out for way_out in self.exits if not is_error(way_out.value)] or self.exits
        certain = [way_out for way_out in good if not way_out.is_optional] or good
        state = joined([way_out.state for way_out in certain])
        return state if state is not None else self.state, certain

    def bind(self, target: ast.AST, value: FlowValue) -> None:
        """Assign a value to a target."""
        if isinstance(target, ast.Name):
            self.state.names[target.id] = value
        elif isinstance(target, ast.Starred):
            self.bind(target.value, value)
        elif isinstance(target, (ast.Tuple, ast.List)):
            for index, element in enumerate(target.elts):
                self.bind(element, part_of(value, index))
        elif isinstance(target, (ast.Attribute, ast.Subscript)):
            self._bind_part(target, value)

    def _bind_part(self, target: ast.Attribute | ast.Subscript, value: FlowValue) -> None:
        """`holder.key = value` and `holder["key"] = value`, for a holder with a name."""
        holder = target.value
        if not isinstance(holder, ast.Name):
            return
        if isinstance(target, ast.Attribute):
            key = target.attr
        elif isinstance(target.slice, ast.Constant) and isinstance(target.slice.value, str):
            key = target.slice.value
        else:
            key = ""
        known = self.lookup(holder.id)
        if key and len(known.fields or ()) < MOST_FIELDS:
            fields = {**(known.fields or {}), key: value}
            self.state.names[holder.id] = FlowValue(
                known.base, known.marks, fields=fields, elements=known.elements, text=known.text
            )
        elif value.all_marks():
            self.state.names[holder.id] = known.with_marks({**known.marks, **value.all_marks()})


def is_abstract(node: ast.AST) -> bool:
    """Whether a function only raises `NotImplementedError`, so that another one takes its place."""
    body = getattr(node, "body", None)
    last = body[-1] if isinstance(body, list) and body else None
    return isinstance(last, ast.Raise) and last.exc is not None and "NotImplemented" in ast.unparse(last.exc)


def decisive(kind: str, marks: Marks) -> Marks:
    """The marks that matter for a use: a value inside a statement that is the caller's own adds nothing."""
    if kind == SQL and len(marks) > 1 and any(mark.head for mark in marks.values()):
        return {label: mark for label, mark in marks.items() if mark.head}
    return marks


def is_error(value: FlowValue) -> bool:
    """Whether a returned value reports a failure: `{"error": …}`, `{"success": False}`, `"Error: …"`."""
    if value.fields:
        failed = any(key in value.fields and value.fields[key].base is False for key in ("success", "ok"))
        return failed or "error" in value.fields
    return value.text is not None and value.text.lower().startswith("error")


def part_of(value: FlowValue, index: int) -> FlowValue:
    """One of several values that are unpacked."""
    if value.elements is not None and index < len(value.elements):
        return value.elements[index]
    if value.elements is not None and value.elements and value.elements[-1].is_open:
        return value.elements[-1]
    return FlowValue(UNKNOWN, value.marks)


def described(node: ast.AST) -> str:
    """An expression as evidence, shortened."""
    try:
        text = ast.unparse(node)
    except (RecursionError, ValueError):
        return "…"
    text = " ".join(text.split())
    return text if len(text) <= 80 else text[:79] + "…"
