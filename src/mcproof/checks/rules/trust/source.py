"""Rules about the software behind a server: flows and settings in its source, and known vulnerabilities.

They judge observations of `source`; a server without source or known packages is not judged by them.
Why a flow may be silent: docs/decisions/0046-flows-assume-checks.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from mcproof.checks.findings import Problem
from mcproof.checks.rules.trust.rule import few, trust_rule
from mcproof.core.observations.source import (
    FlowStep,
    KnownSoftware,
    SourceConfiguration,
    SourceFlow,
    SourceFlows,
    SourceLocation,
    SourcePlace,
)

if TYPE_CHECKING:
    from mcproof.core.observations.perimeter import Exposure


def _blocks(evidence: Mapping[str, Any], _exposure: Exposure) -> bool:
    """Whether an advisory certainly applies that blocks."""
    return bool(evidence.get("blocking"))


def _package_identity(evidence: dict[str, Any]) -> str:
    return f"{evidence['advisoryId']}\0{evidence['package']}"


_software_rule = partial(trust_rule, KnownSoftware, category="advisory", dimension="Tool surface risk")


@_software_rule(
    "serverInfo_not_in_known_advisory_list",
    "listed-server",
    "critical",
    weight=10,
    phase="post-handshake",
    hard_fail=_blocks,
    chosen=("severity", "weight"),
)
def server_info_not_in_known_advisory_list(software: KnownSoftware) -> Iterator[Problem]:
    """The server is in the list of known advisories.

    Why: whoever reaches the server, or writes what an agent reads, may use a published vulnerability.
    Fix: update the server; `mcproof explain advisories PACKAGE` shows the fixed version.

    Name and version are those that the server reports, and those of its package where the command, the source or the
    capture shows them. An advisory counts if its condition holds for this server: one about HTTP does not concern a
    server that is started over stdio. Without a known version, or a known condition, the rule is not judged.
    """
    from mcproof.checks.advisories import advisory_hits  # here, as all rules are imported to list them

    hits = list(advisory_hits(software, "server"))
    if hits:
        evidence = {
            "hits": [
                {
                    "advisoryId": hit.advisory.id,
                    "serverName": software.server_name or hit.package.name,
                    "serverVersion": hit.version,
                    "reference": hit.advisory.reference,
                }
                for hit in hits
            ],
            "blocking": [hit.advisory.id for hit in hits if hit.advisory.blocks],
        }
        first = hits[0]
        more = f" and {len(hits) - 1} more" if len(hits) > 1 else ""
        yield Problem(
            f"{first.package.name} {first.version} is listed in {first.advisory.id}{more}",
            evidence=evidence,
            severity=None if evidence["blocking"] else min((hit.advisory.severity for hit in hits), key=_RANK.index),
        )


_RANK = ("critical", "high", "medium", "low", "info")


@_software_rule(
    "TRU-401",
    "known-advisory",
    "critical",
    phase="source",
    hard_fail=_blocks,
    counted_by="serverInfo_not_in_known_advisory_list",
    sums_up=_package_identity,
)
def known_advisory(software: KnownSoftware) -> Iterator[Problem]:
    """The package of the server has a known vulnerability in this version.

    Why: the vulnerability is published, and so is often the way to use it.
    Fix: update to the fixed version; where there is none, use another server.

    The severity is that of the advisory. Without a known version, or where it is unknown whether the condition of the
    advisory holds for this server, the rule is not judged. OWASP MCP04.
    """
    yield from _advisory_problems(software, "server")


@_software_rule("TRU-402", "vulnerable-framework", "high", phase="source", sums_up=_package_identity)
def vulnerable_framework(software: KnownSoftware) -> Iterator[Problem]:
    """The framework of the server has a known vulnerability in this version.

    Why: most servers leave transports, sessions and authorization to their framework.
    Fix: update the framework, and pin the fixed version or a newer one.

    The severity is that of the advisory, which counts if its condition holds for this server: the transport, resource
    templates with exploded variables, the parts of the framework that the source uses. Without a known version or
    condition the rule is not judged. OWASP MCP04.
    """
    yield from _advisory_problems(software, "framework")


@_software_rule("TRU-403", "framework-version-reported", "info", phase="post-handshake")
def framework_version(software: KnownSoftware) -> Iterator[Problem]:
    """The version that a server reports is that of its framework.

    Why: advisories and users take it for the version of the server; it changes when the framework is updated.
    Fix: pass the version of your package when you create the server.

    Judged where the installed framework is known, and the version is not that of the server's own package.
    """
    from mcproof.checks.advisories import packages_of

    frameworks = packages_of("framework")
    of_framework = {
        package: (package.ecosystem, package.name) in frameworks
        for package in software.packages
        if package.version == software.server_version and package.version is not None
    }
    if of_framework and all(of_framework.values()):
        package = next(iter(of_framework))
        yield Problem(f"reports {software.server_version} as its version, which is that of {package.name}")


def _advisory_problems(software: KnownSoftware, role: str) -> Iterator[Problem]:
    from mcproof.checks.advisories import advisory_hits

    for hit in advisory_hits(software, role):
        advisory, package = hit.advisory, hit.package
        fixed = f"fixed in {advisory.fixed}" if advisory.fixed is not None else "no fixed version is known"
        version = f"{package.name} {hit.version} ({package.known_from})"
        yield Problem(
            f"{version} has {advisory.id}, {advisory.kind}; {fixed}",
            evidence={
                "advisoryId": advisory.id,
                "package": package.name,
                "ecosystem": package.ecosystem,
                "version": hit.version,
                "knownFrom": package.known_from,
                "vulnerable": advisory.vulnerable,
                "fixed": advisory.fixed,
                "summary": advisory.summary,
                "note": advisory.note or None,
                "reference": advisory.reference,
                "blocking": advisory.blocks,
            },
            severity=advisory.severity,
        )


def _setting_identity(evidence: dict[str, Any]) -> str:
    """What was found; lines may move."""
    return "\0".join(str(evidence.get(key)) for key in ("kind", "address", "how", "shown", "function"))


_setting_rule = partial(trust_rule, SourceConfiguration, category="source", phase="source", sums_up=_setting_identity)


@_setting_rule("TRU-309", "binds-all-without-authentication", "high", dimension="Tool surface risk")
def binds_all_without_authentication(source: SourceConfiguration) -> Iterator[Problem]:
    """The server listens on all interfaces by default, and does not authenticate callers.

    Why: everyone on the network can call its tools, with the rights and the credentials of the server. On a laptop that
    is every network that it joins.
    Fix: make `127.0.0.1` the default, and require a token where another address is configured.

    Constants count, and defaults of options, environment variables, parameters and fields. Authentication that is off
    by default does not count; authentication that cannot be decided does. OWASP MCP07; CWE-1327, CWE-306.
    """
    for binding in source.bindings[:1]:  # one fact, in however many places the address is written
        authentication = binding.optional_authentication
        optional = ", and authentication is off by default" if authentication is not None else ""
        how = "" if binding.how == "constant" else f" ({binding.how})"
        yield Problem(
            f"listens on {binding.address}{how} without authentication{optional}",
            near=_location(binding.place),
            evidence={
                "kind": "open_binding",
                "address": binding.address,
                "how": binding.how,
                "place": _source_place(binding.place),
                "servedAt": _source_place(binding.served),
                "optionalAuthentication": None if authentication is None else _source_place(authentication),
                "alsoAt": [_source_place(other.place) for other in source.bindings[1:]],
            },
        )


@_setting_rule("TRU-310", "secret-in-source-or-token-passed-on", "high", dimension="Endpoint hygiene")
def secret_in_source(source: SourceConfiguration) -> Iterator[Problem]:
    """Source contains a secret, or sends the token of the caller on to another service.

    Why: whoever reads the source has the secret. A token that was issued for this server and is accepted by another one
    lets the server act there as the user, which the MCP specification forbids.
    Fix: read secrets from the environment, and revoke the one in the source. Get a token of its own for each service,
    by token exchange or with credentials of the server.

    Only keys of well-known shapes and random text under the name of a secret count; placeholders, examples, tests and
    docstrings do not. The secret is not part of the output. OWASP MCP01 and MCP07; CWE-798;
    MCP 2025-11-25, security best practices, token passthrough.
    """
    from mcproof.core.observations.source import HiddenLine

    for secret in source.secrets:
        # A place without a column has no snippet, which would quote the secret.
        near = HiddenLine(secret.place.file, secret.place.line)
        evidence = {"kind": "secret", "shown": secret.shown, "place": _source_place(secret.place)}
        yield Problem(f"contains a secret: {secret.shown}", near=near, evidence=evidence)
    for token in source.tokens:
        yield Problem(
            f"{token.function}() sends the token of the caller on to another service",
            near=_location(token.place),
            evidence={
                "kind": "token_passthrough",
                "function": token.function,
                "place": _source_place(token.place),
                "receivedAt": _source_place(token.received),
            },
        )


@_setting_rule("TRU-311", "answers-any-website", "medium", dimension="Tool surface risk")
def answers_any_website(source: SourceConfiguration) -> Iterator[Problem]:
    """The server over HTTP checks neither the host nor the origin of requests, or admits every origin.

    Why: a website that the user opens can send requests to servers on the same machine or network. It calls the tools
    with the rights of the server, and reads the results (DNS rebinding, cross-origin requests).
    Fix: check the host and the origin: `TransportSecuritySettings` of the official SDK, `host_origin_protection="auto"`
    of fastmcp, or `TrustedHostMiddleware` of Starlette; name the origins that may call.

    Servers that authenticate callers are not reported, nor those that listen on all interfaces (TRU-309). The official
    SDK checks by itself since 1.23 if it listens on this machine, fastmcp does not. CVE-2025-66416, CVE-2025-10193;
    CWE-346, CWE-350, CWE-942.
    """
    for origin in source.unchecked:
        text = (
            "admits requests of every origin, without authentication"
            if origin.why == "origin"
            else "serves over HTTP, and checks neither the host nor the origin of requests"
        )
        yield Problem(
            f"{origin.what}() {text}",
            near=_location(origin.place),
            evidence={"kind": f"unchecked_{origin.why}", "function": origin.what, "place": _source_place(origin.place)},
        )


def _location(place: SourcePlace) -> SourceLocation:
    from mcproof.core.observations.source import SourceLocation

    return SourceLocation(place.file, place.line, place.column, None)


def _source_place(place: SourcePlace) -> dict[str, Any]:
    return {"file": place.file, "line": place.line}


_MOST_NAMES = 3


def _if_exposed(evidence: Mapping[str, Any], exposure: Exposure) -> bool:
    """Whether anyone can call the tool: the source serves it on all interfaces without authentication."""
    return not evidence.get("unused") and (exposure.is_open or exposure.listens_openly)


def _flow_identity(evidence: dict[str, Any]) -> str:
    """The call, its function and the parameters; lines may move."""
    return "\0".join((evidence["function"], evidence["sink"]["call"], *evidence["parameters"]))


_flow_rule = partial(
    trust_rule, SourceFlows, category="source", dimension="Tool surface risk", phase="source", sums_up=_flow_identity
)


@_flow_rule("TRU-301", "shell-command-from-parameter", "critical", hard_fail=_if_exposed)
def shell_command(source: SourceFlows) -> Iterator[Problem]:
    """A value of the client is part of a shell command, or chooses the program.

    Why: a model passes on whatever a web page or a document told it to. `; curl … | sh` in such a parameter runs with
    the rights of the server.
    Fix: run a fixed program with a list of arguments and no shell: `subprocess.run([…])`. Where a shell is needed,
    quote with `shlex.quote`. In JavaScript: run a fixed program with a list of arguments and no shell:
    `execFile(program, [args])`.

    Alone it blocks a server only if the source serves it on all interfaces without authentication (TRU-309).
    A check of the parameter against fixed values, and `shlex.quote`, make it silent. OWASP MCP05; CWE-78.
    """
    yield from _flow_problems(source, "shell", "{call}() runs a command that contains {what}")


@_flow_rule("TRU-302", "code-from-parameter", "critical", hard_fail=_if_exposed)
def evaluated_code(source: SourceFlows) -> Iterator[Problem]:
    """A value of the client is evaluated as code, unpickled, or names a module or package to load.

    Why: whoever controls the text that a model reads can run code in the server.
    Fix: parse data with `json.loads`, `yaml.safe_load` or `ast.literal_eval`, and look names up in a table.
    In JavaScript: parse data with `JSON.parse`, and look names up in a table.

    Functions that evaluate what they parse count, such as `sympy.sympify` and `DataFrame.query`.
    Alone it blocks a server only if the source serves it on all interfaces without authentication (TRU-309).
    OWASP MCP05; CWE-95, CWE-502.
    """
    yield from _flow_problems(source, "eval", "{call}() evaluates {what}")


@_flow_rule("TRU-303", "sql-from-parameter", "high")
def composed_query(source: SourceFlows) -> Iterator[Problem]:
    """A value of the client is embedded in the text of a query.

    Why: the value can end the literal or the name that it is meant to be, and continue with a statement of its own.
    Fix: pass values as query parameters, and look names of tables and columns up in a list.

    A tool whose parameter is a whole query does what it is for, and is not reported. OWASP MCP05; CWE-89.
    """
    yield from _flow_problems(source, "sql", "the text of a query contains {what}")


@_flow_rule("TRU-304", "path-without-containment", "high")
def uncontained_path(source: SourceFlows) -> Iterator[Problem]:
    """A value of the client is used as a path that no check keeps in a folder.

    Why: `../../.ssh/id_rsa` or an absolute path reads or writes any file that the server can.
    Fix: resolve the path and compare: `(root / name).resolve().is_relative_to(root)`. In JavaScript: resolve the path
    with `path.resolve(root, name)`, and compare with `startsWith(root + path.sep)`.

    `relative_to` and `os.path.commonpath` on resolved paths, `Path(x).name` and a check against fixed values are also
    known, in the same function or in one that it calls. Open the path that was checked: a check of `root / name` says
    nothing about `name`. If the only check is one that a setting switches off, as it does by default, the rule is not
    observed. OWASP MCP05; CWE-22.
    """
    yield from _flow_problems(source, "path", "{call}() uses {what} as a path that no check keeps in a folder")


@_flow_rule("TRU-305", "prefix-as-containment", "high")
def prefix_check(source: SourceFlows) -> Iterator[Problem]:
    """A path is checked by the start of its text: `path.startswith(root)`.

    Why: `/data-private` starts with `/data`. A path without `resolve` also leaves the folder through `..` or a link.
    Fix: compare parts, not text: `Path(path).resolve().is_relative_to(root)`. In JavaScript: resolve the path with
    `path.resolve(root, name)`, and compare with `startsWith(root + path.sep)`.

    A root that ends with a separator, compared with a resolved path, is a valid check. CVE-2025-53110; CWE-22.
    """
    yield from _flow_problems(source, "prefix", "{call}() decides by text whether {what} is in a folder")


@_flow_rule("TRU-306", "url-without-guard", "high")
def unguarded_url(source: SourceFlows) -> Iterator[Problem]:
    """A value of the client decides which host a request goes to, without a check of the host.

    Why: the server can be made to call services of its own network, such as the metadata service of a cloud.
    Fix: compare the parsed host with a list, or refuse private addresses after resolving the name.

    A tool that fetches any page is reported as well: that is its risk. A parameter after a fixed host is not.
    OWASP MCP05; CWE-918.
    """
    yield from _flow_problems(source, "url", "{call}() sends a request to a host that {what} decides")


@_flow_rule("TRU-307", "argument-injection", "high")
def injected_argument(source: SourceFlows) -> Iterator[Problem]:
    """A value of the client is an argument of a program, and may be read as an option.

    Why: `--output=/etc/cron.d/x` as the name of a branch is an option for git, which writes files or runs programs.
    Fix: put `"--"` before the arguments, or refuse values that start with `-`.

    The value of an option, as in `["-n", name]`, is not reported. CVE-2025-68144; CWE-88.
    """
    yield from _flow_problems(source, "argument", "{call}() passes {what} as an argument that may be an option")


@_flow_rule("TRU-308", "attribute-from-parameter", "high")
def chosen_attribute(source: SourceFlows) -> Iterator[Problem]:
    """A value of the client names the attribute that is read, set or called.

    Why: `getattr` reaches every attribute of an object, not only those that the author had in mind.
    Fix: look the name up in a dictionary of the functions that callers may use. In JavaScript: look the name up in a
    `Map` of the functions that callers may use.

    A fixed prefix (`getattr(self, f"handle_{name}")`) or a check against fixed values makes it silent. CWE-470.
    """
    yield from _flow_problems(source, "attribute", "{call}() takes the name of an attribute from {what}")


@trust_rule(
    SourceFlows,
    "TRU-312",
    "prints-to-stdout",
    "medium",
    weight=0,  # it breaks a connection, and says nothing about trust
    category="source",
    dimension="Endpoint hygiene",
    phase="source",
    sums_up=_setting_identity,
)
def prints_to_stdout(source: SourceFlows) -> Iterator[Problem]:
    """A server over stdio prints text to stdout, which carries the protocol.

    Why: a client reads every line of stdout as a message. Some disconnect at the first line that is not one.
    Fix: print to `sys.stderr`, or use `logging`, which does so by default. In JavaScript: print with `console.error`,
    which writes to stderr.

    Reported are calls of `print` where a module is imported, directly before a server runs, and in the functions that
    handle calls. The official SDK leads what handlers print to stderr since version 2, so that those count only below
    an older framework. In JavaScript these are `console.log`, `console.info` and `console.debug`: in the functions that
    handle calls, beside the call that connects the server, and at the top of that module. A server that may also serve
    HTTP is not judged. In a live server, WIR-001 reports such lines.
    """
    for place in source.prints[:1]:
        also = source.prints[1:]
        more = f", and in {len(also)} more places" if len(also) > 1 else ", and in one more place" if also else ""
        yield Problem(
            f"prints to stdout{more}",
            near=_location(place),
            evidence={
                "kind": "stdout",
                "place": _source_place(place),
                "alsoAt": [_source_place(other) for other in also],
            },
        )


def _flow_problems(source: SourceFlows, kind: str, message: str) -> Iterator[Problem]:
    for flow in source.flows:
        if flow.kind == kind and not flow.switch:
            text = message.format(call=flow.call, what=_parameters(flow))
            severity = None if flow.is_used else "medium"
            yield Problem(f"{text}{_reached(flow)}", evidence=_evidence(flow), near=flow.location, severity=severity)


def _parameters(flow: SourceFlow) -> str:
    names = [f"`{name}`" for name in flow.parameters[:_MOST_NAMES]]
    more = len(flow.parameters) - len(names)
    return " or ".join(names) + (f" or {more} more parameters" if more else "")


def _reached(flow: SourceFlow) -> str:
    """The tools that reach a call, for a message."""
    if not flow.is_used:
        return " (no tool calls this method, but tools use its class)"
    tools = [f"tool{'s' if len(flow.tools) > 1 else ''} {few(flow.tools)}"] if flow.tools else []
    places = [f"{len(flow.further) + 1} places"] if flow.further else []
    reached = ", ".join([*tools, *flow.others[:_MOST_NAMES], *places])
    return f" ({reached})" if reached else ""


def _evidence(flow: SourceFlow) -> dict[str, Any]:
    evidence: dict[str, Any] = {
        "tools": list(flow.tools),
        "parameters": list(flow.parameters),
        "function": flow.function,
        "sink": {"call": flow.call, **_step_place(flow.steps[-1])},
        "path": [_step_place(step) for step in flow.steps],
    }
    if flow.others:
        evidence["others"] = list(flow.others)
    if flow.further:
        evidence["alsoAt"] = [_step_place(step) for step in flow.further]
    if not flow.is_used:
        evidence["unused"] = True
    return evidence


def _step_place(step: FlowStep) -> dict[str, Any]:
    return {"file": step.file, "line": step.line, "code": step.what}
