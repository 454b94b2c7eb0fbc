"""`mcproof run`."""

from __future__ import annotations

import contextlib
import os
from time import perf_counter
from typing import TYPE_CHECKING

from mcproof.cli.commands.validate import add_suites
from mcproof.cli.main import FAILED, FINDINGS, INTERRUPTED, OK
from mcproof.cli.options import Parser, add_outputs, seconds, whole_number, words
from mcproof.errors import InputError, McproofError, UsageError

if TYPE_CHECKING:
    import argparse

    from mcproof.results.run import Notice, TargetResult
    from mcproof.suite.definition import Suite, SuiteTest
    from mcproof.suite.parse.problems import SuiteError


READ = ("text", "concise")
"""The formats that people read along."""
NO_CATALOG = {"tools": 0, "resources": 0, "templates": 0, "prompts": 0}
"""No catalog was looked at for its own sake."""


def parser() -> Parser:
    parser = Parser("run", "Run suites: tests of MCP servers in YAML.")
    add_suites(parser)
    add_outputs(parser)
    parser.add_argument("--filter", metavar="TEXT", default="", help="run only tests with this text in their names")
    parser.add_argument(
        "--tag",
        action="append",
        default=[],
        metavar="TAG",
        help="run only tests with one of these tags; comma-separated, repeatable",
    )
    parser.add_argument("--fail-fast", action="store_true", help="stop at the first test that fails")
    parser.add_argument(
        "--retry",
        type=whole_number("times", 0, 100),
        default=0,
        metavar="N",
        help="try a test that does not pass up to N times more; one that passes then says so",
    )
    parser.add_argument(
        "--timeout",
        type=seconds,
        metavar="SECONDS",
        help="how long an answer may take where the suite does not say (default 30, and 10 for probes)",
    )
    parser.add_argument(
        "--watch",
        action="store_true",
        help="run again whenever a file here, beside a suite or of a server changes, until Ctrl-C",
    )
    parser.add_argument("--update-snapshots", action="store_true", help="accept the current results as snapshots")
    parser.add_argument("--allow-update-in-ci", action="store_true", help="let --update-snapshots work in a CI job")
    return parser


def command(arguments: list[str]) -> int:
    from mcproof.suite.locate import suite_files
    from mcproof.suite.snapshots import refuse_update

    options = parser().parse_args(arguments)
    if options.update_snapshots:
        refuse_update(os.environ, is_allowed=options.allow_update_in_ci)
    files = suite_files(options.suites)
    return _watch(files, options) if options.watch else _run_all(files, options)


def _watch(files: list[str], options: argparse.Namespace) -> int:
    from mcproof.cli.watching import Watched, watch
    from mcproof.report.formats import parse_output
    from mcproof.suite.parse.problems import SuiteError
    from mcproof.suite.parse.suite_parser import read_suite
    from mcproof.suite.snapshots import snapshot_file

    if options.format not in READ:
        raise UsageError(f"--watch prints one run after the other, which is no {options.format}; leave --format out")
    written = [parse_output(word).file for word in options.output] + ([options.report] if options.report else [])
    folders = [os.curdir, *(os.path.dirname(file) or os.curdir for file in files)]
    known = Watched(folders, files)

    def watched() -> Watched:
        nonlocal known
        with contextlib.suppress(SuiteError):  # which the run tells
            suites = [read_suite(file, os.environ) for file in files]
            servers = [server for suite in suites for server in suite.servers.values()]
            places = [server.directory for server in servers if server.directory is not None]
            named = [os.path.join(server.directory or "", word) for server in servers for word in server.command]
            imported = [file for suite in suites for file in suite.files]
            known = Watched([*folders, *places], [*imported, *filter(os.path.isfile, named)])
        return known

    return watch(lambda: _run_all(files, options), watched, [*written, *map(snapshot_file, files)])


def _run_all(files: list[str], options: argparse.Namespace) -> int:
    from mcproof.cli.execute import now
    from mcproof.cli.outputs import Outputs
    from mcproof.console import tell
    from mcproof.results.payloads import SuitePayload
    from mcproof.results.run import RunResult, TargetResult
    from mcproof.suite.parse.problems import SuiteError
    from mcproof.suite.parse.suite_parser import read_suite
    from mcproof.suite.run.runner import EARLIER_FAILURE, skipped
    from mcproof.suite.snapshots import snapshot_file

    is_single = len(files) == 1
    outputs = Outputs("run", options, is_single=is_single)
    try:
        suites = [read_suite(file, os.environ) for file in files]
    except SuiteError as error:
        if options.format not in READ:
            raise
        _tell_all(error)
        return FAILED
    outputs.refuse_to_replace({file: "a suite" for suite in suites for file in suite.files})
    outputs.refuse_to_replace({snapshot_file(suite.file): "where snapshots are stored" for suite in suites})
    chosen = _chosen(suites, options)
    start, started = perf_counter(), now()
    reports: list[TargetResult] = []
    notices: list[Notice] = []
    interrupted, stopped = False, ""
    for suite, tests in chosen:
        if stopped:
            report = TargetResult(suite.file, counts=NO_CATALOG, payload=SuitePayload(skipped(tests, suite, stopped)))
        else:
            report, interrupted, seen = _run(suite, tests, options)
            notices += seen
        reports.append(report)
        outputs.show(report)
        if interrupted:
            stopped = "interrupted"
        elif options.fail_fast and not report.passed:
            stopped = stopped or EARLIER_FAILURE
    for notice in notices:
        tell(str(notice))
    from mcproof import __version__

    code = INTERRUPTED if interrupted else _exit_code(reports)
    finished = RunResult(
        command="run",
        version=__version__,
        targets=reports,
        notices=notices,
        exit_code=code,
        is_single=is_single,
        started=started,
        seconds=perf_counter() - start,
    )
    outputs.write(finished)
    outputs.print(finished)
    return code


def _exit_code(reports: list[TargetResult]) -> int:
    """Tests that could not run outweigh failed tests."""
    if not all(report.is_complete for report in reports):
        return FAILED
    return OK if all(report.passed for report in reports) else FINDINGS


def _tell_all(error: SuiteError) -> None:
    """Say everything that is wrong with a suite."""
    from mcproof.console import tell

    for line in error.lines:
        tell(line)


def _chosen(suites: list[Suite], options: argparse.Namespace) -> list[tuple[Suite, list[SuiteTest]]]:
    """The suites, each with the tests that are asked for."""
    from mcproof.client.secrets import hiding_whole

    tags = set(words(options.tag))
    part = options.filter.casefold()
    chosen = []
    known: set[str] = set()
    for suite in suites:
        hide = hiding_whole(suite.secrets)
        known.update(hide(tag) for test in suite.tests for tag in test.tags)
        tests = [
            test
            for test in suite.tests
            if part in test.name.casefold() and (not tags or not tags.isdisjoint(test.tags))
        ]
        if tests:
            chosen.append((suite, tests))
    if not chosen:
        there = f"the suite has the tags {', '.join(sorted(known))}" if known else "the suite has no tags"
        raise InputError(f"no tests match{f'; {there}' if tags else ''}")
    return chosen


def _run(suite: Suite, tests: list[SuiteTest], options: argparse.Namespace) -> tuple[TargetResult, bool, list[Notice]]:
    from mcproof.console import Counter, plural, tell
    from mcproof.results.payloads import SuitePayload
    from mcproof.results.run import TargetResult, Trouble
    from mcproof.results.suite_tests import TestResult
    from mcproof.suite.run.runner import run_suite
    from mcproof.suite.run.suite_runtime import RunOptions
    from mcproof.suite.snapshots import SnapshotStore, snapshot_names

    start = perf_counter()
    store = SnapshotStore(suite.file, updates=options.update_snapshots)
    try:
        store.read()
    except McproofError as error:
        return TargetResult(suite.file, Trouble.of(error), payload=SuitePayload()), False, []
    counter = Counter()
    ran = run_suite(
        suite,
        tests,
        RunOptions(fails_fast=options.fail_fast, timeout=options.timeout, retries=options.retry),
        store,
        counter.step,
    )
    counter.clear()
    results = ran.results
    orphans = store.orphans(snapshot_names(suite))
    try:
        store.save()
        if store.written:
            tell(f"{store.file}: {plural(store.written, 'snapshot')} written")
        if orphans:
            removed = "removed" if options.update_snapshots else "use --update-snapshots to remove"
            listed = f"{plural(len(orphans), 'orphaned snapshot')}, such as `{orphans[0]}`"
            tell(f"{store.file}: {listed}; {removed}")
    except McproofError as error:  # which is no reason to lose what the tests have shown
        results.append(TestResult("the snapshots are written", "teardown", "", "error", str(error), (), suite.file, 1))
    report = TargetResult(suite.file, counts=NO_CATALOG, payload=SuitePayload(results), seconds=perf_counter() - start)
    return report, ran.interrupted, ran.notices
