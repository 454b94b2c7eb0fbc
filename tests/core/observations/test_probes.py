"""Values from and to servers, as reports show them."""

from __future__ import annotations

import json

import pytest

from mcproof.core.observations.probes import LONGEST_EXCERPT, as_json


@pytest.mark.parametrize(
    "value", [{"a": [1, None, "é"]}, "x" * 500, {"a": ["b" * 300, "c" * 300]}, {"a": {"b": "d" * 5_000}, "e": 1}]
)
def test_a_cropped_value_begins_as_its_json_and_has_its_length(value: object) -> None:
    text = json.dumps(value, ensure_ascii=False)
    is_long = len(text) > LONGEST_EXCERPT
    assert as_json(value) == (f"{text[:LONGEST_EXCERPT]}… ({len(text):,} characters)" if is_long else text)


def test_a_value_nested_too_deeply_is_not_shown() -> None:
    value: list[object] = []
    for _ in range(100_000):
        value = [value]
    assert as_json(value) == "(nested too deeply to be shown)"
