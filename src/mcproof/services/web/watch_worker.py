"""The process that checks a watched server: `python -m mcproof.services.web.watch_worker`.

It reads a job from standard input and writes each run, or an error, as a line of JSON. Standard input stays open
while the service lives; when it ends, so does this process, and the watchdog ends the servers that it has started.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from typing import TYPE_CHECKING

from mcproof.checks.diff.lock import fingerprint, known_parts
from mcproof.client.endpoints import CommandEndpoint
from mcproof.client.transports.processes import STARTED
from mcproof.core.errors import UsageError, from_exception
from mcproof.runs import execute
from mcproof.runs.events import RunStarted, TargetFinished
from mcproof.runs.loop import catalog_text
from mcproof.runs.requests import Detail, LintRequest, Policy, ScanRequest, SettingsSource, TargetSelection
from mcproof.runs.stored import run_document
from mcproof.services.web.watch_events import WatchJob, observed_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.core.catalog.model import Catalog
    from mcproof.runs.events import Event

MOST_MEMORY = 1024**3
"""The memory of a process that starts no server, in bytes."""
_DETAIL = Detail(lines=True, identities=True, scores=True)
_ENDING = threading.Event()
"""Set once the service is gone."""


def check(job: WatchJob) -> Iterator[str]:
    """Yield each run of a job as a line. Raises an McproofError if nothing could be checked."""
    for command in job.checks:
        catalogs: list[Catalog | None] = []

        def listen(event: Event, catalogs: list[Catalog | None] = catalogs) -> None:
            if isinstance(event, RunStarted) and not job.allows_commands:
                refuse_commands(event)
            if isinstance(event, TargetFinished):
                catalogs.append(event.catalog)

        run = execute(_request(job, command), listen)
        if len(run.targets) != 1:
            raise UsageError(f"a watch is of one server; the target has {len(run.targets)}")
        catalog = catalogs[0]
        report = "".join(run_document(run))
        if catalog is None or not (catalog.tools or catalog.server.raw):
            yield observed_line(report, None, None)
        else:
            yield observed_line(report, catalog_text(catalog), fingerprint(catalog, known_parts(catalog)))


def refuse_commands(event: RunStarted) -> None:
    """Raise a UsageError if a run would start a command; a client configuration may name one since it was read."""
    if any(isinstance(each.server, CommandEndpoint) for each in event.inputs):
        raise UsageError("the target is a command, which needs `serve --allow-commands`")


def _request(job: WatchJob, command: str) -> LintRequest | ScanRequest:
    if isinstance(job.target, str):
        targets = TargetSelection(names=(job.target,))
    else:
        targets = TargetSelection(servers=(job.target,))
    policy = Policy(SettingsSource(job.config, is_disabled=job.config is None))
    if command == "scan":
        return ScanRequest(targets, policy=policy, detail=_DETAIL)
    return LintRequest(targets, policy=policy, detail=_DETAIL)


def main() -> None:
    """Check one job, and end with the service."""
    STARTED.guard()
    job = WatchJob.of_line(sys.stdin.buffer.readline())
    if not job.may_start_server:  # which would inherit the limit
        limit_memory()
    threading.Thread(target=_end_with_service, daemon=True).start()
    try:
        for line in check(job):
            sys.stdout.write(line)
    except Exception as error:
        sys.stdout.write(json.dumps({"error": str(from_exception(error))}) + "\n")
    sys.stdout.flush()
    os._exit(1 if _ENDING.is_set() else 0)


def limit_memory() -> None:
    """Limit the memory of this process, where the system can."""
    if sys.platform != "win32":
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (MOST_MEMORY, MOST_MEMORY))


def _end_with_service() -> None:
    while sys.stdin.buffer.read(1024):
        pass
    _ENDING.set()  # before the server dies: its end lets the check fail, which must not look like a result
    STARTED.kill_all()
    os._exit(1)


if __name__ == "__main__":
    main()
