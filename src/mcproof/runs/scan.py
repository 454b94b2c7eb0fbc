"""Scan targets: judge the catalog with all rules of `trust`, and collect what they judge besides it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from mcproof.checks.rule import CRASHED, VERDICTS, rules_of
from mcproof.checks.scores.trust import Trust, trust_score
from mcproof.checks.subjects import CatalogDrift, Observed, Unjudged
from mcproof.checks.texts.tool_graph import graph_of
from mcproof.client.endpoints import CommandEndpoint, Endpoint, UrlEndpoint
from mcproof.core.catalog.model import Catalog, Tool
from mcproof.core.named_tuple import NamedTuple
from mcproof.core.observations.apps import Apps, apps_of
from mcproof.core.observations.connection import ListStability, ServerIdentity, SessionIds
from mcproof.core.observations.perimeter import Authorization, Exposure, Perimeter
from mcproof.core.observations.probes import Judgements, ReadCalls, ResourceBodies
from mcproof.core.observations.source import KnownSoftware, SourceConfiguration, SourceFlows
from mcproof.core.text.json_document import JsonText
from mcproof.runs.judging import CatalogFindings, Checked, Plan
from mcproof.runs.lint import DriftReferences
from mcproof.runs.loop import LoadedTarget, TargetRun
from mcproof.runs.results import Gate, RunResult, ScanPayload, TargetResult, Trouble

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mcproof.client.connect import ConnectOptions
    from mcproof.core.errors import McproofError
    from mcproof.runs.events import Listener
    from mcproof.runs.requests import Detail, RunSession, ScanRequest
    from mcproof.targets.arguments import Input

    Observer = Callable[[Endpoint, Catalog | None], tuple[Any, ...]]
    """Observes a live server, whose catalog may be known."""

_OF_SOURCE: tuple[type, ...] = (SourceFlows, SourceConfiguration)
_OF_NETWORKS: tuple[type, ...] = (Perimeter, Authorization, ServerIdentity)
_OF_CONNECTIONS: tuple[type, ...] = (ListStability, SessionIds, ResourceBodies)

_NO_SOURCE = Unjudged("the target is not source", concerns=False)
_SOURCE_UNKNOWN = Unjudged("the source of the command is not on this machine, or cannot be read")
_NO_URL = Unjudged("the target is not a URL")
_NOT_LIVE = Unjudged("the target is not a live server")
_STARTED = Unjudged("the server is started by a command, not reached over a network", concerns=False)
_PUBLIC = Unjudged("the server requires no authorization", concerns=False)
_NOT_DEEP = Unjudged("tools are called only with --deep", concerns=False)
_NO_JUDGE = Unjudged("texts are judged only with --judge", concerns=False)
_NO_EARLIER_STATE = Unjudged("nothing to compare with (--locked, --against)", concerns=False)


class Scanned(NamedTuple):
    """What was observed of a target besides its catalog."""

    observed: Observed
    exposure: Exposure
    source: Catalog | None = None
    """What the source of a started server serves; None if there is none, or if it was not read."""

    def with_value(self, value: Any) -> Scanned:
        """The same with one more observation."""
        return self._replace(observed=self.observed.with_values(value))


def observe_target(target: LoadedTarget, observe: Observer) -> Scanned:
    """Observe a target whose catalog was read; `observe` asks a live server."""
    from mcproof.checks.advisories import known_software

    source, catalog = target.source, target.catalog
    values: list[Any] = [
        known_software(catalog, endpoint=source.server, source=source.name if source.is_source else None)
    ]
    started = started_source(source)
    followed = catalog if started is None else started
    if followed.source is not None:
        from mcproof.source.pipeline import configuration_of, flows_of

        # On the project that discovery has followed already, so that source is read once.
        flows = flows_of(followed.source)
        catalog.acts = flows.acts
        values += [flows, configuration_of(followed.source, followed.name)]
    seen = () if source.server is None else observe(source.server, catalog)
    values += seen if any(isinstance(value, Apps) for value in seen) else (*seen, apps_of(catalog))
    observed = target.observed.with_values(*values)._replace(missing=_missing(source))
    return Scanned(observed, _exposure(source, observed), started)


def started_source(source: Input) -> Catalog | None:
    """Read the source that the command of a live server starts; None if it cannot be found or read."""
    if not isinstance(source.server, CommandEndpoint):
        return None
    from mcproof.core.errors import McproofError
    from mcproof.source.packages.installed import source_of_command
    from mcproof.targets.folders import read_source

    path = source_of_command(source.server.words, source.server.directory)
    try:
        return None if path is None else read_source(path, whole=True)
    except McproofError:  # without its source, a server is judged by what it shows
        return None


def observe_unlisted(source: Input, error: McproofError, observe: Observer) -> Scanned | None:
    """Observe a server that could not be listed: its URL, its TLS, its HTTP; None if it has no URL."""
    if not isinstance(source.server, UrlEndpoint):
        return None
    # Not observed is not the same as fine: each of them lowers the coverage.
    unlisted = (*_OF_CONNECTIONS, ServerIdentity, KnownSoftware, Apps)
    missing = {**_missing(source), **dict.fromkeys(unlisted, Unjudged(error.message))}
    observed = Observed(observe(source.server, None), missing, error.message)
    return Scanned(observed, _exposure(source, observed))


def is_seen_from_outside(source: Input, scanned: Scanned) -> bool:
    """Whether a server requires authorization and the user names no credentials, so that nothing more can be seen."""
    refuses_access = scanned.observed.of(Authorization)
    return bool(refuses_access) and isinstance(source.server, UrlEndpoint) and not source.server.headers


def observe_live(
    server: Endpoint, catalog: Catalog | None, options: ConnectOptions, *, is_deep: bool
) -> tuple[Any, ...]:
    """Observe a live server. Raises KeyboardInterrupt after everything that was started has ended."""
    from mcproof.client.perimeter.observe import observe_server
    from mcproof.client.waiting import Interruptible

    values: tuple[Any, ...] = ()

    async def observe() -> None:
        nonlocal values
        values = await observe_server(server, options, catalog, arguments_for=usual_arguments if is_deep else None)

    if not Interruptible().run(observe):
        raise KeyboardInterrupt
    return values


def usual_arguments(tool: Tool) -> dict[str, Any] | None:
    """Arguments that the input schema of a tool accepts; None if there are none."""
    from mcproof.probing.generation.values import valid_arguments

    return None if tool.schema is None else valid_arguments(tool.schema).value


def _exposure(source: Input, observed: Observed) -> Exposure:
    """Who can reach a server: known from the first request, which is sent without credentials."""
    if not isinstance(source.server, UrlEndpoint):
        return Exposure(
            listens_openly=any(configuration.bindings for configuration in observed.of(SourceConfiguration))
        )
    opening = next((perimeter.opening for perimeter in observed.of(Perimeter)), None)
    if opening is None:
        return Exposure(is_http=True, needs_credentials=source.server.has_authorization)
    return Exposure(is_http=True, needs_credentials=opening.status not in range(200, 300))


def _missing(source: Input) -> dict[type, Unjudged]:
    """Why some things cannot be observed of a kind of target."""
    missing: dict[type, Unjudged] = {
        CatalogDrift: _NO_EARLIER_STATE,
        ReadCalls: _NOT_DEEP,
        Judgements: _NO_JUDGE,
    }
    if not source.is_source:
        is_started = isinstance(source.server, CommandEndpoint)
        missing |= dict.fromkeys(_OF_SOURCE, _SOURCE_UNKNOWN if is_started else _NO_SOURCE)
    if isinstance(source.server, UrlEndpoint):
        missing[Authorization] = _PUBLIC
    else:
        missing |= dict.fromkeys(_OF_NETWORKS, _NO_URL if source.server is None else _STARTED)
    if source.server is None:
        missing |= dict.fromkeys(_OF_CONNECTIONS, _NOT_LIVE)
    return missing


_LEFT_OUT = Unjudged("left out by the user")
_CRASH = Unjudged(f"the rule crashed, see {CRASHED}", is_crash=True)


def scan_targets(request: ScanRequest, listen: Listener, session: RunSession) -> RunResult:
    """Judge every target of a request by what can be observed of it."""
    run = TargetRun(request, listen, session)
    references = DriftReferences(run.inputs, locked=request.locked, against=request.against)

    def observe(server: Endpoint, catalog: Catalog | None) -> tuple[Any, ...]:
        # The options are made only for a live server: they bring the client and asyncio, 18 ms.
        return observe_live(server, catalog, run.connect_options, is_deep=request.deep)

    def check(target: LoadedTarget) -> Checked:
        drift = references.drift(target.source, target.catalog)
        scanned = observe_target(target, observe)
        if drift is not None:
            scanned = scanned.with_value(drift)
        if request.judge is not None or request.judge_record is not None:
            from mcproof.runs.judge import judgements

            scanned = scanned.with_value(judgements(target.catalog, request))
        return judge(target, scanned).with_gates(references.gates(drift))

    def recover(source: Input, plan: Plan, error: McproofError) -> Checked | None:
        """Judge a server at a URL that could not be listed by its perimeter.

        One that requires authorization has shown all that it shows without credentials. Any other could not be
        connected to, so the run fails whatever its URL and TLS are like.
        """
        from mcproof.client.errors import ConnectError

        # Other errors are about mcproof or its input, and say nothing about the server.
        scanned = observe_unlisted(source, error, observe) if isinstance(error, ConnectError) else None
        if scanned is None:
            return None
        catalog = Catalog(source.title, JsonText("{}", {}), tools=[], origin=source.origin)
        # There is no text whose lines could be shown.
        checked = judge(
            LoadedTarget(source, catalog, plan, scanned.observed), scanned, request.detail._replace(lines=False)
        )
        return checked if is_seen_from_outside(source, scanned) else Checked(_unconnected(checked.result, error))

    def judge(target: LoadedTarget, scanned: Scanned, detail: Detail | None = None) -> Checked:
        target = target._replace(plan=target.plan._replace(overrules_comments=True))
        summarize = partial(scan_payload, target, scanned)
        checked = run.judge(target, observed=scanned.observed, detail=detail, summarize=summarize)
        payload = checked.result.payload
        if payload.kind != "scan" or payload.trust is None:
            raise ValueError("not a result of a scan")
        return checked.with_gates([verdict_gate(payload.trust, request.fails_on)])

    return run.run(check, recover)


def verdict_gate(trust: Trust, limit: str) -> Gate:
    """The gate that fails on a verdict, or a worse one."""
    return Gate("verdict", limit, trust.verdict, VERDICTS.index(trust.verdict) < VERDICTS.index(limit))


def _unconnected(result: TargetResult, error: McproofError) -> TargetResult:
    """The result of a server that could not be connected to: what was seen of it, and the error as the first reason."""
    payload = result.payload
    if payload.kind == "scan" and payload.trust is not None:
        reasons = [f"no connection over MCP: {error.message}", *payload.trust.reasons]
        payload = payload._replace(trust=payload.trust._replace(reasons=reasons))
    return result._replace(trouble=Trouble.of(error), payload=payload)


def scan_payload(
    target: LoadedTarget, scanned: Scanned, checked: CatalogFindings, unjudged: Mapping[str, Unjudged]
) -> ScanPayload:
    """Score all rules of the ruleset: one that crashed or was left out counts as not observed, never as passed."""
    rules = rules_of("trust")
    running = {rule.id for rule in target.plan.rules}
    # What the user ignores is not observed; else `--ignore` would buy the verdict.
    left_out = {rule.id: _LEFT_OUT for rule in rules if rule.id not in running}
    unjudged = {**unjudged, **left_out, **dict.fromkeys(checked.crashed, _CRASH)}
    trust = trust_score(rules, checked.scored, unjudged, scanned.exposure, target.plan.thresholds)
    trust = trust._replace(overruled=checked.overruled)
    source = "" if scanned.source is None else scanned.source.name
    return ScanPayload(trust, graph_of(target.catalog), source)
