"""The tool graph as a picture: arranged the same each time, readable, without anything that runs."""

from __future__ import annotations

import re

import pytest

from mcproof.checks.texts.tool_graph import KINDS, ToolEdge, ToolGraph
from mcproof.report.blocks import Graph
from mcproof.report.html.page import environment, page_environment
from mcproof.report.html.parts import MOST_GRAPH_ROWS, graph_picture


def graph_with(count: int, name: str = "tool_{}") -> ToolGraph:
    """A graph in which each tool but the last two names the next."""
    names = tuple(name.format(number) for number in range(count))
    edges = tuple(
        ToolEdge(names[at], names[at + 1], KINDS[at % 3], f"Sentence {at}.", "/description") for at in range(count - 2)
    )
    return ToolGraph(names, edges)


def rendered(graph: ToolGraph) -> str:
    template = page_environment().from_string('{% from "blocks.html" import draw with context %}{{ draw([graph], 2) }}')
    return template.render(graph=Graph(graph, "58 edges"))


def test_sixty_tools_have_a_row_each() -> None:
    picture = graph_picture(graph_with(61))

    assert len(picture.rows) == 60
    assert len({row.y for row in picture.rows}) == 60
    assert all(later.y - earlier.y >= 16 for earlier, later in zip(picture.rows, picture.rows[1:], strict=False))
    assert picture.height >= picture.rows[-1].y
    assert len(picture.arcs) == 59
    assert picture.isolated == 1


def test_the_picture_of_a_graph_is_always_the_same() -> None:
    assert rendered(graph_with(30)) == rendered(graph_with(30))


def test_every_coordinate_is_inside_the_picture() -> None:
    edge = ToolEdge("tool_0", "tool_59", "commands", "Far away.", "/description")
    graph = graph_with(60)._replace(edges=(*graph_with(60).edges, edge))
    picture = graph_picture(graph)

    for arc in picture.arcs:
        x, y, across, half, *_ = (float(number) for number in re.findall(r"[\d.]+", arc.path))
        assert 0 <= y <= picture.height
        assert x + across <= picture.width
        assert half <= picture.height


def test_a_large_graph_is_cut_and_says_so() -> None:
    picture = graph_picture(graph_with(500))

    assert len(picture.rows) == MOST_GRAPH_ROWS
    assert picture.rows_left_out == 499 - MOST_GRAPH_ROWS
    assert "419 more tools left out of the picture" in rendered(graph_with(500))


def test_names_and_sentences_cannot_inject_markup() -> None:
    page = rendered(graph_with(5, "<script>alert({})</script>"))

    assert "<script" not in page
    assert "&lt;script&gt;" in page


def test_the_markup_runs_and_loads_nothing() -> None:
    page = rendered(graph_with(20))

    assert not re.search(r"<script|<style|style=|href=|src=|\son\w+=", page)
    assert page.count("<path") == 18
    assert 'role="img"' in page


@pytest.mark.parametrize("kind", KINDS)
def test_the_style_sheet_has_a_tone_for_every_kind(kind: str) -> None:
    source, _, _ = environment().loader.get_source(environment(), "report.css")  # type: ignore[union-attr]

    assert f".{kind}" in source
