"""The Python API: typed results for every kind of target; nothing printed, nothing written, errors raised."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mcproof import api
from mcproof.core.errors import InputError, McproofError, UsageError

if TYPE_CHECKING:
    from mcproof.runs.results import TargetResult

TOOL: dict[str, Any] = {"name": "find_book", "inputSchema": {"type": "object", "properties": {"title": {}}}}
DEMO = [sys.executable, "-m", "mcproof.demo.server"]
DOCS = Path(__file__).parents[1] / "docs" / "api.md"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(autouse=True)
def _is_silent(capfd: pytest.CaptureFixture[str], request: pytest.FixtureRequest) -> Any:
    yield
    if "documented" not in request.node.name:
        assert capfd.readouterr() == ("", "")


def rules(result: TargetResult) -> set[str]:
    return {finding.rule.id for finding in result.findings}


@pytest.mark.parametrize("catalog", [[TOOL], {"tools": [TOOL]}, {"result": {"tools": [TOOL]}}])
def test_a_catalog_in_memory_is_linted(catalog: Any) -> None:
    result = api.lint(catalog)
    assert "tool-no-description" in rules(result)
    assert not result.passed
    assert {finding.file for finding in result.findings} == {"catalog"}


def test_a_path_is_linted_like_its_content(here: Path) -> None:
    file = here / "tools.json"
    file.write_text(json.dumps([TOOL], indent=2))
    for target in (file, str(file)):
        assert rules(api.lint(target)) == rules(api.lint([TOOL]))


def test_rules_are_selected() -> None:
    assert rules(api.lint([TOOL], select=["SCH-003"])) == {"SCH-003"}
    assert rules(api.lint([TOOL], rulesets=["strict"], ignore=["SCH-003"])) == {"SCH-001", "SCH-002"}


def test_only_a_named_configuration_is_read(here: Path) -> None:
    (here / "mcproof.toml").write_text('select = ["SCH-003"]\n')
    assert len(rules(api.lint([TOOL]))) > 1
    assert rules(api.lint([TOOL], config="mcproof.toml")) == {"SCH-003"}


def test_a_grade_has_scores_and_gates() -> None:
    result = api.grade([TOOL], min_grade="A", max_tokens=1)
    assert result.scores.grade is not None
    assert result.scores.tokens is not None
    assert [gate.passed for gate in result.gates] == [False, False]


def test_a_diff_has_the_changes_as_findings() -> None:
    assert api.diff([TOOL], [TOOL]).findings == []
    renamed = api.diff([TOOL], [{**TOOL, "name": "search"}])
    assert not renamed.passed


@pytest.mark.slow
def test_a_command_is_captured_linted_proved_and_fuzzed(here: Path) -> None:
    snapshot = api.capture(DEMO)
    assert rules(api.lint(snapshot)) <= rules(api.lint(DEMO))
    assert api.prove(DEMO, tools=["get_forecast"]).matrix
    assert api.probe(DEMO, tools=["get_forecast"], checks=["missing_required"]).probes
    fuzzed = api.fuzz(DEMO, tools=["get_forecast"], cases=5)
    assert fuzzed.payload.kind == "fuzz"
    assert list(here.iterdir()) == []


def test_an_event_loop_does_not_matter() -> None:
    async def main() -> tuple[TargetResult, TargetResult]:
        return api.lint([TOOL]), api.probe(DEMO, checks=["unknown_tool"])

    linted, probed = asyncio.run(main())
    assert linted.findings
    assert probed.probes


def test_a_suite_is_run(here: Path) -> None:
    command = json.dumps(DEMO)
    (here / "suite.yaml").write_text(
        f"servers:\n  demo: {{command: {command}}}\n"
        "tools:\n  - {name: works, server: demo, tool: get_alerts, args: {state: CA}, expect: {max_duration_ms: 60000}}"
    )
    assert len(api.run_suite(here / "suite.yaml").tests) == 1


@pytest.mark.parametrize("target", ["missing.json", [], {}, {"tools": 1}, [{"name": object()}], 1])
def test_what_cannot_be_checked_raises(target: Any) -> None:
    with pytest.raises(McproofError):
        api.lint(target)


def test_json_that_is_nested_too_deeply_raises() -> None:
    deep: Any = {}
    for _ in range(100_000):
        deep = {"properties": deep}
    with pytest.raises(InputError, match="nested too deeply"):
        api.lint([{"name": "deep", "inputSchema": deep}])


def test_unknown_rules_and_several_targets_raise(here: Path) -> None:
    with pytest.raises(UsageError, match="did you mean `SCH-001`"):
        api.lint([TOOL], select=["SCH-01"])
    for name in ("a.json", "b.json"):
        (here / name).write_text(json.dumps([TOOL]))
    with pytest.raises(UsageError, match="expected one target, got 2"):
        api.lint(here)


def test_the_documented_examples_run() -> None:
    names: dict[str, Any] = {}
    for block in re.findall(r"```python\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL):
        exec(compile(block, DOCS, "exec"), names)  # noqa: S102 (our own page)
    assert names["proof"].matrix
    assert len(names["run"].targets) == 2


def test_importing_the_package_does_not_import_the_api() -> None:
    import subprocess

    code = "import sys, mcproof; print([name for name in sys.modules if name.startswith('mcproof.')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_compat_has_an_outcome_for_each_client() -> None:
    result = api.compat({"tools": [{"name": "one", "inputSchema": {"type": "object"}}]})
    assert result.payload.kind == "compat"
    assert "cursor" in {each.client for each in result.payload.outcomes}


def test_scan_has_a_verdict() -> None:
    result = api.scan({"tools": [{"name": "one", "inputSchema": {"type": "object"}}]})
    assert result.payload.kind == "scan"
    assert result.payload.trust is not None
    assert result.payload.trust.verdict in ("allow", "review", "block")
