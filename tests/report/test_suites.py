"""What the tests of a suite came to, in every format."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import junitparser
import pytest

from mcproof.report import model
from mcproof.report.formats import FORMATS
from mcproof.report.model import RunReport, TargetReport
from mcproof.report.run import read_run, run_document

from .readers import acts, parse_commands, parse_tap, refuse_markup
from .runs import FORMATS as GOLDEN_FORMATS
from .test_formats import EXTENSIONS
from .test_golden import compare
from .test_trials import rendered, validate
from .trials import HOSTILE

if TYPE_CHECKING:
    from pathlib import Path

Failure, Result = model.TestFailure, model.TestResult  # by names that pytest does not take for tests
FILE = "tests/mcproof.yaml"
UNMET = Failure(
    "result.content[0].text",
    'does not contain "Oslo"',
    'contains "Oslo"',
    '"day 1 in Bergen: 18 °C and a light breeze"',
)
PROBED = Failure("wrong_type", "wrong_type: accepted, a list for `near`", "a refusal", '{"isError": false}')


def suite_run() -> RunReport:
    """Two suites with every outcome, and one that cannot be read."""
    first = [
        Result("a forecast names the city", "tools", "weather", "passed", file=FILE, line=7, seconds=0.0213),
        Result("late", "tools", "weather", "passed", "passed at attempt 2", (), FILE, 12, 1.5),
        Result("Bergen", "tools", "weather", "failed", f"{UNMET.target}: {UNMET.message}", (UNMET,), FILE, 17, 0.5),
        Result("Bergen", "negative_path", "weather", "failed", PROBED.message, (PROBED,), FILE, 17, 2.25),
        Result("a note", "resources", "gone", "error", "cannot reach the server: no `gone` here", (), FILE, 26),
        Result("greeting", "prompts", "weather", "skipped", "interrupted", (), FILE, 31),
        Result("nothing", "fuzz", "weather", "not_applicable", "the tool takes no arguments", (), FILE, 36),
        Result("run make", "teardown", "", "error", "exit code 2", (), FILE, 3),
    ]
    hostile = Failure(HOSTILE, HOSTILE, HOSTILE, HOSTILE)
    second = [
        Result(HOSTILE, "tools", HOSTILE, "failed", HOSTILE, (hostile,), "other.yaml", 4, 0.1),
        Result("scores", "tool_quality", "weather", "passed", file="other.yaml", line=9),
    ]
    counts = dict.fromkeys(("tools", "resources", "templates", "prompts"), 0)
    reports = [
        TargetReport(FILE, counts=counts, tests=first, seconds=4.5),
        TargetReport("other.yaml", counts=counts, tests=second, seconds=0.1),
    ]
    return RunReport("run", "0.1.0", reports, exit_code=2, is_single=False)


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("GITHUB_WORKSPACE", "CI_PROJECT_DIR", "GITHUB_STEP_SUMMARY", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("format", GOLDEN_FORMATS)
def test_a_suite_is_printed_as_in_the_golden_file(format: str) -> None:
    compare(rendered(suite_run(), format), f"suites/suites.{EXTENSIONS.get(format, format)}")


def test_a_suite_in_colour_and_in_ascii_is_as_in_the_golden_file() -> None:
    compare(rendered(suite_run(), "text", colour=True), "suites/suites.colour.txt")
    compare(rendered(suite_run(), "text", unicode=False, width=60), "suites/suites.ascii.txt")


def test_a_stored_run_renders_as_the_run_did() -> None:
    again = read_run("".join(run_document(suite_run())).encode(), "run.json")
    for kind in FORMATS:
        assert rendered(again, kind) == rendered(suite_run(), kind), kind


def test_the_documents_keep_to_their_schemas() -> None:
    validate(json.loads(rendered(suite_run(), "json")), "tests")
    validate(json.loads("".join(run_document(suite_run()))), "run")


def test_those_who_made_the_formats_can_read_them_and_nothing_in_it_acts() -> None:
    printed = {kind: rendered(suite_run(), kind) for kind in FORMATS}
    for kind in set(FORMATS) - {"github", "html"}:
        assert acts(printed[kind]) == [], kind
    suites = junitparser.JUnitXml.fromstring(printed["junit"].encode())
    assert (suites.tests, suites.failures, suites.errors, suites.skipped) == (10, 3, 2, 2)
    assert len(parse_tap(printed["tap"])) == 10
    ElementTree.fromstring(printed["junit"])  # noqa: S314 (ours)
    assert [command.name for command in parse_commands(printed["github"])] == ["error"] * 5
    refuse_markup(printed["markdown"], (2, 3, 4))
    assert {issue["location"]["path"] for issue in json.loads(printed["gitlab"])} == {FILE, "other.yaml"}
    assert len(json.loads(printed["sarif"])["runs"][0]["results"]) == 5
