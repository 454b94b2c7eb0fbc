"""Attack the tools of a server, one after the other, over a process of its own."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.client.errors import ConnectError
from mcproof.core.errors import Untested
from mcproof.core.observations.probes import SEVERAL, ItemProbes, ProbeRecord
from mcproof.prove.blame import Sender
from mcproof.prove.hostile.attacks import FAMILIES, FAMILY_NAMES
from mcproof.prove.hostile.server_folders import folders_of
from mcproof.prove.hostile.tool_attacker import ToolAttacker
from mcproof.prove.hostile.traps import Traps
from mcproof.results.proof import ProbeResult

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mcproof.client.capture import OpenServer
    from mcproof.client.session import Response, Session
    from mcproof.core.catalog.model import Catalog, Item
    from mcproof.prove.failure_store import StoredFailure
    from mcproof.prove.hostile.tool_attacker import HostileFailure
    from mcproof.prove.permission import Permission

_NOT_LOCAL = "the server does not run on this machine, so that it reaches neither a file nor a port of mcproof"
_NO_MARKER = "no folder was found that the server may not read, and in which mcproof may write"


class AttackPlan(NamedTuple):
    """Which tools to attack, and how long."""

    permissions: list[Permission]
    arguments: dict[str, dict[str, Any]]
    """Valid arguments from the user, by tool."""
    limit: float
    """Seconds until a response is due."""
    seconds: float | None = None
    """The time limit of all attacks."""
    target: dict[str, Any] = {}  # noqa: RUF012 (never mutated)
    """How to find the server again, for stored failures."""


def attack(server: OpenServer, plan: AttackPlan, progress: Callable[[int, int, str], None]) -> AttackRun:
    """Attack the tools of an open server that may be called; an interrupt keeps the results so far."""
    run = AttackRun(server.session.new_session(), plan, progress)
    if not server.is_interrupted:
        server.run(lambda: run.run(lambda: server.is_interrupted))
    run.was_interrupted = server.is_interrupted
    return run


class AttackRun:
    """The attacks on all tools that may be called, and their results."""

    def __init__(
        self, session: Session, plan: AttackPlan, progress: Callable[[int, int, str], None] = lambda *_: None
    ) -> None:
        self.attackers: list[ToolAttacker] = []
        """The tools attacked so far."""
        self.unexplained: list[Response] = []
        """Ends of the server that no single call explains."""
        self.was_interrupted = False
        self._session = session
        self._plan = plan
        self._progress = progress
        self._permitted = [each.tool for each in plan.permissions if each.is_granted]
        self._folders = folders_of(session.server)
        self._has_marker = True
        self._gone = ""

    async def run(self, is_interrupted: Callable[[], bool] = lambda: False) -> None:
        """Attack all tools. The traps and the process are removed in every case."""
        deadline = None if self._plan.seconds is None else monotonic() + self._plan.seconds
        try:
            async with Traps(self._folders) as traps:
                self._has_marker = traps.has_marker
                await self._attack_all(traps, lambda: deadline is not None and monotonic() > deadline)
        finally:
            await self._session.close(at_once=is_interrupted())

    async def _attack_all(self, traps: Traps, is_late: Callable[[], bool]) -> None:
        sender = Sender(self._session, pings=False)
        try:
            for number, tool in enumerate(self._permitted):
                self._progress(number, len(self._permitted), tool.name)
                attacker = ToolAttacker(tool, self._plan.arguments.get(tool.name), traps, len(self._folders.folders))
                self.attackers.append(attacker)
                await attacker.run(sender, is_late)
            await sender.finish()
        except ConnectError as error:
            self._gone = f"the server is gone: {error.message}"
        finally:
            for attacker in self.attackers:
                attacker.settle(sender)
            self.unexplained = sender.unexplained

    def failures(self) -> list[tuple[HostileFailure, StoredFailure]]:
        """The failures and how they are stored, effects first."""
        found = [failure for attacker in self.attackers for failure in attacker.failures]
        found.sort(key=lambda failure: failure.outcome != "injection")
        return [(each, each.stored(self._plan.target, self._plan.limit)) for each in found]

    def outcomes(self) -> dict[str, int]:
        """How many hostile calls had each outcome."""
        counts = {"injection": 0}
        for attacker in self.attackers:
            for outcome, count in attacker.outcomes().items():
                counts[outcome] = counts.get(outcome, 0) + count
        return counts

    def calls(self) -> dict[str, int]:
        """How many hostile calls each tool was sent."""
        return {attacker.tool.name: sum(attacker.sent.values()) for attacker in self.attackers}

    def with_records(self, item_probes: list[ItemProbes], catalog: Catalog) -> list[ItemProbes]:
        """The probe records of a run with those of the attacks."""
        ends = [ProbeRecord("calls", SEVERAL, "response", end.outcome, response=end.why) for end in self.unexplained]
        of_item: dict[int, ItemProbes] = {id(each.item): each for each in item_probes}
        found: list[tuple[Item, list[ProbeRecord]]] = [(catalog.server, ends)] if ends else []
        found += [(each.tool, each.records(self._plan.target, self._plan.limit)) for each in self.attackers]
        for item, records in found:
            known = of_item.get(id(item)) or ItemProbes(item, [], catalog.protocol)
            of_item[id(item)] = known._replace(records=[*known.records, *records])
        return list(of_item.values())

    def probe_results(self) -> list[ProbeResult]:
        """A result for each tool and family."""
        return [result for attacker in self.attackers for result in _results(attacker)]

    def untested(self) -> Iterator[Untested]:
        """What was left out, and why."""
        why = self._gone or ("interrupted" if self.was_interrupted else "not reached")
        if self._permitted and not self._folders.is_local:
            yield Untested("path traversal and request forgery", _NOT_LOCAL)
        elif self._permitted and not self._has_marker:
            yield Untested("path traversal", _NO_MARKER)
        for attacker in self.attackers:
            yield from attacker.untested(why)
        for tool in self._permitted[len(self.attackers) :]:
            yield Untested(f"hostile arguments of tool {tool.label}", why)


def _results(attacker: ToolAttacker) -> Iterator[ProbeResult]:
    for family in FAMILIES:
        sent = attacker.sent.get(family, 0)
        failed = next((each for each in attacker.failures if each.case.family == family), None)
        if failed is not None:
            yield ProbeResult(
                tool=attacker.tool.name,
                probe=family,
                fault=None,
                outcome="malformed" if failed.outcome == "protocol_violation" else failed.outcome,
                passed=False,
                reason=failed.sentence,
                request=failed.request,
                answer=failed.response,
            )
        elif sent:
            reason = f"{sent:,} calls with {FAMILY_NAMES[family]}, none with an effect"
            yield ProbeResult(attacker.tool.name, family, None, "clean", True, reason)
        else:
            reason = attacker.stopped or "no argument takes such a text"
            outcome = "not_tested" if attacker.stopped else "not_applicable"
            yield ProbeResult(attacker.tool.name, family, None, outcome, None, reason)
