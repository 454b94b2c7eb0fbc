"""Findings for people: a frame around the offending line, or one line each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.finding import LEVELS
from mcproof.report.located import group_by_fault
from mcproof.report.terminal import Style, display_width, shell_word

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.catalog import Catalog
    from mcproof.finding import Finding
    from mcproof.jsontext import JsonText, Span
    from mcproof.report.located import Group, Located

_TAB = "    "


def frames(catalog: Catalog, located: list[Located], style: Style) -> Iterator[str]:
    """Every finding with the line it is about, a caret, and what to do."""
    for group in group_by_fault(located):
        yield _frame(group, catalog, style) + "\n"


def concise(catalog: Catalog, located: list[Located], style: Style) -> Iterator[str]:
    """One line a finding: place, level, rule, subject, message."""
    for shown, also in group_by_fault(located):
        finding = shown.finding
        level = style.paint(finding.level, finding.level)
        others = f" [also {', '.join(also)}]" if also else ""
        yield f"{_place(catalog, shown, style)}: {level} {finding.rule.id} {_sentence(finding, style)}{others}\n"


def _place(catalog: Catalog, located: Located, style: Style) -> str:
    return f"{style.text(catalog.name)}:{located.position.line}:{located.position.column}"


def _sentence(finding: Finding, style: Style) -> str:
    """The message, with whose it is in front."""
    message = style.text(finding.message)
    return message if finding.item.kind == "server" else f"{style.text(finding.item.label, 100)}: {message}"


def _frame(group: Group, catalog: Catalog, style: Style) -> str:
    shown = group.shown
    finding = shown.finding
    gutter = len(str(shown.position.line)) + 1
    head = style.paint(f"{finding.level}[{finding.rule.id}]", finding.level, "bold")
    pointer = style.paint(f"  {style.text(finding.pointer)}", "dim") if finding.pointer else ""
    lines = [
        f"{head} {style.paint(_sentence(finding, style), 'bold')}",
        f"{' ' * (gutter - 1)}{style.paint('-->', 'help')} {_place(catalog, shown, style)}{pointer}",
        *_excerpt(catalog.document, shown, gutter, style),
    ]
    notes = [("help", finding.rule.advice), ("also", ", ".join(group.also))]
    bullet = style.paint("=", "help")
    lines += [f"{' ' * gutter}{bullet} {style.paint(label, 'bold')}: {text}" for label, text in notes if text]
    return "\n".join(lines) + "\n"


def _excerpt(document: JsonText, located: Located, gutter: int, style: Style) -> list[str]:
    """The line of the file, cropped around the place, with carets under it."""
    line_start, line_end = document.line_bounds(located.position.line)
    start, length = located.position.column - 1, line_end - line_start
    room = style.width - gutter - 6
    first = max(0, min(start - room // 3, length - room)) if length > room else 0
    line = document.text[line_start + first : min(line_end, line_start + first + room)]
    start -= first
    while len(line) > start + 1 and display_width(line) > room:
        line = line[:-1]
    end = min(start + _highlighted(document.text, located.span), len(line))
    ellipsis = style.symbol("…", "...")
    before, marked, after = (
        style.text(part.replace("\t", _TAB), style.width) for part in (line[:start], line[start:end], line[end:])
    )
    before = (ellipsis if first else "") + before
    after += ellipsis if first + len(line) < length else ""
    bar = style.paint("|", "help")
    number = style.paint(str(located.position.line).rjust(gutter - 1), "help")
    carets = style.paint("^" * max(1, display_width(marked)), located.finding.level)
    return [
        f"{' ' * gutter}{bar}",
        f"{number} {bar} {before}{marked}{after}",
        f"{' ' * gutter}{bar} {' ' * display_width(before)}{carets}",
    ]


def _highlighted(text: str, span: Span) -> int:
    """How many characters to underline: a member with its value, as far as both fit on one line."""
    length = span.end - span.anchor
    if length <= 60 and "\n" not in text[span.anchor : span.end]:
        return length
    if span.key >= 0:  # only the key: up to its colon
        closing = span.start
        while closing > span.key and text[closing - 1] != '"':
            closing -= 1
        return closing - span.key
    return 1


def summary(catalog: Catalog, located: list[Located], style: Style) -> str:
    """The last lines: how much is shown, of how much, and what a machine can mend."""
    scope = _scope(catalog, style)
    if not located:
        tick = style.paint(style.symbol("✓", "ok:"), "good")
        return f"{tick} no findings in {scope}\n"
    levels = [group.shown.finding.level for group in group_by_fault(located)]
    counts = [(level, levels.count(level)) for level in LEVELS]
    parts = [style.paint(plural(count, level), level) for level, count in counts if count]
    lines = [f"{', '.join(parts)} in {scope}"]
    fixable = sum(each.finding.fix is not None for each in located)
    if fixable:
        lines.append(f"{fixable:,} can be fixed by machine: mcproof schema-lint {shell_word(catalog.name)} --fix")
    return "\n".join(lines) + "\n"


def _scope(catalog: Catalog, style: Style) -> str:
    """What was looked at."""
    counted = [
        plural(len(items), word)
        for items, word in (
            (catalog.tools, "tool"),
            (catalog.resources, "resource"),
            (catalog.templates, "template"),
            (catalog.prompts, "prompt"),
        )
        if items or word == "tool"
    ]
    return f"{', '.join(counted)} of {style.text(catalog.name)}"


def plural(count: int, word: str) -> str:
    return f"{count:,} {word}" if count == 1 else f"{count:,} {word}s"
