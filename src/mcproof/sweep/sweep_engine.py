"""What a sweep needs of the machines that do its work: processes here, or a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from mcproof.sweep.check_target import Attempt, SweepTask


class Finished(NamedTuple):
    """A try of a target has ended."""

    number: int
    attempt: Attempt


class Lost(NamedTuple):
    """A worker has ended before its work was done."""

    suspects: tuple[int, ...]
    """The tasks that may have ended it."""
    bystanders: tuple[int, ...] = ()
    """The tasks that it had not begun."""


class Overdue(NamedTuple):
    """A task did not end by itself within its time limit, so its worker was killed."""

    number: int


EngineEvent = Finished | Lost | Overdue


class SweepEngine(Protocol):
    """Runs `check_target` on tasks. A task that is submitted ends in exactly one event that names it."""

    def has_room(self, *, is_live: bool, alone: bool = False) -> bool:
        """Whether another task would begin soon; if not, the sweep reads no further targets."""

    def submit(self, task: SweepTask, *, alone: bool = False) -> None:
        """Begin a task; `alone` in a worker that has nothing else to do."""

    def events(self, seconds: float) -> list[EngineEvent]:
        """Return what has happened; wait for up to this many seconds if nothing has."""

    def close(self) -> None:
        """End all workers, and everything that they have started."""
