"""The usefulness of a tool's description to an agent: a score from 0 to 1, and the cost of each omission.

No model is involved: each sentence is checked for six things an agent needs. Filler and repetition count for nothing,
so length alone gains nothing.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from mcproof.scores.description import losses
from mcproof.scores.description.sentences import parse_description, stems_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcproof.core.catalog.model import Tool
    from mcproof.scores.description.losses import Loss
    from mcproof.scores.description.sentences import ParsedDescription

COMPONENTS = {
    "purpose": (0.20, losses.purpose),
    "usage": (0.15, losses.usage),
    "limits": (0.10, losses.limits),
    "parameters": (0.20, losses.parameters),
    "examples": (0.10, losses.examples),
    "completeness": (0.25, losses.completeness),
}
"""The components of a description, each with its weight and the function that judges it."""
READ_PARAMETERS = 200
"""The most parameters considered."""
_LEAST_COST = 0.005


class Component(NamedTuple):
    """One of the things a description should contain."""

    name: str
    score: float
    weight: float
    """Its share of the score; 0 if it does not apply, such as parameters of a tool without any."""
    reasons: tuple[str, ...]
    """What is missing, each with its cost in the whole score, such as "no return format: -0.15"."""


class DescriptionScore(NamedTuple):
    score: float
    components: tuple[Component, ...]
    nothing: str = ""
    """Why the description contains nothing at all; empty otherwise."""

    @property
    def reasons(self) -> list[str]:
        """What is missing, the costliest first; costs of the same omission in several components are added up."""
        costs: dict[str, float] = {}
        for reason in (reason for component in self.components for reason in component.reasons):
            what, _, cost = reason.rpartition(": -")
            costs[what] = costs.get(what, 0.0) + float(cost)
        return [f"{what}: -{cost:.2f}" for what, cost in sorted(costs.items(), key=lambda each: -each[1])]


class JudgedDescription(NamedTuple):
    """A description with what each component lacks."""

    tool: Tool
    components: list[tuple[str, float, list[Loss]]]
    """The name, weight and losses of each."""
    nothing: Loss | None
    """The loss of a description that contains nothing about the tool."""

    @property
    def score(self) -> float:
        """The score to two decimals."""
        return round(sum([weight * _score(lost) for _, weight, lost in self.components]), 2)

    def explained(self) -> DescriptionScore:
        """The score with the cost of each omission."""
        components = [_component(*each) for each in self.components]
        score = sum(each.score * each.weight for each in components)
        return DescriptionScore(score, tuple(components), "" if self.nothing is None else self.nothing.what)


def describe_score(tool: Tool) -> DescriptionScore:
    """The score of one description, with the cost of each omission."""
    return judge(tool).explained()


def description_scores(judged: Iterable[JudgedDescription]) -> dict[str, float]:
    """The scores by tool, to two decimals; the lowest for several tools of one name."""
    scores: dict[str, float] = {}
    for each in judged:
        label, score = each.tool.label, each.score
        scores[label] = min(score, scores.get(label, score))
    return scores


def judge(tool: Tool) -> JudgedDescription:
    """Judge a tool's description."""
    parsed = parse_description(tool.description, stems_of(tool.name))
    # A leading underscore marks internal parameters.
    shown = {name: schema for name, schema in islice(tool.parameters.items(), READ_PARAMETERS) if name[:1] != "_"}
    subject = losses.Subject(tool, parsed, shown)
    nothing = _nothing(tool, parsed)
    whole = 1.0 if shown else 1.0 - COMPONENTS["parameters"][0]
    components: list[tuple[str, float, list[Loss]]] = []
    for name, (weight, find_losses) in COMPONENTS.items():
        if not shown and name == "parameters":
            components.append((name, 0.0, []))
        else:
            components.append((name, weight / whole, find_losses(subject) if nothing is None else [nothing]))
    return JudgedDescription(tool, components, nothing)


def _nothing(tool: Tool, parsed: ParsedDescription) -> Loss | None:
    """The loss of a description that contains nothing about the tool; it applies to every component."""
    if not tool.description.strip():
        return losses.Loss("no description", 1.0)
    content = frozenset[str]().union(*(sentence.content for sentence in parsed.sentences))
    if not content:
        return losses.Loss("says nothing about the tool", 1.0)
    return None if content - stems_of(tool.name) else losses.Loss("only repeats the name", 1.0)


def _score(losses: list[Loss]) -> float:
    return max(0.0, 1.0 - sum([loss.share for loss in losses])) if losses else 1.0


def _component(name: str, weight: float, losses: list[Loss]) -> Component:
    costs = ((loss.what, loss.share * weight) for loss in losses)
    reasons = tuple(f"{what}: -{cost:.2f}" for what, cost in costs if cost >= _LEAST_COST)
    return Component(name, _score(losses), weight, reasons)
