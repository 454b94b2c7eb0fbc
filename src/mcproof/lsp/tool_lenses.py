"""A lens over each tool: its tokens in every request, and the score of its description."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from lsprotocol.types import CodeLens, Command

from mcproof.checks.reporting import find_spans, locate
from mcproof.checks.scores.descriptions import judge
from mcproof.checks.scores.tokens import tool_tokens

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.core.catalog.model import Catalog, Tool
    from mcproof.lsp.analysis import Analysis
    from mcproof.lsp.text_positions import TextPositions

MOST_KEPT = 2_000
"""How many titles are kept."""


class ToolLenses:
    """Makes lenses, and keeps the figures of tools that do not change."""

    def __init__(self) -> None:
        self._titles: dict[str, str] = {}

    def lenses(self, analysis: Analysis, text: TextPositions) -> list[CodeLens]:
        """The lenses of the tools that a document defines."""
        catalog = analysis.catalog
        if catalog is None:
            return []
        return [
            CodeLens(range=text.range_of(offset, offset), command=Command(title=self._title(tool), command=""))
            for tool, offset in _places(catalog, analysis.path, text)
        ]

    def _title(self, tool: Tool) -> str:
        is_partial = tool.source is not None and bool(tool.source.unknown)
        key = f"{is_partial}{json.dumps(tool.raw)}"
        if key not in self._titles:
            if len(self._titles) >= MOST_KEPT:
                self._titles.clear()
            least = "at least " if is_partial else ""
            self._titles[key] = f"{least}{tool_tokens(tool):,} tokens · description {judge(tool).score:.2f}"
        return self._titles[key]


def _places(catalog: Catalog, path: str, text: TextPositions) -> Iterator[tuple[Tool, int]]:
    """The tools of a document, each with the offset of its name."""
    tools = [tool for tool in catalog.tools if tool.is_object]
    if catalog.source is None:
        spans = find_spans(catalog.document, [f"{tool.pointer}/name" for tool in tools])
        yield from ((tool, span.anchor) for tool, span in zip(tools, spans, strict=True))
        return
    for tool in tools:
        file, line, column, _ = locate(catalog, f"{tool.pointer}/name")
        if line is not None and os.path.abspath(file) == path:
            yield tool, text.offset_of(line, column or 1)
