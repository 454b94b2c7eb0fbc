"""Fuzz one tool: send its cases in slices over one session, judge the responses, keep and shrink the failures.

The end of a server is attributed to the case that caused it; how suspects are sent again after a crash is in
`probing.probes.blame`, and after how many failed starts a server is given up in `campaign`.
"""

from __future__ import annotations

import random
from collections import deque
from itertools import islice
from time import monotonic
from typing import TYPE_CHECKING, Any

from mcproof.core.console import plural
from mcproof.core.errors import Untested
from mcproof.core.named_tuple import NamedTuple
from mcproof.core.observations.connection import cropped
from mcproof.core.observations.probes import (
    CASE_OUTCOMES,
    FAILURE_OF,
    SERVER_LOST,
    CaseOutcome,
    Expectation,
    Outcome,
    ProbeRecord,
    as_json,
)
from mcproof.core.observations.responses import OutputContract
from mcproof.core.schema.validation import Oracle
from mcproof.core.text.json_positions import escape
from mcproof.probing.generation.cases import GeneratedCase, Sampler, deterministic_cases
from mcproof.probing.generation.constraints import json_size
from mcproof.probing.generation.smaller import reductions
from mcproof.probing.generation.values import valid_arguments
from mcproof.probing.probes.blame import SUSPECTS, Sender
from mcproof.probing.probes.failures import StoredFailure
from mcproof.probing.probes.responses import HOW_TO_ANSWER, Judgement, failure_key, fault_of, judge, signature

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mcproof.client.session import Response, Session
    from mcproof.core.catalog.model import Tool
    from mcproof.probing.calls import CallPlan
    from mcproof.probing.outcomes import Failure


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


MOST_CRASHES, MOST_HANGS = 10, 3
"""After how many crashes, or calls that took the whole time limit, a tool is not called any more."""
MOST_FAILURES = 20
"""How many different failures of each kind are kept for one tool; the others are only counted."""
_FRUITLESS = 1_000
"""After how many draws in a row without a case sampling ends."""
_OUTCOME_OF: dict[CaseOutcome, Outcome] = {failure: outcome for outcome, failure in FAILURE_OF.items()}


class FuzzPlan(NamedTuple):
    """Which cases to send to a server."""

    calls: CallPlan
    seed: int
    cases: int
    """The number of cases for each tool."""


class FoundFailure(NamedTuple):
    """A failed case, shrunk."""

    tool: Tool
    number: int
    """The number of the first such case."""
    case: GeneratedCase
    judgement: Judgement
    response: str
    times: int

    def stored(self, calls: CallPlan) -> StoredFailure:
        """The failure as it is stored for replay."""
        return StoredFailure.of(
            calls.target,
            tool=self.tool.name,
            probe="fuzz",
            method="tools/call",
            params={"name": self.tool.name, "arguments": self.case.arguments},
            outcome=self.judgement.outcome,
            what=self.case.description,
            is_valid=self.case.is_valid,
            answer=self.response,
            limit=calls.limit,
        )

    def reported(self, stored: StoredFailure) -> Failure:
        """The failure for the result."""
        problem = self.judgement.problem
        what = f"{self.case.description}: {problem}" if self.case.description else problem
        return stored.reported(self.case.arguments, what, self.times, self.response)


def cases_of(
    schema: dict[str, Any], seed: int, name: str, base: dict[str, Any] | None = None
) -> Iterator[GeneratedCase]:
    """The cases of one tool, deterministic ones first; endless unless sampling finds no more."""
    yield from deterministic_cases(schema, base)
    yield from _random_cases(schema, seed, name, base)


def _random_cases(schema: dict[str, Any], seed: int, name: str, base: dict[str, Any] | None) -> Iterator[GeneratedCase]:
    sampler = Sampler(schema, base)
    # A sequence for each tool, so that its cases do not depend on the other tools.
    choose = random.Random(f"{seed}:{name}")  # noqa: S311 (not for cryptography)
    fruitless = 0
    while fruitless < _FRUITLESS:
        case = sampler.case(choose)
        fruitless = fruitless + 1 if case is None else 0
        if case is not None:
            yield case


class ToolFuzzer:
    """The cases of one tool, and the failures among them.

    Several slices may be under way at once. They are counted in the order of their cases, so that the result does not
    depend on how many there are.
    """

    def __init__(self, tool: Tool, revision: str | None, plan: FuzzPlan, secrets: list[str]) -> None:
        self.tool = tool
        self.outcomes: dict[str, int] = dict.fromkeys(CASE_OUTCOMES, 0)
        self.sent = 0
        self.unexplained: list[Response] = []
        self.stopped = ""
        """Why not all cases were sent; empty if they were."""
        self._plan = plan
        self._schema = tool.schema if tool.schema is not None else {}
        self._output = OutputContract(tool.fields.get("outputSchema"))
        self._revision = revision
        self._secrets = secrets
        self._failures: dict[tuple[str, ...], FoundFailure] = {}
        self._valid = self._refused = self._timeouts = self._asking = 0
        self._refusal = ""
        """The first valid call that was refused, and the words of the server."""
        self._question = ""
        """The first question that got no answer, in words."""
        self._refused_faults: set[str | None] = set()
        self._cases: Iterator[GeneratedCase] | None = None
        self._taken = 0
        self._deterministic: int | None = None
        """The number of deterministic cases, once all were taken."""
        self._is_exhausted = self._is_overdue = False
        self._slices: deque[CaseSlice] = deque()
        self._shrunk: set[tuple[str, ...]] = set()

    @property
    def weight(self) -> int:
        """The size of the schema, which the memory of the generators grows with."""
        return json_size(self._schema)

    @property
    def is_complete(self) -> bool:
        """Whether all cases were sent and counted, or the tool is known to be broken."""
        return (self._is_exhausted and not self._slices) or self._is_broken

    @property
    def has_been_tried(self) -> bool:
        """Whether at least all deterministic cases were sent, as far as the number of cases allows.

        Not if a response is overdue: the call may hang, which the time did not suffice to confirm.
        """
        if self._is_overdue:
            return False
        if self.is_complete:
            return self.sent > 0
        return self._deterministic is not None and self.sent >= self._deterministic

    def take(self, count: int) -> CaseSlice | None:
        """The next cases, at most this many; None if there are no more."""
        if self.stopped or self._is_exhausted:
            return None
        if self._cases is None:
            self._cases = self._remaining()
        cases = list(islice(self._cases, min(count, self._plan.cases - self._taken)))
        if not cases:
            self._is_exhausted = True
            self.rest()
            return None
        slice_ = CaseSlice(self, list(enumerate(cases, self._taken + 1)))
        self._taken += len(cases)
        self._slices.append(slice_)
        return slice_

    def rest(self) -> None:
        """Free the memory of the generators; they start again if more cases are taken."""
        self._cases = None

    def _remaining(self) -> Iterator[GeneratedCase]:
        """The cases that were not taken yet."""
        name = self.tool.name
        base = self._plan.calls.arguments.get(name)
        # The generators start from the beginning, so what was taken before is passed over.
        skipped = self._taken
        number = 0
        for number, case in enumerate(deterministic_cases(self._schema, base), 1):
            if number > skipped:
                yield case
        self._deterministic = number
        yield from islice(_random_cases(self._schema, self._plan.seed, name, base), max(0, skipped - number), None)

    def is_broken_with(self, slice_: CaseSlice) -> bool:
        """Whether the tool is known to be broken once this slice is counted."""
        ends = [end.outcome for end in slice_.unexplained]
        crashes = sum(sent.judgement.outcome == "crash" for sent in slice_.sent.values()) + ends.count("crash")
        timeouts = sum(sent.timed_out for sent in slice_.sent.values()) + ends.count("hang")
        return _is_broken(self.outcomes["crash"] + crashes, self._timeouts + timeouts)

    def finish(self, slice_: CaseSlice) -> int:
        """Count a slice that was sent, unless an earlier one is still under way; return how many were counted."""
        slice_.is_finished = True
        counted = 0
        while self._slices and self._slices[0].is_finished:
            self._count(self._slices.popleft())
            counted += 1
        return counted

    def finish_early(self, why: str) -> None:
        """Count what was sent of all slices, because no more will be."""
        pending = [slice_.pending for slice_ in self._slices if slice_.pending is not None]
        while self._slices:
            self._count(self._slices.popleft())
        if not self.is_complete and not self.stopped:
            self.stopped = f"{why} after {self.sent:,} cases" if self.sent else why
            if pending:
                self.stopped += f", without a response to {cropped(as_json(pending[0].case.arguments))}"
                # A call that computes for minutes uses up the time before its hang is confirmed. Such a run must not
                # pass.
                self._is_overdue = monotonic() - pending[0].since > self._plan.calls.limit

    def _count(self, slice_: CaseSlice) -> None:
        slice_.is_counted = True
        for sent in list(slice_.sent.values()):
            if self.stopped:  # what follows would not have been sent, had the slices come one after the other
                del slice_.sent[sent.number]
                continue
            self.sent += 1
            self._timeouts += sent.timed_out
            if sent.asks:
                self._asking += 1
                self._question = self._question or sent.asks
            # A refusal after a question without an answer shows nothing: docs/decisions/0039-questions-are-declined.md.
            is_refused = sent.is_refused and not sent.asks
            if sent.case.is_valid:
                self._valid += 1
                self._refused += is_refused
                if is_refused and not self._refusal and sent.response:
                    self._refusal = f"; it refuses {cropped(as_json(sent.case.arguments))}: {cropped(sent.response)}"
            elif is_refused:
                self._refused_faults.add(fault_of(sent.case.keyword))
            self._add(sent)
            self._stop_if_broken()
        if not self.stopped:
            self._add_unexplained(slice_.unexplained)
            self.stopped = self.stopped or slice_.trouble

    def _add_unexplained(self, ends: list[Response]) -> None:
        self.unexplained += ends
        for end in ends:
            self.outcomes[end.outcome] += 1
            self._timeouts += end.outcome == "hang"
        self._stop_if_broken()

    @property
    def _is_broken(self) -> bool:
        return _is_broken(self.outcomes["crash"], self._timeouts)

    def _stop_if_broken(self) -> None:
        if self._is_broken and not self.stopped:
            self.stopped = f"stopped after {self.sent:,} cases: repeated crashes or hangs"

    def _judge(self, case: GeneratedCase, response: Response) -> Judgement:
        return judge(
            response,
            case.arguments,
            is_valid=case.is_valid,
            revision=self._revision,
            output=self._output,
            secrets=self._secrets,
        )

    def judged(self, number: int, case: GeneratedCase, response: Response, session: Session) -> SentCase:
        """The judgement of a response."""
        judgement, is_refused = self._judge(case, response), response.outcome == "rejected"
        asks = session.redacted(response.asks) if response.questions else ""
        if judgement.outcome == "clean" and not judgement.flaws:
            is_first = is_refused and case.is_valid and not self._refusal
            words = session.redacted(_words_of(response)) if is_first else ""
            return SentCase(
                number=number, case=case, judgement=judgement, is_refused=is_refused, asks=asks, response=words
            )
        flaws = tuple(flaw._replace(detail=session.redacted(flaw.detail)) for flaw in judgement.flaws)
        shown = judgement._replace(problem=session.redacted(judgement.problem), flaws=flaws)
        return SentCase(
            number=number,
            case=case,
            judgement=shown,
            is_refused=is_refused,
            timed_out=response.timed_out or response.outcome == "hang",
            response=session.redacted(response.text),
            asks=asks,
        )

    def _add(self, sent: SentCase) -> None:
        """Count a case, and keep its failures."""
        for outcome in sent.judgement.counted_as:
            self.outcomes[outcome] += 1
        for outcome, problem in sent.judgement.failures:
            key = failure_key(sent.case, outcome, problem)
            failure = self._failures.get(key)
            if failure is not None:
                self._failures[key] = failure._replace(times=failure.times + 1)
            elif sum(kind == outcome for kind, *_ in self._failures) < MOST_FAILURES:
                self._failures[key] = FoundFailure(
                    tool=self.tool,
                    number=sent.number,
                    case=sent.case,
                    judgement=Judgement(outcome, problem, sent.judgement.flaws),
                    response=sent.response,
                    times=1,
                )

    def correct(self, slice_: CaseSlice, number: int, response: Response, session: Session) -> None:
        """Replace the judgement of a case that turned out to have ended the server."""
        before = slice_.sent.get(number)
        if before is None:
            return
        slice_.sent[number] = after = self.judged(number, before.case, response, session)
        if slice_.is_counted:
            for outcome in before.judgement.counted_as:
                self.outcomes[outcome] -= 1
            for outcome, problem in before.judgement.failures:
                key = failure_key(before.case, outcome, problem)
                if (failure := self._failures.pop(key, None)) is not None and failure.times > 1:
                    self._failures[key] = failure._replace(times=failure.times - 1)
            self._add(after)
            self._stop_if_broken()

    def leave_unexplained(self, slice_: CaseSlice, ends: list[Response]) -> None:
        """Keep ends of the server, during or after a slice, that no single request explains."""
        if slice_.is_counted:
            self._add_unexplained(ends)
        else:
            slice_.unexplained += ends

    @property
    def has_failed(self) -> bool:
        return bool(self._failures)

    @property
    def expected(self) -> int:
        """How many cases will have been sent in the end, as far as is known."""
        return self.sent if self.stopped or self.is_complete else self._plan.cases

    def take_failure(self) -> tuple[str, ...] | None:
        """The key of the next failure to shrink; None if there is none. A clean case is not due to its arguments."""
        for key, failure in self._failures.items():
            if failure.judgement.outcome != "clean" and key not in self._shrunk:
                self._shrunk.add(key)
                return key
        return None

    async def shrink(self, key: tuple[str, ...], session: Session, is_late: Callable[[], bool]) -> None:
        """Replace a failure with that of the smallest arguments found in time."""
        failure = self._failures.get(key)
        if failure is None or is_late():
            return
        oracle = Oracle(self._schema)
        wanted, smallest = failure.judgement, failure

        def fails(arguments: Any, response: Response) -> bool:
            nonlocal smallest
            sent = self.judged(failure.number, failure.case._replace(arguments=arguments), response, session)
            for outcome, problem in sent.judgement.failures:
                if outcome == wanted.outcome and signature(problem) == signature(wanted.problem):
                    judgement = Judgement(outcome, problem, sent.judgement.flaws)
                    # With the response to these arguments, so that the evidence belongs together.
                    smallest = failure._replace(case=sent.case, judgement=judgement, response=sent.response)
                    return True
            return False

        await shrink(
            session,
            self.tool.name,
            failure.case.arguments,
            same_promise(oracle, failure.case.arguments, is_valid=failure.case.is_valid),
            fails,
            is_slow=wanted.outcome == "hang",
            is_late=is_late,
        )
        self._failures[key] = smallest

    def failures(self) -> list[FoundFailure]:
        """The failures in the order of the cases, including flaws of responses that are clean otherwise."""
        return sorted(self._failures.values(), key=lambda failure: (failure.number, failure.judgement.outcome))

    def records(self) -> list[ProbeRecord]:
        """The failures as probe records."""
        return [self._record(failure) for failure in self.failures()]

    @property
    def was_reached(self) -> bool:
        """Whether a valid call was accepted, so that the tool did its work."""
        return self._valid > self._refused

    @property
    def refused_faults(self) -> frozenset[str | None]:
        """The faults of which a violation was refused; empty if valid calls were refused, too."""
        return frozenset() if self._valid == self._refused else frozenset(self._refused_faults)

    def _record(self, failure: FoundFailure) -> ProbeRecord:
        case, judgement = failure.case, failure.judgement
        expects: Expectation = "success" if case.is_valid else "rejection"
        outcome = _OUTCOME_OF.get(judgement.outcome, "accepted" if judgement.outcome == "accepted" else "rejected")
        flaws = tuple(flaw for flaw in judgement.flaws if judgement.outcome != "leak" or flaw.kind == "leak")
        if judgement.outcome == "protocol_violation" and flaws:
            outcome = "rejected"  # the flaws are reported instead
        return ProbeRecord(
            probe="fuzz",
            description=case.description,
            expects=expects,
            outcome=outcome,
            fault=None if case.is_valid else fault_of(case.keyword),
            keyword=case.keyword,
            schema_pointer=self._schema_pointer(case),
            request=as_json(case.arguments),
            response=failure.response,
            flaws=flaws,
            failure=failure.stored(self._plan.calls).id if judgement.outcome != "clean" else None,
            times=failure.times,
            argument=case.argument,
            is_lenient=case.is_lenient and not self._plan.calls.is_strict,
        )

    def _schema_pointer(self, case: GeneratedCase) -> str:
        """The pointer, inside the tool, to the promise that a case breaks."""
        name = case.pointer.partition("/")[2].partition("/")[0].replace("~1", "/").replace("~0", "~")
        if case.keyword in ("", "required", "additionalProperties") or name not in self.tool.parameters:
            return "/inputSchema" if case.keyword else ""
        return f"/inputSchema/properties/{escape(name)}"

    def untested(self) -> Iterator[Untested]:
        """What the cases of this tool did not test."""
        what = f"tool {self.tool.label}"
        if not self.sent:
            problem = Oracle(self._schema).problem
            yield Untested(what, problem or self.stopped or "no case could be generated")
        elif self.stopped:
            yield Untested(f"{what}, in part", self.stopped)
        if self._asking:
            why = f"in {self._asking:,} of {plural(self.sent, 'call')}, it {self._question}; {HOW_TO_ANSWER}"
            yield Untested(f"{what}, in part", why)
        if self.sent and not self._valid:
            problem = valid_arguments(self._schema).problem or "unknown reason"
            why = f"no valid call could be generated: {problem}; pass one with --args"
            yield Untested(f"the logic of tool {self.tool.label}", why)
        if self._valid and self._valid == self._refused:
            calls = "the only valid call was" if self._valid == 1 else f"all {self._valid:,} valid calls were"
            yield Untested(
                f"the logic of tool {self.tool.label}", f"{calls} rejected, so it was never reached{self._refusal}"
            )


def _words_of(response: Response) -> str:
    """The first text of a result; the whole response if it has none."""
    message = response.message.envelope if response.message is not None else {}
    result = message.get("result")
    content = result.get("content") if isinstance(result, dict) else None
    texts = [part.get("text") for part in content if isinstance(part, dict)] if isinstance(content, list) else []
    return next((text for text in texts if isinstance(text, str)), response.text)


def _is_broken(crashes: int, timeouts: int) -> bool:
    return crashes >= MOST_CRASHES or timeouts >= MOST_HANGS
