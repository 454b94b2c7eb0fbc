"""Text that a server over stdio prints where the protocol is: in its handlers, and where it connects.

Certain only where nothing in the source serves over HTTP or replaces the console. No SDK leads such text to stderr.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mcproof.core.observations.source import SourcePlace
from mcproof.source.javascript.flows.walk import FUNCTION_NODES
from mcproof.source.javascript.syntax import children_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tree_sitter import Node

    from mcproof.source.javascript.flows.values import FunctionRef
    from mcproof.source.javascript.interp.modules import Module
    from mcproof.source.javascript.syntax import SourceFile

_STDIO = b"StdioServerTransport"
_OTHERWISE = re.compile(
    rb"(?i)http_?(?:server|stream)|streamable_?http|sse_?server|websocket|\b(?:express|fastify|hono)\b|\.listen\("
)
_REPLACED = re.compile(
    rb"(?i)\bconsole(?:\.\w+|\[[^\]]*\])?\s*=[^=>]|(?:patch|redirect|silence|intercept)_?console", re.IGNORECASE
)
_PRINTS = frozenset(("console.log", "console.info", "console.debug"))
"""What Node writes to stdout."""
_CHOSEN = re.compile(r"(?i)debug|verbose|quiet|isTTY|version|help|argv|require\.main")
"""Conditions under which a person reads the output."""
_BLOCKS = ("program", "statement_block")


def stdout_prints(modules: list[Module], handlers: Iterable[FunctionRef]) -> tuple[SourcePlace, ...] | str:
    """Where a server over stdio writes text to stdout, or why that is unknown; `handlers` answer its calls."""
    sources = [module.source for module in modules]
    is_certain = any(_STDIO in source.data for source in sources) and not any(
        _OTHERWISE.search(source.data) or _REPLACED.search(source.data) for source in sources
    )
    if not is_certain:
        return "the source does not show that it serves over stdio only, with the console as it is"
    found = {node.id: (source, node) for source in sources if _STDIO in source.data for node in _around(source)}
    for handler in handlers:
        source = handler.module.source
        found |= {node.id: (source, node) for node in _printed_in(source, handler.node)}
    return tuple(sorted(SourcePlace(*source.location(node)[:3]) for source, node in found.values()))


def _is_print(source: SourceFile, statement: Node) -> bool:
    call = statement.named_children[0] if statement.type == "expression_statement" else None
    callee = call.child_by_field_name("function") if call is not None and call.type == "call_expression" else None
    return callee is not None and source.text(callee) in _PRINTS


def _printed_in(source: SourceFile, node: Node) -> Iterator[Node]:
    """The statements of a function that print, without those of functions inside and those that are chosen."""
    waiting = children_of(node)
    while waiting:
        child = waiting.pop()
        test = child.child_by_field_name("condition") if child.type == "if_statement" else None
        if _is_print(source, child):
            yield child
        elif child.type not in FUNCTION_NODES and (test is None or not _CHOSEN.search(source.text(test))):
            waiting += children_of(child)


def _around(source: SourceFile) -> Iterator[Node]:
    """The statements that print beside one that connects a server, and at the top of its module."""
    waiting = [source.root]
    while waiting:
        node = waiting.pop()
        statements = children_of(node)
        waiting += statements
        if node.type in _BLOCKS and (node.type == "program" or any(_connects(source, one) for one in statements)):
            yield from (statement for statement in statements if _is_print(source, statement))


def _connects(source: SourceFile, statement: Node) -> bool:
    call = statement.named_children[0] if statement.type == "expression_statement" else None
    call = call.named_children[0] if call is not None and call.type == "await_expression" else call
    callee = call.child_by_field_name("function") if call is not None else None
    return source.text(callee).endswith(".connect")
