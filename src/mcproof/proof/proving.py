"""One server, all its tools, every probe: what is sent, what comes back, and what that says about each promise."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.answers import OutputContract
from mcproof.generation.cases import fuller_arguments
from mcproof.live.errors import ConnectError
from mcproof.live.interrupts import all_of, on_signals
from mcproof.live.session import Reply, Session
from mcproof.proof import protocol
from mcproof.proof.cases import FAULT_OF, Case, Questions, Skipped, questions
from mcproof.proof.contract import cell_of
from mcproof.proof.judging import failed_as, flaws_in
from mcproof.proof.sending import Sender
from mcproof.proof.store import Failed, failure_id
from mcproof.report.model import ProbeResult, Untested
from mcproof.trial import CHECKS, Trial, Trials, spelt

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcproof.catalog import Catalog, Item, Tool
    from mcproof.live.reach import Asking
    from mcproof.live.servers import Server
    from mcproof.proof.safety import Permission
    from mcproof.report.model import Cell
    from mcproof.trial import Flaw

NO_SUCH_TOOL = "mcproof_no_such_tool"
_ENDS = {"rejected": "is refused", "hang": "is not answered in time"}
WEAK = "the valid call fails too, so this proves little"


class Inquiry(NamedTuple):
    """What is to be found out about a server."""

    permissions: list[Permission]
    """The tools that are meant, each with whether it may be called."""
    checks: list[str]
    explores: bool
    """Whether promises that nobody made are tested as well, for the contract matrix."""
    arguments: dict[str, dict[str, Any]]
    """Valid arguments that the user gave, by tool."""
    size: int
    limit: float
    """How long an answer may take, in seconds."""
    target: dict[str, Any] = {}  # noqa: RUF012 (a default that nobody changes)
    """How to find the server again, for the failures that are stored."""


class Sent(NamedTuple):
    """A case that was sent, or one that was not."""

    item: Item
    case: Case | Skipped
    number: int = 0
    reply: Reply | None = None
    method: str = "tools/call"


class Proof(NamedTuple):
    """What came of an inquiry."""

    trials: list[Trials]
    probes: list[ProbeResult]
    matrix: list[Cell]
    untested: list[Untested]
    stored: list[Failed]
    """What it takes to send each failure again."""
    interrupted: bool


def prove(
    catalog: Catalog, server: Server, asking: Asking, inquiry: Inquiry, progress: Callable[[int, int, str], None]
) -> Proof:
    """Ask a server everything; an interrupt keeps what was found by then."""
    proving = _Proving(catalog, server, asking, inquiry, progress)
    try:
        interrupted = asyncio.run(proving.run())
    except KeyboardInterrupt:  # before or after the signals were ours
        interrupted = True
    return proving.proof(interrupted=interrupted)


class _Proving:
    def __init__(
        self,
        catalog: Catalog,
        server: Server,
        asking: Asking,
        inquiry: Inquiry,
        progress: Callable[[int, int, str], None],
    ) -> None:
        self._catalog = catalog
        self._inquiry = inquiry
        self._progress = progress
        self._session = Session(server, asking, inquiry.limit)
        self._sender = Sender(self._session)
        self._sent: list[Sent] = []
        self._asked: dict[int, Questions] = {}
        self._stored: dict[str, Failed] = {}
        self._trouble = ""
        """Why nothing more could be sent."""
        self._total = sum(each.is_granted for each in inquiry.permissions) + len(inquiry.checks)
        self._done = 0
        self._is_interrupted = False

    async def run(self) -> bool:
        """Send everything; whether an interrupt came."""
        task = asyncio.create_task(self._ask_everything())

        def interrupt() -> None:
            self._is_interrupted = True
            task.cancel()

        with on_signals(interrupt):
            await all_of([task])
        return self._is_interrupted

    async def _ask_everything(self) -> None:
        try:
            await self._ask_server()
            for permission in self._inquiry.permissions:
                await self._ask_tool(permission)
            await self._sender.finish()
        except ConnectError as error:
            self._trouble = f"the server has gone: {error.message}"
        finally:
            await self._session.leave(at_once=self._is_interrupted)

    def _step(self, label: str) -> None:
        self._done += 1
        self._progress(self._done, self._total, label)

    async def _ask_server(self) -> None:
        """The probes that call no tool."""
        server = self._catalog.server
        if "unknown_tool" in self._inquiry.checks:
            self._step("unknown_tool")
            params: dict[str, Any] = {"name": NO_SUCH_TOOL, "arguments": {}}
            await self._send(server, Case("unknown_tool", "a tool that does not exist", "rejection", params), params)
        for probe in protocol.PROBES:
            if probe.name not in self._inquiry.checks:
                continue
            self._step(probe.name)
            connection = await self._session.connection()
            offered = connection.introduction.get("capabilities")
            if probe.capability is not None and probe.capability not in (offered if isinstance(offered, dict) else {}):
                reason = f"the server does not offer {probe.capability}"
                self._sent.append(Sent(server, Skipped(probe.name, reason, False)))
            elif probe.ask is not None:
                case, reply = await probe.ask(self._session)
                self._sent.append(Sent(server, case, 0, reply, probe.name))
                if reply.outcome == "crash" and not self._session.can_restart:
                    await self._session.leave(at_once=True)  # the next request would be blamed for it
            else:
                await self._send(server, probe.case, probe.params, probe.method)

    async def _ask_tool(self, permission: Permission) -> None:
        tool = permission.tool
        asked = self._questions(tool)
        try:
            if permission.is_granted:
                self._step(tool.name)
                asked = await self._start_from_what_works(tool, asked)
                for case in asked.cases:
                    if isinstance(case, Skipped):
                        self._sent.append(Sent(tool, case))
                    else:
                        await self._send(tool, case, {"name": tool.name, "arguments": case.arguments})
        finally:  # what was asked by then counts
            self._asked[id(tool)] = asked

    def _questions(self, tool: Tool, base: dict[str, Any] | None = None) -> Questions:
        """What a tool is asked, around a valid call that is given."""
        inquiry = self._inquiry
        given = inquiry.arguments.get(tool.name) if base is None else base
        return questions(tool, inquiry.checks, given=given, size=inquiry.size, explores=inquiry.explores)

    async def _start_from_what_works(self, tool: Tool, asked: Questions) -> Questions:
        """Send the valid call; where the smallest is refused, the fullest, as a schema may not tell what is needed."""
        if asked.baseline is None:
            return asked
        await self._send(tool, asked.baseline, {"name": tool.name, "arguments": asked.baseline.arguments})
        smallest = self._sent[-1]
        if smallest.reply is None or smallest.reply.outcome != "rejected" or tool.name in self._inquiry.arguments:
            return asked
        fuller = fuller_arguments(tool.schema if tool.schema is not None else {})
        if fuller is None:
            return asked
        case = asked.baseline._replace(what="a valid call with every argument", arguments=fuller)
        await self._send(tool, case, {"name": tool.name, "arguments": fuller})
        fullest = self._sent.pop()
        if fullest.reply is None or fullest.reply.outcome == "rejected":
            return asked
        self._sent[-1] = fullest
        return self._questions(tool, fuller) if fullest.reply.outcome == "accepted" else asked

    async def _send(self, item: Item, case: Case, params: dict[str, Any], method: str = "tools/call") -> None:
        number, reply = await self._sender.send(method, params)
        self._sent.append(Sent(item, case, number, reply, method))

    def proof(self, *, interrupted: bool) -> Proof:
        """What everything that was sent says."""
        corrected = [
            each._replace(reply=self._sender.corrections[each.number])
            if each.number in self._sender.corrections
            else each
            for each in self._sent
        ]
        of_item: dict[int, list[Sent]] = {}
        for each in corrected:
            of_item.setdefault(id(each.item), []).append(each)
        server = self._catalog.server
        results = [self._result(each, None) for each in of_item.get(id(server), [])]
        if interrupted and not self._trouble:
            self._trouble = "interrupted"
        matrix: list[Cell] = []
        for permission in self._inquiry.permissions:
            tool = permission.tool
            sent = of_item.get(id(tool), [])
            weakness = _weakness(sent)
            rows = {each.case.probe: self._result(each, weakness) for each in sent}
            for probe in [name for name in self._inquiry.checks if name in FAULT_OF]:
                if probe not in rows:
                    reason = permission.reason if not permission.is_granted else self._trouble or "not reached"
                    rows[probe] = ProbeResult(tool.name, probe, FAULT_OF[probe], "not_tested", None, reason)
            results += rows.values()
            if self._inquiry.explores:
                asked = self._asked.get(id(tool)) or self._questions(tool)
                matrix += [cell_of(tool, rows[probe], asked, weakness) for probe in FAULT_OF if probe in rows]
        trials = self._trials(of_item)
        return Proof(trials, results, matrix, self._untested(of_item), list(self._stored.values()), interrupted)

    def _result(self, sent: Sent, weakness: str | None) -> ProbeResult:
        case, reply = sent.case, sent.reply
        tool = sent.item.name if sent.item.kind == "tool" else None
        fault = FAULT_OF.get(case.probe) or protocol.FAULT_OF.get(case.probe)
        if isinstance(case, Skipped):
            outcome = "not_tested" if case.is_applicable else "not_applicable"
            return ProbeResult(tool, case.probe, fault, outcome, None, case.reason)
        if reply is None:
            return ProbeResult(tool, case.probe, fault, "not_tested", None, "the server had gone before it was sent")
        passed = _passed(case, reply)
        reason = case.what if weakness is None or case.probe == "baseline" else f"{case.what}; {WEAK}"
        if case.probe == "baseline" and weakness is not None:
            reason = weakness
        request = spelt(case.arguments)
        return ProbeResult(
            tool, case.probe, fault, reply.outcome, passed, reason, case.is_exploratory, request, self._words(reply)
        )

    def _words(self, reply: Reply) -> str:
        return self._session.hidden(reply.words)

    def _trials(self, of_item: dict[int, list[Sent]]) -> list[Trials]:
        found: list[Trials] = []
        revision = self._catalog.protocol
        for item in (self._catalog.server, *(each.tool for each in self._inquiry.permissions)):
            trials = [trial for each in of_item.get(id(item), []) if (trial := self._trial(each)) is not None]
            if item is self._catalog.server:
                trials += [
                    Trial("calls", "several calls in a row", "answer", "crash", answer=self._session.hidden(why))
                    for why in self._sender.unexplained
                ]
            if trials:
                found.append(Trials(item, trials, revision))
        return found

    def _trial(self, sent: Sent) -> Trial | None:
        case, reply = sent.case, sent.reply
        if isinstance(case, Skipped) or reply is None:
            return None
        trial = trial_of(sent.item, case, reply, sent.method, self._catalog.protocol)
        return trial._replace(answer=self._words(reply), failure=self._store(sent, case, reply, trial.flaws))

    def _store(self, sent: Sent, case: Case, reply: Reply, flaws: tuple[Flaw, ...]) -> str | None:
        """Keep what failed, to be sent again; its id."""
        outcome = failed_as(case, reply, flaws)
        if outcome is None:
            return None
        tool = sent.item.name if sent.item.kind == "tool" else None
        params = {"name": tool, "arguments": case.arguments} if tool is not None else case.arguments
        if tool is None and "params" in params:
            params = params["params"]
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

    def _untested(self, of_item: dict[int, list[Sent]]) -> list[Untested]:
        """The tools of which nothing, or little, is known now."""
        untested = []
        for permission in self._inquiry.permissions:
            tool = permission.tool
            what = f"tool {tool.label}"
            asked = self._asked.get(id(tool))
            if not permission.is_granted:
                untested.append(Untested(what, permission.reason))
            elif not of_item.get(id(tool)):
                untested.append(Untested(what, self._trouble or "not reached"))
            elif asked is not None and asked.problem:
                untested.append(Untested(what, f"no valid call could be made: {asked.problem}; --args gives one"))
            elif (weakness := _weakness(of_item[id(tool)])) is not None:
                untested.append(Untested(f"{what}, in part", weakness))
        return untested


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
        FAULT_OF.get(case.probe) or protocol.FAULT_OF.get(case.probe),
        case.keyword,
        case.pointer,
        case.place,
        spelt(case.arguments),
        reply.words,
        reply.code,
        flaws,
    )


def _passed(case: Case, reply: Reply) -> bool | None:
    """Whether a probe passed; None where there is nothing to pass."""
    is_answered = reply.outcome in ("accepted", "rejected")
    if case.is_exploratory or case.probe == "baseline":
        return None if is_answered else False
    if case.probe == "oversized":
        return is_answered
    if case.probe == "bad_version" and case.expects == "success":
        return reply.outcome == "accepted"
    if case.probe == "bad_cursor":
        return is_answered
    return reply.outcome == "rejected"


def _weakness(sent: list[Sent]) -> str | None:
    """Why the probes of a tool prove little; None where they do."""
    for each in sent:
        if each.case.probe == "baseline" and each.reply is not None and each.reply.outcome != "accepted":
            outcome = each.reply.outcome
            what = (
                "is refused" if outcome == "rejected" else "is not answered in time" if outcome == "hang" else "fails"
            )
            return f"the valid call {what}, so its probes prove little; --args gives better arguments"
    return None


def default_checks(*, explores: bool) -> list[str]:
    """The probes that are sent where nobody chooses: the five, and those of the protocol where everything is proven."""
    return [*CHECKS, *(protocol.NAMES if explores else ())]
