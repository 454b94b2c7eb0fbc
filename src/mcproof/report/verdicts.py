"""Verdicts: what a run gated and the result, as every format states them.

A run that was not gated has `reported` what it found; one that judged less than half of what its command exists to
judge is `inconclusive`, unless it failed. Last lines, pages and the `conclusion` of documents come from here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.checks.findings import LEVELS
from mcproof.checks.rule import VERDICTS
from mcproof.core.console import plural
from mcproof.core.errors import INTERRUPTED
from mcproof.core.named_tuple import NamedTuple
from mcproof.report.phrases import CHANGE_WORDS, TONES, gate_sentence
from mcproof.runs.results import BROKEN, CALLING, INJECTIONS, Conclusion

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcproof.runs.results import Kind, Outcome, RunResult, TargetResult

PASSED, FAILED, INCOMPLETE = "passed", "failed", "incomplete"
INCONCLUSIVE, REPORTED = "inconclusive", "reported"
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
    """`passed`, `failed`, `inconclusive`, `reported`, `incomplete`, `interrupted: incomplete`, …"""
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
        return self.word not in (PASSED, INCONCLUSIVE, REPORTED)

    @property
    def outcome(self) -> Outcome:
        """The verdict as one of four words, for programs; what is incomplete has failed."""
        return self.word if self.word in (PASSED, INCONCLUSIVE, REPORTED) else FAILED  # type: ignore[return-value]


def run_verdict(run: RunResult) -> GateVerdict:
    """Return the verdict on a run: on its targets, its baseline, and whether it was interrupted."""
    verdict = _targets_verdict(run)
    # A stale entry accepts what no longer is: the next finding there would pass unseen.
    stale = sum(notice.level == "error" for notice in run.notices)
    if stale and not verdict.word.endswith(INCOMPLETE):
        entries = f"{stale:,} stale {'entry' if stale == 1 else 'entries'} in the baseline"
        reasons = [entries, verdict.reason] if verdict.word == FAILED else [entries]
        verdict = GateVerdict(FAILED, "; ".join(reasons), "bad")
    if run.exit_code == INTERRUPTED and not verdict.word.endswith(f": {INCOMPLETE}"):
        seen = str(verdict) if run.targets else "nothing was checked"
        verdict = GateVerdict(f"interrupted: {INCOMPLETE}", seen, "bad" if verdict.is_bad else "fair")
    return verdict


def closing_verdict(run: RunResult) -> GateVerdict:
    """Return the verdict for the last line: it begins with the outcome, in a scan with the verdict on the server."""
    verdict = run_verdict(run)
    if verdict.outcome == FAILED and verdict.word != FAILED and len(run.targets) == 1:
        return verdict._replace(word=FAILED, reason=str(verdict))
    worst = [result.trust for result in run.targets if run.kind == "scan" and result.trust is not None]
    if run.command == "lint" and not verdict.is_bad:
        # Nobody must take this pass for one of the code of the tools.
        unsought = {part for result in run.targets for part in result.untested if part.what == INJECTIONS}
        return verdict._replace(reason="; ".join([verdict.reason, *(f"{part.what}: {part.why}" for part in unsought)]))
    if not worst or ": " in verdict.word:
        return verdict
    # Of several servers the worst decides, since an agent connects to all of them.
    trust = max(worst, key=lambda trust: VERDICTS.index(trust.verdict))
    has_errors = any(result.levels()["error"] for result in run.targets)
    is_doubtful = has_errors or verdict.word == INCONCLUSIVE
    tone = "fair" if is_doubtful and trust.verdict == "allow" else TONES[trust.verdict]
    tone = "bad" if verdict.outcome == FAILED else tone  # no tick for a run that fails, such as by its lock
    if len(run.targets) == 1:
        parts = [part for part in verdict.reason.split("; ") if not part.startswith("verdict ")]
        rest = "; ".join(parts) or GatedCounts.of(run.targets, "scan").kept
        reasons = plural(len(trust.reasons), "reason") if trust.reasons else f"score {trust.score} of 100"
        doubt = f"{INCONCLUSIVE}, " if verdict.word == INCONCLUSIVE else ""
        reason = f"{reasons}; {doubt}{rest}"
    else:
        reason = f"{sum(other.verdict == trust.verdict for other in worst):,} of {verdict.reason}"
    # Whoever reads `review` or errors and sees exit code 0 wants to know how to fail on them.
    option = "--fail-on-verdict review" if trust.verdict == "review" else "--fail-on error" if has_errors else ""
    reason += f" (exit code 0: {option} fails on this)" if option and run.exit_code == 0 else ""
    return GateVerdict(trust.verdict, reason, tone)


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
    # No target at all is nothing to be green about.
    tone = "good" if verdicts and all(verdict.tone == "good" for verdict in verdicts) else "none"
    if unclear := sum(verdict.word == INCONCLUSIVE for verdict in verdicts):
        return GateVerdict(INCONCLUSIVE, f"{unclear:,} of {total}; {what}", "fair")
    is_decided = bool(verdicts) and all(verdict.word == PASSED for verdict in verdicts)
    return GateVerdict(PASSED if is_decided else REPORTED, f"{total}; {what}", tone)


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
        verdict = _suite_verdict(result)
    else:
        verdict = _call_verdict(result) if kind in CALLING else _catalog_verdict(result)
    judged = result.judged
    # A failure stands however little was judged; only a pass needs enough behind it.
    if verdict.is_bad or judged.is_enough:
        return verdict
    if not judged.is_anything:
        return verdict._replace(word=INCONCLUSIVE, tone="fair")
    reason = f"{judged.done:,} of {plural(judged.of, judged.noun)} {judged.verb}"
    return GateVerdict(INCONCLUSIVE, f"{reason}; {verdict.reason}", "fair")


def conclusion_of(result: TargetResult) -> Conclusion:
    """Return the verdict on a target as documents have it, with how much was judged."""
    verdict, judged = target_verdict(result), result.judged
    return Conclusion(verdict.outcome, judged.done, judged.of, str(verdict) if ": " in verdict.word else verdict.reason)


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
            for finding in result.findings:
                (failing if result.fails(finding) else others)[finding.level] += 1
        return cls(failing, others, frozenset(gates), kind)

    @property
    def gate(self) -> str:
        """What is gated, such as "errors"; empty if nothing is, or if the targets differ."""
        # Targets with different gates have no gate in common that could be named.
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
            # In a scan this is the default: the user gates the verdict instead.
            return (rest or none) + ("" if self.kind == "scan" else ": not gated (--fail-on never)")
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
    """The verdict of a run that calls nothing: what was gated, and what there is beside it."""
    kind = result.payload.kind
    counts = GatedCounts.of([result], kind)
    missed = [gate_sentence(gate) for gate in result.gates if not gate.passed]
    met = [gate_sentence(gate) for gate in result.gates if gate.passed]
    # Missed gates before findings: the user has set them.
    if missed or result.failing:
        # The screen of `check` shows the verdict and the grade already.
        also = [f"met: {'; '.join(met)}"] if met and kind != "check" else []
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
    # A grade that nothing gates must not look as if it had passed.
    is_gated = bool(met) or (result.fail_on != "never" and kind != "grade")
    if unknown is not None:
        return GateVerdict(PASSED if is_gated else REPORTED, "; ".join(parts), "fair")
    is_good = not result.findings if grade is None else bool(met) and grade.letter not in _BAD_GRADES
    return GateVerdict(PASSED if is_gated else REPORTED, "; ".join(parts), "good" if is_good else "none")


def _call_verdict(result: TargetResult) -> GateVerdict:
    """The verdict of a run that calls the server; a server that was not tested has not passed."""
    called, total = len(result.called_tools), result.counts.get("tools", 0)
    hidden = f" ({len(result.suppressed):,} suppressed)" if result.suppressed else ""
    fuzzing = result.payload.fuzzing if result.payload.kind == "fuzz" else None
    unreached, paths = (0, 0) if fuzzing is None else fuzzing.unreached_paths
    also = f", {unreached:,} of {plural(paths, 'path parameter')} not reached" if unreached else ""
    shown_nothing = 0 if fuzzing is None else fuzzing.outcomes.get("not_reached", 0)
    if shown_nothing and not unreached:
        also = f", {plural(shown_nothing, 'hostile call')} not reached"
    tools = f"{called_sentence(called, total)}{_untested_promises(result)}{also}{hidden}"
    missed = [gate_sentence(gate) for gate in result.gates if not gate.passed and gate.gate != "tested"]
    counts = GatedCounts.of([result], result.payload.kind)
    if result.failing:
        return GateVerdict(FAILED, "; ".join([counts.failed, tools, *missed]), "bad")
    if result.incomplete:
        return GateVerdict(f"{result.incomplete}: {INCOMPLETE}", tools, "fair")
    if not result.was_tested:
        nothing = f"nothing was tested; {tools}"
        return GateVerdict(INCONCLUSIVE, nothing, "fair") if result.passed else GateVerdict(FAILED, nothing, "bad")
    if missed:
        return GateVerdict(FAILED, f"{'; '.join(missed)}{hidden}", "bad")
    # Probes of the server as a whole prove nothing about its tools.
    if total and not called:
        return GateVerdict(INCONCLUSIVE, f"{tools}: only the server as a whole was tested", "fair")
    if 2 * unreached > paths:
        return GateVerdict(INCONCLUSIVE, f"{counts.kept}; {tools}", "fair")
    if result.fail_on == "never":
        return GateVerdict(REPORTED, f"{counts.kept}; {tools}", "fair" if result.findings else "none")
    if accepted := _accepted_violations(result):
        what = plural(accepted, "lenient response")
        return GateVerdict(PASSED, f"no errors; {what}: not gated; --strict fails on them ({tools})", "fair")
    return GateVerdict(PASSED, f"{counts.kept}; {tools}", "fair" if shown_nothing else "good")


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
    return GateVerdict(PASSED, reason, "good") if PASSED in outcomes else GateVerdict(INCONCLUSIVE, reason, "fair")
