"""From what a description says to what it lacks: the losses of each component, each with its share of the component."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.scores.description.lexicon import NEEDS_NUMBER, OBLIGATIONS
from mcproof.scores.description.reading import CUE_CONTENT, amount, content_of, gives_example, stem, stems_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcproof.catalog import Tool
    from mcproof.scores.description.lexicon import Aspect
    from mcproof.scores.description.reading import Reading, Sentence

ENOUGH_WORDS = 10
"""Words that say something, beyond which a description is not more complete for having more of them."""
LONG = 2_048
"""Characters beyond which clients cut a description."""
_BOUNDS = frozenset(
    ("enum", "const", "pattern", "format", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
) | {"minLength", "maxLength", "minItems", "maxItems"}


class Loss(NamedTuple):
    """Something that a description lacks."""

    what: str
    share: float
    """How much of the component it costs, from 0 to 1."""


class Subject(NamedTuple):
    """A tool and what its description says."""

    tool: Tool
    reading: Reading
    parameters: dict[str, Any]
    """The parameters that a caller is meant to see; not all of a hostile number."""


def purpose(subject: Subject) -> list[Loss]:
    """Whether the first sentence says what the tool does, which is what an agent chooses by."""
    opening = subject.reading.sentences[0]
    if not opening.content - stems_of(subject.tool.name):
        return [Loss("the first sentence only repeats the name", 0.8)]
    if amount(opening.content) < CUE_CONTENT:
        return [Loss("the first sentence is vague", 0.4)]
    return []


def usage(subject: Subject) -> list[Loss]:
    """Whether it says when to use the tool, and when another."""
    when, other = _told(subject.reading, "usage"), _told(subject.reading, "alternative")
    if not when + other:
        return [Loss("does not say when to use it", 1.0)]
    if (when and other) or when + other > 2:
        return []
    return [Loss("does not say when to use another", 0.4 if when + other == 1 else 0.2)]


def limits(subject: Subject) -> list[Loss]:
    """Whether it says what the tool cannot do, needs or must not be given."""
    told = _told(subject.reading, "limits")
    if told:
        return [Loss("names few limits", 0.4 if told == 1 else 0.2)] if told < 3 else []
    bounded = any(isinstance(schema, dict) and not _BOUNDS.isdisjoint(schema) for schema in subject.parameters.values())
    if bounded or _told(subject.reading, "bounds"):
        return [Loss("no limits but those of its parameters", 0.6)]
    return [Loss("no limits", 1.0)]


def parameters(subject: Subject) -> list[Loss]:
    """Whether every parameter is explained, in the text or in the schema: one is as good as the other."""
    required = subject.tool.schema.get("required") if subject.tool.schema is not None else None
    needed = {name for name in required if isinstance(name, str)} if isinstance(required, list) else set()
    in_text = _explained(subject)
    whole = told = 0.0
    missing = []
    for name, schema in subject.parameters.items():
        weight = 2 if name in needed else 1
        share = 1.0 if name.lower() in in_text else _explained_by_schema(name, schema, subject.reading)
        whole, told = whole + weight, told + weight * share
        if share < 1:
            missing.append(name)
    if not missing:
        return []
    count = len(missing)
    what = f"parameter `{missing[0][:40]}` is" if count == 1 else f"{count} of {len(subject.parameters)} parameters are"
    return [Loss(f"{what} not explained", 1 - told / whole)]


def examples(subject: Subject) -> list[Loss]:
    """Whether it shows a call, a value or a case."""
    sentences = subject.reading.sentences
    has_literal = any(each.has_literal for each in sentences)
    told = _told(subject.reading, "examples")
    if (told and has_literal) or any(each.has_call or each.section == "examples" for each in sentences):
        return []
    if told:
        return [Loss("its example shows no value", 0.3)]
    if has_literal or any(map(_has_example, subject.parameters.values())):
        return [Loss("shows values, but no example of a call", 0.5)]
    return [Loss("no example", 1.0)]


def completeness(subject: Subject) -> list[Loss]:
    """Whether it says what comes back and enough to go by, and no more than that."""
    losses = []
    if not subject.tool.fields.get("outputSchema") and not _told(subject.reading, "returns"):
        losses.append(Loss("no return format", 0.6))
    words = amount(_on_topic(subject))
    if words < ENOUGH_WORDS:
        losses.append(Loss("says little", 0.4 * (1 - words / ENOUGH_WORDS)))
    if len(subject.tool.description) > LONG:
        losses.append(Loss(f"longer than {LONG:,} characters", 0.2))
    if subject.reading.idle:
        says = "sentence says" if subject.reading.idle == 1 else "sentences say"
        losses.append(Loss(f"{subject.reading.idle} {says} nothing new", min(0.2, 0.1 * subject.reading.idle)))
    return losses


def _told(reading: Reading, aspect: Aspect) -> int:
    """How many sentences tell of an aspect, each in another way than those before it."""
    ways: set[str] = set()
    told = 0
    for sentence in reading.sentences:
        if amount(sentence.content) < CUE_CONTENT:
            continue
        cues = {cue for cue, about in sentence.cues if about == aspect}
        if aspect == "limits" and cues:
            cues = _limiting(sentence, cues)
        if sentence.section == aspect:
            cues.add("section")
        told += not cues <= ways
        ways |= cues
    return told


def _limiting(sentence: Sentence, cues: set[str]) -> set[str]:
    """The cues that do name a limit where they stand."""
    if any(about == "usage" for _, about in sentence.cues):
        cues = cues - OBLIGATIONS
    return cues if any(token[0].isdigit() for token in sentence.tokens) else cues - NEEDS_NUMBER


def _explained(subject: Subject) -> set[str]:
    """The parameters that the text names and says something about, in lower case."""
    names = {name.lower(): stems_of(name) for name in subject.parameters}
    stems = {stem(name) for name in names}
    found: set[str] = set()
    for sentence in subject.reading.sentences:
        for name in names.keys() & set(sentence.tokens):
            if name not in found and sentence.content - stems - names[name]:
                found.add(name)
    return found


def _explained_by_schema(name: str, schema: Any, reading: Reading) -> float:
    """How far a parameter is explained by its schema, or by being mentioned."""
    fields = schema if isinstance(schema, dict) else {}
    own, text = stems_of(name), fields.get("description")
    if isinstance(text, str) and content_of(text) - own:
        return 1.0
    return 0.4 if text or "enum" in fields or own <= reading.stems else 0.0


def _has_example(schema: Any) -> bool:
    if not isinstance(schema, dict):
        return False
    text = schema.get("description")
    return bool(schema.get("examples")) or (isinstance(text, str) and gives_example(text))


def _on_topic(subject: Subject) -> Iterable[str]:
    """What the sentences say that belong together: each takes up a word of those before, or tells of an aspect."""
    topic = set(stems_of(subject.tool.name)).union(*map(stems_of, subject.parameters))
    said: set[str] = set()
    for sentence in subject.reading.sentences:
        tells = sentence.section is not None or (sentence.cues and amount(sentence.content) >= CUE_CONTENT)
        if not said or tells or not topic.isdisjoint(sentence.content):
            said |= sentence.content
            topic |= sentence.content
    return said
