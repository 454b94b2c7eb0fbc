"""Collect what `scan` judges besides the catalog of a target."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.client.endpoints import UrlEndpoint
from mcproof.exchange.exposure import Exposure
from mcproof.linting.unobserved import Observed, Unjudged

if TYPE_CHECKING:
    from mcproof.catalog.model import Catalog
    from mcproof.errors import McproofError
    from mcproof.execution.run_requests import ScanRequest
    from mcproof.targets.argument import Input

_NO_URL = Unjudged("the target is not a URL")
_STARTED = Unjudged("the server is started by a command, not reached over a network", concerns=False)
_NO_SOURCE = Unjudged("the target is not Python source")
_NO_EARLIER_STATE = Unjudged("nothing to compare with (--locked, --against)", concerns=False)


class Scanned(NamedTuple):
    """What was observed of a target besides its catalog."""

    observed: Observed
    exposure: Exposure

    def with_fact(self, fact: Any) -> Scanned:
        observed = self.observed
        return self._replace(observed=observed._replace(facts=(*observed.facts, fact)))


def observe_target(source: Input, catalog: Catalog, request: ScanRequest) -> Scanned:  # noqa: ARG001
    """Collect the facts about a target whose catalog was read."""
    from mcproof.advisories.collect_software import known_software

    facts: list[Any] = [
        known_software(catalog, endpoint=source.server, source=source.name if source.is_source else None),
    ]
    if catalog.source is not None:
        from mcproof.discovery import flows_of

        facts.append(flows_of(catalog.source))
    is_url = isinstance(source.server, UrlEndpoint)
    has_credentials = isinstance(source.server, UrlEndpoint) and source.server.has_authorization
    return Scanned(Observed(tuple(facts), _absent(source)), Exposure(is_http=is_url, needs_credentials=has_credentials))


def observe_unlisted(source: Input, error: McproofError, request: ScanRequest) -> Scanned | None:  # noqa: ARG001
    """Collect the facts about a server that could not be listed; None if it gave no response at all."""
    return None


def _absent(source: Input) -> dict[str, Unjudged]:
    """Why a kind of target does not show some facts."""
    absent = {"CatalogDrift": _NO_EARLIER_STATE}
    if not source.is_source:
        absent |= dict.fromkeys(("SourceFlows", "SourceConfiguration"), _NO_SOURCE)
    if not isinstance(source.server, UrlEndpoint):
        unreached = _STARTED if source.server is not None else _NO_URL
        absent |= dict.fromkeys(("PerimeterFacts", "AuthorizationFacts"), unreached)
    return absent
