"""Values of a flow in JavaScript: which inputs a value is made from, and what its truth proves."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from mcproof.core.named_tuple import NamedTuple
from mcproof.core.observations.source import PATH
from mcproof.source.flow_marks import ANY_USE, BELOW, Guard, Marks, cleaned, common_guards, extended, merged
from mcproof.source.javascript.flows.tables import EVERY_KIND

if TYPE_CHECKING:
    from tree_sitter import Node

    from mcproof.source.javascript.interp.modules import Module

ADDRESS = "URL"
"""The name of a parsed address."""
SCHEME = "protocol"
"""The name of the scheme of an address."""


class FunctionRef(NamedTuple):
    """A function of the source, with the names around it where it was made."""

    module: Module
    node: Node
    names: dict[str, Flow]
    scope: Any = None
    """The scope of the interpreter in which it was made, if it was met there."""


class Flow:
    """A value: its inputs, and what is known of it. Never changed after creation."""

    __slots__ = ("elements", "fields", "function", "marks", "name", "text", "when_false", "when_true")

    def __init__(
        self,
        marks: Marks | None = None,
        *,
        text: str | None = None,
        name: str = "",
        function: FunctionRef | None = None,
        fields: dict[str, Flow] | None = None,
        elements: list[Flow] | None = None,
    ) -> None:
        self.marks = marks or {}
        self.text = text
        """The known text of a string, with `HOLE` for each computed part."""
        self.name = name
        """The name of something of another package: `child_process.exec`, `fs`."""
        self.function = function
        self.fields = fields
        self.elements = elements
        self.when_true: frozenset[Guard] = frozenset()
        self.when_false: frozenset[Guard] = frozenset()

    def all_marks(self, depth: int = 0) -> Marks:
        """Its marks and those of its parts."""
        parts = [*(self.fields or {}).values(), *(self.elements or ())][:64]
        if not parts or depth > 3:
            return self.marks
        return merged([self.marks, *(part.all_marks(depth + 1) for part in parts)])

    def with_marks(self, marks: Marks) -> Flow:
        copy = Flow(
            marks, text=self.text, name=self.name, function=self.function, fields=self.fields, elements=self.elements
        )
        copy.when_true, copy.when_false = self.when_true, self.when_false
        return copy

    def tests(self) -> tuple[frozenset[Guard], frozenset[Guard]]:
        """What its truth and its falsehood prove; an empty text is harmless."""
        if self.marks and not (self.when_true or self.when_false):
            return frozenset(), frozenset((label, ANY_USE) for label, mark in self.marks.items() if mark.whole)
        return self.when_true, self.when_false


NOTHING = Flow()


def proving(when_true: Iterable[Guard] = (), when_false: Iterable[Guard] = (), name: str = "") -> Flow:
    """A truth value that proves something."""
    flow = Flow(name=name)
    flow.when_true, flow.when_false = frozenset(when_true), frozenset(when_false)
    return flow


_CONSTANTS = frozenset(("", "true", "false", "null", "undefined"))
"""The names of constants, and that of a value without one."""


def truth(value: Flow) -> bool | None:
    """Whether a constant is true; None if it is unknown."""
    if value.name and value.name in _CONSTANTS:
        return value.name == "true"
    return bool(value.text) if value.text is not None and not value.marks else None


def either(one: Flow, other: Flow) -> Flow:
    """The value that is one of two."""
    if one is other or other is NOTHING:
        return one
    if one is NOTHING:
        return other
    fields = {**(one.fields or {}), **(other.fields or {})} or None
    names = [name for name in (one.name, other.name) if one.name == other.name or name not in _CONSTANTS]
    for key in (one.fields or {}).keys() & (other.fields or {}).keys():
        fields[key] = either((one.fields or {})[key], (other.fields or {})[key])  # type: ignore[index]
    joined = Flow(
        merged((one.marks, other.marks)),
        text=one.text if one.text == other.text else None,
        name=names[0] if names else "",
        function=one.function or other.function,
        fields=fields,
        elements=one.elements if one.elements is not None else other.elements,
    )
    joined.when_true = _common(one.when_true, other.when_true, truth(one) is False, truth(other) is False)
    joined.when_false = _common(one.when_false, other.when_false, truth(one) is True, truth(other) is True)
    return joined


def _common(
    one: frozenset[Guard], other: frozenset[Guard], is_never_one: bool, is_never_other: bool
) -> frozenset[Guard]:
    """What two values prove by being true, or by being false, which one of them may never be."""
    return other if is_never_one else one if is_never_other else common_guards(one, other)


def passing(marks: Marks, guards: frozenset[Guard]) -> Marks:
    """The marks of a value for which checks have passed."""
    return {
        label: mark._replace(clean=mark.clean.union(kind for checked, kind in guards if checked == label))
        for label, mark in marks.items()
        if (label, ANY_USE) not in guards
    }


def member(value: Flow, name: str) -> Flow:
    """`value.name`."""
    if value.fields is not None and name in value.fields:
        return value.fields[name]
    if name == "length" and value.elements:
        return proving(value.elements[0].when_true)
    if value.marks:
        if name == SCHEME and value.name == ADDRESS:
            return Flow(cleaned(value.marks, *EVERY_KIND), name=SCHEME)
        if name in ("length", "size", "port", "index", SCHEME):
            return NOTHING
        if value.name == ADDRESS:  # a part of it decides as much as all of it: `new URL(text).hostname`
            return Flow(value.marks)
        return Flow(extended(value.marks, name))
    if name == "sep" and value.name.startswith("path"):
        return Flow(text="/")
    return Flow(name=f"{value.name}.{name}") if value.name else NOTHING


def proven(value: Flow, *kinds: str) -> frozenset[Guard]:
    """The checks of everything that a value depends on; of a joined path, only that path is known."""
    if value.name == SCHEME:  # that it is one of the web says that the address is no path of a file
        kinds = (PATH,)
    guards: set[Guard] = set()
    for label, mark in value.all_marks().items():
        own = kinds
        if mark.joined and (PATH in kinds or mark.resolved):
            own = (BELOW, *(kind for kind in kinds if kind not in (PATH, ANY_USE)))
        guards.update((label, kind) for kind in own)
    return frozenset(guards)
