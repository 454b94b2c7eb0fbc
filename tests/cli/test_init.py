"""`mcproof init`: what it writes is valid and passes at once; it replaces nothing, and no secret is in it."""

from __future__ import annotations

import json
import re
import sys
from typing import TYPE_CHECKING, Any

import pytest

from client.running import RAW, SDK
from mcproof.testing.suites.parser import read_suite
from servers import contract, odd, suited
from testing.suites.suites import SEARCH, small

from .running import CLEAN_TOOL, environment, fails, run, write
from .serving import SECRET, serve

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

SERVERS = {
    "demo": (sys.executable, "-m", "mcproof.demo.server"),
    "sdk": (sys.executable, SDK),
    "good": (*RAW, "good"),
    "modern": (*RAW, "modern"),
    "odd tools": (*RAW, "odd-tools"),
    "contract": (sys.executable, "-I", "-S", contract.__file__, "good"),
    "broken contract": (sys.executable, "-I", "-S", contract.__file__, "crash-on-oversized"),
}


def text_of(folder: Path, name: str = "mcproof.yaml") -> str:
    return (folder / name).read_text(encoding="utf-8")


def init(folder: Path, *words: str, **others: Any) -> subprocess.CompletedProcess[str]:
    """Write a suite, which must be valid."""
    done = run("init", *words, cwd=folder, **others)
    assert (done.returncode, done.stdout) == (0, ""), done
    checked = run("validate", cwd=folder)
    assert checked.returncode == 0, checked.stdout
    return done


def passes(folder: Path, **others: Any) -> str:
    done = run("run", cwd=folder, **others)
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.mark.parametrize(
    "server", [pytest.param(name, marks=pytest.mark.slow) if name == "sdk" else name for name in SERVERS]
)
def test_what_is_written_for_a_live_server_passes_at_once(tmp_path: Path, server: str) -> None:
    path = environment().get("PYTHONPATH", "")
    init(tmp_path, "--env", f"PYTHONPATH={path}", "--", *SERVERS[server], env={"PYTHONPATH": path})
    assert passes(tmp_path, env={"PYTHONPATH": path}).count("✓") >= 2


def test_calls_have_the_values_that_the_server_lists_and_asks_for(tmp_path: Path) -> None:
    init(tmp_path, "--", sys.executable, "-I", "-S", odd.__file__, "asks")
    assert "args: {plant_id: p-17, unit: metre}" in text_of(tmp_path)
    passes(tmp_path)


def test_a_call_that_returns_an_error_text_is_not_expected_to_succeed(tmp_path: Path) -> None:
    """`isError` is false: a test of it would pass, and mean nothing."""
    done = init(tmp_path, "--", *small("hides-errors", "refuses-everything"))
    text = text_of(tmp_path)
    why = "returns an error without `isError`: Error: Invalid arguments: refuses-everything"
    assert f"the call fails: {why}" in text.replace("The call", "the call")
    assert "    - {target: result.isError" not in text.replace("# ", "#_")
    assert "as comments: 1" in done.stderr
    passes(tmp_path)


@pytest.mark.slow
def test_failing_tools_are_commented_out_with_their_errors(tmp_path: Path) -> None:
    server = (sys.executable, "-I", "-S", suited.__file__)
    done = init(tmp_path, "--allow", "*", "--timeout", "1", "--cwd", str(tmp_path), "--", *server)
    text = text_of(tmp_path)
    for said in (
        "The call fails: isError is true: it failed",
        "The call fails: error -32000",
        "Inactive: the call fails: the server ended or closed the connection",
        "Inactive: the call fails: no response within 1 second (`timeout_ms`)",
    ):
        assert said in text
    assert "timeout_ms: 1000\n" in text
    assert "✗" not in passes(tmp_path)
    assert "mcproof: reads 1 resource and 1 prompt to see what works\n" in done.stderr
    suite = read_suite(str(tmp_path / "mcproof.yaml"), None)
    found = [(test.block, test.subject) for test in suite.tests if test.block in ("resources", "prompts")]
    assert found == [("resources", "note:///a"), ("prompts", "greet")]


def test_only_tools_that_change_nothing_are_called_and_it_is_said_which(tmp_path: Path) -> None:
    tools = [SEARCH, {**SEARCH, "name": "delete_book"}]
    called = tmp_path / "called"
    done = init(tmp_path, "--env", f"CALLED={called}", "--", *small("refuses-empty", tools=tools))
    assert done.stderr.splitlines() == [
        "mcproof: calls 1 tool to see what works: search",
        "mcproof: does not call 1 tool: delete_book",
        "mcproof: mcproof.yaml: 4 tests on 1 server written; as comments: 1 test, 2 probes",
        "mcproof: next: set CALLED, then `mcproof run`",
    ]
    lines = called.read_text(encoding="utf-8").splitlines()
    assert {json.loads(line)[0] for line in lines} == {"search", "mcproof_no_such_tool"}
    assert str(called) not in text_of(tmp_path).partition("env:")[2]


def test_the_number_of_tests_is_that_of_the_run(tmp_path: Path) -> None:
    done = init(tmp_path, "--", *small("refuses-empty"))
    written = re.search(r"mcproof\.yaml: (\d+) tests on 1 server written", done.stderr)
    counted = re.search(r"^(\d+) tests: \1 passed$", passes(tmp_path), re.MULTILINE)
    assert written is not None
    assert counted is not None
    assert written[1] == counted[1]


def test_allow_and_deny_decide_what_is_called(tmp_path: Path) -> None:
    tools = [SEARCH, {**SEARCH, "name": "search_all"}, {**SEARCH, "name": "archive_book"}]
    called = tmp_path / "called"
    options = ("--allow", "archive_*", "--deny", "search_all", "--env", f"CALLED={called}")
    init(tmp_path, *options, "--", *small("refuses-empty", tools=tools))
    lines = called.read_text(encoding="utf-8").splitlines()
    assert {json.loads(line)[0] for line in lines} == {"search", "archive_book", "mcproof_no_such_tool"}
    assert "# Inactive: it is not called: denied by --deny\n" in text_of(tmp_path)


@pytest.mark.parametrize("option", ["--allow", "--deny"])
def test_an_unknown_tool_is_refused_with_the_nearest_name(tmp_path: Path, option: str) -> None:
    write(tmp_path / "tools.json", [CLEAN_TOOL])
    name = CLEAN_TOOL["name"]
    said = f"unknown tool `{name}s` (did you mean `{name}`?); there are {name}"
    assert fails("init", option, f"{name}s", "tools.json", cwd=tmp_path) == f"mcproof: {said}\n"


def test_nothing_is_called_where_that_is_asked_for(tmp_path: Path) -> None:
    called = tmp_path / "called"
    done = init(tmp_path, "--no-calls", "--env", f"CALLED={called}", "--", *small("refuses-everything"))
    assert not called.exists()
    assert "calls" not in done.stderr
    assert "expect:\n      - {target: result.isError, matcher: {exact: false}}\n    negative_path:" in text_of(tmp_path)


@pytest.mark.slow
def test_the_same_server_gets_the_same_suite(tmp_path: Path) -> None:
    texts = []
    for _ in range(2):
        init(tmp_path, "--force", "--", *small("refuses-objects"))
        texts.append(text_of(tmp_path))
    assert texts[0] == texts[1]


def test_a_server_over_http_is_written_with_its_address(tmp_path: Path) -> None:
    with serve("json") as served:
        init(tmp_path, served.url, "--header", "X-Token: ${TOKEN}", env={"TOKEN": SECRET})
        text = text_of(tmp_path)
        assert f'  remote:\n    url: "{served.url}"\n    headers:\n      X-Token: {{env: TOKEN}}\n' in text
        assert SECRET not in text
        passes(tmp_path, env={"TOKEN": SECRET})


def test_all_servers_of_a_client_configuration_are_written_without_their_secrets(tmp_path: Path) -> None:
    one, *rest = small()
    servers = {
        "one": {"command": one, "args": rest, "env": {"API_KEY": SECRET, "MODE": "${MODE}"}},
        "two #": {"command": one, "args": [*rest, "--token", SECRET]},
    }
    write(tmp_path / "mcp.json", {"mcpServers": servers})
    done = init(tmp_path, "mcp.json", "--all", env={"MODE": "a-long-mode"})
    text = text_of(tmp_path)
    assert SECRET not in text
    assert "a-long-mode" not in text
    assert done.stderr.endswith("next: set API_KEY, TOKEN, then `mcproof run`\n")
    suite = read_suite(str(tmp_path / "mcproof.yaml"), None)
    assert list(suite.servers) == ["one", "two #"]
    assert [test.name for test in suite.tests if test.block == "tools"] == [
        "search of one responds",
        "search of two # responds",
    ]
    passes(tmp_path, env={"MODE": "a-long-mode", "API_KEY": SECRET, "TOKEN": SECRET})


def test_no_server_of_a_client_configuration_is_started_unless_it_is_named(tmp_path: Path) -> None:
    started = tmp_path / "started"
    write(tmp_path / "mcp.json", {"mcpServers": {"a": {"command": "touch", "args": [str(started)]}}})
    assert "nothing was started; select one with mcp.json#NAME, or use --all" in fails("init", "mcp.json", cwd=tmp_path)
    assert not started.exists()


def test_progress_names_the_tools_that_are_called(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[int, int, str]] = []
    monkeypatch.setattr("mcproof.cli.commands.init.Counter.step", lambda _, *step: seen.append(step))
    init(tmp_path, "--", *small())
    assert {label for _, _, label in seen[1:]} == {"search"}
    assert seen[-1][0] == seen[-1][1]


def test_one_server_of_a_client_configuration_can_be_named(tmp_path: Path) -> None:
    one, *rest = small()
    write(tmp_path / "mcp.json", {"mcpServers": {"a": {"command": one, "args": rest}, "b": {"command": "no-such"}}})
    init(tmp_path, "mcp.json#a")
    assert list(read_suite(str(tmp_path / "mcproof.yaml"), None).servers) == ["a"]


def test_a_server_that_does_not_answer_is_left_out_and_makes_the_exit_code_2(tmp_path: Path) -> None:
    one, *rest = small()
    servers = {"a": {"command": one, "args": rest}, "b": {"command": "no-such-program"}, "c": {}}
    write(tmp_path / "mcp.json", {"mcpServers": servers})
    done = run("init", "mcp.json", "--all", cwd=tmp_path)
    assert done.returncode == 2
    assert "no-such-program" in done.stderr
    assert "mcproof.yaml: 4 tests on 1 server written" in done.stderr
    assert "  # b is omitted: mcp.json:" in text_of(tmp_path)
    assert "  # c is omitted: mcp.json:" in text_of(tmp_path)
    passes(tmp_path)


def test_where_no_server_answers_nothing_is_written(tmp_path: Path) -> None:
    write(tmp_path / "mcp.json", {"mcpServers": {"b": {"command": "no-such-program"}}})
    assert "no-such-program" in fails("init", "mcp.json", "--all", cwd=tmp_path)
    assert not (tmp_path / "mcproof.yaml").exists()


def test_a_snapshot_does_not_say_how_its_server_is_started_and_the_user_is_told_what_to_do(tmp_path: Path) -> None:
    write(tmp_path / "tools.json", [CLEAN_TOOL])
    done = init(tmp_path, "tools.json")
    assert done.stderr.splitlines()[-1] == (
        "mcproof: next: replace `your-server-command` with the command of your server, then `mcproof run`"
    )
    text = text_of(tmp_path)
    assert "    command: [your-server-command]\n" in text
    command = json.dumps(small(tools=[CLEAN_TOOL]))
    (tmp_path / "mcproof.yaml").write_text(text.replace("[your-server-command]", command), encoding="utf-8")
    assert "✓ find_book responds\n" in run("run", cwd=tmp_path).stdout


def test_a_capture_tells_how_its_server_is_started(tmp_path: Path) -> None:
    assert run("capture", "-o", "captured.json", "--", *small(), cwd=tmp_path).returncode == 0
    init(tmp_path, "captured.json")
    assert "# From the capture: review it before running it.\n" in text_of(tmp_path)
    assert "✓ search responds\n" in run("run", cwd=tmp_path).stdout


def test_python_source_is_started_as_one_would(tmp_path: Path) -> None:
    source = 'from mcp.server.fastmcp import FastMCP\nm = FastMCP("x")\n@m.tool()\ndef now(zone: str) -> str: ...\n'
    (tmp_path / "server.py").write_text(source, encoding="utf-8")
    init(tmp_path, "server.py")
    assert "    command: [python, server.py]\n" in text_of(tmp_path)
    (tmp_path / "mcproof.yaml").unlink()
    init(tmp_path, ".")
    assert "    command: [your-server-command]\n" in text_of(tmp_path)


def test_typescript_source_is_started_as_its_package_says(tmp_path: Path) -> None:
    source = """import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
const server = new McpServer({ name: "x", version: "1.0.0" });
server.registerTool("now", { description: "The time." }, async () => ({ content: [] }));
"""
    package = {"bin": "build/main.js", "scripts": {"build": "tsc"}, "dependencies": {"@modelcontextprotocol/sdk": "1"}}
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "main.ts").write_text(source, encoding="utf-8")
    (tmp_path / "package.json").write_text(json.dumps(package), encoding="utf-8")
    for target in (".", "src/main.ts"):
        init(tmp_path, target)
        assert "    # A guess: check that this command starts your server, after `npm run build`.\n" in text_of(
            tmp_path
        )
        assert "    command: [node, build/main.js]\n" in text_of(tmp_path)
        (tmp_path / "mcproof.yaml").unlink()


@pytest.mark.parametrize("there", ["mcproof.yaml", "mcproof.yml", "mcptest.yaml"])
def test_a_suite_that_is_there_is_not_replaced_unasked(tmp_path: Path, there: str) -> None:
    (tmp_path / there).write_text("mine", encoding="utf-8")
    called = tmp_path / "called"
    said = fails("init", "--env", f"CALLED={called}", "--", *small(), cwd=tmp_path)
    how = "overwrite it" if there == "mcproof.yaml" else "write `mcproof.yaml` too"
    assert said == f"mcproof: `{there}` exists; use --force to {how}\n"
    assert not called.exists()
    assert text_of(tmp_path, there) == "mine"
    init(tmp_path, "--force", "--", *small())
    assert "search responds" in text_of(tmp_path)


def test_another_file_can_be_named_and_standard_output(tmp_path: Path) -> None:
    write(tmp_path / "tools.json", [CLEAN_TOOL])
    done = run("init", "tools.json", "--output", "my suite.yaml", cwd=tmp_path)
    assert done.stderr.splitlines()[-1].endswith("then `mcproof run 'my suite.yaml'`")
    printed = run("init", "tools.json", "-o", "-", cwd=tmp_path)
    assert printed.returncode == 0
    assert printed.stderr.endswith("save this to FILE, then `mcproof run FILE`\n")
    assert printed.stdout == text_of(tmp_path, "my suite.yaml").replace("mcproof run 'my suite.yaml'", "mcproof run")
    assert not (tmp_path / "mcproof.yaml").exists()


def test_a_folder_of_a_server_is_told_from_where_the_suite_stands(tmp_path: Path) -> None:
    (tmp_path / "server").mkdir()
    (tmp_path / "suites").mkdir()
    run("init", "--cwd", "server", "--output", "suites/one.yaml", "--no-calls", "--", *small(), cwd=tmp_path)
    suite = read_suite(str(tmp_path / "suites" / "one.yaml"), None)
    assert suite.servers["local"].directory == str(tmp_path / "suites" / ".." / "server")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "nothing to write a suite for: name a TARGET, or put `-- COMMAND ARG...` at the end"),
        (("tools.json", "--", "x"), "name a TARGET or `-- COMMAND ARG...`, not both"),
        (("tools.json", "-o", "tools.json", "--force"), "`tools.json` is what is read; name another file to write to"),
        (("tools.json", "-o", "no/suite.yaml"), "`no/suite.yaml` cannot be written: there is no folder `no`"),
        (("empty",), "empty: is a folder; name one catalog"),
        (("nothing.json",), "nothing.json: nothing to test: the catalog has no tools, resources or prompts"),
        (("missing.json",), "missing.json: cannot be read: no such file or directory"),
    ],
)
def test_what_cannot_be_done_is_one_line(tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    write(tmp_path / "tools.json", [CLEAN_TOOL])
    write(tmp_path / "nothing.json", {"initialize": {}, "tools": []})
    (tmp_path / "empty").mkdir()
    before = sorted(tmp_path.iterdir())
    assert fails("init", *words, cwd=tmp_path) == f"mcproof: {said}\n"
    assert sorted(tmp_path.iterdir()) == before


def test_a_name_of_the_configuration_will_do(tmp_path: Path) -> None:
    write(tmp_path / "tools.json", [CLEAN_TOOL])
    (tmp_path / "mcproof.toml").write_text('[targets]\nlibrary = "tools.json"\n', encoding="utf-8")
    init(tmp_path, "library")
    assert "find_book responds" in text_of(tmp_path)


def test_no_secret_that_a_server_repeats_gets_into_the_suite(tmp_path: Path) -> None:
    init(tmp_path, "--env", f"SECRET={SECRET}", "--", *small("refuses-everything", "shows-secret"))
    text = text_of(tmp_path)
    assert "The call fails" in text
    assert SECRET not in text


def test_no_secret_that_a_schema_repeats_gets_into_the_suite(tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"q": {"type": "string", "default": "plainlookingvalue42"}}}
    tool = {"name": "search", "description": "Search.", "inputSchema": {**schema, "required": ["q"]}}
    script = small(tools=[tool])[3:]
    source = f"import runpy, sys; sys.argv = {script!r}; runpy.run_path({script[0]!r}, run_name='__main__')"
    (tmp_path / "server.py").write_text(source, encoding="utf-8")
    init(tmp_path, "--env", "MODE=plainlookingvalue42", "--", sys.executable, "server.py")
    assert "plainlookingvalue42" not in text_of(tmp_path)
    assert "its arguments contain a secret of the server" in text_of(tmp_path)
