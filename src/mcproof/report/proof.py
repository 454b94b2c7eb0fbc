"""What probes and promises come to, in numbers and sentences: what every format says of them in the same way."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mcproof.console import plural
from mcproof.exchange.probe_facts import CASE_OUTCOMES, CHECKS
from mcproof.report.suite_tests import sentence_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcproof.results.model import Cell, Failure, ProbeResult, Reported, TargetReport

TRYING = ("probe", "prove", "fuzz")
"""The commands that try a server out."""

PROBING = ("probe", "prove")

STATIC = "strict"
"""The ruleset that says of a schema what probes say of the server; people get the latter alone."""

_RULES = {
    "unknown_tool": "WIR-011",
    "missing_required": "WIR-012",
    "wrong_type": "WIR-013",
    "extra_field": "WIR-014",
    "oversized": "WIR-015",
    "unknown_method": "WIR-025",
    "not_json": "WIR-026",
    "bad_version": "WIR-027",
    "bad_cursor": "WIR-028",
    "unknown_prompt": "WIR-029",
    "unknown_resource": "WIR-030",
}
"""The rule that judges each probe."""

_RULES_OF_OUTCOMES = {
    "crash": ("WIR-017",),
    "hang": ("WIR-018",),
    "malformed": ("WIR-019",),
    "rejected": ("WIR-031",),
}
"""The rules that judge how a probe was answered, whichever it is."""

_RULES_OF_CASES = {
    "accepted": ("WIR-012", "WIR-013", "WIR-014", "WIR-015", "WIR-016"),
    "crash": ("WIR-017",),
    "hang": ("WIR-018",),
    "protocol_violation": ("WIR-019", "WIR-020", "WIR-021", "WIR-022"),
    "leak": ("WIR-024",),
}
"""The rules that judge what a case of fuzzing came to."""

UNASKED = {
    "probe": frozenset({"WIR-024"}),
    "prove": frozenset({"WIR-024"}),
    "fuzz": frozenset({"WIR-011", *(f"WIR-{number:03}" for number in range(25, 32))}),
}
"""The rules that a command asks nothing about; that they find nothing there says nothing."""

PROBED_RULES = frozenset((*_RULES.values(), "WIR-016", "WIR-017", "WIR-018", "WIR-019", "WIR-031"))
"""The rules whose findings are the outcome of a probe."""


class NegativePath(NamedTuple):
    """How a server takes what it must refuse."""

    checks_run: int
    failures: int
    gate_passed: int
    """1 where no check failed and at least one ran, else 0: what was not tested does not pass."""


def negative_path(probes: Iterable[ProbeResult]) -> NegativePath:
    """The checks of the negative path, counted."""
    judged = [each.passed for each in probes if each.probe in CHECKS and each.passed is not None]
    failures = judged.count(False)
    return NegativePath(len(judged), failures, int(bool(judged) and not failures))


class Promises(NamedTuple):
    """What the schemas promise, and what became of it."""

    declared: int
    kept: int
    broken: int
    not_tested: int
    doubtful: int
    """How many of those kept prove little, as the valid call is refused as well."""


def promises(matrix: Iterable[Cell]) -> Promises:
    """The promises of a matrix, counted."""
    promised = [cell for cell in matrix if cell.declared]
    verdicts = [cell.verdict for cell in promised]
    kept, broken = verdicts.count("proven"), verdicts.count("broken promise")
    doubtful = sum(cell.is_doubtful and cell.verdict == "proven" for cell in promised)
    return Promises(len(verdicts), kept, broken, len(verdicts) - kept - broken, doubtful)


def promise_sentence(matrix: list[Cell]) -> str:
    """What became of the promises, for somebody who reads nothing else."""
    declared, kept, broken, not_tested, doubtful = promises(matrix)
    if not matrix:
        return "there is no tool of which anything could be proven"
    if not declared:
        return "the schemas promise nothing"
    doubts = f" ({doubtful:,} of them in doubt)" if doubtful else ""
    return f"of {plural(declared, 'promise')}, {kept:,} kept{doubts}, {broken:,} broken, {not_tested:,} not tested"


def probe_sentence(probes: list[ProbeResult]) -> str:
    """How many probes passed, also those that are no checks of the negative path, and what was left out."""
    judged = [each.passed for each in probes if each.passed is not None]
    left_out = [each.outcome for each in probes if each.passed is None]
    parts = [
        f"{left_out.count(outcome):,} {outcome.replace('_', ' ')}"
        for outcome in ("not_tested", "not_applicable")
        if outcome in left_out
    ]
    if not judged:
        return ", ".join(["no probe was judged", *parts])
    passed, failed = judged.count(True), judged.count(False)
    return ", ".join([f"of {plural(len(judged), 'probe')}, {passed:,} passed", f"{failed:,} failed", *parts])


def fuzz_sentence(report: TargetReport) -> str:
    """What fuzzing came to."""
    fuzzing = report.fuzzing
    if fuzzing is None or not fuzzing.cases:
        return "nothing was fuzzed: no case was sent"
    counts = [outcome_words(name, fuzzing.outcomes[name]) for name in CASE_OUTCOMES if fuzzing.outcomes.get(name)]
    return f"of {plural(fuzzing.cases, 'case')}, {', '.join(counts)}"


_WORDS = {
    "clean": ("clean", "clean"),
    "accepted": ("invalid but accepted", "invalid but accepted"),
    "crash": ("crash", "crashes"),
    "hang": ("hang", "hangs"),
    "protocol_violation": ("protocol violation", "protocol violations"),
    "leak": ("leak", "leaks"),
}


def outcome_words(outcome: str, count: int) -> str:
    """Such as "2 crashes"."""
    return f"{count:,} {_WORDS[outcome][count != 1]}"


def was_tested(report: TargetReport) -> bool:
    """Whether anything was judged at all."""
    if report.fuzzing is not None:
        return report.fuzzing.cases > 0
    judged = any(each.passed is not None for each in report.probes)
    return judged or any(cell.kept is not None for cell in report.matrix)


def summary_sentence(report: TargetReport, command: str) -> str:
    """What a manager wants to know of a server that was tried; for any other command, nothing."""
    if command == "run":
        return sentence_of(report.tests)
    if command == "prove":
        return promise_sentence(report.matrix)
    if command == "probe":
        return probe_sentence(report.probes)
    return fuzz_sentence(report) if command == "fuzz" else ""


def rules_of(result: ProbeResult) -> set[str]:
    """The ids of the rules whose finding says the same as a probe that failed."""
    rules = set(_RULES_OF_OUTCOMES.get(result.outcome, ()))
    return rules | {_RULES[result.probe]} if result.probe in _RULES else rules


def told_by_probes(probes: Iterable[ProbeResult]) -> set[tuple[str | None, str]]:
    """The tools and rules of whose findings the probes that failed speak already."""
    return {(each.tool, rule) for each in probes if each.passed is False for rule in rules_of(each)}


def told_by_failures(failures: Iterable[Failure]) -> set[tuple[str | None, str]]:
    """The tools and rules of whose findings the cases that failed speak already."""
    return {(each.tool, rule) for each in failures for rule in _RULES_OF_CASES.get(each.outcome, ())}


def split_static(findings: Iterable[Reported]) -> tuple[list[Reported], int]:
    """The findings that people are shown of a server that was tried, and how many only its schemas are to blame for."""
    shown, static = [], 0
    for each in findings:
        if each.rule.ruleset == STATIC:
            static += 1
        else:
            shown.append(each)
    return shown, static


def static_sentence(count: int) -> str:
    """Where to see what is not shown."""
    return f"{plural(count, 'finding')} of the strict rules; `mcproof schema-lint` shows them"


class Reason(NamedTuple):
    """Why some things were not tested."""

    why: str
    whats: list[str]


def not_tested(report: TargetReport) -> list[Reason]:
    """What was not tested, by the reason: what the report says of it, and the probes that were not sent."""
    reasons: dict[str, dict[str, None]] = {}
    for each in report.untested:
        reasons.setdefault(each.why, {})[each.what] = None
    for probe in report.probes:
        if probe.outcome == "not_tested":
            reasons.setdefault(probe.reason, {})[f"tool {probe.tool}" if probe.tool else probe.probe] = None
    for cell in report.matrix:
        if cell.verdict == "not tested":
            reasons.setdefault(cell.reason, {})[f"tool {cell.tool}"] = None
    return [Reason(why or "no reason is known", list(whats)) for why, whats in reasons.items()]


class Prediction(NamedTuple):
    """A fault that lies open as static rules said that it would."""

    rules: tuple[str, ...]
    fault: str
    tools: list[str]


def predictions(matrix: Iterable[Cell]) -> list[Prediction]:
    """What static rules said before anything was sent, and the server confirmed."""
    found: dict[tuple[tuple[str, ...], str], Prediction] = {}
    for cell in matrix:
        if cell.verdict == "open" and cell.predicted_by:
            key = (cell.predicted_by, cell.fault)
            found.setdefault(key, Prediction(*key, [])).tools.append(cell.tool)
    return list(found.values())


def shown_arguments(failure: Failure) -> str:
    """What was sent, for people: as JSON, in the letters that it has."""
    from json import dumps

    return dumps(failure.arguments, ensure_ascii=False)
