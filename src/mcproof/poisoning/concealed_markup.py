"""Text that is out of sight once rendered: comments, hidden elements, escape sequences, text beyond much whitespace."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from mcproof.poisoning.code_spans import code_ranges

if TYPE_CHECKING:
    from collections.abc import Iterator

COMMENT, HIDDEN_ELEMENT, ESCAPES, PADDING = "comment", "hidden element", "escape sequences", "whitespace"

FAR, TABLE_LINES, MANY_LINES = 40, 3, 8
"""A gap that moves text out of sight, in columns; how many lines with one make a table; blank lines that do it."""
LONGEST_CONTENT, MOST_ELEMENTS = 20_000, 20

_gap = re.compile(rf"(?:[^\S\r\n]|&nbsp;|&#160;|&emsp;){{{FAR},}}+|\t[ \t]{{5,}}+").finditer
_blank_lines = re.compile(rf"(?:\n[^\S\n]*+){{{MANY_LINES},}}+").finditer
_escape = re.compile(
    r"(?:\x1b\[|\x9b)[0-9;:?]*[ -/]*[@-~]|\x1b[\]PX^_][^\x07\x1b]{0,2000}(?:\x07|\x1b\\)?|\x1b[@-Z\\^_]?"
)
_hiding_style = re.compile(
    r"<[a-z][a-z0-9]*\s[^<>]{0,300}?(?:display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0|opacity\s*:\s*0(?![.\d])"
    r"|color\s*:\s*(?:white|transparent|#fff)|(?<=\s)hidden(?=[\s>=])|aria-hidden)[^<>]{0,300}>",
    re.IGNORECASE,
).finditer
_markdown_comment = re.compile(
    r"^[ \t]{0,3}\[(?://|comment|#|_|\.|hidden|note)[^\]\n]{0,40}\]:[ \t]{0,9}(?:#|<>)[ \t]{0,9}"
    r"[(\"'](?P<content>[^\n]{1,2000})[)\"'][ \t]{0,9}$",
    re.MULTILINE | re.IGNORECASE,
).finditer


class Concealed(NamedTuple):
    """A part of a text that is out of sight."""

    kind: str
    start: int
    end: int
    content: str
    is_code: bool = False
    """Whether it is inside a code span, and so shown to people."""
    whitespace: str = ""
    """The whitespace before it, if that conceals it."""


def concealed_parts(text: str) -> list[Concealed]:
    """The parts of a text that are out of sight, each kind in order."""
    found = [*_comments(text), *_hidden_elements(text), *_after_escapes(text), *_after_whitespace(text)]
    if not found or "`" not in text:
        return found
    code = code_ranges(text)
    return [
        each._replace(is_code=each.kind == COMMENT and any(start <= each.start < end for start, end in code))
        for each in found
    ]


def _comments(text: str) -> Iterator[Concealed]:
    start = text.find("<!--")
    while start >= 0:
        end = text.find("-->", start + 4)
        stop = len(text) if end < 0 else end
        content = text[start + 4 : stop].strip()
        if content:
            yield Concealed(COMMENT, start, stop, content[:LONGEST_CONTENT])
        start = text.find("<!--", stop)
    if "]:" in text:
        for match in _markdown_comment(text):
            yield Concealed(COMMENT, match.start(), match.end(), match["content"])


def _hidden_elements(text: str) -> Iterator[Concealed]:
    if "<" not in text:
        return
    for match in islice(_hiding_style(text), MOST_ELEMENTS):
        end = text.find("</", match.end(), match.end() + LONGEST_CONTENT)
        content = text[match.end() : end if end >= 0 else match.end() + LONGEST_CONTENT]
        yield Concealed(HIDDEN_ELEMENT, match.start(), match.end() + len(content), content.strip())


def _after_escapes(text: str) -> Iterator[Concealed]:
    """The text after the first escape sequence of a terminal, without the sequences."""
    if "\x1b" in text or "\x9b" in text:
        first = _escape.search(text)
        if first is not None:
            rest = text[first.start() : first.start() + LONGEST_CONTENT]
            yield Concealed(ESCAPES, first.start(), len(text), _escape.sub("", rest).strip())


def _after_whitespace(text: str) -> Iterator[Concealed]:
    gaps = [match for match in _gap(text) if _hides(text, match)] if _may_have_gap(text) else []
    if len({text.count("\n", 0, match.start()) for match in gaps[:TABLE_LINES]}) < TABLE_LINES or any(
        len(match[0].expandtabs()) >= 100 for match in gaps
    ):
        for match in gaps[:10]:
            end = text.find("\n", match.end())
            content = text[match.end() : end if end >= 0 else len(text)][:LONGEST_CONTENT]
            if len(content.split()) >= 3:
                yield Concealed(
                    PADDING, match.start(), match.end() + len(content), content.strip(), whitespace=match[0]
                )
    for match in _blank_lines(text):
        content = text[match.end() : match.end() + LONGEST_CONTENT]
        if content:
            yield Concealed(PADDING, match.start(), len(text), content.strip(), whitespace=match[0])
        return


def _may_have_gap(text: str) -> bool:
    return " " * FAR in text or "\t" in text or "&" in text or not text.isascii()


def _hides(text: str, gap: re.Match[str]) -> bool:
    """Whether whitespace is between words of a line, or indents a line far more than code is."""
    start = gap.start()
    if text[gap.end() : gap.end() + 1] in ("", "\r", "\n"):
        return False
    width = len(gap[0].expandtabs())
    return width >= FAR and ((start > 0 and text[start - 1] not in "\r\n") or width >= 2 * FAR)
