from __future__ import annotations

from typing import Any

import pytest

from mcproof.testing.suites.paths import MissingValue, ValuePathError, parse_value_path, path_text

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
def test_a_path_has_a_value(text: str, value: Any) -> None:
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
def test_a_missing_value_says_how_far_its_path_exists(text: str, reached: str, why: str) -> None:
    assert parse_value_path(text).value_in(FACTS) == MissingValue(reached, why)


@pytest.mark.parametrize(
    "text", ["", "a..b", "a[", "a[x]", "a[-1]", "a b", ".a", "a.", "[*]", "a[*]", 'a["\\x"]', "a]"]
)
def test_invalid_paths_are_refused(text: str) -> None:
    with pytest.raises(ValuePathError):
        parse_value_path(text)


def test_the_length_and_depth_of_paths_are_limited() -> None:
    for text in ("a" * 1_001, ".".join("a" * 61)):
        with pytest.raises(ValuePathError):
            parse_value_path(text)


@pytest.mark.parametrize("text", ["result.content[0].text", 'tool["find book"].score', "a[*].b"])
def test_paths_are_written_as_they_are_parsed(text: str) -> None:
    assert path_text(parse_value_path(text, allows_every=True).steps) == text
