"""Send a stored failure again, or add it to a suite as a test.

It goes to the server that the user names, or else to the one that failed. A stranger's checkout may hold failures whose
server is any command, so that one is started only for failures that the user stored here, or trusts.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from mcproof.core.errors import InputError, UsageError
from mcproof.probing.probes.failures import is_own, load, whole_id
from mcproof.probing.replay import replay
from mcproof.runs.events import MessageSent
from mcproof.runs.loop import connect_options, inputs_of, resolved_names
from mcproof.runs.results import ReplayOutcome

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcproof.client.endpoints import Endpoint
    from mcproof.probing.probes.failures import StoredFailure
    from mcproof.runs.events import Listener
    from mcproof.runs.requests import ReplayRequest, RunSession, TargetSelection


def replay_failure(request: ReplayRequest, listen: Listener, _: RunSession) -> ReplayOutcome:
    """Send a stored failure again, or add it to a suite. Raises McproofError if neither is possible."""
    failed = load(whole_id(request.id))
    server = _server(failed, request, listen)
    # Before a server is even looked for: the file names the command that would be started.
    if request.targets.is_empty and not request.is_trusted and not is_own(failed.id):
        raise UsageError(_distrust(failed, server))
    if request.suite is not None:
        from mcproof.client.redaction import hiding
        from mcproof.testing.suites.regression import write_regression_test

        test = write_regression_test(failed, server, request.suite, hiding(server.secrets), os.environ)
        return ReplayOutcome(failed, test=test)
    listen(MessageSent(f"sends {failed.method} to {server.label}"))
    return ReplayOutcome(failed, replay(failed, server, connect_options(request.targets, None)))


def _server(failed: StoredFailure, request: ReplayRequest, listen: Listener) -> Endpoint:
    """The server that the request names, or else the one that failed."""
    targets = request.targets
    if targets.is_empty:
        targets = _stored_target(failed.target, targets)
    for source in inputs_of(resolved_names(targets, request.settings.here(), listen), targets):
        if source.obstacle is not None:
            raise source.obstacle
        if source.server is not None:
            return source.server
    raise UsageError("a failure is sent to a live server: a URL, FILE.json#NAME, or `-- COMMAND ARG...`")


def _distrust(failed: StoredFailure, server: Endpoint) -> str:
    """Why a failure is not sent to the server that its file names, which may be any command."""
    names = failed.target.get("env")
    given = f" with {', '.join(map(str, names))}" if isinstance(names, list) and names else ""
    return (
        f"you did not store {failed.id} in this folder, so nothing is sent to `{server.label}`{given}; "
        "name the server (TARGET, or `-- COMMAND ARG...`), or use --trust"
    )


def _stored_target(stored: dict[str, object], targets: TargetSelection) -> TargetSelection:
    """The target of a stored failure, with the options of the command line."""
    live = targets.live
    if isinstance(command := stored.get("command"), list) and all(isinstance(word, str) for word in command):
        _refuse_redacted(stored, "`-- COMMAND ARG...`")
        cwd = stored.get("cwd")
        live = live._replace(
            command=tuple(command),
            environment={**_environment(stored, live.environment), **live.environment},
            directory=live.directory or (cwd if isinstance(cwd, str) else None),
        )
        return targets._replace(live=live)
    _refuse_redacted(stored, "the URL")
    sent = stored.get("headers")
    names = [str(name) for name in sent] if isinstance(sent, list) else []
    missing = [name for name in names if name.lower() not in map(str.lower, live.headers)]
    if missing:
        raise UsageError(f"the failure had headers, whose values are not stored: --header '{missing[0]}: ...'")
    target = stored.get("target") or stored.get("url")
    if not isinstance(target, str):
        raise InputError("the stored failure does not name its server; name a TARGET")
    return targets._replace(names=(target,))


def _refuse_redacted(stored: dict[str, object], what: str) -> None:
    if stored.get("complete") is False:
        raise UsageError(f"the server was named with a secret, which is not stored; name it again: {what}")


def _environment(stored: dict[str, object], given: Mapping[str, str]) -> dict[str, str]:
    """The variables that the server was given, with their current values."""
    names = stored.get("env")
    variables = {}
    for name in names if isinstance(names, list) else ():
        if not isinstance(name, str) or not name.isprintable() or not name.isascii():
            raise InputError("the stored failure has an invalid variable name; name a TARGET")
        if name in os.environ:
            variables[name] = os.environ[name]
        elif name not in given:
            raise UsageError(f"the server was given the variable {name}, whose value is not stored: --env {name}=VALUE")
    return variables
