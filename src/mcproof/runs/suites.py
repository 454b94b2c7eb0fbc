"""Run suites of tests."""

from __future__ import annotations

import os
from time import perf_counter
from typing import TYPE_CHECKING

from mcproof import __version__
from mcproof.client.redaction import hiding_whole
from mcproof.core.console import plural
from mcproof.core.errors import InputError, McproofError
from mcproof.core.named_tuple import NamedTuple
from mcproof.runs.events import Clock, MessageSent, NoticeRaised, ProgressMade, RunFinished, RunStarted, TargetFinished
from mcproof.runs.exit_code import exit_code
from mcproof.runs.results import COMPLETE, Gate, RunResult, SuitePayload, TargetResult, Trouble
from mcproof.testing.outcomes import TestResult
from mcproof.testing.suites.model import matches, named_tests, parse_expression
from mcproof.testing.suites.parser import read_suite
from mcproof.testing.suites.runner import EARLIER_FAILURE, RunOptions, run_suite, skipped
from mcproof.testing.suites.snapshots import SnapshotStore, snapshot_file, snapshot_names

if TYPE_CHECKING:
    from mcproof.core.errors import Notice
    from mcproof.runs.events import Listener
    from mcproof.runs.requests import RunSession, SuiteRequest
    from mcproof.testing.suites.model import Suite, SuiteTest

NO_CATALOG = {"tools": 0, "resources": 0, "templates": 0, "prompts": 0}
"""The counts of a suite, which checks no catalog as such."""


_UNFINISHED = [Gate(COMPLETE, "all tests", "interrupted", False)]
"""The gates of a suite that the user interrupted."""


class _SuiteRun(NamedTuple):
    """The result of a suite, and what else the run needs to know."""

    result: TargetResult
    is_interrupted: bool = False
    notices: tuple[Notice, ...] = ()


def run_suites(request: SuiteRequest, listen: Listener, _: RunSession) -> RunResult:
    """Run the tests that a request selects, suite by suite. Raises SuiteError if a suite is invalid."""
    clock = Clock()
    # All of them, before any server starts: docs/decisions/0020-suites-are-checked-first.md.
    suites = [read_suite(file, os.environ) for file in request.files]
    is_single = len(suites) == 1
    read = {file: "a suite" for suite in suites for file in suite.files}
    written = {snapshot_file(suite.file): "where snapshots are stored" for suite in suites}
    listen(RunStarted(is_single, files={**read, **written}))
    results: list[TargetResult] = []
    notices: list[Notice] = []
    is_interrupted, stopped = False, ""
    for suite, tests in _selected(suites, request):
        if stopped:
            payload = SuitePayload(skipped(tests, suite, stopped))
            gates = _UNFINISHED if is_interrupted else []
            ran = _SuiteRun(TargetResult(suite.file, counts=NO_CATALOG, gates=gates, payload=payload))
        else:
            ran = _run(suite, tests, request, listen)
        results.append(ran.result)
        notices += ran.notices
        listen(TargetFinished(ran.result))
        is_interrupted |= ran.is_interrupted
        if is_interrupted:
            stopped = "interrupted"
        elif request.fail_fast and not ran.result.passed:
            stopped = EARLIER_FAILURE
    for notice in notices:
        listen(NoticeRaised(notice))
    run = RunResult(
        command="run",
        version=__version__,
        targets=results,
        notices=notices,
        exit_code=exit_code(results, is_interrupted=is_interrupted),
        is_single=is_single,
        started=clock.started,
        seconds=clock.seconds,
    )
    listen(RunFinished(run))
    return run


def _selected(suites: list[Suite], request: SuiteRequest) -> list[tuple[Suite, list[SuiteTest]]]:
    """The suites with selected tests, each with those tests."""
    tags, part = set(request.tags), request.filter.casefold()
    condition = parse_expression(request.keyword) if request.keyword else None
    selected = []
    all_tags: set[str] = set()
    for suite in suites:
        # A tag may hold a variable of the environment, and this message goes to a log.
        hide = hiding_whole(suite.secrets)
        all_tags.update(hide(tag) for test in suite.tests for tag in test.tags)
        names = [name for file, name in request.tests if file == suite.file]
        tests = [
            test
            for test in (named_tests(suite.tests, names, suite.file) if names else suite.tests)
            if part in test.name.casefold()
            and (not tags or not tags.isdisjoint(test.tags))
            and (condition is None or matches(condition, test))
        ]
        if tests:
            selected.append((suite, tests))
    if not selected:
        there = f"the suite has the tags {', '.join(sorted(all_tags))}" if all_tags else "the suite has no tags"
        raise InputError(f"no tests match{f'; {there}' if tags else ''}")
    return selected


def _run(suite: Suite, tests: list[SuiteTest], request: SuiteRequest, listen: Listener) -> _SuiteRun:
    """Run tests of one suite, and store their snapshots."""
    start = perf_counter()
    store = SnapshotStore(suite.file, updates=request.update_snapshots)
    try:
        store.read()
    except McproofError as error:
        return _SuiteRun(TargetResult(suite.file, Trouble.of(error), payload=SuitePayload()))
    options = RunOptions(
        fails_fast=request.fail_fast,
        timeout=request.timeout,
        start_timeout=request.start_timeout,
        retries=request.retries,
    )
    ran = run_suite(suite, tests, options, store, lambda *progress: listen(ProgressMade(*progress)))
    results = ran.results
    orphans = store.orphans(snapshot_names(suite))
    try:
        store.save()
        if store.written:
            listen(MessageSent(f"{store.file}: {plural(store.written, 'snapshot')} written"))
        if orphans:
            what = f"{plural(len(orphans), 'orphaned snapshot')}, such as `{orphans[0]}`"
            done = "removed" if request.update_snapshots else "use --update-snapshots to remove"
            listen(MessageSent(f"{store.file}: {what}; {done}"))
    except McproofError as error:  # the results of the tests still count
        results.append(TestResult("the snapshots are written", "teardown", "", "error", str(error), (), suite.file, 1))
    result = TargetResult(
        suite.file,
        counts=NO_CATALOG,
        gates=_UNFINISHED if ran.interrupted else [],
        payload=SuitePayload(results),
        seconds=perf_counter() - start,
    )
    return _SuiteRun(result, ran.interrupted, tuple(ran.notices))
