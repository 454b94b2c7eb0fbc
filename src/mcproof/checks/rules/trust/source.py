"""Rules about source: parameters of tools that reach dangerous calls without a check."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcproof.linting.finding import Problem
from mcproof.rules.trust.trust_rule import trust_rule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from mcproof.core.observations.perimeter import Exposure
    from mcproof.core.observations.source import FlowStep, SourceFlow, SourceFlows
    from mcproof.linting.registry import Check

_MOST_NAMES = 3


def _if_exposed(evidence: Mapping[str, Any], exposure: Exposure) -> bool:
    """Whether anyone can call the tool: the source serves it on all interfaces without authentication."""
    return not evidence.get("unused") and (exposure.is_open or exposure.listens_openly)


def _flow_identity(evidence: dict[str, Any]) -> str:
    """The call, its function and the parameters; lines may move."""
    return "\0".join((evidence["function"], evidence["sink"]["call"], *evidence["parameters"]))


def _source_rule(id: str, *, name: str, severity: str, blocks: bool = False) -> Callable[[Check], Check]:
    return trust_rule(
        id,
        name=name,
        severity=severity,
        category="source",
        dimension="Tool surface risk",
        phase="source",
        hard_fail=_if_exposed if blocks else None,
        sums_up=_flow_identity,
    )


@_source_rule("TRU-301", name="shell-command-from-parameter", severity="critical", blocks=True)
def shell_command(source: SourceFlows) -> Iterator[Problem]:
    """A parameter of a tool becomes part of a shell command, or chooses the program to run.

    Why: a model passes on whatever a web page or a document told it to. `; curl … | sh` in such a parameter runs with
    the rights of the server.
    Fix: run a fixed program with a list of arguments and no shell. Where a shell is needed, quote with `shlex.quote`.

    Alone it blocks a server only if the source serves it on all interfaces without authentication (TRU-309).
    A check of the parameter against fixed values, and `shlex.quote`, make it silent. OWASP MCP05; CWE-78.
    """
    yield from _flow_problems(source, "shell", "{call}() runs a command that contains {what}")


@_source_rule("TRU-302", name="code-from-parameter", severity="critical", blocks=True)
def evaluated_code(source: SourceFlows) -> Iterator[Problem]:
    """A parameter of a tool is evaluated as code, unpickled, or names a module to import.

    Why: whoever controls the text that a model reads can run code in the server.
    Fix: parse data with `json.loads`, `yaml.safe_load` or `ast.literal_eval`, and look names up in a fixed table.

    Alone it blocks a server only if the source serves it on all interfaces without authentication (TRU-309).
    OWASP MCP05; CWE-95, CWE-502.
    """
    yield from _flow_problems(source, "eval", "{call}() evaluates {what}")


@_source_rule("TRU-303", name="sql-from-parameter", severity="high")
def composed_query(source: SourceFlows) -> Iterator[Problem]:
    """A parameter of a tool is embedded in the text of a query.

    Why: the value can end the literal or the name that it is meant to be, and continue with a statement of its own.
    Fix: pass values as query parameters, and look names of tables and columns up in a list.

    A tool whose parameter is a whole query does what it is for, and is not reported. OWASP MCP05; CWE-89.
    """
    yield from _flow_problems(source, "sql", "the text of a query contains {what}")


@_source_rule("TRU-304", name="path-without-containment", severity="high")
def uncontained_path(source: SourceFlows) -> Iterator[Problem]:
    """A parameter of a tool is used as a path, without a check that the path stays in a folder.

    Why: `../../.ssh/id_rsa` or an absolute path reads or writes any file that the server can.
    Fix: resolve the path and compare with `Path.is_relative_to`: `(root / name).resolve().is_relative_to(root)`.

    `relative_to` and `os.path.commonpath` on resolved paths, `Path(x).name` and a check against fixed values are also
    known, in the same function or in one that it calls. OWASP MCP05; CWE-22.
    """
    yield from _flow_problems(source, "path", "{call}() uses {what} as a path that no check keeps in a folder")


@_source_rule("TRU-305", name="prefix-as-containment", severity="high")
def prefix_check(source: SourceFlows) -> Iterator[Problem]:
    """A path is checked by the start of its text: `path.startswith(root)`.

    Why: `/data-private` starts with `/data`. A path without `resolve` also leaves the folder through `..` or a link.
    Fix: compare parts, not text: `Path(path).resolve().is_relative_to(root)`.

    A root that ends with a separator, compared with a resolved path, is a valid check. CVE-2025-53110; CWE-22.
    """
    yield from _flow_problems(source, "prefix", "{call}() decides by text whether {what} is in a folder")


@_source_rule("TRU-306", name="url-without-guard", severity="high")
def unguarded_url(source: SourceFlows) -> Iterator[Problem]:
    """A parameter of a tool decides which host a request goes to, without a check of the host.

    Why: the server can be made to call services of its own network, such as the metadata service of a cloud.
    Fix: compare the parsed host with a list, or refuse private addresses after resolving the name.

    A tool that fetches any page is reported as well: that is its risk. A parameter after a fixed host is not.
    OWASP MCP05; CWE-918.
    """
    yield from _flow_problems(source, "url", "{call}() sends a request to a host that {what} decides")


@_source_rule("TRU-307", name="argument-injection", severity="high")
def injected_argument(source: SourceFlows) -> Iterator[Problem]:
    """A parameter of a tool is an argument of a program, and may be read as an option.

    Why: `--output=/etc/cron.d/x` as the name of a branch is an option for git, which writes files or runs programs.
    Fix: put `"--"` before the arguments, or refuse values that start with `-`.

    The value of an option, as in `["-n", name]`, is not reported. CVE-2025-68144; CWE-88.
    """
    yield from _flow_problems(source, "argument", "{call}() passes {what} as an argument that may be an option")


@_source_rule("TRU-308", name="attribute-from-parameter", severity="high")
def chosen_attribute(source: SourceFlows) -> Iterator[Problem]:
    """A parameter of a tool names the attribute that is read, set or called.

    Why: `getattr` reaches every attribute of an object, not only those that the author had in mind.
    Fix: look the name up in a dictionary of the functions that callers may use.

    A fixed prefix (`getattr(self, f"handle_{name}")`) or a check against fixed values makes it silent. CWE-470.
    """
    yield from _flow_problems(source, "attribute", "{call}() takes the name of an attribute from {what}")


def _flow_problems(source: SourceFlows, kind: str, message: str) -> Iterator[Problem]:
    for flow in source.flows:
        if flow.kind == kind:
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
    if not flow.tools:
        return ""
    names = ", ".join(f"`{name}`" for name in flow.tools[:_MOST_NAMES])
    more = len(flow.tools) - _MOST_NAMES
    return f" (tool {names})" if len(flow.tools) == 1 else f" (tools {names}{f' and {more} more' if more > 0 else ''})"


def _evidence(flow: SourceFlow) -> dict[str, Any]:
    found: dict[str, Any] = {
        "tools": list(flow.tools),
        "parameters": list(flow.parameters),
        "function": flow.function,
        "sink": {"call": flow.call, **_step_place(flow.steps[-1])},
        "path": [_step_place(each) for each in flow.steps],
    }
    if flow.further:
        found["alsoAt"] = [_step_place(each) for each in flow.further]
    if not flow.is_used:
        found["unused"] = True
    return found


def _step_place(step: FlowStep) -> dict[str, Any]:
    return {"file": step.file, "line": step.line, "code": step.what}
