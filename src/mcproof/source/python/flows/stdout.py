"""Text that a server over stdio prints where the protocol is: in its handlers, at import, before it serves.

Certain only where nothing in the source serves over HTTP. While it serves, the official SDK diverts such text since
version 2, so that handlers count only below an older framework; what is printed before always counts.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from mcproof.core.observations.source import SourcePlace
from mcproof.source.framework_tables import DIVERTS_STDOUT
from mcproof.source.python.flows.source_trees import SERVES_HTTP, dotted
from mcproof.source.python.render_json import location_of

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

    from mcproof.source.python.frameworks.domain import McpDomain

_STDIO = re.compile(rb"\bstdio_server\b|[\"']stdio[\"']|\.run(?:_async|_stdio_async)?\(\s*\)")
_MAY_BE_HTTP = re.compile(SERVES_HTTP.pattern.encode())
_SERVES = frozenset(("run", "run_async", "run_stdio_async"))
_CHOSEN = re.compile(r"(?i)debug|verbose|quiet|isatty|version|help|__name__")
"""Conditions under which a person reads the output."""


def stdout_prints(domain: McpDomain, walked: Container[int]) -> tuple[SourcePlace, ...] | str:
    """Where a server over stdio writes text to stdout, or why that is unknown.

    `walked` are the functions that handle its calls.
    """
    modules = domain.run.modules
    texts = [modules.data(path) or b"" for path in modules.files]
    if not domain.servers or any(map(_MAY_BE_HTTP.search, texts)) or not any(map(_STDIO.search, texts)):
        return "the source does not show that it serves over stdio only"
    diverts = any(
        server.framework != "mcp1" and DIVERTS_STDOUT in domain.traits(server, server.framework)
        for server in domain.servers
    )
    found = []
    for path in modules.files:
        module = modules.load(path) if b"print(" in (modules.data(path) or b"") else None
        if module is None:
            continue
        nodes = list(_printed_before(module.tree))
        if not diverts:
            functions = (node for node in ast.walk(module.tree) if id(node) in walked)
            nodes += [node for function in functions for node in _printed_in(function)]
        if module.state != "new":
            nodes += [node for node in module.tree.body if _is_print(node)]
        places = (location_of(module, node) for node in {id(node): node for node in nodes}.values())
        found += [SourcePlace(*place[:3]) for place in places if place is not None]
    return tuple(sorted(found))


def _is_print(node: ast.AST) -> bool:
    """Whether a statement prints to stdout."""
    call = node.value if isinstance(node, ast.Expr) else None
    if not isinstance(call, ast.Call) or dotted(call.func) != "print":
        return False
    files = (keyword.value for keyword in call.keywords if keyword.arg in ("file", None))
    return all(ast.unparse(file) == "sys.stdout" for file in files)


def _printed_in(function: ast.AST) -> Iterator[ast.AST]:
    """The statements of a function that print, without those of functions inside and those that are chosen."""
    for child in ast.iter_child_nodes(function):
        if _is_print(child):
            yield child
        elif isinstance(child, ast.If) and _CHOSEN.search(ast.unparse(child.test)):
            continue
        elif not isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            yield from _printed_in(child)


def _printed_before(tree: ast.Module) -> Iterator[ast.AST]:
    """The statements that print directly before a server runs over stdio, in the same block."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        statements = body if isinstance(body, list) else []
        serving = next((index for index, statement in enumerate(statements) if _serves_stdio(statement)), 0)
        yield from filter(_is_print, statements[:serving])


def _serves_stdio(statement: ast.stmt) -> bool:
    call = statement.value if isinstance(statement, ast.Expr) else None
    call = call.value if isinstance(call, ast.Await) else call
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or call.func.attr not in _SERVES:
        return False
    return ast.unparse(call).endswith(("()", "(transport='stdio')", "('stdio')"))
