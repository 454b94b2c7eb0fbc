"""Properties of descriptions that need no understanding: length, language, words.

Why a rule is silent in doubt: docs/decisions/0029-polish-is-certain.md.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Any, AnyStr

from mcproof.checks.scores.tokens import is_blank
from mcproof.core.catalog.model import Tool
from mcproof.core.text.english import ENGLISH, FOREIGN, WATCHED, ascii_words
from mcproof.core.text.json_positions import escape

_ideographs = re.compile("[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]").findall
_syllables = re.compile("[\u3040-\u30ff\uac00-\ud7af]").findall
_quoted = re.compile(
    r"```.{0,5000}?```|`[^`\n]{1,300}`|\"[^\"\n]{1,300}\"|'(?<!\w')[^'\n]{1,300}'(?!\w)|“[^”\n]{1,300}”", re.DOTALL
)


def size(text: str) -> int:
    """The size of a text in English letters: an ideograph counts as three, a syllabic character as two.

    Layout whitespace does not count.
    """
    text = " ".join(text.split())
    if text.isascii():
        return len(text)
    return len(text) + 2 * len(_ideographs(text)) + len(_syllables(text))


def is_latin(text: str) -> bool:
    """Whether a text is written in Latin script."""
    return text.isascii() or len(text.encode("ascii", "ignore")) > 0.8 * len(text)


def may_be_english(text: str) -> bool:
    """Whether a text may be English; rules about English words skip other texts."""
    words = ascii_words(text)
    return is_latin(text) and not _is_foreign(words, WATCHED.intersection(words))


def _is_foreign(words: list[str], watched: frozenset[str]) -> bool:
    """Whether the function words suggest another language; if in doubt, it is English."""
    foreign = FOREIGN & watched
    return bool(foreign) and len(foreign) > len(ENGLISH.intersection(words))


class ToolWords:
    """The words of a tool's texts, computed once for all rules."""

    __slots__ = ("is_english", "is_foreign", "lowered", "parameters", "watched")

    def __init__(self, tool: Tool) -> None:
        text = tool.description
        words = ascii_words(text)
        self.watched = WATCHED.intersection(words)
        """The words in it that rules look for."""
        self.is_foreign = not is_latin(text) or _is_foreign(words, self.watched)
        """Whether the description, and so probably the parameters' descriptions, are not in English."""
        self.is_english = tool.knows("/description") and not is_blank(text) and not self.is_foreign
        """Whether there is a description that can be judged by its English words."""
        self.lowered = text.lower()
        """The description in lower case."""
        self.parameters = [
            (name, schema, description_of(schema))
            for name, schema in tool.parameters.items()
            if tool.source is None or tool.knows(pointer_of(name))
        ]
        """The known parameters: name, schema, description."""

    def says(self, words: frozenset[str], match_at: Callable[[str, int], re.Match[str] | None]) -> bool:
        """Whether the description matches a pattern that only matches at one of these words."""
        present = words & self.watched
        return bool(present) and any(matches_from(present, match_at, self.lowered))


@lru_cache(maxsize=1)  # all rules judge one tool, then the next
def tool_words(tool: Tool) -> ToolWords:
    """The words of a tool, kept until another tool is judged."""
    return ToolWords(tool)


def unquoted(text: str) -> str:
    """A text without its quotations: code, values, cited words."""
    return _quoted.sub(" ", text)


def matches_from(
    starts: Iterable[AnyStr], match_at: Callable[[AnyStr, int], re.Match[AnyStr] | None], text: AnyStr
) -> Iterator[re.Match[AnyStr]]:
    """The matches of a pattern that start with one of these words.

    Searching for the words first is many times faster than trying a pattern with many branches everywhere.
    """
    for start in starts:
        at = text.find(start)
        while at >= 0:
            match = match_at(text, at)
            if match is not None:
                yield match
            at = text.find(start, at + 1)


def has_any(parts: Iterable[AnyStr], text: AnyStr) -> bool:
    """Whether a text contains any of these parts."""
    for part in parts:  # noqa: SIM110 (a generator takes twice as long)
        if part in text:
            return True
    return False


def pointer_of(parameter: str) -> str:
    """The pointer of a parameter's declaration."""
    return f"/inputSchema/properties/{escape(parameter)}"


def description_of(schema: Any) -> str:
    """The description of a parameter; empty if it has none."""
    given = schema.get("description") if type(schema) is dict else None
    return given if type(given) is str else ""
