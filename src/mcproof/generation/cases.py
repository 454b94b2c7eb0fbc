"""Calls to send to a tool, each with what was done and whether the schema accepts it."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from mcproof.generation.boundaries import boundaries
from mcproof.generation.models import GeneratedCase
from mcproof.generation.oracle import Oracle
from mcproof.generation.sampling import Sampler
from mcproof.generation.spots import changed, spots, with_value
from mcproof.generation.valid_values import Builder, weight
from mcproof.generation.value_rules import spelled
from mcproof.generation.violations import UNEXPECTED, place_of, violations

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.generation.spots import Spot
    from mcproof.generation.violations import Change

__all__ = ["GeneratedCase", "Sampler", "deterministic_cases"]

MOST_CASES = 400
MOST_WEIGHT = 100_000
_MOST_VALID = 200
"""How many of the cases are valid ones, at most, so that there is room for the others."""


def deterministic_cases(
    schema: Any, base: dict[str, Any] | None = None, *, structural: bool = False
) -> Iterator[GeneratedCase]:
    """Cases in a stable order: valid ones, those at a bound, then one violation at a time.

    `base` are valid arguments to start from, instead of the smallest that were found; where the schema does not
    accept them they are left aside. With `structural` there are also a few arguments that are no object. The cases
    share parts with each other and with the schema, so nobody should change them.
    """
    oracle = Oracle(schema)
    if oracle.problem is not None:
        return
    builder = Builder(schema, oracle)
    is_own = base is not None and oracle.accepts(base)
    start = base if is_own else builder.arguments().value
    emitted: set[str] = set()
    for case in _all_cases(builder, start, is_own=is_own, structural=structural):
        is_known = oracle.accepts(case.arguments) if case.is_valid else oracle.refuses(case.arguments)
        if not is_known or weight(case.arguments) > MOST_WEIGHT:
            continue
        text = spelled(case.arguments)
        if text not in emitted:
            emitted.add(text)
            yield case
            if len(emitted) >= MOST_CASES:
                return


def fuller_arguments(schema: Any) -> dict[str, Any] | None:
    """Valid arguments with every optional property that fits beside the others; None where there are none more."""
    oracle = Oracle(schema)
    if oracle.problem is not None:
        return None
    builder = Builder(schema, oracle)
    start = builder.arguments().value
    return None if start is None else everything(builder, start, spots(builder, start))


def _all_cases(
    builder: Builder, start: dict[str, Any] | None, *, is_own: bool, structural: bool
) -> Iterator[GeneratedCase]:
    if structural:
        structured = [
            GeneratedCase(odd, False, f"{what} instead of an object", "type")
            for what, odd in (("a list", []), ("a string", "mcproof"), ("null", None))
        ]
    else:
        structured = []
    if start is None:
        for odd, what in (({}, "no arguments at all"), ({UNEXPECTED: 1}, f"an undeclared `{UNEXPECTED}`")):
            yield GeneratedCase(odd, False, what, *(builder.oracle.complaint(odd) or ()))
        yield from structured
        return
    yield GeneratedCase(start, True, "the given arguments" if is_own else "valid, small")
    builder.refresh()
    found = spots(builder, start)
    yield from islice(_valid_cases(builder, start, found), _MOST_VALID)
    yield from structured
    for spot, change in _by_turns([(each, broken) for each in found for broken in violations(each)]):
        arguments = changed(spot.frame, spot.path, change.change)
        yield GeneratedCase(arguments, False, change.what, change.keyword, place_of(spot, change))


def _valid_cases(builder: Builder, start: dict[str, Any], found: list[Spot]) -> Iterator[GeneratedCase]:
    full = everything(builder, start, found)
    if full is not None:
        yield GeneratedCase(full, True, "valid, with all optional properties")
    for spot in found:
        if spot.reading and spot.is_fresh:
            yield GeneratedCase(spot.frame, True, f"{spot.label} as alternative {spot.reading + 1}", "", spot.pointer)
    for spot in found:
        if spot.path and spot.reading == 0 and _is_optional(spot, start):
            yield GeneratedCase(spot.frame, True, f"with the optional {spot.label}", "", spot.pointer)
    for spot in found:
        for change in boundaries(spot):
            arguments = changed(spot.frame, spot.path, change.change)
            yield GeneratedCase(arguments, True, change.what, "", spot.pointer)


def _is_optional(spot: Spot, start: dict[str, Any]) -> bool:
    return len(spot.path) == 1 and spot.path[0] not in start


def everything(builder: Builder, start: dict[str, Any], found: list[Spot]) -> dict[str, Any] | None:
    """The arguments with every optional property that fits beside the others; None where there is none."""
    whole = start
    for spot in found:
        if _is_optional(spot, whole):
            more = with_value(whole, spot.path, spot.value)
            if builder.oracle.accepts(more):
                whole = more
    return None if whole is start else whole


def _by_turns(broken: list[tuple[Spot, Change]]) -> Iterator[tuple[Spot, Change]]:
    """Wrong types are many and alike: what breaks other rules comes first, then a wrong type for each place."""
    yield from (each for each in broken if each[1].keyword != "type")
    types = [each for each in broken if each[1].keyword == "type"]
    places = set()
    for spot, change in types:
        if spot.path not in places:
            places.add(spot.path)
            yield spot, change
    yield from types
