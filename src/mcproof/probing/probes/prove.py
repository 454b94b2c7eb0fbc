"""The result of probing a server: probe results, the contract matrix, and records for the rules.

`prove` sends all probes of a plan over a session. The matrix has a cell for each tool and kind of promise.
Why proven means all: docs/decisions/0033-proven-means-all.md.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from mcproof.core.console import plural
from mcproof.core.errors import Untested
from mcproof.core.named_tuple import NamedTuple
from mcproof.core.observations.probes import CHECKS, SEVERAL, ItemProbes, ProbeRecord, as_json
from mcproof.probing.calls import Called, Progress, run, run_within
from mcproof.probing.outcomes import Cell, Column, ProbeResult, Verdict
from mcproof.probing.probes import promises
from mcproof.probing.probes.cases import (
    FAULT_OF,
    PROBE_OF,
    SCHEMA_CHECKS,
    ProbeCase,
    ProbePlan,
    SkippedProbe,
    ToolProbes,
    column_of,
)
from mcproof.probing.probes.failures import StoredFailure
from mcproof.probing.probes.promises import PROVE_CHECKS
from mcproof.probing.probes.responses import (
    HOW_TO_ANSWER,
    SeenResponse,
    Showing,
    failed_as,
    passed,
    showing,
)
from mcproof.probing.probes.session import INTERRUPTED, ProbeSession, SentProbe

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from mcproof.checks.findings import ReportedFinding
    from mcproof.client.capture import OpenServer
    from mcproof.client.session import Response, Session
    from mcproof.core.catalog.model import Catalog, Item
    from mcproof.probing.calls import CallPlan
    from mcproof.probing.generation.violations import Promise
    from mcproof.probing.permission import Permission


class Trial(NamedTuple):
    """A case that was sent, and what the response shows."""

    case: ProbeCase
    shows: Showing


def cell_of(column: Column, probes: ToolProbes, trials: list[Trial], untested: str) -> Cell:
    """The cell of a tool and column; `untested` is the reason if there are no trials."""
    probe = PROBE_OF[column]
    tool, fault = probes.tool.name, FAULT_OF.get(probe)
    own = [trial for trial in trials if trial.case.probe == probe]
    for case in probes.cases:
        if isinstance(case, SkippedProbe) and case.probe == probe:
            skipped = Cell(tool, column, fault, case.declared, None, "not applicable", reason=case.reason)
            if not case.is_applicable:
                return skipped
            return skipped._replace(verdict="not tested", left_out=int(bool(case.declared)))
    promised = [promise for promise in probes.promises if column_of(promise.keyword) == column]
    planned = [case for case in probes.cases if isinstance(case, ProbeCase) and case.probe == probe and case.is_promise]
    if not own:
        is_declared = bool(promised)
        return Cell(tool, column, fault, is_declared, None, "not tested", left_out=len(promised), reason=untested)
    sent = Counter(trial.case.promise for trial in own if trial.case.is_promise)
    unsent = Counter(case.promise for case in planned) - sent
    if promised:
        cell = _Promises(own, promised, {*probes.left_out, *unsent}).cell(tool, column)
    else:
        cell = _explored(tool, column, own)
    # What servers commonly convert is counted apart: docs/decisions/0033-proven-means-all.md.
    lenient = sum(trial.case.is_lenient and not trial.case.is_promise and trial.shows == "accepted" for trial in own)
    return cell._replace(lenient=lenient)


class _Promises:
    """The promises of one cell, by what the trials show of them."""

    def __init__(self, trials: list[Trial], promised: list[Promise], left_out: set[Promise]) -> None:
        shown: dict[Promise, set[Showing]] = {}
        for trial in trials:
            if trial.case.is_promise:
                shown.setdefault(trial.case.promise, set()).add(trial.shows)
        self._trials = trials
        self._broken = [promise for promise in promised if "accepted" in shown.get(promise, ())]
        rest = [promise for promise in promised if promise not in self._broken]
        self._not_shown = [promise for promise in rest if "nothing" in shown.get(promise, ())]
        rest = [promise for promise in rest if promise not in self._not_shown]
        self._left_out = [promise for promise in rest if promise in left_out]
        self._kept = [promise for promise in rest if promise not in self._left_out]

    def cell(self, tool: str, column: Column) -> Cell:
        """The cell, with the verdict that the worst promise decides."""
        kept, not_shown, left_out = len(self._kept), len(self._not_shown), len(self._left_out)
        cell = Cell(tool, column, FAULT_OF.get(PROBE_OF[column]), True, None, "proven", refused=kept)
        tried = kept + len(self._broken) + not_shown
        if self._broken:
            reason = self._reason("accepted")
            # What shows nothing beside a broken promise counts as left out, so that tried less refused is broken.
            return cell._replace(
                kept=False,
                verdict="broken promise",
                tried=tried - not_shown,
                left_out=left_out + not_shown,
                arguments=_arguments(self._broken),
                reason=reason,
            )
        if self._not_shown:
            arguments, reason = _arguments(self._not_shown), self._reason("nothing")
            return cell._replace(
                verdict="not shown", tried=tried, left_out=left_out, arguments=arguments, reason=reason
            )
        if self._left_out:
            arguments = _arguments(self._left_out)
            return cell._replace(
                verdict="partly tried",
                tried=tried,
                left_out=left_out,
                arguments=arguments,
                reason=f"not every call that breaks {_listed(arguments)} was sent",
            )
        return cell._replace(kept=True, tried=tried, arguments=_arguments(self._kept), reason=self._reason("refused"))

    def _reason(self, shows: Showing) -> str:
        descriptions = [
            trial.case.description for trial in self._trials if trial.case.is_promise and trial.shows == shows
        ]
        return _sentence(shows, descriptions)


def _explored(tool: str, column: Column, trials: list[Trial]) -> Cell:
    """The cell of what the schema does not promise."""
    explored = [trial for trial in trials if not trial.case.is_lenient]
    fault = FAULT_OF.get(PROBE_OF[column])
    if not explored:
        reason = "servers commonly convert every value that the schema excludes"
        return Cell(tool, column, fault, None, None, "not applicable", reason=reason)
    cell = Cell(tool, column, fault, False, None, "not shown", tried=len(explored))
    cell = cell._replace(refused=sum(trial.shows == "refused" for trial in explored))
    for shows, verdict in _EXPLORED.items():
        cases = [trial.case for trial in explored if trial.shows == shows]
        if cases:
            return cell._replace(
                kept=None if shows == "nothing" else shows == "refused",
                verdict=verdict,
                arguments=tuple(dict.fromkeys(case.argument for case in cases if case.argument)),
                reason=_sentence(shows, [case.description for case in cases]),
            )
    return cell


_EXPLORED: dict[Showing, Verdict] = {"accepted": "open", "refused": "hidden rule", "nothing": "not shown"}
"""The verdicts on what is not promised, the first that occurs deciding."""
_RESULTS: dict[Showing, str] = {
    "accepted": "not refused",
    "refused": "refused",
    "nothing": "the response is that of the valid call, about something else, or depends on the user",
}


def _sentence(shows: Showing, descriptions: list[str]) -> str:
    more = f" and {len(descriptions) - 3:,} more" if len(descriptions) > 3 else ""
    return f"{'; '.join(descriptions[:3])}{more}: {_RESULTS[shows]}"


def _arguments(promises: list[Promise]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(promise.argument for promise in promises))


def _listed(names: tuple[str, ...]) -> str:
    more = f" and {len(names) - 3:,} more" if len(names) > 3 else ""
    return ", ".join(f"`{name}`" for name in names[:3]) + more


def with_predictions(matrix: list[Cell], findings: Iterable[ReportedFinding]) -> list[Cell]:
    """Add the static rules that predicted the open cells."""
    predictions: dict[tuple[str | None, str], dict[str, None]] = {}
    for finding in findings:
        if finding.rule.fault is not None and finding.rule.ruleset != "wire":
            predictions.setdefault((finding.tool, finding.rule.fault), {})[finding.rule.id] = None
    return [
        cell._replace(predicted_by=tuple(predictions.get((cell.tool, cell.fault or ""), ())))
        if cell.verdict == "open"
        else cell
        for cell in matrix
    ]


WEAK = "the valid call fails too, so this proves little"
NOT_SHOWN = "the response is that of the valid call, or about something else, so this shows nothing"
_BASELINE_OUTCOMES = {"rejected": "is rejected", "hang": "times out"}


class Proof(NamedTuple):
    """The result of probing one server."""

    called: Called
    probes: list[ProbeResult]
    matrix: list[Cell]
    arguments: dict[str, dict[str, Any]]
    """Arguments that tools accepted, by tool, where they are not the generated ones."""
    furthest: dict[str, dict[str, Any]]
    """Arguments that got further than the generated ones, by tool, although they were refused."""


def working_arguments(
    catalog: Catalog, server: OpenServer, calls: CallPlan, progress: Progress, *, or_furthest: bool = False
) -> dict[str, dict[str, Any]]:
    """Arguments that tools accept which refuse the generated ones, by tool; and those of the user."""
    tried = [
        permission
        for permission in calls.permissions
        if not permission.is_forced and permission.tool.name not in calls.arguments
    ]
    plan = ProbePlan(calls._replace(permissions=tried), [], explores=False, size=0)
    proof = prove(catalog, server, plan, progress)
    return {**(proof.furthest if or_furthest else {}), **proof.arguments, **calls.arguments}


def prove(catalog: Catalog, server: OpenServer, plan: ProbePlan, progress: Progress) -> Proof:
    """Probe an open server; an interrupt keeps the results so far.

    Three probes need a connection of their own: `not_json`, `not_object` and `bad_version`.
    """
    probing = ProbeSession(catalog, server.session, plan, progress)
    run(server, probing)
    if server.is_interrupted:
        probing.trouble = INTERRUPTED
    return _Evidence(catalog, plan, probing).proof()


async def prove_over(catalog: Catalog, session: Session, plan: ProbePlan) -> Proof:
    """Probe over a session, which stays open, in this event loop."""
    probing = ProbeSession(catalog, session, plan)
    await run_within(probing)
    return _Evidence(catalog, plan, probing).proof()


class _Evidence:
    """Turns the responses of a probe session into results."""

    def __init__(self, catalog: Catalog, plan: ProbePlan, probing: ProbeSession) -> None:
        self._catalog = catalog
        self._plan = plan
        self._probing = probing
        self._of_item = {item: _without_repeated_hangs(sent) for item, sent in probing.sent().items()}
        self._stored: dict[str, StoredFailure] = {}

    def proof(self) -> Proof:
        results = [self._result(sent, None) for sent in self._sent_to(self._catalog.server)]
        matrix: list[Cell] = []
        for permission in self._plan.calls.permissions:
            results += self._rows(permission)
            if self._plan.explores:
                matrix += self._cells(permission)
        item_probes = self._item_probes()  # which also stores the failures
        stored, untested = list(self._stored.values()), list(self._untested())
        called = Called(item_probes, stored, untested, self._probing.incomplete, self._probing.was_cut)
        return Proof(called, results, matrix, self._probing.found, self._probing.furthest)

    def _sent_to(self, item: Item) -> list[SentProbe]:
        return self._of_item.get(id(item), [])

    def _rows(self, permission: Permission) -> list[ProbeResult]:
        """The results of the probes of a tool, sent or not."""
        tool, sent = permission.tool, self._sent_to(permission.tool)
        weakness = _weakness(sent, compares=self._plan.explores)
        rows = [self._result(sent_probe, weakness, _valid_response(sent)) for sent_probe in sent]
        present = {row.probe for row in rows}
        for probe in PROVE_CHECKS if self._plan.explores else SCHEMA_CHECKS:
            if probe in self._plan.checks and probe not in present:
                fault, reason = FAULT_OF.get(probe), self._untested_reason(permission)
                rows.append(ProbeResult(tool.name, probe, fault, "not_tested", None, reason))
        return rows

    def _cells(self, permission: Permission) -> Iterator[Cell]:
        """The cells of a tool, one for each probe of the plan."""
        sent, probes = self._sent_to(permission.tool), self._probing.probes_of(permission.tool)
        valid = _valid_response(sent)
        trials = [
            Trial(sent_probe.case, showing(sent_probe.seen, sent_probe.case, valid))
            for sent_probe in sent
            if isinstance(sent_probe.case, ProbeCase) and sent_probe.seen is not None
        ]
        for column, probe in PROBE_OF.items():
            if probe in self._plan.checks:
                yield cell_of(column, probes, trials, self._untested_reason(permission, sent, probe))

    def _untested_reason(self, permission: Permission, sent: Sequence[SentProbe] = (), probe: str = "") -> str:
        """Why a probe of a tool was not sent."""
        if not permission.is_granted:
            return permission.reason
        reasons = [
            sent_probe.case.reason
            for sent_probe in sent
            if isinstance(sent_probe.case, SkippedProbe) and sent_probe.case.probe == probe
        ]
        probes = self._probing.tool_probes.get(id(permission.tool))
        is_over_limit = probes is not None and probes.calls_left_out > 0
        limit = f"left out: --max-calls {self._plan.max_calls:,}" if is_over_limit else "not reached"
        return reasons[0] if reasons else self._probing.trouble or limit

    def _result(self, sent: SentProbe, weakness: str | None, valid: SeenResponse | None = None) -> ProbeResult:
        case, seen = sent.case, sent.seen
        tool = sent.item.name if sent.item.kind == "tool" else None
        fault = FAULT_OF.get(case.probe)
        if isinstance(case, SkippedProbe):
            outcome = "not_tested" if case.is_applicable else "not_applicable"
            return ProbeResult(tool, case.probe, fault, outcome, None, case.reason)
        if seen is None:
            return ProbeResult(tool, case.probe, fault, "not_tested", None, "the server had ended before it was sent")
        has_passed, reason = passed(case, seen), case.description
        if self._plan.explores and case.expects == "rejection" and seen.reports_error:
            has_passed = True  # WIR-023 reports that the error is marked as a success
        if case.probe == "baseline":
            reason = weakness or reason
        elif seen.asks:
            reason = f"{reason}; it {seen.asks}, so this shows nothing"
        elif self._plan.explores:
            if has_passed and sent.item.kind == "tool" and showing(seen, case, valid) == "nothing":
                has_passed, reason = None, f"{reason}; {NOT_SHOWN}"
        elif weakness is not None:
            reason = f"{reason}; {WEAK}"
        return ProbeResult(
            tool=tool,
            probe=case.probe,
            fault=fault,
            outcome=seen.outcome,
            passed=has_passed,
            reason=reason,
            is_exploratory=case.is_exploratory,
            request=as_json(case.sent_arguments()),
            answer=self._probing.redacted(seen.text),
            argument=case.argument,
            is_lenient=case.is_lenient,
        )

    def _text(self, response: Response) -> str:
        return self._probing.redacted(response.text)

    def _item_probes(self) -> list[ItemProbes]:
        item_probes: list[ItemProbes] = []
        revision = self._catalog.protocol
        for item in (self._catalog.server, *(permission.tool for permission in self._plan.calls.permissions)):
            records = [record for sent in self._sent_to(item) if (record := self._record(sent)) is not None]
            if item is self._catalog.server:
                records += [
                    ProbeRecord("calls", SEVERAL, "response", end.outcome, response=self._text(end))
                    for end in {response.outcome: response for response in reversed(self._probing.unexplained)}.values()
                ]
            if records:
                item_probes.append(ItemProbes(item, records, revision))
        return item_probes

    def _record(self, sent: SentProbe) -> ProbeRecord | None:
        """The record of a probe without secrets; a failure is stored."""
        case, seen = sent.case, sent.seen
        if isinstance(case, SkippedProbe) or seen is None:
            return None
        flaws = tuple(flaw._replace(detail=self._probing.redacted(flaw.detail)) for flaw in seen.flaws)
        seen = seen._replace(text=self._probing.redacted(seen.text), flaws=flaws)
        return record_of(case, seen)._replace(failure=self._store(sent, case, seen))

    def _store(self, sent: SentProbe, case: ProbeCase, seen: SeenResponse) -> str | None:
        """Store a failure; its id, or None if the probe did not fail."""
        outcome = failed_as(case, seen)
        if outcome is None:
            return None
        tool = sent.item.name if sent.item.kind == "tool" else None
        failed = StoredFailure.of(
            self._plan.calls.target,
            tool=tool,
            probe=case.probe,
            method=sent.method,
            params=sent.params if tool is None else {"name": tool, "arguments": case.sent_arguments()},
            outcome=outcome,
            what=case.description,
            is_valid=case.expects == "success",
            answer=seen.text,
            limit=self._plan.calls.limit,
        )
        self._stored[failed.id] = failed
        return failed.id

    def _untested(self) -> Iterator[Untested]:
        """The probes that were not sent, and the tools that were not tested, or only in part."""
        for sent_probe in self._sent_to(self._catalog.server):
            if isinstance(sent_probe.case, SkippedProbe) and sent_probe.case.is_applicable:
                yield Untested(sent_probe.case.probe, sent_probe.case.reason)
        for permission in self._plan.calls.permissions:
            tool = permission.tool
            what, sent, probes = f"tool {tool.label}", self._sent_to(tool), self._probing.tool_probes.get(id(tool))
            if not permission.is_granted:
                yield Untested(what, permission.reason)
            elif not sent:
                yield Untested(what, self._probing.trouble or "not reached")
            elif probes is not None and probes.problem:
                yield Untested(what, f"no valid call could be generated: {probes.problem}; pass one with --args")
            elif (weakness := _weakness(sent, compares=self._plan.explores)) is not None:
                yield Untested(f"{what}, in part", weakness)
            if sent and self._probing.trouble and self._probing.is_unfinished(tool):
                yield Untested(f"{what}, in part", self._probing.trouble)
            if id(tool) in self._probing.stopped:
                yield Untested(f"{what}, in part", self._probing.stopped[id(tool)])
            if sent and probes is not None and probes.calls_left_out:
                left_out, limit = plural(probes.calls_left_out, "probe"), self._plan.max_calls
                yield Untested(f"{what}, in part", f"{left_out} left out: --max-calls {limit:,}")


def record_of(case: ProbeCase, seen: SeenResponse) -> ProbeRecord:
    """The record of a case and its response, which may still contain secrets."""
    return ProbeRecord(
        probe=case.probe,
        description=case.description,
        expects="nothing" if seen.asks else case.expects,
        outcome=seen.outcome,
        fault=case.fault,
        keyword=case.keyword,
        schema_pointer=case.schema_pointer,
        request=as_json(case.sent_arguments()),
        response=seen.text,
        code=seen.code,
        flaws=seen.flaws,
        argument=case.argument,
        is_lenient=case.is_lenient and not case.is_promise,
    )


def _valid_response(sent: list[SentProbe]) -> SeenResponse | None:
    """What was seen of the last valid call of a tool."""
    return next(
        (
            sent_probe.seen
            for sent_probe in reversed(sent)
            if sent_probe.case.probe == "baseline" and sent_probe.seen is not None
        ),
        None,
    )


def _weakness(sent: list[SentProbe], *, compares: bool) -> str | None:
    """Why the probes of a tool prove less: its last valid call failed. None if it succeeded."""
    valid = _valid_response(sent)
    if valid is not None and valid.asks:
        return f"the valid call {valid.asks}, so only refusals before the question count; {HOW_TO_ANSWER}"
    if valid is None or valid.is_success:
        return None
    what = "reports an error" if valid.outcome == "accepted" else _BASELINE_OUTCOMES.get(valid.outcome, "fails")
    how = "pass better arguments with `--args`, or `args` in a suite"
    effect = "only refusals that are about an argument count" if compares else "its probes prove little"
    if any(
        sent_probe.case.probe == "baseline" and sent_probe.seen is not None and sent_probe.seen.is_success
        for sent_probe in sent
    ):
        return f"the valid call succeeds at first and {what} later, so {effect}"
    return f"the valid call {what}, so {effect}; {how}"


def _without_repeated_hangs(sent: list[SentProbe]) -> list[SentProbe]:
    """Skip the probes that hang if the valid call does, too: that is one failure, not several."""
    valid = _valid_response(sent)
    if valid is None or valid.outcome != "hang":
        return sent
    reason = "the valid call times out, too"
    return [
        sent_probe._replace(case=SkippedProbe(sent_probe.case.probe, reason, True, sent_probe.case.declared), seen=None)
        if isinstance(sent_probe.case, ProbeCase)
        and sent_probe.case.probe != "baseline"
        and sent_probe.seen is not None
        and sent_probe.seen.outcome == "hang"
        else sent_probe
        for sent_probe in sent
    ]


def default_checks(*, explores: bool) -> list[str]:
    """The probes that are sent by default: the five of the negative path, and for `prove` all there are."""
    if not explores:
        return list(CHECKS)
    return ["unknown_tool", *PROVE_CHECKS, *promises.NAMES]
