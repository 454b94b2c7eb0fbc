"""One worker process: what passes between it and the service, its limits, and that nothing of it is left behind."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Any

import pytest

from limits import HANG
from mcproof.services.workers.messages import OUTCOME, READY, WorkerLimits, frame, read_frame
from mcproof.services.workers.worker import LostError, OverdueError, Worker, WorkerError, WorkerProcess

from .jobs import Order

if TYPE_CHECKING:
    from collections.abc import Iterator

OBEY = "services.workers.jobs:obey"
OPEN = WorkerLimits(HANG)
CONFINED = WorkerLimits(HANG, roots=())
FORGETFUL = WorkerLimits(HANG, roots=(), forgets=True)
MIB = 1 << 20


@pytest.fixture(autouse=True)
def _functions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let processes import the functions of the tests."""
    tests = str(Path(__file__).resolve().parents[2])
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join((tests, os.environ.get("PYTHONPATH", ""))))


@pytest.fixture(params=[OPEN, CONFINED, FORGETFUL], ids=["open", "confined", "forgetful"])
def worker(request: pytest.FixtureRequest) -> Iterator[Worker[Order, str]]:
    worker = Worker(OBEY, Order, str, request.param)
    yield worker
    worker.close()


def working(limits: WorkerLimits) -> Worker[Order, str]:
    return Worker(OBEY, Order, str, limits)


# --- messages -----------------------------------------------------------------------------------------------------


def test_a_job_has_events_and_an_outcome(worker: Worker[Order, str]) -> None:
    events: list[str] = []
    outcome = worker.run(Order("echo", "caf\xe9\udcff", bytes(range(256))), events.append)
    assert outcome == f"{bytes(range(256))!r} caf\xe9\udcff"
    assert events == ["one", "two\ud800"]


def test_an_error_of_a_job_has_its_message_and_the_next_job_runs(worker: Worker[Order, str]) -> None:
    with pytest.raises(WorkerError, match=r"a\.json: no"):
        worker.run(Order("fail", "a.json"))
    with pytest.raises(WorkerError, match="internal error, please report it: AttributeError"):
        worker.run(Order("unknown"))
    assert worker.run(Order("echo"))


def test_a_worker_that_dies_is_started_again(worker: Worker[Order, str]) -> None:
    with pytest.raises(LostError):
        worker.run(Order("die"))
    assert worker.run(Order("echo"))


def test_a_function_that_does_not_exist_is_a_lost_worker() -> None:
    worker = Worker("services.workers.jobs:absent", Order, str, OPEN)
    with pytest.raises(LostError):
        worker.run(Order("echo"))
    worker.close()
    with pytest.raises(LostError, match="the service is stopping"):
        worker.run(Order("echo"))


def test_a_process_is_used_again_and_remembers() -> None:
    worker = working(CONFINED)
    assert worker.run(Order("process")) == worker.run(Order("process"))
    assert [worker.run(Order("remember", word)) for word in "ab"] == ["['a']", "['a', 'b']"]
    worker.close()


def test_a_fork_remembers_nothing() -> None:
    worker = working(FORGETFUL)
    assert worker.run(Order("process")) != worker.run(Order("process"))
    assert [worker.run(Order("remember", word)) for word in "ab"] == ["['a']", "['b']"]
    worker.close()


def test_a_coroutine_does_its_jobs_concurrently() -> None:
    messages: SimpleQueue[Any] = SimpleQueue()
    process = WorkerProcess("services.workers.jobs:wait", OPEN, messages.put)
    assert messages.get(timeout=HANG) == [0, READY, None]
    for number, milliseconds in enumerate((60_000, 300, 1)):
        process.send((number, Order(f"after {milliseconds}", number=milliseconds)))
    received = [messages.get(timeout=HANG) for _ in range(2)]
    assert received == [[2, OUTCOME, "after 1"], [1, OUTCOME, "after 300"]]
    process.end()
    process.wait()
    assert process.exit_code == 0
    assert messages.get(timeout=HANG) is None


def test_a_frame_that_is_cut_off_or_too_large_is_the_end(tmp_path: Path) -> None:
    with (tmp_path / "frames").open("wb+") as file:
        file.write(frame({"a": 1}))
        file.write(b"\0\0\0\x09{}")
        file.seek(0)
        assert [read_frame(file), read_frame(file), read_frame(file)] == [{"a": 1}, None, None]
        file.seek(0)
        file.write(b"\xff\xff\xff\xff{}")
        file.seek(0)
        assert read_frame(file) is None


# --- limits -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("limits", [OPEN, CONFINED, FORGETFUL])
@pytest.mark.parametrize("word", ["sleep", "spin"])
def test_a_job_that_takes_too_long_is_killed(limits: WorkerLimits, word: str) -> None:
    worker, pids = working(limits._replace(seconds=0.3)), list[str]()
    with pytest.raises(OverdueError):
        worker.run(Order(word, number=HANG), pids.append)
    assert_ended(int(pids[0]))
    assert worker.run(Order("process")) != pids[0]
    worker.close()


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not limit the memory of a process")
@pytest.mark.parametrize("limits", [CONFINED, FORGETFUL])
def test_memory_is_limited(limits: WorkerLimits) -> None:
    worker = working(limits._replace(memory=512 * MIB))
    with pytest.raises(WorkerError, match="out of memory"):
        worker.run(Order("allocate", number=1024 * MIB))
    assert worker.run(Order("allocate", number=MIB)) == str(MIB)
    worker.close()


@pytest.mark.skipif(not os.path.isdir("/proc"), reason="memory is watched in /proc")
def test_memory_of_a_worker_that_starts_servers_is_watched() -> None:
    worker = working(OPEN._replace(memory=1))
    with pytest.raises(LostError):
        worker.run(Order("sleep", number=HANG))
    worker.close()


@pytest.mark.skipif(not hasattr(signal, "alarm"), reason="there is no such signal on this system")
@pytest.mark.parametrize("limits", [OPEN, FORGETFUL])
def test_a_job_that_nobody_waits_for_ends_itself(limits: WorkerLimits) -> None:
    """The process kills itself some seconds after the limit, which nobody looks at here."""
    process, messages = _started(limits._replace(seconds=-4))
    process.send((1, Order("sleep", number=HANG)))
    assert messages.get(timeout=HANG)[1] == READY
    assert messages.get(timeout=HANG)[0] == 1
    assert messages.get(timeout=HANG) is None
    process.wait()


# --- nothing is left ----------------------------------------------------------------------------------------------


def test_closing_ends_a_job(worker: Worker[Order, str]) -> None:
    pids: SimpleQueue[str] = SimpleQueue()
    lost: list[Exception] = []

    def run() -> None:
        try:
            worker.run(Order("sleep", number=HANG), pids.put)
        except LostError as error:
            lost.append(error)

    thread = Thread(target=run)
    thread.start()
    pid = int(pids.get(timeout=HANG))
    worker.close()
    thread.join(HANG)
    assert len(lost) == 1
    assert_ended(pid)


def test_a_job_that_is_cancelled_is_ended_and_the_next_one_gets_its_own_outcome(worker: Worker[Order, str]) -> None:
    async def run() -> str:
        first = asyncio.create_task(worker.run_in_thread(Order("sleep", number=HANG)))
        await asyncio.sleep(0.2)
        first.cancel()
        second, *_ = await asyncio.gather(
            asyncio.create_task(worker.run_in_thread(Order("echo", "second"))), first, return_exceptions=True
        )
        return str(second)

    assert asyncio.run(run()) == "b'' second"


@pytest.mark.parametrize("limits", [OPEN, CONFINED, FORGETFUL], ids=["open", "confined", "forgetful"])
@pytest.mark.parametrize("word", ["sleep", "spin"])
def test_nothing_is_left_of_a_service_that_is_killed(limits: WorkerLimits, word: str) -> None:
    code = (
        "from services.workers.test_workers import working, Order, WorkerLimits\n"
        f"working({limits!r}).run(Order({word!r}, number={HANG}), lambda pid: print(pid, flush=True))"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as service:
        assert service.stdout is not None
        pid = int(service.stdout.readline())
        service.kill()
    assert_ended(pid)


def _started(limits: WorkerLimits) -> tuple[WorkerProcess, SimpleQueue[Any]]:
    messages: SimpleQueue[Any] = SimpleQueue()
    return WorkerProcess(OBEY, limits, messages.put), messages


def assert_ended(pid: int) -> None:
    """Wait until a process is gone."""
    end = time.monotonic() + HANG
    while _is_running(pid):
        assert time.monotonic() < end
        time.sleep(0.02)


def _is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
