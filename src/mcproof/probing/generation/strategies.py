"""Strategies: functions that draw random valid values, compiled once from a schema.

The same seed gives the same values everywhere: only `random.Random` methods whose results do not depend on the Python
version are used, and nothing depends on the order of a set.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import TYPE_CHECKING, Any

from mcproof.probing.generation.constraints import (
    ArrayConstraints,
    NumberConstraints,
    ObjectConstraints,
    StringConstraints,
    ValueConstraints,
    deep_copy,
    is_huge,
)
from mcproof.probing.generation.mutations import (
    ALPHABET,
    ANY_VALUES,
    INTERESTING_FLOATS,
    INTERESTING_INTEGERS,
    INTERESTING_STRINGS,
)
from mcproof.probing.generation.scalars import FORMAT_SAMPLES, matching_string, numbers, seeded_random, strings

if TYPE_CHECKING:
    from random import Random

    from mcproof.probing.generation.values import Schemas, ValueBuilder

Strategy = Callable[["Random", int], Any]
"""Draws a value at a nesting depth."""

MAX_CONTAINERS = 300
_MAX_DEPTH = 6
_MAX_ALTERNATIVES = 10
_ATTEMPTS = 4
_MATCHING_STRINGS = 48
_MAX_ENUM_VALUES = 2_000
_MAX_SAMPLE_LENGTH = 2_000


class StrategyCompiler:
    """Compiles the subschemas of one schema document into strategies, each on first use."""

    def __init__(self, builder: ValueBuilder) -> None:
        self.builder = builder
        self.remaining_containers = MAX_CONTAINERS
        """How many more objects and arrays are drawn before the smallest values are used; reset for every case."""
        self._strategies: dict[tuple[int, ...], Strategy] = {}

    def strategy(self, schemas: Schemas) -> Strategy:
        """A strategy for these schemas that is compiled on its first call."""
        key = tuple(map(id, schemas))
        compiled = self._strategies.get(key)
        if compiled is not None:
            return compiled

        # Compiled when it is first drawn from, since a recursive schema would be compiled without end.
        def compile_first(random: Random, depth: int) -> Any:
            strategy = self._strategies[key]
            # It may have been compiled since this function was handed out.
            if strategy is compile_first:
                strategy = self._strategies[key] = self._compile(schemas)
            return strategy(random, depth)

        self._strategies[key] = compile_first
        return compile_first

    def compile(self, schemas: Schemas) -> Strategy:
        """Compile a strategy at once, for the root schema."""
        key = tuple(map(id, schemas))
        self._strategies[key] = strategy = self._compile(schemas)
        return strategy

    def _compile(self, schemas: Schemas) -> Strategy:
        if not schemas:
            return _draw_any
        smallest = self.builder.smallest(schemas)
        fallback = None if smallest is None else smallest.value
        alternatives = list(self.builder.resolver.alternatives(schemas, _MAX_ALTERNATIVES))
        strategies = [
            compiled
            for alternative in alternatives
            if (compiled := self._alternative(alternative, schemas)) is not None
        ]
        if not strategies:
            return lambda _random, _depth: fallback
        strategy = _one_of(strategies)
        if any(alternative.needs_validation for alternative in alternatives):
            strategy = self._validated(strategy, schemas, fallback)
        if any("object" in alternative.types or "array" in alternative.types for alternative in alternatives):
            strategy = self._bounded(strategy, fallback)
        return strategy

    def _bounded(self, strategy: Strategy, fallback: Any) -> Strategy:
        """Limit the depth and number of containers."""

        def draw(random: Random, depth: int) -> Any:
            # Recursive schemas draw ever more containers; from here on the smallest value ends each branch.
            if depth >= _MAX_DEPTH or self.remaining_containers <= 0:
                return fallback
            self.remaining_containers -= 1
            return strategy(random, depth)

        return draw

    def _validated(self, strategy: Strategy, schemas: Schemas, fallback: Any) -> Strategy:
        """Draw until a value is valid."""
        is_valid = self.builder.resolver.is_valid

        def draw(random: Random, depth: int) -> Any:
            for _ in range(_ATTEMPTS):
                value = strategy(random, depth)
                if is_valid(value, schemas):
                    return value
            return fallback

        return draw

    def _alternative(self, constraints: ValueConstraints, schemas: Schemas) -> Strategy | None:
        """A strategy for one choice of branches; None if no value is known to be valid."""

        def is_valid(value: Any) -> bool:
            return self.builder.resolver.is_valid(value, schemas)

        if constraints.values is not None:
            values = constraints.values[:_MAX_ENUM_VALUES]
            return _sampled_from([value for value in values if constraints.allows_type_of(value) and is_valid(value)])
        strategies: list[Strategy] = []
        for name in constraints.preferred_types():
            strategy: Strategy | None
            if name == "object":
                strategy = self._objects(constraints)
            elif name == "array":
                strategy = self._arrays(constraints)
            elif name == "string":
                strategy = _strings(constraints.string, is_valid, only_samples=constraints.needs_validation)
            elif name == "boolean":
                strategy = _sampled_from([True, False])
            elif name == "null":
                strategy = _sampled_from([None])
            elif name == "integer":
                strategy = _integers(constraints.number, is_valid, only_samples=constraints.needs_validation)
            else:
                strategy = _sampled_from(_sample_numbers(constraints.number, is_valid, integers=False))
            if strategy is not None:
                strategies.append(strategy)
        return _one_of(strategies) if strategies else None

    def _property(self, constraints: ObjectConstraints, name: str) -> Strategy:
        return self.strategy(constraints.property_schemas(name))

    def _objects(self, constraints: ValueConstraints) -> Strategy:
        properties = constraints.object
        required = properties.with_dependencies(properties.required)
        required_strategies = [(name, self._property(properties, name)) for name in required]
        optional: list[tuple[list[tuple[str, Strategy]], int]] = []
        names = [name for name in properties.declared_names() if name not in set(required)]
        for index, name in enumerate(names):
            group = [member for member in properties.with_dependencies([name]) if member not in set(required)]
            if all(self.builder.smallest(properties.property_schemas(member)) is not None for member in group):
                optional.append(([(member, self._property(properties, member)) for member in group], 1 << index))
        count = len(names)
        fewest, most = properties.min_properties, properties.max_properties
        add_undeclared = self._undeclared(properties) if most is None else None
        filler = None
        if fewest > len(required):
            smallest = next(self.builder.of_type("object", constraints), None)
            filler = None if smallest is None else smallest.value

        def draw(random: Random, depth: int) -> Any:
            drawn = {name: strategy(random, depth + 1) for name, strategy in required_strategies}
            if count:
                # One call of the generator serves all optional properties, a bit for each.
                chosen = random.getrandbits(count)
                if random.random() < 0.5:  # few properties as often as many
                    chosen &= random.getrandbits(count)
                    if depth > 2:
                        chosen &= random.getrandbits(count)
                if chosen:
                    for group, bit in optional:
                        if chosen & bit and (most is None or len(drawn) + len(group) <= most):
                            for name, strategy in group:
                                drawn[name] = strategy(random, depth + 1)
            if add_undeclared is not None and random.random() < 0.15:
                add_undeclared(random, depth, drawn)
            if len(drawn) < fewest and filler is not None:
                # Some objects are only complete with names that no property declares; the smallest valid object has
                # them.
                return {**deep_copy(filler), **drawn}
            return drawn

        return draw

    def _undeclared(self, constraints: ObjectConstraints) -> Callable[[Random, int, dict[str, Any]], None] | None:
        """A function that adds undeclared properties; None if no schema describes any."""
        if not constraints.describes_undeclared and not constraints.property_names:
            return None
        declared = set(constraints.declared_names())
        possible = (
            name
            for name in self.builder.possible_names(constraints)
            if name not in declared and self.builder.smallest(constraints.property_schemas(name)) is not None
        )
        strategies = [(name, self._property(constraints, name)) for name in islice(possible, 6)]
        if not strategies:
            return None

        def add(random: Random, depth: int, drawn: dict[str, Any]) -> None:
            for _ in range(1 + int(random.random() * 3)):
                name, strategy = strategies[int(random.random() * len(strategies))]
                drawn[name] = strategy(random, depth + 1)

        return add

    def _arrays(self, constraints: ValueConstraints) -> Strategy | None:
        array = constraints.array
        smallest = next(self.builder.of_type("array", constraints), None)
        if smallest is None:
            return None
        shortest, prefix_length = array.min_items, array.prefix_length
        prefix = [self.strategy(array.item_schemas(index)) for index in range(min(prefix_length, 50))]
        items = None
        if self.builder.smallest(array.item_schemas(prefix_length)) is not None:
            items = self.strategy(array.item_schemas(prefix_length))
        longest = min(shortest + 4 if array.max_items is None else array.max_items, max(shortest, 50))
        if items is None:
            longest = min(longest, len(prefix))
        if longest < shortest or array.contains or array.is_unique:
            return _extended_arrays(array, smallest.value, items, longest)

        def draw(random: Random, depth: int) -> Any:
            length = shortest + int(random.random() * (longest - shortest + 1))
            drawn = [strategy(random, depth + 1) for strategy in prefix[:length]]
            if items is not None:
                drawn += [items(random, depth + 1) for _ in range(length - len(drawn))]
            return drawn

        return draw


def _extended_arrays(constraints: ArrayConstraints, smallest: Any, items: Strategy | None, longest: int) -> Strategy:
    """Extend a small valid array, for arrays whose items depend on each other."""
    is_unique = constraints.is_unique

    def draw(random: Random, depth: int) -> Any:
        drawn = deep_copy(smallest)
        if items is not None:
            for _ in range(int(random.random() * 4)):
                item = items(random, depth + 1)
                if len(drawn) < longest and (not is_unique or item not in drawn):
                    drawn.append(item)
        return drawn

    return draw


def _one_of(strategies: list[Strategy]) -> Strategy:
    count = len(strategies)
    if count == 1:
        return strategies[0]
    return lambda random, depth: strategies[int(random.random() * count)](random, depth)


def _sampled_from(values: list[Any]) -> Strategy | None:
    count = len(values)
    if count == 0:
        return None
    if count == 1:
        only = values[0]
        return lambda _random, _depth: only
    return lambda random, _depth: values[int(random.random() * count)]


def _draw_any(random: Random, _depth: int) -> Any:
    return ANY_VALUES[int(random.random() * len(ANY_VALUES))]


def _strings(constraints: StringConstraints, is_valid: Callable[[Any], bool], *, only_samples: bool) -> Strategy | None:
    shortest, longest = constraints.min_length, constraints.max_length
    samples = [text for text in dict.fromkeys(_sample_strings(constraints)) if is_valid(text)]
    if not samples:
        return None
    # Random letters would hardly ever fit these, so only texts that are known to be valid are drawn.
    if constraints.patterns or constraints.formats or only_samples or shortest > 200:
        return _sampled_from(samples)
    count, letters = len(samples), len(ALPHABET)
    limit = _MAX_SAMPLE_LENGTH if longest is None else longest

    def draw(random: Random, _depth: int) -> Any:
        sample = samples[int(random.random() * count)]
        chance = random.random()
        if chance < 0.6:
            return sample
        if chance < 0.8:
            joined = sample + samples[int(random.random() * count)]
            return joined if len(joined) <= limit else sample
        chance = random.random()
        # Short texts are far more frequent than long ones.
        length = int(chance * chance * chance * 60)
        text = "".join([ALPHABET[int(random.random() * letters)] for _ in range(length)])
        return text if shortest <= length <= limit else sample

    return draw


def _sample_strings(constraints: StringConstraints) -> list[str]:
    shortest, longest = constraints.min_length, constraints.max_length
    samples = [*islice(strings(constraints), 6), *INTERESTING_STRINGS]
    for name in constraints.formats:
        samples += FORMAT_SAMPLES.get(name, ())
    if constraints.patterns:
        random = seeded_random(1)
        varied = [matching_string(constraints.patterns[0], shortest, longest, random) for _ in range(_MATCHING_STRINGS)]
        samples += [text for text in varied if text is not None]
    if longest is not None and 0 < longest <= _MAX_SAMPLE_LENGTH:
        samples += ["a" * longest, "世" * longest, "🌍" * longest]
    if 0 < shortest <= _MAX_SAMPLE_LENGTH:
        samples += ["a" * shortest, "世" * shortest]
    return samples


def _integers(
    constraints: NumberConstraints, is_valid: Callable[[Any], bool], *, only_samples: bool
) -> Strategy | None:
    samples = _sample_numbers(constraints, is_valid, integers=True)
    if not samples or constraints.multiples or only_samples:
        return _sampled_from(samples)
    low = -(2**31) if constraints.minimum is None else int(constraints.minimum) + 1
    high = max(low, 0) + 2**31 if constraints.maximum is None else int(constraints.maximum) - 1
    if high <= low:
        return _sampled_from(samples)
    # Beyond 2**52, `random()` has fewer digits than the range, and the last digits would never vary.
    count, span = len(samples), min(high - low, 2**52)

    def draw(random: Random, _depth: int) -> Any:
        if random.random() < 0.6:
            return samples[int(random.random() * count)]
        return low + int(random.random() * span)

    return draw


def _sample_numbers(constraints: NumberConstraints, is_valid: Callable[[Any], bool], *, integers: bool) -> list[Any]:
    samples: list[Any] = [*islice(numbers(constraints, integers=integers), 12), *INTERESTING_INTEGERS]
    if not integers:
        samples += INTERESTING_FLOATS
    for bound in (constraints.minimum, constraints.maximum):
        if bound is None or is_huge(bound):
            continue
        if integers:
            samples += [int(bound), int(bound) + 1, int(bound) - 1, int(bound) // 2]
        else:
            samples += [bound, bound + 1, bound - 1, bound * 0.5]
    unique = {repr(number): number for number in samples if not is_huge(number)}
    return [number for number in unique.values() if is_valid(number)]
