"""Suites on live servers: every block, matcher and target, over stdio and HTTP."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from cli.running import COMMAND, document_of, environment, fails, report_of, run
from servers import suited, web

from .suites import outcomes_of, run_json, small, write_suite

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

STDIO = {"command": [sys.executable, "-I", "-S", suited.__file__]}


class Suited(web.Web, fault="suited"):
    """The same server over HTTP."""

    def envelope(self, request: web.Request) -> dict[str, Any]:
        said = suited.answer(request.method, request.message.get("params") or {})
        return {"jsonrpc": "2.0", "id": request.message["id"], **said}


@contextmanager
def server(transport: str) -> Iterator[dict[str, Any]]:
    if transport == "stdio":
        yield STDIO
    else:
        with Suited() as served:
            yield {"url": served.url}


def tool(name: str, tool: str, *expect: tuple[str, Any], server: str = "s", **others: Any) -> dict[str, Any]:
    assertions = [{"target": target, "matcher": matcher} for target, matcher in expect]
    more = {"expect": assertions} if expect else {}
    return {"name": name, "server": server, "tool": tool, **more, **others}


TIME = re.compile(r' time="[0-9.]+"')
ECHO: dict[str, Any] = {"args": {"text": "hello World"}}
ADD: dict[str, Any] = {"args": {"a": 1, "b": 2}}
TEXT = "result.content[0].text"
CONFORMANCE: list[tuple[dict[str, Any], dict[str, Any]]] = [
    # a test that passes, and one that fails
    (tool("default", "echo", **ECHO), tool("default of an error result", "fail")),
    (tool("refusal", "refuse", ("error.code", {"exact": -32000})), tool("default of a refusal", "refuse")),
    (
        tool("isError", "echo", ("result.isError", {"exact": False}), **ECHO),
        tool("no", "fail", ("error", {"exact": 1})),
    ),
    (
        tool("exact", "echo", (TEXT, {"exact": "hello World"}), **ECHO),
        tool("e", "echo", (TEXT, {"exact": "x"}), **ECHO),
    ),
    (
        tool("contains", "echo", (TEXT, {"contains": "lo"}), **ECHO),
        tool("c", "echo", (TEXT, {"contains": "x"}), **ECHO),
    ),
    (tool("icontains", "echo", (TEXT, {"icontains": "wORLD"}), **ECHO), tool("i", "echo", (TEXT, {"icontains": "x"}))),
    (
        tool("contains-all", "echo", (TEXT, {"contains-all": ["hello", "World"]}), **ECHO),
        tool("a", "echo", (TEXT, {"contains-all": ["hello", "x"]}), **ECHO),
    ),
    (tool("regex", "echo", (TEXT, {"regex": "^h.*d$"}), **ECHO), tool("r", "echo", (TEXT, {"regex": "^W"}), **ECHO)),
    (
        tool("schema", "add", ("result.structuredContent.sum", {"schema": {"minimum": 3, "maximum": 3}}), **ADD),
        tool("s", "add", ("result.structuredContent", {"schema": {"required": ["other"]}}), **ADD),
    ),
    (
        tool("not", "echo", (TEXT, {"not": {"contains": "x"}}), **ECHO),
        tool("n", "echo", (TEXT, {"not": {"regex": "h"}}), **ECHO),
    ),
    (
        tool("index", "add", ("result.structuredContent.of[1]", {"exact": 2}), **ADD),
        tool("index too high", "add", ("result.structuredContent.of[2]", {"exact": 2}), **ADD),
    ),
    (
        tool("quoted", "add", ('result["structuredContent"]["sum"]', {"exact": 3}), **ADD),
        tool("quoted other", "add", ('result["structured content"]', {"exact": 3}), **ADD),
    ),
    (
        tool("duration", "echo", ("duration_ms", {"schema": {"maximum": 20_000}}), **ECHO),
        tool("duration too low", "echo", ("duration_ms", {"schema": {"maximum": -1}}), **ECHO),
    ),
    (
        tool("no error", "echo", ("error", {"exact": None}), **ECHO),
        tool("an error", "refuse", ("error", {"exact": None})),
    ),
    (
        tool("list", "tools/list", ("result.tools[0].name", {"exact": "echo"})),
        tool("prompts", "prompts/list", ("result.x", {"exact": 1})),
    ),
    (
        tool(
            "bad requests", "echo", negative_path={"checks": ["unknown_tool", "missing_required", "wrong_type"]}, **ECHO
        ),
        tool("lenient", "clock", negative_path={"checks": ["missing_required"]}),
    ),
    (
        tool("every probe", "echo", negative_path=None, **ECHO),
        tool(
            "own gate",
            "echo",
            negative_path={"expect": [{"target": "negative_path.checks_run", "matcher": {"exact": 9}}]},
        ),
    ),
    (
        tool(
            "gate",
            "echo",
            ("negative_path.gate_passed", {"exact": 1}),
            negative_path={"checks": ["unknown_tool"]},
            **ECHO,
        ),
        tool("no such tool", "ecko", negative_path={}),
    ),
    (
        tool("fuzzed", "echo", fuzz={"seed": 1, "cases": 20, "max_call_ms": 5000}, **ECHO),
        tool("fuzz gate", "echo", ("fuzz.cases_run", {"schema": {"maximum": 1}}), fuzz={"cases": 5}, **ECHO),
    ),
]
OTHERS: dict[str, Any] = {
    "resources": [
        {
            "name": "read",
            "server": "s",
            "uri": "note:///a",
            "expect": [{"target": "result.contents[0].text", "matcher": {"exact": "the note"}}],
        },
        {"name": "unknown", "server": "s", "uri": "note:///b"},
    ],
    "prompts": [
        {
            "name": "ask",
            "server": "s",
            "prompt": "greet",
            "args": {"who": "Ada"},
            "expect": [{"target": "result.messages[0].content.text", "matcher": {"exact": "Hello Ada"}}],
        },
        {"name": "unknown", "server": "s", "prompt": "other"},
    ],
    "tool_quality": [
        {
            "name": "one tool",
            "server": "s",
            "expect": [{"target": 'tool["echo"].score', "matcher": {"schema": {"minimum": 0.3}}}],
        },
        {"name": "default", "server": "s"},
    ],
}


@pytest.mark.slow
@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_every_block_matcher_and_target_works(transport: str, tmp_path: Path) -> None:
    good, bad = zip(*CONFORMANCE, strict=True)
    with server(transport) as entry:
        write_suite(tmp_path, {"s": entry}, tools=[*good, *bad], **OTHERS)
        done = run_json(tmp_path)
    outcomes = outcomes_of(done)
    assert done.returncode == 1
    for expected, tests in (("passed", good), ("failed", bad)):
        for each in tests:
            block = next((key for key in ("negative_path", "fuzz") if key in each), "tools")
            outcome, message = outcomes[f"{block}/{each['name']}"]
            assert outcome == expected, (each["name"], message)
    for block, listed in OTHERS.items():
        first, second = (each["name"] for each in listed)
        assert outcomes[f"{block}/{first}"] == ("passed", "")
        assert outcomes[f"{block}/{second}"][0] == "failed"


SEEDS = """\
tools:
  - name: search rejects bad requests
    server: api
    tool: search
    args: { query: "anthropic" }
    negative_path:
      checks: [unknown_tool, missing_required, wrong_type]

tool_quality:
  - name: tool schemas are well constrained
    server: local
    expect:
      - target: schema_criticals
        matcher: { schema: { maximum: 0 } }
      - target: schema_warnings
        matcher: { schema: { maximum: 3 } }
"""


def test_a_result_that_violates_the_output_schema_fails(tmp_path: Path) -> None:
    def promise(name: str, *expect: tuple[str, Any], **arguments: Any) -> dict[str, Any]:
        return tool(name, "promise", *expect, args=arguments)

    broken: dict[str, Any] = {"content": {"sum": "no"}}
    tests = [
        promise("kept", content={"sum": 1}),
        promise("broken", **broken),
        promise("broken, and something else is expected", ("result.isError", {"exact": False}), **broken),
        promise("left out"),
        promise("an error has none", ("result.isError", {"exact": True}), fails=True),
        promise("as the test says", ("result.structuredContent", {"schema": {"type": "object"}}), **broken),
        promise("nothing, as the test says", ("result.structuredContent", {"exact": None})),
    ]
    write_suite(tmp_path, {"s": STDIO}, tools=tests)
    for words in ((), ("--fail-fast", "--filter", "broken,")):
        document = document_of(run_json(tmp_path, *words), "tests")
        found = {each["name"]: each for each in document["tests"]}
        for name in ("broken", "broken, and something else is expected"):
            if name in found:
                why = 'result.structuredContent: violates the tool\'s outputSchema: "no" is not of type'
                assert found[name]["message"].startswith(why)
                assert found[name]["message"].endswith(" at /sum")
                assert [each["got"] for each in found[name]["failures"]] == ['{"sum": "no"}']
    found = {each["name"]: each["outcome"] for each in document_of(run_json(tmp_path), "tests")["tests"]}
    assert [name for name, outcome in found.items() if outcome == "failed"] == [
        "broken",
        "broken, and something else is expected",
        "left out",
    ]


def test_an_unexpected_error_quotes_the_server(tmp_path: Path) -> None:
    write_suite(tmp_path, {"s": STDIO}, tools=[tool("a", "fail", ("result.isError", {"exact": False}))])
    said = "result.isError: expected false, got true (it failed)"
    assert outcomes_of(run_json(tmp_path)) == {"tools/a": ("failed", said)}


def test_tools_are_called_even_if_they_cannot_be_listed(tmp_path: Path) -> None:
    write_suite(tmp_path, {"s": {"command": small("no-list")}}, tools=[tool("a", "search"), tool("b", "search")])
    assert set(outcomes_of(run_json(tmp_path)).values()) == {("passed", "")}


def test_the_suites_of_the_other_tool_run_unchanged(tmp_path: Path) -> None:
    strict = {"command": small("refuses-empty", "refuses-objects", "refuses-unknown")}
    write_suite(tmp_path, {"api": strict, "local": strict}, SEEDS, name="mcptest.yaml")
    done = run("run", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1] == "✓ passed: all 2 tests passed"


def test_an_accepted_probe_fails(tmp_path: Path) -> None:
    lenient = {"command": small("refuses-empty")}
    write_suite(tmp_path, {"api": lenient, "local": lenient}, SEEDS)
    done = run_json(tmp_path)
    assert done.returncode == 1
    outcome, message = outcomes_of(done)["negative_path/search rejects bad requests"]
    assert outcome == "failed"
    assert message.startswith("wrong_type: accepted")


def test_a_block_without_applicable_probes_does_not_pass(tmp_path: Path) -> None:
    free = {"name": "free", "description": "Take no arguments.", "inputSchema": {"type": "object"}}
    block = {"checks": ["missing_required"]}
    write_suite(tmp_path, {"s": {"command": small(tools=[free])}}, tools=[tool("a", "free", negative_path=block)])
    assert outcomes_of(run_json(tmp_path))["negative_path/a"] == (
        "failed",
        "negative_path.checks_run: no probe could be evaluated: missing_required: the tool has no parameters",
    )


def test_probes_of_a_tool_that_rejects_everything_prove_little(tmp_path: Path) -> None:
    block = {"checks": ["missing_required"]}
    entry = {"command": small("refuses-everything")}
    write_suite(tmp_path, {"s": entry}, tools=[tool("a", "search", negative_path=block)])
    said = outcomes_of(run_json(tmp_path))["negative_path/a"]
    assert said == ("passed", "missing_required; the valid call fails too, so this proves little")


def test_a_crash_in_fuzzing_is_reported_with_its_arguments(tmp_path: Path) -> None:
    entry = {"command": small("dies-of-full")}
    write_suite(tmp_path, {"s": entry}, tools=[tool("a", "search", fuzz={"cases": 10})])
    outcome, message = outcomes_of(run_json(tmp_path))["fuzz/a"]
    assert outcome == "failed"
    assert message.startswith('crash at {"query": ')


def test_a_crash_fails_its_test_and_the_server_is_restarted(tmp_path: Path) -> None:
    write_suite(tmp_path, {"s": STDIO}, tools=[tool("dies", "die"), tool("lives", "echo", **ECHO)])
    done = run_json(tmp_path)
    outcomes = outcomes_of(done)
    assert done.returncode == 1
    assert outcomes["tools/dies"][0] == "failed"
    assert outcomes["tools/dies"][1].startswith("the server ended or closed the connection: ")
    assert outcomes["tools/lives"] == ("passed", "")


def test_a_hang_fails_its_test_and_the_server_is_restarted(tmp_path: Path) -> None:
    write_suite(tmp_path, {"s": STDIO}, tools=[tool("hangs", "sleep", timeout_ms=300), tool("lives", "echo", **ECHO)])
    outcomes = outcomes_of(run_json(tmp_path))
    assert outcomes["tools/hangs"] == ("failed", "no response within 0.3 seconds (`timeout_ms`)")
    assert outcomes["tools/lives"] == ("passed", "")


def test_a_server_that_cannot_start_affects_only_its_own_tests(tmp_path: Path) -> None:
    gone = {"command": ["no-such-program-at-all"]}
    write_suite(
        tmp_path, {"s": STDIO, "gone": gone}, tools=[tool("a", "echo", server="gone"), tool("b", "echo", **ECHO)]
    )
    done = run_json(tmp_path)
    outcomes = outcomes_of(done)
    assert done.returncode == 2
    assert outcomes["tools/a"][0] == "error"
    assert "no-such-program-at-all" in outcomes["tools/a"][1]
    assert outcomes["tools/b"] == ("passed", "")


def counting(folder: Path) -> dict[str, Any]:
    """The entry of a server that writes an `x` into the file `started` whenever it starts."""
    script = folder / "counting.py"
    started = folder / "started"
    script.write_text(f"open({str(started)!r}, 'a').write('x')\nexec(open({suited.__file__!r}).read())\n")
    return {"command": [sys.executable, str(script)]}


def test_a_server_is_started_once_for_all_its_tests(tmp_path: Path) -> None:
    tests = [tool(f"t{number}", "echo", **ECHO) for number in range(20)]
    quality = [{"name": "q", "server": "s", "expect": [{"target": "min_score", "matcher": {"schema": {"minimum": 0}}}]}]
    write_suite(tmp_path, {"s": counting(tmp_path)}, tools=tests, tool_quality=quality)
    assert run_json(tmp_path).returncode == 0
    assert (tmp_path / "started").read_text() == "x"


@pytest.mark.slow
def test_negative_paths_share_a_server(tmp_path: Path) -> None:
    """The first start is for their calls, the second for their probes; with a time limit, they run one by one."""
    block = {"checks": ["unknown_tool", "missing_required"]}
    entry = {**counting(tmp_path), "annotations": {"echo": {"readOnlyHint": True}}}
    tests = [tool(f"t{number}", "echo", negative_path=block, timeout_ms=9000, **ECHO) for number in range(4)]
    write_suite(tmp_path, {"s": entry}, tools=tests)
    assert run_json(tmp_path).returncode == 0
    assert (tmp_path / "started").read_text() == "xx"


@pytest.mark.slow
def test_a_tool_that_may_change_something_is_probed_on_a_server_of_its_own(tmp_path: Path) -> None:
    tests = [tool(f"t{number}", "fail", negative_path={"checks": ["unknown_tool"]}) for number in range(3)]
    write_suite(tmp_path, {"s": counting(tmp_path)}, tools=tests)
    run_json(tmp_path)
    assert (tmp_path / "started").read_text() == "x" * 4


@pytest.mark.slow
def test_a_negative_path_after_a_crash_gets_a_fresh_server(tmp_path: Path) -> None:
    """`look` ends the server where its arguments say so."""
    block = {"checks": ["unknown_tool"]}
    calls = {"a": {}, "b": {"die": 1}, "c": {}}
    tests = [tool(name, "look", args=args, negative_path=block, timeout_ms=5000) for name, args in calls.items()]
    write_suite(tmp_path, {"s": counting(tmp_path)}, tools=tests)
    outcomes = outcomes_of(run_json(tmp_path))
    assert {name: outcomes[f"negative_path/{name}"][0] for name in calls} == {
        "a": "passed",
        "b": "failed",
        "c": "passed",
    }


def test_tests_are_selected_by_name_and_tag(tmp_path: Path) -> None:
    tests = [tool("Alpha one", "echo", tags=["smoke"], **ECHO), tool("beta", "echo", tags=["slow", "smoke"], **ECHO)]
    write_suite(tmp_path, {"s": STDIO}, tools=tests)
    assert list(outcomes_of(run_json(tmp_path, "--filter", "ALPHA"))) == ["tools/Alpha one"]
    assert list(outcomes_of(run_json(tmp_path, "--tag", "slow,other"))) == ["tools/beta"]
    said = fails("run", "--tag", "nobody", cwd=tmp_path)
    assert "no tests match; the suite has the tags slow, smoke" in said


def test_fail_fast_skips_the_tests_after_the_first_failure(tmp_path: Path) -> None:
    tests = [tool("a", "echo", **ECHO), tool("b", "fail"), tool("c", "echo", **ECHO)]
    write_suite(tmp_path, {"s": STDIO}, tools=tests)
    done = run_json(tmp_path, "--fail-fast")
    assert [outcome for outcome, _ in outcomes_of(done).values()] == ["passed", "failed", "skipped"]
    assert done.returncode == 1


def test_a_retried_test_that_passes_says_so(tmp_path: Path) -> None:
    tests = [tool("at once", "echo", **ECHO), tool("late", "flaky"), tool("never", "fail")]
    write_suite(tmp_path, {"s": STDIO}, tools=tests)
    outcomes = outcomes_of(run_json(tmp_path, "--retry", "2"))
    assert outcomes["tools/at once"] == ("passed", "")
    assert outcomes["tools/late"] == ("passed", "passed on attempt 2")
    assert outcomes["tools/never"][0] == "failed"
    assert outcomes_of(run_json(tmp_path))["tools/late"][0] == "failed"


def test_steps_run_before_and_after_and_a_failed_one_is_an_error(tmp_path: Path) -> None:
    note = tmp_path / "note"
    touch = {"run": [sys.executable, "-c", f"open({str(note)!r}, 'a').write('x')"]}
    write_suite(
        tmp_path,
        {"s": STDIO},
        setup=[touch, {"call": {"server": "s", "tool": "echo", "args": {"text": "x"}}}],
        teardown=[{"call": {"server": "s", "tool": "fail"}}, touch],
        tools=[tool("a", "echo", **ECHO)],
    )
    done = run_json(tmp_path)
    outcomes = outcomes_of(done)
    assert note.read_text() == "xx"
    assert outcomes["tools/a"] == ("passed", "")
    assert outcomes["teardown/call fail of s"][0] == "error"
    assert done.returncode == 2


def test_a_failed_setup_skips_the_tests_but_not_the_teardown(tmp_path: Path) -> None:
    note = tmp_path / "note"
    write_suite(
        tmp_path,
        {"s": STDIO},
        setup=[{"run": [sys.executable, "-c", "import sys; sys.exit('no database')"]}],
        teardown=[{"run": [sys.executable, "-c", f"open({str(note)!r}, 'w')"]}],
        tools=[tool("a", "echo", **ECHO)],
    )
    outcomes = outcomes_of(run_json(tmp_path))
    assert outcomes[f"setup/run {sys.executable}"] == ("error", "exit code 1: no database")
    assert outcomes["tools/a"] == ("skipped", "setup failed")
    assert note.exists()


def test_a_step_has_a_time_limit(tmp_path: Path) -> None:
    sleeping = {"run": [sys.executable, "-c", "import time; time.sleep(3600)"], "timeout_ms": 300}
    write_suite(tmp_path, {"s": STDIO}, setup=[sleeping], tools=[tool("a", "echo", **ECHO)])
    assert outcomes_of(run_json(tmp_path))[f"setup/run {sys.executable}"] == ("error", "timed out after 300 ms")


def test_snapshots_are_stored_compared_and_masked(tmp_path: Path) -> None:
    masked = {"snapshot": {"mask": ["timestamps", "result.structuredContent.id"]}}
    write_suite(tmp_path, {"s": STDIO}, tools=[tool("clock", "clock", ("result", masked))])
    assert run_json(tmp_path).returncode == 1
    done = run_json(tmp_path, "--update-snapshots")
    assert done.returncode == 0
    assert done.stderr == "mcproof: mcproof.snapshots.json: 1 snapshot written\n"
    stored = json.loads((tmp_path / "mcproof.snapshots.json").read_text(encoding="utf-8"))
    assert stored["snapshots"] == {
        "tools/clock: result": {
            "content": [{"type": "text", "text": "at <timestamp>"}],
            "structuredContent": {"id": "<masked>"},
        }
    }
    assert run_json(tmp_path).returncode == 0
    refused = run("run", "--update-snapshots", cwd=tmp_path, env={"CI": "true"})
    assert refused.returncode == 2
    assert "disabled in CI jobs" in refused.stderr


def test_secrets_from_the_environment_are_not_printed_or_stored(tmp_path: Path) -> None:
    entry = {**STDIO, "env": {"SECRET": {"env": "API_TOKEN"}}}
    tests = [tool("a", "secret", (TEXT, {"exact": "x"})), tool("b", "secret", ("result", {"snapshot": True}))]
    write_suite(tmp_path, {"s": entry}, tools=tests)
    env = {"API_TOKEN": "hunter2-hunter2"}
    for words in (["--format", "text"], ["--format", "html"], ["--update-snapshots"], ["--report", "r.json"]):
        done = run("run", *words, cwd=tmp_path, env=env)
        assert "***" in done.stdout
        assert "hunter2" not in done.stdout + done.stderr
    for file in tmp_path.iterdir():
        assert "hunter2" not in file.read_text(encoding="utf-8")


@pytest.mark.slow
def test_runs_are_reproducible_and_reports_render_every_format(tmp_path: Path) -> None:
    tests = [
        tool("a", "echo", **ECHO),
        tool("b|<c>", "fail"),
        tool("d", "clock", negative_path={"checks": ["missing_required"]}),
    ]
    write_suite(tmp_path, {"s": STDIO}, tools=tests, **OTHERS)
    document = report_of(tmp_path, "run")
    assert len(document["timings"]["tests"]["mcproof.yaml"]) == 9
    for name in ("text", "concise", "json", "junit", "tap", "github", "gitlab", "markdown", "sarif"):
        first = run("run", "--format", name, cwd=tmp_path)
        assert first.returncode == 1
        again = run("report", "report.json", "--format", name, cwd=tmp_path)
        assert TIME.sub("", again.stdout) == TIME.sub("", first.stdout), name
    page = run("report", "report.json", "--format", "html", cwd=tmp_path).stdout
    assert "<b>b|&lt;c&gt;</b>" in page


def test_each_suite_gets_its_own_document(tmp_path: Path) -> None:
    for name in ("a.yaml", "b.yaml"):
        write_suite(tmp_path, {"s": STDIO}, tools=[tool("t", "echo", **ECHO)], name=name)
    document = document_of(run_json(tmp_path, "a.yaml", "b.yaml"), "tests")
    assert [each["target"] for each in document["targets"]] == ["a.yaml", "b.yaml"]


def test_an_invalid_suite_starts_nothing(tmp_path: Path) -> None:
    write_suite(tmp_path, {"s": STDIO}, tools=[tool("t", "echo", server="x")])
    said = fails("run", cwd=tmp_path)
    assert said == "mcproof: mcproof.yaml:2:33: unknown server `x`; expected one of s\n"


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_an_interrupt_keeps_results_and_ends_all_servers(tmp_path: Path) -> None:
    note = tmp_path / "sleeping"
    tests = [tool("a", "echo", **ECHO), tool("b", "sleep", args={"note": str(note)}), tool("c", "echo", **ECHO)]
    marked = {"command": [*STDIO["command"], f"marker-{os.getpid()}"]}
    write_suite(tmp_path, {"s": marked}, tools=tests)
    process = subprocess.Popen(
        [*COMMAND, "run", "--format", "json"], cwd=tmp_path, env=environment(), stdout=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 30
    while not note.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=30)
    assert process.returncode == 130
    assert [each["outcome"] for each in json.loads(said)["tests"]] == ["passed", "skipped", "skipped"]
    assert _children(marked["command"][-1]) == []


def _children(marker: str) -> list[str]:
    listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout.splitlines()  # noqa: S607
    return [line for line in listed if marker in line and "-m mcproof" not in line]
