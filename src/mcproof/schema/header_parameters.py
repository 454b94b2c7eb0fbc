"""Parameters that clients repeat in HTTP headers: the `x-mcp-header` annotations of an input schema.

From revision 2026-07-28 on, a client over HTTP sends the value of an annotated parameter in `Mcp-Param-NAME` as well. A
tool with an invalid annotation must not be offered to a model at all.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.text.jsontext import kind_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.schema.tree import SchemaNode, SchemaTree

ANNOTATION = "x-mcp-header"
HEADER_TYPES = ("string", "integer", "boolean")
_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
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
    found = HeaderParameters([], [])
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
                found.valid.append(HeaderParameter(path, value))
                continue
            message = f"{_shown(value)} of {_named(path)} is also the header of {_named(other)}"
        found.problems.append(HeaderProblem(node, message))
    return found


def _faults(node: SchemaNode, path: tuple[str, ...], value: Any) -> Iterator[str]:
    """Why the annotation of a schema is invalid; nothing if it is valid on its own."""
    if not path:
        where = _keywords(node)
        yield f"only a parameter can have a header, and this one is {f'inside `{where}`' if where else 'at the root'}"
    elif not isinstance(value, str):
        yield f"the header of {_named(path)} is {kind_of(value)}, not a string"
    elif not value:
        yield f"the header of {_named(path)} is empty"
    elif _TOKEN.fullmatch(value) is None:
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
