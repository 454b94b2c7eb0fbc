"""Fuzz a live server."""

from __future__ import annotations

import os
from time import monotonic
from typing import TYPE_CHECKING

from mcproof.checks.rule import find_rule
from mcproof.client.endpoints import UrlEndpoint
from mcproof.core.observations.probes import ALL_OUTCOMES, cropped_value, excerpt, with_shared_failures
from mcproof.execution.attack_server import attack_server, failures_of
from mcproof.execution.check_catalog import check_catalog
from mcproof.execution.events import ProgressMade
from mcproof.execution.target_run import Checked, TargetRun
from mcproof.execution.tool_calls import (
    plan_calls,
    report_changed_tools,
    require_one_server,
    server_of,
    store_failures,
    tested_gates,
)
from mcproof.probing.fuzz.campaign import fuzz
from mcproof.probing.fuzz.tool import FuzzPlan
from mcproof.probing.outcomes import Failure, Fuzzing
from mcproof.probing.probes.failures import described
from mcproof.results.payloads import FuzzPayload

if TYPE_CHECKING:
    from mcproof.checks.rule import Rule
    from mcproof.execution.events import Listener
    from mcproof.execution.run_requests import FuzzRequest
    from mcproof.execution.target_run import LoadedTarget
    from mcproof.probing.attacks.run import AttackRun
    from mcproof.probing.fuzz.tool import FoundFailure
    from mcproof.probing.probes.failures import StoredFailure
    from mcproof.results.run import RunResult

ACCEPTING = ("WIR-012", "WIR-013", "WIR-014", "WIR-015", "WIR-016")
"""The rules about accepted invalid calls. Fuzzing finds many, so they fail a run only if it is strict."""
MOST_FUZZ_PROCESSES = 4
"""How many server processes run at once by default."""


def fuzz_server(request: FuzzRequest, listen: Listener) -> RunResult:
    """Fuzz one live server."""
    require_one_server(request.targets)
    run = TargetRun(request, listen)

    def check(target: LoadedTarget) -> Checked:
        server, catalog, plan = server_of(target), target.catalog, target.plan
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
        catalog.connection = server.close(at_once=fuzzed.was_cut)
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
        catalog.item_probes = with_shared_failures(item_probes, catalog.server)
        if not request.is_strict:
            plan = plan._replace(rules=list(map(_lenient, plan.rules)))
        result = check_catalog(catalog, plan, request.detail, run.tracker)
        result = result._replace(
            gates=tested_gates(fuzzing.cases, fuzzed.incomplete, fuzzed.cases),
            payload=FuzzPayload(fuzzing),
            untested=[*result.untested, *untested],
        )
        return Checked(result, server.is_interrupted)

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
