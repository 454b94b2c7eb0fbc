"""A page of a very large run stays small, shows the failures, and says how many entries are left out."""

from __future__ import annotations

import pytest

from mcproof.core.errors import Notice
from mcproof.probing.outcomes import Cell, Failure, Fuzzing
from mcproof.report.html.page import document
from mcproof.report.html.parts import MOST, MOST_ROWS
from mcproof.runs.results import FuzzPayload, ProvePayload, RunResult, SuitePayload, TargetResult
from mcproof.testing import outcomes

from .trials import probe, prove_report, run_of

MEGABYTES = 8
"""What a browser opens without effort."""


def _page(run: RunResult) -> str:
    page = "".join(document(run))
    assert len(page) < MEGABYTES * 2**20
    return page


@pytest.mark.slow
def test_a_page_shows_the_failed_ones_of_fifty_thousand_probes() -> None:
    count = 50_000
    probes = [
        probe(f"tool_{number // 10}", "wrong_type", "accepted", None, f"probe {number}", is_exploratory=True)
        for number in range(count)
    ]
    probes[-1] = probes[-1]._replace(passed=False, reason="the last probe failed")
    cells = [Cell(f"tool_{number}", "type", None, True, True, "proven") for number in range(count // 10)]
    cells[-1] = cells[-1]._replace(kept=False, verdict="broken promise")
    page = _page(run_of("prove", prove_report()._replace(payload=ProvePayload(probes, cells))))
    assert "the last probe failed" in page
    assert f"{count - MOST:,} more probes left out: a page shows {MOST:,}, failed ones first." in page
    assert f"{count // 10 - MOST_ROWS:,} more tools left out" in page
    assert ">broken promise<" in page


@pytest.mark.slow
def test_a_page_shows_the_failed_ones_of_many_tests_over_all_suites() -> None:
    tests = [outcomes.TestResult(f"test {number}", "tools", "s", "passed") for number in range(4_000)]
    tests[-1] = tests[-1]._replace(outcome="failed", message="the last test failed")
    suites = [TargetResult(f"{name}.yaml", payload=SuitePayload(tests)) for name in "ab"]
    page = _page(RunResult("run", "1", suites, exit_code=1, is_single=False))
    assert page.count("the last test failed") == 2
    assert "3,000 more tests left out" in page


def test_a_page_leaves_out_failed_cases_reasons_and_notices_beyond_a_limit() -> None:
    failures = [Failure(f"c{number}", "find_book", "accepted", {}, f"replay {number}") for number in range(MOST + 7)]
    failures[-1] = failures[-1]._replace(outcome="crash", what="the last case crashed")
    result = prove_report()._replace(payload=FuzzPayload(Fuzzing(1, len(failures), {}, failures, {"find_book": 1})))
    notices = [
        Notice("unused-ignore", f"notice {number}", "mcproof.toml", number + 1) for number in range(MOST_ROWS + 3)
    ]
    page = _page(run_of("fuzz", result, notices=notices))
    assert "the last case crashed" in page
    assert "7 more failed cases left out" in page
    assert "3 more notices left out" in page
