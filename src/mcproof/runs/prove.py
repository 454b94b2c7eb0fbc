"""Call the tools of a live server: `probe`, `prove`, `fuzz`, and their attacks.

Which tools may be called is announced before the first call, and failures are stored for `replay`. A run that did
not test everything fails a gate.
"""

from __future__ import annotations

import os
from time import monotonic
from typing import TYPE_CHECKING, Any

from mcproof.checks.rule import Rule, find_rule
from mcproof.checks.subjects import Observed
from mcproof.client.endpoints import UrlEndpoint
from mcproof.core.console import listed_names
from mcproof.core.errors import InputError, McproofError, UsageError, nearest
from mcproof.core.observations.probes import ALL_OUTCOMES, cropped_value, excerpt, with_shared_failures
from mcproof.probing.attacks.run import AttackPlan, AttackRun, attack
from mcproof.probing.fuzz.campaign import fuzz
from mcproof.probing.fuzz.tool import FoundFailure, FuzzPlan
from mcproof.probing.outcomes import Failure, Fuzzing
from mcproof.probing.permission import Permission, permissions_of, refuse_unknown_tools
from mcproof.probing.probes.failures import StoredFailure, described
from mcproof.probing.probes.prove import Proof, default_checks, prove, with_predictions
from mcproof.probing.probes.sending import TimeLimit
from mcproof.probing.probes.session import ProbePlan
from mcproof.runs.events import CallsPlanned, Listener, MessageSent, ProgressMade
from mcproof.runs.loop import LoadedTarget, TargetRun
from mcproof.runs.requests import CallOptions, FuzzRequest, ProbeRequest, ProveRequest, TargetSelection
from mcproof.runs.results import FuzzPayload, Gate, ProbePayload, ProvePayload, RunResult

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mcproof.client.capture import OpenServer
    from mcproof.core.catalog.model import Catalog
    from mcproof.core.observations.connection import ConnectionFacts
    from mcproof.core.observations.probes import ItemProbes
    from mcproof.runs.judging import Checked
    from mcproof.runs.requests import RunSession


_MOST_MISTAKES = 3
"""How many mistakes in the arguments of a tool a message names."""


def require_one_server(targets: TargetSelection) -> None:
    """Raise a UsageError if the request names more than one server to call."""
    count = len(targets.names) + len(targets.documents) + bool(targets.live.command)
    if targets.live.all_configured or count > 1:
        raise UsageError("only one server is called at a time; name one TARGET, or one `-- COMMAND ARG...`")


def server_of(target: LoadedTarget) -> OpenServer:
    """Return the open server behind a catalog, or raise an InputError if it is not a live one."""
    if target.server is None:
        how = "name a URL, FILE.json#NAME of a client configuration, or `-- COMMAND ARG...`"
        raise InputError(f"a snapshot cannot be called; {how}", file=target.source.title)
    return target.server


def plan_calls(
    catalog: Catalog, calls: CallOptions, listen: Listener
) -> tuple[list[Permission], dict[str, dict[str, Any]]]:
    """Return the permission of each chosen tool and the given arguments by tool; announce the calls."""
    names = [tool.name for tool in catalog.tools if tool.name]
    refuse_unknown_tools((*calls.tools, *calls.allow, *calls.deny), names)
    permissions = permissions_of(
        catalog, tools=calls.tools, allow=calls.allow, deny=calls.deny, allow_writes=calls.allow_writes
    )
    arguments = _given_arguments(calls, permissions)
    for message in _invalid_arguments(arguments, permissions):
        listen(MessageSent(message))
    listen(CallsPlanned(tuple(permissions)))
    return permissions, arguments


def _observed(connection: ConnectionFacts | None, item_probes: list[ItemProbes]) -> Observed:
    """What was observed of a server whose tools were called, and that was closed."""
    return Observed((*([] if connection is None else [connection]), *item_probes), calls_tools=True)


def report_changed_tools(server: OpenServer, listen: Listener) -> None:
    """Report that the server has changed its tools since they were listed: new ones were not called."""
    if "tools" in server.session.changed_lists:
        listen(MessageSent("the server has changed its tools during the run; what it added is not tested"))


def _given_arguments(calls: CallOptions, permissions: list[Permission]) -> dict[str, dict[str, Any]]:
    """The arguments that the user gives, by tool."""
    names = [each.tool.name for each in permissions if each.tool.name]
    callable_names = [each.tool.name for each in permissions if each.is_granted]
    given: dict[str, dict[str, Any]] = {}
    for tool, values in calls.arguments:
        if tool is None and len(callable_names) != 1:
            raise UsageError("--args: which tool? Write `--args TOOL=JSON`, or choose one with --tool")
        given[callable_names[0] if tool is None else tool] = dict(values)
    for name in given:
        if name not in names:
            raise UsageError(f"--args: unknown tool `{name}`{nearest(name, names)}; there are {listed_names(names)}")
    return given


def _invalid_arguments(given: Mapping[str, dict[str, Any]], permissions: list[Permission]) -> Iterator[str]:
    """Messages about given arguments that break the schema: probes that vary them would prove little."""
    from mcproof.core.schema.validation import Oracle
    from mcproof.runs.call import declared_parameters

    schemas = {each.tool.name: each.tool.schema for each in permissions if each.tool.name in given}
    for name, schema in schemas.items():
        known = schema if isinstance(schema, dict) else {}
        oracle = Oracle(schema if schema is not None else {})
        if oracle.rejects(given[name]):
            mistakes = [objection.worded(declared_parameters(known)) for objection in oracle.objections(given[name])]
            what = f": {'; '.join(mistakes[:_MOST_MISTAKES])}" if mistakes else ""
            yield f"--args: the schema of `{listed_names([name])}` does not allow these arguments{what}"


def store_failures(failed: list[StoredFailure], listen: Listener) -> None:
    """Store failures for `mcproof replay`; if that is not possible, say so and go on."""
    from mcproof.probing.probes.failures import store

    try:
        store(failed)
    except McproofError as error:
        listen(MessageSent(f"failures are not stored, so `mcproof replay` will not find them: {error}"))


def tested_gates(tested: int, incomplete: str, cases: Mapping[str, int]) -> list[Gate]:
    """The failed gates of a run that tested nothing, not everything, or not every tool; none for a complete run.

    `incomplete` is the reason why requests are missing, `cases` the number of cases of each tool that may be called.
    """
    from mcproof.runs.results import COMPLETE, Gate

    gates = [] if tested else [Gate("tested", 1, 0, False)]
    if incomplete:
        gates.append(Gate(COMPLETE, "all calls", incomplete, False))
    if cases and tested and not all(cases.values()):
        gates.append(Gate("tested-tools", len(cases), sum(map(bool, cases.values())), False))
    return gates


def attack_server(
    target: LoadedTarget,
    permissions: list[Permission],
    arguments: dict[str, dict[str, Any]],
    *,
    limit: float,
    seconds: float | None,
    listen: Listener,
) -> AttackRun:
    """Attack the tools of a server that may be called."""
    plan = AttackPlan(
        permissions=permissions,
        arguments=arguments,
        limit=limit,
        seconds=seconds,
        target=described(target.source),
    )
    return attack(server_of(target), plan, lambda *made: listen(ProgressMade(*made)))


def failures_of(attacks: AttackRun) -> list[Failure]:
    """The failures of attacks for the result."""
    return [
        Failure(
            id=stored.id,
            tool=stored.tool,
            outcome=stored.outcome,
            arguments=cropped_value(found.case.arguments),
            replay=f"mcproof replay {stored.id}",
            what=found.sentence,
            times=found.times,
            response=excerpt(found.response),
        )
        for found, stored in attacks.failures()
    ]


ACCEPTING = ("WIR-012", "WIR-013", "WIR-014", "WIR-015", "WIR-016")
"""The rules about accepted invalid calls. Fuzzing finds many, so they fail a run only if it is strict."""
MOST_FUZZ_PROCESSES = 4
"""How many server processes run at once by default."""


def fuzz_server(request: FuzzRequest, listen: Listener, session: RunSession) -> RunResult:
    """Fuzz one live server."""
    require_one_server(request.targets)
    run = TargetRun(request, listen, session)

    def check(target: LoadedTarget) -> Checked:
        server, catalog = server_of(target), target.catalog
        permissions, arguments = plan_calls(catalog, request.calls, listen)
        is_risky = any(each.is_forced for each in permissions)  # several processes could get in each other's way
        usual = (
            1
            if is_risky or isinstance(server.session.server, UrlEndpoint)
            else min(MOST_FUZZ_PROCESSES, os.cpu_count() or 1)
        )
        attacks, seconds = None, request.max_seconds
        if request.security:  # first, because fuzzing takes all the time it is given
            started = monotonic()
            limit = request.calls.limit
            attacks = attack_server(target, permissions, arguments, limit=limit, seconds=seconds, listen=listen)
            seconds = None if seconds is None else max(0.0, seconds - (monotonic() - started))
        fuzz_plan = FuzzPlan(
            permissions=permissions,
            arguments=arguments,
            seed=request.seed,
            cases=request.cases,
            limit=request.calls.limit,
            seconds=seconds,
            processes=request.processes or usual,
            target=described(target.source),
            is_strict=request.is_strict,
        )
        fuzzed = fuzz(catalog, server, fuzz_plan, lambda *made: listen(ProgressMade(*made)))
        report_changed_tools(server, listen)
        connection = server.close(at_once=fuzzed.was_cut)
        fuzzing = Fuzzing(
            seed=request.seed,
            cases=sum(fuzzed.cases.values()),
            outcomes=fuzzed.outcomes,
            failures=[_failure(found, stored) for found, stored in zip(fuzzed.failures, fuzzed.stored, strict=True)],
            tools=fuzzed.cases,
        )
        item_probes, stored, untested = fuzzed.item_probes, fuzzed.stored, fuzzed.untested
        if attacks is not None:
            fuzzing = _fuzzing_with_attacks(fuzzing, attacks)
            item_probes = attacks.with_records(item_probes, catalog)
            stored = [*(each for _, each in attacks.failures()), *stored]
            untested = [*untested, *attacks.untested()]
        if request.calls.stores_failures:
            store_failures(stored, listen)
        observed = _observed(connection, with_shared_failures(item_probes, catalog.server))
        if not request.is_strict:
            target = target._replace(plan=target.plan._replace(rules=list(map(_lenient, target.plan.rules))))
        checked = run.judge(target, observed=observed)
        result = checked.result
        result = result._replace(
            gates=tested_gates(fuzzing.cases, fuzzed.incomplete, fuzzed.cases),
            payload=FuzzPayload(fuzzing),
            untested=[*result.untested, *untested],
        )
        return checked._replace(result=result, is_interrupted=server.is_interrupted)

    return run.run(check)


def _fuzzing_with_attacks(fuzzing: Fuzzing, attacks: AttackRun) -> Fuzzing:
    """The result of fuzzing with the cases of the attacks."""
    calls, outcomes = attacks.calls(), attacks.outcomes()
    return fuzzing._replace(
        cases=fuzzing.cases + sum(calls.values()),
        outcomes={name: fuzzing.outcomes.get(name, 0) + outcomes.get(name, 0) for name in ALL_OUTCOMES},
        failures=[*failures_of(attacks), *fuzzing.failures],
        tools={name: count + calls.get(name, 0) for name, count in fuzzing.tools.items()},
    )


def _failure(found: FoundFailure, stored: StoredFailure) -> Failure:
    """A failure for the result."""
    what = f"{found.case.description}: {found.judgement.problem}" if found.case.description else found.judgement.problem
    return Failure(
        id=stored.id,
        tool=stored.tool,
        outcome=stored.outcome,
        arguments=cropped_value(found.case.arguments),
        replay=f"mcproof replay {stored.id}",
        what=what,
        times=found.times,
        response=excerpt(found.response),
    )


def _lenient(rule: Rule) -> Rule:
    """A rule, as a warning if it is about accepted calls and the configuration sets no severity."""
    is_configured = rule is not find_rule(rule.id)
    return rule if is_configured or rule.id not in ACCEPTING else rule.with_severity("warning")


MOST_PROBE_PROCESSES = 6
"""How many server processes are called at once. Most of the time is spent waiting for slow calls."""


def probe_server(request: ProbeRequest, listen: Listener, session: RunSession) -> RunResult:
    """Probe one live server."""
    require_one_server(request.targets)
    explores = isinstance(request, ProveRequest)
    checks = _known_checks(request.checks, explores=explores) or default_checks(explores=explores)
    run = TargetRun(request, listen, session)

    def check(target: LoadedTarget) -> Checked:
        server, catalog, time = server_of(target), target.catalog, TimeLimit(request.max_seconds)
        permissions, arguments = plan_calls(catalog, request.calls, listen)
        plan = ProbePlan(
            permissions=permissions,
            checks=checks,
            explores=explores,
            arguments=arguments,
            size=request.oversize,
            limit=request.calls.limit,
            target=described(target.source),
            max_calls=request.max_calls,
            is_strict=request.is_strict,
            seconds=request.max_seconds,
            processes=1 if isinstance(server.session.server, UrlEndpoint) else MOST_PROBE_PROCESSES,
        )
        proof = prove(catalog, server, plan, lambda *made: listen(ProgressMade(*made)))
        if request.security:
            attacks = attack_server(
                target, permissions, arguments, limit=request.calls.limit, seconds=time.left, listen=listen
            )
            proof = _proof_with_attacks(proof, attacks, catalog)
        incomplete = "interrupted" if server.is_interrupted else proof.incomplete
        report_changed_tools(server, listen)
        connection = server.close(at_once=proof.was_cut)
        if request.calls.stores_failures:
            store_failures(proof.stored, listen)
        else:
            proof = _without_ids(proof)
        observed = _observed(connection, with_shared_failures(proof.item_probes, catalog.server))
        checked = run.judge(target, observed=observed)
        result = checked.result
        matrix = with_predictions(proof.matrix, [*result.findings, *result.suppressed])
        is_any_callable = any(each.is_granted for each in permissions)
        tested = sum(each.passed is not None for each in proof.probes)
        if request.calls.tools and not is_any_callable:  # the user asked for these tools, not for the server
            tested = 0
        result = result._replace(
            gates=tested_gates(tested, incomplete, {}),
            payload=ProvePayload(proof.probes, matrix) if explores else ProbePayload(proof.probes),
            untested=[*result.untested, *proof.untested],
        )
        return checked._replace(result=result, is_interrupted=server.is_interrupted)

    return run.run(check)


def _without_ids(proof: Proof) -> Proof:
    """The result of probing without the ids of failures that are not stored, and cannot be replayed."""
    item_probes = [
        each._replace(records=[record._replace(failure=None) for record in each.records]) for each in proof.item_probes
    ]
    return proof._replace(item_probes=item_probes)


def _proof_with_attacks(proof: Proof, attacks: AttackRun, catalog: Catalog) -> Proof:
    """The result of probing with the results of the attacks."""
    return proof._replace(
        item_probes=attacks.with_records(proof.item_probes, catalog),
        probes=[*proof.probes, *attacks.probe_results()],
        untested=[*proof.untested, *attacks.untested()],
        stored=[*proof.stored, *(stored for _, stored in attacks.failures())],
    )


def _known_checks(names: tuple[str, ...], *, explores: bool) -> list[str]:
    """The named probes, in the order they are sent."""
    known = [each for each in default_checks(explores=True) if explores or each != "wrong_value"]
    for name in names:
        if name not in known:
            raise UsageError(f"unknown probe `{name}`{nearest(name, known)}; there are {', '.join(known)}")
    return [name for name in known if name in names]
