"""A server with given tools and habits: `python -I -S small.py TOOLS [HABIT...]`, with TOOLS as JSON or `@FILE`.

Every call succeeds, except for these habits: `refuses-everything`, `refuses-empty` (a call without arguments),
`refuses-objects` (an object as an argument), `refuses-nested` (an object or a list), `refuses-unknown` (an undeclared
argument), `refuses-long` (a string of more than 1,000 characters), `dies-of-full` (it crashes on a call with every
argument of the schema), `tires` (it refuses every call after the first), `limits-rate` (the same, for a while),
`hides-errors` (an error is a successful result with its text), `shows-secret` (an error contains the variable SECRET),
`repeats` (a result contains the arguments), `slow` (a call takes 50 ms), `works-slowly` (a call with the required
arguments, all of them short strings, takes a second, and any other is refused at once), `no-tools` (it offers no
tools), `no-list` (it crashes when it has to list them), `fails:METHOD` (it offers a list, and responds with an error),
`malformed:METHOD` (with something else than a list), `endless:METHOD` (with the same page again and again). The
environment variable CALLED names a file to which every call is appended as a line.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

LONG = 1_000
REFUSALS = {"tires": "No credit left", "limits-rate": "Too many requests, try again later"}
CALLS: list[Any] = []
"""The tools that were called."""


def main(words: list[str]) -> None:
    tools, habits = json.loads(_text(words[0])), set(words[1:])
    for line in sys.stdin:
        try:
            message = json.loads(line)
        except ValueError:
            continue
        if isinstance(message, dict) and "id" in message and "method" in message:
            answer = {"jsonrpc": "2.0", "id": message["id"], **answered(message, tools, habits)}
            sys.stdout.write(json.dumps(answer) + "\n")
            sys.stdout.flush()


def _text(word: str) -> str:
    """A text, or the contents of a file: the system limits the length of an argument."""
    if not word.startswith("@"):
        return word
    with open(word[1:], encoding="utf-8") as file:
        return file.read()


def answered(message: dict[str, Any], tools: list[Any], habits: set[str]) -> dict[str, Any]:
    method, params = message["method"], message.get("params", {})
    if method == "initialize":
        offered: dict[str, Any] = {} if "no-tools" in habits else {"tools": {}}
        offered |= {habit.partition(":")[2].partition("/")[0]: {} for habit in habits if ":" in habit}
        info = {"name": "small", "version": "1.0"}
        return {"result": {"protocolVersion": "2025-06-18", "capabilities": offered, "serverInfo": info}}
    if method == "ping":
        return {"result": {}}
    if f"fails:{method}" in habits:
        return {"error": {"code": -32603, "message": "Internal error"}}
    if f"malformed:{method}" in habits:
        return {"result": {method.partition("/")[0]: {}}}
    if f"endless:{method}" in habits:
        listed = tools if method == "tools/list" else []
        return {"result": {method.partition("/")[0]: listed, "nextCursor": "again"}}
    if method == "tools/list" and "no-list" in habits:
        os._exit(6)
    if method == "tools/list" and "cursor" not in params and "no-tools" not in habits:
        return {"result": {"tools": tools}}
    if method == "tools/call":
        time.sleep(0.05 if "slow" in habits else 0)
        return called(params, tools, habits)
    return {"error": {"code": -32601, "message": "Method not found"}}


def called(params: dict[str, Any], tools: list[Any], habits: set[str]) -> dict[str, Any]:
    name, arguments = params.get("name"), params.get("arguments", {})
    if "CALLED" in os.environ:
        with open(os.environ["CALLED"], "a", encoding="utf-8") as file:
            file.write(json.dumps([name, arguments]) + "\n")
    tool = next((each for each in tools if isinstance(each, dict) and each.get("name") == name), None)
    if tool is None:
        return {"error": {"code": -32602, "message": "Unknown tool"}}
    if "dies-of-full" in habits and arguments.keys() == tool["inputSchema"]["properties"].keys():
        os._exit(3)
    CALLS.append(name)
    if "works-slowly" in habits and not is_against("works-slowly", arguments, tool):
        time.sleep(1)
    refused = next((habit for habit in sorted(habits) if is_against(habit, arguments, tool)), None)
    done = f"Done: {json.dumps(arguments)}" if "repeats" in habits else "Done"
    text = done if refused is None else REFUSALS.get(refused, f"Invalid arguments: {refused}")
    if refused is not None and "shows-secret" in habits:
        text += f" ({os.environ.get('SECRET')})"
    if "hides-errors" in habits and refused is not None:
        return {"result": {"content": [{"type": "text", "text": f"Error: {text}"}]}}
    return {"result": {"content": [{"type": "text", "text": text}], "isError": refused is not None}}


def is_against(habit: str, arguments: Any, tool: dict[str, Any]) -> bool:
    """Whether a server with this habit refuses these arguments."""
    if not isinstance(arguments, dict):
        return True
    known = tool.get("inputSchema", {}).get("properties", {})
    return {
        "refuses-everything": True,
        "works-slowly": sorted(arguments) != sorted(known)
        or not all(isinstance(value, str) and len(value) <= 20 for value in arguments.values()),
        "tires": len(CALLS) > 1,
        "limits-rate": len(CALLS) in (3, 4, 5),
        "refuses-empty": not arguments,
        "refuses-objects": any(isinstance(value, dict) for value in arguments.values()),
        "refuses-nested": any(isinstance(value, dict | list) for value in arguments.values()),
        "refuses-unknown": not arguments.keys() <= known.keys(),
        "refuses-long": any(isinstance(value, str) and len(value) > LONG for value in arguments.values()),
    }.get(habit, False)


if __name__ == "__main__":
    main(sys.argv[1:])
