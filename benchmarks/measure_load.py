"""Measurements of `serve` under load: 50 clients on a store with 100,000 runs, against a bare page of FastAPI.

The service keeps a page for a second. The rows of many servers and many badges show what it costs where that helps
nobody, because each request is for another one.
"""

from __future__ import annotations

import asyncio
import pathlib
import re
import subprocess
import sys
import time
from functools import partial
from itertools import cycle
from typing import TYPE_CHECKING, NamedTuple

from measure_serving import MANY, SERVERS, fill_store
from measurement import Comparison, Measurement

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from measurement import Workspace

CLIENTS, REQUESTS, ROUNDS = 50, 5_000, 3
MANY_REQUESTS = 100_000
_FOLDER = pathlib.Path(__file__).with_name("servers")
_SOME = range(0, SERVERS, 7)

PAGES = {
    "dashboard": (8, ["/"]),
    "server": (8, ["/servers/books"]),
    "api": (4, ["/api/v1/servers"]),
    "badge": (2.5, ["/badge/books.svg"]),
    "run": (15, ["/runs/{uid}"]),
    "many-servers": (None, [f"/servers/server%20{number}" for number in _SOME]),
    "many-badges": (None, [f"/badge/server%20{number}.svg" for number in _SOME]),
    "export": (None, ["/servers.csv"]),
}
MOST_OF_MEDIAN = 3


def rows() -> tuple[Measurement, ...]:
    """Return the measurements under load, too long to run unless named."""
    return (
        *(
            Measurement(f"serve-load-{name}", f"load: bare page : {name}", limit, partial(_ratio, name))
            for name, (limit, _) in PAGES.items()
        ),
        Measurement("serve-load-waits", "load: p95 : median, worst page", MOST_OF_MEDIAN, _waits),
        Measurement("serve-load-memory", "load: memory after 100,000 requests", 1.05, _memory),
    )


class Answers(NamedTuple):
    """How requests were answered."""

    rate: float
    median: float
    p95: float


class _Service:
    def __init__(self, at: Workspace, *command: str) -> None:
        words = [sys.executable, *command]
        process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        at.closing.callback(process.wait)
        at.closing.callback(process.terminate)
        assert process.stdout is not None
        self.pid = process.pid
        self.port = int(process.stdout.readline())

    def ask(self, paths: Sequence[str], requests: int = REQUESTS) -> Answers:
        """Request paths over many connections. An answer that is not 200 ends the measurement."""
        taken: list[float] = []

        async def ask_all() -> None:
            waiting = (path for path, _ in zip(cycle(paths), range(requests), strict=False))
            await asyncio.gather(*(_client(self.port, waiting, taken) for _ in range(CLIENTS)))

        start = time.perf_counter()
        asyncio.run(ask_all())
        seconds = time.perf_counter() - start
        taken.sort()
        return Answers(len(taken) / seconds, taken[len(taken) // 2], taken[len(taken) * 95 // 100])

    @property
    def memory(self) -> int:
        status = pathlib.Path(f"/proc/{self.pid}/status").read_text(encoding="ascii")
        found = re.search(r"VmRSS:\s+(\d+) kB", status)
        return int(found[1]) * 1024 if found is not None else 0


async def _client(port: int, paths: Iterator[str], taken: list[float]) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for path in paths:
        start = time.perf_counter()
        writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        head = await reader.readuntil(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 200"):
            raise SystemExit(f"{path}: {head[:200]!r}")
        length = re.search(rb"content-length: (\d+)", head)
        if length is not None:
            await reader.readexactly(int(length[1]))
        else:
            while size := int(await reader.readline(), 16):
                await reader.readexactly(size + 2)
            await reader.readline()
        taken.append(time.perf_counter() - start)
    writer.close()
    await writer.wait_closed()


class _Loaded(NamedTuple):
    bare: _Service
    service: _Service
    uid: str

    def paths(self, name: str) -> list[str]:
        return [path.format(uid=self.uid) for path in PAGES[name][1]]


def _loaded(at: Workspace) -> _Loaded:
    """Start both services, once for all measurements."""
    if "load" not in at.kept:
        file = fill_store(str(at.folder / "load.sqlite"), MANY)
        from mcproof.services.store.database import open_database
        from mcproof.services.store.queries import list_runs

        database = open_database(file)
        page = list_runs(database, "server 0", size=1)
        database.close()
        assert page is not None
        service = _Service(at, str(_FOLDER / "store_service.py"), file, "--as-served")
        at.kept["load"] = _Loaded(_Service(at, str(_FOLDER / "bare_page.py")), service, page.runs[0].uid)
    loaded: _Loaded = at.kept["load"]
    return loaded


def _measured(at: Workspace, name: str) -> list[tuple[Answers, Answers]]:
    """Return the answers of the bare page and of a page, in rounds, one after the other."""
    key = f"load-{name}"
    if key not in at.kept:
        loaded = _loaded(at)
        loaded.service.ask(loaded.paths(name), CLIENTS)
        requests = 200 if name == "export" else REQUESTS
        at.kept[key] = [
            (loaded.bare.ask(["/"]), loaded.service.ask(loaded.paths(name), requests)) for _ in range(ROUNDS)
        ]
    measured: list[tuple[Answers, Answers]] = at.kept[key]
    return measured


def _ratio(name: str, at: Workspace) -> Comparison:
    measured = _measured(at, name)
    bare, page = (max(answers, key=lambda each: each.rate) for answers in zip(*measured, strict=True))
    rates = f"{page.rate:,.0f} against {bare.rate:,.0f} requests a second"
    waits = f"median {page.median * 1000:.0f} ms, p95 {page.p95 * 1000:.0f} ms"
    return Comparison(bare.rate / page.rate, f"{rates}; {waits}", "wall")


def _waits(at: Workspace) -> Comparison:
    pages = [name for name, (limit, _) in PAGES.items() if limit is not None]
    ratios = {name: min(page.p95 / page.median for _, page in _measured(at, name)) for name in pages}
    worst = max(ratios, key=ratios.__getitem__)
    return Comparison(ratios[worst], worst, "wall")


def _memory(at: Workspace) -> Comparison:
    loaded = _loaded(at)
    paths = [path for name in ("dashboard", "many-servers", "api", "many-badges", "run") for path in loaded.paths(name)]
    loaded.service.ask(paths, 2 * len(paths))
    before = loaded.service.memory
    loaded.service.ask(paths, MANY_REQUESTS)
    after = loaded.service.memory
    return Comparison(after / before, f"{after / 1e6:,.0f} MB against {before / 1e6:,.0f} MB")
