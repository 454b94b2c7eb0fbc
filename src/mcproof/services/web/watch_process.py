"""Run a job in a process of its own, with a time limit."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from mcproof import __version__
from mcproof.core.errors import FAILED, McproofError
from mcproof.runs.results import RunResult, TargetResult, Trouble, empty_payload
from mcproof.services.web.watch_events import ObservedRun

if TYPE_CHECKING:
    from mcproof.services.web.watch_events import WatchJob

CHECK_SECONDS = 300.0
"""How long a check may take; then the server counts as unreachable."""
_CLOSE_SECONDS = 5.0
_WORKER = "mcproof.services.web.watch_worker"


class WatchError(McproofError):
    """A check failed for a reason that is not the server's, such as a missing variable."""


async def check_in_process(job: WatchJob, label: str, seconds: float = CHECK_SECONDS) -> list[ObservedRun]:
    """Return the runs of a job. Raises a WatchError. Cancelling it ends the process and the servers it has started.

    A process can be ended whatever a server makes it do, uses its own memory, and leaves the service responsive.
    """
    started, clock = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), time.perf_counter()
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", _WORKER),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        start_new_session=True,  # Ctrl-C is for the service, which lets checks finish
    )
    try:
        async with asyncio.timeout(seconds):
            output = await _output(process, job)
    except TimeoutError:
        return [_unfinished(job, label, seconds, started, time.perf_counter() - clock)]
    finally:
        await _end(process)
    return await asyncio.to_thread(_observed, output)


async def _output(process: asyncio.subprocess.Process, job: WatchJob) -> bytes:
    """Send a job and return what the process writes until it ends; its input stays open."""
    stdin, stdout = process.stdin, process.stdout
    if stdin is None or stdout is None:
        raise WatchError("the process has no streams")
    with suppress(ConnectionError):
        stdin.write(job.line().encode())
        await stdin.drain()
    output = await stdout.read()
    await process.wait()
    return output


async def _end(process: asyncio.subprocess.Process) -> None:
    """End a process, and close its streams."""
    if process.returncode is None:
        with suppress(ProcessLookupError):
            process.kill()
    if process.stdin is not None:
        process.stdin.close()
    await process.wait()
    with suppress(TimeoutError):  # a server that has inherited its output may still be ending
        async with asyncio.timeout(_CLOSE_SECONDS):
            await process.communicate()


def _observed(output: bytes) -> list[ObservedRun]:
    runs = []
    for line in output.splitlines():
        if line.startswith(b'{"error"'):
            raise WatchError(json.loads(line)["error"])
        try:
            runs.append(ObservedRun.of_line(line))
        except ValueError:
            break
    if not runs:
        raise WatchError("the process that checks the server has ended without a result")
    return runs


def _unfinished(job: WatchJob, label: str, seconds: float, started: str, taken: float) -> ObservedRun:
    """Return the run of a server that could not be checked in time."""
    trouble = Trouble(f"not checked within {seconds:g} s", label, None, None)
    command = job.checks[0]
    result = TargetResult(label, trouble, payload=empty_payload(command))
    return ObservedRun(
        RunResult(command, __version__, [result], exit_code=FAILED, started=started, seconds=round(taken, 4))
    )
