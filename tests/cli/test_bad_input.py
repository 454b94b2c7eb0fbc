"""Bad input and limits: an answer in one line or a finding, in seconds, and never a traceback."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import termios
from select import select
from typing import TYPE_CHECKING, Any

import pytest

from limits import HANG, assert_linear
from mcproof.checks.rule import find_rule
from mcproof.cli.main import main

from .running import (
    CLEAN_TOOL,
    COMMAND,
    FAULTY_TOOL,
    LOOSE_TOOL,
    document_of,
    environment,
    error_of,
    fails,
    run,
    run_bytes,
    write,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mcproof.checks.findings import Problem

COMMANDS = ("lint", "schema-lint", "grade")
GOOD = json.dumps({"tools": [CLEAN_TOOL]}).encode()


# --- what is no JSON document -------------------------------------------------------------------------------------

_NOT_JSON = {
    "empty": (b"", 1, 1, "empty"),
    "blank": (b" \n\t\n", 3, 1, "empty"),
    "prose": (b"tools: none", 1, 1, "expected a value"),
    "html": (b"<!DOCTYPE html>\n<html>", 1, 1, "expected a value"),
    "truncated in a list": (b'{"tools": [\n  {"name": "a"},\n', 3, 1, "unexpected end of file"),
    "truncated in an object": (b'{"tools": [\n  {"name": "a"', 2, 15, "unexpected end of file"),
    "truncated in a string": (b'{"tools": [\n  {"name": "a', 2, 12, "unterminated string"),
    "truncated in a word": (b'{"tools": [tru', 1, 12, "expected a value"),
    "two documents": (b'{"tools": []}\n{"tools": []}', 2, 1, "expected the end"),
    "lines of documents": (GOOD + b"\n" + GOOD, 2, 1, "one JSON value"),
    "no comma": (b'{"tools": [\n {} {}]}', 2, 5, "expected `,`"),
    "no colon": (b'{"tools" []}', 1, 10, "expected `:`"),
    "no quotes": (b"{tools: []}", 1, 2, "double quotes"),
    "single quotes": (b"{'tools': []}", 1, 2, "double quotes"),
    "a comment": (b'{\n  // tools\n  "tools": []}', 2, 3, "double quotes"),
    "a control character in a string": (b'{"tools": ["a\nb"]}', 1, 14, "control character"),
    "a bad escape": (b'{"tools": ["\\x"]}', 1, 13, "escape"),
    "not a number": (b'{"tools": [\n NaN]}', 2, 2, "`NaN` is JavaScript, not JSON"),
    "infinity after such a string": (
        b'{"NaN": "Infinity", "tools": -Infinity}',
        1,
        30,
        "`-Infinity` is JavaScript, not JSON",
    ),
}


@pytest.mark.parametrize("case", list(_NOT_JSON))
def test_what_is_not_json_is_told_with_line_column_and_what_was_expected(tmp_path: Path, case: str) -> None:
    data, line, column, told = _NOT_JSON[case]
    path = tmp_path / "snapshot.json"
    path.write_bytes(data)
    said = fails("lint", str(path))
    assert said.startswith(f"mcproof: {path}:{line}:{column}: not JSON: ")
    assert told in said
    error = error_of("grade", str(path), "--format", "json")
    assert (error["file"], error["line"], error["column"]) == (str(path), line, column)


@pytest.mark.parametrize("text", ['{"tools": [],}', '{"tools": [1,]}'])
def test_a_trailing_comma_is_not_json(text: str) -> None:
    """Where Python sees it differs between its versions: at the comma, or after it."""
    assert fails("lint", "-", stdin=text).startswith("mcproof: <stdin>:1:1")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_gives_the_same_answer_to_what_is_not_json(command: str) -> None:
    assert fails(command, "-", stdin=b"{]") == fails("lint", "-", stdin=b"{]")


_NOT_UTF8 = {
    "a byte that starts nothing": (b'{"tools": [\n"\xff"]}', 2, 2, "not UTF-8: invalid byte 0xff"),
    "latin-1": ('{"tools": ["\u00e9t\u00e9"]}'.encode("latin-1"), 1, 13, "not UTF-8: invalid byte 0xe9"),
    "after wide characters": ('{"\u6771\u4eac": "'.encode() + b'\xc3("}', 1, 9, "not UTF-8: invalid byte 0xc3"),
    "a character cut off": (b'{"tools": ["\xe6\x9d', 1, 13, "not UTF-8"),
    "a surrogate": (b'["\xed\xa0\x80"]', 1, 3, "not UTF-8"),
    "an overlong form": (b'["\xc0\xaf"]', 1, 3, "not UTF-8"),
    "UTF-16, little end first": ('{"tools": []}'.encode("utf-16"), 1, 1, "UTF-16"),
    "UTF-16, big end first": (b"\xfe\xff" + '{"tools": []}'.encode("utf-16-be"), 1, 1, "UTF-16"),
}


@pytest.mark.parametrize("case", list(_NOT_UTF8))
def test_what_is_not_utf_8_is_told_with_its_place(tmp_path: Path, case: str) -> None:
    data, line, column, told = _NOT_UTF8[case]
    path = tmp_path / "snapshot.json"
    path.write_bytes(data)
    said = fails("lint", str(path))
    assert said.startswith(f"mcproof: {path}:{line}:{column}: ")
    assert told in said


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32"])
def test_other_encodings_are_refused_in_one_line(encoding: str) -> None:
    fails("lint", "-", stdin=GOOD.decode().encode(encoding))


@pytest.mark.parametrize("closed", [True, False], ids=["closed", "cut off"])
@pytest.mark.parametrize("brackets", ["[]", '{"a":}'], ids=["lists", "objects"])
@pytest.mark.parametrize("command", COMMANDS)
def test_json_of_100_000_levels_is_too_deep_and_told_so(command: str, brackets: str, closed: bool) -> None:
    text = brackets[:-1] * 100_000 + ("1" + brackets[-1] * 100_000 if closed else "")
    assert "nested too deeply to parse" in fails(command, "-", stdin=text)


@pytest.mark.parametrize("levels", [100, 250, 450, 490, 496])
def test_a_schema_of_any_depth_that_can_be_read_gets_an_answer(tmp_path: Path, levels: int) -> None:
    schema = '{"type":"object","properties":{"inner":' * levels + "{}" + "}}" * levels
    path = tmp_path / "deep.json"
    path.write_text(f'[{{"name": "deep", "inputSchema": {schema}}}, {json.dumps(FAULTY_TOOL)}]')
    for arguments in (["lint", "--ruleset", "all"], ["grade"], ["schema-lint", "--fix"]):
        done = run(*arguments, str(path))
        assert done.returncode in (1, 2)
        assert "internal error" not in done.stderr
        assert "CAT-004" not in done.stdout


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("kind", ["missing", "folder that is no folder", "name that is too long"])
def test_what_cannot_be_opened_is_told_in_one_line(tmp_path: Path, command: str, kind: str) -> None:
    (tmp_path / "file").write_text("")
    names = {"missing": "x.json", "folder that is no folder": "file/x.json", "name that is too long": "x" * 5000}
    assert "cannot be read: " in fails(command, str(tmp_path / names[kind]))


# --- a byte-order mark, a duplicate key ---------------------------------------------------------------------------


@pytest.mark.parametrize("command", COMMANDS)
def test_a_byte_order_mark_is_read(command: str) -> None:
    assert run(command, "-", stdin=b"\xef\xbb\xbf" + GOOD).returncode == 0


def test_a_byte_order_mark_does_not_move_columns() -> None:
    data = json.dumps([FAULTY_TOOL]).encode()
    plain, marked = (run("lint", "-", "--format", "concise", stdin=mark + data) for mark in (b"", b"\xef\xbb\xbf"))
    assert plain.stdout == marked.stdout


def test_fix_keeps_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "marked.json"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps([LOOSE_TOOL]).encode())
    printed = run_bytes("schema-lint", str(path), "--fix").stdout
    assert printed.startswith(b"\xef\xbb\xbf[")
    run("schema-lint", str(path), "--fix", "--write")
    assert path.read_bytes() == printed
    assert run("schema-lint", str(path)).returncode == 0


_TWICE = """\
{"tools": [
  {"name": "first",
   "name": "second",
   "description": "Do something useful for once.",
   "inputSchema": {"type": "object", "properties": {}, "additionalProperties": false}}
]}
"""


def test_a_duplicate_key_is_read_last_wins_and_reported(tmp_path: Path) -> None:
    path = tmp_path / "twice.json"
    path.write_text(_TWICE)
    tokens = document_of(run("grade", str(path), "--format", "json"), "grade")["tokens"]
    assert list(tokens["tools"]) == ["second"]
    for command in ("lint", "schema-lint"):
        findings = document_of(run(command, str(path), "--format", "json"), "lint")["findings"]
        assert [(each["rule"], each["level"], each["line"], each["column"]) for each in findings] == [
            ("CAT-003", "warning", 3, 4)
        ]
        assert "`name`" in findings[0]["message"]


def test_grade_says_that_the_input_itself_has_a_problem(tmp_path: Path) -> None:
    path = tmp_path / "twice.json"
    path.write_text(_TWICE)
    done = run("grade", str(path))
    assert done.returncode == 0
    assert "1 problem with the input itself" in done.stdout


def test_each_repetition_of_a_key_is_shown_where_it_stands() -> None:
    text = '[{"name": "a", "description": "Say it in one sentence.",\n"x": 1,\n"x": 2,\n"x": 3}]'
    done = run("lint", "-", "--select", "CAT-003", "--format", "json", stdin=text)
    assert [finding["line"] for finding in document_of(done, "lint")["findings"]] == [3, 4]


def test_fix_changes_the_last_of_two_schemas() -> None:
    text = '[{"name": "a", "inputSchema": {"type": "object"}, "inputSchema": {"type": "object", "x": 1}}]'
    fixed = run("schema-lint", "-", "--fix", stdin=text).stdout
    assert fixed == text.replace('"x": 1', '"x": 1, "additionalProperties": false')


# --- JSON without a catalog, a catalog without tools ---------------------------------------------------------------


@pytest.mark.parametrize(
    "value", [{}, {"name": "x"}, [1, 2], ["a"], "text", 1, None, True, {"result": 1}, [[]]], ids=str
)
@pytest.mark.parametrize("command", COMMANDS)
def test_json_without_a_catalog_is_refused_with_the_shapes_that_are_read(command: str, value: Any) -> None:
    line = fails(command, "-", stdin=json.dumps(value))
    assert "not a catalog" in line
    for shape in ('`{"tools": [...]}`', "a list of tools", "JSON-RPC", "capture"):
        assert shape in line


def test_tools_that_are_no_list_are_told() -> None:
    assert "`tools` is an object with `a`, not a list" in fails("lint", "-", stdin='{"tools": {"a": {}}}')


@pytest.mark.parametrize("value", [[], {"tools": []}, {"result": {"tools": []}}, {"result": []}], ids=str)
@pytest.mark.parametrize("command", COMMANDS)
def test_a_bare_list_without_tools_is_nothing_to_check(command: str, value: Any) -> None:
    assert "nothing to check" in fails(command, "-", stdin=json.dumps(value))


_EMPTY_CAPTURES: list[dict[str, Any]] = [
    {"server": {"package": "x"}, "initialize": {"serverInfo": {"name": "x", "version": "1"}}, "tools": []},
    {"initialize": {"serverInfo": {"name": "x", "version": "1"}}},
    {
        "initialize": {"serverInfo": {"name": "x", "version": "1"}},
        "tools": [],
        "resources": [],
        "resourceTemplates": [],
        "prompts": [],
    },
]


@pytest.mark.parametrize("capture", _EMPTY_CAPTURES, ids=["with server", "handshake only", "with every list"])
def test_a_capture_without_anything_is_judged_as_an_empty_server(capture: dict[str, Any]) -> None:
    text = json.dumps(capture)
    done = run("grade", "-", "--format", "json", stdin=text)
    assert done.returncode == 1
    document = document_of(done, "grade")
    assert (document["score"], document["grade"], document["rules"]) == (0, "F", {"server-empty": 1})
    assert "server-empty" in run("lint", "-", stdin=text).stdout
    card = run("grade", "-", stdin=text)
    assert card.returncode == 1
    assert "grade F" in card.stdout


def test_a_capture_without_tools_is_judged_by_what_it_has() -> None:
    resource = {"uri": "x://y", "name": "y", "description": "Something to read.", "mimeType": "text/plain"}
    capture = {"initialize": {"serverInfo": {"name": "x", "version": "1"}}, "tools": [], "resources": [resource]}
    document = document_of(run("grade", "-", "--format", "json", stdin=json.dumps(capture)), "grade")
    assert (document["score"], document["rules"]) == (100, {})


# --- malformed items ----------------------------------------------------------------------------------------------

_MALFORMED: dict[str, tuple[Any, set[str]]] = {
    "a string": ("tool", {"CAT-001"}),
    "a number": (7, {"CAT-001"}),
    "null": (None, {"CAT-001"}),
    "a boolean": (True, {"CAT-001"}),
    "a list": ([CLEAN_TOOL], {"CAT-001"}),
    "an empty object": ({}, {"CAT-002", "tool-no-description", "tool-no-schema"}),
    "no name": ({key: value for key, value in CLEAN_TOOL.items() if key != "name"}, {"CAT-002"}),
    "an empty name": ({**CLEAN_TOOL, "name": ""}, {"CAT-002"}),
    "a number as name": ({**CLEAN_TOOL, "name": 7}, {"CAT-002"}),
    "null as name": ({**CLEAN_TOOL, "name": None}, {"CAT-002"}),
    "a null description": ({**CLEAN_TOOL, "description": None}, {"tool-no-description"}),
    "an object as description": ({**CLEAN_TOOL, "description": {}}, {"tool-no-description"}),
    "no schema": ({key: value for key, value in CLEAN_TOOL.items() if key != "inputSchema"}, {"tool-no-schema"}),
    "an array as schema": ({**CLEAN_TOOL, "inputSchema": []}, {"tool-no-schema"}),
    "null as schema": ({**CLEAN_TOOL, "inputSchema": None}, {"tool-no-schema"}),
    "a boolean as schema": ({**CLEAN_TOOL, "inputSchema": True}, {"tool-no-schema"}),
    "a list of properties": ({**CLEAN_TOOL, "inputSchema": {"type": "object", "properties": ["q"]}}, {"CAT-007"}),
    "a string as property": (
        {**CLEAN_TOOL, "inputSchema": {"type": "object", "properties": {"q": "string"}}},
        {"CAT-007"},
    ),
    "a string as required": (
        {**CLEAN_TOOL, "inputSchema": {**CLEAN_TOOL["inputSchema"], "required": "title"}},
        {"CAT-007", "SCH-001"},
    ),
    "objects as required": (
        {**CLEAN_TOOL, "inputSchema": {**CLEAN_TOOL["inputSchema"], "required": [{}, 1, None, "title"]}},
        {"required-not-in-properties"},
    ),
    "a number as type": ({**CLEAN_TOOL, "inputSchema": {"type": 7}}, {"tool-schema-not-object"}),
    "a string as annotations": ({**CLEAN_TOOL, "annotations": "readOnly"}, {"CAT-006"}),
}


@pytest.mark.parametrize("case", list(_MALFORMED))
def test_a_malformed_tool_is_reported_and_does_not_hide_its_neighbours(case: str) -> None:
    tool, expected = _MALFORMED[case]
    text = json.dumps({"tools": [FAULTY_TOOL, tool, {**FAULTY_TOOL, "name": "last"}]}, indent=1)
    done = run("lint", "-", "--ruleset", "all", "--format", "json", stdin=text)
    findings = document_of(done, "lint")["findings"]
    neighbours = ("burn_book", "last")
    for neighbour in neighbours:
        assert [each["rule"] for each in findings if each["tool"] == neighbour] == [
            each["rule"] for each in findings if each["tool"] == "burn_book"
        ]
    found = {each["rule"] for each in findings if each["tool"] not in neighbours}
    assert expected <= found
    assert "CAT-004" not in found
    assert all(each["line"] is not None for each in findings)


@pytest.mark.parametrize("case", list(_MALFORMED))
def test_a_malformed_tool_can_be_graded_and_fixed_around(case: str) -> None:
    text = json.dumps([_MALFORMED[case][0], LOOSE_TOOL])
    for printed in ("text", "json"):
        assert run("grade", "-", "--format", printed, "--fail-on", "never", stdin=text).returncode == 0
    fixed = run("schema-lint", "-", "--fix", "--fail-on", "never", stdin=text)
    assert fixed.returncode == 0
    assert json.loads(fixed.stdout)[1]["inputSchema"]["required"] == ["shelf", "limit"]


def test_malformed_resources_templates_and_prompts_are_reported_too() -> None:
    odd: list[Any] = [
        None,
        7,
        "x",
        [],
        {},
        {"name": None, "description": [], "arguments": {}},
        {"name": 1, "arguments": [None, {}]},
    ]
    capture = {"initialize": {}, "tools": odd, "resources": odd, "resourceTemplates": odd, "prompts": odd}
    for arguments in (["lint", "--ruleset", "all"], ["grade"], ["schema-lint"]):
        text = run(*arguments, "-", stdin=json.dumps(capture))
        assert text.returncode == 1
        assert "CAT-004" not in text.stdout
    document = document_of(run("lint", "-", "--format", "json", stdin=json.dumps(capture)), "lint")
    assert document["summary"]["by_rule"]["CAT-001"] == 16


@pytest.mark.parametrize("value", [None, 7, "x", {}, True], ids=str)
def test_a_part_of_a_capture_that_is_no_list_is_reported(value: Any) -> None:
    capture = {"initialize": {}, "tools": [FAULTY_TOOL], "prompts": value}
    document = document_of(run("lint", "-", "--format", "json", stdin=json.dumps(capture)), "lint")
    assert document["summary"]["by_rule"]["CAT-008"] == 1
    assert document["summary"]["by_rule"]["tool-no-description"] == 1


@pytest.mark.parametrize("info", [None, 7, "x", [], {"name": {}, "version": []}, {"name": 1}], ids=str)
def test_server_info_of_any_kind_is_read(info: Any) -> None:
    capture = {"initialize": {"serverInfo": info}, "discover": {"_meta": info}, "tools": [CLEAN_TOOL]}
    for command in COMMANDS:
        done = run(command, "-", stdin=json.dumps(capture))
        assert done.returncode in (0, 1)
        assert "internal error" not in done.stderr
        assert "CAT-004" not in done.stdout


# --- hostile text -------------------------------------------------------------------------------------------------

_HOSTILE = {
    "escape": "\x1b[31mred\x1b]0;title\x07",
    "bell": "ding\x07",
    "delete": "a\x7fb",
    "C1 escape": "a\x9b31mb",
    "carriage return": "good\rbad",
    "line feed": "good\nbad",
    "null": "a\0b",
    "right-to-left override": "a\u202eb\u2066c\u2069",
    "marks and zero width": "a\u200fb\u200bc\u2060d\ufeffe",
    "line separator": "a\u2028b\u2029c\x85d",
    "tag characters": "a\U000e0041b",
    "lone surrogate": "a\ud800b",
    "workflow command": "::error file=x::pwned",
    "workflow command on a line of its own": "\n::error::pwned\r\n  ::warning::too",
    "old workflow command": "##[error]pwned",
    "add-mask": "::add-mask::x\n::stop-commands::y",
}
_UNSAFE = frozenset(
    chr(code)
    for code in (
        *range(0x20),
        *range(0x7F, 0xA0),
        0xAD,
        0x061C,
        *range(0x200B, 0x2010),
        *range(0x2028, 0x202F),
        *range(0x2060, 0x2070),
        0xFEFF,
        *range(0xE0000, 0xE0080),
    )
) - {"\n"}


def _is_harmless(text: str) -> bool:
    """Whether nothing in this output acts on a terminal or on a CI runner."""
    return not (
        _UNSAFE & set(text) or any(line.lstrip().startswith("::") for line in text.splitlines()) or "##[" in text
    )


def _hostile_catalog(text: str) -> str:
    """A capture that says this text wherever a server can say anything."""
    tool = {
        "name": text,
        "description": text,
        "title": 7,
        "inputSchema": {
            "type": "object",
            "properties": {text: {}, "p": {"type": "string", "description": text}, "q": {"$ref": text}, "r": text},
            "required": [text, f"{text}{text}"],
            text: text,
        },
    }
    named = {"name": text, "uri": text, "uriTemplate": text, "arguments": [{"name": text}]}
    capture = {
        "server": {"package": text},
        "initialize": {"serverInfo": {"name": text, "version": text}},
        "tools": [tool, tool, {text: text}, text],
        "resources": [named, {"uri": text}],
        "resourceTemplates": [named],
        "prompts": [named],
    }
    # Escaped where JSON must, raw where it may.
    raw = json.dumps(capture, ensure_ascii="\ud800" in text, indent=1)
    return raw.replace('"arguments"', '"arguments": 1, "arguments"', 1)


@pytest.mark.parametrize("case", list(_HOSTILE))
def test_hostile_text_is_neutralised_for_people(case: str) -> None:
    text = _hostile_catalog(_HOSTILE[case])
    for arguments in (
        ["lint", "--ruleset", "all"],
        ["lint", "--ruleset", "all", "--format", "concise"],
        ["schema-lint"],
        ["grade", "--min-grade", "A"],
    ):
        done = run(*arguments, "-", stdin=text)
        assert done.returncode == 1
        assert _is_harmless(done.stdout), arguments
        assert _is_harmless(done.stderr)
        assert "CAT-004" not in done.stdout


@pytest.mark.parametrize("case", list(_HOSTILE))
def test_hostile_text_is_neutralised_in_the_line_that_fix_says(case: str) -> None:
    done = run_bytes("schema-lint", "-", "--fix", stdin=_hostile_catalog(_HOSTILE[case]).encode())
    assert done.returncode == 1, done.stderr
    assert _is_harmless(done.stderr.decode())


_PAINT = re.compile("\x1b\\[[0-9;]*m|\r\x1b\\[K")


def _on_terminal(*words: str, cwd: Path) -> str:
    """What a terminal shows of the output of a command, without its colours and progress."""
    terminal, end = os.openpty()
    attributes = termios.tcgetattr(end)
    attributes[1] &= ~termios.OPOST  # line feeds stay as they are
    termios.tcsetattr(end, termios.TCSANOW, attributes)
    shown = b""
    with subprocess.Popen([*COMMAND, *words], cwd=cwd, env=environment(), stdout=end, stderr=end) as process:
        os.close(end)
        while select([terminal], [], [], HANG)[0]:
            try:
                data = os.read(terminal, 65_536)
            except OSError:  # the end, on Linux
                break
            if not data:
                break
            shown += data
        process.wait(HANG)
    os.close(terminal)
    assert b"Traceback" not in shown
    return _PAINT.sub("", shown.decode())


_SERVER = """\
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        if message["method"] == "initialize":
            server = {{"name": {text!r}, "version": {text!r}}}
            result = {{"protocolVersion": "2025-06-18", "capabilities": {{"tools": {{}}}}, "serverInfo": server}}
        else:
            result = {{"tools": [{{"name": {text!r}, "description": {text!r}, "inputSchema": {{"type": "object"}}}}]}}
        print(json.dumps({{"jsonrpc": "2.0", "id": message["id"], "result": result}}), flush=True)
"""


@pytest.mark.parametrize(
    "arguments",
    [
        ("schema-lint", "bad.json", "--fix"),
        ("schema-lint", "bad.json", "--fix", "--diff"),
        ("lint", "bad.json", "--format", "json"),
        ("capture", "--", sys.executable, "server.py"),
        ("tools", "--", sys.executable, "server.py"),
        ("lint", "--trace", "--", sys.executable, "server.py"),
    ],
    ids=" ".join,
)
def test_nothing_hostile_reaches_a_terminal(arguments: tuple[str, ...], tmp_path: Path) -> None:
    text = "a\x9b31mb \u202ec\u2066 d\x85 e\u200b\U000e0041"
    (tmp_path / "bad.json").write_text(_hostile_catalog(text))
    (tmp_path / "server.py").write_text(_SERVER.format(text=text))
    shown = _on_terminal(*arguments, cwd=tmp_path)
    assert "31mb" in shown
    assert not _UNSAFE & set(shown), arguments


@pytest.mark.parametrize("options", [("--fix",), ("--fix", "--diff")])
def test_content_in_a_pipe_keeps_its_bytes(options: tuple[str, ...]) -> None:
    text = "a\x9b31mb \u202ec"
    done = run_bytes("schema-lint", "-", *options, stdin=_hostile_catalog(text).encode())
    assert f'"{text}": '.encode() in done.stdout


def test_a_diff_in_the_log_of_a_ci_runner_runs_no_command(tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text(_hostile_catalog("##[error]pwned"))
    words = ("schema-lint", "bad.json", "--fix", "--diff")
    assert b"##[error]pwned" in run_bytes(*words, cwd=tmp_path).stdout
    assert b"##[" not in run_bytes(*words, cwd=tmp_path, env={"GITHUB_ACTIONS": "true"}).stdout


@pytest.mark.parametrize("case", list(_HOSTILE))
@pytest.mark.parametrize("arguments", [("lint", "--ruleset", "all"), ("grade",)], ids=" ".join)
def test_control_characters_are_escaped_in_json(case: str, arguments: tuple[str, ...]) -> None:
    hostile = _HOSTILE[case]
    done = run(*arguments, "--format", "json", "-", stdin=_hostile_catalog(hostile))
    assert not _UNSAFE & set(done.stdout)
    assert not any(line.lstrip().startswith("::") for line in done.stdout.splitlines())
    document = document_of_hostile(done, arguments[0])
    assert any(finding["tool"] == hostile for finding in document["findings"])


def document_of_hostile(done: subprocess.CompletedProcess[str], schema: str) -> Any:
    """The document, checked against its schema unless it has half a character, which the validator cannot take."""
    return json.loads(done.stdout) if "\\ud800" in done.stdout else document_of(done, schema)


_IN_FILE_NAMES = [case for case in _HOSTILE if case not in ("null", "lone surrogate")]


@pytest.mark.parametrize("case", _IN_FILE_NAMES)
def test_a_hostile_file_name_is_neutralised(tmp_path: Path, case: str) -> None:
    folder = tmp_path / "catalogs"
    folder.mkdir()
    name = _HOSTILE[case].replace("/", "") + ".json"
    write(folder / name, [FAULTY_TOOL, LOOSE_TOOL])
    for arguments in (
        ["lint"],
        ["lint", "--format", "concise"],
        ["schema-lint"],
        ["grade"],
        ["schema-lint", "--diff"],
        ["schema-lint", "--fix"],
        ["schema-lint", "--fix", "--write"],
    ):
        for done in (run(*arguments, name, cwd=folder), run(*arguments, "catalogs", cwd=tmp_path)):
            assert done.returncode == 1
            assert _is_harmless(done.stdout), arguments
            assert _is_harmless(done.stderr), arguments


@pytest.mark.parametrize("case", _IN_FILE_NAMES)
def test_an_error_about_a_hostile_file_name_is_one_harmless_line(tmp_path: Path, case: str) -> None:
    name = _HOSTILE[case].replace("/", "") + ".json"
    assert _is_harmless(fails("lint", name, cwd=tmp_path))
    folder = tmp_path / "catalogs"
    folder.mkdir()
    (folder / name).write_text("{}")
    write(folder / "z.json", [CLEAN_TOOL])
    (folder / f"broken{name}").write_text("{")
    done = run("lint", "catalogs", cwd=tmp_path)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 2
    assert _is_harmless(done.stderr)


@pytest.mark.parametrize("case", list(_HOSTILE))
def test_errors_that_quote_the_input_are_one_harmless_line(case: str) -> None:
    hostile = _HOSTILE[case]
    values: list[dict[str, Any]] = [
        {"jsonrpc": "2.0", "id": 1, "error": {"code": -1, "message": hostile}},
        {"mcpServers": {hostile: {}}},
        {hostile: 1},
        {"tools": {hostile: 1}},
    ]
    for value in values:
        assert _is_harmless(fails("lint", "-", stdin=json.dumps(value)))


@pytest.mark.parametrize("case", [case for case in _HOSTILE if case not in ("null", "lone surrogate")])
def test_errors_that_quote_the_command_line_are_one_harmless_line(case: str) -> None:
    hostile = _HOSTILE[case]
    for arguments in (
        [hostile],
        ["explain", hostile],
        ["lint", "x.json", "--select", hostile],
        ["lint", "x.json", "--ruleset", hostile],
        ["lint", "x.json", "--format", hostile],
        ["lint", "x.json", f"--{hostile}".replace(" ", "")],
        ["grade", "x.json", "--min-grade", hostile],
    ):
        assert _is_harmless(fails(*arguments))


def test_half_a_character_in_a_key_survives_the_fix(tmp_path: Path) -> None:
    """JSON can name what no encoding can write: the fix has to write it escaped, as it was."""
    path = tmp_path / "half.json"
    path.write_text('[{"name": "a", "inputSchema": {"type": "object", "properties": {"\\ud800": {"type": "null"}}}}]')
    done = run("schema-lint", str(path), "--fix")
    assert done.returncode == 0
    assert json.loads(done.stdout)[0]["inputSchema"]["required"] == ["\ud800"]
    assert run("schema-lint", str(path), "--fix", "--write").returncode == 0
    assert run("schema-lint", str(path)).returncode == 0


# --- a rule that crashes ------------------------------------------------------------------------------------------


@pytest.fixture
def crashing_rule(monkeypatch: pytest.MonkeyPatch) -> str:
    """The rule `prop-no-type`, made to crash on every parameter."""

    def crash(parameter: object) -> Iterator[Problem]:
        raise ZeroDivisionError("\x1b[31mdivided\nby zero")
        yield

    monkeypatch.setattr(find_rule("prop-no-type"), "check", crash)
    return "prop-no-type"


@pytest.mark.parametrize("selection", [(), ("--select", "prop-no-type,tool-no-description")], ids=["all", "selected"])
def test_a_rule_that_crashes_becomes_one_finding_and_the_others_still_run(
    tmp_path: Path, crashing_rule: str, selection: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    name = write(tmp_path / "catalog.json", [FAULTY_TOOL, LOOSE_TOOL, {**FAULTY_TOOL, "name": "last"}])
    assert main(["lint", name, "--format", "json", *selection]) == 1
    captured = capsys.readouterr()
    assert captured.err == ""
    document = json.loads(captured.out)
    crashes = [finding for finding in document["findings"] if finding["rule"] == "CAT-004"]
    assert len(crashes) == 1
    assert (crashes[0]["level"], crashes[0]["ruleset"]) == ("error", "catalog")
    assert crashing_rule in crashes[0]["message"]
    assert document["summary"]["by_rule"]["tool-no-description"] == 2


def test_a_crash_is_told_to_people_without_a_traceback(
    tmp_path: Path, crashing_rule: str, capsys: pytest.CaptureFixture[str]
) -> None:
    name = write(tmp_path / "catalog.json", [FAULTY_TOOL])
    for arguments in (["lint", name], ["lint", name, "--format", "concise"], ["grade", name]):
        assert main(arguments) == 1
        captured = capsys.readouterr()
        assert "Traceback" not in captured.out + captured.err
        assert _is_harmless(captured.out)
        if arguments[0] == "lint":
            assert captured.out.count("CAT-004") == 1
            assert "ZeroDivisionError" in captured.out
        else:
            assert "1 problem with the input itself" in captured.out


def test_a_rule_that_crashes_midway_keeps_what_it_had_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rule = find_rule("tool-no-description")
    check = rule.check

    def crash_after(tool: Any) -> Iterator[Problem]:
        yield from check(tool)
        if tool.name == "last":
            raise RuntimeError("too late")

    monkeypatch.setattr(rule, "check", crash_after)
    name = write(tmp_path / "catalog.json", [FAULTY_TOOL, {**FAULTY_TOOL, "name": "last"}])
    main(["lint", name, "--select", "tool-no-description", "--format", "concise"])
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[2] for line in lines].count("tool-no-description") == 2
    assert [line.split()[2] for line in lines].count("CAT-004") == 1


def test_an_error_inside_mcproof_is_one_line_that_asks_for_a_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from mcproof.runs import judging

    def crash(*_: object) -> None:
        raise RuntimeError("first line\nsecond line")

    monkeypatch.setattr(judging, "check", crash)
    name = write(tmp_path / "catalog.json", [FAULTY_TOOL])
    assert main(["lint", name]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert len(captured.err.splitlines()) == 1
    assert "please report it" in captured.err
    assert main(["lint", name, "--format", "json"]) == 2
    assert "please report it" in json.loads(capsys.readouterr().out)["error"]["message"]


# --- hostile sizes ------------------------------------------------------------------------------------------------


def many_tools(path: Path, count: int) -> str:
    """Save a catalog of tools of 500 bytes each, in which these rulesets find nothing."""
    text = json.dumps({**CLEAN_TOOL, "name": "tool_#"}).replace(
        "Words of the title.", "Words of the title, in any order. " * 10
    )
    with path.open("w") as file:
        file.write('{"tools": [')
        for number in range(count):
            file.write((",\n" if number else "") + text.replace("#", str(number)))
        file.write("]}")
    return str(path)


def check_many_tools(folder: Path, count: int) -> None:
    name = many_tools(folder / "large.json", count)
    done = run("lint", name, "--ruleset", "strict,grade,trust,catalog", "--ignore", "tool_count_is_reasonable")
    assert done.returncode == 0
    assert f"no findings in {count:,} tools" in done.stdout


def test_5_megabytes_and_10_000_tools_are_checked(tmp_path: Path) -> None:
    """`make soak` checks ten times as much; that the work grows with the number of tools is counted below."""
    check_many_tools(tmp_path, 10_000)
    assert (tmp_path / "large.json").stat().st_size > 5_000_000


def test_a_finding_at_the_end_of_a_large_file_is_found(tmp_path: Path) -> None:
    path = tmp_path / "large.json"
    text = json.dumps(CLEAN_TOOL)
    path.write_text("[" + ",\n".join([text] * 10_000 + [json.dumps({**FAULTY_TOOL, "name": "last"})]) + "]")
    done = run("lint", str(path), "--format", "concise", "--select", "tool-no-description")
    assert done.stdout == f"{path}:10001:2: error tool-no-description last: has no description\n"


def test_the_work_grows_with_the_number_of_references() -> None:
    def work(count: int) -> subprocess.CompletedProcess[str]:
        properties = {f"p{number}": {"$ref": f"#/properties/p{(number + 1) % count}"} for number in range(count)}
        tool = {"name": "chain", "inputSchema": {"type": "object", "properties": properties}}
        return run("lint", "-", "--ruleset", "all", "--format", "json", stdin=json.dumps([tool]))

    assert_linear(work)
    assert "tool_input_schemas_well_formed" in document_of(work(5_000), "lint")["summary"]["by_rule"]


def test_the_work_grows_with_the_number_of_tools() -> None:
    def work(count: int) -> None:
        kinds = (CLEAN_TOOL, LOOSE_TOOL, FAULTY_TOOL)
        tools = [{**tool, "name": f"{tool['name']}_{number}"} for number in range(count) for tool in kinds]
        run("lint", "-", "--ruleset", "all", "--format", "json", stdin=json.dumps(tools))

    assert_linear(work, 30)


def test_a_number_of_many_digits_is_read() -> None:
    schema = '{"type": "object", "properties": {"n": {"type": "integer", "maximum": 1' + "0" * 10_000 + "}}}"
    text = f'[{{"name": "n", "description": "Take a large number.", "inputSchema": {schema}}}]'
    for command in COMMANDS:
        done = run(command, "-", "--fail-on", "never", stdin=text)
        assert done.returncode == 0
        assert "CAT-004" not in done.stdout
