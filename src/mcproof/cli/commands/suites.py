"""Commands about suites: `run` and `validate`."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import TYPE_CHECKING, Any

from mcproof.cli.command import ARGUMENTS, SERVERS, Command, Option, Options, seconds, whole_number, words
from mcproof.cli.options import RECORD_OPTIONS
from mcproof.cli.outputs import OUTPUTS, TEXT_OR_JSON, OutputOptions, parse_outputs
from mcproof.cli.target_options import START_TIMEOUT, TRACE
from mcproof.core.console import Style, print_message
from mcproof.core.errors import FAILED, OK, McproofError, UsageError
from mcproof.runs.requests import SuiteRequest

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from mcproof.testing.suites.model import Suite, SuiteError, SuiteProblem

TESTS = "Tests"
"""The title of a group of options."""


def _validate(options: argparse.Namespace) -> int:
    from mcproof.testing.suites.model import suite_files, suite_schema_text

    if options.schema:
        sys.stdout.write(suite_schema_text())
        return OK
    checked = [(file, _read(file)) for file in suite_files(options.suites)]
    if options.format == "json":
        _print_json(checked)
    else:
        style = Style.of(sys.stdout)
        for file, suite in checked:
            sys.stdout.write(_text(file, suite, style))
    return FAILED if any(isinstance(suite, McproofError) for _, suite in checked) else OK


def _read(file: str) -> Suite | SuiteError:
    from mcproof.testing.suites.model import SuiteError
    from mcproof.testing.suites.parser import read_suite

    try:
        return read_suite(file, None)
    except SuiteError as error:  # returned, so that the suites after it are still checked
        return error


def _text(file: str, suite: Suite | SuiteError, style: Style) -> str:
    from mcproof.core.console import plural
    from mcproof.testing.suites.entries import warnings_of

    if isinstance(suite, McproofError):
        return "".join(f"{style.text(line, 2000)}\n" for line in suite.lines)
    warned = [f"{style.text(str(warning), 2000)} (warning)\n" for warning in warnings_of(suite)]
    tick = style.paint(style.symbol("✓", "ok:"), "good")
    counted = f"{plural(suite.test_count, 'test')} on {plural(len(suite.servers), 'server')}"
    return "".join([*warned, f"{tick} {style.text(file)}: {counted}\n"])


def _print_json(checked: list[tuple[str, Suite | SuiteError]]) -> None:
    from mcproof.runs.records import small_document
    from mcproof.testing.suites.entries import warnings_of

    suites: list[dict[str, Any]] = [
        {"suite": file, "valid": False, "servers": 0, "tests": 0, "problems": _records(suite.problems), "warnings": []}
        if isinstance(suite, McproofError)
        else {
            "suite": file,
            "valid": True,
            "servers": len(suite.servers),
            "tests": suite.test_count,
            "problems": [],
            "warnings": _records(warnings_of(suite)),
        }
        for file, suite in checked
    ]
    first = next((problem for document in suites for problem in document["problems"]), None)
    sys.stdout.writelines(small_document(**({} if first is None else {"error": first}), suites=suites))


def _records(problems: list[SuiteProblem]) -> list[dict[str, Any]]:
    return [problem._asdict() for problem in problems]


def _run_suites(options: argparse.Namespace) -> int:
    from mcproof.testing.suites.model import parse_expression
    from mcproof.testing.suites.snapshots import refuse_update

    if options.keyword:
        parse_expression(options.keyword)  # a mistake in it is reported before a server starts
    if options.update_snapshots:
        refuse_update(os.environ, is_allowed=options.allow_update_in_ci)
    request: SuiteRequest = RUN.request_of(options)
    outputs = parse_outputs(options)
    return _watch(request, outputs) if options.watch else _run(request, outputs)


def _files(options: argparse.Namespace) -> tuple[str, ...]:
    from mcproof.testing.suites.model import suite_files

    return tuple(suite_files(options.suites))


def _named_tests(suites: list[str]) -> Iterator[tuple[str, str]]:
    """Files and names of the tests in `SUITE::test`, except for suites that are also named as a whole."""
    from mcproof.testing.suites.model import split_test, suite_files

    # `mcproof run a.yaml a.yaml::test` runs the whole suite once, not one test of it.
    whole = {file for name in suites if split_test(name)[1] is None for file in suite_files([name])}
    for name in suites:
        place, test = split_test(name)
        if test is not None:
            yield from ((file, test) for file in suite_files([place]) if file not in whole)


def _run(request: SuiteRequest, outputs: OutputOptions) -> int:
    """Run the suites once; text output lists every mistake in an invalid suite."""
    from mcproof.cli.run import run_request
    from mcproof.testing.suites.model import SuiteError

    try:
        return run_request(request, outputs)
    except SuiteError as error:
        if not outputs.is_text:
            raise
        for line in error.lines:
            print_message(line)
        return FAILED


def _watch(request: SuiteRequest, outputs: OutputOptions) -> int:
    """Run the suites whenever a file changes."""
    from mcproof.cli.run import Watched, watch
    from mcproof.testing.suites.model import SuiteError
    from mcproof.testing.suites.parser import read_suite
    from mcproof.testing.suites.snapshots import snapshot_file

    if not outputs.is_text:
        raise UsageError(f"--watch prints one run after the other, which is not valid {outputs.format}; omit --format")
    files = list(request.files)
    folders = [os.curdir, *(os.path.dirname(file) or os.curdir for file in files)]
    known = Watched(folders, files)

    def watched() -> Watched:
        nonlocal known
        with contextlib.suppress(SuiteError):  # the run reports it
            suites = [read_suite(file, os.environ) for file in files]
            servers = [server for suite in suites for server in suite.servers.values()]
            # Servers are restarted by each run, so a change of their code is a reason for another.
            places = [server.directory for server in servers if server.directory is not None]
            named = [os.path.join(server.directory or "", word) for server in servers for word in server.command]
            imported = [file for suite in suites for file in suite.files]
            known = Watched([*folders, *places], [*imported, *filter(os.path.isfile, named)])
        return known

    return watch(lambda: _run(request, outputs), watched, [*outputs.file_names, *map(snapshot_file, files)])


SUITES = Options(
    Option(
        ARGUMENTS,
        "suites SUITE",
        "a suite in YAML, a folder for every suite below it, or SUITE::TEST for one test (default: mcproof.yaml, "
        "mcproof.yml, mcptest.yaml or mcptest.yml in this folder)",
        nargs="*",
    ),
    files=_files,
    tests=lambda options: tuple(_named_tests(options.suites)),
)
RUN = Command(
    "run",
    "Run test suites in YAML.",
    (
        SUITES,
        Option(
            TESTS,
            "-k EXPRESSION",
            "run only tests whose names or tags contain these words; with and, or, not and parentheses",
            to="keyword",
            dest="keyword",
            default="",
        ),
        Option(TESTS, "--filter TEXT", "run only tests with this text in their names", to="filter", default=""),
        Option(
            TESTS,
            "--tag TAG",
            "run only tests with one of these tags; comma-separated, repeatable",
            to="tags",
            read=words,
            repeatable=True,
        ),
        Option(TESTS, "--fail-fast", "stop at the first test that fails", to="fail_fast"),
        Option(
            TESTS,
            "--retry N",
            "retry a test that does not pass up to N times; the report names tests that pass late",
            to="retries",
            type=whole_number("times", 0, 100),
            default=0,
        ),
        Option(TESTS, "--watch", "rerun when a file here, beside a suite or of a server changes, until Ctrl-C"),
        Option("Snapshots", "--update-snapshots", "accept current results as snapshots", to="update_snapshots"),
        Option("Snapshots", "--allow-update-in-ci", "allow --update-snapshots in a CI job"),
        OUTPUTS,
        RECORD_OPTIONS,
        Option(
            SERVERS,
            "--timeout SECONDS",
            "time limit for a response if the suite sets none (default 30, and 10 for probes)",
            to="timeout",
            type=seconds,
        ),
        START_TIMEOUT,
        TRACE,
    ),
    usage="[OPTIONS] [SUITE...]",
    examples="""\
mcproof run  mcproof.yaml in this folder
mcproof run tests/  every suite below a folder
mcproof run -k "search and not slow"  only some tests
mcproof run "mcproof.yaml::search finds"  one test
mcproof run --watch  rerun after every change
""",
    request=SuiteRequest,
    run=_run_suites,
)
COMMANDS = (
    RUN,
    Command(
        "validate",
        "Check test suites without starting anything: all mistakes, with line and column.",
        (
            SUITES,
            Option(ARGUMENTS, "--schema", "print the JSON Schema of test suites, for editors, and check nothing"),
            TEXT_OR_JSON,
        ),
        usage="[OPTIONS] [SUITE...]\n--schema",
        examples="""\
mcproof validate  check mcproof.yaml
mcproof validate tests/  check every suite below a folder
mcproof validate --schema > mcproof.schema.json
""",
        notes="""\
An editor with a YAML language server checks suites while you type, if their first line is
`# yaml-language-server: $schema=mcproof.schema.json`.
""",
        run=_validate,
    ),
)
