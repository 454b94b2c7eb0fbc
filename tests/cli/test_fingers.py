"""What fingers type: commands and targets that cannot be meant, and the command line that works."""

from __future__ import annotations

import json
import os
import stat
from typing import TYPE_CHECKING

import pytest

from mcproof.cli.command import laid_out
from mcproof.cli.main import COMMANDS

from .running import CLEAN_TOOL, fails, run, write

if TYPE_CHECKING:
    from pathlib import Path

SERVER = "from fastmcp import FastMCP\nmcp = FastMCP('x')\n@mcp.tool\ndef add(a: int) -> int: ...\nmcp.run()\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "server.py").write_text(SERVER)
    write(tmp_path / "tools.json", [CLEAN_TOOL])
    return tmp_path


# --- a command without `--` ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("typed", "works"),
    [
        (["lint", "python", "server.py"], "mcproof lint -- python server.py"),
        (["prove", "node", "dist/index.js"], "mcproof prove -- node dist/index.js"),
        (["grade", "python3.12", "-m", "weather"], "mcproof grade -- python3.12 -m weather"),
        (["fuzz", "npx", "-y", "@scope/server", "--stdio"], "mcproof fuzz -- npx -y @scope/server --stdio"),
        (["lint", "uvx", "mcp-server-time"], "mcproof lint -- uvx mcp-server-time"),
        (["lint", "--format", "json", "python", "server.py"], "mcproof lint --format json -- python server.py"),
        (["lint", "python", "server.py", "--fail-on", "note"], "mcproof lint --fail-on note -- python server.py"),
        (["capture", "docker", "run", "-i", "image"], "mcproof capture -- docker run -i image"),
        (["diff", "tools.json", "python", "server.py"], "mcproof diff tools.json -- python server.py"),
        (["call", "add", "python", "server.py"], "mcproof call add -- python server.py"),
        (["call", "python", "server.py"], "mcproof call TOOL [ARGS...] -- python server.py"),
        (["prove", "python server.py"], "mcproof prove -- python server.py"),
        (["lint", "python server.py"], "mcproof lint -- python server.py"),
        (["grade", "npx server --config a.json"], "mcproof grade -- npx server --config a.json"),
        (["lint", "node 'my server.js'", "--fail-on", "note"], "mcproof lint --fail-on note -- node 'my server.js'"),
        (["prove", "--", "python server.py"], "mcproof prove -- python server.py"),
    ],
    ids=" ".join,
)
def test_a_command_of_a_server_gets_its_two_dashes(project: Path, typed: list[str], works: str) -> None:
    said = (
        json.loads(run(*typed, cwd=project).stdout)["error"]["message"]
        if "json" in typed
        else fails(*typed, cwd=project)
    )
    assert f"`{works}`" in said


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("srver.py", "server.py"), ("tool.json", "tools.json"), ("sub/wether.json", "sub/weather.json")],
)
def test_a_missing_file_gets_the_nearest_name_of_its_folder(project: Path, typed: str, meant: str) -> None:
    (project / "sub").mkdir()
    write(project / "sub" / "weather.json", [CLEAN_TOOL])
    said = fails("lint", typed, cwd=project)
    assert f"{typed}: cannot be read: no such file or directory (did you mean `{meant}`?)" in said


def test_a_missing_file_unlike_all_others_gets_no_hint(project: Path) -> None:
    for typed in ("quite-different", "no-such-folder/server.py"):
        assert fails("lint", typed, cwd=project).endswith("no such file or directory\n")


def test_run_without_a_suite_names_the_command_that_writes_one(project: Path) -> None:
    assert "`mcproof init -- COMMAND ARG...`" in fails("run", cwd=project)


@pytest.mark.parametrize("width", [60, 80, 120])
def test_purposes_of_examples_are_all_beside_or_all_below(width: int) -> None:
    examples = "mcproof lint  all\nmcproof lint --ruleset all --fail-on warning  " + "every rule, and stricter " * 3
    lines = laid_out(examples, width)
    assert max(map(len, lines)) <= width
    is_beside = {line.partition("mcproof lint")[2].strip() != "" for line in lines[:1]}
    assert is_beside == {width >= 80}
    assert (lines[1].strip() == "all") is (width < 80)


def test_an_executable_file_is_a_command_too(project: Path) -> None:
    program = project / "server"
    program.write_bytes(b"\x7fELF\xf0")
    assert "cannot be read" not in fails("lint", "./server", cwd=project)
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    assert "`mcproof lint -- ./server --port 1`" in fails("lint", "./server", "--port", "1", cwd=project)


def test_a_name_of_the_configuration_is_not_a_command(project: Path) -> None:
    (project / "mcproof.toml").write_text('[targets]\nnode = "tools.json"\n')
    assert run("lint", "node", cwd=project).returncode == 0


def test_a_file_named_like_a_program_is_a_target(project: Path) -> None:
    write(project / "go.json", [CLEAN_TOOL])
    assert run("lint", "go.json", cwd=project).returncode == 0


def test_secrets_of_a_misplaced_command_are_hidden(project: Path) -> None:
    assert "hunter2" not in fails("lint", "python", "server.py", "--api-key", "hunter2", cwd=project)


# --- source that is not read, or cannot be called -----------------------------------------------------------------


def test_a_script_in_javascript_is_started_with_node(project: Path) -> None:
    (project / "server.mjs").write_text("")
    assert (
        "server.mjs: this is source, not a live server; start the server: `mcproof prove -- node server.mjs`"
        in fails("prove", "server.mjs", cwd=project)
    )


@pytest.mark.parametrize(
    ("declared", "works"),
    [
        (None, "mcproof prove -- node build/index.js"),
        ({}, "mcproof prove -- node build/index.js"),
        ({"bin": "./dist/cli.js"}, "mcproof prove -- node dist/cli.js"),
        ({"bin": {"weather": "out/index.js"}}, "mcproof prove -- node out/index.js"),
        (
            {"scripts": {"start": "node --enable-source-maps lib/server.js"}},
            "prove -- node --enable-source-maps lib/server.js",
        ),
        ({"scripts": {"start": "PORT=1 node x.js && rm -rf /"}, "main": "main.js"}, "mcproof prove -- node main.js"),
        ({"main": "../../other.js"}, "mcproof prove -- node build/index.js"),
        ([], "mcproof prove -- node build/index.js"),
    ],
    ids=str,
)
def test_a_file_in_typescript_is_started_as_its_package_says(tmp_path: Path, declared: object, works: str) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / ".git").mkdir()
    (tmp_path / "src" / "index.ts").write_text("")
    if declared is not None:
        write(tmp_path / "package.json", declared)
    said = fails("prove", "src/index.ts", cwd=tmp_path)
    assert f"{works}`" in said


def test_a_build_that_is_missing_is_named(tmp_path: Path) -> None:
    (tmp_path / "index.ts").write_text("")
    write(tmp_path / "package.json", {"bin": "build/index.js", "scripts": {"build": "tsc"}})
    assert "`mcproof prove -- node build/index.js` (after `npm run build`)" in fails("prove", "index.ts", cwd=tmp_path)


def test_a_start_script_runs_in_the_folder_of_its_package(tmp_path: Path) -> None:
    package = tmp_path / "packages" / "weather"
    package.mkdir(parents=True)
    (package / "index.ts").write_text("")
    write(package / "package.json", {"scripts": {"start": "node dist/index.js"}})
    said = fails("prove", "packages/weather/index.ts", cwd=tmp_path)
    assert "`mcproof prove --cwd packages/weather -- node dist/index.js`" in said


def test_other_languages_are_named(project: Path) -> None:
    (project / "main.go").write_text("package main")
    assert "main.go: Go is not read; start the server instead: `-- COMMAND ARG...`" in fails(
        "lint", "main.go", cwd=project
    )


@pytest.mark.parametrize("command", ["probe", "prove", "fuzz"])
@pytest.mark.parametrize("target", ["server.py", "."])
def test_source_cannot_be_called(project: Path, command: str, target: str) -> None:
    said = fails(command, target, cwd=project)
    assert "not a live server" in said
    assert f"`mcproof {command} -- python server.py`" in said


def test_a_module_with_relative_imports_is_started_as_a_module(tmp_path: Path) -> None:
    package = tmp_path / "src" / "weather"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "server.py").write_text(f"from . import other\n{SERVER}")
    said = fails("prove", "src/weather/server.py", cwd=tmp_path)
    assert "`mcproof prove --cwd src -- python -m weather.server`" in said


def test_the_item_of_a_source_file_is_requested_from_its_server(project: Path) -> None:
    assert "`mcproof call add a=1 -- python server.py`" in fails("call", "server.py", "add", "a=1", cwd=project)


# --- commands and options -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("test", "run"),
        ("fix", "schema-lint --fix"),
        ("version", "--version"),
        ("Test", "run"),
        ("list", "tools"),
        ("verison", "--version"),
        ("--versoin", "--version"),
    ],
)
def test_commands_of_other_tools_are_known(typed: str, meant: str) -> None:
    assert f"unknown command `{typed}` (did you mean `{meant}`?)" in fails(typed, "x.json")


@pytest.mark.parametrize("typed", [["server.py"], ["tools.json", "--format", "text"], ["."], ["sub"]], ids=" ".join)
def test_a_target_without_a_command_is_checked(project: Path, typed: list[str]) -> None:
    (project / "sub").mkdir()
    write(project / "sub" / "tools.json", [CLEAN_TOOL])
    assert run(*typed, cwd=project).stdout == run("check", *typed, cwd=project).stdout != ""


def test_a_command_of_a_server_without_a_command_of_ours_gets_one(project: Path) -> None:
    works = "did you mean `mcproof check -- python server.py`?"
    assert works in fails("python", "server.py", cwd=project)


def test_the_name_of_a_command_wins_over_a_folder_and_a_near_miss_stays_an_error(project: Path) -> None:
    for name in ("demo", "lin", "grades"):
        (project / name).mkdir()
        write(project / name / "tools.json", [CLEAN_TOOL])
    assert "Fix first" not in run("completion", "bash", cwd=project).stdout
    for name, meant in (("lin", "lint"), ("grades", "grade")):
        said = fails(name, cwd=project)
        assert (
            f"unknown command `{name}` (did you mean `{meant}`?); `mcproof check {name}` checks what is there" in said
        )
    assert run("./lin", cwd=project).returncode == 0


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        (["lint", "--json", "."], "--format json"),
        (["lint", "--exclude", "MP001"], "--ignore"),
        (["lint", "--strict"], "--ruleset strict"),
        (["run", "-x"], "--fail-fast"),
        (["lint", "--quite"], "--quiet"),
        (["lint", "--no-color"], "--color never"),
        (["lint", "--format", "jsn"], "json"),
        (["lint", "--fail-on", "warn"], "warning"),
        (["completion", "bsh"], "bash"),
    ],
    ids=" ".join,
)
def test_options_of_other_tools_are_known(typed: list[str], meant: str) -> None:
    assert f"(did you mean `{meant}`?)" in fails(*typed)


# --- help ---------------------------------------------------------------------------------------------------------


def test_help_with_a_command_is_the_help_of_the_command() -> None:
    assert run("help", "lint").stdout == run("lint", "--help").stdout
    assert "(did you mean `lint`?)" in fails("help", "lnt")
    assert run("help").stdout == run("--help").stdout == run().stdout


@pytest.mark.parametrize("width", [50, 60, 80, 120])
@pytest.mark.parametrize("words", [[], ["lint"], ["prove"], ["run"], ["call"], ["init"]], ids=str)
def test_help_keeps_to_the_width_of_the_terminal(words: list[str], width: int) -> None:
    lines = run(*words, "--help", env={"COLUMNS": str(width)}).stdout.splitlines()
    longest = max(lines, key=len)
    assert len(longest) <= width or longest.strip().startswith(("mcproof", "echo")), longest


def test_help_has_groups_and_ends_with_examples() -> None:
    shown = run("prove", "--help").stdout
    titles = [line.removesuffix(":") for line in shown.splitlines() if line.endswith(":") and not line.startswith(" ")]
    options = ["Calls", "Failing and configuration", "Output", "Store", "Live servers", "Authorization"]
    assert titles == ["Arguments", *options, "Help", "Examples"]
    overview = run("--help").stdout
    for each in ("Start here:", "Look at a server, ", "  check        how fit a server is", "Only check, prove"):
        assert each in overview
    assert len(overview.splitlines()) <= 60
    first = [line.split()[0] for line in overview.partition("Start here:\n")[2].splitlines()[:5]]
    assert first == ["check", "lint", "prove", "run", "explain"]


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_every_command_ends_with_examples(command: str) -> None:
    assert "mcproof" in run(command, "--help").stdout.partition("\nExamples:\n")[2]


# --- how much is printed ------------------------------------------------------------------------------------------


def test_quiet_prints_results_and_errors_only(project: Path) -> None:
    (project / "mcproof.toml").write_text('[targets]\nbook = "tools.json"\n')
    assert "book: tools.json" in run("lint", "book", cwd=project).stderr
    done = run("lint", "book", "-q", cwd=project)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout
    assert "no such file" in fails("lint", "-q", "missing.json", cwd=project)


def test_quiet_keeps_what_fails_the_run(project: Path) -> None:
    run("lint", "tools.json", "--ruleset", "strict,grade", "--baseline", "b.json", "--update-baseline", cwd=project)
    document = json.loads((project / "b.json").read_text())
    write(project / "loose.json", [{**CLEAN_TOOL, "description": ""}])
    run("lint", "loose.json", "--baseline", "c.json", "--update-baseline", cwd=project)
    write(project / "loose.json", [CLEAN_TOOL])
    done = run("lint", "-q", "loose.json", "--baseline", "c.json", cwd=project)
    assert document
    assert done.returncode == 1
    assert "stale" in done.stderr


def test_verbose_shows_the_time_of_each_target(project: Path) -> None:
    assert "took" not in run("lint", "tools.json", cwd=project).stderr
    assert "mcproof: tools.json: took " in run("lint", "--verbose", "tools.json", cwd=project).stderr
    assert "took" not in run("lint", "tools.json", cwd=project).stderr  # it does not last


@pytest.mark.parametrize(
    ("option", "variable", "is_coloured"),
    [
        ("always", "NO_COLOR", True),
        ("never", "FORCE_COLOR", False),
        ("auto", "FORCE_COLOR", True),
        ("auto", "NO_COLOR", False),
    ],
)
def test_color_on_the_command_line_wins(project: Path, option: str, variable: str, is_coloured: bool) -> None:
    write(project / "faulty.json", [{"name": "x"}])
    for words in (["lint", "faulty.json"], ["rules"], ["explain", "SCH-001"]):
        shown = run(*words, "--color", option, cwd=project, env={variable: "1"}).stdout
        assert ("\x1b[" in shown) == is_coloured, words


# --- names of the configuration -----------------------------------------------------------------------------------


def test_capture_and_diff_take_names_of_the_configuration(project: Path) -> None:
    (project / "mcproof.toml").write_text('[targets]\nbook = "tools.json"\n')
    captured = run("capture", "book", cwd=project)
    assert json.loads(captured.stdout)["tools"][0]["name"] == CLEAN_TOOL["name"]
    assert captured.stderr == "mcproof: book: tools.json (mcproof.toml:2)\n"
    assert run("diff", "book", "tools.json", cwd=project).returncode == 0
    assert os.listdir(project)
