"""The size of a schema is that of the JSON that JavaScript writes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcproof.checks.clients.schema_constraints import ClientView
from mcproof.checks.scores.tokens import bytes_of
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


def exceeds(schema: dict[str, Any], limit: int) -> bool:
    return ClientView(Tool({"name": "find", "inputSchema": schema}, "/tools/0")).exceeds(limit)


@given(VALUES, st.integers(-3, 3))
def test_a_schema_is_longer_than_a_limit_or_not(value: Any, more: int) -> None:
    schema = {"enum": [value]}
    assert exceeds(schema, bytes_of(schema) + more) == (more < 0)


@pytest.mark.parametrize("value", [False, -(2**31), 10**20, -1.2345678901234567e-300, "\0", "\ud800" * 50, {}, []])
def test_values_that_grow_most_are_measured(value: Any) -> None:
    schema = {"enum": [value] * 5_000}
    assert exceeds(schema, bytes_of(schema) - 1)
    assert not exceeds(schema, bytes_of(schema))


def test_a_schema_that_nests_very_deep_is_measured() -> None:
    schema: dict[str, Any] = {}
    for _ in range(5_000):
        schema = {"not": schema}
    assert exceeds(schema, 10_000)
    assert not exceeds(schema, 10**6)
