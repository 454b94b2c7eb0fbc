"""Which description names which tool, and how."""

from __future__ import annotations

import json

from mcproof.checks.texts.tool_graph import ToolGraph, graph_lines, graph_of
from mcproof.targets.snapshots import read_snapshot

TOOLS = {
    "find_ticket": "Find tickets. You must call `open_session` first. Use list_queues to get a queue.",
    "open_session": "Open a session. The result is what close_session takes.",
    "list_queues": "List queues.",
    "close_session": "Close a session, see open_session() for details.",
    "search": "Search everything.",
    "lonely": "Search all of them; queues too.",
    "guide": "Call the search tool. Then it is fine. Always use the `search` tool.",
}


def graph_with(tools: dict[str, str]) -> ToolGraph:
    listed = [{"name": name, "description": text} for name, text in tools.items()]
    return graph_of(read_snapshot(json.dumps(listed).encode(), "case.json"))


def test_edges_have_their_kind_and_sentence() -> None:
    edges = {(edge.source, edge.target): (edge.kind, edge.sentence) for edge in graph_with(TOOLS).edges}

    assert edges == {
        ("find_ticket", "open_session"): ("commands", "You must call `open_session` first."),
        ("find_ticket", "list_queues"): ("hint", "Use list_queues to get a queue."),
        ("open_session", "close_session"): ("mentions", "The result is what close_session takes."),
        ("close_session", "open_session"): ("mentions", "Close a session, see open_session() for details."),
        ("guide", "search"): ("commands", "Always use the `search` tool."),
    }


def test_an_ordinary_word_is_not_the_name_of_a_tool() -> None:
    assert "lonely" in graph_with(TOOLS).isolated


def test_lines_group_the_edges_by_tool() -> None:
    assert graph_lines(graph_with(TOOLS)) == [
        "find_ticket",
        "  commands open_session: You must call `open_session` first.",
        "  suggests list_queues: Use list_queues to get a queue.",
        "open_session",
        "  mentions close_session: The result is what close_session takes.",
        "close_session",
        "  mentions open_session: Close a session, see open_session() for details.",
        "guide",
        "  commands search: Always use the `search` tool.",
        "1 tool without a connection",
    ]


def test_a_graph_without_edges_has_no_lines() -> None:
    assert graph_lines(graph_with({"one": "Do one thing."})) == []
