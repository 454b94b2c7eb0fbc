"""Verdicts: what a run gated and the result, as every format states them.

A verdict has a word only if something decides it. `passed` needs a gate that was evaluated, or tests that ran to the
end; a run without a gate states what it found, and no word.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.checks.findings import LEVELS, group_by_fault
from mcproof.core.console import plural
from mcproof.core.errors import INTERRUPTED
from mcproof.core.named_tuple import NamedTuple
from mcproof.report.phrases import CHANGE_WORDS, gate_sentence
from mcproof.runs.results import BROKEN, CALLING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcproof.runs.results import Kind, RunResult, TargetResult

PASSED, FAILED, INCOMPLETE = "passed", "failed", "incomplete"
UNCHECKED = "could not be checked"

_FINDINGS_GATED = {"error": "errors", "warning": "errors and warnings", "note": "all findings"}
_CHANGES_GATED = {"error": "breaking changes", "warning": "breaking and unclear changes", "note": "all changes"}
_MISSED = {
    "min-grade": "below the required grade",
    "max-tokens": "above the allowed tokens",
    "verdict": "not to be trusted",
    "locked": "different from the lock",
}
"""What is wrong with targets that fail a gate, as a phrase after their number."""
_BAD_GRADES = ("D", "F")


class GateVerdict(NamedTuple):
    """The verdict on a target or a run."""

    word: str
    """`passed`, `failed`, `incomplete`, `interrupted: incomplete`, …; empty if nothing decides."""
    reason: str
    tone: str
    """`good`, `fair`, `bad` or `none`; formats with colours choose one by it."""

    def __str__(self) -> str:
        if not self.word or not self.reason:
            return self.word or self.reason
        return f"{self.word} ({self.reason})" if ": " in self.word else f"{self.word}: {self.reason}"

    @property
    def is_bad(self) -> bool:
        """Whether the target failed, is incomplete or could not be checked."""
        return self.word not in ("", PASSED)


def run_verdict(run: RunResult) -> GateVerdict:
    """Return the verdict on a run: on its targets, its baseline, and whether it was interrupted."""
    verdict = _targets_verdict(run)
    stale = sum(notice.level == "error" for notice in run.notices)
    if stale and not verdict.word.endswith(INCOMPLETE):
        entries = f"{stale:,} stale {'entry' if stale == 1 else 'entries'} in the baseline"
        reasons = [entries, verdict.reason] if verdict.word == FAILED else [entries]
        verdict = GateVerdict(FAILED, "; ".join(reasons), "bad")
    if run.exit_code == INTERRUPTED and not verdict.word.endswith(f": {INCOMPLETE}"):
        seen = str(verdict) if run.targets else "nothing was checked"
        verdict = GateVerdict(f"interrupted: {INCOMPLETE}", seen, "bad" if verdict.is_bad else "fair")
    return verdict


def _targets_verdict(run: RunResult) -> GateVerdict:
    if len(run.targets) == 1:
        if run.failed:
            return GateVerdict(INCOMPLETE, "the target could not be checked", "bad")
        return target_verdict(run.targets[0])
    verdicts = [target_verdict(result) for result in run.targets]
    noun = "suite" if run.kind == "suite" else "target"
    total, checked = plural(len(verdicts), noun), [result for result in run.targets if result.trouble is None]
    failed = sum(verdict.word == FAILED for verdict in verdicts)
    unknown = sum(not result.is_complete or bool(result.incomplete) for result in run.targets)
    what = _sum(checked, run.kind)
    if unknown:
        also = f"{' in full' if unknown > len(run.failed) else ''}{f', {failed:,} failed' if failed else ''}"
        return GateVerdict(INCOMPLETE, f"{unknown:,} of {total} could not be checked{also}", "bad")
    if failed:
        return GateVerdict(FAILED, f"{failed:,} of {total}; {what}", "bad")
    is_decided = bool(verdicts) and all(verdict.word == PASSED for verdict in verdicts)
    # No target at all is nothing to be green about.
    tone = "good" if verdicts and all(verdict.tone == "good" for verdict in verdicts) else "none"
    return GateVerdict(PASSED, f"{total}; {what}", tone) if is_decided else GateVerdict("", f"{total}: {what}", tone)


def _sum(results: list[TargetResult], kind: Kind) -> str:
    """Return what the targets of a run have in sum: the reasons to fail, or what the gates let through."""
    if kind == "suite":
        from mcproof.report.sections.outcomes import tests_headline

        return tests_headline([test for result in results for test in result.tests])
    missed: dict[str, int] = {}
    for gate in (gate for result in results for gate in result.gates if not gate.passed):
        missed[gate.gate] = missed.get(gate.gate, 0) + 1
    parts = [f"{count:,} {_MISSED.get(name, f'fail the gate `{name}`')}" for name, count in missed.items()]
    counts = GatedCounts.of(results, kind)
    parts += filter(None, [counts.failed if parts or counts.failed else counts.kept])
    if kind == "grade" and not any(gate.gate == "min-grade" for result in results for gate in result.gates):
        parts.append(UNGRADED)
    return "; ".join(parts)


UNGRADED = "grade not gated (--min-grade gates it)"


def target_verdict(result: TargetResult) -> GateVerdict:
    """Return the verdict on a target."""
    kind = result.payload.kind
    if result.trouble is not None:
        return GateVerdict(UNCHECKED, "", "bad")
    if kind == "suite":
        return _suite_verdict(result)
    if kind in CALLING:
        return _call_verdict(result)
    return _catalog_verdict(result)


class GatedCounts(NamedTuple):
    """The numbers of findings that fail the gate on findings and of the others, by level."""

    failing: dict[str, int]
    others: dict[str, int]
    fail_on: frozenset[str]
    """The gates of the targets."""
    kind: Kind

    @classmethod
    def of(cls, results: Iterable[TargetResult], kind: Kind) -> GatedCounts:
        failing: dict[str, int] = dict.fromkeys(LEVELS, 0)
        others: dict[str, int] = dict.fromkeys(LEVELS, 0)
        gates = set()
        for result in results:
            gates.add(result.fail_on)
            for group in group_by_fault(result.findings):
                (failing if result.fails(group.shown) else others)[group.shown.level] += 1
        return cls(failing, others, frozenset(gates), kind)

    @property
    def gate(self) -> str:
        """What is gated, such as "errors"; empty if nothing is, or if the targets differ."""
        if len(self.fail_on) != 1:
            return ""
        (gate,) = self.fail_on
        return (_CHANGES_GATED if self.kind == "diff" else _FINDINGS_GATED).get(gate, "")

    @property
    def failed(self) -> str:
        """The findings that fail the gate, such as "3 errors (gate: errors)"; empty if there are none."""
        counted = self._counted(self.failing)
        return f"{counted}{self._scope}" if counted else ""

    @property
    def kept(self) -> str:
        """What a gate lets through, such as "no errors; 14 warnings (gate: errors)"."""
        rest = self._counted(self.others)
        if self.fail_on == {BROKEN}:
            ignored = f"; {plural(sum(self.others.values()), 'finding')} not gated" if rest else ""
            return f"no errors{self._scope}{ignored}"
        none = "no changes" if self.kind == "diff" else "no findings"
        if self.fail_on == {"never"}:
            return f"{rest or none}: not gated (--fail-on never)"
        if not rest or not self.gate:
            return f"{rest or none}{self._scope}"
        return f"no {self.gate.replace(' and ', ' or ')}; {rest}{self._scope}"

    @property
    def _scope(self) -> str:
        if self.fail_on == {BROKEN}:
            return " in behaviour"
        return f" (gate: {self.gate})" if self.gate else ""

    def _counted(self, levels: dict[str, int]) -> str:
        if self.kind != "diff":
            return ", ".join(plural(count, level) for level, count in levels.items() if count)
        if levels["error"] and levels["error"] == sum(levels.values()):
            return plural(levels["error"], "breaking change")
        return ", ".join(f"{count:,} {CHANGE_WORDS[level]}" for level, count in levels.items() if count)


def _catalog_verdict(result: TargetResult) -> GateVerdict:
    """The verdict of a run that calls nothing: what was gated, and what there is beside it.

    The gate on findings has a default, so `passed` needs another one, such as the gate on the grade.
    """
    kind = result.payload.kind
    counts = GatedCounts.of([result], kind)
    missed = [gate_sentence(gate) for gate in result.gates if not gate.passed]
    met = [gate_sentence(gate) for gate in result.gates if gate.passed]
    if missed or result.failing:
        also = [f"met: {'; '.join(met)}"] if met else []
        return GateVerdict(FAILED, "; ".join(filter(None, [*missed, counts.failed, *also])), "bad")
    if kind != "grade":
        parts = [*met, counts.kept]
    else:
        parts = [*met, *([f"no {counts.gate.replace('all ', '')}"] if counts.gate else [])]
        is_gated = any(gate.gate == "min-grade" for gate in result.gates)
        parts += [] if is_gated else ["grade withheld" if result.scores.grade is None else UNGRADED]
    grade, unknown = result.scores.grade if kind == "grade" else None, result.not_judged
    if unknown is not None and unknown.tools:
        parts.append(f"{unknown.tools:,} of {plural(result.counts.get('tools', 0), 'tool')} not judged in full")
    if unknown is not None:
        return GateVerdict(PASSED if met else "", "; ".join(parts), "fair")
    is_good = not result.findings if grade is None else bool(met) and grade.letter not in _BAD_GRADES
    return GateVerdict(PASSED if met else "", "; ".join(parts), "good" if is_good else "none")


def _call_verdict(result: TargetResult) -> GateVerdict:
    """The verdict of a run that calls the server; a server that was not tested has not passed."""
    called, total = len(result.called_tools), result.counts.get("tools", 0)
    hidden = f" ({len(result.suppressed):,} suppressed)" if result.suppressed else ""
    tools = f"{called_sentence(called, total)}{_untested_promises(result)}{hidden}"
    missed = [gate_sentence(gate) for gate in result.gates if not gate.passed and gate.gate != "tested"]
    counts = GatedCounts.of([result], result.payload.kind)
    if result.failing:
        return GateVerdict(FAILED, "; ".join([counts.failed, tools, *missed]), "bad")
    if result.incomplete:
        return GateVerdict(f"{result.incomplete}: {INCOMPLETE}", tools, "fair")
    if not result.was_tested:
        nothing = f"nothing was tested; {tools}"
        return GateVerdict("", nothing, "fair") if result.passed else GateVerdict(FAILED, nothing, "bad")
    if missed:
        return GateVerdict(FAILED, f"{'; '.join(missed)}{hidden}", "bad")
    if total and not called:
        return GateVerdict("", f"{tools}: only the server as a whole was tested", "fair")
    if result.fail_on == "never":
        return GateVerdict("", f"{counts.kept}; {tools}", "fair" if result.findings else "none")
    if accepted := _accepted_violations(result):
        what = plural(accepted, "accepted violation")
        return GateVerdict("", f"{what}: not gated; --strict fails on them ({tools})", "fair")
    return GateVerdict(PASSED, f"{counts.kept}; {tools}", "good")


def _untested_promises(result: TargetResult) -> str:
    """Return how many promises `prove` did not test; empty if none."""
    from mcproof.probing.outcomes import promises

    count = promises(result.matrix).not_tested if result.matrix else 0
    return f", {plural(count, 'promise')} not tested" if count else ""


def called_sentence(called: int, total: int) -> str:
    """Return how many of the tools were called."""
    if not total:
        return "no tools to call"
    if not called:
        return f"none of {plural(total, 'tool')} called"
    return f"{called:,} of {plural(total, 'tool')} called" if called < total else f"{plural(total, 'tool')} called"


def _accepted_violations(result: TargetResult) -> int:
    """Return how many different violations `fuzz` saw accepted, without those that are suppressed."""
    if result.payload.kind != "fuzz":
        return 0
    from mcproof.report.grids import RULES_OF_CASE_OUTCOME

    tools = {finding.tool for finding in result.findings if finding.rule.id in RULES_OF_CASE_OUTCOME["accepted"]}
    failures = result.payload.fuzzing.failures
    return sum(failure.outcome == "accepted" and failure.tool in tools for failure in failures)


def _suite_verdict(result: TargetResult) -> GateVerdict:
    """The verdict on a suite, which its tests decide."""
    from mcproof.report.sections.outcomes import tests_headline

    reason, outcomes = tests_headline(result.tests), {test.outcome for test in result.tests}
    if result.incomplete:
        return GateVerdict(f"{result.incomplete}: {INCOMPLETE}", reason, "bad" if "failed" in outcomes else "fair")
    if "failed" in outcomes:
        return GateVerdict(FAILED, reason, "bad")
    if "error" in outcomes:
        return GateVerdict(INCOMPLETE, reason, "bad")
    return GateVerdict(PASSED, reason, "good") if PASSED in outcomes else GateVerdict("", reason, "fair")
