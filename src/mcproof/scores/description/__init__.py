"""How useful a tool's description is to an agent: a score from 0 to 1, and what each thing that is missing costs.

No model is asked and nothing is learned: a description is read sentence by sentence for six things that an agent needs.
What says nothing, or says it again, counts for nothing, so that length alone wins nothing.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from mcproof.scores.description import judging
from mcproof.scores.description.reading import read

if TYPE_CHECKING:
    from mcproof.catalog import Catalog, Tool
    from mcproof.scores.description.judging import Loss

COMPONENTS = {
    "purpose": (0.20, judging.purpose),
    "usage": (0.15, judging.usage),
    "limits": (0.10, judging.limits),
    "parameters": (0.20, judging.parameters),
    "examples": (0.10, judging.examples),
    "completeness": (0.25, judging.completeness),
}
"""What makes a description, how much of the score each part is, and who judges it."""
READ_PARAMETERS = 200
"""How many parameters are looked at."""
_LEAST_COST = 0.005


class Component(NamedTuple):
    """One of the things that a description should tell."""

    name: str
    score: float
    weight: float
    """Its part of the score; none where there is nothing to tell, as of the parameters of a tool that takes none."""
    reasons: tuple[str, ...]
    """What is missing, each with what it costs of the whole score, such as "no return format: -0.15"."""


class DescriptionScore(NamedTuple):
    score: float
    components: tuple[Component, ...]

    @property
    def reasons(self) -> list[str]:
        """What is missing, the costliest first."""
        reasons = [reason for component in self.components for reason in component.reasons]
        return sorted(reasons, key=lambda reason: float(reason.rpartition("-")[2]), reverse=True)


def describe_score(tool: Tool) -> DescriptionScore:
    """The score of one description."""
    reading = read(tool.description)
    # A leading underscore is how servers say that a parameter is none of the caller's business.
    shown = {name: schema for name, schema in islice(tool.parameters.items(), READ_PARAMETERS) if name[:1] != "_"}
    whole = 1.0 if shown else 1.0 - COMPONENTS["parameters"][0]
    if not reading.sentences:
        return _nothing_said(tool, whole)
    subject = judging.Subject(tool, reading, shown)
    components = []
    for name, (weight, judge) in COMPONENTS.items():
        applies = bool(shown) or name != "parameters"
        components.append(
            _component(name, weight / whole, judge(subject)) if applies else Component(name, 1.0, 0.0, ())
        )
    return DescriptionScore(sum(each.score * each.weight for each in components), tuple(components))


def description_scores(catalog: Catalog) -> dict[str, float]:
    """The scores by tool, to two decimals; of several tools of one name, the lowest."""
    return {label: score for label, (score, _) in explained_scores(catalog).items()}


def explained_scores(catalog: Catalog) -> dict[str, tuple[float, str]]:
    """The scores by tool, to two decimals, each with what costs it most; nothing where nothing is missing."""
    scores: dict[str, tuple[float, str]] = {}
    for tool in catalog.tools:
        described = describe_score(tool)
        score = round(described.score, 2)
        if tool.label not in scores or score < scores[tool.label][0]:
            scores[tool.label] = (score, next(iter(described.reasons), ""))
    return scores


def _component(name: str, weight: float, losses: list[Loss]) -> Component:
    score = max(0.0, 1.0 - sum(loss.share for loss in losses))
    costs = ((loss.what, loss.share * weight) for loss in losses)
    return Component(name, score, weight, tuple(f"{what}: -{cost:.2f}" for what, cost in costs if cost >= _LEAST_COST))


def _nothing_said(tool: Tool, whole: float) -> DescriptionScore:
    what = "says nothing about the tool" if tool.description.strip() else "no description"
    components = [Component(name, 0.0, weight / whole, ()) for name, (weight, _) in COMPONENTS.items()]
    if whole < 1:
        components = [each._replace(weight=0.0) if each.name == "parameters" else each for each in components]
    components[0] = components[0]._replace(reasons=(f"{what}: -1.00",))
    return DescriptionScore(0.0, tuple(components))
