"""A server with one tool, `read_book`, that takes its time: `python -I -S slow.py HABIT...`.

A habit may have a number of seconds: `computes=3`.

| when | habits |
| --- | --- |
| at the start | `starts-late` (after this time), `starts-busy` (after this CPU time) |
| on every call | `sleeps` or `spins` for ever, `computes` for this CPU time, `waits` for this time |
| on every call | `dies-of-next` (sleeps, and exits when the next line arrives), `says-hello` (prints text) |
| at the end of its input | `ends-late` (after this time), `never-ends` (only SIGTERM), `says-bye` (prints text) |
"""

from __future__ import annotations

import json
import sys
import threading
import time
from typing import Any

TOOL = {
    "name": "read_book",
    "description": "Read a book.",
    "inputSchema": {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]},
}


def main(words: list[str]) -> None:
    habits = {name: float(seconds or 0) for name, _, seconds in (word.partition("=") for word in words)}
    time.sleep(habits.get("starts-late", 0))
    compute(habits.get("starts-busy", 0))
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message:
            result = answered(message, habits)
            if result is not None:
                sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], **result}) + "\n")
                sys.stdout.flush()
    time.sleep(habits.get("ends-late", 0))
    if "says-bye" in habits:
        sys.stdout.write("goodbye\n")
        sys.stdout.flush()
    if "never-ends" in habits:
        threading.Event().wait()


def answered(message: dict[str, Any], habits: dict[str, float]) -> dict[str, Any] | None:
    method = message["method"]
    if method == "initialize":
        info = {"name": "slow", "version": "1.0"}
        return {"result": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info}}
    if method == "ping":
        return {"result": {}}
    if method == "tools/list":
        return {"result": {"tools": [TOOL]}}
    if method != "tools/call":
        return {"error": {"code": -32601, "message": "Method not found"}}
    if message["params"]["name"] != TOOL["name"]:
        return {"error": {"code": -32602, "message": "Unknown tool"}}
    if "says-hello" in habits:
        sys.stdout.write("hello\n")
    if "sleeps" in habits:
        return None
    if "dies-of-next" in habits:
        sys.stdin.readline()
        sys.exit(5)
    while "spins" in habits:
        pass
    compute(habits.get("computes", 0))
    time.sleep(habits.get("waits", 0))
    is_valid = isinstance(message["params"].get("arguments", {}).get("title"), str)
    return {"result": {"content": [{"type": "text", "text": "Done"}], "isError": not is_valid}}


def compute(seconds: float) -> None:
    """Use up this much CPU time."""
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


if __name__ == "__main__":
    main(sys.argv[1:])
