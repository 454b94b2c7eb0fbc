"""Hostile arguments: every vulnerable tool is found by its effect, and no hardened or echoing one."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mcproof.client.capture import capture_session
from mcproof.client.connect import ConnectOptions
from mcproof.client.endpoints import CommandEndpoint, UrlEndpoint
from mcproof.client.session import Session
from mcproof.core.observations.probes import HOSTILE_PROBES
from mcproof.probing.attacks.cases import FAMILIES, ServerFolders, ToolAttacks, folders_of
from mcproof.probing.attacks.run import AttackRun
from mcproof.probing.attacks.traps import Traps
from mcproof.probing.calls import CallPlan, run_within
from mcproof.probing.permission import Permission
from mcproof.targets.snapshots import read_snapshot

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.core.catalog.model import Tool
    from mcproof.probing.attacks.run import HostileFailure, ToolAttacker

SERVER = Path(__file__).parents[1] / "servers" / "hostile.py"
TEXT = {"type": "string"}


def command(folder: Path, *tools: str) -> tuple[str, ...]:
    return (sys.executable, "-I", "-S", str(SERVER), str(folder), *tools)


def attacked(folder: Path, *tools: str) -> dict[str, ToolAttacker]:
    """Attack the tools of the server, and return what was seen of each."""

    async def attack() -> list[ToolAttacker]:
        server = CommandEndpoint(command(folder, *tools), {}, str(folder.parent))
        session = Session(server, ConnectOptions(), 10.0)
        try:
            capture = await capture_session(session)
            listed = read_snapshot(capture.text.encode(), "hostile").tools
            run = AttackRun(session, CallPlan([Permission(tool, True, "") for tool in listed], {}, 10.0))
            await run_within(run)
        finally:
            await session.close()
        assert run.unexplained == []
        return run.attackers

    return {each.tool.name: each for each in asyncio.run(attack())}


@pytest.fixture(scope="module")
def all_attacked(tmp_path_factory: pytest.TempPathFactory) -> dict[str, ToolAttacker]:
    folder = tmp_path_factory.mktemp("served") / "data"
    folder.mkdir()
    (folder / "a").write_text("a book\n", encoding="utf-8")
    found = attacked(folder)
    assert sorted(path.name for path in folder.parent.iterdir()) == ["data"], "every trap is removed"
    return found


VULNERABLE = {
    "read_joined": ("path_traversal", "<marker>"),
    "read_concatenated": ("path_traversal", f"{'/'.join(['..'] * 24)}<marker>"),
    "get_topic": ("path_traversal", f"{'/'.join(['..'] * 8)}<marker>"),
    "read_with_prefix": ("path_traversal", "<beside folder 1>"),
    "read_with_lexical_prefix": ("path_traversal", f"<folder 1>/{'/'.join(['..'] * 24)}<marker>"),
    "read_without_dots": ("path_traversal", f"{'....//' * 23}..../<marker>"),
    "read_decoded": ("path_traversal", f"{'%2e%2e%2f' * 23}%2e%2e<encoded marker>"),
    "read_uri": ("path_traversal", "file://<marker>"),
    "list_folder": ("path_traversal", "<marker folder>"),
    "read_several": ("path_traversal", "<marker>"),
    "count_plain": ("command_injection", "a; echo"),
    "count_quoted": ("command_injection", "a'; echo"),
    "count_double_quoted": ("command_injection", "a; echo"),
    "count_blind": ("command_injection", "a; echo"),
    "calculate_evaluated": ("command_injection", "__import__('os')"),
    "find_formatted": ("sql_injection", "a'"),
    "sql_find_as_success": ("sql_injection", "a'"),
    "find_sorted": ("sql_injection", "a'"),
    "render_evaluated": ("template_injection", "mcp{{41*"),
    "fetch_any": ("request_forgery", "http://<listener>/<token>"),
    "fetch_but_localhost": ("request_forgery", "http://127.1:<listener port>/<token>"),
    "check_host": ("request_forgery", "<listener>/<token>"),
}


FOUND_BY_A_COMMAND = ("read_note", "read_manual", "read_ranges")
"""Tools whose valid arguments are learned first: `test_security.py` attacks them."""


@pytest.mark.slow
@pytest.mark.parametrize("name", VULNERABLE)
def test_a_vulnerable_tool_is_found(all_attacked: dict[str, ToolAttacker], name: str) -> None:
    (failure,) = all_attacked[name].failures
    family, text = VULNERABLE[name]
    assert (failure.outcome, failure.case.family) == ("injection", family)
    assert failure.case.text.startswith(text)


@pytest.mark.slow
def test_no_other_tool_is_reported(all_attacked: dict[str, ToolAttacker]) -> None:
    known = {*VULNERABLE, *FOUND_BY_A_COMMAND}
    others = {name: each for name, each in all_attacked.items() if name not in known and "crash" not in name}
    assert len(others) >= 10
    assert all(name.endswith("_safely") for name in others)
    assert {name: each.failures for name, each in others.items() if each.failures} == {}
    assert all(sum(each.sent.values()) >= 8 for each in others.values())


@pytest.mark.slow
@pytest.mark.parametrize(("name", "text"), [("crash_on_nul", "a\0"), ("crash_on_nesting", "<nested lists>")])
def test_a_tool_that_crashes_is_found(all_attacked: dict[str, ToolAttacker], name: str, text: str) -> None:
    (failure,) = all_attacked[name].failures
    assert (failure.outcome, failure.case.text) == ("crash", text)


@pytest.mark.slow
def test_no_random_value_is_in_what_is_reported(
    all_attacked: dict[str, ToolAttacker], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("served_again") / "data"
    folder.mkdir()
    names = [name for name in VULNERABLE if name != "read_with_lexical_prefix"]
    again = attacked(folder, *names)

    def shown(failure: HostileFailure) -> tuple[Any, ...]:
        return failure.case.arguments, failure.problem, failure.response, failure.stored(CallPlan([], {}, 1.0))

    for name in names:
        assert list(map(shown, again[name].failures)) == list(map(shown, all_attacked[name].failures))


def test_the_families_are_those_of_the_reports() -> None:
    assert FAMILIES == HOSTILE_PROBES


# --- traps ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def outside(tmp_path: Path) -> Iterator[ServerFolders]:
    folder = tmp_path / "served" / "data"
    folder.mkdir(parents=True)
    (tmp_path / "outside").mkdir()
    yield ServerFolders(True, (str(folder),), str(tmp_path / "outside"))
    assert list((tmp_path / "outside").iterdir()) == []
    assert [path.name for path in folder.parent.iterdir()] == ["data"]


def test_traps_are_removed_after_an_interrupt(outside: ServerFolders) -> None:
    async def interrupted() -> None:
        async with Traps(outside) as traps:
            path = traps.filled("<beside folder 1>", "")
            assert Path(path).read_text(encoding="utf-8").startswith("marker: mcproof-marker-")
            raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(interrupted())


def test_what_was_filled_in_is_hidden_again(outside: ServerFolders) -> None:
    async def check() -> None:
        async with Traps(outside) as traps:
            token = traps.new_token()
            text = "<marker folder> <listener port> <token>"
            filled = traps.filled({"a": [text]}, token)
            assert filled != {"a": [text]}
            assert traps.hidden(filled["a"][0]) == text
            assert traps.filled("<value> <b>", token) == "<value> <b>"

    asyncio.run(check())


def test_without_a_place_for_the_marker_no_path_is_sent() -> None:
    async def check() -> None:
        async with Traps(ServerFolders(True, (), None)) as traps:
            with pytest.raises(LookupError):
                traps.filled("<marker>", "")

    asyncio.run(check())


# --- folders -------------------------------------------------------------------------------------------------------


def test_the_folders_of_a_command_are_known(tmp_path: Path) -> None:
    for name in ("served", "from_env", "work", "work/docs", "work/src", "work/.git"):
        (tmp_path / name).mkdir()
    words = ("python", "server.py", f"--root={tmp_path / 'served'}")
    server = CommandEndpoint(words, {"DOCS": str(tmp_path / "from_env")}, str(tmp_path / "work"))
    found = folders_of(server)
    assert found.is_local
    assert [os.path.relpath(each, tmp_path) for each in found.folders] == ["served", "from_env", "work", "work/docs"]
    assert found.outside is not None


def test_the_marker_is_not_in_a_folder_that_the_server_serves() -> None:
    places = {folders_of(CommandEndpoint(("server", place), {})).outside for place in ("/var/tmp", "/dev/shm")}  # noqa: S108
    assert len(places) == 2
    assert folders_of(CommandEndpoint(("server", "/"), {})).outside is None
    assert folders_of(CommandEndpoint(("server", "/var", "/dev", tempfile.gettempdir()), {})).outside is None


@pytest.mark.parametrize(
    ("url", "is_local"),
    [("http://127.0.0.1:1/mcp", True), ("http://localhost/mcp", True), ("https://example.com/mcp", False)],
)
def test_only_servers_on_this_machine_are_local(url: str, is_local: bool) -> None:
    found = folders_of(UrlEndpoint(url, {}))
    assert (found.is_local, found.outside is not None) == (is_local, is_local)


# --- cases ---------------------------------------------------------------------------------------------------------


def tool(**properties: Any) -> Tool:
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    document = json.dumps({"tools": [{"name": "read", "inputSchema": schema}]})
    return read_snapshot(document.encode(), "tools.json").tools[0]


def filled(value: Any) -> Any:
    return json.loads(json.dumps(value).replace("<listener>", "127.0.0.1:40000").replace("<token>", "x"))


def texts(argument: dict[str, Any], value: Any = "a", name: str = "topic") -> dict[str, list[str]]:
    """The texts for one argument, by family."""
    attacks = ToolAttacks(tool(**{name: argument}), {name: value}, filled, 0)
    found: dict[str, list[str]] = {}
    for group in attacks.cases():
        found.setdefault(group[0].family, []).extend(case.text for case in group)
    return found


def test_only_what_the_schema_allows_is_sent() -> None:
    assert texts({"enum": ["a", "b"]}) == {}
    assert texts({"type": "integer"}, 1) == {}
    assert texts({"type": "string", "pattern": "^[a-z]{1,9}$"}) == {}
    short = texts({"type": "string", "maxLength": 4})
    assert short == {"sql_injection": ["a'", 'a"', "a')", "a`", "a\\"], "hostile_text": ["a\0"]}


def test_a_long_chain_is_shortened_to_what_the_schema_allows() -> None:
    paths = texts({"type": "string", "maxLength": 32})["path_traversal"]
    assert f"{'/'.join(['..'] * 8)}<marker>" in paths
    assert not any("../" * 12 in path for path in paths)


def test_more_paths_are_sent_to_an_argument_that_names_a_file() -> None:
    assert len(texts(TEXT, name="path")["path_traversal"]) > 2 * len(texts(TEXT)["path_traversal"])


def test_the_extension_and_the_folder_of_a_valid_value_are_kept() -> None:
    paths = texts(TEXT, "docs/a.rst")["path_traversal"]
    assert "<marker>.rst" in paths
    assert f"docs/{'/'.join(['..'] * 24)}<marker>.rst" in paths


def test_urls_are_sent_only_to_arguments_that_take_one() -> None:
    assert "request_forgery" not in texts(TEXT)
    assert "request_forgery" in texts(TEXT, name="webhook_url")
    assert "request_forgery" in texts({"type": "string", "description": "The URL of a page."})
    assert "request_forgery" in texts({"type": "string", "format": "uri"}, "https://example.com/")


@pytest.mark.parametrize("argument", [{**TEXT, "description": "A SQL query"}, {**TEXT, "examples": ["SELECT 1"]}])
def test_sql_on_purpose_is_not_attacked_with_quotes(argument: dict[str, Any]) -> None:
    value = argument.get("examples", ["a"])[0]
    assert "sql_injection" not in texts(argument, value)


def test_no_sql_attack_can_be_executed() -> None:
    """An odd number of quotes, and no separator, comment or keyword: the statement cannot be parsed."""
    for text in texts(TEXT)["sql_injection"]:
        added = text.removeprefix("a")
        assert sum(added.count(quote) for quote in "'\"`\\") == 1
        assert not set(added) - set("'\"`\\)")


def test_strings_inside_lists_and_objects_are_attacked() -> None:
    nested = {"type": "array", "items": {"type": "object", "properties": {"name": TEXT}}}
    attacks = ToolAttacks(tool(files=nested), {"files": [{"name": "a"}]}, filled, 0)
    (paths, *_) = attacks.cases()
    assert paths[0].arguments == {"files": [{"name": "<marker>"}]}
    assert paths[0].description == "`files[0].name` as an absolute path"


def test_a_bounded_number_of_arguments_is_attacked() -> None:
    names = [f"text{number}" for number in range(15)]
    attacks = ToolAttacks(tool(**dict.fromkeys(names, TEXT)), dict.fromkeys(names, "a"), filled, 0)
    attacked_names = {case.argument.path[0] for group in attacks.cases() for case in group}
    assert attacked_names == set(names[:12])
    assert attacks.left_out == 3
