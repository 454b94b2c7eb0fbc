"""Tests of the library server, with the fixtures of mcproof."""

import pytest

from mcproof.testing import McpError, McpServer, McpSnapshot, assert_negative_path, assert_schema_strict


def test_find_book_by_title(mcp_server: McpServer) -> None:
    result = mcp_server.call("find_book", {"title": "dune"})
    assert result.text == "Dune by Frank Herbert, 1965"
    assert result.structured["year"] == 1965


def test_unknown_book_is_a_tool_error(mcp_server: McpServer) -> None:
    assert mcp_server.call("find_book", {"title": "Ulysses"}).is_error


def test_unknown_tool_is_a_protocol_error(mcp_server: McpServer) -> None:
    with pytest.raises(McpError) as caught:
        mcp_server.call("burn_book")
    assert caught.value.code == -32602


def test_schemas_are_strict(mcp_server: McpServer) -> None:
    assert_schema_strict(mcp_server)


def test_invalid_calls_are_rejected(mcp_server: McpServer) -> None:
    assert_negative_path(mcp_server, "find_book", {"title": "Emma"})


def test_tools_are_unchanged(mcp_server: McpServer, mcp_snapshot: McpSnapshot) -> None:
    mcp_snapshot(mcp_server.tools())
