"""Roles of parameters that take free text."""

from __future__ import annotations

import pytest

from mcproof.core.schema.keywords import role_of


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("command", "command"),
        ("shell_command", "command"),
        ("shellCommand", "command"),
        ("Query", "query"),
        ("sql_query", "query"),
        ("sql", "sql"),
        ("userPrompt", "prompt"),
        ("instructions", "instruction"),
        ("message", "message"),
        ("url", "url"),
        ("image_url", "url"),
        ("resource_uri", "url"),
        ("path", "path"),
        ("file_path", "path"),
        ("filePath", "path"),
        ("token", "token"),
        ("access_token", "token"),
        ("client_secret", "secret"),
    ],
)
def test_a_role(name: str, role: str) -> None:
    assert role_of(name) == role


@pytest.mark.parametrize(
    "name",
    [
        *("search_query", "next_token", "pageToken", "nextPageToken", "max_tokens", "commit_message", "json_path"),
        *("url_count", "commander", "query_id", "primary_key", "", "_", "city"),
    ],
)
def test_a_name_without_a_role(name: str) -> None:
    assert role_of(name) is None
