"""Strings and numbers within given constraints, the simplest first."""

from __future__ import annotations

from fractions import Fraction
from itertools import islice
from math import ceil, floor, lcm
from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.generation.format_samples import FAMILIAR_STRINGS, FORMAT_SAMPLES
from mcproof.generation.patterns import MAX_LENGTH, matches, matching_string, seeded_random

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.generation.value_constraints import NumberConstraints, StringConstraints

_VARIANTS = 24
_MAX_DIGITS = 320


def strings(constraints: StringConstraints) -> Iterator[str]:
    """Yield candidate strings. Samples of a format may have the wrong length, matches of a pattern the wrong format."""
    shortest, longest = constraints.min_length, constraints.max_length
    if shortest > MAX_LENGTH or (longest is not None and longest < shortest):
        return
    for name in constraints.formats:
        yield from FORMAT_SAMPLES.get(name, ())
        if name in ("uri", "url", "uri-reference", "iri", "iri-reference"):
            yield "https://example.com/".ljust(shortest, "a")
        elif name in ("email", "idn-email"):
            yield "@example.com".rjust(shortest, "a")
            yield "a@b.cd"
    for pattern in constraints.patterns:
        yield from _matching_strings(pattern, shortest, longest)
    if not constraints.patterns:
        yield from _plain_strings(shortest, longest)


def _matching_strings(pattern: str, shortest: int, longest: int | None) -> Iterator[str]:
    """Yield matches of a pattern: familiar strings of the same length first, then constructed ones."""
    constructed = matching_string(pattern, shortest, longest)
    if constructed is None:
        return
    yield from (each for each in FAMILIAR_STRINGS if len(each) == len(constructed) and matches(pattern, each))
    yield constructed
    random = seeded_random(0)
    for _ in range(_VARIANTS):
        variant = matching_string(pattern, shortest, longest, random)
        if variant is not None:
            yield variant


def _plain_strings(shortest: int, longest: int | None) -> Iterator[str]:
    """Yield distinct strings that are constrained by length only."""
    if longest == 0:
        yield ""
        return
    length = max(shortest, 1)
    yield "a" * length
    for number in range(1, 2_000):
        text = _in_letters(number).rjust(length, "a")
        if longest is None or len(text) <= longest:
            yield text
    if shortest == 0:
        yield ""


def _in_letters(number: int) -> str:
    text = ""
    while number:
        number, letter = divmod(number, 26)
        text = chr(97 + letter) + text
    return text


class _Interval(NamedTuple):
    """The numbers between two bounds; a bound of None is absent."""

    low: Fraction | None
    high: Fraction | None
    is_low_exclusive: bool
    is_high_exclusive: bool

    def contains(self, number: Fraction) -> bool:
        low, high = self.low, self.high
        if low is not None and (number < low or (self.is_low_exclusive and number == low)):
            return False
        return high is None or not (number > high or (self.is_high_exclusive and number == high))


def numbers(constraints: NumberConstraints, *, integers: bool) -> Iterator[Any]:
    """Yield numbers: 1 or 0 if allowed, else those closest to them."""
    interval = _Interval(
        _fraction(constraints.minimum),
        _fraction(constraints.maximum),
        constraints.is_minimum_exclusive,
        constraints.is_maximum_exclusive,
    )
    step = _common_multiple(constraints.multiples, integers=integers)
    if step is None:
        yield from _numbers_in(interval)
        return
    for number in islice(_multiples_in(interval, step), 2_000):
        yield _as_number(number)


def _multiples_in(interval: _Interval, step: Fraction) -> Iterator[Fraction]:
    """Yield the multiples of a step within an interval, outward from the one closest to the step itself."""
    low, high = interval.low, interval.high
    first = None if low is None else ceil(low / step)
    if first is not None and interval.is_low_exclusive and first * step == low:
        first += 1
    last = None if high is None else floor(high / step)
    if last is not None and interval.is_high_exclusive and last * step == high:
        last -= 1
    if first is not None and last is not None and first > last:
        return
    start = 1 if first is None or first <= 1 else first
    if last is not None and last < start:
        start = 0 if last == 0 and (first is None or first <= 0) else last
    yield start * step
    for distance in range(1, 1_200):
        for number in (start - distance, start + distance):
            if (first is None or number >= first) and (last is None or number <= last):
                yield number * step


def _numbers_in(interval: _Interval) -> Iterator[Any]:
    """Yield numbers within an interval that need not be integers."""
    low, high = interval.low, interval.high
    for number in (1, 0, -1):
        if interval.contains(Fraction(number)):
            yield number
    if low is not None and high is not None:
        for divisor in (2, 4, 3, 5, 7, 11):
            between = low + (high - low) / divisor
            if interval.contains(between):
                yield _as_number(between)
    for bound, sign in ((low, 1), (high, -1)):
        if bound is not None:
            for distance in (Fraction(0), Fraction(1), Fraction(1, 2), abs(bound) / 2, *map(Fraction, range(2, 60))):
                nearby = bound + sign * distance
                if interval.contains(nearby):
                    yield _as_number(nearby)
    if low is None and high is None:
        yield 0.5
        yield from range(2, 1_200)


def _common_multiple(multiples: list[Any], *, integers: bool) -> Fraction | None:
    """The least common multiple of all `multipleOf`; None if every number is allowed."""
    steps = [step for each in multiples if (step := _fraction(each))]
    if integers:
        steps.append(Fraction(1))
    if not steps:
        return None
    result = steps[0]
    for each in steps[1:]:
        denominator = lcm(result.denominator, each.denominator)
        result = Fraction(lcm(int(result * denominator), int(each * denominator)), denominator)
    return result


def _fraction(number: Any) -> Fraction | None:
    """A number as written: 0.1 is one tenth, not the nearest binary fraction."""
    if type(number) is int:
        return Fraction(number) if number.bit_length() < _MAX_DIGITS * 4 else None
    return Fraction(repr(number)) if type(number) is float else None


def _as_number(number: Fraction) -> Any:
    if number.denominator == 1:
        return int(number)
    try:
        return float(number)
    except OverflowError:
        return int(number)
