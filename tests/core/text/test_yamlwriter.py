"""What is written is read back as the same value, whatever it is."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcproof.core.text.yaml_document import (
    DEEPEST_VALUE,
    Node,
    UnwritableError,
    comment_text,
    count_values,
    decode,
    json_value,
    parse,
    to_yaml,
)
from mcproof.testing.suites.loading import Substitution, SubstitutionContext

TEXTS = st.one_of(
    st.text(st.characters(codec="utf-8")),
    st.text("${}a:-#'\"\\\n\t\u2028\x85 ,[]&*!|>%@`?~=<"),
    st.sampled_from(
        ["", "true", "No", "NULL", "~", "1", "-1.5e3", "0x1F", ".inf", "<<", "=", "- a", "a: b", "a #b", "${HOME}"]
    ),
)
NUMBERS = st.one_of(st.integers(-(10**200), 10**200), st.floats(allow_nan=False, allow_infinity=False))
VALUES = st.recursive(
    st.one_of(TEXTS, NUMBERS, st.booleans(), st.none()),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(TEXTS, inner, max_size=4)),
    max_leaves=20,
)


def read(text: str) -> Any:
    """The value as a suite has it, with its variables filled in."""

    def complain(_: Node, message: str) -> None:
        raise AssertionError(message)

    root = parse(decode(text.encode()))
    return json_value(Substitution({"HOME": 1}, SubstitutionContext({}, []), complain).apply(root))


def is_same(one: Any, other: Any) -> bool:
    """Whether two values are the same JSON; 1 is not true, and 1.0 is not 1."""
    return repr(one) == repr(other)


@given(VALUES)
def test_every_value_survives_writing_and_reading(value: Any) -> None:
    text = f"a:\n  - {{b: {to_yaml(value)}}}  # a comment\n"
    assert text.count("\n") == 2
    assert is_same(read(text), {"a": [{"b": value}]})


@given(st.dictionaries(TEXTS, VALUES, min_size=1, max_size=3))
def test_values_are_counted_as_the_parser_does(value: Any) -> None:
    assert count_values(value) == parse(to_yaml(value)).size


def test_long_keys_are_written() -> None:
    value = {"x" * 5_000: {"\u2028" * 900: 1}}
    assert read(f"a: {to_yaml(value)}") == {"a": value}


def test_the_depth_of_values_is_limited() -> None:
    value: Any = 1
    for _ in range(DEEPEST_VALUE - 1):
        value = [value]
    assert read(f"a: [{{b: {{c: {to_yaml(value)}}}}}]") == {"a": [{"b": {"c": value}}]}
    with pytest.raises(UnwritableError, match="nested too deeply"):
        to_yaml([value])


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("a\ud800", "lone surrogate"),
        ({"\udfff": 1}, "lone surrogate"),
        (10**400, "too long"),
        (float("inf"), "too large"),
        (float("nan"), "too large"),
        ("a" * 100_001, "too long"),
    ],
)
def test_unwritable_values_are_refused(value: Any, why: str) -> None:
    with pytest.raises(UnwritableError, match=why):
        to_yaml([value])


@pytest.mark.parametrize("word", ["a", "get_forecast", "-m", "--db-path", "/usr/bin/x", "./run", "city answers"])
def test_plain_words_are_not_quoted(word: str) -> None:
    assert to_yaml(word) == word


@pytest.mark.parametrize("word", ["yes", "Off", "n", "null", "True", "1", "-1", "a: b", "a#b", "@a", "*a", "---", ""])
def test_ambiguous_words_are_quoted(word: str) -> None:
    assert to_yaml(word) == f'"{word}"'


@given(st.text())
def test_comment_text_is_one_line(said: str) -> None:
    text = f"a: 1  # {comment_text(said)}\n"
    assert len(text.splitlines()) == 1
    assert read(text) == {"a": 1}
    assert len(comment_text("a" * 1_000)) == 200
