"""The stdio transport: the server is a child process, messages are lines on its stdin and stdout.

The process gets its own session, and no process of that session outlives the connection.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
from collections.abc import Sequence
from typing import TYPE_CHECKING

from mcproof.client.errors import ConnectError, LostError, UnsentError
from mcproof.client.peer import Peer
from mcproof.client.transports.processes import MARK, STARTED, cpu_usage
from mcproof.core.errors import reason_of
from mcproof.core.observations.connection import ProcessEnd, cropped

if TYPE_CHECKING:
    from mcproof.client.transports.processes import CpuUsage

# A server that prints without end must not fill the memory; of its errors, the last ones say how it died.
LONGEST_LINE = 64 * 1024 * 1024
KEPT_STDERR = 64 * 1024
LAST_LINES = 10
"""How many lines of stderr are reported of a server that did not start."""
MOST_SEARCHED = 50
"""How many of the last lines of stderr are searched for an error."""
_ERROR = re.compile(r"(?:[\w.]{0,80}(?:Error|Exception)|[Ee]rror|ERROR|[Ff]atal|panic)\b.{0,40}?: ?\S")
CHUNK = 256 * 1024
LINES_AT_ONCE = 100
"""How many lines are processed before other servers get their turn: one may flood its output with short ones."""
GRACE = 2.0
"""Seconds until a process must exit after its stdin was closed, and again after SIGTERM."""
DRAIN = 0.5
"""Seconds to read the rest of the output of a process that has ended."""

_POLL = 0.002
_POLL_RARELY = 0.1
"""Seconds between two polls for the exit of a process, while it is expected and while it is not."""


class Stdio:
    """The transport to a child process."""

    name = "stdio"

    def __init__(self, command: Sequence[str], environment: dict[str, str], directory: str | None) -> None:
        self._command = list(command)
        self._mark = os.urandom(8).hex()
        self._environment = {**environment, MARK: self._mark}
        self._directory = directory
        self._process: asyncio.subprocess.Process | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._stderr = bytearray()
        self._is_signalled = False
        """Whether a signal may have ended the process within a line."""
        self.peer = Peer(self._write)

    async def open(self) -> None:
        """Start the process. Raises ConnectError."""
        try:
            STARTED.expect(self._mark)
            self._process = await asyncio.create_subprocess_exec(
                *self._command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env=self._environment,
                cwd=self._directory,
                start_new_session=True,
            )
        except asyncio.CancelledError:
            STARTED.kill(self._mark)
            raise
        except (OSError, ValueError) as error:
            STARTED.give_up(self._mark)
            reason = reason_of(error)
            if self._directory is not None and getattr(error, "filename", None) == self._directory:
                raise ConnectError(f"cannot start in `{self._directory}`: {reason}") from None
            raise ConnectError(f"cannot start `{self._command[0]}`: {reason}") from None
        STARTED.add(self._mark, self.kill, self._process.pid)
        self._tasks = [
            asyncio.create_task(self._read_lines()),
            asyncio.create_task(self._read_stderr()),
            asyncio.create_task(self._watch()),
        ]

    async def send_bytes(self, data: bytes) -> None:
        self.peer.trace.sent(data)
        await self._write(data)

    async def _write(self, message: bytes) -> None:
        stdin = self._process.stdin if self._process is not None else None
        try:
            if stdin is None or stdin.is_closing():
                raise BrokenPipeError
            stdin.write(message + b"\n")
            await stdin.drain()
        except (ConnectionError, RuntimeError):
            await self._settle()
            raise UnsentError(self.obituary()) from None

    async def _read_lines(self) -> None:
        """Read messages until the output ends; an error fails the pending requests."""
        try:
            await self._read_to_the_end()
        except Exception as error:  # such as MemoryError
            self.peer.fail(LostError(f"its output cannot be read: {type(error).__name__}"))

    async def _read_to_the_end(self) -> None:
        assert self._process is not None and self._process.stdout is not None  # noqa: S101, PT018
        line = bytearray()
        is_too_long = False
        while chunk := await self._process.stdout.read(CHUNK):
            *ends, rest = chunk.split(b"\n")
            for number, piece in enumerate([*ends, rest]):
                if not is_too_long and len(line) + len(piece) > LONGEST_LINE:
                    is_too_long = True
                    self.peer.note("line-too-long", f"more than {LONGEST_LINE:,} bytes")
                if is_too_long:
                    line.clear()
                else:
                    line += piece
                if number < len(ends):
                    self.peer.receive(bytes(line.removesuffix(b"\r")))
                    line.clear()
                    is_too_long = False
                if number % LINES_AT_ONCE == LINES_AT_ONCE - 1:
                    await asyncio.sleep(0)
        if line.strip() and not self._is_signalled:
            self.peer.trace.received(bytes(line))
            self.peer.note("truncated", line[:400].decode(errors="backslashreplace"))
            self.peer.keep_report(bytes(line))
        await self._settle()
        self.peer.fail(LostError(self.obituary()))

    async def _read_stderr(self) -> None:
        assert self._process is not None and self._process.stderr is not None  # noqa: S101, PT018
        while chunk := await self._process.stderr.read(CHUNK):
            self._stderr += chunk
            del self._stderr[:-KEPT_STDERR]

    async def _settle(self) -> None:
        """Give a process that closed its output a moment for its exit code and its last stderr lines."""
        if self._process is not None and await _ends(self._process, 0.5):
            await asyncio.wait(self._tasks[1:2], timeout=0.2)

    async def _watch(self) -> None:
        """Detect the exit of the process, even while a child of it keeps its output open."""
        assert self._process is not None  # noqa: S101
        while self._process.returncode is None:
            await asyncio.sleep(_POLL_RARELY)
        await asyncio.wait(self._tasks[:1], timeout=0.5)
        self.peer.fail(LostError(self.obituary()))

    def obituary(self) -> str:
        """How the process ended, for a message."""
        code = self._process.returncode if self._process is not None else None
        if code is None:
            what = "the server closed its output"
        elif code < 0:
            what = f"the server was killed by signal {_signal_name(-code)}"
        else:
            what = f"the server exited with code {code}"
        return f"{what}{self.last_words()}"

    def last_words(self) -> str:
        lines = [cropped(line.strip()) for line in self._lines()]
        if self.peer.has_responded:
            printed = ""
        elif self.peer.reported:
            return f"; it reports: {cropped(' '.join(self.peer.reported.split()))}"
        else:
            first = next(iter(self.peer.anomalies), None)
            printed = f"; its output begins: {first.detail.strip()}" if first is not None else ""
        if not lines:
            return f"{printed}, which is not JSON-RPC" if printed else ""
        # An exception may have lines after it, such as the version of Node.
        errors = [line for line in lines[-MOST_SEARCHED:] if _ERROR.match(line)]
        if errors and errors[-1] != lines[-1]:
            return f"{printed}; stderr: {errors[-1]}"
        is_help = len(lines) > 1 and not errors and not self.peer.has_responded
        begins = f"; stderr begins: {lines[0]}" if is_help else ""
        return f"{printed}{begins}; last line of stderr: {lines[-1]}"

    def last_lines(self) -> str:
        lines = self._lines()
        return "\n".join(map(cropped, lines[-LAST_LINES:])) if len(lines) > 1 else ""

    def _lines(self) -> list[str]:
        lines = self._stderr.decode(errors="backslashreplace").splitlines()
        return [line.rstrip() for line in lines if line.strip()]

    def cpu_usage(self) -> CpuUsage | None:
        return cpu_usage(self._process.pid) if self._process is not None else None

    def kill(self) -> None:
        self._is_signalled = True
        if self._process is not None:
            _signal_group(self._process, signal.SIGKILL)

    async def close(self, grace: float | None = None) -> ProcessEnd | None:
        """End the process and its children: close stdin, then SIGTERM, then SIGKILL."""
        process = self._process
        if process is None:
            return None
        died = process.returncode is not None
        how = "died" if died else "by-itself"
        try:
            if process.stdin is not None:
                process.stdin.close()
            if not died and not await _ends(process, GRACE if grace is None else grace):
                how = "terminated"
                self._is_signalled = True
                _signal_group(process, signal.SIGTERM)
                if not await _ends(process, GRACE):
                    how = "killed"
        finally:
            _signal_group(process, signal.SIGKILL)  # including its children
            STARTED.kill(self._mark, has_ended=process.returncode is not None)
            await asyncio.wait(self._tasks[:1], timeout=DRAIN)  # what was printed at the end
            await self._stop(process)
        if how == "killed" and process.returncode == -signal.SIGTERM:
            how = "terminated"  # just too late for the poll
        return ProcessEnd(how, process.returncode)

    async def _stop(self, process: asyncio.subprocess.Process) -> None:
        """Stop reading and writing; a process outside the group may hold the pipes open forever."""
        for task in self._tasks:
            task.cancel()
        try:
            await asyncio.gather(*self._tasks, self.peer.close(), return_exceptions=True)
            await _ends(process, GRACE)
        finally:
            if process.stdin is not None and process.stdin.transport.get_write_buffer_size():
                process.stdin.transport.abort()
            process._transport.close()  # type: ignore[attr-defined]  # no public way to close stdout and stderr
            await asyncio.sleep(0)  # lets the event loop close them


async def _ends(process: asyncio.subprocess.Process, limit: float) -> bool:
    """Whether a process exits in time. `Process.wait()` would also wait for its pipes to be closed."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(limit):
            while process.returncode is None:
                await asyncio.sleep(_POLL)
    return process.returncode is not None


def _signal_group(process: asyncio.subprocess.Process, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # a signal without a name, such as one for real time
        return str(number)
