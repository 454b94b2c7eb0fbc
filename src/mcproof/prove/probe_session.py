"""Send all probes of a plan to one server, tool by tool, and collect the responses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.client.failures import ConnectError
from mcproof.generation.cases import fuller_arguments
from mcproof.prove import protocol_probes
from mcproof.prove.blame import Sender
from mcproof.prove.probes import ProbeCase, SkippedProbe, ToolProbes, probes_of_tool

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcproof.catalog.model import Catalog, Item, Tool
    from mcproof.client.session import Response, Session
    from mcproof.prove.permission import Permission

NO_SUCH_TOOL = "mcproof_no_such_tool"


class ProbePlan(NamedTuple):
    """Which probes to send to a server."""

    permissions: list[Permission]
    """The selected tools, each with its permission."""
    checks: list[str]
    explores: bool
    """Whether to test undeclared promises as well, for the contract matrix."""
    arguments: dict[str, dict[str, Any]]
    """Valid arguments from the user, by tool."""
    size: int
    limit: float
    """Seconds until a response is due."""
    target: dict[str, Any] = {}  # noqa: RUF012 (never mutated)
    """How to find the server again, for stored failures."""


class SentProbe(NamedTuple):
    """A case that was sent, with its response, or a skipped one."""

    item: Item
    case: ProbeCase | SkippedProbe
    params: dict[str, Any] = {}  # noqa: RUF012 (never mutated)
    number: int = 0
    response: Response | None = None
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
        self.trouble = ""
        """Why probing ended early."""
        self._catalog = catalog
        self._plan = plan
        self._progress = progress
        self._session = session
        self._sender = Sender(session)
        self._sent: list[SentProbe] = []
        self._total = sum(each.is_granted for each in plan.permissions) + len(plan.checks)
        self._done = 0

    def sent(self) -> dict[int, list[SentProbe]]:
        """The probes sent, by the identity of the item, with the corrections of blame."""
        of_item: dict[int, list[SentProbe]] = {}
        for each in self._sent:
            response = self._sender.corrections.get(each.number, each.response)
            of_item.setdefault(id(each.item), []).append(each._replace(response=response))
        return of_item

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
                self._sent.append(SentProbe(server, case, response=response, method=probe.name))
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
                for case in probes.cases:
                    if isinstance(case, SkippedProbe):
                        self._sent.append(SentProbe(tool, case))
                    else:
                        await self._send(tool, case, {"name": tool.name, "arguments": case.arguments})
        finally:  # also after an interrupt
            self.tool_probes[id(tool)] = probes

    def _probes(self, tool: Tool, base: dict[str, Any] | None = None) -> ToolProbes:
        """The probes of a tool, derived from a valid call if one is given."""
        plan = self._plan
        given = plan.arguments.get(tool.name) if base is None else base
        return probes_of_tool(tool, plan.checks, given=given, size=plan.size, explores=plan.explores)

    async def _send_baseline(self, tool: Tool, probes: ToolProbes) -> ToolProbes:
        """Send the smallest valid call, and the fullest if that is rejected: a schema may not declare what is needed.

        Return the probes derived from the call that was accepted.
        """
        if probes.baseline is None:
            return probes
        await self._send(tool, probes.baseline, {"name": tool.name, "arguments": probes.baseline.arguments})
        smallest = self._sent[-1].response
        if smallest is None or smallest.outcome != "rejected" or tool.name in self._plan.arguments:
            return probes
        fuller = fuller_arguments(tool.schema if tool.schema is not None else {})
        if fuller is None:
            return probes
        case = probes.baseline._replace(description="a valid call with every argument", arguments=fuller)
        await self._send(tool, case, {"name": tool.name, "arguments": fuller})
        fullest = self._sent[-1].response
        return self._probes(tool, fuller) if fullest is not None and fullest.outcome == "accepted" else probes

    async def _send(self, item: Item, case: ProbeCase, params: dict[str, Any], method: str = "tools/call") -> None:
        number, response = await self._sender.send(method, params)
        self._sent.append(SentProbe(item, case, params, number, response, method))
