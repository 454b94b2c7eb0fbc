"""Attack the tools of a server that may be called, one after the other, and keep the calls with an effect."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from mcproof.client.errors import ConnectError
from mcproof.core.catalog.model import Catalog, Tool
from mcproof.core.errors import Untested
from mcproof.core.named_tuple import NamedTuple
from mcproof.core.observations.connection import cropped
from mcproof.core.observations.probes import (
    FAILURE_OF,
    SERVER_LOST,
    SEVERAL,
    CaseOutcome,
    ItemProbes,
    ProbeRecord,
    ResponseFlaw,
    as_json,
)
from mcproof.core.observations.responses import OutputContract, error_text
from mcproof.probing.attacks.cases import (
    FAMILIES,
    FAMILY_NAMES,
    MOST_ARGUMENTS,
    AttackFamily,
    HostileCase,
    ToolAttacks,
    folders_of,
    has_value,
    path_parameters,
)
from mcproof.probing.attacks.effects import AttackResult, injection, observe
from mcproof.probing.attacks.traps import Traps
from mcproof.probing.calls import GRACE, Called, CallPlan, Campaign, Job, Progress, in_silence, run
from mcproof.probing.generation.cases import fullest_arguments
from mcproof.probing.generation.values import valid_arguments
from mcproof.probing.outcomes import Failure, ProbeResult
from mcproof.probing.probes.blame import Sender
from mcproof.probing.probes.failures import StoredFailure
from mcproof.probing.probes.responses import HOW_TO_ANSWER, found_nothing, seen_response, signature

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from mcproof.client.capture import OpenServer
    from mcproof.client.session import Response, Session


MOST_LOST = 5
"""After how many crashes and hangs a tool is not attacked any more."""


class HostileFailure(NamedTuple):
    """A hostile call that had an effect, or harmed the server."""

    tool: Tool
    case: HostileCase
    outcome: CaseOutcome
    problem: str
    response: str
    """The response without secrets and random values, cropped; or why there is none."""
    was_accepted: bool
    times: int = 1

    @property
    def request(self) -> str:
        """The arguments with placeholders, cropped."""
        return as_json(self.case.arguments)

    @property
    def sentence(self) -> str:
        """The problem, and what was sent."""
        return f"{self.problem} ({self.case.description})"

    def stored(self, calls: CallPlan) -> StoredFailure:
        """The failure as it is stored for replay."""
        return StoredFailure.of(
            calls.target,
            tool=self.tool.name,
            probe=self.case.family,
            method="tools/call",
            params={"name": self.tool.name, "arguments": self.case.arguments},
            outcome=self.outcome,
            what=self.case.description,
            is_valid=True,
            answer=self.response,
            limit=calls.limit,
            recipe={"path": list(self.case.argument.path), "base": self.case.base},
        )

    def reported(self, stored: StoredFailure) -> Failure:
        """The failure for the result."""
        return stored.reported(self.case.arguments, self.sentence, self.times, self.response)


class ToolAttacker:
    """Sends the hostile calls of one tool."""

    def __init__(self, tool: Tool, given: dict[str, Any] | None, traps: Traps, folders: int) -> None:
        self.tool = tool
        self.sent: dict[AttackFamily, int] = {}
        """How many hostile calls of each family were sent, without those to compare with."""
        self.failures: list[HostileFailure] = []
        self.stopped = ""
        """Why not all calls were sent; empty if they were."""
        self.paths: dict[str, bool] = dict.fromkeys(path_parameters(tool), False)
        """The parameters that are paths, and whether an attack on each is known to have reached what reads files."""
        self._tried_paths: set[str] = set()
        self._unreached = 0
        """How many calls without an effect show nothing, because the valid call is refused."""
        self._refusal = ""
        """The words with which the valid call is refused, or says that there is nothing; empty if it works."""
        self._is_refused = False
        self._base: dict[str, Any] = {}
        """The arguments of the valid call that works."""
        self._fullest: dict[str, Any] | None = None
        self._given = given
        self._traps = traps
        self._folders = folders
        self._question = ""
        """The first question that got no answer, in words."""
        self._left_out = 0
        self._is_done = False
        self._groups: Iterator[list[HostileCase]] | None = None
        """The groups of calls that are left; None before the first."""
        self._of_number: dict[int, HostileCase] = {}
        """The cases by the number of their request."""
        self._waiting: list[tuple[HostileCase, AttackResult]] = []
        """Calls without an effect so far; a request may arrive later."""

    async def advance(self, sender: Sender, is_late: Callable[[], bool]) -> bool:
        """Send the next group of hostile calls; return whether there may be more. Raises ConnectError."""
        if is_late():
            self.stopped = "time limit reached"
            return False
        if self._groups is None:
            base = await self._valid_call(sender)
            if base is None:
                self.stopped = self.stopped or "no valid call could be generated"
                return False
            attacks = ToolAttacks(self.tool, base, self._fill, self._folders, self._fullest)
            self.stopped = attacks.problem or ""
            self._left_out = attacks.left_out
            self._groups = iter(attacks.cases())
        group = next(self._groups, None)
        if group is not None:
            await self._send_group(group, sender, is_late)
        self._is_done = group is None and not self.stopped
        if self._is_done:  # the schema allows no path for the others
            self.paths = {name: is_reached for name, is_reached in self.paths.items() if name in self._tried_paths}
        return group is not None and not self.stopped

    def settle(self, sender: Sender) -> None:
        """Add what became known only after the calls: what ended the server, and requests that arrived late."""
        self._correct(sender)
        self._find_late_requests(sender)

    def _fill(self, arguments: Any) -> Any:
        return self._traps.filled(arguments, self._traps.new_token())

    async def _valid_call(self, sender: Sender) -> dict[str, Any] | None:
        """The arguments of a valid call: those that are known to work, or else the smallest."""
        schema = self.tool.schema if self.tool.schema is not None else {}
        smallest = valid_arguments(schema).value if self._given is None else self._given
        if smallest is None:
            return None
        # An empty list, or an option that is not given, keeps attacks on what is in it from the tool's logic.
        self._fullest = fullest_arguments(schema, smallest)
        for valid in [self._fullest, smallest] if self._fullest != smallest else [smallest]:
            response = await self._call(sender, valid, None)
            if response is None:
                continue
            if response.outcome in SERVER_LOST:
                self.stopped = "the valid call already crashes or hangs"
                return None
            seen = seen_response(response, valid, None, OutputContract(None))
            self._is_refused = seen.is_refusal
            if seen.is_success and not found_nothing(seen):
                self._refusal, self._base = "", valid
                break
            words = error_text({} if response.message is None else response.message.envelope) or response.text
            shown = sender.session.redacted(self._traps.hidden(words.strip()))
            self._refusal = f"{as_json(valid)} is refused: {cropped(shown)}"
        return self._base or smallest

    async def _call(self, sender: Sender, arguments: dict[str, Any], case: HostileCase | None) -> Response | None:
        number, response = await sender.send("tools/call", {"name": self.tool.name, "arguments": arguments})
        if case is not None:
            self._of_number[number] = case
        if response is not None and response.asks and not self._question:
            self._question = sender.session.redacted(self._traps.hidden(response.asks))
        return response

    async def _send_group(self, group: list[HostileCase], sender: Sender, is_late: Callable[[], bool]) -> None:
        """Send the cases of one argument and family until one has an effect."""
        for case in group:
            if is_late():
                self.stopped = "time limit reached"
                return
            seen = await observe(case, self._traps, lambda arguments, case=case: self._call(sender, arguments, case))  # type: ignore[misc]
            if seen is None:
                continue
            self.sent[case.family] = self.sent.get(case.family, 0) + 1
            if seen.outcome != "clean":
                self._keep(case, seen, sender)
            else:
                self._unreached += self.shows_nothing(case.family)
                if case.family == "request_forgery":
                    self._waiting.append((case, seen))
            if sum(failure.times for failure in self.failures if failure.outcome in SERVER_LOST) >= MOST_LOST:
                self.stopped = f"stopped after {sum(self.sent.values()):,} hostile calls: repeated crashes or hangs"
                return
            if seen.outcome == "injection":
                break
        first = group[0]
        if first.family == "path_traversal" and first.argument.names_path:
            label = first.argument.label
            self._tried_paths.add(label)
            found = any(
                failure.outcome == "injection" and failure.case.argument.label == label for failure in self.failures
            )
            self.paths[label] = found or (
                has_value(self._base, first.argument.path) and not self.shows_nothing(first.family)
            )

    def shows_nothing(self, family: AttackFamily) -> bool:
        """Whether calls without an effect show nothing, because the valid call does not get that far."""
        return self._is_refused or (bool(self._refusal) and family == "path_traversal")

    def _keep(self, case: HostileCase, seen: AttackResult, sender: Sender) -> None:
        """Keep a failure, or count its repetition."""
        session = sender.session
        problem = session.redacted(self._traps.hidden(seen.problem))
        for at, earlier in enumerate(self.failures):
            if seen.outcome != "injection" and (earlier.outcome, signature(earlier.problem)) == (
                seen.outcome,
                signature(problem),
            ):
                self.failures[at] = earlier._replace(times=earlier.times + 1)
                return
        self.failures.append(
            HostileFailure(
                tool=self.tool,
                case=case,
                outcome=seen.outcome,
                problem=problem,
                response=session.redacted(self._traps.shown(seen.response)),
                was_accepted=seen.response.outcome == "accepted",
            )
        )

    def _correct(self, sender: Sender) -> None:
        """Add the calls that turned out to have ended the server after their response."""
        for number, response in sender.corrections.items():
            case = self._of_number.get(number)
            outcome = FAILURE_OF.get(response.outcome)
            if case is not None and outcome is not None:
                self._keep(case, AttackResult(response, outcome, response.why, ""), sender)

    def _find_late_requests(self, sender: Sender) -> None:
        """Find requests that arrived at the listener after the response to the call."""
        proven = {failure.case.argument.path for failure in self.failures if failure.case.family == "request_forgery"}
        for case, seen in self._waiting:
            if case.argument.path not in proven and self._traps.was_requested(seen.token):
                proven.add(case.argument.path)
                problem = injection(case, "sends a request to a loopback address")
                self._keep(case, seen._replace(outcome="injection", problem=problem), sender)

    def outcomes(self) -> dict[str, int]:
        """How many hostile calls had each outcome."""
        counts: dict[str, int] = {}
        for failure in self.failures:
            counts[failure.outcome] = counts.get(failure.outcome, 0) + failure.times
        rest = sum(self.sent.values()) - sum(counts.values())
        counts["not_reached"] = min(rest, self._unreached)
        counts["clean"] = rest - counts["not_reached"]
        return counts

    def records(self, calls: CallPlan) -> list[ProbeRecord]:
        """The failures as probe records, and a record of each family that had no effect."""
        failed = [_record(failure, failure.stored(calls).id) for failure in self.failures]
        harmless = [family for family in self.sent if all(record.probe != family for record in failed)]
        return [*failed, *(ProbeRecord(family, "hostile arguments", "response", "accepted") for family in harmless)]

    def untested(self, why: str) -> Iterator[Untested]:
        """What the attacks on this tool left out; `why` if they ended early for another reason."""
        what = f"hostile arguments of tool {self.tool.label}"
        if self.stopped or not self._is_done:
            yield Untested(what, self.stopped or why)
        if self._question:
            yield Untested(f"{what}, in part", f"it {self._question}; {HOW_TO_ANSWER}")
        if self._refusal and (unreached := [f"`{name}`" for name, is_reached in self.paths.items() if not is_reached]):
            why = f"not reached, as {self._refusal}; pass a call that works with --args"
            yield Untested(f"paths in {', '.join(unreached)} of tool {self.tool.label}", why)
        if self._left_out:
            yield Untested(f"{what}, in part", f"only the first {MOST_ARGUMENTS} string arguments are attacked")


def _record(failure: HostileFailure, id: str) -> ProbeRecord:
    case = failure.case
    is_injection = failure.outcome == "injection"
    outcome: Any = {"injection": "accepted" if failure.was_accepted else "rejected", "protocol_violation": "malformed"}
    return ProbeRecord(
        probe=case.family,
        description=case.description,
        expects="response",
        outcome=outcome.get(failure.outcome, failure.outcome),
        schema_pointer=case.argument.schema_pointer,
        request=failure.request,
        response=failure.response,
        flaws=(ResponseFlaw("injection", failure.problem),) if is_injection else (),
        failure=id,
        times=failure.times,
    )


_NOT_LOCAL = "the server does not run on this machine, so that it reaches neither a file nor a port of mcproof"
_NO_MARKER = "no folder was found that the server may not read, and in which mcproof may write"


def attack(server: OpenServer, calls: CallPlan, progress: Progress) -> AttackRun:
    """Attack the tools of an open server that may be called; an interrupt keeps the results so far."""
    attacks = AttackRun(server.session.new_session(), calls, progress)
    run(server, attacks)
    return attacks


class AttackRun(Campaign[Tool]):
    """The attacks on all tools that may be called, one after the other over one session, and their results."""

    def __init__(self, session: Session, calls: CallPlan, progress: Progress = in_silence) -> None:
        super().__init__(session, calls, progress, 0.0)
        self.attackers: list[ToolAttacker] = []
        """The tools attacked so far."""
        self.unexplained: list[Response] = []
        """Ends of the server that no single call explains."""
        self._permitted = [permission.tool for permission in calls.permissions if permission.is_granted]
        self._folders = folders_of(session.server)
        self._has_marker = True
        self._was_cut = False
        """Whether a call was under way when the time was up."""

    def jobs(self) -> Sequence[Job]:
        return [self._attack]

    async def _attack(self) -> None:
        """Attack all tools. The traps and the process are removed in every case."""
        if self._limit.is_over():
            self.trouble = "time limit reached"
            return
        try:
            async with Traps(self._folders) as traps:
                self._has_marker = traps.has_marker
                left = self._limit.left
                async with asyncio.timeout(None if left is None else max(0.0, left) + GRACE):
                    await self._attack_all(traps)
        except TimeoutError:
            self.trouble = "time limit reached"
            self._was_cut = True
        finally:
            await self._session.close(at_once=self._was_cut or self.is_interrupted())

    async def _attack_all(self, traps: Traps) -> None:
        sender = Sender(self._session, pings=False)
        try:
            waiting: list[ToolAttacker] = []
            for tool in self._permitted:
                attacker = ToolAttacker(tool, self._calls.arguments.get(tool.name), traps, len(self._folders.folders))
                self.attackers.append(attacker)
                self._show_progress()
                waiting += [attacker] if await attacker.advance(sender, self._limit.is_over) else []
            # In turns: a tool that takes long must not keep the others from being tried.
            while waiting:
                waiting = [attacker for attacker in waiting if await attacker.advance(sender, self._limit.is_over)]
            await sender.finish()
        except ConnectError as error:
            self.trouble = f"the server is gone: {error.message}"
        finally:
            for attacker in self.attackers:
                attacker.settle(sender)
            self.unexplained = sender.unexplained

    def _label(self) -> tuple[int, int, str]:
        return len(self.attackers) - 1, len(self._permitted), self.attackers[-1].tool.name

    def failures(self) -> list[tuple[HostileFailure, StoredFailure]]:
        """The failures and how they are stored, effects first."""
        failures = [failure for attacker in self.attackers for failure in attacker.failures]
        failures.sort(key=lambda failure: failure.outcome != "injection")
        return [(failure, failure.stored(self._calls)) for failure in failures]

    def outcomes(self) -> dict[str, int]:
        """How many hostile calls had each outcome."""
        counts = {"injection": 0}
        for attacker in self.attackers:
            for outcome, count in attacker.outcomes().items():
                counts[outcome] = counts.get(outcome, 0) + count
        return counts

    def paths(self) -> dict[str, dict[str, bool]]:
        """The parameters that are paths, by tool, and whether each is known to be reached."""
        names = {attacker.tool.name: attacker.paths for attacker in self.attackers}
        for tool in self._permitted:
            names.setdefault(tool.name, dict.fromkeys(path_parameters(tool), False))
        return names

    def calls(self) -> dict[str, int]:
        """How many hostile calls each tool was sent."""
        return {attacker.tool.name: sum(attacker.sent.values()) for attacker in self.attackers}

    def called(self, catalog: Catalog) -> Called:
        """What the attacks showed, and what was left out."""
        revision = catalog.protocol
        ends = [ProbeRecord("calls", SEVERAL, "response", end.outcome, response=end.why) for end in self.unexplained]
        item_probes = [ItemProbes(catalog.server, ends, revision)] if ends else []
        item_probes += [
            ItemProbes(attacker.tool, attacker.records(self._calls), revision) for attacker in self.attackers
        ]
        return Called(item_probes, [stored for _, stored in self.failures()], list(self._untested()))

    def probe_results(self) -> list[ProbeResult]:
        """A result for each tool and family."""
        return [result for attacker in self.attackers for result in _results(attacker)]

    def _untested(self) -> Iterator[Untested]:
        """What was left out, and why."""
        why = self.trouble or ("interrupted" if self.is_interrupted() else "not reached")
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
        failed = next((failure for failure in attacker.failures if failure.case.family == family), None)
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
            if attacker.shows_nothing(family):
                reason += "; the valid call is refused, so that shows nothing"
                yield ProbeResult(attacker.tool.name, family, None, "not_tested", None, reason)
            else:
                yield ProbeResult(attacker.tool.name, family, None, "clean", True, reason)
        else:
            reason = attacker.stopped or "no argument takes such a text"
            outcome = "not_tested" if attacker.stopped else "not_applicable"
            yield ProbeResult(attacker.tool.name, family, None, outcome, None, reason)
