"""Where source sends a token of its caller on to another service, in any function of any file.

Flows start at the parameters of tools; a token often passes through code that no tool calls, such as middleware. So
each function is looked at on its own, by the names of its variables.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from mcproof.core.observations.source import ForwardedToken, SourcePlace
from mcproof.source.python.flows.source_trees import SourceTree, dotted, last_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

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
    return list({each.place: each for each in found}.values())


def _in_function(tree: SourceTree, function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[ForwardedToken]:
    nodes = [node for node in ast.walk(function) if hasattr(node, "lineno")]
    received = _received(tree, nodes)
    if not received and not any(_read(tree, node) for node in nodes if isinstance(node, ast.Dict)):
        return
    headers = _tainted_headers(nodes, received)
    for node in nodes:
        if not isinstance(node, ast.Call) or not _sends(node) or _asks_issuer(node):
            continue
        for keyword in node.keywords:
            if keyword.arg != "headers":
                continue
            source = _source(tree, keyword.value, received) if isinstance(keyword.value, ast.Dict) else None
            source = source or headers.get(last_name(keyword.value))
            if source is not None:
                yield ForwardedToken(tree.place(node), source, function.name)


def _sends(node: ast.Call) -> bool:
    """Whether a call sends a request, or makes a client that does."""
    last = dotted(node.func).rpartition(".")[2]
    return last in _CLIENTS or (last in _CLIENT_CALLS and isinstance(node.func, ast.Attribute))


def _asks_issuer(node: ast.Call) -> bool:
    """Whether a request is about the token itself, such as one for user info: that is not another service."""
    texts = (each.value for word in node.args[:2] for each in ast.walk(word) if isinstance(each, ast.Constant))
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
        elif isinstance(node, ast.Subscript) and _is_loaded_header(node):
            return tree.place(node)
    return None


def _is_loaded_header(node: ast.Subscript) -> bool:
    return isinstance(node.ctx, ast.Load) and _is_header(node.slice) and _is_incoming(node.value)


def _is_header(node: ast.AST) -> bool:
    value = node.value if isinstance(node, ast.Constant) else None
    return isinstance(value, str | bytes) and value.lower() in (_HEADER, _HEADER.encode())


def _is_incoming(node: ast.AST) -> bool:
    """Whether an expression is the headers of a request, as in `request.headers` and `get_http_headers()`."""
    for each in ast.walk(node):
        if isinstance(each, ast.Attribute) and each.attr == "headers":
            return any(_is_request(part) for part in ast.walk(each.value))
        if isinstance(each, ast.Call) and dotted(each.func).rpartition(".")[2] == "get_http_headers":
            return True
    return False


def _is_request(node: ast.AST) -> bool:
    name = last_name(node).lower()
    return "request" in name or name == "req"


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
            is_method = isinstance(node.func, ast.Attribute) and node.func.attr in _TEXT_METHODS
            waiting += [node.func.value] if is_method and isinstance(node.func, ast.Attribute) else []
            continue
        if isinstance(node, ast.IfExp):
            waiting += [node.body, node.orelse]
            continue
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
