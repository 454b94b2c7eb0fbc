from __future__ import annotations

from typing import Any

import pytest

from mcproof.suite.value_paths import MissingValue, ValuePathError, parse_value_path, path_text

FACTS: dict[str, Any] = {
    "result": {"content": [{"type": "text", "text": "hello"}], "a.b": {"x y": 1}, "list": [[1, 2], [3]]},
    "error": None,
    "duration_ms": 12,
}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("result.content[0].text", "hello"),
        ('result["a.b"]["x y"]', 1),
        ("result['a.b']['x y']", 1),
        ("result.list[1][0]", 3),
        ("error", None),
        ("duration_ms", 12),
        ("result.isError", False),
    ],
)
def test_a_target_leads_to_a_value(text: str, value: Any) -> None:
    assert parse_value_path(text).value_in(FACTS) == value


@pytest.mark.parametrize(
    ("text", "reached", "why"),
    [
        ("result.contents", "result", "has content, a.b, list"),
        ("result.content[1]", "result.content", "has 1 item"),
        ("result.content.text", "result.content", "is a list"),
        ("error.code", "error", "is null"),
        ("result.content[0].text.x", "result.content[0].text", "is a string"),
        ('result["a.b"].z', 'result["a.b"]', "has x y"),
    ],
)
def test_a_target_that_leads_nowhere_says_how_far_it_leads(text: str, reached: str, why: str) -> None:
    assert parse_value_path(text).value_in(FACTS) == MissingValue(reached, why)


@pytest.mark.parametrize(
    "text", ["", "a..b", "a[", "a[x]", "a[-1]", "a b", ".a", "a.", "[*]", "a[*]", 'a["\\x"]', "a]"]
)
def test_what_is_no_path_is_refused(text: str) -> None:
    with pytest.raises(ValuePathError):
        parse_value_path(text)


def test_a_target_that_is_too_long_or_too_deep_is_refused() -> None:
    for text in ("a" * 1_001, ".".join("a" * 61)):
        with pytest.raises(ValuePathError):
            parse_value_path(text)


@pytest.mark.parametrize("text", ["result.content[0].text", 'tool["find book"].score', "a[*].b"])
def test_steps_are_spelt_as_they_are_written(text: str) -> None:
    assert path_text(parse_value_path(text, allows_every=True).steps) == text
