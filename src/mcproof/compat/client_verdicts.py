"""Judge a catalog client by client: works, degraded or breaks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcproof.compat.client_choice import ClientChoice
    from mcproof.compat.client_hits import ClientHit

Verdict = Literal["works", "degraded", "breaks"]
VERDICTS: tuple[Verdict, ...] = ("works", "degraded", "breaks")
"""The verdicts, the best first."""
VERDICT_OF: dict[str, Verdict] = {"error": "breaks", "warning": "degraded", "note": "works"}


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
    """Whether it counts for the verdict: current, neither opt-in nor conditional, and whatever the server is called."""


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
    sends_to: tuple[str, ...] = ()
    """The ids of the model APIs behind it, whose constraints apply too."""


def judge_clients(choice: ClientChoice, hits: Iterable[tuple[str | None, ClientHit]]) -> list[ClientOutcome]:
    """Return the outcome for every client, in the order of the profiles."""
    found: dict[str, list[BrokenConstraint]] = {name: [] for name in choice.profiles}
    for tool, hit in hits:
        found[hit.active.profile.id].append(_broken(tool, hit))
    own = {name: _worst(each) for name, each in found.items()}
    outcomes = []
    for name, profile in choice.profiles.items():
        behind = {choice.profiles[api].name: own[api] for api in profile.sends_to if api in own}
        if len(behind) > 1:  # which of them is used is the user's choice
            behind = {api: _at_most_degraded(each) for api, each in behind.items()}
        verdict = max(own[name], *behind.values(), key=VERDICTS.index) if behind else own[name]
        through = tuple(api for api, each in behind.items() if each == verdict != own[name])
        outcomes.append(
            ClientOutcome(
                client=name,
                name=profile.name,
                kind=profile.kind,
                checked=profile.checked,
                verdict=verdict,
                hits=found[name],
                through=through,
                sends_to=tuple(api for api in profile.sends_to if api in own),
            )
        )
    return outcomes


def _at_most_degraded(verdict: Verdict) -> Verdict:
    return "degraded" if verdict == "breaks" else verdict


def _broken(tool: str | None, hit: ClientHit) -> BrokenConstraint:
    fact = hit.active.constraint
    return BrokenConstraint(
        constraint=fact.id,
        rule=fact.rule,
        effect=fact.effect,
        status=fact.status,
        level=fact.level,
        tool=tool,
        pointer=hit.pointer,
        opt_in=fact.opt_in,
        conditional=fact.conditional,
        counts=hit.active.holds,
    )


def _worst(hits: Iterable[BrokenConstraint]) -> Verdict:
    return max((VERDICT_OF[hit.level] for hit in hits if hit.counts), key=VERDICTS.index, default="works")
