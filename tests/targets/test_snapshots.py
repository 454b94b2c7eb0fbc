"""Every shape that a snapshot can have is read to the same catalog."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from mcproof.cli.main import main
from mcproof.core.errors import InputError
from mcproof.core.text.json_positions import resolve
from mcproof.targets.arguments import Input, LiveOptions, find_inputs, is_single, read_bytes
from mcproof.targets.snapshots import NoCatalogError, read_snapshot
from modules import existing

if TYPE_CHECKING:
    from pathlib import Path

    from mcproof.core.catalog.model import Catalog

TOOLS: list[Any] = [
    {"name": "search", "description": "Search the index.", "inputSchema": {"type": "object", "properties": {}}},
    {"name": "fetch", "title": "Fetch", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}},
    "no tool at all",
]
INFO = {"name": "library", "version": "1.2.3"}
META = "io.modelcontextprotocol/serverInfo"

SHAPES: dict[str, Any] = {
    "the result object": {"tools": TOOLS},
    "the result object with other members": {"tools": TOOLS, "_meta": {}, "nextCursor": None},
    "a bare list": TOOLS,
    "a JSON-RPC answer around the result object": {"jsonrpc": "2.0", "id": 1, "result": {"tools": TOOLS}},
    "a JSON-RPC answer around a bare list": {"jsonrpc": "2.0", "id": "x", "result": TOOLS},
    "an answer without its version": {"id": 1, "result": {"tools": TOOLS}},
    "a capture": {
        "server": {"package": "library", "version": "1.2.3", "command": ["npx", "library"]},
        "initialize": {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": INFO},
        "tools": TOOLS,
        "resources": [],
        "resourceTemplates": [],
        "prompts": [],
    },
    "a capture of the stateless era": {"server": {}, "discover": {"_meta": {META: INFO}}, "tools": TOOLS},
    "a capture with the handshake only": {"initialize": {"serverInfo": INFO}, "tools": TOOLS},
    "a capture with nothing about the handshake": {"server": {"url": "https://host/mcp"}, "tools": TOOLS},
}


def read(value: Any) -> Catalog:
    return read_snapshot(json.dumps(value).encode(), "snapshot.json")


def rules(value: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """The ids of all default rules that fire on a snapshot."""
    path = tmp_path / "snapshot.json"
    path.write_text(json.dumps(value))
    assert main(["lint", str(path), "--format", "json"]) in (0, 1)
    return [finding["rule"] for finding in json.loads(capsys.readouterr().out)["findings"]]


@pytest.mark.parametrize("shape", list(SHAPES))
def test_every_shape_is_read_to_the_same_tools(shape: str) -> None:
    catalog = read(SHAPES[shape])
    assert [tool.raw for tool in catalog.tools] == TOOLS
    assert [tool.name for tool in catalog.tools] == ["search", "fetch", ""]
    assert (catalog.resources, catalog.templates, catalog.prompts) == ([], [], [])


@pytest.mark.parametrize("shape", list(SHAPES))
def test_every_tool_knows_where_it_stands(shape: str) -> None:
    for tool in read(SHAPES[shape]).tools:
        assert resolve(SHAPES[shape], tool.pointer) == tool.raw


@pytest.mark.parametrize("shape", list(SHAPES))
def test_every_shape_gives_the_same_findings_about_tools(
    shape: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    by_revision = ("server-", "SPEC-")  # about the server, or by the revision that a shape names
    found = [rule for rule in rules(SHAPES[shape], tmp_path, capsys) if not rule.startswith(by_revision)]
    assert found == [rule for rule in rules(TOOLS, tmp_path, capsys) if not rule.startswith(by_revision)]
    assert "CAT-001" in found


def test_a_capture_is_read_with_all_it_has() -> None:
    capture = {
        "initialize": {},
        "tools": [{"name": "t"}],
        "resources": [{"uri": "r://1"}, {"name": "r2"}],
        "resourceTemplates": [{"uriTemplate": "r://{id}"}],
        "prompts": [{"name": "p"}],
    }
    catalog = read(capture)
    items = [*catalog.tools, *catalog.resources, *catalog.templates, *catalog.prompts]
    assert [item.subject for item in items] == [
        "tool:t",
        "resource:r://1",
        "resource:r2",
        "template:r://{id}",
        "prompt:p",
    ]
    assert [resolve(capture, item.pointer) for item in items] == [item.raw for item in items]


def test_a_capture_of_prompts_alone_is_a_catalog() -> None:
    catalog = read({"prompts": [{"name": "p", "description": "Say something."}]})
    assert catalog.tools == []
    assert not catalog.is_empty


# --- the server ---------------------------------------------------------------------------------------------------


def test_server_info_comes_from_the_handshake() -> None:
    catalog = read(SHAPES["a capture"])
    assert catalog.server_info == INFO
    assert catalog.server_info_pointer == "/initialize/serverInfo"


def test_server_info_comes_from_the_discovery_of_the_stateless_era() -> None:
    catalog = read(SHAPES["a capture of the stateless era"])
    assert catalog.server_info == INFO
    assert resolve(SHAPES["a capture of the stateless era"], catalog.server_info_pointer) == INFO


def test_server_info_of_the_discovery_serves_where_the_handshake_has_none() -> None:
    catalog = read({"initialize": {}, "discover": {"_meta": {META: INFO}}, "tools": TOOLS})
    assert catalog.server_info == INFO


@pytest.mark.parametrize(
    "shape",
    [shape for shape in SHAPES if not shape.startswith("a capture") or "stateless" in shape or shape == "a capture"],
)
def test_a_named_server_and_a_list_that_names_none_lack_nothing(
    shape: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert not [rule for rule in rules(SHAPES[shape], tmp_path, capsys) if rule.startswith("server-")]


@pytest.mark.parametrize(
    ("about", "missing"),
    [
        ({"initialize": {}}, ["server-no-name", "server-no-version"]),
        ({"initialize": {"serverInfo": {}}}, ["server-no-name", "server-no-version"]),
        ({"initialize": {"serverInfo": None}}, ["server-no-name", "server-no-version"]),
        ({"initialize": {"serverInfo": {"name": "", "version": ""}}}, ["server-no-name", "server-no-version"]),
        ({"initialize": {"serverInfo": {"name": "x"}}}, ["server-no-version"]),
        ({"initialize": {"serverInfo": {"version": "1"}}}, ["server-no-name"]),
        ({"discover": {}}, ["server-no-name", "server-no-version"]),
        ({"discover": {"_meta": {META: {"name": "x"}}}}, ["server-no-version"]),
        ({"discover": {"_meta": {META: INFO}}}, []),
        ({"server": {"package": "x", "version": "1"}}, ["server-no-name", "server-no-version"]),
    ],
    ids=lambda each: json.dumps(each) if isinstance(each, dict) else "",
)
def test_a_capture_whose_server_does_not_introduce_itself_is_told(
    about: dict[str, Any], missing: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = rules({**about, "tools": TOOLS}, tmp_path, capsys)
    assert [rule for rule in found if rule.startswith("server-")] == missing


@pytest.mark.parametrize("shape", ["resources", "prompts", "resourceTemplates"])
def test_lists_beside_the_tools_do_not_speak_of_the_server(
    shape: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = rules({"tools": TOOLS, shape: []}, tmp_path, capsys)
    assert not [rule for rule in found if rule.startswith("server-")]


# --- JSON-RPC -----------------------------------------------------------------------------------------------------


def test_a_json_rpc_error_is_told_in_the_servers_words() -> None:
    answer = {"jsonrpc": "2.0", "id": 1, "error": {"code": -32601, "message": "Method not found"}}
    with pytest.raises(InputError, match="Method not found") as caught:
        read(answer)
    assert caught.value.file == "snapshot.json"
    assert not isinstance(caught.value, NoCatalogError)


def test_a_json_rpc_error_without_words_is_told_by_its_code() -> None:
    with pytest.raises(InputError, match="-32601"):
        read({"jsonrpc": "2.0", "id": 1, "error": {"code": -32601}})


@pytest.mark.parametrize("error", [None, "x", [], {}], ids=str)
def test_a_malformed_json_rpc_error_is_refused_all_the_same(error: Any) -> None:
    with pytest.raises(InputError):
        read({"jsonrpc": "2.0", "id": 1, "error": error})


@pytest.mark.parametrize("result", [None, 1, "x", {}, {"content": []}, [1]], ids=str)
def test_a_json_rpc_answer_to_something_else_is_no_catalog(result: Any) -> None:
    with pytest.raises(NoCatalogError, match="not a catalog"):
        read({"jsonrpc": "2.0", "id": 1, "result": result})


def test_a_list_beside_a_result_is_what_counts() -> None:
    assert read({"result": "ok", "tools": TOOLS}).tools[0].name == "search"


# --- client configs -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", ["mcpServers", "servers"])
def test_a_client_config_is_listed_and_nothing_is_started(
    key: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    marker = tmp_path / "started"
    path = tmp_path / "mcp.json"
    path.write_text(
        json.dumps({key: {"zeta": {"command": "touch", "args": [str(marker)]}, "alpha": {"url": "http://x"}}})
    )
    for command in ("lint", "schema-lint", "grade"):
        assert main([command, str(path)]) == 2
        captured = capsys.readouterr()
        assert captured.out == ""
        assert len(captured.err.splitlines()) == 1
        assert "alpha, zeta" in captured.err
        assert "nothing was started" in captured.err
    assert not marker.exists()


# --- pages --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    [
        {"tools": TOOLS, "nextCursor": "page-2"},
        {"jsonrpc": "2.0", "id": 1, "result": {"tools": TOOLS, "nextCursor": "page-2"}},
        {"initialize": {"serverInfo": INFO}, "tools": TOOLS, "nextCursor": "page-2"},
    ],
    ids=["result", "answer", "capture"],
)
def test_one_page_of_several_is_reported(value: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert read(value).has_more
    assert rules(value, tmp_path, capsys).count("CAT-009") == 1


@pytest.mark.parametrize("cursor", [None, ""])
def test_a_cursor_that_leads_nowhere_is_no_page(
    cursor: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "CAT-009" not in rules({"tools": TOOLS, "nextCursor": cursor}, tmp_path, capsys)


# --- what TARGET stands for ---------------------------------------------------------------------------------------


def test_a_folder_gives_its_json_files_by_name_then_those_below(tmp_path: Path) -> None:
    for name in ("b.json", "a.json", "notes.txt", "a.jsonl", ".hidden.json"):
        (tmp_path / name).write_text("{}")
    (tmp_path / "c.json").mkdir()
    (tmp_path / "c.json" / "below.json").write_text("{}")
    inputs = find_inputs([str(tmp_path)], LiveOptions())
    expected = [".hidden.json", "a.json", "b.json", "c.json/below.json"]
    assert [each.name for each in inputs] == [str(tmp_path / name) for name in expected]
    assert all(each.folder == str(tmp_path) for each in inputs)


def test_an_input_keeps_the_place_where_it_was_named_first(tmp_path: Path) -> None:
    for name in ("a.json", "b.json"):
        (tmp_path / name).write_text("{}")
    first = str(tmp_path / "b.json")
    inputs = find_inputs([first, str(tmp_path)], LiveOptions())
    assert [each.name for each in inputs] == [first, str(tmp_path / "a.json")]
    assert [each.folder for each in inputs] == ["", str(tmp_path)]


def test_a_folder_of_snapshots_is_recognised_without_importing_discovery(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("{}")
    (tmp_path / "below" / ".hidden").mkdir(parents=True)
    (tmp_path / "below" / ".hidden" / "server.py").write_text("")
    code = (
        "import sys\nfrom mcproof.targets.arguments import LiveOptions, find_inputs\n"
        f"print(len(find_inputs(sys.argv[1:], LiveOptions())), {existing('mcproof.source.python')[0]!r} in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True, capture_output=True, text=True)
    assert done.stdout.split() == ["1", "False"]


def test_python_in_a_linked_folder_makes_a_folder_source(tmp_path: Path) -> None:
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "server.py").write_text("from fastmcp import FastMCP\napp = FastMCP('x')\n")
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "src").symlink_to(tmp_path / "code")
    (each,) = find_inputs([str(tmp_path / "project")], LiveOptions())
    assert each.is_source


def test_a_large_file_is_read_up_to_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "large.json"
    file.write_bytes(b"x" * 100_000)
    assert len(read_bytes(Input(str(file)))) == 100_000
    monkeypatch.setattr("mcproof.targets.arguments.LARGEST_INPUT", 99_999)
    with pytest.raises(InputError, match="larger than 99,999 bytes"):
        read_bytes(Input(str(file)))


def test_one_file_is_single_and_a_folder_or_two_files_are_not(tmp_path: Path) -> None:
    assert is_single(["x.json"])
    assert is_single(["-"])
    assert not is_single(["x.json", "y.json"])
    assert not is_single([str(tmp_path)])


def test_a_capture_without_a_list_of_tools_says_what_was_skipped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "capture.json"
    path.write_text('{"initialize": {"serverInfo": {"name": "x", "version": "1"}}, "prompts": [{"name": "p"}]}')
    main(["lint", str(path)])
    skipped = capsys.readouterr().err.partition("no list of tools, so skipped: ")[2]
    assert "tool_input_schemas_well_formed" in skipped
    path.write_text('{"initialize": {"serverInfo": {"name": "x", "version": "1"}}, "tools": []}')
    main(["lint", str(path)])
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("description", "is_plain"),
    [("Find\\ntickets.", True), ("Find t\u200bickets.", False), ("Find t\\u200bickets.", False), ("\\u001b[0m", False)],
)
def test_tools_are_plain_only_if_nothing_but_ascii_is_in_the_file(description: str, is_plain: bool) -> None:
    catalog = read_snapshot(f'[{{"name": "find", "description": "{description}"}}]'.encode(), "tools.json")
    assert [tool.is_plain for tool in catalog.tools] == [is_plain]
