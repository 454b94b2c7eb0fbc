"""What can be told of a description without understanding it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from mcproof.jsontext import escape

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.catalog import Tool

_ideographs = re.compile("[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]").findall
_syllables = re.compile("[\u3040-\u30ff\uac00-\ud7af]").findall
_letters = re.compile(r"[^\W\d_]").findall
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
    if text.isascii():
        return True
    letters = _letters(text)
    return sum(map(str.isascii, letters)) > 0.8 * len(letters)


def unquoted(text: str) -> str:
    """A text without what it quotes: code, values, other people's words."""
    return _quoted.sub(" ", text)


def parameters(tool: Tool) -> Iterator[tuple[str, Any, str]]:
    """The known parameters of a tool: name, schema and pointer."""
    if tool.source is None or not tool.source.unknown:
        for name, schema in tool.parameters.items():
            yield name, schema, f"/inputSchema/properties/{escape(name)}"
        return
    for name, schema in tool.parameters.items():
        pointer = f"/inputSchema/properties/{escape(name)}"
        if tool.knows(pointer):
            yield name, schema, pointer


def description_of(schema: Any) -> str:
    """What a parameter's schema says about itself; empty where it says nothing."""
    given = schema.get("description") if type(schema) is dict else None
    return given if type(given) is str else ""
