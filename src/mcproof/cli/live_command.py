"""What the commands that call tools share: one live server, the tools that may be called, and the arguments given."""

from __future__ import annotations

import json
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.cli.execute import check_targets
from mcproof.cli.options import words
from mcproof.console import plural, tell
from mcproof.errors import InputError, UsageError, nearest
from mcproof.prove.permission import Permission, permission

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable

    from mcproof.catalog.model import Catalog, Tool
    from mcproof.cli.execute import Work
    from mcproof.cli.planning import Command
    from mcproof.client.open_server import OpenServer
    from mcproof.execution.check_catalog import Depth
    from mcproof.prove.failure_store import StoredFailure
    from mcproof.results.run import Gate, TargetResult

MOST_NAMED = 12
"""How many tools a sentence names."""
LONGEST_NAME = 128
"""How much of a name it shows; a server may call a tool anything."""


class Prepared(NamedTuple):
    """A server that is about to be called."""

    server: OpenServer
    permissions: list[Permission]
    arguments: dict[str, dict[str, Any]]
    """Valid arguments that the user gave, by tool."""
    limit: float
    """How long an answer may take, in seconds."""
    target: dict[str, Any]
    """How to find the server again."""


def call_one(
    command: Command, options: argparse.Namespace, look: Callable[[Work, Depth, Prepared], TargetResult]
) -> int:
    """Call one live server, and report; what is called should be looked at one by one."""
    if options.all or len(options.targets) + bool(options.server_command) > 1:
        raise UsageError("exactly one server is called at a time; name one TARGET, or one `-- COMMAND ARG...`")
    options.min_grade = options.max_tokens = None
    return check_targets(command, options, lambda work, depth: look(work, depth, _prepared(work, options)))


def _prepared(work: Work, options: argparse.Namespace) -> Prepared:
    """All that it takes to call the server behind a catalog; what will be called is said."""
    from mcproof.prove.failure_store import described

    if work.server is None:
        how = "name a URL, FILE.json#NAME of a client configuration, or `-- COMMAND ARG...`"
        raise InputError(f"a snapshot cannot be called; {how}", file=work.source.title)
    permissions = permissions_of(work.catalog, options)
    arguments = given_arguments(options, permissions)
    tell_permissions(permissions)
    return Prepared(work.server, permissions, arguments, options.max_call_ms / 1000, described(work.source))


def permissions_of(catalog: Catalog, options: argparse.Namespace) -> list[Permission]:
    """The tools that are meant, each with whether it may be called; said before anything is sent."""
    wanted, skipped = words(options.tool), words(options.skip)
    names = [tool.name for tool in catalog.tools if tool.name]
    for pattern in (*wanted, *skipped):
        if not any(fnmatchcase(name, pattern) for name in names):
            raise UsageError(f"no tool is called `{pattern}`{nearest(pattern, names)}; there are {named(names)}")
    chosen = [tool for tool in catalog.tools if not wanted or _matches(tool, wanted)]
    refused = {tool.name: each for tool in chosen[::-1] if not (each := _permission(tool, options)).is_granted}
    seen: set[str] = set()
    permissions = []
    for tool in chosen:
        granted = _permission(tool, options)
        if tool.name and tool.name in seen:
            granted = Permission(tool, False, "another tool has the same name")
        elif granted.is_granted and tool.name in refused:  # nobody knows which of the two a server calls
            granted = Permission(tool, False, f"another tool has the same name: {refused[tool.name].reason}")
        if _matches(tool, skipped):
            granted = Permission(tool, False, "left out by --skip")
        seen.add(tool.name)
        permissions.append(granted)
    return permissions


def _permission(tool: Tool, options: argparse.Namespace) -> Permission:
    return permission(tool, allow_writes=options.allow_writes)


def _matches(tool: Tool, patterns: list[str]) -> bool:
    return any(fnmatchcase(tool.name, pattern) for pattern in patterns)


def tell_permissions(permissions: list[Permission]) -> None:
    """Say what will be called and what not, before anything is."""
    sure = [each.tool.name for each in permissions if each.is_granted and not each.is_presumed]
    presumed = [each.tool.name for each in permissions if each.is_granted and each.is_presumed]
    refused = [each for each in permissions if not each.is_granted]
    if sure:
        tell(f"calls {plural(len(sure), 'tool')}: {named(sure)}")
    if presumed:
        tell(f"calls {plural(len(presumed), 'tool')}, presumed read-only: {named(presumed)}")
    if refused:
        tell(f"does not call {plural(len(refused), 'tool')}: {named([each.tool.label for each in refused])}")


def named(names: Iterable[str]) -> str:
    """The first of some tools, and how many more there are."""
    listed = list(names)
    more = f" and {len(listed) - MOST_NAMED:,} more" if len(listed) > MOST_NAMED else ""
    shown = [name if len(name) <= LONGEST_NAME else f"{name[:LONGEST_NAME]}…" for name in listed[:MOST_NAMED]]
    return ", ".join(shown) + more or "none"


def keep_failures(failed: list[StoredFailure]) -> None:
    """Store what failed; where that is not possible it is said, and the report is no worse for it."""
    from mcproof.errors import McproofError
    from mcproof.prove.failure_store import store

    try:
        store(failed)
    except McproofError as error:
        tell(f"failures are not stored, so `mcproof replay` will not find them: {error}")


def gates_of(tested: int) -> list[Gate]:
    """The gate of a server of which nothing was tested: that does not pass."""
    from mcproof.results.run import Gate

    return [] if tested else [Gate("tested", 1, 0, False)]


def given_arguments(options: argparse.Namespace, permissions: list[Permission]) -> dict[str, dict[str, Any]]:
    """The arguments that the user gave, by tool."""
    names = [each.tool.name for each in permissions if each.tool.name]
    given: dict[str, dict[str, Any]] = {}
    for word in options.args:
        if word.startswith("@"):
            for name, arguments in _read_file(word[1:]).items():
                given[name] = _object(arguments, f"--args {word}: `{name}`")
            continue
        name, equals, text = word.partition("=")
        if not equals or name.lstrip().startswith("{"):
            callable_names = [each.tool.name for each in permissions if each.is_granted]
            if len(callable_names) != 1:
                raise UsageError("--args: which tool? Write `--args TOOL=JSON`, or choose one with --tool")
            name, text = callable_names[0], word
        given[name] = _object(_json(text, f"--args of `{name}`"), f"--args of `{name}`")
    for name in given:
        if name not in names:
            raise UsageError(f"--args: no tool is called `{name}`{nearest(name, names)}; there are {named(names)}")
    return given


def _read_file(name: str) -> dict[str, Any]:
    from mcproof.targets.argument import Input, decoded, read_bytes

    return _object(_json(decoded(read_bytes(Input(name)), name), name), name)


def _json(text: str, what: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise UsageError(f"{what}: not JSON: {error.msg.lower()} (line {error.lineno}, column {error.colno})") from None
    except (ValueError, RecursionError):
        raise UsageError(f"{what}: JSON that cannot be read") from None


def _object(value: Any, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise UsageError(f"{what}: arguments are a JSON object")
    return value
