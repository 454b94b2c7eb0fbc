"""Rules about advisories: known vulnerabilities of the software of a server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcproof.linting.finding import Problem
from mcproof.rules.trust.trust_rule import trust_rule

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mcproof.advisories.advisory_table import AdvisoryHit
    from mcproof.core.observations.perimeter import Exposure
    from mcproof.core.observations.source import KnownSoftware


def _blocks(evidence: Mapping[str, Any], _exposure: Exposure) -> bool:
    """Whether an advisory certainly applies that blocks."""
    return bool(evidence.get("blocking"))


def _package_identity(evidence: dict[str, Any]) -> str:
    return f"{evidence['advisoryId']}\0{evidence['package']}"


@trust_rule(
    "serverInfo_not_in_known_advisory_list",
    name="listed-server",
    severity="critical",
    category="advisory",
    weight=10,
    dimension="Tool surface risk",
    phase="post-handshake",
    hard_fail=_blocks,
    chosen=("severity", "weight"),
)
def server_info_not_in_known_advisory_list(software: KnownSoftware) -> Iterator[Problem]:
    """The server is in the list of known advisories.

    Why: whoever reaches the server, or writes what an agent reads, may use a published vulnerability.
    Fix: update the server; `mcproof advisories PACKAGE` shows the fixed version.

    Name and version are those that the server reports, and those of its package where the command, the source or the
    capture shows them. The rule blocks if the advisory certainly applies: one about HTTP does not block a server that
    may be used over stdio. An unknown version is not checked.
    """
    from mcproof.advisories.advisory_table import advisory_hits

    hits = list(advisory_hits(software, "server"))
    if hits:
        evidence = {
            "hits": [
                {
                    "advisoryId": hit.advisory.id,
                    "serverName": software.server_name or hit.package.name,
                    "serverVersion": hit.version,
                    "reference": hit.advisory.reference,
                }
                for hit in hits
            ],
            "blocking": [hit.advisory.id for hit in hits if _is_blocking(hit)],
        }
        first = hits[0]
        more = f" and {len(hits) - 1} more" if len(hits) > 1 else ""
        yield Problem(
            f"{first.package.name} {first.version} is listed in {first.advisory.id}{more}",
            evidence=evidence,
            severity=None if evidence["blocking"] else min((hit.advisory.severity for hit in hits), key=_RANK.index),
        )


_RANK = ("critical", "high", "medium", "low", "info")


@trust_rule(
    "TRU-401",
    name="known-advisory",
    severity="critical",
    category="advisory",
    dimension="Tool surface risk",
    phase="source",
    hard_fail=_blocks,
    counted_by="serverInfo_not_in_known_advisory_list",
    sums_up=_package_identity,
)
def known_advisory(software: KnownSoftware) -> Iterator[Problem]:
    """The package of the server has a known vulnerability in this version.

    Why: the vulnerability is published, and so is often the way to use it.
    Fix: update to the fixed version; where there is none, use another server.

    The severity is that of the advisory. The rule blocks if the advisory certainly applies. A version that is not
    pinned or not known is not checked. OWASP MCP04.
    """
    yield from _advisory_problems(software, "server")


@trust_rule(
    "TRU-402",
    name="vulnerable-framework",
    severity="high",
    category="advisory",
    dimension="Tool surface risk",
    phase="source",
    sums_up=_package_identity,
)
def vulnerable_framework(software: KnownSoftware) -> Iterator[Problem]:
    """The framework of the server has a known vulnerability in this version.

    Why: most servers leave transports, sessions and authorization to their framework.
    Fix: update the framework, and pin the fixed version or a newer one.

    The severity is that of the advisory. An advisory that needs HTTP does not concern a server that is started over
    stdio. A version that is not pinned or not known is not checked. OWASP MCP04.
    """
    yield from _advisory_problems(software, "framework")


def _advisory_problems(software: KnownSoftware, role: str) -> Iterator[Problem]:
    from mcproof.advisories.advisory_table import advisory_hits

    for hit in advisory_hits(software, role):
        advisory, package = hit.advisory, hit.package
        fixed = f"fixed in {advisory.fixed}" if advisory.fixed is not None else "no fixed version is known"
        condition = f" (if {hit.condition})" if hit.condition else ""
        known = f"{package.name} {hit.version} ({package.known_from})"
        yield Problem(
            f"{known} has {advisory.id}, {advisory.kind}{condition}; {fixed}",
            evidence={
                "advisoryId": advisory.id,
                "package": package.name,
                "ecosystem": package.ecosystem,
                "version": hit.version,
                "knownFrom": package.known_from,
                "vulnerable": advisory.vulnerable,
                "fixed": advisory.fixed,
                "summary": advisory.summary,
                "appliesIf": hit.condition or None,
                "note": advisory.note or None,
                "reference": advisory.reference,
                "blocking": _is_blocking(hit),
            },
            severity=advisory.severity,
        )


def _is_blocking(hit: AdvisoryHit) -> bool:
    return hit.is_certain and hit.advisory.blocks
