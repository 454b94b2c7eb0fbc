"""Judge whether to trust servers, for `scan`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from mcproof.checks.engine import Unjudged, unjudged_rules
from mcproof.checks.rule import CRASHED, VERDICTS, rules_of
from mcproof.checks.scores.trust import trust_score
from mcproof.checks.texts.tool_graph import graph_of
from mcproof.client.errors import ConnectError
from mcproof.core.catalog.model import Catalog
from mcproof.core.text.json_document import JsonText
from mcproof.execution.check_catalog import check_catalog
from mcproof.execution.drift_references import DriftReferences
from mcproof.execution.scan_facts import is_seen_from_outside, observe_target, observe_unlisted
from mcproof.execution.target_run import Checked, TargetRun
from mcproof.results.payloads import ScanPayload
from mcproof.results.run import Gate, Trouble

if TYPE_CHECKING:
    from mcproof.core.errors import McproofError
    from mcproof.execution.check_catalog import CatalogFindings, Plan
    from mcproof.execution.events import Listener
    from mcproof.execution.run_requests import Detail, ScanRequest
    from mcproof.execution.scan_facts import Scanned
    from mcproof.execution.target_run import LoadedTarget
    from mcproof.results.run import RunResult, TargetResult
    from mcproof.targets.arguments import Input

_LEFT_OUT = Unjudged("left out by the user")
_CRASH = Unjudged(f"the rule crashed, see {CRASHED}", is_crash=True)


def scan_targets(request: ScanRequest, listen: Listener) -> RunResult:
    """Judge every target of a request by what can be observed of it."""
    run = TargetRun(request, listen)
    references = DriftReferences(run.inputs, locked=request.locked, against=request.against)

    def check(target: LoadedTarget) -> Checked:
        drift = references.drift(target.source, target.catalog)
        scanned = observe_target(target.source, target.catalog, run.connect_options, is_deep=request.deep)
        if drift is not None:
            scanned = scanned.with_fact(drift)
        return judge(target.catalog, target.plan, scanned, references.gates(drift), request.detail)

    def recover(source: Input, plan: Plan, error: McproofError) -> Checked | None:
        """Judge a server at a URL that could not be listed by its perimeter.

        One that requires authorization has shown all that it shows without credentials. Any other could not be
        connected to, so the run fails whatever its URL and TLS are like.
        """
        scanned = observe_unlisted(source, error, run.connect_options) if isinstance(error, ConnectError) else None
        if scanned is None:
            return None
        catalog = Catalog(source.title, JsonText("{}", {}), tools=[], origin=source.origin)
        checked = judge(catalog, plan, scanned, [], request.detail._replace(lines=False))
        return checked if is_seen_from_outside(source, scanned) else Checked(_unconnected(checked.result, error))

    def judge(catalog: Catalog, plan: Plan, scanned: Scanned, gates: list[Gate], detail: Detail) -> Checked:
        summarize = partial(_payload, catalog, plan, scanned)
        result = check_catalog(catalog, plan, detail, run.tracker, observed=scanned.observed, summarize=summarize)
        payload = result.payload
        if payload.kind != "scan" or payload.trust is None:
            raise ValueError("not a result of a scan")
        verdict, limit = payload.trust.verdict, request.fails_on
        gate = Gate("verdict", limit, verdict, VERDICTS.index(verdict) < VERDICTS.index(limit))
        return Checked(result._replace(gates=[*result.gates, gate, *gates]))

    return run.run(check, recover)


def _unconnected(result: TargetResult, error: McproofError) -> TargetResult:
    """The result of a server that could not be connected to: what was seen of it, and the error as the first reason."""
    payload = result.payload
    if payload.kind == "scan" and payload.trust is not None:
        reasons = [f"no connection over MCP: {error.message}", *payload.trust.reasons]
        payload = payload._replace(trust=payload.trust._replace(reasons=reasons))
    return result._replace(trouble=Trouble.of(error), payload=payload)


def _payload(catalog: Catalog, plan: Plan, scanned: Scanned, found: CatalogFindings) -> ScanPayload:
    """Score all rules of the ruleset: one that crashed or was left out counts as not observed, never as passed."""
    rules = rules_of("trust")
    running = {rule.id for rule in plan.rules}
    unjudged = unjudged_rules(plan.rules, catalog, scanned.observed)
    unjudged |= {rule.id: _LEFT_OUT for rule in rules if rule.id not in running}
    unjudged |= dict.fromkeys(found.crashed, _CRASH)
    trust = trust_score(rules, found.scored, unjudged, scanned.exposure, plan.thresholds)
    return ScanPayload(trust, graph_of(catalog))
