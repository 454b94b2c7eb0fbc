"""The server's side of the checker process: start it, send one request at a time, kill it when it takes too long."""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import anyio
from anyio.streams.buffered import BufferedByteReceiveStream

from mcproof.core.errors import McproofError, reason_of
from mcproof.services.mcp.checker import HEADER, TIME_LIMIT, encoded

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

    from anyio.abc import Process

_COMMAND = (sys.executable, "-P", "-B", "-m", "mcproof.services.mcp.checker")
"""`-P` keeps the modules of the working directory, which is a stranger's project, from being imported."""
_MOST_WAITING = 32
LARGEST_RESULT = 512 * 1024
"""The most bytes of a result; a page is far smaller, unless a catalog has very many tools."""


class CheckerProcess:
    """A checker process, started on demand and again after it died. Use as an async context."""

    def __init__(self, time_limit: float = TIME_LIMIT) -> None:
        self._time_limit = time_limit
        self._process: Process | None = None
        self._lock = anyio.Lock()

    async def __aenter__(self) -> CheckerProcess:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stop()

    async def run(self, tool: str, arguments: dict[str, Any], roots: Sequence[str]) -> dict[str, Any]:
        """Return the structured result of a tool. Raises a McproofError with the reason if there is none."""
        if self._lock.statistics().tasks_waiting >= _MOST_WAITING:
            raise McproofError("too many checks at once; try again later")
        async with self._lock:
            is_done = False
            try:
                with anyio.fail_after(self._time_limit):
                    response = await self._exchange({"tool": tool, "arguments": arguments, "roots": list(roots)})
                is_done = True
            except TimeoutError:
                raise McproofError(f"the check took more than {self._time_limit:g} s and was stopped") from None
            except (anyio.EndOfStream, anyio.IncompleteRead, anyio.BrokenResourceError, anyio.ClosedResourceError):
                raise McproofError("the check failed: it needed too much memory, or crashed") from None
            except OSError as error:
                raise McproofError(f"the check cannot be started: {reason_of(error)}") from None
            finally:
                if not is_done:  # also if the client cancels: a late response would be that of another request
                    await self._stop()
        if "error" in response:
            raise McproofError(response["error"])
        result: dict[str, Any] = response["result"]
        return result

    async def _exchange(self, request: dict[str, Any]) -> Any:
        process = self._process or await self._start()
        stdin, stdout = process.stdin, process.stdout
        if stdin is None or stdout is None:
            raise anyio.ClosedResourceError
        await stdin.send(encoded(request))
        stream = BufferedByteReceiveStream(stdout)
        length = int.from_bytes(await stream.receive_exactly(HEADER), "big")
        if length > LARGEST_RESULT:
            # The rest of the result stays unread, so the process cannot take another request.
            await self._stop()
            return {
                "error": f"the result has {length:,} bytes, which is too many; pass a smaller `limit` or fewer tools"
            }
        return json.loads(await stream.receive_exactly(length))

    async def _start(self) -> Process:
        """Start the process; shielded, because a process whose start is cancelled would be lost."""
        with anyio.CancelScope(shield=True):
            self._process = await anyio.open_process(_COMMAND, stderr=None)
            return self._process
        # Never reached, but for all that mypy knows a cancel scope swallows exceptions.
        raise anyio.ClosedResourceError

    async def _stop(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            with anyio.CancelScope(shield=True):
                with suppress(ProcessLookupError):
                    process.kill()
                await process.aclose()
