"""Random input schemas whose parts get in each other's way, and instances that have a chance to match them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random

Schema = Any
Location = tuple[str, Any]
"""A pointer and the schema that stands there."""

NAMES = ("a", "b", "c d", "e/~")
PATTERNS = ("^a", "b", "^[ce]")
DOCUMENT = "https://example.com/schema.json"
LEAVES: tuple[Schema, ...] = (
    {"type": "string"},
    {"type": "string", "maxLength": 3},
    {"type": "integer", "default": 1},
    {"type": ["string", "null"]},
    {"enum": ["x", 1, None]},
    {"const": "x"},
    {"type": "null"},
    {"type": "array", "maxItems": 2},
    {"description": "whatever"},
    {},
    True,
)
FRIENDLY_LEAVES: tuple[Schema, ...] = ({"type": "string"}, {}, {"type": ["string", "null"]}, True)
"""Schemas that agree about the values they accept, so that few combinations contradict themselves."""

_UNIONS = ("anyOf", "oneOf")
_TESTS = ("not", "if", "then", "else")
_LISTS = ("allOf", *_UNIONS, "prefixItems")
_MAPS = ("properties", "patternProperties", "$defs", "dependentSchemas")
_SINGLES = ("items", "contains", "additionalProperties", "unevaluatedProperties", "propertyNames", *_TESTS)
_SAME_VALUE = ("allOf", *_UNIONS, *_TESTS, "dependentSchemas")
_REFERENCES = ("$ref", "$dynamicRef")


@st.composite
def input_schemas(draw: st.DrawFn, *, unions: bool = True, friendly: bool = False) -> Schema:
    """A valid schema of draft 2020-12 without references that lead round in a circle on one value.

    A friendly one is made of fewer names and leaves, so that one value is often judged by several schemas, and few
    of them contradict each other.
    """
    grow = _Grower(draw, unions=unions, friendly=friendly)
    root: dict[str, Any] = grow.object(3)
    if friendly and unions:
        root.setdefault("properties", {})["e/~"] = grow.turned()
    for keyword in ("$defs", "x-parts"):  # where schemas usually stand aside, and where none is expected
        size = draw(st.sampled_from((0, 0, 1, 2, 3) if keyword == "$defs" else (0, 0, 0, 1)))
        if size:
            root[keyword] = {f"d {at}" if at else "d": grow.schema(2) for at in range(size)}
    if draw(st.sampled_from((False, False, True))):
        root["$id"] = DOCUMENT
    _tie_references(root)
    return root


class _Grower:
    """Draws schemas; a reference is a number at first and is tied to a target when all targets are there."""

    def __init__(self, draw: st.DrawFn, *, unions: bool, friendly: bool) -> None:
        self.draw = draw
        self.names = NAMES[:2] if friendly else NAMES
        self.leaves = FRIENDLY_LEAVES if friendly else LEAVES
        self.kinds = ["leaf", *["object"] * (4 if friendly else 2), "leaf", "array", "reference", "combined"]
        self.combinations = (0, 0, 1, 1, 2) if friendly else (0, 0, 0, 0, 1, 1, 2)
        self.combiners = ["allOf", "$ref", "$ref", "$dynamicRef", "if", "dependentSchemas"]
        self.combiners += ["not", "anyOf", "anyOf", "oneOf", "oneOf"] if unions else ["allOf"]

    def pick(self, *values: Any) -> Any:
        return self.draw(st.sampled_from(values))

    def schema(self, depth: int) -> Schema:
        kind = self.pick(*self.kinds) if depth > 0 else "leaf"
        if kind == "object":
            return self.object(depth)
        if kind == "array":
            return self.array(depth)
        if kind == "combined":
            return self.combine({}, depth, at_least=1)
        if kind == "reference":
            return {"$ref": self.draw(st.integers(0, 999))}
        leaf = self.pick(*self.leaves)
        return dict(leaf) if isinstance(leaf, dict) else leaf

    def schemas(self, depth: int, *sizes: int) -> list[Schema]:
        return [self.schema(depth - 1) for _ in range(self.pick(*sizes))]

    def some(self, names: tuple[str, ...], smallest: int = 0) -> list[str]:
        chosen: list[str] = self.draw(st.lists(st.sampled_from(names), min_size=smallest, max_size=3, unique=True))
        return chosen

    def object(self, depth: int) -> dict[str, Any]:
        schema: dict[str, Any] = {}
        if kind := self.pick("object", "object", "object", None, ["object", "null"]):
            schema["type"] = kind
        if self.pick(False, True, True, True) or not schema:
            schema["properties"] = {name: self.schema(depth - 1) for name in self.some(self.names)}
        if self.pick(False, False, False, True):
            schema["required"] = self.some(self.names)
        additional = self.pick(*["absent"] * 6, "true", "empty", "false", "schema")
        if additional == "schema":
            schema["additionalProperties"] = self.schema(depth - 1)
        elif additional != "absent":
            schema["additionalProperties"] = {"true": True, "empty": {}, "false": False}[additional]
        if self.pick(*[False] * 6, True):
            schema["patternProperties"] = {name: self.schema(depth - 1) for name in self.some(PATTERNS, 1)}
        if self.pick(*[False] * 9, True):
            schema["unevaluatedProperties"] = self.pick(False, True, {"type": "string"})
        if self.pick(*[False] * 9, True):
            schema["minProperties"] = 1
        return self.combine(schema, depth)

    def turned(self) -> Schema:
        """A schema that accepts less where what it refers to accepts more."""
        reference = {"$ref": self.draw(st.integers(0, 999))}
        inner = self.pick(reference, {"properties": {"a": reference}}, {"items": reference})
        return self.pick(
            {"not": inner},
            {"oneOf": [inner, {"type": "object"}]},
            {"oneOf": [{"properties": {"a": {"type": "object", "properties": {"b": {}}}}}, {"type": "object"}]},
            {"if": inner, "then": False},
            {"contains": inner, "minContains": 0, "maxContains": 0},
            {"if": {"anyOf": [inner]}, "then": {"required": ["b"]}},
        )

    def array(self, depth: int) -> dict[str, Any]:
        schema: dict[str, Any] = {"type": "array"} if self.pick(True, True, False) else {}
        if self.pick(False, True, True) or not schema:
            schema["items"] = self.schema(depth - 1)
        if self.pick(False, False, True):
            schema["prefixItems"] = self.schemas(depth, 1, 2)
        if self.pick(*[False] * 6, True):
            schema["contains"] = self.schema(depth - 1)
        return schema

    def combine(self, schema: dict[str, Any], depth: int, at_least: int = 0) -> dict[str, Any]:
        """Put other schemas that judge the same value beside what is there."""
        for _ in range(max(at_least, self.pick(*self.combinations))):
            keyword = self.pick(*self.combiners)
            if keyword in _REFERENCES:
                schema[keyword] = self.draw(st.integers(0, 999))
            elif keyword in _LISTS:
                schema[keyword] = self.schemas(depth, 2, 2, 1, 3)
            elif keyword == "dependentSchemas":
                schema[keyword] = {name: self.schema(depth - 1) for name in self.some(self.names, 1)}
            elif keyword == "if":
                schema["if"] = self.schema(depth - 1)
                for outcome in self.some(("then", "else"), 1):
                    schema[outcome] = self.schema(depth - 1)
            else:
                schema[keyword] = self.schema(depth - 1)
        return schema


def locations(schema: Schema, pointer: str = "") -> Iterator[Location]:
    """Every schema of a generated document with its pointer, parents first."""
    yield pointer, schema
    if not isinstance(schema, dict):
        return
    for keyword, value in schema.items():
        below = f"{pointer}/{escaped(keyword)}"
        if keyword in _LISTS:
            for at, entry in enumerate(value):
                yield from locations(entry, f"{below}/{at}")
        elif keyword in _MAPS or keyword == "x-parts":
            for name, entry in value.items():
                yield from locations(entry, f"{below}/{escaped(name)}")
        elif keyword in _SINGLES:
            yield from locations(value, below)


def escaped(token: str) -> str:
    return token.replace("~", "~0").replace("/", "~1")


def _tie_references(root: dict[str, Any]) -> None:
    """Give every numbered reference a target, in one of the ways to spell it; drop those that would never end."""
    places = list(locations(root))
    targets: dict[int, list[Any]] = {}
    for _, holder in places:
        for keyword in _REFERENCES:
            number = holder.get(keyword) if isinstance(holder, dict) else None
            if number is None:
                continue
            pointer, target = places[number % len(places)]
            if _reaches(target, holder, targets):
                del holder[keyword]
                continue
            targets.setdefault(id(holder), []).append(target)
            holder[keyword] = _spelled(root, pointer, target, number // 37 % 6)


def _reaches(start: Schema, goal: Schema, targets: dict[int, list[Any]]) -> bool:
    """Whether judging a value by `start` comes to judging the same value by `goal`."""
    waiting, met = [start], set()
    while waiting:
        schema = waiting.pop()
        if schema is goal:
            return True
        if isinstance(schema, dict) and id(schema) not in met:
            met.add(id(schema))
            waiting += [part for _, part in _same_value_parts(schema)] + targets.get(id(schema), [])
    return False


def _same_value_parts(schema: dict[str, Any]) -> Iterator[tuple[str, Schema]]:
    for keyword in _SAME_VALUE:
        if keyword in schema:
            value = schema[keyword]
            parts = value if keyword in _LISTS else value.values() if keyword == "dependentSchemas" else [value]
            for part in parts:
                yield keyword, part


def _spelled(root: dict[str, Any], pointer: str, target: Schema, style: int) -> str:
    """A reference to the schema at a pointer: by pointer, percent-encoded, by anchor or by the document's address."""
    if style == 0 and isinstance(target, dict) and pointer and not pointer.startswith("/x-parts"):
        return "#" + str(target.setdefault("$anchor", f"anchor{len(pointer)}-{sum(map(ord, pointer))}"))
    fragment = quote(pointer, safe="/~$" if style > 3 else "/")
    return f"{root['$id']}#{fragment}" if "$id" in root and style % 2 else f"#{fragment}"


class EndlessError(Exception):
    """Every declared property asks for another object: no instance has them all."""


class Instances:
    """Values for a schema, made from what the schema says about them."""

    def __init__(self, root: dict[str, Any], random: Random) -> None:
        self.random = random
        self._root = root
        self._by_text = {f"#{quote(pointer, safe=safe)}": each for pointer, each in locations(root) for safe in _SAFE}
        self._by_text |= {f"#{each['$anchor']}": each for _, each in locations(root) if _is_anchored(each)}

    def likely(self) -> Any:
        """A value that may or may not be an instance: what is declared mostly, and sometimes something else."""
        return self._likely([self._root], 0)

    def complete(self) -> Any:
        """The value with every declared property and nothing else."""
        return self._complete([self._root], 0)

    def _target(self, text: str) -> Schema:
        return self._by_text["#" + text.partition("#")[2]]

    def _judging(self, schemas: list[Schema], *, by_chance: bool) -> list[dict[str, Any]]:
        """All schemas that judge one value, those that may with luck or not; `true` and `false` left out."""
        waiting, found = list(schemas), []
        while waiting:
            schema = waiting.pop()
            if not isinstance(schema, dict):
                continue
            found.append(schema)
            waiting += [self._target(schema[keyword]) for keyword in _REFERENCES if keyword in schema]
            for keyword, part in _same_value_parts(schema):
                if keyword == "allOf" or (by_chance and self.random.random() < (0.3 if keyword == "not" else 0.6)):
                    waiting.append(part)
        return found

    def _likely(self, schemas: list[Schema], depth: int) -> Any:
        random = self.random
        judging = self._judging(schemas, by_chance=True)
        kinds = [kind for schema in judging for kind in _kinds(schema)]
        kind = random.choice(kinds) if kinds and random.random() < 0.95 else "any"
        if depth > 5:
            kind = "any"
        if kind == "object":
            names = {name: random.random() < 0.75 for schema in judging for name in schema.get("properties", ())}
            names |= {name: True for schema in judging for name in schema.get("required", ()) if random.random() < 0.9}
            names |= {name: random.random() < 0.7 for name in _beside(judging, names) if name not in names}
            names |= {name: True for name in NAMES if random.random() < 0.08}
            return {name: self._likely(_of_property(judging, name), depth + 1) for name in names if names[name]}
        if kind == "array":
            return [self._likely(_of_entry(judging, at), depth + 1) for at in range(random.choice((0, 1, 1, 2, 3)))]
        if kind == "value":
            named = [schema for schema in judging if "enum" in schema or "const" in schema]
            schema = random.choice(named)
            return random.choice(schema["enum"]) if "enum" in schema else schema["const"]
        scalars: dict[str, tuple[Any, ...]] = {"string": ("x", "long text"), "integer": (1,), "null": (None,)}
        return random.choice(scalars.get(kind, ("x", 1, None, True, {}, {"a": "x"}, [], ["x"])))

    def _complete(self, schemas: list[Schema], depth: int) -> Any:
        if depth > 8:
            raise EndlessError
        judging = self._judging(schemas, by_chance=False)
        kinds = {kind for schema in judging for kind in _kinds(schema)}
        if "object" in kinds:
            names = dict.fromkeys(name for schema in judging for name in schema.get("properties", ()))
            return {name: self._complete(_of_property(judging, name), depth + 1) for name in names}
        if "array" in kinds:
            length = max((len(schema.get("prefixItems", ())) for schema in judging), default=0)
            length = length or (1 if depth < 5 and any("items" in schema for schema in judging) else 0)
            return [self._complete(_of_entry(judging, at), depth + 1) for at in range(length)]
        if "value" in kinds or "string" in kinds:
            return "x"
        return None if "null" in kinds else 1


_SAFE = ("/", "/~$")


def _is_anchored(schema: Schema) -> bool:
    return isinstance(schema, dict) and "$anchor" in schema


def _kinds(schema: dict[str, Any]) -> list[str]:
    """What a schema on its own suggests that a value be."""
    if "enum" in schema or "const" in schema:
        return ["value"]
    if "type" in schema:
        return [schema["type"]] if isinstance(schema["type"], str) else list(schema["type"])
    if "properties" in schema or "patternProperties" in schema or "required" in schema:
        return ["object"]
    return ["array"] if "items" in schema or "prefixItems" in schema or "contains" in schema else []


def _beside(judging: list[dict[str, Any]], names: dict[str, bool]) -> Iterator[str]:
    """The names that schemas require beside those that are there."""
    for schema in judging:
        for name, needed in schema.get("dependentRequired", {}).items():
            if names.get(name):
                yield from needed


def _of_property(judging: list[dict[str, Any]], name: str) -> list[Schema]:
    """The schemas that judge the value of a property."""
    found: list[Schema] = []
    for schema in judging:
        own = [schema["properties"][name]] if name in schema.get("properties", ()) else []
        own += [each for pattern, each in schema.get("patternProperties", {}).items() if re.search(pattern, name)]
        found += own or ([schema["additionalProperties"]] if "additionalProperties" in schema else [])
    return found


def _of_entry(judging: list[dict[str, Any]], at: int) -> list[Schema]:
    """The schemas that judge an entry of an array."""
    found: list[Schema] = []
    for schema in judging:
        first = schema.get("prefixItems", [])
        found += [first[at]] if at < len(first) else [schema["items"]] if "items" in schema else []
        found += [schema["contains"]] if "contains" in schema and at % 2 else []
    return found
