"""`--trace`: all messages of any command with live servers, without secrets, on standard error or in a file."""

from __future__ import annotations

import io
import json
import os
import stat
import sys
from typing import TYPE_CHECKING, Any

import pytest

from mcproof.cli import target_options
from mcproof.cli.target_options import TerminalTrace
from mcproof.client.tracing import PeerTrace, Trace, TracedMessage, tracing
from probing.running import CONTRACT, http
from report.readers import acts
from servers import small

from .running import CLEAN_TOOL, fails, run, validator, write
from .serving import GOOD, SECRET, config, entry, raw

if TYPE_CHECKING:
    from pathlib import Path

LIBRARY = ("--", *CONTRACT, "good")
CALL = ("call", "find_book", "query=rose")


def _lines(file: Path) -> list[Any]:
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    for line in lines:
        validator("trace").validate(line)
    return lines


def _methods(lines: list[Any]) -> list[str]:
    return [line["message"]["method"] for line in lines if line["direction"] == "sent"]


def test_a_file_has_every_message_in_order(tmp_path: Path) -> None:
    file = tmp_path / "trace.jsonl"
    done = run(*CALL, "--trace", str(file), *LIBRARY)
    assert (done.returncode, done.stderr) == (0, "")
    lines = _lines(file)
    assert _methods(lines) == [
        "server/discover",
        "initialize",
        "notifications/initialized",
        "tools/list",
        "tools/call",
    ]
    assert lines[-1]["direction"] == "received"
    assert lines[-1]["message"]["result"]["structuredContent"]["total"] == 1
    assert {line["connection"] for line in lines} == {1}
    assert [line["seconds"] for line in lines] == sorted(line["seconds"] for line in lines)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_the_terminal_has_a_bounded_line_for_each_message() -> None:
    done = run(*CALL, "--trace", *LIBRARY)
    assert done.returncode == 0
    lines = done.stderr.splitlines()
    assert '1 → {"jsonrpc": "2.0", "id": 4, "method": "tools/call", "params": {"name": "find_book"' in lines[-2]
    assert "1 ← " in lines[-1]
    assert max(map(len, lines)) == 400
    assert done.stdout == run(*CALL, *LIBRARY).stdout


@pytest.mark.parametrize(
    "words",
    [
        ("tools", "--trace", *LIBRARY),
        ("lint", "--trace", *GOOD),
        ("grade", "--trace", *GOOD),
        ("schema-lint", "--trace", *GOOD),
        ("capture", "--trace", *GOOD),
        ("diff", "{snapshot}", "--trace", *GOOD),
        ("probe", "--checks", "unknown_tool", "--trace", *LIBRARY),
        ("init", "-o", "-", "--no-calls", "--trace", *GOOD),
        ("run", "{suite}", "--trace"),
        ("read", "library://hours", "--trace", *LIBRARY),
        ("prompt", "recommend", "genre=x", "--trace", *LIBRARY),
    ],
    ids=lambda words: words[0],
)
def test_every_live_command_can_be_traced(tmp_path: Path, words: tuple[str, ...]) -> None:
    snapshot = write(tmp_path / "tools.json", [CLEAN_TOOL])
    suite = tmp_path / "mcproof.yaml"
    server = json.dumps([sys.executable, "-I", "-S", small.__file__, "[]"])
    suite.write_text(f"servers: {{s: {{command: {server}}}}}\ntools: [{{name: t, server: s, tool: x}}]\n")
    done = run(*(word.format(snapshot=snapshot, suite=suite) if "{" in word[:1] else word for word in words))
    assert done.returncode in (0, 1), done
    assert '"method": "initialize"' in done.stderr


def test_a_server_at_a_url_is_traced(tmp_path: Path) -> None:
    file = tmp_path / "trace.jsonl"
    with http("good", "stateless") as url:
        assert run("call", "--trace", str(file), url, "count_books").returncode == 0
    assert _methods(_lines(file)) == ["server/discover", "tools/list", "tools/call"]


def test_several_servers_have_numbers(tmp_path: Path) -> None:
    file = tmp_path / "trace.jsonl"
    servers = config(tmp_path, one=entry("good"), two=entry("good"))
    run("lint", servers, "--all", f"--trace={file}")
    assert {line["connection"] for line in _lines(file)} == {1, 2}


def test_bytes_that_are_not_a_message_are_traced(tmp_path: Path) -> None:
    file = tmp_path / "trace.jsonl"
    run("probe", "--checks", "not_json", "--trace", str(file), *LIBRARY)
    assert "this is not JSON" in [line.get("text") for line in _lines(file) if line["direction"] == "sent"]
    run("lint", "--trace", str(file), *raw("garbage-first"))
    assert any(line["direction"] == "received" for line in _lines(file) if "text" in line)


def test_secrets_are_hidden(tmp_path: Path) -> None:
    file = tmp_path / "trace.jsonl"
    words = ("--env", f"SECRET={SECRET}", *raw("repeats-environment"))
    on_terminal = run("lint", "--trace", *words).stderr
    run("lint", "--trace", str(file), *words)
    for text in (on_terminal, file.read_text(encoding="utf-8")):
        assert SECRET not in text
        assert "Uses ***." in text
    _lines(file)


def test_secrets_of_a_suite_are_hidden(tmp_path: Path) -> None:
    suite = tmp_path / "mcproof.yaml"
    server = json.dumps([*CONTRACT, "good"])
    test = "{name: t, server: s, tool: find_book, args: {query: '${QUERY}'}}"
    suite.write_text(f"servers: {{s: {{command: {server}}}}}\ntools: [{test}]\n")
    done = run("run", str(suite), "--trace", env={"QUERY": SECRET})
    assert '"query": "***"' in done.stderr
    assert SECRET not in done.stderr


def test_the_word_after_the_option_is_a_file_only_if_it_looks_like_one(tmp_path: Path) -> None:
    assert run("call", "--trace", "find_book", "query=rose", *LIBRARY).returncode == 0
    snapshot = write(tmp_path / "tools.json", [CLEAN_TOOL])
    before = (tmp_path / "tools.json").read_bytes()
    assert run("tools", "--trace", snapshot).returncode == 0
    assert (tmp_path / "tools.json").read_bytes() == before
    file = tmp_path / "folder" / "trace"
    file.parent.mkdir()
    assert run(*CALL, "--trace", str(file), *LIBRARY).returncode == 0
    assert _lines(file)
    assert run(*CALL, "--trace=any", *LIBRARY, cwd=tmp_path).returncode == 0
    assert _lines(tmp_path / "any")


def test_a_file_that_cannot_be_written_is_reported_first(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    start = ("--", "touch", str(mark))
    assert "there is no folder" in fails("tools", "--trace", str(tmp_path / "none" / "t.jsonl"), *start)
    assert "is a folder" in fails("tools", f"--trace={tmp_path}", *start)
    assert "needs a file" in fails("tools", "--trace=", *start)
    assert "given twice" in fails("tools", "--trace", "--trace", *start)
    log = write(tmp_path / "x.log", [CLEAN_TOOL])
    assert "names this file twice" in fails("tools", f"--trace={log}", log)
    assert "names this file twice" in fails("lint", f"--trace={log}", "--output", f"json:{log}", *start)
    assert not mark.exists()


def test_commands_without_servers_have_no_trace() -> None:
    assert "unrecognized arguments: --trace" in fails("rules", "--trace")
    assert run("tools", *raw("good", "--trace")).stderr == ""


def test_a_trace_ends_at_its_largest_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(target_options, "LARGEST_FILE", 1000)
    file = tmp_path / "trace.jsonl"
    done = run(*CALL, "--trace", str(file), *LIBRARY)
    assert done.returncode == 0
    assert done.stderr.count("the trace is incomplete: larger than 1,000 bytes") == 1
    assert 0 < len(_lines(file)) < 5


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is full")
def test_a_full_disk_does_not_end_the_command() -> None:
    done = run(*CALL, "--trace=/dev/full", *LIBRARY)
    assert done.returncode == 0
    assert done.stderr == "mcproof: /dev/full: the trace is incomplete: no space left on device\n"


@pytest.mark.parametrize(
    "data",
    [b"log", b"\xff\xfe", b'{"a": NaN}', b'{"a": 1e999}', b'{"a": 1, "a": 2}', b"[" * 100_000, b"1" * 5000],
    ids=lambda data: repr(data[:12]),
)
def test_what_is_not_plain_json_is_text(data: bytes) -> None:
    kept: list[TracedMessage] = []
    with tracing(Trace(kept.append)):
        PeerTrace().received(data)
    PeerTrace().received(data)
    (line,) = kept
    assert line.message is None
    assert line.text is not None
    assert line.text.isascii()


def test_blank_lines_are_left_out() -> None:
    kept: list[TracedMessage] = []
    with tracing(Trace(kept.append)):
        PeerTrace().received(b" \r\n")
    assert kept == []


def test_hostile_text_does_nothing() -> None:
    evil = "\x1b[31m\n::error::x\r##[group]\u202e\ud800"
    out = io.StringIO()
    write_line = TerminalTrace(out)
    write_line(TracedMessage("", 0.1, 1, "received", {evil: evil}, None))
    write_line(TracedMessage("", 0.1, 1, "received", None, f"::error::{evil}"))
    assert not acts(out.getvalue())
