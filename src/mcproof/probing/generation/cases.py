"""Deterministic cases for a tool: valid arguments, values at bounds, and one violation at a time."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.core.schema.validation import Oracle
from mcproof.generation.boundaries import boundaries
from mcproof.generation.json_values import canonical_json, json_size
from mcproof.generation.mutation_points import mutation_points, with_value
from mcproof.generation.valid_values import ValueBuilder
from mcproof.generation.violations import UNEXPECTED, violations

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.generation.mutation_points import MutationPoint
    from mcproof.generation.mutations import Mutation

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
    for point, mutation in _diverse([(each, found) for each in points for found in violations(each)]):
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


def _diverse(found: list[tuple[MutationPoint, Mutation]]) -> Iterator[tuple[MutationPoint, Mutation]]:
    """Yield wrong types last, as there are many similar ones, and one for every value before the others."""
    yield from (each for each in found if each[1].keyword != "type")
    wrong_types = [each for each in found if each[1].keyword == "type"]
    seen = set()
    for point, mutation in wrong_types:
        if point.path not in seen:
            seen.add(point.path)
            yield point, mutation
    yield from wrong_types
