"""A server with strict tools and slow calls: `slow_server.py TOOLS SECONDS_PER_CALL`. It handles one at a time."""

import json
import sys
import time
from typing import Any

COUNT, SECONDS = int(sys.argv[1]), float(sys.argv[2])
PROPERTIES = {"title": {"type": "string", "maxLength": 40}, "limit": {"type": "integer", "minimum": 1, "maximum": 9}}
SCHEMA = {"type": "object", "properties": PROPERTIES, "required": ["title"], "additionalProperties": False}
TOOLS = [{"name": f"find_{number}", "description": "Find books.", "inputSchema": SCHEMA} for number in range(COUNT)]
SERVER = {"name": "slow", "version": "1"}


def is_valid(arguments: object) -> bool:
    if not isinstance(arguments, dict) or not {"title"} <= arguments.keys() <= PROPERTIES.keys():
        return False
    title, limit = arguments["title"], arguments.get("limit", 1)
    return isinstance(title, str) and len(title) <= 40 and type(limit) is int and 1 <= limit <= 9


def result_of(method: str, params: dict[str, Any]) -> dict[str, Any]:
    if method == "initialize":
        return {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": SERVER}
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call":
        time.sleep(SECONDS)
        is_good = params["name"].startswith("find_") and is_valid(params["arguments"])
        text = "found" if is_good else f"invalid arguments: {list(params['arguments'])}"
        return {"content": [{"type": "text", "text": text}], "isError": not is_good}
    return {}


for line in sys.stdin:
    try:
        request = json.loads(line)
    except ValueError:
        continue
    if "id" in request:
        result = result_of(request["method"], request.get("params") or {})
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
