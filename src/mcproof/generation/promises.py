"""Every promise of a schema, with calls that break it."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.core.observations.probes import ROOT
from mcproof.core.schema.validation import is_coerced
from mcproof.core.text.json_positions import escape
from mcproof.generation.json_values import canonical_json
from mcproof.generation.mutation_points import Visit, VisitExtent, value_at, with_property
from mcproof.generation.violations import SizeLimits, format_violations, promise_violations, unbreakable_bounds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.generation.mutation_points import MutationPoint, Path
    from mcproof.generation.mutations import Mutation
    from mcproof.generation.valid_values import ValueBuilder

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
    unbreakable = dict.fromkeys(each for point in points for each in _unbreakable(point) if each not in broken)
    is_complete = visit.is_complete and budget >= 0
    unvisited = [] if is_complete else [Promise(UNVISITED, each) for each in _keywords(builder.root[0])]
    return SchemaPromises(cases, [*unbreakable, *unvisited], points)


def _attempts(builder: ValueBuilder, points: list[MutationPoint]) -> Iterator[tuple[MutationPoint, Mutation]]:
    """The mutations that break a promise of a point; those of `dependentRequired` with the property that requires."""
    for point in points:
        yield from ((point, mutation) for mutation in _breaking(builder, point))
        for name in point.constraints.object.dependent_required if type(point.value) is dict else ():
            own = with_property(builder, point, name)
            if own is not None and own is not point.arguments:
                fuller = point._replace(arguments=own, has_own_arguments=True)
                found = ((fuller, mutation) for mutation in _breaking(builder, fuller))
                yield from (each for each in found if each[1].keyword == "dependentRequired")


def _keywords(schema: dict[str, Any]) -> list[str]:
    """The keywords of promises that occur anywhere in a schema, in the order of the schema."""
    found: dict[str, None] = {}
    waiting: list[Any] = [{name: each for name, each in schema.items() if name != "type"}] if schema else []
    while waiting:
        value = waiting.pop()
        if type(value) is dict:
            found |= dict.fromkeys(
                name
                for name in value
                if (name in _PROMISES and value[name] != []) or (name in _CLOSING and not value[name])
            )
            waiting += reversed(value.values())
        elif type(value) is list:
            waiting += reversed(value)
    return list(found)


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
