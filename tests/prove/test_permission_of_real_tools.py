"""Permissions for the tool names of real servers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mcproof.prove.permission import Permission, permission
from mcproof.targets.snapshot import read_snapshot

CHANGING = {
    *("linear_markAllNotificationsAsRead", "mobile_type_keys", "ha_call_service", "browser_select_option", "git_clean"),
    *("puppeteer_evaluate", "json_del", "cache_incr", "forward_email", "highlight_table_header"),
}
HARMLESS = {
    *("git_log", "slack_get_channel_history", "get_call_status", "list_order_items", "read_log_file", "search_nodes"),
    *("TwilioApiV2010--ListCall", "describe_table", "geocode"),
}


def permitted(name: str, **annotations: Any) -> Permission:
    tool = {"name": name, "inputSchema": {"type": "object"}, "annotations": annotations}
    catalog = read_snapshot(json.dumps({"tools": [tool]}).encode(), "tools.json")
    return permission(catalog.tools[0], allow_writes=False)


@pytest.mark.parametrize("name", ["git_clean", "git_worktree", "forward_email", "get_emails_content"])
def test_a_tool_that_says_it_does_not_only_read_is_not_called(name: str) -> None:
    granted = permitted(name, readOnlyHint=False, destructiveHint=False)
    assert not granted.is_granted
    assert "readOnlyHint" in permitted("git_worktree", readOnlyHint=False).reason


@pytest.mark.parametrize("name", sorted(CHANGING))
def test_a_verb_behind_the_name_of_a_product_is_a_verb(name: str) -> None:
    assert not permitted(name).is_granted


@pytest.mark.parametrize("name", sorted(HARMLESS))
def test_a_noun_behind_a_verb_that_reads_is_none(name: str) -> None:
    granted = permitted(name)
    assert granted.is_granted
    assert granted.is_presumed


def test_the_hint_that_a_tool_only_reads_outdoes_a_mutating_word() -> None:
    assert permitted("trigger-long-running-operation", readOnlyHint=True).is_granted
    assert not permitted("delete_cache", readOnlyHint=True).is_granted
