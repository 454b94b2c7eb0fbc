"""`mcproof report`."""

from __future__ import annotations

from mcproof.cli.outputs import Outputs, add_amount, add_outputs, parse_outputs
from mcproof.cli.parser import Parser
from mcproof.core.console import tell
from mcproof.core.errors import OK


def report_parser() -> Parser:
    parser = Parser(
        "report",
        "Render a stored run report in any format.",
        usage="[OPTIONS] FILE",
        examples="mcproof lint --report run.json && mcproof report run.json --format markdown",
    )
    parser.add_argument("file", metavar="FILE", help="a run report that `--report FILE` wrote, or -")
    add_outputs(parser, stores=False)
    add_amount(parser)
    return parser


def report_command(arguments: list[str]) -> int:
    options = report_parser().parse_args(arguments)
    from mcproof.runs.stored import read_run
    from mcproof.targets.arguments import Input, read_bytes

    source = Input(options.file)
    run = read_run(read_bytes(source), source.title)
    outputs = Outputs(parse_outputs(options))
    outputs.start(is_single=run.is_single, needed={options.file: "what is read"})
    for configuration in run.configurations:
        outputs.show_configuration(configuration)
    for result in run.targets:
        outputs.show(result)
    for notice in run.notices:
        tell(str(notice))
    outputs.write(run)
    outputs.print(run)
    return OK
