"""What the syntax trees of source show without following it: secrets in literals, and tokens that are passed on.

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
from mcproof.core.observations.source import ForwardedToken, SourcePlace, SourceProblem, SourceSecret
from mcproof.source.python.files import decoded, is_test, python_files
from mcproof.source.python.interp import values

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

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
    return values.last_name(node)


_HEADER = "authorization"
_ACCESS_TOKEN = "get_access_token"  # noqa: S105 (a function of the frameworks)
_ISSUER = re.compile(r"userinfo|introspect|tokeninfo|oauth|openid|/token\b", re.IGNORECASE)
_FRAMEWORKS = re.compile(r"^\s*from (?:fast)?mcp\b[^\n]*\bimport\b[^\n]*\bget_access_token\b", re.MULTILINE)
_CLIENT_CALLS = frozenset(("get", "post", "put", "patch", "delete", "head", "options", "request", "stream", "send"))
_CLIENTS = frozenset(("Client", "AsyncClient", "ClientSession", "Session", "Request"))


def forwarded_tokens(trees: Sequence[SourceTree]) -> list[ForwardedToken]:
    """Return where a token of the caller is sent on."""
    found: list[ForwardedToken] = []
    for tree in trees:
        lowered = tree.text.lower()
        if _HEADER in lowered and ("headers" in lowered or "get_access_token" in lowered):
            for node in tree.nodes:
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                    found += _in_function(tree, node)
    return list({token.place: token for token in found}.values())


def _in_function(tree: SourceTree, function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[ForwardedToken]:
    nodes = [node for node in ast.walk(function) if hasattr(node, "lineno")]
    received = _received(tree, nodes)
    if not received and not any(_read(tree, node) for node in nodes if isinstance(node, ast.Dict)):
        return
    headers = _tainted_headers(nodes, received)
    for node in nodes:
        if not isinstance(node, ast.Call) or _asks_issuer(node):
            continue
        last = dotted(node.func).rpartition(".")[2]
        if last not in _CLIENTS and not (last in _CLIENT_CALLS and isinstance(node.func, ast.Attribute)):
            continue
        for keyword in node.keywords:
            if keyword.arg != "headers":
                continue
            source = _source(tree, keyword.value, received) if isinstance(keyword.value, ast.Dict) else None
            source = source or headers.get(last_name(keyword.value))
            if source is not None:
                yield ForwardedToken(tree.place(node), source, function.name)


def _asks_issuer(node: ast.Call) -> bool:
    """Whether a request is about the token itself, such as one for user info: that is not another service."""
    texts = (part.value for word in node.args[:2] for part in ast.walk(word) if isinstance(part, ast.Constant))
    return any(isinstance(text, str) and _ISSUER.search(text) for text in texts)


def _received(tree: SourceTree, nodes: Sequence[ast.AST]) -> dict[str, SourcePlace]:
    """Return the variables that hold a token of the caller, with the place where it is read."""
    found: dict[str, SourcePlace] = {}
    for _ in range(3):  # a variable may be assigned from another one
        for node in nodes:
            if not isinstance(node, ast.Assign | ast.AnnAssign | ast.NamedExpr) or node.value is None:
                continue
            place = _read(tree, node.value) or _held(node.value, found)
            if place is not None:
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                for target in targets:
                    if isinstance(target, ast.Name):
                        found.setdefault(target.id, place)
    return found


def _read(tree: SourceTree, value: ast.AST) -> SourcePlace | None:
    """Return where an expression reads the token of the caller; None if it does not."""
    for node in ast.walk(value):
        if isinstance(node, ast.Call):
            name = dotted(node.func)
            if name == _ACCESS_TOKEN and not node.args and _FRAMEWORKS.search(tree.text):
                return tree.place(node)
            if name.endswith(".get") and node.args and _is_header(node.args[0]) and _is_incoming(node.func):
                return tree.place(node)
        elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load) and _is_header(node.slice):
            if not _is_incoming(node.value):
                continue
            return tree.place(node)
    return None


def _is_header(node: ast.AST) -> bool:
    value = node.value if isinstance(node, ast.Constant) else None
    return isinstance(value, str | bytes) and value.lower() in (_HEADER, _HEADER.encode())


def _is_incoming(node: ast.AST) -> bool:
    """Whether an expression is the headers of a request, as in `request.headers` and `get_http_headers()`."""
    for inner in ast.walk(node):
        if isinstance(inner, ast.Attribute) and inner.attr == "headers":
            names = [last_name(part).lower() for part in ast.walk(inner.value)]
            return "req" in names or any("request" in name for name in names)
        if isinstance(inner, ast.Call) and dotted(inner.func).rpartition(".")[2] == "get_http_headers":
            return True
    return False


def _held(value: ast.AST, received: dict[str, SourcePlace]) -> SourcePlace | None:
    """Return where the token comes from that an expression contains; None if it contains none.

    A comparison and a call of a function of the project are not the token: they may check or exchange it.
    """
    waiting: list[ast.AST] = [value]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Name) and node.id in received:
            return received[node.id]
        if isinstance(node, ast.Compare | ast.Await | ast.Lambda):
            continue
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Attribute) and node.func.attr in _TEXT_METHODS:
                waiting.append(node.func.value)
        elif isinstance(node, ast.IfExp):
            waiting += [node.body, node.orelse]
        else:
            waiting += ast.iter_child_nodes(node)
    return None


_TEXT_METHODS = frozenset(
    ("split", "strip", "removeprefix", "replace", "partition", "decode", "lstrip", "format", "get")
)


def _source(tree: SourceTree, headers: ast.Dict, received: dict[str, SourcePlace]) -> SourcePlace | None:
    """Return where the token comes from that a dictionary has as its `Authorization` header."""
    for key, value in zip(headers.keys, headers.values, strict=True):
        if key is not None and _is_header(key):
            return _read(tree, value) or _held(value, received)
    return None


def _tainted_headers(nodes: Sequence[ast.AST], received: dict[str, SourcePlace]) -> dict[str, SourcePlace]:
    """Return the variables with headers that contain a token of the caller."""
    found: dict[str, SourcePlace] = {}
    for node in nodes:
        if not isinstance(node, ast.Assign):
            continue
        target = node.targets[0]
        if isinstance(target, ast.Name) and isinstance(node.value, ast.Dict):
            for key, value in zip(node.value.keys, node.value.values, strict=True):
                place = _held(value, received) if key is not None and _is_header(key) else None
                if place is not None:
                    found[target.id] = place
        elif isinstance(target, ast.Subscript) and _is_header(target.slice):
            place = _held(node.value, received)
            if place is not None and isinstance(target.value, ast.Name):
                found[target.value.id] = place
    return found


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
    found: list[SourceSecret] = []
    for tree in trees:
        found += _in_tree(tree)
        if len(found) >= MOST_SECRETS:
            return found[:MOST_SECRETS]
    return found


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
    if isinstance(parent, ast.Call) and len(parent.args) > 1 and parent.args[1] is node:  # os.getenv("API_KEY", "…")
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
