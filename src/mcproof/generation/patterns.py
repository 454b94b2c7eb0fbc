"""Texts that match a regular expression, built from its tree and confirmed by the validator.

The stranger's expression is never run by Python: the validator, which bounds its effort, is the judge.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from mcproof.generation.regex_syntax import (
    Anchor,
    Back,
    Chars,
    Choice,
    Group,
    Node,
    Ranges,
    Repeat,
    Sequence,
    UnreadableError,
    parse,
)

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterator

MOST_TEXT = 20_000
"""No text longer than this is made."""
_MOST_STEPS = 40_000
_TRIES = 60
_NO_LIMIT = 10**9
_FAVOURITES = tuple(map(ord, "a0A1b"))


class _TooMuchError(Exception):
    """A text would be too long, or take too many steps."""


def matching(
    pattern: str, shortest: int = 0, longest: int | None = None, choose: random.Random | None = None
) -> str | None:
    """A text that matches an expression, within these lengths; None where none was found.

    Without `choose` it is a short one, always the same; with it the texts vary.
    """
    tree, judge = _compiled(pattern)
    most = MOST_TEXT if longest is None else min(longest, MOST_TEXT)
    if tree is None or judge is None or shortest > most:
        return None
    for text in _attempts(tree, shortest, most, choose):
        if shortest <= len(text) <= most and judge(text):
            return text
    return None


def seeded(seed: int) -> random.Random:
    """A source of choices that are always the same."""
    from random import Random

    return Random(seed)  # noqa: S311


def matches(pattern: str, text: str) -> bool:
    """Whether a text matches an expression; no where the expression cannot be used."""
    judge = _compiled(pattern)[1]
    return judge is not None and judge(text)


@lru_cache(maxsize=512)
def _compiled(pattern: str) -> tuple[Node | None, Callable[[str], bool] | None]:
    import jsonschema_rs

    judge: Callable[[str], bool] | None = None
    try:
        judge = jsonschema_rs.Draft202012Validator({"pattern": pattern}).is_valid
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:
        return None, None
    try:
        return parse(pattern), judge
    except UnreadableError:
        return None, judge


def _attempts(tree: Node, shortest: int, longest: int, choose: random.Random | None) -> Iterator[str]:
    """Texts that may match: the first is nearly always right, the others are for look-arounds and the like."""
    least = _least(tree)
    if least > longest:
        return
    tries = 1 if choose is None else 8
    for _ in range(tries):
        yield from _padded(tree, shortest, longest, choose)
    seed = seeded(0) if choose is None else choose
    has_conditions = _has_conditions(tree)
    for number in range(_TRIES if has_conditions else 0):
        yield from _padded(tree, min(max(shortest, least + number % 12), longest), longest, seed)


def _padded(tree: Node, shortest: int, longest: int, choose: random.Random | None) -> Iterator[str]:
    try:
        text = _Writer(shortest, longest, choose).write(tree)
    except _TooMuchError:
        return
    yield text
    missing = shortest - len(text)
    if missing > 0:
        for padding in ("a", " "):
            yield text + padding * missing
            yield padding * missing + text


def _has_conditions(tree: Node) -> bool:
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Anchor):
            if node.kind in ("look", "b"):
                return True
        elif isinstance(node, Back):
            return True
        else:
            waiting += _below(node)
    return False


def _below(node: Node) -> tuple[Node, ...]:
    if isinstance(node, Sequence):
        return node.parts
    if isinstance(node, Choice):
        return node.options
    return (node.part,) if isinstance(node, Repeat | Group) else ()


def _least(node: Node) -> int:
    """The length of the shortest text that a tree describes; the tree is as deep as the parser lets it be."""
    if isinstance(node, Chars):
        return 1 if node.ranges else _NO_LIMIT
    if isinstance(node, Sequence):
        return sum(map(_least, node.parts))
    if isinstance(node, Choice):
        return min(map(_least, node.options))
    if isinstance(node, Repeat):
        return min(_least(node.part) * node.least, _NO_LIMIT) if node.least else 0
    return _least(node.part) if isinstance(node, Group) else 0


def _most(node: Node) -> int:
    if isinstance(node, Chars):
        return 1
    if isinstance(node, Sequence):
        return min(sum(map(_most, node.parts)), _NO_LIMIT)
    if isinstance(node, Choice):
        return max(map(_most, node.options))
    if isinstance(node, Repeat):
        return min(_most(node.part) * (_NO_LIMIT if node.most is None else node.most), _NO_LIMIT)
    if isinstance(node, Back):
        return _NO_LIMIT
    return _most(node.part) if isinstance(node, Group) else 0


class _Writer:
    """Writes one text; what is still missing to the wanted length goes into what may repeat."""

    def __init__(self, shortest: int, longest: int, choose: random.Random | None) -> None:
        self.shortest = shortest
        self.longest = longest
        self.choose = choose
        self.wanted = 0
        self.spare = 0
        self.steps = 0
        self.pieces: list[str] = []
        self.groups: dict[int, str] = {}

    def write(self, tree: Node) -> str:
        least = _least(tree)
        if least > MOST_TEXT:
            raise _TooMuchError
        self.wanted = max(self.shortest - least, 0)
        self.spare = self.longest - least
        self.node(tree)
        return "".join(self.pieces)

    def node(self, node: Node) -> None:
        self.steps += 1
        if self.steps > _MOST_STEPS:
            raise _TooMuchError
        if isinstance(node, Chars):
            self.pieces.append(_character(node.ranges, self.choose))
        elif isinstance(node, Sequence):
            for part in node.parts:
                self.node(part)
        elif isinstance(node, Choice):
            self.option(node)
        elif isinstance(node, Repeat):
            self.repeat(node)
        elif isinstance(node, Group):
            start = len(self.pieces)
            self.node(node.part)
            self.groups[node.number] = "".join(self.pieces[start:])
        elif isinstance(node, Back):
            text = self.groups.get(node.number, "")
            self.pieces.append(text)
            self.take(len(text))

    def take(self, length: int) -> None:
        """Count what goes beyond the shortest text."""
        self.wanted -= length
        self.spare -= length

    def option(self, node: Choice) -> None:
        least = _least(node)
        fitting = [each for each in node.options if _least(each) - least <= self.spare]
        if self.wanted > 0:
            fitting = [each for each in fitting if _most(each) - least >= self.wanted] or fitting
        if not fitting:
            raise _TooMuchError
        option = fitting[self.choose.randrange(len(fitting))] if self.choose else min(fitting, key=_least)
        self.take(_least(option) - least)
        self.node(option)

    def repeat(self, node: Repeat) -> None:
        least = _least(node.part)
        if _most(node.part) == 0:
            self.node(node.part)
            return
        if least >= _NO_LIMIT:  # what it repeats matches nothing
            return
        times = node.least if least else 0
        room = (_NO_LIMIT if node.most is None else node.most) - times
        more = 0
        if self.wanted > 0:
            unit = least or min(_most(node.part), self.wanted)
            more = min(room, -(-self.wanted // unit))
        if self.choose and room > more and self.choose.random() < 0.6:
            more += self.choose.randrange(min(room - more, 8) + 1)
        if least:
            more = min(more, self.spare // least)
        self.take(more * least)
        for _ in range(times + more):
            self.node(node.part)


def _character(ranges: Ranges, choose: random.Random | None) -> str:
    if not ranges:
        raise _TooMuchError
    if choose is not None:
        low, high = ranges[choose.randrange(len(ranges))]
        if high - low > 200 and choose.random() < 0.7:  # mostly what people type
            low, high = max(low, 32), min(high, 126)
            if low > high:
                low, high = ranges[0]
        return chr(choose.randrange(low, high + 1))
    for favourite in _FAVOURITES:
        for low, high in ranges:
            if low <= favourite <= high:
                return chr(favourite)
    for low, high in ranges:
        if high >= 33 and low <= 126:
            return chr(max(low, 33))
    return chr(ranges[0][0])
