"""Runs of suites, for the tests of the formats."""

from __future__ import annotations

from mcproof.runs.results import RunResult, SuitePayload, TargetResult
from mcproof.testing import outcomes

from .trials import HOSTILE

Failure, Result = outcomes.TestFailure, outcomes.TestResult  # by names that pytest does not take for tests
FILE = "tests/mcproof.yaml"
UNMET = Failure(
    "result.content[0].text",
    'does not contain "Oslo"',
    'contains "Oslo"',
    '"day 1 in Bergen: 18 °C and a light breeze"',
    line=21,
)
SECOND = Failure("result.isError", "expected false, got true", "false", "true", 22)
PROBED = Failure("wrong_type", "wrong_type: accepted, a list for `near`", "a refusal", '{"isError": false}')


def suite_run() -> RunResult:
    """Two suites with every outcome, one of them with hostile text."""
    first = [
        Result("a forecast names the city", "tools", "weather", "passed", file=FILE, line=7, seconds=0.0213),
        Result("late", "tools", "weather", "passed", "passed at attempt 2", (), FILE, 12, 1.5),
        Result(
            "Bergen", "tools", "weather", "failed", f"{UNMET.target}: {UNMET.message}", (UNMET, SECOND), FILE, 17, 0.5
        ),
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
        TargetResult(FILE, counts=counts, payload=SuitePayload(first), seconds=4.5),
        TargetResult("other.yaml", counts=counts, payload=SuitePayload(second), seconds=0.1),
    ]
    return RunResult("run", "0.1.0", reports, exit_code=2, is_single=False)


def one_suite_run() -> RunResult:
    """One suite with every outcome."""
    run = suite_run()
    return run._replace(targets=run.targets[:1], is_single=True)


def many_tests_run() -> RunResult:
    """A suite of a thousand tests, of which two failed and one was skipped."""
    tests = [
        Result(f"call {number}", "tools", "weather", "passed", file=FILE, line=number + 1, seconds=0.02)
        for number in range(1000)
    ]
    for number in (400, 800):
        tests[number] = tests[number]._replace(outcome="failed", message=UNMET.message, failures=(UNMET,))
    tests[500] = tests[500]._replace(outcome="skipped", message="interrupted")
    return RunResult("run", "0.1.0", [TargetResult(FILE, payload=SuitePayload(tests), seconds=75)], exit_code=1)
