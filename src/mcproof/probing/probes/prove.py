"""Probe results for the report, contract cells for the matrix and probe records for the rules, from what was sent."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mcproof.core.console import plural
from mcproof.core.errors import Untested
from mcproof.core.observations.probes import CHECKS, SEVERAL, ItemProbes, ProbeRecord, as_json
from mcproof.core.observations.responses import OutputContract
from mcproof.prove import protocol_probes
from mcproof.prove.contract_matrix import Trial, cell_of
from mcproof.prove.failure_store import StoredFailure
from mcproof.prove.fuzz.outcomes import HOW_TO_ANSWER, failed_as, passed
from mcproof.prove.negative_checks import SCHEMA_CHECKS
from mcproof.prove.probe_cases import FAULT_OF, PROBE_OF, ProbeCase, SkippedProbe
from mcproof.prove.probe_session import INTERRUPTED, ProbeSession
from mcproof.prove.promise_probes import PROVE_CHECKS
from mcproof.prove.seen_responses import seen_response, showing
from mcproof.results.proof import ProbeResult

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from mcproof.client.capture import OpenServer
    from mcproof.client.session import Response, Session
    from mcproof.core.catalog.model import Catalog, Item
    from mcproof.prove.permission import Permission
    from mcproof.prove.probe_session import ProbePlan
    from mcproof.prove.seen_responses import SeenResponse
    from mcproof.prove.tool_run import SentProbe
    from mcproof.prove.worker_pool import Incomplete
    from mcproof.results.proof import Cell

WEAK = "the valid call fails too, so this proves little"
NOT_SHOWN = "the response is that of the valid call, or about something else, so this shows nothing"
_BASELINE_OUTCOMES = {"rejected": "is rejected", "hang": "times out"}


class Proof(NamedTuple):
    """The result of probing one server."""

    item_probes: list[ItemProbes]
    probes: list[ProbeResult]
    matrix: list[Cell]
    untested: list[Untested]
    stored: list[StoredFailure]
    incomplete: Incomplete = ""
    """Why requests are missing; empty if none are."""
    was_cut: bool = False
    """Whether requests were pending when the time was up, so that the state of the server is unknown."""


def prove(catalog: Catalog, server: OpenServer, plan: ProbePlan, progress: Callable[[int, int, str], None]) -> Proof:
    """Probe an open server; an interrupt keeps the results so far.

    The probes go to the process that was listed, and to others after a while. Further processes are started only for
    the two probes that need their own connection (`not_json`, `bad_version`), to find out which request ended the
    server (`blame`), and to replace a server that has ended.
    """
    probing = ProbeSession(catalog, server.session, plan, progress)
    if not server.run(probing.send_all):
        probing.trouble = INTERRUPTED
    return _Evidence(catalog, plan, probing).proof()


async def prove_over(catalog: Catalog, session: Session, plan: ProbePlan) -> Proof:
    """Async variant of `prove` over a session, which stays open; the caller handles interrupts."""
    probing = ProbeSession(catalog, session, plan, lambda *_: None)
    await probing.send_all()
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
        results = [self._result(each, None) for each in self._sent_to(self._catalog.server)]
        matrix: list[Cell] = []
        for permission in self._plan.permissions:
            results += self._rows(permission)
            if self._plan.explores:
                matrix += self._cells(permission)
        return Proof(
            item_probes=self._item_probes(),  # which also stores the failures
            probes=results,
            matrix=matrix,
            untested=list(self._untested()),
            stored=list(self._stored.values()),
            incomplete=self._probing.incomplete,
            was_cut=self._probing.was_cut,
        )

    def _sent_to(self, item: Item) -> list[SentProbe]:
        return self._of_item.get(id(item), [])

    def _rows(self, permission: Permission) -> list[ProbeResult]:
        """The results of the probes of a tool, sent or not."""
        tool, sent = permission.tool, self._sent_to(permission.tool)
        weakness = _weakness(sent, compares=self._plan.explores)
        rows = [self._result(each, weakness, _valid_response(sent)) for each in sent]
        known = {each.probe for each in rows}
        for probe in PROVE_CHECKS if self._plan.explores else SCHEMA_CHECKS:
            if probe in self._plan.checks and probe not in known:
                fault, reason = FAULT_OF.get(probe), self._untested_reason(permission)
                rows.append(ProbeResult(tool.name, probe, fault, "not_tested", None, reason))
        return rows

    def _cells(self, permission: Permission) -> Iterator[Cell]:
        """The cells of a tool, one for each probe of the plan."""
        sent, probes = self._sent_to(permission.tool), self._probing.probes_of(permission.tool)
        valid = _valid_response(sent)
        trials = [
            Trial(each.case, showing(each.seen, each.case, valid))
            for each in sent
            if isinstance(each.case, ProbeCase) and each.seen is not None
        ]
        for column, probe in PROBE_OF.items():
            if probe in self._plan.checks:
                yield cell_of(column, probes, trials, self._untested_reason(permission, sent, probe))

    def _untested_reason(self, permission: Permission, sent: Sequence[SentProbe] = (), probe: str = "") -> str:
        """Why a probe of a tool was not sent."""
        if not permission.is_granted:
            return permission.reason
        reasons = [
            each.case.reason for each in sent if isinstance(each.case, SkippedProbe) and each.case.probe == probe
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
        found: list[ItemProbes] = []
        revision = self._catalog.protocol
        for item in (self._catalog.server, *(each.tool for each in self._plan.permissions)):
            records = [record for each in self._sent_to(item) if (record := self._record(each)) is not None]
            if item is self._catalog.server:
                records += [
                    ProbeRecord("calls", SEVERAL, "response", end.outcome, response=self._text(end))
                    for end in {each.outcome: each for each in reversed(self._probing.unexplained)}.values()
                ]
            if records:
                found.append(ItemProbes(item, records, revision))
        return found

    def _record(self, sent: SentProbe) -> ProbeRecord | None:
        """The record of a probe without secrets; a failure is stored."""
        case, seen = sent.case, sent.seen
        if isinstance(case, SkippedProbe) or seen is None:
            return None
        flaws = tuple(flaw._replace(detail=self._probing.redacted(flaw.detail)) for flaw in seen.flaws)
        seen = seen._replace(text=self._probing.redacted(seen.text), flaws=flaws)
        return _record(case, seen)._replace(failure=self._store(sent, case, seen))

    def _store(self, sent: SentProbe, case: ProbeCase, seen: SeenResponse) -> str | None:
        """Store a failure; its id, or None if the probe did not fail."""
        outcome = failed_as(case, seen)
        if outcome is None:
            return None
        tool = sent.item.name if sent.item.kind == "tool" else None
        failed = StoredFailure.of(
            self._plan.target,
            tool=tool,
            probe=case.probe,
            method=sent.method,
            params=sent.params if tool is None else {"name": tool, "arguments": case.sent_arguments()},
            outcome=outcome,
            what=case.description,
            is_valid=case.expects == "success",
            answer=seen.text,
            limit=self._plan.limit,
        )
        self._stored[failed.id] = failed
        return failed.id

    def _untested(self) -> Iterator[Untested]:
        """The tools that were not tested, or only in part."""
        for permission in self._plan.permissions:
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


def record_of(item: Item, case: ProbeCase, response: Response, method: str, revision: str | None) -> ProbeRecord:
    """The record of a case and its response, which may still contain secrets."""
    output = OutputContract(item.fields.get("outputSchema")) if method == "tools/call" else None
    return _record(case, seen_response(response, case.sent_arguments(), revision, output))


def _record(case: ProbeCase, seen: SeenResponse) -> ProbeRecord:
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
    return next((each.seen for each in reversed(sent) if each.case.probe == "baseline" and each.seen is not None), None)


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
    if any(each.case.probe == "baseline" and each.seen is not None and each.seen.is_success for each in sent):
        return f"the valid call succeeds at first and {what} later, so {effect}"
    return f"the valid call {what}, so {effect}; {how}"


def _without_repeated_hangs(sent: list[SentProbe]) -> list[SentProbe]:
    """Skip the probes that hang if the valid call does, too: that is one failure, not several."""
    valid = _valid_response(sent)
    if valid is None or valid.outcome != "hang":
        return sent
    reason = "the valid call times out, too"
    return [
        each._replace(case=SkippedProbe(each.case.probe, reason, True, each.case.declared), seen=None)
        if isinstance(each.case, ProbeCase)
        and each.case.probe != "baseline"
        and each.seen is not None
        and each.seen.outcome == "hang"
        else each
        for each in sent
    ]


def default_checks(*, explores: bool) -> list[str]:
    """The probes that are sent by default: the five of the negative path, and for `prove` all there are."""
    if not explores:
        return list(CHECKS)
    return ["unknown_tool", *PROVE_CHECKS, *protocol_probes.NAMES]
