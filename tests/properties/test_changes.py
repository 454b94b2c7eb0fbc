"""Properties of the comparison, on random schemas: no breaking change is missed, and equal schemas have no changes."""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any

import jsonschema_rs
from hypothesis import assume, event, given, note
from hypothesis import strategies as st

from mcproof.checks.diff.items import compare_catalogs
from mcproof.core.text.json_positions import resolve
from mcproof.targets.snapshots import read_snapshot

from .layouts import as_objects, write
from .schemas import NAMES, PATTERNS, Instances, input_schemas, locations

if TYPE_CHECKING:
    from random import Random

    from mcproof.checks.diff.changes import CatalogChange
    from mcproof.core.catalog.model import Catalog

seeds = st.randoms(use_true_random=True)

COMBINING = {"allOf", "anyOf", "oneOf", "not", "if", "dependentSchemas", "$ref", "$dynamicRef"}
LEAVES: tuple[Any, ...] = (
    *({"type": "string"}, {"type": "integer"}, {"type": "number"}, {"type": "null"}, {"type": "boolean"}),
    *({"type": ["string", "null"]}, {"type": ["integer", "string"], "maxLength": 2}, {}, True, False),
    *({"enum": ["x", 1, None]}, {"enum": ["x"]}, {"const": "x"}, {"const": 1}, {"type": "string", "enum": ["x", "y"]}),
    *({"type": "integer", "minimum": 1}, {"type": "integer", "exclusiveMinimum": 0}, {"type": "number", "maximum": 1}),
    *({"type": "integer", "multipleOf": 2}, {"multipleOf": 4}, {"type": "string", "minLength": 2}, {"maxLength": 1}),
    *({"type": "string", "pattern": "^x"}, {"type": "string", "pattern": "x"}, {"pattern": "g$"}),
    *({"type": "array", "items": {"type": "string"}}, {"type": "array", "maxItems": 1}, {"minItems": 1}),
    *({"type": "array", "uniqueItems": True}, {"type": "array", "prefixItems": [{"type": "integer"}], "items": False}),
    *({"anyOf": [{"type": "string"}, {"type": "null"}]}, {"anyOf": [{"type": "string", "maxLength": 1}, {"const": 1}]}),
    *({"oneOf": [{"type": "string"}, {"type": "integer"}]}, {"oneOf": [{"type": "integer"}, {"multipleOf": 2}]}),
    *(
        {"anyOf": [{"type": "object", "properties": {"a": {"type": "string"}}}, {"type": "null"}]},
        {"not": {"const": 1}},
    ),
    *({"type": "object"}, {"type": "object", "properties": {"a": {}}, "required": ["a"]}, {"maxProperties": 1}),
)
TAGGED = [
    {"type": "object", "properties": {"a": {"const": "x"}, "b": {"type": "string"}}, "required": ["a"]},
    {"type": "object", "properties": {"a": {"const": 1}, "b": {"type": "integer"}}, "required": ["a"]},
    {"type": "object", "properties": {"a": {"const": 2}, "c d": {"minimum": 1}}, "required": ["a"]},
]
LEAVES += tuple({keyword: TAGGED[:size]} for keyword in ("anyOf", "oneOf") for size in (1, 2, 3))
SCALARS: tuple[Any, ...] = (
    "x",
    "y",
    "long text",
    "",
    1,
    2,
    0,
    -3,
    1.5,
    4,
    None,
    True,
    [],
    ["x"],
    [1],
    ["x", "x"],
    {},
    {"a": "x"},
    {"a": 1},
)


EDITS = ("drop", "leaf", "property", "property", "required", "additional", "combine", "whole", "type", "bound")
WHOLES: tuple[dict[str, Any], ...] = (
    *({"anyOf": [{"required": ["b"]}]}, {"anyOf": [{"required": ["a"]}, {"required": ["b"]}]}),
    *({"not": {"required": ["a"]}}, {"not": {"required": ["a", "b"]}}),
    *({"allOf": [{"properties": {"a": {"maxLength": 1}}}]}, {"allOf": [{"required": ["c d"]}]}),
    *({"dependentRequired": {"a": ["b"]}}, {"dependentRequired": {"a": ["c d", "e/~"]}}),
    *({"if": {}, "then": {"required": ["b"]}}, {"if": {"required": ["a"]}, "then": {"maxProperties": 1}}),
    *({"minProperties": 1}, {"minProperties": 3}, {"propertyNames": {"maxLength": 1}}),
    *({"enum": [{"a": 1}, {"b": "x"}, {}]}, {"dependentSchemas": {"a": {"required": ["b"]}}}),
)
"""Keywords that constrain an object as a whole."""


def catalog_of(schema: Any, key: str = "inputSchema") -> Catalog:
    return read_snapshot(json.dumps([{"name": "tool", key: schema}]).encode(), "catalog.json")


def changes(old: Any, new: Any, key: str = "inputSchema") -> list[CatalogChange]:
    return compare_catalogs(catalog_of(old, key), catalog_of(new, key))


def mutated(schema: Any, random: Random) -> Any:
    """The schema after one to three plausible edits."""
    schema = copy.deepcopy(schema)
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        holders = [each for _, each in locations(schema) if isinstance(each, dict)]
        _edit(random.choice(holders), random)
    return schema


def _edit(schema: dict[str, Any], random: Random) -> None:
    edit = random.choice(EDITS)
    leaf = copy.deepcopy(random.choice(LEAVES))
    name = random.choice(NAMES[:4])
    properties = schema.get("properties")
    if edit == "drop" and schema:
        del schema[random.choice(list(schema))]
    elif edit == "property" and isinstance(properties, dict):
        if name in properties and random.random() < 0.5:
            del properties[name]
        else:
            properties[name] = leaf
    elif edit == "required":
        required = schema.setdefault("required", [])
        required.remove(name) if name in required else required.append(name)
    elif edit == "additional":
        schema["additionalProperties"] = random.choice((True, False, {}, {"type": "string"}, leaf))
    elif edit == "combine":
        keyword = random.choice(("allOf", "anyOf", "oneOf"))
        schema.setdefault(keyword, []).append(leaf)
    elif edit == "whole":
        schema.update(copy.deepcopy(random.choice(WHOLES)))
    elif edit == "type":
        schema["type"] = random.choice(("object", "string", ["object", "null"], "integer"))
    elif edit == "bound":
        keyword = random.choice(("minLength", "maxLength", "minimum", "maxProperties", "minProperties", "maxItems"))
        schema[keyword] = random.choice((0, 1, 2, 3))
    elif edit == "leaf" and not properties and isinstance(leaf, dict):
        schema.clear()
        schema.update(leaf)


def pair_of(one: Any, other: Any, random: Random) -> tuple[Any, Any]:
    """Two versions of a schema in random order, or sometimes two unrelated schemas."""
    pair = [one, mutated(one, random) if random.random() < 0.9 else other]
    random.shuffle(pair)
    return pair[0], pair[1]


@st.composite
def simple_schemas(draw: st.DrawFn) -> Any:
    """A typical schema: an object of leaves, possibly with nested objects or a pattern."""

    def part(level: int) -> Any:
        if level and draw(st.integers(0, 3)) == 0:
            return shape(level - 1)
        return copy.deepcopy(draw(st.sampled_from(LEAVES)))

    def shape(level: int) -> dict[str, Any]:
        names = draw(st.lists(st.sampled_from(NAMES[:3]), unique=True, max_size=3))
        schema: dict[str, Any] = {"type": "object", "properties": {name: part(level) for name in names}}
        if draw(st.booleans()):
            schema["required"] = draw(st.lists(st.sampled_from(NAMES[:4]), unique=True, max_size=2))
        if draw(st.booleans()):
            schema["additionalProperties"] = draw(st.sampled_from((False, True, {"type": "string"})))
        if draw(st.integers(0, 7)) == 0:
            schema["patternProperties"] = {draw(st.sampled_from(PATTERNS)): part(0)}
        if draw(st.integers(0, 3)) == 0:
            schema |= copy.deepcopy(draw(st.sampled_from(WHOLES)))
        return schema

    return shape(2)


@st.composite
def undeclared_name_pairs(draw: st.DrawFn) -> tuple[Any, Any]:
    """An object that requires undeclared names, before and after adding a keyword for the whole object."""
    leaves = st.sampled_from(({"type": "string"}, {"type": ["string", "integer"]}, {}, {"maxLength": 3}))
    old: dict[str, Any] = {"type": "object", "properties": draw(st.dictionaries(st.sampled_from(NAMES[:3]), leaves))}
    for keyword, values in UNDECLARED_NAMES.items():
        if draw(st.booleans()):
            old[keyword] = draw(st.sampled_from(values))
    new = copy.deepcopy(old) | copy.deepcopy(draw(st.sampled_from(WHOLES)))
    if draw(st.booleans()):
        new["properties"] |= draw(st.dictionaries(st.sampled_from(NAMES), leaves, max_size=1))
    if draw(st.integers(0, 3)) == 0:
        old, new = ({"type": "object", "properties": {"a": each}, "required": ["a"]} for each in (old, new))
    return old, new


UNDECLARED_NAMES: dict[str, tuple[Any, ...]] = {
    "required": (["a", "b"], ["a", "c d"], ["c d"], ["e/~"]),
    "dependentRequired": ({"a": ["b"]}, {"a": ["c d", "e/~"]}, {"c d": ["a"]}),
    "minProperties": (1, 2, 3),
}

schemas = st.one_of(simple_schemas(), input_schemas(friendly=True), input_schemas())


def plain(schema: Any) -> Any:
    """The schema without properties that it neither names nor explicitly allows: callers should not send them."""
    schema = copy.deepcopy(schema)
    waiting = [(schema, True)]
    while waiting:
        here, is_root = waiting.pop()
        if not isinstance(here, dict):
            continue
        for keyword in ("properties", "patternProperties", "$defs", "x-parts", "dependentSchemas"):
            waiting += [(each, False) for each in here.get(keyword, {}).values()]
        for keyword in ("items", "additionalProperties"):
            waiting.append((here.get(keyword), False))
        waiting += [(each, False) for each in here.get("prefixItems", [])]
        branches = branches_of(here)
        for keyword in ("allOf", "anyOf", "oneOf"):
            for branch in here.get(keyword, []):
                if isinstance(branch, dict):
                    waiting += [(each, False) for each in branch.get("properties", {}).values()]
        required = dict.fromkeys((name for branch in branches for name in required_by(branch)), True)
        if any("enum" in branch or "const" in branch or "propertyNames" in branch for branch in branches):
            continue
        if max(branch.get("minProperties", 0) for branch in branches) > len(here.get("properties", {}) | required):
            continue
        is_described = bool(here.get("properties")) or not COMBINING.isdisjoint(here)
        if (is_described or is_root) and "unevaluatedProperties" not in here and "additionalProperties" not in here:
            here["unevaluatedProperties"] = False
            here["properties"] = required | here.get("properties", {})
    return schema


def branches_of(schema: dict[str, Any]) -> list[dict[str, Any]]:
    """A schema and its in-place subschemas; references are not followed."""
    found: list[dict[str, Any]] = []
    waiting: list[Any] = [schema]
    while waiting:
        here = waiting.pop()
        if isinstance(here, dict):
            found.append(here)
            waiting += [each for keyword in ("allOf", "anyOf", "oneOf") for each in here.get(keyword, [])]
            waiting += [here.get(keyword) for keyword in ("not", "if", "then", "else")]
            waiting += here.get("dependentSchemas", {}).values()
    return found


def required_by(schema: dict[str, Any]) -> list[str]:
    """The names that a schema requires, always or conditionally."""
    dependent = schema.get("dependentRequired", {})
    needed = [name for names in dependent.values() for name in names]
    return [*schema.get("required", []), *dependent, *needed]


def instances_of(schema: Any, random: Random, count: int = 25) -> list[Any]:
    """Objects that are likely to be valid."""
    likely = Instances(schema, random)
    found = []
    for _ in range(count):
        try:
            instance = likely.likely()
        except (KeyError, IndexError):  # an edit removed the target of a reference
            assume(False)
        if isinstance(instance, dict):
            for name in list(instance):
                if random.random() < 0.4:
                    instance[name] = copy.deepcopy(random.choice(SCALARS))
            found.append(instance)
    return found


def validator(schema: Any) -> jsonschema_rs.Validator:
    try:
        return jsonschema_rs.Draft202012Validator(schema, offline=True)
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError):
        assume(False)
        raise


@given(schemas, schemas, seeds)
def test_no_rejected_input_goes_unreported(old: Any, other: Any, random: Random) -> None:
    assert_rejections_are_reported(*pair_of(old, other, random), random)


@given(undeclared_name_pairs(), seeds)
def test_no_rejected_input_with_undeclared_names_goes_unreported(pair: tuple[Any, Any], random: Random) -> None:
    assert_rejections_are_reported(*pair, random)


def assert_rejections_are_reported(old: Any, new: Any, random: Random) -> None:
    before, expected, after = validator(old), validator(plain(old)), validator(new)
    rejected = [
        instance
        for instance in instances_of(old, random)
        if before.is_valid(instance) and expected.is_valid(instance) and not after.is_valid(instance)
    ]
    if not rejected:
        return
    event("some calls are rejected now")
    found = changes(old, new)
    note(f"old: {json.dumps(old)}\nnew: {json.dumps(new)}\n{json.dumps(rejected[0])}")
    note("\n".join(f"{change.kind.id} {change.breaking} {change.message}" for change in found))
    assert any(change.breaking is not False for change in found)


@given(schemas, schemas, seeds)
def test_no_unexpected_output_goes_unreported(old: Any, other: Any, random: Random) -> None:
    old, new = pair_of(old, other, random)
    before, after = validator(old), validator(new)
    unexpected = [
        instance for instance in instances_of(new, random) if after.is_valid(instance) and not before.is_valid(instance)
    ]
    if not unexpected:
        return
    event("some results are unexpected")
    found = changes(old, new, "outputSchema")
    note(f"old: {json.dumps(old)}\nnew: {json.dumps(new)}\n{json.dumps(unexpected[0])}")
    note("\n".join(f"{change.kind.id} {change.breaking} {change.message}" for change in found))
    assert any(change.breaking is not False for change in found)


@given(schemas)
def test_a_catalog_has_no_changes_from_itself(schema: Any) -> None:
    assert changes(schema, schema) == []
    assert changes(schema, schema, "outputSchema") == []


@given(schemas, schemas, seeds)
def test_order_and_layout_are_not_changes(one: Any, other: Any, random: Random) -> None:
    tools = [
        {"name": "search", "description": "Find tickets.", "inputSchema": one},
        {"name": "answer", "outputSchema": other},
        {"description": "no name", "inputSchema": other},
        {"name": "twice", "inputSchema": one},
        {"name": "twice", "inputSchema": other},
    ]
    before = read_snapshot(json.dumps(tools).encode(), "old.json")
    random.shuffle(tools)
    after = read_snapshot(write(as_objects(shuffled(tools, random)), random).text.encode(), "new.json")

    assert compare_catalogs(before, after) == []


def shuffled(value: Any, random: Random) -> Any:
    """The same value with the members of every object in another order."""
    if isinstance(value, dict):
        return {key: shuffled(value[key], random) for key in random.sample(list(value), len(value))}
    return [shuffled(each, random) for each in value] if isinstance(value, list) else value


@given(schemas, schemas, seeds)
def test_every_change_has_an_existing_location(one: Any, other: Any, random: Random) -> None:
    old, new = (catalog_of(schema) for schema in pair_of(one, other, random))

    for change in compare_catalogs(old, new):
        document = (old if change.is_old else new).document.value
        resolve(document, change.item.pointer + change.pointer)  # raises LookupError if it does not exist
