"""Rules about what a server reports of itself and of its list of tools."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.linting.finding import Problem
from mcproof.rules.trust.tool_hits import few, identity, near
from mcproof.rules.trust.trust_rule import trust_rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.core.catalog.model import Catalog

MOST_TOOLS = 50


@trust_rule(
    "initialize_advertises_protocol_version",
    name="no-protocol-version",
    severity="low",
    category="server",
    weight=3,
    dimension="MCP discovery posture",
    phase="post-handshake",
    needs="server",
)
def initialize_advertises_protocol_version(catalog: Catalog) -> Iterator[Problem]:
    """The server does not report the protocol version it speaks.

    In the stateless era, `server/discover` lists the supported versions instead.

    Why: without it a client cannot tell which features and checks to expect.
    Fix: return `protocolVersion` from `initialize`; every SDK does.
    """
    if not catalog.describes_server or "discover" in catalog.server.fields:
        return
    handshake = catalog.server.fields.get("initialize")
    version = handshake.get("protocolVersion") if isinstance(handshake, dict) else None
    if not (isinstance(version, str) and version.strip()):
        message = "the response to `initialize` has no `protocolVersion`"
        yield Problem(message, evidence={"protocolVersion": version}, near=catalog.server.pointer)


@trust_rule(
    "mcp_tools_list_succeeded",
    name="no-tools-list",
    severity="info",
    category="server",
    weight=1,
    dimension="MCP discovery posture",
    phase="post-handshake",
)
def mcp_tools_list_succeeded(catalog: Catalog) -> Iterator[Problem]:
    """A server that offers tools does not list them.

    A server that declares other capabilities, but not `tools`, is not reported.

    Why: what cannot be listed cannot be reviewed.
    Fix: answer `tools/list` with an array, which may be empty.
    """
    declared = catalog.capabilities
    offers_tools = declared is None or "tools" in declared
    is_missing = not catalog.lists_tools or catalog.misses_tools
    if catalog.describes_server and offers_tools and is_missing:
        yield Problem("`tools/list` returned no list of tools", evidence={"toolsListPresent": False})


@trust_rule(
    "tool_count_is_reasonable",
    name="too-many-tools",
    severity="low",
    category="server",
    weight=2,
    dimension="Exposure minimization",
    phase="post-handshake",
)
def tool_count_is_reasonable(catalog: Catalog) -> Iterator[Problem]:
    """A server has more than 50 tools.

    Why: nobody reviews that many, models choose worse among them, and each is one more way in.
    Fix: split the server by audience, or offer tools in groups that users enable.
    """
    count = len(catalog.tools)
    if count > MOST_TOOLS:
        yield Problem(f"the server has {count:,} tools", evidence={"count": count, "threshold": MOST_TOOLS})


@trust_rule(
    "all_tools_have_descriptions",
    name="tools-without-description",
    severity="low",
    category="description",
    weight=3,
    dimension="Metadata transparency",
    phase="post-handshake",
    sums_up=identity("missingFor"),
)
def all_tools_have_descriptions(catalog: Catalog) -> Iterator[Problem]:
    """A tool has no description.

    Why: neither a model nor a reviewer can tell what it does.
    Fix: describe what the tool does, what it changes and what it returns.
    """
    missing = [tool for tool in catalog.tools if tool.knows("/description") and not tool.description.strip()]
    if missing:
        names = [tool.label for tool in missing]
        message = f"{len(names):,} of {len(catalog.tools):,} tools have no description: {few(names)}"
        yield Problem(message, evidence={"missingFor": names}, near=near(missing[0]))


@trust_rule(
    "initialize_advertises_server_info",
    name="no-server-info",
    severity="info",
    category="server",
    weight=2,
    dimension="Metadata transparency",
    phase="post-handshake",
    needs="server",
)
def initialize_advertises_server_info(catalog: Catalog) -> Iterator[Problem]:
    """The server does not report its name.

    Why: advisories, allow-lists and logs identify servers by name.
    Fix: set `serverInfo.name`.
    """
    if catalog.describes_server and not _text(catalog, "name"):
        yield Problem(
            "the server does not report its name",
            evidence={"serverInfo": catalog.server_info or None},
            near=catalog.server_info_pointer,
        )


@trust_rule(
    "initialize_advertises_server_version",
    name="no-server-version",
    severity="info",
    category="server",
    weight=1,
    dimension="Metadata transparency",
    phase="post-handshake",
    needs="server",
)
def initialize_advertises_server_version(catalog: Catalog) -> Iterator[Problem]:
    """The server does not report its version.

    Why: without it, known vulnerabilities cannot be ruled out.
    Fix: set `serverInfo.version` to the version of the release.
    """
    if catalog.describes_server and not _text(catalog, "version"):
        info = catalog.server_info
        yield Problem(
            "the server does not report its version",
            evidence={"serverInfo": {"name": info.get("name"), "version": info.get("version")}},
            near=catalog.server_info_pointer,
        )


def _text(catalog: Catalog, key: str) -> str:
    value = catalog.server_info.get(key)
    return value.strip() if isinstance(value, str) else ""
