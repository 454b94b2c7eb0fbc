"""Code spans and fences of Markdown: what is in them is shown to people as it is."""

from __future__ import annotations

import re

_code = re.compile(r"```.*?(?:```|\Z)|`[^`\n]{1,500}`", re.DOTALL)


def code_ranges(text: str) -> list[tuple[int, int]]:
    """Where code starts and ends in a text."""
    return [match.span() for match in _code.finditer(text)] if "`" in text else []


def without_code(text: str) -> str:
    """A text with a space in place of its code."""
    return _code.sub(" ", text) if "`" in text else text
