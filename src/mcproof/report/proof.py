"""What probes and promises come to, in numbers and sentences: what every format says of them in the same way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.console import plural
from mcproof.exchange.probe_facts import CASE_OUTCOMES
from mcproof.report.suite_tests import sentence_of
from mcproof.results.proof import promises

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcproof.results.findings import ReportedFinding
    from mcproof.results.payloads import Kind
    from mcproof.results.proof import Cell, Failure, Fuzzing, ProbeResult
    from mcproof.results.run import TargetResult

PROBING: tuple[Kind, ...] = ("probe", "prove")
"""The kinds of run that send probes."""

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


def fuzz_sentence(fuzzing: Fuzzing) -> str:
    """What fuzzing came to."""
    if not fuzzing.cases:
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


def summary_sentence(report: TargetResult) -> str:
    """The result of a kind of run that tests, in one sentence; empty for the others."""
    payload = report.payload
    if payload.kind == "suite":
        return sentence_of(payload.tests)
    if payload.kind == "prove":
        return promise_sentence(payload.matrix)
    if payload.kind == "probe":
        return probe_sentence(payload.probes)
    return fuzz_sentence(payload.fuzzing) if payload.kind == "fuzz" else ""


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


def split_static(findings: Iterable[ReportedFinding]) -> tuple[list[ReportedFinding], int]:
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


def shown_arguments(failure: Failure) -> str:
    """What was sent, for people: as JSON, in the letters that it has."""
    from json import dumps

    return dumps(failure.arguments, ensure_ascii=False)
