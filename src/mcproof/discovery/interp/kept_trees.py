"""Syntax trees that are kept from one edit to the next: only the statements that an edit touches are parsed again."""

from __future__ import annotations

import ast
import warnings
from bisect import bisect_right
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

MOST_CHARACTERS = 16 << 20
"""How much source text has its tree kept; a tree takes about twenty times the memory of its text."""


class KeptTrees:
    """The last tree of each file. A statement at the top level that does not change stays the same object."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[str, ast.Module]] = {}
        self._size = 0

    def parse(self, path: str, text: str) -> ast.Module:
        """The tree of a text, as far as possible from memory. Raises what `ast.parse` raises."""
        known = self._known.get(path)
        if known is not None and known[0] == text:
            return known[1]
        tree = _with_edit(*known, text) if known is not None else None
        if tree is None:
            tree = parse_quietly(text)
        self._keep(path, text, tree)
        return tree

    def _keep(self, path: str, text: str, tree: ast.Module) -> None:
        old = self._known.pop(path, None)
        self._size += len(text) - (len(old[0]) if old is not None else 0)
        self._known[path] = text, tree
        while self._size > MOST_CHARACTERS:  # the oldest first
            removed, _ = self._known.pop(next(iter(self._known)))
            self._size -= len(removed)


def parse_quietly(text: str) -> ast.Module:
    """The syntax tree of a text; invalid escapes in strings are not reported."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text)


class _TextEdit(NamedTuple):
    """The part of a text that differs from an older one, by offsets in both."""

    start: int
    old_end: int
    new_end: int


def _with_edit(old: str, tree: ast.Module, new: str) -> ast.Module | None:
    """The tree of a text from that of an older one; None if it has to be parsed as a whole.

    The text from the start of the edited statement to the next one, which does not change, is parsed on its own. That
    gives the same as parsing the whole: the statements around it start on lines of their own, and an edit that changes
    where they start, such as an open string, leaves the part invalid.
    """
    starts = [_first_line(each) for each in tree.body]
    ends = [each.end_lineno or 0 for each in tree.body[:-1]]
    if not starts or any(later <= end for end, later in zip(ends, starts[1:], strict=True)):
        return None  # several statements on one line
    edit = _edit_between(old, new)
    first, last = (old.count("\n", 0, at) + 1 for at in (edit.start, edit.old_end))
    number = bisect_right(starts, first) - 1
    if number < 0 or bisect_right(starts, last) - 1 != number:
        return None
    is_moved = old.count("\n", edit.start, edit.old_end) != new.count("\n", edit.start, edit.new_end)
    rest = [] if is_moved else tree.body[number + 1 :]
    lines = new.split("\n")
    end = starts[number + 1] - 1 if rest else len(lines)
    part = "\n".join(lines[starts[number] - 1 : end])
    try:
        parsed = parse_quietly("\n" * (starts[number] - 1) + part)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None  # the whole text has the right message and line
    return ast.Module(body=[*tree.body[:number], *parsed.body, *rest], type_ignores=[])


def _first_line(statement: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(each.lineno for each in decorators)])


def _edit_between(old: str, new: str) -> _TextEdit:
    """The smallest edit that turns one text into another."""
    most = min(len(old), len(new))
    start = _longest(most, lambda length: old[:length] == new[:length])
    ending = _longest(most - start, lambda length: old[len(old) - length :] == new[len(new) - length :])
    return _TextEdit(start, len(old) - ending, len(new) - ending)


def _longest(most: int, holds: Callable[[int], bool]) -> int:
    """The greatest length up to `most` for which a condition holds that holds for all shorter ones too."""
    least = 0
    while least < most:
        middle = (least + most + 1) // 2
        if holds(middle):
            least = middle
        else:
            most = middle - 1
    return least
