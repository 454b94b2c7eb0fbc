"""List every catalog with the client of the MCP Python SDK, and check a result of every tool with an output schema.

Reads `[{"tools": [...]}]` from stdin, writes `[{"list": REASON?, "tools": {INDEX: REASON}, "unjudged": [INDEX]}]` to
stdout. The tools of a list that is refused cannot be called and are not judged.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

import anyio
from mcp import ClientSession, types
from mcp.shared.memory import create_client_server_memory_streams
from mcp.shared.message import SessionMessage

CAPABILITIES = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "s", "version": "1"},
}
INVALID = "Invalid schema for tool"
"""How the SDK reports an output schema; other errors are about the result."""


async def serve(streams: Any, tools: list[Any]) -> None:
    """Reply to requests with the tools as they are, which a server of the SDK would not."""
    results: dict[str, dict[str, Any]] = {"initialize": CAPABILITIES, "tools/list": {"tools": tools}}
    read, write = streams
    async for received in read:
        message = received.message
        if isinstance(message, types.JSONRPCRequest):
            result = results.get(message.method, {})
            await write.send(SessionMessage(types.JSONRPCResponse(jsonrpc="2.0", id=message.id, result=result)))


async def judged(tools: list[Any]) -> dict[str, Any]:
    async with create_client_server_memory_streams() as (client, server), anyio.create_task_group() as tasks:
        tasks.start_soon(serve, server, tools)
        async with ClientSession(*client) as session:
            await session.initialize()
            try:
                listed = (await session.list_tools()).tools
            except Exception as error:  # whatever the client raises, the list is lost
                return {"list": " ".join(str(error).split())[:300], "tools": {}, "unjudged": list(range(len(tools)))}
            refused = {}
            for index, tool in enumerate(listed):
                try:
                    result = types.CallToolResult(content=[], structured_content={})
                    await session.validate_tool_result(tool.name, result)
                except Exception as error:
                    if not isinstance(error, RuntimeError) or str(error).startswith(INVALID):
                        refused[index] = f"{type(error).__name__}: {error}"[:300]
        tasks.cancel_scope.cancel()
    return {"tools": refused}


async def main() -> None:
    verdicts = [await judged(each["tools"]) for each in json.load(sys.stdin)]
    json.dump(verdicts, sys.stdout)


asyncio.run(main())
