"""How source configures a server: where it listens, whether it authenticates, which secrets it has.

Each file is looked at on its own, by constants and defaults. What cannot be decided is not reported: an unclear
authentication counts as one. The default of a setting is found by its last name, whatever holds it.
"""

from __future__ import annotations

import ast
import math
import os
import re
from collections import Counter
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.core.observations.responses import secret_in
from mcproof.core.observations.source import (
    ForwardedToken,
    OpenBinding,
    SourceConfiguration,
    SourcePlace,
    SourceProblem,
    SourceSecret,
)
from mcproof.source.python.files import decoded, is_test, python_files

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

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


UNKNOWN = object()
"""A value that is not written in the source."""
_ENVIRONMENT = (
    "os.getenv",
    "getenv",
    "os.environ.get",
    "environ.get",
    "os.environ.setdefault",
    "env.get",
    "config.get",
)
_FIELDS = ("Field", "field", "pydantic.Field", "typer.Option", "Option", "click.Option")


class SameAs(NamedTuple):
    """The value of another setting."""

    setting: str


class SettingDefault(NamedTuple):
    """A value that a setting has unless something else is configured."""

    name: str
    value: Any
    place: SourcePlace
    how: str
    is_decisive: bool
    """Whether it is what a program passes on; false for defaults of fields and parameters, which that replaces."""


class DefaultValue(NamedTuple):
    """The default of an expression: its value, the node that it is written in, and how it gets there."""

    value: Any
    node: ast.expr
    how: str


def default_of(node: ast.expr) -> DefaultValue:
    """Return the value that an expression has if nothing is configured."""
    if isinstance(node, ast.Constant):
        return DefaultValue(node.value, node, "constant")
    if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or):
        return default_of(node.values[-1])
    if isinstance(node, ast.Call):
        return _default_of_call(node)
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], ast.Eq | ast.In):
        return _default_of_comparison(node)
    name = last_name(node)
    return DefaultValue(SameAs(name.lower()) if name else UNKNOWN, node, "")


def _default_of_call(node: ast.Call) -> DefaultValue:
    name = dotted(node.func)
    if name in _ENVIRONMENT and node.args and isinstance(node.args[0], ast.Constant):
        variable = str(node.args[0].value)
        given = node.args[1] if len(node.args) > 1 else _keyword(node, "default")
        if given is None:
            return DefaultValue(None, node, f"default of {variable}")
        return default_of(given)._replace(how=f"default of {variable}")
    if name in _FIELDS:
        given = _keyword(node, "default") or (node.args[0] if node.args else None)
        return DefaultValue(UNKNOWN, node, "") if given is None else default_of(given)
    if isinstance(node.func, ast.Attribute) and node.func.attr in ("lower", "strip", "upper"):
        return default_of(node.func.value)
    if name in ("str", "bool") and len(node.args) == 1:
        return default_of(node.args[0])
    return DefaultValue(UNKNOWN, node, "")


def _default_of_comparison(node: ast.Compare) -> DefaultValue:
    """Return the default of `os.getenv("X", "false").lower() == "true"` and of `… in ("1", "true")`."""
    left, right = default_of(node.left), node.comparators[0]
    if left.value is UNKNOWN or isinstance(left.value, SameAs):
        return DefaultValue(UNKNOWN, node, "")
    values = right.elts if isinstance(right, ast.Tuple | ast.List | ast.Set) else [right]
    known = [each.value for each in values if isinstance(each, ast.Constant)]
    return (
        DefaultValue(left.value in known, node, left.how) if len(known) == len(values) else left._replace(value=UNKNOWN)
    )


def resolved(name: str, defaults: Mapping[str, Sequence[SettingDefault]]) -> list[SettingDefault]:
    """Return the defaults that a setting may have; what a program passes on comes before fields and parameters."""
    found: list[SettingDefault] = []
    seen, waiting = {name}, [name]
    while waiting:
        known = defaults.get(waiting.pop(), ())
        for each in [default for default in known if default.is_decisive] or known:
            if not isinstance(each.value, SameAs):
                found.append(each)
            elif each.value.setting not in seen:
                seen.add(each.value.setting)
                waiting.append(each.value.setting)
    return found


def _keyword(node: ast.Call, name: str) -> ast.expr | None:
    return next((each.value for each in node.keywords if each.arg == name), None)


def setting_defaults(trees: Iterable[SourceTree]) -> dict[str, list[SettingDefault]]:
    """Return the known defaults of the settings in some source, by their lower-case names."""
    found: dict[str, list[SettingDefault]] = {}
    for tree in trees:
        for each in _defaults_in(tree):
            if each.value is not UNKNOWN and each.value != SameAs(each.name.lower()):
                found.setdefault(each.name.lower(), []).append(each)
    return found


def _defaults_in(tree: SourceTree) -> Iterator[SettingDefault]:
    for node in tree.nodes:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            is_field = isinstance(tree.parents.get(node), ast.ClassDef)
            for target in targets:
                yield _setting(tree, last_name(target), node.value, is_decisive=not is_field)
        elif isinstance(node, ast.Call):
            yield from _defaults_of_call(tree, node)
        elif isinstance(node, ast.arguments):
            yield from _of_parameters(tree, node)
        elif isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    yield _setting(tree, key.value, value, is_decisive=False)


def _setting(tree: SourceTree, name: str, value: ast.expr, *, is_decisive: bool) -> SettingDefault:
    default = default_of(value)
    how = default.how if default.how != "constant" else f"default of {name}"
    return SettingDefault(name, default.value, tree.place(default.node), how, is_decisive)


def _defaults_of_call(tree: SourceTree, node: ast.Call) -> Iterator[SettingDefault]:
    """Yield the defaults of options of the command line, and those that are passed on by keyword."""
    words = [each.value for each in node.args if isinstance(each, ast.Constant) and isinstance(each.value, str)]
    options = [word for word in words if word.startswith("--")]
    given = _keyword(node, "default")
    if options and given is not None:
        name = options[0].lstrip("-").partition("/")[0].replace("-", "_")
        default = default_of(given)
        yield SettingDefault(
            name, default.value, tree.place(default.node), f"default of {options[0]}", is_decisive=True
        )
    for keyword in node.keywords:
        if keyword.arg is not None and keyword.arg != "default":
            yield _setting(tree, keyword.arg, keyword.value, is_decisive=not isinstance(keyword.value, ast.Constant))


def _of_parameters(tree: SourceTree, node: ast.arguments) -> Iterator[SettingDefault]:
    positional = [*node.posonlyargs, *node.args]
    pairs: list[tuple[ast.arg, ast.expr | None]] = [
        *zip(positional[len(positional) - len(node.defaults) :], node.defaults, strict=True),
        *zip(node.kwonlyargs, node.kw_defaults, strict=True),
    ]
    for argument, value in pairs:
        if value is not None:
            yield _setting(tree, argument.arg, value, is_decisive=False)


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
    if (
        value.startswith(_PUBLIC)
        or not _NAME.search(name)
        or _VALUE.fullmatch(value) is None
        or _INVENTED.search(value)
    ):
        return None
    if not any(each.isdigit() for each in value) or not any(each.isalpha() for each in value):
        return None
    longest = max((len(each) for each in _WORDS.findall(value)), default=0)
    if longest > len(value) / 2 or _entropy(value) < _LEAST_ENTROPY:
        return None
    return f"{value[:4]}***"


def _entropy(text: str) -> float:
    """Return the bits of information for each character."""
    counts = Counter(text).values()
    return -sum(count / len(text) * math.log2(count / len(text)) for count in counts)


def source_configuration(target: str, modules: Modules) -> SourceConfiguration:
    """Return the configuration in a file or folder of Python source; nothing is run."""
    trees = source_trees(target, modules)
    return SourceConfiguration(
        bindings=tuple(open_bindings(trees)),
        secrets=tuple(source_secrets(trees)),
        tokens=tuple(forwarded_tokens(trees)),
    )
