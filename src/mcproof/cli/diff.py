"""`mcproof diff`."""

from __future__ import annotations

from time import perf_counter

from mcproof.cli.main import FAILED, FINDINGS, OK
from mcproof.cli.options import Parser, add_fail_on, add_outputs
from mcproof.cli.outputs import Outputs
from mcproof.cli.session import now
from mcproof.errors import InputError, McproofError

EPILOG = """\
A change breaks callers where a call that was right is now refused, or where an answer no longer has what it had.
Where that cannot be told, the change is reported as such, never as compatible. Levels: breaking is an error, cannot
tell a warning, compatible a note.
"""


def parser() -> Parser:
    parser = Parser("diff", "Show what changed between two catalogs, and whether it breaks callers.", epilog=EPILOG)
    parser.add_argument("old", metavar="OLD", help="the catalog that callers know: a snapshot, or -")
    parser.add_argument("new", metavar="NEW", help="the catalog that they will meet: a snapshot, or -")
    add_outputs(parser)
    add_fail_on(parser, "error")
    return parser


def command(arguments: list[str]) -> int:
    options = parser().parse_args(arguments)
    outputs = Outputs("diff", options)
    outputs.refuse_to_replace(dict.fromkeys((options.old, options.new), "what is read"))
    if options.old == options.new == "-":
        raise InputError("both catalogs cannot be standard input; name a file for one of them")

    from mcproof import __version__
    from mcproof.comparison.changes import compare
    from mcproof.report.changes import report_changes
    from mcproof.report.model import RunReport, TargetReport, Trouble
    from mcproof.targets.argument import read_single

    start, started = perf_counter(), now()
    try:
        old, new = read_single(options.old), read_single(options.new)
    except McproofError as error:
        report = TargetReport(error.file or options.new, Trouble.of(error))
    else:
        report = TargetReport(
            new.name,
            counts=new.counts,
            findings=report_changes(old, new, compare(old, new)),
            fail_on=options.fail_on or "error",
            seconds=perf_counter() - start,
        )
    outputs.show(report)
    code = FAILED if report.trouble is not None else OK if report.passed else FINDINGS
    kinds = list({each.rule.id: each.rule for each in report.findings}.values())
    outputs.write(
        RunReport("diff", __version__, [report], kinds, exit_code=code, started=started, seconds=perf_counter() - start)
    )
    return code
