"""Source files as trees with parents: for questions about texts and names, also in files that nothing imports."""

from __future__ import annotations

import ast
import os
from functools import cached_property
from typing import TYPE_CHECKING

from mcproof.core.observations.source import SourcePlace, SourceProblem
from mcproof.source.python.files import decoded, is_test, python_files

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.source.python.interp.modules import Modules

_EXAMPLE_FOLDERS = frozenset(("example", "examples", "sample", "samples", "demo", "demos", "docs", "tests", "test"))


class SourceTree:
    """One source file; its syntax tree is that of discovery, or else parsed on demand."""

    def __init__(self, file: str, text: str, modules: Modules) -> None:
        self.file = file
        self.text = text
        self._modules = modules

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """All nodes, the outer ones first; none if the text is not valid Python, or nested too deeply."""
        module = self._modules.load(os.path.abspath(self.file))
        return [] if module is None else list(ast.walk(module.tree))

    @cached_property
    def parents(self) -> dict[ast.AST, ast.AST]:
        return {child: node for node in self.nodes for child in ast.iter_child_nodes(node)}

    def above(self, node: ast.AST) -> Iterator[ast.AST]:
        """Yield the nodes around a node, the nearest first."""
        parents = self.parents
        while (parent := parents.get(node)) is not None:
            yield parent
            node = parent

    def place(self, node: ast.expr | ast.stmt | ast.arg | ast.keyword) -> SourcePlace:
        line = self._lines[node.lineno - 1] if node.lineno <= len(self._lines) else ""
        column = len(line.encode()[: node.col_offset].decode(errors="replace"))
        return SourcePlace(self.file, node.lineno, column + 1)

    @cached_property
    def _lines(self) -> list[str]:
        return self.text.split("\n")


def source_trees(target: str, modules: Modules) -> list[SourceTree]:
    """The files of a target, without tests and examples."""
    problems: list[SourceProblem] = []
    found = []
    for file in python_files(target, problems):
        folders = os.path.relpath(file, target).split(os.sep)[:-1] if os.path.isdir(target) else []
        if not _EXAMPLE_FOLDERS.isdisjoint(folders):
            continue
        data = modules.data(os.path.abspath(file))
        text = decoded(data, file, problems) if data is not None and not is_test(file, data) else None
        if text is not None:
            found.append(SourceTree(file, text, modules))
    return found


def dotted(node: ast.AST) -> str:
    """Return a name with dots, such as `uvicorn.run`; of anything else, the part that is one: `.run`."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    parts.append(node.id if isinstance(node, ast.Name) else "")
    return ".".join(reversed(parts))


def last_name(node: ast.AST) -> str:
    """Return the name that an expression is known by: of `config.host`, `args["host"]` and `host`, `host`."""
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
        return node.slice.value
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""
