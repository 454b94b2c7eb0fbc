"""The constraints on one value, merged from all schemas that apply to it, and helpers for JSON values.

`resolver` follows references and `allOf`, chooses one branch of every union, and adds each schema it meets.
Constraints guide which values are tried and may be wider than the schemas: the validator decides what is valid.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, Self

from mcproof.core.named_tuple import NamedTuple
from mcproof.probing.generation.scalars import matches

MAX_SIZE = 60_000
"""Size at which `json_size` stops counting."""


def as_object(value: Any) -> dict[str, Any]:
    """Return the value if it is an object, else an empty one."""
    return value if type(value) is dict else {}


def as_strings(value: Any) -> list[str]:
    """Return the strings of a keyword whose value is a string or a list."""
    return [entry for entry in (value if type(value) is list else [value]) if type(entry) is str]


def is_number(value: Any) -> bool:
    """Whether a value is a finite number; false for booleans."""
    return type(value) is int or (type(value) is float and abs(value) < float("inf"))  # false for NaN as well


def is_huge(number: Any) -> bool:
    """Whether a number is too large for arithmetic with floats."""
    return type(number) is int and number.bit_length() > 1_000


def canonical_json(value: Any) -> str:
    """A value as JSON text; equal values have equal texts."""
    # JSON Schema does not distinguish 1.0 from 1.
    if type(value) is float and value.is_integer():
        value = int(value)
    try:
        return json.dumps(value, ensure_ascii=False, sort_keys=True)
    except ValueError:  # an integer beyond Python's limit of digits
        return "a number too long to print"


def shortened(text: str) -> str:
    """Return a text from a schema, truncated for messages."""
    return text if len(text) <= 60 else text[:59] + "…"


def json_size(value: Any) -> int:
    """Estimate the length of a value as JSON."""
    total = 0
    waiting = [value]
    while waiting and total <= MAX_SIZE:
        current = waiting.pop()
        kind = type(current)
        if kind is str:
            total += len(current) + 2
        elif kind is dict:
            total += 2 + sum(len(name) + 4 for name in current)
            waiting += current.values()
        elif kind is list:
            total += 2 + len(current)
            waiting += current
        else:
            total += 5 if kind is not int else 1 + current.bit_length() // 3
    return total


def deep_copy(value: Any) -> Any:
    """Copy a value that is known to be shallow enough for recursion."""
    if type(value) is dict:
        return {name: deep_copy(member) for name, member in value.items()}
    return [deep_copy(item) for item in value] if type(value) is list else value


TYPES = ("object", "array", "string", "integer", "number", "boolean", "null")
_TYPE_NAMES = {dict: "object", list: "array", str: "string", int: "integer", bool: "boolean", type(None): "null"}
_IMPLYING_KEYWORDS = (
    ("object", ("properties", "required", "additionalProperties", "patternProperties", "minProperties")),
    ("array", ("items", "prefixItems", "minItems", "maxItems", "contains", "uniqueItems")),
    ("string", ("minLength", "maxLength", "pattern", "format")),
    ("number", ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")),
)
_MAX_ENUM_VALUES = 20_000
"""How many values of one `enum` are intersected with those of another."""
_MAX_DESCRIPTION = 2_000
_QUOTED_EXAMPLE = re.compile(
    r"(?:\be\.?g\.?|\b(?:[Ff]or example|[Ff]or instance|[Ss]uch as|[Ll]ike|[Ee]xamples?))[,:]?\s?"
    r"([\"'`])([A-Za-z0-9][\w.:/+-]{0,59})\1"
)
"""An example quoted in a description. One word only: a sentence or a command could have an effect."""
_BARE_EXAMPLE = re.compile(
    r"(?:\be\.?g\.?|\b(?:[Ff]or example|[Ff]or instance|[Ss]uch as|[Ee]xamples?)|例如|比如)[,:：]?\s?"
    r"((?=[A-Za-z0-9_./+:-]{0,59}(?:[A-Z0-9/]|\.[a-z]))[A-Za-z0-9][\w./+:-]{0,58}[\w+])(?=[\s,;)。，]|\.?$|\.\s)"
)
"""One without quotes; a capital, a digit, a slash or an ending tells a value from an ordinary word."""
_DATE_FORMATS = {
    "YYYY-MM-DDTHH:MM:SS": "2024-01-01T00:00:00",
    "YYYY-MM-DD HH:MM:SS": "2024-01-01 00:00:00",
    "YYYY-MM-DD": "2024-01-01",
    "YYYY/MM/DD": "2024/01/01",
    "YYYYMMDD": "20240101",
    "DD/MM/YYYY": "01/01/2024",
    "MM/DD/YYYY": "01/01/2024",
    "YYYY-MM": "2024-01",
    "YYYY": "2024",
    "HH:MM:SS": "12:00:00",
    "HH:MM": "12:00",
}
"""Values of the formats that descriptions name, the longest first."""
_DATE_FORMAT = re.compile("|".join(_DATE_FORMATS), re.IGNORECASE)


def example_in(text: str) -> str | None:
    """A value that a text gives as an example, or one of a format that it names."""
    text = text[:_MAX_DESCRIPTION]
    if (example := _QUOTED_EXAMPLE.search(text)) is not None:
        return example[2]
    if (date := _DATE_FORMAT.search(text)) is not None:
        return _DATE_FORMATS[date[0].upper()]
    bare = _BARE_EXAMPLE.search(text)
    return None if bare is None else bare[1]


class _Mergeable:
    def copy(self) -> Self:
        """Copy these constraints, so that the copy can be narrowed independently."""
        # What is nested is copied, too: else narrowing one branch of a union would narrow the others.
        other = object.__new__(type(self))
        other.__dict__.update(
            {
                name: value.copy() if isinstance(value, (list, dict, set, _Mergeable)) else value
                for name, value in self.__dict__.items()
            }
        )
        return other


class StringConstraints(_Mergeable):
    """Length, `pattern` and `format` of strings."""

    def __init__(self) -> None:
        self.min_length = 0
        self.max_length: int | None = None
        self.patterns: list[str] = []
        self.formats: list[str] = []

    def add(self, schema: dict[str, Any]) -> None:
        """Add the string keywords of a schema."""
        self.min_length = _highest(schema.get("minLength"), self.min_length)
        self.max_length = _lowest(schema.get("maxLength"), self.max_length)
        if type(schema.get("pattern")) is str:
            self.patterns.append(schema["pattern"])
        if type(schema.get("format")) is str:
            self.formats.append(schema["format"])


class NumberConstraints(_Mergeable):
    """Bounds and `multipleOf` of numbers."""

    def __init__(self) -> None:
        self.minimum: Any = None
        self.maximum: Any = None
        self.is_minimum_exclusive = False
        self.is_maximum_exclusive = False
        self.multiples: list[Any] = []

    def add(self, schema: dict[str, Any]) -> None:
        """Add the number keywords of a schema."""
        for keyword, is_exclusive in (("minimum", False), ("exclusiveMinimum", True)):
            bound = schema.get(keyword)
            if is_number(bound) and (
                self.minimum is None or bound > self.minimum or (bound == self.minimum and is_exclusive)
            ):
                self.minimum, self.is_minimum_exclusive = bound, is_exclusive
        for keyword, is_exclusive in (("maximum", False), ("exclusiveMaximum", True)):
            bound = schema.get(keyword)
            if is_number(bound) and (
                self.maximum is None or bound < self.maximum or (bound == self.maximum and is_exclusive)
            ):
                self.maximum, self.is_maximum_exclusive = bound, is_exclusive
        if is_number(schema.get("multipleOf")) and schema["multipleOf"] > 0:
            self.multiples.append(schema["multipleOf"])


class Contains(NamedTuple):
    """A `contains` keyword with its `minContains`."""

    schema: Any
    minimum: int


class ArrayConstraints(_Mergeable):
    """Length and items of arrays."""

    def __init__(self) -> None:
        self.min_items = 0
        self.max_items: int | None = None
        self.is_unique = False
        self.prefix_items: list[list[Any]] = []
        """For each schema that describes items, the schemas of its first items; `items` has the one of the others."""
        self.items: list[Any] = []
        self.contains: list[Contains] = []

    @property
    def prefix_length(self) -> int:
        """How many leading items have a schema of their own."""
        return max([len(schemas) for schemas in self.prefix_items], default=0)

    def add(self, schema: dict[str, Any]) -> None:
        """Add the array keywords of a schema."""
        self.min_items = _highest(schema.get("minItems"), self.min_items)
        self.max_items = _lowest(schema.get("maxItems"), self.max_items)
        prefix, items = schema.get("prefixItems"), schema.get("items", True)
        if type(items) is list:  # draft-07's form of `prefixItems`
            prefix, items = items, schema.get("additionalItems", True)
        if "unevaluatedItems" in schema and "items" not in schema:
            items = schema["unevaluatedItems"]
        if type(prefix) is list or items is not True:
            self.prefix_items.append(prefix if type(prefix) is list else [])
            self.items.append(items)
        if schema.get("uniqueItems") is True:
            self.is_unique = True
        if "contains" in schema:
            minimum = schema.get("minContains", 1)
            self.contains.append(Contains(schema["contains"], int(minimum) if is_number(minimum) else 1))

    def item_schemas(self, index: int) -> tuple[Any, ...]:
        """All schemas that apply to the item at an index."""
        pairs = zip(self.prefix_items, self.items, strict=True)
        return tuple(prefix[index] if index < len(prefix) else items for prefix, items in pairs)


class PropertySubschemas:
    """The subschemas for properties in one schema."""

    __slots__ = ("additional", "patterns", "properties")

    def __init__(self, schema: dict[str, Any]) -> None:
        self.properties: dict[str, Any] = as_object(schema.get("properties"))
        self.patterns: dict[str, Any] = as_object(schema.get("patternProperties"))
        self.additional: Any = schema.get("additionalProperties", True)

    def applicable(self, name: str) -> Iterator[Any]:
        """The subschemas that apply to a property."""
        is_declared = name in self.properties
        if is_declared:
            yield self.properties[name]
        for pattern, schema in self.patterns.items():
            if matches(pattern, name):
                is_declared = True
                yield schema
        if not is_declared and self.additional is not True:
            yield self.additional


class ObjectConstraints(_Mergeable):
    """Number, names and subschemas of properties."""

    def __init__(self) -> None:
        self.min_properties = 0
        self.max_properties: int | None = None
        self.required: dict[str, None] = {}
        self.dependent_required: dict[str, list[str]] = {}
        self.subschemas: list[PropertySubschemas] = []
        self.property_names: list[Any] = []
        self.unevaluated: Any = True

    @property
    def describes_undeclared(self) -> bool:
        """Whether a schema describes properties that are not declared by name."""
        return any(subschemas.patterns or type(subschemas.additional) is dict for subschemas in self.subschemas)

    def add(self, schema: dict[str, Any]) -> None:
        """Add the object keywords of a schema, except those that apply further schemas to the same object."""
        self.min_properties = _highest(schema.get("minProperties"), self.min_properties)
        self.max_properties = _lowest(schema.get("maxProperties"), self.max_properties)
        if "properties" in schema or "additionalProperties" in schema or "patternProperties" in schema:
            self.subschemas.append(PropertySubschemas(schema))
        if "propertyNames" in schema:
            self.property_names.append(schema["propertyNames"])
        if "unevaluatedProperties" in schema:
            self.unevaluated = schema["unevaluatedProperties"]
        required = schema.get("required")
        if type(required) is list:
            self.required.update(dict.fromkeys(as_strings(required)))
        for keyword in ("dependentRequired", "dependentSchemas", "dependencies"):
            for name, dependency in as_object(schema.get(keyword)).items():
                if type(dependency) is list:
                    self.dependent_required.setdefault(name, []).extend(as_strings(dependency))

    def property_schemas(self, name: str) -> tuple[Any, ...]:
        """All schemas that apply to a property."""
        schemas = [schema for subschemas in self.subschemas for schema in subschemas.applicable(name)]
        if self.unevaluated is not True and not self.is_declared(name):
            schemas.append(self.unevaluated)
        return tuple(schemas)

    def is_declared(self, name: str) -> bool:
        """Whether `properties` or `patternProperties` covers a property."""
        return any(
            name in subschemas.properties or any(matches(pattern, name) for pattern in subschemas.patterns)
            for subschemas in self.subschemas
        )

    def declares(self, name: str) -> bool:
        """Whether `properties` names a property."""
        return any(name in subschemas.properties for subschemas in self.subschemas)

    def declared_names(self) -> list[str]:
        """The names in `properties`, in document order."""
        return list(dict.fromkeys(name for subschemas in self.subschemas for name in subschemas.properties))

    def with_dependencies(self, names: Iterable[str]) -> list[str]:
        """These names, followed by the names that `dependentRequired` demands for them."""
        all_names = list(dict.fromkeys(names))
        seen = set(all_names)
        # The list grows, because a dependency may have dependencies.
        for name in all_names:
            for dependency in self.dependent_required.get(name, ()):
                if dependency not in seen:
                    seen.add(dependency)
                    all_names.append(dependency)
        return all_names

    def in_declared_order(self, names: list[str]) -> list[str]:
        """These names in the order of their declaration, undeclared ones last."""
        distinct = dict.fromkeys(names)
        declared = [name for name in self.declared_names() if name in distinct]
        return declared + [name for name in distinct if name not in set(declared)]


class ValueConstraints(_Mergeable):
    """The merged constraints on one value. All schemas in a list must hold."""

    def __init__(self) -> None:
        self.types: tuple[str, ...] = TYPES
        self.implied_types: list[str] = []
        """Types whose keywords occur, whether or not `type` names them."""
        self.values: list[Any] | None = None
        """The only values allowed, by `enum` or `const`; None if neither occurs."""
        self.values_keyword = "enum"
        self.excluded_values: list[Any] = []
        self.examples: list[Any] = []
        """Values that the author of the schema wrote down: defaults and examples."""
        self.unions: list[list[Any]] = []
        """Branches of unions of which none is chosen yet."""
        self.needs_validation = False
        """Whether a keyword occurs that these constraints do not express, so every value must be validated."""
        self.string = StringConstraints()
        self.number = NumberConstraints()
        self.array = ArrayConstraints()
        self.object = ObjectConstraints()
        self.merged_ids: set[int] = set()
        """Ids of the schemas merged so far."""

    def add(self, schema: dict[str, Any]) -> None:
        """Merge the keywords of one schema, except those that apply further schemas to the same value."""
        self._add_types(schema)
        self._add_values(schema)
        self._add_examples(schema)
        self.string.add(schema)
        self.number.add(schema)
        self.array.add(schema)
        self.object.add(schema)
        if (
            "contains" in schema
            or "unevaluatedProperties" in schema
            or ("unevaluatedItems" in schema and "items" not in schema)
        ):
            self.needs_validation = True

    def _add_types(self, schema: dict[str, Any]) -> None:
        if "type" in schema:
            self._narrow_types(tuple(sorted(as_strings(schema["type"]), key="null".__eq__)))
        self.implied_types += [
            name for name, keywords in _IMPLYING_KEYWORDS if any(keyword in schema for keyword in keywords)
        ]

    def _narrow_types(self, types: tuple[str, ...]) -> None:
        """Keep only these types; every integer is a number."""
        narrowed = [name for name in types if name in self.types or (name == "integer" and "number" in self.types)]
        if "number" in types and "integer" in self.types and "integer" not in narrowed and "number" not in narrowed:
            narrowed.append("integer")
        self.types = tuple(dict.fromkeys(narrowed))

    def _add_values(self, schema: dict[str, Any]) -> None:
        for keyword in ("const", "enum"):
            if keyword not in schema:
                continue
            values = [schema["const"]] if keyword == "const" else schema["enum"]
            if type(values) is not list:
                continue
            self.values_keyword = keyword
            if self.values is None:
                self.values = values
            else:
                self.needs_validation = True
                allowed = {canonical_json(value) for value in values[:_MAX_ENUM_VALUES]}
                self.values = [value for value in self.values[:_MAX_ENUM_VALUES] if canonical_json(value) in allowed]

    def _add_examples(self, schema: dict[str, Any]) -> None:
        if "default" in schema:
            self.examples.append(schema["default"])
        examples = schema.get("examples")
        if type(examples) is list and examples:
            self.examples.append(examples[0])
        description = schema.get("description")
        # What an author quotes is likely to exist on the server, so a call with it is more likely to succeed.
        if not self.examples and schema.get("type") == "string" and type(description) is str:
            example = example_in(description)
            self.examples += [] if example is None else [example]

    def forbid_all(self) -> None:
        """Allow no value, as the schema `false` does."""
        self.types = ()

    @property
    def is_unsatisfiable(self) -> bool:
        """Whether no value is allowed."""
        return not self.types or self.values == []

    def allows_type_of(self, value: Any) -> bool:
        """Whether a value has one of the allowed types."""
        kind = type(value)
        if kind is float:
            return "number" in self.types or ("integer" in self.types and value.is_integer())
        name = _TYPE_NAMES.get(kind, "")
        return name in self.types or (name == "integer" and "number" in self.types)

    def preferred_types(self) -> list[str]:
        """The allowed types: as `type` lists them, or else those that keywords imply first and `null` last."""
        if self.types != TYPES:
            return list(self.types)
        implied = [name for name in self.implied_types if name in self.types]
        return list(dict.fromkeys([*implied, "string", *(name for name in self.types if name != "null"), "null"]))


def _highest(bound: Any, current: int) -> int:
    return max(current, int(bound)) if is_number(bound) else current


def _lowest(bound: Any, current: int | None) -> int | None:
    if not is_number(bound):
        return current
    return int(bound) if current is None else min(current, int(bound))
