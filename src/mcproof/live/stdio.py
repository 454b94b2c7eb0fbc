"""A server as a child process: messages are lines on its standard input and output.

The process gets a session of its own, and whatever happens, nothing of that session outlives the connection.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from typing import TYPE_CHECKING

from mcproof.live.errors import ConnectError, LostError
from mcproof.live.peer import Peer
from mcproof.wire import Ending

if TYPE_CHECKING:
    from collections.abc import Sequence

LONGEST_LINE = 64 * 1024 * 1024
KEPT_STDERR = 64 * 1024
CHUNK = 256 * 1024
GRACE = 2.0
"""How long a process may take to end by itself, and again after it was asked to."""


class Stdio:
    """The transport to a child process."""

    name = "stdio"

    def __init__(self, command: Sequence[str], environment: dict[str, str], directory: str | None) -> None:
        self._command = list(command)
        self._environment = environment
        self._directory = directory
        self._process: asyncio.subprocess.Process | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._stderr = bytearray()
        self._closing = False
        self.peer = Peer(self._write)

    async def open(self) -> None:
        """Start the process. Raises ConnectError where that is not possible."""
        try:
            self._process = await asyncio.create_subprocess_exec(
                *self._command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env=self._environment,
                cwd=self._directory,
                start_new_session=True,
            )
        except FileNotFoundError as error:
            missing = error.filename if self._directory and error.filename == self._directory else self._command[0]
            raise ConnectError(f"cannot start `{missing}`: no such file or directory") from None
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise ConnectError(f"cannot start `{self._command[0]}`: {reason.lower()}") from None
        self._tasks = [
            asyncio.create_task(self._read_lines()),
            asyncio.create_task(self._read_stderr()),
        ]

    async def _write(self, message: bytes) -> None:
        stdin = self._process.stdin if self._process is not None else None
        if stdin is None or stdin.is_closing():
            raise LostError(self.obituary())
        try:
            stdin.write(message + b"\n")
            await stdin.drain()
        except (ConnectionError, RuntimeError):
            await self._settle()
            raise LostError(self.obituary()) from None

    async def _read_lines(self) -> None:
        assert self._process is not None and self._process.stdout is not None  # noqa: S101, PT018
        stdout = self._process.stdout
        pieces: list[bytes] = []
        length = 0
        while chunk := await stdout.read(CHUNK):
            *lines, rest = chunk.split(b"\n")
            for line in lines:
                if length + len(line) <= LONGEST_LINE:
                    await self._take(b"".join([*pieces, line]))
                else:
                    self.peer.note("line-too-long", f"more than {LONGEST_LINE:,} bytes")
                pieces, length = [], 0
            length += len(rest)
            if length <= LONGEST_LINE:
                pieces.append(rest)
            else:
                pieces.clear()
        if any(piece.strip() for piece in pieces):
            await self._take(b"".join(pieces), truncated=True)
        await self._settle()
        self.peer.fail(LostError(self.obituary()))

    async def _take(self, line: bytes, *, truncated: bool = False) -> None:
        if truncated:
            self.peer.note("truncated", line[:400].decode(errors="backslashreplace"))
            return
        with contextlib.suppress(LostError):  # an answer to a server that has gone
            await self.peer.receive(line.removesuffix(b"\r"))

    async def _read_stderr(self) -> None:
        assert self._process is not None and self._process.stderr is not None  # noqa: S101, PT018
        while chunk := await self._process.stderr.read(CHUNK):
            self._stderr += chunk
            del self._stderr[:-KEPT_STDERR]

    async def _settle(self) -> None:
        """Give a process that closed its output the moment that it needs to have an exit code."""
        if self._process is not None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(0.5):
                    await self._process.wait()
                    if len(self._tasks) > 1 and asyncio.current_task() is not self._tasks[1]:
                        await asyncio.wait([self._tasks[1]], timeout=0.2)

    def obituary(self) -> str:
        """What there is to say about a process that does not answer any more."""
        code = self._process.returncode if self._process is not None else None
        if code is None:
            what = "the server closed its output"
        elif code < 0:
            what = f"the server was ended by signal {_signal_name(-code)}"
        else:
            what = f"the server exited with code {code}"
        return f"{what}{self.last_words()}"

    def last_words(self) -> str:
        """The end of what the server wrote to its standard error, for a message."""
        lines = [line.strip() for line in self._stderr.decode(errors="backslashreplace").splitlines() if line.strip()]
        return f"; its standard error ends: {lines[-1][:300]}" if lines else ""

    @property
    def has_ended(self) -> bool:
        return self._process is None or self._process.returncode is not None

    async def close(self) -> Ending | None:
        """End the process: close its input, then ask it, then end it, and all that it has started with it."""
        process = self._process
        if process is None:
            return None
        died = process.returncode is not None
        how = "died" if died else "by-itself"
        try:
            if process.stdin is not None:
                process.stdin.close()
            if not died and not await _ends(process):
                how = "terminated"
                _signal_group(process, signal.SIGTERM)
                if not await _ends(process):
                    how = "killed"
        finally:
            _signal_group(process, signal.SIGKILL)  # whatever it has started, or itself
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(GRACE):
                    await process.wait()
            _close_pipes(process)
        return Ending(how, process.returncode)


async def _ends(process: asyncio.subprocess.Process) -> bool:
    try:
        async with asyncio.timeout(GRACE):
            await process.wait()
    except TimeoutError:
        return False
    return True


def _signal_group(process: asyncio.subprocess.Process, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def _close_pipes(process: asyncio.subprocess.Process) -> None:
    """Close what asyncio keeps open where a grandchild still holds the other end."""
    transport = getattr(process, "_transport", None)
    if transport is not None:
        transport.close()


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)
