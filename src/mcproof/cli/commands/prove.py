"""`mcproof prove`."""

from __future__ import annotations

from mcproof.cli.commands.probe import add_probing, parse_probing
from mcproof.cli.outputs import parse_outputs
from mcproof.cli.parser import Parser
from mcproof.cli.request_runner import run_command
from mcproof.execution.run_requests import ProveRequest


def parser() -> Parser:
    parser = Parser(
        "prove", "Show which promises of its schemas a live server keeps: the strict rules and the probes side by side."
    )
    add_probing(parser)
    return parser


def command(arguments: list[str]) -> int:
    options = parser().parse_args(arguments)
    outputs = parse_outputs(options)
    return run_command(parse_probing(ProveRequest, options, outputs), outputs)
