"""The result of `scan` in Markdown: reasons, actions, what was not observed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.report.markdown import code, escaped
from mcproof.report.trust_phrases import action_gain, outcome_counts, unseen_rules

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.checks.scores.trust import Trust
    from mcproof.checks.texts.tool_graph import ToolGraph

_MARKDOWN_EDGES = 30
"""How many edges of the tool graph are listed."""


def trust_sections(trust: Trust, graph: ToolGraph | None) -> Iterator[str]:
    """Write why the verdict is what it is, what to do, and which rules were not judged."""
    yield f"\n{outcome_counts(trust)}.\n"
    if trust.reasons:
        yield "\nWhy:\n\n"
        yield from (f"- {escaped(reason)}\n" for reason in trust.reasons)
    if trust.actions:
        yield "\nWhat to do, the largest gain first:\n\n"
        for number, each in enumerate(trust.actions, 1):
            gain = action_gain(each, trust)
            yield f"{number}. {escaped(each.advice)} ({code(each.rule)}{f': {escaped(gain)}' if gain else ''})\n"
    unseen = unseen_rules(trust)
    if unseen:
        yield "\n| not judged | why |\n| --- | --- |\n"
        for group in unseen:
            yield f"| {', '.join(map(code, group.rules))} | {escaped(group.why)} |\n"
    if graph is not None and graph.edges:
        yield "\n| tool | names | sentence |\n| --- | --- | --- |\n"
        for edge in graph.edges[:_MARKDOWN_EDGES]:
            yield f"| {code(edge.source)} | {edge.kind} {code(edge.target)} | {escaped(edge.sentence)} |\n"
