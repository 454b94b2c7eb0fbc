from __future__ import annotations

from typing import Any

import pytest

from mcproof.core.text.yaml_document import YamlError, decode, json_value, parse


def read(text: str) -> Any:
    return json_value(parse(text))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("[yes, no, on, off, y, n]", ["yes", "no", "on", "off", "y", "n"]),
        ("[true, False, ~, null, '']", [True, False, None, None, ""]),
        ("[1, -2, +3, 0o17, 0x1f, 010]", [1, -2, 3, 15, 31, 10]),
        ("[1.5, .5, 1e3, -1.]", [1.5, 0.5, 1000.0, -1.0]),
        ("[1_000, 12:30:45, 2024-01-02, 1.2.3]", ["1_000", "12:30:45", "2024-01-02", "1.2.3"]),
        ("['1', \"true\"]", ["1", "true"]),
        ("{1: a, true: b}", {"1": "a", "true": "b"}),
        ("a: &x [1]\nb: *x", {"a": [1], "b": [1]}),
        ("", None),
    ],
)
def test_unquoted_scalars_follow_yaml_1_2(text: str, value: Any) -> None:
    assert read(text) == value


def test_values_and_keys_have_positions() -> None:
    root = parse("a:\n  - b: 'ü'\n    c: 1\n")
    assert isinstance(root.value, dict)
    assert root.keys["a"] == (1, 1)
    (item,) = root.value["a"].value
    assert (item.line, item.column) == (2, 5)
    assert item.keys["c"] == (3, 5)
    assert (item.value["c"].line, item.value["c"].column) == (3, 8)


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        ("a: 1\na: 2", 2, 1, "duplicate key `a`; first used on line 1"),
        ("a: &x [*x]", 1, 8, "circular alias `*x`"),
        ("a: *x", 1, 4, "unknown anchor `&x`"),
        ("[" * 100, 1, 61, "nested deeper than 60 levels"),
        ("--- 1\n--- 2", 2, 1, "more than one document"),
        (
            "a: !!python/object/apply:os.system [ls]",
            1,
            4,
            "the tag `tag:yaml.org,2002:python/object/apply:os.system` is not allowed",
        ),
        ("? [a]\n: b", 1, 3, "a key must be a string"),
        ("a: {<<: b}", 1, 5, "the merge key `<<` is not in YAML 1.2; repeat the keys"),
        ("a: .nan", 1, 4, "`.nan` is not a JSON number; quote it to make it a string"),
        ("a: 1e999", 1, 4, "the number `1e999` is too large"),
        ("a: b: c", 1, 5, "not valid YAML: mapping values are not allowed in this context"),
        ("a: 'b", 1, 6, "not valid YAML: found unexpected end of stream"),
        ("\ta: b", 1, 1, "not valid YAML: tab used for indentation; YAML indents with spaces"),
        (
            "a: 1\nb: [1, 2\nc: 3\n",
            3,
            2,
            "not valid YAML: did not find expected ',' or ']'; the list or mapping starts on line 2",
        ),
        (f"a: {'9' * 400}", 1, 4, "number too long; quote it to make it a string"),
    ],
)
def test_invalid_yaml_is_refused_with_its_position(text: str, line: int, column: int, message: str) -> None:
    with pytest.raises(YamlError) as error:
        read(text)
    assert (error.value.line, error.value.column, error.value.message) == (line, column, message)


def test_a_quoted_key_is_always_a_string() -> None:
    assert read("{'<<': 1, '*a': 2}") == {"<<": 1, "*a": 2}


def test_values_of_expanded_aliases_are_limited() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    with pytest.raises(YamlError, match="more than 200,000 values"):
        read("\n".join(lines))


def test_nesting_of_expanded_aliases_is_limited() -> None:
    lines = ["a0: &a0 [x]", *(f"a{n}: &a{n} [[[[[*a{n - 1}]]]]]" for n in range(1, 2_000))]
    with pytest.raises(YamlError, match="nested deeper than 60 levels"):
        read("\n".join(lines))


@pytest.mark.parametrize(
    ("data", "line", "column", "message"),
    [
        (b"a: \xff", 1, 4, "not UTF-8: invalid byte 0xff (a binary file?)"),
        ("a: b".encode("utf-16"), 1, 1, "not UTF-8: this is UTF-16; save it as UTF-8"),
        (
            b"a: 1\nb: \x07",
            2,
            4,
            "the character U+0007 is not allowed in YAML; use an escape in double quotes",
        ),
        (b"x" * 4_000_001, None, None, "larger than 4,000,000 bytes"),
    ],
)
def test_bytes_that_are_not_text_are_refused(data: bytes, line: int | None, column: int | None, message: str) -> None:
    with pytest.raises(YamlError) as error:
        decode(data)
    assert (error.value.line, error.value.column, error.value.message) == (line, column, message)


def test_a_byte_order_mark_is_ignored() -> None:
    assert decode(b"\xef\xbb\xbfa: 1") == "a: 1"
