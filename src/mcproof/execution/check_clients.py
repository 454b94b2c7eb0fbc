"""Judge catalogs client by client, for `compat`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.compat.client_choice import choose_clients
from mcproof.compat.client_effects import improvements
from mcproof.compat.client_hits import ClientChecks
from mcproof.compat.client_verdicts import judge_clients
from mcproof.errors import UsageError
from mcproof.execution.check_catalog import check_catalog
from mcproof.execution.target_run import Checked, TargetRun
from mcproof.results.payloads import CompatPayload
from mcproof.results.run import Gate
from mcproof.rules.compat.client_remedies import remedy_for

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.catalog.model import Catalog
    from mcproof.compat.client_effects import Improvement
    from mcproof.compat.client_hits import ClientHit
    from mcproof.compat.client_verdicts import ClientOutcome
    from mcproof.execution.events import Listener
    from mcproof.execution.run_requests import CompatRequest
    from mcproof.execution.target_run import LoadedTarget
    from mcproof.results.run import RunResult


def check_clients(request: CompatRequest, listen: Listener) -> RunResult:
    """Judge every target of a request for every client."""
    choice = choose_clients(request.clients)
    for name in request.require:
        choose_clients([name])
    run = TargetRun(request, listen)
    finding_checks = ClientChecks(choice.for_compat(), request.server_key)
    all_checks = ClientChecks(choice.all_active(), request.server_key)

    def check(target: LoadedTarget) -> Checked:
        outcomes = judge_clients(choice, _all_hits(all_checks, target.catalog))
        named = tuple(dict.fromkeys(each.profile for each in choice.named))
        payload = CompatPayload(outcomes, _improvements(outcomes, len(target.catalog.tools), named), named)
        plan = target.plan._replace(clients=finding_checks)
        result = check_catalog(target.catalog, plan, request.detail, run.tracker, payload)
        return Checked(result._replace(gates=[*result.gates, *_gates(request, outcomes)]))

    return run.run(check)


def _improvements(outcomes: list[ClientOutcome], tools: int, named: tuple[str, ...]) -> list[Improvement]:
    """What to change, in words."""
    return [
        each._replace(remedy=remedy_for(each.rule, each.places, each.tools))
        for each in improvements(outcomes, tools, named)
    ]


def _all_hits(checks: ClientChecks, catalog: Catalog) -> Iterator[tuple[str | None, ClientHit]]:
    """Every hit on a catalog, with the name of its tool."""
    for part in catalog.by_server():
        for hit in checks.on_server(part):
            yield (None if hit.tool is None else hit.tool.label), hit
    server_key = checks.key_of(catalog)
    for tool in catalog.tools:
        for hit in checks.on_tool(tool, server_key):
            yield tool.label, hit
        tool.release_tree()


def _gates(request: CompatRequest, outcomes: list[ClientOutcome]) -> Iterator[Gate]:
    """The requested gates: clients in which the server must not break, and how many there must be."""
    verdicts = {each.client: each.verdict for each in outcomes}
    for name in request.require:
        yield Gate(f"require {name}", "does not break", verdicts[name], verdicts[name] != "breaks")
    if request.min_clients is not None:
        clients = [each for each in outcomes if each.kind == "client"]
        if request.min_clients > len(clients):
            raise UsageError(f"--min-clients {request.min_clients}: there are {len(clients)} clients")
        unbroken = sum(each.verdict != "breaks" for each in clients)
        yield Gate("min-clients", request.min_clients, unbroken, unbroken >= request.min_clients)
