"""The contract of engines: each gives the same rows, timings aside, whatever happens to its workers."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING

import pytest

from limits import HANG
from mcproof.core.errors import UsageError
from mcproof.services.sweep import SweepPlan, engines
from mcproof.services.sweep.ray_engine import is_this_machine, refuse_old_version

from .sweeping import GOOD, capture, killer, lasting, outcomes, sleeper, sweep, write_list

from cli.running import write  # isort: skip

if TYPE_CHECKING:
    from mcproof.services.workers.messages import WorkerLimits

WORDS = ("--allow-commands", "--retries", "0", "--timeout", "8", "--jobs", "2")


def _targets(folder: Path) -> dict[str, str]:
    """Targets of every kind, each with its outcome."""
    found = {}
    for number in range(40):
        found[write(folder / f"{number}.json", capture(number))] = "checked"
    (folder / "torn.json").write_text('{"tools": [')
    (folder / "other.json").write_text('{"a": 1}')
    return {
        **found,
        str(folder / "torn.json"): "unreadable",
        str(folder / "other.json"): "unreadable",
        str(folder / "gone.json"): "unreadable",
        GOOD: "checked",
        killer(folder / "once", once=True): "checked",
        killer(folder / "always", once=False): "crashed",
        "no-such-program --flag": "unreachable",
        sleeper(): "timed-out",
        "http://127.0.0.1:9/mcp": "unreachable",
        "https://host/${UNKNOWN}": "left-out",
    }


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with targets of every kind, in a list."""
    place: Path = tmp_path_factory.mktemp("engines")
    (place / "targets").mkdir()
    write_list(place / "targets.txt", _targets(place / "targets"))
    return place


def _swept(place: Path, engine: str) -> Path:
    """Run the sweep with two workers, one of which is killed on the way, and another one twice."""
    for mark in ("once", "always"):
        (place / "targets" / mark).unlink(missing_ok=True)
    file = place / f"{engine}.jsonl"
    done = sweep("targets.txt", *WORDS, "--engine", engine, "--results", file.name, cwd=place)
    assert done.returncode == 0, done
    return file


@pytest.fixture(scope="module")
def local(place: Path) -> Path:
    return _swept(place, "local")


@pytest.mark.slow
def test_the_local_engine_gives_every_target_its_outcome(place: Path, local: Path) -> None:
    assert outcomes(local) == _targets(place / "targets")


def require_ray() -> None:
    if find_spec("ray") is None:
        if os.environ.get("MCPROOF_REQUIRE_RAY"):
            pytest.fail("Ray is not installed, and MCPROOF_REQUIRE_RAY is set")
        pytest.skip("Ray is not installed: `make .venv/.ci-ready`")


@pytest.mark.slow
def test_ray_gives_the_same_rows(place: Path, local: Path) -> None:
    require_ray()
    assert lasting(_swept(place, "ray")) == lasting(local)


@pytest.mark.parametrize("version", ["2.51.9", "1.13", "2", "nightly"])
def test_a_version_of_ray_that_asks_for_no_token_is_refused(version: str) -> None:
    with pytest.raises(UsageError, match=r"needs Ray 2\.52 or newer"):
        refuse_old_version(version)
    refuse_old_version("2.52.0")


@pytest.mark.parametrize(
    ("kind", "most"),
    [
        (engines.CAPTURES, engines.MOST_MEMORY),
        (engines.LIVE, engines.MOST_MEMORY_OF_SERVERS),
        (engines.ALONE, engines.MOST_MEMORY_OF_SERVERS),
    ],
)
def test_a_worker_of_this_machine_has_a_limit_of_memory(monkeypatch: pytest.MonkeyPatch, kind: str, most: int) -> None:
    given = []

    class Process:
        def __init__(self, _: str, limits: WorkerLimits, __: object) -> None:
            given.append(limits.memory)

        def send(self, *_: object) -> None: ...

    monkeypatch.setattr(engines, "WorkerProcess", Process)
    engines._Worker(kind, SweepPlan(), SimpleQueue())
    assert given == [most]


_GREEDY = """
import sys, time
from mcproof.services.sweep import ray_engine
from mcproof.services.sweep import SweepPlan
check, limit = sys.argv[1:]
setattr(ray_engine, limit, 1)
getattr(ray_engine, check)([], SweepPlan())
time.sleep(20)
print("still there")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize(
    ("check", "limit"), [("check_captures", "MOST_MEMORY"), ("check_servers", "MOST_MEMORY_OF_SERVERS")]
)
def test_a_worker_of_ray_that_needs_too_much_memory_ends(check: str, limit: str) -> None:
    command = [sys.executable, "-c", _GREEDY, check, limit]
    done = subprocess.run(command, check=False, timeout=HANG, capture_output=True, text=True)
    assert "still there" not in done.stdout
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("address", "named", "expected"),
    [
        (None, "", True),
        ("", "", True),
        ("local", "", True),
        ("auto", "local", True),
        ("auto", "", False),
        ("auto", "192.0.2.1:6379", False),
        ("192.0.2.1:6379", "local", False),
    ],
)
def test_an_address_for_which_ray_starts_a_cluster_is_protected_as_one(
    monkeypatch: pytest.MonkeyPatch, address: str | None, named: str, *, expected: bool
) -> None:
    monkeypatch.setenv("RAY_ADDRESS", named)
    assert is_this_machine(address) is expected


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("address", ["None", "'local'"])
def test_ray_on_this_machine_listens_on_loopback_and_asks_for_a_token(address: str) -> None:
    require_ray()
    before = listening_elsewhere()
    command = [sys.executable, "-c", _RAY.replace("ADDRESS", address)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "token True\n"
        opened = {inode for inode in listening_elsewhere() - before if inode in sockets_of_group(process.pid)}
        process.communicate("")
    assert opened == set()


_RAY = """
import os, sys
from mcproof.services.sweep import SweepPlan
from mcproof.services.sweep.ray_engine import RayEngine
engine = RayEngine(SweepPlan(), address=ADDRESS, jobs=1, at_once=1)
print(os.environ["RAY_AUTH_MODE"], len(os.environ["RAY_AUTH_TOKEN"]) == 64, flush=True)
sys.stdin.read()
engine.close()
"""


def listening_elsewhere() -> set[str]:
    """The sockets of this machine that listen for connections from others."""
    found = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            address = fields[1].partition(":")[0]
            if fields[3] == "0A" and address not in ("0100007F", "0" * 24 + "01000000", "0" * 16 + "FFFF00000100007F"):
                found.add(fields[9])
    return found


def sockets_of_group(leader: int) -> set[str]:
    """The sockets of a process and of everything that was started from it."""
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
    members = {leader}
    while more := {pid for pid, parent in parents.items() if parent in members} - members:
        members |= more
    found = set()
    for pid in members:
        with contextlib.suppress(OSError):
            for link in Path(f"/proc/{pid}/fd").iterdir():
                with contextlib.suppress(OSError):
                    found.add(os.readlink(link).removeprefix("socket:[").rstrip("]"))
    return found
