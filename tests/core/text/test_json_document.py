"""JSON text: what it refuses and how it says so, where things stand, and pointers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mcproof.core.errors import InputError
from mcproof.core.text.json_document import Edit, JsonText, Position, splice
from mcproof.core.text.json_positions import Span, escape, resolve, unescape


def position_of(text: JsonText, offset: int) -> Position:
    return text.positions([offset])[0]


def source_of(text: JsonText, number: int) -> str:
    return text.text.split("\n")[number - 1].removesuffix("\r")


def refusal(text: str) -> InputError:
    with pytest.raises(InputError) as refused:
        JsonText.parse(text, "some.json")
    return refused.value


@pytest.mark.parametrize(
    ("text", "message", "line", "column"),
    [
        ("", "not JSON: the input is empty", 1, 1),
        (" \n ", "not JSON: the input is empty", 2, 2),
        ('{"a": [1, 2', "not JSON: unexpected end of file", 1, 12),
        ('{"a":\n', "not JSON: unexpected end of file", 2, 1),
        ('{"a": "x', "not JSON: unterminated string", 1, 7),
        ('{"a": 1} {"b": 2}', "not JSON: expected the end of the document; a snapshot is one JSON value", 1, 10),
        ('{"a": 1}\n{"b": 2}\n', "not JSON: expected the end of the document; a snapshot is one JSON value", 2, 1),
        ('{"a" 1}', "not JSON: expected `:` after the key", 1, 6),
        ("{a: 1}", "not JSON: expected a key in double quotes or `}`", 1, 2),
        ("[1 2]", "not JSON: expected `,` or the end of the list or object", 1, 4),
        ("[1,\r\n  oops]", "not JSON: expected a value", 2, 3),
    ],
)
def test_what_is_not_json_is_refused_with_the_place_and_what_was_expected(
    text: str, message: str, line: int, column: int
) -> None:
    error = refusal(text)
    assert (error.message, error.file, error.line, error.column) == (message, "some.json", line, column)


@pytest.mark.parametrize(
    ("text", "line"), [('{"a": 1,}', 1), ("[1, 2,]", 1), ('{\r\n  "a": 1,\r\n}', 2), ("[\n  1,\n]", 2)]
)
def test_a_trailing_comma_is_refused_at_the_comma_or_the_bracket_after_it(text: str, line: int) -> None:
    error = refusal(text)
    assert error.line in (line, line + 1)
    assert error.message.startswith("not JSON: ")


def test_after_a_trailing_comma_the_bracket_that_stands_there_is_not_what_was_expected() -> None:
    assert "or `}`" not in refusal('{"a": 1,}').message


@pytest.mark.parametrize(
    ("text", "word", "column"),
    [
        ('{"a": NaN}', "NaN", 7),
        ('["NaN, \\"NaN", -Infinity]', "-Infinity", 16),
        ("Infinity", "Infinity", 1),
        ('{"Infinity": [0, NaN]}', "NaN", 18),
    ],
)
def test_the_numbers_that_json_does_not_have_are_refused_by_name(text: str, word: str, column: int) -> None:
    error = refusal(text)
    assert error.message.startswith("not JSON: ")
    assert word in error.message
    assert (error.line, error.column) == (1, column)


@pytest.mark.parametrize("text", ["[" * 100_000, "[" * 100_000 + "]" * 100_000, '{"a":' * 100_000])
def test_a_hundred_thousand_levels_are_too_deep_and_the_error_says_so(text: str) -> None:
    assert "nested too deeply" in refusal(text).message


def test_an_integer_of_five_thousand_digits_is_read() -> None:
    text = JsonText.parse(f'{{"big": {"9" * 5000}, "small": -12, "real": 1.5}}', "some.json")
    assert isinstance(text.value["big"], (int, float))
    assert (text.value["small"], text.value["real"]) == (-12, 1.5)


def test_what_stands_beside_an_integer_of_five_thousand_digits_is_found_and_changed() -> None:
    source = f'{{"big": {"9" * 5000}, "after": {{"w": 0, "x": 1}}}}'
    text = JsonText.parse(source, "some.json")
    span = text.spans(["/after"])["/after"]
    assert source[span.start : span.end] == '{"w": 0, "x": 1}'
    assert splice(text.text, text.member_edits([("/after", "y", 2)])) == source.replace('"x": 1', '"x": 1, "y": 2')


def test_lines_that_end_in_carriage_return_and_line_feed_are_counted_once() -> None:
    text = JsonText.parse('{\r\n  "a": 1,\r\n\r\n  "é": [\r\n true]\r\n}\r\n', "some.json")
    spans = text.spans(["/a", "/é", "/é/0"])
    assert position_of(text, spans["/a"].anchor) == Position(2, 3)
    assert position_of(text, spans["/é"].anchor) == Position(4, 3)
    assert position_of(text, spans["/é"].start) == Position(4, 8)
    assert position_of(text, spans["/é/0"].anchor) == Position(5, 2)
    lines = [source_of(text, number) for number in range(1, 8)]
    assert lines == ["{", '  "a": 1,', "", '  "é": [', " true]", "}", ""]


def test_a_lone_carriage_return_ends_no_line() -> None:
    text = JsonText.parse('{\r"a": 1}', "some.json")
    assert position_of(text, text.spans(["/a"])["/a"].anchor) == Position(1, 3)


def test_columns_count_characters_not_bytes_or_code_units() -> None:
    text = JsonText.parse('["é😀", 1]', "some.json")
    assert position_of(text, text.spans(["/1"])["/1"].start) == Position(1, 8)


def test_the_whole_document_is_the_empty_pointer() -> None:
    text = JsonText.parse(" \n[ ]\n", "some.json")
    assert text.spans([""]) == {"": Span(-1, 2, 5)}


def test_of_a_repeated_key_the_last_is_found_and_the_repetition_reported() -> None:
    source = '{"a": {"x": 1}, "b": 0, "a": {"y": 2}}'
    text = JsonText.parse(source, "some.json")
    assert text.value == {"a": {"y": 2}, "b": 0}
    assert set(text.spans(["/a", "/a/x", "/a/y"])) == {"/a", "/a/y"}
    assert text.spans(["/a"])["/a"].key == source.rindex('"a"')
    assert text.duplicate_keys() == [("", "a", Span(-1, 24, 27))]


def test_keys_that_are_spelt_differently_are_the_same_key() -> None:
    text = JsonText.parse('{"o": [{"ab": 1, "a\\u0062": 2}]}', "some.json")
    assert text.value == {"o": [{"ab": 2}]}
    assert text.duplicate_keys() == [("/o/0", "ab", Span(-1, 17, 26))]


def test_a_document_without_repeated_keys_has_none_to_report() -> None:
    text = JsonText.parse('{"a": {"a": 1}, "b": ["a", "a"]}', "some.json")
    assert not text.has_duplicate_keys
    assert text.duplicate_keys() == []


@pytest.mark.parametrize(
    ("key", "token"), [("", ""), ("a/b", "a~1b"), ("m~n", "m~0n"), ("~1", "~01"), ("~0/", "~00~1"), ("%20 ", "%20 ")]
)
def test_a_key_is_escaped_in_a_pointer_and_comes_back(key: str, token: str) -> None:
    assert escape(key) == token
    assert unescape(token) == key


@pytest.mark.parametrize(
    ("pointer", "value"),
    [("", {"a/b": {"~": [10, {"": 11}]}}), ("/a~1b/~0/0", 10), ("/a~1b/~0/1/", 11)],
)
def test_a_pointer_leads_to_its_value(pointer: str, value: Any) -> None:
    assert resolve({"a/b": {"~": [10, {"": 11}]}}, pointer) == value


@pytest.mark.parametrize(
    "pointer", ["/b", "/a/2", "/a/-1", "/a/-", "/a/01", "/a/+1", "/a/1_0", "/a/", "/a/٠", "/a/0/x", "/a/x", "//a"]
)
def test_a_pointer_that_leads_nowhere_is_a_lookup_error(pointer: str) -> None:
    document = {"a": [0, 1]}
    with pytest.raises(LookupError):
        resolve(document, pointer)
    assert JsonText.parse(json.dumps(document), "some.json").spans([pointer]) == {}


def test_a_member_is_added_to_every_object_that_is_named_and_nothing_else_changes() -> None:
    source = '{ "a": {"w": 0, "x": 1},\n\t"b": [ {"y":[]} , {"z": {}} ] }\n'
    text = JsonText.parse(source, "some.json")
    changes = [("/a", "n", True), ("/b/0", "n", ["p", "q"]), ("", "n", None), ("/b/1", "z", 0)]
    changed = splice(text.text, sorted(text.member_edits(changes)))
    assert changed == (
        '{ "a": {"w": 0, "x": 1, "n": true},\n\t"b": [ {"y":[],"n":["p","q"]} , {"z": 0} ],\n\t"n": null }\n'
    )


def test_a_member_cannot_be_added_to_what_is_no_object() -> None:
    with pytest.raises(LookupError):
        JsonText.parse('{"a": [1]}', "some.json").member_edits([("/a", "n", 1)])


def test_of_a_repeated_member_the_last_one_gets_the_new_value() -> None:
    text = JsonText.parse('{"k": 1, "n": 2, "k": 3}', "some.json")
    assert splice(text.text, text.member_edits([("", "k", 4)])) == '{"k": 1, "n": 2, "k": 4}'


def test_pieces_at_one_place_are_put_in_in_the_order_given() -> None:
    assert splice("abc", [Edit(0, 1, "A"), Edit(2, 2, "1"), Edit(2, 2, "2")]) == "Ab12c"
    assert splice("abc", []) == "abc"
