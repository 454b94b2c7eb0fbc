"""MCP Apps: the pages that tools point at with `_meta`, and the domains that these pages may reach.

A page is a resource with a `ui://` address. What it may reach is declared beside it in the list, and again in what
`resources/read` returns, which counts more.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from mcproof.core.named_tuple import NamedTuple

if TYPE_CHECKING:
    from mcproof.core.catalog.model import Catalog, Tool

SCHEME = "ui://"
_RULE = "TRU-121"
LINKS = (("ui", "resourceUri"), ("ui/resourceUri",), ("openai/outputTemplate",))
"""The spellings of a tool's link in `_meta`: that of the extension, its first form, and that of ChatGPT."""
MIME_TYPES = {"ui": "text/html;profile=mcp-app", "openai": "text/html+skybridge"}
_POLICIES = (("ui", "csp"), ("openai/widgetCSP",))
_DIRECTIVES = {
    "connectDomains": "connect",
    "connect_domains": "connect",
    "frameDomains": "frame",
    "frame_domains": "frame",
    "resourceDomains": "resource",
    "resource_domains": "resource",
}


class AppDomain(NamedTuple):
    """An address outside the server that the page of an app may reach."""

    uri: str
    """The address of the page."""
    use: str
    """`connect` (requests), `frame` (pages inside it) or `resource` (scripts, styles, images)."""
    domain: str


class Apps(NamedTuple):
    """The apps of a server."""

    uris: tuple[str, ...] = ()
    domains: tuple[AppDomain, ...] = ()

    @property
    def not_applicable(self) -> Mapping[str, str]:
        """The rules that do not concern the server, with the reason."""
        return {} if self.uris else {_RULE: "the server has no MCP Apps"}

    def with_contents(self, uri: str, result: Any) -> Apps:
        """The same with what a page declares when it is read."""
        contents = result.get("contents") if isinstance(result, dict) else None
        metas = [_below(content, ("_meta",)) for content in (contents if isinstance(contents, list) else ())]
        if not any(map(_policies, metas)):
            return self
        domains = [domain for domain in self.domains if domain.uri != uri]
        domains += [domain for meta in metas for domain in _domains(uri, meta)]
        return self._replace(domains=tuple(dict.fromkeys(domains)))


def apps_of(catalog: Catalog) -> Apps:
    """The apps that a catalog lists or that its tools point at."""
    listed = [(resource.fields.get("uri"), resource.fields.get("_meta")) for resource in catalog.resources]
    pages = [(uri, meta) for uri, meta in listed if isinstance(uri, str) and uri.startswith(SCHEME)]
    uris = [uri for uri, _ in pages]
    uris += [uri for tool in catalog.tools for _, uri in app_links(tool) if isinstance(uri, str)]
    domains = [domain for uri, meta in pages for domain in _domains(uri, meta)]
    return Apps(tuple(dict.fromkeys(uris)), tuple(dict.fromkeys(domains)))


def app_links(tool: Tool) -> Iterator[tuple[tuple[str, ...], Any]]:
    """The links of a tool to its app: the keys below `_meta`, and what is there."""
    for keys in LINKS:
        value = _below(tool.fields.get("_meta"), keys)
        if value is not None:
            yield keys, value


def _below(value: Any, keys: tuple[str, ...]) -> Any:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _policies(meta: Any) -> list[dict[str, Any]]:
    policies = (_below(meta, keys) for keys in _POLICIES)
    return [policy for policy in policies if isinstance(policy, dict)]


def _domains(uri: str, meta: Any) -> Iterator[AppDomain]:
    for policy in _policies(meta):
        for key, use in _DIRECTIVES.items():
            domains = policy.get(key)
            for domain in domains if isinstance(domains, list) else ():
                if isinstance(domain, str) and domain not in ("data:", "blob:", "'self'", "'none'"):
                    yield AppDomain(uri, use, domain)
