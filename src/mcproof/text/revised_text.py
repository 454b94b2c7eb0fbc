"""A text that is edited several times, and the edits of the original that give the same result."""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate
from typing import TYPE_CHECKING

from mcproof.text.jsontext import Edit

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_Piece = tuple[int, int] | str
"""A range of the original text, or new text."""


class RevisedText:
    """A text as pieces of its original and new text; a revision leaves its predecessor unchanged."""

    def __init__(self, original: str, pieces: list[_Piece] | None = None) -> None:
        self._original = original
        self._pieces: list[_Piece] = [(0, len(original))] if pieces is None else pieces
        texts = list(map(self._text_of, self._pieces))
        self._starts = [0, *accumulate(map(len, texts))]
        self.text = "".join(texts)

    def revised(self, edits: Iterable[Edit]) -> RevisedText:
        """The text after these edits, which are in ascending order and do not overlap."""
        pieces: list[_Piece] = []
        at = 0
        for start, end, replacement in edits:
            pieces += self._cut(at, start)
            if replacement:
                pieces.append(replacement)
            at = end
        pieces += self._cut(at, len(self.text))
        return RevisedText(self._original, pieces)

    def edits(self, offset: int = 0) -> Iterator[Edit]:
        """The edits that turn the original into this text; `offset` is where the original starts in a larger text."""
        at, new = 0, ""
        for piece in (*self._pieces, (len(self._original), len(self._original))):
            if isinstance(piece, str):
                new += piece
                continue
            start, end = piece
            if new or start > at:
                yield Edit(offset + at, offset + start, new)
            at, new = end, ""

    def _cut(self, start: int, end: int) -> Iterator[_Piece]:
        """The pieces of a range of the current text."""
        for index in range(bisect_right(self._starts, start) - 1, len(self._pieces)):
            at, piece = self._starts[index], self._pieces[index]
            first, last = max(start - at, 0), end - at
            if last <= 0:
                break
            if isinstance(piece, str):
                cut: _Piece = piece[first:last]
            else:
                cut = (piece[0] + first, min(piece[0] + last, piece[1]))
            yield cut

    def _text_of(self, piece: _Piece) -> str:
        return piece if isinstance(piece, str) else self._original[piece[0] : piece[1]]
