"""Send all probes of a plan to one server, and collect the responses.

Tools that change nothing are probed by several workers at once, over processes of their own; so are the cases of one
tool. The results are put in order afterwards: they do not depend on the number of workers. Tools that may change
something are called one at a time.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from time import monotonic
from typing import TYPE_CHECKING, Any

from mcproof.client.errors import ConnectError
from mcproof.client.redaction import literal_secrets
from mcproof.client.waiting import all_of
from mcproof.core.console import plural
from mcproof.core.named_tuple import NamedTuple
from mcproof.core.observations.probes import SERVER_LOST, Outcome
from mcproof.core.observations.responses import OutputContract, error_text, secret_in
from mcproof.core.schema.validation import Oracle
from mcproof.probing.calls import Campaign, Incomplete, Job, Progress, WorkerPool, in_silence
from mcproof.probing.generation.asked import asked_for
from mcproof.probing.generation.cases import fuller_arguments
from mcproof.probing.generation.known import Fact, KnownValues, facts_in
from mcproof.probing.generation.values import ValueBuilder
from mcproof.probing.probes import promises
from mcproof.probing.probes.blame import AT_ONCE, SETTLE, NumberedRequest, Sender
from mcproof.probing.probes.cases import NO_SUCH_TOOL, ProbeCase, ProbePlan, SkippedProbe, ToolProbes, checks_of_tool
from mcproof.probing.probes.promises import ProtocolProbe, probes_of_promises
from mcproof.probing.probes.responses import SeenResponse, found_nothing, is_doubtful, is_elsewhere, seen_response

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence

    from mcproof.client.session import Response, Session
    from mcproof.core.catalog.model import Catalog, Item, Tool
    from mcproof.probing.generation.violations import Promise
    from mcproof.probing.permission import Permission

START_DELAY = 0.2
"""Seconds of work after which a further server process is started."""
_FEWEST_SUSPECTS = 3
"""How many of the last spans of cases are tried at least if the server has ended."""
INTERRUPTED, OUT_OF_TIME = "interrupted", "time limit reached"
_INCOMPLETE: dict[str, Incomplete] = {INTERRUPTED: "interrupted", OUT_OF_TIME: "out of time"}


SPAN = 8
"""How many cases of a tool a worker takes at once."""
MOST_CRASHES, MOST_HANGS = 5, 3
"""After how many crashes or hangs a tool is not called any more."""
SLOW = 2.0
"""Seconds of a valid call from which on, if the time is limited, invalid calls are sent before valid ones: a refusal
takes less time than the work that it saves."""
MOST_VALID = 4
"""How many valid calls of a tool are tried until one works."""


class SentProbe(NamedTuple):
    """A case that was sent and what was seen of the response, or a skipped one. Large values are not kept."""

    item: Item
    case: ProbeCase | SkippedProbe
    params: dict[str, Any] = {}  # noqa: RUF012 (never mutated)
    """The parameters of a request that calls no tool."""
    number: tuple[int, int] = (0, 0)
    """The sender, and its number of the request."""
    seen: SeenResponse | None = None
    method: str = "tools/call"


class ToolRun:
    """The probes of one tool, and what was sent of them."""

    def __init__(self, permission: Permission, probes: ToolProbes) -> None:
        self.permission = permission
        self.tool = permission.tool
        self.probes = probes
        self.output = OutputContract(self.tool.fields.get("outputSchema"))
        self.smallest = probes.baseline.arguments if probes.baseline is not None else None
        """The arguments of the smallest valid call."""
        self.valid: list[SentProbe] = []
        self.answer = ""
        """The words of the response to the last valid call."""
        self.facts: list[Fact] = []
        """What that response tells about arguments of other tools."""
        self.sent: dict[int, SentProbe] = {}
        """The cases that were sent, by their position."""
        self.slices_left = 0
        self.has_cases = False
        """Whether its cases are derived, from the best valid call, or before it from the smallest."""
        self.is_tried = False
        """Whether its valid calls are done."""
        self.is_done = False

    def slices(self) -> list[CaseSpan]:
        """The cases to send, in parts; skipped ones are recorded."""
        cases = self.probes.cases
        for at, case in enumerate(cases):
            if isinstance(case, SkippedProbe):
                self.sent[at] = SentProbe(self.tool, case)
        positions = [at for at, case in enumerate(cases) if isinstance(case, ProbeCase)]
        slices = [CaseSpan(self, positions[at : at + SPAN]) for at in range(0, len(positions), SPAN)]
        self.slices_left = len(slices)
        return slices

    @property
    def wants_another(self) -> bool:
        """Whether the last valid call was refused, or found nothing, for a reason that other arguments may not have."""
        last = self.valid[-1].seen if self.valid else None
        if last is None or last.asks or len(self.valid) >= MOST_VALID or is_elsewhere(last):
            return False
        return last.is_refusal or found_nothing(last)

    def choose_valid(self) -> None:
        """Put the best valid call last: one that found something, else an accepted one, else one that got further."""

        def worth(sent: SentProbe) -> int:
            if sent.seen is None or not sent.seen.is_success:
                return int(self.got_further(sent))
            return 2 if found_nothing(sent.seen) else 3

        if self.valid and (most := max(map(worth, self.valid))):
            best = next(sent for sent in self.valid if worth(sent) == most)
            self.valid = [*(sent for sent in self.valid if sent is not best), best]

    def got_further(self, sent: SentProbe) -> bool:
        """Whether a valid call was refused for another reason than the first, which its arguments have overcome."""
        first = self.valid[0].seen
        return first is not None and sent.seen is not None and sent.seen.is_refusal and sent.seen.words != first.words

    @property
    def learned(self) -> dict[str, Any]:
        """The arguments of the first call that got further, where they differ from the smallest."""
        sent = next((sent for sent in self.valid if self.got_further(sent)), None)
        arguments = sent.case.arguments if sent is not None and isinstance(sent.case, ProbeCase) else {}
        return {name: value for name, value in arguments.items() if value != (self.smallest or {}).get(name)}

    def is_superfluous(self, position: int) -> bool:
        """Whether a case is not to be sent: its promise is known to end the server, or too many cases have."""
        case = self.probes.cases[position]
        # Only earlier ones count, so that the result does not depend on which worker was faster.
        lost, broken = _losses(sent for at, sent in self.sent.items() if at < position)
        return _is_lost(lost) or (isinstance(case, ProbeCase) and bool(case.keyword) and case.promise in broken)

    def in_order(self, corrected: Callable[[SentProbe], SentProbe]) -> tuple[list[SentProbe], bool]:
        """What was sent, without cases that would not have been sent one after the other; whether that is all."""
        valid = list(map(corrected, self.valid))
        counted: list[SentProbe] = []
        for _, sent in sorted(self.sent.items()):
            probe = corrected(sent)
            lost, broken = _losses(counted)
            if isinstance(probe.case, SkippedProbe) or not (
                _is_lost(lost) or (probe.case.keyword and probe.case.promise in broken)
            ):
                counted.append(probe)
        lost, _ = _losses(counted)
        is_stopped = _is_lost(lost) and len(counted) < len(self.probes.cases)
        return [*valid, *counted], is_stopped


class CaseSpan(NamedTuple):
    """Some cases of a tool, by their positions."""

    run: ToolRun
    positions: list[int]


def _losses(sent: Iterable[SentProbe]) -> tuple[Counter[Outcome], set[Promise]]:
    """How often the server was lost, and the promises whose violation caused it."""
    lost: Counter[Outcome] = Counter()
    broken: set[Promise] = set()
    for probe in sent:
        if isinstance(probe.case, ProbeCase) and probe.seen is not None and probe.seen.outcome in SERVER_LOST:
            lost[probe.seen.outcome] += 1
            broken.add(probe.case.promise)
    return lost, broken


def _is_lost(lost: Counter[Outcome]) -> bool:
    return lost["crash"] >= MOST_CRASHES or lost["hang"] >= MOST_HANGS


class ProbeSession(Campaign["Permission | CaseSpan"]):
    """Sends the probes of a plan to a server."""

    def __init__(self, catalog: Catalog, session: Session, plan: ProbePlan, progress: Progress = in_silence) -> None:
        super().__init__(session, plan.calls, progress, START_DELAY)
        self._secrets = literal_secrets(session.server.named_secrets)
        self.tool_probes: dict[int, ToolProbes] = {}
        """The probes of each tool, by the identity of the tool."""
        self.stopped: dict[int, str] = {}
        """Why not all probes of a tool were sent, by the identity of the tool."""
        self._catalog = catalog
        self._plan = plan
        self._senders: list[Sender] = []
        self._server_probes: list[SentProbe] = []
        self._runs: dict[int, ToolRun] = {}
        self._waiting: deque[Permission] = deque()
        self._later: list[Permission] = []
        """The tools whose next valid call waits for what the calls under way return."""
        self._known = KnownValues()
        self._ranges: deque[CaseSpan] = deque()
        self._server_checks = [name for name in ("unknown_tool", *promises.NAMES) if name in plan.checks]
        """The probes that call no tool."""
        granted = sum(permission.is_granted for permission in plan.calls.permissions)
        self._total = granted + len(self._server_checks)
        self._done = 0
        self._is_slow = False
        """Whether a valid call took long, and the time is limited."""
        self._now = ""
        """What is probed at the moment."""

    @property
    def was_cut(self) -> bool:
        """Whether requests were pending when the time was up, so that the state of the server is unknown."""
        return self._pool.was_cut

    def sent(self) -> dict[int, list[SentProbe]]:
        """The probes sent, by the identity of the item, with the corrections of blame."""
        of_item = {id(self._catalog.server): list(self._sent_to_server())}
        for run in self._runs.values():
            of_item[id(run.tool)], is_stopped = run.in_order(self._corrected)
            if is_stopped:
                self.stopped[id(run.tool)] = "repeated crashes or hangs"
        return of_item

    def _sent_to_server(self) -> Iterator[SentProbe]:
        """The probes that call no tool, in the order of their names; one that was not sent is a skipped one."""
        sent = {probe.case.probe: self._corrected(probe) for probe in self._server_probes}
        for name in self._server_checks:
            not_sent = SkippedProbe(name, self.trouble or "not reached", True)
            yield sent.get(name) or SentProbe(self._catalog.server, not_sent)

    def _corrected(self, sent: SentProbe) -> SentProbe:
        sender, number = sent.number
        correction = self._senders[sender].corrections.get(number) if number else None
        if correction is None or isinstance(sent.case, SkippedProbe):
            return sent
        return sent._replace(seen=self._observed(sent.item, sent.case, correction, sent.method))

    def is_unfinished(self, tool: Tool) -> bool:
        """Whether requests to a tool are missing, because the run ended early."""
        run = self._runs.get(id(tool))
        return run is None or not run.is_done

    @property
    def incomplete(self) -> Incomplete:
        """Why requests are missing; empty if none are."""
        if not self.trouble:
            return ""
        return _INCOMPLETE.get(self.trouble, "server gone")

    @property
    def unexplained(self) -> list[Response]:
        """Ends of the server that no single request explains."""
        return [end for sender in self._senders for end in sender.unexplained]

    def redacted(self, text: str) -> str:
        """A text from the server as a report may show it."""
        return self._session.redacted(text)

    def probes_of(self, tool: Tool) -> ToolProbes:
        """The probes of a tool, sent or not."""
        return self.tool_probes.get(id(tool)) or self._probes(tool)

    def jobs(self) -> Sequence[Job]:
        return [self._send_all]

    async def _send_all(self) -> None:
        """Send everything; the session stays open."""
        granted = [permission for permission in self._calls.permissions if permission.is_granted]
        self._later = [permission for permission in granted if not permission.is_forced]
        forced = [permission for permission in granted if permission.is_forced]
        try:
            # The tools first: what a limit of time leaves out is then what matters less.
            self._waiting.extend(permission for permission in self._later if not _required(permission.tool))
            self._later = [permission for permission in self._later if _required(permission.tool)]
            await all_of(*self._pool.jobs(self._work))
            # Alone, as a server may end with such a request.
            await self._in_time(self._probe_server)
            # Tools that may change something come last, when all others have been judged on an untouched server.
            if forced:
                self._waiting.extend(forced)
                await self._in_time(self._work_alone)
            # Last: each starts a server, which may take seconds.
            await self._in_time(self._probe_new_connections)
        except ConnectError as error:
            self.trouble = f"the server is gone: {error.message}"
        if self._limit.is_over() and self._done < self._total and not self.trouble:
            self.trouble = OUT_OF_TIME
        self._now = ""
        self._show_progress()

    async def _in_time(self, work: Callable[[Sender], Coroutine[Any, Any, None]]) -> None:
        """Work over the first session alone; pending requests are given up soon after the time limit."""
        if self.trouble or self._limit.is_over():
            return
        pool = WorkerPool(self._session, 1, self._limit, 0.0)
        await all_of(*pool.jobs(lambda session: work(self._sender(session, pings=True))))
        self._pool.was_cut |= pool.was_cut

    def _sender(self, session: Session, *, pings: bool) -> Sender:
        self._senders.append(Sender(session, pings=pings))
        return self._senders[-1]

    def _step(self, label: str) -> None:
        self._done += 1
        self._now = label
        self._show_progress()

    def _label(self) -> tuple[int, int, str]:
        return self._done, self._total, f"{plural(self._sent, 'call')} {self._now}".rstrip()

    async def _probe_server(self, sender: Sender) -> None:
        """Send the probes that call no tool, over the open connection."""
        server = self._catalog.server
        if "unknown_tool" in self._plan.checks:
            params: dict[str, Any] = {"name": NO_SUCH_TOOL, "arguments": {}}
            case = ProbeCase("unknown_tool", "a tool that does not exist", "rejection", params)
            self._server_probes.append(await self._send(sender, server, case, params))
            self._step("unknown_tool")
        await self._send_protocol_probes(sender, [probe for probe in promises.PROBES if not probe.reconnects])
        if promises.NO_ARGUMENTS in self._plan.checks and not self._limit.is_over():
            self._server_probes.append(await self._call_without_arguments(sender))
            self._step(promises.NO_ARGUMENTS)
        await sender.check()

    async def _probe_new_connections(self, sender: Sender) -> None:
        """Send the probes that need connections of their own."""
        await self._send_protocol_probes(sender, [probe for probe in promises.PROBES if probe.reconnects])

    async def _send_protocol_probes(self, sender: Sender, probes: list[ProtocolProbe]) -> None:
        for probe in probes:
            if probe.name in self._plan.checks and not self._limit.is_over():
                self._server_probes.append(await self._protocol_probe(sender, self._catalog.server, probe))
                self._step(probe.name)

    async def _call_without_arguments(self, sender: Sender) -> SentProbe:
        """Call a tool that accepts an empty object without `arguments`, which the protocol makes optional."""
        server, probe = self._catalog.server, promises.NO_ARGUMENTS
        readers = (permission for permission in self._calls.permissions if permission.is_granted)
        tools = (permission.tool for permission in readers if not permission.is_forced)
        tool = next((tool for tool in tools if not _required(tool)), None)
        if tool is None:
            return SentProbe(server, SkippedProbe(probe, "no tool that only reads has no required argument", False))
        if self._is_slow:
            return SentProbe(server, SkippedProbe(probe, "calls are slow, and the time is limited", True))
        params: dict[str, Any] = {"name": tool.name}
        case = ProbeCase(probe, f"a call of `{tool.name}` without `arguments`", "success", params)
        empty = await self._send(sender, tool, case, {**params, "arguments": {}})
        if empty.seen is None or not empty.seen.is_success:
            return SentProbe(server, SkippedProbe(probe, f"`{tool.name}` does not accept an empty object", False))
        return (await self._send(sender, tool, case, params))._replace(item=server)

    async def _protocol_probe(self, sender: Sender, server: Item, probe: ProtocolProbe) -> SentProbe:
        connection = await self._session.connection()
        offered = connection.introduction.get("capabilities")
        if probe.capability is not None and probe.capability not in (offered if isinstance(offered, dict) else {}):
            return SentProbe(server, SkippedProbe(probe.name, f"the server does not offer {probe.capability}", False))
        if probe.only_if is not None and (reason := await probe.only_if(self._session) or ""):
            return SentProbe(server, SkippedProbe(probe.name, reason, False))
        if probe.send is None:
            return await self._send(sender, server, probe.case, probe.params, probe.method)
        case, response = await probe.send(self._session)
        if response.outcome == "crash" and not self._session.can_restart:
            await self._session.close(at_once=True)  # else the next request would be blamed
        seen = self._observed(server, case, response, probe.name)
        return SentProbe(server, case, seen=seen, method=probe.name)

    async def _work_alone(self, sender: Sender) -> None:
        """Call the waiting tools one at a time, with a ping after every call."""
        while (work := await self._next()) is not None:
            await self._do(work, sender)
        await sender.finish()

    async def _work(self, session: Session) -> None:
        """Do what the other workers do not, with a ping after every piece of work.

        A server that cannot be restarted gets a ping after every call: its end cannot be explained later.
        """
        sender = self._sender(session, pings=not session.can_restart)
        recent: deque[tuple[float, CaseSpan]] = deque()
        """The last cases, and when they were sent: those that may have ended the server."""
        try:
            while (work := await self._next()) is not None:
                await self._do(work, sender)
                await sender.check()
                if isinstance(work, CaseSpan):
                    recent.append((monotonic(), work))
                await self._find_culprits(recent, sender)
                # A server may end this long after its last response.
                while len(recent) > _FEWEST_SUSPECTS and monotonic() - recent[0][0] > SETTLE:
                    recent.popleft()
            if not self._limit.is_over():
                await sender.finish()
                await self._find_culprits(recent, sender)
        except ConnectError as error:
            self.trouble = f"the server is gone: {error.message}"
            self._changed.set()

    async def _find_culprits(self, recent: deque[tuple[float, CaseSpan]], sender: Sender) -> None:
        """If the server has ended, send the recent cases again, each of those that matter alone.

        A server may get many calls between a response and its end; their timing must not decide which is blamed.
        """
        if not sender.take_ends() or not sender.session.can_restart:
            return
        suspects = [span for _, span in recent]
        recent.clear()
        is_explained = False
        for first in range(0, len(suspects), AT_ONCE):
            group = suspects[first : first + AT_ONCE]
            ends = await asyncio.gather(*(sender.ends_with(self._requests(span)) for span in group))
            for guilty in (span for span, is_end in zip(group, ends, strict=True) if is_end):
                is_explained |= await self._send_alone(guilty, sender)
        if is_explained:
            sender.unexplained.clear()
            sender.searches = True

    def _requests(self, cases: CaseSpan) -> list[NumberedRequest]:
        """The calls of some cases, but not of those that are known to hang."""
        return [
            NumberedRequest(at, "tools/call", {"name": cases.run.tool.name, "arguments": sent.case.sent_arguments()})
            for at in cases.positions
            if (sent := cases.run.sent.get(at)) is not None
            and isinstance(sent.case, ProbeCase)
            and (sent.seen is None or sent.seen.outcome != "hang")
        ]

    async def _send_alone(self, cases: CaseSpan, sender: Sender) -> bool:
        """Send cases again, each to a fresh server; return whether one of them ends it."""
        run, requests = cases.run, self._requests(cases)
        is_end = False
        for first in range(0, len(requests), AT_ONCE):
            group = requests[first : first + AT_ONCE]
            for request, response in zip(group, await asyncio.gather(*map(sender.send_alone, group)), strict=True):
                case = run.probes.cases[request.number]
                if isinstance(case, ProbeCase):
                    seen = self._observed(run.tool, case, response, request.method)
                    run.sent[request.number] = SentProbe(run.tool, case, seen=seen)
                    is_end |= seen.outcome == "crash"
        return is_end

    def _take(self) -> Permission | CaseSpan | None:
        """The next piece of work: the valid call of a tool, or else cases of one whose valid calls are done."""
        if not self._waiting and not self._under_way:
            self._start_round()
        if self._is_slow and not self._ranges:
            self._derive_early()
        # Tools that may change something are called one after the other.
        if self._waiting and not (self._ranges and (self._is_slow or self._waiting[0].is_forced)):
            self._under_way += 1
            return self._waiting.popleft()
        return self._ranges.popleft() if self._ranges else None

    def _derive_early(self) -> None:
        """Derive the cases of the next tool from its smallest valid call, which is still to be sent."""
        for permission in (*self._waiting, *self._later):
            run = self._run_of(permission)
            if not permission.is_forced and not run.has_cases:
                self._add_cases(run)
                return

    def _run_of(self, permission: Permission) -> ToolRun:
        """The run of a tool, made when it is first needed."""
        key = id(permission.tool)
        if key not in self._runs:
            self._runs[key] = run = ToolRun(permission, self._probes(permission.tool))
            self.tool_probes[key] = run.probes
        return self._runs[key]

    def _add_cases(self, run: ToolRun) -> None:
        run.has_cases = True
        self._ranges.extend(run.slices())

    def _start_round(self) -> None:
        """Let the tools be called that wait for what others returned; in the order of the catalog, to be the same."""
        for run in self._runs.values():
            self._known.add([fact for fact in run.facts if self._may_be_sent(fact.value)])
            run.facts = []
        places = {id(permission): place for place, permission in enumerate(self._calls.permissions)}
        self._waiting.extend(sorted(self._later, key=lambda permission: places[id(permission)]))
        self._later = []

    def _may_be_sent(self, value: str | int) -> bool:
        """Whether a value that a tool returned may become an argument, which reports show: not a secret."""
        text = str(value)
        return self.redacted(text) == text and secret_in(text) is None

    async def _do(self, work: Permission | CaseSpan, sender: Sender) -> None:
        if isinstance(work, CaseSpan):
            await self._send_cases(work, sender)
        else:
            try:
                await self._send_baseline(work, sender)
            finally:
                self._end_work()

    async def _send_cases(self, work: CaseSpan, sender: Sender) -> None:
        """Send cases of a tool, but none that is known to end the server, and no more if it ends repeatedly."""
        run = work.run
        for position in work.positions:
            if self.trouble or self._limit.is_over():
                return
            case = run.probes.cases[position]
            if isinstance(case, ProbeCase) and not run.is_superfluous(position):
                run.sent[position] = await self._call(sender, run, case)
        if self._plan.explores:
            await self._send_baseline_again(work, sender)
        run.slices_left -= 1
        if run.is_tried and not run.slices_left:
            self._finish(run)

    async def _send_baseline_again(self, work: CaseSpan, sender: Sender) -> None:
        """Send the valid call again if a refusal may have another cause than its arguments; keep it if it fails.

        A server whose quota is used up, or whose state has changed, refuses every call.
        """
        run = work.run
        valid = run.valid[-1] if run.valid else None
        if valid is None or valid.seen is None or not valid.seen.is_success or not isinstance(valid.case, ProbeCase):
            return
        sent = [run.sent[at] for at in work.positions if at in run.sent]
        if any(
            isinstance(probe.case, ProbeCase) and probe.seen and is_doubtful(probe.seen, probe.case) for probe in sent
        ):
            repeated = await self._call(sender, run, valid.case._replace(description="the valid call again"))
            if repeated.seen is not None and repeated.seen.is_refusal:
                run.valid.append(repeated)

    def _finish(self, run: ToolRun) -> None:
        run.is_done = True
        self._step(run.tool.name)

    def _probes(self, tool: Tool, base: dict[str, Any] | None = None) -> ToolProbes:
        """The probes of a tool, derived from a valid call if one is given."""
        plan = self._plan
        given = plan.calls.arguments.get(tool.name) if base is None else base
        if not plan.explores:
            return checks_of_tool(tool, plan.checks, given=given, size=plan.size)
        return probes_of_promises(
            tool, plan.checks, given=given, size=plan.size, is_strict=plan.calls.is_strict, max_calls=plan.max_calls
        )

    async def _send_baseline(self, permission: Permission, sender: Sender) -> None:
        """Send the next valid call of a tool; once one is accepted, or none is left, its cases are derived from it."""
        run = self._run_of(permission)
        case = self._valid_call(run)
        if case is not None:
            start = monotonic()
            run.valid.append(await self._call(sender, run, case))
            self._note_time(start)
            if run.wants_another:
                if not permission.is_forced:
                    self._later.append(permission)
                elif not self._limit.is_over():
                    await self._send_baseline(permission, sender)
                return
        self._derive_cases(run)

    def _valid_call(self, run: ToolRun) -> ProbeCase | None:
        """The next valid call to try, which was not sent before; None if there is none."""
        baseline = run.probes.baseline
        if baseline is None or (run.valid and run.tool.name in self._calls.arguments):
            return None  # arguments from the user are not replaced: they may be all that the server accepts
        if run.tool.name in self._calls.arguments:
            return baseline
        sent = [valid.case.arguments for valid in run.valid if isinstance(valid.case, ProbeCase)]
        for description, arguments in self._valid_arguments(run, baseline.arguments, sent):
            if arguments not in sent:
                return baseline._replace(description=description, arguments=arguments)
        return None

    def _valid_arguments(
        self, run: ToolRun, smallest: dict[str, Any], sent: list[dict[str, Any]]
    ) -> Iterator[tuple[str, dict[str, Any]]]:
        """Valid arguments, those that are most likely to work first."""
        schema = run.tool.schema if run.tool.schema is not None else {}
        oracle = Oracle(schema)

        def extended(arguments: dict[str, Any]) -> dict[str, Any]:
            with_learned = {**arguments, **run.learned}
            return with_learned if oracle.accepts(with_learned) else arguments

        if sent:
            builder = ValueBuilder(schema, oracle)
            changed = asked_for(schema, sent[-1], run.answer, builder.of_property, oracle.accepts)
            if changed is not None:
                yield "a valid call as the refusal asks for", changed
        if not run.permission.is_forced:  # what may change something does not get the id of what exists
            reused = self._known.fill(run.tool.name, schema, smallest, oracle.accepts)
            if reused != smallest:
                yield "a valid call with values that other tools returned", extended(reused)
        yield "a valid call", smallest
        was_refused = run.valid and run.valid[-1].seen is not None and run.valid[-1].seen.is_refusal
        if was_refused and (fullest := fuller_arguments(schema)) is not None:
            yield "a valid call with every argument", extended(fullest)

    def _derive_cases(self, run: ToolRun) -> None:
        """Derive the cases of a tool from its best valid call, unless that ended the server."""
        run.choose_valid()
        run.is_tried = True
        last = run.valid[-1] if run.valid else None
        if last is not None and isinstance(last.case, ProbeCase) and last.seen is not None:
            is_other = run.probes.baseline is not None and last.case.arguments != run.probes.baseline.arguments
            if is_other and last.seen.outcome in ("accepted", "rejected") and not run.has_cases:
                run.probes = self.tool_probes[id(run.tool)] = self._probes(run.tool, last.case.arguments)
        if not run.has_cases:
            self._add_cases(run)
        if not run.slices_left:
            self._finish(run)

    def _note_time(self, start: float) -> None:
        """Note whether the valid call that began then took long, if the time is limited."""
        self._is_slow |= self._limit.seconds is not None and monotonic() - start > SLOW

    @property
    def found(self) -> dict[str, dict[str, Any]]:
        """The arguments that tools accepted, by tool, unless they are those that are generated first."""
        return {
            run.tool.name: valid.case.arguments
            for run in self._runs.values()
            for valid in run.valid
            if isinstance(valid.case, ProbeCase)
            and valid.case.arguments != run.smallest
            and valid.seen is not None
            and valid.seen.is_success
        }

    @property
    def furthest(self) -> dict[str, dict[str, Any]]:
        """The arguments that got further than the smallest, by tool, although they were refused, too."""
        return {
            run.tool.name: {**run.smallest, **run.learned}
            for run in self._runs.values()
            if run.smallest is not None and run.valid and run.learned
        }

    async def _call(self, sender: Sender, run: ToolRun, case: ProbeCase) -> SentProbe:
        """Call a tool with the arguments of a case."""
        params = {"name": run.tool.name, "arguments": case.sent_arguments()}
        sent = await self._send(sender, run.tool, case, params)
        return sent._replace(params={})

    async def _send(
        self, sender: Sender, item: Item, case: ProbeCase, params: dict[str, Any], method: str = "tools/call"
    ) -> SentProbe:
        number, response = await sender.send(method, params)
        self._now = item.name
        self._count_call()
        run = self._runs.get(id(item))
        if run is not None and response is not None and response.message is not None and case.probe == "baseline":
            run.answer = error_text(response.message.envelope)
            run.facts = [] if response.outcome == "rejected" else facts_in(run.tool.name, response.result)
        seen = None if response is None else self._observed(item, case, response, method)
        return SentProbe(
            item=item,
            case=case,
            params=params,
            number=(self._senders.index(sender), number),
            seen=seen,
            method=method,
        )

    def _observed(self, item: Item, case: ProbeCase, response: Response, method: str) -> SeenResponse:
        output = None
        if method == "tools/call":
            run = self._runs.get(id(item))
            output = run.output if run is not None else OutputContract(item.fields.get("outputSchema"))
        seen = seen_response(response, case.sent_arguments(), self._catalog.protocol, output, self._secrets)
        return seen._replace(asks=self.redacted(seen.asks)) if seen.asks else seen


def _required(tool: Tool) -> bool:
    """Whether a tool needs arguments."""
    return bool(tool.schema and tool.schema.get("required"))
