"""The results of a sweep: one JSON row for each target, appended to a file that survives a kill at any moment.

A target is done when its row is in the results. The journal beside them has the identity of the sweep and the
targets that were begun. Both are written before the next step, so a kill loses nothing but the work under way; a
loss of power may also lose the last second.
Why a row is the record: docs/decisions/0056-a-row-is-the-record.md.
"""

from __future__ import annotations

import json
import os
import re
from array import array
from itertools import chain
from time import monotonic
from typing import IO, TYPE_CHECKING, Any
from uuid import NAMESPACE_URL, uuid4, uuid5

from mcproof.client.errors import ConnectError
from mcproof.core.errors import InputError, McproofError, UsageError, WriteError, reason_of
from mcproof.core.named_tuple import NamedTuple
from mcproof.runs.records import encode, printable
from mcproof.services.sweep.registry import Failing
from mcproof.targets.snapshots import NoCatalogError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.runs.results import TargetResult
    from mcproof.services.store.database import Database
    from mcproof.services.sweep.check import Attempt
    from mcproof.services.sweep.registry import SweepTarget


class KeySet:
    """Keys other than 0, in an array with open addressing. They are hashes, so they are spread evenly."""

    def __init__(self) -> None:
        self._slots = array("Q", bytes(8 * 1024))
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def __contains__(self, key: int) -> bool:
        return self._slots[self._slot(key)] == key

    def add(self, key: int) -> bool:
        """Add a key; return whether it is new."""
        slot = self._slot(key)
        if self._slots[slot] == key:
            return False
        self._slots[slot] = key
        self._count += 1
        # At most half full, so that a search takes few steps.
        if 2 * self._count > len(self._slots):
            keys, self._slots = self._slots, array("Q", bytes(16 * len(self._slots)))
            for former in keys:
                if former:
                    self._slots[self._slot(former)] = former
        return True

    def _slot(self, key: int) -> int:
        slots, last = self._slots, len(self._slots) - 1
        slot = key & last
        while slots[slot] not in (0, key):
            slot = (slot + 1) & last
        return slot


_KEY = re.compile("[0-9a-f]{16}")
ROW_VERSION = 1
KIND = "sweep-outcome"
CHECKED = "checked"
OUTCOMES = (CHECKED, "unreachable", "unreadable", "timed-out", "crashed", "left-out")
"""What can become of a target: checked; a live server that cannot be listed; a file that cannot be read; over the time
limit; its work ended the worker process twice; not started, because the user does not allow it."""
_RETRIED_STATUSES = (429, *range(500, 600))
# The first that matches counts.
_REASONS = (
    (r"internal error", "internal error"),
    (r"not the whole catalog(?!.*no response within)", "not the whole catalog"),
    (r"cannot start", "command not found or not executable"),
    (r"connecting timed out|no response within|not done within", "no response in time"),
    (r"certificate|ssl|tls", "TLS"),
    (r"name or service not known|nodename nor servname|getaddrinfo|name resolution|no address", "unknown host"),
    (r"connection refused|all connection attempts failed", "connection refused"),
    (r"cannot be reached", "network"),
    (r"the connection broke", "connection lost"),
    (r"authoriz", "authorization required"),
    (r"exited with code|was killed by signal|closed its output", "the process ended"),
    (r"redirects", "redirect"),
    (r"HTTP \d+", "HTTP error"),
)
_MATCHERS = tuple((re.compile(pattern, re.IGNORECASE), reason) for pattern, reason in _REASONS)


class Timing(NamedTuple):
    """What differs from run to run."""

    started: str
    seconds: float
    attempts: int = 1


def failing(error: McproofError, *, is_live: bool) -> Failing:
    """Classify the error of a target."""
    if not is_live:
        return Failing("unreadable", _file_reason(error), str(error))
    status = error.status if isinstance(error, ConnectError) else None
    if status is not None:
        reason = "authorization required" if status in (401, 403) else f"HTTP {status}"
    else:
        reason = next((reason for matcher, reason in _MATCHERS if matcher.search(error.message)), "not an MCP server")
    outcome = "timed-out" if reason == "no response in time" else "unreachable"
    return Failing(outcome, reason, error.message)


def _file_reason(error: McproofError) -> str:
    if isinstance(error, NoCatalogError):
        return "not a catalog"
    if error.line is not None or "nested too deeply" in error.message:
        return "not JSON"
    return "no tools" if "nothing to check" in error.message else "cannot be read"


def retry_wait(error: McproofError) -> float | None:
    """Seconds that a server asks to wait before another try; 0 if it names none, None if no try would help."""
    if not isinstance(error, ConnectError):
        return None
    if error.status in _RETRIED_STATUSES:
        return error.retry_after or 0.0
    return 0.0 if error.is_transient else None


def failed_row(target: SweepTarget, why: Failing, timing: Timing) -> str:
    """Return the line of a target that could not be checked."""
    return _row_line({**_head(target, why.outcome), "reason": why.reason, "message": why.message}, timing)


def checked_row(target: SweepTarget, result: TargetResult, more: dict[str, Any], timing: Timing) -> str:
    """Return the line of a target that was checked; `more` has the members of `--scan` and `--prove`."""
    levels, scores = result.levels(), result.scores
    row = {
        **_head(target, CHECKED),
        "server": result.server,
        "protocol": result.protocol,
        "transport": None if result.connection is None else result.connection["transport"],
        "counts": result.counts,
        "grade": None if scores.grade is None else {"letter": scores.grade.letter, "score": scores.grade.score},
        "tokens": None if scores.tokens is None else scores.tokens.total,
        "descriptions": None if scores.descriptions is None else round(scores.descriptions.mean, 4),
        "summary": {
            "errors": levels["error"],
            "warnings": levels["warning"],
            "notes": levels["note"],
            "by_rule": result.by_rule(),
        },
        **more,
    }
    return _row_line(row, timing)


def trust_members(result: TargetResult) -> dict[str, Any]:
    """Return what `--scan` adds to a row."""
    if result.trouble is not None or result.payload.kind != "scan" or result.payload.trust is None:
        return {"trust": None, "scan_error": None if result.trouble is None else result.trouble.message}
    trust = result.payload.trust
    return {
        "trust": {
            "score": trust.score,
            "verdict": trust.verdict,
            "coverage": trust.coverage,
            "hard_fails": list(trust.hard_fails),
        }
    }


def proof_members(result: TargetResult) -> dict[str, Any]:
    """Return what `--prove` adds to a row."""
    if result.trouble is not None:
        return {"proof": None, "prove_error": result.trouble.message}
    verdicts: dict[str, int] = {}
    for cell in result.matrix:
        verdicts[cell.verdict] = verdicts.get(cell.verdict, 0) + 1
    judged = [probe.passed for probe in result.probes if probe.passed is not None]
    proof = {
        "passed": result.passed,
        "probes": len(judged),
        "failed": judged.count(False),
        "verdicts": dict(sorted(verdicts.items())),
    }
    return {"proof": proof}


def _head(target: SweepTarget, outcome: str) -> dict[str, Any]:
    return {
        "schema_version": ROW_VERSION,
        "kind": KIND,
        "id": f"{target.key:016x}",
        "target": target.label,
        "name": target.name or None,
        "outcome": outcome,
    }


def _row_line(row: dict[str, Any], timing: Timing) -> str:
    row["attempts"] = timing.attempts
    row["timings"] = {"started": timing.started, "seconds": round(timing.seconds, 4)}
    return printable(encode(row)) + "\n"


JOURNAL_VERSION = 1
_SYNCED_EVERY = 1.0
"""Seconds between two waits for the disk."""


class ResultsFile:
    """An open results file with its journal."""

    def __init__(self, file: str, identity: dict[str, Any], *, restarts: bool = False) -> None:
        self.file = file
        self.journal = f"{file}.journal"
        self.done = KeySet()
        self.unfinished: dict[int, int] = {}
        """The targets that were under way when an earlier run was killed, each with how often."""
        self.unfinished_alone: dict[int, int] = {}
        """Those that were checked alone at that time."""
        self.is_resumed = False
        self.sweep_id = uuid4().hex
        """Distinguishes this sweep from every other; the same after a kill."""
        self._synced = monotonic()
        self._begun: list[str] = []
        is_new = not os.path.exists(file)
        try:
            self._results: IO[bytes] = open(file, "ab", buffering=0)  # noqa: SIM115
        except OSError as error:
            raise WriteError(f"cannot be written: {reason_of(error)}", file=file) from None
        try:
            _lock(self._results, file)
            if not (restarts or is_new):
                self._resume(identity)
            if not self.is_resumed:
                # The journal of another sweep must not outlive its results, nor the other way round.
                if os.path.exists(self.journal):
                    os.remove(self.journal)
                self._results.truncate(0)
            self._journal: IO[bytes] = open(self.journal, "ab", buffering=0)  # noqa: SIM115
        except OSError as error:
            self._results.close()
            raise WriteError(f"cannot be written: {reason_of(error)}", file=self.journal) from None
        except BaseException:
            self._results.close()
            raise
        head = {"kind": "mcproof-sweep", "schema_version": JOURNAL_VERSION, "id": self.sweep_id, "sweep": identity}
        self._journal.write(json.dumps({"session": True} if self.is_resumed else head).encode() + b"\n")

    def _resume(self, identity: dict[str, Any]) -> None:
        """Read what is there. Raises a UsageError if it belongs to another sweep."""
        is_empty = not os.path.getsize(self.file)
        if not os.path.exists(self.journal):
            if is_empty:
                return
            raise UsageError(
                f"{self.file} is not the result of a sweep that can go on: there is no {self.journal}; "
                "--restart replaces it, --results names another file"
            )
        head = next(_lines(self.journal), None)
        if not isinstance(head, dict) or head.get("kind") != "mcproof-sweep":
            if head is None and is_empty:  # killed before it was written
                return
            raise UsageError(f"{self.journal} is not the journal of a sweep; --results names another file")
        if head.get("schema_version") != JOURNAL_VERSION or head.get("sweep") != identity:
            raise UsageError(
                f"{self.file} has the results of a sweep with {_differences(head.get('sweep'), identity)}; "
                "--restart replaces them, --results names another file"
            )
        _drop_torn_line(self.file)
        _drop_torn_line(self.journal)
        self.is_resumed = True
        self.sweep_id = str(head.get("id"))
        for row in rows_of(self.file):
            self.done.add(int(row["id"], 16))
        self._read_unfinished()

    def _read_unfinished(self) -> None:
        """Count the runs that ended while a target was under way."""
        session: set[tuple[int, bool]] = set()
        # The last run has ended as well, though no other run has noted it.
        for line in chain(_lines(self.journal), [{"session": True}]):
            begun = line.get("begin") if isinstance(line, dict) else None
            if isinstance(begun, str) and _KEY.fullmatch(begun) and (key := int(begun, 16)) not in self.done:
                session.add((key, bool(line.get("alone"))))
            elif isinstance(line, dict) and "session" in line:
                for key, is_alone in session:
                    counted = self.unfinished_alone if is_alone else self.unfinished
                    counted[key] = counted.get(key, 0) + 1
                session.clear()

    def begin(self, key: int, *, alone: bool = False) -> None:
        """Note that a target is about to be checked; written with the next `flush`."""
        self._begun.append(json.dumps({"begin": f"{key:016x}", **({"alone": True} if alone else {})}) + "\n")

    def flush(self) -> None:
        """Write which targets are begun."""
        if self._begun:
            self._journal.write("".join(self._begun).encode())
            self._begun.clear()

    def append(self, rows: list[tuple[int, str]]) -> None:
        """Add the rows of targets that are done."""
        self._results.write("".join(line for _, line in rows).encode("ascii"))
        for key, _ in rows:
            self.done.add(key)
        if monotonic() - self._synced > _SYNCED_EVERY:
            self._sync()

    def _sync(self) -> None:
        os.fsync(self._results.fileno())
        self._synced = monotonic()

    def close(self) -> None:
        self._sync()
        self._results.close()
        self._journal.close()


def _lock(stream: IO[bytes], file: str) -> None:
    """Keep other sweeps from writing to a file, as long as it is open. Raises a UsageError if one does."""
    try:
        import fcntl
    except ImportError:  # Windows has no such locks
        return
    try:
        fcntl.flock(stream.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise UsageError(f"another sweep is writing to {file}; --results names another file") from None
    except OSError:  # a file system without locks
        return


def rows_of(file: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of a results file. Raises an InputError with the line that is wrong."""
    try:
        with open(file, "rb") as lines:
            for number, line in enumerate(lines, 1):
                try:
                    row = json.loads(line)
                    if not 0 < int(row["id"], 16) < 1 << 64:
                        raise ValueError
                except (ValueError, TypeError, KeyError, RecursionError):
                    raise InputError("not a row of a sweep", file=file, line=number) from None
                yield row
    except OSError as error:
        raise InputError(f"cannot be read: {reason_of(error)}", file=file) from None


def _drop_torn_line(file: str) -> None:
    """Remove the end of a file that is not a whole line."""
    with open(file, "rb+") as stream:
        end = stream.seek(0, os.SEEK_END)
        at = end
        while at > 0:
            start = max(0, at - 65_536)
            stream.seek(start)
            newline = stream.read(at - start).rfind(b"\n")
            if newline >= 0:
                at = start + newline + 1
                break
            at = start
        if at != end:
            stream.truncate(at)


def _lines(file: str) -> Iterator[Any]:
    """Yield the values of a journal; a line that is not JSON ends it."""
    with open(file, "rb") as lines:
        for line in lines:
            try:
                yield json.loads(line)
            except (ValueError, RecursionError):  # the last line of a run that was killed while writing it
                return


def _differences(old: Any, new: dict[str, Any]) -> str:
    """Name the options in which two sweeps differ."""
    before = old if isinstance(old, dict) else {}
    names = [name for name in new if before.get(name) != new[name]]
    return f"other options ({', '.join(names)})" if names else "other options"


_TOGETHER = 64
"""How many outcomes are recorded in one transaction at most."""
_WAITING = 1.0
"""Seconds until outcomes are recorded, however few they are."""


class RowSink:
    """Records outcomes in the store, if there is one, then appends their rows to the results file.

    After a kill between the two, the target is checked again; its runs in the store have the same ids, and are left as
    they are.
    """

    def __init__(self, results: ResultsFile, database: Database | None = None) -> None:
        self._results = results
        self._database = database
        self._waiting: list[tuple[SweepTarget, Attempt]] = []
        self._since = monotonic()
        self.recorded = 0

    def add(self, target: SweepTarget, attempt: Attempt) -> None:
        """Take the outcome of a target."""
        if not self._waiting:
            self._since = monotonic()
        self._waiting.append((target, attempt))

    def flush(self, *, is_last: bool = False) -> None:
        """Write what was taken, all of it if no more follows."""
        # Other writers wait for each transaction, so outcomes are recorded together; the file has no such limit.
        is_due = len(self._waiting) >= _TOGETHER or monotonic() - self._since >= _WAITING
        if not self._waiting or not (is_last or is_due or self._database is None):
            return
        if self._database is not None:
            self.recorded += self._record(self._database)
        self._results.append([(target.key, attempt.line) for target, attempt in self._waiting])
        self._waiting = []

    def _record(self, database: Database) -> int:
        from mcproof.services.store.recording import NewRecord, record_new

        sweep = uuid5(NAMESPACE_URL, self._results.sweep_id)
        records = [
            NewRecord(str(uuid5(sweep, f"{target.key:016x}/{number}")), target.name or target.label, stored)
            for target, attempt in self._waiting
            for number, stored in enumerate(attempt.stored)
        ]
        return record_new(database, records)
