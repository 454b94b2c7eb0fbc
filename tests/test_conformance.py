"""Scenarios of the official conformance suite, with mcproof as the client and as the server; skipped where npm cannot
install it.
"""

from __future__ import annotations

import os
import pathlib
import re
from typing import TYPE_CHECKING, Any

import pytest

from script_modules import script

if TYPE_CHECKING:
    from types import ModuleType

ROOT = pathlib.Path(__file__).resolve().parent.parent
SCENARIOS = ("initialize", "tools_call", "sse-retry", "request-metadata", "http-*", "json-schema-*")


@pytest.fixture(scope="module")
def conformance() -> ModuleType:
    return script("conformance")


@pytest.fixture(scope="module")
def server_conformance(conformance: ModuleType) -> ModuleType:
    return script("server_conformance")


@pytest.fixture(scope="module")
def suite(conformance: ModuleType) -> Any:
    try:
        return conformance.installed(None)
    except conformance.InstallError as error:
        if os.environ.get("MCPROOF_REQUIRE_SERVERS"):
            pytest.fail(f"MCPROOF_REQUIRE_SERVERS is set, and the suite cannot be installed: {error}")
        pytest.skip(f"the conformance suite cannot be installed: {error}")


@pytest.mark.slow
def test_the_client_passes_scenarios_of_every_revision(conformance: ModuleType, suite: Any) -> None:
    outcomes = conformance.run_all(suite, SCENARIOS, conformance.REVISIONS)
    assert {each.revision for each in outcomes} == set(conformance.REVISIONS)
    assert [each for each in outcomes if not each.is_good] == []
    page = (ROOT / "docs" / "conformance.md").read_text(encoding="utf-8")
    for each in outcomes:
        (row,) = re.findall(rf"^\| `{re.escape(each.scenario)}` \|.*$", page, re.MULTILINE)
        assert each.cell in row


@pytest.mark.slow
def test_the_server_passes_every_scenario_that_applies(
    conformance: ModuleType, server_conformance: ModuleType, suite: Any
) -> None:
    revisions = conformance.REVISIONS[1:]
    judged = server_conformance.run_all(suite, revisions)
    assert [each for each in judged if not each.is_good] == []
    applied = [each for each in judged if each.absent is None]
    assert {each.revision for each in applied} == set(revisions)
    page = (ROOT / "docs" / "mcp.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^\| `([^`]+)` \| [✓–]", page, re.MULTILINE))
    assert {each.scenario for each in applied} == listed
    for each in applied:
        (row,) = re.findall(rf"^\| `{re.escape(each.scenario)}` \|.*$", page, re.MULTILINE)
        assert each.cell in row


def test_a_scenario_that_applies_may_not_fail_for_what_is_missing(server_conformance: ModuleType) -> None:
    checks = [
        {"name": "A", "status": "SUCCESS", "description": "a"},
        {"name": "B", "status": "FAILURE", "description": "b", "errorMessage": "Failed: Method not found"},
        {"name": "C", "status": "FAILURE", "description": "c", "errorMessage": "Not testable: no such tool"},
    ]
    ping = server_conformance.judge("ping", "2025-11-25", checks)
    assert (ping.is_good, ping.cell, ping.failed) == (False, "✗ 1 of 2", ("B: Failed: Method not found",))
    logging = server_conformance.judge("logging-set-level", "2025-11-25", checks)
    assert (logging.is_good, logging.untestable) == (True, 2)
    assert not server_conformance.judge("ping", "2025-11-25", []).is_good


def test_a_check_that_fails_is_not_counted_as_passed(conformance: ModuleType) -> None:
    checks = [
        {"name": "A", "status": "SUCCESS", "description": "a"},
        {"name": "B", "status": "FAILURE", "description": "b", "errorMessage": "no b"},
        {"name": "C", "status": "WARNING", "description": "c"},
        {"name": "D", "status": "SKIPPED", "description": "d"},
    ]
    outcome = conformance.outcome_of("x", "2025-11-25", checks, "")
    assert (outcome.is_good, outcome.cell) == (False, "✗ 1 of 2, 1 warning")
    assert outcome.failed == ("B: no b",)
    assert outcome.warnings == ("C: c",)


def test_a_client_that_fails_is_not_a_success(conformance: ModuleType) -> None:
    passed = [{"name": "A", "status": "SUCCESS", "description": "a"}]
    assert conformance.outcome_of("x", "2025-11-25", passed, "").is_good
    printed = "\n⚠️  CLIENT EXITED WITH ERROR (code 2) - Test may be incomplete\n"
    outcome = conformance.outcome_of("x", "2025-11-25", passed, printed)
    assert not outcome.is_good
    assert outcome.trouble == "client exited with error (code 2) - test may be incomplete"
    assert not conformance.outcome_of("x", "2025-11-25", [], "Error: no such scenario").is_good


def test_without_npm_the_reason_is_given(
    conformance: ModuleType, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(conformance.InstallError, match="no npm to install @modelcontextprotocol/conformance"):
        conformance.installed(tmp_path / "suite")
