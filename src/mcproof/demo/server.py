"""The demo: a weather server over stdio with the faults of real servers.

    python -m mcproof.demo.server

It prints a greeting to stdout, reports no version, validates only some of what its schemas promise, and crashes when
the number of days is not a number.
"""

from __future__ import annotations

import json
import sys
from importlib.resources import files
from typing import Any

METHOD_NOT_FOUND, INVALID_PARAMS = -32601, -32602


def main() -> None:
    """Respond to requests until the input ends."""
    catalog = json.loads((files("mcproof.demo") / "weather.json").read_text(encoding="utf-8"))
    sys.stdout.write("weather server is ready\n")
    for line in sys.stdin:
        request = json.loads(line)
        if "id" in request:
            answer = {"jsonrpc": "2.0", "id": request["id"], **_answer(request, catalog)}
            sys.stdout.write(json.dumps(answer) + "\n")
            sys.stdout.flush()


def _answer(request: dict[str, Any], catalog: dict[str, Any]) -> dict[str, Any]:
    method, params = request.get("method"), request.get("params") or {}
    if method == "initialize":
        return {"result": catalog["initialize"]}
    if method == "ping":
        return {"result": {}}
    if method in ("tools/list", "prompts/list"):
        key = method.partition("/")[0]
        return {"result": {key: catalog[key]}}
    if method == "tools/call":
        return _call(params, catalog)
    return _error(METHOD_NOT_FOUND, f"unknown method {method}")


def _call(params: dict[str, Any], catalog: dict[str, Any]) -> dict[str, Any]:
    """Call a tool, validating some arguments and not others, as real servers do."""
    name, arguments = params.get("name"), params.get("arguments") or {}
    tool = next((tool for tool in catalog["tools"] if tool["name"] == name), None)
    if tool is None:
        return _error(INVALID_PARAMS, f"unknown tool {name}")
    needed = [*tool["inputSchema"].get("required", ()), *(["region"] if name == "get_alerts" else [])]
    if missing := [parameter for parameter in needed if parameter not in arguments]:
        return _text(f"missing: {', '.join(missing)}", is_error=True)
    if name == "current.conditions" and not (isinstance(arguments["station"], str) and len(arguments["station"]) <= 12):
        return _text("a station is a string of up to 12 characters", is_error=True)
    if name == "get_forecast":
        days = range(min(arguments.get("days", 1), 14))
        return _text("\n".join(f"day {day + 1} in {arguments['city']}: 18 °C and a light breeze" for day in days))
    return _text(f"{name}: 18 °C and a light breeze")


def _text(text: str, *, is_error: bool = False) -> dict[str, Any]:
    return {"result": {"content": [{"type": "text", "text": text}], "isError": is_error}}


def _error(code: int, message: str) -> dict[str, Any]:
    return {"error": {"code": code, "message": message}}


if __name__ == "__main__":
    main()
