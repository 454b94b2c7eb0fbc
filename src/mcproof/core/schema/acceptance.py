"""What a schema accepts, as far as its structure shows.

The acceptance of a schema follows from its branches and from the target of its reference. Results are cached and
computed without recursion: a chain of fifty thousand references, or a union of unions that would unfold
exponentially, costs one visit per schema. Only circular references are visited repeatedly, until the results are
stable: a schema that refers only to itself accepts nothing on its own.
Why nothing here recurses: docs/decisions/0010-hostile-input.md.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from mcproof.core.named_tuple import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcproof.core.schema.tree import SchemaTree

_UNIONS = ("anyOf", "oneOf")
_COMBINING = frozenset({"$ref", "$dynamicRef", "allOf", "not", *_UNIONS})
_BEYOND_ANY_OF = _COMBINING - {"anyOf"}
_SIZE_BOUNDS = {"string": "maxLength", "array": "maxItems"}
_GROWING = frozenset(_SIZE_BOUNDS)
_NARROWING = frozenset({"type", "enum", "const", *_SIZE_BOUNDS.values()})
_NOTHING: frozenset[str] = frozenset()
ANNOTATIONS = frozenset(
    {"title", "description", "default", "examples", "example", "deprecated", "readOnly", "writeOnly", "$comment"}
    | {"$schema", "$id", "id", "$anchor", "$dynamicAnchor", "$recursiveAnchor", "$vocabulary", "$defs", "definitions"}
    | {"enumNames", "enumDescriptions", "markdownDescription", "externalDocs", "discriminator"}
)
"""Keywords that reject nothing: annotations, identifiers and containers of definitions."""
_MOST_STEPS = 50
"""The most nested schemas to follow for a constant verdict."""


class Acceptance(NamedTuple):
    """What a schema accepts."""

    is_constrained: bool
    """Whether a type, a value or a combination of schemas constrains it."""
    growing: frozenset[str]
    """The types, of `string` and `array`, that it names, itself or in a branch."""
    unbounded: frozenset[str]
    """Those of the two that have no size limit."""
    admits_null: bool
    """Whether nothing in it excludes null."""


_ANYTHING = Acceptance(False, _NOTHING, _GROWING, True)
_NO_SCHEMA = Acceptance(True, _NOTHING, _NOTHING, False)
"""`false`, a value that is not a schema, and the initial value for circular references."""
_UNKNOWN = Acceptance(True, _NOTHING, _GROWING, True)
"""The target of an unresolvable reference, which another rule reports, or of one only known at validation time."""
_FIXED_SIZE = Acceptance(True, _NOTHING, _NOTHING, False)
_NULL = Acceptance(True, _NOTHING, _NOTHING, True)
_BOUNDED = {kind: Acceptance(True, frozenset({kind}), _NOTHING, False) for kind in _SIZE_BOUNDS}
_UNBOUNDED = {kind: Acceptance(True, frozenset({kind}), frozenset({kind}), False) for kind in _SIZE_BOUNDS}


def accepts_anything(schema: Any, tree: SchemaTree) -> bool:
    """Whether a schema constrains nothing."""
    if type(schema) is dict and "type" in schema:  # the common case
        return False
    return not acceptance(schema, tree).is_constrained


def unbounded_kinds(schema: Any, tree: SchemaTree) -> frozenset[str]:
    """The types, of `string` and `array`, that a schema names without a size limit."""
    if type(schema) is dict and type(kind := schema.get("type")) is str and _COMBINING.isdisjoint(schema):
        # The common case.
        bound = _SIZE_BOUNDS.get(kind)
        if bound is None or bound in schema or "enum" in schema or "const" in schema:
            return _NOTHING
        return _UNBOUNDED[kind].unbounded
    answer = acceptance(schema, tree)
    return answer.growing & answer.unbounded if answer.is_constrained else _NOTHING


def admits_null(schema: Any, tree: SchemaTree) -> bool:
    """Whether a schema accepts null."""
    return acceptance(schema, tree).admits_null


def accepts_nothing(schema: Any, tree: SchemaTree) -> bool:
    """Whether a schema visibly rejects every value: `false`, `{"not": {}}`, an empty `enum`."""
    if type(schema) is dict and "type" in schema and "not" not in schema:  # the common case
        return False
    return _excludes_all(schema, tree) or _constant_verdict(schema, tree) is False


def _excludes_all(schema: Any, tree: SchemaTree) -> bool:
    """Whether the `not` of a schema excludes every value."""
    return type(schema) is dict and "not" in schema and _constant_verdict(schema["not"], tree) is True


def _constant_verdict(schema: Any, tree: SchemaTree) -> bool | None:
    """True if a schema visibly accepts every value, False if it rejects every value, None otherwise."""
    accepts = True
    for _ in range(_MOST_STEPS):
        if type(schema) is bool:
            return schema is accepts
        if type(schema) is not dict:
            return None
        asserted = [keyword for keyword in schema if keyword not in ANNOTATIONS]
        if not asserted:
            return accepts
        if len(asserted) > 1:
            return None
        keyword = asserted[0]
        branches = _branches(schema, keyword)
        if keyword == "not":
            schema, accepts = schema["not"], not accepts
        elif keyword == "$ref":
            schema = tree.references.target(schema)
        elif keyword in ("allOf", *_UNIONS) and len(branches) == 1:
            schema = branches[0]
        else:
            return not accepts if keyword == "enum" and schema["enum"] == [] else None
    return None


def is_declared_optional(schema: Any, tree: SchemaTree) -> bool:
    """Whether a property is declared optional: by a default, or by accepting null."""
    return (type(schema) is dict and "default" in schema) or admits_null(schema, tree)


def acceptance(schema: Any, tree: SchemaTree) -> Acceptance:
    """What a schema accepts, including the schemas it combines."""
    if type(schema) is not dict:
        return _ANYTHING if schema is True else _NO_SCHEMA
    if _COMBINING.isdisjoint(schema):
        return _own(schema)
    cached: dict[int, Acceptance] = tree.answers
    answer = cached.get(id(schema))
    if answer is None:
        if "anyOf" in schema and _BEYOND_ANY_OF.isdisjoint(schema):
            answer = _of_plain_union(schema)
        if answer is not None:
            cached[id(schema)] = answer
        elif _parts(schema, tree):
            _settle(schema, tree, cached)
            answer = cached[id(schema)]
        else:
            answer = cached[id(schema)] = _combined(schema, tree, cached)
    return answer


def _of_plain_union(schema: dict[str, Any]) -> Acceptance | None:
    """What a schema with an `anyOf` of plain schemas accepts, as most unions are; None for any other union."""
    branches = []
    for branch in _branches(schema, "anyOf"):
        if type(branch) is not dict or not _COMBINING.isdisjoint(branch):
            return None
        branches.append(_own(branch))
    return _both(_own(schema), _either(tuple(branches))) if branches else None


def _settle(schema: dict[str, Any], tree: SchemaTree, cached: dict[int, Acceptance]) -> None:
    """Compute the acceptance of `schema` and of all schemas it combines, parts before wholes.

    Where references are circular, repeat until nothing changes; values only grow in one direction, so this terminates.
    """
    ordered: list[dict[str, Any]] = []
    wholes: dict[int, list[dict[str, Any]]] = {}
    opened: set[int] = set()
    waiting = [schema]
    while waiting:
        current = waiting[-1]
        if id(current) not in opened:
            opened.add(id(current))
            for part in _parts(current, tree):
                wholes.setdefault(id(part), []).append(current)
                if id(part) not in opened and id(part) not in cached:
                    waiting.append(part)
        else:
            waiting.pop()
            if id(current) not in cached:
                cached[id(current)] = _NO_SCHEMA
                ordered.append(current)
    position = {id(combining): number for number, combining in enumerate(ordered)}
    pending = set(position.values())
    while pending:
        for index in sorted(pending):
            pending.discard(index)
            combining = ordered[index]
            answer = _combined(combining, tree, cached)
            if answer != cached[id(combining)]:
                cached[id(combining)] = answer
                pending.update(position[id(whole)] for whole in wholes.get(id(combining), ()) if id(whole) in position)


def _parts(schema: dict[str, Any], tree: SchemaTree) -> list[dict[str, Any]]:
    """The combining schemas that apply to the same value as `schema`."""
    parts = [branch for keyword in ("allOf", *_UNIONS) if keyword in schema for branch in _branches(schema, keyword)]
    if "$ref" in schema:
        parts.append(tree.references.target(schema))
    return [part for part in parts if type(part) is dict and not _COMBINING.isdisjoint(part)]


def _branches(schema: dict[str, Any], keyword: str) -> list[Any]:
    branches = schema.get(keyword)
    return branches if type(branches) is list else []


def _own(schema: dict[str, Any]) -> Acceptance:
    """What a schema's own keywords accept."""
    kind = schema.get("type")
    if type(kind) is str and "enum" not in schema and "const" not in schema:  # the common case
        bound = _SIZE_BOUNDS.get(kind)
        if bound is None:
            return _NULL if kind == "null" else _FIXED_SIZE
        return _BOUNDED[kind] if bound in schema else _UNBOUNDED[kind]
    if _NARROWING.isdisjoint(schema):
        return _ANYTHING
    kinds = [name for name in (kind if type(kind) is list else [kind]) if type(name) is str]
    growing = _GROWING.intersection(kinds)
    if "const" in schema:
        return Acceptance(True, growing, _NOTHING, schema["const"] is None)
    if "enum" in schema:
        values = schema["enum"]
        return Acceptance(True, growing, _NOTHING, type(values) is list and any(value is None for value in values))
    possible = growing if "type" in schema else _GROWING
    unbounded = frozenset(name for name in possible if _SIZE_BOUNDS[name] not in schema)
    return Acceptance("type" in schema, growing, unbounded, "type" not in schema or "null" in kinds)


def _combined(schema: dict[str, Any], tree: SchemaTree, cached: dict[int, Acceptance]) -> Acceptance:
    """All of a schema's own keywords, its reference and `allOf` must hold, and one branch of each union."""

    def answer(part: Any) -> Acceptance:
        if type(part) is not dict:
            return _ANYTHING if part is True else _NO_SCHEMA
        return _own(part) if _COMBINING.isdisjoint(part) else cached.get(id(part), _NO_SCHEMA)

    result = _own(schema)
    if isinstance(schema.get("$ref"), str):
        target = tree.references.target(schema)
        result = _both(result, _UNKNOWN if target is None else answer(target))
    if isinstance(schema.get("$dynamicRef"), str):  # its target is only known at validation time
        result = _both(result, _UNKNOWN)
    if _excludes_all(schema, tree):
        result = _both(result, _NO_SCHEMA)
    for branch in _branches(schema, "allOf"):
        result = _both(result, answer(branch))
    for keyword in _UNIONS:
        if branches := _branches(schema, keyword):
            result = _both(result, _either(tuple(map(answer, branches))))
    return result


def _both(one: Acceptance, other: Acceptance) -> Acceptance:
    if one is _ANYTHING:
        return other
    return Acceptance(
        one.is_constrained or other.is_constrained,
        one.growing | other.growing,
        one.unbounded & other.unbounded,
        one.admits_null and other.admits_null,
    )


@lru_cache(maxsize=256)  # most unions combine the same few types
def _either(branches: tuple[Acceptance, ...]) -> Acceptance:
    is_constrained, growing, unbounded, admits_null = True, _NOTHING, _NOTHING, False
    for branch in branches:
        is_constrained = is_constrained and branch.is_constrained
        growing |= branch.growing
        unbounded |= branch.unbounded
        admits_null = admits_null or branch.admits_null
    return Acceptance(is_constrained, growing, unbounded, admits_null)


KINDS = frozenset({"null", "boolean", "number", "string", "array", "object"})
"""The kinds of JSON values; an integer is a number."""
_MOST_VISITS = 300
"""The most schemas to visit; unvisited ones are taken to exclude nothing."""


def kinds_of(schema: Any, tree: SchemaTree) -> frozenset[str]:
    """The kinds of values a schema does not exclude, judged by types and listed values."""
    visits = 0

    def kinds(schema: Any) -> frozenset[str]:
        nonlocal visits
        visits += 1
        if type(schema) is not dict or visits > _MOST_VISITS:
            return _NOTHING if schema is False else KINDS
        remaining = _named_kinds(schema)
        if "$ref" in schema and visits < _MOST_VISITS // 10:
            remaining &= kinds(tree.references.target(schema))
        if _excludes_all(schema, tree):
            return _NOTHING
        for branch in _branches(schema, "allOf"):
            remaining &= kinds(branch)
        for keyword in _UNIONS:
            if branches := _branches(schema, keyword):
                remaining &= frozenset().union(*map(kinds, branches))
        return remaining

    return kinds(schema)


def are_all_optional(properties: Iterable[Any], tree: SchemaTree) -> bool:
    """Whether every property has a default or names null among its types, unlike one that accepts anything."""
    return all(
        (type(schema) is dict and "default" in schema)
        or ("null" in (kinds := kinds_of(schema, tree)) and kinds != KINDS)
        for schema in properties
    )


def _named_kinds(schema: dict[str, Any]) -> frozenset[str]:
    """The kinds a schema itself names."""
    kinds = KINDS
    named = schema.get("type")
    listed = [named] if isinstance(named, str) else named
    if isinstance(listed, list):
        kinds = frozenset("number" if kind == "integer" else kind for kind in listed if isinstance(kind, str)) & KINDS
    for values in ([schema["const"]] if "const" in schema else None, schema.get("enum")):
        if isinstance(values, list):
            kinds &= frozenset(map(_kind, values))
    return kinds


def _kind(value: Any) -> str:
    kinds = {bool: "boolean", int: "number", float: "number", str: "string", list: "array", dict: "object"}
    return kinds.get(type(value), "null")
