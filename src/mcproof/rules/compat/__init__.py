"""`compat`: what breaks in an MCP client or model API.

The clients and their constraints are data (`mcproof.compat`); a rule stands for one kind of fault. A finding is one
rule at one place of one tool, with every client it affects, the worst effect first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.compat.client_hits import ClientHit
from mcproof.compat.client_profiles import EFFECTS
from mcproof.compat.constraint_words import in_a_sentence
from mcproof.linting.finding import Problem
from mcproof.linting.registry import rule
from mcproof.rules.compat.client_rules import CLIENT_RULES
from mcproof.text.pointers import unescape

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from mcproof.compat.client_choice import ActiveConstraint
    from mcproof.compat.client_hits import ClientHits
    from mcproof.linting.registry import Check
    from mcproof.rules.compat.client_rules import ClientRule

_NAMED = 4
"""How many clients a message names for each effect."""
_ON_SERVERS = frozenset({"tools.max", "tools.bytes", "optional_params.max", "union_params.max"})
_OF_SERVERS = {
    "request_rejected": "every request with all tools fails in",
    "tool_dropped": "some tools are missing in",
}
"""Effects of constraints on all tools together, where other words apply than for one tool."""


def _check(each: ClientRule) -> Check:
    """The check of one rule, documented by its texts."""

    def check(hits: ClientHits) -> Iterator[Problem]:
        for pointer, tool, affected in hits.by_rule[each.id]:
            if affected.summary is None:
                effects = in_words([ClientHit(active, pointer) for active in affected.constraints])
                evidence = {"clients": [_evidence(active) for active in affected.constraints]}
                affected.summary = f"{each.message}: {effects}", evidence
            message, evidence = affected.summary
            parameter = _parameter(pointer)
            yield Problem(message, pointer, parameter, evidence, item=tool, severity=affected.level)

    check.__doc__ = f"{each.summary}\n\nWhy: {each.why}\nFix: {each.advice}"
    return check


for _each in CLIENT_RULES:
    rule(
        _each.id,
        ruleset="compat",
        name=_each.name,
        severity="error",
        category=_each.category,
        fixable=_each.fixable,
    )(_check(_each))


def in_words(hits: list[ClientHit]) -> str:
    """The effects of hits with the clients they are in, the worst first."""
    clients: dict[str, list[str]] = {}
    for hit in hits:
        fact, name = hit.active.constraint, hit.active.profile.name
        effect = _OF_SERVERS.get(fact.effect) if fact.kind in _ON_SERVERS else None
        names = clients.setdefault(effect or EFFECTS[fact.effect][1], [])
        client = f"{name} ({fact.when})" if fact.when else name
        if client not in names:
            names.append(client)
    return "; ".join(f"{effect} {_few(names)}" for effect, names in clients.items())


def _few(names: list[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def _evidence(active: ActiveConstraint) -> dict[str, Any]:
    """A constraint as JSON; many findings share one."""
    known = _EVIDENCE.get(id(active))
    if known is None or known[0] is not active:
        profile, fact = active.profile, active.constraint
        newest = max(fact.sources, key=lambda source: source.date)
        record = {
            "client": profile.id,
            "constraint": fact.id,
            "effect": fact.effect,
            "status": fact.status,
            "level": active.level,
            "says": in_a_sentence(fact),
            "source": newest.url,
            "date": newest.date,
        }
        known = _EVIDENCE[id(active)] = (active, record)
    return known[1]


_EVIDENCE: dict[int, tuple[ActiveConstraint, dict[str, Any]]] = {}


def _parameter(pointer: str) -> str | None:
    """The parameter that a pointer leads into, if it does."""
    tokens = pointer.split("/")
    return unescape(tokens[3]) if tokens[1:3] == ["inputSchema", "properties"] and len(tokens) > 3 else None
