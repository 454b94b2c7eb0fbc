"""Servers and steps that end badly: each failure where it belongs, and nothing left running."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

from cli.running import COMMAND, document_of, environment, run, validator
from servers import suited

from .suites import outcomes_of, run_json, write_suite

if TYPE_CHECKING:
    from pathlib import Path

STDIO: dict[str, Any] = {"command": [sys.executable, "-I", "-S", suited.__file__]}


def call(name: str, tool: str, server: str = "s", **others: Any) -> dict[str, Any]:
    return {"name": name, "server": server, "tool": tool, **others}


def echo(name: str, server: str = "s") -> dict[str, Any]:
    return call(name, "echo", server, args={"text": "x"})


def running(marker: str) -> list[str]:
    listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout.splitlines()  # noqa: S607
    return [line for line in listed if marker in line and "-m mcproof" not in line]


def test_a_server_that_ends_after_its_answer_fails_the_test_that_it_answered(tmp_path: Path) -> None:
    def look(name: str, **arguments: Any) -> dict[str, Any]:
        return call(name, "look", args=arguments)

    write_suite(tmp_path, {"s": STDIO}, tools=[look("a", leave=True), look("b"), look("c", leave=True)])
    outcomes = outcomes_of(run_json(tmp_path))
    why = "after the response, the server exited with code 9"
    assert outcomes == {"tools/a": ("failed", why), "tools/b": ("passed", ""), "tools/c": ("failed", why)}


def test_a_server_that_ends_before_a_row_of_tests_fails_the_test_that_it_answered(tmp_path: Path) -> None:
    looks = [call(name, "look", args={}) for name in "bcd"]
    write_suite(tmp_path, {"s": STDIO}, tools=[call("a", "leave"), *looks])
    outcomes = outcomes_of(run_json(tmp_path))
    assert outcomes["tools/a"] == ("failed", "after the response, the server exited with code 9")
    assert [outcomes[f"tools/{name}"][0] for name in "bcd"] == ["passed"] * 3
    assert len(outcomes) == 4


def test_a_server_that_ends_by_itself_fails_the_test_that_needs_it(tmp_path: Path) -> None:
    write_suite(tmp_path, {"s": {"command": [*STDIO["command"], "fleeting"]}}, tools=[echo("a")])
    done = run_json(tmp_path)
    outcome, message = outcomes_of(done)["tools/a"]
    assert (done.returncode, outcome) == (1, "failed")
    assert "the server exited with code 5" in message


def test_nothing_is_sent_twice_that_may_change_something(tmp_path: Path) -> None:
    note = tmp_path / "charged"
    write_suite(tmp_path, {"s": STDIO}, tools=[echo("a"), call("b", "charge", args={"note": str(note)}), echo("c")])
    outcomes = outcomes_of(run_json(tmp_path))
    assert note.read_text(encoding="utf-8") == "x"
    assert [outcome for outcome, _ in outcomes.values()] == ["passed", "failed", "passed"]


def test_an_end_that_no_single_test_explains_fails_the_run(tmp_path: Path) -> None:
    once = {"once": str(tmp_path / "once")}
    tests = [call(name, "look", args=arguments) for name, arguments in (("a", {}), ("b", once), ("c", {}))]
    write_suite(tmp_path, {"s": STDIO}, tools=tests)
    done = run_json(tmp_path)
    outcomes = outcomes_of(done)
    assert done.returncode == 1
    assert [outcomes[f"tools/{name}"][0] for name in "abc"] == ["passed"] * 3
    outcome, message = outcomes["tools/concurrent calls"]
    assert outcome == "failed"
    assert "during the concurrent calls of `a`, `b`, `c`, but not one by one" in message


def test_a_call_that_ends_the_server_now_and_then_is_not_the_fault_of_the_one_before(tmp_path: Path) -> None:
    once = {"once": str(tmp_path / "once")}
    tests = [call("a", "look", args={}), call("b", "look", args=once)]
    write_suite(tmp_path, {"s": STDIO}, tools=tests)
    outcomes = outcomes_of(run_json(tmp_path, "--fail-fast"))
    assert (outcomes["tools/a"][0], outcomes["tools/b"][0]) == ("passed", "failed")


def test_a_server_that_cannot_be_started_is_told_once_with_its_last_lines(tmp_path: Path) -> None:
    said = "import os, sys; sys.exit('\\n'.join([*map(str, range(20)), os.environ['SECRET'], 'the end']))"
    gone = {"command": [sys.executable, "-I", "-S", "-c", said], "env": {"SECRET": {"env": "SECRET"}}}
    write_suite(tmp_path, {"s": gone}, tools=[echo("a"), echo("b")], tool_quality=[{"name": "c", "server": "s"}])
    secret = {"SECRET": "hunter2-hunter2"}
    done = run("run", cwd=tmp_path, env=secret)
    assert done.returncode == 2
    assert done.stdout.splitlines()[1:-2] == [
        "  ! 3 tests of s could not be made",
        "      cannot reach the server: the server exited with code 1; last line of stderr: the end",
        *(f"        {line}" for line in [*range(12, 20), "***", "the end"]),
        "      mcproof.yaml:2",
    ]
    tests = document_of(run_json(tmp_path, env=secret), "tests")["tests"]
    assert [bool(each.get("detail")) for each in tests] == [True, False, False]


def test_noise_on_standard_output_is_told_once_for_each_server(tmp_path: Path) -> None:
    noisy = {"command": [*STDIO["command"], "noisy"], "env": {"SECRET": {"env": "SECRET"}}}
    write_suite(tmp_path, {"s": noisy, "quiet": STDIO}, tools=[echo("a"), echo("b"), echo("c", "quiet")])
    done = run_json(tmp_path, "--report", "report.json", env={"SECRET": "hunter2-hunter2"})
    said = "s writes non-protocol text to stdout; clients may disconnect (WIR-001)"
    assert done.returncode == 0
    assert done.stderr.splitlines() == [f"mcproof: mcproof.yaml:1: {said}: Starting with ***"]
    (told,) = document_of(done, "tests")["notices"]
    assert (told["kind"], told["message"], told["level"]) == (
        "noise-on-stdout",
        f"{said}: Starting with ***",
        "warning",
    )
    stored = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    validator("run").validate(stored)
    assert stored["notices"] == [told]


@pytest.mark.parametrize("tool", ["babble", "sleep"])
def test_the_test_after_one_without_an_answer_has_a_new_server(tool: str, tmp_path: Path) -> None:
    write_suite(tmp_path, {"s": STDIO}, tools=[call("a", tool, timeout_ms=500), echo("b")])
    outcomes = outcomes_of(run_json(tmp_path))
    assert outcomes["tools/a"][0] == "failed"
    assert outcomes["tools/b"] == ("passed", "")


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_an_interrupt_while_servers_are_ended_leaves_none(tmp_path: Path) -> None:
    ending = tmp_path / "ending"
    servers = {name: {"command": [*STDIO["command"], "stubborn", str(ending)]} for name in "abc"}
    write_suite(tmp_path, servers, tools=[echo(name, name) for name in "abc"])
    words = [*COMMAND, "run", "--format", "json"]
    with subprocess.Popen(words, cwd=tmp_path, env=environment(), stdout=subprocess.PIPE, text=True) as process:
        while not ending.exists() and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=30)
    assert process.returncode == 130
    assert [each["outcome"] for each in json.loads(said)["tests"]] == ["passed"] * 3
    assert running(str(ending)) == []


def test_what_a_step_has_started_is_there_for_the_tests_and_ends_with_them(tmp_path: Path) -> None:
    marker = f"background-{os.getpid()}-{tmp_path.name}"
    started = f"{sys.executable} -c 'import time; time.sleep(3600)' {marker} &"
    looks = f"ps -eo args | grep -v grep | grep -q 'sleep(3600) {marker}'"
    write_suite(
        tmp_path,
        {"s": STDIO},
        tools=[echo("a")],
        setup=[{"run": ["sh", "-c", started]}],
        teardown=[{"run": ["sh", "-c", looks]}],
    )
    done = run_json(tmp_path)
    assert outcomes_of(done) == {"tools/a": ("passed", "")}
    assert running(marker) == []


def test_a_step_that_fails_says_so_in_the_words_of_the_server(tmp_path: Path) -> None:
    write_suite(tmp_path, {"s": STDIO}, tools=[echo("a")], setup=[{"call": {"server": "s", "tool": "fail"}}])
    outcomes = outcomes_of(run_json(tmp_path))
    assert outcomes["setup/call fail of s"] == ("error", "isError is true: it failed")
    assert outcomes["tools/a"] == ("skipped", "setup failed")


@pytest.mark.slow
def test_fuzzing_heeds_the_limits_of_the_test_and_of_the_server(tmp_path: Path) -> None:
    fuzz = {"cases": 1}
    limited = {"timeout_ms": 300}
    for of_server, of_test in ((limited, {}), ({}, limited)):
        test = {**call("a", "babble", args={}, fuzz=fuzz), **of_test}
        write_suite(tmp_path, {"s": {**STDIO, **of_server}}, tools=[test])
        outcome, message = outcomes_of(run_json(tmp_path))["fuzz/a"]
        assert outcome == "failed"
        assert "hang" in message or "protocol violation" in message
        assert "10 seconds" not in message


def test_a_retry_starts_a_server_again_that_could_not_be_started(tmp_path: Path) -> None:
    script = tmp_path / "second.py"
    script.write_text(
        "import os, sys\n"
        "open('tried', 'a').write('x')\n"
        "if os.path.getsize('tried') <= 2: sys.exit('not yet')\n"
        f"exec(open({suited.__file__!r}).read())\n",
        encoding="utf-8",
    )
    write_suite(tmp_path, {"s": {"command": [sys.executable, str(script)]}}, tools=[echo("a")])
    assert outcomes_of(run_json(tmp_path, "--retry", "1"))["tools/a"] == ("passed", "passed on attempt 2")


def test_what_is_left_out_of_later_suites_is_skipped(tmp_path: Path) -> None:
    write_suite(tmp_path, {"s": STDIO}, tools=[call("a", "fail")], name="a.yaml")
    write_suite(tmp_path, {"s": STDIO}, tools=[echo("b")], name="b.yaml")
    done = run("run", "a.yaml", "b.yaml", "--fail-fast", "--format", "json", cwd=tmp_path)
    first, second = json.loads(done.stdout)["targets"]
    assert [each["outcome"] for each in first["tests"]] == ["failed"]
    assert [(each["outcome"], each["message"]) for each in second["tests"]] == [
        ("skipped", "an earlier test failed (--fail-fast)")
    ]


def test_snapshots_that_cannot_be_written_cost_no_result(tmp_path: Path) -> None:
    expect = [{"target": "result", "matcher": {"snapshot": True}}]
    write_suite(tmp_path, {"s": STDIO}, tools=[{**echo("a"), "expect": expect}, call("b", "fail")])
    (tmp_path / "mcproof.snapshots.json").symlink_to(tmp_path / "nowhere" / "at-all.json")
    done = run_json(tmp_path, "--update-snapshots")
    outcomes = outcomes_of(done)
    assert done.returncode == 2
    assert (outcomes["tools/a"][0], outcomes["tools/b"][0]) == ("passed", "failed")
    assert outcomes["teardown/the snapshots are written"][0] == "error"


@pytest.mark.parametrize("name", ["mcproof.snapshots.json", "base.yaml", "mcproof.yaml"])
def test_no_output_takes_the_place_of_what_a_suite_needs(name: str, tmp_path: Path) -> None:
    write_suite(tmp_path, {"s": STDIO}, name="base.yaml")
    write_suite(tmp_path, {}, "imports: [base.yaml]\n", tools=[echo("a")])
    (tmp_path / "mcproof.snapshots.json").write_text('{"schema_version": 1, "snapshots": {}}', encoding="utf-8")
    before = (tmp_path / name).read_bytes()
    done = run("run", "--output", f"json:{name}", cwd=tmp_path)
    assert done.returncode == 2
    assert (tmp_path / name).read_bytes() == before
