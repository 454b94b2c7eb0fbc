"""The `initialize` entry of the document: name, version and instructions of the server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcproof.core.catalog.model import FROM_SOURCE
from mcproof.discovery.frameworks.servers import ServerInfo
from mcproof.discovery.interp.builtin_values import unwrapped

if TYPE_CHECKING:
    from mcproof.discovery.frameworks.mcp_domain import McpDomain
    from mcproof.discovery.frameworks.servers import ServerValue


def render_server_info(domain: McpDomain, chosen: list[ServerValue] | None = None) -> dict[str, Any]:
    """What the server reports when a client connects; of several servers, all or the chosen, what they share."""
    servers = _serving(domain) if chosen is None else [each for each in chosen if not each.is_given]
    known: dict[str, str] = {}
    for key in ServerInfo.FIELDS if servers else ():
        values = {value if isinstance(value := unwrapped(each), str) else None for each in _given(domain, servers, key)}
        only = values.pop()
        if only and not values:
            known[key] = str(only)
    info = {key: known[key] for key in ("name", "version") if key in known}
    made: dict[str, Any] = {"serverInfo": info} if info else {}
    if "instructions" in known:
        made["instructions"] = known["instructions"]
    return {**made, "_meta": {FROM_SOURCE: True}} if made else {}


def _serving(domain: McpDomain) -> list[ServerValue]:
    """The servers that clients may connect to."""
    created = [each for each in domain.servers if not each.mounted and not each.is_given]
    if any(each.is_given and each.items for each in domain.servers):
        return created  # any of them may be the one that is passed
    return [each for each in created if each.items or each.mounts or each.handlers] or created


def _given(domain: McpDomain, servers: list[ServerValue], key: str) -> list[Any]:
    """The values of one field; the options that a low-level server is started with take precedence."""
    if domain.initializations and servers[0].framework == "lowlevel":
        option = key if key == "instructions" else f"server_{key}"
        return [each.kwargs.get(option) for each in domain.initializations]
    return [getattr(each.info, key) for each in servers]
