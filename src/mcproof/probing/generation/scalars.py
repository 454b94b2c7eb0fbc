"""Strings that match a pattern, constructed from its syntax tree and confirmed by the validator.

Python never executes a pattern from a schema: the validator does, with a limit on backtracking.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from mcproof.generation.regex_syntax import (
    Alternation,
    BackReference,
    CharacterClass,
    Concatenation,
    Ranges,
    RegexAssertion,
    RegexGroup,
    RegexNode,
    Repetition,
    UnsupportedPatternError,
    parse_pattern,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from random import Random

MAX_LENGTH = 20_000
"""The length of the longest string that is constructed."""
_MAX_STEPS = 40_000
_ATTEMPTS = 60
_UNBOUNDED = 10**9
_PREFERRED_CHARACTERS = tuple(map(ord, "a0A1b"))


class _LimitExceededError(Exception):
    """The string would be too long, or take too many steps."""


def matching_string(
    pattern: str, shortest: int = 0, longest: int | None = None, random: Random | None = None
) -> str | None:
    """Return a string of a given length that matches a pattern; None if none was found.

    Without `random` the string is short and always the same.
    """
    tree, is_match = _compiled(pattern)
    limit = MAX_LENGTH if longest is None else min(longest, MAX_LENGTH)
    if tree is None or is_match is None or shortest > limit:
        return None
    for text in _candidates(tree, shortest, limit, random):
        if shortest <= len(text) <= limit and is_match(text):
            return text
    return None


def seeded_random(seed: int) -> Random:
    """Return a random generator with a fixed seed."""
    from random import Random

    return Random(seed)  # noqa: S311


def matches(pattern: str, text: str) -> bool:
    """Whether a string matches a pattern; false if the pattern is invalid."""
    is_match = _compiled(pattern)[1]
    return is_match is not None and is_match(text)


@lru_cache(maxsize=512)
def _compiled(pattern: str) -> tuple[RegexNode | None, Callable[[str], bool] | None]:
    import jsonschema_rs

    is_match: Callable[[str], bool] | None = None
    try:
        is_match = jsonschema_rs.Draft202012Validator({"pattern": pattern}).is_valid
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:
        return None, None
    try:
        return parse_pattern(pattern), is_match
    except UnsupportedPatternError:
        return None, is_match


def _candidates(tree: RegexNode, shortest: int, longest: int, random: Random | None) -> Iterator[str]:
    """Yield strings that may match: the first usually does, the others are for lookarounds and back references."""
    minimum = _min_length(tree)
    if minimum > longest:
        return
    for _ in range(1 if random is None else 8):
        yield from _padded(tree, shortest, longest, random)
    if _has_conditions(tree):
        source = seeded_random(0) if random is None else random
        for number in range(_ATTEMPTS):
            yield from _padded(tree, min(max(shortest, minimum + number % 12), longest), longest, source)


def _padded(tree: RegexNode, shortest: int, longest: int, random: Random | None) -> Iterator[str]:
    try:
        text = _StringWriter(shortest, longest, random).write(tree)
    except _LimitExceededError:
        return
    yield text
    missing = shortest - len(text)
    if missing > 0:
        for padding in ("a", " "):
            yield text + padding * missing
            yield padding * missing + text


def _has_conditions(tree: RegexNode) -> bool:
    """Whether a string written from the tree may fail to match."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, RegexAssertion):
            if node.kind in ("lookaround", "boundary"):
                return True
        elif isinstance(node, BackReference):
            return True
        else:
            waiting += _children(node)
    return False


def _children(node: RegexNode) -> tuple[RegexNode, ...]:
    if isinstance(node, Concatenation):
        return node.nodes
    if isinstance(node, Alternation):
        return node.branches
    return (node.node,) if isinstance(node, Repetition | RegexGroup) else ()


def _min_length(node: RegexNode) -> int:
    """The length of the shortest match. The parser bounds the depth of the recursion."""
    if isinstance(node, CharacterClass):
        return 1 if node.ranges else _UNBOUNDED
    if isinstance(node, Concatenation):
        return sum(map(_min_length, node.nodes))
    if isinstance(node, Alternation):
        return min(map(_min_length, node.branches))
    if isinstance(node, Repetition):
        return min(_min_length(node.node) * node.minimum, _UNBOUNDED) if node.minimum else 0
    return _min_length(node.node) if isinstance(node, RegexGroup) else 0


def _max_length(node: RegexNode) -> int:
    if isinstance(node, CharacterClass):
        return 1
    if isinstance(node, Concatenation):
        return min(sum(map(_max_length, node.nodes)), _UNBOUNDED)
    if isinstance(node, Alternation):
        return max(map(_max_length, node.branches))
    if isinstance(node, Repetition):
        return min(_max_length(node.node) * (_UNBOUNDED if node.maximum is None else node.maximum), _UNBOUNDED)
    if isinstance(node, BackReference):
        return _UNBOUNDED
    return _max_length(node.node) if isinstance(node, RegexGroup) else 0


class _StringWriter:
    """Writes one string; repetitions are extended until it has the required length."""

    def __init__(self, shortest: int, longest: int, random: Random | None) -> None:
        self.shortest = shortest
        self.longest = longest
        self.random = random
        self.missing = 0
        """Characters still needed beyond the shortest match."""
        self.spare = 0
        """Characters still allowed beyond the shortest match."""
        self.steps = 0
        self.pieces: list[str] = []
        self.groups: dict[int, str] = {}

    def write(self, tree: RegexNode) -> str:
        minimum = _min_length(tree)
        if minimum > MAX_LENGTH:
            raise _LimitExceededError
        self.missing = max(self.shortest - minimum, 0)
        self.spare = self.longest - minimum
        self.write_node(tree)
        return "".join(self.pieces)

    def write_node(self, node: RegexNode) -> None:
        self.steps += 1
        if self.steps > _MAX_STEPS:
            raise _LimitExceededError
        if isinstance(node, CharacterClass):
            self.pieces.append(_character(node.ranges, self.random))
        elif isinstance(node, Concatenation):
            for each in node.nodes:
                self.write_node(each)
        elif isinstance(node, Alternation):
            self.write_alternation(node)
        elif isinstance(node, Repetition):
            self.write_repetition(node)
        elif isinstance(node, RegexGroup):
            start = len(self.pieces)
            self.write_node(node.node)
            self.groups[node.number] = "".join(self.pieces[start:])
        elif isinstance(node, BackReference):
            text = self.groups.get(node.number, "")
            self.pieces.append(text)
            self.count_extra(len(text))

    def count_extra(self, length: int) -> None:
        """Count characters beyond the shortest match."""
        self.missing -= length
        self.spare -= length

    def write_alternation(self, node: Alternation) -> None:
        minimum = _min_length(node)
        possible = [each for each in node.branches if _min_length(each) - minimum <= self.spare]
        if self.missing > 0:
            possible = [each for each in possible if _max_length(each) - minimum >= self.missing] or possible
        if not possible:
            raise _LimitExceededError
        branch = possible[self.random.randrange(len(possible))] if self.random else min(possible, key=_min_length)
        self.count_extra(_min_length(branch) - minimum)
        self.write_node(branch)

    def write_repetition(self, node: Repetition) -> None:
        length = _min_length(node.node)
        if _max_length(node.node) == 0:
            self.write_node(node.node)
            return
        if length >= _UNBOUNDED:  # the repeated node matches nothing
            return
        times = node.minimum if length else 0
        room = (_UNBOUNDED if node.maximum is None else node.maximum) - times
        extra = 0
        if self.missing > 0:
            unit = length or min(_max_length(node.node), self.missing)
            extra = min(room, -(-self.missing // unit))
        if self.random and room > extra and self.random.random() < 0.6:
            extra += self.random.randrange(min(room - extra, 8) + 1)
        if length:
            extra = min(extra, self.spare // length)
        self.count_extra(extra * length)
        for _ in range(times + extra):
            self.write_node(node.node)


def _character(ranges: Ranges, random: Random | None) -> str:
    if not ranges:
        raise _LimitExceededError
    if random is not None:
        low, high = ranges[random.randrange(len(ranges))]
        if high - low > 200 and random.random() < 0.7:  # prefer printable ASCII
            low, high = max(low, 32), min(high, 126)
            if low > high:
                low, high = ranges[0]
        return chr(random.randrange(low, high + 1))
    for preferred in _PREFERRED_CHARACTERS:
        for low, high in ranges:
            if low <= preferred <= high:
                return chr(preferred)
    for low, high in ranges:
        if high >= 33 and low <= 126:
            return chr(max(low, 33))
    return chr(ranges[0][0])
