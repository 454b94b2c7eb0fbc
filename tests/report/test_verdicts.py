"""Verdicts of every kind of run, and that the formats agree on them."""

from __future__ import annotations

from mcproof.core.console import Style
from mcproof.core.errors import Untested
from mcproof.report.formats import harmless
from mcproof.report.sections.outcomes import server_sentence
from mcproof.report.verdicts import run_verdict, target_verdict
from mcproof.runs.results import COMPLETE, Gate, ProvePayload, RunResult, TargetResult

from .snapshots import GRADED
from .test_html import page_of, report_of
from .test_html import run_of as linted
from .trials import CHANGES, fuzz_report, probe, prove_report, run_of


def _rendered(run: RunResult, format: str) -> str:
    return "".join(harmless(run, format, Style()))


def test_a_server_whose_tools_were_not_called_has_not_passed() -> None:
    left_out = [probe(name, "missing_required", "not_tested", None, CHANGES) for name in ("a", "b")]
    probes = [probe(None, "unknown_tool", "rejected", True), *left_out]
    counts = {**prove_report().counts, "tools": 2}
    result = prove_report()._replace(
        findings=[], suppressed=[], untested=[], counts=counts, payload=ProvePayload(probes, [])
    )
    verdict = target_verdict(result)
    assert result.passed, "the exit code stays 0"
    assert str(verdict) == "inconclusive: none of 2 tools called: only the server as a whole was tested"
    assert "passed:" not in _rendered(run_of("prove", result), "text")


def test_a_run_out_of_time_is_incomplete_in_every_format() -> None:
    gate = Gate(COMPLETE, "all calls", "out of time", False)
    run = run_of("prove", prove_report()._replace(findings=[], suppressed=[], gates=[gate]))
    for name in ("text", "markdown", "html", "github", "junit", "tap"):
        assert "out of time: incomplete" in _rendered(run, name), name
    assert page_of(run).one("p", name="headline").text.startswith("out of time: incomplete (")


def test_an_interrupted_lint_is_incomplete_for_test_reports() -> None:
    run = linted(report_of(GRADED["a"], gates=[]), is_single=False, exit_code=130)
    assert str(run_verdict(run)).startswith("interrupted: incomplete (")
    assert "not ok" in _rendered(run, "tap")
    assert "<error" in _rendered(run, "junit")
    assert "::error title=mcproof lint::interrupted: incomplete" in _rendered(run, "github")


def test_no_page_says_passed_beside_a_bad_grade() -> None:
    page = page_of(linted(report_of(GRADED["f"], gates=[], fail_on="never"), exit_code=0))
    assert page.all("strong", name="passed") == []
    assert page.all("p", name="passed") == []
    assert "not gated grade F" in page.one("ul", name="reasons").text


def test_the_headline_of_a_page_is_the_worst_true_statement() -> None:
    failed = linted(report_of(GRADED["a"], gates=[Gate("max-tokens", 1, 118, False)]))
    assert page_of(failed).one("p", name="headline").text == "failed: 118 tokens, at most 1 allowed"
    accepted = fuzz_report()._replace(
        findings=[each for each in fuzz_report().findings if each.rule.id == "WIR-016"], fail_on="never"
    )
    assert page_of(run_of("fuzz", accepted)).one("p", name="headline").text == (
        "reported: 1 error: not gated (--fail-on never); 3 of 5 tools called"
    )


def test_an_accepted_cursor_is_accepted_and_no_success() -> None:
    cursor = probe(None, "bad_cursor", "accepted", True, "a cursor that the server never issued")
    assert server_sentence([cursor]) == "1 probe of the server as a whole: 0 passed, 0 failed, 1 accepted"
    page = page_of(run_of("prove", prove_report()._replace(payload=ProvePayload([cursor], []))))
    assert page.one("ul", name="probes").text.split()[:2] == ["○accepted", "bad"]


def test_a_tool_that_was_not_tested_in_full_is_named_once() -> None:
    result = prove_report()._replace(
        untested=[Untested("tool a, in part", "first"), Untested("tool a, in part", "second"), Untested("tool b", "x")],
        payload=ProvePayload([probe("a", "oversized", "not_tested", None, "third")], []),
    )
    assert result.untested_reasons() == [("first; second", ["tool a, in part"]), ("x", ["tool b"])]


def test_several_targets_are_summed_up() -> None:
    clean, bad = TargetResult("a.json"), report_of(GRADED["f"], gates=[])
    assert str(run_verdict(linted(clean, clean, exit_code=0))) == "passed: 2 targets; no findings (gate: errors)"
    assert str(run_verdict(linted(clean, bad))).startswith("failed: 1 of 2 targets; ")
