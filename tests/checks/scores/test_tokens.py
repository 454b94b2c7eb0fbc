"""What a catalog costs in context."""

from __future__ import annotations

import json
from math import ceil
from typing import Any

from mcproof.checks.scores.tokens import TokenCost, token_cost
from mcproof.targets.snapshots import read_snapshot


def cost(*tools: Any) -> TokenCost:
    return token_cost(read_snapshot(json.dumps({"tools": tools}).encode(), "case.json"))


def test_a_tool_costs_its_name_description_and_compact_schema() -> None:
    tool = {"name": "find", "description": "Finds it.", "inputSchema": {"type": "object", "properties": {}}}
    text = 'find Finds it. {"type":"object","properties":{}}'
    assert cost(tool) == TokenCost(ceil(len(text) / 3.5), {"find": ceil(len(text) / 3.5)})


def test_an_empty_description_is_left_out_with_its_space() -> None:
    text = "find {}"
    assert cost({"name": "find", "description": "", "inputSchema": {}}).total == ceil(len(text) / 3.5)


def test_a_description_counts_as_received_with_its_blanks() -> None:
    blanks = " " * 70
    assert cost({"name": "x", "description": f"{blanks}d", "inputSchema": {}}).total == ceil((1 + 1 + 71 + 1 + 2) / 3.5)


def test_an_absent_schema_counts_as_the_word_undefined_and_null_as_null() -> None:
    assert cost({"name": "x", "description": "d"}).total == ceil(len("x d undefined") / 3.5)
    assert cost({"name": "x", "description": "d", "inputSchema": None}).total == ceil(len("x d null") / 3.5)


def test_numbers_are_counted_as_javascript_writes_them() -> None:
    schema = {"maximum": 1.0, "minimum": 1e21}
    text = 'x {"maximum":1,"minimum":1e+21}'
    assert cost({"name": "x", "inputSchema": schema}).total == ceil(len(text) / 3.5)


def test_lengths_are_in_utf_16_code_units() -> None:
    assert cost({"name": "x", "description": "\U0001f600" * 7, "inputSchema": {}}).total == ceil(
        (1 + 1 + 14 + 1 + 2) / 3.5
    )


def test_the_total_is_the_sum_of_the_tools_even_where_two_share_a_name() -> None:
    tool = {"name": "x", "description": "d", "inputSchema": {}}
    assert cost(tool, tool).total == 2 * cost(tool).total


def test_malformed_tools_cost_what_they_have_and_break_nothing() -> None:
    assert cost(5, None, "x", {"name": 3, "description": 4, "inputSchema": [1]}).total > 0
