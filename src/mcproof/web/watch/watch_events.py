"""What changed between two runs of a watched server: its new state, and the events that a webhook receives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.checks.rule import VERDICTS
from mcproof.runs.results import Gate
from mcproof.store.watch_states import WatchState
from mcproof.web.watch.watch_schedule import FAILURES_TO_BE_GONE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mcproof.runs.config import WatchEntry
    from mcproof.web.watch.watch_jobs import ObservedRun

EVENT_TYPES = ("grade.fell", "verdict.fell", "surface.changed", "gate.failed", "server.gone", "server.back")


class WatchEvent(NamedTuple):
    """Something that a webhook reports."""

    type: str
    summary: str
    """In words, for people."""
    details: dict[str, Any] = {}  # noqa: RUF012 (never mutated)


class Comparison(NamedTuple):
    """The state of a server after a run, and what changed."""

    state: WatchState
    events: list[WatchEvent]


def compare(entry: WatchEntry, before: WatchState | None, runs: Sequence[ObservedRun]) -> Comparison:
    """Compare the runs of one check with the state before it; the first check of a server only has failed gates."""
    known = before or WatchState(runs[0].run.started)
    troubles = [each.run.targets[0].trouble for each in runs]
    trouble = next((each for each in troubles if each is not None), None)
    if trouble is not None:
        failures = known.failures + 1
        is_gone = known.is_gone or failures >= FAILURES_TO_BE_GONE
        state = known._replace(last_run=runs[0].run.started, failures=failures, is_gone=is_gone)
        gone = WatchEvent("server.gone", "the server cannot be checked any more", {"error": str(trouble)})
        return Comparison(state, [gone] if is_gone and not known.is_gone else [])
    gates = [gate for each in runs for gate in gates_of(entry, each)]
    state = _state(known, runs)._replace(failed_gates=tuple(gate.gate for gate in gates if not gate.passed))
    return Comparison(state, [*_events(known, state), *_gate_events(known, gates)])


def _state(known: WatchState, runs: Sequence[ObservedRun]) -> WatchState:
    """Return the state after runs that have checked the server; what they did not judge stays as it was."""
    state = known._replace(last_run=runs[0].run.started, failures=0, is_gone=False)
    for each in runs:
        result = each.run.targets[0]
        if result.scores.grade is not None:
            state = state._replace(grade=result.scores.grade.letter, score=result.scores.grade.score)
        if result.scores.tokens is not None:
            state = state._replace(tokens=result.scores.tokens.total)
        if result.payload.kind == "scan" and result.payload.trust is not None:
            state = state._replace(verdict=result.payload.trust.verdict)
        if each.surface is not None:
            state = state._replace(surface=each.surface)
    return state


def gates_of(entry: WatchEntry, observed: ObservedRun) -> Iterator[Gate]:
    """Yield the gates of an entry that a run can judge, each with whether it is met."""
    result = observed.run.targets[0]
    grade, tokens = result.scores.grade, result.scores.tokens
    if observed.run.command == "lint":
        if entry.min_grade is not None and grade is not None:
            yield Gate("min-grade", entry.min_grade, grade.letter, grade.letter <= entry.min_grade)
        if entry.max_tokens is not None and tokens is not None:
            yield Gate("max-tokens", entry.max_tokens, tokens.total, tokens.total <= entry.max_tokens)
    elif entry.fail_on_verdict is not None and result.payload.kind == "scan" and result.payload.trust is not None:
        verdict = result.payload.trust.verdict
        is_met = _badness(verdict) < _badness(entry.fail_on_verdict)
        yield Gate("fail-on-verdict", entry.fail_on_verdict, verdict, is_met)


def _badness(verdict: str) -> int:
    return [str(each) for each in VERDICTS].index(verdict)


def _events(before: WatchState, after: WatchState) -> Iterator[WatchEvent]:
    if before.is_gone:
        yield WatchEvent("server.back", "the server can be checked again")
    if before.grade is not None and after.grade is not None and after.grade > before.grade:
        yield WatchEvent("grade.fell", f"the grade fell from {before.grade} to {after.grade}")
    if before.verdict is not None and after.verdict is not None and _badness(after.verdict) > _badness(before.verdict):
        yield WatchEvent("verdict.fell", f"the verdict fell from {before.verdict} to {after.verdict}")
    if before.surface is not None and after.surface != before.surface:
        yield WatchEvent("surface.changed", "what the server offers has changed")


def _gate_events(before: WatchState, gates: list[Gate]) -> Iterator[WatchEvent]:
    """Yield one event for the gates that fail now and did not before."""
    failed = [gate for gate in gates if not gate.passed and gate.gate not in before.failed_gates]
    if failed:
        words = ", ".join(f"{gate.gate} {gate.limit} (now {gate.actual})" for gate in failed)
        records = [{"gate": gate.gate, "limit": gate.limit, "actual": gate.actual} for gate in failed]
        yield WatchEvent("gate.failed", f"a gate is no longer met: {words}", {"gates": records})
