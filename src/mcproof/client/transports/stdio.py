"""A server as a child process: messages are lines on its standard input and output.

The process gets a session of its own, and whatever happens, nothing of that session outlives the connection.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from typing import TYPE_CHECKING

from mcproof.client.failures import ConnectError, LostError, UnsentError
from mcproof.client.peer import Peer
from mcproof.errors import reason_of
from mcproof.exchange.connection_facts import ProcessEnd, cropped

if TYPE_CHECKING:
    from collections.abc import Sequence

LONGEST_LINE = 64 * 1024 * 1024
KEPT_STDERR = 64 * 1024
LAST_LINES = 10
"""How many lines of its standard error tell why a server did not start."""
CHUNK = 256 * 1024
MARK = "MCPROOF_SERVER"
"""The variable by which all that a server has started is known."""
GRACE = 2.0
"""How long a process may take to end by itself, and again after it was asked to."""

_started: dict[str, Stdio | None] = {}
"""What is running, by its mark; programs of a suite are known by that alone."""
_LOOKS_EVERY = 0.01
_LOOKS_RARELY = 0.1
"""Seconds between two looks at whether a process has ended, while it is expected to and while it is not."""


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
        except (OSError, ValueError) as error:
            reason = reason_of(error)
            if self._directory is not None and getattr(error, "filename", None) == self._directory:
                raise ConnectError(f"cannot start in `{self._directory}`: {reason}") from None
            raise ConnectError(f"cannot start `{self._command[0]}`: {reason}") from None
        _started[self._mark] = self
        self._tasks = [
            asyncio.create_task(self._read_lines()),
            asyncio.create_task(self._read_stderr()),
            asyncio.create_task(self._watch()),
        ]

    async def send_bytes(self, data: bytes) -> None:
        """Send a line that need not be a message."""
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
        """Read messages until the output ends; whatever goes wrong here is told to whoever waits."""
        try:
            await self._read_to_the_end()
        except Exception as error:  # such as a message that memory does not hold
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
        if line.strip():
            self.peer.note("truncated", line[:400].decode(errors="backslashreplace"))
        await self._settle()
        self.peer.fail(LostError(self.obituary()))

    async def _read_stderr(self) -> None:
        assert self._process is not None and self._process.stderr is not None  # noqa: S101, PT018
        while chunk := await self._process.stderr.read(CHUNK):
            self._stderr += chunk
            del self._stderr[:-KEPT_STDERR]

    async def _settle(self) -> None:
        """Give a process that closed its output the moment that it needs to have an exit code and last words."""
        if self._process is not None and await _ends(self._process, 0.5):
            await asyncio.wait(self._tasks[1:2], timeout=0.2)

    async def _watch(self) -> None:
        """Notice a process that has ended while another, which it has started, keeps its output open."""
        assert self._process is not None  # noqa: S101
        while self._process.returncode is None:
            await asyncio.sleep(_LOOKS_RARELY)
        await asyncio.wait(self._tasks[:1], timeout=0.5)
        self.peer.fail(LostError(self.obituary()))

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
        lines = self._lines()
        return f"; its standard error ends: {cropped(lines[-1].strip())}" if lines else ""

    def last_lines(self) -> str:
        """The last lines that the server wrote to its standard error, where they are more than one."""
        lines = self._lines()
        return "\n".join(map(cropped, lines[-LAST_LINES:])) if len(lines) > 1 else ""

    def _lines(self) -> list[str]:
        said = self._stderr.decode(errors="backslashreplace").splitlines()
        return [line.rstrip() for line in said if line.strip()]

    def kill(self) -> None:
        """End the process at once: one that hangs has had its time."""
        if self._process is not None:
            _signal_group(self._process, signal.SIGKILL)

    async def close(self) -> ProcessEnd | None:
        """End the process: close its input, then ask it, then end it, and all that it has started with it."""
        process = self._process
        if process is None:
            return None
        died = process.returncode is not None
        how = "died" if died else "by-itself"
        try:
            if process.stdin is not None:
                process.stdin.close()
            if not died and not await _ends(process, GRACE):
                how = "terminated"
                _signal_group(process, signal.SIGTERM)
                if not await _ends(process, GRACE):
                    how = "killed"
        finally:
            _signal_group(process, signal.SIGKILL)  # whatever it has started, or itself
            kill_marked(self._mark)
            _started.pop(self._mark, None)
            await self._stop(process)
        if how == "killed" and process.returncode == -signal.SIGTERM:
            how = "terminated"  # it was on its way
        return ProcessEnd(how, process.returncode)

    async def _stop(self, process: asyncio.subprocess.Process) -> None:
        """Stop reading and writing; a process that has left its group may hold the other ends for ever."""
        for task in self._tasks:
            task.cancel()
        try:
            await asyncio.gather(*self._tasks, self.peer.close(), return_exceptions=True)
            await _ends(process, GRACE)
        finally:
            if process.stdin is not None and process.stdin.transport.get_write_buffer_size():
                process.stdin.transport.abort()
            process._transport.close()  # type: ignore[attr-defined]  # there is no public way to close the others
            await asyncio.sleep(0)  # in which the event loop closes them


async def _ends(process: asyncio.subprocess.Process, limit: float) -> bool:
    """Whether a process ends in time. Its `wait()` would wait for whoever holds its pipes, too."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(limit):
            while process.returncode is None:
                await asyncio.sleep(_LOOKS_EVERY)
    return process.returncode is not None


def _signal_group(process: asyncio.subprocess.Process, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def remember_mark(mark: str) -> None:
    """Let what has a mark be ended with all else that was started."""
    _started[mark] = None


def kill_all_started() -> None:
    """End at once all that was started and is not known to have ended; from any thread, as the last thing to do."""
    for mark, transport in list(_started.items()):
        if transport is not None:
            transport.kill()
        kill_marked(mark)


def kill_marked(mark: str) -> None:
    """End what somebody has started and sent out of its group, by what it has inherited; where the system tells."""
    wanted = f"{MARK}={mark}".encode()
    if _started.get(mark, mark) is None:
        del _started[mark]
    try:
        numbers = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return
    for number in numbers:
        with contextlib.suppress(OSError):
            with open(f"/proc/{number}/environ", "rb") as environment:
                is_marked = wanted in environment.read(1_000_000).split(b"\0")
            if is_marked and number != os.getpid():
                os.kill(number, signal.SIGKILL)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)
