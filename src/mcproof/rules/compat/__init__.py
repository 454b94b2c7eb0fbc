"""`compat`: what breaks in an MCP client or model API.

The clients and their constraints are data (`mcproof.compat`); a rule stands for one kind of fault. A finding is one
rule at one place of one tool, with every client it affects, the worst effect first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.compat.client_profiles import EFFECTS
from mcproof.compat.constraint_words import in_a_sentence
from mcproof.linting.finding import Problem, SharedEvidence
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
_LONGEST_NAME = 64
_POINTING_AT_NAMES = frozenset({"input.forbids", "input.property_key"})
"""Kinds of constraint whose pointers end in the name of a keyword or parameter."""
_OF_ALL_TOOLS = {
    "request_rejected": "every request with all tools fails in",
    "tool_dropped": "some tools are missing in",
}
_WORDS = {
    **dict.fromkeys(("tools.max", "tools.bytes", "optional_params.max", "union_params.max"), _OF_ALL_TOOLS),
    "list.pages": {"tool_dropped": "the tools of other pages are missing in"},
    "name.combined": {"truncated": "the name is cut in"},
    "description.max": {"truncated": "the end is cut off in"},
    "param_description.max": {"truncated": "the end is cut off in"},
    "instructions.max": {"truncated": "the end is cut off in"},
}
"""Effects in more exact words, by kind of constraint."""


def _check(each: ClientRule) -> Check:
    """The check of one rule, documented by its texts."""

    def check(hits: ClientHits) -> Iterator[Problem]:
        for pointer, tool, affected in hits.by_rule[each.id]:
            if affected.summary is None:
                clients = [_evidence(active) for active in affected.constraints]
                affected.summary = in_words(affected.constraints), SharedEvidence(clients=clients)
            effects, evidence = affected.summary
            fault = each.message
            if affected.depends_on_key:
                fault = f"{fault} with the server name `{_cropped(hits.server_key)}` before it"
                evidence = {"server_key": hits.server_key, **evidence}
            elif each.naming and affected.constraints[0].constraint.kind in _POINTING_AT_NAMES:
                fault = each.naming.format(_cropped(unescape(pointer.rpartition("/")[2])))
            message = f"{fault}: {effects}"
            yield Problem(message, pointer, _parameter(pointer), evidence, item=tool, severity=affected.level)

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
        same_as=_each.same_as,
    )(_check(_each))


def _cropped(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"


def in_words(broken: list[ActiveConstraint]) -> str:
    """The effects of broken constraints with the clients they are in, the worst first."""
    clients: dict[str, list[str]] = {}
    some_depend_on_key = any(each.depends_on_key for each in broken)
    for active in broken:
        fact, name = active.constraint, active.profile.name
        effect = _WORDS.get(fact.kind, {}).get(fact.effect) or EFFECTS[fact.effect][1]
        names = clients.setdefault(effect, [])
        when = "even without it" if some_depend_on_key and not active.depends_on_key else fact.when
        client = f"{name} ({when})" if when else name
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
