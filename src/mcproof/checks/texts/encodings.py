"""Encoded text inside a text: base64, hexadecimal, escapes, character codes, simple ciphers, also nested.

Decoding is not a judgement: descriptions show examples in base64, and URLs are full of percent signs. A rule asks
what the decoded text tells a model.
Why texts are searched in one pass: docs/decisions/0050-texts-in-one-pass.md.
"""

from __future__ import annotations

import re
import zlib
from base64 import a85decode, b32decode, b64decode, b85decode
from binascii import Error as InvalidDataError
from html import unescape
from typing import TYPE_CHECKING
from urllib.parse import unquote

from mcproof.checks.texts.codes import in_code, in_leet, in_morse, in_other_letters, rotated, spaced_out
from mcproof.checks.texts.words import is_sentence, words_of_text
from mcproof.core.named_tuple import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from mcproof.checks.texts.suspicious import Encoding

MOST_LEVELS, LONGEST_TEXT, LONGEST_INFLATED, MOST_RUNS = 3, 200_000, 65_536, 200
"""Limits: nested encodings, characters of a text, bytes of decompressed data, encoded runs of a text."""

# Linear on any text, as repetitions are bounded or possessive: docs/decisions/0050-texts-in-one-pass.md.
_run = re.compile(r"[A-Za-z0-9+/_-]{16,}+").finditer
_hex_pairs = re.compile(
    r"(?:(?:\\x|0x|%|U\+00|U\+|#)?[0-9a-fA-F]{2}[\s,:;|-]{1,3}){7,}+(?:(?:\\x|0x|U\+00)?[0-9a-fA-F]{2})?"
).finditer
_decimal_codes = re.compile(r"(?<!\d)(?:\d{2,3}[\s,;|-]{1,3}){7,}+(?:\d{2,3}(?!\d))?").finditer
_bits = re.compile(r"(?<!\d)(?:[01]{7,8}[\s,]{0,3}){6,}+").finditer
_base85 = re.compile(r"[0-9A-Za-z!#$%&()*+;<=>?@^_`{|}~-]{30,}+").finditer
_escape = re.compile(r"\\u\{?([0-9a-fA-F]{2,6})\}?|\\x([0-9a-fA-F]{2})|\\([0-3][0-7]{2})|\\U([0-9a-fA-F]{8})")
_numeric_entity = re.compile(r"&#(?:x[0-9a-fA-F]{2,6}|[0-9]{2,7});?").findall
_percent_letter = re.compile(r"%(?:[46][1-9A-Fa-f]|[57][0-9Aa])").findall
_quoted_printable = re.compile(r"=([0-9A-F]{2})")
_several_quoted = re.compile(r"(?:=[4-7][0-9A-F]){4}").search
_encoded_token = re.compile(r"[A-Za-z0-9+/_-]{3,}+={0,2}").findall
_looks_encoded = re.compile(
    r"[a-z][A-Z][A-Z0-9]|[a-z]\d[A-Za-z]|[A-Z]\d[a-zA-Z]|\d[a-z][A-Z]|[a-z][A-Z][a-z].*[A-Z]|=$"
).search
_not_text = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufffd]").search

_ROTATED_SIGNS = (" E96 ", " 2?5 ", " E@ ", "FD6C")
"""`the`, `and`, `to` and `user` in rot47."""


class EncodedText(NamedTuple):
    """An encoded part of a text."""

    encoding: str
    """The name of the encoding; nested ones are joined with `in`."""
    decoded: str
    is_deliberate: bool
    """Whether the text is encoded for no technical reason, as letters in percent escapes are."""


def encoded_in(
    text: str, encodings: Iterable[Encoding] | None = None, *, levels: int = MOST_LEVELS
) -> Iterator[EncodedText]:
    """The encoded parts of a text, decoded, with those nested in them; by default every encoding is tried."""
    text = text[:LONGEST_TEXT]
    for encoding in DECODERS if encodings is None else encodings:
        for encoded in DECODERS[encoding](text):
            if encoded.decoded and encoded.decoded != text:
                yield encoded
                if levels > 1:
                    for inner in encoded_in(encoded.decoded, levels=levels - 1):
                        name = f"{inner.encoding} in {encoded.encoding}"
                        yield EncodedText(name, inner.decoded, inner.is_deliberate or encoded.is_deliberate)


def _of_runs(text: str) -> Iterator[EncodedText]:
    """Base64, base32 and hexadecimal digits without spaces."""
    count = 0
    for match in _run(text):
        run = match[0]
        if count >= MOST_RUNS:
            return
        for encoding, decoded in _of_run(run):
            count += 1
            yield EncodedText(encoding, decoded, is_deliberate=True)
            break


def _of_run(run: str) -> Iterator[tuple[str, str]]:
    digits = run.strip("=-_+/")
    if len(digits) % 2 == 0 and len(digits) >= 16 and _is_hexadecimal(digits):
        yield from _named("hexadecimal", bytes.fromhex(digits))
        return
    if run.rstrip("=").isupper() and re.fullmatch("[A-Z2-7]+=*", run):
        yield from _named("base32", _padded(b32decode, run.rstrip("="), 8))
    # Base64 mixes upper and lower case; a run without such a mix is an identifier.
    if not (run.islower() or run.isupper()):
        yield from _named("base64", base64_bytes(run))
        yield from _named("reversed base64", base64_bytes(run.strip("=")[::-1]))


def _is_hexadecimal(text: str) -> bool:
    return re.fullmatch("[0-9a-fA-F]+", text) is not None


def base64_bytes(text: str) -> bytes:
    """The bytes of base64 in either alphabet, with or without padding; empty if it is not valid."""
    digits = text.replace("-", "+").replace("_", "/").rstrip("=")
    # Base64 never has this length: the last character belongs to the text around it.
    if len(digits) % 4 == 1:
        digits = digits[:-1]
    return _padded(b64decode, digits, 4)


def _padded(decode: Callable[[str], bytes], text: str, multiple: int) -> bytes:
    try:
        return decode(text + "=" * (-len(text) % multiple))
    except (InvalidDataError, ValueError):  # a word that only looks like an encoded one
        return b""


def _named(encoding: str, data: bytes) -> Iterator[tuple[str, str]]:
    """The text of decoded bytes, if they are text, with the name of the encoding."""
    text = text_of_bytes(data)
    if text:
        yield encoding, text


def text_of_bytes(data: bytes) -> str:
    """The text that bytes stand for, also compressed or in UTF-16; empty if they are not text."""
    if len(data) < 4:
        return ""
    if data[:2] == b"\x1f\x8b" or data[0] == 0x78:
        inflated = _inflated(data)
        data = inflated or data  # the first bytes may be text by chance: 0x78 is an `x`
    # In UTF-16, every other byte of most text is 0.
    for encoding in ("utf-16-le", "utf-16-be") if data.count(0) * 3 >= len(data) else ("utf-8",):
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError:
            continue
        if _not_text(text) is None:
            return text
    return ""


def _inflated(data: bytes) -> bytes:
    try:
        # 47 reads zlib and gzip. The limit keeps a few bytes from becoming gigabytes.
        return zlib.decompressobj(47).decompress(data, LONGEST_INFLATED)
    except zlib.error:  # it begins like compressed data by chance
        return b""


def _of_pieces(text: str) -> Iterator[EncodedText]:
    """Base64 in pieces, with spaces, quotes or words between them."""
    tokens = _encoded_token(text)
    encoded = {token for token in set(tokens) if not _is_word(token) and _looks_encoded(token)}
    at = [index for index, token in enumerate(tokens) if token in encoded]
    if len(at) < 3:
        return
    for pieces in (tokens[at[0] : at[-1] + 1], [tokens[index] for index in at], tokens):
        joined = "".join(piece.rstrip("=") for piece in pieces)
        decoded = text_of_bytes(base64_bytes(joined)) or _decoded_each(pieces)
        if len(decoded) >= 12:
            yield EncodedText("base64 in pieces", decoded, is_deliberate=True)
            return


def _is_word(token: str) -> bool:
    """Whether a token is a word in lower case, apart from its first character."""
    rest = token[1:]
    return rest.islower() and rest.isalpha()


def _decoded_each(pieces: list[str]) -> str:
    """The joined texts of pieces that are each encoded on their own; empty if one is not."""
    decoded = []
    for piece in pieces[:MOST_RUNS]:
        data = base64_bytes(piece)
        part = data.decode("utf-8", "replace")
        if len(piece) < 4 or not data or _not_text(part) is not None:
            return ""
        decoded.append(part)
    are_words = any(piece.endswith("=") for piece in pieces[:-1])
    return (" " if are_words else "").join(decoded)


def _of_codes(text: str) -> Iterator[EncodedText]:
    """Character codes in a row: hexadecimal, decimal, binary."""
    for match in _hex_pairs(text):
        pairs = re.findall(r"[0-9a-fA-F]{2}(?![0-9a-fA-F])", match[0])
        yield from _of_bytes("hexadecimal", bytes(int(pair, 16) for pair in pairs))
    for match in _decimal_codes(text):
        codes = [int(code) for code in re.findall(r"\d+", match[0])]
        if all(code < 256 for code in codes):
            yield from _of_bytes("character codes", bytes(codes))
    for match in _bits(text):
        bits = re.findall("[01]{7,8}", match[0]) if re.search(r"[\s,]", match[0]) else re.findall("[01]{8}", match[0])
        yield from _of_bytes("binary digits", bytes(int(octet, 2) for octet in bits))


def _of_bytes(encoding: str, data: bytes) -> Iterator[EncodedText]:
    for name, text in _named(encoding, data):
        yield EncodedText(name, text, is_deliberate=True)


def _of_base85(text: str) -> Iterator[EncodedText]:
    start = text.find("<~")
    while start >= 0 and (end := text.find("~>", start + 2)) >= 0:
        yield from _of_bytes("base85", _padded(a85decode, text[start + 2 : end], 1))
        start = text.find("<~", end)
    for match in _base85(text):
        if len(set(re.findall(r"[^A-Za-z0-9]", match[0]))) >= 4:
            yield from _of_bytes("base85", _padded(b85decode, match[0], 1))


def _of_escapes(text: str) -> Iterator[EncodedText]:
    """Escapes that are written out: of Unicode, bytes, HTML, URLs and mail."""
    if "\\" in text:
        letters = [
            groups for groups in _escape.findall(text) if chr(_code_of(groups)).isalpha() and _code_of(groups) < 128
        ]
        if len(letters) >= 3:
            decoded = _escape.sub(lambda match: chr(_code_of(match.groups())), text)
            yield EncodedText("escapes", decoded, is_deliberate=True)
    if "&" in text and ";" in text:
        decoded = unescape(text)
        numeric = _numeric_entity(text)
        if decoded != text:
            letters = [entity for entity in numeric if unescape(entity).isalpha() and unescape(entity).isascii()]
            yield EncodedText("HTML entities", decoded, is_deliberate=len(letters) >= 3)
    if text.count("%") >= 3:
        tokens = [token for token in text.split() if "%" in token]
        decoded = unquote(" ".join(tokens))
        if decoded != " ".join(tokens):
            is_deliberate = len(_percent_letter(text)) >= 4
            if is_deliberate:
                decoded = unquote(text)
            is_deliberate = is_deliberate or any(map(_is_sentence_in_percent, tokens))
            yield EncodedText("percent escapes", decoded, is_deliberate)
    if "=" in text and _several_quoted(text) is not None:
        decoded = _quoted_printable.sub(lambda match: chr(int(match[1], 16)), text.replace("=\n", ""))
        yield EncodedText("quoted-printable", decoded, is_deliberate=True)


def _is_sentence_in_percent(token: str) -> bool:
    """Whether a token has several escaped spaces and does not start as an address does."""
    start, *rest = token.split("%20")
    return len(rest) >= 3 and not any(sign in start for sign in "/?=&")


def _code_of(groups: tuple[str | None, ...]) -> int:
    """The code point of an escape, given the groups of its expression."""
    braced, byte, octal, long = groups
    code = int(octal, 8) if octal else int(braced or byte or long or "0", 16)
    return code if code < 0x110000 else 0xFFFD


def _of_sentences(text: str) -> Iterator[EncodedText]:
    """Sentences in a simple cipher, or backwards."""
    for code, decoded in in_code(text, dict.fromkeys(words_of_text(text))):
        yield EncodedText(code, decoded, is_deliberate=True)
    if any(word in text for word in _ROTATED_SIGNS):
        lines = [sentence for line in text.splitlines() if is_sentence(sentence := rotated(line), share=0.3)]
        yield EncodedText("rot47", " ".join(lines), is_deliberate=True)


def _of_digits(text: str) -> Iterator[EncodedText]:
    yield EncodedText("digits for letters", in_leet(text), is_deliberate=True)


def _of_spaced_letters(text: str) -> Iterator[EncodedText]:
    yield EncodedText("spaced letters", spaced_out(text), is_deliberate=True)


def _of_morse(text: str) -> Iterator[EncodedText]:
    if "-" in text and "." in text:
        yield EncodedText("Morse code", in_morse(text), is_deliberate=True)


def _of_other_letters(text: str) -> Iterator[EncodedText]:
    if not text.isascii():
        for code, decoded in in_other_letters(text):
            yield EncodedText(code, decoded, is_deliberate=True)


DECODERS: dict[Encoding, Callable[[str], Iterator[EncodedText]]] = {
    "runs": _of_runs,
    "pieces": _of_pieces,
    "codes": _of_codes,
    "base85": _of_base85,
    "escapes": _of_escapes,
    "ciphers": _of_sentences,
    "leet": _of_digits,
    "spaced letters": _of_spaced_letters,
    "morse": _of_morse,
    "other letters": _of_other_letters,
}
