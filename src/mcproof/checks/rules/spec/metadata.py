"""`spec` rules about the server itself, how it serves lists, and metadata: icons, `_meta`, parameter headers.

Some need a live server, such as those about cursors, caching and lists that differ between connections.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from mcproof.checks.findings import Problem
from mcproof.checks.rules.spec.demand import DIALECTS, STATELESS, STRUCTURED, demand, item_demand, shown
from mcproof.checks.rules.spec.tools import ITEMS
from mcproof.core.catalog.model import ODD_MEMBER, Catalog, Item, Tool
from mcproof.core.observations.connection import Anomaly, ObservedConnection
from mcproof.core.schema.keywords import ANNOTATION, header_parameters
from mcproof.core.text.english import words_of
from mcproof.core.text.json_document import kind_of
from mcproof.core.text.json_positions import escape

if TYPE_CHECKING:
    from mcproof.checks.subjects import DatedItem


# Patterns, which `re` compiles on first use: lint must start fast.
_SIZE = r"[0-9]+x[0-9]+|any"
_SAFE_ICON = r"(?i:https|data):"
_LABEL = r"[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_META_NAME = r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"
_ALPHANUMERIC = r"[A-Za-z0-9]+"
_RESERVED = frozenset({"mcp", "modelcontextprotocol"})
_DEFINED = frozenset({"related-task", "model-immediate-response", "serverInfo", "ui", "subscriptionId"})
"""Names under `io.modelcontextprotocol/` that the protocol and its extensions define."""
_VENDORS = {"openai/": "OpenAI", "_fastmcp": "FastMCP", "anthropic/": "Anthropic"}
"""Keys that a client or a framework defines, by how they start."""
_SECRET_WORDS = frozenset(
    {"password", "passwd", "passphrase", "secret", "secrets", "token", "apikey", "credential", "credentials", "jwt"}
)
_SECRET_KEYS = frozenset({"api", "access", "private", "secret", "auth"})
_LONGEST_HEADER_NAME = 200

_icon_demand = partial(item_demand, since=DIALECTS, kinds=(*ITEMS, "server"), needs=(ODD_MEMBER,))
_header_demand = partial(item_demand, source="tools#x-mcp-header", since=STATELESS, needs=(ANNOTATION,))


@_icon_demand("SPEC-050", "icon-address", "warning", "basic#icons")
def icon_address(dated: DatedItem) -> Iterator[Problem]:
    """The address of an icon is neither `https:` nor `data:`.

    Why: clients must reject other schemes, and careful ones refuse `http:`; users see no icon.
    Fix: serve the icon over HTTPS, or embed it as a `data:` URI.
    """
    for pointer, icon in _icons(dated.item):
        source = icon.get("src") if isinstance(icon, dict) else None
        if isinstance(source, str) and re.match(_SAFE_ICON, source) is None:
            yield Problem(f"the icon's address is neither `https:` nor `data:`: {shown(source)}", f"{pointer}/src")


@_icon_demand("SPEC-051", "icon-form", "error", "schema#Icon")
def icon_form(dated: DatedItem) -> Iterator[Problem]:
    """An icon has no `src`, `sizes` that are not a list of `WxH` or `any`, or a `theme` other than `light` and `dark`.

    Why: clients that validate reject the whole list. `sizes` as one string is a form from before the release.
    Fix: write `"sizes": ["48x48"]`, and leave `theme` out if the icon suits both.
    """
    for pointer, icon in _icons(dated.item):
        if not isinstance(icon, dict):
            yield Problem(f"the icon is {kind_of(icon)}, not an object", pointer)
            continue
        if not isinstance(icon.get("src"), str):
            what = f"`src` is {kind_of(icon['src'])}, not a string" if "src" in icon else "the icon has no `src`"
            yield Problem(what, f"{pointer}/src" if "src" in icon else pointer)
        if "sizes" in icon and not isinstance(icon["sizes"], list):
            yield Problem(f"`sizes` is {kind_of(icon['sizes'])}, not a list", f"{pointer}/sizes")
        elif "sizes" in icon:
            odd = [size for size in icon["sizes"] if not isinstance(size, str) or not re.fullmatch(_SIZE, size)]
            if odd:
                what = shown(odd[0]) if isinstance(odd[0], str) else kind_of(odd[0])
                yield Problem(f"`sizes` has {what}, which is neither like `48x48` nor `any`", f"{pointer}/sizes")
        if "theme" in icon and icon["theme"] not in ("light", "dark"):
            yield Problem("`theme` is neither `light` nor `dark`", f"{pointer}/theme")


@item_demand("SPEC-060", "meta-key-format", "warning", "basic#meta", since=STRUCTURED, kinds=ITEMS, needs=("_meta",))
def meta_key_format(dated: DatedItem) -> Iterator[Problem]:
    """A key of `_meta` does not have the required form.

    The form is `name` or `prefix/name`: the prefix is labels with dots between them, each starting with a letter; the
    name starts and ends with a letter or digit. Keys that a client or a framework defines are only notes.

    Why: keys of another form may collide with those of the protocol or of clients.
    Fix: use a domain that you own as the prefix: `com.example/name`. FastMCP adds `_fastmcp` up to version 2;
    `include_fastmcp_meta=False` turns it off.
    """
    for key in _meta(dated.item):
        fault = _meta_key_fault(key)
        if fault is None:
            continue
        vendor = next((name for start, name in _VENDORS.items() if key.startswith(start)), None)
        message = f"the key {shown(key)} {fault}" + (f" ({vendor} defines it)" if vendor is not None else "")
        yield Problem(message, f"/_meta/{escape(key)}", severity=None if vendor is None else "note")


@item_demand("SPEC-061", "meta-key-reserved", "warning", "basic#meta", since=STRUCTURED, kinds=ITEMS, needs=("_meta",))
def meta_key_reserved(dated: DatedItem) -> Iterator[Problem]:
    """A key of `_meta` uses a prefix that is reserved for the protocol.

    Reserved are prefixes whose second label is `mcp` or `modelcontextprotocol`. Keys that the protocol defines are not
    reported.

    Why: a later revision may give the key another meaning.
    Fix: use a domain that you own as the prefix: `com.example/name`.
    """
    for key in _meta(dated.item):
        prefix, slash, name = key.partition("/")
        is_defined = prefix == "io.modelcontextprotocol" and name in _DEFINED
        if slash and not is_defined and not _RESERVED.isdisjoint(prefix.split(".", 2)[1:2]):
            yield Problem(f"the prefix of {shown(key)} is reserved for the protocol", f"/_meta/{escape(key)}")


@_header_demand("SPEC-070", "invalid-parameter-header", "error")
def invalid_parameter_header(dated: DatedItem) -> Iterator[Problem]:
    """An `x-mcp-header` annotation is invalid.

    Why: from revision 2026-07-28 on, clients over HTTP must drop the whole tool, so no model can call it.
    Fix: annotate only parameters of type string, integer or boolean, at the top or below `properties` alone. Give each
    a header name of its own, of letters, digits and hyphens.
    """
    if isinstance(dated.item, Tool) and dated.item.tree is not None:
        for node, message in header_parameters(dated.item.tree).problems:
            yield Problem(message, node.pointer)


@_header_demand("SPEC-071", "secret-parameter-header", "warning", category="security")
def secret_parameter_header(dated: DatedItem) -> Iterator[Problem]:
    """A parameter with a secret is annotated with `x-mcp-header`.

    The name of the parameter or of the header decides.

    Why: headers are visible to proxies and written to logs.
    Fix: remove the annotation; do not pass secrets as arguments at all.
    """
    if isinstance(dated.item, Tool) and dated.item.tree is not None:
        for path, header in header_parameters(dated.item.tree).valid:
            if _says_secret(path[-1]) or _says_secret(header):
                pointer = "".join(f"/properties/{escape(name)}" for name in path)
                message = f"the value of {shown(path[-1])} is sent in the header `Mcp-Param-{header[:60]}`"
                yield Problem(message, f"/inputSchema{pointer}", path[0])


def _icons(item: Item) -> Iterator[tuple[str, Any]]:
    """The icons of an item, or of the server's own description, each with its pointer."""
    base: str = ""
    holder: Any = item.fields
    if item.kind == "server":
        introduction = item.fields.get("initialize")
        base, holder = "/initialize/serverInfo", introduction.get("serverInfo") if type(introduction) is dict else None
    icons = holder.get("icons") if type(holder) is dict else None
    for index, icon in enumerate(icons if isinstance(icons, list) else ()):
        yield f"{base}/icons/{index}", icon


def _meta(item: Item) -> dict[str, Any]:
    meta = item.fields.get("_meta")
    return meta if isinstance(meta, dict) else {}


def _meta_key_fault(key: str) -> str | None:
    """What is wrong with a key of `_meta`; None if its form is right."""
    prefix, slash, name = key.rpartition("/")
    if "/" in prefix:
        return "has more than one `/`"
    if slash and not all(re.fullmatch(_LABEL, label) for label in prefix.split(".")):
        return "has a prefix that is not like `com.example`"
    if not name or re.fullmatch(_META_NAME, name):
        return None
    if re.fullmatch(_ALPHANUMERIC, name[0] + name[-1]):
        return "has characters other than letters, digits, `-`, `_` and `.` in its name"
    return "has a name that does not start and end with a letter or digit"


def _says_secret(name: str) -> bool:
    words = words_of(name[:_LONGEST_HEADER_NAME])
    pairs = pairwise(words)
    return not _SECRET_WORDS.isdisjoint(words) or any(
        first in _SECRET_KEYS and second == "key" for first, second in pairs
    )


_SHOWN = 5
_CURSORS = ("cursor-loop", "endless-pages", "bad-cursor")
_VARIATIONS = ("list-varies", "list-order-varies")


@demand(ObservedConnection, "SPEC-204", "caching-hints", "warning", "caching#cacheable-results", since=STATELESS)
def caching_hints(connection: ObservedConnection) -> Iterator[Problem]:
    """A list has no valid `resultType`, `ttlMs` or `cacheScope`, or pages with different scopes.

    Why: they are required; clients that validate reject the list, others cache it wrongly or not at all.
    Fix: send `"resultType": "complete"`, a non-negative `ttlMs`, and a `cacheScope` of `public` or `private` on every
    page.
    """
    yield from _noted(connection, ("caching-hint",))


@demand(
    ObservedConnection,
    "SPEC-205",
    "varying-list",
    "warning",
    "tools#capabilities",
    since=STATELESS,
    compares_lists=True,
)
def varying_list(connection: ObservedConnection) -> Iterator[Problem]:
    """A second connection lists other tools, or lists them in another order.

    Why: lists must not depend on the connection; clients cache them, and models lose their prompt cache.
    Fix: derive the list from the configuration alone, and sort it.
    """
    yield from _noted(connection, _VARIATIONS)


@demand(ObservedConnection, "SPEC-206", "cursor-advances", "warning", "pagination#response-format", same_as="WIR-006")
def cursor_advances(connection: ObservedConnection) -> Iterator[Problem]:
    """A `nextCursor` does not lead to a next page.

    Why: clients that follow the cursors read the same tools again, or never stop.
    Fix: omit `nextCursor` on the last page, and never return a cursor twice.
    """
    yield from _noted(connection, _CURSORS)


@demand(ObservedConnection, "SPEC-207", "several-pages", "note", "pagination", same_as="CMP-064")
def several_pages(connection: ObservedConnection) -> Iterator[Problem]:
    """The list of tools has more than one page.

    Why: this is allowed, but several clients read only the first page.
    Fix: serve all tools on one page.
    """
    if connection.tool_pages > 1:
        message = f"the list of tools has {connection.tool_pages} pages; several clients read only the first"
        yield Problem(message, evidence={"pages": connection.tool_pages})


@demand(ObservedConnection, "SPEC-208", "discovery", "warning", "discover", since=STATELESS)
def discovery(connection: ObservedConnection) -> Iterator[Problem]:
    """A server of revision 2026-07-28 does not implement `server/discover`.

    Why: it must; clients of this revision do not send `initialize`.
    Fix: respond to `server/discover` with `supportedVersions` and `capabilities`.
    """
    if connection.era == "handshake":
        yield Problem("does not respond to `server/discover`, only to `initialize`")


def _noted(connection: ObservedConnection, kinds: tuple[str, ...]) -> Iterator[Problem]:
    """One problem for each kind of anomaly and method."""
    groups: dict[tuple[str, str | None], list[Anomaly]] = {}
    for anomaly in connection.anomalies:
        if anomaly.kind in kinds:
            groups.setdefault((anomaly.kind, anomaly.method), []).append(anomaly)
    for (kind, method), anomalies in groups.items():
        details = list(dict.fromkeys(anomaly.detail for anomaly in anomalies))
        where = f"`{method}`: " if method is not None else ""
        evidence = {"kind": kind, "count": len(anomalies), "seen": details[:_SHOWN]}
        yield Problem(f"{where}{'; '.join(details[:_SHOWN])}", evidence=evidence)


@demand(Catalog, "SPEC-200", "undeclared-capability", "error", "tools#capabilities")
def undeclared_capability(catalog: Catalog) -> Iterator[Problem]:
    """A server offers tools, resources or prompts, but does not declare the capability.

    Why: clients request only the lists of declared capabilities, so nobody sees these items.
    Fix: declare `tools`, `resources` or `prompts` in the capabilities.
    """
    declared = catalog.capabilities
    if declared is None:
        return
    offers: dict[str, list[Item]] = {
        "tools": [*catalog.tools],
        "resources": [*catalog.resources, *catalog.templates],
        "prompts": [*catalog.prompts],
    }
    for capability, offered in offers.items():
        if offered and capability not in declared:
            message = f"offers {len(offered)} {capability}, but does not declare the capability `{capability}`"
            at = catalog.server.pointer + catalog.capabilities_at
            yield Problem(message, near=at, evidence={"capability": capability})


@demand(Catalog, "SPEC-202", "server-identity", "note", "lifecycle#initialization")
def server_identity(catalog: Catalog) -> Iterator[Problem]:
    """A server does not report its name or its version.

    Why: both are required up to revision 2025-11-25, and recommended later; users and logs cannot tell servers apart.
    Fix: pass the name and the version of the package to the SDK when the server is created.
    """
    if not catalog.describes_server:
        return
    for key, same in (("name", "server-no-name"), ("version", "server-no-version")):
        value = catalog.server_info.get(key)
        if not isinstance(value, str) or not value:
            yield Problem(f"does not report its {key}", near=catalog.server_info_pointer, same_as=same)


@demand(Catalog, "SPEC-203", "deprecated-capability", "note", "deprecated", since=STATELESS)
def deprecated_capability(catalog: Catalog) -> Iterator[Problem]:
    """A server declares the capability `logging`, which revision 2026-07-28 deprecates.

    Why: a later revision removes it.
    Fix: write logs to stderr, or use OpenTelemetry.
    """
    if "logging" in (catalog.capabilities or {}):
        at = f"{catalog.capabilities_at}/logging"
        yield Problem("declares the capability `logging`, which revision 2026-07-28 deprecates", at)
