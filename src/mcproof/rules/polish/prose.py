"""What can be told of a description without understanding it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, AnyStr

from mcproof.jsontext import escape

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from mcproof.catalog import Tool

_ideographs = re.compile("[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]").findall
_syllables = re.compile("[\u3040-\u30ff\uac00-\ud7af]").findall
_quoted = re.compile(
    r"```.{0,5000}?```|`[^`\n]{1,300}`|\"[^\"\n]{1,300}\"|(?<!\w)'[^'\n]{1,300}'(?!\w)|“[^”\n]{1,300}”", re.DOTALL
)


def size(text: str) -> int:
    """How much a text says, in letters of English: an ideograph counts for three, a syllable sign for two.

    Blanks that only lay it out do not count.
    """
    text = " ".join(text.split())
    if text.isascii():
        return len(text)
    return len(text) + 2 * len(_ideographs(text)) + len(_syllables(text))


def is_latin(text: str) -> bool:
    """Whether a text may be English; rules about English words are silent about what is not."""
    return text.isascii() or len(text.encode("ascii", "ignore")) > 0.8 * len(text)


def unquoted(text: str) -> str:
    """A text without what it quotes: code, values, other people's words."""
    return _quoted.sub(" ", text)


def matches_from(
    starts: tuple[AnyStr, ...], match_at: Callable[[AnyStr, int], re.Match[AnyStr] | None], text: AnyStr
) -> Iterator[re.Match[AnyStr]]:
    """The matches of a pattern that begin with one of some words.

    To look for the words first is many times faster than to try a pattern of many branches at every place.
    """
    for start in starts:
        at = text.find(start)
        while at >= 0:
            match = match_at(text, at)
            if match is not None:
                yield match
            at = text.find(start, at + 1)


def parameters(tool: Tool) -> Iterable[tuple[str, Any]]:
    """The known parameters of a tool: name and schema."""
    found = tool.parameters.items()
    if tool.source is None or not tool.source.unknown:
        return found
    return [(name, schema) for name, schema in found if tool.knows(pointer_of(name))]


def pointer_of(parameter: str) -> str:
    """Where a parameter is declared."""
    return f"/inputSchema/properties/{escape(parameter)}"


def description_of(schema: Any) -> str:
    """What a parameter's schema says about itself; empty where it says nothing."""
    given = schema.get("description") if type(schema) is dict else None
    return given if type(given) is str else ""
