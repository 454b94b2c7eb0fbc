"""Bounds for the size of JSON are never below what JavaScript writes."""

from __future__ import annotations

import marshal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcproof.checks.scores.tokens import is_longer, stringify
from mcproof.core.catalog.model import Tool

TEXTS = st.text(st.sampled_from(["a", '"', "\\", "\n", "\x01", "\0", "é", "\ud800", "😀", "F", "i"]), max_size=8)
NUMBERS = st.sampled_from(
    [0, -1, 2**31 - 1, -(2**31), 2**53, 10**20, 10**30, 1.0, 0.1, 1e16, 1e20, 1e-5, 5e-324, -1.2345678901234567e-300]
)
VALUES = st.recursive(
    st.one_of(TEXTS, NUMBERS, st.sampled_from([True, False, None])),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(TEXTS, inner, max_size=4)),
    max_leaves=20,
)


def size_of(value: Any) -> int:
    return len(stringify(value).encode("utf-8", "surrogatepass"))


@given(VALUES, st.integers(-3, 3))
def test_a_value_is_longer_than_a_limit_or_not(value: Any, more: int) -> None:
    size = size_of(value)
    assert is_longer(value, size + more) == (more < 0)


@given(VALUES, st.integers(300, 2_000))
def test_a_schema_that_may_not_exceed_a_size_does_not(value: Any, times: int) -> None:
    schema = {"enum": [value] * times}
    tool = Tool({"name": "find", "inputSchema": schema}, "/tools/0")
    assert tool.may_exceed(size_of(schema) - 1)


@pytest.mark.parametrize("value", [False, -(2**31), 10**20, -1.2345678901234567e-300, "\0", "\ud800" * 50, {}, []])
def test_values_that_grow_most_are_within_the_bound(value: Any) -> None:
    schema = {"enum": [value] * 5_000}
    assert Tool({"name": "find", "inputSchema": schema}, "/tools/0").may_exceed(size_of(schema) - 1)


def test_the_bound_of_an_ordinary_schema_is_close() -> None:
    schema = {"properties": {f"name_{n}": {"type": "string", "description": "A plain text."} for n in range(200)}}
    assert len(marshal.dumps(schema, 2)) > 2_600
    assert not Tool({"name": "find", "inputSchema": schema}, "/tools/0").may_exceed(size_of(schema) * 4)
