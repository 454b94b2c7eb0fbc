"""The HTTP headers that repeat parts of a message: its revision, method, name and annotated arguments.

These are the MCP headers of every request. The foreign headers that a perimeter probe sends are in
`client.perimeter.endpoint`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcproof.core.schema.keywords import ANNOTATION, header_parameters
from mcproof.core.schema.tree import SchemaTree

if TYPE_CHECKING:
    from mcproof.core.schema.keywords import HeaderParameter

HEADER_MISMATCH = -32020
"""The JSON-RPC error of a request whose headers do not repeat its message."""
LONGEST_VALUE = 6_000
"""How many characters an argument may have to be sent in a header; HTTP servers refuse headers of 8 KB or more."""
_NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}


def stateless_headers(revision: str, message: dict[str, Any]) -> dict[str, str]:
    """The standard headers of a message in the stateless era."""
    headers = {"MCP-Protocol-Version": revision}
    method = message.get("method")
    if isinstance(method, str):
        headers["Mcp-Method"] = method
        params = message.get("params")
        name = params.get(_NAMED.get(method, "")) if isinstance(params, dict) else None
        if isinstance(name, str):
            headers["Mcp-Name"] = _header_value(name)
    return headers


class ParameterHeaders:
    """The `Mcp-Param-*` headers of tools, as their input schemas declare them."""

    def __init__(self) -> None:
        self._of_tool: dict[str, list[HeaderParameter]] = {}

    def learn(self, result: Any) -> None:
        """Read the annotations of a result of `tools/list`, whatever it holds."""
        tools = result.get("tools") if isinstance(result, dict) else None
        for tool in tools if isinstance(tools, list) else ():
            name, schema = (tool.get("name"), tool.get("inputSchema")) if isinstance(tool, dict) else (None, None)
            if isinstance(name, str) and isinstance(schema, dict):
                self._of_tool.pop(name, None)
                annotated = header_parameters(SchemaTree(schema)).valid if _may_annotate(schema) else []
                if annotated:
                    self._of_tool[name] = annotated

    def of(self, message: dict[str, Any]) -> dict[str, str]:
        """The headers for the arguments of a call; empty for other messages."""
        params = message.get("params")
        if message.get("method") != "tools/call" or not isinstance(params, dict) or not self._of_tool:
            return {}
        name = params.get("name")
        headers = {}
        for path, header in self._of_tool.get(name, ()) if isinstance(name, str) else ():
            text = _as_text(_value_at(params.get("arguments"), path))
            if text is not None and len(text) <= LONGEST_VALUE:
                headers[f"Mcp-Param-{header}"] = _header_value(text)
        return headers


def _may_annotate(schema: dict[str, Any]) -> bool:
    """Whether a schema may have annotations, at a fraction of the cost of walking it."""
    import marshal

    try:
        return ANNOTATION.encode() in marshal.dumps(schema, 4)
    except ValueError:  # nested too deep for marshal
        return True


def _value_at(arguments: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        arguments = arguments.get(name) if isinstance(arguments, dict) else None
    return arguments


def _as_text(value: Any) -> str | None:
    """An argument as the text of a header; None if it is absent, null, an object or a list."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        value = int(value)
    if isinstance(value, (str, float)):
        return str(value)
    return str(value) if isinstance(value, int) and value.bit_length() < 4_000 else None


def _header_value(text: str) -> str:
    """A header value as the protocol defines it: plain, or base64 if it has other than visible ASCII characters."""
    is_plain = text.isascii() and text.isprintable() and text == text.strip() and not text.startswith("=?base64?")
    if is_plain:
        return text
    from base64 import b64encode

    return f"=?base64?{b64encode(text.encode('utf-8', 'surrogatepass')).decode()}?="
