"""What all the schemas that judge one value say about it together.

References and `allOf` are followed, and of each union one branch is taken: a place is what is left, the bounds of
one value. Where a schema can be read in several ways (unions, conditions, dependencies) there are several places, the
plainest first. They guide what is tried; whether a value fits is for the validator to say, so a place may be
wider than its schemas.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from mcproof.generation.patterns import matches

if TYPE_CHECKING:
    from collections.abc import Iterator

KINDS = ("object", "array", "string", "integer", "number", "boolean", "null")
_KIND_NAMES = {dict: "object", list: "array", str: "string", int: "integer", bool: "boolean", type(None): "null"}
_HINTS = (
    ("object", ("properties", "required", "additionalProperties", "patternProperties", "minProperties")),
    ("array", ("items", "prefixItems", "minItems", "maxItems", "contains", "uniqueItems")),
    ("string", ("minLength", "maxLength", "pattern", "format")),
    ("number", ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")),
)
_MOST_VALUES = 20_000
"""How many values of an `enum` are compared with those of another."""


class ObjectRules:
    """What one schema says about the properties of an object."""

    __slots__ = ("others", "patterns", "properties")

    def __init__(self, schema: dict[str, Any]) -> None:
        self.properties: dict[str, Any] = mapping(schema.get("properties"))
        self.patterns: dict[str, Any] = mapping(schema.get("patternProperties"))
        self.others: Any = schema.get("additionalProperties", True)

    def of(self, name: str) -> Iterator[Any]:
        """The schemas that judge a property of this name."""
        is_declared = name in self.properties
        if is_declared:
            yield self.properties[name]
        for pattern, schema in self.patterns.items():
            if matches(pattern, name):
                is_declared = True
                yield schema
        if not is_declared and self.others is not True:
            yield self.others


class Place:
    """The bounds of one value. A list of schemas means that all of them must hold."""

    def __init__(self) -> None:
        self.kinds: tuple[str, ...] = KINDS
        self.hinted: list[str] = []
        self.values: list[Any] | None = None
        self.values_from = "enum"
        self.excluded: list[Any] = []
        self.suggested: list[Any] = []
        self.unions: list[list[Any]] = []
        self.is_picky = False
        """Whether values are to be confirmed one by one, because not all rules show in the bounds."""
        self.least: dict[str, int] = {}
        self.most: dict[str, int] = {}
        self.patterns: list[str] = []
        self.formats: list[str] = []
        self.low: Any = None
        self.high: Any = None
        self.is_low_open = self.is_high_open = False
        self.multiples: list[Any] = []
        self.is_unique = False
        self.prefix: list[list[Any]] = []
        self.items: list[Any] = []
        """For each schema with a say in it: the schemas of the first entries, and the one of the rest."""
        self.contains: list[tuple[Any, int, int | None]] = []
        self.required: dict[str, None] = {}
        self.rules: list[ObjectRules] = []
        self.names: list[Any] = []
        self.unevaluated: Any = True
        self.needs: dict[str, list[str]] = {}
        self.met: set[int] = set()

    def read(self, schema: dict[str, Any]) -> None:
        """Add what the keywords of one schema say, but for those that bring in other schemas for the same value."""
        _read_kinds(self, schema)
        _read_values(self, schema)
        _read_sizes(self, schema)
        _read_numbers(self, schema)
        _read_arrays(self, schema)

    def copy(self) -> Place:
        """The same place, to be narrowed on its own."""
        other = Place.__new__(Place)
        for key, value in self.__dict__.items():
            kind = type(value)
            other.__dict__[key] = value.copy() if kind is list or kind is dict or kind is set else value
        return other

    @property
    def is_impossible(self) -> bool:
        """Whether no value at all fits."""
        return not self.kinds or self.values == []

    def narrow(self, kinds: tuple[str, ...]) -> None:
        """Keep only these types; an integer is a number too."""
        kept = [each for each in kinds if each in self.kinds or (each == "integer" and "number" in self.kinds)]
        if "number" in kinds and "integer" in self.kinds and "integer" not in kept and "number" not in kept:
            kept.append("integer")
        self.kinds = tuple(dict.fromkeys(kept))

    def admits(self, value: Any) -> bool:
        """Whether a value is of one of the types."""
        kind = type(value)
        if kind is float:
            return "number" in self.kinds or ("integer" in self.kinds and value.is_integer())
        name = _KIND_NAMES.get(kind, "")
        return name in self.kinds or (name == "integer" and "number" in self.kinds)

    def property_schemas(self, name: str) -> tuple[Any, ...]:
        """All schemas that judge a property of this name."""
        found = [schema for rules in self.rules for schema in rules.of(name)]
        if self.unevaluated is not True and not self.is_declared(name):
            found.append(self.unevaluated)
        return tuple(found)

    def is_declared(self, name: str) -> bool:
        """Whether any schema speaks of a property of this name."""
        return any(
            name in rules.properties or any(matches(each, name) for each in rules.patterns) for rules in self.rules
        )

    def declared(self) -> list[str]:
        """The names of all declared properties, in the order of the text."""
        return list(dict.fromkeys(name for rules in self.rules for name in rules.properties))

    def entry_schemas(self, at: int) -> tuple[Any, ...]:
        """All schemas that judge the entry at an index of an array."""
        pairs = zip(self.prefix, self.items, strict=True)
        return tuple(first[at] if at < len(first) else rest for first, rest in pairs)


def _read_kinds(place: Place, schema: dict[str, Any]) -> None:
    if "type" in schema:
        place.narrow(tuple(sorted(listed(schema["type"]), key="null".__eq__)))
    place.hinted += [kind for kind, keywords in _HINTS if any(keyword in schema for keyword in keywords)]


def _read_values(place: Place, schema: dict[str, Any]) -> None:
    for keyword in ("const", "enum"):
        if keyword in schema:
            values = [schema["const"]] if keyword == "const" else schema["enum"]
            if type(values) is list:
                place.values_from = keyword
                place.is_picky = place.is_picky or place.values is not None
                if place.values is None:
                    place.values = values
                else:
                    known = {spelled(each) for each in values[:_MOST_VALUES]}
                    place.values = [each for each in place.values[:_MOST_VALUES] if spelled(each) in known]
    if "default" in schema:
        place.suggested.append(schema["default"])
    examples = schema.get("examples")
    if type(examples) is list and examples:
        place.suggested.append(examples[0])
    description = schema.get("description")
    if not place.suggested and schema.get("type") == "string" and type(description) is str:
        found = _EXAMPLE.search(description[:_READ])
        if found is not None:
            place.suggested.append(found[2])


_EXAMPLE = re.compile(
    r"(?:\be\.?g\.?|\b(?:[Ff]or example|[Ff]or instance|[Ss]uch as|[Ll]ike|[Ee]xamples?))[,:]?\s?"
    r"([\"'`])([A-Za-z0-9][\w.:/+-]{0,59})\1"
)
"""An example that a description gives in quotes; one word, as a sentence or a command may do something."""
_READ = 2_000


_LEAST = ("minLength", "minItems", "minProperties")
_MOST = ("maxLength", "maxItems", "maxProperties")


def _read_sizes(place: Place, schema: dict[str, Any]) -> None:
    for keyword in _LEAST:
        if is_number(schema.get(keyword)):
            place.least[keyword] = max(place.least.get(keyword, 0), int(schema[keyword]))
    for keyword in _MOST:
        if is_number(schema.get(keyword)):
            limit = int(schema[keyword])
            place.most[keyword] = min(place.most.get(keyword, limit), limit)
    if type(schema.get("pattern")) is str:
        place.patterns.append(schema["pattern"])
    if type(schema.get("format")) is str:
        place.formats.append(schema["format"])


def _read_numbers(place: Place, schema: dict[str, Any]) -> None:
    for keyword, is_open in (("minimum", False), ("exclusiveMinimum", True)):
        bound = schema.get(keyword)
        if is_number(bound) and (place.low is None or bound > place.low or (bound == place.low and is_open)):
            place.low, place.is_low_open = bound, is_open
    for keyword, is_open in (("maximum", False), ("exclusiveMaximum", True)):
        bound = schema.get(keyword)
        if is_number(bound) and (place.high is None or bound < place.high or (bound == place.high and is_open)):
            place.high, place.is_high_open = bound, is_open
    if is_number(schema.get("multipleOf")) and schema["multipleOf"] > 0:
        place.multiples.append(schema["multipleOf"])


def _read_arrays(place: Place, schema: dict[str, Any]) -> None:
    first, rest = schema.get("prefixItems"), schema.get("items", True)
    if type(rest) is list:  # how draft-07 writes `prefixItems`
        first, rest = rest, schema.get("additionalItems", True)
    if "unevaluatedItems" in schema and "items" not in schema:
        rest = schema["unevaluatedItems"]
        place.is_picky = True
    if type(first) is list or rest is not True:
        place.prefix.append(first if type(first) is list else [])
        place.items.append(rest)
    if schema.get("uniqueItems") is True:
        place.is_unique = True
    if "contains" in schema:
        least, most = schema.get("minContains", 1), schema.get("maxContains")
        place.is_picky = True
        place.contains.append(
            (schema["contains"], int(least) if is_number(least) else 1, most if type(most) is int else None)
        )


def spelled(value: Any) -> str:
    """A value as text, the same for values that are equal."""
    import json

    if type(value) is float and value.is_integer():
        value = int(value)
    try:
        return json.dumps(value, ensure_ascii=False, sort_keys=True)
    except ValueError:  # an integer of more digits than Python spells
        return "a number too long to spell"


def mapping(value: Any) -> dict[str, Any]:
    """A keyword's value where it must be an object; nothing where it is none."""
    return value if type(value) is dict else {}


def listed(value: Any) -> list[str]:
    """The texts of a keyword that may be one or several."""
    return [each for each in (value if type(value) is list else [value]) if type(each) is str]


def is_number(value: Any) -> bool:
    """Whether a value is a number that can be compared with others."""
    return type(value) is int or (type(value) is float and abs(value) < float("inf"))  # no to NaN as well
