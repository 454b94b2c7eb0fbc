"""`mcproof grade`."""

from __future__ import annotations

import argparse

from mcproof.cli.check_options import add_policy, parse_policy
from mcproof.cli.outputs import add_amount, add_outputs, parse_outputs
from mcproof.cli.parser import Parser
from mcproof.cli.request_runner import run_request
from mcproof.cli.target_options import TARGETS_USAGE, add_configured_live, add_live, add_targets, parse_targets
from mcproof.runs.planning import GRADE
from mcproof.runs.requests import GradeRequest

GRADE_EXAMPLES = """\
mcproof grade -- python server.py  a live server
mcproof grade  every server and snapshot below this folder
mcproof grade tools.json --min-grade B  fail below B
"""


def grade_parser() -> Parser:
    parser = Parser(
        "grade", "Grade a catalog from A to F, with its token cost.", usage=TARGETS_USAGE, examples=GRADE_EXAMPLES
    )
    add_targets(parser)
    gates = parser.group("Gates")
    gates.add_argument("--min-grade", type=_letter, metavar="LETTER", help="fail below this grade")
    gates.add_argument("--max-tokens", type=_tokens, metavar="N", help="fail if the tools cost more tokens than this")
    add_policy(parser, GRADE.fail_on)
    add_outputs(parser, records=True)
    add_amount(parser)
    add_live(parser)
    add_configured_live(parser)
    return parser


def grade_command(arguments: list[str]) -> int:
    options = grade_parser().parse_args(arguments)
    outputs = parse_outputs(options)
    request = GradeRequest(
        targets=parse_targets(options, *options.targets),
        min_grade=options.min_grade,
        max_tokens=options.max_tokens,
        policy=parse_policy(options),
        detail=outputs.detail,
    )
    return run_request(request, outputs)


def _letter(text: str) -> str:
    from mcproof.checks.scores.grade import LETTERS

    if text.upper() not in LETTERS:
        raise argparse.ArgumentTypeError(f"`{text}` is not a grade; there are {', '.join(LETTERS)}")
    return text.upper()


def _tokens(text: str) -> int:
    if not text.isascii() or not text.isdigit():
        raise argparse.ArgumentTypeError(f"`{text}` is not a number of tokens")
    return int(text)
