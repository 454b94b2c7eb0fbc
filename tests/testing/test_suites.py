"""Suites collected by pytest."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from testing.suites.suites import write_suite

from .conftest import CONFIGURATION, SERVER, WORKERS, run

if TYPE_CHECKING:
    from pathlib import Path

SERVERS = {"local": {"command": SERVER.split()}}
ECHO = {"name": "echo gives the text back", "server": "local", "tool": "echo", "args": {"text": "hi"}}
WRONG = {
    "name": "add adds",
    "server": "local",
    "tool": "add",
    "args": {"a": 1, "b": 2},
    "expect": [{"target": "result.content[0].text", "matcher": {"exact": "4"}}],
}


def mcproof(project: pytest.Pytester, *words: str) -> str:
    """What the command line prints."""
    command = [sys.executable, "-m", "mcproof", *words]
    return subprocess.run(command, cwd=project.path, stdout=subprocess.PIPE, text=True, check=False, timeout=60).stdout


def collected(project: pytest.Pytester, *words: str) -> list[str]:
    return [line for line in run(project, "--collect-only", *words).stdout.lines if "::" in line]


def configure(project: pytest.Pytester, *lines: str) -> None:
    (project.path / "pytest.ini").write_text("\n".join([CONFIGURATION, *lines]), encoding="utf-8")


def suite(project: pytest.Pytester, *tests: dict[str, Any], name: str = "mcproof.yaml", **blocks: Any) -> Path:
    return write_suite(project.path, SERVERS, name=name, tools=list(tests), **blocks)


def test_only_named_suites_are_collected(project: pytest.Pytester) -> None:
    suite(project, ECHO)
    suite(project, ECHO, name="smoke.yml")
    project.makepyfile(test_it="def test_it(): pass")
    python, usual, smoke = "test_it.py::test_it", f"mcproof.yaml::{ECHO['name']}", f"smoke.yml::{ECHO['name']}"
    assert collected(project) == [python]
    assert collected(project, ".") == [python]
    assert collected(project, "mcproof.yaml") == [usual]
    assert collected(project, "smoke.yml", "test_it.py") == [smoke, python]
    configure(project, "mcproof_suites = *.yml")
    assert collected(project) == [smoke, python]
    configure(project, "mcproof_suites =", "  *.yaml", "  smoke.yml")
    assert collected(project) == [usual, smoke, python]
    configure(project, "testpaths = test_it.py mcproof.yaml")
    assert collected(project) == [python, usual]


def test_other_yaml_files_are_ignored(project: pytest.Pytester) -> None:
    (project.path / "test_x.tavern.yaml").write_text("test_name: x\nstages: []\n", encoding="utf-8")
    result = run(project, "test_x.tavern.yaml")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: not found: *test_x.tavern.yaml"])


def test_a_pattern_without_files_is_an_error(project: pytest.Pytester) -> None:
    configure(project, "mcproof_suites = suites/*.yaml")
    result = run(project)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: mcproof_suites: no file matches `suites/[*].yaml` in *"])


def test_each_part_of_a_test_is_an_item_with_a_readable_name(project: pytest.Pytester) -> None:
    blocks = {"negative_path": {"checks": ["unknown_tool"]}, "fuzz": {"cases": 5}}
    both = {**ECHO, **blocks, "expect": [{"target": "error", "matcher": {"exact": None}}]}
    quality = {
        "name": ECHO["name"],
        "server": "local",
        "expect": [{"target": "mean_score", "matcher": {"not": {"exact": 2}}}],
    }
    odd = {**ECHO, "name": "a::b\x1b[31m"}
    suite(project, both, odd, tool_quality=[quality])
    name = f"mcproof.yaml::{ECHO['name']}"
    assert collected(project, "mcproof.yaml") == [
        name,
        f"{name} (negative_path)",
        f"{name} (fuzz)",
        "mcproof.yaml::a: :b\\x1b[31m",
        f"{name} (tool_quality)",
    ]
    run(project, "mcproof.yaml").assert_outcomes(passed=5)
    run(project, f"{name} (fuzz)").assert_outcomes(passed=1)


def test_failures_look_as_in_mcproof_run(project: pytest.Pytester) -> None:
    down = {"name": "nobody is there", "server": "gone", "tool": "x"}
    write_suite(project.path, {**SERVERS, "gone": {"command": ["no-such-program-here"]}}, tools=[ECHO, WRONG, down])
    result = run(project, "mcproof.yaml")
    result.assert_outcomes(passed=1, failed=2)
    shown = mcproof(project, "run")
    reasons = [line.removeprefix("      ") for line in shown.splitlines() if line.startswith("      ")]
    assert len(reasons) == 4
    for line in reasons:
        assert line in result.stdout.lines
    result.stdout.fnmatch_lines(['FAILED mcproof.yaml::add adds - *expected ["]4["], got ["]3["]*'])
    assert "src/mcproof" not in result.stdout.str()
    assert "Traceback" not in result.stdout.str()


def test_an_invalid_suite_is_a_collection_error_with_all_problems(project: pytest.Pytester) -> None:
    path = suite(project, {**ECHO, "sever": "x"}, {**WRONG, "tool": 3})
    result = run(project, "mcproof.yaml")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    told = mcproof(project, "validate", path.name).splitlines()
    assert len(told) == 2
    assert [line for line in result.stdout.lines if line in told] == told
    assert "Traceback" not in result.stdout.str()


def test_tags_select_tests(project: pytest.Pytester) -> None:
    tagged = [
        {**ECHO, "name": "first", "tags": ["smoke", "skip"]},
        {**ECHO, "name": "second", "tags": ["slow", "with-a-dash"]},
        {**ECHO, "name": "third", "tags": ["xfail", "_private", "a:b"]},
    ]
    suite(project, *tagged)
    run(project, "mcproof.yaml").assert_outcomes(passed=3)
    assert collected(project, "mcproof.yaml", "-m", "smoke") == ["mcproof.yaml::first"]
    assert collected(project, "mcproof.yaml", "-m", "not smoke") == ["mcproof.yaml::second", "mcproof.yaml::third"]
    assert collected(project, "mcproof.yaml", "-k", "second or third") == [
        "mcproof.yaml::second",
        "mcproof.yaml::third",
    ]
    assert collected(project, "mcproof.yaml", "-k", "dash") == ["mcproof.yaml::second"]


def test_a_server_is_started_once_for_a_suite(project: pytest.Pytester) -> None:
    flaky = {"server": "local", "tool": "flaky"}
    second = {**flaky, "name": "second", "expect": [{"target": "result.isError", "matcher": {"exact": False}}]}
    suite(project, {**flaky, "name": "first"}, second)
    result = run(project, "mcproof.yaml")
    result.assert_outcomes(failed=1, passed=1)
    result.stdout.fnmatch_lines(["the call failed: isError is true: now"])


def test_steps_run_once_before_and_after(project: pytest.Pytester) -> None:
    write = [sys.executable, "-c", "import sys; open('steps', 'a').write(sys.argv[1])"]
    before, after = [{"run": [*write, "before "]}], [{"run": [*write, "after "]}]
    suite(project, ECHO, {**ECHO, "name": "another"}, setup=before, teardown=after)
    read = "import pathlib\ndef test_it(): assert pathlib.Path('steps').read_text() == 'before after '"
    project.makepyfile(test_it=read)
    run(project, "mcproof.yaml", "test_it.py").assert_outcomes(passed=3)


def test_a_failed_step_fails_the_tests(project: pytest.Pytester) -> None:
    fails = [{"run": [sys.executable, "-c", "exit('no disk')"]}]
    suite(project, ECHO, {**ECHO, "name": "another"}, setup=fails)
    result = run(project, "mcproof.yaml")
    result.assert_outcomes(errors=2)
    said = f"setup failed: run {sys.executable}: exit code 1: no disk"
    assert result.stdout.lines.count(said) == 2
    suite(project, ECHO, name="other.yaml", teardown=fails)
    result = run(project, "other.yaml")
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines([said.replace("setup", "teardown")])


def test_unset_variables_fail_the_run_but_not_the_collection(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = {"command": SERVER.split(), "env": {"SECRET": {"env": "FROM_OUTSIDE"}}}
    wrong = [{"target": "result.content[0].text", "matcher": {"exact": "nothing"}}]
    test = {"name": "secret", "server": "local", "tool": "secret", "expect": wrong}
    write_suite(project.path, {"local": server}, tools=[test])
    project.makepyfile(test_it="def test_it(): pass")
    result = run(project, "mcproof.yaml", "test_it.py")
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["mcproof.yaml:1:*: the environment variable FROM_OUTSIDE is not set"])
    assert "another exception" not in result.stdout.str()
    monkeypatch.setenv("FROM_OUTSIDE", "opensesame-42")
    result = run(project, "mcproof.yaml")
    result.assert_outcomes(failed=1)
    assert "opensesame-42" not in result.stdout.str()
    result.stdout.fnmatch_lines(['*got "the secret is [*][*][*]"'])


def test_exitfirst_and_last_failed_work(project: pytest.Pytester) -> None:
    configure(project)
    (project.path / "pytest.ini").write_text("[pytest]\nfilterwarnings = error\n", encoding="utf-8")
    suite(project, ECHO, WRONG, {**ECHO, "name": "another"})
    run(project, "mcproof.yaml", "-x").assert_outcomes(passed=1, failed=1)
    run(project, "mcproof.yaml").assert_outcomes(passed=2, failed=1)
    run(project, "mcproof.yaml", "--lf").assert_outcomes(failed=1, deselected=2)
    run(project, "mcproof.yaml", "--ff", "-x").assert_outcomes(failed=1)


@pytest.mark.slow
@pytest.mark.parametrize("dist", ["load", "loadfile", "loadgroup"])
def test_xdist_workers_share_a_suite(project: pytest.Pytester, dist: str) -> None:
    suite(project, WRONG, *({**ECHO, "name": f"echo {number}"} for number in range(9)))
    result = run(project, "mcproof.yaml", "-n", "2", "--dist", dist)
    result.assert_outcomes(passed=9, failed=1)
    workers = {word for line in result.stdout.lines for word in ("gw0", "gw1") if word in line}
    assert workers


@pytest.mark.parametrize("workers", WORKERS, ids=["alone", "xdist"])
def test_snapshots_are_shared_with_mcproof_run(project: pytest.Pytester, workers: list[str]) -> None:
    stored = [{"target": "result", "matcher": {"snapshot": True}}]
    suite(project, {**ECHO, "expect": stored}, {**ECHO, "name": "another", "expect": stored})
    missing = run(project, "mcproof.yaml", *workers)
    missing.assert_outcomes(failed=2)
    missing.stdout.fnmatch_lines(["result: no stored snapshot; use --mcproof-update-snapshots to store it"])
    written = run(project, "mcproof.yaml", *workers, "--mcproof-update-snapshots")
    written.stdout.fnmatch_lines(["mcproof: mcproof.snapshots.json: 2 snapshots written"])
    assert json.loads(mcproof(project, "run", "--format", "json"))["summary"]["passed"] == 2
    if workers:  # each run with workers starts three interpreters; what follows does not depend on them
        return
    run(project, "mcproof.yaml", *workers).assert_outcomes(passed=2)
    (project.path / "mcproof.snapshots.json").write_text("{", encoding="utf-8")
    broken = run(project, "mcproof.yaml", *workers)
    broken.assert_outcomes(errors=2)
    broken.stdout.fnmatch_lines(["*not a snapshot file: not JSON*"])


DYING = """
import json, os, runpy, sys
answer = runpy.run_path(sys.argv[1])["answer"]
for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        said = {"jsonrpc": "2.0", "id": message["id"], **answer(message["method"], message.get("params") or {})}
        print(json.dumps(said), flush=True)
        if message["method"] == "tools/call":
            os._exit(3)
"""


def test_a_crash_after_a_response_fails_its_test(project: pytest.Pytester) -> None:
    project.makefile(".py", dying=DYING)
    servers = {"local": {"command": [sys.executable, "-I", "dying.py", SERVER.split()[-1]]}}
    listed = {"name": "the tools are listed", "server": "local", "tool": "tools/list"}
    write_suite(project.path, servers, tools=[ECHO, listed])
    result = run(project, "mcproof.yaml")
    result.assert_outcomes(passed=1, failed=1)
    assert "after the response, the server exited with code 3" in result.stdout.lines
    assert f"FAILED mcproof.yaml::{ECHO['name']} - Failed: after the response," in result.stdout.str()


def test_non_protocol_output_is_one_warning(project: pytest.Pytester) -> None:
    noisy = [*SERVER.split(), "noisy"]
    write_suite(project.path, {"local": {"command": noisy}}, tools=[ECHO, {**ECHO, "name": "again"}])
    project.makepyfile(
        f"""
        def test_it(start_mcp_server):
            server = start_mcp_server({noisy!r})
            server.call("echo", {{"text": "hi"}})
            server.call("echo", {{"text": "hi"}})
        """
    )
    result = run(project, "mcproof.yaml", "-W", "default")
    result.assert_outcomes(passed=2, warnings=1)
    assert "mcproof.yaml:1: local writes non-protocol text to stdout" in result.stdout.str()
    run(project, "-W", "default").assert_outcomes(passed=1, warnings=1)
