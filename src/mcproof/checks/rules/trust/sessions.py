"""Rules about what a live server reports of itself and shows in several connections."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from mcproof.checks.findings import Problem
from mcproof.checks.rules.trust.rule import few, identity, near, trust_rule
from mcproof.core.catalog.model import Catalog
from mcproof.core.observations.connection import ENOUGH_BITS, ListStability, SessionIds
from mcproof.core.observations.perimeter import Exposure
from mcproof.core.observations.probes import ReadCalls

_SHOWN = 20
"""How many tools the evidence names."""
_POISONING = "TRU-1"
"""The prefix of the ids of rules about poisoned texts."""


def _hides_poison(evidence: Mapping[str, Any], _exposure: Exposure) -> bool:
    """Whether a tool that other clients see has a poisoned text."""
    return bool(evidence.get("fires"))


@trust_rule(
    ListStability,
    "TRU-205",
    "unstable-list",
    "medium",
    category="drift",
    dimension="Metadata transparency",
    phase="post-handshake",
    hard_fail=_hides_poison,
    chosen=("weight",),
)
def unstable_list(stability: ListStability) -> Iterator[Problem]:
    """The server lists other tools to another client, or at another moment.

    Why: what was reviewed is not what the agent gets; a server can hide a tool from scanners this way.
    Fix: list the same tools to every client, in every session, before and after `notifications/initialized`.

    The tools are listed under two client names, `mcproof` and that of a common client, before and after the handshake
    is complete, and compared by hash; the order and `_meta` do not count. A list that the server refuses before
    `initialized` is not compared. The severity is high, and the verdict `block`, if a rule about poisoned texts reports
    a tool that only another client sees. OWASP MCP03; SAFE-T1001.
    """
    usual = stability.usual
    others = [reading for reading in stability.readings if usual is not None and reading.tools != usual.tools]
    if usual is None or not others:
        return
    other = others[-1]
    differing = sorted({name for name, _ in set(usual.tools) ^ set(other.tools)})
    fires = _poisoning_rules(stability)
    reported = f"; reported by {', '.join(fires)}" if fires else ""
    places = f"to `{other.client}` {other.moment} than to `{usual.client}` {usual.moment}"
    yield Problem(
        f"lists {few(differing)} differently {places}{reported}",
        evidence={
            "tools": differing[:_SHOWN],
            "readings": [
                {"client": reading.client, "moment": reading.moment, "tools": len(reading.tools), "hash": reading.hash}
                for reading in stability.readings
            ],
            "fires": fires,
        },
        severity="high" if fires else None,
    )


def _poisoning_rules(stability: ListStability) -> list[str]:
    """The rules about poisoned texts that report a tool which the usual list does not have."""
    if not stability.unseen_tools:
        return []
    import json  # here, with the modules below, as few servers list different tools

    from mcproof.checks.engine import check
    from mcproof.checks.rule import rules_of
    from mcproof.targets.snapshots import read_snapshot

    text = json.dumps({"tools": list(stability.unseen_tools)}).encode()
    # A judgement of a sentence never blocks alone, so only rules that are certain count: those of `lint`.
    rules = [
        rule
        for rule in rules_of("trust")
        if rule.id.startswith(_POISONING) and rule.severity != "info" and rule.traits.in_lint
    ]
    return sorted({finding.rule.id for finding in check(read_snapshot(text, "unseen"), rules)})


@trust_rule(
    SessionIds,
    "TRU-503",
    "weak-session-ids",
    "high",
    category="transport",
    dimension="Transport security",
    phase="post-handshake",
    chosen=("severity", "weight"),
)
def weak_session_ids(ids: SessionIds) -> Iterator[Problem]:
    """The session ids of the server can be guessed.

    Why: whoever knows the id of a session can send requests in it and read its results.
    Fix: make the id from a cryptographic random source, such as a version 4 UUID.

    Five handshakes are compared: the ids must be distinct, have 128 bits by their alphabet and length, not count up,
    and consist of visible ASCII characters (MCP 2025-11-25, Session Management). The ids themselves are not kept.
    Not applicable to the stateless era. Guessable ids are high, other defects medium. An id and severity of mcproof's
    own.
    """
    if ids.ids < 2:  # one id alone may come from any generator
        return
    defects = {
        "repeated": ids.distinct < ids.ids and "two handshakes got the same id",
        "counts_up": ids.counts_up and "they count up",
        "time_based": ids.is_time_based and "they are made from the time",
        "too_short": ids.bits < ENOUGH_BITS and f"they have at most {ids.bits} bits, not {ENOUGH_BITS}",
        "not_visible_ascii": not ids.is_visible_ascii and "they have characters that a header may not have",
    }
    present = {kind: words for kind, words in defects.items() if words}
    if present:
        is_guessable = bool({"repeated", "counts_up", "time_based"} & set(present))
        message = f"weak session ids: {'; '.join(present.values())}"
        evidence = {"defects": list(present), "handshakes": ids.handshakes, "bits": ids.bits}
        yield Problem(message, evidence=evidence, severity="high" if is_guessable else "medium")


@trust_rule(
    ReadCalls,
    "active_probe_read_tools_honor_their_schema",
    "compliant-call-rejected",
    "medium",
    category="behaviour",
    weight=4,
    dimension="Tool surface risk",
    phase="post-handshake",
)
def active_probe_read_tools_honor_their_schema(calls: ReadCalls) -> Iterator[Problem]:
    """A read-only tool rejects arguments that its own schema accepts.

    Why: an agent that follows the schema cannot use the tool, and what the schema says cannot be relied upon.
    Fix: describe in the schema what the tool requires, or accept what the schema allows.

    Only with `--deep`, and only on this machine: up to three tools that declare `readOnlyHint` are called. A JSON-RPC
    error fails; a result with `isError` or a lost connection does not.
    """
    hits = [
        {"toolName": call.tool, "outcome": "rejected_compliant_input", "detail": call.detail}
        for call in calls.calls
        if call.outcome == "rejected"
    ]
    if hits:
        names = ", ".join(f"`{hit['toolName']}`" for hit in hits)
        yield Problem(f"rejects arguments that the schema accepts: {names}", evidence={"hits": hits})


MOST_TOOLS = 50
_catalog_rule = partial(trust_rule, Catalog, category="server", phase="post-handshake")


@_catalog_rule(
    "initialize_advertises_protocol_version",
    "no-protocol-version",
    "low",
    weight=3,
    dimension="MCP discovery posture",
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


@_catalog_rule("mcp_tools_list_succeeded", "no-tools-list", "info", weight=1, dimension="MCP discovery posture")
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


@_catalog_rule("tool_count_is_reasonable", "too-many-tools", "low", weight=2, dimension="Exposure minimization")
def tool_count_is_reasonable(catalog: Catalog) -> Iterator[Problem]:
    """A server has more than 50 tools.

    Why: nobody reviews that many, models choose worse among them, and each is one more way in.
    Fix: split the server by audience, or offer tools in groups that users enable.
    """
    count = len(catalog.tools)
    if count > MOST_TOOLS:
        yield Problem(f"the server has {count:,} tools", evidence={"count": count, "threshold": MOST_TOOLS})


@_catalog_rule(
    "all_tools_have_descriptions",
    "tools-without-description",
    "low",
    category="description",
    weight=3,
    dimension="Metadata transparency",
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


@_catalog_rule(
    "initialize_advertises_server_info",
    "no-server-info",
    "info",
    weight=2,
    dimension="Metadata transparency",
    needs="server",
)
def initialize_advertises_server_info(catalog: Catalog) -> Iterator[Problem]:
    """The server does not report its name.

    Why: advisories, allow-lists and logs identify servers by name.
    Fix: set `serverInfo.name`.
    """
    if catalog.describes_server and not _text(catalog, "name"):
        evidence = {"serverInfo": catalog.server_info or None}
        yield Problem("the server does not report its name", evidence=evidence, near=catalog.server_info_pointer)


@_catalog_rule(
    "initialize_advertises_server_version",
    "no-server-version",
    "info",
    weight=1,
    dimension="Metadata transparency",
    needs="server",
)
def initialize_advertises_server_version(catalog: Catalog) -> Iterator[Problem]:
    """The server does not report its version.

    Why: without it, known vulnerabilities cannot be ruled out.
    Fix: set `serverInfo.version` to the version of the release.
    """
    if catalog.describes_server and not _text(catalog, "version"):
        evidence = {"serverInfo": {key: catalog.server_info.get(key) for key in ("name", "version")}}
        yield Problem("the server does not report its version", evidence=evidence, near=catalog.server_info_pointer)


def _text(catalog: Catalog, key: str) -> str:
    value = catalog.server_info.get(key)
    return value.strip() if isinstance(value, str) else ""
