"""Mutations that violate one constraint of a schema."""

from __future__ import annotations

from functools import partial
from itertools import islice
from operator import add
from typing import TYPE_CHECKING, Any

from mcproof.generation.json_values import canonical_json, is_huge, shortened
from mcproof.generation.mutations import (
    MAX_ARRAY_LENGTH,
    MAX_STRING_LENGTH,
    Mutation,
    number_text,
    offset,
    replacement,
    resized_array,
    resized_string,
)
from mcproof.generation.value_constraints import TYPES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.generation.mutation_points import MutationPoint
    from mcproof.generation.value_constraints import (
        ArrayConstraints,
        NumberConstraints,
        ObjectConstraints,
        StringConstraints,
        ValueConstraints,
    )

UNEXPECTED = "mcproof_unexpected"
"""The name of an undeclared property."""
_INVALID_NAME = "mcproof ! ~"
_MAX_REQUIRED = 80
_TYPE_TEXTS = {
    "object": "an object",
    "array": "a list",
    "string": "a string",
    "integer": "an integer",
    "number": "a number",
    "boolean": "a boolean",
    "null": "null",
}
_VALUES_OF_TYPE: dict[str, tuple[Any, ...]] = {
    "null": (None,),
    "string": ("mcproof", "", "1", "true", "null", "[]", "{}"),
    "integer": (1, 0, -1, 2**31, 2**53, 2**63),
    "number": (0.5, -1.5, 1e-9),
    "boolean": (True, False),
    "array": ([], [None], [1], [[]], ["a"]),
    "object": ({}, {"mcproof": 1}, {"": None}, {"__proto__": {}}),
}


def violations(point: MutationPoint, *, thorough: bool = False) -> Iterator[Mutation]:
    """Yield mutations that should make the arguments invalid; with `thorough`, several for every type."""
    constraints, value, label = point.constraints, point.value, point.label
    if type(value) is dict:
        yield from _invalid_objects(constraints.object, f" in {label}" if point.path else "", value)
    if point.path:
        yield from _wrong_types(constraints, label, value, thorough=thorough)
    yield from _wrong_values(constraints, label)
    if type(value) is str:
        yield from _invalid_strings(constraints.string, label, value)
    elif type(value) is int or type(value) is float:
        yield from _invalid_numbers(constraints.number, label, integers="number" not in constraints.types)
    elif type(value) is list:
        yield from _invalid_arrays(constraints.array, label, value)


def _wrong_types(constraints: ValueConstraints, label: str, value: Any, *, thorough: bool) -> Iterator[Mutation]:
    types = constraints.types
    if types == TYPES:
        return
    expected = " or ".join(_TYPE_TEXTS[name] for name in types if name in _TYPE_TEXTS)
    for name, others in _VALUES_OF_TYPE.items():
        if name in types or (name == "integer" and "number" in types):
            continue
        for other in others if thorough else others[:1]:
            yield replacement(f"{label} is {_TYPE_TEXTS[name]} instead of {expected}", "type", other)
    if thorough and "string" not in types and type(value) in (int, float, bool):
        yield Mutation(f"{label} is its value as a string instead of {expected}", "type", canonical_json)


def _wrong_values(constraints: ValueConstraints, label: str) -> Iterator[Mutation]:
    values, keyword = constraints.values, constraints.values_keyword
    if values is None:
        return
    texts = [each for each in values if type(each) is str]
    if texts:
        yield replacement(f"{label} is not one of the allowed values", keyword, "mcproof_none_of_these")
        for similar in (texts[0].upper(), texts[0] + " ", texts[0][:-1]):
            if similar not in texts:
                yield replacement(f"{label} is almost one of the allowed values", keyword, similar)
    numbers = [each for each in values if type(each) is int or type(each) is float]
    if numbers:
        yield replacement(f"{label} is not one of the allowed values", keyword, max(numbers) + 1)


def _invalid_strings(constraints: StringConstraints, label: str, value: str) -> Iterator[Mutation]:
    shortest, longest = constraints.min_length, constraints.max_length
    if 0 < shortest <= MAX_STRING_LENGTH:
        shorter = value[: shortest - 1] if len(value) >= shortest else "a" * (shortest - 1)
        yield replacement(f"{label} one shorter than minLength {shortest}", "minLength", shorter)
        if shortest > 1:
            yield replacement(f"{label} empty, against minLength {shortest}", "minLength", "")
    if longest is not None and longest < MAX_STRING_LENGTH:
        longer = resized_string(value, longest + 1)
        yield replacement(f"{label} one longer than maxLength {longest}", "maxLength", longer)
        if longest < 1_000:
            longer = resized_string(value, 10 * longest + 10)
            yield replacement(f"{label} far longer than maxLength {longest}", "maxLength", longer)
    for pattern in constraints.patterns:
        description = f"{label} does not match the pattern `{shortened(pattern)}`"
        for wrong in (value + "\n!", "!" + value, "", value[:-1], "mcproof", "~~", "é"):
            if len(wrong) >= shortest and (longest is None or len(wrong) <= longest):
                yield replacement(description, "pattern", wrong)


def _invalid_numbers(constraints: NumberConstraints, label: str, *, integers: bool) -> Iterator[Mutation]:
    minimum, maximum = constraints.minimum, constraints.maximum
    if any(map(is_huge, (minimum, maximum, *constraints.multiples))):
        return
    if minimum is not None:
        is_exclusive = constraints.is_minimum_exclusive
        name = "exclusiveMinimum" if is_exclusive else "minimum"
        bound = minimum if is_exclusive else offset(minimum, -1)
        text = f"its {name} {number_text(minimum)}"
        yield replacement(f"{label} {'at' if is_exclusive else 'below'} {text}", name, bound)
        yield replacement(f"{label} far below {text}", name, offset(minimum, -(2**40)))
    if maximum is not None:
        is_exclusive = constraints.is_maximum_exclusive
        name = "exclusiveMaximum" if is_exclusive else "maximum"
        bound = maximum if is_exclusive else offset(maximum, 1)
        text = f"its {name} {number_text(maximum)}"
        yield replacement(f"{label} {'at' if is_exclusive else 'above'} {text}", name, bound)
        yield replacement(f"{label} far above {text}", name, offset(maximum, 2**40))
    if integers:
        yield Mutation(f"{label} is not an integer", "type", lambda value: value + 0.5)
    for step in constraints.multiples[:3]:
        description = f"{label} is not a multiple of {number_text(step)}"
        yield Mutation(description, "multipleOf", partial(add, 1 if integers and step > 1 else step / 2))


def _invalid_arrays(constraints: ArrayConstraints, label: str, value: list[Any]) -> Iterator[Mutation]:
    shortest, longest = constraints.min_items, constraints.max_items
    if 0 < shortest <= MAX_ARRAY_LENGTH and len(value) >= shortest:
        yield replacement(f"{label} one shorter than minItems {shortest}", "minItems", value[: shortest - 1])
    if longest is not None and longest < MAX_ARRAY_LENGTH:
        longer = resized_array(value, longest + 1, distinct=constraints.is_unique)
        if longer is not None:
            yield replacement(f"{label} one longer than maxItems {longest}", "maxItems", longer)
    if constraints.is_unique and value:
        yield replacement(f"{label} has a duplicate item", "uniqueItems", [*value, value[0]])
    if constraints.contains:
        yield replacement(f"{label} lacks an item that it must contain", "contains", [])


def _invalid_objects(constraints: ObjectConstraints, where: str, value: dict[str, Any]) -> Iterator[Mutation]:
    for name in islice(constraints.required, _MAX_REQUIRED):
        if name in value:
            description = f"without the required `{shortened(name)}`{where}"
            yield Mutation(description, "required", partial(_without, name), name)
    for name, dependencies in constraints.dependent_required.items():
        for other in dependencies:
            if name in value and other in value and other not in constraints.required:
                description = f"with `{shortened(name)}` but without `{shortened(other)}`{where}"
                yield Mutation(description, "dependentRequired", partial(_without, other), other)
    yield from _unexpected_names(constraints, where, value)
    longest, shortest = constraints.max_properties, constraints.min_properties
    if longest is not None and longest < 100:
        description = f"more properties than maxProperties {longest}{where}"
        extra = {f"{UNEXPECTED}_{number}": 1 for number in range(longest + 1)}
        yield Mutation(description, "maxProperties", lambda current: {**current, **extra})
    if shortest > 0:
        description = f"fewer properties than minProperties {shortest}{where}"
        yield Mutation(description, "minProperties", lambda current: dict(list(current.items())[: shortest - 1]))


def _unexpected_names(constraints: ObjectConstraints, where: str, value: dict[str, Any]) -> Iterator[Mutation]:
    keyword = "unevaluatedProperties" if constraints.unevaluated is False else "additionalProperties"
    if UNEXPECTED not in value and False in constraints.property_schemas(UNEXPECTED):
        description = f"an undeclared `{UNEXPECTED}`{where}"
        yield Mutation(description, keyword, lambda current: {**current, UNEXPECTED: 1}, UNEXPECTED)
    for name in list(value)[:3]:
        similar = name.upper() if name.upper() != name else name + "_"
        description = f"`{shortened(similar)}` in place of `{shortened(name)}`{where}"
        violated = "required" if name in constraints.required else keyword
        yield Mutation(description, violated, partial(_renamed, name, similar), similar)
    if constraints.property_names and value:
        description = f"a property with an invalid name{where}"
        yield Mutation(description, "propertyNames", _with_invalid_name, _INVALID_NAME)


def _without(name: str, value: Any) -> Any:
    return {key: each for key, each in value.items() if key != name} if type(value) is dict else value


def _renamed(name: str, new_name: str, value: Any) -> Any:
    if type(value) is not dict:
        return value
    return {new_name if key == name else key: each for key, each in value.items()}


def _with_invalid_name(value: Any) -> Any:
    return {**value, _INVALID_NAME: next(iter(value.values()), "a")} if type(value) is dict else value
