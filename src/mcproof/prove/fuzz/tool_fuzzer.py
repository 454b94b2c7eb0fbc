"""Fuzz one tool: send its cases, judge the responses, shrink the failures."""

from __future__ import annotations

import asyncio
import random
from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.exchange.probe_facts import CASE_OUTCOMES, FAILURE_OF, ProbeRecord, as_json
from mcproof.exchange.responses import OutputContract
from mcproof.generation.cases import deterministic_cases
from mcproof.generation.oracle import Oracle
from mcproof.generation.random_cases import Sampler
from mcproof.generation.valid_values import valid_arguments
from mcproof.prove.blame import SUSPECTS
from mcproof.prove.failure_store import StoredFailure
from mcproof.prove.fuzz.outcomes import Judgement, fault_of, judge, signature
from mcproof.prove.fuzz.shrinking import same_promise, shrink
from mcproof.results.run import Untested
from mcproof.text.pointers import escape

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mcproof.catalog.model import Tool
    from mcproof.client.session import Response, Session
    from mcproof.exchange.probe_facts import CaseOutcome, Expectation, Outcome
    from mcproof.generation.cases import GeneratedCase
    from mcproof.prove.blame import Sender
    from mcproof.prove.permission import Permission

MOST_CRASHES, MOST_HANGS = 10, 3
"""After how many crashes or hangs a tool is not called any more."""
MOST_FAILURES = 20
"""How many different failures of each kind are kept for one tool; the others are only counted."""
_FRUITLESS = 1_000
"""After how many draws in a row without a case sampling ends."""
_OUTCOME_OF: dict[CaseOutcome, Outcome] = {failure: outcome for outcome, failure in FAILURE_OF.items()}


class FuzzPlan(NamedTuple):
    """Which cases to send to a server."""

    permissions: list[Permission]
    arguments: dict[str, dict[str, Any]]
    """Valid arguments from the user, by tool."""
    seed: int
    cases: int
    """The number of cases for each tool."""
    limit: float
    """Seconds until a response is due."""
    seconds: float | None = None
    """The time limit of the whole run."""
    processes: int = 1
    target: dict[str, Any] = {}  # noqa: RUF012 (never mutated)
    """How to find the server again, for stored failures."""
    is_strict: bool = False
    """Whether a server must also reject what it can convert to the declared type."""


class FoundFailure(NamedTuple):
    """A failed case, shrunk."""

    tool: Tool
    number: int
    """The number of the first such case."""
    case: GeneratedCase
    judgement: Judgement
    response: str
    times: int

    def stored(self, plan: FuzzPlan) -> StoredFailure:
        """The failure as it is stored for replay."""
        return StoredFailure.of(
            plan.target,
            tool=self.tool.name,
            probe="fuzz",
            method="tools/call",
            params={"name": self.tool.name, "arguments": self.case.arguments},
            outcome=self.judgement.outcome,
            what=self.case.description,
            is_valid=self.case.is_valid,
            answer=self.response,
            limit=plan.limit,
        )


def cases_of(
    schema: dict[str, Any], seed: int, name: str, base: dict[str, Any] | None = None
) -> Iterator[GeneratedCase]:
    """The cases of one tool, deterministic ones first; endless unless sampling finds no more."""
    yield from deterministic_cases(schema, base)
    sampler = Sampler(schema, base)
    choose = random.Random(f"{seed}:{name}")  # noqa: S311 (not for cryptography)
    fruitless = 0
    while fruitless < _FRUITLESS:
        case = sampler.case(choose)
        fruitless = fruitless + 1 if case is None else 0
        if case is not None:
            yield case


class ToolFuzzer:
    """Sends the cases of one tool and keeps the failures."""

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
        self._found: dict[tuple[str, ...], FoundFailure] = {}
        self._valid = self._refused = 0
        self._refused_faults: set[str | None] = set()
        self._is_done = False

    async def run(self, sender: Sender, is_late: Callable[[], bool], progress: Callable[[], None]) -> None:
        """Send the cases, then shrink those that failed."""
        name = self.tool.name
        cases = cases_of(self._schema, self._plan.seed, name, self._plan.arguments.get(name))
        try:
            await self._send_all(cases, sender, is_late, progress)
        finally:  # also if the server is gone, or after an interrupt
            self.unexplained = list(sender.unexplained)
            for end in sender.unexplained:
                self.outcomes[end.outcome] += 1
        self._found = {key: await self._shrunk(failure, sender, is_late) for key, failure in self._found.items()}
        self._is_done = True

    async def _send_all(
        self, cases: Iterator[GeneratedCase], sender: Sender, is_late: Callable[[], bool], progress: Callable[[], None]
    ) -> None:
        """Send cases until there are enough or the time is up."""
        name = self.tool.name
        recent: dict[int, tuple[GeneratedCase, Judgement]] = {}
        for case in cases:
            if self.sent >= self._plan.cases or self._is_known_broken(len(sender.unexplained)):
                break
            if is_late():
                self.stopped = f"time limit reached after {self.sent:,} cases"
                break
            number, response = await sender.send("tools/call", {"name": name, "arguments": case.arguments})
            if response is not None:
                self.sent += 1
                recent[number] = case, self._count(number, case, response, sender)
                if len(recent) > SUSPECTS + 1:
                    del recent[next(iter(recent))]
            if sender.corrections:
                self._correct(sender, recent)
            if not self.sent % 20:
                progress()
                await asyncio.sleep(0)
        await sender.finish()
        self._correct(sender, recent)

    def _is_known_broken(self, unexplained: int) -> bool:
        if self.outcomes["crash"] + unexplained >= MOST_CRASHES or self.outcomes["hang"] >= MOST_HANGS:
            self.stopped = f"stopped after {self.sent:,} cases: repeated crashes or hangs"
        return bool(self.stopped)

    def _judge(self, case: GeneratedCase, response: Response) -> Judgement:
        return judge(
            response,
            case.arguments,
            is_valid=case.is_valid or (case.is_lenient and not self._plan.is_strict),
            revision=self._revision,
            output=self._output,
            secrets=self._secrets,
        )

    def _count(self, number: int, case: GeneratedCase, response: Response, sender: Sender) -> Judgement:
        judgement = self._judge(case, response)
        if case.is_valid:
            self._valid += 1
            self._refused += response.outcome == "rejected"
        elif response.outcome == "rejected":
            self._refused_faults.add(fault_of(case.keyword))
        self.outcomes[judgement.outcome] += 1
        if judgement.leak is not None:
            self.outcomes["leak"] += 1
        if judgement.outcome != "clean" or judgement.flaws:
            self._keep(number, case, judgement, response, sender.session)
        return judgement

    def _correct(self, sender: Sender, recent: dict[int, tuple[GeneratedCase, Judgement]]) -> None:
        """Replace the outcomes of calls that turned out to have ended the server; a leak stays counted."""
        for number, response in sender.corrections.items():
            if number in recent:
                case, before = recent[number]
                self._forget(case, before)
                judgement = self._judge(case, response)
                self.outcomes[judgement.outcome] += 1
                self._keep(number, case, judgement, response, sender.session)
        sender.corrections.clear()

    def _forget(self, case: GeneratedCase, judgement: Judgement) -> None:
        self.outcomes[judgement.outcome] -= 1
        key = _key(case, judgement.outcome, judgement.problem)
        if (known := self._found.pop(key, None)) is not None and known.times > 1:
            self._found[key] = known._replace(times=known.times - 1)

    def _keep(
        self, number: int, case: GeneratedCase, judgement: Judgement, response: Response, session: Session
    ) -> None:
        """Keep a failure, without secrets, or count its repetition."""
        for outcome, problem in judgement.failures:
            key = _key(case, outcome, problem)
            known = self._found.get(key)
            if known is not None:
                self._found[key] = known._replace(times=known.times + 1)
            elif sum(kind == outcome for kind, *_ in self._found) < MOST_FAILURES:
                flaws = tuple(flaw._replace(detail=session.redacted(flaw.detail)) for flaw in judgement.flaws)
                shown = Judgement(outcome, session.redacted(problem), flaws)
                self._found[key] = FoundFailure(
                    tool=self.tool,
                    number=number,
                    case=case,
                    judgement=shown,
                    response=session.redacted(response.text),
                    times=1,
                )

    async def _shrunk(self, failure: FoundFailure, sender: Sender, is_late: Callable[[], bool]) -> FoundFailure:
        """The failure with the smallest arguments found in time."""
        if failure.judgement.outcome == "clean" or is_late():  # a clean one is not due to the arguments
            return failure
        oracle = Oracle(self._schema)
        wanted = failure.judgement

        def fails(arguments: Any, response: Response) -> bool:
            judgement = self._judge(failure.case._replace(arguments=arguments), response)
            return any(
                outcome == wanted.outcome and signature(sender.session.redacted(problem)) == signature(wanted.problem)
                for outcome, problem in judgement.failures
            )

        arguments = await shrink(
            sender.session,
            self.tool.name,
            failure.case.arguments,
            same_promise(oracle, failure.case.arguments, is_valid=failure.case.is_valid),
            fails,
            is_slow=wanted.outcome == "hang",
            is_late=is_late,
        )
        if arguments is failure.case.arguments:
            return failure
        return failure._replace(case=failure.case._replace(arguments=arguments))

    def failures(self) -> list[FoundFailure]:
        """The failures in the order of the cases, including flaws of responses that are clean otherwise."""
        return sorted(self._found.values(), key=lambda each: (each.number, each.judgement.outcome))

    def records(self) -> list[ProbeRecord]:
        """The failures as probe records."""
        return [self._record(each) for each in self.failures()]

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
            failure=failure.stored(self._plan).id if judgement.outcome != "clean" else None,
            times=failure.times,
            argument=case.argument,
            is_lenient=case.is_lenient and not self._plan.is_strict,
        )

    def _schema_pointer(self, case: GeneratedCase) -> str:
        """The pointer, inside the tool, to the promise that a case breaks."""
        name = case.pointer.partition("/")[2].partition("/")[0].replace("~1", "/").replace("~0", "~")
        if case.keyword in ("", "required", "additionalProperties") or name not in self.tool.parameters:
            return "/inputSchema" if case.keyword else ""
        return f"/inputSchema/properties/{escape(name)}"

    def untested(self, why: str) -> Iterator[Untested]:
        """What the cases of this tool did not test."""
        what = f"tool {self.tool.label}"
        if not self.sent:
            problem = Oracle(self._schema).problem
            yield Untested(what, problem or self.stopped or why)
        elif self.stopped or not self._is_done:
            yield Untested(f"{what}, in part", self.stopped or f"{why} after {self.sent:,} cases")
        if self.sent and not self._valid:
            problem = valid_arguments(self._schema).problem or "unknown reason"
            why = f"no valid call could be generated: {problem}; pass one with --args"
            yield Untested(f"the logic of tool {self.tool.label}", why)
        if self._valid and self._valid == self._refused:
            calls = "the only valid call was" if self._valid == 1 else f"all {self._valid:,} valid calls were"
            yield Untested(f"the logic of tool {self.tool.label}", f"{calls} rejected, so it was never reached")


def _key(case: GeneratedCase, outcome: CaseOutcome, problem: str) -> tuple[str, ...]:
    """Equal for failures that are reported as one."""
    return (outcome, *(_violation_key(case) if outcome == "accepted" else (signature(problem),)))


def _violation_key(case: GeneratedCase) -> tuple[str, str]:
    """The violated keyword at any depth, and the name of the property if the schema declares it."""
    last = case.pointer.rpartition("/")[2]
    is_own = case.keyword not in ("additionalProperties", "unevaluatedProperties") and not last.isdigit()
    return case.keyword, last if is_own else ""
