"""The rules as resources, and the prompt that improves a server."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING, Any

import mcp_types as types
from mcp.shared.exceptions import MCPError

from mcproof.checks.rule import all_rules
from mcproof.checks.rulebook import rule_page

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext

    from mcproof.checks.rule import Rule

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
    return types.ListResourcesResult(
        resources=[_resource(rule) for rule in shown], next_cursor=str(after) if after < len(rules) else None
    )


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
    found = [rule for rule in all_rules() if rule.id.lower() == wanted] if uri.startswith(PREFIX) else []
    if not found:
        raise MCPError(types.INVALID_PARAMS, "resource not found", {"uri": uri})
    text = rule_page(found[0])
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
    steps = (files("mcproof.mcp_server") / "improve_server.md").read_text(encoding="utf-8")
    text = types.TextContent(text=steps.replace("{target}", target))
    return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=text)])


async def complete(_: Context, params: types.CompleteRequestParams) -> types.CompleteResult:
    """Complete the id in the template of the rules; there is nothing to complete elsewhere."""
    values: list[str] = []
    if isinstance(params.ref, types.ResourceTemplateReference) and params.ref.uri == f"{PREFIX}{{id}}":
        typed = params.argument.value.lower()
        values = [rule.id for rule in all_rules() if rule.id.lower().startswith(typed)]
    shown = values[:_MOST_COMPLETIONS]
    return types.CompleteResult(
        completion=types.Completion(values=shown, total=len(values), has_more=len(shown) < len(values))
    )


def _resource(rule: Rule) -> types.Resource:
    """A rule in the list. Its summary is not there: those of some rules quote what manipulates a model."""
    description = f"The rule {rule.name} of {rule.ruleset}: what it checks, why, and how to fix a finding."
    return types.Resource(name=rule.id, uri=f"{PREFIX}{rule.id}", description=description, mime_type=_MARKDOWN)


def _start(params: Pages, total: int) -> int:
    cursor = params.cursor if params is not None else None
    if cursor is None:
        return 0
    if not cursor.isascii() or not cursor.isdigit() or len(cursor) > 6 or int(cursor) >= total:
        raise MCPError(types.INVALID_PARAMS, "not a cursor of this server")
    return int(cursor)
