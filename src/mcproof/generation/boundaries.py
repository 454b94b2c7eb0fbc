"""Values that are just still right: at each bound, empty, large, and in other scripts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcproof.generation.patterns import matching
from mcproof.generation.valid_values import shortened
from mcproof.generation.value_rules import spelled
from mcproof.generation.violations import (
    MOST_ENTRIES,
    MOST_LENGTH,
    Change,
    beyond,
    constant,
    lengthened,
    shown,
    stretched,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.generation.spots import Spot
    from mcproof.generation.value_rules import Place

_MOST_VALUES = 12
_TEXTS = (
    ("empty", ""),
    ("in other scripts", "Grüße, 世界 🌍"),
    ("with quotes, a backslash and a line break", '"it\'s" \\ a\nb'),
    ("with a zero character", "a\x00b"),
    ("of 2,000 characters", "a" * 2_000),
)
_NUMBERS = (0, -1, 2**31, 2**53 + 1, 2**63, -(2**63))


def boundaries(spot: Spot) -> Iterator[Change]:
    """Changes after which a value should still be accepted."""
    place, value = spot.place, spot.value
    if place.values is not None:
        for each in filter(place.admits, place.values[:_MOST_VALUES]):
            yield constant(f"{spot.label} is {_named(each)}", "enum", each)
        return
    if "null" in place.kinds and value is not None and len(place.kinds) < 7:
        yield constant(f"{spot.label} is null", "type", None)
    if type(value) is str:
        yield from _texts(place, spot.label, value)
    elif type(value) is bool:
        yield constant(f"{spot.label} is {_named(not value)}", "type", not value)
    elif type(value) is int or type(value) is float:
        yield from _numbers(place, spot.label)
    elif type(value) is list:
        yield from _lists(place, spot.label, value)
    elif type(value) is dict and spot.path:
        yield constant(f"{spot.label} empty", "properties", {})


def _texts(place: Place, label: str, value: str) -> Iterator[Change]:
    least, most = place.least.get("minLength", 0), place.most.get("maxLength")
    for keyword, length in (("minLength", least), ("maxLength", most)):
        if length is not None and 0 < length <= MOST_LENGTH:
            made: str | None = stretched(value, length)
            if place.patterns:
                made = matching(place.patterns[0], length, length)
            if made is not None:
                yield constant(f"{label} as long as {keyword} {length}", keyword, made)
    for how, text in _TEXTS:
        yield constant(f"{label} {how}", "type", text)


def _numbers(place: Place, label: str) -> Iterator[Change]:
    for bound, is_open, name, inward in (
        (place.low, place.is_low_open, "minimum", 1),
        (place.high, place.is_high_open, "maximum", -1),
    ):
        if bound is not None and not is_open:
            yield constant(f"{label} at its {name} {shown(bound)}", name, bound)
        elif bound is not None:
            keyword = f"exclusive{name.capitalize()}"
            yield constant(f"{label} next to its {keyword} {shown(bound)}", keyword, beyond(bound, inward))
    for number in _NUMBERS:
        yield constant(f"{label} is {number}", "type", number)
    if "number" in place.kinds:
        yield constant(f"{label} is 0.5", "type", 0.5)


def _lists(place: Place, label: str, value: list[Any]) -> Iterator[Change]:
    yield constant(f"{label} empty", "type", [])
    least, most = place.least.get("minItems", 0), place.most.get("maxItems")
    for keyword, length in (("minItems", least), ("maxItems", most)):
        if length is not None and 0 < length <= MOST_ENTRIES:
            longer = lengthened(value, length, distinct=place.is_unique)
            if longer is not None:
                yield constant(f"{label} as long as {keyword} {length}", keyword, longer)
    if value:
        yield constant(f"{label} with an entry twice", "type", [*value, value[0]])


def _named(value: Any) -> str:
    return f"`{shortened(spelled(value))}`"
