"""Run the programs of `setup` and `teardown`: without a shell, with a time limit, leaving no processes behind."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import tempfile
from typing import TYPE_CHECKING

from mcproof.client.connect import INHERITED
from mcproof.client.transports.processes import MARK, STARTED

if TYPE_CHECKING:
    from mcproof.suite.definition import Step

_SHOWN = 300


async def run_program(step: Step, folder: str, mark: str) -> str | None:
    """Run a program in a folder until it exits; return why it failed, or None.

    Processes that it starts may keep running during the tests; `mark` identifies them for cleanup.
    """
    STARTED.add(mark)
    environment = {name: os.environ[name] for name in INHERITED if name in os.environ} | {MARK: mark}
    with tempfile.TemporaryFile() as stderr:
        try:
            process = await asyncio.create_subprocess_exec(
                *step.command,
                cwd=folder,
                env=environment,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=stderr,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            return f"cannot start: {getattr(error, 'strerror', None) or error}".lower()
        try:
            async with asyncio.timeout(step.timeout_ms / 1000):
                code = await process.wait()
        except TimeoutError:
            return f"timed out after {step.timeout_ms:,} ms"
        finally:
            if process.returncode is None:
                with contextlib.suppress(OSError):
                    _kill(process)
                await process.wait()
        if code == 0:
            return None
        end = stderr.seek(0, os.SEEK_END)
        stderr.seek(max(0, end - _SHOWN))
        last_output = stderr.read(_SHOWN).decode(errors="replace").strip()
        return f"exit code {code}" + (f": {last_output}" if last_output else "")


def _kill(process: asyncio.subprocess.Process) -> None:
    """Kill a program and, where process groups exist, its children."""
    if hasattr(os, "killpg"):
        os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
