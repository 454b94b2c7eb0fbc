"""A server for the tests of suites: `python -I -S suited.py` on standard input and output; `answer` is all of it.

Tools: `echo` gives its arguments back, `add` adds, `fail` fails, `refuse` is refused, `die` ends the server, `sleep`
writes the file `note` and never answers, `clock` tells another time at every call, `secret` tells the variable SECRET,
`flaky` fails at its first call, `leave` is answered and ends the server, `babble` writes what is no JSON and never
answers, `tell` has SECRET for a key, `promise` promises a sum and gives what it is told, `charge` writes into the file
`note` and ends the server. By their annotations, `look` and `meet` change nothing: `look` gives its arguments back, or
ends the server where they say so, and `meet` is answered, on standard output, when another such call is there.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
import uuid
from typing import Any

LATE = 1.5
"""Seconds that the server takes to start when told `late`."""
CALLED: list[str] = []
NUMBER = {"type": "number", "description": "A number.", "maximum": 1000}
TOOLS: list[dict[str, Any]] = [
    {
        "name": "echo",
        "description": "Give a text back as it came. Use it to see whether the server is there; returns the text.",
        "inputSchema": {
            "type": "object",
            "properties": {"text": {"type": "string", "description": "Any text, such as hello.", "maxLength": 100}},
            "required": ["text"],
            "additionalProperties": False,
        },
    },
    {
        "name": "add",
        "description": "Add two numbers and return their sum.",
        "inputSchema": {
            "type": "object",
            "properties": {"a": NUMBER, "b": NUMBER},
            "required": ["a", "b"],
            "additionalProperties": False,
        },
    },
    *(
        {"name": name, "description": name, "inputSchema": {"type": "object", "properties": {"x": {}}}}
        for name in ("fail", "refuse", "die", "sleep", "clock", "secret", "flaky", "leave", "babble", "tell")
    ),
    {
        "name": "promise",
        "description": "promise",
        "inputSchema": {"type": "object", "properties": {"content": {}}},
        "outputSchema": {"type": "object", "properties": {"sum": {"type": "integer"}}, "required": ["sum"]},
    },
    *(
        {"name": name, "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}}
        for name in ("look", "meet")
    ),
]


def answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
    """The result or the error of a request."""
    if method == "initialize":
        capabilities: dict[str, Any] = {"tools": {}, "resources": {}, "prompts": {}}
        info = {"name": "suited", "version": "1.0"}
        return {"result": {"protocolVersion": "2025-06-18", "capabilities": capabilities, "serverInfo": info}}
    if method == "ping":
        return {"result": {}}
    if method == "tools/list":
        return {"result": {"tools": TOOLS}}
    if method == "resources/list":
        return {"result": {"resources": [{"uri": "note:///a", "name": "a"}]}}
    if method == "prompts/list":
        return {"result": {"prompts": [{"name": "greet"}]}}
    if method == "resources/read" and params.get("uri") == "note:///a":
        return {"result": {"contents": [{"uri": "note:///a", "text": "the note"}]}}
    if method == "prompts/get" and params.get("name") == "greet":
        who = params.get("arguments", {}).get("who", "nobody")
        return {"result": {"messages": [{"role": "user", "content": {"type": "text", "text": f"Hello {who}"}}]}}
    if method == "tools/call":
        return called(params.get("name"), params.get("arguments") or {})
    return error(-32601, "Method not found")


def error(code: int, message: str) -> dict[str, Any]:
    return {"error": {"code": code, "message": message}}


def text(said: str, *, is_error: bool = False, **more: Any) -> dict[str, Any]:
    marked = {"isError": True} if is_error else {}
    return {"result": {"content": [{"type": "text", "text": said}], **marked, **more}}


def called(name: Any, arguments: dict[str, Any]) -> dict[str, Any]:
    if name == "echo":
        if set(arguments) != {"text"} or not isinstance(arguments["text"], str):
            return error(-32602, "Invalid arguments")
        return text(arguments["text"])
    if name == "add":
        if not all(isinstance(arguments.get(key), int | float) for key in "ab"):
            return text("a and b are numbers", is_error=True)
        total = arguments["a"] + arguments["b"]
        return text(str(total), structuredContent={"sum": total, "of": [arguments["a"], arguments["b"]]})
    if name == "die" or arguments.get("die"):
        os._exit(3)
    if name == "charge" or ("once" in arguments and not os.path.exists(arguments["once"])):
        with open(arguments.get("note") or arguments["once"], "a", encoding="utf-8") as note:
            note.write("x")
        os._exit(4)
    if name in ("look", "meet"):
        time.sleep(arguments.get("takes", 0))
        return text(json.dumps(arguments))
    if name == "sleep":
        if "note" in arguments:
            with open(arguments["note"], "w", encoding="utf-8"):
                pass
        time.sleep(3600)
    if name == "babble":
        sys.stdout.write("hello\n")
        sys.stdout.flush()
        time.sleep(3600)
    if name == "tell":
        return text("told", structuredContent={str(os.environ.get("SECRET")): 1})
    if name == "promise":
        content = arguments.get("content")
        if content is None:
            return text("none", is_error=bool(arguments.get("fails")))
        return text("promised", structuredContent=content)
    if name == "clock":
        return text(f"at 2026-07-28T10:11:{time.time_ns() % 60:02}Z", structuredContent={"id": str(uuid.uuid4())})
    CALLED.append(str(name))
    others = {
        "flaky": text("now", is_error=CALLED.count("flaky") == 1),
        "fail": text("it failed", is_error=True),
        "refuse": error(-32000, "refused"),
        "leave": text("bye"),
        "secret": text(f"the secret is {os.environ.get('SECRET')}"),
    }
    return others.get(str(name)) or error(-32602, f"Unknown tool: {name}")


def main() -> None:
    met: list[str] = []
    if "deaf" in sys.argv:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if "noisy" in sys.argv:
        sys.stdout.write(f"Starting with {os.environ.get('SECRET')}\n")
    if "late" in sys.argv:
        time.sleep(LATE)
    for line in sys.stdin:
        message = json.loads(line)
        if "fleeting" in sys.argv and message.get("method") == "notifications/initialized":
            os._exit(5)
        if "id" in message and "method" in message:
            params = message.get("params") or {}
            said = json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer(message["method"], params)}) + "\n"
            if params.get("name") == "meet":
                met.append(said)
                if len(met) < 2:
                    continue
                said = "".join(reversed(met))
                met = []
            sys.stdout.write(said)
            sys.stdout.flush()
            if params.get("name") == "leave" or (params.get("arguments") or {}).get("leave"):
                os._exit(9)
    if "stubborn" in sys.argv:  # it does not end with its input, which it notes in the file that is named last
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        with open(sys.argv[-1], "w", encoding="utf-8"):
            pass
        time.sleep(3600)


if __name__ == "__main__":
    main()
