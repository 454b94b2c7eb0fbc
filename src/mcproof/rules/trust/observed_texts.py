"""Rules about what texts and addresses of a catalog give away."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcproof.linting.finding import Problem
from mcproof.rules.trust.tool_hits import counted, few, identity
from mcproof.rules.trust.trust_rule import trust_rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.core.catalog.model import Catalog
    from mcproof.poisoning.model_texts import ModelText, ModelTexts

_LONGEST, _MOST = 100_000, 2_000_000
"""How much of one text, and of all texts of a server, is searched for secrets, in characters."""


@trust_rule(
    "no_secret_leakage_in_observed_text",
    name="secret-in-catalog",
    severity="medium",
    category="secrets",
    weight=5,
    dimension="Endpoint hygiene",
    phase="post-handshake",
    sums_up=identity("hits", "pattern", "toolName", "path"),
    withholds_line=True,
)
def no_secret_leakage_in_observed_text(texts: ModelTexts) -> Iterator[Problem]:
    """A text of the catalog contains a secret: a key, a token, or a password in a URL.

    Placeholders are not secrets. The evidence has the kind of secret and its place, never the secret.
    OWASP MCP Top 10: MCP01 Token Mismanagement and Secret Exposure.

    Why: every client that connects reads it, and every model repeats it.
    Fix: revoke the secret, then remove it from the text.
    """
    from mcproof.core.text.secrets import secrets_in

    hits: dict[tuple[str, str, str], dict[str, Any]] = {}
    first: ModelText | None = None
    left = _MOST
    for text in texts.distinct:
        searched = text[: min(_LONGEST, left)]
        left -= len(searched)
        for secret in secrets_in(searched):
            for use in texts.uses(text):
                first = first or use
                tool = use.item.label if use.item.kind == "tool" else None
                hit = {"pattern": secret.pattern, "location": _location(use), "toolName": tool, "path": use.pointer}
                hits.setdefault((secret.pattern, use.item.pointer, use.pointer), hit)
    if first is not None:
        found = list(hits.values())
        kinds = few((hit["pattern"].replace("_", " ") for hit in found), quote="")
        where = few(hit["toolName"] or hit["location"] for hit in found)
        texts_contain = "text contains" if len(found) == 1 else "texts contain"
        message = f"{counted(len(found), texts_contain)} a secret ({kinds}): {where}"
        yield Problem(message, evidence={"hits": found}, near=first.item.pointer + first.pointer)


def _location(use: ModelText) -> str:
    """The member of an item that holds a text, or `instructions` and `serverInfo` of the server."""
    keys = use.pointer.strip("/").split("/")
    if use.item.kind == "server" and keys[0] in {"initialize", "discover"} and len(keys) > 1:
        return keys[1]
    return keys[0] if use.item.kind == "tool" else f"{use.item.kind} {keys[0]}"


@trust_rule(
    "no_dangerous_resource_uris",
    name="dangerous-resource-uris",
    severity="high",
    category="resource",
    weight=6,
    dimension="Tool surface risk",
    phase="post-handshake",
    needs="resources",
    reads=("resources", "resourceTemplates"),
    sums_up=identity("hits", "kind", "uri"),
)
def no_dangerous_resource_uris(catalog: Catalog) -> Iterator[Problem]:
    """A resource or resource template has an address that clients must not open: a file, plain HTTP, a private host.

    Schemes of a server's own, such as `docs://`, are what MCP provides for, and are not reported. Schemes that run or
    carry code, or reach other protocols (`javascript:`, `data:`, `ftp:`, `gopher:`, `ldap:`, …), are.

    Why: clients may fetch resources themselves; such an address reads local files, or reaches internal services and the
    credentials of cloud machines.
    Fix: use `https://` addresses of public hosts, or a scheme of your own that the server resolves.
    """
    from mcproof.core.addresses import danger_of

    hits = []
    first = None
    for item in (*catalog.resources, *catalog.templates):
        key = "uri" if item.kind == "resource" else "uriTemplate"
        uri = item.fields.get(key)
        danger = danger_of(uri) if isinstance(uri, str) else None
        if danger is not None:
            hits.append({"kind": danger.kind, "uri": danger.shown, "name": item.name, "reason": danger.reason})
            first = first or f"{item.pointer}/{key}"
    if first is not None:
        shown = few(hit["uri"] for hit in hits)
        noun = "resource has a dangerous address" if len(hits) == 1 else "resources have dangerous addresses"
        yield Problem(f"{counted(len(hits), noun)}: {shown}", evidence={"hits": hits}, near=first)
