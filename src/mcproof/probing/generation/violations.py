"""Calls that break a schema: mutations that violate one constraint, and every promise with calls that break it.

A promise is one constraint that a schema declares for one argument. `prove` and `fuzz` share these calls, so that
both agree on what breaks a schema.
Why a promise is the unit: docs/decisions/0033-proven-means-all.md.
"""

from __future__ import annotations

from functools import partial
from hashlib import sha256
from itertools import islice
from operator import add
from string import ascii_lowercase
from typing import TYPE_CHECKING, Any

from mcproof.core.named_tuple import NamedTuple
from mcproof.core.observations.probes import ROOT
from mcproof.core.schema.validation import is_coerced
from mcproof.core.text.json_positions import escape
from mcproof.probing.generation.constraints import (
    TYPES,
    ArrayConstraints,
    NumberConstraints,
    ObjectConstraints,
    StringConstraints,
    ValueConstraints,
    canonical_json,
    is_huge,
    shortened,
)
from mcproof.probing.generation.mutations import (
    MAX_ARRAY_LENGTH,
    MAX_STRING_LENGTH,
    Mutation,
    MutationPoint,
    Path,
    Visit,
    VisitExtent,
    number_text,
    offset,
    replacement,
    resized_array,
    resized_string,
    value_at,
    with_property,
)
from mcproof.probing.generation.scalars import BROKEN_FORMATS, FORMAT_SAMPLES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.probing.generation.values import ValueBuilder


UNEXPECTED = "mcproof_unexpected"
"""The name of an undeclared property."""
_INVALID_NAME = "mcproof ! ~"
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
    "array": ([["wrong type"]], [], [None], [1], [[]], ["a"]),
    "object": ({"mcproof": "wrong type"}, {}, {"": None}, {"__proto__": {}}),
}
"""Values of each type; the first of a list or an object is one that no server converts."""


class SizeLimits(NamedTuple):
    """The largest values that are generated to exceed a bound."""

    characters: int = MAX_STRING_LENGTH
    items: int = MAX_ARRAY_LENGTH


_DEFAULT_LIMITS = SizeLimits()


def violations(point: MutationPoint, *, thorough: bool = False) -> Iterator[Mutation]:
    """Yield mutations that should make the arguments invalid; with `thorough`, several for every type."""
    yield from promise_violations(point, _DEFAULT_LIMITS, thorough=thorough)
    if type(point.value) is dict:
        yield from _misspelled_names(point.constraints.object, _place(point), point.value)


def promise_violations(point: MutationPoint, limits: SizeLimits, *, thorough: bool = False) -> Iterator[Mutation]:
    """Yield mutations that should each break one promise about the value at a point, in the order of the promises."""
    constraints, value, label = point.constraints, point.value, point.label
    if type(value) is dict:
        yield from _invalid_objects(constraints.object, _place(point), value)
    if point.path:
        yield from _wrong_types(constraints, label, value, thorough=thorough)
    if constraints.values is not None:
        yield from _wrong_values(constraints, label)
    elif type(value) is str:
        yield from _invalid_strings(constraints.string, label, value, limits)
    elif type(value) is int or type(value) is float:
        yield from _invalid_numbers(constraints.number, label, integers="number" not in constraints.types)
    elif type(value) is list:
        yield from _invalid_arrays(constraints.array, label, value, limits)


def format_violations(point: MutationPoint) -> Iterator[Mutation]:
    """Yield strings that should break the format of the value at a point; not every validator asserts formats."""
    if type(point.value) is not str or point.constraints.values is not None:
        return
    for name in point.constraints.string.formats:
        if name in FORMAT_SAMPLES:
            for text in BROKEN_FORMATS:
                yield replacement(f"{point.label} is not in the format `{name}`", "format", text)


def unbreakable_bounds(point: MutationPoint, limits: SizeLimits) -> Iterator[str]:
    """Yield the keywords of bounds that no generated value exceeds."""
    constraints, value = point.constraints, point.value
    if constraints.values is not None:
        return
    longest, most = constraints.string.max_length, constraints.array.max_items
    if type(value) is str and longest is not None and longest >= limits.characters:
        yield "maxLength"
    elif type(value) is list and most is not None:
        is_resizable = (
            resized_array(value, min(most, limits.items) + 1, distinct=constraints.array.is_unique) is not None
        )
        if most >= limits.items or not is_resizable:
            yield "maxItems"
    elif type(value) is dict and not value and constraints.object.property_names:
        yield "propertyNames"
    elif type(value) is int or type(value) is float:
        number = constraints.number
        bounds = {"minimum": number.minimum, "maximum": number.maximum}
        bounds |= {"multipleOf": number.multiples[0]} if number.multiples else {}
        if any(map(is_huge, bounds.values())):
            yield from (keyword for keyword, bound in bounds.items() if bound is not None)


def _place(point: MutationPoint) -> str:
    return f" in {point.label}" if point.path else ""


def _wrong_types(constraints: ValueConstraints, label: str, value: Any, *, thorough: bool) -> Iterator[Mutation]:
    types = constraints.types
    if types == TYPES:
        return
    expected = " or ".join(_TYPE_TEXTS[name] for name in types if name in _TYPE_TEXTS)
    for name, others in _VALUES_OF_TYPE.items():
        if name in types or (name == "integer" and "number" in types):
            continue
        for other in others if thorough else others[:1]:
            description = f"{label} is {_TYPE_TEXTS[name]} instead of {expected}"
            yield replacement(description, "type", other, is_lenient=is_coerced(other, types))
    if "string" not in types and type(value) in (int, float, bool):
        description = f"{label} is its value as a string instead of {expected}"
        yield Mutation(description, "type", canonical_json, is_lenient=True)


def _wrong_values(constraints: ValueConstraints, label: str) -> Iterator[Mutation]:
    values, keyword = constraints.values, constraints.values_keyword
    if values is None:
        return
    description = f"{label} is not one of the allowed values"
    texts = [value for value in values if type(value) is str]
    numbers = [value for value in values if type(value) is int or type(value) is float]
    booleans = [value for value in values if type(value) is bool]
    if texts or not (numbers or booleans):
        yield replacement(description, keyword, "mcproof_none_of_these")
    for text in texts[:1]:
        for similar in (text.upper(), text + " ", text[:-1]):
            if similar not in texts:
                is_lenient = similar.strip().lower() == text.strip().lower()
                yield replacement(
                    f"{label} is almost one of the allowed values", keyword, similar, is_lenient=is_lenient
                )
    if numbers:
        yield replacement(description, keyword, max(numbers) + 1)
    if len(booleans) == 1:
        yield replacement(description, keyword, not booleans[0])


def _invalid_strings(constraints: StringConstraints, label: str, value: str, limits: SizeLimits) -> Iterator[Mutation]:
    shortest, longest = constraints.min_length, constraints.max_length
    if 0 < shortest <= limits.characters:
        shorter = value[: shortest - 1] if len(value) >= shortest else "a" * (shortest - 1)
        yield replacement(f"{label} one shorter than minLength {shortest}", "minLength", shorter)
        if shortest > 1:
            yield replacement(f"{label} empty, against minLength {shortest}", "minLength", "")
    if longest is not None and longest < limits.characters:
        text = value if constraints.patterns else "a"  # a text of one letter is stored in little space
        resized = partial(_replaced_by_resized, text, longest + 1)
        yield Mutation(f"{label} one longer than maxLength {longest}", "maxLength", resized)
        far = 10 * longest + 10
        if far <= limits.characters:
            resized = partial(_replaced_by_resized, text, far)
            yield Mutation(f"{label} far longer than maxLength {longest}", "maxLength", resized)
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
        yield Mutation(f"{label} is not an integer", "type", lambda value: value + 0.5, is_lenient=True)
    for step in constraints.multiples[:3]:
        description = f"{label} is not a multiple of {number_text(step)}"
        yield Mutation(description, "multipleOf", partial(add, 1 if integers and step > 1 else step / 2))


def _invalid_arrays(
    constraints: ArrayConstraints, label: str, value: list[Any], limits: SizeLimits
) -> Iterator[Mutation]:
    shortest, longest = constraints.min_items, constraints.max_items
    if 0 < shortest <= limits.items and len(value) >= shortest:
        yield replacement(f"{label} one shorter than minItems {shortest}", "minItems", value[: shortest - 1])
    for count, words in () if longest is None else ((longest + 1, "one"), (10 * longest + 10, "far")):
        if count <= limits.items:
            longer = resized_array(value, count, distinct=constraints.is_unique)
            if longer is not None:
                yield replacement(f"{label} {words} longer than maxItems {longest}", "maxItems", longer)
    if constraints.is_unique and value:
        # In a full list the duplicate takes the place of an item, so that `maxItems` is not broken, too.
        is_full = len(value) > 1 and longest is not None and len(value) >= longest
        doubled = [*(value[:-1] if is_full else value), value[0]]
        yield replacement(f"{label} has a duplicate item", "uniqueItems", doubled)
    if constraints.contains:
        yield replacement(f"{label} lacks an item that it must contain", "contains", [])


def _invalid_objects(constraints: ObjectConstraints, where: str, value: dict[str, Any]) -> Iterator[Mutation]:
    for name in constraints.required:
        if name in value:
            description = f"without the required `{shortened(name)}`{where}"
            yield Mutation(description, "required", partial(_without, name), name)
    for name, dependencies in constraints.dependent_required.items():
        for other in dependencies:
            if name in value and other in value and other not in constraints.required:
                description = f"with `{shortened(name)}` but without `{shortened(other)}`{where}"
                yield Mutation(description, "dependentRequired", partial(_without, other), other)
    keyword = _closing_keyword(constraints)
    if UNEXPECTED not in value and False in constraints.property_schemas(UNEXPECTED):
        description = f"an undeclared `{UNEXPECTED}`{where}"
        yield Mutation(description, keyword, lambda current: {**current, UNEXPECTED: 1}, UNEXPECTED)
    if constraints.property_names and value:
        description = f"a property with an invalid name{where}"
        yield Mutation(description, "propertyNames", _with_invalid_name, _INVALID_NAME)
    longest, shortest = constraints.max_properties, constraints.min_properties
    if longest is not None and longest < 100:
        description = f"more properties than maxProperties {longest}{where}"
        yield Mutation(description, "maxProperties", partial(_with_more_properties, longest + 1))
    if shortest > 0:
        description = f"fewer properties than minProperties {shortest}{where}"
        yield Mutation(description, "minProperties", lambda current: dict(list(current.items())[: shortest - 1]))


def _misspelled_names(constraints: ObjectConstraints, where: str, value: dict[str, Any]) -> Iterator[Mutation]:
    for name in list(value)[:3]:
        similar = name.upper() if name.upper() != name else name + "_"
        description = f"`{shortened(similar)}` in place of `{shortened(name)}`{where}"
        violated = "required" if name in constraints.required else _closing_keyword(constraints)
        yield Mutation(description, violated, partial(_renamed, name, similar), similar)


def _closing_keyword(constraints: ObjectConstraints) -> str:
    return "unevaluatedProperties" if constraints.unevaluated is False else "additionalProperties"


def _replaced_by_resized(text: str, length: int, _: Any) -> str:
    return resized_string(text, length)


def _without(name: str, value: Any) -> Any:
    return {key: member for key, member in value.items() if key != name} if type(value) is dict else value


def _renamed(name: str, new_name: str, value: Any) -> Any:
    if type(value) is not dict:
        return value
    return {new_name if key == name else key: member for key, member in value.items()}


def _with_more_properties(count: int, value: Any) -> Any:
    """An object with this many properties, the new ones with a value and names like those that most schemas allow."""
    if type(value) is not dict:
        return value
    sample = next(iter(value.values()), 1)
    names = (first + second for first in ("", *ascii_lowercase) for second in ascii_lowercase)
    added = islice((name for name in names if name not in value), max(0, count - len(value)))
    return {**value, **dict.fromkeys(added, sample)}


def _with_invalid_name(value: Any) -> Any:
    return {**value, _INVALID_NAME: next(iter(value.values()), "a")} if type(value) is dict else value


EXTENT = VisitExtent(points=3_000, depth=40, children=3_000, tuple_items=100, alternatives=60, recursions=1)
"""How much of one schema is visited. A schema that occurs inside itself repeats its promises."""
_MAX_TEXT = 100_000_000
"""How many bytes the arguments of all cases of one schema have."""
UNVISITED = "…"
"""The name of the arguments that were not visited."""
LIMITS = SizeLimits(characters=1_048_576, items=20_000)
_MEMBERS = ("required", "dependentRequired")
"""The keywords whose promise is about a member of an object."""
_CLOSING = ("additionalProperties", "unevaluatedProperties")
_PROMISES = frozenset(
    {*_MEMBERS, "type", "maxLength", "maxItems", "enum", "const", "pattern", "format", "minimum", "maximum"}
    | {"exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "minItems", "uniqueItems", "contains"}
    | {"propertyNames", "minProperties", "maxProperties"}
)
"""The other keywords that are promises."""


class Promise(NamedTuple):
    """A constraint that a schema declares for one argument."""

    argument: str
    """The path of the argument: `filter.limit`, `rows[].id`."""
    keyword: str


class PromiseCase(NamedTuple):
    """A call that breaks one promise. The arguments are built when they are needed: they may be large."""

    promise: Promise
    description: str
    schema_pointer: str
    """The pointer, inside the schema, to the promise."""
    is_lenient: bool
    digest: bytes
    """Equal for cases with equal arguments."""
    point: MutationPoint
    mutation: Mutation

    @property
    def arguments(self) -> Any:
        return self.point.mutated(self.mutation)


class SchemaPromises(NamedTuple):
    """The promises of one schema."""

    cases: list[PromiseCase]
    """In the order of the schema, outer values first."""
    unbreakable: list[Promise]
    """Promises that no case breaks, and those of values that were not visited."""
    points: list[MutationPoint]


def promises_of(builder: ValueBuilder, base: dict[str, Any]) -> SchemaPromises:
    """The promises of a schema, broken one at a time in valid arguments."""
    builder.reset_effort()
    visit = Visit(builder, base, EXTENT)
    points = visit.points
    cases: list[PromiseCase] = []
    seen = {digest_of(base)}
    types: dict[Path, set[str]] = {}
    for point in points:
        types.setdefault(point.path, set()).update(point.constraints.types)
    budget = _MAX_TEXT
    for point, mutation in _attempts(builder, points):
        arguments = point.mutated(mutation)
        text = canonical_json(arguments).encode(errors="surrogatepass")
        digest = sha256(text).digest()
        budget -= len(text)
        if budget < 0:
            break
        if digest in seen:
            continue
        seen.add(digest)
        case = _case(builder, point, mutation, digest)
        if mutation.keyword == "type" and is_coerced(value_at(arguments, point.path), types[point.path]):
            case = case._replace(is_lenient=True)  # another branch of a union may convert it
        cases.append(case)
    broken = {case.promise for case in cases if not case.is_lenient}
    unbreakable = dict.fromkeys(promise for point in points for promise in _unbreakable(point) if promise not in broken)
    is_complete = visit.is_complete and budget >= 0
    unvisited = [] if is_complete else [Promise(UNVISITED, keyword) for keyword in _keywords(builder.root[0])]
    return SchemaPromises(cases, [*unbreakable, *unvisited], points)


def _attempts(builder: ValueBuilder, points: list[MutationPoint]) -> Iterator[tuple[MutationPoint, Mutation]]:
    """The mutations that break a promise of a point; those of `dependentRequired` with the property that requires."""
    for point in points:
        yield from ((point, mutation) for mutation in _breaking(builder, point))
        for name in point.constraints.object.dependent_required if type(point.value) is dict else ():
            own = with_property(builder, point, name)
            if own is not None and own is not point.arguments:
                fuller = point._replace(arguments=own, has_own_arguments=True)
                attempts = ((fuller, mutation) for mutation in _breaking(builder, fuller))
                yield from (attempt for attempt in attempts if attempt[1].keyword == "dependentRequired")


def _keywords(schema: dict[str, Any]) -> list[str]:
    """The keywords of promises that occur anywhere in a schema, in the order of the schema."""
    keywords: dict[str, None] = {}
    waiting: list[Any] = [{name: subschema for name, subschema in schema.items() if name != "type"}] if schema else []
    while waiting:
        value = waiting.pop()
        if type(value) is dict:
            keywords |= dict.fromkeys(
                name
                for name in value
                if (name in _PROMISES and value[name] != []) or (name in _CLOSING and not value[name])
            )
            waiting += reversed(value.values())
        elif type(value) is list:
            waiting += reversed(value)
    return list(keywords)


def digest_of(arguments: Any) -> bytes:
    """A digest of a value; equal for equal values."""
    return sha256(canonical_json(arguments).encode(errors="surrogatepass")).digest()


def _breaking(builder: ValueBuilder, point: MutationPoint) -> Iterator[Mutation]:
    """The mutations that certainly break a promise; one for each pattern and format."""
    oracle, settled = builder.oracle, set()
    for mutation in promise_violations(point, LIMITS):
        is_single = mutation.keyword == "pattern"
        if (not is_single or mutation.description not in settled) and oracle.rejects(point.mutated(mutation)):
            settled.add(mutation.description)
            yield mutation
    if oracle.accepts(point.arguments):
        for mutation in format_violations(point):
            arguments = point.mutated(mutation)
            is_broken = not oracle.accepts(arguments) and not oracle.rejects(arguments)
            if mutation.description not in settled and is_broken:
                settled.add(mutation.description)
                yield mutation


def _case(builder: ValueBuilder, point: MutationPoint, mutation: Mutation, digest: bytes) -> PromiseCase:
    argument = point.argument or ROOT
    if mutation.keyword in _MEMBERS:
        argument = f"{point.argument}.{mutation.member}" if point.argument else str(mutation.member)
    return PromiseCase(
        promise=Promise(argument, mutation.keyword),
        description=mutation.description,
        schema_pointer=schema_pointer(builder.root[0], point.path),
        is_lenient=mutation.is_lenient,
        digest=digest,
        point=point,
        mutation=mutation,
    )


def _unbreakable(point: MutationPoint) -> Iterator[Promise]:
    if point.alternative == 0:
        keywords = list(unbreakable_bounds(point, LIMITS))
        if point.constraints.values is None and type(point.value) is str and point.constraints.string.patterns:
            keywords.append("pattern")
        yield from (Promise(point.argument or ROOT, keyword) for keyword in keywords)


def schema_pointer(schema: Any, path: Path) -> str:
    """The pointer to the schema of a value, as far as no reference or union is in between."""
    pointer = ""
    for token in path:
        if type(schema) is not dict:
            break
        if type(token) is str:
            properties = schema.get("properties")
            if type(properties) is not dict or token not in properties:
                break
            schema, pointer = properties[token], f"{pointer}/properties/{escape(token)}"
        elif type(schema.get("items")) is dict:
            schema, pointer = schema["items"], f"{pointer}/items"
        else:
            break
    return pointer
