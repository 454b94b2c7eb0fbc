"""One small valid value for a schema: the arguments of a call that should succeed. Also values of typed words.

Values are built from the inside out, and each is validated before it becomes part of a larger one. Building a value
never requires another value for the same schemas, so recursive schemas terminate.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import Any, NoReturn

from mcproof.core.errors import UsageError
from mcproof.core.named_tuple import NamedTuple
from mcproof.core.schema.validation import Oracle
from mcproof.core.text.english import words_of
from mcproof.probing.generation.constraints import (
    MAX_SIZE,
    ArrayConstraints,
    ObjectConstraints,
    StringConstraints,
    ValueConstraints,
    canonical_json,
    deep_copy,
    json_size,
    shortened,
)
from mcproof.probing.generation.resolver import ConstraintResolver
from mcproof.probing.generation.scalars import matching_string, numbers, seeded_random, strings

Schemas = tuple[Any, ...]
"""Schemas that apply to the same value."""

_MAX_DEPTH = 50
_MAX_EFFORT = 10_000
"""How many values are tried for one schema document."""
_MAX_CANDIDATES = 60
"""How many values are tried for one set of constraints."""
_FIRST_CANDIDATES = 6
"""How many values of one type are tried before those of the next."""
_MAX_ITEMS = 5_000
_MAX_NESTED_SEARCHES = 3
_MAX_FAILED_NAMES = 60
"""How many names without a valid value are tried to reach `minProperties`."""
_SAMPLES = {
    **dict.fromkeys(("date", "day", "since", "until"), "2024-01-01"),
    **dict.fromkeys(("commit", "ref", "rev", "revision"), "HEAD"),
    **dict.fromkeys(("cwd", "dir", "directory", "folder", "path", "root"), "."),
    **dict.fromkeys(("timezone", "tz"), "UTC"),
    **dict.fromkeys(("lang", "language", "locale"), "en"),
    **dict.fromkeys(("link", "url", "website"), "https://example.com"),
    "country": "US",
    "currency": "USD",
    "email": "a@example.com",
    "month": "2024-01",
    "year": "2024",
}
"""Strings by the last word of a parameter's name: of free text, a server accepts more often what the name asks for."""
_OBJECT = {"type": "object"}
_STRING = {"type": "string"}


class ValidArguments(NamedTuple):
    """Valid arguments, or the reason why there are none."""

    value: dict[str, Any] | None
    problem: str


class SizedValue(NamedTuple):
    """A value and its approximate length as JSON."""

    value: Any
    size: int


def valid_arguments(schema: Any) -> ValidArguments:
    """Return a small valid object, always the same for the same schema."""
    oracle = Oracle(schema)
    if oracle.problem is not None:
        return ValidArguments(None, oracle.problem)
    return ValueBuilder(schema, oracle).arguments()


class ValueBuilder:
    """Builds small values for the subschemas of one schema document, and caches them."""

    def __init__(self, schema: Any, oracle: Oracle) -> None:
        self.oracle = oracle
        self.resolver = ConstraintResolver(schema, oracle)
        self.root: Schemas = (schema, _OBJECT)
        self._smallest: dict[tuple[int, ...], SizedValue | None] = {}
        # A schema that contains itself would need its own value first; whoever asks meanwhile takes another branch.
        self._in_progress: set[tuple[int, ...]] = set()
        self._effort = _MAX_EFFORT
        self._abandoned = 0
        self._problem = ""
        self._nested_searches = 0

    def arguments(self) -> ValidArguments:
        """The smallest object found for the root schema."""
        smallest = self.smallest(self.root)
        if smallest is not None and self.oracle.accepts(smallest.value):
            return ValidArguments(deep_copy(smallest.value), "")
        if next(self.resolver.alternatives(self.root), None) is None:
            return ValidArguments(None, "the schema does not allow any object")
        return ValidArguments(None, self._problem or "no valid object was found")

    def reset_effort(self) -> None:
        """Allow the full effort again, for another task."""
        self._effort = _MAX_EFFORT

    def smallest(self, schemas: Schemas) -> SizedValue | None:
        """A small value for these schemas; None if none was found."""
        key = tuple(map(id, schemas))
        if key in self._smallest:
            return self._smallest[key]
        if key in self._in_progress or len(self._in_progress) >= _MAX_DEPTH or self._effort <= 0:
            self._abandoned += 1
            return None
        self._effort -= 1
        self._in_progress.add(key)
        abandoned = self._abandoned
        first = next(self.valid(schemas), None)
        self._in_progress.discard(key)
        # What was abandoned on the way may be found from elsewhere, so only a complete search shows that there is
        # nothing.
        if first is not None or abandoned == self._abandoned:
            self._smallest[key] = first
        return first

    def valid(self, schemas: Schemas, limit: int = _MAX_CANDIDATES) -> Iterator[SizedValue]:
        """Yield values that are valid against all of these schemas, the simplest first."""
        for constraints in self.resolver.alternatives(schemas):
            for candidate in islice(self.candidates(constraints), limit):
                self._effort -= 1
                if self._effort <= 0:
                    return
                if constraints.excluded_values and candidate.value in constraints.excluded_values:
                    continue
                # The validator has the last word: constraints may be wider than the schemas that they were merged
                # from.
                if candidate.size <= MAX_SIZE and self.resolver.is_valid(candidate.value, schemas):
                    yield candidate

    def _further_valid(self, schemas: Schemas, limit: int) -> Iterator[SizedValue]:
        """Yield values like `valid`, with a limit on how many such searches are nested."""
        if self._nested_searches >= _MAX_NESTED_SEARCHES:
            return
        source = self.valid(schemas, limit)
        while True:
            # Counted while the search runs, not while its value is used.
            self._nested_searches += 1
            further = next(source, None)
            self._nested_searches -= 1
            if further is None:
                return
            yield further

    def candidates(self, constraints: ValueConstraints) -> Iterator[SizedValue]:
        """Yield values that should be valid: those written in the schema, then constructed ones."""
        for value in chain(constraints.examples, constraints.values or ()):
            if constraints.allows_type_of(value):
                yield SizedValue(value, json_size(value))
        if constraints.values is not None:
            return
        sources = [self.of_type(name, constraints) for name in constraints.preferred_types()]
        for source in sources:  # first a few of each type, as there can be thousands of one
            yield from islice(source, _FIRST_CANDIDATES)
        for source in sources:
            yield from source

    def of_type(self, type_name: str, constraints: ValueConstraints) -> Iterator[SizedValue]:
        """Yield values of one type."""
        if type_name == "object":
            yield from self._objects(constraints.object)
        elif type_name == "array":
            yield from self._arrays(constraints.array)
        elif type_name == "string":
            yield from (SizedValue(text, len(text) + 2) for text in strings(constraints.string))
            self._note_unmatched_patterns(constraints.string)
        elif type_name == "boolean":
            yield from (SizedValue(value, 5) for value in (True, False))
        elif type_name == "null":
            yield SizedValue(None, 4)
        else:
            integers = type_name == "integer"
            yield from (
                SizedValue(number, json_size(number)) for number in numbers(constraints.number, integers=integers)
            )

    def _note_unmatched_patterns(self, constraints: StringConstraints) -> None:
        for pattern in constraints.patterns:
            if matching_string(pattern, constraints.min_length, constraints.max_length) is None:
                self._problem = f"no string was found that matches the pattern `{shortened(pattern)}`"

    def _objects(self, constraints: ObjectConstraints) -> Iterator[SizedValue]:
        """Yield objects: with required properties only, then optional ones, other values, an undeclared one."""
        required = constraints.with_dependencies(constraints.required)
        smallest = self._object(constraints, required)
        if smallest is None:
            return
        yield smallest
        optional = [name for name in constraints.declared_names() if name not in smallest.value]
        # A schema may demand one of several optional properties in a way that only the validator sees.
        for name in optional[:12]:
            larger = self._object(constraints, constraints.with_dependencies([*required, name]))
            if larger is not None:
                yield larger
        if len(optional) > 1:
            names = constraints.with_dependencies([*required, *optional])
            larger = self._object(constraints, names, skip_impossible=True)
            if larger is not None:
                yield larger
        for name in required[:12]:
            # The first is the smallest, which the object has already.
            for other in islice(self._further_valid(constraints.property_schemas(name), 12), 1, 6):
                yield SizedValue({**smallest.value, name: other.value}, smallest.size + other.size)
        properties = dict(smallest.value)
        added = self._fill(constraints, properties, 1)
        if added and (constraints.max_properties is None or len(properties) <= constraints.max_properties):
            yield SizedValue(properties, smallest.size + added)

    def _object(
        self, constraints: ObjectConstraints, names: list[str], *, skip_impossible: bool = False
    ) -> SizedValue | None:
        """An object with these properties; None if one of them has no valid value."""
        properties: dict[str, Any] = {}
        size = 2
        for name in constraints.in_declared_order(names):
            sized = self._named(name, constraints.property_schemas(name))
            if sized is None:
                if skip_impossible:
                    continue
                self._problem = self._problem or f"no value was found for the required `{shortened(name)}`"
                return None
            properties[name] = sized.value
            size += sized.size + len(name) + 4
            if size > MAX_SIZE:
                return None
        missing = constraints.min_properties - len(properties)
        if missing > 0:
            size += self._fill(constraints, properties, missing)
        if constraints.max_properties is not None and len(properties) > constraints.max_properties:
            return None
        return SizedValue(properties, size)

    def of_property(self, name: str) -> Any:
        """A small value of a property of the root; any text if it has none."""
        for constraints in self.resolver.alternatives(self.root):
            if (sized := self._named(name, constraints.object.property_schemas(name))) is not None:
                return sized.value
        return "a"

    def _named(self, name: str, schemas: Schemas) -> SizedValue | None:
        """A small value of a property: what its name asks for where any text is valid, and a list with one item."""
        smallest = self.smallest(schemas)
        if smallest is None or smallest.value not in ("a", []):
            return smallest
        if smallest.value == []:
            longer = (sized for sized in self._further_valid(schemas, 4) if sized.value != [])
            list_of_one = next(longer, smallest)
            return smallest if any(isinstance(item, dict | list) for item in list_of_one.value) else list_of_one
        sample = _SAMPLES.get((words_of(name) or [""])[-1])
        is_valid = sample is not None and self.resolver.is_valid(sample, schemas)
        return SizedValue(sample, len(sample or "") + 2) if is_valid else smallest

    def _fill(self, constraints: ObjectConstraints, properties: dict[str, Any], missing: int) -> int:
        """Add optional properties until `minProperties` is reached; return their size."""
        size = 0
        failed = 0
        names = tuple(constraints.property_names)
        for tried, name in enumerate(self.possible_names(constraints)):
            if missing <= 0 or tried > 1_000 or failed > _MAX_FAILED_NAMES or size > MAX_SIZE or self._effort <= 0:
                break
            if name in properties or not self.resolver.is_valid(name, names):
                continue
            group = [member for member in constraints.with_dependencies([name]) if member not in properties]
            sized_members = [(member, self.smallest(constraints.property_schemas(member))) for member in group]
            if any(value is None for _, value in sized_members):
                failed += 1
                continue
            for member, value in sized_members:
                if value is not None:
                    properties[member] = value.value
                    size += value.size + len(member) + 4
                    missing -= 1
        return size

    def possible_names(self, constraints: ObjectConstraints) -> Iterator[str]:
        """Yield property names: declared ones, matches of `patternProperties`, then others."""
        yield from constraints.declared_names()
        for subschemas in constraints.subschemas:
            for pattern in subschemas.patterns:
                # A pattern may exclude the simplest match elsewhere in the schema, so further ones are made, always
                # the same.
                random = seeded_random(0)
                for number in range(20):
                    name = matching_string(pattern, random=random if number else None)
                    if name is not None:
                        yield name
        if constraints.property_names:
            schemas = (*constraints.property_names, _STRING)
            yield from (sized.value for sized in self.valid(schemas, 400) if type(sized.value) is str)
        else:
            yield from (f"property{number}" for number in range(1, 1_000))

    def _arrays(self, constraints: ArrayConstraints) -> Iterator[SizedValue]:
        """Yield arrays, the shortest first."""
        # Items that `contains` demands may be the same, so the sum is only the length that suffices for certain.
        contained = sum(demand.minimum for demand in constraints.contains)
        shortest = max([constraints.min_items, *(demand.minimum for demand in constraints.contains)])
        longest = _MAX_ITEMS if constraints.max_items is None else min(constraints.max_items, _MAX_ITEMS)
        lengths = (shortest, max(constraints.min_items, contained), shortest + 1, shortest + 2, 1, 2, 3)
        for length in dict.fromkeys(lengths):
            if length < shortest or length > longest:
                continue
            for first in dict.fromkeys((length - contained, 0, None)) if constraints.contains else (None,):
                array = self._array(constraints, length, first)
                if array is not None:
                    yield array

    def _array(self, constraints: ArrayConstraints, length: int, first_contained: int | None) -> SizedValue | None:
        """An array of a given length; the items that `contains` demands start at an index, or are left to chance."""
        contained: list[Any] = []
        if first_contained is not None:
            for schema, minimum in constraints.contains:
                contained += [schema] * min(minimum, length)
            first_contained = max(first_contained, 0)
        items: list[Any] = []
        size = 2
        unused: dict[tuple[int, ...], Iterator[SizedValue]] = {}
        seen: set[str] = set()
        for index in range(length):
            schemas = constraints.item_schemas(index)
            if first_contained is not None and first_contained <= index < first_contained + len(contained):
                schemas = (*schemas, contained[index - first_contained])
            sized = self._unseen(schemas, unused, seen) if constraints.is_unique else self.smallest(schemas)
            if sized is None:
                return None
            items.append(sized.value)
            size += sized.size + 2
            if size > MAX_SIZE:
                return None
        return SizedValue(items, size)

    def _unseen(
        self, schemas: Schemas, unused: dict[tuple[int, ...], Iterator[SizedValue]], seen: set[str]
    ) -> SizedValue | None:
        """A value that the array does not contain yet."""
        smallest = self.smallest(schemas)
        if smallest is None:
            return None
        key = tuple(map(id, schemas))
        if key not in unused:
            # Kept for the next item, so that no value is tried twice.
            unused[key] = chain((smallest,), self._further_valid(schemas, 3_000))
        for sized in unused[key]:
            text = canonical_json(sized.value)
            if text not in seen:
                seen.add(text)
                return sized
        return None


_NO_VALUE: Any = object()


class ArgumentParser:
    """Parses the arguments of one tool from `key=value` words, typed by its schema."""

    def __init__(self, schema: Any) -> None:
        self._schema = schema if isinstance(schema, dict) else True
        self._resolver = ConstraintResolver(self._schema, Oracle(self._schema))

    def parse(self, pairs: Iterable[tuple[str, str]]) -> dict[str, Any]:
        """The arguments; a repeated key gives a list. Raises a UsageError if the schema expects no list there."""
        texts: dict[str, list[str]] = {}
        for key, text in pairs:
            texts.setdefault(key, []).append(text)
        return {key: self._argument(key, values) for key, values in texts.items()}

    def _argument(self, key: str, texts: list[str]) -> Any:
        schemas = self._property(key)
        if len(texts) == 1:
            return self._value(texts[0], schemas)
        array = self._array(schemas)
        if array is None:
            raise UsageError(f"`{key}` is given {len(texts)} times, but it is not a list")
        return [self._value(text, array.item_schemas(number)) for number, text in enumerate(texts)]

    def _property(self, key: str) -> tuple[Any, ...]:
        """The schemas of a parameter: where it is declared, else those for undeclared ones."""
        roots = list(self._resolver.alternatives((self._schema,)))
        declaring = [root for root in roots if root.object.declares(key)]
        return next((root.object.property_schemas(key) for root in (*declaring, *roots)), ())

    def _array(self, schemas: tuple[Any, ...]) -> ArrayConstraints | None:
        """The constraints on a value as a list; None if it cannot be one."""
        ways = self._resolver.alternatives(schemas)
        return next((way.array for way in ways if way.values is None and way.allows_type_of([])), None)

    def _value(self, text: str, schemas: tuple[Any, ...]) -> Any:
        """The value of a text: JSON if the schema accepts its type, else a string, else a list of one item."""
        value = _json(text)
        ways = list(self._resolver.alternatives(schemas))
        if value is not _NO_VALUE and any(_allows(way, value) for way in ways):
            return value
        if any(_allows(way, text) for way in ways):
            return text
        if not isinstance(value, list) and (array := self._array(schemas)) is not None:
            return [self._value(text, array.item_schemas(0))]
        return text if value is _NO_VALUE else value


def _allows(constraints: ValueConstraints, value: Any) -> bool:
    """Whether a value has a type that constraints allow; a string need not be one of the allowed values."""
    if constraints.values is None:
        return constraints.allows_type_of(value)
    return any(
        type(allowed) is type(value) and (allowed == value or type(value) is str) for allowed in constraints.values
    )


def _json(text: str) -> Any:
    """The value of JSON text that is not a string, or a marker."""

    def refuse(_: str) -> NoReturn:
        raise ValueError

    try:
        value = json.loads(text, parse_constant=refuse)
    except (ValueError, RecursionError):
        return _NO_VALUE
    return _NO_VALUE if isinstance(value, str) else value
