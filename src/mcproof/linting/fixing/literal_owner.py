"""Decide whether a dict literal in Python source belongs to one tool alone, so that a fix affects no other."""

from __future__ import annotations

import ast
import os
from typing import TYPE_CHECKING

from mcproof.core.text.python_document import PythonText, UncertainError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

LONGEST_TRAIL = 6
"""The most variables a literal is followed through to the tool that uses it."""


class SourceTexts:
    """The Python files of a target, each read and parsed once."""

    def __init__(self, target: str, instead: Mapping[str, bytes]) -> None:
        """Prepare to read the files of a target; `instead` replaces the content of some, by their real paths."""
        from mcproof.source import python_files

        self.files = python_files(target, [])
        self._instead = instead
        self._texts: dict[str, PythonText | None] = {}
        self._bytes: dict[str, bytes | None] = {}

    def text(self, file: str) -> PythonText | None:
        """A parsed file; None if it cannot be read or parsed."""
        if file not in self._texts:
            data = self._data(file)
            try:
                self._texts[file] = None if data is None else PythonText(data)
            except UncertainError:
                self._texts[file] = None
        return self._texts[file]

    def _data(self, file: str) -> bytes | None:
        if file not in self._bytes:
            from mcproof.source import read_bytes

            unsaved = self._instead.get(os.path.realpath(file)) if self._instead else None
            self._bytes[file] = read_bytes(file, []) if unsaved is None else unsaved
        return self._bytes[file]

    def nodes_about(self, name: str) -> Iterator[tuple[str, ast.AST]]:
        """Every node of every file that contains a name."""
        for file in self.files:
            if name.encode() not in (self._data(file) or b""):
                continue
            if (text := self.text(file)) is None:
                raise UncertainError("a file that may use it cannot be parsed")
            for node in ast.walk(text.tree):
                yield file, node


def require_owner(texts: SourceTexts, file: str, node: ast.AST, name: str, trail: int = LONGEST_TRAIL) -> None:
    """Raise an UncertainError unless the value of this node is used only for the tool with this name."""
    text = texts.text(file)
    if text is None or not trail:
        raise UncertainError("its owner is unknown")
    for part, parent in text.parents(node):
        if isinstance(parent, ast.Dict):
            if any(_is_string(key, "name") and _names_tool(value, name) for key, value in _items(parent)):
                return
        elif isinstance(parent, ast.Call):
            given = next((each.value for each in parent.keywords if each.arg == "name"), None)
            if given is not None and not (_names_tool(given, name) or _is_constant(text, given)):
                if _is_own_name(texts, text, parent, given, name):
                    return
                break
            if given is not None or _names_tool(next(iter(parent.args), None), name):
                return
        elif isinstance(parent, (ast.FunctionDef, ast.AsyncFunctionDef)):
            if part in parent.decorator_list:
                return
            break
        elif isinstance(parent, (ast.Assign, ast.AnnAssign)):
            target = parent.targets[0] if isinstance(parent, ast.Assign) else parent.target
            several = isinstance(parent, ast.Assign) and len(parent.targets) > 1
            if several or not isinstance(target, ast.Name):
                break
            user, used = _only_use(texts, target.id)
            require_owner(texts, user, used, name, trail - 1)
            return
        elif not isinstance(parent, (ast.List, ast.Tuple, ast.keyword)):
            break
    raise UncertainError("its owner is unknown")


def _is_own_name(texts: SourceTexts, text: PythonText, call: ast.Call, given: ast.expr, name: str) -> bool:
    """Whether `self.name` is certainly the tool's name: an attribute of a class without subclasses."""
    owner = next((parent for _, parent in text.parents(call) if isinstance(parent, ast.ClassDef)), None)
    if owner is None or not isinstance(given, ast.Attribute) or not isinstance(given.value, ast.Name):
        return False
    declared = [
        each.value
        for each in owner.body
        if isinstance(each, (ast.Assign, ast.AnnAssign))
        and any(isinstance(part, ast.Name) and part.id == given.attr for part in _targets(each))
    ]
    if given.value.id not in ("self", "cls") or len(declared) != 1 or not _names_tool(declared[0], name):
        return False
    if any(isinstance(each, ast.Attribute) and _sets(each, given.attr) for each in ast.walk(text.tree)):
        return False
    return not any(_inherits(node, owner.name) for _, node in texts.nodes_about(owner.name))


def _only_use(texts: SourceTexts, name: str) -> tuple[str, ast.AST]:
    """The one place in the project where a name is read."""
    uses = [(file, node) for file, node in texts.nodes_about(name) if name in _words(node)]
    if len(uses) != 1 or not isinstance(uses[0][1], (ast.Name, ast.Attribute)):
        raise UncertainError("it is not used in exactly one place")
    return uses[0]


def _items(display: ast.Dict) -> Iterator[tuple[ast.expr | None, ast.expr]]:
    return zip(display.keys, display.values, strict=True)


def _is_string(node: ast.expr | None, word: str) -> bool:
    return isinstance(node, ast.Constant) and node.value == word


def _names_tool(node: ast.expr | None, name: str) -> bool:
    """Whether a string is a tool's name, or its part after the prefix of a mounted server."""
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str) or not node.value:
        return False
    return name == node.value or name.endswith(f"_{node.value}")


def _is_constant(text: PythonText, node: ast.expr) -> bool:
    """Whether `Names.SEARCH` is constant: an attribute of a class or module, not of a parameter."""
    while isinstance(node, ast.Attribute):
        node = node.value
    if not isinstance(node, ast.Name):
        return False
    binding = [each for each in ast.walk(text.tree) if _binds(each, node.id)]
    if len(binding) != 1 or isinstance(binding[0], (ast.ClassDef, ast.alias)):
        return len(binding) == 1
    around = [parent for _, parent in text.parents(binding[0])]
    return isinstance(around[0], (ast.Assign, ast.AnnAssign)) and isinstance(around[1], ast.Module)


def _targets(node: ast.Assign | ast.AnnAssign) -> list[ast.expr]:
    return node.targets if isinstance(node, ast.Assign) else [node.target]


def _sets(node: ast.Attribute, name: str) -> bool:
    return node.attr == name and not isinstance(node.ctx, ast.Load)


def _inherits(node: ast.AST, name: str) -> bool:
    """Whether a node is a class that may inherit from a class of this name, or an import that renames it."""
    if isinstance(node, ast.ClassDef):
        return any(name in _words(part) for base in node.bases for part in ast.walk(base))
    return isinstance(node, ast.alias) and node.asname is not None and name in _words(node)


def _binds(node: ast.AST, name: str) -> bool:
    """Whether a node binds a name."""
    if isinstance(node, ast.Name):
        return node.id == name and not isinstance(node.ctx, ast.Load)
    if isinstance(node, ast.arg):
        return node.arg == name
    if isinstance(node, ast.alias):
        return (node.asname or node.name.partition(".")[0]) == name
    if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
        return node.name == name
    return name in (getattr(node, "rest", None), getattr(node, "name", None)) and isinstance(
        node, (ast.MatchAs, ast.MatchStar, ast.MatchMapping, ast.ExceptHandler)
    )


def _words(node: ast.AST) -> list[str]:
    """The names that a node reads or renames."""
    if isinstance(node, ast.Name):
        return [] if isinstance(node.ctx, ast.Store) else [node.id]
    if isinstance(node, ast.Attribute):
        return [node.attr]
    if isinstance(node, ast.alias):
        return [] if node.asname is None else [node.name.rpartition(".")[2]]
    return node.names if isinstance(node, (ast.Global, ast.Nonlocal)) else []
