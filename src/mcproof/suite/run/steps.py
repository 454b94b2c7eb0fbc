"""Programs that a suite runs before its tests and after them: words, no shell, bounded, none left behind."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import tempfile
from typing import TYPE_CHECKING

from mcproof.client.connect import INHERITED
from mcproof.client.transports.started import MARK, STARTED

if TYPE_CHECKING:
    from mcproof.suite.definition import Step

_SHOWN = 300


async def run_program(step: Step, folder: str, mark: str) -> str | None:
    """Run a program to its end in a folder; why it failed, or None. What it prints is kept out of the report.

    What it has started may go on, for the tests; the mark tells what is to be ended after them.
    """
    STARTED.add(mark)
    environment = {name: os.environ[name] for name in INHERITED if name in os.environ} | {MARK: mark}
    with tempfile.TemporaryFile() as said:
        try:
            process = await asyncio.create_subprocess_exec(
                *step.command,
                cwd=folder,
                env=environment,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=said,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            return f"cannot be started: {getattr(error, 'strerror', None) or error}".lower()
        try:
            async with asyncio.timeout(step.timeout_ms / 1000):
                code = await process.wait()
        except TimeoutError:
            return f"not done within {step.timeout_ms:,} ms"
        finally:
            if process.returncode is None:
                with contextlib.suppress(OSError):
                    _kill(process)
                await process.wait()
        if code == 0:
            return None
        end = said.seek(0, os.SEEK_END)
        said.seek(max(0, end - _SHOWN))
        words = said.read(_SHOWN).decode(errors="replace").strip()
        return f"exit code {code}" + (f": {words}" if words else "")


def _kill(process: asyncio.subprocess.Process) -> None:
    """End a program, and what it has started where the system knows groups of processes."""
    if hasattr(os, "killpg"):
        os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
