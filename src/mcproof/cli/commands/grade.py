"""`mcproof grade`."""

from __future__ import annotations

import argparse

from mcproof.cli.execute import check_targets
from mcproof.cli.options import Parser, add_fail_on, add_live, add_outputs, add_settings, add_targets
from mcproof.cli.planning import Command
from mcproof.scores.grade import LETTERS

COMMAND = Command("grade", ("grade", "catalog"), grades=True)


def parser() -> Parser:
    parser = Parser("grade", "Grade a catalog from A to F, with its cost in tokens.")
    add_targets(parser)
    add_outputs(parser)
    parser.add_argument("--min-grade", type=_letter, metavar="LETTER", help="fail below this grade")
    parser.add_argument(
        "--max-tokens", type=_tokens, metavar="N", help="fail where the tools cost more tokens than this"
    )
    add_fail_on(parser, COMMAND.fail_on)
    add_settings(parser)
    add_live(parser)
    return parser


def command(arguments: list[str]) -> int:
    return check_targets(COMMAND, parser().parse_args(arguments))


def _letter(text: str) -> str:
    if text.upper() not in LETTERS:
        raise argparse.ArgumentTypeError(f"`{text}` is no grade; there are {', '.join(LETTERS)}")
    return text.upper()


def _tokens(text: str) -> int:
    if not text.isascii() or not text.isdigit():
        raise argparse.ArgumentTypeError(f"`{text}` is not a number of tokens")
    return int(text)
