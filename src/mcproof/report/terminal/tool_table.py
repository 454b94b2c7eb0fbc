"""The tools of a catalog as a table that fits the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.core.console import display_width, plural
from mcproof.report.tool_listing import HINTS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mcproof.core.console import Style
    from mcproof.report.tool_listing import ListedTool, ToolListing

_GAP = "  "
_HEADINGS = ("tool", "parameters", "hints", "tokens")
_NARROWEST = 10
"""The least width of a column that wraps."""


def tool_table(listing: ToolListing, style: Style) -> Iterator[str]:
    """Render the tools: names are never cropped, parameters and hints wrap."""
    title = f"{style.text(listing.server, 100)}{_GAP}" if listing.server else ""
    yield f"{style.paint(title, 'bold')}{style.text(listing.target)}\n"
    if listing.tools:
        yield "\n"
        yield from _table(listing.tools, style)
        yield "\n"
    yield _total(listing)


def _table(tools: list[ListedTool], style: Style) -> Iterator[str]:
    hints = [[HINTS[key][not value] for key, value in tool.hints.items()] or ["-"] for tool in tools]
    widths = _widths(tools, hints, style)
    yield style.paint(_line(_HEADINGS, widths), "bold") + "\n"
    for tool, words in zip(tools, hints, strict=True):
        yield from _row(tool, words, widths, style)


def _row(tool: ListedTool, hints: list[str], widths: tuple[int, ...], style: Style) -> Iterator[str]:
    columns = [_wrapped(_parameter_lines(tool), widths[1], style), _wrapped(hints, widths[2], style)]
    names, tokens = [style.text(tool.name)], f"{tool.tokens:,}"
    if display_width(names[0]) > widths[0]:
        yield f"{names[0]}\n"
        names = [""]
    for number in range(max(map(len, columns))):
        cells = [lines[number] if number < len(lines) else "" for lines in (names, *columns)]
        yield _line([*cells, tokens if number == 0 else ""], widths) + "\n"


def _parameter_lines(tool: ListedTool) -> list[str]:
    return [f"{each.name}{'*' if each.required else ''}" for each in tool.parameters] or ["-"]


def _widths(tools: list[ListedTool], hints: list[list[str]], style: Style) -> tuple[int, ...]:
    """The widths of the columns: long names take a line of their own, parameters the width that is left."""
    tokens = max(len(_HEADINGS[3]), *(len(f"{tool.tokens:,}") for tool in tools))
    most = max(_NARROWEST, style.width * 3 // 10)
    name = _widest([_HEADINGS[0], *(style.text(tool.name) for tool in tools)], most)
    wide = style.width >= 100
    hint_texts = (", ".join(each) if wide else f"{word}," for each in hints for word in each)
    hint = min(max(map(display_width, (_HEADINGS[2], *hint_texts))), 40 if wide else most)
    used = name + hint + tokens + 3 * len(_GAP)
    lists = (style.text(", ".join(_parameter_lines(tool))) for tool in tools)
    widest = max(map(display_width, (_HEADINGS[1], *lists)))
    parameters = min(widest, max(_NARROWEST, style.width - used))
    return name, parameters, hint, tokens


def _widest(texts: Iterable[str], most: int) -> int:
    """The width of the widest text that is not wider than `most`."""
    return max((width for text in texts if (width := display_width(text)) <= most), default=most)


def _wrapped(words: list[str], width: int, style: Style) -> list[str]:
    """Join words with commas, in lines of a width; a longer word is cropped."""
    lines: list[str] = []
    for number, word in enumerate(words):
        comma = "," if number < len(words) - 1 else ""
        shown = f"{style.fitting(word, width - len(comma))}{comma}"
        if lines and display_width(lines[-1]) + 1 + display_width(shown) <= width:
            lines[-1] += f" {shown}"
        else:
            lines.append(shown)
    return lines


def _line(cells: Iterable[str], widths: tuple[int, ...]) -> str:
    *texts, tokens = cells
    padded = [text + " " * (width - display_width(text)) for text, width in zip(texts, widths, strict=False)]
    return _GAP.join([*padded, f"{tokens:>{widths[-1]}}"]).rstrip()


def _total(listing: ToolListing) -> str:
    if not listing.tools:
        return "no tools\n"
    mark = "; * required" if any(each.required for tool in listing.tools for each in tool.parameters) else ""
    return f"{plural(len(listing.tools), 'tool')}, {listing.tokens:,} tokens in every request{mark}\n"
