"""Test MCP servers in Python: call them, check their schemas and error handling, compare snapshots.

pytest gets the fixtures `mcp_server`, `start_mcp_server` and `mcp_snapshot`. Elsewhere, `McpServer` is a
context manager; the assertions raise AssertionError.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mcproof.testing.assertions import assert_negative_path, assert_schema_strict
    from mcproof.testing.call_results import CallResult, PromptResult, ReadResult
    from mcproof.testing.mcp_server import McpError, McpServer, ServerError, ServerStarter
    from mcproof.testing.pytest_snapshots import McpSnapshot

__all__ = [
    "CallResult",
    "McpError",
    "McpServer",
    "McpSnapshot",
    "PromptResult",
    "ReadResult",
    "ServerError",
    "ServerStarter",
    "assert_negative_path",
    "assert_schema_strict",
]

_HOMES = {
    "assert_negative_path": "mcproof.testing.assertions",
    "assert_schema_strict": "mcproof.testing.assertions",
    "CallResult": "mcproof.testing.call_results",
    "PromptResult": "mcproof.testing.call_results",
    "ReadResult": "mcproof.testing.call_results",
    "McpError": "mcproof.testing.mcp_server",
    "McpServer": "mcproof.testing.mcp_server",
    "ServerError": "mcproof.testing.mcp_server",
    "ServerStarter": "mcproof.testing.mcp_server",
    "McpSnapshot": "mcproof.testing.pytest_snapshots",
}
"""The module of each public name."""


def __getattr__(name: str) -> Any:
    """Import what users are promised here on first use: the other modules of the package do not need a client."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
