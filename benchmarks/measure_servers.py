"""Measurements with live servers: handshakes, fuzzing, suites."""

from __future__ import annotations

import asyncio
import json
import os
import pathlib
import sys
from itertools import islice
from typing import TYPE_CHECKING, Any

from measure_snapshots import without_collector
from measurement import Comparison
from suites import SUITE_TOOL, suite_arguments, write_suite
from timing import MCPROOF, best_of, monitored, run

if TYPE_CHECKING:
    from collections.abc import Callable

    from measurement import Workspace

    from mcproof.client.endpoints import Endpoint

FUZZED = "find_station"
DEMO_SERVER = (sys.executable, "-m", "mcproof.demo.server")
_SERVERS = pathlib.Path(__file__).with_name("servers")
_TRIVIAL = (sys.executable, str(_SERVERS / "trivial_server.py"))
_HANDSHAKE = (sys.executable, str(_SERVERS / "minimal_handshake.py"))


def handshake(name: str) -> Callable[[Workspace], Comparison]:
    """A cold command on a trivial server against a minimal client in asyncio."""

    def measure(_: Workspace) -> Comparison:
        server = (*_TRIVIAL, "0")
        spent, minimal = best_of(25, lambda: run(MCPROOF, name, "--", *server), lambda: run(*_HANDSHAKE, *server))
        return Comparison.of(spent, minimal, clock="wall")

    return measure


def eight_servers(at: Workspace) -> Comparison:
    """Lint of eight servers that take a second to start against lint of one of them."""
    slow = {"command": _TRIVIAL[0], "args": [*_TRIVIAL[1:], "1"]}
    config = at.folder / "servers.json"
    config.write_text(json.dumps({"mcpServers": {f"s{number}": slow for number in range(8)}}), encoding="utf-8")
    eight, one = best_of(
        2,
        lambda: run(MCPROOF, "lint", str(config), "--all"),
        lambda: run(MCPROOF, "lint", f"{config}#s0"),
    )
    return Comparison.of(eight, one, clock="wall")


def fuzzing(_: Workspace) -> Comparison:
    """A case that is generated, sent and judged, by one process, against a call with arguments that are ready."""
    import mcproof.demo
    from mcproof.client.connect import ConnectOptions
    from mcproof.client.endpoints import CommandEndpoint
    from mcproof.probing.calls import CallPlan
    from mcproof.probing.fuzz.campaign import fuzz_within
    from mcproof.probing.fuzz.tool import cases_of
    from mcproof.probing.permission import Permission
    from mcproof.targets.snapshots import read_snapshot

    weather = pathlib.Path(mcproof.demo.__file__).with_name("weather.json")
    catalog = read_snapshot(weather.read_bytes(), weather.name)
    tool = next(each for each in catalog.tools if each.name == FUZZED)
    count = 20_000
    ready = [case.arguments for case in islice(cases_of(tool.schema or {}, 0, tool.name), count)]
    server = CommandEndpoint(DEMO_SERVER, {})
    calls = CallPlan([Permission(tool, True, "")], {}, 10.0)
    with without_collector():
        fuzzed, bare = best_of(
            7,
            lambda: asyncio.run(fuzz_within(catalog, server, ConnectOptions(), calls, seed=0, cases=count)),
            lambda: call_tool(server, FUZZED, ready),
        )
    return Comparison.of(fuzzed, bare, f"{count / fuzzed.wall:,.0f} cases a second")


def call_tool(server: Endpoint, name: str, ready: list[dict[str, Any]]) -> None:
    """Call a tool with each of the arguments on one connection, and do nothing else."""
    from mcproof.client.connect import ConnectOptions
    from mcproof.client.session import Session

    async def call() -> None:
        session = Session(server, ConnectOptions(), 10.0)
        try:
            for arguments in ready:
                await session.send("tools/call", {"name": name, "arguments": arguments})
        finally:
            await session.close()

    asyncio.run(call())


def fuzz_memory(at: Workspace) -> Comparison:
    """The peak memory of `fuzz` with 50,000 cases against 1,000."""
    few, many = (
        monitored(
            *("fuzz", "--tool", FUZZED, "--cases", str(cases), "--processes", "1", "--", *DEMO_SERVER), cwd=at.folder
        ).peak
        for cases in (1_000, 50_000)
    )
    return Comparison(many / few, f"{many / 1e6:.1f} MB against {few / 1e6:.1f} MB")


def suite(at: Workspace) -> Comparison:
    """A suite of 1,000 tests, parsed, run and judged, against its calls in a bare loop."""
    from mcproof.client.endpoints import CommandEndpoint

    file = str(write_suite(at.folder / "few.yaml", DEMO_SERVER, 1_000))
    ready = [suite_arguments(number) for number in range(1_000)]
    server = CommandEndpoint(DEMO_SERVER, {})
    with without_collector():
        tested, bare = best_of(9, lambda: run_tests(file), lambda: call_tool(server, SUITE_TOOL, ready))
    return Comparison.of(tested, bare)


def suite_growth(at: Workspace) -> Comparison:
    """The time of a test in a suite of 10,000 against one of 1,000."""
    few, many = (str(write_suite(at.folder / f"{tests}.yaml", DEMO_SERVER, tests)) for tests in (1_000, 10_000))
    with without_collector():
        ten_times, once = best_of(3, lambda: run_tests(many), lambda: run_tests(few))
    return Comparison(ten_times.cpu / once.cpu / 10, "linear is 1", "cpu", ten_times.wall / once.wall / 10)


def run_tests(file: str) -> None:
    """Parse a suite and run all its tests."""
    from mcproof.testing.suites.parser import read_suite
    from mcproof.testing.suites.runner import RunOptions, run_suite
    from mcproof.testing.suites.snapshots import SnapshotStore

    parsed = read_suite(file, os.environ)
    ran = run_suite(parsed, list(parsed.tests), RunOptions(), SnapshotStore(file, updates=False), lambda *_: None)
    if any(each.outcome != "passed" for each in ran.results):
        raise SystemExit(f"a test of {file} does not pass")
