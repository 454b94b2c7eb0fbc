"""How source configures a server: where it listens, whether it authenticates, which secrets it has.

Each file is looked at on its own, by constants and defaults. What cannot be decided is not reported: an unclear
authentication counts as one. The default of a setting is found by its last name, whatever holds it. The interpreter
cannot be asked: it follows only what registers tools, with arguments of the command line unknown, and its values do
not say where they are written.
"""

from __future__ import annotations

import ast
import re
from functools import cached_property
from typing import TYPE_CHECKING, Any

from mcproof.core.named_tuple import NamedTuple
from mcproof.core.observations.source import OpenBinding, SourceConfiguration, SourcePlace, UncheckedOrigin
from mcproof.core.text.english import word_set
from mcproof.source.python.flows.collect import forwarded_tokens
from mcproof.source.python.flows.source_trees import (
    SERVES_HTTP,
    SourceTree,
    dotted,
    last_name,
    source_secrets,
    source_trees,
)
from mcproof.source.python.interp.values import declared_parameters

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from mcproof.source.python.interp.interpreter import Interpreter

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
        # `given or "0.0.0.0"`: without anything configured, the last operand is left.
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
        # Without a default the variable is None, which is a value as well: `if os.getenv("TOKEN"):` is false.
        given = node.args[1] if len(node.args) > 1 else _keyword(node, "default")
        if given is None:
            return DefaultValue(None, node, f"default of {variable}")
        return default_of(given)._replace(how=f"default of {variable}")
    if name in _FIELDS:
        given = _keyword(node, "default") or (node.args[0] if node.args else None)
        return DefaultValue(UNKNOWN, node, "") if given is None else default_of(given)
    # Such calls do not turn one meaning into another, so what they are called on decides.
    if isinstance(node.func, ast.Attribute) and node.func.attr in ("lower", "strip", "upper", "split"):
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
    known = [constant.value for constant in values if isinstance(constant, ast.Constant)]
    return (
        DefaultValue(left.value in known, node, left.how) if len(known) == len(values) else left._replace(value=UNKNOWN)
    )


def resolved(name: str, defaults: Mapping[str, Sequence[SettingDefault]]) -> list[SettingDefault]:
    """Return the defaults that a setting may have; what a program passes on comes before fields and parameters."""
    found: list[SettingDefault] = []
    seen, waiting = {name}, [name]
    while waiting:
        known = defaults.get(waiting.pop(), ())
        # The default of a field never counts where a program passes another value for it.
        for possible in [default for default in known if default.is_decisive] or known:
            if not isinstance(possible.value, SameAs):
                found.append(possible)
            elif possible.value.setting not in seen:
                seen.add(possible.value.setting)
                waiting.append(possible.value.setting)
    return found


def _keyword(node: ast.Call, name: str) -> ast.expr | None:
    return next((keyword.value for keyword in node.keywords if keyword.arg == name), None)


def setting_defaults(trees: Iterable[SourceTree]) -> dict[str, list[SettingDefault]]:
    """Return the known defaults of the settings in some source, by their lower-case names."""
    found: dict[str, list[SettingDefault]] = {}
    for tree in trees:
        for default in _defaults_in(tree):
            # `host=host` says nothing, and would be followed in a circle.
            if default.value is not UNKNOWN and default.value != SameAs(default.name.lower()):
                found.setdefault(default.name.lower(), []).append(default)
    return found


def _defaults_in(tree: SourceTree) -> Iterator[SettingDefault]:
    for node in tree.nodes:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            # A field of a class is what an instance starts with; an assignment is what it ends with.
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
    words = [
        argument.value
        for argument in node.args
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
    ]
    options = [word for word in words if word.startswith("--")]
    given = _keyword(node, "default")
    if options and given is not None:
        # Of `--host/--no-host`, as click writes a switch, the first half is the name.
        name = options[0].lstrip("-").partition("/")[0].replace("-", "_")
        default = default_of(given)
        yield SettingDefault(
            name, default.value, tree.place(default.node), f"default of {options[0]}", is_decisive=True
        )
    for keyword in node.keywords:
        if keyword.arg is not None and keyword.arg != "default":
            yield _setting(tree, keyword.arg, keyword.value, is_decisive=not isinstance(keyword.value, ast.Constant))


def _of_parameters(tree: SourceTree, node: ast.arguments) -> Iterator[SettingDefault]:
    for parameter, value in declared_parameters(node):
        if value is not None:
            yield _setting(tree, parameter.arg, value, is_decisive=False)


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
        # A search in the text is much cheaper than one in the tree, and most files say nothing of the kind.
        if _NAMES.search(tree.text) is None:
            continue
        for node in _configured(tree):
            # Authentication behind a condition counts only if the condition holds with the defaults.
            tests = [outer.test for outer in tree.above(node) if isinstance(outer, ast.If | ast.IfExp)]
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
            yield from (decorator for decorator in node.decorator_list if _mentions_headers(node))


def _credentials_of_call(tree: SourceTree, node: ast.Call, classes: set[str]) -> Iterator[ast.expr]:
    name = dotted(node.func)
    if _AUTHENTICATION_MAKERS.search(name):
        for keyword in node.keywords:
            if keyword.arg in _KEYWORDS:
                yield from _values(tree, keyword.value)
    if name.rpartition(".")[2] in ("add_middleware", "Middleware") and node.args:
        # By its name where its class is elsewhere: better a missed finding than a wrong one.
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
        return [branch for branch in (value.body, value.orelse) if not _is_none(branch)]
    if _is_none(value):
        return []
    if not isinstance(value, ast.Name):
        return [value]
    # In the whole file, whichever comes last: unclear counts as authentication.
    assigned = [
        node.value
        for node in tree.nodes
        if isinstance(node, ast.Assign | ast.AnnAssign)
        and node.value is not None
        and value.id
        in {last_name(target) for target in (node.targets if isinstance(node, ast.Assign) else [node.target])}
    ]
    return [expression for expression in assigned if not _is_none(expression)] if assigned else [value]


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
    return any(
        isinstance(decorator, ast.Call) and dotted(decorator.func).endswith(".middleware")
        for decorator in node.decorator_list
    )


def _mentions_headers(node: ast.AST) -> bool:
    return any(
        isinstance(part, ast.Constant)
        and isinstance(part.value, str | bytes)
        and _HEADERS.search(str(part.value[:200]))
        for part in ast.walk(node)
    )


def _is_off(test: ast.expr, defaults: dict[str, list[SettingDefault]]) -> bool:
    """Whether a condition is false if nothing is configured."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        return any(_is_off(operand, defaults) for operand in test.values)
    if isinstance(test, ast.BoolOp):
        return all(_is_off(operand, defaults) for operand in test.values)
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.IsNot | ast.NotEq):
        # `if token is not None` asks the same as `if token`.
        test = test.left if _is_none(test.comparators[0]) else test
    value = default_of(test).value
    if value is UNKNOWN or isinstance(value, SameAs):
        known = resolved(last_name(test).lower(), defaults)
        # Of several defaults all must be off: one that is on may be the one that applies.
        return bool(known) and all(_is_false(default.value) for default in known)
    return _is_false(value)


def _is_false(value: object) -> bool:
    return value in _OFF if not isinstance(value, str) else value.lower() in _OFF


WILDCARDS = ("0.0.0.0", "::", "[::]")  # noqa: S104 (looked for, not listened on)
_SERVER_MAKERS = ("FastMCP", "MCPServer")
_RUNNERS = ("run", "run_async", "run_http_async", "run_sse_async", "run_streamable_http_async", "serve", "Config")
_NOT_SERVERS = ("asyncio", "subprocess", "anyio", "trio", "nest_asyncio")
_POSITIONAL = {"uvicorn.run": 1, "uvicorn.Config": 1, "web.TCPSite": 1, "TCPSite": 1, "run_app": 1, "web.run_app": 1}
"""Where the address is among the arguments of calls that take it by position."""
_LISTENING_WORDS = re.compile(
    rf"\b(?:{'|'.join([*_SERVER_MAKERS, *_RUNNERS, *(name.rpartition('.')[2] for name in _POSITIONAL)])}|settings)\b"
)
"""The names of calls that listen, and of what has settings: a file without any of them need not be parsed."""


class _Listening(NamedTuple):
    """A call that listens: the expression of its address, None if that is among unpacked keywords."""

    address: ast.expr | None
    tree: SourceTree
    call: ast.expr
    is_setting: bool = False
    """Whether it only sets the address, for a server that may also be served over stdio."""


class SourceSettings:
    """The settings and the authentication in some source, read when they are first needed."""

    def __init__(self, trees: Sequence[SourceTree]) -> None:
        self.trees = trees

    @cached_property
    def defaults(self) -> dict[str, list[SettingDefault]]:
        return setting_defaults(self.trees)

    @cached_property
    def authentication(self) -> Authentication:
        return authentication_in(self.trees, self.defaults)


def open_bindings(settings: SourceSettings) -> list[OpenBinding]:
    """Return where a server listens on all interfaces by default, without authentication; each address once."""
    trees = settings.trees
    if not any(wildcard in tree.text for tree in trees for wildcard in WILDCARDS):
        return []
    listening = [call for tree in trees if _LISTENING_WORDS.search(tree.text) for call in _listening(tree)]
    # The address in the settings of a server over stdio opens nothing.
    if any(call.is_setting for call in listening) and not any(SERVES_HTTP.search(tree.text) for tree in trees):
        listening = [call for call in listening if not call.is_setting]
    found: dict[SourcePlace, OpenBinding] = {}
    for call in listening:
        served = call.tree.place(call.call)
        for address, place, how in _addresses(call, settings.defaults):
            # By the place of the address: ten servers with one default are one thing to change.
            found.setdefault(place, OpenBinding(address, place, how, served))
    if not found or settings.authentication.is_certain:
        return []
    optional = settings.authentication.optional
    return [binding._replace(optional_authentication=optional) for binding in found.values()]


_HTTP_CALLS = word_set(
    "run_http_async run_sse_async run_streamable_http_async http_app sse_app streamable_http_app create_sse_app "
    "create_streamable_http_app"
)
_TRANSPORTS = frozenset(("SseServerTransport", "StreamableHTTPSessionManager", "StreamableHTTPServerTransport"))
"""Classes of the low-level server, which check nothing by default."""
_OVER_HTTP = frozenset(("http", "sse", "streamable-http", "streamable_http"))
_HOST_CHECK = re.compile(
    r"\bTrustedHostMiddleware\b|\bTransportSecuritySettings\((?!\s*enable_dns_rebinding_protection\s*=\s*False)"
    r"|\b(?:allowed_hosts|allowed_origins|host_origin_protection|security_settings|transport_security)\s*="
    r"|\bheaders?\b[^\n]{0,40}[\[(]\s*b?[\"'](?:[Oo]rigin|[Hh]ost)[\"']|\bb[\"'](?:origin|host)[\"']"
)
"""Words that only source with a check of the host or the origin of requests contains."""


def unchecked_origins(settings: SourceSettings, *, framework_checks: bool) -> list[UncheckedOrigin]:
    """Return where a server over HTTP answers what any website makes a browser send; at most one place.

    A browser that was led to a website sends its requests to this machine too: with the name of the website as host,
    if that name leads here by now, or with the website as origin, if every origin is admitted.
    """
    trees = settings.trees
    over_http = [tree for tree in trees if SERVES_HTTP.search(tree.text)]
    found: list[UncheckedOrigin] = []
    # First: a middleware that admits every origin outweighs a check of the host.
    for tree in over_http and [tree for tree in trees if "allow_origins" in tree.text]:
        found += _places(tree, "origin", lambda node: _admits_every_origin(node, settings))
    if not found and not any(_HOST_CHECK.search(tree.text) for tree in trees):
        for tree in over_http:
            found += _places(tree, "host", lambda node: _serves_http(node, framework_checks=framework_checks))
    return [] if not found or settings.authentication.is_certain else found[:1]


def _places(tree: SourceTree, why: str, matches: Callable[[ast.Call], bool]) -> list[UncheckedOrigin]:
    calls = (node for node in tree.nodes if isinstance(node, ast.Call) and matches(node))
    return [UncheckedOrigin(tree.place(node), why, last_name(node.func)) for node in calls]


def _serves_http(node: ast.Call, *, framework_checks: bool) -> bool:
    """Whether a call serves over HTTP, at least if it is configured so, without a check by the framework."""
    name = last_name(node.func)
    if name in _TRANSPORTS or framework_checks or name in _HTTP_CALLS:
        # The transports of the low-level server check nothing, whatever the framework above them does.
        return name in _TRANSPORTS or not framework_checks
    transport = _keyword(node, "transport")
    if name not in ("run", "run_async") or transport is None:
        return False
    # A transport that is chosen at run time may be HTTP.
    return not isinstance(transport, ast.Constant) or transport.value in _OVER_HTTP


def _admits_every_origin(node: ast.Call, settings: SourceSettings) -> bool:
    """Whether a call adds a middleware for CORS that admits every origin, unless it is configured."""
    origins = _keyword(node, "allow_origins")
    if origins is None:
        return False
    if isinstance(origins, ast.List | ast.Tuple):
        return any(isinstance(origin, ast.Constant) and origin.value == "*" for origin in origins.elts)
    value = default_of(origins).value
    values = (
        [value]
        if not isinstance(value, SameAs)
        else [default.value for default in resolved(value.setting, settings.defaults)]
    )
    return "*" in values


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
    # `asyncio.run(host=…)` and `subprocess.run` are called alike and listen nowhere.
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


def _addresses(call: _Listening, defaults: dict[str, list[SettingDefault]]) -> Iterator[tuple[str, SourcePlace, str]]:
    """Yield the wildcard addresses that a call may listen on by default."""
    name = "host"
    if call.address is not None:
        direct = default_of(call.address)
        if direct.value in WILDCARDS:
            yield direct.value, call.tree.place(direct.node), direct.how
            return
        name = last_name(call.address).lower()
    for default in resolved(name, defaults):
        if default.value in WILDCARDS:
            yield default.value, default.place, default.how


_SENDS_HEADERS = re.compile(r"(?is)authorization.*headers|headers.*authorization|\bget_access_token\b")


def source_configuration(target: str, run: Interpreter, *, framework_checks: bool) -> SourceConfiguration:
    """Return the configuration in a file or folder of Python source; nothing is run.

    `framework_checks` says whether the framework checks the host of requests by itself.
    """
    trees = source_trees(target, run.modules)
    settings = SourceSettings(trees)
    bindings = open_bindings(settings)
    # A server that everyone reaches directly needs no browser to be led astray.
    unchecked = [] if bindings else unchecked_origins(settings, framework_checks=framework_checks)
    return SourceConfiguration(
        bindings=tuple(bindings),
        unchecked=tuple(unchecked),
        secrets=tuple(source_secrets(trees)),
        tokens=tuple(forwarded_tokens(run, [tree.file for tree in trees if _SENDS_HEADERS.search(tree.text)])),
    )
