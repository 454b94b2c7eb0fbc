"""What pages show of stored reports and catalogs, and what clients record: read in worker processes, with limits.

Whoever may record a run decides what its report and its catalog have in them, and reading a small one can take minutes
and gigabytes. So the process that serves pages reads none: a worker draws the report, compares the catalogs or checks
what is to be recorded, and the service keeps what it returns, compressed, as long as there is room.
Why there is one kind of worker: docs/decisions/0065-one-worker-process.md.
"""

from __future__ import annotations

import asyncio
import json
import os
import zlib
from collections import OrderedDict
from datetime import UTC, datetime, timedelta
from functools import cache
from time import monotonic
from typing import TYPE_CHECKING

from jinja2 import ChoiceLoader, Environment, PackageLoader

from mcproof.checks.diff.lock import drift_against
from mcproof.core.console import safe
from mcproof.core.errors import InputError, McproofError
from mcproof.core.named_tuple import NamedTuple
from mcproof.core.stored_form import record
from mcproof.report.html.page import contract_matrix, document, page_environment
from mcproof.report.phrases import CHANGE_WORDS
from mcproof.runs import execute
from mcproof.runs.codec import encode
from mcproof.runs.requests import CatalogDocument, DiffRequest, SettingsSource, TargetSelection
from mcproof.runs.stored import read_run
from mcproof.services.store.run_record import record_of
from mcproof.services.workers.messages import WorkerLimits
from mcproof.services.workers.worker import LostError, OverdueError, WorkerPool
from mcproof.targets.snapshots import read_snapshot

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mcproof.runs.results import RunResult
    from mcproof.services.web.clients import Shares

SECONDS, MEMORY = 20.0, 1024**3
"""The time and the memory of a job."""
AT_ONCE = 2
STORED_BYTES, STORED_OUTCOMES = 64 << 20, 5_000
FAILURE_SECONDS = 300.0
"""How long a failure is kept: the machine may have been busy."""
LARGEST_RESULT = 32 << 20
MOST_CHANGES, MOST_CHANGES_OF_EVENT = 200, 50
"""How many changes a page and an event show."""
PIECE = 256 * 1024
"""The most bytes of a document that are decompressed at once for a response."""
_INPUT = 4096
"""How many compressed bytes are read at once."""
_NOT_RECORDED = ("diff", "run")
"""Commands whose results are not about one server."""
_TIME = "%Y-%m-%dT%H:%M:%SZ"
_CLOCK_SKEW = timedelta(minutes=5)
_LARGEST_NUMBER = 2**31 - 1
"""The largest number that every kind of store has room for."""


@record()
class ReadJob(NamedTuple):
    """Something to read."""

    kind: str
    """A key of `KINDS`."""
    documents: tuple[bytes, ...]
    """Reports or catalogs, compressed as in the store."""


@record()
class ReadOutcome(NamedTuple):
    """What was read, compressed, or why nothing was."""

    data: bytes = b""
    status: int = 200
    """The HTTP status of a failure."""
    problem: str = ""

    @property
    def text(self) -> str:
        return zlib.decompress(self.data).decode("utf-8", "surrogatepass")


class UnreadableError(Exception):
    """A document is refused, with an HTTP status."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


def read(job: ReadJob, _: object) -> ReadOutcome:
    """Do a job."""
    if hasattr(os, "nice"):
        os.nice(5)  # pages that are kept already come first
    try:
        text = KINDS[job.kind](*map(zlib.decompress, job.documents)).encode("utf-8", "surrogatepass")
        if len(text) > LARGEST_RESULT:
            return ReadOutcome(status=413, problem=f"it has more than {LARGEST_RESULT:,} bytes")
        return ReadOutcome(zlib.compress(text, 6))
    except UnreadableError as error:
        return ReadOutcome(status=error.status, problem=error.message)
    except McproofError as error:
        return ReadOutcome(status=422, problem=error.message)
    # CPython raises a SystemError where it has no memory for another error.
    except (MemoryError, RecursionError, SystemError):
        return ReadOutcome(status=413, problem="it needs more memory than it may use")


def _page(report: bytes) -> str:
    """Draw the page that `--format html` writes."""
    return "".join(document(read_run(report, "the run")))


def _contract(report: bytes) -> str:
    """Draw the contract matrix of a run; empty if it has none."""
    promises = contract_matrix(read_run(report, "the run"))
    return templates().get_template("contract.html").render(promises=promises)


def _changes(old: bytes, new: bytes) -> str:
    """Draw a table of the changes between two catalogs, what breaks callers first."""
    older, newer = (TargetSelection(documents=(CatalogDocument("catalog", data),)) for data in (old, new))
    run = execute(DiffRequest(older, newer, settings=SettingsSource(is_disabled=True)))
    order = {"error": 0, "warning": 1, "note": 2}
    changes = sorted(run.targets[0].findings, key=lambda change: order[change.level])
    values = {"changes": changes[:MOST_CHANGES], "total": len(changes), "words": CHANGE_WORDS}
    return templates().get_template("changes.html").render(**values)


def _drift(old: bytes, new: bytes) -> str:
    """Return how two catalogs differ, as an event lists it."""
    earlier, later = (read_snapshot(data, "catalog") for data in (old, new))
    drift = drift_against(later, earlier)
    listed = [
        {
            "item": safe(difference.evidence["item"]),
            "part": difference.part or None,
            "summary": safe(difference.summary),
        }
        for difference in drift.differences[:MOST_CHANGES_OF_EVENT]
    ]
    return json.dumps({"changes": listed, "more_changes": max(0, len(drift.differences) - MOST_CHANGES_OF_EVENT)})


def _recorded(body: bytes) -> str:
    """Return the record of a run that a client sends: a run report, or `{"report": …, "catalog": …}`."""
    try:
        members = json.loads(body, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        raise UnreadableError(400, "not JSON") from None
    report, catalog = body, None
    if isinstance(members, dict) and "report" in members:
        # Written anew, since only its own bytes may be stored, and not those of the catalog beside it.
        report = json.dumps(members["report"]).encode()
        if members.get("catalog") is not None:
            catalog = json.dumps(members["catalog"], indent=2) + "\n"
            try:
                read_snapshot(catalog.encode(), "catalog")
            except InputError as error:
                raise UnreadableError(422, str(error)) from None
    run = _checked(read_run(report, "report"))
    result = run.targets[0]
    return json.dumps(encode(record_of(run, result, catalog if result.trouble is None else None)))


def _refuse_constant(word: str) -> None:
    raise ValueError(word)


def _checked(run: RunResult) -> RunResult:
    """Return a run that may be recorded: of one server, not from the future, and with numbers that can be stored."""
    if run.command in _NOT_RECORDED or len(run.targets) != 1:
        raise InputError("a run of one server is needed: one target of a command that has --record")
    try:
        started = datetime.strptime(run.started, _TIME).replace(tzinfo=UTC)
    except ValueError:
        raise InputError("`timings.started` is not a time such as 2026-01-31T12:00:00Z") from None
    if started > datetime.now(UTC) + _CLOCK_SKEW:
        raise InputError("`timings.started` is in the future")
    (result,) = run.targets
    tokens = result.scores.tokens
    if any(number > _LARGEST_NUMBER for number in (*result.counts.values(), tokens.total if tokens is not None else 0)):
        raise InputError(f"the number of items or tokens is larger than {_LARGEST_NUMBER:,}")
    return run


KINDS: dict[str, Callable[..., str]] = {
    "page": _page,
    "contract": _contract,
    "changes": _changes,
    "drift": _drift,
    "record": _recorded,
}


@cache
def templates() -> Environment:
    """Return the environment of the report with the templates of this package."""
    shared = page_environment()
    return shared.overlay(
        loader=ChoiceLoader([PackageLoader("mcproof.services.web"), shared.loader or PackageLoader("mcproof")])
    )


class StoreReader:
    """Reads documents in workers, a few at once, and keeps what they return."""

    def __init__(self, places: Shares) -> None:
        self._places = places
        """The jobs that each client has waiting or running."""
        self._pool = WorkerPool("mcproof.services.web.visit_warmup:read", ReadJob, ReadOutcome, AT_ONCE)
        self._running: dict[tuple[str, ...], asyncio.Future[ReadOutcome]] = {}
        self._stored: OrderedDict[tuple[str, ...], tuple[ReadOutcome, float]] = OrderedDict()
        """Outcomes with the time when they are forgotten, the one that was used longest ago first."""
        self._bytes = 0

    async def read(
        self, client: str, kind: str, key: tuple[str, ...], load: Callable[[], tuple[bytes, ...]]
    ) -> ReadOutcome:
        """Return what a worker makes of some documents, which are loaded only if that is not stored under the key.

        Raises BusyError if the client, or all clients, have too many that wait.
        """
        key = (kind, *key)
        if (stored := self._stored.get(key)) is not None and stored[1] > monotonic():
            self._stored.move_to_end(key)
            return stored[0]
        work = self._running.get(key)
        if work is None:
            # Until the job ends, also if nobody waits for it any more: else a client could leave and ask for the next.
            self._places.take(client, 1)
            work = self._running[key] = self._start(kind, load)
            work.add_done_callback(lambda done: self._ended(client, key, done))
        return await asyncio.shield(work)

    async def read_once(self, kind: str, *documents: bytes) -> ReadOutcome:
        """Return what a worker makes of documents that are not in the store, as soon as there is room."""
        return await self._start(kind, lambda: tuple(zlib.compress(data, 1) for data in documents))

    def _start(self, kind: str, load: Callable[[], tuple[bytes, ...]]) -> asyncio.Future[ReadOutcome]:
        return asyncio.get_running_loop().run_in_executor(self._pool.threads, self._work, kind, load)

    def _work(self, kind: str, load: Callable[[], tuple[bytes, ...]]) -> ReadOutcome:
        try:
            limits = WorkerLimits(SECONDS, MEMORY, roots=(), forgets=True)
            return self._pool.run(ReadJob(kind, load()), limits)
        except OverdueError:
            return ReadOutcome(status=503, problem=f"not done within {SECONDS:g} seconds")
        except LostError:
            return ReadOutcome(status=503, problem="it needed too much time or memory")

    def _ended(self, client: str, key: tuple[str, ...], work: asyncio.Future[ReadOutcome]) -> None:
        self._places.release(client, 1)
        self._running.pop(key, None)
        if work.cancelled() or work.exception() is not None:
            return
        outcome = work.result()
        # A failure that was kept until now makes room first: its place in the order is that of its last use.
        self._forget(key)
        self._stored[key] = outcome, monotonic() + (FAILURE_SECONDS if outcome.problem else float("inf"))
        self._bytes += len(outcome.data)
        while self._bytes > STORED_BYTES or len(self._stored) > STORED_OUTCOMES:
            self._forget(next(iter(self._stored)))

    def _forget(self, key: tuple[str, ...]) -> None:
        if (stored := self._stored.pop(key, None)) is not None:
            self._bytes -= len(stored[0].data)

    def close(self) -> None:
        """End all processes."""
        self._pool.close()


def pieces(data: bytes) -> Iterator[bytes]:
    """Decompress a document in pieces, so that a client that reads slowly holds no more than one of them."""
    inflating = zlib.decompressobj()
    for start in range(0, len(data), _INPUT):
        some = data[start : start + _INPUT]
        while some:
            yield inflating.decompress(some, PIECE)
            some = inflating.unconsumed_tail
    yield inflating.flush()
