"""Which texts of a server may hide or encode something: a few passes over all texts together, since hardly any does.

Every `mcproof lint` runs this, so it loads no decoder: it names those that are worth a try.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Literal

from mcproof.checks.texts.words import KNOWN

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mcproof.checks.texts.model_texts import ModelTexts

Encoding = Literal[
    "runs", "pieces", "codes", "base85", "escapes", "ciphers", "leet", "spaced letters", "morse", "other letters"
]
"""What to look for in a text; `encodings.DECODERS` has a decoder for each."""

_LOWERCASE = "abcdefghijklmnopqrstuvwxyz"
_LETTERS = bytes(
    97
    if 65 <= code <= 90 or 97 <= code <= 122
    else 48
    if 48 <= code <= 57
    else 32
    if code < 33 or code in b",;:|_*."
    else code
    for code in range(256)
)
"""Maps letters to `a`, digits to `0`, whitespace and separators to a space."""
_CASES = bytes(
    85 if 65 <= code <= 90 else 108 if 97 <= code <= 122 else 48 if 48 <= code <= 57 else 32 for code in range(256)
)
"""Maps upper case to `U`, lower case to `l`, digits to `0`, everything else to a space."""
_RUNS = bytes(120 if (chr(code).isalnum() and code < 128) or code in b"+/_-" else 32 for code in range(256))
"""Maps the characters of base64 to `x`, everything else to a space."""
_WORDS = bytes(code | 32 if 65 <= code <= 90 or 97 <= code <= 122 else 32 for code in range(256))
"""Maps letters to lower case, everything else to a space."""
_SHORTEST_RUN = b"x" * 20
_HEXADECIMAL, _BASE32 = b"0123456789abcdefABCDEF", b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
_TEXT = bytes((9, 10, 13, *range(32, 127)))
"""The bytes of ASCII text."""
_NEVER_FIRST = b"BEFGghijklmnopqrstuv"
"""Letters with which base64 starts only if the first byte is a control character, or no first byte of UTF-8."""
_UTF8_TEXT = rb"(?:[\t\n\r -~]|[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3})*+"
_LEAST_MIXED, _LEAST_DIGITS = 3, 4

_MIXED = ((b"U", rb"U(?<=lUU)"), (b"0", rb"0(?:(?<=l0)U|(?<=U0)l|lU)"))
"""Sequences that base64 has every few letters and words hardly ever."""
_DIGITS_FOR_LETTERS = rb"0(?:(?<=a0)[a ]|(?<= 0)a)"
_CODES = rb"0(?:0(?: 0a|(?<= 00) 00 00 00 |0 (?:000 000| 000  000)|0{6} 0{8}|0{46})|a(?: 00|00  0a))"
"""Rows of numbers with two or three digits, of hexadecimal and of binary ones."""
_HYPHENED_LETTERS = rb"-(?=a-a-a-)"
_WRITTEN: tuple[tuple[Encoding, bytes, bytes], ...] = (
    ("escapes", b"\\", rb"\\[ux1]"),
    ("escapes", b"&", rb"&#"),
    ("escapes", b"%", rb"%"),
    ("escapes", b"=", rb"=6"),
    ("codes", b"+", rb"\+(?<=U\+)"),
    ("base85", b"~", rb"~(?<=<~)"),
    ("morse", b"-", rb"-\."),
    # `the`, `and`, `to` and `user` in rot47.
    ("ciphers", b" E96 ", rb" E96 "),
    ("ciphers", b" 2?5 ", rb" 2\?5 "),
    ("ciphers", b" E@ ", rb" E@ "),
    ("ciphers", b"FD6C", rb"FD6C"),
)
"""The signs of written codes, each with a character that every text with one of them has."""
_UNUSUAL_LETTER = "[ɐǝɥɹʇʌʍʎ\u2801-\u28ff]"

_CONCEALING = (
    (b"<", rb"<(?=!--|[a-zA-Z][a-zA-Z0-9]*+\s[^<>]{0,300}?(?i:hidden|none|font-size|opacity|color))"),
    (b"]", rb"\](?=:[ \t]{0,9}(?:#|<>))"),
    (b"\t", rb"\t(?=[ \t]{5})"),
    (b"\n", rb"\n(?=(?:[ \t\r]*+\n){4})"),
    (b"&", rb"&(?=nbsp;|\#160;|emsp;)"),
    (b" " * 35, b" {35}"),
)
"""Comments, elements that are not shown, and much whitespace."""
_CONTROLS = bytes((*range(9), 11, 12, *range(14, 32), 127))

HARMLESS = (
    "\xa1-\xac\xae-\u024f\u2010-\u2027\u2030-\u205e\u20a0-\u20bf\u2100-\u23ff\u2500-\u27ff\u2900-\u2bff"
    "\u3001-\u30ff\u3400-\u9fff\uac00-\ud7a3\U0001f300-\U0001faff"
)
"""Characters beyond ASCII that are visible and do not look like ASCII letters, as in a regular expression."""
_NOTABLE = f"[^\x00-\x7f{HARMLESS}]"


_USUAL_WORDS = """
    the and you user this that with from all not must send read file tool ignore instructions previous system before
    always never call your tell key when secret password token execute contents data message email use then first
    delete into keys copy for are any without about files run include forward output las los que les des une und die
    der nicht instrucciones usuario anteriores mot passe para dans pour
"""
"""Words of which a sentence to a model has two."""

ALPHABETS = {
    "atbash": _LOWERCASE[::-1],
    **{
        "rot13" if by == 13 else f"shift by {by}": _LOWERCASE[by:] + _LOWERCASE[:by] for by in range(1, len(_LOWERCASE))
    },
}
"""What the letters from a to z stand for, by the name of the cipher."""


def _markers() -> dict[str, frozenset[bytes]]:
    """Encoded forms of usual words, for each cipher."""
    signs, letters = _USUAL_WORDS.encode(), _LOWERCASE.encode()
    encoded = {"reversed": signs[::-1]}
    for cipher, alphabet in ALPHABETS.items():
        encoded[cipher] = signs.translate(bytes.maketrans(alphabet.encode(), letters))
    usual_words = frozenset(" ".join(KNOWN).encode().split())
    # A word that is usual as it stands shows nothing.
    return {cipher: frozenset(words.split()) - usual_words for cipher, words in encoded.items()}


_MARKERS = _markers()
MARKER_WORDS: frozenset[bytes] = frozenset().union(*_MARKERS.values())
"""Words that are usual ones in some cipher."""


def ciphers_of(word: bytes) -> list[str]:
    """The ciphers in which a usual word looks like this."""
    return [cipher for cipher, words in _MARKERS.items() if word in words]


def hiding_suspects(texts: ModelTexts) -> list[str]:
    """The texts of a server that may hide something from people."""
    suspects = dict.fromkeys(text for sign in _CONCEALING for text in texts.with_match(*sign))
    data = texts.joined_bytes
    if len(data.translate(None, _CONTROLS)) < len(data):
        suspects |= dict.fromkeys(text for text in texts.distinct if not text.isprintable())
    return list(suspects | dict.fromkeys(texts.with_any(_NOTABLE)))


def encoded_suspects(texts: ModelTexts) -> dict[str, list[Encoding]]:
    """The texts of a server that may have encoded parts, each with the encodings to try."""
    suspects: dict[str, list[Encoding]] = {}
    for text, encoding in _suspicions(texts):
        encodings = suspects.setdefault(text, [])
        if encoding not in encodings:
            encodings.append(encoding)
    return suspects


def _suspicions(texts: ModelTexts) -> Iterator[tuple[str, Encoding]]:
    data = texts.joined_bytes
    cases, rows = data.translate(_CASES), data.translate(_LETTERS)

    runs: dict[bytes, bool] = {}
    for start, end in _runs(data.translate(_RUNS)):
        run = data[start:end]
        if run not in runs:
            runs[run] = _may_decode(run)
        if runs[run]:
            yield texts.text_at(start), "runs"
    for text, count in Counter(text for sign in _MIXED for text in texts.with_match(*sign, cases)).items():
        if count >= _LEAST_MIXED:
            yield text, "pieces"
            yield text, "base85"
    for text, count in Counter(texts.with_match(b"0", _DIGITS_FOR_LETTERS, rows)).items():
        if count >= _LEAST_DIGITS:
            yield text, "leet"
    # One character further, since the text may start with the row.
    for offset in (match.start() + 1 for match in re.finditer(b" a a a a ", rows)):
        yield texts.text_at(offset), "spaced letters"
    for text in texts.with_match(b"-", _HYPHENED_LETTERS, rows):
        yield text, "spaced letters"
    for text in texts.with_match(b"0", _CODES, rows):
        yield text, "codes"
    for encoding, rare, expression in _WRITTEN:
        for text in texts.with_match(rare, expression):
            yield text, encoding
    words = data.translate(_WORDS)
    for word in _cipher_words(words.split()):
        for match in re.finditer(b" " + word + b" ", words):
            yield texts.text_at(match.start() + 1), "ciphers"
    for text in texts.with_any(_UNUSUAL_LETTER):
        yield text, "other letters"


def _cipher_words(words: Iterable[bytes]) -> list[bytes]:
    """The words that are usual ones in a cipher, if there are at least two of one cipher."""
    by_cipher: dict[str, list[bytes]] = {}
    for word in sorted(MARKER_WORDS.intersection(words)):
        for cipher in ciphers_of(word):
            by_cipher.setdefault(cipher, []).append(word)
    return [word for words_in_cipher in by_cipher.values() if len(words_in_cipher) > 1 for word in words_in_cipher]


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
    from binascii import Error, a2b_base64  # here, as few servers have such a run

    start = run[: min(len(run) // 4 * 4, 40)]
    if b"-" in start or b"_" in start:
        start = start.replace(b"-", b"+").replace(b"_", b"/")
    try:
        data = a2b_base64(start)
    except Error:
        return False
    as_text = re.match(_UTF8_TEXT, data)
    if as_text is not None and as_text.end() >= len(data) - 3:
        return True
    return data.startswith((b"\x1f\x8b", b"x\x9c", b"x\xda")) or data.count(0) * 3 >= len(data)
