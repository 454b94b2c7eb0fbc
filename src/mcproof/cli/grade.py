"""`mcproof grade`."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from mcproof.cli.options import Parser, add_fail_on, add_format, add_targets
from mcproof.cli.session import Outcome, check_targets, reaching
from mcproof.engine import check
from mcproof.registry import choose
from mcproof.report.grade_card import Verdict, card, row
from mcproof.report.located import locate
from mcproof.report.records import grade_document
from mcproof.report.terminal import Style
from mcproof.scores.grade import LETTERS, Grade, grade
from mcproof.scores.tokens import token_cost
from mcproof.targets.argument import is_single

if TYPE_CHECKING:
    from mcproof.catalog import Catalog
    from mcproof.scores.tokens import TokenCost


def command(arguments: list[str]) -> int:
    parser = Parser("grade", "Grade a catalog from A to F, with its cost in tokens.")
    add_targets(parser)
    add_format(parser, "text", "json")
    parser.add_argument("--min-grade", type=_letter, metavar="LETTER", help="fail below this grade")
    parser.add_argument(
        "--max-tokens", type=_tokens, metavar="N", help="fail where the tools cost more tokens than this"
    )
    add_fail_on(parser, "error")
    options = parser.parse_args(arguments)
    rules = choose(["grade", "catalog"])
    alone = is_single(options.targets)

    def look(catalog: Catalog) -> Outcome:
        findings = check(catalog, rules)
        result, tokens = grade(catalog, findings), token_cost(catalog)
        verdict = Verdict(_gates(options, result, tokens), options.fail_on, reaching(findings, options.fail_on))
        if options.format == "json":
            document = grade_document(catalog, locate(catalog, findings), result, tokens, verdict.gates)
            return Outcome(document, verdict.passed)
        style = Style.of(sys.stdout)
        if alone:
            return Outcome([card(catalog, findings, result, tokens, verdict, style)], verdict.passed)
        return Outcome([row(catalog, result, tokens, verdict, style)], verdict.passed)

    return check_targets(options.targets, options.format, look)


def _letter(text: str) -> str:
    if text.upper() not in LETTERS:
        raise argparse.ArgumentTypeError(f"`{text}` is no grade; there are {', '.join(LETTERS)}")
    return text.upper()


def _tokens(text: str) -> int:
    if not text.isascii() or not text.isdigit():
        raise argparse.ArgumentTypeError(f"`{text}` is not a number of tokens")
    return int(text)


def _gates(options: argparse.Namespace, result: Grade, tokens: TokenCost) -> list[dict[str, Any]]:
    """The gates that were asked for, and whether each is met."""
    gates: list[dict[str, Any]] = []
    if options.min_grade is not None:
        passed = LETTERS.index(result.letter) <= LETTERS.index(options.min_grade)
        gates.append({"gate": "min-grade", "limit": options.min_grade, "actual": result.letter, "passed": passed})
    if options.max_tokens is not None:
        passed = tokens.total <= options.max_tokens
        gates.append({"gate": "max-tokens", "limit": options.max_tokens, "actual": tokens.total, "passed": passed})
    return gates
