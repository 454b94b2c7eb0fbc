"""The options that choose rules, configuration, baseline and failing level."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.cli.parser import words
from mcproof.core.errors import UsageError
from mcproof.runs.requests import Policy, RuleSelection, SettingsSource

if TYPE_CHECKING:
    import argparse

    from mcproof.cli.parser import Parser

RULES, POLICY = "Rules", "Failing and configuration"
"""Titles of groups of options."""
FAIL_ON = ("error", "warning", "note", "never")


def add_selection(parser: Parser) -> None:
    rule = "a rule's id or name, or a ruleset; comma-separated, repeatable"
    group = parser.group(RULES)
    group.add_argument("--select", action="append", default=[], metavar="RULE", help=f"run only these: {rule}")
    group.add_argument("--ignore", action="append", default=[], metavar="RULE", help=f"do not run these: {rule}")


def parse_selection(options: argparse.Namespace, rulesets: tuple[str, ...] = ()) -> RuleSelection:
    return RuleSelection(rulesets, words(options.select), words(options.ignore))


def add_comparison(parser: Parser) -> None:
    """Add the options for an earlier state to compare with."""
    group = parser.group("Comparing")
    group.add_argument("--locked", action="store_true", help="fail on any difference from mcproof.lock")
    group.add_argument("--against", metavar="CAPTURE", help="report how the server differs from this capture")


def add_config(parser: Parser) -> None:
    group = parser.group(POLICY)
    group.add_argument("--config", metavar="FILE", help="use this configuration, not the nearest above each target")
    group.add_argument("--no-config", action="store_true", help="use no configuration")


def parse_config(options: argparse.Namespace) -> SettingsSource:
    if options.config is not None and options.no_config:
        raise UsageError("--config and --no-config exclude each other")
    return SettingsSource(options.config, options.no_config)


def add_policy(parser: Parser, fail_on: str) -> None:
    """Add the options for configuration, baseline and failing level, with the default of the last."""
    group = parser.group(POLICY)
    if fail_on in FAIL_ON:
        meaning = f"exit 1 on findings at or above this level (default {fail_on})"
        group.add_argument("--fail-on", choices=FAIL_ON, help=meaning)
    else:
        meaning = f"exit 1 on: {fail_on}, what the server did wrong (the default), or findings at or above a level"
        group.add_argument("--fail-on", choices=(fail_on, *FAIL_ON), help=meaning)
    add_config(parser)
    group.add_argument("--baseline", metavar="FILE", help="accept the findings in this file; fail on new ones")
    group.add_argument("--update-baseline", action="store_true", help="accept current findings: write the baseline")


def parse_policy(options: argparse.Namespace) -> Policy:
    return Policy(parse_config(options), options.fail_on, options.baseline, options.update_baseline)
