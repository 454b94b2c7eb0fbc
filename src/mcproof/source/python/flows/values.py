"""Values of a flow: which parameters a value is made from and how, and what was checked about it.

`FlowState` holds the names and checks at one point of a function. Arguments become symbols, so that one walk over a
function serves every call of the same shape.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from mcproof.core.named_tuple import NamedTuple
from mcproof.core.observations.source import PATH, FlowStep
from mcproof.source.python.interp.values import UNKNOWN, External, ExternalCall, Method

if TYPE_CHECKING:
    import ast
    from collections.abc import Callable, Iterable, Mapping

    from mcproof.source.python.interp.modules import Module


if TYPE_CHECKING:
    Label = tuple[str, ...]
    """A parameter of the function that is walked, with the keys that lead to a part of it."""
    Guard = tuple[Label, str]
    """A label that was checked, and the kind of use that the check makes safe."""

LONGEST_LABEL = 4
MOST_STEPS_OF_TRAIL = 16
MOST_ELEMENTS = 64
MOST_FIELDS = 64
MOST_INNER_PARTS = 8
DEEPEST_PART = 3
LONGEST_TEXT = 2_000
HOLE = "\0"
"""Takes the place of a computed part in the known text of a value."""
ANY_USE = "*"
"""The kind of a check that makes every use safe."""


class CodePlace(NamedTuple):
    """A node of the source and the function that contains it."""

    module: Module
    node: ast.AST
    function: str


class LabelMark(NamedTuple):
    """How a value depends on a label."""

    head: bool = True
    """Whether the value may begin with the label's text."""
    whole: bool = True
    """Whether the value is nothing but the label; false if it is embedded in other text."""
    part: bool = False
    """Whether the value is only one word of the label."""
    resolved: bool = False
    """Whether it is an absolute path without `..`."""
    joined: bool = False
    """Whether it always was joined with a folder, also if the label's text is absolute."""
    clean: frozenset[str] = frozenset()
    """The kinds of use that are safe."""
    trail: tuple[FlowStep, ...] = ()
    composed: CodePlace | None = None
    """Where it was first embedded in other text."""

    def after(self, step: FlowStep) -> LabelMark:
        """The mark with one more step."""
        if len(self.trail) >= MOST_STEPS_OF_TRAIL or (self.trail and self.trail[-1][:2] == step[:2]):
            return self
        return self._replace(trail=(*self.trail, step))

    def through(self, inner: LabelMark) -> LabelMark:
        """The mark of what a function makes from an argument with this mark."""
        return LabelMark(
            self.head and inner.head,
            self.whole and inner.whole,
            self.part or inner.part,
            self.resolved or inner.resolved,
            self.joined or inner.joined,
            self.clean | inner.clean,
            (self.trail + inner.trail)[:MOST_STEPS_OF_TRAIL],
            self.composed or inner.composed,
        )


Marks = dict[tuple[str, ...], LabelMark]
NO_MARKS: Marks = {}


class Alternatives(NamedTuple):
    """One of several functions, classes or objects, as in a table of handlers."""

    options: tuple[Any, ...]


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
        made = FlowValue(
            self.base, marks, fields=self.fields, elements=self.elements, text=self.text, is_open=self.is_open
        )
        made.when_true, made.when_false = self.when_true, self.when_false
        return made

    def all_marks(self) -> Marks:
        """Its marks and those of its parts."""
        if self.fields is None and self.elements is None:
            return self.marks
        found = dict(self.marks)
        waiting: list[FlowValue] = [*(self.fields or {}).values(), *(self.elements or ())]
        seen = 0
        while waiting and seen < MOST_FIELDS:
            part = waiting.pop()
            seen += 1
            for label, mark in part.marks.items():
                found.setdefault(label, mark)
            waiting += [*(part.fields or {}).values(), *(part.elements or ())]
        return found

    def collapsed(self, label: Label | None = None) -> FlowValue:
        """The value without its parts; with their marks, or with one mark for all of them."""
        marks = self.all_marks() if label is None else {label: LabelMark()}
        return FlowValue(self.base, marks, text=self.text, is_open=self.is_open)

    def has_many_parts(self, depth: int) -> bool:
        """Whether it has too many parts to look at each, for a part of something larger."""
        return depth > 0 and len(self.elements or ()) + len(self.fields or ()) > MOST_INNER_PARTS

    def opened(self) -> FlowValue:
        """The value as any number of elements."""
        made = self.with_marks(self.marks)
        made.is_open = True
        return made


def _text_of(base: Any) -> str | None:
    """The text of a constant."""
    if isinstance(base, str):
        return base
    return "/" if isinstance(base, External) and base.name in ("os.sep", "os.path.sep") else None


NOTHING = FlowValue()


def constant(value: Any) -> FlowValue:
    """A value that the interpreter knows."""
    return FlowValue(value)


def changed(marks: Marks, change: Callable[[LabelMark], LabelMark]) -> Marks:
    """Marks with a change applied to each."""
    return {label: change(mark) for label, mark in marks.items()} if marks else NO_MARKS


def cleaned(marks: Marks, *kinds: str) -> Marks:
    """Marks that are safe for more kinds of use."""
    return changed(marks, lambda mark: mark._replace(clean=mark.clean.union(kinds)))


def merged(many: Iterable[Marks]) -> Marks:
    """The marks of a value that is either of several; of two marks with one label, the more dangerous."""
    found: Marks = {}
    for marks in many:
        for label, mark in marks.items():
            known = found.get(label)
            if known is None:
                found[label] = mark
            elif known != mark:
                found[label] = LabelMark(
                    known.head or mark.head,
                    known.whole and mark.whole,
                    known.part and mark.part,
                    known.resolved and mark.resolved,
                    known.joined and mark.joined,
                    known.clean & mark.clean,
                    known.trail or mark.trail,
                    known.composed or mark.composed,
                )
    return found


def extended(marks: Marks, key: str) -> Marks:
    """The marks of a part of a value."""
    if not marks:
        return NO_MARKS
    return {
        ((*label, key) if mark.whole and len(label) < LONGEST_LABEL else label): mark for label, mark in marks.items()
    }


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
    made = FlowValue(
        base,
        merged((one.marks, other.marks)),
        fields=fields,
        elements=elements,
        text=text,
        is_open=one.is_open or other.is_open,
    )
    made.when_true, made.when_false = one.when_true & other.when_true, one.when_false & other.when_false
    return made


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


DOTS, NOT_ABSOLUTE = "dots", "not absolute"
"""Partial checks of a path: it has no `..`, it is not absolute."""
BELOW = "below"
"""A check of a path that was joined with a folder: the text alone, which leads elsewhere, is not safe by it."""
EQUALS = "="
"""The start of the kind of a check for one text, which follows."""


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

    A check counts if it is on every way. With `keeps_guards`, one way is enough: the condition depends on the
    configuration of the server, which may turn the check off.
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
            known = names.get(name)
            names[name] = value if known is None else either(known, value)
    return FlowState(names, guards)


def common_guards(one: frozenset[Guard], other: frozenset[Guard]) -> frozenset[Guard]:
    """The checks that both of two ways have; a check for every use includes one for a single use."""
    if one == other:
        return one
    both = {guard for guard in one if guard in other or (guard[0], ANY_USE) in other}
    return frozenset(both.union(guard for guard in other if (guard[0], ANY_USE) in one))


def is_guarded(guards: frozenset[Guard], label: Label, kind: str) -> bool:
    """Whether a label, or a value that it is part of, was checked for a kind of use."""
    return any(
        (label[:count], kind) in guards or (label[:count], ANY_USE) in guards for count in range(1, len(label) + 1)
    )


def checked(mark: LabelMark, guards: frozenset[Guard], label: Label, kind: str) -> LabelMark | None:
    """The mark of a use that checks do not make safe, with the partial checks; None if it is safe."""
    if kind in mark.clean or is_guarded(guards, label, kind):
        return None
    if kind != PATH:
        return mark
    if not mark.whole and is_guarded(guards, label, BELOW):
        return None
    partly = [check for check in (DOTS, NOT_ABSOLUTE) if is_guarded(guards, label, check)]
    return mark._replace(clean=mark.clean.union(partly)) if partly else mark


def guards_on(labels: Iterable[Label], *kinds: str) -> frozenset[Guard]:
    """Checks of labels for kinds of use."""
    return frozenset((label, kind) for label in labels for kind in kinds)


OUTER = "^"
"""The start of the label of a name of the enclosing function."""
SENT = "@"
"""The start of the label of a value that a client sends apart from arguments; it is the same in every function."""
LONGEST_CONSTANT = 80
QUERY = re.compile(
    r"(?i)\b(?:select|insert|update|delete|create|drop|alter|pragma|merge|match|truncate|describe|show|with)\b\s"
)
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
            made, its = symbolic(part, (*label, str(index)))
            elements.append(made)
            keys.append(its)
    if fields is None and elements is None and not marks:
        marks = {label: LabelMark()}
    text = _QUERY_TEXT if value.text is not None and QUERY.search(value.text) else None
    keys.append(text)
    made = FlowValue(value.base, marks, fields=fields, elements=elements, text=text, is_open=value.is_open)
    return made, tuple(keys)


def _base_key(base: Any) -> Any:
    if isinstance(base, str):
        return base[:LONGEST_CONSTANT]
    if isinstance(base, (bool, int, type(None))):
        return (type(base).__name__, base)
    if isinstance(base, External):
        return ("external", base.name)
    if isinstance(base, ExternalCall):
        return ("call", base.func.name)
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
