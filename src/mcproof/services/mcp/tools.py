"""What the MCP server declares: its tools with their schemas, the rules as resources, and a prompt.

Output schemas are the shipped schemas of the JSON documents, for one target and one page. Plain values, as served.
"""

from __future__ import annotations

import json
import tomllib
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import mcp_types as types
from mcp.shared.exceptions import MCPError

from mcproof.checks.rule import RULESETS, all_rules
from mcproof.checks.rulebook import rule_page
from mcproof.core.named_tuple import NamedTuple
from mcproof.runs.records import schema_text
from mcproof.services.mcp.checks import CURSOR_PATTERN, DEFAULT_LIMIT, LARGEST_LIMIT

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext


_PAGE = {
    "description": "The part of the list in this result.",
    "type": "object",
    "properties": {
        "offset": {"description": "The number of entries before this page.", "type": "integer", "minimum": 0},
        "total": {"description": "The number of entries on all pages.", "type": "integer", "minimum": 0},
        "next_cursor": {
            "description": "The `cursor` of the next page; null on the last one.",
            "type": ["string", "null"],
        },
    },
    "required": ["offset", "total", "next_cursor"],
    "additionalProperties": False,
}
_COUNT: dict[str, Any] = {"type": "integer", "minimum": 0}
_ADVICE = {
    "help": {"description": "What to do about the finding.", "type": "string"},
    "snippets": {
        "description": "What to write in the source, for its framework; empty if that depends on the code.",
        "type": "array",
        "items": {
            "type": "object",
            "properties": {
                "framework": {"description": "The framework.", "type": "string"},
                "place": {"description": "Where to write it, in words.", "type": "string"},
                "code": {"description": "What to write.", "type": "string"},
            },
            "required": ["framework", "place", "code"],
            "additionalProperties": False,
        },
    },
}
"""What findings have for agents, besides what every JSON document has."""


def document_schema(name: str, entry: str | None = None, *, without: tuple[str, ...] = ()) -> dict[str, Any]:
    """The shipped schema of a document for one target, with `page`, and `without` some members at any depth.

    References are replaced by their targets, because not every client resolves them. `entry` names the definition
    of a document for one target; None if the whole schema is that.
    """
    shipped = _shipped(name)
    root = shipped if entry is None else shipped["$defs"][entry]
    schema: dict[str, Any] = _inlined(root, shipped.get("$defs", {}), frozenset(without))
    # Names and definitions of the shipped file, which mean nothing in a tool.
    for key in ("$schema", "$id", "$defs", "title"):
        schema.pop(key, None)
    schema["properties"]["page"] = _PAGE
    schema["required"] = [*schema["required"], "page"]
    if "findings" in schema["properties"]:
        finding = schema["properties"]["findings"]["items"]
        finding["properties"] |= _ADVICE
        finding["required"] = [*finding["required"], *_ADVICE]
    return schema


def grade_schema() -> dict[str, Any]:
    """The output schema of a grade, which says what helps most."""
    schema = document_schema("grade", "grade")
    gains = _inlined(_shipped("check")["$defs"]["grade_score"], {}, frozenset())["properties"]["gains"]
    schema["properties"]["next"] = {**gains, "description": "What to change, the largest gain first."}
    schema["required"] = [*schema["required"], "next"]
    return schema


def rule_schema() -> dict[str, Any]:
    """The output schema of a rule: its record and its page of the documentation."""
    shipped = _shipped("explain")
    schema: dict[str, Any] = _inlined(shipped["$defs"]["rule"], shipped["$defs"], frozenset())
    guide = {"description": "Why it matters, how to fix it, and examples, in Markdown.", "type": "string"}
    schema["properties"]["guide"] = guide
    schema["required"] = [*schema["required"], "guide"]
    return schema


def fix_schema() -> dict[str, Any]:
    """The output schema of a fix."""
    return {
        "description": "The fixed text of a target, and what is left.",
        "type": "object",
        "properties": {
            "schema_version": {"description": "The version of this format.", "const": 1},
            "target": {"description": "The target as given, or `catalog` for a text.", "type": "string"},
            "form": {"description": "What `content` is.", "enum": ["text", "diff"]},
            "content": {
                "description": "This page of the fixed text or of the unified diff; empty if nothing is fixed.",
                "type": "string",
            },
            "note": {"description": "Why nothing is fixed; absent if something is.", "type": "string"},
            "fixed": {"description": "How many findings are fixed.", **_COUNT},
            "made_required": {
                "description": "How many optional parameters become required, which breaks callers that omit them.",
                **_COUNT,
            },
            "left": {
                "description": "The number of findings that need an author, by rule.",
                "type": "object",
                "additionalProperties": {"type": "integer", "minimum": 1},
            },
            "page": {**_PAGE, "description": "The part of the content in this result, in characters."},
        },
        "required": ["schema_version", "target", "form", "content", "fixed", "made_required", "left", "page"],
        "additionalProperties": False,
    }


@cache
def _shipped(name: str) -> Any:
    return json.loads(schema_text(name))


def _inlined(node: Any, definitions: dict[str, Any], without: frozenset[str]) -> Any:
    if isinstance(node, list):
        return [_inlined(entry, definitions, without) for entry in node]
    if not isinstance(node, dict):
        return node
    # The definitions of the shipped schemas do not refer to themselves, so this ends.
    if "$ref" in node:
        return _inlined(definitions[node["$ref"].removeprefix("#/$defs/")], definitions, without)
    inlined = {key: _inlined(value, definitions, without) for key, value in node.items() if key != "$defs"}
    if isinstance(properties := inlined.get("properties"), dict):
        inlined["properties"] = {key: value for key, value in properties.items() if key not in without}
        inlined["required"] = [key for key in inlined.get("required", ()) if key not in without]
    return inlined


if TYPE_CHECKING:
    Context = ServerRequestContext[Any, Any]
    Pages = types.PaginatedRequestParams | None

PREFIX = "mcproof://rules/"
_MARKDOWN = "text/markdown"
_PAGE_SIZE = 100
_MOST_COMPLETIONS = 100
PROMPT = "improve_server"
_LONGEST_TARGET = 4_096


async def list_resources(_: Context, params: Pages) -> types.ListResourcesResult:
    rules = all_rules()
    start = _start(params, len(rules))
    shown = rules[start : start + _PAGE_SIZE]
    after = start + _PAGE_SIZE
    # The summary of a rule is not in the list: those of some rules quote what manipulates a model.
    resources = [
        types.Resource(
            name=rule.id,
            uri=f"{PREFIX}{rule.id}",
            description=f"The rule {rule.name} of {rule.ruleset}: what it checks, why, and how to fix a finding.",
            mime_type=_MARKDOWN,
        )
        for rule in shown
    ]
    return types.ListResourcesResult(resources=resources, next_cursor=str(after) if after < len(rules) else None)


async def list_templates(_: Context, __: Pages) -> types.ListResourceTemplatesResult:
    template = types.ResourceTemplate(
        name="rule",
        title="A rule of mcproof",
        uri_template=f"{PREFIX}{{id}}",
        description="What a rule checks, why, and how to fix a finding, in Markdown. The id is that of a finding.",
        mime_type=_MARKDOWN,
    )
    return types.ListResourceTemplatesResult(resource_templates=[template])


async def read_resource(_: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
    uri = str(params.uri)
    wanted = uri.removeprefix(PREFIX).lower()
    rules = [rule for rule in all_rules() if rule.id.lower() == wanted] if uri.startswith(PREFIX) else []
    if not rules:
        raise MCPError(types.INVALID_PARAMS, "resource not found", {"uri": uri})
    text = rule_page(rules[0])
    return types.ReadResourceResult(contents=[types.TextResourceContents(uri=uri, mime_type=_MARKDOWN, text=text)])


async def list_prompts(_: Context, __: Pages) -> types.ListPromptsResult:
    argument = types.PromptArgument(
        name="target", description="The server to improve: a Python file, a folder or a snapshot.", required=True
    )
    prompt = types.Prompt(
        name=PROMPT,
        title="Improve this server",
        description="Check an MCP server with mcproof, fix what it finds, and compare the result with the start.",
        arguments=[argument],
    )
    return types.ListPromptsResult(prompts=[prompt])


async def get_prompt(_: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
    if params.name != PROMPT:
        raise MCPError(types.INVALID_PARAMS, f"unknown prompt `{params.name[:80]}`; there is {PROMPT}")
    given = params.arguments or {}
    target = given.get("target", "")
    if not target or len(target) > _LONGEST_TARGET:
        message = f"`target` is missing or longer than {_LONGEST_TARGET:,} characters; pass the path of a server"
        raise MCPError(types.INVALID_PARAMS, message)
    steps = (files("mcproof.services.mcp") / "improve_server.md").read_text(encoding="utf-8")
    text = types.TextContent(text=steps.replace("{target}", target))
    return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=text)])


async def complete(_: Context, params: types.CompleteRequestParams) -> types.CompleteResult:
    """Complete the id in the template of the rules; there is nothing to complete elsewhere."""
    values: list[str] = []
    if isinstance(params.ref, types.ResourceTemplateReference) and params.ref.uri == f"{PREFIX}{{id}}":
        typed = params.argument.value.lower()
        values = [rule.id for rule in all_rules() if rule.id.lower().startswith(typed)]
    # The protocol allows no more in one response.
    shown = values[:_MOST_COMPLETIONS]
    return types.CompleteResult(
        completion=types.Completion(values=shown, total=len(values), has_more=len(shown) < len(values))
    )


def _start(params: Pages, total: int) -> int:
    cursor = params.cursor if params is not None else None
    if cursor is None:
        return 0
    if not cursor.isascii() or not cursor.isdigit() or len(cursor) > 6 or int(cursor) >= total:
        raise MCPError(types.INVALID_PARAMS, "not a cursor of this server")
    return int(cursor)


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
    texts = tomllib.loads((files("mcproof.services.mcp") / "tool_texts.toml").read_text(encoding="utf-8"))
    return [
        ToolDefinition(name, **texts[name], input_schema=_schema(*given), output_schema=output)
        for name, (given, output) in _schemas().items()
    ]


def _schemas() -> dict[str, tuple[tuple[dict[str, Any], ...], dict[str, Any]]]:
    """For each tool, the groups of its parameters, and its output schema."""
    target = _target("target", "What to check")
    return {
        "check_catalog": ((target, _PAGES), document_schema("check", "check")),
        "grade_catalog": ((target, _PAGES), grade_schema()),
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
