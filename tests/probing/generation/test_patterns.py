"""Strings that match a pattern."""

from __future__ import annotations

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcproof.probing.generation.scalars import matches, matching_string, seeded_random


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("", ""),
        ("^$", ""),
        ("^abc$", "abc"),
        ("^[A-Z]{3}$", "AAA"),
        (r"^\d{4}-\d{2}$", "0000-00"),
        ("^(cat|horse|ox)$", "ox"),
        ("^a+?b*$", "a"),
        ("^(?:x|yy)?z{2,}$", "zz"),
        ("^[^a-z]$", "0"),
        (r"^[\w.]+@\w+\.de$", "a@a.de"),
        (r"^\u0041\x42$", "AB"),
        (r"^\p{Lu}\p{Ll}\p{N}$", "Aa0"),
        (r"^(a|b)-\1$", "a-a"),
        (r"^\bfoo\b$", "foo"),
        (r"^\{\}$", "{}"),
        ("^[-a]$", "a"),
        (r"^[\]\\]$", "]"),
        (r"^https?:\/\/", "http://"),
        ("(?<year>x)", "x"),
        ("^(?!a).$", None),
    ],
)
def test_the_shortest_match_is_found(pattern: str, text: str | None) -> None:
    found = matching_string(pattern)
    assert found is not None
    assert matches(pattern, found)
    assert text is None or found == text


@pytest.mark.parametrize(
    "pattern",
    [
        r"^(?=.*[A-Z])(?=.*\d)(?=.*[a-z])[A-Za-z\d]{8,}$",
        r"^(?!\s*$).+",
        r"^(?!.*(?:^|,)(team|scim),(?:.*,)?\1(?:$|,))(team|scim)(,(team|scim))*$",
        "^.{5,10}$",
        r"^\S+\s\S+$",
    ],
)
def test_lookarounds_and_back_references_match_after_some_attempts(pattern: str) -> None:
    found = matching_string(pattern)
    assert found is not None
    assert jsonschema_rs.is_valid({"pattern": pattern}, found)


@pytest.mark.parametrize(
    ("pattern", "shortest", "longest"),
    [("^a+$", 7, 7), ("^(ab)*$", 5, 6), ("x", 4, 4), ("x$", 4, 4), (r"\bfoo\b", 6, 9), ("^[a-z]+(-[a-z]+)*$", 30, 40)],
)
def test_matches_respect_the_length(pattern: str, shortest: int, longest: int) -> None:
    found = matching_string(pattern, shortest, longest)
    assert found is not None
    assert shortest <= len(found) <= longest
    assert matches(pattern, found)


@pytest.mark.parametrize(
    ("pattern", "shortest", "longest"),
    [("^abc$", 4, None), ("^abc$", 0, 2), ("(", 0, None), ("[]", 0, None), ("a{30000}", 0, None), ("a", 10**9, None)],
)
def test_impossible_patterns_have_no_match(pattern: str, shortest: int, longest: int | None) -> None:
    assert matching_string(pattern, shortest, longest) is None


@pytest.mark.parametrize(
    "pattern",
    ["(a{1000}){1000}", "(((a?){1000}){1000}){1000}", "^(a+)+$", "(" * 200 + "a" + ")" * 200, "(){9999}", "a" * 9_000],
)
def test_no_pattern_takes_long(pattern: str) -> None:
    for choose in (None, seeded_random(1)):
        found = matching_string(pattern, random=choose)
        assert found is None or matches(pattern, found)


def test_random_matches_vary_and_repeat_with_the_seed() -> None:
    pattern = r"^[a-z]{2,9}-\d+$"
    texts = [matching_string(pattern, random=seeded_random(seed)) for seed in range(30)]
    assert len(set(texts)) > 25
    assert all(text is not None and matches(pattern, text) for text in texts)
    assert texts == [matching_string(pattern, random=seeded_random(seed)) for seed in range(30)]


_ATOMS = st.sampled_from(["a", "[a-f]", "[^x]", r"\d", r"\w", r"\s", ".", r"\.", "é"])
_PATTERNS = st.recursive(
    st.lists(_ATOMS, min_size=1, max_size=3).map("".join),
    lambda inner: st.one_of(
        st.builds("(?:{})".format, inner),
        st.builds("({}|{})".format, inner, inner),
        st.builds("(?:{}){}".format, inner, st.sampled_from(["*", "+", "?", "{2}", "{1,3}", "{2,}?"])),
        st.builds("{}{}".format, inner, inner),
    ),
    max_leaves=6,
)


@given(_PATTERNS, st.booleans(), st.integers(0, 1_000))
def test_simple_patterns_always_match(inner: str, is_anchored: bool, seed: int) -> None:
    pattern = f"^(?:{inner})$" if is_anchored else inner
    for text in (matching_string(pattern), matching_string(pattern, random=seeded_random(seed))):
        assert text is not None
        assert jsonschema_rs.is_valid({"pattern": pattern}, text)
