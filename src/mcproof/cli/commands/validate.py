"""`mcproof validate`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from mcproof.cli.outputs import add_format
from mcproof.cli.parser import Parser
from mcproof.core.console import Style
from mcproof.core.errors import FAILED, OK, McproofError

if TYPE_CHECKING:
    from mcproof.testing.suites.loading import SuiteError, SuiteProblem
    from mcproof.testing.suites.model import Suite


def validate_parser() -> Parser:
    parser = Parser(
        "validate",
        "Check test suites without starting anything: all mistakes, with line and column.",
        usage="[OPTIONS] [SUITE...]",
        examples="mcproof validate  check mcproof.yaml\nmcproof validate tests/  check every suite below a folder",
    )
    add_suites(parser)
    add_format(parser, "text", "json")
    return parser


def add_suites(parser: Parser) -> None:
    parser.add_argument(
        "suites",
        metavar="SUITE",
        nargs="*",
        help="a suite in YAML, a folder for every suite below it, or SUITE::TEST for one test (default: mcproof.yaml, "
        "mcproof.yml, mcptest.yaml or mcptest.yml in this folder)",
    )


def validate_command(arguments: list[str]) -> int:
    from mcproof.testing.suites.model import suite_files

    options = validate_parser().parse_args(arguments)
    checked = [(file, _read(file)) for file in suite_files(options.suites)]
    if options.format == "json":
        _print_json(checked)
    else:
        style = Style.of(sys.stdout)
        for file, suite in checked:
            sys.stdout.write(_text(file, suite, style))
    return FAILED if any(isinstance(suite, McproofError) for _, suite in checked) else OK


def _read(file: str) -> Suite | SuiteError:
    from mcproof.testing.suites.loading import SuiteError
    from mcproof.testing.suites.parser import read_suite

    try:
        return read_suite(file, None)
    except SuiteError as error:
        return error


def _text(file: str, suite: Suite | SuiteError, style: Style) -> str:
    from mcproof.core.console import plural
    from mcproof.testing.suites.entries import warnings_of

    if isinstance(suite, McproofError):
        return "".join(f"{style.text(line, 2000)}\n" for line in suite.lines)
    warned = [f"{style.text(str(each), 2000)} (warning)\n" for each in warnings_of(suite)]
    tick = style.paint(style.symbol("✓", "ok:"), "good")
    counted = f"{plural(len(suite.tests), 'test')} on {plural(len(suite.servers), 'server')}"
    return "".join([*warned, f"{tick} {style.text(file)}: {counted}\n"])


def _print_json(checked: list[tuple[str, Suite | SuiteError]]) -> None:
    from mcproof.runs.records import SCHEMA_VERSION, encode, printable
    from mcproof.testing.suites.entries import warnings_of

    suites: list[dict[str, Any]] = [
        {"suite": file, "valid": False, "servers": 0, "tests": 0, "problems": _records(suite.problems), "warnings": []}
        if isinstance(suite, McproofError)
        else {
            "suite": file,
            "valid": True,
            "servers": len(suite.servers),
            "tests": len(suite.tests),
            "problems": [],
            "warnings": _records(warnings_of(suite)),
        }
        for file, suite in checked
    ]
    first = next((problem for each in suites for problem in each["problems"]), None)
    document = {"schema_version": SCHEMA_VERSION, **({} if first is None else {"error": first}), "suites": suites}
    sys.stdout.write(printable(encode(document)) + "\n")


def _records(problems: list[SuiteProblem]) -> list[dict[str, Any]]:
    return [problem._asdict() for problem in problems]
