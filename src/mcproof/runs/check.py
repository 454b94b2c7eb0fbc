"""Judge a server as a whole: `check` lists it once, proves what may be called, and has one result for everything.

The parts are those of the other commands: `compat`, `scan`, `prove` and the grade. Only what needs further connections,
such as whether lists are the same in each, is left to `scan`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcproof.checks.clients.hits import CatalogHits
from mcproof.checks.fixes.snippets import framework_names
from mcproof.checks.subjects import Observed, Unjudged
from mcproof.client.endpoints import UrlEndpoint
from mcproof.core.observations.connection import ListStability, ObservedConnection, SessionIds
from mcproof.core.observations.probes import ResourceBodies
from mcproof.core.observations.source import KnownSoftware
from mcproof.runs.compat import ClientJudges, client_gates
from mcproof.runs.edits import Scored, most_helpful
from mcproof.runs.loop import LoadedTarget, TargetRun
from mcproof.runs.requests import CompatRequest
from mcproof.runs.results import LEFT_TO_SCAN, CheckPayload, ProvePayload
from mcproof.runs.scan import Scanned, observe_live, observe_target, scan_payload, verdict_gate

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcproof.client.endpoints import Endpoint
    from mcproof.core.catalog.model import Catalog
    from mcproof.runs.events import Listener
    from mcproof.runs.judging import CatalogFindings, Checked
    from mcproof.runs.prove import Shown
    from mcproof.runs.requests import CheckRequest, RunSession
    from mcproof.runs.results import RunResult

_LISTED_ONCE = Unjudged(LEFT_TO_SCAN)


def check_servers(request: CheckRequest, listen: Listener, session: RunSession) -> RunResult:
    """Judge every target of a request in every way."""
    run = TargetRun(request, listen, session)
    about_clients = CompatRequest(request.targets, min_clients=request.min_clients)
    judges = ClientJudges(about_clients, run, request.clients)

    def observe(server: Endpoint, _: Catalog | None) -> tuple[Any, ...]:
        # Without the catalog only the perimeter is observed: no further connection over MCP.
        if not isinstance(server, UrlEndpoint):
            return ()
        return observe_live(server, None, run.connect_options, is_deep=False)

    def check(target: LoadedTarget) -> Checked:
        scanned = observe_target(target, observe)
        shown = _prove(request, target, listen)
        judge = judges.of(target.plan)
        # Computed once, and shared by the rules of `compat` and by the verdicts of clients.
        hits = CatalogHits(judge.checks, target.catalog)
        clients = judge.payload(hits, len(target.catalog.tools))

        def summarize(findings: CatalogFindings, unjudged: Mapping[str, Unjudged]) -> CheckPayload:
            trust = scan_payload(target, scanned, findings, unjudged)
            return CheckPayload(clients, trust, framework=_framework(target.catalog, scanned.observed))

        checked = run.judge(
            target._replace(plan=target.plan._replace(clients=hits, overrules_comments=True)),
            observed=_observed(scanned, shown),
            detail=request.detail._replace(scores=True),
            summarize=summarize,
        )
        result, payload = checked.result, checked.result.payload
        if payload.kind != "check":
            raise ValueError("not a result of a check")
        if target.catalog.missing is not None:  # a part must not be graded as the whole
            result = result._replace(scores=result.scores._replace(grade=None))
        if shown is not None:
            proved = shown.payload_for(result)
            payload = payload._replace(proof=proved if isinstance(proved, ProvePayload) else None)
            result = result._replace(untested=[*result.untested, *shown.called.untested])
        trust = payload.trust.trust
        scored = Scored(result.scores.grade, trust, clients.improvements, target.plan.thresholds)
        payload = payload._replace(edits=most_helpful(target.catalog, checked.findings, scored, scanned.source))
        gates = [] if trust is None else [verdict_gate(trust, request.fails_on)]
        is_interrupted = target.server is not None and target.server.is_interrupted
        checked = checked._replace(result=result._replace(payload=payload), is_interrupted=is_interrupted)
        return checked.with_gates([*gates, *client_gates(about_clients, clients.outcomes)])

    return run.run(check)


_PACKAGES = {
    "fastmcp": "fastmcp",
    "FastMCP of mcp 1": "mcp",
    "MCPServer of mcp 2": "mcp",
    "low-level Server of mcp": "mcp",
    "TypeScript SDK with zod": "@modelcontextprotocol/sdk",
    "TypeScript SDK with JSON Schema": "@modelcontextprotocol/sdk",
}
"""The packages of frameworks."""


def _framework(catalog: Catalog, observed: Observed) -> str:
    """What a server is written with, by its source or what it sends; empty if unknown."""
    # By what it sends, or its source; packages only add a version to that.
    names = framework_names(catalog)
    # A package may be installed beside a server that does not use it.
    used = {_PACKAGES.get(name, name) for name in names}
    if len(used) != 1:
        return ""
    installed = [
        package for software in observed.of(KnownSoftware) for package in software.packages if package.name in used
    ]
    if installed and installed[0].version:
        return f"{installed[0].name} {installed[0].version}"
    return " or ".join(names)


def _prove(request: CheckRequest, target: LoadedTarget, listen: Listener) -> Shown | None:
    """Prove the promises of an open server; None if none is open."""
    if target.server is None:
        return None
    from mcproof.probing.probes.prove import default_checks
    from mcproof.runs.prove import call_target

    return call_target(request.proof, default_checks(explores=True), target, listen)


def _observed(scanned: Scanned, shown: Shown | None) -> Observed:
    """What was observed of a target: by reading it, besides it, and by calling it."""
    observed = scanned.observed
    unlisted = dict.fromkeys((ListStability, SessionIds, ResourceBodies), _LISTED_ONCE)
    observed = observed._replace(missing={**unlisted, **observed.missing})
    if shown is None:
        return observed
    values = [value for value in observed.values if not isinstance(value, ObservedConnection)]
    return observed._replace(values=(*shown.observed, *values), calls_tools=True)
