from __future__ import annotations

from typing import Any

import pytest

from limits import cpu_limit
from mcproof.testing.suites.matchers import NAMES, MatcherError, compare, matcher_of
from mcproof.testing.suites.paths import MissingValue

TABLE: list[tuple[str, Any, Any, Any]] = [
    # matcher, expected, a value that matches, one that does not
    ("exact", "a", "a", "A"),
    ("exact", 1, 1.0, True),
    ("exact", None, None, False),
    ("exact", False, False, 0),
    ("exact", [1, {"a": "b"}], [1, {"a": "b"}], [1, {"a": "c"}]),
    ("exact", {"a": 1, "b": 2}, {"b": 2, "a": 1}, {"a": 1}),
    ("contains", "lib", "a library", "a shelf"),
    ("contains", {"a": 1}, [0, {"a": 1}], [{"a": 2}]),
    ("contains", "a", {"a": 1}, {"b": 1}),
    ("contains", "1", "21", 21),
    ("icontains", "LIB", "a library", "a shelf"),
    ("icontains", "straße", "STRASSE", ["straße"]),
    ("contains-all", ["a", "b"], "abc", "ac"),
    ("contains-all", [1, 2], [3, 2, 1], [1, 3]),
    ("regex", "^day [0-9]+$", "day 12", "the day 12"),
    ("regex", "[0-9]", "a1", 1),
    ("regex", "(?i)ABC", "xabcx", "xab"),
    ("schema", {"maximum": 3}, 3, 4),
    ("schema", {"type": "object", "required": ["a"]}, {"a": 1}, {}),
    ("schema", {"type": "string"}, "anything", MissingValue("result", "is empty")),
]


@pytest.mark.parametrize(("name", "expected", "fitting", "other"), TABLE)
def test_matchers_match(name: str, expected: Any, fitting: Any, other: Any) -> None:
    matcher = matcher_of(name, expected)
    assert compare(matcher, fitting) is None
    assert compare(matcher, other) is not None


@pytest.mark.parametrize(("name", "expected", "fitting", "other"), TABLE)
def test_negated_matchers_match_the_opposite(name: str, expected: Any, fitting: Any, other: Any) -> None:
    matcher = matcher_of(name, expected, is_negated=True)
    assert compare(matcher, fitting) is not None
    assert (compare(matcher, other) is None) != isinstance(other, MissingValue)


def test_every_matcher_is_tested() -> None:
    assert {row[0] for row in TABLE} == {*NAMES} - {"snapshot"}


@pytest.mark.parametrize(
    ("name", "expected", "value", "message"),
    [
        ("exact", "a", "b", 'expected "a", got "b"'),
        ("exact", {"a": [1, 2]}, {"a": [1, 3]}, "at a[1]: expected 2, got 3"),
        ("exact", {"a": 1}, {"b": 1}, "missing `a`; unexpected `b`"),
        ("exact", [1], [1, 2], "expected 1 items, got 2"),
        ("exact", {"x y": 1}, {"x y": "1"}, 'at ["x y"]: expected 1, got "1"'),
        (
            "exact",
            "x" * 100 + "a",
            "x" * 100 + "b",
            f'from character 101: expected "…{"x" * 20}a", got "…{"x" * 20}b"',
        ),
        ("contains-all", ["a", "b"], "a", 'does not contain "b"'),
        ("icontains", "A", 1, "is a number, not a string"),
        ("regex", "^a", "b", 'does not match the regular expression "^a"'),
        ("schema", {"maximum": 0}, 2, "2 is greater than the maximum of 0"),
        ("schema", {"properties": {"n": {"type": "integer"}}}, {"n": "x"}, '"x" is not of type "integer" at /n'),
        ("contains", "a", None, "is null, not a string, list or object"),
    ],
)
def test_mismatch_messages(name: str, expected: Any, value: Any, message: str) -> None:
    mismatch = compare(matcher_of(name, expected), value)
    assert mismatch is not None
    assert mismatch.message == message


def test_a_missing_value_matches_only_null() -> None:
    nothing = MissingValue("result", "has content, isError")
    assert compare(matcher_of("exact", None), nothing) is None
    mismatch = compare(matcher_of("contains", "a"), nothing)
    assert mismatch is not None
    assert mismatch.message == "no value: `result` has content, isError"


@pytest.mark.parametrize(
    ("name", "expected", "message"),
    [
        ("regex", "(", "`(` is not a valid regular expression"),
        ("regex", "a(?=b)", "`a(?=b)` uses look-around or a back-reference, which is not supported"),
        ("regex", 1, "`regex` must be a string, not a number"),
        ("regex", "a" * 2_001, "`regex` is longer than 2,000 characters"),
        ("contains", "", "`contains` must not be empty; every string contains the empty string"),
        ("icontains", [1], "`icontains` must be a string, not a list"),
        ("contains-all", [], "`contains-all` must be a list with at least one item"),
        ("schema", False, "`schema` is invalid: the schema is `false`"),
        ("schema", 3, "`schema` is invalid: the schema is not an object"),
    ],
)
def test_invalid_matchers_are_refused(name: str, expected: Any, message: str) -> None:
    with pytest.raises(MatcherError) as error:
        matcher_of(name, expected)
    assert str(error.value) == message


def test_regular_expressions_take_linear_time() -> None:
    matcher = matcher_of("regex", "^(a+)+$")
    with cpu_limit():
        assert compare(matcher, "a" * 100_000 + "b") is not None


def test_values_of_any_depth_are_compared() -> None:
    deep: Any = 1
    other: Any = 2
    for _ in range(5_000):
        deep, other = [deep], [other]
    assert compare(matcher_of("exact", deep), deep) is None
    assert compare(matcher_of("exact", deep), other) is not None
