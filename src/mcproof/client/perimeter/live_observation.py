"""All that a scan observes of a live server besides its catalog."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcproof.client.endpoints import UrlEndpoint
from mcproof.client.perimeter.endpoint_probes import observe_perimeter
from mcproof.client.perimeter.probe_http import LIMITS
from mcproof.client.perimeter.read_only_requests import call_readers, offered_resources, read_resources
from mcproof.client.perimeter.session_probes import observe_sessions
from mcproof.core.addresses import is_this_machine
from mcproof.core.observations.connection import ServerIdentity
from mcproof.core.observations.probes import ReadCalls

if TYPE_CHECKING:
    from mcproof.client.connect import ConnectOptions
    from mcproof.client.connection import Connection
    from mcproof.client.endpoints import Endpoint
    from mcproof.client.perimeter.probe_http import ProbeLimits
    from mcproof.client.perimeter.read_only_requests import ArgumentsFor
    from mcproof.core.catalog.model import Catalog
    from mcproof.core.observations.perimeter import PerimeterFacts

REMOTE = "tools are called only on this machine"


async def observe_server(
    server: Endpoint,
    options: ConnectOptions,
    catalog: Catalog | None,
    *,
    arguments_for: ArgumentsFor | None = None,
    limits: ProbeLimits = LIMITS,
) -> tuple[Any, ...]:
    """The facts for the `trust` rules: each element is of a class that is the scope of rules.

    `catalog` is what the server serves; None if it does not speak MCP, or refuses access: then only its perimeter is
    observed. Tools are called only in a deep scan: one that passes `arguments_for`, which makes their arguments. Never
    raises because of the server.
    """
    facts: list[Any] = []
    perimeter: PerimeterFacts | None = None
    if isinstance(server, UrlEndpoint):
        perimeter, authorization = await observe_perimeter(server, limits)
        facts += [perimeter, *([] if authorization is None else [authorization])]
    if catalog is None or catalog.connection is None:
        return tuple(facts)
    if perimeter is not None and (identity := _identity(catalog, perimeter)) is not None:
        facts.append(identity)

    bodies = offered_resources(catalog)
    calls = ReadCalls(why_none="" if may_call(server) else REMOTE)

    async def read(connection: Connection) -> None:
        nonlocal bodies, calls
        bodies = await read_resources(connection, catalog, server)
        if arguments_for is not None and may_call(server):
            calls = await call_readers(connection, catalog, server, arguments_for)

    stability, ids = await observe_sessions(server, options, catalog.connection, read)
    return (*facts, stability, ids, bodies, *([] if arguments_for is None else [calls]))


def may_call(server: Endpoint) -> bool:
    """Whether a deep scan may call tools: only those of a server that runs on this machine."""
    from urllib.parse import urlsplit

    return not isinstance(server, UrlEndpoint) or is_this_machine(urlsplit(server.url).hostname or "")


def _identity(catalog: Catalog, perimeter: PerimeterFacts) -> ServerIdentity | None:
    """The names of a server; None if it reports none."""
    name = catalog.server_info.get("name")
    if not isinstance(name, str) or not name:
        return None
    certificate = None if perimeter.tls is None else perimeter.tls.certificate
    return ServerIdentity(
        name=name,
        hostname=perimeter.hostname,
        is_internal=perimeter.internal_kind is not None,
        common_name="" if certificate is None else certificate.common_name,
        alternative_names=() if certificate is None else certificate.alternative_names,
    )
