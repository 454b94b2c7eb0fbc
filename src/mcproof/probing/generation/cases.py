"""The cases of a tool: deterministic ones in a stable order, then random ones, half of them valid.

Valid arguments and values at bounds come first, then one violation at a time. The same seed gives the same cases.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from mcproof.core.named_tuple import NamedTuple
from mcproof.core.schema.validation import Oracle
from mcproof.probing.generation.constraints import canonical_json, json_size
from mcproof.probing.generation.mutations import (
    Mutation,
    MutationPoint,
    Path,
    boundaries,
    mutation_points,
    with_change,
    with_value,
)
from mcproof.probing.generation.strategies import MAX_CONTAINERS, Strategy, StrategyCompiler
from mcproof.probing.generation.values import ValueBuilder
from mcproof.probing.generation.violations import UNEXPECTED, violations

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random


MAX_CASES = 400
_MAX_VALID_CASES = 200
"""The limit on valid cases, to leave room for violations."""
MAX_CASE_SIZE = 100_000


class GeneratedCase(NamedTuple):
    """The arguments of one call, and whether the schema allows them."""

    arguments: Any
    is_valid: bool
    description: str
    keyword: str = ""
    """The keyword that an invalid case violates."""
    pointer: str = ""
    """The pointer of the violation, or of the value that varies."""
    argument: str = ""
    """The name of that value in its schema: `filter.limit`, `rows[].id`."""
    is_lenient: bool = False
    """Whether servers commonly convert the invalid value to a valid one."""


def deterministic_cases(
    schema: Any, base: dict[str, Any] | None = None, *, structural: bool = False
) -> Iterator[GeneratedCase]:
    """Yield cases in a stable order: valid ones, values at bounds, then one violation at a time.

    The cases vary `base` if it is valid, else the smallest valid arguments found. With `structural`, some arguments are
    not objects. Cases share values with each other and with the schema: do not modify them.
    """
    oracle = Oracle(schema)
    if oracle.problem is not None:
        return
    builder = ValueBuilder(schema, oracle)
    is_given = base is not None and oracle.accepts(base)
    start = base if is_given else builder.arguments().value
    seen: set[str] = set()
    for case in _all_cases(builder, start, is_given=is_given, structural=structural):
        # A case is only sent if the validator agrees: a server must never be blamed for a mistake of the generator.
        is_confirmed = oracle.accepts(case.arguments) if case.is_valid else oracle.rejects(case.arguments)
        if not is_confirmed or json_size(case.arguments) > MAX_CASE_SIZE:
            continue
        text = canonical_json(case.arguments)
        if text not in seen:
            seen.add(text)
            yield case
            if len(seen) >= MAX_CASES:
                return


def fuller_arguments(schema: Any) -> dict[str, Any] | None:
    """Valid arguments with as many optional properties as possible; None if none can be added."""
    oracle = Oracle(schema)
    if oracle.problem is not None:
        return None
    builder = ValueBuilder(schema, oracle)
    start = builder.arguments().value
    return None if start is None else _with_optional(builder, start, mutation_points(builder, start))


_DEEPEST_LISTS = 3


def fullest_arguments(schema: Any, start: dict[str, Any]) -> dict[str, Any]:
    """Valid arguments with as many optional properties as possible, and items in lists that were empty."""
    oracle = Oracle(schema)
    if oracle.problem is not None:
        return start
    builder = ValueBuilder(schema, oracle)
    arguments = _with_optional(builder, start, mutation_points(builder, start)) or start
    for _ in range(_DEEPEST_LISTS):
        # What is deepest inside a list has arguments in which that list has an item.
        deepest = max(mutation_points(builder, arguments), key=lambda point: len(point.path), default=None)
        if deepest is None or deepest.arguments == arguments:
            break
        arguments = deepest.arguments
    return arguments


def _all_cases(
    builder: ValueBuilder, start: dict[str, Any] | None, *, is_given: bool, structural: bool
) -> Iterator[GeneratedCase]:
    if start is None:
        yield from _cases_without_start(builder.oracle)
        yield from _structural_cases() if structural else ()
        return
    yield GeneratedCase(start, True, "the given arguments" if is_given else "valid, small")
    builder.reset_effort()
    points = mutation_points(builder, start)
    yield from islice(_valid_cases(builder, start, points), _MAX_VALID_CASES)
    yield from _structural_cases() if structural else ()
    attempts = [(point, mutation) for point in points for mutation in violations(point)]
    for point, mutation in _diverse(attempts):
        arguments, pointer = point.mutated(mutation), point.pointer_of(mutation)
        yield GeneratedCase(
            arguments=arguments,
            is_valid=False,
            description=mutation.description,
            keyword=mutation.keyword,
            pointer=pointer,
            argument=point.argument,
            is_lenient=mutation.is_lenient,
        )


def _cases_without_start(oracle: Oracle) -> Iterator[GeneratedCase]:
    """Invalid cases for a schema without known valid arguments."""
    cases: tuple[tuple[dict[str, Any], str], ...] = (
        ({}, "no arguments at all"),
        ({UNEXPECTED: 1}, f"an undeclared `{UNEXPECTED}`"),
    )
    for arguments, description in cases:
        keyword, pointer = oracle.first_error(arguments) or ("", "")
        yield GeneratedCase(arguments, False, description, keyword, pointer)


def _structural_cases() -> Iterator[GeneratedCase]:
    """Arguments that are not objects."""
    cases: tuple[tuple[str, Any], ...] = (("a list", []), ("a string", "mcproof"), ("null", None))
    for name, arguments in cases:
        yield GeneratedCase(arguments, False, f"{name} instead of an object", "type")


def _valid_cases(builder: ValueBuilder, start: dict[str, Any], points: list[MutationPoint]) -> Iterator[GeneratedCase]:
    full = _with_optional(builder, start, points)
    if full is not None:
        yield GeneratedCase(full, True, "valid, with all optional properties")
    for point in points:
        if point.alternative and point.has_own_arguments:
            description = f"{point.label} as alternative {point.alternative + 1}"
            yield GeneratedCase(point.arguments, True, description, pointer=point.pointer)
    for point in points:
        if point.path and point.alternative == 0 and _is_optional(point, start):
            yield GeneratedCase(point.arguments, True, f"with the optional {point.label}", pointer=point.pointer)
    for point in points:
        for mutation in boundaries(point):
            yield GeneratedCase(point.mutated(mutation), True, mutation.description, pointer=point.pointer)


def _is_optional(point: MutationPoint, arguments: dict[str, Any]) -> bool:
    return len(point.path) == 1 and point.path[0] not in arguments


def _with_optional(builder: ValueBuilder, start: dict[str, Any], points: list[MutationPoint]) -> dict[str, Any] | None:
    """Add every optional property that keeps the arguments valid; None if there is none."""
    arguments = start
    for point in points:
        if _is_optional(point, arguments):
            larger = with_value(arguments, point.path, point.value)
            if builder.oracle.accepts(larger):
                arguments = larger
    return None if arguments is start else arguments


def _diverse(candidates: list[tuple[MutationPoint, Mutation]]) -> Iterator[tuple[MutationPoint, Mutation]]:
    """Yield wrong types last, as there are many similar ones, and one for every value before the others."""
    yield from (candidate for candidate in candidates if candidate[1].keyword != "type")
    wrong_types = [candidate for candidate in candidates if candidate[1].keyword == "type"]
    seen = set()
    for point, mutation in wrong_types:
        if point.path not in seen:
            seen.add(point.path)
            yield point, mutation
    # Those from above are there again; `deterministic_cases` drops what it has seen.
    yield from wrong_types


_ATTEMPTS = 4
_MAX_MUTATIONS = 4_000
_INAPPLICABLE = (LookupError, TypeError, AttributeError, ValueError)
"""Errors of a mutation applied to arguments without the value it changes."""


class _PointMutations:
    """The mutations of one point, grouped by keyword so that all keywords are equally likely."""

    __slots__ = ("by_keyword", "point")

    def __init__(self, point: MutationPoint, mutations: list[Mutation]) -> None:
        self.point = point
        groups: dict[str, list[tuple[Mutation, str]]] = {}
        for mutation in mutations:
            groups.setdefault(mutation.keyword, []).append((mutation, point.pointer_of(mutation)))
        self.by_keyword = list(groups.values())


class Sampler:
    """Draws random cases for one schema. The same seed gives the same cases on every Python and in every process.

    Cases may share values with the schema: do not modify them.
    """

    def __init__(self, schema: Any, base: dict[str, Any] | None = None) -> None:
        self._oracle = Oracle(schema)
        self._mutations: list[_PointMutations] = []
        self._strategy: Strategy | None = None
        self._base: dict[str, Any] | None = None
        self._has_given_base = base is not None
        if self._oracle.problem is not None:
            return
        builder = ValueBuilder(schema, self._oracle)
        self._base = builder.arguments().value if base is None or not self._oracle.accepts(base) else base
        if self._base is None:
            return
        builder.reset_effort()
        self._find_mutations(builder, self._base)
        builder.reset_effort()
        self._compiler = StrategyCompiler(builder)
        self._strategy = self._compiler.compile(builder.root)

    def _find_mutations(self, builder: ValueBuilder, base: dict[str, Any]) -> None:
        total = 0
        for point in mutation_points(builder, base):
            invalid = [
                mutation
                for mutation in violations(point, thorough=True)
                if self._oracle.rejects(point.mutated(mutation))
            ]
            if invalid and total < _MAX_MUTATIONS:
                total += len(invalid)
                self._mutations.append(_PointMutations(point, invalid))

    def case(self, random: Random) -> GeneratedCase | None:
        """Draw a case; None if the attempt failed."""
        if self._strategy is None or self._base is None:
            return None
        # Half of the calls are valid: code behind the validation is only reached by those.
        if not self._mutations or random.random() < 0.5:
            arguments = self._draw_arguments(random, self._strategy)
            return None if arguments is None else GeneratedCase(arguments, True, "valid, random")
        return self._draw_invalid(random, self._strategy)

    def _draw_arguments(self, random: Random, strategy: Strategy) -> Any:
        """Draw valid arguments; None if all attempts failed."""
        for _ in range(_ATTEMPTS):
            self._compiler.remaining_containers = MAX_CONTAINERS
            arguments = strategy(random, 0)
            if self._oracle.accepts(arguments) and json_size(arguments) <= MAX_CASE_SIZE:
                # What the user gives, such as the name of a real record, lets calls reach further than random values
                # do.
                if self._has_given_base and random.random() < 0.5:
                    mixed = {**self._base, **arguments} if self._base is not None else arguments
                    return mixed if self._oracle.accepts(mixed) else arguments
                return arguments
        return None

    def _draw_mutation(self, random: Random) -> tuple[MutationPoint, Mutation, str]:
        """Draw a point, a mutation of it, and the pointer of what it concerns."""
        mutations = self._mutations[int(random.random() * len(self._mutations))]
        group = mutations.by_keyword[int(random.random() * len(mutations.by_keyword))]
        mutation, pointer = group[int(random.random() * len(group))]
        return mutations.point, mutation, pointer

    def _draw_invalid(self, random: Random, strategy: Strategy) -> GeneratedCase | None:
        arguments = self._draw_arguments(random, strategy)
        if arguments is None:
            arguments = self._base
        point, mutation, pointer = self._draw_mutation(random)
        try:
            mutated = with_change(arguments, point.path, mutation.apply)
        except _INAPPLICABLE:  # random arguments may lack what the mutation changes
            mutated = point.mutated(mutation)
        description, is_lenient = mutation.description, mutation.is_lenient
        # A second fault at another place now and then, since a server may stop at the first that it notices.
        if random.random() < 0.15:
            other_point, other, _ = self._draw_mutation(random)
            if not _is_at_or_below(point.path, other_point.path):
                try:
                    mutated = with_change(mutated, other_point.path, other.apply)
                    description, is_lenient = f"{description}; {other.description}", is_lenient and other.is_lenient
                except _INAPPLICABLE:  # the first fault is enough
                    pass
        # In random arguments, a mutation may break nothing.
        if not self._oracle.rejects(mutated):
            return None
        return GeneratedCase(
            arguments=mutated,
            is_valid=False,
            description=description,
            keyword=mutation.keyword,
            pointer=pointer,
            argument=point.argument,
            is_lenient=is_lenient,
        )


def _is_at_or_below(path: Path, other: Path) -> bool:
    """Whether a change at `other` would undo one at `path`."""
    return path[: len(other)] == other
