"""`mcproof diff`."""

from __future__ import annotations

from argparse import Namespace
from time import perf_counter

from mcproof.cli.execute import now, read_one
from mcproof.cli.main import FAILED, FINDINGS, OK
from mcproof.cli.options import Parser, add_fail_on, add_live, add_outputs
from mcproof.cli.outputs import Outputs
from mcproof.errors import InputError, McproofError, UsageError

EPILOG = """\
A change breaks callers where a call that was right is now refused, or where an answer no longer has what it had.
Where that cannot be told, the change is reported as such, never as compatible. Levels: breaking is an error, cannot
tell a warning, compatible a note.
"""


def parser() -> Parser:
    parser = Parser("diff", "Show what changed between two catalogs, and whether it breaks callers.", epilog=EPILOG)
    target = "a snapshot, -, a URL, or FILE.json#NAME of a client configuration"
    parser.add_argument("old", metavar="OLD", help=f"the catalog that callers know: {target}")
    started = "-- COMMAND ARG... at the end"
    parser.add_argument("new", metavar="NEW", nargs="?", help=f"the one that they will meet: {target}; or {started}")
    add_outputs(parser)
    add_fail_on(parser, "error")
    add_live(parser)
    return parser


def command(arguments: list[str]) -> int:
    options = parser().parse_args(arguments)
    outputs = Outputs("diff", options)
    if (options.new is None) == (not options.server_command):
        raise UsageError("the new catalog is named once: as NEW, or as the server that `-- COMMAND ARG...` starts")
    if options.all:
        raise UsageError("--all names several servers; name two catalogs")
    new_name = options.new or "--"
    outputs.refuse_to_replace(dict.fromkeys((options.old, new_name), "what is read"))
    if options.old == options.new == "-":
        raise InputError("both catalogs cannot be standard input; name a file for one of them")

    from mcproof import __version__
    from mcproof.diff.change_findings import report_changes
    from mcproof.diff.compare_catalogs import compare_catalogs
    from mcproof.results.payloads import DiffPayload
    from mcproof.results.run import RunResult, TargetResult, Trouble

    start, started = perf_counter(), now()
    try:
        old = read_one(options.old, Namespace(**{**vars(options), "server_command": ()}))
        new = read_one(options.new, options)
    except UsageError:
        raise
    except McproofError as error:
        report = TargetResult(error.file or new_name, Trouble.of(error), payload=DiffPayload())
    else:
        report = TargetResult(
            new.name,
            counts=new.counts,
            findings=report_changes(old, new, compare_catalogs(old, new)),
            fail_on=options.fail_on or "error",
            seconds=perf_counter() - start,
            payload=DiffPayload(old.name),
        )
    outputs.show(report)
    code = FAILED if report.trouble is not None else OK if report.passed else FINDINGS
    kinds = list({each.rule.id: each.rule for each in report.findings}.values())
    run = RunResult(
        "diff", __version__, [report], kinds, exit_code=code, started=started, seconds=perf_counter() - start
    )
    outputs.write(run)
    outputs.print(run)
    return code
