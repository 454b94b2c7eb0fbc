"""The usefulness of a tool's description to an agent: a score from 0 to 1, and the cost of each omission.

No model is involved: each sentence is checked for six things an agent needs. Filler and repetition count for
nothing, so length alone gains nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Any

from mcproof.checks.scores.description_text import (
    FEW_WORDS,
    ParsedDescription,
    amount,
    explains_parameter,
    gives_example,
    parse_description,
    repeats,
    says_more,
    stem,
    stems_of,
)
from mcproof.core.catalog.model import Tool
from mcproof.core.named_tuple import NamedTuple

ENOUGH_WORDS = 8
"""Content words beyond the name; more than these do not make a description more complete."""
LONG = 2_048
"""Clients cut descriptions beyond this many characters."""
_BOUNDS = frozenset(
    ("enum", "const", "pattern", "format", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
) | {"minLength", "maxLength", "minItems", "maxItems"}


_WORDS_OF_REPETITION = {True: "only repeats the name", False: "says no more than the name"}
"""The loss of a text, by whether its words are those of the name, or others that carry no content."""


class Loss(NamedTuple):
    """Something a description lacks."""

    what: str
    share: float
    """The share of the component it costs, from 0 to 1."""


class Subject(NamedTuple):
    """A tool and its parsed description."""

    tool: Tool
    parsed: ParsedDescription
    parameters: dict[str, Any]
    """The parameters callers are meant to see, up to a limit."""


def purpose(subject: Subject) -> list[Loss]:
    """Whether the first sentence says what the tool does, which is what agents choose by."""
    opening = subject.parsed.sentences[0]
    name = stems_of(subject.tool.name)
    if not opening.content - name:
        return [Loss(f"the first sentence {_WORDS_OF_REPETITION[repeats(opening, name)]}", 0.8)]
    if amount(opening.content) < FEW_WORDS:
        return [Loss("the first sentence is vague", 0.4)]
    return []


def usage(subject: Subject) -> list[Loss]:
    """Whether it says when to use the tool, and when to use another."""
    when, other = subject.parsed.covered.get("usage", 0), subject.parsed.covered.get("alternative", 0)
    if not when + other:
        return [Loss("does not say when to use it", 1.0)]
    if (when and other) or when + other > 2:
        return []
    return [Loss("does not say when to use another", 0.4 if when + other == 1 else 0.2)]


def limits(subject: Subject) -> list[Loss]:
    """Whether it says what the tool cannot do, needs or does not accept."""
    covered = subject.parsed.covered.get("limits", 0)
    if covered:
        return [Loss("names only one limit", 0.3)] if covered == 1 else []
    bounded = any(isinstance(schema, dict) and not _BOUNDS.isdisjoint(schema) for schema in subject.parameters.values())
    if bounded or subject.parsed.covered.get("bounds", 0):
        return [Loss("no limits except those of its parameters", 0.6)]
    return [Loss("no limits", 1.0)]


def parameters(subject: Subject) -> list[Loss]:
    """Whether every parameter is explained, in the text or in the schema."""
    unexplained = [name for name, schema in subject.parameters.items() if not _is_explained_by(schema, name)]
    if not unexplained:
        return []
    in_text = _explained_by_text(subject)
    unexplained = [name for name in unexplained if name.lower() not in in_text]
    if not unexplained:
        return []
    required = subject.tool.schema.get("required") if subject.tool.schema is not None else None
    needed = {name for name in required if isinstance(name, str)} if isinstance(required, list) else set()
    mentioned = subject.parsed.stems()
    whole = sum(2 if name in needed else 1 for name in subject.parameters)
    lost = 0.0
    for name in unexplained:
        hinted = stems_of(name) <= mentioned or _has_hint(subject.parameters[name])
        lost += (2 if name in needed else 1) * (0.6 if hinted else 1.0)
    if len(unexplained) == 1:
        return [Loss(f"parameter `{unexplained[0][:40]}` is not explained", lost / whole)]
    return [Loss(f"{len(unexplained)} of {len(subject.parameters)} parameters are not explained", lost / whole)]


def examples(subject: Subject) -> list[Loss]:
    """Whether it shows a call, a value or a case."""
    sentences = subject.parsed.sentences
    has_literal = any(sentence.has_literal for sentence in sentences)
    covered = subject.parsed.covered.get("examples", 0)
    if (covered and has_literal) or any(sentence.has_call for sentence in sentences):
        return []
    if covered:
        return [Loss("its example shows no value", 0.3)]
    if has_literal or any(map(_has_example, subject.parameters.values())):
        return [Loss("shows values, but no example of a call", 0.5)]
    return [Loss("no example", 1.0)]


def completeness(subject: Subject) -> list[Loss]:
    """Whether it says what is returned and has enough content, and not too much."""
    losses = []
    if not subject.tool.fields.get("outputSchema") and not subject.parsed.covered.get("returns", 0):
        losses.append(Loss("no return format", 0.6))
    words = amount(_on_topic(subject))
    if words < ENOUGH_WORDS:
        losses.append(Loss("little content", 0.4 * (1 - words / ENOUGH_WORDS)))
    if len(subject.tool.description) > LONG:
        losses.append(Loss(f"longer than {LONG:,} characters", 0.2))
    if subject.parsed.idle:
        says = "sentence says" if subject.parsed.idle == 1 else "sentences say"
        losses.append(Loss(f"{subject.parsed.idle} {says} nothing new", min(0.2, 0.1 * subject.parsed.idle)))
    return losses


def _explained_by_text(subject: Subject) -> set[str]:
    """The parameters that the text names and explains, in lower case."""
    names = {name.lower(): stems_of(name) for name in subject.parameters}
    others = frozenset(map(stem, names))
    explained: set[str] = set()
    for sentence in subject.parsed.sentences:
        for name in names.keys() & set(sentence.tokens) - explained:
            if explains_parameter(sentence.tokens, name, others | names[name]):
                explained.add(name)
    return explained


def _is_explained_by(schema: Any, name: str) -> bool:
    text = schema.get("description") if isinstance(schema, dict) else None
    return isinstance(text, str) and says_more(text, stems_of(name))


def _has_hint(schema: Any) -> bool:
    return isinstance(schema, dict) and ("enum" in schema or bool(schema.get("description")))


def _has_example(schema: Any) -> bool:
    if not isinstance(schema, dict):
        return False
    text = schema.get("description")
    return bool(schema.get("examples")) or (isinstance(text, str) and gives_example(text))


def _on_topic(subject: Subject) -> set[str]:
    """The content beyond the name of related sentences: each repeats a word of another, or covers an aspect."""
    name = stems_of(subject.tool.name)
    topic = set(name).union(*map(stems_of, subject.parameters))
    content: set[str] = set()
    for sentence in subject.parsed.sentences:
        if not content or sentence.is_about or not topic.isdisjoint(sentence.content):
            content |= sentence.content
            topic |= sentence.content
            if len(content) > len(name) + 2 * ENOUGH_WORDS:  # whatever the script, enough
                break
    return content - name


COMPONENTS = {
    "purpose": (0.20, purpose),
    "usage": (0.15, usage),
    "limits": (0.10, limits),
    "parameters": (0.20, parameters),
    "examples": (0.10, examples),
    "completeness": (0.25, completeness),
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
            omission, _, cost = reason.rpartition(": -")
            costs[omission] = costs.get(omission, 0.0) + float(cost)
        return [f"{omission}: -{cost:.2f}" for omission, cost in sorted(costs.items(), key=lambda item: -item[1])]


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
        components = [_component(*judged) for judged in self.components]
        score = sum(component.score * component.weight for component in components)
        return DescriptionScore(score, tuple(components), "" if self.nothing is None else self.nothing.what)


def description_scores(judged: Iterable[JudgedDescription]) -> dict[str, float]:
    """The scores by tool, to two decimals; the lowest for several tools of one name."""
    scores: dict[str, float] = {}
    for description in judged:
        label, score = description.tool.label, description.score
        scores[label] = min(score, scores.get(label, score))
    return scores


def judge(tool: Tool) -> JudgedDescription:
    """Judge a tool's description."""
    parsed = parse_description(tool.description, stems_of(tool.name))
    # A leading underscore marks internal parameters.
    shown = {name: schema for name, schema in islice(tool.parameters.items(), READ_PARAMETERS) if name[:1] != "_"}
    subject = Subject(tool, parsed, shown)
    nothing = _nothing(tool, parsed)
    # Without parameters, the other components share their weight.
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
        return Loss("no description", 1.0)
    name = stems_of(tool.name)
    if not all(sentence.content <= name for sentence in parsed.sentences):
        return None
    if not any(sentence.content for sentence in parsed.sentences):
        return Loss("says nothing about the tool", 1.0)
    return Loss(_WORDS_OF_REPETITION[all(repeats(sentence, name) for sentence in parsed.sentences)], 1.0)


def _score(losses: list[Loss]) -> float:
    return max(0.0, 1.0 - sum([loss.share for loss in losses])) if losses else 1.0


def _component(name: str, weight: float, losses: list[Loss]) -> Component:
    costs = ((loss.what, loss.share * weight) for loss in losses)
    reasons = tuple(f"{omission}: -{cost:.2f}" for omission, cost in costs if cost >= _LEAST_COST)
    return Component(name, _score(losses), weight, reasons)
