"""Test MCP servers in Python: call them, check their schemas and error handling, compare snapshots.

pytest gets the fixtures `mcp_server`, `start_mcp_server` and `mcp_snapshot`, which `mcproof.pytest_plugin` defines.
Elsewhere, `McpServer` is a context manager; the assertions raise AssertionError. `suites` has the tests in YAML.
Calls that mcproof makes up by itself are in `probing`.

Public modules: collection, outcomes, suites.entries, suites.model, suites.new_suite, suites.parser,
suites.regression, suites.runner, suites.snapshots.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mcproof.testing.assertions import McpSnapshot, assert_negative_path, assert_schema_strict
    from mcproof.testing.server import (
        CallResult,
        McpError,
        McpServer,
        PromptResult,
        ReadResult,
        ServerError,
        ServerStarter,
    )

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
    "CallResult": "mcproof.testing.server",
    "PromptResult": "mcproof.testing.server",
    "ReadResult": "mcproof.testing.server",
    "McpError": "mcproof.testing.server",
    "McpServer": "mcproof.testing.server",
    "ServerError": "mcproof.testing.server",
    "ServerStarter": "mcproof.testing.server",
    "McpSnapshot": "mcproof.testing.assertions",
}
"""The module of each public name."""


def __getattr__(name: str) -> Any:
    """Import what users are promised here on first use: the other modules of the package do not need a client."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
