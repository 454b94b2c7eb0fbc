"""Probe results for the report, contract cells for the matrix and probe records for the rules, from what was sent."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mcproof.client.session import Session
from mcproof.exchange.probe_facts import CHECKS, SEVERAL, ItemProbes, ProbeRecord, as_json
from mcproof.exchange.responses import OutputContract
from mcproof.prove import protocol_probes
from mcproof.prove.contract_matrix import cell_of
from mcproof.prove.failure_store import StoredFailure
from mcproof.prove.fuzz.outcomes import failed_as, flaws_in, passed
from mcproof.prove.probe_session import ProbeSession
from mcproof.prove.probes import FAULT_OF, SCHEMA_CHECKS, ProbeCase, SkippedProbe
from mcproof.results.proof import ProbeResult
from mcproof.results.run import Untested

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mcproof.catalog.model import Catalog, Item
    from mcproof.client.connect import ConnectOptions
    from mcproof.client.endpoints import Endpoint
    from mcproof.client.open_server import OpenServer
    from mcproof.client.session import Response
    from mcproof.exchange.probe_facts import ResponseFlaw
    from mcproof.prove.permission import Permission
    from mcproof.prove.probe_session import ProbePlan, SentProbe
    from mcproof.results.proof import Cell

WEAK = "the valid call fails too, so this proves little"
_BASELINE_OUTCOMES = {"rejected": "is rejected", "hang": "times out"}


class Proof(NamedTuple):
    """The result of probing one server."""

    item_probes: list[ItemProbes]
    probes: list[ProbeResult]
    matrix: list[Cell]
    untested: list[Untested]
    stored: list[StoredFailure]
    interrupted: bool


def prove(catalog: Catalog, server: OpenServer, plan: ProbePlan, progress: Callable[[int, int, str], None]) -> Proof:
    """Probe an open server; an interrupt keeps the results so far.

    The probes go to the process that was listed. Other processes are started only for the two probes that need their
    own connection (`not_json`, `bad_version`), to find out which request ended the server (`blame`), and to replace a
    server that has ended.
    """
    probing = ProbeSession(catalog, server.session, plan, progress)
    finished = server.run(probing.send_all)
    if not finished and not probing.trouble:
        probing.trouble = "interrupted"
    return _Evidence(catalog, plan, probing).proof(interrupted=not finished)


async def prove_within(catalog: Catalog, server: Endpoint, options: ConnectOptions, plan: ProbePlan) -> Proof:
    """Async variant of `prove` with its own session; the caller handles interrupts."""
    session = Session(server, options, plan.limit)
    probing = ProbeSession(catalog, session, plan, lambda *_: None)
    try:
        await probing.send_all()
    finally:
        await session.close()
    return _Evidence(catalog, plan, probing).proof(interrupted=False)


class _Evidence:
    """Turns the responses of a probe session into results."""

    def __init__(self, catalog: Catalog, plan: ProbePlan, probing: ProbeSession) -> None:
        self._catalog = catalog
        self._plan = plan
        self._probing = probing
        self._of_item = {item: _without_repeated_hangs(sent) for item, sent in probing.sent().items()}
        self._stored: dict[str, StoredFailure] = {}

    def proof(self, *, interrupted: bool) -> Proof:
        results = [self._result(each, None) for each in self._sent_to(self._catalog.server)]
        matrix: list[Cell] = []
        for permission in self._plan.permissions:
            tool = permission.tool
            rows, weakness = self._rows(permission)
            results += rows.values()
            if self._plan.explores:
                probes = self._probing.probes_of(tool)
                matrix += [cell_of(tool, rows[probe], probes, weakness) for probe in SCHEMA_CHECKS if probe in rows]
        return Proof(
            item_probes=self._item_probes(),  # which also stores the failures
            probes=results,
            matrix=matrix,
            untested=list(self._untested()),
            stored=list(self._stored.values()),
            interrupted=interrupted,
        )

    def _sent_to(self, item: Item) -> list[SentProbe]:
        return self._of_item.get(id(item), [])

    def _rows(self, permission: Permission) -> tuple[dict[str, ProbeResult], str | None]:
        """A result for each probe of a tool, sent or not, and why they may prove little."""
        tool = permission.tool
        sent = self._sent_to(tool)
        weakness = _weakness(sent, self._catalog.protocol)
        rows = {each.case.probe: self._result(each, weakness) for each in sent}
        for probe in SCHEMA_CHECKS:
            if probe in self._plan.checks and probe not in rows:
                reason = permission.reason if not permission.is_granted else self._probing.trouble or "not reached"
                rows[probe] = ProbeResult(tool.name, probe, FAULT_OF[probe], "not_tested", None, reason)
        return rows, weakness

    def _result(self, sent: SentProbe, weakness: str | None) -> ProbeResult:
        case, response = sent.case, sent.response
        tool = sent.item.name if sent.item.kind == "tool" else None
        fault = FAULT_OF.get(case.probe)
        if isinstance(case, SkippedProbe):
            outcome = "not_tested" if case.is_applicable else "not_applicable"
            return ProbeResult(tool, case.probe, fault, outcome, None, case.reason)
        if response is None:
            return ProbeResult(tool, case.probe, fault, "not_tested", None, "the server had ended before it was sent")
        reason = case.description if weakness is None else f"{case.description}; {WEAK}"
        if case.probe == "baseline":
            reason = weakness or case.description
        return ProbeResult(
            tool=tool,
            probe=case.probe,
            fault=fault,
            outcome=response.outcome,
            passed=passed(case, response),
            reason=reason,
            is_exploratory=case.is_exploratory,
            request=as_json(case.arguments),
            answer=self._text(response),
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
                    for end in self._probing.unexplained
                ]
            if records:
                found.append(ItemProbes(item, records, revision))
        return found

    def _record(self, sent: SentProbe) -> ProbeRecord | None:
        """The record of a probe without secrets; a failure is stored."""
        case, response = sent.case, sent.response
        if isinstance(case, SkippedProbe) or response is None:
            return None
        record = record_of(sent.item, case, response, sent.method, self._catalog.protocol)
        flaws = tuple(flaw._replace(detail=self._probing.redacted(flaw.detail)) for flaw in record.flaws)
        failure = self._store(sent, case, response, flaws)
        return record._replace(response=self._text(response), flaws=flaws, failure=failure)

    def _store(
        self, sent: SentProbe, case: ProbeCase, response: Response, flaws: tuple[ResponseFlaw, ...]
    ) -> str | None:
        """Store a failure; its id, or None if the probe did not fail."""
        outcome = failed_as(case, response, flaws)
        if outcome is None:
            return None
        failed = StoredFailure.of(
            self._plan.target,
            tool=sent.item.name if sent.item.kind == "tool" else None,
            probe=case.probe,
            method=sent.method,
            params=sent.params,
            outcome=outcome,
            what=case.description,
            is_valid=case.expects == "success",
            answer=self._text(response),
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
            elif (weakness := _weakness(sent, self._catalog.protocol)) is not None:
                yield Untested(f"{what}, in part", weakness)


def record_of(item: Item, case: ProbeCase, response: Response, method: str, revision: str | None) -> ProbeRecord:
    """The record of a case and its response, which may still contain secrets."""
    flaws: tuple[ResponseFlaw, ...] = ()
    if method == "tools/call":
        flaws = flaws_in(response, revision, OutputContract(item.fields.get("outputSchema")))
    return ProbeRecord(
        probe=case.probe,
        description=case.description,
        expects=case.expects,
        outcome=response.outcome,
        fault=case.fault,
        keyword=case.keyword,
        schema_pointer=case.schema_pointer,
        request=as_json(case.arguments),
        response=response.text,
        code=response.code,
        flaws=flaws,
    )


def _weakness(sent: list[SentProbe], revision: str | None) -> str | None:
    """Why the probes of a tool prove little: its last valid call failed. None if it succeeded."""
    for each in reversed(sent):
        if each.case.probe == "baseline" and each.response is not None:
            what = _BASELINE_OUTCOMES.get(each.response.outcome, "fails")
            if each.response.outcome == "accepted":
                flaws = flaws_in(each.response, revision, OutputContract(None))
                if all(flaw.kind != "error-as-success" for flaw in flaws):
                    return None
                what = "reports an error"
            how = "pass better arguments with `--args`, or `args` in a suite"
            return f"the valid call {what}, so its probes prove little; {how}"
    return None


def _without_repeated_hangs(sent: list[SentProbe]) -> list[SentProbe]:
    """Skip the probes that hang if the valid call does, too: that is one failure, not several."""
    hangs = {each.case.probe for each in sent if each.response is not None and each.response.outcome == "hang"}
    if "baseline" not in hangs:
        return sent
    reason = "the valid call times out, too"
    return [
        each
        if each.case.probe == "baseline" or each.case.probe not in hangs
        else each._replace(case=SkippedProbe(each.case.probe, reason, True, each.case.declared), response=None)
        for each in sent
    ]


def default_checks(*, explores: bool) -> list[str]:
    """The probes that are sent by default: the five of the negative path, and for `prove` those of the protocol."""
    return [*CHECKS, *(protocol_probes.NAMES if explores else ())]
