"""Crashes, hangs and failed steps: the right test fails, and no process is left."""

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
from mcproof.testing.suites.model import ServerEntry, Suite, SuiteLocation
from mcproof.testing.suites.servers import ServerUnderTest
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


def test_the_limit_of_a_response_leaves_that_of_the_start() -> None:
    entry = ServerEntry("s", SuiteLocation("", 1, 1), command=("x",), timeout_ms=3_000)
    limits = ServerUnderTest(entry, Suite("")).options.limits
    assert (limits.start, limits.request) == (60.0, 3.0)
    limits = ServerUnderTest(entry._replace(start_timeout_ms=90_000), Suite(""), 1.0, 2.0).options.limits
    assert (limits.start, limits.request) == (90.0, 3.0)


@pytest.mark.parametrize(("words", "limit"), [((), 300), (("--start-timeout", "0.3"), None)])
def test_a_slow_start_names_its_limit(tmp_path: Path, words: tuple[str, ...], limit: int | None) -> None:
    server = {"command": ["sleep", "100"], "timeout_ms": 100, **({"start_timeout_ms": limit} if limit else {})}
    write_suite(tmp_path, {"s": server}, tools=[echo("a")])
    message = "cannot reach the server: no response within 0.3 seconds of the start (`start_timeout_ms`)"
    assert outcomes_of(run_json(tmp_path, *words)) == {"tools/a": ("error", message)}


def test_a_crash_after_a_response_fails_its_test(tmp_path: Path) -> None:
    def look(name: str, **arguments: Any) -> dict[str, Any]:
        return call(name, "look", args=arguments)

    write_suite(tmp_path, {"s": STDIO}, tools=[look("a", leave=True), look("b"), look("c", leave=True)])
    outcomes = outcomes_of(run_json(tmp_path))
    why = "after the response, the server exited with code 9"
    assert outcomes == {"tools/a": ("failed", why), "tools/b": ("passed", ""), "tools/c": ("failed", why)}


def test_a_crash_before_a_batch_fails_the_test_before(tmp_path: Path) -> None:
    looks = [call(name, "look", args={}) for name in "bcd"]
    write_suite(tmp_path, {"s": STDIO}, tools=[call("a", "leave"), *looks])
    outcomes = outcomes_of(run_json(tmp_path))
    assert outcomes["tools/a"] == ("failed", "after the response, the server exited with code 9")
    assert [outcomes[f"tools/{name}"][0] for name in "bcd"] == ["passed"] * 3
    assert len(outcomes) == 4


def test_a_server_that_ends_by_itself_fails_the_next_test(tmp_path: Path) -> None:
    write_suite(tmp_path, {"s": {"command": [*STDIO["command"], "fleeting"]}}, tools=[echo("a")])
    done = run_json(tmp_path)
    outcome, message = outcomes_of(done)["tools/a"]
    assert (done.returncode, outcome) == (1, "failed")
    assert "the server exited with code 5" in message


def test_calls_with_side_effects_are_not_repeated(tmp_path: Path) -> None:
    note = tmp_path / "charged"
    write_suite(tmp_path, {"s": STDIO}, tools=[echo("a"), call("b", "charge", args={"note": str(note)}), echo("c")])
    outcomes = outcomes_of(run_json(tmp_path))
    assert note.read_text(encoding="utf-8") == "x"
    assert [outcome for outcome, _ in outcomes.values()] == ["passed", "failed", "passed"]


def test_a_crash_that_no_single_test_explains_fails_the_run(tmp_path: Path) -> None:
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


def test_an_irregular_crash_is_not_blamed_on_the_test_before(tmp_path: Path) -> None:
    once = {"once": str(tmp_path / "once")}
    tests = [call("a", "look", args={}), call("b", "look", args=once)]
    write_suite(tmp_path, {"s": STDIO}, tools=tests)
    outcomes = outcomes_of(run_json(tmp_path, "--fail-fast"))
    assert (outcomes["tools/a"][0], outcomes["tools/b"][0]) == ("passed", "failed")


def test_a_failed_start_is_reported_once_with_its_last_lines(tmp_path: Path) -> None:
    said = "import os, sys; sys.exit('\\n'.join([*map(str, range(20)), os.environ['SECRET'], 'the end']))"
    gone = {"command": [sys.executable, "-I", "-S", "-c", said], "env": {"SECRET": {"env": "SECRET"}}}
    write_suite(tmp_path, {"s": gone}, tools=[echo("a"), echo("b")], tool_quality=[{"name": "c", "server": "s"}])
    secret = {"SECRET": "hunter2-hunter2"}
    done = run("run", cwd=tmp_path, env=secret)
    assert done.returncode == 2
    assert done.stdout.splitlines()[1:-3] == [
        "  ! 3 tests on `s` could not run",
        "      cannot reach the server: the server exited with code 1; stderr begins: 0; last line of stderr: the end",
        *(f"        {line}" for line in [*range(12, 20), "***", "the end"]),
        "      mcproof.yaml:2",
    ]
    tests = document_of(run_json(tmp_path, env=secret), "tests")["tests"]
    assert [bool(each.get("detail")) for each in tests] == [True, False, False]


def test_non_protocol_output_is_reported_once_for_each_server(tmp_path: Path) -> None:
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


def test_output_that_is_written_only_at_the_end_is_reported(tmp_path: Path) -> None:
    code = (
        "import os, sys\nprint('ready')\nfirst, sys.stdout = sys.stdout, os.fdopen(os.dup(1), 'w')\n"
        "sys.argv.pop(0)\nexec(open(sys.argv[0]).read())"
    )
    *python, file = STDIO["command"]
    server = {"command": [*python, "-c", code, file]}
    write_suite(tmp_path, {"s": server}, tools=[echo("a")])
    done = run_json(tmp_path)
    assert done.returncode == 0
    (told,) = document_of(done, "tests")["notices"]
    assert told["message"].endswith("(WIR-001): ready")


@pytest.mark.parametrize("tool", ["babble", "sleep"])
def test_the_server_is_restarted_after_a_missing_response(tool: str, tmp_path: Path) -> None:
    write_suite(tmp_path, {"s": STDIO}, tools=[call("a", tool, timeout_ms=500), echo("b")])
    outcomes = outcomes_of(run_json(tmp_path))
    assert outcomes["tools/a"][0] == "failed"
    assert outcomes["tools/b"] == ("passed", "")


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_an_interrupt_during_shutdown_ends_all_servers(tmp_path: Path) -> None:
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


def test_processes_of_steps_run_until_the_tests_end(tmp_path: Path) -> None:
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


def test_a_failed_step_quotes_the_server(tmp_path: Path) -> None:
    write_suite(tmp_path, {"s": STDIO}, tools=[echo("a")], setup=[{"call": {"server": "s", "tool": "fail"}}])
    outcomes = outcomes_of(run_json(tmp_path))
    assert outcomes["setup/call fail of s"] == ("error", "isError is true: it failed")
    assert outcomes["tools/a"] == ("skipped", "setup failed")


@pytest.mark.slow
def test_fuzzing_respects_the_time_limits_of_test_and_server(tmp_path: Path) -> None:
    fuzz = {"cases": 1}
    limited = {"timeout_ms": 300}
    for of_server, of_test in ((limited, {}), ({}, limited)):
        test = {**call("a", "babble", args={}, fuzz=fuzz), **of_test}
        write_suite(tmp_path, {"s": {**STDIO, **of_server}}, tools=[test])
        outcome, message = outcomes_of(run_json(tmp_path))["fuzz/a"]
        assert outcome == "failed"
        assert "hang" in message or "protocol violation" in message
        assert "10 seconds" not in message


def test_a_retry_repeats_a_failed_start(tmp_path: Path) -> None:
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


def test_tests_of_later_suites_are_skipped_after_a_failure(tmp_path: Path) -> None:
    write_suite(tmp_path, {"s": STDIO}, tools=[call("a", "fail")], name="a.yaml")
    write_suite(tmp_path, {"s": STDIO}, tools=[echo("b")], name="b.yaml")
    done = run("run", "a.yaml", "b.yaml", "--fail-fast", "--format", "json", cwd=tmp_path)
    first, second = json.loads(done.stdout)["targets"]
    assert [each["outcome"] for each in first["tests"]] == ["failed"]
    assert [(each["outcome"], each["message"]) for each in second["tests"]] == [
        ("skipped", "an earlier test failed (--fail-fast)")
    ]


def test_unwritable_snapshots_do_not_lose_results(tmp_path: Path) -> None:
    expect = [{"target": "result", "matcher": {"snapshot": True}}]
    write_suite(tmp_path, {"s": STDIO}, tools=[{**echo("a"), "expect": expect}, call("b", "fail")])
    (tmp_path / "mcproof.snapshots.json").symlink_to(tmp_path / "nowhere" / "at-all.json")
    done = run_json(tmp_path, "--update-snapshots")
    outcomes = outcomes_of(done)
    assert done.returncode == 2
    assert (outcomes["tools/a"][0], outcomes["tools/b"][0]) == ("passed", "failed")
    assert outcomes["teardown/the snapshots are written"][0] == "error"


@pytest.mark.parametrize("name", ["mcproof.snapshots.json", "base.yaml", "mcproof.yaml"])
def test_outputs_cannot_overwrite_files_of_a_suite(name: str, tmp_path: Path) -> None:
    write_suite(tmp_path, {"s": STDIO}, name="base.yaml")
    write_suite(tmp_path, {}, "imports: [base.yaml]\n", tools=[echo("a")])
    (tmp_path / "mcproof.snapshots.json").write_text('{"schema_version": 1, "snapshots": {}}', encoding="utf-8")
    before = (tmp_path / name).read_bytes()
    done = run("run", "--output", f"json:{name}", cwd=tmp_path)
    assert done.returncode == 2
    assert (tmp_path / name).read_bytes() == before
