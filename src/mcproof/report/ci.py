"""A run as lists of checks that passed or failed, for formats about tests (JUnit, TAP)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from mcproof.checks.findings import LEVELS
from mcproof.checks.ignores import ACCEPTED, COMMENTED, IGNORED
from mcproof.checks.rule import CRASHED
from mcproof.core.errors import INTERRUPTED
from mcproof.report.gate_verdicts import run_verdict
from mcproof.report.phrases import gate_sentence
from mcproof.report.probe_rules import PROBED_RULES, PROBING, UNUSED_RULES, covered_by_probes, rules_judging
from mcproof.runs.results import COMPLETE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.checks.findings import ReportedFinding
    from mcproof.runs.results import RunResult, TargetResult
    from mcproof.testing.outcomes import TestFailure, TestResult

Outcome = Literal["passed", "failed", "skipped", "error"]


SUPPRESSED = {IGNORED: "ignored by", ACCEPTED: "accepted by", COMMENTED: "ignored by"}
"""What suppresses a finding, in words before its location."""


class Check(NamedTuple):
    """A rule without findings, a finding, a probe, a test, a gate, or a target that could not be checked."""

    group: str
    name: str
    outcome: Outcome
    kind: str = ""
    """The level of a finding, or the kind of another failure."""
    message: str = ""
    detail: str = ""
    file: str | None = None
    line: int | None = None
    exchange: str = ""
    """A request to a live server and its response."""
    lines: tuple[str, ...] = ()
    """Message and detail line by line, for formats with room for it."""
    seconds: float | None = None
    """The duration, if known."""


class CheckSuite(NamedTuple):
    """The checks of one target."""

    name: str
    checks: list[Check]

    def count(self, outcome: Outcome) -> int:
        return sum(check.outcome == outcome for check in self.checks)


def suites_of(run: RunResult) -> list[CheckSuite]:
    """Return a suite for each target, one for the notices, and one for an interrupted run."""
    suites = [CheckSuite(result.target, list(_checks(result, run))) for result in run.targets]
    notices = [
        Check(
            group=notice.kind,
            name=" ".join((notice.kind, notice.file if notice.line is None else f"{notice.file}:{notice.line}")),
            outcome="failed" if notice.level == "error" else "passed",
            kind=notice.level,
            message=notice.message,
            file=notice.file,
            line=notice.line,
        )
        for notice in run.notices
    ]
    if notices:
        suites.append(CheckSuite("configuration", notices))
    if run.exit_code == INTERRUPTED and not any(result.incomplete for result in run.targets):
        unfinished = Check("run", COMPLETE, "error", "error", str(run_verdict(run)))
        suites.append(CheckSuite("run", [unfinished]))
    return suites


def _checks(result: TargetResult, run: RunResult) -> Iterator[Check]:
    if result.trouble is not None:
        trouble = result.trouble
        yield Check(
            group="target",
            name="can be checked",
            outcome="error",
            kind="error",
            message=trouble.message,
            file=trouble.file,
            line=trouble.line,
        )
        return

    is_probing = run.kind in PROBING
    covered = covered_by_probes(result.probes) if is_probing else set()
    if is_probing:
        yield from _probe_checks(result)
    if run.kind == "fuzz":
        for reason in result.untested_reasons():
            yield from (Check("fuzz", what, "skipped", message=reason.why) for what in reason.whats)
    yield from map(_test_check, result.tests)
    found = {each.rule.id for each in (*result.findings, *result.suppressed)}
    untested = _untested(result)
    for rule in run.rules if run.kind != "diff" else ():
        if rule.ruleset == "wire" and result.connection is None:
            continue  # there was no connection to check
        if is_probing and rule.id in PROBED_RULES:
            continue  # reported by the probes
        if rule.id in UNUSED_RULES.get(run.kind, ()):
            continue
        if rule.id in untested:
            yield Check(rule.ruleset, rule.id, "skipped", message=untested[rule.id])
        elif rule.id not in found:
            yield Check(rule.ruleset, rule.id, "passed")
    for each in result.findings:
        if (each.tool, each.rule.id) not in covered:
            yield _check(each, "failed" if result.fails(each) else "passed")
    for each in result.suppressed:
        if (each.tool, each.rule.id) not in covered:
            yield _check(each, "skipped")
    for gate in result.gates:
        sentence = gate_sentence(gate)
        yield Check("gate", f"{gate.gate} {gate.limit}", "passed" if gate.passed else "failed", "gate", sentence)


def _probe_checks(result: TargetResult) -> Iterator[Check]:
    """Return a check for each probe; a failed one is as serious as its finding."""
    counting, suppressed = _by_rule(result.findings), _by_rule(result.suppressed)
    for probe in result.probes:
        name = probe.probe if probe.tool is None else f"{probe.probe} {probe.tool}"
        if result.payload.kind == "prove" and probe.argument:  # a tool has several such probes
            name = f"{name}: {probe.reason}"
        reason = probe.reason or probe.outcome.replace("_", " ")
        if probe.passed is None and (probe.probe != "baseline" or probe.outcome != "accepted"):
            yield Check("probe", name, "skipped", message=f"exploratory: {reason}" if probe.is_exploratory else reason)
        elif probe.passed is not False:
            yield Check("probe", name, "passed")
        else:
            keys = [(probe.tool, rule) for rule in sorted(rules_judging(probe))]
            own = [each for key in keys for each in counting.get(key, ())]
            hidden = [each for key in keys for each in suppressed.get(key, ())]
            if hidden and not own:
                yield Check("probe", name, "skipped", message=_suppressed_by(hidden[0]))
                continue
            fails = any(map(result.fails, own)) if own else result.fail_on != "never"
            level = min((each.level for each in own), key=LEVELS.index, default="error")
            detail = own[0].rule.fix if own else ""
            exchange = f"request {probe.request}, response {probe.answer}" if probe.request else ""
            yield Check("probe", name, "failed" if fails else "passed", level, reason, detail, exchange=exchange)


_OUTCOMES: dict[str, Outcome] = {"passed": "passed", "failed": "failed", "error": "error"}


def _test_check(test: TestResult) -> Check:
    """Return a test of a suite as a check, with every unmet expectation."""
    sentences = [each.sentence + _difference(each) for each in test.failures]
    outcome = _OUTCOMES.get(test.outcome, "skipped")
    kind = test.outcome if outcome in ("failed", "error") else "note"
    detail = "; ".join(sentences)
    detail = "" if detail == test.message else detail
    lines = [line for each in test.failures for line in (each.sentence, *each.difference)]
    if test.detail:
        lines += [test.message, *test.detail.splitlines()]
    return Check(
        group=test.block,
        name=test.label,
        outcome=outcome,
        kind=kind,
        message=test.message,
        detail=detail,
        file=test.file,
        line=test.first_line,
        lines=tuple(lines),
        seconds=test.seconds,
    )


def _difference(failure: TestFailure) -> str:
    return f" [expected {failure.expected}, got {failure.got}]" if failure.has_difference else ""


def _by_rule(findings: list[ReportedFinding]) -> dict[tuple[str | None, str], list[ReportedFinding]]:
    """Return the findings by tool and rule."""
    found: dict[tuple[str | None, str], list[ReportedFinding]] = {}
    for each in findings:
        found.setdefault((each.tool, each.rule.id), []).append(each)
    return found


def _untested(result: TargetResult) -> dict[str, str]:
    """Return the rules that could not run in full, and why; none of them counts as passed."""
    untested = {rule: each.why for each in result.untested for rule in each.rules}
    for each in (*result.findings, *result.suppressed):
        if each.rule.id == CRASHED and each.evidence is not None:
            untested[str(each.evidence.get("rule"))] = f"the rule crashed, see {CRASHED}"
    return untested


def _check(each: ReportedFinding, outcome: Outcome) -> Check:
    message, detail = each.message, each.rule.fix
    if each.suppression is not None:
        message, detail = _suppressed_by(each), each.message
    name = " ".join(part for part in (each.rule.id, f"{each.label}{each.pointer}") if part)
    where = each.file if each.line is not None else None  # a live server is not a file
    return Check(
        group=each.rule.ruleset,
        name=name,
        outcome=outcome,
        kind=each.level,
        message=message,
        detail=detail,
        file=where,
        line=each.line,
    )


def _suppressed_by(each: ReportedFinding) -> str:
    """Return what suppresses a finding, its location and the reason."""
    if each.suppression is None:
        return ""
    by, reason, file, line = each.suppression
    place = file if line is None else f"{file}:{line}"
    return f"{SUPPRESSED[by]} {place}" + (f": {reason}" if reason else "")
