"""Scan targets: judge the catalog with all rules of `trust`, and collect what they judge besides it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.checks.engine import Observed, Unjudged, unjudged_rules
from mcproof.checks.rule import CRASHED, VERDICTS, rules_of
from mcproof.checks.scores.trust import trust_score
from mcproof.checks.texts.tool_graph import graph_of
from mcproof.client.endpoints import Endpoint, UrlEndpoint
from mcproof.client.errors import ConnectError
from mcproof.core.catalog.model import Catalog, Tool
from mcproof.core.observations.perimeter import Exposure
from mcproof.core.text.json_document import JsonText
from mcproof.runs.judging import CatalogFindings, Plan, check_catalog
from mcproof.runs.lint import DriftReferences
from mcproof.runs.loop import Checked, LoadedTarget, TargetRun
from mcproof.runs.results import Gate, RunResult, ScanPayload, TargetResult, Trouble

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcproof.client.connect import ConnectOptions
    from mcproof.core.errors import McproofError
    from mcproof.runs.events import Listener
    from mcproof.runs.requests import Detail, ScanRequest
    from mcproof.targets.arguments import Input


_OF_SOURCE = ("SourceFlows", "SourceConfiguration")
_OF_NETWORKS = ("PerimeterFacts", "AuthorizationFacts", "ServerIdentity")
_OF_CONNECTIONS = ("ListStability", "SessionIds", "ResourceBodies")

_NO_SOURCE = Unjudged("the target is not Python source", concerns=False)
_NO_URL = Unjudged("the target is not a URL")
_NOT_LIVE = Unjudged("the target is not a live server")
_STARTED = Unjudged("the server is started by a command, not reached over a network", concerns=False)
_PUBLIC = Unjudged("the server requires no authorization", concerns=False)
_NOT_DEEP = Unjudged("tools are called only with --deep", concerns=False)
_NO_EARLIER_STATE = Unjudged("nothing to compare with (--locked, --against)", concerns=False)


class Scanned(NamedTuple):
    """What was observed of a target besides its catalog."""

    observed: Observed
    exposure: Exposure

    def with_fact(self, fact: Any) -> Scanned:
        observed = self.observed
        return self._replace(observed=observed._replace(facts=(*observed.facts, fact)))


def observe_target(source: Input, catalog: Catalog, options: ConnectOptions, *, is_deep: bool = False) -> Scanned:
    """Collect the facts about a target whose catalog was read."""
    from mcproof.checks.advisories import known_software

    facts: list[Any] = [
        known_software(catalog, endpoint=source.server, source=source.name if source.is_source else None)
    ]
    if catalog.source is not None:
        from mcproof.source.python.pipeline import configuration_of, flows_of

        facts += [flows_of(catalog.source), configuration_of(catalog.source, source.name)]
    if source.server is not None:
        facts += observe_live(source.server, options, catalog, is_deep=is_deep)
    return Scanned(Observed(tuple(facts), _absent(source)), _exposure(source, facts))


def observe_unlisted(source: Input, error: McproofError, options: ConnectOptions) -> Scanned | None:
    """Collect the facts about a server that could not be listed: its URL, its TLS, its HTTP; None if it has no URL."""
    if not isinstance(source.server, UrlEndpoint):
        return None
    facts = observe_live(source.server, options, None)
    unlisted = (*_OF_CONNECTIONS, "ServerIdentity", "KnownSoftware")
    absent = {**_absent(source), **dict.fromkeys(unlisted, Unjudged(error.message))}
    return Scanned(Observed(facts, absent, error.message), _exposure(source, facts))


def is_seen_from_outside(source: Input, scanned: Scanned) -> bool:
    """Whether a server requires authorization and the user names no credentials, so that nothing more can be seen."""
    refuses_access = any(type(fact).__name__ == "AuthorizationFacts" for fact in scanned.observed.facts)
    return refuses_access and isinstance(source.server, UrlEndpoint) and not source.server.headers


def observe_live(
    server: Endpoint, options: ConnectOptions, catalog: Catalog | None, *, is_deep: bool = False
) -> tuple[Any, ...]:
    """Observe a live server. Raises KeyboardInterrupt after everything that was started has ended."""
    from mcproof.client.perimeter.observe import observe_server
    from mcproof.client.waiting import Interruptible

    facts: tuple[Any, ...] = ()

    async def observe() -> None:
        nonlocal facts
        facts = await observe_server(server, options, catalog, arguments_for=usual_arguments if is_deep else None)

    if not Interruptible().run(observe):
        raise KeyboardInterrupt
    return facts


def usual_arguments(tool: Tool) -> dict[str, Any] | None:
    """Arguments that the input schema of a tool accepts; None if there are none."""
    from mcproof.probing.generation.values import valid_arguments

    return None if tool.schema is None else valid_arguments(tool.schema).value


def _exposure(source: Input, facts: Iterable[Any]) -> Exposure:
    """Who can reach a server: known from the first request, which is sent without credentials."""
    if not isinstance(source.server, UrlEndpoint):
        bindings = [fact.bindings for fact in facts if type(fact).__name__ == "SourceConfiguration"]
        return Exposure(listens_openly=any(bindings))
    opening = next((fact.opening for fact in facts if type(fact).__name__ == "PerimeterFacts"), None)
    if opening is None:
        return Exposure(is_http=True, needs_credentials=source.server.has_authorization)
    return Exposure(is_http=True, needs_credentials=opening.status not in range(200, 300))


def _absent(source: Input) -> dict[str, Unjudged]:
    """Why a kind of target does not show some facts."""
    absent = {"CatalogDrift": _NO_EARLIER_STATE, "ReadCalls": _NOT_DEEP}
    if not source.is_source:
        absent |= dict.fromkeys(_OF_SOURCE, _NO_SOURCE)
    if isinstance(source.server, UrlEndpoint):
        absent["AuthorizationFacts"] = _PUBLIC
    else:
        absent |= dict.fromkeys(_OF_NETWORKS, _NO_URL if source.server is None else _STARTED)
    if source.server is None:
        absent |= dict.fromkeys(_OF_CONNECTIONS, _NOT_LIVE)
    return absent


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
