"""The documentation page of all kinds of change, in Markdown."""

from __future__ import annotations

from mcproof.diff.change_kinds import CHANGE_KINDS


def changes_page() -> str:
    """Every kind of change, why it matters and what to do about it."""
    lines = [
        "# Kinds of change",
        "",
        "Generated from the code by `make docs`. Each change states whether it breaks callers: see [diff](diff.md).",
        "",
    ]
    for kind in CHANGE_KINDS.values():
        lines += [f"## {kind.id}", "", kind.summary, ""]
        lines += [f"Why it matters: {kind.why}.", "", f"What to do: {kind.advice}.", ""]
    return "\n".join(lines)
