"""Strings and numbers within the bounds of a place, the plainest first."""

from __future__ import annotations

from fractions import Fraction
from itertools import islice
from math import ceil, floor, lcm
from typing import TYPE_CHECKING, Any

from mcproof.generation.format_texts import SAMPLES, WELL_KNOWN
from mcproof.generation.patterns import MOST_TEXT, matches, matching, seeded

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.generation.value_rules import Place

_VARIANTS = 24
_MOST_DIGITS = 320


def texts(place: Place) -> Iterator[str]:
    """Strings for a place. Not all of them fit: a format knows nothing of lengths, a pattern nothing of formats."""
    least, most = place.least.get("minLength", 0), place.most.get("maxLength")
    if least > MOST_TEXT or (most is not None and most < least):
        return
    for name in place.formats:
        yield from SAMPLES.get(name, ())
        if name in ("uri", "url", "uri-reference", "iri", "iri-reference"):
            yield "https://example.com/".ljust(least, "a")
        elif name in ("email", "idn-email"):
            yield "@example.com".rjust(least, "a")
            yield "a@b.cd"
    for pattern in place.patterns:
        yield from _matching(pattern, least, most)
    if not place.patterns:
        yield from _plain(least, most)


def _matching(pattern: str, least: int, most: int | None) -> Iterator[str]:
    """Texts for one pattern: one that people recognise where it has the same length, then built ones."""
    built = matching(pattern, least, most)
    if built is None:
        return
    yield from (each for each in WELL_KNOWN if len(each) == len(built) and matches(pattern, each))
    yield built
    choose = seeded(0)
    for _ in range(_VARIANTS):
        varied = matching(pattern, least, most, choose)
        if varied is not None:
            yield varied


def _plain(least: int, most: int | None) -> Iterator[str]:
    """Strings without any rule but their length, each of its own."""
    if most == 0:
        yield ""
        return
    length = max(least, 1)
    yield "a" * length
    for number in range(1, 2_000):
        text = _letters(number)
        text = text.rjust(length, "a")
        if most is None or len(text) <= most:
            yield text
    if least == 0:
        yield ""


def _letters(number: int) -> str:
    text = ""
    while number:
        number, letter = divmod(number, 26)
        text = chr(97 + letter) + text
    return text


def numbers(place: Place, *, integers: bool) -> Iterator[Any]:
    """Numbers for a place: 1 or 0 where they are allowed, else what is nearest."""
    low, high = _fraction(place.low), _fraction(place.high)
    step = _step(place, integers=integers)
    if step is None:
        yield from _without_step(place, low, high)
        return
    for number in islice(_steps(place, low, high, step), 2_000):
        yield _plain_number(number)


def _steps(place: Place, low: Fraction | None, high: Fraction | None, step: Fraction) -> Iterator[Fraction]:
    """Multiples of a step inside the bounds, upwards from what is nearest to one step, then downwards."""
    first = None if low is None else ceil(low / step)
    if first is not None and place.is_low_open and first * step == low:
        first += 1
    last = None if high is None else floor(high / step)
    if last is not None and place.is_high_open and last * step == high:
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


def _without_step(place: Place, low: Fraction | None, high: Fraction | None) -> Iterator[Any]:
    """Numbers that need not be whole."""
    for number in (1, 0, -1):
        if _is_within(place, Fraction(number), low, high):
            yield number
    if low is not None and high is not None:
        for part in (2, 4, 3, 5, 7, 11):
            middle = low + (high - low) / part
            if _is_within(place, middle, low, high):
                yield _plain_number(middle)
    for bound, sign in ((low, 1), (high, -1)):
        if bound is not None:
            for distance in (Fraction(0), Fraction(1), Fraction(1, 2), abs(bound) / 2, *map(Fraction, range(2, 60))):
                beside = bound + sign * distance
                if _is_within(place, beside, low, high):
                    yield _plain_number(beside)
    if low is None and high is None:
        yield 0.5
        yield from range(2, 1_200)


def _is_within(place: Place, number: Fraction, low: Fraction | None, high: Fraction | None) -> bool:
    if low is not None and (number < low or (place.is_low_open and number == low)):
        return False
    return high is None or not (number > high or (place.is_high_open and number == high))


def _step(place: Place, *, integers: bool) -> Fraction | None:
    """What every number is a multiple of; None where nothing asks for that."""
    steps = [step for each in place.multiples if (step := _fraction(each))]
    if integers:
        steps.append(Fraction(1))
    if not steps:
        return None
    result = steps[0]
    for each in steps[1:]:
        common = lcm(result.denominator, each.denominator)
        result = Fraction(lcm(int(result * common), int(each * common)), common)
    return result


def _fraction(number: Any) -> Fraction | None:
    """A number as it was written: 0.1 is a tenth, not the binary fraction next to it."""
    if type(number) is int:
        return Fraction(number) if number.bit_length() < _MOST_DIGITS * 4 else None
    return Fraction(repr(number)) if type(number) is float else None


def _plain_number(number: Fraction) -> Any:
    if number.denominator == 1:
        return int(number)
    try:
        return float(number)
    except OverflowError:
        return int(number)
