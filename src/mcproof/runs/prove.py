"""The tools of a live server that a run calls, and the arguments the user gives for them."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from mcproof.core.errors import InputError, McproofError, UsageError, nearest
from mcproof.core.schema.keywords import ANNOTATION, header_parameters
from mcproof.execution.events import CallsPlanned, MessageSent
from mcproof.probing.permission import Permission, permission

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from mcproof.client.capture import OpenServer
    from mcproof.core.catalog.model import Catalog, Tool
    from mcproof.execution.events import Listener
    from mcproof.execution.run_requests import CallOptions, TargetSelection
    from mcproof.execution.target_run import LoadedTarget
    from mcproof.probing.probes.failures import StoredFailure
    from mcproof.results.run import Gate

MOST_NAMED = 12
"""How many tools a message names."""
LONGEST_NAME = 128
"""How much of a name it shows; the name comes from the server."""
_MOST_MISTAKES = 3
"""How many mistakes in the arguments of a tool a message names."""


def require_one_server(targets: TargetSelection) -> None:
    """Raise a UsageError if the request names more than one server to call."""
    count = len(targets.names) + len(targets.documents) + bool(targets.live.command)
    if targets.live.all_configured or count > 1:
        raise UsageError("only one server is called at a time; name one TARGET, or one `-- COMMAND ARG...`")


def server_of(target: LoadedTarget) -> OpenServer:
    """Return the open server behind a catalog, or raise an InputError if it is not a live one."""
    if target.server is None:
        how = "name a URL, FILE.json#NAME of a client configuration, or `-- COMMAND ARG...`"
        raise InputError(f"a snapshot cannot be called; {how}", file=target.source.title)
    return target.server


def plan_calls(
    catalog: Catalog, calls: CallOptions, listen: Listener
) -> tuple[list[Permission], dict[str, dict[str, Any]]]:
    """Return the permission of each chosen tool and the given arguments by tool; announce the calls."""
    refuse_unknown_tools((*calls.tools, *calls.allow, *calls.deny), [tool.name for tool in catalog.tools if tool.name])
    permissions = permissions_of(catalog, calls)
    arguments = _given_arguments(calls, permissions)
    for message in _invalid_arguments(arguments, permissions):
        listen(MessageSent(message))
    listen(CallsPlanned(tuple(permissions)))
    return permissions, arguments


def report_changed_tools(server: OpenServer, listen: Listener) -> None:
    """Report that the server has changed its tools since they were listed: new ones were not called."""
    if "tools" in server.session.changed_lists:
        listen(MessageSent("the server has changed its tools during the run; what it added is not tested"))


def refuse_unknown_tools(patterns: Iterable[str], names: list[str]) -> None:
    """Raise a UsageError if a name or glob pattern matches no tool."""
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in names):
            raise UsageError(f"unknown tool `{pattern}`{nearest(pattern, names)}; there are {listed_names(names)}")


def permissions_of(catalog: Catalog, calls: CallOptions) -> list[Permission]:
    """The chosen tools, each with whether it may be called."""
    chosen = [tool for tool in catalog.tools if not calls.tools or _matches(tool, calls.tools)]
    own = [
        permission(
            tool,
            allow_writes=calls.allow_writes,
            is_allowed=_matches(tool, calls.allow),
            is_denied=_matches(tool, calls.deny),
        )
        for tool in chosen
    ]
    if catalog.connection is not None and catalog.connection.has_parameter_headers:
        own = [_unless_dropped(each) for each in own]
    refused = {each.tool.name: each for each in reversed(own) if not each.is_granted}
    seen: set[str] = set()
    permissions = []
    for each in own:
        name = each.tool.name
        granted = each
        if name and name in seen:
            granted = Permission(each.tool, False, "another tool has the same name")
        elif each.is_granted and name in refused:  # which of the two the server would call is unknown
            granted = Permission(each.tool, False, f"another tool has the same name: {refused[name].reason}")
        seen.add(name)
        permissions.append(granted)
    return permissions


def _unless_dropped(given: Permission) -> Permission:
    """The permission of a tool, or a refusal if clients must drop the tool because of its headers."""
    problem = header_fault(given.tool)
    return given if problem is None else Permission(given.tool, False, f"clients must drop it: {problem}")


def header_fault(tool: Tool) -> str | None:
    """Why an `x-mcp-header` of a tool is invalid; None if all are valid."""
    problems = header_parameters(tool.tree).problems if tool.tree is not None else []
    return f"invalid `{ANNOTATION}`: {problems[0].message}" if problems else None


def _matches(tool: Tool, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(tool.name, pattern) for pattern in patterns)


def listed_names(names: Iterable[str]) -> str:
    """The first of some tool names, and how many more there are."""
    listed = list(names)
    more = f" and {len(listed) - MOST_NAMED:,} more" if len(listed) > MOST_NAMED else ""
    shown = [name if len(name) <= LONGEST_NAME else f"{name[:LONGEST_NAME]}…" for name in listed[:MOST_NAMED]]
    return ", ".join(shown) + more or "none"


def _given_arguments(calls: CallOptions, permissions: list[Permission]) -> dict[str, dict[str, Any]]:
    """The arguments that the user gives, by tool."""
    names = [each.tool.name for each in permissions if each.tool.name]
    callable_names = [each.tool.name for each in permissions if each.is_granted]
    given: dict[str, dict[str, Any]] = {}
    for tool, values in calls.arguments:
        if tool is None and len(callable_names) != 1:
            raise UsageError("--args: which tool? Write `--args TOOL=JSON`, or choose one with --tool")
        given[callable_names[0] if tool is None else tool] = dict(values)
    for name in given:
        if name not in names:
            raise UsageError(f"--args: unknown tool `{name}`{nearest(name, names)}; there are {listed_names(names)}")
    return given


def _invalid_arguments(given: Mapping[str, dict[str, Any]], permissions: list[Permission]) -> Iterator[str]:
    """Messages about given arguments that break the schema: probes that vary them would prove little."""
    from mcproof.core.schema.validation import Oracle
    from mcproof.execution.argument_mistakes import declared_parameters, worded

    schemas = {each.tool.name: each.tool.schema for each in permissions if each.tool.name in given}
    for name, schema in schemas.items():
        known = schema if isinstance(schema, dict) else {}
        oracle = Oracle(schema if schema is not None else {})
        if oracle.rejects(given[name]):
            mistakes = [worded(each, declared_parameters(known)) for each in oracle.objections(given[name])]
            what = f": {'; '.join(mistakes[:_MOST_MISTAKES])}" if mistakes else ""
            yield f"--args: the schema of `{listed_names([name])}` does not allow these arguments{what}"


def store_failures(failed: list[StoredFailure], listen: Listener) -> None:
    """Store failures for `mcproof replay`; if that is not possible, say so and go on."""
    from mcproof.probing.probes.failures import store

    try:
        store(failed)
    except McproofError as error:
        listen(MessageSent(f"failures are not stored, so `mcproof replay` will not find them: {error}"))


def tested_gates(tested: int, incomplete: str, cases: Mapping[str, int]) -> list[Gate]:
    """The failed gates of a run that tested nothing, not everything, or not every tool; none for a complete run.

    `incomplete` is the reason why requests are missing, `cases` the number of cases of each tool that may be called.
    """
    from mcproof.results.run import COMPLETE, Gate

    gates = [] if tested else [Gate("tested", 1, 0, False)]
    if incomplete:
        gates.append(Gate(COMPLETE, "all calls", incomplete, False))
    if cases and tested and not all(cases.values()):
        gates.append(Gate("tested-tools", len(cases), sum(map(bool, cases.values())), False))
    return gates
