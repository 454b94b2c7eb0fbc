"""`mcproof lint`."""

from __future__ import annotations

import sys
from itertools import chain
from typing import TYPE_CHECKING

from mcproof.cli.options import Parser, add_fail_on, add_format, add_selection, add_targets, words
from mcproof.cli.session import Outcome, check_targets, reaching
from mcproof.engine import check
from mcproof.registry import RULESETS, choose
from mcproof.report.located import locate
from mcproof.report.records import lint_document
from mcproof.report.terminal import Style, print_lines, safe
from mcproof.report.text import concise, frames, summary

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcproof.catalog import Catalog
    from mcproof.finding import Finding
    from mcproof.registry import Rule


def command(arguments: list[str]) -> int:
    parser = Parser("lint", "Check a catalog: what would confuse an agent or a client.")
    add_targets(parser)
    add_format(parser, "text", "concise", "json")
    default = [ruleset.name for ruleset in RULESETS.values() if ruleset.is_default]
    parser.add_argument(
        "--ruleset",
        action="append",
        default=[],
        metavar="NAME",
        help=f"the families of rules to run, comma-separated, repeatable: {', '.join(RULESETS)} or all "
        f"(default {','.join(default)})",
    )
    add_selection(parser)
    add_fail_on(parser, "error")
    options = parser.parse_args(arguments)
    rules = choose(words(options.ruleset) or default, select=words(options.select), ignore=words(options.ignore))

    def look(catalog: Catalog) -> Outcome:
        _tell_skipped(catalog, rules)
        findings = check(catalog, rules)
        return Outcome(render(catalog, findings, options.format), not reaching(findings, options.fail_on))

    return check_targets(options.targets, options.format, look)


def _tell_skipped(catalog: Catalog, rules: list[Rule]) -> None:
    """Say which rules had nothing to look at, because no list of tools was read."""
    skipped = [rule.id for rule in rules if rule.traits.get("phase") == "post-handshake"]
    if skipped and not catalog.lists_tools:
        what = f"mcproof: {safe(catalog.name)}: no list of tools, so skipped: {', '.join(skipped)}\n"
        print_lines([what], sys.stderr)


def render(catalog: Catalog, findings: list[Finding], format: str) -> Iterable[str]:
    """The findings of one catalog in the format that was asked for."""
    located = locate(catalog, findings)
    if format == "json":
        return lint_document(catalog, located)
    style = Style.of(sys.stdout)
    if format == "concise":
        return concise(catalog, located, style)
    return chain(frames(catalog, located, style), [summary(catalog, located, style)])
