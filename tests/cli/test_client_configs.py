"""Client configurations on the command line: nothing is started that nobody asked for."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from .running import CLEAN_TOOL, document_of, error_of, fails, run, write
from .serving import SECRET, config, entry, lint, serve

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("key", ["mcpServers", "servers", "context_servers"])
@pytest.mark.parametrize("command", ["lint", "grade", "schema-lint", "capture"])
def test_a_configuration_alone_is_listed_and_nothing_is_started(tmp_path: Path, command: str, key: str) -> None:
    mark = tmp_path / "mark"
    servers = {"first": {"command": "touch", "args": [str(mark)]}, "second": {"url": "http://127.0.0.1:1"}}
    file = write(tmp_path / "mcp.json", {key: servers})
    line = fails(command, file)
    assert f"a client configuration (servers: first, second); nothing was started; select one with {file}#" in line
    assert not mark.exists()


def test_comments_do_not_keep_a_configuration_from_being_listed(tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    file.write_text('{\n  // mine\n  "servers": {"one": {"command": "x"},},\n}\n', encoding="utf-8")
    assert "(servers: one)" in fails("lint", str(file))
    assert "(servers: one)" in error_of("lint", str(file), "--format", "json")["message"]


def test_a_configuration_in_a_folder_is_passed_over(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    config(tmp_path, one={"command": "touch", "args": [str(mark)]})
    write(tmp_path / "tools.json", [CLEAN_TOOL])
    done = run("lint", str(tmp_path), "--all")
    assert done.returncode == 0
    assert "(not a catalog)" in done.stderr
    assert not mark.exists()


def test_only_the_server_that_is_named_is_started(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    file = config(tmp_path, one=entry("good"), two={"command": "touch", "args": [str(mark)]})
    assert lint(f"{file}#one")["target"] == f"{file}#one"
    assert not mark.exists()


def test_all_servers_are_judged_and_those_that_cannot_be_do_not_hide_the_others(tmp_path: Path) -> None:
    with serve("json") as server:
        file = config(
            tmp_path,
            number=3,
            neither={},
            good=entry("good"),
            dies=entry("exit-at-start"),
            unset=entry("good", "${MCPROOF_MISSING}"),
            remote={"type": "http", "url": server.url},
        )
        done = run("lint", file, "--all", "--format", "json")
    assert done.returncode == 2
    outcome = {each["target"].rpartition("#")[2]: each.get("error") for each in document_of(done, "lint")["targets"]}
    assert list(outcome) == ["number", "neither", "good", "dies", "unset", "remote"]
    assert [name for name, error in outcome.items() if error is None] == ["good", "remote"]
    assert outcome["number"]["message"] == "the server `number` is a number, not an object"
    assert outcome["dies"]["message"].startswith("server `dies`: the server exited with code 7")
    lines = (tmp_path / ".mcp.json").read_text(encoding="utf-8").splitlines()
    assert {name: error["file"] for name, error in outcome.items() if error} == dict.fromkeys(
        ("number", "neither", "dies", "unset"), file
    )
    assert all(f'"{name}"' in lines[error["line"] - 1] for name, error in outcome.items() if error)


def test_a_name_that_is_not_there_is_told_with_those_that_are(tmp_path: Path) -> None:
    file = config(tmp_path, weather=entry("good"))
    assert "no server `wether` in this configuration (did you mean `weather`?)" in fails("lint", f"{file}#wether")


def test_a_snapshot_has_no_servers_to_name(tmp_path: Path) -> None:
    file = write(tmp_path / "tools.json", [CLEAN_TOOL])
    assert "not a client configuration" in fails("lint", f"{file}#x")
    assert run("lint", file, "--all").returncode == 0


def test_what_is_broken_is_told_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    file.write_text('{"mcpServers": {\n]}', encoding="utf-8")
    for words in ((f"{file}#x",), (str(file), "--all"), (str(file),)):
        assert fails("lint", *words).startswith(f"mcproof: {file}:2:")


def test_a_finding_points_at_the_line_of_the_configuration(tmp_path: Path) -> None:
    config(tmp_path, one=entry("good"), two=entry("garbage-first"))
    done = run("lint", ".mcp.json#two", "--select", "WIR-001", "--format", "concise", cwd=tmp_path)
    lines = (tmp_path / ".mcp.json").read_text(encoding="utf-8").splitlines()
    (number,) = (at for at, line in enumerate(lines, 1) if '"two"' in line)
    assert done.stdout.startswith(f".mcp.json:{number}: error WIR-001 ")


def test_the_command_line_adds_to_what_the_configuration_says(tmp_path: Path) -> None:
    file = config(tmp_path, one=entry("shows-environment", env={"FROM_FILE": "x", "BOTH": "x"}))
    done = run("capture", f"{file}#one", "--env", "BOTH=y", "--env", "FROM_HERE=z")
    assert {"FROM_FILE", "BOTH", "FROM_HERE"} <= {tool["name"] for tool in json.loads(done.stdout)["tools"]}
    with serve("json") as server:
        file = config(tmp_path, two={"url": server.url, "headers": {"X-Both": "file", "X-File": "file"}})
        run("lint", f"{file}#two", "--header", "X-Both: here")
        headers = server.requests[0].headers
    assert (headers["x-both"], headers["x-file"]) == ("here", "file")


@pytest.mark.parametrize(
    "server",
    [
        entry("repeats-environment", env={"SECRET": "${KEY}"}),
        entry("repeats-environment", env={"SECRET": SECRET}),
        entry("dies-with-secret", "${KEY}"),
        entry("good", "${KEY}", "--token", SECRET),
        {"url": "http://127.0.0.1:1/${KEY}/mcp", "headers": {"Authorization": "Bearer ${KEY}"}},
        {"url": "http://127.0.0.1:1/mcp?key=${KEY}"},
    ],
)
def test_no_output_has_a_secret_of_a_configuration(tmp_path: Path, server: Any) -> None:
    file = config(tmp_path, one=server)
    report, page = str(tmp_path / "run.json"), str(tmp_path / "page.html")
    outputs = ("--report", report, "--output", page)
    done = [
        run("lint", f"{file}#one", *outputs, env={"KEY": SECRET}),
        run("grade", file, "--all", "--format", "json", env={"KEY": SECRET}),
        run("capture", f"{file}#one", env={"KEY": SECRET}),
    ]
    told = "".join(each.stdout + each.stderr for each in done)
    written = "".join((tmp_path / name).read_text(encoding="utf-8") for name in ("run.json", "page.html"))
    assert SECRET not in told + written


def test_tools_of_two_servers_with_one_name_are_reported_at_the_second(tmp_path: Path) -> None:
    target = config(tmp_path, first=entry("good"), second=entry("good"))

    done = run("lint", target, "--all", "--select", "TRU-120", "--format", "json")

    first, second = json.loads(done.stdout)["targets"]
    assert first["findings"] == []
    (finding,) = second["findings"]
    assert finding["rule"] == "TRU-120"
    assert finding["evidence"]["server"].endswith("#first")
    assert {pair["toolName"] for pair in finding["evidence"]["pairs"]} == {"find_book", "lend_book"}
