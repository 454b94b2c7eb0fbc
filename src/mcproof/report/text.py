"""Findings for people: a frame around the offending line, or one line each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.report.located import group_by_fault
from mcproof.report.terminal import Style, safe

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.catalog import Catalog
    from mcproof.finding import Finding
    from mcproof.jsontext import JsonText, Position, Span
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
        place = ":".join(map(str, (safe(catalog.name), *(shown.position or ()))))
        level = style.paint(finding.level, finding.level)
        others = f" [also {', '.join(also)}]" if also else ""
        yield f"{place}: {level} {finding.rule.id} {_sentence(finding)}{others}\n"


def _sentence(finding: Finding) -> str:
    """The message, with whose it is in front."""
    message = safe(finding.message)
    return message if finding.item.kind == "server" else f"{safe(finding.item.label)}: {message}"


def _frame(group: Group, catalog: Catalog, style: Style) -> str:
    shown = group.shown
    finding = shown.finding
    head = style.paint(f"{finding.level}[{finding.rule.id}]", finding.level, "bold")
    lines = [f"{head} {style.paint(_sentence(finding), 'bold')}"]
    gutter = 2
    if shown.position is not None and shown.span is not None:
        gutter = len(str(shown.position.line)) + 1
        pointer = style.paint(f"  {safe(finding.pointer)}", "dim") if finding.pointer else ""
        arrow = style.paint("-->", "help")
        place = f"{safe(catalog.name)}:{shown.position.line}:{shown.position.column}"
        lines.append(f"{' ' * (gutter - 1)}{arrow} {place}{pointer}")
        lines += _excerpt(catalog.document, shown.span, shown.position, gutter, finding.level, style)
    else:
        lines.append(f"{' ' * (gutter - 1)}{style.paint('-->', 'help')} {safe(catalog.name)}")
    notes = [("help", finding.rule.advice)]
    if group.also:
        notes.append(("also", ", ".join(group.also)))
    bullet = style.paint("=", "help")
    lines += [f"{' ' * gutter}{bullet} {style.paint(label, 'bold')}: {text}" for label, text in notes if text]
    return "\n".join(lines) + "\n"


def _excerpt(document: JsonText, span: Span, position: Position, gutter: int, level: str, style: Style) -> list[str]:
    """The line of the file, cropped around the place, with carets under it."""
    line = document.line(position.line)
    start = position.column - 1
    end = min(start + _highlighted(document.text, span), len(line))
    first = max(0, start - 40) if len(line) > style.width else 0
    last = min(len(line), max(end, first + style.width - gutter - 6))
    last = min(last, first + 2 * style.width)
    ellipsis = style.symbol("…", "...")
    before, marked, after = (
        safe(part.replace("\t", _TAB)) for part in (line[first:start], line[start : min(end, last)], line[end:last])
    )
    before = (ellipsis if first else "") + before
    after += ellipsis if last < len(line) else ""
    bar = style.paint("|", "help")
    number = style.paint(str(position.line).rjust(gutter - 1), "help")
    carets = style.paint("^" * max(1, _columns(marked)), level)
    return [
        f"{' ' * gutter}{bar}",
        f"{number} {bar} {before}{marked}{after}",
        f"{' ' * gutter}{bar} {' ' * _columns(before)}{carets}",
    ]


def _highlighted(text: str, span: Span) -> int:
    """How many characters to underline: a member with its value, as far as both fit on one line."""
    end_of_line = text.find("\n", span.anchor)
    end_of_line = len(text) if end_of_line < 0 else end_of_line
    if span.end <= end_of_line and span.end - span.anchor <= 60:
        return span.end - span.anchor
    if span.key >= 0:  # only the key: up to its colon
        closing = span.start
        while closing > span.key and text[closing - 1] != '"':
            closing -= 1
        return closing - span.key
    return 1


def _columns(text: str) -> int:
    """How wide a text is on a terminal: ideographs take two columns, accents none."""
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width

    return sum(0 if combining(each) else 2 if east_asian_width(each) in "WF" else 1 for each in text)


def summary(catalog: Catalog, findings: list[Finding], style: Style) -> str:
    """The last line: how much was found, in how much."""
    counts = {level: sum(finding.level == level for finding in findings) for level in ("error", "warning", "note")}
    scope = _scope(catalog)
    if not findings:
        tick = style.paint(style.symbol("✓", "ok:"), "good")
        return f"{tick} no findings in {scope}\n"
    parts = [style.paint(plural(count, level), level) for level, count in counts.items() if count]
    lines = [f"{', '.join(parts)} in {scope}"]
    fixable = sum(finding.fix is not None for finding in findings)
    if fixable:
        lines.append(f"{fixable} can be fixed by machine: mcproof schema-lint {safe(catalog.name)} --fix")
    return "\n".join(lines) + "\n"


def _scope(catalog: Catalog) -> str:
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
    return f"{', '.join(counted)} of {safe(catalog.name)}"


def plural(count: int, word: str) -> str:
    return f"{count:,} {word}" if count == 1 else f"{count:,} {word}s"
