"""Text that a model reads and a person does not see: invisible characters, lookalikes, padding, comments.

Characters with a legitimate use are left alone: joiners inside an emoji or a word of a script that uses them,
flags, selectors after a symbol, direction marks in right-to-left text, a byte order mark at the start.
Why texts are searched in one pass: docs/decisions/0050-texts-in-one-pass.md.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING
from unicodedata import category

from mcproof.checks.texts.codes import (
    imitated,
    lookalike_words,
    reads,
    styled_words,
    text_of_selectors,
    text_of_symbols,
    text_of_tags,
)
from mcproof.checks.texts.markup import code_ranges
from mcproof.core.named_tuple import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


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
    parts = [*_comments(text), *_hidden_elements(text), *_after_escapes(text), *_after_whitespace(text)]
    if not parts or "`" not in text:
        return parts
    code = code_ranges(text)
    return [
        part._replace(is_code=part.kind == COMMENT and any(start <= part.start < end for start, end in code))
        for part in parts
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
    # Gaps on several lines are the columns of a table, unless one of them is very wide.
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


TAGS, SELECTORS, ZERO_WIDTH = "tag characters", "variation selectors", "zero-width characters"
DIRECTIONS, CONTROLS, INVISIBLE = "direction controls", "control characters", "invisible characters"
LOOKALIKE, STYLED = "lookalike letters", "styled letters"

_DIRECTION_MARKS = "\u061c\u200e\u200f"
_EMBEDDINGS = "\u202a\u202b\u202c\u2066\u2067\u2068\u2069"
_OVERRIDES = "\u202d\u202e"
_JOINERS = "\u200c\u200d"

_UNSEEN = (
    "\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u202a-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_run = re.compile(f"[{_UNSEEN}]+")
_right_to_left = re.compile("[\u0590-\u061b\u061d-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff]").search
_is_flag = re.compile("[\U000e0061-\U000e007a]{2}[\U000e0030-\U000e0039\U000e0061-\U000e007a]{1,3}\U000e007f").fullmatch
_overridden = re.compile("[\u202d\u202e]([^\u202c\n]{0,5000})")
_BLACK_FLAG = "\U0001f3f4"
_SPEECH_SPACES = re.compile("[\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u3000-\u9fff\uac00-\ud7af]").match
"""Letters of scripts that mark where a line may break with a space of no width."""
_MOST = 4_096
"""How many hidden characters of a text are kept for decoding."""


class HiddenText(NamedTuple):
    """One way in which a text hides something."""

    kind: str
    start: int
    """Where it starts in the text."""
    characters: str
    """What hides it; empty for comments and elements."""
    decoded: str
    """What a model reads there; empty if that is unknown."""
    is_message: bool
    """Whether it decodes to words that are nowhere to be seen."""
    is_code: bool = False
    """Whether it is an example in a code span."""


def hidden_in(text: str) -> list[HiddenText]:
    """What a text hides, one entry for each way."""
    hidings: list[HiddenText] = []
    if not text.isascii() or not text.isprintable():
        hidings += _invisible(text)
    if not text.isascii():
        hidings += _disguised(text)
    parts = concealed_parts(text)
    if any(part.kind == ESCAPES for part in parts):
        # The control character is reported with its escape sequence.
        hidings = [hiding for hiding in hidings if hiding.kind != CONTROLS]
    for part in parts:
        is_message = part.kind == ESCAPES and reads(part.content)
        hidings.append(
            HiddenText(part.kind, part.start, part.whitespace[:_MOST], part.content, is_message, part.is_code)
        )
    return hidings


def invisible_in(text: str) -> str:
    """The first invisible character of a text without a legitimate use; empty if there is none."""
    if text.isascii() and text.isprintable():
        return ""
    return next((hiding.characters[0] for hiding in _invisible(text)), "")


def readable(text: str) -> str:
    """A text as a model may understand it: without invisible characters, in plain letters."""
    if text.isascii() and text.isprintable():
        return text
    visible = _run.sub("", text)
    return visible if visible.isascii() else imitated(visible)


def _disguised(text: str) -> Iterator[HiddenText]:
    for kind, words in ((LOOKALIKE, lookalike_words(text)), (STYLED, styled_words(text))):
        if words:
            letters = "".join(text[start:end] for start, end, _ in words)[:_MOST]
            unusual = "".join(letter for letter in letters if not letter.isascii())
            yield HiddenText(kind, words[0][0], unusual, " ".join(word for _, _, word in words)[:_MOST], False)


def _invisible(text: str) -> Iterator[HiddenText]:
    """The invisible characters of a text that have no legitimate use, by kind, with what they spell."""
    is_rtl = _right_to_left(text) is not None
    by_kind: dict[str, tuple[int, list[str]]] = {}
    for match in _run.finditer(text):
        for kind, characters in _illegitimate(text, match.start(), match.end(), is_rtl=is_rtl):
            by_kind.setdefault(kind, (match.start(), []))[1].append(characters)
    for kind, (start, runs) in by_kind.items():
        characters = "".join(runs)[: 8 * _MOST]
        if kind == DIRECTIONS:
            yield _turned(text, start, characters)
            continue
        decode = _DECODERS.get(kind)
        decoded = decode(characters) if decode is not None else ""
        if not decoded and decode is text_of_symbols and len(runs) > 1:
            # A few stray characters elsewhere make the whole unreadable.
            decoded = text_of_symbols(max(runs, key=len))
        yield HiddenText(kind, start, characters[:_MOST], decoded[:_MOST], reads(decoded))


_DECODERS: dict[str, Callable[[str], str]] = {
    TAGS: text_of_tags,
    SELECTORS: text_of_selectors,
    ZERO_WIDTH: text_of_symbols,
    INVISIBLE: text_of_symbols,
}


def _turned(text: str, start: int, characters: str) -> HiddenText:
    """Text whose direction is overridden: what is shown backwards."""
    turned = " ".join(match[1][::-1].strip() for match in _overridden.finditer(text))[:_MOST]
    return HiddenText(DIRECTIONS, start, characters[:_MOST], turned, reads(turned))


def _illegitimate(text: str, start: int, end: int, *, is_rtl: bool) -> Iterator[tuple[str, str]]:
    """The parts of a run of invisible characters that have no legitimate use, by kind."""
    run = text[start:end]
    # A byte order mark shows the encoding of a file, and hides nothing.
    if start == 0 and run[0] == "\ufeff":
        run = run[1:]
    before, after = text[start - 1 : start], text[end : end + 1]
    if not run or _is_usual(run, before, after, is_rtl=is_rtl):
        return
    kinds: dict[str, list[str]] = {}
    for character in run:
        kinds.setdefault(_kind_of(character), []).append(character)
    for kind, characters in kinds.items():
        yield kind, "".join(characters)


def _kind_of(character: str) -> str:
    if character < "\xa0":
        return CONTROLS
    if character >= "\U000e0100" or "\ufe00" <= character <= "\ufe0f":
        return SELECTORS
    if character >= "\U000e0000":
        return TAGS
    if character in _OVERRIDES or character in _EMBEDDINGS:
        return DIRECTIONS
    if "\u200b" <= character <= "\u200f" or "\u2060" <= character <= "\u2064" or character in "\u180e\u061c\ufeff":
        return ZERO_WIDTH
    return INVISIBLE


def _is_usual(run: str, before: str, after: str, *, is_rtl: bool) -> bool:
    """Whether a run of invisible characters has a legitimate use between its neighbours."""
    # Tag characters after a black flag make the flag of a region, such as Scotland.
    if before == _BLACK_FLAG:
        return _is_flag(run) is not None
    if is_rtl and all(
        character in _DIRECTION_MARKS or character in _EMBEDDINGS or character in _JOINERS for character in run
    ):
        return len(run) <= 3
    if len(run) == 2 and run[0] in "\ufe0e\ufe0f" and run[1] == "\u200d":
        # Emoji such as the rainbow flag are joined by these two characters.
        return _is_symbol(before) and _is_symbol(after)
    if len(run) > 1:
        # Two isolates without a text between them come from a template with an empty value.
        return run[0] in _EMBEDDINGS and set(run) <= set("\u2068\u2069")
    usual = _USUAL.get(_group_of(run))
    return usual is not None and usual(run, before, after)


def _group_of(character: str) -> str:
    if character >= "\U000e0100":
        return "ideographic selector"
    if "\ufe00" <= character <= "\ufe0f":
        return "selector"
    return character


def _joins(_: str, before: str, after: str) -> bool:
    """Whether a joiner is between parts of an emoji, or in a word of a script that uses joiners."""
    return (_is_symbol(before) and _is_symbol(after)) or (
        "\u058f" < before < "\u2000" and category(before)[0] in "LM" and not "\u10a0" <= before <= "\u13ff"
    )


def _is_symbol(character: str) -> bool:
    return character > "\xa8" and category(character)[0] == "S"


def _follows_symbol(selector: str, before: str, _: str) -> bool:
    """Whether a variation selector follows a character that has variants."""
    if before in "0123456789#*" and before:
        return selector in "\ufe0e\ufe0f\ufe00"
    return before > "\xa8" and not (before < "\u0370" and before.isalpha())


def _breaks_lines(_: str, before: str, after: str) -> bool:
    return _SPEECH_SPACES(before) is not None or _SPEECH_SPACES(after) is not None


def _is_in(first: str, last: str) -> Callable[[str, str, str], bool]:
    """Whether a neighbour is in a range of characters."""
    return lambda _, before, after: first <= before <= last or first <= after <= last


_USUAL: dict[str, Callable[[str, str, str], bool]] = {
    "\u200c": _joins,
    "\u200d": _joins,
    "\u200b": _breaks_lines,
    "selector": _follows_symbol,
    "ideographic selector": lambda _, before, __: "\u3400" <= before < "\U000e0000",
    **dict.fromkeys("\u2068\u2069", lambda *_: True),  # isolates that localisation libraries put around values
    **dict.fromkeys("\u180b\u180c\u180d\u180e\u180f", _is_in("\u1800", "\u18af")),
    **dict.fromkeys("\u115f\u1160\u3164\uffa0", _is_in("\u1100", "\ud7af")),
    **dict.fromkeys("\u17b4\u17b5", _is_in("\u1780", "\u17ff")),
    "\u034f": _is_in("\u0300", "\u08ff"),
    "\u2800": _is_in("\u2801", "\u28ff"),
    **dict.fromkeys("\u2061\u2062\u2063\u2064", lambda _, before, after: _is_symbol(before) or _is_symbol(after)),
}
