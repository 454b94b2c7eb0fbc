"""Values from the environment are hidden in outputs and snapshots."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest

from cli.running import run
from servers import suited

from .suites import write_suite

if TYPE_CHECKING:
    from pathlib import Path

STDIO: dict[str, Any] = {"command": [sys.executable, "-I", "-S", suited.__file__]}
VALUE = "S3cr3tValue99x"
FORMATS = ("text", "concise", "json", "sarif", "junit", "tap", "github", "gitlab", "markdown", "html")


def snapshot(name: str, tool: str, matcher: Any = True, **others: Any) -> dict[str, Any]:
    expect = [{"target": "result", "matcher": {"snapshot": matcher}}]
    return {"name": name, "server": "s", "tool": tool, "expect": expect, **others}


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    """A suite with a secret everywhere."""
    unmet = [{"target": 'result["${HIDDEN}"]', "matcher": {"exact": "${HIDDEN}"}, "message": "not ${HIDDEN}"}]
    write_suite(
        tmp_path,
        {"s": {**STDIO, "env": {"SECRET": {"env": "HIDDEN"}}}},
        tools=[
            {"name": "as ${HIDDEN}", "server": "s", "tool": "secret", "expect": unmet, "tags": ["${HIDDEN}"]},
            {"name": "no such tool", "server": "s", "tool": "x-${HIDDEN}"},
            snapshot("by ${HIDDEN}", "secret"),
            snapshot("by its name", "secret", "of ${HIDDEN}"),
            snapshot("as a key", "tell"),
        ],
        teardown=[{"run": ["no-${HIDDEN}"]}],
    )
    return tmp_path


@pytest.mark.parametrize("format", FORMATS)
def test_no_format_has_a_secret(format: str, suite: Path) -> None:
    words = ("run", "--format", format, "--report", "report.json")
    done = run(*words, cwd=suite, env={"HIDDEN": VALUE})
    assert done.returncode == 2
    assert VALUE not in done.stdout + done.stderr
    assert VALUE not in (suite / "report.json").read_text(encoding="utf-8")


def test_no_snapshot_has_a_secret(suite: Path) -> None:
    done = run("run", "--update-snapshots", "--format", "concise", cwd=suite, env={"HIDDEN": VALUE})
    assert "3 snapshots written" in done.stderr
    assert VALUE not in (suite / "mcproof.snapshots.json").read_text(encoding="utf-8")


def test_problems_and_tags_hide_secrets(suite: Path) -> None:
    done = run("run", "--tag", "other", cwd=suite, env={"HIDDEN": VALUE})
    assert "the suite has the tags ***" in done.stderr
    write_suite(suite, {"s": STDIO}, tools=[{"name": "a", "server": "${HIDDEN}", "tool": "t"}])
    done = run("run", cwd=suite, env={"HIDDEN": VALUE})
    assert done.returncode == 2
    assert VALUE not in done.stderr
    assert "unknown server `***`" in done.stderr


def test_snapshots_match_with_other_values_of_a_variable(tmp_path: Path) -> None:
    write_suite(tmp_path, {"s": {**STDIO, "env": {"SECRET": "${REGION:-eu-west}"}}}, tools=[snapshot("a", "secret")])
    for stored, compared in (({}, {"REGION": "eu-west"}), ({"REGION": "us-east"}, {}), ({"REGION": "a-b-c-d"}, {})):
        (tmp_path / "mcproof.snapshots.json").unlink(missing_ok=True)
        assert run("run", "--update-snapshots", cwd=tmp_path, env=stored).returncode == 0
        assert run("run", cwd=tmp_path, env=compared).returncode == 0, (stored, compared)


def test_a_text_with_only_a_prefix_of_a_secret_is_kept(tmp_path: Path) -> None:
    test = snapshot("a", "echo", args={"text": "this is a test"})
    write_suite(tmp_path, {"s": {**STDIO, "env": {"VALUE": {"env": "VALUE"}}}}, tools=[test])
    assert run("run", "--update-snapshots", cwd=tmp_path, env={"VALUE": "abc0000000"}).returncode == 0
    assert "this is a test" in (tmp_path / "mcproof.snapshots.json").read_text(encoding="utf-8")
    assert run("run", cwd=tmp_path, env={"VALUE": "testing-key-99"}).returncode == 0
