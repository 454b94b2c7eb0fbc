"""Syntax trees that are kept from one edit to the next."""

from __future__ import annotations

import ast
import warnings

MOST_CHARACTERS = 16 << 20
"""How much source text has its tree kept; a tree takes about twenty times the memory of its text."""


class KeptTrees:
    """The last tree of each file."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[str, ast.Module]] = {}
        self._size = 0

    def parse(self, path: str, text: str) -> ast.Module:
        """The tree of a text, from memory if the file has not changed. Raises what `ast.parse` raises."""
        known = self._known.get(path)
        if known is not None and known[0] == text:
            return known[1]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
        self._keep(path, text, tree)
        return tree

    def _keep(self, path: str, text: str, tree: ast.Module) -> None:
        old = self._known.pop(path, None)
        self._size += len(text) - (len(old[0]) if old is not None else 0)
        self._known[path] = text, tree
        while self._size > MOST_CHARACTERS:  # the oldest first
            removed, _ = self._known.pop(next(iter(self._known)))
            self._size -= len(removed)
