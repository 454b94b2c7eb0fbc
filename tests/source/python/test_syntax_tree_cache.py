"""A tree that is kept from one edit to the next is the tree of the text."""

from __future__ import annotations

import ast
import random

import pytest

from mcproof.source.python.interp.modules import parse_quietly
from mcproof.source.python.pipeline import SyntaxTreeCache

TEXT = '''\
"""A module."""

import os  # first

LIMIT = 3


@decorated(
    "x",
)
def find(title: str, limit: int = LIMIT) -> str:
    """Find a book.

    \N{BOOKS} and more.
    """
    if limit:
        return f"{title} {limit}"
    return title
# a comment at the margin


class Book:
    title: str = "a"

    def read(self): return (
        1
    )


x = 1; y = 2
'''
PIECES = (
    "x",
    "\n",
    "    ",
    '"""',
    "'",
    "(",
    ")",
    "#",
    "\\",
    "def f():\n    pass\n",
    "@a\n",
    ":",
    "\N{FIRE}",
    "if x:",
    ";",
)


def as_text(tree: ast.Module) -> str:
    return ast.dump(tree, include_attributes=True)


def parsed(text: str) -> str | None:
    try:
        return as_text(parse_quietly(text))
    except (SyntaxError, ValueError):
        return None


def kept(trees: SyntaxTreeCache, text: str) -> str | None:
    try:
        return as_text(trees.parse("file.py", text))
    except (SyntaxError, ValueError):
        return None


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("text", [TEXT, TEXT.replace("; y = 2", "")], ids=["shared line", "own lines"])
def test_random_edits_give_the_tree_of_the_text(seed: int, text: str) -> None:
    rng = random.Random(seed)  # noqa: S311 (the same edits every time)
    trees = SyntaxTreeCache()
    current = text
    for _ in range(60):
        at = rng.randrange(len(current) + 1)
        edited = current[:at] + rng.choice(PIECES) + current[at + rng.choice((0, 0, 1, 3)) :]
        tree = parsed(edited)
        assert kept(trees, edited) == tree
        if tree is not None and rng.random() < 0.7:
            current = edited


def test_statements_that_do_not_change_stay_the_same_objects() -> None:
    trees = SyntaxTreeCache()
    text = TEXT.replace("; y = 2", "")
    before = trees.parse("file.py", text).body
    after = trees.parse("file.py", text.replace("Find a book", "Look for a book")).body
    assert [one is other for one, other in zip(before, after, strict=True)] == [True, True, True, False, True, True]
    moved = trees.parse("file.py", text.replace("Find a book", "Find\na book")).body
    assert [one is other for one, other in zip(before, moved, strict=True)] == [True, True, True, False, False, False]


def test_what_is_kept_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcproof.source.python.pipeline.MOST_CHARACTERS", 10)
    trees = SyntaxTreeCache()
    first = trees.parse("a.py", "x = 1\n")
    assert trees.parse("a.py", "x = 1\n") is first
    trees.parse("b.py", "y = 12\n")
    assert trees.parse("a.py", "x = 1\n") is not first
