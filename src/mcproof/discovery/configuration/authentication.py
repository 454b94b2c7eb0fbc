"""Whether source configures authentication for a server, and whether it is on by default."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, NamedTuple

from mcproof.discovery.configuration.default_values import UNKNOWN, SameAs, default_of, resolved
from mcproof.discovery.configuration.syntax_trees import dotted, last_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mcproof.core.observations.source import SourcePlace
    from mcproof.discovery.configuration.default_values import SettingDefault
    from mcproof.discovery.configuration.syntax_trees import SourceTree

_KEYWORDS = frozenset(("auth", "token_verifier", "auth_server_provider", "auth_provider", "authentication"))
_AUTHENTICATION_MAKERS = re.compile(
    r"(?:^|\.)(?:FastMCP|MCPServer|Server|FastMCPServer|http_app|streamable_http_app|sse_app|from_\w+)$"
)
_NAMES = re.compile(r"auth(?!or(?!iz))|token|api_?key|bearer|jwt|oauth|credential|security|secret", re.IGNORECASE)
_HEADERS = re.compile(r"authorization|x-api-key|api[-_]key|bearer", re.IGNORECASE)
_OFF = (None, False, "", "false", "0", "no", "off", "none", 0)


class Authentication(NamedTuple):
    """What source shows about authentication."""

    is_certain: bool
    """Whether a server authenticates by default, or at least may do so."""
    optional: SourcePlace | None
    """Authentication that is off by default, if that is all there is."""


def authentication_in(trees: Iterable[SourceTree], defaults: dict[str, list[SettingDefault]]) -> Authentication:
    """Return whether some source authenticates callers. What cannot be decided counts as authentication."""
    optional: SourcePlace | None = None
    for tree in trees:
        if _NAMES.search(tree.text) is None:
            continue
        for node in _configured(tree):
            tests = [each.test for each in tree.above(node) if isinstance(each, ast.If | ast.IfExp)]
            if not any(_is_off(test, defaults) for test in tests):
                return Authentication(True, None)
            optional = optional or tree.place(node)
    return Authentication(False, optional)


def _configured(tree: SourceTree) -> Iterator[ast.expr]:
    """Yield the expressions that configure authentication."""
    classes = _authenticating(tree)
    for node in tree.nodes:
        if isinstance(node, ast.Call):
            yield from _credentials_of_call(tree, node, classes)
        elif isinstance(node, ast.Assign) and not _is_none(node.value):
            for target in node.targets:
                if isinstance(target, ast.Attribute) and target.attr in ("auth", "token_verifier"):
                    yield from _values(tree, node.value)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and _is_http_middleware(node):
            yield from (each for each in node.decorator_list if _mentions_headers(node))


def _credentials_of_call(tree: SourceTree, node: ast.Call, classes: set[str]) -> Iterator[ast.expr]:
    name = dotted(node.func)
    if _AUTHENTICATION_MAKERS.search(name):
        for keyword in node.keywords:
            if keyword.arg in _KEYWORDS:
                yield from _values(tree, keyword.value)
    if name.rpartition(".")[2] in ("add_middleware", "Middleware") and node.args:
        used = last_name(node.args[0]) if not isinstance(node.args[0], ast.Call) else dotted(node.args[0].func)
        if used in classes or _NAMES.search(used):
            yield node
    elif name.rpartition(".")[2] in classes or (
        name.rpartition(".")[2] == "Depends" and node.args and _NAMES.search(last_name(node.args[0]))
    ):
        yield node


def _values(tree: SourceTree, value: ast.expr) -> list[ast.expr]:
    """Return the expressions that a value of `auth` may be, without None; those of a variable are its assignments."""
    if isinstance(value, ast.IfExp):
        return [each for each in (value.body, value.orelse) if not _is_none(each)]
    if _is_none(value):
        return []
    if not isinstance(value, ast.Name):
        return [value]
    assigned = [
        node.value
        for node in tree.nodes
        if isinstance(node, ast.Assign | ast.AnnAssign)
        and node.value is not None
        and value.id in {last_name(each) for each in (node.targets if isinstance(node, ast.Assign) else [node.target])}
    ]
    return [each for each in assigned if not _is_none(each)] if assigned else [value]


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _authenticating(tree: SourceTree) -> set[str]:
    """Return the names of middleware classes in a file that look at the credentials of a request."""
    return {
        node.name
        for node in tree.nodes
        if isinstance(node, ast.ClassDef)
        and (any("middleware" in dotted(base).lower() for base in node.bases) or "middleware" in node.name.lower())
        and _mentions_headers(node)
    }


def _is_http_middleware(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any(isinstance(each, ast.Call) and dotted(each.func).endswith(".middleware") for each in node.decorator_list)


def _mentions_headers(node: ast.AST) -> bool:
    return any(
        isinstance(each, ast.Constant) and isinstance(each.value, str) and _HEADERS.search(each.value[:200])
        for each in ast.walk(node)
    )


def _is_off(test: ast.expr, defaults: dict[str, list[SettingDefault]]) -> bool:
    """Whether a condition is false if nothing is configured."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        return any(_is_off(each, defaults) for each in test.values)
    if isinstance(test, ast.BoolOp):
        return all(_is_off(each, defaults) for each in test.values)
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.IsNot | ast.NotEq):
        test = test.left if _is_none(test.comparators[0]) else test
    value = default_of(test).value
    if value is UNKNOWN or isinstance(value, SameAs):
        known = resolved(last_name(test).lower(), defaults)
        return bool(known) and all(_is_false(each.value) for each in known)
    return _is_false(value)


def _is_false(value: object) -> bool:
    return value in _OFF if not isinstance(value, str) else value.lower() in _OFF
