"""What clients see of a tool and of a server, and patterns that are matched in linear time.

The checks of constraints are in `tool_constraints` and `schema_constraints`.
"""

from __future__ import annotations

import marshal
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

from mcproof.checks.scores.tokens import bytes_of, length
from mcproof.core.catalog.model import Catalog, Tool
from mcproof.core.named_tuple import NamedTuple
from mcproof.core.schema.tree import SchemaNode

LONGEST_PATTERN = 500
_SLOW = re.compile(r"\(\?<?[=!]|\(\?P=|\\[1-9k]")


class LinearPattern(str):
    """A pattern that is matched in linear time."""

    __slots__ = ()


def matches_whole(pattern: str, text: str) -> bool:
    """Whether a pattern matches all of a text."""
    if isinstance(pattern, LinearPattern):
        return _is_valid(_validator(f"^(?:{pattern})$"), text)
    # A pattern of a shipped profile, which is known to be harmless.
    return re.fullmatch(pattern, text) is not None


def occurs_in(pattern: str, text: str) -> bool:
    """Whether a pattern matches a part of a text."""
    if isinstance(pattern, LinearPattern):
        return _is_valid(_validator(str(pattern)), text)
    return re.search(pattern, text) is not None


def problem_of(pattern: str) -> str:
    """Return why a pattern of a configuration cannot be used; empty if it can."""
    if len(pattern) > LONGEST_PATTERN:
        return f"is longer than {LONGEST_PATTERN} characters"
    try:
        _validator(f"^(?:{pattern})$")
        _validator(pattern)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # a panic in the Rust library is a BaseException
        if _SLOW.search(pattern):
            return "uses look-around or a back-reference, which is not supported"
        return "is not a valid regular expression, or too large"
    return ""


@cache
def _validator(pattern: str) -> Any:
    import jsonschema_rs

    # The library matches in linear time, whatever the pattern: docs/decisions/0010-hostile-input.md.
    schema = {"pattern": pattern}
    return jsonschema_rs.validator_for(schema, pattern_options=jsonschema_rs.RegexOptions(), offline=True)


def _is_valid(validator: Any, text: str) -> bool:
    try:
        return bool(validator.is_valid(text))
    except UnicodeEncodeError:  # a lone surrogate
        return bool(validator.is_valid(text.encode("utf-8", "replace").decode()))


class ClientView:
    """One tool as client constraints check it."""

    __slots__ = ("fields", "output_schema", "schema", "server_key", "tool", "tree")

    def __init__(self, tool: Tool, server_key: str = "") -> None:
        self.tool = tool
        self.server_key = server_key
        """The name of the server in a client's configuration, which clients put before the tool's name."""
        self.fields = tool.fields
        self.schema = tool.schema
        self.tree = tool.tree
        self.output_schema: Any = tool.fields.get("outputSchema")

    @property
    def nodes(self) -> list[SchemaNode]:
        """The input schema and every schema inside it."""
        return self.tree.nodes if self.tree is not None else []

    def exceeds(self, limit: int) -> bool:
        """Whether the compact JSON of the input schema has more than this many bytes."""
        try:
            # JSON takes at most six times as many bytes as this, which is written ten times faster: `false,` takes six
            # for one, an escaped control character, too. Few schemas are long enough to be encoded.
            if len(marshal.dumps(self.schema, 2)) * 6 <= limit:
                return False
        except ValueError:  # nested too deep for it
            pass
        return self.schema is not None and bytes_of(self.schema) > limit

    def using(self, keyword: str) -> list[SchemaNode]:
        """The schemas that use a keyword."""
        return self.tree.by_keyword.get(keyword, []) if self.tree is not None else []

    def declared(self) -> Iterator[tuple[SchemaNode, dict[str, Any]]]:
        """The schemas that declare properties, with those."""
        for node in self.using("properties"):
            declared = node.schema["properties"]
            if isinstance(declared, dict) and declared:
                yield node, declared


Params = Mapping[str, Any]
ToolCheck = Callable[[ClientView, Params], Iterator[str]]
"""A constraint on single tools: yields the pointer, from the tool, of every place that breaks it."""


def optional_names(node: SchemaNode, declared: dict[str, Any]) -> list[str]:
    """The declared properties of a schema that it does not require."""
    required = node.schema.get("required")
    return [name for name in declared if not isinstance(required, list) or name not in required]


class ServerView(NamedTuple):
    """A server as client constraints check it."""

    tools: list[Tool]
    instructions: str
    instructions_at: str
    """The pointer of the instructions from the server; empty if there are none."""
    pages: int | None
    """The number of pages of `tools/list`; None if the catalog is not from a live server."""


def server_view(catalog: Catalog) -> ServerView:
    """Return what clients see of a server as a whole."""
    greetings = ((key, catalog.server.fields.get(key)) for key in ("initialize", "discover"))
    texts = (
        (f"/{key}/instructions", greeting.get("instructions"))
        for key, greeting in greetings
        if isinstance(greeting, dict)
    )
    at, instructions = next(((at, text) for at, text in texts if isinstance(text, str)), ("", ""))
    pages = catalog.connection.tool_pages if catalog.connection is not None else None
    return ServerView(catalog.tools, instructions, at, pages)


def size_of(text: str, params: Params) -> int:
    """The length of a text in the unit of a constraint: characters, UTF-8 bytes or UTF-16 units."""
    unit = params.get("unit")
    if unit == "bytes":
        return len(text.encode("utf-8", "surrogatepass"))
    return length(text) if unit == "utf16" else len(text)
