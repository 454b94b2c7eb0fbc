"""Tool objects that exist before they are registered: created from a function, copied, or converted."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from mcproof.discovery.frameworks import fastmcp_docstrings
from mcproof.discovery.frameworks.registration_tables import PACKAGES
from mcproof.discovery.interp.attributes import docstring_of
from mcproof.discovery.interp.containers import EXACT, extent_of
from mcproof.discovery.interp.values import UNKNOWN, External, ExternalCall, Function, Method

if TYPE_CHECKING:
    from mcproof.discovery.interp.values import Call, Class


def attribute(tool: ExternalCall, name: str) -> Any:
    """An attribute of a tool that `from_function` created."""
    function = tool.argument(0, "fn", UNKNOWN)
    if name == "fn":
        return function
    exposed = function.exposed() if isinstance(function, Function) else None
    if name == "name":
        return tool.argument(1, "name") or (exposed.name if exposed is not None else UNKNOWN)
    if name == "description":
        if exposed is None:
            return UNKNOWN
        text = docstring_of(exposed)
        return text or "" if tool.func.package != "fastmcp" else fastmcp_docstrings.described(text)
    return None if name in ("title", "annotations", "meta", "icons") else Method(tool, name)


def made_by_subclass(cls: Class, name: str, call: Call) -> Any:
    """Call an inherited class method of a framework's class."""
    for base in cls.external_bases():
        if name == "from_function" and base.package in PACKAGES:
            made = External(f"{base.name}.{name}")
            return ExternalCall(made, call.args, call.kwargs, call.node, call.module, complete=call.complete)
    return UNKNOWN


def copied(made: ExternalCall, update: Any) -> ExternalCall:
    """`tool.model_copy(update={…})`."""
    if update is None:
        return made
    is_known = isinstance(update, dict) and extent_of(update) is EXACT
    kwargs = {**made.kwargs, **update} if is_known else made.kwargs
    return ExternalCall(made.func, made.args, kwargs, made.node, made.module, complete=made.complete and is_known)


def is_adk_tool(value: Any) -> bool:
    """Whether a value is a tool of Google's Agent Development Kit, which has a converter to MCP."""
    return (
        isinstance(value, ExternalCall)
        and value.func.last == "FunctionTool"
        and value.func.name.startswith("google.adk.")
    )


def adk_attribute(tool: ExternalCall, name: str) -> Any:
    """The name or the description of such a tool."""
    function = tool.argument(0, "func")
    if name in tool.kwargs:
        return tool.kwargs[name]
    if not isinstance(function, Function):
        return UNKNOWN
    return function.exposed().name if name == "name" else inspect.cleandoc(docstring_of(function.exposed()) or "")


def converted_adk_tool(tool: ExternalCall) -> ExternalCall:
    """The converted tool; its schema is unknown."""
    given = {key: adk_attribute(tool, key) for key in ("name", "description")}
    return ExternalCall(External("mcp.types.Tool"), [], {**given, "inputSchema": UNKNOWN}, tool.node, tool.module)
