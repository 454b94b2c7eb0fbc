from __future__ import annotations

import json
from typing import Any

import pytest

from mcproof.targets.snapshots import read_snapshot
from mcproof.testing.suites.steps import quality_of

from .suites import SEARCH


def facts(*tools: dict[str, Any]) -> dict[str, Any]:
    return quality_of(read_snapshot(json.dumps({"tools": tools}).encode(), "tools.json")).facts


@pytest.mark.parametrize(
    ("description", "is_critical"),
    [
        ("", True),
        ("Search", True),
        ("search", True),
        ("Library", True),
        ("搜索图书馆的书籍", False),
        (SEARCH["description"], False),
    ],
)
def test_useless_descriptions_are_criticals(description: str, is_critical: bool) -> None:
    assert facts({**SEARCH, "description": description})["critical_count"] == is_critical


def test_scores_cover_each_tool_and_all_tools() -> None:
    found = facts(SEARCH, {**SEARCH, "name": "other", "description": ""})
    scores = {name: each["score"] for name, each in found["tool"].items()}
    assert found["min_score"] == scores["other"] == 0
    assert found["mean_score"] == round(sum(scores.values()) / 2, 4)


def test_findings_of_the_strict_rules_are_counted_by_severity() -> None:
    loose = {"name": "loose", "inputSchema": {"type": "object", "properties": {"x": {}}}}
    found = facts(SEARCH, loose)
    assert (found["schema_criticals"], found["schema_warnings"]) == (1, 2)
