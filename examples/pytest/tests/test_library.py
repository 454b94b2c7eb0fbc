"""Tests of the library server: the fixtures come with mcproof."""

import pytest

from mcproof.testing import McpError, McpServer, McpSnapshot, assert_negative_path, assert_schema_strict


def test_a_book_is_found_by_its_title(mcp_server: McpServer) -> None:
    result = mcp_server.call("find_book", {"title": "dune"})
    assert result.text == "Dune by Frank Herbert, 1965"
    assert result.structured["year"] == 1965


def test_a_book_that_is_not_there_is_an_error_of_the_tool(mcp_server: McpServer) -> None:
    assert mcp_server.call("find_book", {"title": "Ulysses"}).is_error


def test_a_tool_that_is_not_there_is_an_error_of_the_protocol(mcp_server: McpServer) -> None:
    with pytest.raises(McpError) as caught:
        mcp_server.call("burn_book")
    assert caught.value.code == -32602


def test_the_schemas_are_strict(mcp_server: McpServer) -> None:
    assert_schema_strict(mcp_server)


def test_bad_requests_are_refused(mcp_server: McpServer) -> None:
    assert_negative_path(mcp_server, "find_book", {"title": "Emma"})


def test_the_tools_are_as_they_were(mcp_server: McpServer, mcp_snapshot: McpSnapshot) -> None:
    mcp_snapshot(mcp_server.tools())
