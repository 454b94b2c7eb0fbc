"""Simpler variants of a value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcproof.probing.generation.smaller import MAX_REDUCTIONS, complexity, reductions

if TYPE_CHECKING:
    from collections.abc import Callable

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(st.text(max_size=5), inner, max_size=6),
    max_leaves=20,
)


def shrunk(value: Any, fails: Callable[[Any], bool]) -> Any:
    """The result of shrinking: always continue with the first variant that still fails."""
    steps = 0
    while True:
        smaller = next((each for each in reductions(value) if fails(each)), None)
        if smaller is None:
            return value
        value = smaller
        steps += 1
        assert steps < 2_000


@pytest.mark.parametrize("simple", [None, False, 0, "", [], {}])
def test_the_simplest_values_have_no_variant(simple: Any) -> None:
    assert list(reductions(simple)) == []


def test_the_largest_reductions_come_first() -> None:
    assert next(reductions({"a": 1, "b": 2})) == {}
    assert next(reductions([1, 2, 3])) == []
    assert list(reductions("abcd"))[:3] == ["", "ab", "cd"]
    assert next(reductions(17)) == 0
    assert list(reductions(True)) == [False]


def test_a_failure_is_reduced_to_its_cause() -> None:
    value = {"query": "select ' from x", "limit": 1_000_000, "deep": {"list": [1, "two", {"three": 3}]}}
    assert shrunk(value, lambda each: "'" in str(each.get("query"))) == {"query": "'"}
    assert shrunk(value, lambda each: each.get("limit", 0) > 4_711) == {"limit": 4_712}
    assert shrunk(value, lambda each: "two" in each.get("deep", {}).get("list", ())) == {"deep": {"list": ["two"]}}
    assert shrunk("a" * 500 + "🌍" + "b" * 500, lambda each: "🌍" in each) == "🌍"
    assert shrunk({"x": -1e9}, lambda each: each.get("x", 0) < -5) == {"x": -6}


@given(JSON)
def test_every_variant_is_simpler(value: Any) -> None:
    variants = list(reductions(value))
    assert len(variants) <= MAX_REDUCTIONS
    assert all(complexity(each) < complexity(value) for each in variants)


@given(JSON, st.randoms(use_true_random=False))
def test_shrinking_terminates(value: Any, random: Any) -> None:
    shrunk(value, lambda _: random.random() < 0.3)
    assert shrunk(value, lambda _: True) in (None, False, 0, "", [], {})


def test_a_large_value_has_a_limited_number_of_variants() -> None:
    deep: Any = 1
    for _ in range(300):
        deep = [deep]
    assert len(list(reductions(deep))) <= MAX_REDUCTIONS
    wide = {str(number): "text" * 50 for number in range(3_000)}
    assert len(list(reductions(wide))) <= MAX_REDUCTIONS
    assert len(list(reductions(10**1_000))) <= MAX_REDUCTIONS


def test_a_large_number_shrinks_in_few_steps() -> None:
    assert shrunk(10**18, lambda each: each > 10**17 + 12_345) == 10**17 + 12_346
