"""Tests of MCP servers in Python: a server to call, assertions about its schemas and refusals, snapshots.

With pytest, the fixtures `mcp_server`, `start_mcp_server` and `mcp_snapshot` are there by themselves; without it, a
`McpServer` is a context manager, and what is not as it should be is an AssertionError.
"""

from __future__ import annotations

from mcproof.testing.assertions import assert_negative_path, assert_schema_strict
from mcproof.testing.mcp_server import McpError, McpServer, ServerError, ServerStarter
from mcproof.testing.pytest_snapshots import McpSnapshot
from mcproof.testing.results import CallResult, PromptResult, ReadResult

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

for _name in __all__:  # where they are imported from, also in what a failing test shows
    globals()[_name].__module__ = __name__
