"""mcproof judges its own server, started as a client starts it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from cli.running import document_of, run
from mcproof.services.mcp.tools import tool_definitions

from .served import COMMAND, HANDSHAKE, STATELESS, agent_of, stdio

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The catalog of the running server."""
    folder: Path = tmp_path_factory.mktemp("capture")
    done = run("capture", "--output", "mcproof.json", "--", *COMMAND, cwd=folder)
    assert done.returncode == 0, done
    return folder / "mcproof.json"


def test_the_grade_is_a_and_descriptions_score_above_0_8(capture: Path) -> None:
    found = document_of(run("grade", str(capture), "--format", "json"), "grade")
    assert (found["grade"], found["score"], found["findings"]) == ("A", 100, [])
    assert len(found["descriptions"]) == 8
    assert min(found["descriptions"].values()) > 0.8


def test_no_rule_finds_anything(capture: Path) -> None:
    found = document_of(run("lint", str(capture), "--ruleset", "all", "--format", "json"), "lint")
    assert found["findings"] == []
    assert found["summary"]["polish"] == 100


def test_it_works_in_every_client(capture: Path) -> None:
    found = document_of(run("compat", str(capture), "--format", "json"), "compat")
    assert {each["verdict"] for each in found["clients"].values()} == {"works"}
    assert found["findings"] == []


@pytest.mark.slow
def test_a_scan_of_the_running_server_allows_it(tmp_path: Path) -> None:
    found = document_of(run("scan", "--format", "json", "--", *COMMAND, cwd=tmp_path), "scan")
    assert (found["trust"]["verdict"], found["trust"]["score"], found["findings"]) == ("allow", 100, [])


@pytest.mark.slow
def test_every_promise_is_kept(tmp_path: Path) -> None:
    done = run("prove", "--strict", "--format", "json", "--", *COMMAND, cwd=tmp_path)
    found: Any = json.loads(done.stdout)
    assert done.returncode == 0, done.stderr
    verdicts = {each["verdict"] for each in found["matrix"]}
    assert verdicts <= {"proven", "not applicable"}
    proven = {each["tool"] for each in found["matrix"] if each["verdict"] == "proven"}
    assert proven == {each.name for each in tool_definitions()}
    assert found["promises"]["broken"] == 0
    assert found["findings"] == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("mode", [HANDSHAKE, STATELESS, "auto"])
def test_the_sdk_starts_it_in_both_eras(tmp_path: Path, mode: str) -> None:
    (tmp_path / "tools.json").write_text('{"tools": [{"name": "x"}]}', encoding="utf-8")
    with agent_of(stdio(tmp_path), mode=mode) as served:
        if mode != STATELESS:  # a client with a given revision does not ask for the identity of the server
            assert served.client.server_info is not None
            assert served.client.server_info.name == "mcproof"
        found = served.document("grade_catalog", target="tools.json")
        assert found["target"] == "tools.json"
        expected = "2025-11-25" if mode == HANDSHAKE else STATELESS
        assert served.client.protocol_version == expected
