"""Helpers: observe a server and run the rules on what was seen."""

from __future__ import annotations

import asyncio
import gc
from typing import TYPE_CHECKING, Any, TypeVar

from client.running import PATIENT, captured
from mcproof.checks.engine import check, is_of_catalog
from mcproof.checks.rule import rules_of
from mcproof.checks.subjects import Observed
from mcproof.client.connect import ConnectOptions
from mcproof.client.endpoints import UrlEndpoint
from mcproof.client.http.fetch import FetchLimits
from mcproof.client.perimeter.endpoint import observe_perimeter
from mcproof.client.perimeter.observe import observe_server
from mcproof.runs.scan import usual_arguments
from mcproof.targets.snapshots import read_snapshot
from servers.web import Web

if TYPE_CHECKING:
    from mcproof.checks.findings import Finding
    from mcproof.client.endpoints import Endpoint
    from mcproof.client.perimeter.endpoint import PerimeterObservation
    from mcproof.core.catalog.model import Catalog

W = TypeVar("W", bound=Web)
LIMITS = FetchLimits(seconds=30)
"""Limits that no good server reaches on a busy machine; a test of a limit lowers that one."""
BRIEF = FetchLimits(seconds=0.5)


def web(kind: type[W], **attributes: Any) -> W:
    """A server with attributes that differ from its class."""
    server = kind()
    for name, value in attributes.items():
        setattr(server, name, value)
    return server


def perimeter(url: str, limits: FetchLimits = LIMITS, **headers: str) -> PerimeterObservation:
    """What is observed around a server."""
    observed = asyncio.run(observe_perimeter(UrlEndpoint(url, headers), limits))
    gc.collect()  # whatever is left open shows now, and not in some other test
    return observed


def catalog_of(endpoint: Endpoint) -> Catalog:
    seen = captured(endpoint)
    catalog = read_snapshot(seen.text.encode(), "capture.json")
    catalog.connection = seen.connection
    return catalog


def facts_of(endpoint: Endpoint, *, is_deep: bool = False) -> tuple[Any, ...]:
    """All facts of a server that speaks MCP."""
    options = ConnectOptions(PATIENT)
    seen = asyncio.run(
        observe_server(
            endpoint, options, catalog_of(endpoint), arguments_for=usual_arguments if is_deep else None, limits=LIMITS
        )
    )
    gc.collect()
    return seen


def findings(*facts: Any) -> dict[str, Finding]:
    """The findings of the `trust` rules about facts other than the catalog, by rule."""
    empty = read_snapshot(b'{"server": {}, "initialize": {}, "tools": []}', "empty.json")
    rules = [rule for rule in rules_of("trust") if not is_of_catalog(rule.subject)]
    found = check(empty, rules, observed=Observed(tuple(each for each in facts if each is not None)))
    assert len({each.rule.id for each in found}) == len(found)
    return {each.rule.id: each for each in found}


def fact(facts: tuple[Any, ...], name: str) -> Any:
    """The fact of a class."""
    return next(each for each in facts if type(each).__name__ == name)
