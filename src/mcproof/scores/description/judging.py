"""From what a description says to a score from 0 to 1, with the cost of everything that is missing."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.scores.description.reading import CUE_CONTENT, amount, content_of, has_cue, has_literal, read, stem, stems_of

if TYPE_CHECKING:
    from mcproof.catalog import Tool
    from mcproof.scores.description.reading import Reading, Sentence

WEIGHTS = {"purpose": 0.2, "usage": 0.15, "limits": 0.15, "parameters": 0.2, "examples": 0.1, "completeness": 0.2}
READ_PARAMETERS = 200
SPECIFIC = 5
LONG = 2_500


class Component(NamedTuple):
    name: str
    score: float
    weight: float
    reasons: tuple[str, ...]


class DescriptionScore(NamedTuple):
    score: float
    components: tuple[Component, ...]


class Loss(NamedTuple):
    what: str
    share: float


def describe_score(tool: Tool) -> DescriptionScore:
    reading = read(tool.description)
    parameters = {k:v for k,v in islice(tool.parameters.items(), READ_PARAMETERS) if not k.startswith("_")}
    losses = {
        "purpose": _purpose(tool, reading),
        "usage": _usage(reading),
        "limits": _limits(reading),
        "parameters": _parameters(reading, parameters, (tool.schema or {}).get("required") or []),
        "examples": _examples(reading, parameters),
        "completeness": _completeness(tool, reading),
    }
    weights = WEIGHTS if parameters else {**WEIGHTS, "parameters": 0.0}
    if not reading.sentences:
        losses = {name: [Loss("no description", 1.0)] for name in losses}
    whole = sum(weights.values())
    components = []
    for name, found in losses.items():
        weight = weights[name] / whole
        components.append(Component(name, max(0.0, 1 - sum(l.share for l in found)), weight, tuple(f"{l.what}: -{l.share*weight:.2f}" for l in found)))
    return DescriptionScore(sum(c.score * c.weight for c in components), tuple(components))


def _purpose(tool, reading):
    if not reading.sentences: return [Loss("none",1)]
    name = stems_of(tool.name)
    opening = reading.sentences[0]
    beyond = amount(opening.content - name)
    if beyond == 0:
        return [Loss("the first sentence only repeats the name", 0.8)]
    if amount(opening.content) < 2:
        return [Loss("the first sentence says little beyond the name", 0.4)]
    return []


def _kinds(reading, aspect):
    found = set()
    n = 0
    for s in reading.sentences:
        if amount(s.content) >= CUE_CONTENT:
            cues = {cue for cue, a in s.cues if a == aspect}
            if aspect == "limits" and any(a == "usage" for _, a in s.cues): cues -= {"must", "important","note"}
            if s.section == aspect: cues.add("section")
            n += bool(cues - found)
            found |= cues
    return n


def _usage(reading):
    usage, other = _kinds(reading, "usage"), _kinds(reading, "alternative")
    if usage and other or usage + other>= 3: return []
    if usage+other==2: return [Loss("nothing about when not",0.2)]
    if usage+other==1: return [Loss("nothing about when not",0.4)]
    return [Loss("does not say when to use it", 1.0)]


def _limits(reading):
    n = _kinds(reading, "limits")
    return [Loss("no limits", 1.0)] if n == 0 else [Loss("only one limit", 0.4)] if n == 1 else [Loss("two",.2)] if n==2 else []


def _parameters(reading, parameters, required):
    if not parameters: return []
    names = {stem(n.lower()) for n in parameters}
    explained = set()
    lowered = {n.lower() for n in parameters}
    for s in reading.sentences:
        for i, t in enumerate(s.tokens):
            if t in lowered and amount(s.content - names - stems_of(t)) >= 1: explained.add(t)
    total = whole = 0.0
    for n, schema in parameters.items():
        w = 2 if n in required else 1
        whole += w
        own = stems_of(n)
        text = schema.get("description") if isinstance(schema, dict) else None
        if n.lower() in explained or isinstance(text, str) and amount(content_of(text) - own) >= 1: total += w
        elif isinstance(text,str) and text or own <= reading.stems or isinstance(schema, dict) and schema.get("enum"): total += 0.4*w
    lost = 1 - total / whole
    return [Loss("not all parameters are explained", lost)] if lost else []


def _examples(reading, parameters):
    literal = any(s.has_literal for s in reading.sentences)
    call = any(s.has_call or s.section == "examples" for s in reading.sentences)
    cue = _kinds(reading, "examples")
    if call or cue and literal: return []
    if cue: return [Loss("example without value",.3)]
    for schema in parameters.values():
        if isinstance(schema, dict):
            text = schema.get("description")
            if schema.get("examples") or isinstance(text,str) and has_cue(text,"examples"): return [Loss("only in schema",.5)]
    if literal: return [Loss("values but no example", 0.5)]
    return [Loss("no example", 1.0)]


def _completeness(tool, reading):
    losses = []
    if not _kinds(reading, "returns"):
        if not tool.fields.get("outputSchema"): losses.append(Loss("no return format", 0.6))
    n=len(reading.sentences)
    said = amount(frozenset().union(*(s.content for s in reading.sentences)))
    if said < 8:
        losses.append(Loss("says little", round(0.4*(1 - said / 8),2)))
    if len(tool.description) > LONG: losses.append(Loss("too long", 0.2))
    return losses
