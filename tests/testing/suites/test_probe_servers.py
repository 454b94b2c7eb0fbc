"""The processes that negative paths share: used again, and further ones only if waiting takes longer than a start."""

from __future__ import annotations

import asyncio
import sys

import pytest

from mcproof.client.connect import ConnectOptions
from mcproof.client.connection import Limits
from mcproof.client.endpoints import CommandEndpoint
from mcproof.testing.suites.servers import MOST_PROCESSES, ProbeServers
from servers import suited

SERVER = CommandEndpoint((sys.executable, "-I", "-S", suited.__file__), {}, None)
BORROWERS = 6


async def starts(seconds_of_a_start: float | None, *, closes: bool = False, at_once: bool = True) -> int:
    """Return how many processes the borrowers needed; each holds its session until the others have asked."""
    servers = ProbeServers(SERVER, ConnectOptions(Limits(), None))
    sessions = set()

    async def use() -> None:
        async with servers.borrow(10.0) as session:
            sessions.add(session)
            if seconds_of_a_start is not None:
                servers._start_seconds = seconds_of_a_start
            assert (await session.send("ping", {})).outcome == "accepted"
            await asyncio.sleep(0.05)
            if closes:
                await session.close(at_once=True)

    try:
        if at_once:
            await asyncio.gather(*(use() for _ in range(BORROWERS)))
        else:
            for _ in range(BORROWERS):
                await use()
        return sum(session.starts for session in sessions)
    finally:
        await servers.close(at_once=True)


def test_one_process_serves_all_in_turn() -> None:
    assert asyncio.run(starts(None, at_once=False)) == 1


def test_a_long_start_is_worth_waiting_for_a_free_process() -> None:
    assert asyncio.run(starts(1000.0)) == 1


def test_a_short_start_is_not() -> None:
    assert asyncio.run(starts(0.0)) == MOST_PROCESSES


def test_a_closed_session_is_used_again_with_a_fresh_process() -> None:
    assert asyncio.run(starts(1000.0, closes=True)) == BORROWERS


def test_a_failed_start_leaves_the_session_to_the_next() -> None:
    async def fail_twice() -> None:
        servers = ProbeServers(CommandEndpoint(("no-such-program",), {}, None), ConnectOptions(Limits(), None))
        for _ in range(2):
            with pytest.raises(Exception, match="no-such-program"):
                async with servers.borrow(1.0):
                    raise AssertionError("not started")

    asyncio.run(fail_twice())
