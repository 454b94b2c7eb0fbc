"""Which texts of a server may hide or encode something: a few passes over all texts together, since hardly any does.

Every `mcproof lint` runs this, so it loads no decoder: it names those that are worth a try.
"""

from __future__ import annotations

import re
from binascii import Error as InvalidDataError
from binascii import a2b_base64
from typing import TYPE_CHECKING, Literal

from mcproof.checks.texts.codes import MARKER_WORDS, ciphers_of
from mcproof.checks.texts.pieces import RareSearch, occurrences, rare_signs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.checks.texts.model_texts import ModelTexts

Encoding = Literal[
    "runs", "pieces", "codes", "base85", "escapes", "ciphers", "leet", "spaced letters", "morse", "other letters"
]
"""What to look for in a text; `encodings.DECODERS` has a decoder for each."""

_LETTERS = bytes(
    97
    if 65 <= each <= 90 or 97 <= each <= 122
    else 48
    if 48 <= each <= 57
    else 32
    if each < 33 or each in b",;:|_*."
    else each
    for each in range(256)
)
"""Maps letters to `a`, digits to `0`, whitespace and separators to a space."""
_CASES = bytes(
    85 if 65 <= each <= 90 else 108 if 97 <= each <= 122 else 48 if 48 <= each <= 57 else 32 for each in range(256)
)
"""Maps upper case to `U`, lower case to `l`, digits to `0`, everything else to a space."""
_RUNS = bytes(120 if (chr(each).isalnum() and each < 128) or each in b"+/_-" else 32 for each in range(256))
"""Maps the characters of base64 to `x`, everything else to a space."""
_WORDS = bytes(each | 32 if 65 <= each <= 90 or 97 <= each <= 122 else 32 for each in range(256))
"""Maps letters to lower case, everything else to a space."""
_SHORTEST_RUN = b"x" * 20
_HEXADECIMAL, _BASE32 = b"0123456789abcdefABCDEF", b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
_TEXT = bytes((9, 10, 13, *range(32, 127)))
"""The bytes of ASCII text."""
_NEVER_FIRST = b"BEFGghijklmnopqrstuv"
"""Letters with which base64 starts only if the first byte is a control character, or no first byte of UTF-8."""
_UTF8_TEXT = rb"(?:[\t\n\r -~]|[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3})*+"
_mixed_cases = rare_signs(b"U", b"lUU")
_mixed_digits = rare_signs(b"0", b"l0U", b"U0l", b"0lU")
"""Sequences that base64 has every few letters and words hardly ever."""
_digits_for_letters = rare_signs(b"0", b"a0a", b" 0a", b"a0 ")
_LEAST_MIXED, _LEAST_DIGITS = 3, 4
_codes = RareSearch(b"0", rb"(?:0(?: 0a|(?<= 00) 00 00 00 |0 (?:000 000| 000  000)|0{6} 0{8}|0{46})|a(?: 00|00  0a))")
"""Rows of numbers with two or three digits, of hexadecimal and of binary ones."""
_spaced_letters = re.compile(b" a a a a ").finditer
_hyphened_letters = rare_signs(b"-", b"-a-a-a-")
_SIGNS: tuple[tuple[bytes, tuple[bytes, ...], Encoding], ...] = (
    (b"\\", (b"\\u", b"\\x", b"\\1"), "escapes"),
    (b"&", (b"&#",), "escapes"),
    (b"%", (b"%",), "escapes"),
    (b"=", (b"=6",), "escapes"),
    (b"+", (b"U+",), "codes"),
    (b"~", (b"<~",), "base85"),
    (b"-", (b"-.",), "morse"),
)
"""Signs of written codes, each with its rarest character."""
_WRITTEN = tuple((rare_signs(rarest, *signs), encoding) for rarest, signs, encoding in _SIGNS)
_rotated = tuple(rare_signs(*each) for each in ((b"9", b" E96 "), (b"?", b" 2?5 "), (b"@", b" E@ "), (b"6", b"FD6C")))
"""`the`, `and`, `to` and `user` in rot47."""
_UNUSUAL_LETTER = "[ɐǝɥɹʇʌʍʎ\u2801-\u28ff]"

_CONTROLS = bytes((*range(9), 11, 12, *range(14, 32), 127))
_CONCEALING = (
    RareSearch(b"<", rb"(?=!--|[a-zA-Z][a-zA-Z0-9]*+\s[^<>]{0,300}?(?i:hidden|none|font-size|opacity|color))"),
    RareSearch(b"]", rb"(?=:[ \t]{0,9}(?:#|<>))"),
    RareSearch(b"\t", rb"(?=[ \t]{5})"),
    RareSearch(b"\n", rb"(?=[ \t\r]*+\n[ \t\r]*+\n[ \t\r]*+\n[ \t\r]*+\n)"),
    rare_signs(b"&", b"&nbsp;", b"&#160;", b"&emsp;"),
)
"""Comments, elements that are not shown, and much whitespace."""
_GAP = b" " * 35

HARMLESS = (
    "\xa1-\xac\xae-\u024f\u2010-\u2027\u2030-\u205e\u20a0-\u20bf\u2100-\u23ff\u2500-\u27ff\u2900-\u2bff"
    "\u3001-\u30ff\u3400-\u9fff\uac00-\ud7a3\U0001f300-\U0001faff"
)
"""Characters beyond ASCII that are visible and do not look like ASCII letters, as in a regular expression."""
_NOTABLE = f"[^\x00-\x7f{HARMLESS}]"


def hiding_suspects(texts: ModelTexts) -> list[str]:
    """The texts of a server that may hide something from people."""
    data = texts.joined_bytes
    offsets = [match.start() for search in _CONCEALING for match in search(data)]
    if not texts.is_plain and len(data.translate(None, _CONTROLS)) < len(data):
        offsets += [match.start() for match in re.finditer(b"[" + re.escape(_CONTROLS) + b"]", data)]
    found = dict.fromkeys(texts.text_at(offset) for offset in (*offsets, *occurrences(data, _GAP)))
    found |= dict.fromkeys(texts.with_any(_NOTABLE))
    return list(found)


def encoded_suspects(texts: ModelTexts) -> dict[str, list[Encoding]]:
    """The texts of a server that may have encoded parts, each with the encodings to try."""
    found: dict[str, list[Encoding]] = {}
    for offset, encoding in _suspicions(texts):
        encodings = found.setdefault(texts.text_at(offset), [])
        if encoding not in encodings:
            encodings.append(encoding)
    for text in texts.with_any(_UNUSUAL_LETTER):
        found.setdefault(text, []).append("other letters")
    return found


def _suspicions(texts: ModelTexts) -> Iterator[tuple[int, Encoding]]:
    data = texts.joined_bytes
    known: dict[bytes, bool] = {}
    for start, end in _runs(data.translate(_RUNS)):
        run = data[start:end]
        may_decode = known.get(run)
        if may_decode is None:
            may_decode = known[run] = _may_decode(run)
        if may_decode:
            yield start, "runs"
    cases, rows = data.translate(_CASES), data.translate(_LETTERS)
    mixed = [match.start() for search in (_mixed_cases, _mixed_digits) for match in search(cases)]
    for offset in _frequent(texts, mixed, _LEAST_MIXED):
        yield offset, "pieces"
        yield offset, "base85"
    for offset in _frequent(texts, [match.start() for match in _digits_for_letters(rows)], _LEAST_DIGITS):
        yield offset, "leet"
    for search in (_spaced_letters, _hyphened_letters):
        for match in search(rows):
            yield match.start() + 1, "spaced letters"
    for match in _codes(rows):
        yield match.start(), "codes"
    for search, encoding in _WRITTEN:
        for match in search(data):
            yield match.start(), encoding
    if b"@" in data:
        for search in _rotated:
            for match in search(data):
                yield match.start(), "ciphers"
    yield from _ciphers(data.translate(_WORDS))


def _runs(marked: bytes) -> Iterator[tuple[int, int]]:
    """Where runs of characters of base64 start and end."""
    start = marked.find(_SHORTEST_RUN)
    while start >= 0:
        end = marked.find(b" ", start)
        if end < 0:
            end = len(marked)
        yield start, end
        start = marked.find(_SHORTEST_RUN, end)


def _may_decode(run: bytes) -> bool:
    """Whether a run of letters and digits may be an encoded text; a look at its start suffices to exclude names."""
    if not run.translate(None, _HEXADECIMAL):
        start = bytes.fromhex(run[: min(len(run) // 2 * 2, 32)].decode())
        return not start.isascii() or start.translate(None, _TEXT) == b"" or start.count(0) * 3 >= len(start)
    if run.islower():
        return False
    if run.isupper() and not run.translate(None, _BASE32):
        return True
    return _starts_as_text(run) or _starts_as_text(run[::-1])


def _starts_as_text(run: bytes) -> bool:
    """Whether the start of base64 decodes to text or to compressed data."""
    if run[0] in _NEVER_FIRST:
        return False
    start = run[: min(len(run) // 4 * 4, 40)]
    if b"-" in start or b"_" in start:
        start = start.replace(b"-", b"+").replace(b"_", b"/")
    try:
        data = a2b_base64(start)
    except InvalidDataError:
        return False
    as_text = re.match(_UTF8_TEXT, data)
    if as_text is not None and as_text.end() >= len(data) - 3:
        return True
    return data.startswith((b"\x1f\x8b", b"x\x9c", b"x\xda")) or data.count(0) * 3 >= len(data)


def _ciphers(lowered: bytes) -> Iterator[tuple[int, Encoding]]:
    """Words that are usual ones in a cipher, if there are at least two of one cipher."""
    counts: dict[str, list[bytes]] = {}
    for word in sorted(MARKER_WORDS.intersection(lowered.split())):
        for code in ciphers_of(word):
            counts.setdefault(code, []).append(word)
    for markers in counts.values():
        if len(markers) >= 2:
            for word in markers:
                for at in occurrences(lowered, b" " + word + b" "):
                    yield at + 1, "ciphers"


def _frequent(texts: ModelTexts, offsets: list[int], least: int) -> Iterator[int]:
    """The offsets in texts that have at least so many of them."""
    if len(offsets) < least:
        return
    counts: dict[str, int] = {}
    for offset in offsets:
        text = texts.text_at(offset)
        counts[text] = counts.get(text, 0) + 1
        if counts[text] == least:
            yield offset
