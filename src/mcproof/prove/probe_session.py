"""Send all probes of a plan to one server, tool by tool, and collect the responses."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.client.failures import ConnectError
from mcproof.exchange.probe_facts import MAX_CALLS, SERVER_LOST
from mcproof.exchange.responses import OutputContract
from mcproof.generation.cases import fuller_arguments
from mcproof.prove import protocol_probes
from mcproof.prove.blame import Sender
from mcproof.prove.negative_checks import checks_of_tool
from mcproof.prove.probe_cases import ProbeCase, SkippedProbe, ToolProbes
from mcproof.prove.promise_probes import probes_of_promises
from mcproof.prove.seen_responses import seen_response

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcproof.catalog.model import Catalog, Item, Tool
    from mcproof.client.session import Response, Session
    from mcproof.exchange.probe_facts import Outcome
    from mcproof.generation.promises import Promise
    from mcproof.prove.permission import Permission
    from mcproof.prove.seen_responses import SeenResponse

NO_SUCH_TOOL = "mcproof_no_such_tool"
MOST_CRASHES, MOST_HANGS = 5, 3
"""After how many crashes or hangs a tool is not called any more."""


class ProbePlan(NamedTuple):
    """Which probes to send to a server."""

    permissions: list[Permission]
    """The selected tools, each with its permission."""
    checks: list[str]
    explores: bool
    """Whether to test every promise, and what is not promised, for the contract matrix."""
    arguments: dict[str, dict[str, Any]]
    """Valid arguments from the user, by tool."""
    size: int
    limit: float
    """Seconds until a response is due."""
    target: dict[str, Any] = {}  # noqa: RUF012 (never mutated)
    """How to find the server again, for stored failures."""
    max_calls: int = MAX_CALLS
    """How many probes `explores` sends to a tool."""
    is_strict: bool = False
    """Whether values that servers commonly convert must be rejected, too."""


class SentProbe(NamedTuple):
    """A case that was sent and what was seen of the response, or a skipped one. Large values are not kept."""

    item: Item
    case: ProbeCase | SkippedProbe
    params: dict[str, Any] = {}  # noqa: RUF012 (never mutated)
    """The parameters of a request that calls no tool."""
    number: int = 0
    seen: SeenResponse | None = None
    method: str = "tools/call"


class ProbeSession:
    """Sends the probes of a plan over a session."""

    def __init__(
        self,
        catalog: Catalog,
        session: Session,
        plan: ProbePlan,
        progress: Callable[[int, int, str], None],
    ) -> None:
        self.tool_probes: dict[int, ToolProbes] = {}
        """The probes of each tool, by the identity of the tool."""
        self.stopped: dict[int, str] = {}
        """Why not all probes of a tool were sent, by the identity of the tool."""
        self.trouble = ""
        """Why probing ended early."""
        self._catalog = catalog
        self._plan = plan
        self._progress = progress
        self._session = session
        self._sender = Sender(session)
        self._sent: list[SentProbe] = []
        self._output: tuple[Item, OutputContract] | None = None
        """The output contract of the last tool."""
        self._total = sum(each.is_granted for each in plan.permissions) + len(plan.checks)
        self._done = 0

    def sent(self) -> dict[int, list[SentProbe]]:
        """The probes sent, by the identity of the item, with the corrections of blame."""
        of_item: dict[int, list[SentProbe]] = {}
        for each in self._sent:
            of_item.setdefault(id(each.item), []).append(self._corrected(each))
        return of_item

    def _corrected(self, sent: SentProbe) -> SentProbe:
        correction = self._sender.corrections.get(sent.number)
        if correction is None or isinstance(sent.case, SkippedProbe):
            return sent
        return sent._replace(seen=self._observed(sent.item, sent.case, correction, sent.method))

    @property
    def unexplained(self) -> list[Response]:
        """Ends of the server that no single request explains."""
        return self._sender.unexplained

    def redacted(self, text: str) -> str:
        """A text from the server as a report may show it."""
        return self._session.redacted(text)

    def probes_of(self, tool: Tool) -> ToolProbes:
        """The probes of a tool, sent or not."""
        return self.tool_probes.get(id(tool)) or self._probes(tool)

    async def send_all(self) -> None:
        """Send everything; the session stays open."""
        try:
            await self._probe_server()
            for permission in self._plan.permissions:
                await self._probe_tool(permission)
            await self._sender.finish()
        except ConnectError as error:
            self.trouble = f"the server is gone: {error.message}"

    def _step(self, label: str) -> None:
        self._done += 1
        self._progress(self._done, self._total, label)

    async def _probe_server(self) -> None:
        """Send the probes that call no tool."""
        server = self._catalog.server
        if "unknown_tool" in self._plan.checks:
            self._step("unknown_tool")
            params: dict[str, Any] = {"name": NO_SUCH_TOOL, "arguments": {}}
            case = ProbeCase("unknown_tool", "a tool that does not exist", "rejection", params)
            await self._send(server, case, params)
        for probe in protocol_probes.PROBES:
            if probe.name not in self._plan.checks:
                continue
            self._step(probe.name)
            connection = await self._session.connection()
            offered = connection.introduction.get("capabilities")
            if probe.capability is not None and probe.capability not in (offered if isinstance(offered, dict) else {}):
                reason = f"the server does not offer {probe.capability}"
                self._sent.append(SentProbe(server, SkippedProbe(probe.name, reason, False)))
            elif probe.only_if is not None and (reason := await probe.only_if(self._session) or ""):
                self._sent.append(SentProbe(server, SkippedProbe(probe.name, reason, False)))
            elif probe.send is not None:
                case, response = await probe.send(self._session)
                seen = self._observed(server, case, response, probe.name)
                self._sent.append(SentProbe(server, case, seen=seen, method=probe.name))
                if response.outcome == "crash" and not self._session.can_restart:
                    await self._session.close(at_once=True)  # else the next request would be blamed
            else:
                await self._send(server, probe.case, probe.params, probe.method)

    async def _probe_tool(self, permission: Permission) -> None:
        tool = permission.tool
        probes = self._probes(tool)
        try:
            if permission.is_granted:
                self._step(tool.name)
                probes = await self._send_baseline(tool, probes)
                await self._send_cases(tool, probes)
        finally:  # also after an interrupt
            self.tool_probes[id(tool)] = probes

    async def _send_cases(self, tool: Tool, probes: ToolProbes) -> None:
        """Send the cases of a tool, but none that is known to end the server, and no more if it ends repeatedly."""
        lost: Counter[Outcome] = Counter()
        broken: set[Promise] = set()
        for case in probes.cases:
            if isinstance(case, SkippedProbe):
                self._sent.append(SentProbe(tool, case))
            elif lost["crash"] >= MOST_CRASHES or lost["hang"] >= MOST_HANGS:
                self.stopped[id(tool)] = "repeated crashes or hangs"
            elif not case.keyword or case.promise not in broken:
                seen = await self._call(tool, case)
                if seen is not None and seen.outcome in SERVER_LOST:
                    lost[seen.outcome] += 1
                    broken.add(case.promise)

    def _probes(self, tool: Tool, base: dict[str, Any] | None = None) -> ToolProbes:
        """The probes of a tool, derived from a valid call if one is given."""
        plan = self._plan
        given = plan.arguments.get(tool.name) if base is None else base
        if not plan.explores:
            return checks_of_tool(tool, plan.checks, given=given, size=plan.size)
        return probes_of_promises(
            tool, plan.checks, given=given, size=plan.size, is_strict=plan.is_strict, max_calls=plan.max_calls
        )

    async def _send_baseline(self, tool: Tool, probes: ToolProbes) -> ToolProbes:
        """Send the smallest valid call, and the fullest if that is rejected: a schema may not declare what is needed.

        Return the probes derived from the call that was accepted.
        """
        if probes.baseline is None:
            return probes
        smallest = await self._call(tool, probes.baseline)
        if smallest is None or smallest.outcome != "rejected" or tool.name in self._plan.arguments:
            return probes
        fuller = fuller_arguments(tool.schema if tool.schema is not None else {})
        if fuller is None:
            return probes
        case = probes.baseline._replace(description="a valid call with every argument", arguments=fuller)
        fullest = await self._call(tool, case)
        return self._probes(tool, fuller) if fullest is not None and fullest.outcome == "accepted" else probes

    async def _call(self, tool: Tool, case: ProbeCase) -> SeenResponse | None:
        """Call a tool with the arguments of a case."""
        params = {"name": tool.name, "arguments": case.sent_arguments()}
        number, response = await self._sender.send("tools/call", params)
        seen = None if response is None else self._observed(tool, case, response, "tools/call")
        self._sent.append(SentProbe(tool, case, number=number, seen=seen))
        return seen

    async def _send(self, item: Item, case: ProbeCase, params: dict[str, Any], method: str = "tools/call") -> None:
        number, response = await self._sender.send(method, params)
        seen = None if response is None else self._observed(item, case, response, method)
        self._sent.append(SentProbe(item, case, params, number, seen, method))

    def _observed(self, item: Item, case: ProbeCase, response: Response, method: str) -> SeenResponse:
        output = None
        if method == "tools/call":
            if self._output is None or self._output[0] is not item:
                self._output = item, OutputContract(item.fields.get("outputSchema"))
            output = self._output[1]
        return seen_response(response, case.sent_arguments(), self._catalog.protocol, output)
