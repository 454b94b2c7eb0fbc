"""Texts that match a regular expression."""

from __future__ import annotations

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcproof.generation.patterns import matches, matching, seeded


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
def test_the_shortest_text_is_found(pattern: str, text: str | None) -> None:
    found = matching(pattern)
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
def test_look_arounds_and_back_references_are_met_by_trying(pattern: str) -> None:
    found = matching(pattern)
    assert found is not None
    assert jsonschema_rs.is_valid({"pattern": pattern}, found)


@pytest.mark.parametrize(
    ("pattern", "shortest", "longest"),
    [("^a+$", 7, 7), ("^(ab)*$", 5, 6), ("x", 4, 4), ("x$", 4, 4), (r"\bfoo\b", 6, 9), ("^[a-z]+(-[a-z]+)*$", 30, 40)],
)
def test_lengths_are_kept(pattern: str, shortest: int, longest: int) -> None:
    found = matching(pattern, shortest, longest)
    assert found is not None
    assert shortest <= len(found) <= longest
    assert matches(pattern, found)


@pytest.mark.parametrize(
    ("pattern", "shortest", "longest"),
    [("^abc$", 4, None), ("^abc$", 0, 2), ("(", 0, None), ("[]", 0, None), ("a{30000}", 0, None), ("a", 10**9, None)],
)
def test_there_is_none_where_none_can_be(pattern: str, shortest: int, longest: int | None) -> None:
    assert matching(pattern, shortest, longest) is None


@pytest.mark.parametrize(
    "pattern",
    ["(a{1000}){1000}", "(((a?){1000}){1000}){1000}", "^(a+)+$", "(" * 200 + "a" + ")" * 200, "(){9999}", "a" * 9_000],
)
def test_no_pattern_takes_long(pattern: str) -> None:
    for choose in (None, seeded(1)):
        found = matching(pattern, choose=choose)
        assert found is None or matches(pattern, found)


def test_choices_vary_the_text_and_repeat_with_the_seed() -> None:
    pattern = r"^[a-z]{2,9}-\d+$"
    texts = [matching(pattern, choose=seeded(seed)) for seed in range(30)]
    assert len(set(texts)) > 25
    assert all(text is not None and matches(pattern, text) for text in texts)
    assert texts == [matching(pattern, choose=seeded(seed)) for seed in range(30)]


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
def test_plain_patterns_are_always_met(inner: str, is_anchored: bool, seed: int) -> None:
    pattern = f"^(?:{inner})$" if is_anchored else inner
    for text in (matching(pattern), matching(pattern, choose=seeded(seed))):
        assert text is not None
        assert jsonschema_rs.is_valid({"pattern": pattern}, text)
