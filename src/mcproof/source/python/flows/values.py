"""Values of a flow: which parameters a value is made from, and how."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.discovery.interp.values import UNKNOWN, External, ExternalCall, Method

if TYPE_CHECKING:
    import ast
    from collections.abc import Callable, Iterable, Mapping

    from mcproof.core.observations.source import FlowStep
    from mcproof.discovery.interp.modules import Module

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

    __slots__ = ("base", "elements", "fields", "is_open", "marks", "text", "when_false", "when_true")

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
            each = waiting.pop()
            seen += 1
            for label, mark in each.marks.items():
                found.setdefault(label, mark)
            waiting += [*(each.fields or {}).values(), *(each.elements or ())]
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
