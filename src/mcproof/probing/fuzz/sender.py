"""Cases on their way to a server: sent in slices over one session, and smaller ones to shrink a failure.

The end of a server is attributed to the case that caused it; how suspects are sent again after a crash is in
`probing.probes.blame`, and after how many failed starts a server is given up in `campaign`.
"""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.core.observations.probes import SERVER_LOST
from mcproof.probing.generation.smaller import reductions
from mcproof.probing.probes.blame import SUSPECTS, Sender

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcproof.client.session import Response, Session
    from mcproof.core.schema.validation import Oracle
    from mcproof.probing.fuzz.tool import ToolFuzzer
    from mcproof.probing.generation.cases import GeneratedCase
    from mcproof.probing.probes.responses import Judgement


class SentCase(NamedTuple):
    """A case that was sent, and the judgement of its response."""

    number: int
    """The position among the cases of the tool, from 1."""
    case: GeneratedCase
    judgement: Judgement
    is_refused: bool
    timed_out: bool = False
    response: str = ""
    """The response without secrets, cropped; empty if there is nothing to report."""
    asks: str = ""
    """A question before the response that got no answer, in words and without secrets."""


class PendingCase(NamedTuple):
    """A case without a response so far."""

    case: GeneratedCase
    since: float
    """When it was sent, by the monotonic clock."""


class CaseSlice:
    """Consecutive cases of one tool that are sent over one session, one after the other."""

    def __init__(self, fuzzer: ToolFuzzer, cases: list[tuple[int, GeneratedCase]]) -> None:
        self.fuzzer = fuzzer
        self.cases = cases
        """The cases with their numbers."""
        self.sent: dict[int, SentCase] = {}
        self.pending: PendingCase | None = None
        self.unexplained: list[Response] = []
        """Ends of the server meanwhile that no single request explains."""
        self.trouble = ""
        """Why not all cases were sent."""
        self.is_finished = False
        self.is_counted = False


MOST_CALLS, MOST_SLOW_CALLS = 200, 6
MOST_SECONDS = 10.0
"""The budget of one failure."""


def same_promise(oracle: Oracle, arguments: Any, *, is_valid: bool) -> Callable[[Any], bool]:
    """Whether smaller arguments are still valid, or still break the same promise and no further one."""
    if is_valid:
        return oracle.accepts
    first, broken = oracle.first_error(arguments), oracle.broken_promises(arguments)

    def breaks_no_other(smaller: Any) -> bool:
        return oracle.first_error(smaller) == first and oracle.broken_promises(smaller) <= broken

    return breaks_no_other


async def shrink(
    session: Session,
    tool: str,
    arguments: Any,
    may_be_sent: Callable[[Any], bool],
    fails: Callable[[Any, Response], bool],
    *,
    is_slow: bool,
    is_late: Callable[[], bool] = lambda: False,
) -> Any:
    """The smallest arguments found within the budget that still fail in the same way."""
    left = MOST_SLOW_CALLS if is_slow else MOST_CALLS
    end = monotonic() + MOST_SECONDS
    best = arguments
    progressed = True
    while progressed:
        progressed = False
        for candidate in reductions(best):
            if left <= 0 or monotonic() > end or is_late():
                return best
            if not may_be_sent(candidate):
                continue
            left -= 1
            response = await session.send("tools/call", {"name": tool, "arguments": candidate})
            # The next call is not to be blamed on a server that this one harmed.
            if response.outcome in SERVER_LOST:
                await session.close(at_once=True)
            if fails(candidate, response):
                best, progressed = candidate, True
                break
    return best


class SliceSender:
    """Sends cases one after the other. No pings are sent between them, only at the end of a slice."""

    def __init__(self, session: Session, is_late: Callable[[], bool], progress: Callable[[], None]) -> None:
        self._session = session
        # A ping after each call would halve the rate: docs/decisions/0002-blame-is-found.md.
        self._sender = Sender(session, pings=False)
        self._is_late = is_late
        self._progress = progress
        self._recent: dict[int, tuple[CaseSlice, int]] = {}
        """The slice and number of the last cases, by the number of the request."""

    async def send(self, slice_: CaseSlice) -> None:
        """Send a slice, until it is late or the tool is known to be broken. Raises ConnectError."""
        fuzzer = slice_.fuzzer
        self._sender.searches = not fuzzer.unexplained
        try:
            for number, case in slice_.cases:
                if self._is_late() or fuzzer.is_broken_with(slice_):
                    return
                params = {"name": fuzzer.tool.name, "arguments": case.arguments}
                slice_.pending = PendingCase(case, monotonic())
                request, response = await self._sender.send("tools/call", params)
                slice_.pending = None
                if response is not None:
                    slice_.sent[number] = fuzzer.judged(number, case, response, self._session)
                    self._remember(request, slice_, number)
                self._take_over(slice_)
                self._progress()
            await self._sender.check()
        finally:
            self._take_over(slice_)

    async def finish(self, slice_: CaseSlice) -> None:
        """Make sure that the server has survived the last slice, too."""
        try:
            await self._sender.finish()
        finally:
            self._take_over(slice_)

    def _remember(self, request: int, slice_: CaseSlice, number: int) -> None:
        self._recent[request] = slice_, number
        # Blame goes back no further.
        if len(self._recent) > SUSPECTS + 1:
            del self._recent[next(iter(self._recent))]

    def _take_over(self, slice_: CaseSlice) -> None:
        """Take over what the sender has found out: cases that ended the server, and ends that none explains."""
        for request, response in self._sender.corrections.items():
            if request in self._recent:
                earlier, number = self._recent[request]
                earlier.fuzzer.correct(earlier, number, response, self._session)
        self._sender.corrections.clear()
        slice_.fuzzer.leave_unexplained(slice_, self._sender.unexplained)
        self._sender.unexplained = []
