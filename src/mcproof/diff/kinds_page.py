"""The page of all kinds of change, in Markdown."""

from __future__ import annotations

from mcproof.diff.kinds import KINDS


def changes_page() -> str:
    """Every kind of change, with why it matters and what to do."""
    lines = [
        "# Kinds of change",
        "",
        "Generated from the code by `make docs`. Whether a change breaks callers is said by each: see [diff](diff.md).",
        "",
    ]
    for kind in KINDS.values():
        lines += [f"## {kind.id}", "", kind.summary, ""]
        lines += [f"Why it matters: {kind.why}.", "", f"What to do: {kind.advice}.", ""]
    return "\n".join(lines)
