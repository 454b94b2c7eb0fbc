"""The tool graph as a picture: one row for each tool that names another, and an arc for each edge."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mcproof.checks.texts.tool_graph import KINDS
from mcproof.core.console import plural

if TYPE_CHECKING:
    from mcproof.checks.texts.tool_graph import EdgeKind, ToolEdge, ToolGraph

MOST_GRAPH_ROWS, MOST_SENTENCES = 80, 100
"""How many tools a picture has, and how many sentences are listed below it."""
_ROW, _NAMES, _GAP, _WIDEST = 20, 250, 8, 300
"""The height of a row, the width of the names, the space beside them and the width of the widest arc."""
_WORDS: dict[EdgeKind, str] = {"commands": "commands", "hint": "suggests", "mentions": "mentions"}
_NOUNS: dict[EdgeKind, str] = {"commands": "command", "hint": "hint", "mentions": "mention"}


class GraphRow(NamedTuple):
    """A tool in the picture."""

    name: str
    y: int


class GraphArc(NamedTuple):
    """An edge in the picture."""

    kind: EdgeKind
    path: str
    """The line from the source to the target, as SVG has it."""
    head: str
    """The corners of the arrow at the target."""
    spoken: str


class GraphPicture(NamedTuple):
    """A tool graph with the positions of all its parts."""

    width: int
    height: int
    names: int
    """Where the names end."""
    rows: list[GraphRow]
    arcs: list[GraphArc]
    kinds: list[tuple[EdgeKind, str, int]]
    """The kinds of edges that occur, with their word and number."""
    sentences: list[ToolEdge]
    """The edges to list, commands first."""
    rows_left_out: int
    sentences_left_out: int
    isolated: int
    """The number of tools without an edge."""
    spoken: str
    """The picture in a sentence."""


def graph_picture(graph: ToolGraph) -> GraphPicture | None:
    """Arrange a graph, tools in the order of the catalog; None if no tool names another."""
    if not graph.edges:
        return None
    isolated = set(graph.isolated)
    connected = [name for name in graph.tools if name not in isolated]
    shown = connected[:MOST_GRAPH_ROWS]
    height_of = {name: _ROW * number + _ROW // 2 for number, name in enumerate(shown)}
    by_kind = sorted(graph.edges, key=lambda edge: KINDS.index(edge.kind))
    drawn = [edge for edge in reversed(by_kind) if edge.source in height_of and edge.target in height_of]
    counts = {kind: sum(edge.kind == kind for edge in graph.edges) for kind in KINDS}
    return GraphPicture(
        width=_NAMES + 2 * _GAP + _WIDEST,
        height=_ROW * len(shown),
        names=_NAMES,
        rows=[GraphRow(name, y) for name, y in height_of.items()],
        arcs=[_arc(edge, height_of[edge.source], height_of[edge.target]) for edge in drawn],
        kinds=[(kind, _WORDS[kind], count) for kind, count in counts.items() if count],
        sentences=by_kind[:MOST_SENTENCES],
        rows_left_out=len(connected) - len(shown),
        sentences_left_out=len(by_kind) - len(by_kind[:MOST_SENTENCES]) + graph.left_out,
        isolated=len(isolated),
        spoken=", ".join(plural(count, _NOUNS[kind]) for kind, count in counts.items() if count),
    )


def _arc(edge: ToolEdge, start: int, end: int) -> GraphArc:
    """An arc to the right of the names; the further apart the tools, the wider it is."""
    x = _NAMES + _GAP
    distance = abs(end - start)
    across = min(_GAP + distance * 0.4, _WIDEST)
    sweep = 1 if end > start else 0
    path = f"M{x} {start}A{across:.0f} {distance / 2:.0f} 0 0 {sweep} {x + 6} {end}"
    head = f"{x},{end} {x + 7},{end - 4} {x + 7},{end + 4}"
    return GraphArc(edge.kind, path, head, f"{edge.source} {_WORDS[edge.kind]} {edge.target}: {edge.sentence}")
