"""What a few session ids reveal about how a server makes them."""

from __future__ import annotations

import math
import re
from itertools import pairwise
from typing import NamedTuple

from mcproof.core.observations.connection import SessionIds

LARGEST_STEP = 1_000_000
"""The largest difference between two ids of a counter."""
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-([0-9a-f])[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)
_TIME_BASED = frozenset("126")
"""UUID versions that consist of the time and the address of the machine."""
_SEPARATORS = re.compile(r"[-_.:~]")


class _Alphabet(NamedTuple):
    """A set of characters that encodings use."""

    characters: re.Pattern[str]
    size: int


_ALPHABETS = (
    _Alphabet(re.compile(r"[0-9]*"), 10),
    _Alphabet(re.compile(r"[0-9a-f]*|[0-9A-F]*"), 16),
    _Alphabet(re.compile(r"[a-z]*|[A-Z]*"), 26),
    _Alphabet(re.compile(r"[a-z2-7=]*|[A-Z2-7=]*"), 32),
    _Alphabet(re.compile(r"[0-9a-z]*|[0-9A-Z]*"), 36),
    _Alphabet(re.compile(r"[0-9A-Za-z]*"), 62),
    _Alphabet(re.compile(r"[0-9A-Za-z+/=_-]*"), 64),
)
_ALL_VISIBLE = 94


def session_ids(ids: list[str], handshakes: int) -> SessionIds:
    """What ids have in common, in the order of their handshakes."""
    secret = _without_prefix(ids)
    return SessionIds(
        handshakes=handshakes,
        ids=len(ids),
        distinct=len(set(ids)),
        bits=min(map(_bits, secret), default=0),
        counts_up=_counts_up(secret),
        is_time_based=bool(ids) and all(_uuid_version(each) in _TIME_BASED for each in ids),
        is_visible_ascii=all("!" <= character <= "~" for each in ids for character in each),
    )


def _uuid_version(text: str) -> str:
    match = _UUID.fullmatch(text)
    return match[1] if match is not None else ""


def _without_prefix(ids: list[str]) -> list[str]:
    """The ids without a common prefix that ends with a separator, such as `session-`; UUIDs stay whole."""
    if len(ids) < 2 or all(map(_UUID.fullmatch, ids)):
        return ids
    low, high = min(ids), max(ids)
    shared = next((at for at, pair in enumerate(zip(low, high, strict=False)) if pair[0] != pair[1]), len(low))
    ends = [match.end() for match in _SEPARATORS.finditer(low[:shared])]
    return [each[ends[-1] :] for each in ids] if ends else ids


def _bits(text: str) -> int:
    """The most entropy that a text of this length and alphabet can have, in bits."""
    if _UUID.fullmatch(text) is not None:
        return 128
    size = next((each.size for each in _ALPHABETS if each.characters.fullmatch(text)), _ALL_VISIBLE)
    return int(len(text) * math.log2(size))


def _counts_up(ids: list[str]) -> bool:
    """Whether each id is a number a small step above the one before."""
    numbers = [_number(each) for each in ids]
    steps = [after - before for before, after in pairwise(numbers) if before is not None and after is not None]
    return len(ids) > 1 and len(steps) == len(ids) - 1 and all(0 < step <= LARGEST_STEP for step in steps)


def _number(text: str) -> int | None:
    """The value of an id that is a decimal or hexadecimal number; of a UUID, too."""
    digits = text.replace("-", "").lower()
    if not digits or len(digits) > 200 or not digits.isascii():
        return None
    try:
        return int(digits) if digits.isdecimal() else int(digits, 16)
    except ValueError:
        return None
