"""`compat`: what breaks in an MCP client or model API, and what to change about it.

The clients and their constraints are data (`checks.clients`); a rule stands for one kind of fault. A finding is one
rule at one place of one tool, with every client it affects, the worst effect first.
Why `lint` reports only certain breaks: docs/decisions/0045-lint-reports-certain-breaks.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from mcproof.checks.clients.profiles import EFFECTS, ActiveConstraint, Constraint, in_a_sentence
from mcproof.checks.findings import Problem, SharedEvidence
from mcproof.checks.rule import Check, rule
from mcproof.checks.rules.compat.table import CLIENT_RULES, ClientRule
from mcproof.checks.subjects import ClientHits
from mcproof.core.text.json_positions import unescape

if TYPE_CHECKING:
    from mcproof.checks.clients.hits import BrokenPlace


_NAMED = 4
"""How many clients a message names for each effect."""
_LONGEST_NAME = 64
_POINTING_AT_NAMES = frozenset({"input.forbids", "input.property_key"})
"""Kinds of constraint whose pointers end in the name of a keyword or parameter."""
_OF_ALL_TOOLS = {
    "request_rejected": "every request with all tools fails in",
    "tool_dropped": "some tools are missing in",
}
_FAULTS = {
    "input.enum_types": "an enum has values that are not strings",
    "input.enum_on": "an enum is on an array or object",
    "input.enum_empty": "an enum has no values, or an empty one",
    "input.enum_shape": "an enum has no values, or repeated ones",
    "input.bytes": "the schema is too large for clients",
    "input.depth": "the schema is too deep for clients",
    "input.properties": "the schema has more properties than clients accept",
    "input.string_total": "the names and values of the schema are too long together",
    "input.enum_total": "the schema has more enum values than clients accept",
    "output.ref": "clients cannot follow a `$ref` of the output schema",
    "output.valid": "the output schema is not valid JSON Schema for clients",
}
"""Faults in more exact words than the rule's, by kind of constraint."""
_PATTERN_FAULTS = {
    "unanchored": "without `^` and `$`",
    "lookaround": "with look-around",
    "shorthand": "with a class such as `\\d`",
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


def _check(client_rule: ClientRule) -> Check[ClientHits]:
    """The check of one rule, documented by its texts."""

    def check(hits: ClientHits) -> Iterator[Problem]:
        return _problems(client_rule, hits.by_rule.get(client_rule.id, []), hits.server_key)

    check.__doc__ = f"{client_rule.summary}\n\nWhy: {client_rule.why}\nFix: {client_rule.advice}"
    return check


def _problems(client_rule: ClientRule, places: list[BrokenPlace], server_key: str) -> Iterator[Problem]:
    for pointer, tool, affected in places:
        if affected.summary is None:
            clients = [_evidence(active) for active in affected.constraints]
            affected.summary = in_words(affected.constraints), SharedEvidence(clients=clients)
        effects, evidence = affected.summary
        worst = affected.constraints[0].constraint
        fault = _FAULTS.get(worst.kind, client_rule.message)
        if worst.kind == "input.pattern":
            fault = f"{fault} {' or '.join(_PATTERN_FAULTS[form] for form in worst.params['forbid'])}"
        if affected.depends_on_key:
            fault = f"{fault} with the server name `{_cropped(server_key)}` before it"
            evidence = {"server_key": server_key, **evidence}
        elif client_rule.naming and worst.kind in _POINTING_AT_NAMES:
            fault = client_rule.naming.format(_cropped(unescape(pointer.rpartition("/")[2])))
        message = f"{fault}: {effects}"
        yield Problem(message, pointer, _parameter(pointer), evidence, item=tool, severity=affected.level)


for client_rule in CLIENT_RULES:
    rule(
        ClientHits,
        client_rule.id,
        ruleset="compat",
        name=client_rule.name,
        severity="error",
        category=client_rule.category,
        fixable=client_rule.fixable,
        same_as=client_rule.same_as,
    )(_check(client_rule))


def _cropped(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"


def in_words(broken: list[ActiveConstraint]) -> str:
    """The effects of broken constraints with the clients they are in, the worst first."""
    clients: dict[str, list[str]] = {}
    some_depend_on_key = any(active.depends_on_key for active in broken)
    for active in broken:
        fact, name = active.constraint, active.profile.name
        effect = _WORDS.get(fact.kind, {}).get(fact.effect) or EFFECTS[fact.effect][1]
        names = clients.setdefault(effect, [])
        when = "even without it" if some_depend_on_key and not active.depends_on_key else _restriction(fact)
        if when:  # in brackets, inside those that the name has
            name = f"{name[:-1]}; {when})" if name.endswith(")") else f"{name} ({when})"
        if name not in names:
            names.append(name)
    return "; ".join(
        f"{effect} {', '.join(names[:_NAMED])}{f' and {len(names) - _NAMED} more' if len(names) > _NAMED else ''}"
        for effect, names in clients.items()
    )


def _restriction(fact: Constraint) -> str:
    """The models or builds that a fact applies to, its age if it is dated, and whether it is disputed."""
    reported = f"last reported in {fact.last_report[:7]}" if fact.status == "dated" and fact.sources else ""
    disputed = "documented, but users report the opposite" if fact.disputed else ""
    return "; ".join(filter(None, (fact.when, reported, disputed)))


def _evidence(active: ActiveConstraint) -> dict[str, Any]:
    """A constraint as JSON; many findings share one."""
    cached = _EVIDENCE.get(id(active))
    if cached is None or cached[0] is not active:
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
            **({"doubt": fact.doubt} if fact.doubt else {}),
        }
        cached = _EVIDENCE[id(active)] = (active, record)
    return cached[1]


_EVIDENCE: dict[int, tuple[ActiveConstraint, dict[str, Any]]] = {}


def _parameter(pointer: str) -> str | None:
    """The parameter that a pointer leads into, if it does."""
    tokens = pointer.split("/")
    return unescape(tokens[3]) if tokens[1:3] == ["inputSchema", "properties"] and len(tokens) > 3 else None
