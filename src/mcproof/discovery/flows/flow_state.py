"""What holds at one point of a function: the values of its names, and the checks that passed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.core.observations.source import PATH
from mcproof.discovery.flows.flow_values import ANY_USE, FlowValue, LabelMark, either

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcproof.discovery.flows.flow_values import Guard, Label

DOTS, NOT_ABSOLUTE = "dots", "not absolute"
"""Partial checks of a path: it has no `..`, it is not absolute."""
EQUALS = "="
"""The start of the kind of a check for one text, which follows."""


class FlowState:
    """Names and checks at one point of a function."""

    __slots__ = ("guards", "names")

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
    partial = [each for each in (DOTS, NOT_ABSOLUTE) if is_guarded(guards, label, each)]
    return mark._replace(clean=mark.clean.union(partial)) if partial else mark


def guards_on(labels: Iterable[Label], *kinds: str) -> frozenset[Guard]:
    """Checks of labels for kinds of use."""
    return frozenset((label, kind) for label in labels for kind in kinds)
