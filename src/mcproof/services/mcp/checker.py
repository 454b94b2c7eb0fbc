"""Checks for the tools of the MCP server, one at a time, in a worker that may read the roots of the client.

Why a child process reads catalogs: docs/decisions/0057-agents-check-in-a-child.md.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import anyio

from mcproof.core.errors import McproofError, reason_of
from mcproof.services.mcp.checks import CheckJob
from mcproof.services.workers.messages import WorkerLimits
from mcproof.services.workers.worker import LostError, OverdueError, Worker

if TYPE_CHECKING:
    from types import TracebackType

FUNCTION = "mcproof.services.mcp.checks:check"
TIME_LIMIT = 60.0
"""Seconds for a check."""
MEMORY_LIMIT = 2 << 30
"""Bytes of memory of the process."""
_MOST_WAITING = 32


class Checker:
    """The checks of a server. Use as an async context."""

    def __init__(self, time_limit: float = TIME_LIMIT) -> None:
        self._time_limit = time_limit
        self._worker: Worker[CheckJob, str] | None = None
        self._lock = anyio.Lock()

    async def __aenter__(self) -> Checker:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._worker is not None:
            self._worker.close()

    async def run(self, tool: str, arguments: dict[str, Any], roots: tuple[str, ...]) -> dict[str, Any]:
        """Return the structured result of a tool. Raises a McproofError with the reason if there is none."""
        if self._lock.statistics().tasks_waiting >= _MOST_WAITING:
            raise McproofError("too many checks at once; try again later")
        async with self._lock:
            try:
                text = await self._worker_for(roots).run_in_thread(CheckJob(tool, arguments, roots))
            except OverdueError:
                raise McproofError(f"the check took more than {self._time_limit:g} s and was stopped") from None
            except LostError:
                raise McproofError("the check failed: it needed too much memory, or crashed") from None
            except OSError as error:
                raise McproofError(f"the check cannot be started: {reason_of(error)}") from None
        result: dict[str, Any] = json.loads(text)
        return result

    def _worker_for(self, roots: tuple[str, ...]) -> Worker[CheckJob, str]:
        """Return the worker; another one if the client has changed its roots, since a confinement is for good."""
        if self._worker is not None and self._worker.limits.roots != roots:
            self._worker.close()
            self._worker = None
        if self._worker is None:
            limits = WorkerLimits(self._time_limit, MEMORY_LIMIT, roots)
            self._worker = Worker(FUNCTION, CheckJob, str, limits)
        return self._worker
