"""Probe a live server, for `probe` and `prove`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.client.endpoints import UrlEndpoint
from mcproof.core.errors import UsageError, nearest
from mcproof.core.observations.probes import with_shared_failures
from mcproof.execution.attack_server import attack_server
from mcproof.execution.check_catalog import check_catalog
from mcproof.execution.events import ProgressMade
from mcproof.execution.run_requests import ProveRequest
from mcproof.execution.target_run import Checked, TargetRun
from mcproof.execution.tool_calls import (
    plan_calls,
    report_changed_tools,
    require_one_server,
    server_of,
    store_failures,
    tested_gates,
)
from mcproof.probing.probes.failures import described
from mcproof.probing.probes.prove import default_checks, prove, with_predictions
from mcproof.probing.probes.sending import TimeLimit
from mcproof.probing.probes.session import ProbePlan
from mcproof.results.payloads import ProbePayload, ProvePayload

if TYPE_CHECKING:
    from mcproof.core.catalog.model import Catalog
    from mcproof.execution.events import Listener
    from mcproof.execution.run_requests import ProbeRequest
    from mcproof.execution.target_run import LoadedTarget
    from mcproof.probing.attacks.run import AttackRun
    from mcproof.probing.probes.prove import Proof
    from mcproof.results.run import RunResult

MOST_PROBE_PROCESSES = 6
"""How many server processes are called at once. Most of the time is spent waiting for slow calls."""


def probe_server(request: ProbeRequest, listen: Listener) -> RunResult:
    """Probe one live server."""
    require_one_server(request.targets)
    explores = isinstance(request, ProveRequest)
    checks = _known_checks(request.checks, explores=explores) or default_checks(explores=explores)
    run = TargetRun(request, listen)

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
        catalog.connection = server.close(at_once=proof.was_cut)
        if request.calls.stores_failures:
            store_failures(proof.stored, listen)
        else:
            proof = _without_ids(proof)
        catalog.item_probes = with_shared_failures(proof.item_probes, catalog.server)
        result = check_catalog(catalog, target.plan, request.detail, run.tracker)
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
        return Checked(result, server.is_interrupted)

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
