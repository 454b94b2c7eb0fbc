"""What the syntax trees of source show without following it: secrets in literals.

The trees are parsed once and shared with `configuration`, which reads addresses and authentication from them.
"""

from __future__ import annotations

import ast
import math
import os
import re
from collections import Counter
from functools import cached_property
from typing import TYPE_CHECKING

from mcproof.core.observations.responses import secret_in
from mcproof.core.observations.source import SourcePlace, SourceProblem, SourceSecret
from mcproof.source.python.files import decoded, is_test, python_files
from mcproof.source.python.interp import values

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mcproof.source.python.interp.modules import Modules


SERVES_HTTP = re.compile(
    r"streamable[-_]http|[\"'](?:sse|http)[\"']|\b(?:sse|http)_app\b|\brun_(?:sse|http)|uvicorn"
    r"|\bSseServerTransport\b|\bStreamableHTTP\w*"
)
"""What only source has that serves over HTTP."""
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
    trees = []
    for file in python_files(target, problems):
        folders = os.path.relpath(file, target).split(os.sep)[:-1] if os.path.isdir(target) else []
        if not _EXAMPLE_FOLDERS.isdisjoint(folders):
            continue
        data = modules.data(os.path.abspath(file))
        text = decoded(data, file, problems) if data is not None and not is_test(file, data) else None
        if text is not None:
            trees.append(SourceTree(file, text, modules))
    return trees


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
    return values.last_name(node)


_NAME = re.compile(
    r"(?:^|_)(?:api_?key|secret|secret_?key|client_?secret|access_?key|private_?key|auth_?token|access_?token|password)$",
    re.IGNORECASE,
)
_VALUE = re.compile(r"[A-Za-z0-9+/_=.-]{24,200}")
_WORDS = re.compile(r"[A-Za-z]{6,}|[a-z]+[_.-][a-z]+", re.ASCII)
_INVENTED = re.compile(
    r"example|your|placeholder|change|dummy|fake|test|sample|xxxx|\.\.\.|1234|abcd|todo", re.IGNORECASE
)
_CANDIDATE = re.compile(
    r"(?i:key|secret|token|password)[\"']?\]?[^\n\"']{0,40}[=:,(]\s{0,8}[\"'][A-Za-z0-9+/_=.-]{24,200}[\"']"
)
"""A literal that may be a secret, by its name; parsing every file would take long."""
_PUBLIC = ("phc_", "pk_", "pk-", "pub", "G-", "UA-")
"""The beginnings of keys that are meant to be public, as those of analytics."""
_LEAST_ENTROPY = 3.8
"""Bits for each character; English has less."""
MOST_SECRETS = 20


def source_secrets(trees: Sequence[SourceTree]) -> list[SourceSecret]:
    """Return the secrets in some source, without placeholders, docstrings, tests and examples."""
    secrets: list[SourceSecret] = []
    for tree in trees:
        secrets += _in_tree(tree)
        if len(secrets) >= MOST_SECRETS:
            return secrets[:MOST_SECRETS]
    return secrets


def _in_tree(tree: SourceTree) -> Iterator[SourceSecret]:
    if secret_in(tree.text) is None and _CANDIDATE.search(tree.text) is None:
        return
    for node in tree.nodes:
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str) or len(node.value) < 16:
            continue
        parent = tree.parents.get(node)
        if isinstance(parent, ast.Expr | ast.JoinedStr | ast.Compare):
            continue
        shown = secret_in(node.value) or _random(node.value, _name_of(node, parent))
        if shown is not None:
            yield SourceSecret(tree.place(node), shown)


def _name_of(node: ast.expr, parent: ast.AST | None) -> str:
    """Return the name that a literal is assigned to, passed as, or listed under; empty if there is none."""
    if isinstance(parent, ast.Assign):
        return last_name(parent.targets[0])
    if isinstance(parent, ast.AnnAssign):
        return last_name(parent.target)
    if isinstance(parent, ast.keyword):
        return parent.arg or ""
    if isinstance(parent, ast.Dict):
        at = next((index for index, value in enumerate(parent.values) if value is node), None)
        key = parent.keys[at] if at is not None else None
        return key.value if isinstance(key, ast.Constant) and isinstance(key.value, str) else ""
    # The default of a variable is named by it: `os.getenv("API_KEY", "…")`.
    if isinstance(parent, ast.Call) and len(parent.args) > 1 and parent.args[1] is node:
        first = parent.args[0]
        return first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else ""
    return ""


def _random(value: str, name: str) -> str | None:
    """Return what may be shown of a literal that is random text under the name of a secret; None for other literals."""
    if value.startswith(_PUBLIC) or not _NAME.search(name) or not _VALUE.fullmatch(value) or _INVENTED.search(value):
        return None
    if not any(character.isdigit() for character in value) or not any(character.isalpha() for character in value):
        return None
    longest = max((len(word) for word in _WORDS.findall(value)), default=0)
    if longest > len(value) / 2 or _entropy(value) < _LEAST_ENTROPY:
        return None
    return f"{value[:4]}***"


def _entropy(text: str) -> float:
    """Return the bits of information for each character."""
    counts = Counter(text).values()
    return -sum(count / len(text) * math.log2(count / len(text)) for count in counts)
