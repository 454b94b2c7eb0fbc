"""The check of a watched server, in a worker process of its own, and what the watcher makes of its end.

A process can be ended whatever a server makes it do, uses its own memory, and leaves the service responsive.
Why there is one kind of worker: docs/decisions/0065-one-worker-process.md.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from mcproof import __version__
from mcproof.checks.diff.lock import fingerprint, known_parts
from mcproof.client.endpoints import CommandEndpoint
from mcproof.core.errors import FAILED, InputError, McproofError, UsageError
from mcproof.core.text.files import state_folder
from mcproof.runs import execute
from mcproof.runs.events import RunStarted, TargetFinished
from mcproof.runs.requests import Detail, LintRequest, Policy, ScanRequest, SettingsSource, TargetSelection
from mcproof.runs.results import RunResult, TargetResult, Trouble, empty_payload
from mcproof.services.store.run_record import LARGEST_REPORT, RunRecord, record_of
from mcproof.services.web.watch_events import ObservedRun, WatchJob
from mcproof.services.workers.messages import ANYWHERE, WorkerLimits
from mcproof.services.workers.worker import LostError, OverdueError, Worker, WorkerError
from mcproof.targets.snapshots import catalog_text

if TYPE_CHECKING:
    from mcproof.core.catalog.model import Catalog
    from mcproof.runs.events import Event

CHECK_SECONDS = 300.0
"""How long a check may take; then the server counts as unreachable."""
MOST_MEMORY = 1024**3
"""The memory of a process, in bytes."""
_DETAIL = Detail(lines=True, identities=True, scores=True)


class WatchError(McproofError):
    """A check failed for a reason that is not the server's, such as a missing variable."""


async def check_in_process(job: WatchJob, label: str, seconds: float = CHECK_SECONDS) -> list[ObservedRun]:
    """Return the runs of a job. Raises a WatchError. Cancelling it ends the process and the servers it has started."""
    started, clock = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), time.perf_counter()
    worker = Worker(
        "mcproof.services.web.watch_check:check", WatchJob, tuple[ObservedRun, ...], limits_of(job, seconds)
    )
    try:
        return [*await worker.run_in_thread(job)]
    except OverdueError:
        reason = f"not checked within {seconds:g} s"
    except LostError:
        # Counted against the server, which else could use up the memory of its checks and stay what it was.
        reason = "its check ended before it was done; it may need more memory than it may use"
    except WorkerError as error:
        raise WatchError(error.message) from None
    finally:
        worker.close()
    taken = round(time.perf_counter() - clock, 4)
    return [ObservedRun(_troubled(job.checks[0], label, reason, started, taken))]


def limits_of(job: WatchJob, seconds: float) -> WorkerLimits:
    """Return the limits of a check: unless it may start a server, it may change nothing but stored tokens."""
    if job.may_start_server:
        return WorkerLimits(seconds, MOST_MEMORY)
    return WorkerLimits(seconds, MOST_MEMORY, roots=("/",), network=ANYWHERE, writes=(state_folder(),))


def _troubled(command: str, label: str, reason: str, started: str, taken: float) -> RunRecord:
    result = TargetResult(label, Trouble(reason, label, None, None), payload=empty_payload(command))
    run = RunResult(command, __version__, [result], exit_code=FAILED, started=started, seconds=taken)
    return record_of(run, result, None)


def check(job: WatchJob, _: object = None) -> tuple[ObservedRun, ...]:
    """Return the runs of a job. Raises a McproofError if nothing could be checked."""
    return tuple(_checked(job, command) for command in job.checks)


def _checked(job: WatchJob, command: str) -> ObservedRun:
    catalogs: list[Catalog | None] = []

    def listen(event: Event) -> None:
        if isinstance(event, RunStarted) and not job.allows_commands:
            refuse_commands(event)
        if isinstance(event, TargetFinished):
            catalogs.append(event.catalog)

    run = execute(_request(job, command), listen)
    if len(run.targets) != 1:
        raise UsageError(f"a watch is of one server; the target has {len(run.targets)}")
    (result,), (catalog,) = run.targets, catalogs
    if catalog is not None and not (catalog.tools or catalog.server.raw):
        catalog = None
    text = None if catalog is None else catalog_text(catalog)
    try:
        record = record_of(run, result, text, LARGEST_REPORT)
    except InputError as error:
        return ObservedRun(_troubled(command, result.target, error.message, run.started, run.seconds))
    return ObservedRun(record, None if catalog is None else fingerprint(catalog, known_parts(catalog)))


def refuse_commands(event: RunStarted) -> None:
    """Raise a UsageError if a run would start a command; a client configuration may name one since it was read."""
    if any(isinstance(source.server, CommandEndpoint) for source in event.inputs):
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
