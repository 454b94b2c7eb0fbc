"""Test MCP servers in Python: call them, check their schemas and error handling, compare snapshots.

pytest gets the fixtures `mcp_server`, `start_mcp_server` and `mcp_snapshot`. Elsewhere, `McpServer` is a
context manager; the assertions raise AssertionError.
"""

from __future__ import annotations

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

for _name in __all__:  # show the public module in tracebacks and reprs
    globals()[_name].__module__ = __name__
