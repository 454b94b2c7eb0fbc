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
    for node in tree.by_keyword.get(ANNOTATION, ()):
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


TYPES = frozenset({"string", "number", "integer", "boolean", "object", "array", "null"})
COUNTS = frozenset({"minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"})
UNIONS = ("anyOf", "oneOf", "allOf")
DEFINITIONS = frozenset({"$defs", "definitions"})
DECLARED_MAPS = DEFINITIONS | {"properties", "patternProperties"}
MAPS = SCHEMA_MAPS | DEFINITIONS
"""Keywords with an object of schemas, whether they can reject a value or not."""
SINGLES = SINGLE_SCHEMAS | {"contentSchema"}
"""Keywords with one schema."""
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


UNTYPED = "(untyped)"
"""Marks a schema with neither `type`, `$ref` nor `anyOf`."""
TYPE_LIST = "(type list)"
BARE_ARRAY = "(bare array)"
"""Marks an array without `items`."""
UNDECLARED = "(undeclared)"
"""Marks a `required` that names something which is not declared beside it."""


def marks_of(root: Any) -> frozenset[str] | None:
    """The keywords that a schema uses, and marks of what few schemas have.

    None unless the types of all values show that every dialect accepts it: only a validator can tell then.
    """
    # The library that validates takes longer to import than most runs take to judge all schemas of a server, and
    # nearly all schemas of real servers are plain: docs/decisions/0024-two-validators.md.
    declared = root.get("$schema") if type(root) is dict else None
    if type(declared) is str and ("draft-04" in declared or "draft-06" in declared):
        return None  # these refuse what later dialects accept, such as an empty `enum`
    keywords: set[str] = set()
    schemas = [root]
    for schema in schemas:  # read while it grows, which is breadth first without recursion
        if type(schema) is not dict:
            return None
        keywords.update(schema)
        if "type" not in schema and "$ref" not in schema and "anyOf" not in schema:
            keywords.add(UNTYPED)
        for keyword, value in schema.items():
            kind = type(value)
            expected = _VALUE_TYPES.get(keyword)
            if expected is not None and kind not in expected:
                return None
            if kind is dict:
                if keyword in SINGLES:
                    schemas.append(value)
                elif keyword in MAPS:
                    schemas += value.values()
            elif kind is list:
                if keyword in SCHEMA_LISTS:
                    schemas += value or (None,)  # an empty union is invalid
                elif keyword == "type":
                    if not _are_names(value, TYPES):
                        return None
                    keywords.add(TYPE_LIST)
                elif keyword == "required":
                    if not _are_names(value, None):
                        return None
                    properties = schema.get("properties")
                    if type(properties) is not dict or not properties.keys() >= set(value):
                        keywords.add(UNDECLARED)
            elif keyword == "type":
                if value not in TYPES:
                    return None
                if value == "array" and "items" not in schema:
                    keywords.add(BARE_ARRAY)
            elif keyword in COUNTS and value < 0:
                return None
    return frozenset(keywords)


def _are_names(values: list[Any], accepted: frozenset[str] | None) -> bool:
    """Whether a list has distinct texts, all among those that are accepted."""
    if not all(type(value) is str for value in values) or len(set(values)) < len(values):
        return False
    return accepted is None or (bool(values) and accepted.issuperset(values))
