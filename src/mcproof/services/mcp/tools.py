"""What the tools declare: names, texts, schemas. Plain values, as they are served."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from typing import Any, NamedTuple

from mcproof.checks.rule import RULESETS
from mcproof.mcp_server.output_schemas import document_schema, fix_schema, rule_schema
from mcproof.mcp_server.paging import CURSOR_PATTERN, DEFAULT_LIMIT, LARGEST_LIMIT

LONGEST_PIECE = 1_999
"""The most characters of a string: some clients build a grammar from the schema, and larger bounds break them."""
MOST_PIECES = 511
"""With the first piece, a text has up to a million characters."""
_EXAMPLE = '[{"name": "ping", "inputSchema": {"type": "object"}}]'


class ToolDefinition(NamedTuple):
    """A tool as `tools/list` has it."""

    name: str
    title: str
    description: str
    input_schema: dict[str, Any]
    output_schema: dict[str, Any]


def tool_definitions() -> list[ToolDefinition]:
    """All tools, in the order of a session: judge, find, explain, fix, compare, and check for others."""
    texts = tomllib.loads((files("mcproof.mcp_server") / "tool_texts.toml").read_text(encoding="utf-8"))
    return [
        ToolDefinition(name, **texts[name], input_schema=_schema(*given), output_schema=output)
        for name, (given, output) in _schemas().items()
    ]


def _schemas() -> dict[str, tuple[tuple[dict[str, Any], ...], dict[str, Any]]]:
    """For each tool, the groups of its parameters, and its output schema."""
    target = _target("target", "What to check")
    return {
        "grade_catalog": ((target, _PAGES), document_schema("grade", "grade")),
        "lint_catalog": ((target, {"rulesets": _RULESETS}, _PAGES), document_schema("lint", "lint")),
        "explain_rule": (({"rule": _RULE},), rule_schema()),
        "fix_catalog": ((_target("target", "What to fix"), _FIXING, {"cursor": _CURSOR}), fix_schema()),
        "compare_catalogs": (
            (_target("old", "The earlier version"), _target("new", "The later version"), _PAGES),
            document_schema("diff"),
        ),
        "check_clients": (
            (target, {"clients": _CLIENTS}, _PAGES),
            document_schema("compat", "compat", without=("hits",)),
        ),
        "scan_catalog": ((target, _PAGES), document_schema("scan", "scan", without=("tool_graph",))),
    }


def _schema(*groups: dict[str, Any]) -> dict[str, Any]:
    """An input schema; the parameters in `_REQUIRED` are required."""
    properties = {name: schema for group in groups for name, schema in group.items()}
    required = [name for name in properties if name in _REQUIRED]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _target(name: str, what: str) -> dict[str, Any]:
    """The parameters of a target: a path or a text, and the rest of a long text."""
    return {
        name: {
            "type": "string",
            "description": f"{what}: the path of a snapshot (.json), a Python file or a folder, in an allowed folder; "
            "or the JSON text of a catalog, such as a tools/list result.",
            "minLength": 1,
            "maxLength": LONGEST_PIECE,
            "examples": [_EXAMPLE],
        },
        f"{name}_rest": {
            "type": "array",
            "description": f"The rest of a JSON text that is too long for {name}, in pieces that are joined.",
            "items": {"type": "string", "maxLength": LONGEST_PIECE},
            "maxItems": MOST_PIECES,
        },
    }


_REQUIRED = ("target", "old", "new", "rule")
_RULE = {
    "type": "string",
    "description": "The id or the name of a rule, as in a finding.",
    "minLength": 1,
    "maxLength": 80,
    "examples": ["SCH-001", "tool-no-description"],
}
_RULESETS = {
    "type": "array",
    "description": "The families of rules to run. Omit it for the usual ones; all runs every rule.",
    "items": {"type": "string", "enum": [*RULESETS, "all"]},
    "maxItems": len(RULESETS) + 1,
}
_CLIENTS = {
    "type": "array",
    "description": "Ids of clients or model APIs to report on, such as cursor. Omit it for all of them.",
    "items": {"type": "string", "minLength": 1, "maxLength": 80},
    "maxItems": 50,
}
_FIXING = {
    "form": {
        "type": "string",
        "description": "Return the whole fixed text of one file, or a unified diff.",
        "enum": ["text", "diff"],
        "default": "text",
    },
    "keep_optional": {
        "type": "boolean",
        "description": "Keep parameters optional that have a default or may be null.",
        "default": False,
    },
}
_CURSOR = {
    "type": "string",
    "description": "The next_cursor of the previous page, to continue a long result. Omit it for the first page.",
    "pattern": CURSOR_PATTERN,
    "maxLength": 26,
}
_PAGES = {
    "cursor": _CURSOR,
    "limit": {
        "type": "integer",
        "description": "The most entries on a page.",
        "minimum": 1,
        "maximum": LARGEST_LIMIT,
        "default": DEFAULT_LIMIT,
    },
}
