"""Measurements of `serve` over large stores, in SQLite and PostgreSQL: what a page costs with ten times the runs."""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys
import time
from contextlib import contextmanager
from functools import partial
from http.client import HTTPConnection
from statistics import quantiles
from threading import Thread
from typing import TYPE_CHECKING, NamedTuple

from measurement import Comparison, Measurement

TESTS = pathlib.Path(__file__).parents[1] / "tests"
sys.path.append(str(TESTS))  # for the stores of the tests

if TYPE_CHECKING:
    from collections.abc import Iterator

    from measurement import Workspace

SERVERS = 10_000
FEW, MANY = 1, 10
"""Runs of each server; each run has ten findings."""
REQUESTS, CONNECTIONS, ROUNDS = 200, 4, 3
_SERVICE = str(pathlib.Path(__file__).with_name("servers") / "store_service.py")
_TICKS = os.sysconf("SC_CLK_TCK")

PAGES = {
    "dashboard": "/",
    "grade": "/?grade=B",
    "verdict": "/?verdict=review",
    "client": "/?client=cursor",
    "rule": "/?rule=tool-no-description",
    "rare-rule": "/?rule=tool-rare-rule",
    "search": "/?q=server+77",
    "all-filters": "/?q=server&grade=B&verdict=review&client=cursor&rule=tool-no-description",
    "server": "/servers/books",
    "badge": "/badge/books.svg",
    "api-servers": "/api/v1/servers",
    "api-last-page": "/api/v1/servers?sort=name&cursor={cursor}",
    "api-runs": "/api/v1/servers/books/runs",
    "api-findings": "/api/v1/runs/{uid}/findings",
}


def rows() -> tuple[Measurement, ...]:
    """Return a measurement for each page and database, too long to run unless named."""
    return tuple(
        Measurement(f"serve-{kind}-{name}", f"{kind}, {name}: 100,000 runs : 10,000", 1.3, partial(_page, kind, path))
        for kind in ("sqlite", "postgres")
        for name, path in PAGES.items()
    )


class Load(NamedTuple):
    """How a service dealt with requests."""

    cpu: float
    """Seconds for each request, of the service and of the database."""
    rate: float
    """Requests a second."""
    p95: float
    """Seconds in which 95 of 100 requests were done."""


class Service:
    """A running service over a store."""

    def __init__(self, process: subprocess.Popen[str], postmaster: int | None) -> None:
        self._process = process
        self._postmaster = postmaster
        assert process.stdout is not None
        self._port = int(process.stdout.readline())
        self._values = {"uid": self._run(), "cursor": self._cursor()}

    def load(self, path: str) -> Load:
        """Request a page many times over a few connections."""
        path = path.format(**self._values)
        self._get(path)  # so that nothing is loaded while it is measured
        taken: list[float] = []
        threads = [Thread(target=self._ask, args=(path, taken)) for _ in range(CONNECTIONS)]
        cpu, start = self._cpu(), time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        seconds = time.perf_counter() - start
        return Load((self._cpu() - cpu) / len(taken), len(taken) / seconds, quantiles(taken, n=20)[-1])

    def peak_memory(self) -> int:
        """Return the most memory that the service had, in bytes."""
        status = pathlib.Path(f"/proc/{self._process.pid}/status").read_text(encoding="ascii")
        found = re.search(r"VmHWM:\s+(\d+) kB", status)
        return int(found[1]) * 1024 if found is not None else 0

    def _ask(self, path: str, taken: list[float]) -> None:
        connection = HTTPConnection("127.0.0.1", self._port)
        for _ in range(REQUESTS // CONNECTIONS):
            start = time.perf_counter()
            connection.request("GET", path)
            response = connection.getresponse()
            response.read()
            taken.append(time.perf_counter() - start)
            if response.status != 200:
                raise SystemExit(f"{path}: {response.status}")
        connection.close()

    def _get(self, path: str) -> str:
        connection = HTTPConnection("127.0.0.1", self._port)
        connection.request("GET", path)
        text = connection.getresponse().read().decode()
        connection.close()
        return text

    def _run(self) -> str:
        found = re.search(r'"uid":"([^"]+)"', self._get("/api/v1/servers/server%200/runs"))
        assert found is not None
        return found[1]

    def _cursor(self) -> str:
        """Return the cursor of the last page of servers."""
        cursor = ""
        while found := re.search(
            r'"next":"([^"]+)"', self._get(f"/api/v1/servers?sort=name&limit=200&cursor={cursor}")
        ):
            cursor = found[1]
        return cursor

    def _cpu(self) -> float:
        """Return the CPU time of the service and of the processes of PostgreSQL."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return float(self._process.stdout.readline()) + _children_cpu(self._postmaster)


def _children_cpu(parent: int | None) -> float:
    if parent is None:
        return 0.0
    total = 0
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text(encoding="utf-8").rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        if int(fields[1]) == parent:
            total += int(fields[11]) + int(fields[12])
    return total / _TICKS


class Services(NamedTuple):
    """The same servers, with few and with many runs."""

    few: Service
    many: Service


@contextmanager
def _running(word: str, postmaster: int | None) -> Iterator[Service]:
    command = [sys.executable, _SERVICE, word]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield Service(process, postmaster)
        finally:
            process.terminate()


def fill_store(word: str, runs: int) -> str:
    """Fill a store with servers that have this many runs each."""
    from mcproof.services.store.database import open_database
    from services.store.filling import Size, fill

    database = open_database(word)
    fill(database, Size(SERVERS, runs))
    database.close()
    return word


def _services(at: Workspace, kind: str) -> Services:
    """Fill two stores of a kind and serve them; once for all measurements."""
    if kind not in at.kept:
        if kind == "sqlite":
            postmaster = None
            words = [str(at.folder / f"{runs}.sqlite") for runs in (FEW, MANY)]
        else:
            from services.store.conftest import new_database
            from services.store.postgres import running_postgres

            url = at.closing.enter_context(running_postgres())
            folder = pathlib.Path(url.partition("host=")[2])
            postmaster = int((folder / "data" / "postmaster.pid").read_text(encoding="utf-8").split()[0])
            words = [new_database(url) for _ in (FEW, MANY)]
        few, many = (
            at.closing.enter_context(_running(fill_store(word, runs), postmaster))
            for word, runs in zip(words, (FEW, MANY), strict=True)
        )
        at.kept[kind] = Services(few, many)
    services: Services = at.kept[kind]
    return services


def _page(kind: str, path: str, at: Workspace) -> Comparison:
    services = _services(at, kind)
    loads = [(services.few.load(path), services.many.load(path)) for _ in range(ROUNDS)]
    few, many = (min(each, key=lambda load: load.cpu) for each in zip(*loads, strict=True))
    best = max((load for _, load in loads), key=lambda load: load.rate)
    rate = f"{best.rate:,.0f} requests a second, p95 {best.p95 * 1000:.0f} ms"
    peak = f"{services.many.peak_memory() / 1e6:.0f} MB"
    detail = f"{many.cpu * 1000:.1f} ms against {few.cpu * 1000:.1f} ms; {rate}, {peak}"
    return Comparison(many.cpu / few.cpu, detail, "cpu", few.rate / many.rate)
