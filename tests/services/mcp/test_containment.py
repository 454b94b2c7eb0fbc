"""What the server may read, and everything that it must not do."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import anyio
import mcp_types as types
import pytest
from pydantic import FileUrl

from cli.running import CLEAN_TOOL, LOOSE_TOOL, write
from mcproof.core.errors import InputError, McproofError
from mcproof.services.mcp.checks import (
    LARGEST_FILE,
    CheckJob,
    allowed_path,
    check,
    client_roots,
    default_roots,
    given_roots,
)
from mcproof.services.mcp.server import Checker

from .served import COMMAND, STATELESS, Agent, agent
from .test_tools import SOURCE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CATALOG = {"tools": [CLEAN_TOOL]}
SECRET = "the-secret-of-somebody-else"  # noqa: S105


class Place:
    """An allowed folder, next to things that are not allowed."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "root"
        self.outside = folder / "outside"
        self.root.mkdir()
        self.outside.mkdir()
        write(self.root / "tools.json", CATALOG)
        self.secret = write(self.outside / "tools.json", {"tools": [{**CLEAN_TOOL, "description": SECRET}]})


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    return Place(tmp_path_factory.mktemp("place"))


@pytest.fixture(scope="module")
def server(place: Place) -> Iterator[Agent]:
    with agent(place.root) as served:
        yield served


@pytest.mark.parametrize(
    "name",
    ["../outside/tools.json", "{outside}/tools.json", "/etc/passwd", "x/../../outside/tools.json", "../outside", "/"],
)
def test_a_path_out_of_the_root_is_refused_whether_or_not_it_exists(server: Agent, place: Place, name: str) -> None:
    asked = name.format(outside=place.outside)
    assert server.error("lint_catalog", target=asked).endswith(f": outside the allowed folders ({place.root})")
    asked += "-absent"
    assert server.error("lint_catalog", target=asked).endswith(f": outside the allowed folders ({place.root})")


def test_a_link_out_of_the_root_is_refused(server: Agent, place: Place) -> None:
    link, folder = place.root / "link.json", place.root / "linked"
    link.symlink_to(place.secret)
    folder.symlink_to(place.outside)
    try:
        for name in ("link.json", "linked/tools.json", "linked"):
            message = server.error("lint_catalog", target=name)
            assert message == f"{name}: outside the allowed folders ({place.root})"
    finally:
        link.unlink()
        folder.unlink()


def test_a_link_inside_the_root_is_followed(server: Agent, place: Place) -> None:
    link = place.root / "same.json"
    link.symlink_to(place.root / "tools.json")
    try:
        assert server.document("grade_catalog", target="same.json")["grade"] == "A"
    finally:
        link.unlink()


def test_links_in_a_folder_do_not_lead_out(server: Agent, place: Place) -> None:
    """The walk of a folder reads linked files; the confinement of the checker refuses those outside."""
    folder = place.root / "mixed"
    folder.mkdir()
    (folder / "stolen.json").symlink_to(place.secret)
    result = server.call("lint_catalog", target="mixed")
    assert SECRET not in str(result)
    assert result.is_error
    (place.outside / "helper.py").write_text(f'TEXT = "{SECRET}"\n', encoding="utf-8")
    (folder / "helper.py").symlink_to(place.outside / "helper.py")
    source = (
        "from mcp.server import MCPServer\nfrom helper import TEXT\n\nserver = MCPServer('x')\n\n\n"
        "@server.tool(description=TEXT)\ndef find(title: str) -> str:\n    return title\n"
    )
    (folder / "server.py").write_text(source, encoding="utf-8")
    result = server.call("fix_catalog", target="mixed/server.py", form="diff")
    assert SECRET not in str(result)
    assert SECRET not in str(server.call("lint_catalog", target="mixed/server.py", rulesets=["all"]))


def test_a_checkout_below_the_root_is_read(server: Agent, place: Place) -> None:
    checkout = place.root / "checkout"
    (checkout / ".git").mkdir(parents=True)
    (checkout / "src").mkdir()
    (checkout / "src" / "server.py").write_text(SOURCE, encoding="utf-8")
    assert server.document("grade_catalog", target="checkout")["grade"]


def test_nothing_is_started_and_nothing_is_opened(server: Agent, place: Place) -> None:
    started = place.root / "started"
    command = {"command": sys.executable, "args": ["-c", f"open({str(started)!r}, 'w')"]}
    write(place.root / ".mcp.json", {"mcpServers": {"bad": command}})
    (place.root / "mcproof.toml").write_text(
        f"[targets]\n'named' = {{ command = [{sys.executable!r}, '-c', \"open({str(started)!r}, 'w')\"] }}\n"
        "'http://127.0.0.1:9/mcp' = 'http://127.0.0.1:9/mcp'\n",
        encoding="utf-8",
    )
    try:
        assert "starts no servers" in server.error("lint_catalog", target=".mcp.json#bad")
        assert "nothing was started" in server.error("lint_catalog", target=".mcp.json")
        assert "no such file" in server.error("lint_catalog", target="named")
        assert "opens no URLs" in server.error("lint_catalog", target="http://127.0.0.1:9/mcp")
        assert "no such file" in server.error("lint_catalog", target="-")
        assert server.document("lint_catalog", target="tools.json")["findings"] == []
        assert not started.exists()
    finally:
        (place.root / ".mcp.json").unlink()
        (place.root / "mcproof.toml").unlink()


def test_source_is_not_executed(server: Agent, place: Place) -> None:
    marker = place.root / "executed"
    lines = [
        f"open({str(marker)!r}, 'w')",
        "from mcp.server import MCPServer",
        "server = MCPServer('x')",
        "@server.tool()",
        "def find(title: str) -> str:",
        "    'Find a book.'",
        "    return title",
    ]
    (place.root / "server.py").write_text("\n".join(lines) + "\n", encoding="utf-8")
    # Modules of the project must not shadow those that the checker imports.
    (place.root / "json.py").write_text(f"open({str(marker)!r}, 'w')\n", encoding="utf-8")
    assert server.document("grade_catalog", target="server.py")["tokens"]["tools"].keys() == {"find"}
    assert not marker.exists()
    (place.root / "json.py").unlink()


def test_modules_of_the_working_directory_are_not_imported(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("json.py", "mcproof.py", "sitecustomize.py"):
        (place.outside / name).write_text("raise SystemExit('imported')\n", encoding="utf-8")
    monkeypatch.chdir(place.outside)
    with agent(place.root) as served:
        assert served.document("grade_catalog", target="tools.json")["grade"] == "A"


def test_other_kinds_of_files_do_not_block(server: Agent, place: Place) -> None:
    pipe = place.root / "pipe.json"
    os.mkfifo(pipe)
    assert server.error("lint_catalog", target="pipe.json") == "pipe.json: neither a file nor a folder"
    with (place.root / "large.json").open("wb") as file:
        file.truncate(LARGEST_FILE + 1)
    assert server.error("lint_catalog", target="large.json") == f"large.json: larger than {LARGEST_FILE:,} bytes"
    (place.root / "large.json").unlink()
    pipe.unlink()


def test_names_that_no_file_has(server: Agent) -> None:
    assert server.error("lint_catalog", target="a\0b") == "neither a path nor the JSON text of a catalog"
    assert "file name too long" in server.error("lint_catalog", target="x" * 1_999)


def test_the_configuration_of_the_project_applies_and_none_above_it(tmp_path: Path) -> None:
    root = tmp_path / "root"
    inner = root / "inner"
    inner.mkdir(parents=True)
    write(inner / "tools.json", {"tools": [LOOSE_TOOL]})
    (tmp_path / "mcproof.toml").write_text("not a configuration\n", encoding="utf-8")
    with agent(root) as served:
        found = served.document("lint_catalog", target="inner/tools.json", rulesets=["strict"])["findings"]
        assert {finding["rule"] for finding in found} == {"SCH-001", "SCH-002"}
        (root / "mcproof.toml").write_text('ignore = ["SCH-001"]\n', encoding="utf-8")
        found = served.document("lint_catalog", target="inner/tools.json", rulesets=["strict"])["findings"]
        assert {finding["rule"] for finding in found} == {"SCH-002"}


def test_a_baseline_outside_the_root_is_not_read(place: Place, tmp_path: Path) -> None:
    write(tmp_path / "tools.json", CATALOG)
    (tmp_path / "mcproof.toml").write_text(f"baseline = '{place.secret}'\n", encoding="utf-8")
    with agent(tmp_path) as served:
        message = served.error("lint_catalog", target="tools.json")
    assert "outside the allowed folders" in message
    assert SECRET not in message


class TestRoots:
    def test_the_working_directory_is_the_default(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        assert default_roots() == (str(tmp_path.resolve()),)

    def test_the_home_directory_and_the_whole_disk_are_not(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("HOME", str(tmp_path))
        monkeypatch.chdir(tmp_path)
        assert default_roots() == ()
        monkeypatch.chdir("/")
        assert default_roots() == ()

    def test_a_root_must_be_a_folder(self, tmp_path: Path) -> None:
        file = write(tmp_path / "x.json", CATALOG)
        with pytest.raises(InputError, match="not a folder; --root names a folder that may be read"):
            given_roots([file])

    def test_the_first_root_that_has_the_file_wins(self, tmp_path: Path) -> None:
        first, second = tmp_path / "a", tmp_path / "b"
        first.mkdir()
        second.mkdir()
        write(second / "tools.json", CATALOG)
        found = allowed_path("tools.json", given_roots([str(first), str(second)]))
        assert found.root == str(second.resolve())

    def test_without_a_root_only_text_is_accepted(self) -> None:
        with agent() as served:
            assert "no folder may be read" in served.error("grade_catalog", target="tools.json")
            assert served.document("grade_catalog", target='{"tools": [{"name": "x"}]}')["grade"]

    def test_roots_of_a_client_are_file_uris(self, tmp_path: Path) -> None:
        spaced = tmp_path / "with space"
        spaced.mkdir()
        uris = [spaced.as_uri(), "https://example.com/", "file://elsewhere/etc", (tmp_path / "absent").as_uri()]
        assert client_roots(uris) == (str(spaced.resolve()),)

    @pytest.mark.parametrize(
        ("mode", "asks_client", "expected"),
        [("legacy", True, "theirs"), ("legacy", False, "given"), (STATELESS, True, "given")],
    )
    def test_the_roots_of_the_client(self, tmp_path: Path, mode: str, asks_client: bool, expected: str) -> None:
        """They replace the default in the handshake era; a root of the command line is not asked about."""
        for name in ("theirs", "given"):
            (tmp_path / name).mkdir()
            write(tmp_path / name / f"{name}.json", CATALOG)

        async def list_roots(_: Any) -> types.ListRootsResult:
            return types.ListRootsResult(roots=[types.Root(uri=FileUrl((tmp_path / "theirs").as_uri()))])

        with agent(tmp_path / "given", mode=mode, asks_client=asks_client, list_roots_callback=list_roots) as served:
            assert served.document("grade_catalog", target=f"{expected}.json")["grade"] == "A"
            other = "given" if expected == "theirs" else "theirs"
            assert served.call("grade_catalog", target=f"{other}.json").is_error


class TestChecker:
    def test_a_check_that_takes_too_long_is_stopped_and_the_next_one_runs(self, place: Place) -> None:
        with agent(place.root, time_limit=0.001) as served:
            message = served.error("lint_catalog", target="tools.json")
            assert message == "the check took more than 0.001 s and was stopped"
            assert served.error("lint_catalog", target="tools.json") == message

    def test_a_checker_that_dies_is_reported(self, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("mcproof.services.mcp.server.FUNCTION", "mcproof.services.mcp.checks:absent")
        with agent(place.root) as served:
            assert served.error("lint_catalog", target="tools.json").startswith("the check failed: ")

    def test_a_call_that_the_client_cancels_does_not_spoil_the_next_one(self, place: Place) -> None:
        with agent(place.root) as served:
            served.document("grade_catalog", target="tools.json")
            with pytest.raises(TimeoutError):
                served.ask_within(0.001, "call_tool", "check_clients", {"target": "tools.json"})
            assert served.document("grade_catalog", target="tools.json")["grade"] == "A"

    def test_a_checker_that_cannot_be_started_is_reported(self, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sys, "executable", "/absent/python")
        with agent(place.root) as served:
            message = served.error("lint_catalog", target="tools.json")
        assert message == "the check cannot be started: no such file or directory"

    def test_a_result_that_is_too_large_is_refused(self, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("mcproof.services.mcp.checks.LARGEST_RESULT", 100)
        with pytest.raises(InputError, match="pass a smaller `limit` or fewer tools"):
            check(CheckJob("lint_catalog", {"target": "tools.json"}, (str(place.root),)), None)

    def test_another_root_is_read_by_another_process(self, place: Place) -> None:
        """A confinement is for good, so a client that changes its roots gets a new one."""

        async def both() -> None:
            async with Checker() as checker:
                arguments = {"target": "tools.json"}
                with pytest.raises(McproofError, match="no such file"):
                    await checker.run("grade_catalog", arguments, (str(place.root / "empty"),))
                assert (await checker.run("grade_catalog", arguments, (str(place.root),)))["grade"] == "A"

        (place.root / "empty").mkdir()
        anyio.run(both)

    def test_no_process_is_left(self, place: Place) -> None:
        before = _checkers()
        with agent(place.root) as served:
            served.document("grade_catalog", target="tools.json")
            assert len(_checkers() - before) == 1
        assert _checkers() <= before

    def test_a_process_that_was_never_started_is_not_stopped(self) -> None:
        async def nothing() -> None:
            async with Checker():
                pass

        anyio.run(nothing)


@pytest.mark.skipif(not os.path.isdir("/proc"), reason="processes are listed in /proc")
def test_no_process_is_left_by_a_client_that_goes_away(place: Place) -> None:
    """The client closes the input while a check is running."""
    with subprocess.Popen(COMMAND, cwd=place.root, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        client = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
        call = {"name": "check_clients", "arguments": {"target": "tools.json"}}
        for message in (
            {"id": 1, "method": "initialize", "params": client},
            {"method": "notifications/initialized"},
            {"id": 2, "method": "tools/call", "params": call},
        ):
            process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        process.stdin.flush()
        process.stdout.readline()
        process.stdin.close()
        process.stdout.read()
        process.wait(60)
        assert _checkers(process.pid) == set()


def _checkers(of: int | None = None) -> set[int]:
    """The checker processes of a process, this one by default; without a parent, they belong to the first one."""
    parents = (os.getpid(),) if of is None else (of, 1)
    found = set()
    for name in os.listdir("/proc") if os.path.isdir("/proc") else ():
        if name.isdigit():
            try:
                with open(f"/proc/{name}/cmdline", "rb") as command, open(f"/proc/{name}/stat", "rb") as status:
                    words, parent = command.read(), int(status.read().rpartition(b")")[2].split()[1])
            except OSError:
                continue
            if parent in parents and b"services.mcp.checks:check" in words:
                found.add(int(name))
    return found
