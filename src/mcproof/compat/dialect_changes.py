"""Whether a schema means the same without its `$schema`: in draft 2020-12, the default of the protocol."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mcproof.core.schema.tree import SchemaTree

ANNOTATIONS = frozenset(
    {"title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "$comment"}
)
"""Keywords that accept and reject nothing."""
_SINCE_2019 = frozenset(
    {"dependentSchemas", "dependentRequired", "unevaluatedItems", "unevaluatedProperties", "minContains"}
    | {"maxContains", "$anchor", "$recursiveRef", "$recursiveAnchor"}
)
_SINCE_2020 = frozenset({"prefixItems", "$dynamicRef", "$dynamicAnchor"})
_CONDITIONAL = frozenset({"if", "then", "else"})
_CHANGED: dict[str, frozenset[str]] = {
    "draft/2020-12": frozenset(),
    "draft/2019-09": _SINCE_2020 | {"additionalItems", "unevaluatedItems", "$recursiveRef", "$recursiveAnchor"},
    "draft-07": _SINCE_2020 | _SINCE_2019 | {"additionalItems", "dependencies", "format"},
    "draft-06": _SINCE_2020 | _SINCE_2019 | _CONDITIONAL | {"additionalItems", "dependencies", "format"},
}
"""For each dialect, the keywords that mean something else in 2020-12, or mean something in only one of the two.

Values that break a `format` may be refused up to draft-07; from 2019-09 on it is an annotation.
"""
_ADDRESS = re.compile(r"https?://json-schema\.org/([^#]+)/schema#?")


def obstacle_to_dropping_dialect(tree: SchemaTree) -> str | None:
    """Why a schema could mean something else without its `$schema`; None if it means the same."""
    address = _ADDRESS.fullmatch(str(tree.root.get("$schema")))
    changed = _CHANGED.get(address[1]) if address is not None else None
    if address is None or changed is None:
        return "its dialect has other rules than 2020-12"
    if address[1] == "draft/2020-12":
        return None
    for node in tree.nodes:
        schema = node.schema
        if type(schema) is not dict:
            continue
        keyword = next((keyword for keyword in schema if keyword in changed), None)
        if keyword is None and isinstance(schema.get("items"), list):
            keyword = "items"
        if keyword is not None:
            return f"`{keyword}` means something else in 2020-12"
        if address[1] != "draft/2019-09" and _has_changed_reference(schema):
            return "keywords beside `$ref` count in 2020-12"
        if str(schema.get("$id", "")).startswith("#"):
            return "`$id` means something else in 2020-12"
    return None


def _has_changed_reference(schema: dict[str, Any]) -> bool:
    return "$ref" in schema and not all(key == "$ref" or key in ANNOTATIONS for key in schema)
