"""Text on a page: escaped, harmless, of bearable length; and the words that a page is written in."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, NamedTuple

from mcproof.report.terminal import safe
from mcproof.report.text import plural

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcproof.finding import Level

LIMIT = 1000
"""How many characters of a text from outside are shown; nothing that a person reads is longer."""


def text(value: str, limit: int = LIMIT) -> str:
    """Text from outside, for an element or an attribute in quotes."""
    if len(value) > limit:
        value = value[:limit] + "…"
    return escape(safe(value))


def prose(value: str) -> str:
    """A sentence whose parts between backticks are code."""
    parts = text(value).split("`")
    if len(parts) % 2 == 0:  # a backtick without a partner stands for itself
        last = parts.pop()
        parts[-1] += f"`{last}"
    return "".join(f"<code>{part}</code>" if number % 2 else part for number, part in enumerate(parts))


def listing(items: Iterable[str], name: str) -> str:
    """A list of a class; nothing where there is nothing to list."""
    entries = "".join(f"<li>{item}</li>\n" for item in items)
    return f'<ul class="{name}">\n{entries}</ul>\n' if entries else ""


def bar(share: float, name: str) -> str:
    """A bar of a chart, which says nothing to those who hear the number beside it."""
    width = min(100.0, max(0.5, 100 * share))
    return f'<svg class="bar {name}" aria-hidden="true"><rect width="{width:.1f}%" height="100%" rx="2"/></svg>'


class Words(NamedTuple):
    """What a command calls its findings and their levels."""

    noun: str
    heading: str
    levels: dict[Level, str]
    counts: bool
    """Whether the word of a level can be counted, as in two errors."""

    def counted(self, count: int, level: Level) -> str:
        """So many of a level."""
        word = self.levels[level]
        return plural(count, word) if self.counts else f"{count:,} {word}"


_FINDINGS = Words("finding", "Findings", {"error": "error", "warning": "warning", "note": "note"}, counts=True)
_CHANGES = Words(
    "change", "Changes", {"error": "breaking", "warning": "cannot tell", "note": "compatible"}, counts=False
)


def words_of(command: str) -> Words:
    """The words for what a command finds."""
    return _CHANGES if command == "diff" else _FINDINGS
