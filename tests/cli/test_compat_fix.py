"""`mcproof compat --fix`: what is printed, written and left."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from .running import run

if TYPE_CHECKING:
    from pathlib import Path

PING = {"name": "ping", "description": "Ping.", "inputSchema": {"type": "object"}}
TREE = {
    "name": "store",
    "description": "Store a tree.",
    "inputSchema": {"type": "object", "properties": {"left": {"$ref": "#"}, "name": {"type": ["string", "null"]}}},
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return write(tmp_path, PING, TREE)


def write(folder: Path, *tools: Any) -> Path:
    file = folder / "tools.json"
    file.write_text(json.dumps({"tools": tools}, indent=2), encoding="utf-8")
    return file


def test_the_fixed_catalog_is_printed_and_what_is_left_is_explained(file: Path) -> None:
    before = file.read_bytes()

    done = run("compat", str(file), "--fix")

    ping, tree = json.loads(done.stdout)["tools"]
    assert ping["inputSchema"] == {"type": "object", "properties": {}}
    assert tree["inputSchema"]["properties"]["name"] == {"type": "string"}
    assert done.returncode == 0, "what breaks in a client is an error only if the client is named"
    assert done.stderr == (
        f"{file}: fixed 2 findings; left for the author: CMP-030 1\n"
        "  CMP-030 not auto-fixable: the `$ref` is recursive (store)\n"
    )
    assert file.read_bytes() == before


def test_the_file_is_replaced_and_a_second_run_changes_nothing(tmp_path: Path) -> None:
    file = write(tmp_path, PING)

    first = run("compat", str(file), "--fix", "--write")
    once = file.read_bytes()
    second = run("compat", str(file), "--fix", "--write")

    assert (first.returncode, first.stdout) == (0, "")
    assert first.stderr == f"{file}: fixed 1 finding; nothing is left\n"
    assert json.loads(once)["tools"][0]["inputSchema"] == {"type": "object", "properties": {}}
    assert second.stderr == f"{file}: fixed 0 findings; nothing is left\n"
    assert file.read_bytes() == once


def test_a_diff_shows_the_edits_and_every_finding_counts(tmp_path: Path) -> None:
    file = write(tmp_path, PING)
    before = file.read_bytes()

    done = run("compat", str(file), "--diff", "--fail-on", "warning")

    assert [line for line in done.stdout.splitlines() if line[0] in "+-"][2:] == [
        '-        "type": "object"',
        '+        "type": "object",',
        '+        "properties": {}',
    ]
    assert done.stderr.startswith(f"{file}: would fix 1 finding; nothing is left\n")
    assert done.returncode == 1
    assert file.read_bytes() == before


def test_named_clients_get_the_edits_they_need(file: Path) -> None:
    done = run("compat", str(file), "--fix", "--for", "cursor")

    ping, tree = json.loads(done.stdout)["tools"]
    assert ping == PING
    assert tree["inputSchema"]["properties"]["name"] == {"type": "string"}
    assert done.stderr == f"{file}: fixed 1 finding; nothing is left\n"


def test_an_ignored_finding_is_not_fixed(file: Path) -> None:
    (file.parent / "mcproof.toml").write_text('ignore = ["CMP-023"]\n', encoding="utf-8")

    done = run("compat", str(file), "--fix")

    ping, tree = json.loads(done.stdout)["tools"]
    assert ping["inputSchema"]["properties"] == {}
    assert tree == TREE


def test_a_finding_ignored_for_one_tool_is_fixed_in_the_others(tmp_path: Path) -> None:
    file = write(tmp_path, PING, {**PING, "name": "pong"})
    ignore = '[[ignore-for]]\ntool = "pong"\nrules = ["CMP-012"]\nreason = "frozen"\n'
    (tmp_path / "mcproof.toml").write_text(ignore, encoding="utf-8")

    done = run("compat", str(file), "--fix")

    ping, pong = json.loads(done.stdout)["tools"]
    assert "properties" in ping["inputSchema"]
    assert "properties" not in pong["inputSchema"]
    assert done.stderr.endswith(f"{file}: fixed 1 finding; nothing is left\n")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--for", "cursor"], "--for needs --fix or --diff; --client chooses the clients of a report"),
        (["--fix", "--for", "cursr"], "unknown client `cursr`"),
        (["--fix", "--client", "cursor"], "--client, --require and --min-clients are about the report"),
        (["--fix", "--require", "cursor"], "--client, --require and --min-clients are about the report"),
        (["--write"], "--write needs --fix"),
    ],
)
def test_options_that_contradict_each_other_are_reported(file: Path, options: list[str], message: str) -> None:
    done = run("compat", str(file), *options)

    assert done.returncode == 2
    assert message in done.stderr


def test_source_is_not_edited(tmp_path: Path) -> None:
    source = tmp_path / "server.py"
    source.write_text(
        "from mcp.server.fastmcp import FastMCP\nmcp = FastMCP('x')\n@mcp.tool()\ndef one() -> str:\n    'One.'\n",
        encoding="utf-8",
    )

    done = run("compat", str(source), "--fix")

    assert done.returncode == 2
    assert "`compat --fix` edits snapshots, not source" in done.stderr


def test_a_client_of_the_configuration_is_fixed_for(tmp_path: Path) -> None:
    constant = {"type": "object", "properties": {"kind": {"type": "string", "const": "a"}, "b": {"enum": ["x"]}}}
    file = write(tmp_path, {**PING, "inputSchema": constant})
    (tmp_path / "mcproof.toml").write_text(
        '[client-profiles.our-gateway]\nname = "Our gateway"\n'
        '[[client-profiles.our-gateway.constraints]]\nid = "no-const"\nrule = "CMP-031"\nkind = "input.forbids"\n'
        'params = {keywords = ["const"]}\neffect = "tool_dropped"\n',
        encoding="utf-8",
    )

    done = run("compat", str(file), "--fix", "--for", "our-gateway")

    [tool] = json.loads(done.stdout)["tools"]
    assert tool["inputSchema"]["properties"]["kind"] == {"type": "string", "enum": ["a"]}
