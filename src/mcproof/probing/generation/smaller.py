"""Simpler variants of a value, to shrink the arguments that make a server fail.

Every variant is less complex by a well-founded order, so repeated shrinking terminates.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

MAX_REDUCTIONS = 300
"""The limit on variants of one value."""
_MAX_DEPTH = 40
_MAX_CHILDREN = 40
_SIMPLE_CHARACTERS = "a0"


def reductions(value: Any) -> Iterator[Any]:
    """Yield simpler values, the largest reductions first."""
    limit = complexity(value)
    count = 0
    for smaller in _smaller(value, 0):
        # Only variants that are certainly simpler: else two of them could replace each other forever.
        if complexity(smaller) < limit:
            yield smaller
            count += 1
            if count >= MAX_REDUCTIONS:
                return


def complexity(value: Any) -> tuple[int, int, int]:
    """The complexity of a value: its size, its unusual characters and numbers, the magnitude of its numbers.

    An integer is simpler than a fraction, and magnitudes are integers, so each component can only decrease finitely
    often.
    """
    size = oddity = magnitude = 0
    waiting = [value]
    while waiting:
        current = waiting.pop()
        kind = type(current)
        if kind is dict:
            size += 2 + sum(1 + len(name) for name in current)
            waiting += current.values()
        elif kind is list:
            size += 2 + len(current)
            waiting += current
        elif kind is str:
            size += 1 + len(current)
            oddity += len(current) - sum(map(current.count, _SIMPLE_CHARACTERS))
        elif kind is bool:
            magnitude += int(current)
        elif kind is int:
            oddity += current < 0
            magnitude += _magnitude(current)
        elif kind is float:
            oddity += 2 + (current < 0)
            magnitude += len(repr(current)) + min(int(abs(current)), 2**60) if abs(current) < 1e300 else 2**61
        size += 1
    return size, oddity, magnitude


def _magnitude(number: int) -> int:
    """The magnitude of an integer; huge ones are compared by their length only."""
    return abs(number) if number.bit_length() < 4_000 else 2**4_000 + number.bit_length()


def _smaller(value: Any, depth: int) -> Iterator[Any]:
    kind = type(value)
    if kind is dict:
        yield from _smaller_objects(value, depth)
    elif kind is list:
        yield from _smaller_arrays(value, depth)
    elif kind is str:
        yield from _smaller_strings(value)
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
    for name in names[:_MAX_CHILDREN]:
        yield {other: member for other, member in value.items() if other != name}
    if depth < _MAX_DEPTH:
        yield from _interleaved([_with_smaller_property(value, name, depth) for name in names[:_MAX_CHILDREN]])


def _with_smaller_property(value: dict[str, Any], name: str, depth: int) -> Iterator[Any]:
    for smaller in _smaller(value[name], depth + 1):
        yield {**value, name: smaller}


def _smaller_arrays(value: list[Any], depth: int) -> Iterator[Any]:
    if not value:
        return
    yield []
    if len(value) > 1:
        half = len(value) // 2
        yield value[:half]
        yield value[half:]
    for index in range(min(len(value), _MAX_CHILDREN)):
        yield value[:index] + value[index + 1 :]
    if depth < _MAX_DEPTH:
        yield from _interleaved(
            [_with_smaller_item(value, index, depth) for index in range(min(len(value), _MAX_CHILDREN))]
        )


def _with_smaller_item(value: list[Any], index: int, depth: int) -> Iterator[Any]:
    for smaller in _smaller(value[index], depth + 1):
        yield [*value[:index], smaller, *value[index + 1 :]]


def _interleaved(sources: list[Iterator[Any]]) -> Iterator[Any]:
    """Interleave: the first value of each source, then the second of each."""
    while sources:
        further = []
        for source in sources:
            smaller = next(source, _EXHAUSTED)
            if smaller is not _EXHAUSTED:
                yield smaller
                further.append(source)
        sources = further


_EXHAUSTED = object()


def _smaller_strings(value: str) -> Iterator[str]:
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
    for index in range(min(length, 20)):
        yield value[:index] + value[index + 1 :]
    for index in range(min(length, 20)):
        if value[index] not in _SIMPLE_CHARACTERS:
            yield value[:index] + "a" + value[index + 1 :]


def _smaller_numbers(value: int | float) -> Iterator[Any]:
    if value == 0 and type(value) is int:
        return
    yield 0
    if value not in (1, 0):
        yield 1
    if isinstance(value, float):
        if abs(value) < 1e300:  # false for NaN
            yield int(value)
        return
    if value < 0:
        yield -value
    if value.bit_length() < 4_000:
        for bit in range(1, min(value.bit_length(), 64)):
            yield value - (value >> bit) if value > 0 else value + (-value >> bit)
    yield value // 2 if value > 0 else -(-value // 2)
    yield value - 1 if value > 0 else value + 1
