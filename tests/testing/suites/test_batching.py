"""Read-only tests run concurrently, with the same results."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import pytest

from mcproof.targets.snapshots import read_snapshot
from mcproof.testing.suites.parser import read_suite
from mcproof.testing.suites.steps import read_only_tests
from servers import suited

from .suites import outcomes_of, run_json, write_suite

if TYPE_CHECKING:
    from pathlib import Path

STDIO = {"command": [sys.executable, "-I", "-S", suited.__file__]}

WORKS = {"target": "error", "matcher": {"exact": None}}


def look(name: str, **arguments: Any) -> dict[str, Any]:
    return {"name": name, "server": "s", "tool": "look", "args": arguments}


def meet(name: str, **others: Any) -> dict[str, Any]:
    """A call that is answered when another such call is under way."""
    return {"name": name, "server": "s", "tool": "meet", **others}


def outcomes(folder: Path, *words: str, **blocks: Any) -> dict[str, str]:
    write_suite(folder, {"s": STDIO}, **blocks)
    done = run_json(folder, "--timeout", "2", *words)
    return {name.partition("/")[2]: outcome for name, (outcome, _) in outcomes_of(done).items()}


def test_read_only_calls_run_concurrently(tmp_path: Path) -> None:
    assert outcomes(tmp_path, tools=[meet("a"), look("b"), meet("c")]) == dict.fromkeys("abc", "passed")


@pytest.mark.slow
def test_a_tool_with_side_effects_is_called_alone_and_in_order(tmp_path: Path) -> None:
    echo = {"name": "b", "server": "s", "tool": "echo", "args": {"text": "x"}}
    assert outcomes(tmp_path, tools=[meet("a"), echo, meet("c")]) == {"a": "failed", "b": "passed", "c": "failed"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("hints", "outcome"), [({"readOnlyHint": False}, "failed"), ({"destructiveHint": False}, "passed")]
)
def test_annotations_of_the_suite_outrank_those_of_the_server(
    tmp_path: Path, hints: dict[str, bool], outcome: str
) -> None:
    server = {**STDIO, "annotations": {"meet": hints}}
    write_suite(tmp_path, {"s": server}, tools=[meet("a"), meet("b")])
    done = outcomes_of(run_json(tmp_path, "--timeout", "2"))
    assert {name.partition("/")[2]: each for name, (each, _) in done.items()} == {"a": outcome, "b": outcome}


def test_a_suite_may_declare_a_tool_read_only(tmp_path: Path) -> None:
    catalog = read_snapshot(json.dumps({"tools": [{"name": "echo"}, {"name": "add"}]}).encode(), "tools.json")
    server = {**STDIO, "annotations": {"echo": {"readOnlyHint": True}}}
    tests = [{"name": name, "server": "s", "tool": name} for name in ("echo", "add")]
    suite = read_suite(str(write_suite(tmp_path, {"s": server}, tools=tests)), None)
    assert read_only_tests(list(suite.tests), catalog, suite.servers["s"].annotations) == {suite.tests[0].number}
    assert read_only_tests(list(suite.tests), catalog, {}) == set()


@pytest.mark.slow
def test_a_timed_test_runs_alone(tmp_path: Path) -> None:
    timed = {"expect": {"assertions": [WORKS], "max_duration_ms": 60_000}}
    limited = {"timeout_ms": 500}
    for more in (timed, limited):
        assert outcomes(tmp_path, tools=[meet("a", **more), meet("b")]) == {"a": "failed", "b": "failed"}


@pytest.mark.slow
def test_fail_fast_runs_one_by_one(tmp_path: Path) -> None:
    assert outcomes(tmp_path, "--fail-fast", tools=[meet("a"), meet("b")]) == {"a": "failed", "b": "skipped"}


def test_only_the_call_that_ends_the_server_fails(tmp_path: Path) -> None:
    tests = [look("a", x=1), look("b", die=True), look("c", x=3), look("d", x=4)]
    assert outcomes(tmp_path, tools=tests) == {"a": "passed", "b": "failed", "c": "passed", "d": "passed"}


@pytest.mark.slow
def test_only_the_call_without_a_response_fails(tmp_path: Path) -> None:
    tests = [look("a", x=1), meet("b"), look("c", x=3)]
    assert outcomes(tmp_path, tools=tests) == {"a": "passed", "b": "failed", "c": "passed"}


def test_blocks_and_other_lists_run_in_batches(tmp_path: Path) -> None:
    tests = [
        {**look("a", x=1), "expect": [WORKS], "negative_path": {"checks": ["unknown_tool"]}, "fuzz": {"cases": 5}},
        meet("b"),
        meet("c"),
    ]
    resource = {"name": "d", "server": "s", "uri": "note:///a"}
    write_suite(tmp_path, {"s": STDIO}, tools=tests, resources=[resource, {**resource, "name": "e"}])
    done = run_json(tmp_path, "--timeout", "5")
    expected = ["tools/a", "negative_path/a", "fuzz/a", "tools/b", "tools/c", "resources/d", "resources/e"]
    assert list(outcomes_of(done)) == expected
    assert {outcome for outcome, _ in outcomes_of(done).values()} == {"passed"}


def test_many_concurrent_calls_get_their_own_responses(tmp_path: Path) -> None:
    tests = [
        {**look(f"t{number}", n=number), "expect": [{"target": "result.content[0].text", "matcher": {"exact": text}}]}
        for number in range(50)
        for text in [f'{{"n": {number}}}']
    ]
    assert set(outcomes(tmp_path, tools=tests).values()) == {"passed"}


CROWDED = """
import json, os, select, sys
def answer(message, **said):
    os.write(1, json.dumps({"jsonrpc": "2.0", "id": message["id"], **said}).encode() + b"\\n")
def calls(line):
    return b"tools/call" in line
waiting = b""
while chunk := os.read(0, 65536):
    waiting += chunk
    while calls(waiting) and select.select([0], [], [], 0.5)[0] and (chunk := os.read(0, 65536)):
        waiting += chunk
    *lines, waiting = waiting.split(b"\\n")
    at_once = sum(map(calls, lines))
    for message in map(json.loads, lines):
        method = message["method"]
        if method == "initialize":
            about = {"serverInfo": {"name": "crowded", "version": "1"}, "capabilities": {"tools": {}}}
            answer(message, result={"protocolVersion": "2025-06-18", **about})
        elif method == "tools/list":
            tool = {"name": "look", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}}
            answer(message, result={"tools": [tool]})
        elif method == "tools/call":
            answer(message, result={"content": [{"type": "text", "text": f"{at_once} at once"}]})
        elif "id" in message:
            answer(message, error={"code": -32601, "message": "Method not found"})
"""


@pytest.mark.slow
def test_a_failure_only_under_concurrency_is_noted(tmp_path: Path) -> None:
    (tmp_path / "crowded.py").write_text(CROWDED, encoding="utf-8")

    def says(name: str, text: str) -> dict[str, Any]:
        return {**look(name), "expect": [{"target": "result.content[0].text", "matcher": {"contains": text}}]}

    server = {"command": [sys.executable, "-I", "-S", "crowded.py"]}
    write_suite(tmp_path, {"s": server}, tools=[says("a", "1 at"), says("b", "at once"), says("c", "never")])
    found = outcomes_of(run_json(tmp_path))
    why = "; passes alone, fails only with concurrent calls"
    assert found["tools/a"][0] == "failed"
    assert found["tools/a"][1].endswith(why)
    assert found["tools/b"] == ("passed", "")
    assert found["tools/c"][0] == "failed"
    assert why not in found["tools/c"][1]


def timings(folder: Path, *words: str) -> tuple[list[float], float]:
    """Return the duration of each test and of the whole run, from the run report."""
    run_json(folder, "--report", "report.json", *words)
    report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    return report["timings"]["tests"]["mcproof.yaml"], report["timings"]["seconds"]


def test_concurrent_calls_do_not_count_waiting_time(tmp_path: Path) -> None:
    write_suite(tmp_path, {"s": STDIO}, tools=[look(name, takes=0.4) for name in "abc"])
    tests, whole = timings(tmp_path)
    assert 1.2 <= sum(tests) + 0.01 <= whole + 0.01


@pytest.mark.slow
def test_durations_exclude_the_start_of_a_server(tmp_path: Path) -> None:
    late = {"command": [*STDIO["command"], "late"]}
    write_suite(tmp_path, {"s": late}, tools=[look("a"), {**look("b"), "server": "s", "negative_path": {}}])
    for words in ((), ("--fail-fast",)):
        tests, _ = timings(tmp_path, *words)
        assert tests[0] < suited.LATE
