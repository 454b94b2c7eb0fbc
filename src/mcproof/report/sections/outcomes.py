"""Outcomes of probes, tests and fuzzing in words, and the tests of a suite."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.core.console import plural
from mcproof.core.named_tuple import NamedTuple
from mcproof.core.observations.probes import HOSTILE_PROBES
from mcproof.probing.outcomes import Cell, Fuzzing, ProbeResult, promises
from mcproof.report.blocks import TEXT, Document, Headline, Only, Share, Tests
from mcproof.report.grids import server_probes, symbol_of
from mcproof.testing.outcomes import OUTCOMES, TestResult, count_outcomes

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from mcproof.runs.results import TargetResult


_OUTCOME_WORDS = {
    "clean": ("clean", "clean"),
    "accepted": ("lenient", "lenient"),
    "crash": ("crash", "crashes"),
    "hang": ("hang", "hangs"),
    "protocol_violation": ("protocol violation", "protocol violations"),
    "leak": ("leak", "leaks"),
    "injection": ("injection", "injections"),
    "not_reached": ("not reached", "not reached"),
    "malformed": ("malformed response", "malformed responses"),
}
_HOSTILE = ("injection", "crash", "hang", "malformed")
"""The outcomes of hostile arguments that are failures."""
_TEST_WORDS = {"error": "could not run", "not_applicable": "not applicable"}


def summary_sentence(result: TargetResult) -> str:
    """Return the result of a kind of run about behaviour or clients, in one sentence; empty for the others."""
    payload = result.payload
    if payload.kind == "compat":
        from mcproof.report.grids import clients_sentence

        return clients_sentence(payload)
    if payload.kind == "scan" and payload.trust is not None:
        from mcproof.report.phrases import trust_sentence

        return trust_sentence(payload.trust)
    if payload.kind == "check":
        from mcproof.report.sections.check import first_sentence

        return first_sentence(payload)
    if payload.kind == "suite":
        return tests_sentence(payload.tests)
    if payload.kind == "prove":
        return promise_sentence(payload.matrix)
    if payload.kind == "probe":
        return probe_sentence(payload.probes)
    return fuzz_sentence(payload.fuzzing) if payload.kind == "fuzz" else ""


def promise_sentence(matrix: list[Cell]) -> str:
    declared, kept, broken, not_shown, not_tested = promises(matrix)
    if not matrix:
        return "no tools to test"
    if not declared:
        return "the schemas make no promises"
    unclear = f", {not_shown:,} not shown" if not_shown else ""
    return f"{plural(declared, 'promise')}: {kept:,} kept, {broken:,} broken{unclear}, {not_tested:,} not tested"


def probe_sentence(probes: list[ProbeResult]) -> str:
    """Return how many probes passed and failed, how many were left out, and what hostile arguments showed."""
    others = [probe for probe in probes if probe.probe not in HOSTILE_PROBES]
    judged = [probe.passed for probe in others if probe.passed is not None]
    left_out = [probe.outcome for probe in others if probe.passed is None]
    parts = [
        f"{left_out.count(outcome):,} {outcome.replace('_', ' ')}"
        for outcome in ("not_tested", "not_applicable")
        if outcome in left_out
    ]
    head = "no probes judged"
    if judged:
        parts = [f"{judged.count(True):,} passed", f"{judged.count(False):,} failed", *parts]
        head = f"{plural(len(judged), 'probe')} judged: {parts.pop(0)}"
    hostile = _hostile_sentence([probe for probe in probes if probe.probe in HOSTILE_PROBES])
    return ", ".join([head, *parts]) + (f"; {hostile}" if hostile else "")


def server_sentence(probes: list[ProbeResult], with_findings: Collection[str] = ()) -> str:
    """Return the result of the probes of the server as a whole, and what hostile arguments showed.

    The probes of the tools are the evidence for the promises, which are counted instead.
    """
    words = [symbol_of(probe, with_findings).word for probe in server_probes(probes) if probe.passed is not None]
    counted = f"{words.count('passed'):,} passed, {words.count('failed'):,} failed"
    doubtful = words.count("passed with a finding")
    counted += f", {doubtful:,} passed with a finding" if doubtful else ""
    counted += f", {words.count('accepted'):,} accepted" if "accepted" in words else ""
    server = f"{plural(len(words), 'probe')} of the server as a whole: {counted}" if words else ""
    hostile = _hostile_sentence([probe for probe in probes if probe.probe in HOSTILE_PROBES])
    return "; ".join(filter(None, [server, hostile]))


def _hostile_sentence(probes: list[ProbeResult]) -> str:
    """Return what hostile arguments showed; empty if none were sent."""
    tools = len({probe.tool for probe in probes if probe.passed is not None})
    outcomes = [probe.outcome for probe in probes]
    effects = [f"{count:,} {_OUTCOME_WORDS[name][count != 1]}" for name in _HOSTILE if (count := outcomes.count(name))]
    parts = [f"hostile arguments for {plural(tools, 'tool')}: {', '.join(effects) or 'no effect'}"] if tools else []
    if unreached := len({probe.tool for probe in probes if probe.outcome == "not_tested"}):
        parts.append(f"hostile arguments not judged in {plural(unreached, 'tool')}")
    return "; ".join(parts)


def fuzz_sentence(fuzzing: Fuzzing) -> str:
    if not fuzzing.cases:
        return "no cases were sent"
    counts = [f"{count:,} {_OUTCOME_WORDS[name][count != 1]}" for name, count in fuzzing.counts.items() if count]
    return f"{plural(fuzzing.cases, 'case')}: {', '.join(counts)}"


def tests_sentence(tests: list[TestResult]) -> str:
    """Return the number of tests, by outcome."""
    parts = [f"{count:,} {_TEST_WORDS.get(name, name)}" for name, count in count_outcomes(tests).items() if count]
    return f"{plural(len(tests), 'test')}: {', '.join(parts)}" if tests else "no tests"


def tests_headline(tests: Sequence[TestResult]) -> str:
    """Return the result of tests in a phrase that begins with what is wrong."""
    counts = {name: count for name, count in count_outcomes(tests).items() if count}
    if not counts:
        return "no tests"
    if counts.keys() == {"passed"}:
        return f"all {len(tests):,} tests passed" if len(tests) > 1 else "1 test passed"
    if not counts.keys() & {"failed", "error", "passed"}:
        parts = [f"none of {plural(len(tests), 'test')} ran"]
    else:
        # What is wrong comes first, as some tools show nothing but the beginning of the line.
        first = next(outcome for outcome in ("failed", "error", "passed") if outcome in counts)
        parts = [f"{counts.pop(first):,} of {plural(len(tests), 'test')} {_TEST_WORDS.get(first, first)}"]
        if first != "passed":
            counts = {outcome: count for outcome, count in counts.items() if outcome == "error"}
    others = [outcome for outcome in ("error", "skipped", "not_applicable") if outcome in counts]
    return ", ".join([*parts, *(f"{counts[name]:,} {_TEST_WORDS.get(name, name)}" for name in others)])


class Look(NamedTuple):
    """How the page shows the outcome of a test."""

    tone: str
    symbol: str
    word: str
    is_open: bool = False
    """Whether its tests are always shown unfolded."""


LOOKS = {
    "failed": Look("bad", "✗", "failed", is_open=True),
    "error": Look("unmade", "!", "could not run", is_open=True),
    "skipped": Look("open", "–", "skipped"),
    "not_applicable": Look("none", "·", "not applicable"),
    "passed": Look("good", "✓", "passed"),
}
"""The outcomes of tests, the most urgent first."""


def test_shares(tests: Sequence[TestResult]) -> list[Share]:
    """Return the number of tests of each outcome, for a bar."""
    counts = count_outcomes(tests)
    weighted = [(LOOKS[outcome], counts[outcome]) for outcome in OUTCOMES if counts[outcome]]
    return [Share(look.tone, look.symbol, count, look.word) for look, count in weighted]


def suite_document(result: TargetResult) -> Document:
    """Return the tests, and in text the totals below them."""
    tests = result.tests
    title, totals = (Only((TEXT,), [Headline(words)]) for words in (result.target, tests_sentence(tests)))
    return Document([title, Tests(tests), totals], shares=test_shares(tests))


def merge_unrun(tests: list[TestResult]) -> list[TestResult]:
    """Merge tests that could not run on one server for one reason into one entry, for people."""
    groups: dict[tuple[str, str], list[TestResult]] = {}
    for test in tests:
        if _is_unrun(test):
            # One server that does not start is one problem, also if two hundred tests needed it.
            groups.setdefault((test.server, test.message), []).append(test)
    merged = []
    for test in tests:
        # The group stands where its first test was; the others find it gone.
        group = groups.pop((test.server, test.message), None) if _is_unrun(test) else [test]
        if group is not None and len(group) == 1:
            merged.append(test)
        elif group is not None:
            name = f"{plural(len(group), 'test')} on `{test.server}` could not run"
            detail = next((member.detail for member in group if member.detail), "")
            merged.append(test._replace(name=name, block="", detail=detail))
    return merged


def _is_unrun(test: TestResult) -> bool:
    return test.outcome == "error" and test.block not in ("setup", "teardown")
