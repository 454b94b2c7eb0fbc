"""Judge a catalog client by client: works, degraded or breaks, and what to change first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from mcproof.compat.client_profiles import RANK

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcproof.compat.client_choice import ActiveConstraint, ClientChoice
    from mcproof.compat.client_hits import ClientHit

Verdict = Literal["works", "degraded", "breaks"]
VERDICTS: tuple[Verdict, ...] = ("works", "degraded", "breaks")
_VERDICT_OF: dict[str, Verdict] = {"error": "breaks", "warning": "degraded", "note": "works"}
NEIGHBOURS = frozenset({"list_rejected", "request_rejected"})
"""Effects that take the other tools of the server with them."""


class BrokenConstraint(NamedTuple):
    """A constraint of a client that a tool, or the server as a whole, breaks."""

    constraint: str
    rule: str
    effect: str
    status: str
    level: str
    tool: str | None
    """The tool's name; None for the server as a whole."""
    pointer: str
    opt_in: bool
    conditional: bool
    counts: bool
    """Whether it counts for the verdict: current, and neither opt-in nor conditional."""


class ClientOutcome(NamedTuple):
    """What a client makes of a server."""

    client: str
    name: str
    kind: str
    checked: str
    verdict: Verdict
    hits: list[BrokenConstraint]
    through: tuple[str, ...] = ()
    """The model APIs behind it whose constraints decide the verdict."""

    @property
    def loses_all(self) -> bool:
        """Whether one tool takes all others with it."""
        return any(hit.counts and hit.effect in NEIGHBOURS for hit in self.hits)

    def worst_for(self, tool: str) -> BrokenConstraint | None:
        """The worst hit on a tool that counts."""
        own = (hit for hit in self.hits if hit.counts and hit.tool == tool)
        return min(own, key=lambda hit: RANK[hit.effect], default=None)


class Improvement(NamedTuple):
    """A rule whose findings are worth fixing, and what that gains."""

    rule: str
    places: int
    tools: int
    """How many tools break the rule."""
    clients: tuple[str, ...]
    """The names of clients whose verdict gets better."""


def judge_clients(choice: ClientChoice, hits: Iterable[tuple[str | None, ClientHit]]) -> list[ClientOutcome]:
    """Return the outcome for every client, in the order of the profiles."""
    found: dict[str, list[BrokenConstraint]] = {name: [] for name in choice.profiles}
    for tool, hit in hits:
        found[hit.active.profile.id].append(_broken(tool, hit.active, hit.pointer))
    own = {name: _worst(each) for name, each in found.items()}
    outcomes = []
    for name, profile in choice.profiles.items():
        behind = {choice.profiles[api].name: own[api] for api in profile.sends_to if api in own}
        if len(behind) > 1:  # which of them is used is the user's choice
            behind = {api: _at_most_degraded(each) for api, each in behind.items()}
        verdict = max(own[name], *behind.values(), key=VERDICTS.index) if behind else own[name]
        through = tuple(api for api, each in behind.items() if each == verdict != own[name])
        outcomes.append(ClientOutcome(name, profile.name, profile.kind, profile.checked, verdict, found[name], through))
    return outcomes


def _at_most_degraded(verdict: Verdict) -> Verdict:
    return "degraded" if verdict == "breaks" else verdict


def _broken(tool: str | None, active: ActiveConstraint, pointer: str) -> BrokenConstraint:
    fact = active.constraint
    return BrokenConstraint(
        constraint=fact.id,
        rule=fact.rule,
        effect=fact.effect,
        status=fact.status,
        level=fact.level,
        tool=tool,
        pointer=pointer,
        opt_in=fact.opt_in,
        conditional=fact.conditional,
        counts=active.holds,
    )


def _worst(hits: Iterable[BrokenConstraint]) -> Verdict:
    return max((_VERDICT_OF[hit.level] for hit in hits if hit.counts), key=VERDICTS.index, default="works")


def improvements(outcomes: list[ClientOutcome]) -> list[Improvement]:
    """Return the rules to fix, those that improve most clients first."""
    rules = {hit.rule for each in outcomes for hit in each.hits if hit.counts and hit.level != "note"}
    found = [_improvement(rule, outcomes) for rule in rules]
    return sorted(found, key=lambda each: (-len(each.clients), -each.tools, each.rule))


def _improvement(rule: str, outcomes: list[ClientOutcome]) -> Improvement:
    places = {(hit.tool, hit.pointer) for each in outcomes for hit in each.hits if hit.rule == rule and hit.counts}
    better = [
        each.name
        for each in outcomes
        if VERDICTS.index(_worst(hit for hit in each.hits if hit.rule != rule)) < VERDICTS.index(_worst(each.hits))
    ]
    return Improvement(rule, len(places), len({tool for tool, _ in places}), tuple(better))
