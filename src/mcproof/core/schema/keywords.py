"""Keywords of JSON Schema by their values and effects, and what a parameter means by its name and annotations.

Keywords that several rules need belong here. `role_of` reads the role of a parameter from its name, and
`header_parameters` reads the `x-mcp-header` annotations of MCP. Nothing here follows references.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from mcproof.core.named_tuple import NamedTuple
from mcproof.core.schema.acceptance import ANNOTATIONS
from mcproof.core.text.json_document import kind_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.core.schema.tree import SchemaNode, SchemaTree


SCHEMA_MAPS = frozenset({"properties", "patternProperties", "dependentSchemas", "dependencies"})
SCHEMA_LISTS = frozenset({"anyOf", "oneOf", "allOf", "prefixItems", "items"})
SINGLE_SCHEMAS = frozenset(
    {"items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames"}
    | {"additionalItems", "unevaluatedItems", "unevaluatedProperties"}
)
ALTERNATIVES = ("anyOf", "oneOf")
IN_PLACE_APPLICATORS = frozenset(
    {"anyOf", "oneOf", "allOf", "if", "then", "else", "not", "dependentSchemas", "dependencies", "$ref"}
)
"""Keywords that apply other schemas to the same value."""
VALUE_KEYWORDS = frozenset(
    {"type", "enum", "const", "pattern", "multipleOf", "uniqueItems"}
    | {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength"}
    | {"minItems", "maxItems", "minProperties", "maxProperties"}
)
"""Keywords that constrain a value without subschemas."""
DYNAMIC = frozenset({"$dynamicRef", "$recursiveRef"})
ASSERTIONS = (
    SCHEMA_MAPS
    | SCHEMA_LISTS
    | SINGLE_SCHEMAS
    | VALUE_KEYWORDS
    | DYNAMIC
    | {"$ref", "format", "required", "dependentRequired", "minContains", "maxContains"}
)
"""Keywords that can reject a value, according to the specification."""


def assertions(schema: dict[str, Any]) -> list[str]:
    """The keywords of a schema that can reject a value."""
    return [keyword for keyword in schema if keyword in ASSERTIONS]


def unknown_keywords(schema: dict[str, Any]) -> dict[str, Any]:
    """The members of a schema that may or may not reject a value: `nullable`, `contentEncoding`."""
    return {
        keyword: value
        for keyword, value in schema.items()
        if keyword not in ASSERTIONS and keyword not in ANNOTATIONS and not keyword.startswith("x-")
    }


def has_in_place_applicator(schema: dict[str, Any]) -> bool:
    """Whether a schema applies other schemas to the same value."""
    return not IN_PLACE_APPLICATORS.isdisjoint(schema)


def is_union(schema: Any) -> bool:
    """Whether the only assertion of a schema is `anyOf` or `oneOf`."""
    if type(schema) is not dict:
        return False
    keywords = assertions(schema)
    return len(keywords) == 1 and keywords[0] in ALTERNATIVES and isinstance(schema[keywords[0]], list)


_BOUNDARY = re.compile(r"[^A-Za-z0-9]+|(?<=[a-z0-9])(?=[A-Z])")
_SINGULAR = {"instructions": "instruction", "urls": "url", "paths": "path", "commands": "command", "prompts": "prompt"}
_ROLES = frozenset(
    ("command", "instruction", "message", "path", "prompt", "query", "secret", "sql", "token", "url", "uri")
)
_ALONE = frozenset({"message"})
"""Roles only if the name has no other word: not `commit_message`."""
_NEEDED = {
    "query": frozenset({"cypher", "database", "db", "graphql", "raw", "sparql", "sql"}),
    "path": frozenset({"dest", "destination", "dir", "directory", "file", "folder", "local", "output", "save", "src"}),
}
"""Words of which one must be before a role, if there are any: `sql_query`, but not `search_query`."""
_OTHER = {"token": frozenset({"continuation", "cursor", "next", "page", "pagination", "previous", "start", "sync"})}
"""Words before which a role is another one: `page_token`."""
_PAGES = r"(?i)\b(?:pages?|pagination|paginat\w*|cursor|continu\w*|next)\b"


@lru_cache(maxsize=4096)
def role_of(name: str) -> str | None:
    """The role of a parameter: `command` for `command`, `shellCommand` and `shell_command`; None if it has none."""
    words = [word.lower() for word in _BOUNDARY.split(name) if word]
    if not words:
        return None
    role = _SINGULAR.get(words[-1], words[-1])
    before = words[:-1]
    if role not in _ROLES or (before and role in _ALONE):
        return None
    if before and role in _NEEDED and _NEEDED[role].isdisjoint(before):
        return None
    if not _OTHER.get(role, frozenset()).isdisjoint(before):
        return None
    return "url" if role == "uri" else role


def is_page_token(name: str, schema: Any) -> bool:
    """Whether a parameter called `token` is a position in a list, by its description."""
    if role_of(name) != "token" or not isinstance(schema, dict):
        return False
    description = schema.get("description")
    return isinstance(description, str) and re.search(_PAGES, description[:500]) is not None


def texts_of(schema: Any) -> list[dict[str, Any]]:
    """The schemas by which a property accepts strings: the schema itself, or branches of its union."""
    if type(schema) is not dict:
        return []
    kind = schema.get("type")
    if kind == "string" or (isinstance(kind, list) and "string" in kind):
        return [schema]
    branches = schema.get("anyOf") or schema.get("oneOf")
    if kind is not None or not isinstance(branches, list):
        return []
    return [branch for branch in branches if isinstance(branch, dict) and branch.get("type") == "string"]


ANNOTATION = "x-mcp-header"
HEADER_TYPES = ("string", "integer", "boolean")
_HEADER_NAME = r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
_SHOWN = 60


class HeaderParameter(NamedTuple):
    """A valid annotation."""

    path: tuple[str, ...]
    """The names of the properties from the root to the parameter."""
    header: str
    """The name of the header, after `Mcp-Param-`."""


class HeaderProblem(NamedTuple):
    """Why an annotation is invalid."""

    node: SchemaNode
    message: str


class HeaderParameters(NamedTuple):
    """The annotations of a schema; a tool with any problem is not offered."""

    valid: list[HeaderParameter]
    problems: list[HeaderProblem]


def header_parameters(tree: SchemaTree) -> HeaderParameters:
    """Return the annotations of an input schema."""
    parameters = HeaderParameters([], [])
    first: dict[str, tuple[str, ...]] = {}
    """The parameter that has a header first, by the header in lower case."""
    for node in tree.nodes:
        if type(node.schema) is not dict or ANNOTATION not in node.schema:
            continue
        path, value = _path(node), node.schema[ANNOTATION]
        message = next(_faults(node, path, value), None)
        if message is None:
            other = first.setdefault(value.lower(), path)
            if other == path:
                parameters.valid.append(HeaderParameter(path, value))
                continue
            message = f"{_shown(value)} of {_named(path)} is also the header of {_named(other)}"
        parameters.problems.append(HeaderProblem(node, message))
    return parameters


def _faults(node: SchemaNode, path: tuple[str, ...], value: Any) -> Iterator[str]:
    """Why the annotation of a schema is invalid; nothing if it is valid on its own."""
    if not path:
        where = _keywords(node)
        yield f"only a parameter can have a header, and this one is {f'inside `{where}`' if where else 'at the root'}"
    elif not isinstance(value, str):
        yield f"the header of {_named(path)} is {kind_of(value)}, not a string"
    elif not value:
        yield f"the header of {_named(path)} is empty"
    elif re.fullmatch(_HEADER_NAME, value) is None:
        yield f"the header of {_named(path)}, {_shown(value)}, has characters that a header name cannot have"
    elif node.schema.get("type") not in HEADER_TYPES:
        yield f"{_named(path)} has a header, so its `type` must be string, integer or boolean, not {_type(node)}"


def _path(node: SchemaNode) -> tuple[str, ...]:
    """The names of the properties from the root to a schema; empty if it is not reachable by `properties` alone."""
    names: list[str] = []
    while node.parent is not None:
        if node.keyword != "properties" or len(node.step) != 2:
            return ()
        names.append(str(node.step[1]))
        node = node.parent
    return tuple(reversed(names))


def _keywords(node: SchemaNode) -> str:
    """The innermost keyword other than `properties` between the root and a schema; empty for the root."""
    while node.parent is not None:
        if node.keyword != "properties":
            return node.keyword
        node = node.parent
    return ""


def _named(path: tuple[str, ...]) -> str:
    return f"`{'.'.join(path)}`"


def _type(node: SchemaNode) -> str:
    given = node.schema.get("type")
    return given if isinstance(given, str) else "absent" if given is None else kind_of(given)


def _shown(value: str) -> str:
    text = value if len(value) <= _SHOWN else f"{value[:_SHOWN]}…"
    return f"`{text}`"


ODD = "(odd)"
"""A value is not what JSON Schema expects there, or is too unusual to tell; without it, every dialect accepts it."""
UNTYPED = "(untyped)"
"""A property, an element or a branch of a union has neither `type`, `$ref` nor `anyOf`."""
TYPE_LIST = "(type list)"
BARE_ARRAY = "(bare array)"
"""An array has no `items`."""
ODD_KEY = "(key)"
"""The name of a property is not an identifier of at most 64 ASCII characters."""
UNDECLARED = "(undeclared)"
"""`required` names something that is not declared beside it."""
ODD_ENUM = "(enum)"
"""An enum has other values than distinct texts that are not empty, or is beside another type than `string`."""
EXTERNAL = "(external reference)"
"""A reference may lead to another document."""
DEEP = "(deep)"
"""Objects and arrays nest deeper than ten levels."""


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
        self.counts = tuple(keyword for keyword in schema if keyword in COUNTS)
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
        cached = KNOWN_SHAPES.get(signature)
    except TypeError:  # a `type` that contains lists or objects
        return SchemaShape(schema)
    if cached is not None:
        return cached
    shape = SchemaShape(schema)
    # Shapes outlive the catalog, and catalogs come from strangers, so their number and size are bounded.
    if len(KNOWN_SHAPES) < _MOST_SHAPES and _is_short(signature):
        KNOWN_SHAPES[signature] = shape
    return shape


def _is_short(signature: Signature) -> bool:
    """Whether a signature is small enough to keep."""
    if len(signature) > _LONGEST_SIGNATURE:
        return False
    kinds = signature[0] if type(signature[0]) is tuple else signature[:1]
    texts = [text for text in (*kinds, *signature[1:]) if type(text) is str]
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
    shapes = KNOWN_SHAPES
    schemas = [schema]
    if type(schema) is dict and "$schema" in schema and is_unusual_dialect(schema["$schema"]):
        return _UNCLEAR
    for subschema in schemas:  # grows
        if type(subschema) is not dict:
            return _UNCLEAR
        try:
            shape = shapes[subschema.get("type"), *subschema, *map(type, subschema.values())]
        except (KeyError, TypeError):
            shape = shape_of(subschema)
        if not shape.is_plain:
            return _UNCLEAR
        if shape.is_leaf:
            continue
        if shape.has_reference:
            look = PlainLook(True, True, look.has_external or not subschema["$ref"].startswith("#"))
        for keyword in shape.counts:
            if subschema[keyword] < 0:
                return _UNCLEAR
        for keyword, descent in shape.containers:
            if descent == SINGLE:
                schemas.append(subschema[keyword])
            elif descent == LIST:
                schemas += subschema[keyword] or (None,)  # an empty union is invalid
            elif descent in (PROPERTIES, MAP):
                schemas += subschema[keyword].values()
            elif descent == REQUIRED and distinct_texts(subschema[keyword]) is None:
                return _UNCLEAR
    return look


_TEXTS = frozenset({str})


def is_unusual_dialect(declared: Any) -> bool:
    """Whether schemas that other dialects accept may be invalid in a dialect."""
    # Draft-06 accepts no empty `enum`, for example.
    return type(declared) is str and ("draft-04" in declared or "draft-06" in declared)


def distinct_texts(values: Any) -> set[str] | None:
    """The entries of a list of distinct texts; None if it is something else."""
    if type(values) is not list or not _TEXTS.issuperset(map(type, values)):
        return None
    names = set(values)
    return names if len(names) == len(values) else None
