"""Servers that listen on all interfaces without authentication, by constants and defaults in their source."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, NamedTuple

from mcproof.core.observations.source import OpenBinding
from mcproof.discovery.configuration.authentication import authentication_in
from mcproof.discovery.configuration.default_values import default_of, resolved, setting_defaults
from mcproof.discovery.configuration.syntax_trees import dotted, last_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mcproof.core.observations.source import SourcePlace
    from mcproof.discovery.configuration.default_values import SettingDefault
    from mcproof.discovery.configuration.syntax_trees import SourceTree

WILDCARDS = ("0.0.0.0", "::", "[::]")  # noqa: S104 (looked for, not listened on)
_SERVER_MAKERS = ("FastMCP", "MCPServer")
_RUNNERS = ("run", "run_async", "run_http_async", "run_sse_async", "run_streamable_http_async", "serve", "Config")
_NOT_SERVERS = ("asyncio", "subprocess", "anyio", "trio", "nest_asyncio")
_HTTP = re.compile(r"streamable[-_]http|[\"'](?:sse|http)[\"']|\b(?:sse|http)_app\b|\brun_(?:sse|http)|uvicorn")
"""What only source has that serves over HTTP."""
_POSITIONAL = {"uvicorn.run": 1, "uvicorn.Config": 1, "web.TCPSite": 1, "TCPSite": 1, "run_app": 1, "web.run_app": 1}
"""Where the address is among the arguments of calls that take it by position."""


class _Listening(NamedTuple):
    """A call that listens: the expression of its address, None if that is among unpacked keywords."""

    address: ast.expr | None
    tree: SourceTree
    call: ast.expr
    is_setting: bool = False
    """Whether it only sets the address, for a server that may also be served over stdio."""


def open_bindings(trees: Sequence[SourceTree]) -> list[OpenBinding]:
    """Return where a server listens on all interfaces by default, without authentication; each address once."""
    if not any(wildcard in tree.text for tree in trees for wildcard in WILDCARDS):
        return []
    listening = [each for tree in trees for each in _listening(tree)]
    if any(each.is_setting for each in listening) and not any(_HTTP.search(tree.text) for tree in trees):
        listening = [each for each in listening if not each.is_setting]
    if not listening:
        return []
    defaults = setting_defaults(trees)
    found: dict[SourcePlace, OpenBinding] = {}
    for each in listening:
        served = each.tree.place(each.call)
        for address, place, how in _addresses(each, defaults):
            found.setdefault(place, OpenBinding(address, place, how, served))
    if not found:
        return []
    authentication = authentication_in(trees, defaults)
    if authentication.is_certain:
        return []
    return [each._replace(optional_authentication=authentication.optional) for each in found.values()]


def _listening(tree: SourceTree) -> Iterator[_Listening]:
    """Yield the calls in a file that listen, and the settings that they use."""
    for node in tree.nodes:
        if isinstance(node, ast.Call):
            yield from _listening_call(tree, node)
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                if dotted(target).endswith("settings.host") and isinstance(target, ast.Attribute):
                    yield _Listening(node.value, tree, target, is_setting=True)


def _listening_call(tree: SourceTree, node: ast.Call) -> Iterator[_Listening]:
    name = dotted(node.func)
    last = name.rpartition(".")[2]
    if last not in (*_SERVER_MAKERS, *_RUNNERS) and name not in _POSITIONAL:
        return
    if name.partition(".")[0] in _NOT_SERVERS:
        return
    for keyword in node.keywords:
        if keyword.arg == "host":
            yield _Listening(keyword.value, tree, node, is_setting=last in _SERVER_MAKERS)
        elif keyword.arg is None:
            yield _Listening(None, tree, node, is_setting=last in _SERVER_MAKERS)
    position = _POSITIONAL.get(name)
    if position is not None and len(node.args) > position:
        yield _Listening(node.args[position], tree, node)


def _addresses(each: _Listening, defaults: dict[str, list[SettingDefault]]) -> Iterator[tuple[str, SourcePlace, str]]:
    """Yield the wildcard addresses that a call may listen on by default."""
    name = "host"
    if each.address is not None:
        direct = default_of(each.address)
        if direct.value in WILDCARDS:
            yield direct.value, each.tree.place(direct.node), direct.how
            return
        name = last_name(each.address).lower()
    for default in resolved(name, defaults):
        if default.value in WILDCARDS:
            yield default.value, default.place, default.how
