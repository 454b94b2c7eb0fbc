"""The parts of a description that state what a tool does: its first sentence, the start of its verb, verb forms."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_SENTENCE_END = re.compile(r"[.!?](?:\s|$)|\n\s*\n|:\s*\n")
_LEAD = re.compile(
    r"""(?:\[[^\]]{0,40}\]|\W)*
    (?:
        (?:please\s+)? use\s+(?:this|it)\b [^.]{0,60}? \b to\s+
      | (?:this|the|an?)?\s*? (?:[\w-]+\s+){0,2}? (?:tool|function|command|endpoint|method|operation|utility)\s+
        (?:(?:that|which|to|for|will|is|can|be|used|allows?|lets?|helps?|enables?|you|users?|agents?|the)\s+)+
      | (?:allows?|lets?|helps?|enables?)\s+ (?:(?:you|users?|agents?|the|to)\s+)+
      | this\s+(?:tool|function|command|endpoint|method|operation|utility)\s+
    )?
    (?:\w+ly\s+)?""",
    re.IGNORECASE | re.VERBOSE,
)
"""What stands before the first verb of a description: "Use this tool to"."""


def first_sentence(text: str) -> str:
    """Return the text up to the first full stop, blank line or list."""
    stripped = text.lstrip()
    end = _SENTENCE_END.search(stripped)
    return stripped[: end.start()] if end is not None else stripped


def lead_end(sentence: str) -> int:
    """Return the index where the first verb of a sentence may start."""
    match = _LEAD.match(sentence)
    return match.end() if match is not None else 0


def verb_forms(word: str) -> Iterator[str]:
    """Yield the words that may be the base form of a verb: `lists`, `list`."""
    yield word
    if word.endswith("s"):
        yield word[:-1]
    if word.endswith("es"):
        yield word[:-2]
    if word.endswith("ies"):
        yield f"{word[:-3]}y"
    if word.endswith("ing"):
        base = word[:-3]
        yield from (base, f"{base}e", base[:-1])
