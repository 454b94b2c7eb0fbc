"""Servers that come to refuse every call prove nothing by it."""

from __future__ import annotations

import pytest

from .running import small_server, tool, tried

pytestmark = pytest.mark.usefixtures("here", "hurried")

READ = tool("read", text={"type": "string"}, count={"type": "integer", "minimum": 1})
READ["inputSchema"] |= {"required": ["text"], "additionalProperties": False}


def verdicts(*habits: str) -> dict[str, str]:
    document = tried("prove", "--checks", "missing_required,wrong_type,extra_field", *small_server([READ], *habits))
    return {each["column"]: each["verdict"] for each in document["matrix"]}


def test_a_server_that_refuses_every_call_after_the_first_proves_nothing() -> None:
    assert set(verdicts("tires").values()) == {"not shown"}


def test_a_rate_limit_proves_nothing_even_if_it_ends() -> None:
    found = verdicts("limits-rate")
    assert "proven" not in found.values()
    assert found["extra"] == "not shown"


def test_the_report_names_the_reason() -> None:
    document = tried("prove", *small_server([READ], "tires"))
    [untested] = [each for each in document["not_tested"] if each["what"] == "tool read, in part"]
    assert untested["why"].startswith("the valid call succeeds at first and is rejected later")
    assert {each["passed"] for each in document["probes"] if each["probe"] == "missing_required"} == {None}
