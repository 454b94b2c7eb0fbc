"""A run as a list of tests that passed or failed, for the formats that know nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from mcproof.linting.finding import LEVELS
from mcproof.linting.registry import CRASHED
from mcproof.linting.suppression.ignores import ACCEPTED, COMMENTED, IGNORED
from mcproof.report.grade_card import gate_sentence
from mcproof.report.proof import PROBED_RULES, PROBING, UNASKED, rules_of, told_by_probes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.results.findings import ReportedFinding
    from mcproof.results.run import RunResult, TargetResult
    from mcproof.results.suite_tests import TestFailure, TestResult

Outcome = Literal["passed", "failed", "skipped", "error"]


SUPPRESSED = {IGNORED: "ignored by", ACCEPTED: "accepted by", COMMENTED: "ignored by"}
"""What suppresses a finding, in words that go before the place."""


class Check(NamedTuple):
    """One test: a rule without findings, a finding, a probe, a gate, or something that could not be done."""

    group: str
    name: str
    outcome: Outcome
    kind: str = ""
    """The level of a finding, or what else it is that failed."""
    message: str = ""
    detail: str = ""
    file: str | None = None
    line: int | None = None
    exchange: str = ""
    """What was sent to a live server, and what came back."""
    lines: tuple[str, ...] = ()
    """The same as message and detail, for formats that have room for it."""
    seconds: float | None = None
    """How long it took, where that is known."""


class Suite(NamedTuple):
    """The tests of one target."""

    name: str
    checks: list[Check]

    def count(self, outcome: Outcome) -> int:
        return sum(check.outcome == outcome for check in self.checks)


def suites_of(run: RunResult) -> list[Suite]:
    """A suite for each target, and one for what is to be tidied up."""
    suites = [Suite(report.target, list(_checks(report, run))) for report in run.targets]
    notices = [
        Check(
            notice.kind,
            " ".join((notice.kind, notice.file if notice.line is None else f"{notice.file}:{notice.line}")),
            "failed" if notice.level == "error" else "passed",
            notice.level,
            notice.message,
            file=notice.file,
            line=notice.line,
        )
        for notice in run.notices
    ]
    return [*suites, Suite("configuration", notices)] if notices else suites


def _checks(report: TargetResult, run: RunResult) -> Iterator[Check]:
    if report.trouble is not None:
        trouble = report.trouble
        yield Check("target", "can be checked", "error", "error", trouble.message, "", trouble.file, trouble.line)
        return

    is_probing = run.kind in PROBING
    told = told_by_probes(report.probes) if is_probing else set()
    if is_probing:
        yield from _probe_checks(report)
    if run.kind == "fuzz":
        for reason in report.untested_reasons():
            yield from (Check("fuzz", what, "skipped", message=reason.why) for what in reason.whats)
    yield from map(_test_check, report.tests)
    found = {each.rule.id for each in (*report.findings, *report.suppressed)}
    untested = _untested(report)
    for rule in run.rules if run.kind != "diff" else ():
        if rule.ruleset == "wire" and report.connection is None:
            continue  # it had nothing to look at here
        if is_probing and rule.id in PROBED_RULES:
            continue  # the probes tell of it
        if rule.id in UNASKED.get(run.kind, ()):
            continue
        if rule.id in untested:
            yield Check(rule.ruleset, rule.id, "skipped", message=untested[rule.id])
        elif rule.id not in found:
            yield Check(rule.ruleset, rule.id, "passed")
    for each in report.findings:
        if (each.tool, each.rule.id) not in told:
            yield _check(each, "failed" if report.fails(each) else "passed")
    for each in report.suppressed:
        if (each.tool, each.rule.id) not in told:
            yield _check(each, "skipped")
    for gate in report.gates:
        sentence = gate_sentence(gate)
        yield Check("gate", f"{gate.gate} {gate.limit}", "passed" if gate.passed else "failed", "gate", sentence)


def _probe_checks(report: TargetResult) -> Iterator[Check]:
    """A test for each probe. One that failed is as bad as the finding that says so, and no worse."""
    counting, suppressed = _by_rule(report.findings), _by_rule(report.suppressed)
    for result in report.probes:
        name = result.probe if result.tool is None else f"{result.probe} {result.tool}"
        said = result.reason or result.outcome.replace("_", " ")
        if result.passed is None and (result.probe != "baseline" or result.outcome != "accepted"):
            yield Check("probe", name, "skipped", message=f"exploratory: {said}" if result.is_exploratory else said)
        elif result.passed is not False:
            yield Check("probe", name, "passed")
        else:
            keys = [(result.tool, rule) for rule in sorted(rules_of(result))]
            mine = [each for key in keys for each in counting.get(key, ())]
            hidden = [each for key in keys for each in suppressed.get(key, ())]
            if hidden and not mine:
                yield Check("probe", name, "skipped", message=_suppressed_by(hidden[0]))
                continue
            fails = any(map(report.fails, mine)) if mine else report.fail_on != "never"
            level = min((each.level for each in mine), key=LEVELS.index, default="error")
            detail = mine[0].rule.fix if mine else ""
            exchange = f"sent {result.request}, answered {result.answer}" if result.request else ""
            yield Check("probe", name, "failed" if fails else "passed", level, said, detail, exchange=exchange)


_OUTCOMES: dict[str, Outcome] = {"passed": "passed", "failed": "failed", "error": "error"}


def _test_check(test: TestResult) -> Check:
    """A test of a suite, with every expectation that was not met."""
    told = [each.sentence + _difference(each) for each in test.failures]
    outcome = _OUTCOMES.get(test.outcome, "skipped")
    kind = test.outcome if outcome in ("failed", "error") else "note"
    detail = "; ".join(told)
    detail = "" if detail == test.message else detail
    lines = [line for each in test.failures for line in (each.sentence, *each.difference)]
    if test.detail:
        lines += [test.message, *test.detail.splitlines()]
    line = test.first_line
    return Check(
        test.block, test.label, outcome, kind, test.message, detail, test.file, line, "", tuple(lines), test.seconds
    )


def _difference(failure: TestFailure) -> str:
    return f" [expected {failure.expected}, got {failure.got}]" if failure.has_difference else ""


def _by_rule(findings: list[ReportedFinding]) -> dict[tuple[str | None, str], list[ReportedFinding]]:
    """The findings of each tool and rule."""
    found: dict[tuple[str | None, str], list[ReportedFinding]] = {}
    for each in findings:
        found.setdefault((each.tool, each.rule.id), []).append(each)
    return found


def _untested(report: TargetResult) -> dict[str, str]:
    """The rules that could say nothing, or not all that they have to say, and why; none of them has passed."""
    untested = {rule: each.why for each in report.untested for rule in each.rules}
    for each in (*report.findings, *report.suppressed):
        if each.rule.id == CRASHED and each.evidence is not None:
            untested[str(each.evidence.get("rule"))] = f"the rule crashed, see {CRASHED}"
    return untested


def _check(each: ReportedFinding, outcome: Outcome) -> Check:
    message, detail = each.message, each.rule.fix
    if each.suppression is not None:
        message, detail = _suppressed_by(each), each.message
    name = " ".join(part for part in (each.rule.id, f"{each.label}{each.pointer}") if part)
    where = each.file if each.line is not None else None  # a live server is no file
    return Check(each.rule.ruleset, name, outcome, each.level, message, detail, where, each.line)


def _suppressed_by(each: ReportedFinding) -> str:
    """Who says that a finding does not count, where, and why."""
    if each.suppression is None:
        return ""
    by, reason, file, line = each.suppression
    place = file if line is None else f"{file}:{line}"
    return f"{SUPPRESSED[by]} {place}" + (f": {reason}" if reason else "")
