"""Scenarios of the official conformance suite with mcproof as the client; skipped where npm cannot install it."""

from __future__ import annotations

import importlib.util
import os
import pathlib
import re
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from types import ModuleType

ROOT = pathlib.Path(__file__).resolve().parent.parent
SCENARIOS = ("initialize", "tools_call", "sse-retry", "request-metadata", "http-*", "json-schema-*")


@pytest.fixture(scope="module")
def conformance() -> ModuleType:
    sys.path.insert(0, str(ROOT / "scripts"))
    spec = importlib.util.spec_from_file_location("conformance", ROOT / "scripts" / "conformance.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_the_client_passes_scenarios_of_every_revision(conformance: ModuleType) -> None:
    try:
        suite = conformance.installed(None)
    except conformance.InstallError as error:
        if os.environ.get("MCPROOF_REQUIRE_SERVERS"):
            pytest.fail(f"MCPROOF_REQUIRE_SERVERS is set, and the suite cannot be installed: {error}")
        pytest.skip(f"the conformance suite cannot be installed: {error}")
    outcomes = conformance.run_all(suite, SCENARIOS, conformance.REVISIONS)
    assert {each.revision for each in outcomes} == set(conformance.REVISIONS)
    assert [each for each in outcomes if not each.is_good] == []
    page = (ROOT / "docs" / "conformance.md").read_text(encoding="utf-8")
    for each in outcomes:
        (row,) = re.findall(rf"^\| `{re.escape(each.scenario)}` \|.*$", page, re.MULTILINE)
        assert each.cell in row


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
