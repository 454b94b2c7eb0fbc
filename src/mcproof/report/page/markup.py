"""Text on a page: escaped, harmless, of bearable length; and the words that a page is written in."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, NamedTuple

from mcproof.console import plural, safe

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcproof.linting.finding import Level
    from mcproof.results.payloads import Kind

LIMIT = 1000
"""How many characters of a text from outside are shown; nothing that a person reads is longer."""

SLIVER = 0.015
"""The least part of a bar that a part of the whole has, so that one in a thousand is seen."""

NAMES = 12
"""How many names a sentence has; the rest is counted."""

Share = tuple[str, str, int, str]
"""A part of a whole: its tone, its symbol, how many, and of what."""


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


def names(items: list[str]) -> str:
    """Some names, and how many more there are."""
    listed = ", ".join(f"<code>{text(name, 120)}</code>" for name in items[:NAMES])
    return f"{listed} and {len(items) - NAMES:,} more" if len(items) > NAMES else listed


def proportion_bar(shares: list[Share]) -> str:
    """Parts of a whole as one bar, with a key that needs no colours."""
    if not shares:
        return ""
    spoken = ", ".join(f"{count:,} {word}" for _, _, count, word in shares)
    keys = "".join(
        f'<li class="{tone}"><b>{symbol}</b> {count:,} {word}</li>\n' for tone, symbol, count, word in shares
    )
    return f'{stack(shares, spoken)}\n<ul class="keys" aria-hidden="true">\n{keys}</ul>\n'


def stack(shares: list[Share], spoken: str = "") -> str:
    """The bar alone; without words for those who hear the numbers beside it."""
    total = sum(count for _, _, count, _ in shares)
    weights = [max(count, total * SLIVER) for _, _, count, _ in shares]
    drawn, at = [], 0.0
    for (tone, *_), weight in zip(shares, weights, strict=True):
        width = 100 * weight / sum(weights)
        drawn.append(f'<rect class="{tone}" x="{at:.2f}%" width="{width:.2f}%" height="100%"/>')
        at += width
    said = f'role="img" aria-label="{spoken}"' if spoken else 'aria-hidden="true"'
    return f'<svg class="proportions" {said} width="100%" height="12">{"".join(drawn)}</svg>'


class Words(NamedTuple):
    """What a command calls its findings and their levels, and what it looks at."""

    noun: str
    heading: str
    levels: dict[Level, str]
    counts: bool
    """Whether the word of a level can be counted, as in two errors."""
    target: str = "target"

    def counted(self, count: int, level: Level) -> str:
        """So many of a level."""
        word = self.levels[level]
        return plural(count, word) if self.counts else f"{count:,} {word}"


_FINDINGS = Words("finding", "Findings", {"error": "error", "warning": "warning", "note": "note"}, counts=True)
_CHANGES = Words(
    "change", "Changes", {"error": "breaking", "warning": "cannot tell", "note": "compatible"}, counts=False
)
_TESTS = _FINDINGS._replace(noun="test", heading="Tests", target="suite")


def words_of(kind: Kind) -> Words:
    """Return the words for the findings of a kind of run."""
    return {"diff": _CHANGES, "suite": _TESTS}.get(kind, _FINDINGS)
