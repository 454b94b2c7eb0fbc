"""Collect what `scan` judges besides the catalog of a target."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

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
_FIRST = Unjudged("there is no earlier state to compare with (`mcproof lock`, --against)", concerns=False)


class Scanned(NamedTuple):
    """What was observed of a target besides its catalog."""

    observed: Observed
    exposure: Exposure
    is_reached: bool = True
    """Whether the server gave any response."""


def observe(
    source: Input,
    catalog: Catalog | None,  # noqa: ARG001 (for drift)
    request: ScanRequest,  # noqa: ARG001
    error: McproofError | None = None,
) -> Scanned:
    """Collect the facts about a target; `catalog` is None if it could not be read because of `error`."""
    from mcproof.client.endpoints import UrlEndpoint

    facts: list[Any] = []
    absent: dict[str, Unjudged] = {"CatalogDrift": _FIRST}
    endpoint = source.server
    is_url = isinstance(endpoint, UrlEndpoint)
    if not source.is_source:
        absent |= dict.fromkeys(("SourceFlows", "SourceConfiguration"), _NO_SOURCE)
    if not is_url:
        unreached = _STARTED if endpoint is not None else _NO_URL
        absent |= dict.fromkeys(("PerimeterFacts", "AuthorizationFacts"), unreached)
    has_credentials = isinstance(endpoint, UrlEndpoint) and endpoint.has_authorization
    return Scanned(
        Observed(tuple(facts), absent, "" if error is None else error.message),
        Exposure(is_http=is_url, needs_credentials=has_credentials or error is not None),
        is_reached=error is None,
    )
