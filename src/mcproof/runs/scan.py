"""Collect what `scan` judges besides the catalog of a target."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.checks.engine import Observed, Unjudged
from mcproof.client.endpoints import UrlEndpoint
from mcproof.core.observations.perimeter import Exposure

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcproof.client.connect import ConnectOptions
    from mcproof.client.endpoints import Endpoint
    from mcproof.core.catalog.model import Catalog, Tool
    from mcproof.core.errors import McproofError
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
        from mcproof.source import flows_of
        from mcproof.source.python.flows.configuration import source_configuration

        facts += [flows_of(catalog.source), source_configuration(source.name)]
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
