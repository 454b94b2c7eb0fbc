"""Events: what a run reports while it is under way. The result is complete without them.

Why listeners are callbacks: docs/decisions/0027-run-events.md.
"""

from __future__ import annotations

from collections.abc import Callable
from time import gmtime, perf_counter, strftime
from typing import TYPE_CHECKING

from mcproof.core.named_tuple import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcproof.checks.clients.fix import UnfixedHit
    from mcproof.checks.findings import Finding
    from mcproof.checks.fixes.source import FixedFile
    from mcproof.core.catalog.model import Catalog
    from mcproof.core.errors import McproofError, Notice
    from mcproof.probing.permission import Permission
    from mcproof.runs.results import AppliedConfiguration, RunResult, TargetResult
    from mcproof.targets.arguments import Input


class RunStarted(NamedTuple):
    """The run is planned; nothing was read from a target or sent yet. A listener may raise to prevent the run."""

    is_single: bool
    """Whether the request is for one target, as opposed to several or a folder."""
    inputs: tuple[Input, ...] = ()
    files: Mapping[str, str] = {}
    """The files that the run needs, each with its role; no output may replace them."""


class ConfigurationApplied(NamedTuple):
    """A configuration changes what is checked."""

    configuration: AppliedConfiguration


class TargetStarted(NamedTuple):
    """A target is about to be checked."""

    number: int
    total: int
    name: str


class ProgressMade(NamedTuple):
    """A part of the work is done."""

    done: int
    total: int
    label: str


class CallsPlanned(NamedTuple):
    """The tools that may be called, and those that are not."""

    permissions: tuple[Permission, ...]


class FixedTarget(NamedTuple):
    """A target with its findings fixed."""

    name: str
    files: list[FixedFile]
    """The changed files; for a single file, that file even if nothing changed."""
    applied: int
    """How many findings are fixed."""
    made_required: int
    """How many optional parameters became required."""
    left: list[Finding]
    """The findings that need an author; those of a baseline included."""
    active: list[Finding]
    """Those of them that count."""
    catalog: Catalog
    """The catalog that the findings left are about."""
    kept: tuple[UnfixedHit, ...] = ()
    """What clients refuse and is not edited, with the reasons."""


class FixPlanned(NamedTuple):
    """The fixes of a target are known; nothing is written yet."""

    fixed: FixedTarget


class TargetFixed(NamedTuple):
    """The findings of a target are fixed."""

    fixed: FixedTarget


class TargetFinished(NamedTuple):
    """A target is checked, or could not be."""

    result: TargetResult
    catalog: Catalog | None = None
    """Its catalog, if one was read."""
    findings: list[Finding] = []  # noqa: RUF012 (never mutated)
    """The findings that count, as the rules made them."""


class TargetFailed(NamedTuple):
    """A target cannot be checked; the result has the message, and this event the error with its type."""

    name: str
    error: McproofError


class NoticeRaised(NamedTuple):
    """A notice of the result."""

    notice: Notice


class RunFinished(NamedTuple):
    """The result is complete. Only baselines are updated after this, so a listener that fails prevents that."""

    result: RunResult


class MessageSent(NamedTuple):
    """A side effect or a skipped input, in one line."""

    text: str
    is_detail: bool = False
    """Whether it is of interest only to those who ask for details."""


Event = (
    RunStarted
    | ConfigurationApplied
    | TargetStarted
    | ProgressMade
    | CallsPlanned
    | FixPlanned
    | TargetFixed
    | TargetFinished
    | TargetFailed
    | NoticeRaised
    | RunFinished
    | MessageSent
)
Listener = Callable[[Event], None]


def ignore(_: Event) -> None:
    """Ignore an event."""


def collecting(finished: list[TargetFinished]) -> Listener:
    """A listener that keeps what is finished, and raises the error of a target that cannot be checked."""

    def listen(event: Event) -> None:
        if isinstance(event, TargetFailed):
            raise event.error
        if isinstance(event, TargetFinished):
            finished.append(event)

    return listen


class Clock:
    """When a run started, and how long it has taken."""

    def __init__(self) -> None:
        self.started = strftime("%Y-%m-%dT%H:%M:%SZ", gmtime())
        """In UTC."""
        self._start = perf_counter()

    @property
    def seconds(self) -> float:
        return perf_counter() - self._start
