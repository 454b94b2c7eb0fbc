"""Probe results for the report, contract cells for the matrix and probe records for the rules, from what was sent."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mcproof.client.session import Session
from mcproof.exchange.probe_facts import CHECKS, SEVERAL, ItemProbes, ProbeRecord, as_json
from mcproof.exchange.responses import OutputContract
from mcproof.prove import protocol_probes
from mcproof.prove.contract import cell_of
from mcproof.prove.failure_store import StoredFailure, failure_id
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
_ENDS = {"rejected": "is refused", "hang": "is not answered in time"}


class Proof(NamedTuple):
    """What came of an plan."""

    item_probes: list[ItemProbes]
    probes: list[ProbeResult]
    matrix: list[Cell]
    untested: list[Untested]
    stored: list[StoredFailure]
    """What it takes to send each failure again."""
    interrupted: bool


def prove(catalog: Catalog, server: OpenServer, plan: ProbePlan, progress: Callable[[int, int, str], None]) -> Proof:
    """Ask a server everything; an interrupt keeps what was found by then.

    It stays the process that was listed. Others are started only to find out which request ended it (`blame`), for
    the two probes that need a connection of their own (`not_json`, `bad_version`), and in its place once it has ended.
    """
    probing = ProbeSession(catalog, server.session, plan, progress)
    finished = server.run(probing.ask_everything)
    if not finished and not probing.trouble:
        probing.trouble = "interrupted"
    return _Evidence(catalog, plan, probing).proof(interrupted=not finished)


async def prove_within(catalog: Catalog, server: Endpoint, options: ConnectOptions, plan: ProbePlan) -> Proof:
    """The same for who has an event loop already, and minds interrupts."""
    session = Session(server, options, plan.limit)
    probing = ProbeSession(catalog, session, plan, lambda *_: None)
    try:
        await probing.ask_everything()
    finally:
        await session.close()
    return _Evidence(catalog, plan, probing).proof(interrupted=False)


class _Evidence:
    """What an session has shown."""

    def __init__(self, catalog: Catalog, plan: ProbePlan, probing: ProbeSession) -> None:
        self._catalog = catalog
        self._plan = plan
        self._probing = probing
        self._of_item = {item: list(map(_told_once(sent), sent)) for item, sent in probing.sent().items()}
        self._stored: dict[str, StoredFailure] = {}

    def proof(self, *, interrupted: bool) -> Proof:
        results = [self._result(each, None) for each in self._sent_to(self._catalog.server)]
        matrix: list[Cell] = []
        for permission in self._plan.permissions:
            rows, weakness = self._rows(permission)
            results += rows.values()
            if self._plan.explores:
                asked = self._probing.questions_of(permission.tool)
                matrix += [
                    cell_of(permission.tool, rows[probe], asked, weakness) for probe in SCHEMA_CHECKS if probe in rows
                ]
        records = self._item_probes()
        return Proof(records, results, matrix, list(self._untested()), list(self._stored.values()), interrupted)

    def _sent_to(self, item: Item) -> list[SentProbe]:
        return self._of_item.get(id(item), [])

    def _rows(self, permission: Permission) -> tuple[dict[str, ProbeResult], str | None]:
        """A row for each probe of a tool, sent or not, and why they may prove little."""
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
            return ProbeResult(tool, case.probe, fault, "not_tested", None, "the server had gone before it was sent")
        has_passed = passed(case, response)
        reason = case.what if weakness is None or case.probe == "baseline" else f"{case.what}; {WEAK}"
        if case.probe == "baseline" and weakness is not None:
            reason = weakness
        request = as_json(case.arguments)
        return ProbeResult(
            tool,
            case.probe,
            fault,
            response.outcome,
            has_passed,
            reason,
            case.is_exploratory,
            request,
            self._words(response),
        )

    def _words(self, response: Response) -> str:
        return self._probing.hidden(response.text)

    def _item_probes(self) -> list[ItemProbes]:
        found: list[ItemProbes] = []
        revision = self._catalog.protocol
        for item in (self._catalog.server, *(each.tool for each in self._plan.permissions)):
            records = [record for each in self._sent_to(item) if (record := self._record(each)) is not None]
            if item is self._catalog.server:
                records += [
                    ProbeRecord("calls", SEVERAL, "answer", end.outcome, response=self._words(end))
                    for end in self._probing.unexplained
                ]
            if records:
                found.append(ItemProbes(item, records, revision))
        return found

    def _record(self, sent: SentProbe) -> ProbeRecord | None:
        case, response = sent.case, sent.response
        if isinstance(case, SkippedProbe) or response is None:
            return None
        record = record_of(sent.item, case, response, sent.method, self._catalog.protocol)
        flaws = tuple(flaw._replace(detail=self._probing.hidden(flaw.detail)) for flaw in record.flaws)
        failure = self._store(sent, case, response, flaws)
        return record._replace(response=self._words(response), flaws=flaws, failure=failure)

    def _store(
        self, sent: SentProbe, case: ProbeCase, response: Response, flaws: tuple[ResponseFlaw, ...]
    ) -> str | None:
        """Keep what failed, to be sent again; its id."""
        outcome = failed_as(case, response, flaws)
        if outcome is None:
            return None
        tool = sent.item.name if sent.item.kind == "tool" else None
        params = sent.params
        plan = self._plan
        failed = StoredFailure(
            failure_id(plan.target, tool, case.probe, outcome, params),
            plan.target,
            tool,
            case.probe,
            sent.method,
            params,
            outcome,
            case.what,
            case.expects == "success",
            self._words(response),
            round(plan.limit * 1000),
        )
        self._stored[failed.id] = failed
        return failed.id

    def _untested(self) -> Iterator[Untested]:
        """The tools of which nothing, or little, is known now."""
        for permission in self._plan.permissions:
            tool = permission.tool
            what, sent, asked = f"tool {tool.label}", self._sent_to(tool), self._probing.asked.get(id(tool))
            if not permission.is_granted:
                yield Untested(what, permission.reason)
            elif not sent:
                yield Untested(what, self._probing.trouble or "not reached")
            elif asked is not None and asked.problem:
                yield Untested(what, f"no valid call could be made: {asked.problem}; --args gives one")
            elif (weakness := _weakness(sent, self._catalog.protocol)) is not None:
                yield Untested(f"{what}, in part", weakness)


def record_of(item: Item, case: ProbeCase, response: Response, method: str, revision: str | None) -> ProbeRecord:
    """What a case and its answer are to the rules; the answer as it came, with any secret that is in it."""
    flaws: tuple[ResponseFlaw, ...] = ()
    if method == "tools/call":
        flaws = flaws_in(response, revision, OutputContract(item.fields.get("outputSchema")))
    return ProbeRecord(
        case.probe,
        case.what,
        case.expects,
        response.outcome,
        case.fault,
        case.keyword,
        case.pointer,
        case.place,
        as_json(case.arguments),
        response.text,
        response.code,
        flaws,
    )


def _weakness(sent: list[SentProbe], revision: str | None) -> str | None:
    """Why the probes of a tool prove little, going by the last valid call; None where they do not."""
    for each in reversed(sent):
        if each.case.probe == "baseline" and each.response is not None:
            what = _ENDS.get(each.response.outcome, "fails")
            if each.response.outcome == "accepted":
                flaws = flaws_in(each.response, revision, OutputContract(None))
                if all(flaw.kind != "error-as-success" for flaw in flaws):
                    return None
                what = "reports an error"
            how = "`--args`, in a suite `args`, gives better arguments"
            return f"the valid call {what}, so its probes prove little; {how}"
    return None


def _told_once(sent: list[SentProbe]) -> Callable[[SentProbe], SentProbe]:
    """What makes no second failure of a tool that answers nothing in time, the valid call included."""
    hangs = {each.case.probe for each in sent if each.response is not None and each.response.outcome == "hang"}

    def told(each: SentProbe) -> SentProbe:
        if "baseline" not in hangs or each.case.probe == "baseline" or each.case.probe not in hangs:
            return each
        reason = "the valid call is not answered in time either"
        return each._replace(case=SkippedProbe(each.case.probe, reason, True, each.case.declared), response=None)

    return told


def default_checks(*, explores: bool) -> list[str]:
    """The probes that are sent where nobody chooses: the five, and those of the protocol where everything is proven."""
    return [*CHECKS, *(protocol_probes.NAMES if explores else ())]
