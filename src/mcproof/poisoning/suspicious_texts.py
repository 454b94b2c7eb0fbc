"""Which texts of a server may hide or encode something: a few passes over all texts together, since hardly any does."""

from __future__ import annotations

import re
from binascii import Error as InvalidDataError
from binascii import a2b_base64
from typing import TYPE_CHECKING

from mcproof.poisoning import encodings
from mcproof.poisoning.ciphers import MARKERS
from mcproof.poisoning.substrings import occurrences

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.poisoning.encodings import Decoder
    from mcproof.poisoning.model_texts import ModelTexts

_hexadecimal = re.compile("[0-9a-fA-F]{16,}").fullmatch
_base32 = re.compile("[A-Z2-7]{16,}").fullmatch

_SEPARATORS = b",;:|_*."
_LETTERS = bytes(
    97
    if 65 <= each <= 90 or 97 <= each <= 122
    else 48
    if 48 <= each <= 57
    else 32
    if each < 33 or each in _SEPARATORS
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
_SHORTEST_RUN = b"x" * 20
_TEXT = bytes((9, 10, 13, *range(32, 127)))
"""The bytes of ASCII text."""
_WORDS = bytes(each | 32 if 65 <= each <= 90 or 97 <= each <= 122 else 32 for each in range(256))
"""Maps letters to lower case, everything else to a space."""
_MARKERS = {marker.encode(): codes for marker, codes in MARKERS.items()}
_MIXED = (b"lUU", b"l0U", b"U0l", b"0lU")
"""Sequences that base64 has every few letters and words hardly ever."""
_ROWS: tuple[tuple[bytes, Decoder], ...] = (
    (b" a a a a ", encodings.of_spaced_letters),
    (b"-a-a-a-", encodings.of_spaced_letters),
    (b" 00 00 00 00 ", encodings.of_codes),
    (b"000 000 000", encodings.of_codes),
    (b"000  000  000", encodings.of_codes),
    (b"00 0a", encodings.of_codes),
    (b"0a 00", encodings.of_codes),
    (b"0a00  0a", encodings.of_codes),
    (b"00000000 00000000", encodings.of_codes),
    (b"0" * 48, encodings.of_codes),
)
_WRITTEN: tuple[tuple[str, str, Decoder], ...] = (
    ("\\", "\\u", encodings.of_escapes),
    ("\\", "\\x", encodings.of_escapes),
    ("\\", "\\1", encodings.of_escapes),
    ("&", "&#", encodings.of_escapes),
    ("%", "%", encodings.of_escapes),
    ("=", "=6", encodings.of_escapes),
    ("+", "U+", encodings.of_codes),
    ("~", "<~", encodings.of_base85),
    ("-", "-.", encodings.of_morse),
    *(("@", sign, encodings.of_sentences) for sign in encodings.ROTATED_SIGNS),
)
"""Signs of written codes, each with its rarest character: to search for one character first is fast."""
_DIGITS = (b"a0a", b" 0a", b"a0 ")
"""Digits at the places of letters."""
_LEAST_MIXED, _LEAST_DIGITS = 3, 4


_SIGNS_OF_CONCEALMENT = (
    *(("<", "<!--"), ("\x1b", "\x1b"), ("\x9b", "\x9b"), (" ", " " * 40), ("#", "]: #"), (">", "]: <>")),
    *(("&", "&nbsp;&nbsp;"), ("&", "&#160;&#160;"), ("<", "style="), ("<", " hidden"), ("<", "-hidden")),
)
"""Signs of concealed parts, each with its rarest character."""
_control = re.compile("[\x00-\x08\x0e-\x1f\x7f]").finditer
_blank_lines = re.compile(r"\n[ \t\r]*+\n[ \t\r]*+\n[ \t\r]*+\n[ \t\r]*+\n").finditer
_gap_with_tabs = re.compile(r"\t[ \t]{5}").finditer


def hiding_suspects(texts: ModelTexts) -> list[str]:
    """The texts of a server that may hide something from people."""
    joined = texts.joined
    offsets = [at for rarest, sign in _SIGNS_OF_CONCEALMENT if rarest in joined for at in occurrences(joined, sign)]
    offsets += [match.start() for match in _blank_lines(joined)]
    if "\t" in joined:
        offsets += [match.start() for match in _gap_with_tabs(joined)]
    if not texts.is_plain:
        offsets += [match.start() for match in _control(joined)]
    found = dict.fromkeys(texts.text_at(offset) for offset in offsets)
    if not joined.isascii():
        found |= {text: None for text in texts.distinct if not text.isascii()}
    return list(found)


def encoded_suspects(texts: ModelTexts) -> dict[str, list[Decoder]]:
    """The texts of a server that may have encoded parts, each with the decoders to try."""
    found: dict[str, list[Decoder]] = {}
    for offset, decoder in _suspicions(texts):
        decoders = found.setdefault(texts.text_at(offset), [])
        if decoder not in decoders:
            decoders.append(decoder)
    if not texts.joined.isascii():
        for text in texts.distinct:
            if not text.isascii() and _unusual_letter(text) is not None:
                found.setdefault(text, []).append(encodings.of_other_letters)
    return found


def _suspicions(texts: ModelTexts) -> Iterator[tuple[int, Decoder]]:
    joined = texts.joined
    data = joined.encode("latin-1", "replace")
    for start, end in _runs(data.translate(_RUNS)):
        if _may_decode(joined[start:end]):
            yield start, encodings.of_runs
    cases, rows = data.translate(_CASES), data.translate(_LETTERS)
    for offset in _frequent(texts, [at for sign in _MIXED for at in occurrences(cases, sign)], _LEAST_MIXED):
        yield offset, encodings.of_pieces
        yield offset, encodings.of_base85
    for offset in _frequent(texts, [at for sign in _DIGITS for at in occurrences(rows, sign)], _LEAST_DIGITS):
        yield offset, encodings.of_digits
    for row, decoder in _ROWS:
        for offset in occurrences(rows, row):
            yield offset, decoder
    for rarest, sign, decoder in _WRITTEN:
        if rarest in joined:
            for offset in occurrences(joined, sign):
                yield offset, decoder
    yield from _ciphers(data.translate(_WORDS))


_unusual_letter = re.compile("[ɐǝɥɹʇʌʍʎ\u2801-\u28ff]").search


def _runs(marked: bytes) -> Iterator[tuple[int, int]]:
    """Where runs of characters of base64 start and end."""
    start = marked.find(_SHORTEST_RUN)
    while start >= 0:
        end = marked.find(b" ", start)
        if end < 0:
            end = len(marked)
        yield start, end
        start = marked.find(_SHORTEST_RUN, end)


def _may_decode(run: str) -> bool:
    """Whether a run of letters and digits may be an encoded text; a look at its start suffices to exclude names."""
    if _hexadecimal(run) is not None:
        start = bytes.fromhex(run[: min(len(run) // 2 * 2, 32)])
        return not start.isascii() or start.translate(None, _TEXT) == b"" or start.count(0) * 3 >= len(start)
    if run.islower():
        return False
    if run.isupper() and _base32(run) is not None:
        return True
    return _starts_as_text(run) or _starts_as_text(run[::-1])


def _starts_as_text(run: str) -> bool:
    """Whether the start of base64 decodes to text or to compressed data."""
    start = run[: min(len(run) // 4 * 4, 40)]
    if "-" in start or "_" in start:
        start = start.replace("-", "+").replace("_", "/")
    try:
        data = a2b_base64(start)
    except InvalidDataError:
        return False
    if data.startswith((b"\x1f\x8b", b"x\x9c", b"x\xda")) or data.count(0) * 3 >= len(data):
        return True
    if data.isascii():
        return data.translate(None, _TEXT) == b""
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return error.start >= len(data) - 3
    return True


def _ciphers(lowered: bytes) -> Iterator[tuple[int, Decoder]]:
    """Words that are usual ones in a cipher, if there are at least two of one cipher."""
    words = set(lowered.split())
    counts: dict[str, list[bytes]] = {}
    for word in words & _MARKERS.keys():
        for code in _MARKERS[word]:
            counts.setdefault(code, []).append(word)
    for markers in counts.values():
        if len(markers) >= 2:
            for word in sorted(markers):
                for at in occurrences(lowered, b" " + word + b" "):
                    yield at + 1, encodings.of_sentences


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
