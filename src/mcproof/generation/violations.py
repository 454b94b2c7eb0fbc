"""What can be wrong with the value at a place, one rule at a time; and what is just still right."""

from __future__ import annotations

from functools import partial
from itertools import islice
from operator import add
from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.generation.valid_values import shortened
from mcproof.generation.value_rules import KINDS, spelled
from mcproof.text.pointers import escape

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mcproof.generation.spots import Spot
    from mcproof.generation.value_rules import Place

UNEXPECTED = "mcproof_unexpected"
"""The name of a property that no schema declares."""
MOST_LENGTH = 20_000
MOST_ENTRIES = 2_000
_MOST_NAMES = 80
_NAMES = {
    "object": "an object",
    "array": "a list",
    "string": "a string",
    "integer": "an integer",
    "number": "a number",
    "boolean": "a boolean",
    "null": "null",
}
_OTHERS: dict[str, tuple[Any, ...]] = {
    "null": (None,),
    "string": ("mcproof", "", "1", "true", "null", "[]", "{}"),
    "integer": (1, 0, -1, 2**31, 2**53, 2**63),
    "number": (0.5, -1.5, 1e-9),
    "boolean": (True, False),
    "array": ([], [None], [1], [[]], ["a"]),
    "object": ({}, {"mcproof": 1}, {"": None}, {"__proto__": {}}),
}


class Change(NamedTuple):
    """A change to the value at a spot."""

    what: str
    keyword: str
    change: Callable[[Any], Any]
    inside: str | int | None = None
    """The member that it is about, where it is not the value itself."""


def place_of(spot: Spot, change: Change) -> str:
    """The pointer of what a change is about."""
    return spot.pointer if change.inside is None else f"{spot.pointer}/{escape(str(change.inside))}"


def constant(what: str, keyword: str, value: Any) -> Change:
    """A change that puts another value in the place of what is there."""
    return Change(what, keyword, lambda _: value)


def violations(spot: Spot, *, thorough: bool = False) -> Iterator[Change]:
    """Changes after which a value should be refused: few that tell the most, or as many as come to mind."""
    place, value = spot.place, spot.value
    if type(value) is dict:
        yield from _broken_objects(spot, value)
    if spot.path:
        yield from _wrong_types(spot, thorough)
    yield from _wrong_values(spot)
    if type(value) is str:
        yield from _broken_texts(spot, value)
    elif type(value) is int or type(value) is float:
        yield from _broken_numbers(place, spot.label)
    elif type(value) is list:
        yield from _broken_lists(place, spot.label, value)


def _wrong_types(spot: Spot, thorough: bool) -> Iterator[Change]:
    kinds = spot.place.kinds
    if kinds == KINDS:
        return
    wanted = " or ".join(_NAMES.get(kind, kind) for kind in kinds if kind in _NAMES)
    for kind, others in _OTHERS.items():
        if kind in kinds or (kind == "integer" and "number" in kinds):
            continue
        for other in others if thorough else others[:1]:
            text = f"{spot.label} is {_NAMES[kind]} instead of {wanted}"
            yield constant(text, "type", other)
    if thorough and "string" not in kinds and type(spot.value) in (int, float, bool):
        yield Change(f"{spot.label} is its value as text instead of {wanted}", "type", spelled)


def _wrong_values(spot: Spot) -> Iterator[Change]:
    values, keyword = spot.place.values, spot.place.values_from
    if values is None:
        return
    texts = [each for each in values if type(each) is str]
    if texts:
        yield constant(f"{spot.label} is none of its values", keyword, "mcproof_none_of_these")
        for odd in (texts[0].upper(), texts[0] + " ", texts[0][:-1]):
            if odd not in texts:
                yield constant(f"{spot.label} is nearly one of its values", keyword, odd)
    numbers = [each for each in values if type(each) is int or type(each) is float]
    if numbers:
        yield constant(f"{spot.label} is none of its values", keyword, max(numbers) + 1)


def _broken_texts(spot: Spot, value: str) -> Iterator[Change]:
    place, label = spot.place, spot.label
    least, most = place.least.get("minLength", 0), place.most.get("maxLength")
    if 0 < least <= MOST_LENGTH:
        shorter = value[: least - 1] if len(value) >= least else "a" * (least - 1)
        yield constant(f"{label} one shorter than minLength {least}", "minLength", shorter)
        if least > 1:
            yield constant(f"{label} empty, against minLength {least}", "minLength", "")
    if most is not None and most < MOST_LENGTH:
        yield constant(f"{label} one longer than maxLength {most}", "maxLength", stretched(value, most + 1))
        if most < 1_000:
            yield constant(f"{label} far longer than maxLength {most}", "maxLength", stretched(value, 10 * most + 10))
    for pattern in place.patterns:
        text = f"{label} does not match the pattern `{shortened(pattern)}`"
        for wrong in (value + "\n!", "!" + value, "", value[:-1], "mcproof", "~~", "é"):
            if len(wrong) >= least and (most is None or len(wrong) <= most):
                yield constant(text, "pattern", wrong)


def stretched(text: str, length: int) -> str:
    """A text of this length that begins like another."""
    return text[:length] + (text[-1:] or "a") * (length - len(text))


def _broken_numbers(place: Place, label: str) -> Iterator[Change]:
    whole = "number" not in place.kinds
    if _is_huge(place.low) or _is_huge(place.high) or any(map(_is_huge, place.multiples)):
        return
    if place.low is not None:
        name = "exclusiveMinimum" if place.is_low_open else "minimum"
        bound = place.low if place.is_low_open else beyond(place.low, -1)
        how = "at" if place.is_low_open else "below"
        yield constant(f"{label} {how} its {name} {shown(place.low)}", name, bound)
        yield constant(f"{label} far below its {name} {shown(place.low)}", name, beyond(place.low, -(2**40)))
    if place.high is not None:
        name = "exclusiveMaximum" if place.is_high_open else "maximum"
        bound = place.high if place.is_high_open else beyond(place.high, 1)
        how = "at" if place.is_high_open else "above"
        yield constant(f"{label} {how} its {name} {shown(place.high)}", name, bound)
        yield constant(f"{label} far above its {name} {shown(place.high)}", name, beyond(place.high, 2**40))
    if whole:
        yield Change(f"{label} is not a whole number", "type", lambda value: value + 0.5)
    for step in place.multiples[:3]:
        yield Change(
            f"{label} is no multiple of {shown(step)}",
            "multipleOf",
            partial(add, 1 if whole and step > 1 else step / 2),
        )


def _is_huge(number: Any) -> bool:
    """Whether a number cannot be reckoned with as a fraction."""
    return type(number) is int and number.bit_length() > 1_000


def beyond(bound: Any, distance: int) -> Any:
    """A number this far from another."""
    return int(bound) + distance if type(bound) is float and bound.is_integer() else bound + distance


def shown(number: Any) -> str:
    """A number of a stranger, short enough for a message."""
    try:
        return shortened(repr(number))
    except ValueError:  # more digits than Python spells
        return "of very many digits"


def _broken_lists(place: Place, label: str, value: list[Any]) -> Iterator[Change]:
    least, most = place.least.get("minItems", 0), place.most.get("maxItems")
    if 0 < least <= MOST_ENTRIES and len(value) >= least:
        yield constant(f"{label} one shorter than minItems {least}", "minItems", value[: least - 1])
    if most is not None and most < MOST_ENTRIES:
        longer = lengthened(value, most + 1, distinct=place.is_unique)
        if longer is not None:
            yield constant(f"{label} one longer than maxItems {most}", "maxItems", longer)
    if place.is_unique and value:
        yield constant(f"{label} has an entry twice", "uniqueItems", [*value, value[0]])
    if place.contains:
        yield constant(f"{label} without what it must contain", "contains", [])


def lengthened(value: list[Any], length: int, *, distinct: bool) -> list[Any] | None:
    """A list of this length whose further entries are like its first."""
    if len(value) >= length:
        return value[:length]
    if not value:
        return None
    first = value[0]
    if not distinct:
        return value + [first] * (length - len(value))
    if type(first) is int:
        top = max(each for each in value if type(each) is int)
        return value + [top + number for number in range(1, length - len(value) + 1)]
    if type(first) is str:
        return value + [f"{first}{number}" for number in range(1, length - len(value) + 1)]
    return None


def _broken_objects(spot: Spot, value: dict[str, Any]) -> Iterator[Change]:
    place = spot.place
    where = "" if not spot.path else f" in {spot.label}"
    for name in islice(place.required, _MOST_NAMES):
        if name in value:
            text = f"without the required `{shortened(name)}`{where}"
            yield Change(text, "required", partial(_without, name), name)
    for name, needed in place.needs.items():
        for other in needed:
            if name in value and other in value and other not in place.required:
                text = f"with `{shortened(name)}` but without `{shortened(other)}`{where}"
                yield Change(text, "dependentRequired", partial(_without, other), other)
    keyword = "unevaluatedProperties" if place.unevaluated is False else "additionalProperties"
    if UNEXPECTED not in value and False in place.property_schemas(UNEXPECTED):
        yield Change(f"an undeclared `{UNEXPECTED}`{where}", keyword, lambda at: {**at, UNEXPECTED: 1}, UNEXPECTED)
    for name in list(value)[:3]:
        odd_name = name.upper() if name.upper() != name else name + "_"
        text = f"`{shortened(odd_name)}` in place of `{shortened(name)}`{where}"
        violated = "required" if name in place.required else keyword
        yield Change(text, violated, partial(_renamed, name, odd_name), odd_name)
    if place.names and value:
        text = f"a property with a name that is not allowed{where}"
        yield Change(text, "propertyNames", _naming_badly, "mcproof ! ~")
    most = place.most.get("maxProperties")
    if most is not None and most < 100:
        text = f"more properties than maxProperties {most}{where}"
        extra = {f"{UNEXPECTED}_{number}": 1 for number in range(most + 1)}
        yield Change(text, "maxProperties", lambda at: {**at, **extra})
    least = place.least.get("minProperties", 0)
    if least > 0:
        text = f"fewer properties than minProperties {least}{where}"
        yield Change(text, "minProperties", lambda at: dict(list(at.items())[: least - 1]))


def _without(name: str, value: Any) -> Any:
    return {key: each for key, each in value.items() if key != name} if type(value) is dict else value


def _renamed(name: str, odd: str, value: Any) -> Any:
    if type(value) is not dict:
        return value
    return {odd if key == name else key: each for key, each in value.items()}


def _naming_badly(value: Any) -> Any:
    return {**value, "mcproof ! ~": next(iter(value.values()), "a")} if type(value) is dict else value
