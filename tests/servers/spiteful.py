"""A server that makes blame difficult: `python -I -S spiteful.py HABIT FILE`.

The habits: `dies-once` (it crashes on a value that is not a string, and does not start again once FILE exists),
`dies-later` (its first tool crashes it a second after the first call, while its second tool takes two seconds),
`dies-after-accepting` (it accepts undeclared arguments and crashes shortly after), `dies-of-late-types` (it accepts
everything, but crashes on a wrong type of the last of its many arguments), `sleeps` (a call gets no response, and FILE
holds its process id).
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from typing import Any

TEXT: dict[str, Any] = {"type": "string"}
SCHEMA = {"type": "object", "properties": {"q": TEXT}, "required": ["q"], "additionalProperties": False}
MANY = {"type": "object", "properties": {f"p{number}": {"type": "integer"} for number in range(30)}, "required": []}


def end_in(seconds: float) -> None:
    timer = threading.Timer(seconds, os._exit, [9])
    timer.daemon = True
    timer.start()


def call(habit: str, file: str, name: str, arguments: dict[str, Any], calls: int) -> None:
    """Do harm, or take the time that it takes."""
    if habit == "dies-once" and not isinstance(arguments.get("q"), str):
        with open(file, "w", encoding="utf-8"):
            os._exit(6)
    if habit == "dies-later" and name == "get_first" and calls == 1:
        end_in(1.0)
    if habit == "dies-later" and name == "get_second":
        time.sleep(2)
    if habit == "dies-after-accepting" and set(arguments) - {"q"}:
        end_in(0.01)
    if habit == "sleeps":
        with open(file, "w", encoding="utf-8") as number:
            number.write(str(os.getpid()))
        threading.Event().wait()
    if habit == "dies-of-late-types" and not isinstance(arguments.get("p29", 0), int):
        os._exit(7)


def main(habit: str, file: str) -> None:
    if habit == "dies-once" and os.path.exists(file):
        sys.exit("already running")
    names = ["get_first", "get_second"] if habit == "dies-later" else ["get_first"]
    schema = MANY if habit == "dies-of-late-types" else SCHEMA
    calls = 0
    for line in sys.stdin:
        message = json.loads(line)
        method, params = message.get("method"), message.get("params", {})
        if "id" not in message or method is None:
            continue
        answer: dict[str, Any] = {"result": {}}
        if method == "initialize":
            info = {"name": "spiteful", "version": "1.0"}
            answer = {"result": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info}}
        elif method == "tools/list":
            answer = {"result": {"tools": [{"name": name, "inputSchema": schema} for name in names]}}
        elif method == "tools/call" and params["name"] in names:
            calls += 1
            call(habit, file, params["name"], params["arguments"], calls)
            answer = {"result": {"content": [{"type": "text", "text": "Done"}]}}
        elif method != "ping":
            answer = {"error": {"code": -32601, "message": "Method not found"}}
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:3])
