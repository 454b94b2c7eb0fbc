"""Problems of texts: one for each text, at its first use, with the items that have it in the evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcproof.linting.finding import Problem

if TYPE_CHECKING:
    from mcproof.poisoning.model_texts import ModelTexts

LONGEST_SHOWN, LONGEST_QUOTED, MOST_ITEMS = 400, 120, 50
"""Limits: characters of a text in the evidence and in a message, and items named in the evidence."""


def problem_of_text(
    texts: ModelTexts, text: str, message: str, evidence: dict[str, Any], severity: str | None = None
) -> Problem | None:
    """A problem at the first use of a text; None if source code leaves all its uses unknown."""
    uses = texts.uses(text)
    if not uses:
        return None
    first = uses[0]
    items = list(dict.fromkeys(use.item.subject for use in uses))
    if len(items) > 1:
        message = f"{message} (also in {len(items) - 1} other item{'s' if len(items) > 2 else ''})"
    return Problem(
        message,
        first.pointer,
        evidence={"pointer": first.pointer, "place": first.place, **evidence, "items": items[:MOST_ITEMS]},
        item=first.item if first.item is not texts.catalog.server else None,
        severity=severity,
    )


def escaped(text: str, limit: int = LONGEST_SHOWN) -> str:
    """A text on one line with every invisible character written as an escape, cut off at a limit."""
    shown = "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text[:limit])
    return f"{shown} …" if len(text) > limit else shown


def quoted(text: str) -> str:
    """A text as it is quoted in a message."""
    return f"`{escaped(' '.join(text.split()), LONGEST_QUOTED).replace('`', chr(39))}`"
