"""A small server with one oddity: `python -I -S odd.py ODDITY`.

Each oddity was seen on a public server: `no-capabilities`, `answers-notifications`, `no-ping`, `ends-on-a-list`,
`needs-arguments`; refusals that are successes: `occurred`, `error-block`, `echo` (an error that repeats a long value);
and `asks` (it refuses what it does not know, and says what it knows).
"""

from __future__ import annotations

import json
import sys
from typing import Any


def tool(name: str, description: str, *names: str, **types: str) -> dict[str, Any]:
    properties = {key: {"type": types.get(key, "string")} for key in (*names, *types)}
    return {
        "name": name,
        "description": description,
        "inputSchema": {"type": "object", "properties": properties, "required": list(names)},
    }


TOOLS = [tool("get_item", "Get an item by its key.", "key"), tool("list_items", "List all items.")]
ASKING = [
    tool("get_plant", "Get a plant of a garden.", "plant_id"),
    tool("list_plants", "List all plants."),
    tool("measure_plant", "Get the height of a plant.", "plant_id", "unit"),
    tool("list_days", "List what grew since a day.", "start"),
    tool("count_beds", "Count the beds of a season.", season="string"),
    tool("find_tool", "Find a tool of the garden.", "tool_name"),
    tool("search_tools", "Search the tools of the garden.", "query"),
    tool("update_plant", "Update a plant.", "plant_id"),
]
UNITS = ("metre", "foot")
JSON_ERRORS = '[{"code": "invalid_type", "path": ["key"], "message": "Required"}]'


def of_text(text: str, *, is_error: bool = False, kind: str = "text") -> dict[str, Any]:
    return {"content": [{"type": kind, "text": text}], **({"isError": True} if is_error else {})}


def called(oddity: str, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    if oddity == "asks":
        return asking(name, arguments)
    key = arguments.get("key")
    if name == "list_items" or (isinstance(key, str) and (oddity != "echo" or len(key) <= 200)):
        return of_text("fine")
    if oddity == "occurred":
        return of_text(f"Error occurred: Invalid arguments for tool {name}: {JSON_ERRORS}\nPlease correct the error")
    if oddity == "error-block":
        return of_text(JSON_ERRORS, kind="error")
    if oddity == "echo" and isinstance(key, str):
        return of_text(f"Error reading file: [Errno 36] File name too long: '{key}'")
    return of_text("key must be a string", is_error=True)


def asking(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    plant, unit = arguments.get("plant_id"), arguments.get("unit")
    if name == "list_plants":
        return of_text(json.dumps({"plants": [{"id": "p-17", "name": "Fern"}], "total": 1}))
    if name == "search_tools":
        return of_text("spade, rake")
    if name == "find_tool":
        return of_text("A spade" if arguments.get("tool_name") == "spade" else "No tool found")
    if "plant_id" in arguments and plant != "p-17":
        return of_text(f"Plant '{plant}' not found", is_error=True)
    if name == "measure_plant" and unit not in UNITS:
        return of_text(f"Unknown unit: {unit}. Available: {', '.join(UNITS)}", is_error=True)
    if name == "list_days" and len(str(arguments.get("start"))) != 10:
        return of_text("start: expected format YYYY-MM-DD", is_error=True)
    if name == "count_beds" and "season" not in arguments:
        return of_text("missing field `season`", is_error=True)
    return of_text("fine")


def result(oddity: str, method: str, params: dict[str, Any]) -> dict[str, Any]:
    if method == "initialize":
        info = {"name": "odd", "version": "1.0"}
        offered: dict[str, Any] = {} if oddity == "no-capabilities" else {"capabilities": {"tools": {}}}
        return {"result": {"protocolVersion": "2025-06-18", "serverInfo": info, **offered}}
    if method == "tools/list":
        return {"result": {"tools": ASKING if oddity == "asks" else TOOLS}}
    if method == "ping" and oddity != "no-ping":
        return {"result": {}}
    if method == "tools/call" and any(params.get("name") == each["name"] for each in (*TOOLS, *ASKING)):
        if oddity == "needs-arguments" and "arguments" not in params:
            return {"error": {"code": -32602, "message": "arguments: Required"}}
        return {"result": called(oddity, params["name"], params.get("arguments") or {})}
    return {"error": {"code": -32602 if method == "tools/call" else -32601, "message": "Not found"}}


def main(oddity: str) -> None:
    for line in sys.stdin:
        try:
            message = json.loads(line)
        except ValueError:
            continue
        if not isinstance(message, dict):
            if oddity == "ends-on-a-list":
                return
            continue
        answer = None
        if "id" in message:
            answer = {"id": message["id"], **result(oddity, message["method"], message.get("params") or {})}
        elif oddity == "answers-notifications":
            answer = {"id": None, "error": {"code": -32601, "message": f"Unknown method: {message.get('method')}"}}
        if answer is not None:
            sys.stdout.write(json.dumps({"jsonrpc": "2.0", **answer}) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1])
