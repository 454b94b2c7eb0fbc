"""From a request to an exit code: execute it, show its progress, write its outputs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.checks.engine import NO_TOOLS
from mcproof.cli.outputs import Outputs
from mcproof.core.console import NORMAL, VERBOSE, Counter, plural, remark, tell
from mcproof.core.errors import INTERRUPTED
from mcproof.runs import execute
from mcproof.runs.events import (
    CallsPlanned,
    ConfigurationApplied,
    MessageSent,
    NoticeRaised,
    ProgressMade,
    RunFinished,
    RunStarted,
    TargetFinished,
    TargetStarted,
)
from mcproof.runs.loop import interrupts_deferred

if TYPE_CHECKING:
    from mcproof.cli.outputs import OutputOptions
    from mcproof.probing.permission import Permission
    from mcproof.runs.events import Event
    from mcproof.runs.requests import RunRequest
    from mcproof.runs.results import TargetResult


def run_request(request: RunRequest, options: OutputOptions) -> int:
    """Execute a request and write its outputs; return the exit code."""
    outputs = Outputs(options)
    listener = ResultListener(outputs)
    try:
        result = execute(request, listener)
    finally:
        listener.clear()
    with interrupts_deferred() as interrupts:
        outputs.print(result)
    return INTERRUPTED if interrupts else result.exit_code


class ConsoleListener:
    """Shows progress, notices and messages on standard error."""

    def __init__(self) -> None:
        self._counter = Counter()
        self._shows_progress = False

    def __call__(self, event: Event) -> None:
        if isinstance(event, TargetStarted):
            if event.total > 1:
                self._show_progress(event.number, event.total, event.name[-60:])
        elif isinstance(event, ProgressMade):
            self._show_progress(event.done, event.total, event.label)
        else:
            self.clear()
            self._show(event)

    def clear(self) -> None:
        """Clear the line that shows progress."""
        if self._shows_progress:
            self._counter.clear()
            self._shows_progress = False

    def _show_progress(self, done: int, total: int, label: str) -> None:
        self._counter.step(done, total, label)
        self._shows_progress = True

    def _show(self, event: Event) -> None:
        if isinstance(event, MessageSent):
            remark(event.text, VERBOSE if event.is_detail else NORMAL)
        elif isinstance(event, ConfigurationApplied):
            remark(str(event.configuration))
        elif isinstance(event, NoticeRaised):
            (tell if event.notice.level == "error" else remark)(str(event.notice))
        elif isinstance(event, CallsPlanned):
            _tell_calls(event.permissions)


class ResultListener(ConsoleListener):
    """Also prints the result of each target as soon as it is finished, and writes the files at the end."""

    def __init__(self, outputs: Outputs) -> None:
        super().__init__()
        self._outputs = outputs

    def _show(self, event: Event) -> None:
        if isinstance(event, RunStarted):
            self._outputs.start(is_single=event.is_single, needed=event.files)
        elif isinstance(event, ConfigurationApplied):
            self._outputs.show_configuration(event.configuration)
        elif isinstance(event, TargetFinished):
            self._outputs.show(event.result, event.catalog)
            _tell_skipped(event.result)
            remark(f"{event.result.target}: took {event.result.seconds:.2f} s", VERBOSE)
        elif isinstance(event, RunFinished):
            self._outputs.write(event.result)
        else:
            super()._show(event)


def _tell_skipped(result: TargetResult) -> None:
    """Report the rules that did not run, because the catalog has no list of tools."""
    for each in result.untested:
        if each.why == NO_TOOLS:
            remark(f"{result.target}: {NO_TOOLS}, so skipped: {each.what}")


def _tell_calls(permissions: tuple[Permission, ...]) -> None:
    """Report which tools will be called, before anything is sent."""
    from mcproof.runs.prove import listed_names

    sure = [each.tool.name for each in permissions if each.is_granted and not each.is_presumed]
    presumed = [each.tool.name for each in permissions if each.is_granted and each.is_presumed]
    refused = [each.tool.label for each in permissions if not each.is_granted]
    if sure:
        remark(f"calls {plural(len(sure), 'tool')}: {listed_names(sure)}")
    if presumed:
        remark(f"calls {plural(len(presumed), 'tool')}, presumed read-only: {listed_names(presumed)}")
    if refused:
        remark(f"does not call {plural(len(refused), 'tool')}: {listed_names(refused)}")
