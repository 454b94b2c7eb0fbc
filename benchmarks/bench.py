"""What is fast, measured, as ratios: the machine's speed cancels out.

    python benchmarks/bench.py [FOLDER [SOURCES]]

With a folder of snapshots the second measurement is taken on those instead of on made-up ones; with a folder of
unpacked packages the last one.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
from itertools import islice
from typing import TYPE_CHECKING, Any

from catalogs import catalog, write_folder
from packages import write_package
from suites import SUITE_TOOL, suite_arguments, write_suite

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcproof.client.endpoints import Endpoint
    from mcproof.linting.finding import Finding
    from mcproof.linting.registry import Rule

LIMITS = {"cold start": 6.0, "rules": 5.0, "command": 14.0, "growth": 1.5, "capture": 1.5, "eight servers": 1.5}
LIMITS |= {"fuzz": 2.0, "fuzz memory": 1.1, "suite": 2.0, "suite growth": 1.5, "discovery": 5.0}
LIMITS |= {"rules with polish": 10.0, "command with polish": 28.0}
FUZZED = "find_station"
DEMO_SERVER = (sys.executable, "-m", "mcproof.demo.server")
TRIVIAL_SERVER = """
import json, sys, time
time.sleep(float(sys.argv[1]))
SERVER = {"name": "trivial", "version": "1"}
RESULTS = {
    "initialize": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": SERVER},
    "tools/list": {"tools": [{"name": "echo", "description": "Say it again.", "inputSchema": {"type": "object"}}]},
}
for line in sys.stdin:
    request = json.loads(line)
    if "id" in request:
        known = request["method"] in RESULTS
        answer = {"result": RESULTS[request["method"]]} if known else {"error": {"code": -32601, "message": "unknown"}}
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **answer}), flush=True)
"""
MINIMAL_HANDSHAKE = """
import asyncio, json, sys

async def main():
    server = await asyncio.create_subprocess_exec(
        *sys.argv[1:], stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    async def ask(number, method, params):
        message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        server.stdin.write(json.dumps(message).encode() + b"\\n")
        return json.loads(await server.stdout.readline())
    client = {"name": "bench", "version": "1"}
    await ask(1, "initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client})
    server.stdin.write(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}\\n')
    print(json.dumps(await ask(2, "tools/list", {}), indent=2))
    server.stdin.close()
    await server.wait()

asyncio.run(main())
"""
MEASURE_GROWTH = """
import gc, json, resource, sys, time
gc.disable()
sys.argv = ["mcproof", "lint", "--ruleset", "all", "--format", "json", sys.argv[1]]
from mcproof.cli.main import main
sys.stdout = open("/dev/null", "w")
start = time.process_time()
main(sys.argv[1:])
print(time.process_time() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024, file=sys.stderr)
"""
MEASURE_FUZZ = """
import sys
from mcproof.cli.main import main
sys.stdout = open("/dev/null", "w")
main(sys.argv[1:])
for line in open("/proc/self/status"):  # as ru_maxrss begins with what the parent had
    if line.startswith("VmHWM:"):
        print(line.split()[1], file=sys.stderr)
"""


def best_of(times: int, *actions: Callable[[], object]) -> list[float]:
    """The least wall time of each action, taken in turns so that a busy moment hits all alike."""
    best = [float("inf")] * len(actions)
    for _ in range(times):
        for number, action in enumerate(actions):
            start = time.perf_counter()
            action()
            best[number] = min(best[number], time.perf_counter() - start)
    return best


def report(name: str, ratio: float, limit: float, detail: str) -> None:
    verdict = "ok" if ratio <= limit else "OVER"
    print(f"{name:34} {ratio:6.2f} x   at most {limit:4.1f}   {verdict:5} {detail}", flush=True)


def run(*command: str) -> None:
    """Run a command as it runs where it is installed: with its modules compiled."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    subprocess.run(command, check=False, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def cold_start(folder: pathlib.Path) -> None:
    """(a) A cold `schema-lint` of a 100 KB catalog against a Python that does nothing."""
    file = folder / "cold.json"
    tools = 40
    while len(catalog(7, tools)) < 100_000:
        tools += 1
    file.write_text(catalog(7, tools), encoding="utf-8")
    mcproof = str(pathlib.Path(sys.executable).parent / "mcproof")
    nothing, version, lint = best_of(
        25,
        lambda: run(sys.executable, "-c", "pass"),
        lambda: run(mcproof, "--version"),
        lambda: run(mcproof, "schema-lint", str(file)),
    )
    detail = f"{lint * 1000:.0f} ms against {nothing * 1000:.0f} ms; --version {version * 1000:.0f} ms"
    report("(a) cold schema-lint, 100 KB", lint / nothing, LIMITS["cold start"], detail)


def throughput(folder: pathlib.Path) -> None:
    """(b) Rules, and the whole command with every position, against `json.loads` of the same bytes.

    First all rules but `polish`, then all: those of `polish` read every text, and may cost as much again.
    """
    from mcproof.linting.engine import check
    from mcproof.linting.registry import choose_rules
    from mcproof.targets.snapshot import read_snapshot

    sources = [(path.read_bytes(), path.name) for path in sorted(folder.glob("*.json"))]
    mcproof = str(pathlib.Path(sys.executable).parent / "mcproof")
    lint = (mcproof, "lint", "--ruleset", "all", "--format", "json", str(folder))
    most, every = choose_rules(["all"], ignore=["polish"]), choose_rules(["all"])

    def judge(rules: list[Rule]) -> list[list[Finding]]:
        return [check(read_snapshot(data, name), rules) for data, name in sources]

    gc.disable()  # as the command does
    loads, *judged = best_of(
        9, lambda: [json.loads(data) for data, _ in sources], lambda: judge(most), lambda: judge(every)
    )
    gc.enable()
    commands = best_of(5, lambda: run(*lint, "--ignore", "polish"), lambda: run(*lint))
    print(f"    {sum(len(data) for data, _ in sources) / 1e6:.1f} MB, json.loads {loads * 1000:.0f} ms")
    for rules, spent, command, suffix in zip((most, every), judged, commands, ("", " with polish"), strict=True):
        found = f"{sum(map(len, judge(rules))):,} findings"
        report(f"(b) rules{suffix}", spent / loads, LIMITS[f"rules{suffix}"], found)
        report(f"(b) the command{suffix}", command / loads, LIMITS[f"command{suffix}"], f"{command * 1000:.0f} ms")


def captures(folder: pathlib.Path) -> None:
    """(d) A cold `capture` of a trivial server against a minimal handshake with it; (e) eight servers against one."""
    server, handshake = folder / "server.py", folder / "handshake.py"
    server.write_text(TRIVIAL_SERVER, encoding="utf-8")
    handshake.write_text(MINIMAL_HANDSHAKE, encoding="utf-8")
    mcproof = str(pathlib.Path(sys.executable).parent / "mcproof")
    trivial = (sys.executable, str(server), "0")
    minimal, capture = best_of(
        15,
        lambda: run(sys.executable, str(handshake), *trivial),
        lambda: run(mcproof, "capture", "--", *trivial),
    )
    detail = f"{capture * 1000:.0f} ms against {minimal * 1000:.0f} ms"
    report("(d) cold capture : handshake", capture / minimal, LIMITS["capture"], detail)
    slow = {"command": sys.executable, "args": [str(server), "1"]}
    config = folder / "servers.json"
    config.write_text(json.dumps({"mcpServers": {f"s{number}": slow for number in range(8)}}), encoding="utf-8")
    one, eight = best_of(
        2,
        lambda: run(mcproof, "lint", f"{config}#s0"),
        lambda: run(mcproof, "lint", str(config), "--all"),
    )
    detail = f"{eight * 1000:.0f} ms against {one * 1000:.0f} ms"
    report("(e) eight servers : one of them", eight / one, LIMITS["eight servers"], detail)


def fuzzing() -> None:
    """(f) A case that is made, sent and judged, by one process, against a call with arguments that are ready."""
    import mcproof.demo
    from mcproof.client.connect import ConnectOptions
    from mcproof.client.endpoints import CommandEndpoint
    from mcproof.prove.fuzz.campaign import fuzz_within
    from mcproof.prove.fuzz.tool_fuzzer import FuzzPlan, cases_of
    from mcproof.prove.permission import Permission
    from mcproof.targets.snapshot import read_snapshot

    weather = pathlib.Path(mcproof.demo.__file__).with_name("weather.json")
    catalog = read_snapshot(weather.read_bytes(), weather.name)
    tool = next(each for each in catalog.tools if each.name == FUZZED)
    count = 20_000
    ready = [case.arguments for case in islice(cases_of(tool.schema or {}, 0, tool.name), count)]
    server = CommandEndpoint(DEMO_SERVER, {})
    campaign = FuzzPlan([Permission(tool, True, "")], {}, 0, count, 10.0)
    gc.disable()  # as the command does
    bare, fuzzed = best_of(
        7,
        lambda: asyncio.run(_call(server, FUZZED, ready)),
        lambda: asyncio.run(fuzz_within(catalog, server, ConnectOptions(), campaign)),
    )
    gc.enable()
    detail = f"{count / fuzzed:,.0f} cases a second against {count / bare:,.0f} calls"
    report("(f) a fuzz case : a bare call", fuzzed / bare, LIMITS["fuzz"], detail)


async def _call(server: Endpoint, name: str, ready: list[Any]) -> None:
    """Call a tool again and again, and do nothing else."""
    from mcproof.client.connect import ConnectOptions
    from mcproof.client.session import Session

    session = Session(server, ConnectOptions(), 10.0)
    try:
        for arguments in ready:
            await session.send("tools/call", {"name": name, "arguments": arguments})
    finally:
        await session.close()


def fuzz_memory(folder: pathlib.Path) -> None:
    """(g) How the peak memory of `fuzz` grows from 1,000 to 50,000 cases."""
    peaks = []
    for cases in (1_000, 50_000):
        words = ["fuzz", "--tool", FUZZED, "--cases", str(cases), "--processes", "1", "--", *DEMO_SERVER]
        measure = [sys.executable, "-c", MEASURE_FUZZ, *words]
        done = subprocess.run(measure, check=True, capture_output=True, text=True, cwd=folder)
        peaks.append(float(done.stderr.split()[-1]) * 1024)
    detail = f"{peaks[1] / 1e6:.1f} MB against {peaks[0] / 1e6:.1f} MB"
    report("(g) fuzz, peak at 50,000 : 1,000", peaks[1] / peaks[0], LIMITS["fuzz memory"], detail)


def suites(folder: pathlib.Path) -> None:
    """(i) A suite of 1,000 tests, read, run and judged, against a bare loop of its calls; and how that grows."""
    from mcproof.client.endpoints import CommandEndpoint
    from mcproof.suite.parse.suite_parser import read_suite
    from mcproof.suite.run.runner import run_suite
    from mcproof.suite.run.suite_runtime import RunOptions
    from mcproof.suite.snapshots import SnapshotStore

    def run_tests(file: str) -> None:
        suite = read_suite(file, os.environ)
        ran = run_suite(suite, list(suite.tests), RunOptions(), SnapshotStore(file, updates=False), lambda *_: None)
        if any(each.outcome != "passed" for each in ran.results):
            raise SystemExit(f"a test of {file} does not pass")

    few, many = (str(write_suite(folder / f"{tests}.yaml", DEMO_SERVER, tests)) for tests in (1_000, 10_000))
    ready = [suite_arguments(number) for number in range(1_000)]
    server = CommandEndpoint(DEMO_SERVER, {})
    gc.disable()  # as the command does
    bare, run, run_many = best_of(
        5,
        lambda: asyncio.run(_call(server, SUITE_TOOL, ready)),
        lambda: run_tests(few),
        lambda: run_tests(many),
    )
    gc.enable()
    detail = f"{run * 1000:.0f} ms against {bare * 1000:.0f} ms"
    report("(i) 1,000 tests : their bare calls", run / bare, LIMITS["suite"], detail)
    report("(i) time a test, 10,000 : 1,000", run_many / run / 10, LIMITS["suite growth"], "linear is 1")


def growth(folder: pathlib.Path) -> None:
    """(c) How the whole command grows from 1,000 to 100,000 tools, in time and in memory."""
    costs = []
    for tools in (1_000, 10_000, 100_000):
        file = folder / f"{tools}.json"
        file.write_text(catalog(1, tools), encoding="utf-8")
        size = file.stat().st_size
        done = subprocess.run(
            [sys.executable, "-c", MEASURE_GROWTH, str(file)], check=True, capture_output=True, text=True
        )
        seconds, peak = map(float, done.stderr.split())
        costs.append(seconds / tools)
        print(f"    {tools:>7,} tools  {size / 1e6:6.1f} MB  {seconds:6.2f} s  peak {peak / size:5.1f} x the input")
        file.unlink()
    report("(c) time a tool, 100,000 : 1,000", costs[-1] / costs[0], LIMITS["growth"], "linear is 1")


def discovery(sources: list[pathlib.Path]) -> None:
    """(h) Finding the tools in Python source against parsing the files that hold them."""
    import ast

    from mcproof.discovery import discover

    found = [discover(str(folder)) for folder in sources]
    held = [pathlib.Path(file).read_bytes() for each in found for file in each.files]
    gc.disable()  # as the command does
    parsed, discovered = best_of(
        7,
        lambda: [ast.parse(data) for data in held],
        lambda: [discover(str(folder)) for folder in sources],
    )
    gc.enable()
    files, tools = len(held), sum(len(each.tools) for each in found)
    detail = f"{tools:,} tools in {files} files; {discovered * 1000:.0f} ms against {parsed * 1000:.0f} ms"
    report("(h) discovery : ast.parse", discovered / parsed, LIMITS["discovery"], detail)


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        temporary = pathlib.Path(scratch)
        cold_start(temporary)
        throughput(pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else write_folder(temporary / "catalogs"))
        captures(temporary)
        fuzzing()
        fuzz_memory(temporary)
        suites(temporary)
        growth(temporary)
        sources = sorted(pathlib.Path(sys.argv[2]).iterdir()) if len(sys.argv) > 2 else []
        discovery(sources or [write_package(temporary / "package")])


if __name__ == "__main__":
    main()
