"""`--protocol` chooses the revision that judges a catalog."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from .running import run

if TYPE_CHECKING:
    from pathlib import Path


def write_catalog(folder: Path) -> None:
    tool = {"name": "count tickets", "description": "Count open tickets.", "inputSchema": {"type": "object"}}
    introduction = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}}
    (folder / "tools.json").write_text(json.dumps({"initialize": introduction, "tools": [tool]}), encoding="utf-8")


def rules_of(folder: Path, *words: str) -> list[str]:
    done = run("lint", "tools.json", "--ruleset", "spec", "--format", "json", *words, cwd=folder)
    return [each["rule"] for each in json.loads(done.stdout)["findings"] if each["rule"] != "SPEC-202"]


def test_the_revision_of_the_handshake_judges(tmp_path: Path) -> None:
    write_catalog(tmp_path)
    assert rules_of(tmp_path) == []


def test_another_revision_judges_if_it_is_named(tmp_path: Path) -> None:
    write_catalog(tmp_path)
    assert rules_of(tmp_path, "--protocol", "2025-11-25") == ["SPEC-002", "SPEC-019"]


def test_an_unknown_revision_is_refused_for_a_file_too(tmp_path: Path) -> None:
    write_catalog(tmp_path)
    done = run("lint", "tools.json", "--protocol", "2025-06-19", cwd=tmp_path)
    assert done.returncode == 2
    assert "unknown protocol revision `2025-06-19` (did you mean `2025-06-18`?)" in done.stderr
