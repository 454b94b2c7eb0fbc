"""The result of `scan` as JSON, in its own document and in a run report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.checks.scores.trust import Action, RuleOutcome, Trust
from mcproof.checks.texts.tool_graph import ToolEdge, ToolGraph

if TYPE_CHECKING:
    from mcproof.results.records import Record


def trust_record(trust: Trust) -> Record:
    return {
        "score": trust.score,
        "verdict": trust.verdict,
        "coverage": trust.coverage,
        "hard_fails": trust.hard_fails,
        "reasons": trust.reasons,
        "actions": [each._asdict() for each in trust.actions],
        "rules": [_rule_outcome_record(each) for each in trust.outcomes],
    }


def _rule_outcome_record(each: RuleOutcome) -> Record:
    return {
        "rule": each.rule,
        "outcome": each.outcome,
        "weight": each.weight,
        "why": each.why,
        "hard_fail": each.is_hard_fail,
        "caps_verdict": each.caps_verdict,
    }


def read_trust(record: Record) -> Trust:
    """Read it from a run report; the schema of run reports holds."""
    return Trust(
        score=record["score"],
        verdict=record["verdict"],
        coverage=record["coverage"],
        hard_fails=record["hard_fails"],
        reasons=record["reasons"],
        actions=[Action(**each) for each in record["actions"]],
        outcomes=[
            RuleOutcome(
                rule=each["rule"],
                outcome=each["outcome"],
                weight=each["weight"],
                why=each["why"],
                is_hard_fail=each["hard_fail"],
                caps_verdict=each["caps_verdict"],
            )
            for each in record["rules"]
        ],
    )


def graph_record(graph: ToolGraph) -> Record:
    return {
        "tools": list(graph.tools),
        "edges": [each._asdict() for each in graph.edges],
        "left_out": graph.left_out,
    }


def read_graph(record: Record) -> ToolGraph:
    """Read a graph from a run report."""
    edges = tuple(ToolEdge(**each) for each in record["edges"])
    return ToolGraph(tuple(record["tools"]), edges, record["left_out"])
