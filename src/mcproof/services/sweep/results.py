"""The results of a sweep, and the journal beside them: what is done survives a kill at any moment.

A target is done when its row is in the results, which are only ever appended to. The journal has the identity of the
sweep, and the targets that were begun. Both are written before the next step, so a kill loses nothing but the work
under way; a loss of power may also lose the last second.
"""

from __future__ import annotations

import json
import os
from itertools import chain
from time import monotonic
from typing import IO, TYPE_CHECKING, Any
from uuid import uuid4

from mcproof.core.errors import InputError, UsageError, WriteError, reason_of
from mcproof.sweep.key_set import KeySet

if TYPE_CHECKING:
    from collections.abc import Iterator

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
        self._journal.write(_journal_line({"session": True} if self.is_resumed else head))

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
        for line in chain(_lines(self.journal), [{"session": True}]):
            begun = line.get("begin") if isinstance(line, dict) else None
            if isinstance(begun, str) and (key := int(begun, 16)) not in self.done:
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
    except ImportError:
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
                    int(row["id"], 16)
                except (ValueError, TypeError, KeyError):
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
            except ValueError:
                return


def _journal_line(value: dict[str, Any]) -> bytes:
    return json.dumps(value).encode() + b"\n"


def _differences(old: Any, new: dict[str, Any]) -> str:
    """Name the options in which two sweeps differ."""
    before = old if isinstance(old, dict) else {}
    names = [name for name in new if before.get(name) != new[name]]
    return f"other options ({', '.join(names)})" if names else "other options"
