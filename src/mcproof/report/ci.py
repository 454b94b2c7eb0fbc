"""Formats that CI systems read: JUnit, TAP, workflow commands of GitHub Actions, GitLab's code quality.

JUnit and TAP show a run as tests; `suites_of` makes these of it.
"""

from __future__ import annotations

import json
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Literal

from mcproof.checks.findings import LEVELS, FindingGroup, Level, ReportedFinding, group_by_fault
from mcproof.checks.ignores import ACCEPTED, COMMENTED, IGNORED
from mcproof.checks.rule import CRASHED
from mcproof.core.console import safe, without_commands
from mcproof.core.errors import INTERRUPTED
from mcproof.core.named_tuple import NamedTuple
from mcproof.report.grids import PROBED_RULES, PROBING, UNUSED_RULES, covered_by_probes, rules_judging
from mcproof.report.phrases import gate_sentence, relative_path, repository_path
from mcproof.report.sections.outcomes import merge_unrun
from mcproof.report.verdicts import run_verdict
from mcproof.runs.records import encode, printable
from mcproof.runs.results import COMPLETE, RunResult, TargetResult

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.core.errors import Notice
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
    if run.notices:
        suites.append(CheckSuite("configuration", list(map(_notice_check, run.notices))))
    # A suite that ends early looks green to a CI server, so the run itself gets a check that fails.
    if run.exit_code == INTERRUPTED and not any(result.incomplete for result in run.targets):
        unfinished = Check("run", COMPLETE, "error", "error", str(run_verdict(run)))
        suites.append(CheckSuite("run", [unfinished]))
    return suites


def _notice_check(notice: Notice) -> Check:
    name = f"{notice.kind} {_place(notice.file, notice.line)}"
    outcome: Outcome = "failed" if notice.level == "error" else "passed"
    return Check(notice.kind, name, outcome, notice.level, notice.message, file=notice.file, line=notice.line)


def _place(file: str, line: int | None) -> str:
    return file if line is None else f"{file}:{line}"


def _checks(result: TargetResult, run: RunResult) -> Iterator[Check]:
    if (trouble := result.trouble) is not None:
        yield Check("target", "can be checked", "error", "error", trouble.message, "", trouble.file, trouble.line)
        return

    is_probing = run.kind in PROBING
    covered = covered_by_probes(result.probes) if is_probing else set()
    if is_probing:
        yield from _probe_checks(result)
    if run.kind == "fuzz":
        for reason in result.untested_reasons():
            yield from (Check("fuzz", claim, "skipped", message=reason.why) for claim in reason.whats)
    yield from map(_test_check, result.tests)
    reported = {finding.rule.id for finding in (*result.findings, *result.suppressed)}
    untested = _untested(result)
    for rule in run.rules if run.kind != "diff" else ():
        if rule.ruleset == "wire" and result.connection is None:
            continue  # there was no connection to check
        # One problem, one check: the probe itself is one.
        if is_probing and rule.id in PROBED_RULES:
            continue  # reported by the probes
        # A rule that nothing was sent for has not passed: docs/decisions/0033-proven-means-all.md.
        if rule.id in UNUSED_RULES.get(run.kind, ()):
            continue
        if rule.id in untested:
            yield Check(rule.ruleset, rule.id, "skipped", message=untested[rule.id])
        elif rule.id not in reported:
            yield Check(rule.ruleset, rule.id, "passed")
    for finding in result.findings:
        if (finding.tool, finding.rule.id) not in covered:
            yield _check(finding, "failed" if result.fails(finding) else "passed")
    for finding in result.suppressed:
        if (finding.tool, finding.rule.id) not in covered:
            yield _check(finding, "skipped")
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
            own = [finding for key in keys for finding in counting.get(key, ())]
            hidden = [finding for key in keys for finding in suppressed.get(key, ())]
            if hidden and not own:
                yield Check("probe", name, "skipped", message=_suppressed_by(hidden[0]))
                continue
            fails = any(map(result.fails, own)) if own else result.fail_on != "never"
            # A probe may break several rules; the worst level counts.
            level = min((finding.level for finding in own), key=LEVELS.index, default="error")
            detail = own[0].advice if own else ""
            exchange = f"request {probe.request}, response {probe.answer}" if probe.request else ""
            yield Check("probe", name, "failed" if fails else "passed", level, reason, detail, exchange=exchange)


_OUTCOMES: dict[str, Outcome] = {"passed": "passed", "failed": "failed", "error": "error"}


def _test_check(test: TestResult) -> Check:
    """Return a test of a suite as a check, with every unmet expectation."""
    sentences = [failure.sentence + _difference(failure) for failure in test.failures]
    outcome = _OUTCOMES.get(test.outcome, "skipped")
    kind = test.outcome if outcome in ("failed", "error") else "note"
    detail = "; ".join(sentences)
    detail = "" if detail == test.message else detail
    lines = [line for failure in test.failures for line in (failure.sentence, *failure.difference)]
    if test.detail:
        lines += [test.message, *test.detail.splitlines()]
    head = Check(test.block, test.label, outcome, kind, test.message, detail, test.file, test.first_line)
    return head._replace(lines=tuple(lines), seconds=test.seconds)


def _difference(failure: TestFailure) -> str:
    return f" [expected {failure.expected}, got {failure.got}]" if failure.has_difference else ""


def _by_rule(findings: list[ReportedFinding]) -> dict[tuple[str | None, str], list[ReportedFinding]]:
    """Return the findings by tool and rule."""
    by_key: dict[tuple[str | None, str], list[ReportedFinding]] = {}
    for finding in findings:
        by_key.setdefault((finding.tool, finding.rule.id), []).append(finding)
    return by_key


def _untested(result: TargetResult) -> dict[str, str]:
    """Return the rules that could not run in full, and why; none of them counts as passed."""
    # Skipped and not passed, as a green rule that never ran would be believed.
    untested = {rule: reason.why for reason in result.untested for rule in reason.rules}
    for finding in (*result.findings, *result.suppressed):
        if finding.rule.id == CRASHED and finding.evidence is not None:
            untested[str(finding.evidence.get("rule"))] = f"the rule crashed, see {CRASHED}"
    return untested


def _check(finding: ReportedFinding, outcome: Outcome) -> Check:
    message, detail = finding.message, finding.advice
    if finding.suppression is not None:
        message, detail = _suppressed_by(finding), finding.message
    name = " ".join(part for part in (finding.rule.id, f"{finding.label}{finding.pointer}") if part)
    where = finding.file if finding.line is not None else None  # a live server is not a file
    return Check(finding.rule.ruleset, name, outcome, finding.level, message, detail, where, finding.line)


def _suppressed_by(finding: ReportedFinding) -> str:
    """Return what suppresses a finding, its location and the reason."""
    if finding.suppression is None:
        return ""
    by, reason, file, line = finding.suppression
    return f"{SUPPRESSED[by]} {_place(file, line)}" + (f": {reason}" if reason else "")


_COMMANDS = {"error": "error", "warning": "warning", "note": "notice"}


def github_document(run: RunResult) -> Iterator[str]:
    """Write an annotation for each finding, the most serious first: GitHub shows ten of a kind."""
    # The verdict first: of many annotations GitHub drops the last ones.
    annotations = [*_verdict(run), *_troubles(run), *_notices(run), *_tests(run)]
    annotations += [_annotation(group) for result in run.targets for group in group_by_fault(result.findings)]
    for level, command in sorted(annotations, key=lambda annotation: LEVELS.index(annotation[0])):
        yield f"::{_COMMANDS[level]} {command}\n"


def _verdict(run: RunResult) -> Iterator[tuple[Level, str]]:
    """Return the verdict if a gate failed or the run is incomplete, which no finding shows."""
    is_missed = any(not gate.passed for result in run.targets for gate in result.gates)
    if is_missed or run.exit_code == INTERRUPTED:
        yield "error", _command(None, {}, f"mcproof {run.command}", str(run_verdict(run)))


def _troubles(run: RunResult) -> Iterator[tuple[Level, str]]:
    for trouble in (result.trouble for result in run.targets):
        if trouble is not None:
            location = {"line": trouble.line, "col": trouble.column}
            yield "error", _command(trouble.file, location, "mcproof", trouble.message)


def _notices(run: RunResult) -> Iterator[tuple[Level, str]]:
    for notice in run.notices:
        yield notice.level, _command(notice.file, {"line": notice.line}, notice.kind, notice.message)


def _tests(run: RunResult) -> Iterator[tuple[Level, str]]:
    for test in (test for result in run.targets for test in merge_unrun(result.tests)):
        for failure in test.failures:
            lines = [failure.sentence, *failure.difference]
            yield "error", _command(test.file, {"line": failure.line or test.line}, test.label, *lines)
        if test.is_bad and not test.failures:
            lines = [test.message, *test.detail.splitlines()]
            yield "error", _command(test.file, {"line": test.line}, test.label, *lines)


def _annotation(group: FindingGroup) -> tuple[Level, str]:
    shown = group.shown
    location = {"line": shown.line, "col": shown.column, "endColumn": shown.end_column}
    title = ", ".join((shown.rule.id, *group.also))
    advice = [f"help: {shown.advice}"] if shown.advice else []
    file = shown.file if shown.line is not None else None  # a live server is not a file
    return shown.level, _command(file, location, title, shown.sentence, *advice)


def _command(file: str | None, location: dict[str, int | None], title: str, *lines: str) -> str:
    """Return the part of a workflow command after its name."""
    properties: dict[str, object] = {} if file is None else {"file": repository_path(file), **location}
    properties["title"] = title
    listed = ",".join(f"{key}={_property(str(value))}" for key, value in properties.items() if value is not None)
    return f"{listed}::{'%0A'.join(map(_data, lines))}"


def _data(text: str) -> str:
    return without_commands(safe(text)).replace("%", "%25")


def _property(text: str) -> str:
    # After `_data`, which would escape these percent signs.
    return _data(text).replace(":", "%3A").replace(",", "%2C")


_SEVERITIES = {"error": "critical", "warning": "major", "note": "minor"}


def gitlab_document(run: RunResult) -> Iterator[str]:
    """Write an issue for each finding, notice and target that could not be checked, one a line."""
    yield "["
    seen: dict[str, int] = {}
    for number, (identity, issue) in enumerate(_issues(run)):
        # For GitLab, issues with one fingerprint are one issue.
        twin = seen[identity] = seen.get(identity, -1) + 1
        issue["fingerprint"] = _fingerprint(f"{identity}\0{twin}" if twin else identity)
        yield (",\n" if number else "\n") + printable(encode(issue))
    yield "\n]\n"


def _issues(run: RunResult) -> Iterator[tuple[str, dict[str, Any]]]:
    """Return each issue, with an identity that is stable between runs."""
    for result in run.targets:
        if result.trouble is not None:
            trouble = result.trouble
            file = trouble.file or result.target
            path = repository_path(file)
            yield path, _issue("mcproof", "blocker", trouble.message, path, trouble.line)
        for test in result.tests:
            if test.is_bad:
                path = repository_path(test.file or result.target)
                issue = _issue("mcproof-test", "critical", f"{test.label}: {test.message}", path, test.first_line)
                yield f"{path}\0{test.block}\0{test.name}", issue
        for finding in result.findings:
            path = relative_path(finding.file, finding.line)
            identity = f"{path}\0{finding.fingerprint}"
            yield identity, _issue(finding.rule.id, _SEVERITIES[finding.level], finding.sentence, path, finding.line)
    for notice in run.notices:
        identity = f"{notice.kind}\0{notice.message}"
        path = repository_path(notice.file)
        yield identity, _issue(notice.kind, _SEVERITIES[notice.level], notice.message, path, notice.line)


def _fingerprint(identity: str) -> str:
    # A path may have bytes that are not UTF-8.
    return sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()


def _issue(rule: str, severity: str, text: str, path: str, line: int | None) -> dict[str, Any]:
    return {
        "description": safe(text),
        "check_name": rule,
        "severity": severity,
        "location": {"path": path, "lines": {"begin": line or 1}},
    }


_ELEMENTS = {"failed": "failure", "error": "error", "skipped": "skipped"}
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"}


def junit_document(run: RunResult) -> Iterator[str]:
    """Write a test suite for each target, and a test case for each check."""
    suites = suites_of(run)
    yield '<?xml version="1.0" encoding="UTF-8"?>\n'
    yield f"<testsuites{_attributes(name=f'mcproof {run.command}', **_counts(suites))}>\n"
    for suite in suites:
        yield f"  <testsuite{_attributes(name=suite.name, **_counts([suite]))}>\n"
        for check in suite.checks:
            yield _test(check, suite.name)
        yield "  </testsuite>\n"
    yield "</testsuites>\n"


def _counts(suites: list[CheckSuite]) -> dict[str, str]:
    def total(outcome: Outcome) -> str:
        return str(sum(suite.count(outcome) for suite in suites))

    tests = str(sum(len(suite.checks) for suite in suites))
    return {"tests": tests, "failures": total("failed"), "errors": total("error"), "skipped": total("skipped")}


def _test(check: Check, suite: str) -> str:
    location = {} if check.file is None else {"file": repository_path(check.file)}
    if check.line is not None:
        location["line"] = str(check.line)
    time = {} if check.seconds is None else {"time": f"{check.seconds:.3f}"}
    head = f"    <testcase{_attributes(classname=f'{suite}.{check.group}', name=check.name, **location, **time)}"
    where = ":".join(str(part) for part in (check.file, check.line) if part is not None)
    texts = check.lines or (check.message, check.detail, check.exchange)
    lines = [part for part in (*texts, where) if part]
    element = _ELEMENTS.get(check.outcome)
    if element == "skipped":
        return f"{head}>\n      <skipped{_attributes(message=check.message)}/>\n    </testcase>\n"
    if element is not None:
        attributes = _attributes(type=check.kind, message=check.message)
        return f"{head}>\n      <{element}{attributes}>{_text(lines)}</{element}>\n    </testcase>\n"
    if check.message:
        # A finding that fails nothing is a passed case: its text is for those who open it.
        printed = _text([f"{check.kind}: {lines[0]}", *lines[1:]])
        return f"{head}>\n      <system-out>{printed}</system-out>\n    </testcase>\n"
    return f"{head}/>\n"


def _attributes(**values: str) -> str:
    return "".join(f' {name}="{_escaped(safe(value))}"' for name, value in values.items())


def _text(lines: list[str]) -> str:
    return "\n".join(_escaped(safe(line)) for line in lines)


def _escaped(text: str) -> str:
    return "".join(_ENTITIES.get(character, character) for character in without_commands(text))


def tap_document(run: RunResult) -> Iterator[str]:
    """Write a test point for each check."""
    points = [(suite.name, check) for suite in suites_of(run) for check in suite.checks]
    yield "TAP version 14\n"
    if run.trouble is not None:
        yield f"1..0\nBail out! {safe(str(run.trouble))}\n"
        return
    yield f"1..{len(points)}\n"
    for number, (suite, check) in enumerate(points, 1):
        yield from _point(number, suite, check)


def _point(number: int, suite: str, check: Check) -> Iterator[str]:
    verdict = "ok" if check.outcome in ("passed", "skipped") else "not ok"
    directive = f" # SKIP {_words(check.message)}" if check.outcome == "skipped" else ""
    yield f"{verdict} {number} - {_words(f'{suite}: {check.name}')}{directive}\n"
    if check.message and check.outcome != "skipped":
        facts = {
            "message": check.message,
            "severity": check.kind,
            "help": check.detail,
            "exchange": check.exchange,
            "file": check.file,
            "line": check.line,
        }
        yield "  ---\n"
        # YAML by way of JSON, whose strings mean the same in both.
        for key, value in facts.items():
            if value not in (None, ""):
                shown = value if isinstance(value, int) else safe(str(value))
                yield f"  {key}: {printable(json.dumps(shown, ensure_ascii=False))}\n"
        yield "  ...\n"


def _words(text: str) -> str:
    """Return a description on one line, without directives."""
    # In TAP, `#` begins a directive such as SKIP.
    return safe(text).replace("\\", "\\\\").replace("#", "\\#")
