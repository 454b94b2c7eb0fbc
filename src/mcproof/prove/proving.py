"""What a server's answers say about each promise: a row for each probe, a cell for each fault, trials for the rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mcproof.client.calling import Session
from mcproof.exchange.probe_facts import CHECKS, SEVERAL, Trial, Trials, spelt
from mcproof.exchange.responses import OutputContract
from mcproof.prove import protocol_probes
from mcproof.prove.contract import cell_of
from mcproof.prove.failure_store import Failed, failure_id
from mcproof.prove.fuzz.outcomes import failed_as, flaws_in, passed
from mcproof.prove.probe_session import Interview
from mcproof.prove.probes import FAULT_OF, SCHEMA_CHECKS, Case, Skipped
from mcproof.results.model import ProbeResult, Untested

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mcproof.catalog.model import Catalog, Item
    from mcproof.client.calling import Reply
    from mcproof.client.endpoints import Server
    from mcproof.client.open_server import OpenServer
    from mcproof.client.reach import Asking
    from mcproof.exchange.probe_facts import Flaw
    from mcproof.prove.probe_session import Inquiry, Sent
    from mcproof.prove.safety import Permission
    from mcproof.results.model import Cell

WEAK = "the valid call fails too, so this proves little"
_ENDS = {"rejected": "is refused", "hang": "is not answered in time"}


class Proof(NamedTuple):
    """What came of an inquiry."""

    trials: list[Trials]
    probes: list[ProbeResult]
    matrix: list[Cell]
    untested: list[Untested]
    stored: list[Failed]
    """What it takes to send each failure again."""
    interrupted: bool


def prove(catalog: Catalog, server: OpenServer, inquiry: Inquiry, progress: Callable[[int, int, str], None]) -> Proof:
    """Ask a server everything; an interrupt keeps what was found by then.

    It stays the process that was listed. Others are started only to find out which request ended it (`blame`), for
    the two probes that need a connection of their own (`not_json`, `bad_version`), and in its place once it has ended.
    """
    interview = Interview(catalog, server.session, inquiry, progress)
    finished = server.run(interview.ask_everything)
    if not finished and not interview.trouble:
        interview.trouble = "interrupted"
    return _Evidence(catalog, inquiry, interview).proof(interrupted=not finished)


async def prove_within(catalog: Catalog, server: Server, asking: Asking, inquiry: Inquiry) -> Proof:
    """The same for who has an event loop already, and minds interrupts."""
    session = Session(server, asking, inquiry.limit)
    interview = Interview(catalog, session, inquiry, lambda *_: None)
    try:
        await interview.ask_everything()
    finally:
        await session.leave()
    return _Evidence(catalog, inquiry, interview).proof(interrupted=False)


class _Evidence:
    """What an interview has shown."""

    def __init__(self, catalog: Catalog, inquiry: Inquiry, interview: Interview) -> None:
        self._catalog = catalog
        self._inquiry = inquiry
        self._interview = interview
        self._of_item = {item: list(map(_told_once(sent), sent)) for item, sent in interview.sent().items()}
        self._stored: dict[str, Failed] = {}

    def proof(self, *, interrupted: bool) -> Proof:
        results = [self._result(each, None) for each in self._sent_to(self._catalog.server)]
        matrix: list[Cell] = []
        for permission in self._inquiry.permissions:
            rows, weakness = self._rows(permission)
            results += rows.values()
            if self._inquiry.explores:
                asked = self._interview.questions_of(permission.tool)
                matrix += [
                    cell_of(permission.tool, rows[probe], asked, weakness) for probe in SCHEMA_CHECKS if probe in rows
                ]
        trials = self._trials()
        return Proof(trials, results, matrix, list(self._untested()), list(self._stored.values()), interrupted)

    def _sent_to(self, item: Item) -> list[Sent]:
        return self._of_item.get(id(item), [])

    def _rows(self, permission: Permission) -> tuple[dict[str, ProbeResult], str | None]:
        """A row for each probe of a tool, sent or not, and why they may prove little."""
        tool = permission.tool
        sent = self._sent_to(tool)
        weakness = _weakness(sent, self._catalog.protocol)
        rows = {each.case.probe: self._result(each, weakness) for each in sent}
        for probe in SCHEMA_CHECKS:
            if probe in self._inquiry.checks and probe not in rows:
                reason = permission.reason if not permission.is_granted else self._interview.trouble or "not reached"
                rows[probe] = ProbeResult(tool.name, probe, FAULT_OF[probe], "not_tested", None, reason)
        return rows, weakness

    def _result(self, sent: Sent, weakness: str | None) -> ProbeResult:
        case, reply = sent.case, sent.reply
        tool = sent.item.name if sent.item.kind == "tool" else None
        fault = FAULT_OF.get(case.probe)
        if isinstance(case, Skipped):
            outcome = "not_tested" if case.is_applicable else "not_applicable"
            return ProbeResult(tool, case.probe, fault, outcome, None, case.reason)
        if reply is None:
            return ProbeResult(tool, case.probe, fault, "not_tested", None, "the server had gone before it was sent")
        has_passed = passed(case, reply)
        reason = case.what if weakness is None or case.probe == "baseline" else f"{case.what}; {WEAK}"
        if case.probe == "baseline" and weakness is not None:
            reason = weakness
        request = spelt(case.arguments)
        return ProbeResult(
            tool, case.probe, fault, reply.outcome, has_passed, reason, case.is_exploratory, request, self._words(reply)
        )

    def _words(self, reply: Reply) -> str:
        return self._interview.hidden(reply.words)

    def _trials(self) -> list[Trials]:
        found: list[Trials] = []
        revision = self._catalog.protocol
        for item in (self._catalog.server, *(each.tool for each in self._inquiry.permissions)):
            trials = [trial for each in self._sent_to(item) if (trial := self._trial(each)) is not None]
            if item is self._catalog.server:
                trials += [
                    Trial("calls", SEVERAL, "answer", end.outcome, answer=self._words(end))
                    for end in self._interview.unexplained
                ]
            if trials:
                found.append(Trials(item, trials, revision))
        return found

    def _trial(self, sent: Sent) -> Trial | None:
        case, reply = sent.case, sent.reply
        if isinstance(case, Skipped) or reply is None:
            return None
        trial = trial_of(sent.item, case, reply, sent.method, self._catalog.protocol)
        flaws = tuple(flaw._replace(detail=self._interview.hidden(flaw.detail)) for flaw in trial.flaws)
        failure = self._store(sent, case, reply, flaws)
        return trial._replace(answer=self._words(reply), flaws=flaws, failure=failure)

    def _store(self, sent: Sent, case: Case, reply: Reply, flaws: tuple[Flaw, ...]) -> str | None:
        """Keep what failed, to be sent again; its id."""
        outcome = failed_as(case, reply, flaws)
        if outcome is None:
            return None
        tool = sent.item.name if sent.item.kind == "tool" else None
        params = sent.params
        inquiry = self._inquiry
        failed = Failed(
            failure_id(inquiry.target, tool, case.probe, outcome, params),
            inquiry.target,
            tool,
            case.probe,
            sent.method,
            params,
            outcome,
            case.what,
            case.expects == "success",
            self._words(reply),
            round(inquiry.limit * 1000),
        )
        self._stored[failed.id] = failed
        return failed.id

    def _untested(self) -> Iterator[Untested]:
        """The tools of which nothing, or little, is known now."""
        for permission in self._inquiry.permissions:
            tool = permission.tool
            what, sent, asked = f"tool {tool.label}", self._sent_to(tool), self._interview.asked.get(id(tool))
            if not permission.is_granted:
                yield Untested(what, permission.reason)
            elif not sent:
                yield Untested(what, self._interview.trouble or "not reached")
            elif asked is not None and asked.problem:
                yield Untested(what, f"no valid call could be made: {asked.problem}; --args gives one")
            elif (weakness := _weakness(sent, self._catalog.protocol)) is not None:
                yield Untested(f"{what}, in part", weakness)


def trial_of(item: Item, case: Case, reply: Reply, method: str, revision: str | None) -> Trial:
    """What a case and its answer are to the rules; the answer as it came, with any secret that is in it."""
    flaws: tuple[Flaw, ...] = ()
    if method == "tools/call":
        flaws = flaws_in(reply, revision, OutputContract(item.fields.get("outputSchema")))
    return Trial(
        case.probe,
        case.what,
        case.expects,
        reply.outcome,
        case.fault,
        case.keyword,
        case.pointer,
        case.place,
        spelt(case.arguments),
        reply.words,
        reply.code,
        flaws,
    )


def _weakness(sent: list[Sent], revision: str | None) -> str | None:
    """Why the probes of a tool prove little, going by the last valid call; None where they do not."""
    for each in reversed(sent):
        if each.case.probe == "baseline" and each.reply is not None:
            what = _ENDS.get(each.reply.outcome, "fails")
            if each.reply.outcome == "accepted":
                flaws = flaws_in(each.reply, revision, OutputContract(None))
                if all(flaw.kind != "error-as-success" for flaw in flaws):
                    return None
                what = "reports an error"
            how = "`--args`, in a suite `args`, gives better arguments"
            return f"the valid call {what}, so its probes prove little; {how}"
    return None


def _told_once(sent: list[Sent]) -> Callable[[Sent], Sent]:
    """What makes no second failure of a tool that answers nothing in time, the valid call included."""
    hangs = {each.case.probe for each in sent if each.reply is not None and each.reply.outcome == "hang"}

    def told(each: Sent) -> Sent:
        if "baseline" not in hangs or each.case.probe == "baseline" or each.case.probe not in hangs:
            return each
        reason = "the valid call is not answered in time either"
        return each._replace(case=Skipped(each.case.probe, reason, True, each.case.declared), reply=None)

    return told


def default_checks(*, explores: bool) -> list[str]:
    """The probes that are sent where nobody chooses: the five, and those of the protocol where everything is proven."""
    return [*CHECKS, *(protocol_probes.NAMES if explores else ())]
