"""Checks in processes of their own: results, refusals, limits, and nothing left behind."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
import zlib
from pathlib import Path
from typing import Any

import pytest

from limits import HANG
from mcproof.checks.diff.lock import fingerprint, known_parts
from mcproof.checks.rule import find_rule
from mcproof.core.errors import UsageError
from mcproof.runs.codec import decode, encode
from mcproof.runs.events import RunStarted
from mcproof.services.web import watch_check
from mcproof.services.web.watch_check import WatchError, check_in_process, limits_of
from mcproof.services.web.watch_events import ObservedRun, WatchJob
from mcproof.services.workers.messages import frame
from mcproof.targets.arguments import Input
from mcproof.targets.client_config import ConfiguredServer
from mcproof.targets.snapshots import read_snapshot
from services.store.runs import GOOD

SMALL = Path(__file__).resolve().parents[2] / "servers" / "small.py"


def server(*arguments: str) -> ConfiguredServer:
    return ConfiguredServer("books", {"command": sys.executable, "args": list(arguments), "cwd": "."}, "watch.toml", 1)


def job(target: str | ConfiguredServer, *checks: str, config: str | None = None, allows: bool = False) -> WatchJob:
    return WatchJob(target, checks or ("lint",), config, allows)


@pytest.fixture
def snapshot(tmp_path: Path) -> str:
    file = tmp_path / "books.json"
    file.write_bytes(GOOD)
    return str(file)


def checked(wanted: WatchJob) -> list[ObservedRun]:
    """The runs of a job, checked in this process."""
    received = decode(WatchJob, json.loads(json.dumps(encode(wanted))))
    return [*watch_check.check(received)]


# --- what a check observes ----------------------------------------------------------------------------------------


def test_a_job_has_a_run_for_each_check_with_catalog_and_surface(snapshot: str) -> None:
    runs = checked(job(snapshot, "lint", "scan"))
    catalog = read_snapshot(GOOD, "books")
    assert [each.run.command for each in runs] == ["lint", "scan"]
    assert [each.surface for each in runs] == [fingerprint(catalog, known_parts(catalog))] * 2
    assert json.loads(zlib.decompress(runs[0].run.catalog or b"")) == json.loads(GOOD)
    assert runs[0].run.grade == "A"


def test_the_configuration_decides_what_is_checked(snapshot: str, tmp_path: Path) -> None:
    config = tmp_path / "watch.toml"
    config.write_text("rulesets = ['strict']")
    [run] = checked(job(snapshot, config=str(config)))
    assert {find_rule(rule).ruleset for rule in run.run.rules} == {"catalog", "strict"}


def test_a_report_that_is_too_large_to_be_stored_is_a_run_with_trouble(
    snapshot: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch_check, "LARGEST_REPORT", 1000)
    [run] = checked(job(snapshot))
    assert "more than the 1,000 that are stored" in str(run.run.error)
    assert len(zlib.decompress(run.run.report)) < 2000
    assert (run.run.catalog, run.surface, run.run.findings) == (None, None, ())


def test_a_server_that_cannot_be_reached_is_a_run_with_trouble() -> None:
    [run] = checked(job(server("-c", "raise SystemExit(3)"), allows=True))
    assert "exited with code 3" in str(run.run.error)
    assert (run.run.catalog, run.surface) == (None, None)


def test_a_secret_of_the_configuration_is_in_no_result(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BOOKS_TOKEN", "hunter2-hunter2")
    target = ConfiguredServer("books", {"url": "http://127.0.0.1:1/${BOOKS_TOKEN}"}, "watch.toml", 1)
    assert "hunter2" not in str(watch_check.check(job(target)))


def test_several_servers_are_not_one_watch(tmp_path: Path) -> None:
    for name in ("a.json", "b.json"):
        (tmp_path / name).write_bytes(GOOD)
    with pytest.raises(UsageError, match="a watch is of one server; the target has 2"):
        checked(job(str(tmp_path)))


def test_a_command_is_refused_before_it_starts(tmp_path: Path) -> None:
    started = tmp_path / "started"
    touch = f"open({str(started)!r}, 'w')"
    with pytest.raises(UsageError, match="needs `serve --allow-commands`"):
        checked(job(server("-c", touch)))
    client = tmp_path / "mcp.json"
    client.write_text(json.dumps({"mcpServers": {"x": {"command": sys.executable, "args": ["-c", touch]}}}))
    with pytest.raises(UsageError, match="needs `serve --allow-commands`"):
        checked(job(f"{client}#x"))
    assert not started.exists()


def test_a_check_is_confined_unless_it_may_start_a_server() -> None:
    url = ConfiguredServer("books", {"url": "https://x.example"}, "watch.toml", 1)
    assert not job(url, allows=True).may_start_server
    assert not job("mcp.json#x").may_start_server
    assert job("mcp.json#x", allows=True).may_start_server
    assert job(server("x"), allows=True).may_start_server
    confined, unconfined = limits_of(job(url), 9.0), limits_of(job(server("x"), allows=True), 9.0)
    assert (confined.seconds, confined.memory, confined.roots) == (9.0, 1024**3, ("/",))
    assert (unconfined.seconds, unconfined.memory, unconfined.roots) == (9.0, 1024**3, None)


def test_a_url_is_not_a_command() -> None:
    from mcproof.client.endpoints import UrlEndpoint

    watch_check.refuse_commands(RunStarted(True, (Input("x", server=UrlEndpoint("https://x.example", {})),)))


# --- processes ----------------------------------------------------------------------------------------------------


def test_a_process_returns_runs_and_reports_what_prevents_them(snapshot: str) -> None:
    async def both() -> list[Any]:
        jobs = (job(snapshot), job(server("x")))
        return [*await asyncio.gather(*(check_in_process(wanted, "books") for wanted in jobs), return_exceptions=True)]

    [run], error = asyncio.run(both())
    assert run.run.error is None
    assert isinstance(error, WatchError)
    assert error.message == "the target is a command, which needs `serve --allow-commands`"


def test_a_check_over_its_limit_is_ended_with_its_server(tmp_path: Path) -> None:
    number = tmp_path / "number"
    code = f"import os, time; open({str(number)!r}, 'w').write(str(os.getpid())); time.sleep({HANG})"

    async def run() -> list[ObservedRun]:
        check = asyncio.create_task(check_in_process(job(server("-c", code), allows=True), "books", HANG))
        while not (number.exists() and number.read_text()):
            await asyncio.sleep(0.02)
        check.cancel()
        await asyncio.gather(check, return_exceptions=True)
        assert check.cancelled()
        return await check_in_process(job(server("x"), allows=True), "books", 0.01)

    [unfinished] = asyncio.run(run())
    assert_ended(int(number.read_text()))
    assert unfinished.run.error == "books: not checked within 0.01 s"


def test_a_server_that_ends_its_check_is_one_that_cannot_be_checked() -> None:
    code = "import os, signal; os.kill(os.getppid(), signal.SIGKILL)"
    [run] = asyncio.run(check_in_process(job(server("-c", code), allows=True), "books"))
    assert run.run.error == "books: its check ended before it was done; it may need more memory than it may use"


def test_a_process_ends_with_the_service(tmp_path: Path) -> None:
    number = tmp_path / "number"
    code = f"import os, time; open({str(number)!r}, 'w').write(str(os.getpid())); time.sleep({HANG})"
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "mcproof.services.workers.process", f"{watch_check.__name__}:check"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
    )
    assert process.stdin is not None
    with process:
        wanted = job(server("-c", code), allows=True)
        process.stdin.write(frame(encode(limits_of(wanted, HANG))))
        process.stdin.write(frame([1, encode(wanted)]))
        process.stdin.flush()
        while not (number.exists() and number.read_text()):
            assert process.poll() is None
            time.sleep(0.02)
        process.stdin.close()
        assert process.wait(HANG) == 0
    assert_ended(int(number.read_text()))


def assert_ended(process: int) -> None:
    """Wait until a process has ended; the watchdog ends it a moment after its parent."""
    end = time.monotonic() + HANG
    while _is_running(process):
        assert time.monotonic() < end
        time.sleep(0.02)


def _is_running(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        pass
    try:
        os.kill(process, 0)
    except OSError:
        return False
    return not Path("/proc/self").exists()
