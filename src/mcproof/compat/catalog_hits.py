"""Everything on a catalog that breaks a constraint of a client, found once for verdicts and findings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.compat.client_hits import ClientChecks, hits_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.compat.client_hits import ClientHit, ClientHits, Found
    from mcproof.core.catalog.model import Catalog, Tool


class CatalogHits:
    """What the server and each tool of one catalog break. Rules take it in place of the checks."""

    def __init__(self, checks: ClientChecks, catalog: Catalog) -> None:
        self._checks = checks
        self._tools = catalog.tools
        self._on_servers: dict[int, list[Found]] = {
            _first_tool(part): checks.find_on_server(part) for part in catalog.by_server()
        }
        """What is found about each server, by its first tool; source code can define several."""
        self._on_tools: dict[int, list[Found]] = {}
        server_key = checks.key_of(catalog)
        for tool in catalog.tools:
            self._on_tools[id(tool)] = checks.find_on_tool(tool, server_key)
            tool.release_tree()

    def all(self) -> Iterator[tuple[str | None, ClientHit]]:
        """Every hit, with the name of its tool."""
        for found in self._on_servers.values():
            for hit in hits_of(found):
                yield (None if hit.tool is None else hit.tool.label), hit
        for tool in self._tools:
            for hit in hits_of(self._on_tools[id(tool)]):
                yield tool.label, hit

    def key_of(self, catalog: Catalog) -> str:
        """The server's name in client configurations."""
        return self._checks.key_of(catalog)

    def places_on_server(self, catalog: Catalog) -> ClientHits | None:
        """The places of a server that break constraints on all tools together; None if there are none."""
        return self._checks.group(self._on_servers[_first_tool(catalog)])

    def places_on_tool(self, tool: Tool, server_key: str) -> ClientHits | None:
        """The places of a tool that break constraints; None if there are none."""
        return self._checks.group(self._on_tools[id(tool)], server_key)


def _first_tool(catalog: Catalog) -> int:
    return id(catalog.tools[0]) if catalog.tools else 0
