"""How a value depends on what a client sends, and what was checked about it, in any language.

A *label* is one input; a value has a mark for each label that it is made from. A *guard* is a check that passed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from mcproof.core.named_tuple import NamedTuple
from mcproof.core.observations.source import (
    ARGUMENT,
    ATTRIBUTE,
    COMMAND,
    EVAL,
    PATH,
    PROGRAM,
    SHELL,
    SQL,
    URL,
    FlowStep,
)

Label = tuple[str, ...]
"""An input of the function that is walked, with the keys that lead to a part of it."""
Guard = tuple[Label, str]
"""A label that was checked, and the kind of use that the check makes safe."""

LONGEST_LABEL = 4
MOST_STEPS_OF_TRAIL = 16
HOLE = "\0"
"""Takes the place of a computed part in the known text of a value."""
ANY_USE = "*"
"""The kind of a check that makes every use safe."""
DOTS, NOT_ABSOLUTE = "dots", "not absolute"
"""Partial checks of a path: it has no `..`, it is not absolute."""
BELOW = "below"
"""A check of a path that was joined with a folder: the text alone, which leads elsewhere, is not safe by it."""
EQUALS, DIFFERS = "=", "≠"
"""The start of the kind of a check for one text, or against it; the text follows."""
SWITCHED = "?"
"""The start of the kind of a check that a setting switches off; the kind and the switch follow, after `HOLE`."""
ALL_KINDS = frozenset((SHELL, PROGRAM, COMMAND, EVAL, SQL, PATH, URL, ARGUMENT, ATTRIBUTE))
"""The kinds of use that a check can make safe."""
QUERY = re.compile(
    r"(?i)\b(?:select|insert|update|delete|create|drop|alter|pragma|merge|match|truncate|describe|show|with)\b\s"
)
"""A text that looks like a query."""


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
    relative: bool = False
    """Whether it is the way from a folder to a path: `os.path.relpath(path, root)`."""
    composed: Any = None
    """Where it was first embedded in other text."""
    switch: str = ""
    """The setting that switches the check of it off: ``unless `confined` is set``."""

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
            self.relative or inner.relative,
            self.composed or inner.composed,
            self.switch or inner.switch,
        )


Marks = dict[tuple[str, ...], LabelMark]
NO_MARKS: Marks = {}


def changed(marks: Marks, change: Callable[[LabelMark], LabelMark]) -> Marks:
    """Marks with a change applied to each."""
    return {label: change(mark) for label, mark in marks.items()} if marks else NO_MARKS


def replaced(marks: Marks, **changes: Any) -> Marks:
    """Marks with the same fields replaced in each."""
    return changed(marks, lambda mark: mark._replace(**changes))


def cleaned(marks: Marks, *kinds: str) -> Marks:
    """Marks that are safe for more kinds of use."""
    return changed(marks, lambda mark: mark._replace(clean=mark.clean.union(kinds)))


def merged(many: Iterable[Marks]) -> Marks:
    """The marks of a value that is either of several; of two marks with one label, the more dangerous."""
    dangerous: Marks = {}
    for marks in many:
        for label, mark in marks.items():
            earlier = dangerous.get(label)
            if earlier is None:
                dangerous[label] = mark
            elif earlier != mark:
                dangerous[label] = LabelMark(
                    earlier.head or mark.head,
                    earlier.whole and mark.whole,
                    earlier.part and mark.part,
                    earlier.resolved and mark.resolved,
                    earlier.joined and mark.joined,
                    earlier.clean & mark.clean,
                    earlier.trail or mark.trail,
                    earlier.relative and mark.relative,
                    earlier.composed or mark.composed,
                    earlier.switch and mark.switch,
                )
    return dangerous


def extended(marks: Marks, key: str) -> Marks:
    """The marks of a part of a value."""
    if not marks:
        return NO_MARKS
    return {
        ((*label, key) if mark.whole and len(label) < LONGEST_LABEL else label): mark for label, mark in marks.items()
    }


def common_guards(one: frozenset[Guard], other: frozenset[Guard]) -> frozenset[Guard]:
    """The checks that both of two ways have; a check for every use includes one for a single use."""
    if one == other:
        return one
    both = {guard for guard in one if _includes(other, guard)}
    return frozenset(both.union(guard for guard in other if _includes(one, guard)))


def _includes(guards: frozenset[Guard], guard: Guard) -> bool:
    """Whether some checks include one; a check without a switch includes the same with one."""
    label, kind = guard
    return guard in guards or (label, ANY_USE) in guards or (label, _without_switch(kind)) in guards


def _without_switch(kind: str) -> str:
    return kind[1:].partition(HOLE)[0] if kind.startswith(SWITCHED) else kind


def switched(guards: frozenset[Guard], switch: str) -> frozenset[Guard]:
    """Checks that a setting switches off; without effect on those for other uses than paths, and if it is empty."""
    if not switch:
        return guards
    result: set[Guard] = set()
    for label, kind in guards:
        if kind == ANY_USE:
            result.update((label, other) for other in ALL_KINDS - {PATH})
        is_of_path = kind in (PATH, ANY_USE, BELOW, DOTS, NOT_ABSOLUTE)
        result.add((label, f"{SWITCHED}{PATH if kind == ANY_USE else kind}{HOLE}{switch}" if is_of_path else kind))
    return frozenset(result)


def weakened(guards: frozenset[Guard], others: frozenset[Guard], switch: str) -> frozenset[Guard]:
    """The checks of one way, if a setting may choose another way, with other checks."""
    both = common_guards(guards, others)
    return both | switched(guards - both, switch)


def is_guarded(guards: frozenset[Guard], label: Label, kind: str) -> bool:
    """Whether a label, or a value that it is part of, was checked for a kind of use."""
    return any(
        (label[:count], kind) in guards or (label[:count], ANY_USE) in guards for count in range(1, len(label) + 1)
    )


def checked(mark: LabelMark, guards: frozenset[Guard], label: Label, kind: str) -> LabelMark | None:
    """The mark of a use that checks do not make safe, with the partial checks; None if it is safe.

    If it is safe unless a setting switches a check off, the mark says so.
    """
    left = _checked(mark, guards, label, kind)
    if left is None or kind != PATH or is_contained(left):
        return left
    switches = sorted(
        own
        for own in (*guards, *((label, kind) for kind in mark.clean))
        if own[1].startswith(SWITCHED) and own[0] == label[: len(own[0])]
    )
    if switches:
        every = guards.union((label, _without_switch(kind)) for label, kind in switches)
        assumed = _checked(mark, every, label, kind)
        if assumed is None or is_contained(assumed):
            return left._replace(switch=switches[0][1].partition(HOLE)[2])
    return left


def _checked(mark: LabelMark, guards: frozenset[Guard], label: Label, kind: str) -> LabelMark | None:
    if kind in mark.clean or is_guarded(guards, label, kind):
        return None
    if kind != PATH:
        return mark
    if not mark.whole and is_guarded(guards, label, BELOW):
        return None
    partly = [check for check in (DOTS, NOT_ABSOLUTE) if is_guarded(guards, label, check)]
    return mark._replace(clean=mark.clean.union(partly)) if partly else mark


def is_contained(mark: LabelMark) -> bool:
    """Whether partial checks together keep a path in a folder."""
    return DOTS in mark.clean and (NOT_ABSOLUTE in mark.clean or not mark.head)


def is_strict_pattern(pattern: str, *, starts: bool = False, ends: bool = False) -> bool:
    """Whether a text that matches a regular expression has only the characters that it lists.

    `starts` and `ends` say whether the search is bound to the start and the end of the text by itself.
    """
    starts = starts or pattern.lstrip("(").startswith(("^", r"\A"))
    ends = ends or pattern.rstrip(")").endswith(("$", r"\Z", r"\z"))
    return starts and ends and _LOOSE.search(pattern.rstrip("$")) is None


_LOOSE = re.compile(r"(?<!\\)\.(?:[*+{]|$)|\\S|\[\^")
"""Parts of a pattern that match nearly anything."""


def guards_on(labels: Iterable[Label], *kinds: str) -> frozenset[Guard]:
    """Checks of labels for kinds of use."""
    return frozenset((label, kind) for label in labels for kind in kinds)
