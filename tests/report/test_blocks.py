"""Documents of blocks: each block has its drawing in each format that shows it, and renderers know no payload."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from mcproof.checks.scores.trust import Trust
from mcproof.checks.texts.tool_graph import ToolGraph
from mcproof.report.blocks import HTML, MARKDOWN, TEXT, Block, Only, blocks_for
from mcproof.report.html.page import page_environment
from mcproof.report.markdown import MarkdownRenderer
from mcproof.report.sections import document_of
from mcproof.report.text import TextRenderer
from mcproof.runs.results import ScanPayload, TargetResult

from .suites import suite_run
from .trials import TRIALS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


CLASSES = {block.__name__ for block in Block.__subclasses__() if block is not Only}
TEMPLATE = page_environment().loader.get_source(page_environment(), "blocks.html")[0]  # type: ignore[union-attr]
DRAWN = {
    TEXT: {name for name in CLASSES if hasattr(TextRenderer, name.lower())},
    MARKDOWN: {name for name in CLASSES if hasattr(MarkdownRenderer, name.lower())},
    HTML: set(re.findall(r'"(\w+)": _\w+', TEMPLATE)),
}


def everything(blocks: Iterable[Any], format: str) -> Iterator[Any]:
    """The blocks that a format shows, those inside others included."""
    for block in blocks_for(format, blocks):
        yield block
        yield from everything(getattr(block, "blocks", ()), format)


@pytest.mark.parametrize("format", DRAWN)
@pytest.mark.parametrize("run", [*TRIALS.values(), suite_run()])
def test_every_block_of_a_document_has_a_drawing(run: Any, format: str) -> None:
    for result in run.targets:
        document = document_of(result)
        shown = [*document.body, *document.after]
        if format != HTML:  # a page has a frame with filters around the findings
            shown += document.findings
        assert {type(block).__name__ for block in everything(shown, format)} <= DRAWN[format]


def test_what_a_format_does_not_draw_is_known() -> None:
    """A new block is drawn by every format, or is shown by some only, and then stands here."""
    undrawn = {name: sorted(CLASSES - drawn) for name, drawn in DRAWN.items()}
    assert undrawn == {
        TEXT: ["Evidence", "Predicted"],
        MARKDOWN: ["Card", "Changes", "Deductions", "Evidence", "Headline", "Hint", "Names", "Tokens", "Weakest"],
        HTML: ["Card", "Changes", "Findings", "Headline", "Hint", "Names", "Sentence", "Weakest"],
    }


@pytest.mark.parametrize("renderer", [TextRenderer, MarkdownRenderer])
def test_renderers_have_no_methods_for_payloads(renderer: type) -> None:
    public = {name for name in vars(renderer) if not name.startswith("_")} - {"format"}
    assert public <= {name.lower() for name in CLASSES}


def test_a_graph_without_edges_is_not_shown() -> None:
    trust = Trust(100, "allow", 1.0, [], [], [], [])
    result = TargetResult("x.json", payload=ScanPayload(trust, ToolGraph(("one", "two"), ())))
    for name in DRAWN:
        shown = everything(document_of(result).blocks, name)
        assert "Graph" not in {type(block).__name__ for block in shown}
