"""Values of a flow: which parameters a value is made from and how, and what was checked about it.

`FlowState` holds the names and checks at one point of a function. Arguments become symbols, so that one walk over a
function serves every call of the same shape.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from mcproof.core.named_tuple import NamedTuple
from mcproof.source.flow_marks import (
    HOLE,
    LONGEST_LABEL,
    NO_MARKS,
    QUERY,
    Guard,
    Label,
    LabelMark,
    Marks,
    common_guards,
    extended,
    merged,
)
from mcproof.source.python.interp.containers import Assumed
from mcproof.source.python.interp.values import UNKNOWN, External, ExternalCall, Method

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcproof.source.python.interp.modules import Module

MOST_ELEMENTS = 64
MOST_FIELDS = 64
MOST_INNER_PARTS = 8
DEEPEST_PART = 3
LONGEST_TEXT = 2_000


class CodePlace(NamedTuple):
    """A node of the source and the function that contains it."""

    module: Module
    node: ast.AST
    function: str


class Alternatives(NamedTuple):
    """One of several functions, classes or objects, as in a table of handlers."""

    options: tuple[Any, ...]
    cases: tuple[frozenset[Guard], ...] = ()
    """What is known where an option is chosen: that a label equals its key in the table."""


class FlowValue:
    """A value: what the interpreter knows of it, and the labels that it depends on. Never changed after creation."""

    def __init__(
        self,
        base: Any = UNKNOWN,
        marks: Marks | None = None,
        *,
        fields: Mapping[str, FlowValue] | None = None,
        elements: list[FlowValue] | None = None,
        text: str | None = None,
        is_open: bool = False,
    ) -> None:
        self.base = base
        self.marks = marks or NO_MARKS
        self.fields = fields
        """Values of known keys or attributes."""
        self.elements = elements
        """The elements of a list or tuple, in order."""
        self.text = _text_of(base) if text is None else text
        """The known text of a string, with `HOLE` for each computed part."""
        self.is_open = is_open
        """Whether it stands for any number of elements, as in `*args`."""
        self.when_true: frozenset[Guard] = frozenset()
        """The checks that passed if the value is true."""
        self.when_false: frozenset[Guard] = frozenset()

    def with_marks(self, marks: Marks) -> FlowValue:
        """The same value with other marks of its own."""
        copy = FlowValue(
            self.base, marks, fields=self.fields, elements=self.elements, text=self.text, is_open=self.is_open
        )
        copy.when_true, copy.when_false = self.when_true, self.when_false
        return copy

    def all_marks(self) -> Marks:
        """Its marks and those of its parts."""
        if self.fields is None and self.elements is None:
            return self.marks
        marks = dict(self.marks)
        waiting: list[FlowValue] = [*(self.fields or {}).values(), *(self.elements or ())]
        seen = 0
        while waiting and seen < MOST_FIELDS:
            part = waiting.pop()
            seen += 1
            for label, mark in part.marks.items():
                marks.setdefault(label, mark)
            waiting += [*(part.fields or {}).values(), *(part.elements or ())]
        return marks

    def collapsed(self, label: Label | None = None) -> FlowValue:
        """The value without its parts; with their marks, or with one mark for all of them."""
        marks = self.all_marks() if label is None else {label: LabelMark()}
        return FlowValue(self.base, marks, text=self.text, is_open=self.is_open)

    def has_many_parts(self, depth: int) -> bool:
        """Whether it has too many parts to look at each, for a part of something larger."""
        return depth > 0 and len(self.elements or ()) + len(self.fields or ()) > MOST_INNER_PARTS

    def opened(self) -> FlowValue:
        """The value as any number of elements."""
        copy = self.with_marks(self.marks)
        copy.is_open = True
        return copy


def _text_of(base: Any) -> str | None:
    """The text of a constant."""
    if isinstance(base, str):
        return base
    return "/" if isinstance(base, External) and base.name in ("os.sep", "os.path.sep") else None


NOTHING = FlowValue()


def constant(value: Any) -> FlowValue:
    """A value that the interpreter knows."""
    return FlowValue(value)


def either(one: FlowValue, other: FlowValue, depth: int = 0) -> FlowValue:
    """The value that is one of two."""
    if one is other:
        return one
    base = one.base if _is_same(one.base, other.base) or other.base in (None, UNKNOWN) else other.base
    if one.base is not UNKNOWN and one.base is not None and other.base is UNKNOWN:
        base = one.base
    if depth >= DEEPEST_PART:
        return FlowValue(base, merged((one.all_marks(), other.all_marks())))
    elements = _either_elements(one.elements, other.elements, depth + 1)
    fields: dict[str, FlowValue] | None = None
    if one.fields is not None or other.fields is not None:
        fields = dict(one.fields or {})
        for key, value in (other.fields or {}).items():
            if key not in fields:
                fields[key] = value
            else:
                fields[key] = either(fields[key], value, depth + 1)
    text = one.text if one.text == other.text else (one.text or other.text if one.marks or other.marks else None)
    if isinstance(base, str) and one.base != other.base:
        base = UNKNOWN
    joined = FlowValue(
        base,
        merged((one.marks, other.marks)),
        fields=fields,
        elements=elements,
        text=text,
        is_open=one.is_open or other.is_open,
    )
    joined.when_true, joined.when_false = one.when_true & other.when_true, one.when_false & other.when_false
    return joined


def _is_same(one: Any, other: Any) -> bool:
    return one is other or (isinstance(one, (str, External)) and one == other)


def _either_elements(one: list[FlowValue] | None, other: list[FlowValue] | None, depth: int) -> list[FlowValue] | None:
    """The elements of either list: what both begin with, then the rest of each, so that neighbours stay neighbours."""
    if one is None or other is None:
        return one if other is None else other
    if len(one) == len(other):
        return [either(mine, its, depth) for mine, its in zip(one, other, strict=True)]
    common = 0
    while common < min(len(one), len(other)) and one[common] is other[common]:
        common += 1
    return [*one, *other[common:]][:MOST_ELEMENTS]


def dotted_name(base: Any) -> str:
    """The name of something external: `subprocess.run`, `httpx.Client().get`; empty if it is not external."""
    depth = 0
    suffix = ""
    while depth < 8:
        if isinstance(base, External):
            return base.name + suffix
        if isinstance(base, ExternalCall):
            return f"{base.func.name}(){suffix}"
        if not isinstance(base, Method):
            break
        suffix = f".{base.name}{suffix}"
        base, depth = base.of, depth + 1
    return ""


def described(node: ast.AST) -> str:
    """An expression as evidence, shortened."""
    try:
        text = ast.unparse(node)
    except (RecursionError, ValueError):
        return "…"
    text = " ".join(text.split())
    return text if len(text) <= 80 else text[:79] + "…"


class FlowState:
    """Names and checks at one point of a function."""

    def __init__(self, names: dict[str, FlowValue], guards: frozenset[Guard] = frozenset()) -> None:
        self.names = names
        self.guards = guards

    def copy(self) -> FlowState:
        return FlowState(dict(self.names), self.guards)

    def passed(self, guards: frozenset[Guard]) -> FlowState:
        """The state after checks have passed."""
        return FlowState(dict(self.names), self.guards | guards)


def joined(states: list[FlowState], *, keeps_guards: bool = False) -> FlowState | None:
    """The state after several ways; None if there is none.

    A check counts if it is on every way. With `keeps_guards`, one way is enough.
    """
    if not states:
        return None
    first, *rest = states
    if not rest:
        return first
    names, guards = dict(first.names), first.guards
    for state in rest:
        guards = guards | state.guards if keeps_guards else common_guards(guards, state.guards)
        for name, value in state.names.items():
            earlier = names.get(name)
            names[name] = value if earlier is None else either(earlier, value)
    return FlowState(names, guards)


OUTER = "^"
"""The start of the label of a name of the enclosing function."""
SENT = "@"
"""The start of the label of a value that a client sends apart from arguments; it is the same in every function."""
LONGEST_CONSTANT = 80
_QUERY_TEXT = f"SELECT {HOLE}"


def symbolic(value: FlowValue, label: Label) -> tuple[FlowValue, Any]:
    """The value as its receiver sees it, with labels of its own, and a key that identifies its shape."""
    if not value.all_marks():
        return value, _key_of(value, 0)
    if value.has_many_parts(len(label) - 1):  # a label for each part of a part grows with every call
        return value.collapsed(label), ("many", _base_key(value.base))
    marks: Marks = {}
    resolved = False
    if value.marks:
        resolved = all(mark.resolved for mark in value.marks.values())
        marks = {label: LabelMark(resolved=resolved)}
    fields, elements = None, None
    keys: list[Any] = [_base_key(value.base), resolved, bool(marks), value.is_open]
    if value.fields is not None and len(label) < LONGEST_LABEL:
        fields = {}
        for key, part in value.fields.items():
            fields[key], its = symbolic(part, (*label, key))
            keys.append((key, its))
    if value.elements is not None and len(label) < LONGEST_LABEL:
        elements = []
        for index, part in enumerate(value.elements):
            inner, its = symbolic(part, (*label, str(index)))
            elements.append(inner)
            keys.append(its)
    if fields is None and elements is None and not marks:
        marks = {label: LabelMark()}
    text = _QUERY_TEXT if value.text is not None and QUERY.search(value.text) else None
    keys.append(text)
    inner = FlowValue(value.base, marks, fields=fields, elements=elements, text=text, is_open=value.is_open)
    return inner, tuple(keys)


def _base_key(base: Any) -> Any:
    if isinstance(base, str):
        return base[:LONGEST_CONSTANT]
    if isinstance(base, (bool, int, type(None))):
        return (type(base).__name__, base)
    if isinstance(base, External):
        return ("external", base.name)
    if isinstance(base, ExternalCall):
        return ("call", base.func.name)
    if isinstance(base, Assumed):
        return ("assumed", base.default)
    return id(base)


def _key_of(value: FlowValue, depth: int) -> Any:
    """The shape of a value without marks."""
    own = _base_key(value.base)
    if depth > 2 or value.has_many_parts(depth) or (value.fields is None and value.elements is None):
        return own
    fields = tuple((key, _key_of(part, depth + 1)) for key, part in (value.fields or {}).items())
    return own, fields, tuple(_key_of(part, depth + 1) for part in value.elements or ())


def marks_at(bound: dict[str, FlowValue], label: Label) -> Marks:
    """The caller's marks of what a label of the called function stands for."""
    if label[0].startswith(SENT):
        return {label: LabelMark()}
    value = bound.get(label[0])
    if value is None:
        return {}
    rest = label[1:]
    for count, key in enumerate(rest):
        if value.fields is not None and key in value.fields:
            value = value.fields[key]
        elif value.elements is not None and key.isdigit() and int(key) < len(value.elements):
            value = value.elements[int(key)]
        else:
            marks = value.marks or value.all_marks()
            for below in rest[count:]:
                marks = extended(marks, below)
            return marks
    return value.marks or value.all_marks()
