"""Folders as targets: every server in Python source, every snapshot, and what is left out."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from .running import CLEAN_TOOL, LOOSE_TOOL, document_of, fails, run, write

if TYPE_CHECKING:
    from pathlib import Path

GOOD = '''
from fastmcp import FastMCP
mcp = FastMCP("{name}")
@mcp.tool
def find_{name}(query: str) -> str:
    """Find one of the {name} by words of its title."""
if __name__ == "__main__":
    mcp.run()
'''
POOR = "from mcp.server.fastmcp import FastMCP\nmcp = FastMCP('poor')\n@mcp.tool()\ndef find(query): ...\nmcp.run()\n"

TWO_IN_ONE = POOR.replace("mcp.run()\n", "") + POOR.replace("mcp", "app").replace("app.server", "mcp.server")


def put(folder: Path, **files: str) -> None:
    """Write files; `__` in a name separates folders, and a name without extension is Python."""
    for name, text in files.items():
        path = folder.joinpath(*f"{name}.py".split("__"))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def grades(folder: Path, *targets: str) -> dict[str, Any]:
    document = document_of(run("grade", *targets, "--format", "json", cwd=folder), "grade")
    return {each["target"]: each["grade"] for each in document["targets"]}


# --- several servers ----------------------------------------------------------------------------------------------


def test_each_server_of_a_repository_has_a_report_of_its_own(tmp_path: Path) -> None:
    put(tmp_path, weather__server=GOOD.format(name="forecasts"), notes__src__app=POOR)
    assert grades(tmp_path) == {"notes": "B", "weather": "A"}
    lines = run("grade", ".", cwd=tmp_path).stdout.splitlines()
    rows = [line.split() for line in lines[:2]]
    assert [(row[0], row[4]) for row in rows] == [("B", "notes"), ("A", "weather")]


def test_the_name_of_a_report_is_a_target_with_the_same_result(tmp_path: Path) -> None:
    put(tmp_path, servers__weather__server=GOOD.format(name="forecasts"), servers__notes__app=POOR, admin=POOR)
    together = {name: grade for name, grade in grades(tmp_path, "servers", ".").items() if name.startswith("servers")}
    assert together == {"servers/notes": "B", "servers/weather": "A"}
    for name, grade in together.items():
        assert document_of(run("grade", name, "--format", "json", cwd=tmp_path), "grade")["grade"] == grade


def test_servers_in_one_folder_are_named_by_their_files(tmp_path: Path) -> None:
    put(tmp_path, a=GOOD.format(name="books"), b=POOR)
    assert grades(tmp_path, ".") == {"a.py": "A", "b.py": "B"}


def test_servers_in_one_file_are_named_by_their_lines(tmp_path: Path) -> None:
    put(tmp_path, both=TWO_IN_ONE)
    assert list(grades(tmp_path, ".")) == ["both.py:2", "both.py:6"]


def test_tools_of_the_same_name_are_no_duplicates_in_different_servers(tmp_path: Path) -> None:
    put(tmp_path, a__one=GOOD.format(name="books"), b__two=GOOD.format(name="books"))
    targets = document_of(run("lint", "--format", "json", cwd=tmp_path), "lint")["targets"]
    assert [len(each["findings"]) for each in targets] == [2, 2]
    rules = {finding["rule"] for each in targets for finding in each["findings"]}
    assert rules == {"no_broad_schema_risk", "prop-no-description"}


def test_one_server_in_several_files_is_one_report(tmp_path: Path) -> None:
    put(
        tmp_path,
        src__app="from fastmcp import FastMCP\nmcp = FastMCP('x')\nimport tools\nmcp.run()\n",
        src__tools="from app import mcp\n@mcp.tool\ndef find(query: str) -> str: ...\n",
    )
    document = document_of(run("grade", ".", "--format", "json", cwd=tmp_path), "grade")
    assert sorted(document["tokens"]["tools"]) == ["find"]


def test_a_factory_that_is_called_twice_creates_one_server(tmp_path: Path) -> None:
    factory = (
        "def create():\n    mcp = FastMCP('x')\n    @mcp.tool\n    def find(query: str) -> str: ...\n    return mcp\n"
    )
    put(
        tmp_path,
        factory=f"from fastmcp import FastMCP\n{factory}",
        one="from factory import create\ncreate().run()\n",
        two="from factory import create\ncreate().run('http')\n",
    )
    assert list(document_of(run("grade", ".", "--format", "json", cwd=tmp_path), "grade")["tokens"]["tools"]) == [
        "find"
    ]


def test_servers_that_share_tools_both_serve_them(tmp_path: Path) -> None:
    start = "from fastmcp import FastMCP\nfrom shared import register\nmcp = FastMCP('x')\nregister(mcp)\n"
    put(
        tmp_path,
        shared="def register(mcp):\n    @mcp.tool\n    def common(query: str) -> str: ...\n",
        a__server=f"{start}@mcp.tool\ndef own_a() -> str: ...\nmcp.run()\n",
        b__server=f"{start}@mcp.tool\ndef own_b() -> str: ...\nmcp.run()\n",
    )
    targets = document_of(run("grade", "--format", "json", cwd=tmp_path), "grade")["targets"]
    assert [sorted(each["tokens"]["tools"]) for each in targets] == [["common", "own_a"], ["common", "own_b"]]


def test_items_of_an_unknown_server_belong_to_the_nearest(tmp_path: Path) -> None:
    put(
        tmp_path,
        a__server=GOOD.format(name="books"),
        b__server=f"from extra import register\nHOOKS = [register]\n{GOOD.format(name='shelves')}",
        b__extra="def register(server: 'FastMCP'):\n    @server.tool\n    def more(query: str) -> str: ...\n",
    )
    targets = document_of(run("grade", "--format", "json", cwd=tmp_path), "grade")["targets"]
    assert [sorted(each["tokens"]["tools"]) for each in targets] == [["find_books"], ["find_shelves", "more"]]


def test_a_comment_counts_for_the_server_that_it_is_about(tmp_path: Path) -> None:
    ignored = POOR.replace("def find(query): ...", "def find(query): ...  # mcproof: ignore[prop-no-description]")
    put(
        tmp_path,
        both=ignored.replace("mcp.run()\n", "") + POOR.replace("mcp", "app").replace("app.server", "mcp.server"),
    )
    done = run("lint", "--select", "prop-no-description", "--format", "json", cwd=tmp_path)
    assert [len(each["findings"]) for each in document_of(done, "lint")["targets"]] == [0, 1]
    assert done.stderr == ""


def test_a_file_that_cannot_be_parsed_is_reported_once(tmp_path: Path) -> None:
    put(tmp_path, a__server=POOR, b__server=POOR, b__broken="import mcp\ndef (:\n@mcp.tool()\n")
    targets = document_of(run("lint", "--format", "json", cwd=tmp_path), "lint")["targets"]
    broken = [[finding["rule"] for finding in each["findings"] if finding["file"] == "b/broken.py"] for each in targets]
    assert [len(each) for each in broken] == [0, 1]


def test_capture_still_takes_a_folder_as_one_catalog(tmp_path: Path) -> None:
    put(tmp_path, a=GOOD.format(name="books"), b=POOR)
    names = [tool["name"] for tool in json.loads(run("capture", ".", cwd=tmp_path).stdout)["tools"]]
    assert names == ["find_books", "find"]


# --- snapshots ----------------------------------------------------------------------------------------------------


def test_snapshots_are_found_at_all_levels(tmp_path: Path) -> None:
    deep = tmp_path / "a" / "b" / "c"
    deep.mkdir(parents=True)
    write(deep / "tools.json", [CLEAN_TOOL])
    write(tmp_path / "top.json", [CLEAN_TOOL])
    assert list(grades(tmp_path, ".")) == ["top.json", "a/b/c/tools.json"]


def test_source_and_snapshots_in_one_folder_are_both_read(tmp_path: Path) -> None:
    put(tmp_path, server=GOOD.format(name="books"))
    write(tmp_path / "released.json", {"tools": [LOOSE_TOOL]})
    assert grades(tmp_path, ".") == {".": "A", "released.json": "A"}


def test_source_without_a_server_does_not_fail_the_snapshots_beside_it(tmp_path: Path) -> None:
    put(tmp_path, client="def describe(tool):\n    return tool(1).mcp\n")
    assert "nothing to check: found no tool" in fails("lint", cwd=tmp_path)
    write(tmp_path / "tools.json", [CLEAN_TOOL])
    done = run("lint", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    "folder", ["node_modules/x", ".venv/lib", "venv", "env", "vendor/y", "third_party", ".git", "lib/site-packages/z"]
)
def test_folders_of_others_are_not_looked_into(tmp_path: Path, folder: str) -> None:
    put(tmp_path, server=GOOD.format(name="books"))
    (tmp_path / folder).mkdir(parents=True)
    write(tmp_path / folder / "tools.json", [LOOSE_TOOL])
    (tmp_path / folder / "other.py").write_text(POOR)
    done = run("grade", ".", "--format", "json", cwd=tmp_path)
    assert list(document_of(done, "grade")["tokens"]["tools"]) == ["find_books"]
    assert done.stderr == ""


def test_an_environment_is_recognised_by_its_file(tmp_path: Path) -> None:
    write(tmp_path / "tools.json", [CLEAN_TOOL])
    (tmp_path / "py312").mkdir()
    (tmp_path / "py312" / "pyvenv.cfg").write_text("")
    write(tmp_path / "py312" / "tools.json", [LOOSE_TOOL])
    assert list(grades(tmp_path, ".")) == ["tools.json"]


def test_a_linked_folder_is_not_followed_for_snapshots(tmp_path: Path) -> None:
    outside, inside = tmp_path / "outside", tmp_path / "inside"
    outside.mkdir()
    inside.mkdir()
    write(outside / "private.json", [CLEAN_TOOL])
    write(inside / "tools.json", [CLEAN_TOOL])
    (inside / "link").symlink_to(outside)
    (inside / "loop").symlink_to(inside)
    assert list(grades(inside, ".")) == ["tools.json"]


@pytest.mark.parametrize(
    "other",
    [
        [{"name": "Bob", "age": 3}],
        {"tools": ["hammer", "saw"]},
        {"tools": [{"type": "function", "function": {"name": "x"}}]},
        {"compilerOptions": {}},
        [1, 2],
        {"resources": {"cpu": 1}, "tools": {}},
    ],
    ids=str,
)
def test_data_beside_source_is_not_a_catalog(tmp_path: Path, other: object) -> None:
    put(tmp_path, server=GOOD.format(name="books"))
    write(tmp_path / "data.json", other)
    done = run("lint", "--format", "json", cwd=tmp_path)
    assert document_of(done, "lint")["target"] == "."  # one target, as without the data
    assert done.stderr == "mcproof: skipped data.json (not a catalog)\n"


def test_a_broken_snapshot_beside_source_is_an_error(tmp_path: Path) -> None:
    put(tmp_path, server=GOOD.format(name="books"))
    (tmp_path / "tools.json").write_text('{"tools": [{"name": "x", "inputSchema":')
    (tmp_path / "tsconfig.json").write_text('{"compilerOptions": {} // a comment\n}')
    done = run("lint", cwd=tmp_path)
    assert done.returncode == 2
    assert "tools.json:1:" in done.stderr
    assert "tsconfig.json:" not in done.stderr


def test_skipped_files_are_reported_in_one_line(tmp_path: Path) -> None:
    put(tmp_path, server=GOOD.format(name="books"))
    for number in range(6):
        write(tmp_path / f"data{number}.json", {})
    done = run("lint", cwd=tmp_path)
    assert (
        done.stderr == "mcproof: skipped 6 JSON files (not catalogs): data0.json, data1.json, data2.json and 3 more\n"
    )
    assert "mcproof: skipped data5.json\n" in run("lint", "--verbose", cwd=tmp_path).stderr
    assert run("lint", "--quiet", cwd=tmp_path).stderr == ""


# --- what is left out ---------------------------------------------------------------------------------------------

PACKAGE = {"bin": {"x": "dist/index.js"}, "dependencies": {"@modelcontextprotocol/sdk": "^1.0.0"}}


def test_servers_in_typescript_are_named_with_their_commands(tmp_path: Path) -> None:
    put(tmp_path, server=GOOD.format(name="books"))
    (tmp_path / "packages" / "web").mkdir(parents=True)
    write(tmp_path / "packages" / "web" / "package.json", PACKAGE)
    done = run("grade", "--format", "json", cwd=tmp_path)
    (notice,) = document_of(done, "grade")["notices"]
    assert (notice["kind"], notice["file"], notice["level"]) == ("not-checked", "packages/web", "note")
    assert "`mcproof grade -- node packages/web/dist/index.js`" in notice["message"]
    assert done.returncode == 0


def test_a_package_without_the_sdk_is_not_a_server(tmp_path: Path) -> None:
    put(tmp_path, server=GOOD.format(name="books"))
    write(tmp_path / "package.json", {"bin": "dist/index.js", "dependencies": {"react": "^19"}})
    assert "source" not in run("lint", cwd=tmp_path).stderr


@pytest.mark.parametrize("has_package", [True, False])
def test_a_folder_of_typescript_has_nothing_to_check(tmp_path: Path, has_package: bool) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "index.ts").write_text('import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js"\n')
    if has_package:
        write(tmp_path / "package.json", PACKAGE)
    said = fails("lint", cwd=tmp_path)
    assert "nothing to check: nothing that this server registers is found in its source" in said
    assert f"`mcproof lint -- node {'dist' if has_package else 'build'}/index.js`" in said


@pytest.mark.parametrize("command", ["lint", "grade", "compat", "scan"])
@pytest.mark.parametrize("suffix", ["ts", "js"])
def test_a_folder_below_a_project_whose_tools_are_read_is_not_left_out(
    tmp_path: Path, command: str, suffix: str
) -> None:
    write(tmp_path / "package.json", PACKAGE)
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / f"a.{suffix}").write_text(
        'import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js"\n'
    )
    (tmp_path / "src" / f"index.{suffix}").write_text(
        'import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";\n'
        'const server = new McpServer({ name: "notes", version: "1.0.0" });\n'
        'server.registerTool("count_notes", { description: "Counts the notes." }, async () => ({ content: [] }));\n'
    )
    done = run(command, "src", "--format", "json", cwd=tmp_path)
    assert "notices" not in document_of(done, command)
    assert "start the server instead" not in done.stderr


def test_a_client_configuration_is_named_and_nothing_is_started(tmp_path: Path) -> None:
    put(tmp_path, server=GOOD.format(name="books"))
    marker = tmp_path / "started"
    write(tmp_path / ".mcp.json", {"mcpServers": {"local": {"command": "touch", "args": [str(marker)]}}})
    said = run("lint", cwd=tmp_path).stderr
    assert "a client configuration of local; `mcproof lint '.mcp.json#local'` starts and checks one" in said
    assert not marker.exists()
