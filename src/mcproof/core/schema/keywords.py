"""Shapes of schemas: what follows from the keywords of a schema and the types of their values alone.

Real schemas have few shapes: those of 129 servers with 21,000 schemas have 350. A shape is examined once; for every
other schema of the same shape it is looked up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.schema.schema_marks import BARE_ARRAY, ODD, TYPE_LIST

if TYPE_CHECKING:
    from collections.abc import Iterator

TYPES = frozenset({"string", "number", "integer", "boolean", "object", "array", "null"})
COUNTS = frozenset({"minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"})
UNIONS = frozenset({"anyOf", "oneOf", "allOf"})
DEFINITIONS = frozenset({"$defs", "definitions"})

DECLARED_MAPS = DEFINITIONS | {"properties", "patternProperties"}
MAPS = DECLARED_MAPS | {"dependentSchemas", "dependencies"}
"""Keywords with an object of schemas."""
LISTS = UNIONS | {"prefixItems", "items"}
"""Keywords with a list of schemas."""
SINGLES = frozenset(
    {"items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames"}
    | {"additionalItems", "unevaluatedItems", "unevaluatedProperties", "contentSchema"}
)
"""Keywords with one schema."""

TYPE_KEYWORDS = frozenset({"type", "$ref", "anyOf"})
"""Keywords that most clients accept as the type of a value."""
REFERENCE_KEYWORDS = ("$ref", "$dynamicRef")
NAMING = frozenset({"$id", "$anchor", "$dynamicAnchor"})
"""Keywords by which references can name a schema."""

_TEXT, _NUMBER, _COUNT, _FLAG, _LIST, _OBJECT = (str,), (int, float), (int,), (bool,), (list,), (dict,)
_NEVER: tuple[type, ...] = ()
_VALUE_TYPES: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("title", "description", "$schema", "$ref", "$comment", "format", "pattern"), _TEXT),
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), _NUMBER),
    **dict.fromkeys(COUNTS, _COUNT),
    **dict.fromkeys(("uniqueItems", "readOnly", "writeOnly", "deprecated"), _FLAG),
    **dict.fromkeys(("examples", "enum", *UNIONS, "prefixItems", "required"), _LIST),
    **dict.fromkeys(("properties", *DEFINITIONS, "items", "not", "contains", "propertyNames"), _OBJECT),
    "type": (str, list),
    "additionalProperties": (dict, bool),
    **dict.fromkeys(("$id", "id", "$anchor", "$dynamicAnchor", "$dynamicRef", "$recursiveRef"), _NEVER),
    **dict.fromkeys(("$recursiveAnchor", "$vocabulary", "multipleOf", "contentSchema"), _NEVER),
    **dict.fromkeys(("dependencies", "dependentSchemas", "dependentRequired", "patternProperties"), _NEVER),
    **dict.fromkeys(("additionalItems", "unevaluatedItems", "unevaluatedProperties"), _NEVER),
    **dict.fromkeys(("minContains", "maxContains", "if", "then", "else"), _NEVER),
    **dict.fromkeys(("contentEncoding", "contentMediaType"), _NEVER),
}
"""The types of values that every dialect accepts for a keyword; other keywords accept anything."""

_MOST_SHAPES, _LONGEST_SIGNATURE, _LONGEST_KEYWORDS = 5_000, 40, 1_000

PROPERTIES, SINGLE, MAP, LIST, REQUIRED, ENUM, DATA = range(7)
"""How to descend into a value that is an object or a list; the last three have no schemas."""

Signature = tuple[Any, ...]


class SchemaShape:
    """What schemas with the same keywords, types of values and `type` have in common."""

    __slots__ = (
        "containers",
        "counts",
        "describes_object",
        "has_name",
        "has_reference",
        "is_leaf",
        "is_plain",
        "lacks_type",
        "marks",
    )

    def __init__(self, schema: dict[str, Any]) -> None:
        kind = schema.get("type")
        self.is_plain = _is_plain(schema)
        """Whether every dialect accepts it, as far as the types of its values show."""
        self.counts = tuple(each for each in schema if each in COUNTS)
        """The keywords whose values must not be negative."""
        self.containers = tuple(
            (keyword, _descent(keyword, value)) for keyword, value in schema.items() if type(value) in (dict, list)
        )
        """The keywords with an object or a list, and how to descend into it."""
        self.describes_object = (
            kind == "object" or (type(kind) is list and "object" in kind) or type(schema.get("properties")) is dict
        )
        self.has_reference = "$ref" in schema or "$dynamicRef" in schema
        self.has_name = not NAMING.isdisjoint(schema)
        """Whether references can name it, other than by a pointer."""
        self.lacks_type = TYPE_KEYWORDS.isdisjoint(schema)
        self.is_leaf = not (
            self.containers
            or self.counts
            or self.describes_object
            or self.has_reference
            or self.has_name
            or self.lacks_type
        )
        """Whether a walk of the schema has nothing to do here."""
        self.marks = frozenset((*schema, *self._unusual(schema)))
        """Its keywords, and marks for what is unusual."""

    def _unusual(self, schema: dict[str, Any]) -> Iterator[str]:
        kind = schema.get("type")
        if not self.is_plain:
            yield ODD
        if kind is not None and type(kind) is not str:
            yield TYPE_LIST
        if kind == "array" and "items" not in schema:
            yield BARE_ARRAY


def _descent(keyword: str, value: Any) -> int:
    if type(value) is list:
        return LIST if keyword in LISTS else REQUIRED if keyword == "required" else ENUM if keyword == "enum" else DATA
    if keyword in SINGLES:
        return SINGLE
    if keyword == "properties":
        return PROPERTIES
    return MAP if keyword in MAPS else DATA


def _is_plain(schema: dict[str, Any]) -> bool:
    for keyword, value in schema.items():
        if type(value) not in _VALUE_TYPES.get(keyword, (type(value),)):
            return False
    return "type" not in schema or _is_type(schema["type"])


def _is_type(value: Any) -> bool:
    return value in TYPES if type(value) is str else TYPES.issuperset(distinct_texts(value) or ("",))


KNOWN_SHAPES: dict[Signature, SchemaShape] = {}
"""The shapes by signature: `type`, keywords, types of values. Read where a call of `shape_of` is too slow."""


def shape_of(schema: dict[str, Any]) -> SchemaShape:
    """Return the shape of a schema."""
    kind = schema.get("type")
    signature = (tuple(kind) if type(kind) is list else kind, *schema, *map(type, schema.values()))
    try:
        known = KNOWN_SHAPES.get(signature)
    except TypeError:  # a `type` that contains lists or objects
        return SchemaShape(schema)
    if known is not None:
        return known
    shape = SchemaShape(schema)
    if len(KNOWN_SHAPES) < _MOST_SHAPES and _is_short(signature):
        KNOWN_SHAPES[signature] = shape
    return shape


def _is_short(signature: Signature) -> bool:
    """Whether a signature is small enough to keep."""
    if len(signature) > _LONGEST_SIGNATURE:
        return False
    kinds = signature[0] if type(signature[0]) is tuple else signature[:1]
    texts = [each for each in (*kinds, *signature[1:]) if type(each) is str]
    return len(kinds) <= len(TYPES) and sum(map(len, texts)) <= _LONGEST_KEYWORDS


class PlainLook(NamedTuple):
    """What a quick look at a schema shows."""

    is_plain: bool
    """Whether every dialect accepts it; if not, only a validator can tell."""
    has_reference: bool
    """Whether it has a reference, or may have one."""
    has_external: bool
    """Whether it has a reference to another document, or may have one."""


_UNCLEAR, _PLAIN = PlainLook(False, True, True), PlainLook(True, False, False)


def plain_look(schema: Any) -> PlainLook:
    """Look at the types of all values in a schema, which is enough for nearly all schemas of real servers.

    To validate a schema against the meta-schema of a dialect takes a library that is slow to load.
    """
    look = _PLAIN
    known = KNOWN_SHAPES
    schemas = [schema]
    if type(schema) is dict and "$schema" in schema and is_unusual_dialect(schema["$schema"]):
        return _UNCLEAR
    for each in schemas:  # grows
        if type(each) is not dict:
            return _UNCLEAR
        try:
            shape = known[each.get("type"), *each, *map(type, each.values())]
        except (KeyError, TypeError):
            shape = shape_of(each)
        if not shape.is_plain:
            return _UNCLEAR
        if shape.is_leaf:
            continue
        if shape.has_reference:
            look = PlainLook(True, True, look.has_external or not each["$ref"].startswith("#"))
        for keyword in shape.counts:
            if each[keyword] < 0:
                return _UNCLEAR
        for keyword, descent in shape.containers:
            if descent == SINGLE:
                schemas.append(each[keyword])
            elif descent == LIST:
                schemas += each[keyword] or (None,)  # an empty union is invalid
            elif descent in (PROPERTIES, MAP):
                schemas += each[keyword].values()
            elif descent == REQUIRED and distinct_texts(each[keyword]) is None:
                return _UNCLEAR
    return look


_TEXTS = frozenset({str})


def is_unusual_dialect(declared: Any) -> bool:
    """Whether schemas that other dialects accept may be invalid in a dialect."""
    return type(declared) is str and ("draft-04" in declared or "draft-06" in declared)


def distinct_texts(values: Any) -> set[str] | None:
    """The entries of a list of distinct texts; None if it is something else."""
    if type(values) is not list or not _TEXTS.issuperset(map(type, values)):
        return None
    names = set(values)
    return names if len(names) == len(values) else None
