"""Convert every tool with the OpenAI Agents SDK, strict schemas on.

Reads `[{"tools": [...]}]` from stdin, writes `[{"list": REASON?, "tools": {INDEX: REASON}, "unjudged": [INDEX]}]` to
stdout: the tools that stay non-strict. A tool that the MCP SDK does not read is not judged.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from typing import Any

from agents import Agent, RunContextWrapper  # type: ignore[import-not-found]
from agents.mcp import MCPServer, MCPUtil  # type: ignore[import-not-found]
from agents.tool import FunctionTool  # type: ignore[import-not-found]
from mcp.types import Tool


class Listed(MCPServer):  # type: ignore[misc]
    """A server with these tools."""

    def __init__(self, tools: list[Tool]) -> None:
        super().__init__()
        self._tools = tools

    @property
    def name(self) -> str:
        return "s"

    async def list_tools(self, *_: Any, **_named: Any) -> list[Tool]:
        return self._tools

    async def _unused(self, *_: Any, **_named: Any) -> Any:
        raise NotImplementedError

    connect = cleanup = call_tool = list_prompts = get_prompt = _unused


class Reasons(logging.Handler):
    """The reasons that the converter logs."""

    def __init__(self) -> None:
        super().__init__()
        self.last = ""

    def emit(self, record: logging.LogRecord) -> None:
        self.last = record.getMessage()


async def judged(raw: list[Any], reasons: Reasons) -> dict[str, Any]:
    tools: dict[int, Tool] = {}
    for index, each in enumerate(raw):
        try:
            tools[index] = Tool.model_validate(each)
        except ValueError:
            continue
    refused = {}
    context, agent = RunContextWrapper(None), Agent(name="judge")
    try:
        await MCPUtil.get_all_function_tools([Listed(list(tools.values()))], True, context, agent)
    except Exception as error:  # whatever it raises, the agent has no tools
        return {"list": str(error)[:300], "tools": {}, "unjudged": list(range(len(raw)))}
    for index, tool in tools.items():
        (converted,) = await MCPUtil.get_all_function_tools([Listed([tool])], True, context, agent)
        if isinstance(converted, FunctionTool) and not converted.strict_json_schema:
            refused[index] = reasons.last[:300]
    return {"tools": refused, "unjudged": [index for index in range(len(raw)) if index not in tools]}


async def main() -> None:
    reasons = Reasons()
    logging.getLogger("openai.agents").addHandler(reasons)
    logging.getLogger("openai.agents").setLevel(logging.INFO)
    verdicts = [await judged(each["tools"], reasons) for each in json.load(sys.stdin)]
    json.dump(verdicts, sys.stdout)


asyncio.run(main())
