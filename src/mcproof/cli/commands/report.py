"""`mcproof report`."""

from __future__ import annotations

from mcproof.cli.main import OK
from mcproof.cli.options import Parser, add_outputs
from mcproof.cli.outputs import Outputs
from mcproof.console import tell


def parser() -> Parser:
    parser = Parser("report", "Render a stored run report in any format, without running anything.")
    parser.add_argument("file", metavar="FILE", help="what `--report FILE` of another command has written, or -")
    add_outputs(parser, stores=False)
    return parser


def command(arguments: list[str]) -> int:
    options = parser().parse_args(arguments)
    from mcproof.results.stored import read_run
    from mcproof.targets.argument import Input, read_bytes

    source = Input(options.file)
    run = read_run(read_bytes(source), source.title)
    outputs = Outputs(run.command, options, is_single=run.is_single)
    outputs.refuse_to_replace({options.file: "what is read"})
    for report in run.targets:
        outputs.show(report)
    for notice in run.notices:
        tell(str(notice))
    outputs.write(run)
    outputs.print(run)
    return OK
