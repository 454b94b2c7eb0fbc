"""Random cases: half of them valid, half with one or two violations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcproof.core.schema.validation import Oracle
from mcproof.generation.cases import MAX_CASE_SIZE, GeneratedCase
from mcproof.generation.json_values import json_size
from mcproof.generation.mutation_points import MutationPoint, Path, mutation_points, with_change
from mcproof.generation.strategies import MAX_CONTAINERS, StrategyCompiler
from mcproof.generation.valid_values import ValueBuilder
from mcproof.generation.violations import violations

if TYPE_CHECKING:
    from random import Random

    from mcproof.generation.mutations import Mutation
    from mcproof.generation.strategies import Strategy

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
        for each in mutations:
            groups.setdefault(each.keyword, []).append((each, point.pointer_of(each)))
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
            invalid = [each for each in violations(point, thorough=True) if self._oracle.rejects(point.mutated(each))]
            if invalid and total < _MAX_MUTATIONS:
                total += len(invalid)
                self._mutations.append(_PointMutations(point, invalid))

    def case(self, random: Random) -> GeneratedCase | None:
        """Draw a case; None if the attempt failed."""
        if self._strategy is None or self._base is None:
            return None
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
        except _INAPPLICABLE:
            mutated = point.mutated(mutation)
        description, is_lenient = mutation.description, mutation.is_lenient
        if random.random() < 0.15:
            other_point, other, _ = self._draw_mutation(random)
            if not _is_at_or_below(point.path, other_point.path):
                try:
                    mutated = with_change(mutated, other_point.path, other.apply)
                    description, is_lenient = f"{description}; {other.description}", is_lenient and other.is_lenient
                except _INAPPLICABLE:
                    pass
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
