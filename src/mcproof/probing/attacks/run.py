"""Attack one tool: send its hostile calls, and keep those with an effect or without a response."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.core.errors import Untested
from mcproof.core.observations.probes import FAILURE_OF, SERVER_LOST, ProbeRecord, ResponseFlaw, as_json
from mcproof.generation.cases import fuller_arguments
from mcproof.generation.valid_values import valid_arguments
from mcproof.prove.failure_store import StoredFailure
from mcproof.prove.fuzz.outcomes import HOW_TO_ANSWER, signature
from mcproof.prove.hostile.attack_cases import MOST_ARGUMENTS, ToolAttacks
from mcproof.prove.hostile.observing import AttackResult, injection, observe

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mcproof.client.session import Response
    from mcproof.core.catalog.model import Tool
    from mcproof.core.observations.probes import CaseOutcome
    from mcproof.prove.blame import Sender
    from mcproof.prove.hostile.attack_cases import HostileCase
    from mcproof.prove.hostile.attacks import AttackFamily
    from mcproof.prove.hostile.traps import Traps

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

    def stored(self, target: dict[str, Any], limit: float) -> StoredFailure:
        """The failure as it is stored for replay."""
        return StoredFailure.of(
            target,
            tool=self.tool.name,
            probe=self.case.family,
            method="tools/call",
            params={"name": self.tool.name, "arguments": self.case.arguments},
            outcome=self.outcome,
            what=self.case.description,
            is_valid=True,
            answer=self.response,
            limit=limit,
            recipe={"path": list(self.case.argument.path), "base": self.case.base},
        )


class ToolAttacker:
    """Sends the hostile calls of one tool."""

    def __init__(self, tool: Tool, given: dict[str, Any] | None, traps: Traps, folders: int) -> None:
        self.tool = tool
        self.sent: dict[AttackFamily, int] = {}
        """How many hostile calls of each family were sent, without those to compare with."""
        self.failures: list[HostileFailure] = []
        self.stopped = ""
        """Why not all calls were sent; empty if they were."""
        self._given = given
        self._traps = traps
        self._folders = folders
        self._question = ""
        """The first question that got no answer, in words."""
        self._left_out = 0
        self._is_done = False
        self._of_number: dict[int, HostileCase] = {}
        """The cases by the number of their request."""
        self._waiting: list[tuple[HostileCase, AttackResult]] = []
        """Calls without an effect so far; a request may arrive later."""

    async def run(self, sender: Sender, is_late: Callable[[], bool] = lambda: False) -> None:
        """Send the hostile calls. Raises ConnectError."""
        base = await self._valid_call(sender)
        if base is None:
            self.stopped = self.stopped or "no valid call could be generated"
            return
        attacks = ToolAttacks(self.tool, base, self._fill, self._folders)
        self.stopped = attacks.problem or ""
        self._left_out = attacks.left_out
        for group in attacks.cases():
            await self._send_group(group, sender, is_late)
            if self.stopped:
                break
        self._is_done = not self.stopped

    def settle(self, sender: Sender) -> None:
        """Add what became known only after the calls: what ended the server, and requests that arrived late."""
        self._correct(sender)
        self._find_late_requests(sender)

    def _fill(self, arguments: Any) -> Any:
        return self._traps.filled(arguments, self._traps.new_token())

    async def _valid_call(self, sender: Sender) -> dict[str, Any] | None:
        """The arguments of a call that the tool accepts, or else of a valid one: the smallest, then the fullest."""
        schema = self.tool.schema if self.tool.schema is not None else {}
        smallest = self._given if self._given is not None else valid_arguments(schema).value
        if smallest is None or self._given is not None:
            return smallest
        response = await self._call(sender, smallest, None)
        if response is not None and response.outcome in SERVER_LOST:
            self.stopped = "the valid call already crashes or hangs"
            return None
        if response is not None and response.outcome == "rejected" and (fuller := fuller_arguments(schema)) is not None:
            response = await self._call(sender, fuller, None)
            return fuller if response is not None and response.outcome == "accepted" else smallest
        return smallest

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
            elif case.family == "request_forgery":
                self._waiting.append((case, seen))
            if sum(each.times for each in self.failures if each.outcome in SERVER_LOST) >= MOST_LOST:
                self.stopped = f"stopped after {sum(self.sent.values()):,} hostile calls: repeated crashes or hangs"
                return
            if seen.outcome == "injection":
                return

    def _keep(self, case: HostileCase, seen: AttackResult, sender: Sender) -> None:
        """Keep a failure, or count its repetition."""
        session = sender.session
        problem = session.redacted(self._traps.hidden(seen.problem))
        for at, known in enumerate(self.failures):
            if seen.outcome != "injection" and (known.outcome, signature(known.problem)) == (
                seen.outcome,
                signature(problem),
            ):
                self.failures[at] = known._replace(times=known.times + 1)
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
        proven = {each.case.argument.path for each in self.failures if each.case.family == "request_forgery"}
        for case, seen in self._waiting:
            if case.argument.path not in proven and self._traps.was_requested(seen.token):
                proven.add(case.argument.path)
                problem = injection(case, "sends a request to a loopback address")
                self._keep(case, seen._replace(outcome="injection", problem=problem), sender)

    def outcomes(self) -> dict[str, int]:
        """How many hostile calls had each outcome."""
        found: dict[str, int] = {}
        for each in self.failures:
            found[each.outcome] = found.get(each.outcome, 0) + each.times
        found["clean"] = sum(self.sent.values()) - sum(found.values())
        return found

    def records(self, target: dict[str, Any], limit: float) -> list[ProbeRecord]:
        """The failures as probe records, and a record of each family that had no effect."""
        failed = [_record(each, each.stored(target, limit).id) for each in self.failures]
        harmless = [family for family in self.sent if all(each.probe != family for each in failed)]
        return [*failed, *(ProbeRecord(family, "hostile arguments", "response", "accepted") for family in harmless)]

    def untested(self, why: str) -> Iterator[Untested]:
        """What the attacks on this tool left out; `why` if they ended early for another reason."""
        what = f"hostile arguments of tool {self.tool.label}"
        if self.stopped or not self._is_done:
            yield Untested(what, self.stopped or why)
        if self._question:
            yield Untested(f"{what}, in part", f"it {self._question}; {HOW_TO_ANSWER}")
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
