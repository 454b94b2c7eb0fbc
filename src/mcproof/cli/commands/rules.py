"""`mcproof rules`."""

from __future__ import annotations

import json
import sys

from mcproof.checks.rule import RULESETS, rules_of
from mcproof.checks.rulebook import rule_record
from mcproof.cli.outputs import add_format
from mcproof.cli.parser import Parser
from mcproof.core.console import Style
from mcproof.core.errors import OK
from mcproof.runs.records import SCHEMA_VERSION


def rules_parser() -> Parser:
    parser = Parser("rules", "List all rules.", examples="mcproof rules --format json")
    add_format(parser, "text", "json")
    return parser


def rules_command(arguments: list[str]) -> int:
    options = rules_parser().parse_args(arguments)
    if options.format == "json":
        records = [rule_record(rule) for ruleset in RULESETS for rule in rules_of(ruleset)]
        listed = ",\n".join(map(json.dumps, records))
        sys.stdout.write(f'{{"schema_version": {SCHEMA_VERSION},\n"rules": [\n{listed}\n]}}\n')
        return OK
    style = Style.of(sys.stdout)
    for ruleset in RULESETS.values():
        when = "runs by default" if ruleset.is_default else f"opt-in: --ruleset {ruleset.name}"
        sys.stdout.write(f"{style.paint(ruleset.name, 'bold')}  {ruleset.summary} ({when})\n")
        for rule in rules_of(ruleset.name):
            mark = "fixable" if rule.fixable else ""
            severity = style.paint(f"{rule.severity:9}", rule.level)
            sys.stdout.write(f"  {rule.id:31} {severity} {mark:8} {rule.summary}\n")
        sys.stdout.write("\n")
    sys.stdout.write("`mcproof explain ID` explains a rule.\n")
    return OK
