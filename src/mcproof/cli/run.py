"""From a request to an exit code: execute it, show its progress, write its outputs, and again after each change."""

from __future__ import annotations

import gc
import os
import time
from collections import deque
from itertools import chain
from typing import TYPE_CHECKING

from mcproof.checks.subjects import NO_TOOLS
from mcproof.cli.options import parse_fixing
from mcproof.cli.outputs import OutputOptions, Outputs, parse_outputs
from mcproof.core.console import (
    NORMAL,
    VERBOSE,
    Counter,
    interrupts_deferred,
    listed_names,
    plural,
    print_message,
    print_note,
)
from mcproof.core.errors import FAILED, INTERRUPTED, McproofError
from mcproof.core.named_tuple import NamedTuple
from mcproof.runs import execute
from mcproof.runs.events import (
    CallsPlanned,
    ConfigurationApplied,
    Event,
    MessageSent,
    NoticeRaised,
    ProgressMade,
    RunFinished,
    RunStarted,
    TargetFinished,
    TargetStarted,
)

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable, Iterator

    from mcproof.cli.command import Command
    from mcproof.probing.permission import Permission
    from mcproof.runs.requests import RunRequest
    from mcproof.runs.results import TargetResult


def run_check(command: Command, options: argparse.Namespace) -> int:
    """Build the request of a check from its options, execute it and write its outputs; return the exit code."""
    fixing = parse_fixing(options)
    # Before the request: a file that cannot be written is reported before targets are looked at.
    options.outputs = parse_outputs(options)
    request = command.request_of(options)
    if fixing is None:
        return run_request(request, options.outputs)
    from mcproof.cli.fixing import run_fix

    return run_fix(request, fixing)


def run_request(request: RunRequest, options: OutputOptions) -> int:
    """Execute a request and write its outputs; return the exit code."""
    outputs = Outputs(options)
    listener = ResultListener(outputs)
    try:
        result = execute(request, listener)
    finally:
        listener.clear()
    # A second Ctrl-C must not cut a document that is being printed.
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
            # A counter for one target would only flicker.
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
            print_note(event.text, VERBOSE if event.is_detail else NORMAL)
        elif isinstance(event, ConfigurationApplied):
            print_note(str(event.configuration))
        elif isinstance(event, NoticeRaised):
            (print_message if event.notice.level == "error" else print_note)(str(event.notice))
        elif isinstance(event, CallsPlanned):
            _print_calls(event.permissions)


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
            _print_skipped(event.result)
            print_note(f"{event.result.target}: took {event.result.seconds:.2f} s", VERBOSE)
        elif isinstance(event, RunFinished):
            self._outputs.write(event.result)
        else:
            super()._show(event)


def _print_skipped(result: TargetResult) -> None:
    """Report the rules that did not run, because the catalog has no list of tools."""
    for untested in result.untested:
        if untested.why == NO_TOOLS:
            print_note(f"{result.target}: {NO_TOOLS}, so skipped: {untested.what}")


def _print_calls(permissions: tuple[Permission, ...]) -> None:
    """Report which tools may be called, before anything is sent."""
    sure = [permission.tool.name for permission in permissions if permission.is_granted and not permission.is_presumed]
    presumed = [permission.tool.name for permission in permissions if permission.is_granted and permission.is_presumed]
    refused = [permission.tool.label for permission in permissions if not permission.is_granted]
    if sure:
        print_note(f"may call {plural(len(sure), 'tool')}: {listed_names(sure)}")
    if presumed:
        print_note(f"may call {plural(len(presumed), 'tool')}, presumed read-only: {listed_names(presumed)}")
    if refused:
        print_note(f"does not call {plural(len(refused), 'tool')}: {listed_names(refused)}")


EVERY = 0.3
"""Seconds between two checks of the files."""
# All of them are looked at several times a second, and somebody may watch a whole disk by mistake.
MOST_FILES = 20_000
MOST_FOLDERS = 5_000
_SUFFIXES = (
    ".c", ".cc", ".cjs", ".cpp", ".cs", ".env", ".ex", ".exs", ".go", ".h", ".hpp", ".java", ".js", ".json", ".jsx",
    ".kt", ".lua", ".mjs", ".php", ".py", ".rb", ".rs", ".scala", ".sh", ".sql", ".swift", ".toml", ".ts", ".tsx",
    ".yaml", ".yml",
)  # fmt: skip
"""Files that people write, as opposed to what servers write, such as logs and databases."""
_SKIPPED = frozenset(("venv", "env", "__pycache__", "node_modules", "site-packages", "dist", "build", "target"))


class Watched(NamedTuple):
    """The folders and files to watch."""

    folders: list[str]
    """Watched with everything below them."""
    files: list[str]
    """Watched one by one, wherever they are."""


def watch(run: Callable[[], int], watched: Callable[[], Watched], ours: Iterable[str]) -> int:
    """Run at once and after every change, except to files that mcproof writes itself (`ours`).

    A file in a watched folder that changes during two runs in a row is written by the run: it triggers no further run.
    Files that are watched one by one always do, because somebody edits them.
    """
    our_own = {os.path.realpath(name) for name in ours}
    ignored: set[str] = set()
    blamed: set[str] = set()
    while True:
        folders, files = watched()
        roots = list(dict.fromkeys(map(os.path.realpath, folders)))
        named = list(dict.fromkeys(map(os.path.realpath, files)))
        before = _state(roots, named)
        try:
            code = run()
        except McproofError as error:  # a mistake while somebody edits is no reason to stop watching
            print_message(str(error))
            code = FAILED
        if code == INTERRUPTED:
            return code
        # Off for short commands, but this process lives as long as somebody edits.
        gc.collect()
        after = _state(roots, named)
        meanwhile = _changed(before, after) - our_own
        written = (meanwhile & blamed).difference(named)
        for name in sorted(written - ignored):
            print_message(f"{os.path.relpath(name)} changes in every run; ignored from now on")
        ignored |= written
        blamed = meanwhile
        print_message("waiting for a change; Ctrl-C to stop")
        # What changed while the tests ran is tested as well, and no edit is lost.
        changed = meanwhile - ignored
        while not changed:
            time.sleep(EVERY)
            changed = _changed(after, _state(roots, named)) - our_own
        first, *others = sorted(changed)
        more = f" and {len(others):,} more" if others else ""
        print_message(f"changed: {os.path.relpath(first)}{more}")


def _changed(before: dict[str, tuple[int, int]], after: dict[str, tuple[int, int]]) -> set[str]:
    return {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}


def _state(roots: list[str], named: list[str]) -> dict[str, tuple[int, int]]:
    """The modification time and size of each file."""
    states: dict[str, tuple[int, int]] = {}
    for path in chain(named, _files(roots)):
        try:
            status = os.stat(path)
        except OSError:  # deleted meanwhile
            continue
        # The size too: editors write twice within the resolution of some clocks.
        states[path] = (status.st_mtime_ns, status.st_size)
        if len(states) >= MOST_FILES:
            break
    return states


def _files(roots: list[str]) -> Iterator[str]:
    waiting = deque(roots)
    seen = 0
    while waiting and seen < MOST_FOLDERS:
        seen += 1
        try:
            with os.scandir(waiting.popleft()) as listing:
                entries = sorted(listing, key=lambda entry: entry.name)
        except OSError:  # deleted meanwhile, or not readable: there is nothing to watch
            continue
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                if not (entry.name.startswith(".") or entry.name in _SKIPPED):
                    waiting.append(entry.path)
            elif entry.name.endswith(_SUFFIXES):
                yield entry.path
