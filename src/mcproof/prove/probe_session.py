"""Everything that one server is asked, tool by tool, and what it answered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.client.failures import ConnectError
from mcproof.generation.cases import fuller_arguments
from mcproof.prove import protocol_probes
from mcproof.prove.blame import Sender
from mcproof.prove.probes import Case, Questions, Skipped, questions

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcproof.catalog.model import Catalog, Item, Tool
    from mcproof.client.calling import Reply, Session
    from mcproof.prove.safety import Permission

NO_SUCH_TOOL = "mcproof_no_such_tool"


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
    params: dict[str, Any] = {}  # noqa: RUF012 (a default that nobody changes)
    number: int = 0
    reply: Reply | None = None
    method: str = "tools/call"


class Interview:
    """One server under questions."""

    def __init__(
        self,
        catalog: Catalog,
        session: Session,
        inquiry: Inquiry,
        progress: Callable[[int, int, str], None],
    ) -> None:
        self.asked: dict[int, Questions] = {}
        """The questions of each tool, by the identity of the tool."""
        self.trouble = ""
        """Why nothing more could be sent."""
        self._catalog = catalog
        self._inquiry = inquiry
        self._progress = progress
        self._session = session
        self._sender = Sender(session)
        self._sent: list[Sent] = []
        self._total = sum(each.is_granted for each in inquiry.permissions) + len(inquiry.checks)
        self._done = 0

    def sent(self) -> dict[int, list[Sent]]:
        """What was sent, by the identity of the item, with what turned out later."""
        of_item: dict[int, list[Sent]] = {}
        for each in self._sent:
            reply = self._sender.corrections.get(each.number, each.reply)
            of_item.setdefault(id(each.item), []).append(each._replace(reply=reply))
        return of_item

    @property
    def unexplained(self) -> list[Reply]:
        """Ends of the server that no single request explains."""
        return self._sender.unexplained

    def hidden(self, text: str) -> str:
        """A text of the server's as a report may show it."""
        return self._session.hidden(text)

    def questions_of(self, tool: Tool) -> Questions:
        """What a tool was asked, or would have been."""
        return self.asked.get(id(tool)) or self._questions(tool)

    async def ask_everything(self) -> None:
        """Send everything; the session stays open."""
        try:
            await self._ask_server()
            for permission in self._inquiry.permissions:
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
        if "unknown_tool" in self._inquiry.checks:
            self._step("unknown_tool")
            params: dict[str, Any] = {"name": NO_SUCH_TOOL, "arguments": {}}
            await self._send(server, Case("unknown_tool", "a tool that does not exist", "rejection", params), params)
        for probe in protocol_probes.PROBES:
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
                self._sent.append(Sent(server, case, reply=reply, method=probe.name))
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
            self.asked[id(tool)] = asked

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
        smallest = self._sent[-1].reply
        if smallest is None or smallest.outcome != "rejected" or tool.name in self._inquiry.arguments:
            return asked
        fuller = fuller_arguments(tool.schema if tool.schema is not None else {})
        if fuller is None:
            return asked
        case = asked.baseline._replace(what="a valid call with every argument", arguments=fuller)
        await self._send(tool, case, {"name": tool.name, "arguments": fuller})
        fullest = self._sent[-1].reply
        return self._questions(tool, fuller) if fullest is not None and fullest.outcome == "accepted" else asked

    async def _send(self, item: Item, case: Case, params: dict[str, Any], method: str = "tools/call") -> None:
        number, reply = await self._sender.send(method, params)
        self._sent.append(Sent(item, case, params, number, reply, method))
