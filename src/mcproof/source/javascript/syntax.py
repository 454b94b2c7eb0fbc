"""Syntax trees of JavaScript and TypeScript, and the text of their nodes.

The parser is tree-sitter, which is imported only here and only when there is such a file to read. It reads anything:
what is not a program has errors in its tree, and what is around them is still followed.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from functools import cache
from typing import TYPE_CHECKING, Any

from mcproof.core.observations.source import SourceLocation

if TYPE_CHECKING:
    from tree_sitter import Node, Parser, Tree


@cache
def _parser(language: str) -> Parser:
    from tree_sitter import Language, Parser

    if language == "javascript":
        import tree_sitter_javascript

        return Parser(Language(tree_sitter_javascript.language()))
    import tree_sitter_typescript

    grammar: Any = getattr(tree_sitter_typescript, f"language_{language}")
    return Parser(Language(grammar()))


_LANGUAGES = {".ts": "typescript", ".mts": "typescript", ".cts": "typescript", ".tsx": "tsx"}


def parsed(path: str, data: bytes) -> Tree:
    """The tree of a file, in the language that the end of its name tells."""
    return _parser(_LANGUAGES.get(os.path.splitext(path)[1].lower(), "javascript")).parse(data)


class SourceFile:
    """A file with its tree."""

    def __init__(self, path: str, shown: str, data: bytes) -> None:
        self.path = path
        """The absolute path."""
        self.file = shown
        """The path as messages show it."""
        self.data = data
        self._tree = parsed(path, data)
        self._starts: list[int] | None = None

    @property
    def root(self) -> Node:
        return self._tree.root_node

    def text(self, node: Node | None) -> str:
        """The text of a node; empty if there is none."""
        return "" if node is None else self.data[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def line(self, offset: int) -> int:
        """The line of an offset, from one."""
        if self._starts is None:
            starts, at = [0], self.data.find(b"\n")
            while at >= 0:
                starts.append(at + 1)
                at = self.data.find(b"\n", at + 1)
            self._starts = starts
        return bisect_right(self._starts, offset)

    def location(self, node: Node) -> SourceLocation:
        """The place of a node: its first line."""
        line, column = self._place(node.start_byte)
        last, end = self._place(node.end_byte)
        return SourceLocation(self.file, line, column, end if last == line else None)

    def _place(self, offset: int) -> tuple[int, int]:
        line = self.line(offset)
        start = self._starts[line - 1] if self._starts is not None else 0
        return line, len(self.data[start:offset].decode("utf-8", "replace")) + 1


_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0", "\n": "", "\r\n": ""}


def unescaped(escape: str) -> str:
    """What an escape sequence stands for."""
    rest = escape[1:]
    if rest in _ESCAPES:
        return _ESCAPES[rest]
    if rest[:1] in "xu" and len(rest) > 1:
        try:
            return chr(int(rest[1:].strip("{}"), 16))
        except (ValueError, OverflowError):
            return rest
    return rest


def string_of(source: SourceFile, node: Node) -> str:
    """The value of a string literal, or of the text between two substitutions of a template."""
    if len(node.children) == 3 and node.children[1].type == "string_fragment":
        return source.text(node.children[1])
    parts = []
    for child in node.children:
        if child.type == "string_fragment":
            parts.append(source.text(child))
        elif child.type == "escape_sequence":
            parts.append(unescaped(source.text(child)))
    text = "".join(parts)
    if not text.isascii() or "\\u" in source.text(node):
        # two escapes may be the halves of one character
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def number_of(text: str) -> int | float | str:
    """The value of a number literal; a text ending in `n` for a BigInt."""
    text = text.replace("_", "").lower()
    try:
        if text.endswith("n"):
            return text
        if text[:2] in ("0x", "0o", "0b"):
            return int(text, 0)
        if len(text) > 1 and text[0] == "0" and text.isdigit():
            return int(text, 8)
        if text.isdigit() and len(text) <= 20:
            return int(text)
        value = float(text)
    except ValueError:
        return 0
    return int(value) if value.is_integer() and abs(value) < 1e21 else value


_AROUND_CALLEE = frozenset(("parenthesized_expression", "non_null_expression", "await_expression"))


def callee_of(node: Node) -> tuple[Node | None, bool]:
    """What a call calls, and whether its result is awaited: the grammar reads `await f<T>()` as `(await f)<T>()`."""
    callee = node.child_by_field_name("function")
    is_awaited = False
    while callee is not None and callee.type in _AROUND_CALLEE:
        inner = children_of(callee)[0]
        if callee.type == "parenthesized_expression" and inner.type in ("sequence_expression", "await_expression"):
            break
        is_awaited = is_awaited or callee.type == "await_expression"
        callee = inner
    return callee, is_awaited


def children_of(node: Node) -> list[Node]:
    """The named children of a node, without comments."""
    return [child for child in node.named_children if child.type not in ("comment", "html_comment")]
