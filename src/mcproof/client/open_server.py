"""One server for a whole command: connected once, listed, called, and closed at the end."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Self

from mcproof.client import confirmation
from mcproof.client.captures import capture_session
from mcproof.client.failures import ConnectError
from mcproof.client.interrupts import Interruptible, raising_on_signals
from mcproof.client.session import Session

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from mcproof.client.captures import Capture
    from mcproof.client.connect import ConnectOptions
    from mcproof.client.endpoints import Endpoint
    from mcproof.core.observations.connection import ConnectionFacts


class OpenServer:
    """A session for synchronous callers, with an event loop that lasts as long as the session.

    Use it as a context manager: `capture()`, then `run()` as often as needed, then `close()` for the facts that only
    the end of the process shows. Leaving the context without `close()` kills the process.
    """

    def __init__(self, server: Endpoint, options: ConnectOptions, limit: float) -> None:
        self.session = Session(server, options, limit)
        self._runner = asyncio.Runner()
        self._work = Interruptible(self._runner)
        self._facts: ConnectionFacts | None = None
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        self._stack.enter_context(self._runner)
        self._stack.callback(self._kill)
        self._stack.enter_context(raising_on_signals())
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @property
    def is_interrupted(self) -> bool:
        """Whether a signal interrupted `run()`."""
        return self._work.is_interrupted

    def capture(self) -> Capture:
        """Connect and list everything. Raises ConnectError and KeyboardInterrupt."""
        captured: list[Capture] = []

        async def capture() -> None:
            captured.append(await capture_session(self.session))

        if not self.run(capture):
            raise KeyboardInterrupt
        self._facts = captured[0].connection
        return captured[0]

    def run(self, *jobs: Callable[[], Coroutine[Any, Any, None]]) -> bool:
        """Run jobs concurrently; False if a signal cancelled them, or an earlier run."""
        return not self.is_interrupted and self._work.run(*jobs)

    def close(self, *, at_once: bool = False) -> ConnectionFacts | None:
        """Close the session and return the facts of its connection, including how the process ended.

        If a call has ended the process, another one is started to see how it exits. After an interrupt, or with
        `at_once`, the process is killed, so how it would exit is unknown.
        """
        if at_once or self.is_interrupted:
            self._kill()
        else:
            self.run(self._end)
        return self._facts

    async def _end(self) -> None:
        facts, session = self._facts, self.session
        if facts is None:
            await session.close()
            return
        if facts.ending is None and session.can_restart:
            try:
                await session.connection()
            except ConnectError:
                return
        ending = await session.close(grace=confirmation.GRACE)
        late = tuple(each._replace(detail=session.redacted(each.detail)) for each in session.stray_output)
        facts = facts._replace(
            ending=facts.ending or ending,
            anomalies=(*facts.anomalies, *late),
            expired_sessions=session.memory.expired_sessions,
        )
        self._facts = await confirmation.confirmed(facts, session.new_session().connection)

    def _kill(self) -> None:
        if self.session.is_connected:
            self._runner.run(self.session.close(at_once=True))
