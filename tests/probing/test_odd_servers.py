"""Small servers with one oddity each, as they occur in public: what is found, and that nothing else is."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from .running import tried

pytestmark = pytest.mark.usefixtures("here")

SERVER = [sys.executable, "-I", "-S", str(Path(__file__).parents[1] / "servers" / "odd.py")]


def wire(document: Any) -> set[tuple[str, str | None]]:
    return {(each["rule"], each["tool"]) for each in document["findings"] if each["ruleset"] == "wire"}


@pytest.mark.parametrize(
    ("oddity", "expected"),
    [
        ("none", set()),
        ("no-capabilities", {("WIR-036", None)}),
        ("answers-notifications", {("WIR-033", None)}),
        ("no-ping", {("WIR-035", None)}),
        ("ends-on-a-list", {("WIR-026", None)}),
        ("needs-arguments", {("WIR-037", None)}),
        ("occurred", {("WIR-023", "get_item")}),
        ("error-block", {("WIR-022", "get_item"), ("WIR-023", "get_item")}),
        ("echo", {("WIR-023", "get_item")}),
    ],
)
def test_each_oddity_is_found_and_nothing_else(oddity: str, expected: set[tuple[str, str | None]]) -> None:
    assert wire(tried("prove", "--", *SERVER, oddity)) == expected


@pytest.mark.parametrize("oddity", ["occurred", "error-block", "echo"])
def test_a_refusal_in_any_wrapper_is_no_accepted_call(oddity: str) -> None:
    document = tried("prove", "--", *SERVER, oddity)
    verdicts = {each["column"]: each["verdict"] for each in document["matrix"] if each["tool"] == "get_item"}
    assert verdicts["missing"] == verdicts["type"] == "proven"
    assert tried("fuzz", "--cases", "60", "--", *SERVER, oddity)["outcomes"]["accepted"] == 0


def baselines(document: Any) -> dict[str, list[tuple[dict[str, Any], str]]]:
    calls: dict[str, list[tuple[dict[str, Any], str]]] = {}
    for row in document["probes"]:
        if row["probe"] == "baseline":
            calls.setdefault(row["tool"], []).append((json.loads(row["request"]), row["outcome"]))
    return calls


def test_a_valid_call_has_the_id_that_another_tool_lists_and_what_a_refusal_asks_for() -> None:
    calls = baselines(tried("prove", "--checks", "missing_required", "--", *SERVER, "asks"))
    assert calls["get_plant"] == [({"plant_id": "p-17"}, "accepted")], "listed first"
    assert [outcome for _, outcome in calls["measure_plant"]] == ["rejected", "accepted"]
    assert calls["measure_plant"][-1][0] == {"plant_id": "p-17", "unit": "metre"}
    assert calls["list_days"][-1] == ({"start": "2024-01-01"}, "accepted")
    assert calls["count_beds"] == [({}, "rejected"), ({"season": "a"}, "accepted")]
    assert "update_plant" not in calls, "it may change something"


def test_a_call_that_finds_nothing_is_made_again_with_what_others_return() -> None:
    calls = baselines(tried("prove", "--checks", "missing_required", "--", *SERVER, "asks"))
    assert calls["find_tool"] == [({"tool_name": "a"}, "accepted"), ({"tool_name": "spade"}, "accepted")]


def test_a_tool_that_may_change_something_does_not_get_a_real_id() -> None:
    calls = baselines(tried("prove", "--allow-writes", "--checks", "missing_required", "--", *SERVER, "asks"))
    assert all(arguments["plant_id"] != "p-17" for arguments, _ in calls["update_plant"])


def test_fuzzing_starts_from_the_valid_call_that_was_found() -> None:
    document = tried("fuzz", "--cases", "30", "--tool", "*_plant*", "--", *SERVER, "asks")
    assert "get_plant" in document["reached"]
    assert "measure_plant" in document["reached"]


def test_a_second_run_tries_the_same_calls() -> None:
    first, second = (tried("prove", "--", *SERVER, "asks") for _ in range(2))
    assert first["probes"] == second["probes"]
