"""TOML text: what it refuses and how it says so, and where things stand."""

from __future__ import annotations

import re
import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcproof.core.errors import ConfigError
from mcproof.runs.toml_document import DEEPEST, Path, decode, parse, positions


def refusal(text: str) -> ConfigError:
    with pytest.raises(ConfigError) as refused:
        parse(text, "some.toml")
    return refused.value


# --- what is refused ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message", "line", "column"),
    [
        ("a", "not TOML: expected '=' after a key in a key/value pair", 1, 2),
        ("a = 1\nb = \n", "not TOML: invalid value", 2, 5),
        ("a = 1\r\n\r\nb = x\r\n", "not TOML: invalid value", 3, 5),
        ("a = [1,\n", "not TOML: invalid value", 2, 1),
        ("a = [1, 2", "not TOML: unclosed array", 1, 10),
        ("a = 1\na = 2\n", "not TOML: cannot overwrite a value", 2, 6),
        ('a = "x\n', "not TOML: illegal character '\\n'", 1, 7),
        ("é = 1", "not TOML: invalid statement", 1, 1),
    ],
)
def test_what_is_not_toml_is_refused_with_its_place(text: str, message: str, line: int, column: int) -> None:
    error = refusal(text)
    assert (error.message, error.file, error.line, error.column) == (message, "some.toml", line, column)


def test_a_number_of_more_digits_than_python_reads_is_refused_without_a_traceback() -> None:
    message = refusal(f"a = {'9' * 5000}").message
    assert message.startswith("not TOML: exceeds the limit")
    assert "sys." not in message


@pytest.mark.parametrize("text", ["a = " + "[" * 100_000, "a = " + "{a=" * 100_000], ids=["lists", "tables"])
def test_brackets_without_end_are_refused_in_one_sentence(text: str) -> None:
    assert refusal(text).message == "nested too deeply"


@pytest.mark.parametrize(
    "text",
    [
        ".".join("a" * 400_000) + " = 1",
        "[" + ".".join("a" * 5_000) + "]",
        "[" + ".".join("a" * 500) + "]\n" + "".join(f"k{number} = 1\n" for number in range(50_000)),
    ],
    ids=["a key", "a header", "many keys far down"],
)
def test_keys_that_would_keep_the_parser_busy_are_refused(text: str) -> None:
    assert "too many dotted keys" in refusal(text).message


def test_an_endless_key_makes_no_endless_message() -> None:
    key = "k" * 10_000
    assert len(refusal(f"[{key}]\n[{key}]\n").message) < 300


def test_long_lines_with_dots_in_strings_are_read() -> None:
    assert parse(f'a = "{"." * 2_000}"', "some.toml") == {"a": "." * 2_000}


# --- bytes --------------------------------------------------------------------------------------------------------


def test_a_byte_order_mark_is_let_pass() -> None:
    assert decode(b"\xef\xbb\xbfa = 1", "some.toml") == "a = 1"


@pytest.mark.parametrize(
    ("data", "message", "line", "column"),
    [
        (b"a = 1\n\xc3\xa9 = '\xff'", "not UTF-8: invalid byte 0xff (a binary file?)", 2, 6),
        (b"\xe9", "not UTF-8: invalid byte 0xe9 (a binary file?)", 1, 1),
        ("a = 1".encode("utf-16"), "not UTF-8: this is UTF-16; save it as UTF-8", 1, 1),
    ],
)
def test_what_is_not_utf8_is_refused_with_its_place(data: bytes, message: str, line: int, column: int) -> None:
    with pytest.raises(ConfigError) as refused:
        decode(data, "some.toml")
    error = refused.value
    assert (error.message, error.line, error.column) == (message, line, column)


# --- positions ----------------------------------------------------------------------------------------------------


def test_keys_tables_and_items_stand_where_they_are_written() -> None:
    text = (
        "# a comment = 1\n"
        "top = 1\n"
        "\n"
        "[ outer . inner ]  # [no.header]\n"
        "  key = [ 10,\n"
        "    { x = 1, 'y z' = [2] },  # , ]\n"
        "  ]\n"
        "[[many]]\n"
        "[[many]]\n"
        "a.b = 1\n"
        "[many.sub]\n"
        "[outer]\n"
    )
    assert positions(text) == {
        ("top",): (2, 1),
        ("outer",): (12, 2),
        ("outer", "inner"): (4, 11),
        ("outer", "inner", "key"): (5, 3),
        ("outer", "inner", "key", 0): (5, 11),
        ("outer", "inner", "key", 1): (6, 5),
        ("outer", "inner", "key", 1, "x"): (6, 7),
        ("outer", "inner", "key", 1, "y z"): (6, 14),
        ("outer", "inner", "key", 1, "y z", 0): (6, 23),
        ("many",): (8, 3),
        ("many", 0): (8, 3),
        ("many", 1): (9, 3),
        ("many", 1, "a"): (10, 1),
        ("many", 1, "a", "b"): (10, 3),
        ("many", 1, "sub"): (11, 7),
    }


@pytest.mark.parametrize(
    "string",
    [
        '"a # b = [c]\\" \\\\"',
        "'a # \\'",
        '"""\nx = 1\n[no]\n"" \\""" end"""',
        '""""quoted"""""',
        '"""a \\\n  b = \\"""\n"""',
        "'''\nx = 1\n'' \\'''",
        "''''quoted'''''",
        '""""""',
        "''''''",
        "1979-05-27 07:32:00",
    ],
)
def test_what_stands_in_a_value_is_no_key(string: str) -> None:
    text = f"a = {string} # b = 1\nlist = [{string}, {string}]\nlast = 1\n"
    assert set(tomllib.loads(text)) == {"a", "list", "last"}
    found = positions(text)
    assert list(found) == [("a",), ("list",), ("list", 0), ("list", 1), ("last",)]
    assert found["last",] == (text.count("\n"), 1)


def test_lines_may_end_in_carriage_return_and_line_feed() -> None:
    text = 'a = """x\r\ny"""\r\n[t] # c\r\nb = [\r\n 1, # c\r\n 2]\r\nc = 1'
    assert positions(text) == {("a",): (1, 1), ("t",): (3, 2), ("t", "b"): (4, 1)} | {
        ("t", "b", 0): (5, 2),
        ("t", "b", 1): (6, 2),
        ("t", "c"): (7, 1),
    }


@pytest.mark.parametrize("text", ["", "\n\n", "# only a comment", " \t\r\n# c\r\n"])
def test_an_empty_document_has_no_positions(text: str) -> None:
    assert positions(text) == {}


def test_what_stands_under_very_many_brackets_is_passed_over_and_the_rest_found() -> None:
    depth = DEEPEST + 5
    text = f"a = {'[' * depth}1, 2{']' * depth}\nb = {'{x=' * depth}1{'}' * depth}\nc = 1\n"
    found = positions(text)
    assert set(tomllib.loads(text)) == {"a", "b", "c"}
    assert max(map(len, found)) == DEEPEST + 1
    assert found["c",] == (3, 1)


# --- positions, on documents that nobody would write ----------------------------------------------------------------


def _basic(text: str) -> str:
    """A string in double quotes, with some characters escaped that need not be."""
    return '"' + "".join(f"\\u{ord(each):04x}" if each in 'ü"\\\nc' else each for each in text) + '"'


blanks = st.sampled_from(["", " ", "\t "])
breaks = st.sampled_from(["", " ", "\n", "\r\n", " # [x] 'y' = \"\n", "\n\n  "])
names = st.sampled_from(["a"] * 8 + ["b"] * 4 + ["c", "b-1", "2", "a.b", "", "ü", 'd"', "e'#", "=\\", "x y", "[t]"])
dots = st.tuples(blanks, blanks).map(lambda around: f"{around[0]}.{around[1]}")


@st.composite
def keys(draw: st.DrawFn) -> str:
    """A key as it may be written: bare, in either sort of quotes, with dots."""
    parts = []
    for name in draw(st.lists(names, min_size=1, max_size=draw(st.integers(1, 3)))):
        spellings = [_basic(name)]
        if re.fullmatch(r"[A-Za-z0-9_-]+", name):
            spellings.append(name)
        if "'" not in name:
            spellings.append(f"'{name}'")
        parts.append(draw(st.sampled_from(spellings)))
    text = parts[0]
    for part in parts[1:]:
        text += draw(dots) + part
    return text


strings = st.text(st.sampled_from("ab\"'\\\n#=[]{},.ü"), max_size=8)
scalars = st.one_of(
    st.integers(-99, 99).map(str),
    st.sampled_from(["true", "1.5e3", "0xff", "inf", "1979-05-27 07:32:00", "07:32:00", "1979-05-27T07:32:00-07:00"]),
    strings.map(_basic),
    strings.map(lambda text: f"'{text.replace(chr(39), '').replace(chr(10), '')}'"),
    strings.map(lambda text: f"'''{text}'''"),
    strings.map(lambda text: f'"""{text}"""'),
    strings.map(lambda text: f'"""{text}\\\n  {text}"""'),
)


@st.composite
def lists(draw: st.DrawFn, values: st.SearchStrategy[str]) -> str:
    text = "["
    for value in draw(st.lists(values, max_size=3)):
        text += draw(breaks) + value + draw(breaks) + ","
    return (text if draw(st.booleans()) else text.removesuffix(",")) + draw(breaks) + "]"


@st.composite
def inline_tables(draw: st.DrawFn, values: st.SearchStrategy[str]) -> str:
    members = [
        draw(blanks) + draw(keys()) + draw(blanks) + "=" + draw(blanks) + value + draw(blanks)
        for value in draw(st.lists(values, max_size=3))
    ]
    return "{" + ",".join(members) + "}"


all_values = st.recursive(scalars, lambda inner: st.one_of(lists(inner), inline_tables(inner)), max_leaves=6)


@st.composite
def statements(draw: st.DrawFn) -> str:
    key, ending = draw(keys()), draw(st.sampled_from(["\n", "\r\n", " # x = 1\n", "\t\n\n"]))
    form = draw(st.sampled_from(["[{}]", "[[{}]]", "{}", "{}", "{}"]))
    if form == "{}":
        return draw(blanks) + key + draw(blanks) + "=" + draw(blanks) + draw(all_values) + ending
    return draw(blanks) + form.format(draw(blanks) + key + draw(blanks)) + ending


@st.composite
def documents(draw: st.DrawFn) -> str:
    """A text that the parser accepts: statements are added as long as it does."""
    text = ""
    for statement in draw(st.lists(statements(), max_size=10)):
        try:
            tomllib.loads(text + statement)
        except tomllib.TOMLDecodeError:
            continue
        text += statement
    return text if draw(st.booleans()) else text.removesuffix("\n").removesuffix("\r")


def _paths(value: Any, path: Path = ()) -> dict[Path, Any]:
    found = {path: value} if path else {}
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, member in members:
        found.update(_paths(member, (*path, key)))
    return found


def _starts_with_key(text: str, key: str) -> bool:
    written = re.match(r"""[\w-]+|'[^'\n]*'|"(?:[^"\\]|\\.)*\"""", text, re.ASCII)
    return written is not None and list(tomllib.loads(f"{written[0]} = 1")) == [key]


@given(documents())
def test_whatever_the_parser_reads_has_a_position_where_it_is_written(text: str) -> None:
    expected, found = _paths(tomllib.loads(text)), positions(text)
    assert set(found) == set(expected)
    lines = text.split("\n")
    for path, (line, column) in found.items():
        rest = "\n".join([lines[line - 1][column - 1 :], *lines[line:]])
        *_, last = path
        value = expected[path]
        if isinstance(last, str):
            assert _starts_with_key(rest, last)
        elif isinstance(value, bool | float | str | list) or type(value) is int:
            starts = {bool: "t", float: "1i", str: "\"'", list: "[", int: "-0123456789"}
            assert rest[0] in starts[type(value)]
        elif isinstance(value, dict) and rest[0] != "{":
            assert _starts_with_key(rest, path[-2])  # type: ignore[arg-type]  # a table of an array, at its header
