"""Smaller variants of a value that makes a server fail, the boldest first.

Every variant is simpler by an order that cannot descend for ever, so a caller that goes on from each variant that
still fails comes to an end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_REDUCTIONS = 300
"""How many variants of one value are offered."""
_MOST_DEPTH = 40
_MOST_MEMBERS = 40
_SIMPLE_CHARACTERS = "a0"


def reductions(value: Any) -> Iterator[Any]:
    """Simpler values than this one, the boldest first."""
    size = complexity(value)
    offered = 0
    for smaller in _smaller(value, 0):
        if complexity(smaller) < size:
            yield smaller
            offered += 1
            if offered >= MOST_REDUCTIONS:
                return


def complexity(value: Any) -> tuple[int, int, int]:
    """How far a value is from the simplest: how many parts and characters, how odd they are, how large its numbers.

    A whole number comes before a fraction, and the numbers of a value are weighed by their length, so each of the
    three can only go down a finite number of times.
    """
    parts = oddity = magnitude = 0
    waiting = [value]
    while waiting:
        current = waiting.pop()
        kind = type(current)
        if kind is dict:
            parts += 2 + sum(1 + len(name) for name in current)
            waiting += current.values()
        elif kind is list:
            parts += 2 + len(current)
            waiting += current
        elif kind is str:
            parts += 1 + len(current)
            oddity += len(current) - sum(map(current.count, _SIMPLE_CHARACTERS))
        elif kind is bool:
            magnitude += int(current)
        elif kind is int:
            oddity += current < 0
            magnitude += _magnitude(current)
        elif kind is float:
            oddity += 2 + (current < 0)
            magnitude += len(repr(current)) + min(int(abs(current)), 2**60) if abs(current) < 1e300 else 2**61
        parts += 1
    return parts, oddity, magnitude


def _magnitude(number: int) -> int:
    """The size of a number; what is beyond all bounds is told apart by its length only."""
    return abs(number) if number.bit_length() < 4_000 else 2**4_000 + number.bit_length()


def _smaller(value: Any, depth: int) -> Iterator[Any]:
    kind = type(value)
    if kind is dict:
        yield from _smaller_objects(value, depth)
    elif kind is list:
        yield from _smaller_lists(value, depth)
    elif kind is str:
        yield from _smaller_texts(value)
    elif kind is bool:
        if value:
            yield False
    elif kind is int or kind is float:
        yield from _smaller_numbers(value)


def _smaller_objects(value: dict[str, Any], depth: int) -> Iterator[Any]:
    if not value:
        return
    yield {}
    names = list(value)
    if len(names) > 3:
        half = len(names) // 2
        yield {name: value[name] for name in names[:half]}
        yield {name: value[name] for name in names[half:]}
    for name in names[:_MOST_MEMBERS]:
        yield {other: each for other, each in value.items() if other != name}
    if depth < _MOST_DEPTH:
        yield from _in_turn([_members(value, name, depth) for name in names[:_MOST_MEMBERS]])


def _members(value: dict[str, Any], name: str, depth: int) -> Iterator[Any]:
    for smaller in _smaller(value[name], depth + 1):
        yield {**value, name: smaller}


def _smaller_lists(value: list[Any], depth: int) -> Iterator[Any]:
    if not value:
        return
    yield []
    if len(value) > 1:
        half = len(value) // 2
        yield value[:half]
        yield value[half:]
    for at in range(min(len(value), _MOST_MEMBERS)):
        yield value[:at] + value[at + 1 :]
    if depth < _MOST_DEPTH:
        yield from _in_turn([_entries(value, at, depth) for at in range(min(len(value), _MOST_MEMBERS))])


def _entries(value: list[Any], at: int, depth: int) -> Iterator[Any]:
    for smaller in _smaller(value[at], depth + 1):
        yield [*value[:at], smaller, *value[at + 1 :]]


def _in_turn(sources: list[Iterator[Any]]) -> Iterator[Any]:
    """One from each, then the next from each: the boldest of every member come first."""
    while sources:
        further = []
        for source in sources:
            found = next(source, _NOTHING)
            if found is not _NOTHING:
                yield found
                further.append(source)
        sources = further


_NOTHING = object()


def _smaller_texts(value: str) -> Iterator[str]:
    if not value:
        return
    yield ""
    length = len(value)
    if length > 1:
        half = length // 2
        yield value[:half]
        yield value[half:]
        yield "a" * length
        step = half
        while step > 1:
            step //= 2
            yield value[: length - step]
            yield value[step:]
    for at in range(min(length, 20)):
        yield value[:at] + value[at + 1 :]
    for at in range(min(length, 20)):
        if value[at] not in _SIMPLE_CHARACTERS:
            yield value[:at] + "a" + value[at + 1 :]


def _smaller_numbers(value: int | float) -> Iterator[Any]:
    if value == 0 and type(value) is int:
        return
    yield 0
    if value not in (1, 0):
        yield 1
    if isinstance(value, float):
        if abs(value) < 1e300:  # also says no to what is no number
            yield int(value)
        return
    if value < 0:
        yield -value
    if value.bit_length() < 4_000:
        for bit in range(1, min(value.bit_length(), 64)):
            yield value - (value >> bit) if value > 0 else value + (-value >> bit)
    yield value // 2 if value > 0 else -(-value // 2)
    yield value - 1 if value > 0 else value + 1
