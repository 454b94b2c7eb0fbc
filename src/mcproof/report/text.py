"""Text for a terminal: how each block is drawn, and the line that ends a run."""

from __future__ import annotations

from string import ascii_uppercase
from typing import TYPE_CHECKING

from mcproof.core.console import Style, display_width, plural, wrapped
from mcproof.report.blocks import TEXT, Renderer
from mcproof.report.sections import document_of
from mcproof.report.verdicts import run_verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mcproof.report import blocks
    from mcproof.report.grids import ClientGrid, ClientRow, Symbol
    from mcproof.runs.results import RunResult, TargetResult


_COLOURS = {"good": "good", "fair": "warning", "bad": "error", "open": "note", "none": "dim"}
_MOST_STEPS, _MOST_EDGES = 8, 12
"""How many steps, and lines of the tool graph, are listed unless everything is."""
_NAMES = 4
"""How many tools of a column are named; the rest are counted."""
_LABEL, _MOST_LABEL, _SUMMARY = 20, 44, 24
"""The least and most columns of the names of clients, and the least of the summary of a row."""
_SERVER = "*"
"""The title of the column of the server as a whole."""


class TextRenderer(Renderer):
    """Draws blocks for a terminal, in its width and its colours."""

    format = TEXT

    def __init__(self, style: Style) -> None:
        self._style = style

    def _wrapped(self, text: str, head: str = "", indent: int | None = None) -> Iterator[str]:
        """Break a text into lines below each other; the first begins with a head."""
        used = display_width(head)
        first, *others = wrapped(text, self._style.width, used=used, indent=used if indent is None else indent)
        yield f"{head}{first}\n" if text else f"{head.rstrip()}\n"
        yield from (f"{line}\n" for line in others)

    def headline(self, block: blocks.Headline) -> Iterator[str]:
        colours = () if block.tone == "none" else (_COLOURS[block.tone],)
        yield f"{self._style.paint(block.word, 'bold', *colours)}{block.rest}\n"

    def sentence(self, block: blocks.Sentence) -> Iterator[str]:
        if block.is_strong:
            yield from (
                f"{self._style.paint(line, 'bold')}\n" for line in wrapped(block.text, self._style.width, indent=4)
            )
        else:
            yield from self._wrapped(block.text)
        if block.has_gap:
            yield "\n"

    def section(self, block: blocks.Section) -> Iterator[str]:
        title = block.title_and_gist if block.long is None else block.long
        if title:
            yield f"{self._style.paint(title, 'bold')}\n\n"
        yield from self.draw(block.blocks)
        yield "\n"

    def bullets(self, block: blocks.Bullets) -> Iterator[str]:
        for item in block.items:
            yield from self._wrapped(self._style.text(item, 1_000), "  - ")

    def steps(self, block: blocks.Steps) -> Iterator[str]:
        shown = block.steps if self._style.examples is None else block.steps[:_MOST_STEPS]
        for number, step in enumerate(shown, 1):
            parts = {"text": self._style.text(step.text, 500), "rule": self._style.text(step.rule)}
            line = step.line.format(**parts, gain=self._style.text(step.gain))
            yield from self._wrapped(line, f"{number:>3}  ")
        if left := len(block.steps) - len(shown):
            yield f"     and {left:,} more; --show all lists everything\n"

    def reasons(self, block: blocks.Reasons) -> Iterator[str]:
        for reason in block.reasons:
            is_listed = self._style.examples is None or len(reason.names) == 1
            names = ", ".join(reason.names) if is_listed else plural(len(reason.names), block.noun)
            yield from self._wrapped(f"{names}: {self._style.text(reason.why, 500)}", "  - ")

    def hint(self, block: blocks.Hint) -> Iterator[str]:
        from mcproof.report.sections.findings import command_hint

        yield "".join(f"{line}\n" for line in command_hint(block.text, block.command, self._style)) + "\n"

    def findings(self, block: blocks.Findings) -> Iterator[str]:
        from mcproof.report.sections.findings import frames

        return frames(block.result, self._style)

    def graph(self, block: blocks.Graph) -> Iterator[str]:
        from mcproof.checks.texts.tool_graph import graph_lines

        lines = graph_lines(block.graph)
        shown = lines if self._style.examples is None else lines[:_MOST_EDGES]
        for line in shown:
            yield from self._wrapped(self._style.text(line.strip(), 400), "  " + " " * (len(line) - len(line.lstrip())))
        if len(lines) > len(shown):
            yield f"  and {len(lines) - len(shown):,} more lines; --show all lists everything\n"

    def clients(self, block: blocks.Clients) -> Iterator[str]:
        """Draw one row for each group of clients, one column for each group of tools, and a key."""
        style = self._style
        # As many columns as fit beside the names and the summaries.
        most = max(2, min(len(ascii_uppercase), (style.width - 6 - _LABEL - _SUMMARY) // 2 - 1))
        grid = block.arrange(most)
        letters = [*([_SERVER] if grid.has_server_column else []), *ascii_uppercase[: len(grid.columns)]]
        heading = " ".join(letters)
        room = max(_LABEL, min(_MOST_LABEL, style.width - 6 - len(heading) - _SUMMARY))
        labels = [self._label(row, room) for row in grid.rows]
        titles = {True: "Clients", False: "APIs, engines, SDKs"}
        column = max(map(display_width, (*labels, *(titles[row.is_client] for row in grid.rows))))
        previous = None
        for row, label in zip(grid.rows, labels, strict=True):
            if row.is_client is not previous:
                previous = row.is_client
                yield style.paint(f"  {titles[previous]:{column}}  {heading}".rstrip(), "dim") + "\n"
            drawn = " ".join(map(self._symbol, grid.symbols(row)))
            yield from self._wrapped(row.summary, f"  {label}{' ' * (column - display_width(label))}  {drawn}  ")
        yield "\n"
        for letter, tools in zip(letters, self._tools(grid), strict=True):
            yield from self._wrapped(tools, f"  {style.paint(letter, 'bold')}  ")
        yield "\n"
        yield from self._legend(grid.legend())

    def _label(self, row: ClientRow, room: int) -> str:
        """Return the names of the clients of a row that fit, and the number of the others."""
        names = [self._style.text(name, 60) for name in row.names]
        if row.verdict == "works" and len(names) > 1:
            return f"{len(names):,} {'clients' if row.is_client else 'others'}"
        shown = names[:1]
        for count in range(2, len(names) + 1):
            more = f" +{len(names) - count:,}" if count < len(names) else ""
            if display_width(", ".join(names[:count]) + more) > room:
                break
            shown = names[:count]
        rest = f" +{len(names) - len(shown):,}" if len(names) > len(shown) else ""
        return self._style.shortened(", ".join(shown), room - len(rest)) + rest

    def _tools(self, grid: ClientGrid) -> Iterator[str]:
        """Yield the tools of each column, in words."""
        if grid.has_server_column:
            yield "the server as a whole"
        for column in grid.columns:
            room = min(40, self._style.width - 10)
            names = ", ".join(self._style.shortened(name, room) for name in column.tools[:_NAMES])
            more = f" and {len(column.tools) - _NAMES:,} more" if len(column.tools) > _NAMES else ""
            counted = plural(column.size, "other tool" if column.is_rest and len(grid.columns) > 1 else "tool")
            yield names if len(column.tools) == 1 else ": ".join(filter(None, (counted, names + more)))

    def _symbol(self, symbol: Symbol) -> str:
        return self._style.paint(self._style.symbol(symbol.unicode, symbol.ascii), _COLOURS[symbol.tone])

    def _legend(self, symbols: Sequence[Symbol]) -> Iterator[str]:
        longest = max((len(symbol.word) for symbol in symbols), default=0)
        for symbol in symbols:
            yield from self._wrapped(symbol.meaning, f"  {self._symbol(symbol)} {symbol.word:{longest}}  ")


def target_text(result: TargetResult, style: Style) -> Iterator[str]:
    """Render one target."""
    return TextRenderer(style).draw(document_of(result).blocks)


_SYMBOLS = {"good": "✓ ", "bad": "✗ "}

_SUMMED_UP = ("lint", "compat", "diff")
"""The kinds of run whose text ends with the number of findings."""


def closing_line(run: RunResult, style: Style) -> str:
    """Return the line; empty if the text above ends with the same words, or if an error was reported instead."""
    if not run.targets or (len(run.targets) == 1 and run.failed):
        return ""
    verdict = run_verdict(run)
    if len(run.targets) == 1 and run.kind in _SUMMED_UP and not verdict.word and not run.targets[0].findings:
        return ""  # "no findings in 4 tools"
    if len(run.targets) == 1 and run.kind == "suite" and ": " not in verdict.word:
        return ""  # "4 tests: 3 passed, 1 failed"
    gap = "\n" if len(run.targets) == 1 and run.is_single and run.kind == "grade" else ""
    symbol = style.symbol(_SYMBOLS.get(verdict.tone, ""), "") if verdict.word else ""
    first, *others = wrapped(f"{symbol}{style.text(str(verdict), 1_000)}", style.width, indent=4)
    head = f"{symbol}{verdict.word}" if verdict.word else first
    colours = (
        [] if verdict.tone == "none" else [_COLOURS[verdict.tone]] if verdict.word or verdict.tone == "fair" else ()
    )
    painted = style.paint(head, *colours) if colours and first.startswith(head) else first[: len(head)]
    return gap + "".join(f"{line}\n" for line in (f"{painted}{first[len(head) :]}", *others))
