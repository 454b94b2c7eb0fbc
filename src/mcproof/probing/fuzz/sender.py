"""Send slices of cases over one session, and attribute the end of a server to the case that caused it."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING

from mcproof.prove.blame import SUSPECTS, Sender
from mcproof.prove.fuzz.case_slice import PendingCase

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcproof.client.session import Session
    from mcproof.prove.fuzz.case_slice import CaseSlice


class SliceSender:
    """Sends cases one after the other. No pings are sent between them, only at the end of a slice."""

    def __init__(self, session: Session, is_late: Callable[[], bool], progress: Callable[[], None]) -> None:
        self._session = session
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
