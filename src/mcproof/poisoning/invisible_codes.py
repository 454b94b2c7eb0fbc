"""Texts in sequences of invisible characters: as letters, bytes, bits or digits of another base."""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MOST_SYMBOLS = 8_192
"""How many characters of a sequence are decoded."""


def text_of_tags(characters: str) -> str:
    """The ASCII letters that tag characters stand for."""
    return "".join(chr(code) for each in characters if 0x20 <= (code := ord(each) - 0xE0000) < 0x7F)


def text_of_selectors(characters: str) -> str:
    """The text whose bytes, or halves of bytes, are written as variation selectors; empty if there is none."""
    values = [selected for each in characters[:MOST_SYMBOLS] if (selected := _selector(each)) is not None]
    candidates = [bytes(values)]
    if len(set(values)) > 2 and max(values, default=0) < 16:
        candidates.append(_joined(values, base=16, width=2))
    texts = (_text(each) for each in candidates)
    return next((text for text in texts if reads(text)), "") or text_of_symbols(characters)


def _selector(character: str) -> int | None:
    code = ord(character)
    if 0xFE00 <= code <= 0xFE0F:
        return code - 0xFE00
    return code - 0xE0100 + 16 if 0xE0100 <= code <= 0xE01EF else None


def text_of_symbols(characters: str) -> str:
    """The text that a sequence of a few different characters stands for as binary digits; empty if there is none."""
    characters = characters[:MOST_SYMBOLS]
    texts = (_text(each) for each in _readings(characters))
    return next((text for text in texts if reads(text)), "")


def _readings(characters: str) -> Iterator[bytes]:
    """The bytes that a sequence may stand for, the most usual codes first."""
    alphabet = sorted(set(characters))
    if len(alphabet) == 2:
        yield from _bits(characters, alphabet)
    elif len(alphabet) in (3, 4):
        for removed in _separators(characters, alphabet):
            digits = [each for each in alphabet if each not in removed]
            groups = [group for group in _split(characters, removed) if group]
            for zero, one in permutations(digits, 2):
                yield bytes(int("".join("0" if each == zero else "1" for each in group), 2) & 255 for group in groups)
                yield from _bits("".join(groups), [zero, one])
        if len(alphabet) == 4:
            for order in permutations(alphabet):
                yield _joined([order.index(each) for each in characters], base=4, width=4)
    elif 5 <= len(alphabet) <= 16:
        values = [alphabet.index(each) for each in characters]
        yield _joined(values, base=8, width=3)
        yield _joined(values, base=16, width=2)


def _separators(characters: str, alphabet: Sequence[str]) -> Iterator[str]:
    """The characters that may separate letters: one of three, or two of four; the rarest first."""
    by_count = sorted(alphabet, key=characters.count)
    if len(alphabet) == 3:
        yield from by_count
    else:
        yield "".join(by_count[:2])


def _split(characters: str, separators: str) -> list[str]:
    for each in separators[1:]:
        characters = characters.replace(each, separators[0])
    return characters.split(separators[0])


def _bits(characters: str, alphabet: Sequence[str]) -> Iterator[bytes]:
    first, second = alphabet
    for zero, one in ((first, second), (second, first)):
        bits = characters.translate({ord(zero): "0", ord(one): "1"})
        for width in (8, 7, 16):
            whole = len(bits) - len(bits) % width
            values = [int(bits[at : at + width], 2) for at in range(0, whole, width)]
            if all(value < 256 for value in values):
                yield bytes(values)


def _joined(digits: Sequence[int], *, base: int, width: int) -> bytes:
    """The bytes that groups of digits stand for, the most significant digit first."""
    values = []
    for at in range(0, len(digits) - len(digits) % width, width):
        value = 0
        for digit in digits[at : at + width]:
            value = value * base + digit
        values.append(value & 255)
    return bytes(values)


def _text(data: bytes) -> str:
    try:
        return data.strip(b"\0").decode()
    except UnicodeDecodeError:
        return ""


def reads(text: str) -> bool:
    """Whether a decoded text consists of words rather than of noise."""
    if len(text) < 3 or not (text.isprintable() or "".join(text.split()).isprintable()):
        return False
    letters = sum(each.isalpha() or each == " " for each in text)
    return letters * 4 >= len(text) * 3
