"""A unified diff, built from edits rather than by comparing two texts."""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from mcproof.text.jsontext import Edit, splice

if TYPE_CHECKING:
    from collections.abc import Iterator


def unified_diff(before: str, edits: list[Edit], name: str, context: int = 2) -> Iterator[str]:
    """Yield a unified diff of a text and its edited form, as `diff -u` prints it.

    Comparing two long texts line by line would take far too long.
    """
    if not edits:
        return
    yield f"--- {name}\n"
    yield f"+++ {name} (fixed)\n"
    starts = [0, *accumulate(len(line) + 1 for line in before.split("\n"))]
    last_line = len(starts) - 2 if before.endswith("\n") else len(starts) - 1
    shift = 0
    for hunk in _hunks(edits, starts, context):
        first = max(0, hunk[0].first - context)
        stop = min(last_line, hunk[-1].stop + context)
        lines: list[tuple[str, str]] = []
        at = first
        for block in hunk:
            changed = splice(before[starts[block.first] : starts[block.stop]], block.edits(starts))
            lines += [(" ", line) for line in _lines(before[starts[at] : starts[block.first]])]
            lines += _marked(_lines(before[starts[block.first] : starts[block.stop]]), _lines(changed))
            at = block.stop
        lines += [(" ", line) for line in _lines(before[starts[at] : starts[stop]])]
        old, new = (sum(mark in (" ", side) for mark, _ in lines) for side in "-+")
        yield f"@@ -{first + 1},{old} +{first + 1 + shift},{new} @@\n"
        shift += new - old
        for mark, line in lines:
            yield f"{mark}{line}" if line.endswith("\n") else f"{mark}{line}\n\\ No newline at end of file\n"


def _marked(old: list[str], new: list[str]) -> list[tuple[str, str]]:
    """Changed lines, without equal ones at either end: an edit may start or end with a whole line."""
    same = 0
    while same < min(len(old), len(new)) and old[same] == new[same]:
        same += 1
    tail = 0
    while tail < min(len(old), len(new)) - same and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    gone, come = old[same : len(old) - tail], new[same : len(new) - tail]
    kept = [(" ", line) for line in old[len(old) - tail :]]
    return [
        *((" ", line) for line in old[:same]),
        *(("-", line) for line in gone),
        *(("+", line) for line in come),
        *kept,
    ]


class _Block(NamedTuple):
    """Lines touched by edits: the first, the one after the last, and the edits."""

    first: int
    stop: int
    touching: list[Edit]

    def edits(self, starts: list[int]) -> list[Edit]:
        """The edits, with offsets from the start of the block."""
        offset = starts[self.first]
        return [Edit(edit.start - offset, edit.end - offset, edit.replacement) for edit in self.touching]


def _hunks(edits: list[Edit], starts: list[int], context: int) -> list[list[_Block]]:
    """Group edits by the lines they touch, and nearby blocks into hunks."""
    hunks: list[list[_Block]] = []
    for edit in edits:
        first, stop = bisect_right(starts, edit.start) - 1, bisect_right(starts, edit.end)
        previous = hunks[-1][-1] if hunks else None
        if previous is not None and first < previous.stop:
            previous.touching.append(edit)
            hunks[-1][-1] = previous._replace(stop=max(stop, previous.stop))
        elif previous is not None and first - previous.stop <= 2 * context:
            hunks[-1].append(_Block(first, stop, [edit]))
        else:
            hunks.append([_Block(first, stop, [edit])])
    return hunks


def _lines(text: str) -> list[str]:
    """The lines of a text with their ends; only a line feed ends a line."""
    *whole, last = text.split("\n")
    return [f"{line}\n" for line in whole] + ([last] if last else [])
