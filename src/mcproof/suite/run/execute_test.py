"""One part of a test: the call itself, the refusals, the generated calls, or what the descriptions are worth."""

from __future__ import annotations

import json
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.client.failures import ConnectError
from mcproof.errors import nearest
from mcproof.prove.permission import Permission
from mcproof.results.model import TestFailure, TestResult
from mcproof.suite.definition import METHODS
from mcproof.suite.matchers import shown
from mcproof.suite.run.expectation_check import Judge, call_default, quality_default
from mcproof.suite.server_under_test import UnableError, unreachable

if TYPE_CHECKING:
    from mcproof.catalog.model import Catalog
    from mcproof.client.session import Response
    from mcproof.exchange.probe_facts import ItemProbes
    from mcproof.results.model import ProbeResult, TestOutcome
    from mcproof.suite.definition import Fuzz, NegativePath, SuiteTest
    from mcproof.suite.server_under_test import Host
    from mcproof.suite.snapshots import SnapshotStore

OVERSIZED = 1024 * 1024
MOST_FAILURES = 20
"""How many unmet expectations of one test are kept."""
CALLED = ("tools", "resources", "prompts")
"""The parts that are one request on the connection of the server."""
_STRUCTURED = "result.structuredContent"
_PROMISE = "what the outputSchema allows"
_CALLS = {"resources": ("resources/read", "uri"), "prompts": ("prompts/get", "name")}


def parts_of(test: SuiteTest) -> list[str]:
    """What a test consists of: the call, and each block beside it."""
    parts = [test.block] if test.is_called else []
    parts += ["negative_path"] if test.negative_path is not None else []
    return [*parts, "fuzz"] if test.fuzz is not None else parts


async def run_part(test: SuiteTest, part: str, host: Host, store: SnapshotStore) -> TestResult:
    """Make a part of a test, whatever comes of it. That a server has to start first takes no test's time."""
    start = perf_counter()
    judge = Judge(host.hide, host.hide_whole, store)
    try:
        if part not in _CALLS:
            await host.look()
        if part in CALLED:
            await host.connect()
        start = perf_counter()
        judged = await _made(test, part, host, judge)
    except _NoToolError as error:
        judged = Judged([judge.failure("", str(error))])
    except UnableError as error:
        unable = unmade(test, part, "error", str(error), perf_counter() - start)
        return unable._replace(detail=host.last_lines())
    except ConnectError as error:
        return unmade(test, part, "error", unreachable(host.hide(error.message)), perf_counter() - start)
    return _result(test, part, judged, perf_counter() - start)


async def _made(test: SuiteTest, part: str, host: Host, judge: Judge) -> Judged:
    if part == "negative_path" and test.negative_path is not None:
        return await _negative_path(test, test.negative_path, host, judge)
    if part == "fuzz" and test.fuzz is not None:
        return await _fuzz(test, test.fuzz, host, judge)
    return await (_quality if part == "tool_quality" else _call)(test, host, judge)


def answered(test: SuiteTest, reply: Response, seconds: float, host: Host, store: SnapshotStore) -> TestResult:
    """What a call came to that was made together with others."""
    judge = Judge(host.hide, host.hide_whole, store)
    return _result(test, test.block, _judged(test, reply, seconds, host, judge), seconds)


def unmade(test: SuiteTest, part: str, outcome: TestOutcome, why: str, seconds: float = 0.0) -> TestResult:
    """The result of a part that was not made."""
    return TestResult(test.name, part, test.server, outcome, why, (), test.place.file, test.place.line, seconds)


class _NoToolError(Exception):
    """The server does not have the tool that a test names; the text says so."""


class Judged(NamedTuple):
    """What came of a part of a test."""

    failures: list[TestFailure]
    note: str = ""
    """What is to be said of a part that passed."""
    applies: bool = True
    """Whether there was anything to judge."""


def _result(test: SuiteTest, part: str, judged: Judged, seconds: float) -> TestResult:
    kept = tuple(judged.failures[:MOST_FAILURES])
    said = _summed_up(judged.failures) if kept else judged.note
    outcome: TestOutcome = "failed" if kept else "passed" if judged.applies else "not_applicable"
    return unmade(test, part, outcome, said, seconds)._replace(failures=kept)


async def _call(test: SuiteTest, host: Host, judge: Judge) -> Judged:
    limit = test.timeout_ms / 1000 if test.timeout_ms is not None else None
    reply, seconds = await host.ask(test, request_of(test), limit)
    return _judged(test, reply, seconds, host, judge)


def _judged(test: SuiteTest, reply: Response, seconds: float, host: Host, judge: Judge) -> Judged:
    if reply.outcome not in ("accepted", "rejected") or reply.message is None:
        return Judged([judge.failure("", unanswered(reply))])
    facts: dict[str, Any] = {"error": reply.message.error, "duration_ms": round(seconds * 1000)}
    if reply.message.error is None:
        facts["result"] = reply.message.result
    said = {"result.isError": _texts_of(reply)} if reply.outcome == "rejected" else {}
    failures = judge.failures(test.expect or call_default(test.block), facts, said)
    if test.expect is None and failures:
        return Judged([judge.failure("", f"the call failed: {said_in(reply)}")])
    if test.block == "tools" and reply.outcome == "accepted":
        breach = host.broken_promise(test.subject, reply.result)
        if breach is not None and not _speaks_of(test, _STRUCTURED):
            got = shown(reply.result["structuredContent"]) if "structuredContent" in reply.result else "nothing"
            failures.append(judge.failure(_STRUCTURED, f"breaks the tool's own outputSchema: {breach}", _PROMISE, got))
    return Judged(failures)


def _speaks_of(test: SuiteTest, target: str) -> bool:
    """Whether a test says itself what a value must be."""
    return test.expect is not None and any(each.target.text == target for each in test.expect.assertions)


async def _quality(test: SuiteTest, host: Host, judge: Judge) -> Judged:
    from mcproof.suite.run.quality import quality_of

    catalog = await host.catalog()
    if not catalog.tools:
        return Judged([judge.failure("", "the server lists no tools, so there is nothing to judge")])
    quality = quality_of(catalog)
    return Judged(judge.failures(test.expect or quality_default(), quality.facts, quality.reasons))


async def _negative_path(test: SuiteTest, block: NegativePath, host: Host, judge: Judge) -> Judged:
    from mcproof.prove.probe_session import ProbePlan
    from mcproof.prove.proving import WEAK, prove_within
    from mcproof.report.proof import negative_path

    catalog, permission, arguments = await _permitted(test, host)
    inquiry = ProbePlan([permission], list(block.checks), False, arguments, OVERSIZED, _limit(test, host))
    proof = await prove_within(catalog, host.server, host.asking, inquiry)
    counted = negative_path(proof.probes)
    is_weak = any(each.probe == "baseline" and each.outcome != "accepted" for each in proof.probes)
    note = "; ".join([_what_ran(proof.probes, block.checks), *([WEAK] if is_weak else [])])
    if block.expect is not None:
        reasons = dict.fromkeys(("negative_path.failures", "negative_path.gate_passed"), _failed(proof.probes))
        return Judged(judge.failures(block.expect, {"negative_path": counted._asdict()}, reasons), note)
    failures = [
        judge.failure(each.probe, f"{each.probe}: {each.outcome}, {each.reason}", _wanted(each), _inside(each.answer))
        for each in proof.probes
        if each.passed is False
    ]
    failures += [judge.failure("", f"crash: {end}") for end in _unexplained(proof.item_probes)]
    if not failures and not counted.checks_run:
        left_out = [each for each in proof.probes if each.passed is None and each.probe in block.checks]
        why = "; ".join(f"{each.probe}: {each.reason}" for each in left_out)
        if not block.are_named and all(each.outcome == "not_applicable" for each in left_out):
            return Judged([], f"no probe applies: {why}", applies=False)
        message = f"no probe could be judged: {why}"
        failures = [judge.failure("negative_path.checks_run", message, "at least 1", "0")]
    return Judged(failures, note)


def _what_ran(probes: list[ProbeResult], checks: tuple[str, ...]) -> str:
    """Which probes were refused as they should be, and which could not be sent."""
    passed = [each.probe for each in probes if each.passed and each.probe in checks]
    others = [each.probe for each in probes if each.passed is None and each.probe in checks]
    more = f"; not applicable: {', '.join(others)}" if others else ""
    return f"{', '.join(passed) or 'nothing'}{more}"


async def _fuzz(test: SuiteTest, block: Fuzz, host: Host, judge: Judge) -> Judged:
    from mcproof.console import plural
    from mcproof.exchange.probe_facts import as_json
    from mcproof.prove.fuzz.campaign import fuzz_within
    from mcproof.prove.fuzz.tool_fuzzer import FuzzPlan

    catalog, permission, arguments = await _permitted(test, host)
    campaign = FuzzPlan([permission], arguments, block.seed, block.cases, _limit(test, host, block.max_call_ms))
    fuzzed = await fuzz_within(catalog, host.server, host.asking, campaign)
    cases, outcomes, ends = sum(fuzzed.cases.values()), fuzzed.outcomes, _unexplained(fuzzed.item_probes)
    facts = {
        "cases_run": cases,
        "crashes": outcomes["crash"] + len(ends),
        "hangs": outcomes["hang"],
        "protocol_violations": outcomes["protocol_violation"],
        "leaks": outcomes["leak"],
        "accepted": outcomes["accepted"],
    }
    bad = sum(facts[name] for name in ("crashes", "hangs", "protocol_violations", "leaks"))
    facts["gate_passed"] = int(cases > 0 and not bad)
    if block.expect is not None:
        return Judged(judge.failures(block.expect, {"fuzz": facts}))
    failures = []
    for each in fuzzed.failures:
        if each.judgement.outcome != "accepted":
            outcome, why = each.judgement.outcome.replace("_", " "), each.judgement.what or each.case.description
            failures.append(judge.failure("", f"{outcome} at {as_json(each.case.arguments)}: {why}"))
    failures += [judge.failure("", f"crash: {end}") for end in ends]
    if not facts["gate_passed"] and not failures:
        failures = [judge.failure("fuzz.cases_run", "no case could be sent", "at least 1", "0")]
    return Judged(failures, plural(cases, "case"))


async def _permitted(test: SuiteTest, host: Host) -> tuple[Catalog, Permission, dict[str, dict[str, Any]]]:
    """The tool of a test, which may be called because the suite names it, and the arguments that the test gives."""
    catalog = await host.catalog()
    tool = next((tool for tool in catalog.tools if tool.name == test.subject), None)
    if tool is None:
        names = [tool.name for tool in catalog.tools if tool.name]
        raise _NoToolError(f"the server has no tool `{test.subject}`{nearest(test.subject, names)}")
    arguments = {test.subject: dict(test.arguments)} if test.arguments is not None else {}
    return catalog, Permission(tool, True, "named in the suite"), arguments


def _limit(test: SuiteTest, host: Host, own: int | None = None) -> float:
    """How long an answer may take in a block, in seconds: what the block says, else the test, else the server."""
    said = own if own is not None else test.timeout_ms
    return said / 1000 if said is not None else host.probe_limit


def request_of(test: SuiteTest) -> tuple[str, dict[str, Any] | None]:
    """The method and the parameters of the call in a test."""
    arguments = dict(test.arguments or {})
    if test.block == "tools":
        if test.subject in METHODS:
            return test.subject, arguments or None
        return "tools/call", {"name": test.subject, "arguments": arguments}
    method, key = _CALLS[test.block]
    return method, {key: test.subject, **({"arguments": arguments} if test.arguments is not None else {})}


def unanswered(reply: Response) -> str:
    """Why there is no answer."""
    before = "the server ended or closed the connection: " if reply.outcome == "crash" else ""
    return f"{before}{reply.why or reply.outcome}"


def said_in(reply: Response) -> str:
    """Why a call failed, in the server's words."""
    answer = reply.message
    if answer is None or reply.outcome not in ("accepted", "rejected"):
        return unanswered(reply)
    if answer.error is not None:
        return answer.description
    said = _texts_of(reply)
    return f"isError is true: {said}" if said else "isError is true"


def _texts_of(reply: Response) -> str:
    """What the content of a result says, cropped."""
    content = reply.result.get("content")
    texts = [each.get("text") for each in content if isinstance(each, dict)] if isinstance(content, list) else []
    return " ".join(text for text in texts if isinstance(text, str))[:300]


def _unexplained(trials: list[ItemProbes]) -> list[str]:
    """Ends of the server that no single call explains."""
    of_server = [trial for each in trials if each.item.kind == "server" for trial in each.records]
    return [trial.response for trial in of_server if trial.probe in ("calls", "fuzz") and trial.outcome == "crash"]


def _wanted(probe: ProbeResult) -> str:
    return "an answer" if probe.probe in ("baseline", "oversized") else "a refusal"


def _inside(answer: str) -> str:
    """An answer without its envelope, whose number depends on what was asked before."""
    try:
        envelope = json.loads(answer)
    except (ValueError, RecursionError):  # cropped, or never JSON
        return answer
    if not isinstance(envelope, dict) or not {"result", "error"} & envelope.keys():
        return answer
    return shown(envelope.get("result", envelope.get("error")))


def _failed(probes: list[ProbeResult]) -> str:
    return ", ".join(f"{each.probe} {each.outcome}" for each in probes if each.passed is False)


def _summed_up(failures: list[TestFailure]) -> str:
    if not failures:
        return ""
    first = failures[0]
    more = f" (and {len(failures) - 1:,} more)" if len(failures) > 1 else ""
    where = f"{first.target}: " if first.target and not first.message.startswith(first.target) else ""
    return f"{where}{first.message}{more}"
