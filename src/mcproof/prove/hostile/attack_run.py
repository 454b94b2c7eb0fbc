"""Attack the tools of a server, one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcproof.client.failures import ConnectError
from mcproof.prove.blame import Sender
from mcproof.prove.hostile.server_folders import folders_of
from mcproof.prove.hostile.tool_attacker import ToolAttacker
from mcproof.prove.hostile.traps import Traps
from mcproof.results.run import Untested

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mcproof.client.session import Response, Session
    from mcproof.prove.permission import Permission

_NOT_LOCAL = "the server does not run on this machine, so that it reaches neither a file nor a port of mcproof"
_NO_MARKER = "no folder was found that the server may not read, and in which mcproof may write"


class AttackRun:
    """The attacks on all tools that may be called, and their results, also after an interrupt."""

    def __init__(self, session: Session, permissions: list[Permission], arguments: dict[str, dict[str, Any]]) -> None:
        self.attackers: list[ToolAttacker] = []
        """The tools attacked so far."""
        self.unexplained: list[Response] = []
        """Ends of the server that no single call explains."""
        self._session = session
        self._permitted = [each.tool for each in permissions if each.is_granted]
        self._arguments = arguments
        self._folders = folders_of(session.server)
        self._trouble = self._gone = ""

    async def run(
        self, is_late: Callable[[], bool] = lambda: False, progress: Callable[[str], None] = lambda _: None
    ) -> None:
        """Attack all tools; an interrupt removes the traps and keeps the results so far."""
        async with Traps(self._folders) as traps:
            if not traps.has_marker:
                self._trouble = _NO_MARKER
            sender = Sender(self._session, pings=False)
            try:
                for tool in self._permitted:
                    progress(tool.name)
                    attacker = ToolAttacker(tool, self._arguments.get(tool.name), traps, len(self._folders.folders))
                    self.attackers.append(attacker)
                    await attacker.run(sender, is_late)
                await sender.finish()
            except ConnectError as error:
                self._gone = f"the server is gone: {error.message}"
            finally:
                for attacker in self.attackers:
                    attacker.settle(sender)
                self.unexplained = sender.unexplained

    def untested(self, why: str) -> Iterator[Untested]:
        """What was left out; `why` if the attacks ended early."""
        if self._permitted and not self._folders.is_local:
            yield Untested("path traversal and request forgery", _NOT_LOCAL)
        elif self._trouble:
            yield Untested("path traversal", self._trouble)
        for attacker in self.attackers:
            yield from attacker.untested(self._gone or why)
        for tool in self._permitted[len(self.attackers) :]:
            yield Untested(f"hostile arguments of tool {tool.label}", self._gone or why)
