"""The first request of a connection: `initialize` up to revision 2025-11-25, `server/discover` later."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof import __version__
from mcproof.client.failures import ConnectError
from mcproof.core.observations.connection import cropped
from mcproof.core.protocol import HANDSHAKE

if TYPE_CHECKING:
    from mcproof.client.connection import Connection
    from mcproof.client.peer import RpcResponse

CLIENT = {"name": "mcproof", "version": __version__}
_META = "io.modelcontextprotocol"
_UNSUPPORTED_VERSION = -32022


def meta_of(
    revision: str, capabilities: dict[str, Any] | None = None, client: dict[str, str] | None = None
) -> dict[str, Any]:
    """The `_meta` of every request in the stateless era."""
    return {
        f"{_META}/protocolVersion": revision,
        f"{_META}/clientInfo": client or CLIENT,
        f"{_META}/clientCapabilities": capabilities or {},
    }


class DiscoverResult(NamedTuple):
    """A successful `server/discover`."""

    revision: str
    """The requested revision."""
    result: dict[str, Any]


class Handshake(NamedTuple):
    """A successful `initialize`."""

    revision: str
    """The requested revision."""
    result: dict[str, Any]


async def discover(connection: Connection, revisions: tuple[str, ...]) -> DiscoverResult | str:
    """The result of `server/discover`, or why the server does not seem to support it.

    The first of the revisions is tried, then one that the server supports.
    """
    connection.requested = revisions[0]
    response = await _send_discover(connection)
    supported = _supported(response) if _is_refused(response) else []
    if (common := next((each for each in revisions if each in supported), None)) is not None:
        connection.requested = common
        response = await _send_discover(connection)
    if response.error is None:
        if isinstance(response.result, dict) and "supportedVersions" in response.result:
            return DiscoverResult(connection.requested, response.result)
        return "its `server/discover` result has no `supportedVersions`"
    if not _is_refused(response):
        return f"it responds to `server/discover` with {response.description}"
    listed = _supported(response)
    supports = f"supports {cropped(', '.join(listed))}" if listed else "does not list any"
    if not any(each in HANDSHAKE for each in listed):
        raise ConnectError(f"no common protocol revision: the server {supports}")
    return f"it {supports}"


async def _send_discover(connection: Connection) -> RpcResponse:
    meta = meta_of(connection.requested, connection.respondent.capabilities(connection.requested), connection.client)
    return await connection.transport.peer.request("server/discover", {"_meta": meta})


def _is_refused(response: RpcResponse) -> bool:
    """Whether the server refuses the revision of a request."""
    return response.error is not None and response.error.get("code") == _UNSUPPORTED_VERSION


def _supported(response: RpcResponse) -> list[str]:
    """The revisions that an error lists as supported."""
    data = (response.error or {}).get("data")
    supported = data.get("supported") if isinstance(data, dict) else None
    return [each for each in supported if isinstance(each, str)] if isinstance(supported, list) else []


async def handshake(connection: Connection, revision: str) -> None:
    """Initialize a connection with the handshake, in this revision only."""
    connection.settle("handshake", *await initialize(connection, (revision,)))
    await announce(connection)


async def announce(connection: Connection) -> None:
    """Tell the server that the handshake is done; a notification needs no response, so the wait is short."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(2 * connection.limits.grace):
            await connection.transport.peer.notify("notifications/initialized")


async def initialize(connection: Connection, revisions: tuple[str, ...]) -> Handshake:
    """The result of `initialize`; the first of the revisions is tried, then one that the server supports."""
    requested = revisions[0]
    response = await _send_initialize(connection, requested)
    supported = _supported(response)
    if (common := next((each for each in revisions[1:] if each in supported), None)) is not None:
        requested = common
        response = await _send_initialize(connection, requested)
    if response.error is not None:
        raise ConnectError(f"the server refuses `initialize`: {response.description}")
    return Handshake(requested, response.result if isinstance(response.result, dict) else {})


async def _send_initialize(connection: Connection, revision: str) -> RpcResponse:
    capabilities = connection.respondent.capabilities(revision)
    params = {"protocolVersion": revision, "capabilities": capabilities, "clientInfo": connection.client}
    return await connection.transport.peer.request("initialize", params)
