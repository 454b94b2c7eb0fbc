"""What a JavaScript program would compute: lengths, blanks, and `JSON.stringify`."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mcproof.checks.scores.tokens import is_blank, length, stringify, trim, truthy


@pytest.mark.parametrize(
    ("json_text", "expected"),
    [
        ("1.0", "1"),
        ("-1.50", "-1.5"),
        ("-0.0", "0"),
        ("-0", "0"),
        ("1e5", "100000"),
        ("1E+2", "100"),
        ("1e20", "100000000000000000000"),
        ("1e21", "1e+21"),
        ("123456789012345680000", "123456789012345680000"),
        ("1234567890123456789012", "1.2345678901234568e+21"),
        ("0.1", "0.1"),
        ("0.000001", "0.000001"),
        ("0.0000001", "1e-7"),
        ("-1.25e-9", "-1.25e-9"),
        ("5e-324", "5e-324"),
        ("1.7976931348623157e308", "1.7976931348623157e+308"),
        ("1e400", "null"),
        ("9007199254740991", "9007199254740991"),
        ("12345678901234567890", "12345678901234567000"),
        ("0.30000000000000004", "0.30000000000000004"),
        ("4.35", "4.35"),
        ("100", "100"),
    ],
)
def test_numbers_are_written_as_javascript_writes_them(json_text: str, expected: str) -> None:
    assert stringify(json.loads(json_text)) == expected
    assert stringify([json.loads(json_text)]) == f"[{expected}]"
    assert stringify({"a": json.loads(json_text)}) == f'{{"a":{expected}}}'


@pytest.mark.parametrize(
    ("number", "expected"), [(9007199254740993, "9007199254740992"), (9999999999999999, "10000000000000000")]
)
def test_an_integer_that_no_double_holds_is_rounded(number: int, expected: str) -> None:
    assert stringify([number]) == f"[{expected}]"


@pytest.mark.parametrize(
    "text", ["1.0", "[1.0, 2.50]", ":1.0,", '\\"1.0', "\\", 'a":1.0e5', "NaN", "\\\\\\", "\n1.0\n", "é1.0"]
)
def test_what_looks_like_a_number_inside_a_string_or_a_key_is_left_alone(text: str) -> None:
    value = {text: [text, 2.0, text]}
    quoted = json.dumps(text, ensure_ascii=False)
    assert stringify(value) == f"{{{quoted}:[{quoted},2,{quoted}]}}"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, "null"),
        (True, "true"),
        ([], "[]"),
        ({}, "{}"),
        ("é\u2028😀", '"é\u2028😀"'),
        ('\x00\x1f\x7f\b\f\n\r\t"\\/', '"\\u0000\\u001f\x7f\\b\\f\\n\\r\\t\\"\\\\/"'),
        ({"b": [1, {"a": None}], "": False}, '{"b":[1,{"a":null}],"":false}'),
        (float("inf"), "null"),
        ([float("nan"), float("-inf")], "[null,null]"),
    ],
)
def test_everything_else_is_compact_and_unescaped_where_it_can_be(value: Any, expected: str) -> None:
    assert stringify(value) == expected


def test_a_lone_surrogate_is_escaped_and_a_pair_is_not() -> None:
    assert stringify(json.loads('"\\ud83d\\ude00 \\ud800 \\udfff"')) == '"😀 \\ud800 \\udfff"'
    assert stringify({"\udc00": "\ud800"}) == '{"\\udc00":"\\ud800"}'


def test_depth_is_no_limit() -> None:
    levels = 50_000
    nested: Any = 1.0
    for _ in range(levels):
        nested = [{"a": nested, "b": "1.0"}]
    assert stringify(nested) == '[{"a":' * levels + "1" + ',"b":"1.0"}]' * levels
    while not isinstance(nested, float):  # taken apart by hand: the interpreter would do it recursively
        nested = nested[0]["a"]


@pytest.mark.parametrize(
    ("text", "trimmed"),
    [
        ("  a b \t\r\n", "a b"),
        ("\u00a0\ufeff\u2003a\u3000\u2028\u2029\u202f\u205f\u1680", "a"),
        ("\v\fa", "a"),
        ("\x1ca\x1f", "\x1ca\x1f"),
        ("\u0085a", "\u0085a"),
        ("\u200ba\u180e", "\u200ba\u180e"),
        ("", ""),
    ],
)
def test_trimming_takes_off_what_javascript_calls_blank_and_nothing_more(text: str, trimmed: str) -> None:
    assert trim(text) == trimmed


@pytest.mark.parametrize(
    ("value", "blank"),
    [("", True), (" \ufeff\u00a0", True), ("\x1c", False), ("\u0085", False), (" a ", False), (None, True), (0, True)],
)
def test_a_description_of_blanks_says_nothing(value: Any, blank: bool) -> None:
    assert is_blank(value) is blank


@pytest.mark.parametrize(
    ("text", "units"), [("", 0), ("abc", 3), ("é", 1), ("😀", 2), ("a😀é", 4), ("\ud800", 1), ("e\u0301", 2)]
)
def test_length_counts_code_units_of_utf_16(text: str, units: int) -> None:
    assert length(text) == units


@pytest.mark.parametrize(
    ("value", "holds"),
    [([], True), ({}, True), ("", False), (0, False), (None, False), (False, False), ("0", True), (-1, True)],
)
def test_an_empty_list_or_object_is_true(value: Any, holds: bool) -> None:
    assert truthy(value) is holds
