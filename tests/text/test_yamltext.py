from __future__ import annotations

from typing import Any

import pytest

from mcproof.suite.parse.problems import SuiteError
from mcproof.text.yamltext import decode, parse, plain


def read(text: str) -> Any:
    return plain(parse(text, "s.yaml"))


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
def test_texts_without_quotes_mean_what_yaml_1_2_says(text: str, value: Any) -> None:
    assert read(text) == value


def test_everything_has_its_place() -> None:
    root = parse("a:\n  - b: 'ü'\n    c: 1\n", "s.yaml")
    assert isinstance(root.value, dict)
    assert root.keys["a"] == (1, 1)
    (item,) = root.value["a"].value
    assert (item.line, item.column) == (2, 5)
    assert item.keys["c"] == (3, 5)
    assert (item.value["c"].line, item.value["c"].column) == (3, 8)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\na: 2", "s.yaml:2:1: the key `a` is there twice; the first is on line 1"),
        ("a: &x [*x]", "s.yaml:1:8: `*x` stands within what it repeats, so it has no end"),
        ("a: *x", "s.yaml:1:4: there is no anchor `&x` before this"),
        ("[" * 100, "s.yaml:1:61: nested deeper than 60 levels; no suite is"),
        ("--- 1\n--- 2", "s.yaml:2:1: a second document; a suite is one"),
        (
            "a: !!python/object/apply:os.system [ls]",
            "s.yaml:1:4: the tag `tag:yaml.org,2002:python/object/apply:os.system` is not allowed: a suite has plain "
            "values only",
        ),
        ("? [a]\n: b", "s.yaml:1:3: a key must be a text"),
        ("a: {<<: b}", "s.yaml:1:5: merging with `<<` is not in YAML 1.2; repeat the keys, or use `variables`"),
        ("a: .nan", "s.yaml:1:4: `.nan` is no number that JSON has; in quotes it is a text"),
        ("a: 1e999", "s.yaml:1:4: `1e999` is too large a number"),
        ("a: b: c", "s.yaml:1:5: not YAML: mapping values are not allowed in this context"),
        ("a: 'b", "s.yaml:1:6: not YAML: found unexpected end of stream"),
        ("\ta: b", "s.yaml:1:1: not YAML: a tab; YAML indents with spaces"),
        (
            "a: 1\nb: [1, 2\nc: 3\n",
            "s.yaml:3:2: not YAML: did not find expected ',' or ']'; the list or mapping began on line 2",
        ),
        (f"a: {'9' * 400}", "s.yaml:1:4: too long a number; in quotes it is a text"),
    ],
)
def test_what_is_no_plain_yaml_is_refused_with_its_place(text: str, message: str) -> None:
    with pytest.raises(SuiteError) as error:
        read(text)
    assert str(error.value) == message


def test_a_key_in_quotes_is_a_text_whatever_it_looks_like() -> None:
    assert read("{'<<': 1, '*a': 2}") == {"<<": 1, "*a": 2}


def test_aliases_cannot_unfold_without_end() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    with pytest.raises(SuiteError, match="more than 200,000 values"):
        read("\n".join(lines))


def test_aliases_cannot_nest_without_end() -> None:
    lines = ["a0: &a0 [x]", *(f"a{n}: &a{n} [[[[[*a{n - 1}]]]]]" for n in range(1, 2_000))]
    with pytest.raises(SuiteError, match="nested deeper than 60 levels"):
        read("\n".join(lines))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"a: \xff", "s.yaml:1:4: not UTF-8: byte 0xff is no part of a character"),
        ("a: b".encode("utf-16"), "s.yaml:1:1: not UTF-8: this is UTF-16; save it as UTF-8"),
        (
            b"a: 1\nb: \x07",
            "s.yaml:2:4: the character U+0007 is not allowed in YAML; write it as an escape in double quotes",
        ),
        (b"x" * 4_000_001, "s.yaml: larger than 4,000,000 bytes; no suite is"),
    ],
)
def test_bytes_that_are_no_text_are_refused(data: bytes, message: str) -> None:
    with pytest.raises(SuiteError) as error:
        decode(data, "s.yaml")
    assert str(error.value) == message


def test_a_byte_order_mark_is_let_pass() -> None:
    assert decode(b"\xef\xbb\xbfa: 1", "s.yaml") == "a: 1"
