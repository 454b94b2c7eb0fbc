"""Everything that one server is asked, tool by tool, and what it answered."""

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


class SentProbe(NamedTuple):
    """A case that was sent, or one that was not."""

    item: Item
    case: ProbeCase | SkippedProbe
    params: dict[str, Any] = {}  # noqa: RUF012 (a default that nobody changes)
    number: int = 0
    response: Response | None = None
    method: str = "tools/call"


class ProbeSession:
    """One server under probes_of_tool."""

    def __init__(
        self,
        catalog: Catalog,
        session: Session,
        plan: ProbePlan,
        progress: Callable[[int, int, str], None],
    ) -> None:
        self.asked: dict[int, ToolProbes] = {}
        """The probes_of_tool of each tool, by the identity of the tool."""
        self.trouble = ""
        """Why nothing more could be sent."""
        self._catalog = catalog
        self._plan = plan
        self._progress = progress
        self._session = session
        self._sender = Sender(session)
        self._sent: list[SentProbe] = []
        self._total = sum(each.is_granted for each in plan.permissions) + len(plan.checks)
        self._done = 0

    def sent(self) -> dict[int, list[SentProbe]]:
        """What was sent, by the identity of the item, with what turned out later."""
        of_item: dict[int, list[SentProbe]] = {}
        for each in self._sent:
            response = self._sender.corrections.get(each.number, each.response)
            of_item.setdefault(id(each.item), []).append(each._replace(response=response))
        return of_item

    @property
    def unexplained(self) -> list[Response]:
        """Ends of the server that no single request explains."""
        return self._sender.unexplained

    def hidden(self, text: str) -> str:
        """A text of the server's as a report may show it."""
        return self._session.redacted(text)

    def questions_of(self, tool: Tool) -> ToolProbes:
        """What a tool was asked, or would have been."""
        return self.asked.get(id(tool)) or self._questions(tool)

    async def ask_everything(self) -> None:
        """Send everything; the session stays open."""
        try:
            await self._ask_server()
            for permission in self._plan.permissions:
                await self._ask_tool(permission)
            await self._sender.finish()
        except ConnectError as error:
            self.trouble = f"the server has gone: {error.message}"

    def _step(self, label: str) -> None:
        self._done += 1
        self._progress(self._done, self._total, label)

    async def _ask_server(self) -> None:
        """The probes that call no tool."""
        server = self._catalog.server
        if "unknown_tool" in self._plan.checks:
            self._step("unknown_tool")
            params: dict[str, Any] = {"name": NO_SUCH_TOOL, "arguments": {}}
            await self._send(
                server, ProbeCase("unknown_tool", "a tool that does not exist", "rejection", params), params
            )
        for probe in protocol_probes.PROBES:
            if probe.name not in self._plan.checks:
                continue
            self._step(probe.name)
            connection = await self._session.connection()
            offered = connection.introduction.get("capabilities")
            if probe.capability is not None and probe.capability not in (offered if isinstance(offered, dict) else {}):
                reason = f"the server does not offer {probe.capability}"
                self._sent.append(SentProbe(server, SkippedProbe(probe.name, reason, False)))
            elif probe.ask is not None:
                case, response = await probe.ask(self._session)
                self._sent.append(SentProbe(server, case, response=response, method=probe.name))
                if response.outcome == "crash" and not self._session.can_restart:
                    await self._session.close(at_once=True)  # the next request would be blamed for it
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
                    if isinstance(case, SkippedProbe):
                        self._sent.append(SentProbe(tool, case))
                    else:
                        await self._send(tool, case, {"name": tool.name, "arguments": case.arguments})
        finally:  # what was asked by then counts
            self.asked[id(tool)] = asked

    def _questions(self, tool: Tool, base: dict[str, Any] | None = None) -> ToolProbes:
        """What a tool is asked, around a valid call that is given."""
        plan = self._plan
        given = plan.arguments.get(tool.name) if base is None else base
        return probes_of_tool(tool, plan.checks, given=given, size=plan.size, explores=plan.explores)

    async def _start_from_what_works(self, tool: Tool, asked: ToolProbes) -> ToolProbes:
        """Send the valid call; where the smallest is refused, the fullest, as a schema may not tell what is needed."""
        if asked.baseline is None:
            return asked
        await self._send(tool, asked.baseline, {"name": tool.name, "arguments": asked.baseline.arguments})
        smallest = self._sent[-1].response
        if smallest is None or smallest.outcome != "rejected" or tool.name in self._plan.arguments:
            return asked
        fuller = fuller_arguments(tool.schema if tool.schema is not None else {})
        if fuller is None:
            return asked
        case = asked.baseline._replace(what="a valid call with every argument", arguments=fuller)
        await self._send(tool, case, {"name": tool.name, "arguments": fuller})
        fullest = self._sent[-1].response
        return self._questions(tool, fuller) if fullest is not None and fullest.outcome == "accepted" else asked

    async def _send(self, item: Item, case: ProbeCase, params: dict[str, Any], method: str = "tools/call") -> None:
        number, response = await self._sender.send(method, params)
        self._sent.append(SentProbe(item, case, params, number, response, method))
