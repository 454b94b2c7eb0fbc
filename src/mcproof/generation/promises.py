"""Every promise of a schema, with calls that break it."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.generation.coercion import is_coerced
from mcproof.generation.json_values import canonical_json
from mcproof.generation.mutation_points import mutation_points, value_at
from mcproof.generation.violations import SizeLimits, format_violations, promise_violations, unbreakable_bounds
from mcproof.text.pointers import escape

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.generation.mutation_points import MutationPoint, Path
    from mcproof.generation.mutations import Mutation
    from mcproof.generation.valid_values import ValueBuilder

ROOT = "(root)"
"""The name of the arguments as a whole."""
MAX_POINTS = 3_000
"""How many values of one schema are visited."""
LIMITS = SizeLimits(characters=1_048_576, items=20_000)
_MEMBERS = ("required", "dependentRequired")
"""The keywords whose promise is about a member of an object."""


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
    """Promises that no case breaks."""
    is_complete: bool
    """Whether every value of the schema was visited."""
    points: list[MutationPoint]


def promises_of(builder: ValueBuilder, base: dict[str, Any]) -> SchemaPromises:
    """The promises of a schema, broken one at a time in valid arguments."""
    builder.reset_effort()
    visited = mutation_points(builder, base, MAX_POINTS)
    points = _without_recursion(visited)
    cases: list[PromiseCase] = []
    seen = {digest_of(base)}
    types: dict[Path, set[str]] = {}
    for point in points:
        types.setdefault(point.path, set()).update(point.constraints.types)
    for point in points:
        for mutation in _breaking(builder, point):
            arguments = point.mutated(mutation)
            digest = digest_of(arguments)
            if digest in seen:
                continue
            seen.add(digest)
            case = _case(builder, point, mutation, digest)
            if mutation.keyword == "type" and is_coerced(value_at(arguments, point.path), types[point.path]):
                case = case._replace(is_lenient=True)  # another branch of a union may convert it
            cases.append(case)
    broken = {case.promise for case in cases if not case.is_lenient}
    unbreakable = dict.fromkeys(each for point in points for each in _unbreakable(point) if each not in broken)
    return SchemaPromises(cases, list(unbreakable), len(visited) < MAX_POINTS, points)


def _without_recursion(points: list[MutationPoint]) -> list[MutationPoint]:
    """The points without those where a schema occurs inside itself more than once: they repeat promises."""
    ids: dict[Path, set[int]] = {}
    for point in points:
        ids.setdefault(point.path, set()).update(point.constraints.merged_ids)
    depths: dict[Path, int] = {}
    for path, own in ids.items():  # parents come first
        ancestors = [ids.get(path[:length], set()) for length in range(len(path))]
        is_inside_itself = any(not own.isdisjoint(each) for each in ancestors)
        depths[path] = depths.get(path[:-1], 0) + is_inside_itself if path else 0
    return [point for point in points if depths[point.path] <= 1]


def digest_of(arguments: Any) -> bytes:
    """A digest of a value; equal for equal values."""
    return sha256(canonical_json(arguments).encode(errors="surrogatepass")).digest()


def _breaking(builder: ValueBuilder, point: MutationPoint) -> Iterator[Mutation]:
    """The mutations that break a promise for certain; one for each pattern and format."""
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
