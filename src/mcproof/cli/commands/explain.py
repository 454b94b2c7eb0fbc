"""`mcproof explain`."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from mcproof.checks.fixes.snippets import example_help
from mcproof.checks.rule import FAULTS, RULESETS, find_rule, rules_of
from mcproof.checks.rulebook import cases_of, compact_json, facts_of, rule_record, rules_of_fault
from mcproof.cli.outputs import add_format
from mcproof.cli.parser import Parser
from mcproof.core.console import Style
from mcproof.core.errors import OK
from mcproof.runs.records import SCHEMA_VERSION

if TYPE_CHECKING:
    from mcproof.checks.rule import Fault, Rule, Ruleset
    from mcproof.checks.rulebook import RuleCase


def explain_parser() -> Parser:
    parser = Parser(
        "explain",
        "Show what a rule checks, why, and how to fix a finding.",
        usage="[OPTIONS] ID",
        examples="mcproof explain SCH-001",
    )
    parser.add_argument("id", metavar="ID", help="a rule's id or name, a ruleset, or a fault's id")
    add_format(parser, "text", "json")
    return parser


def explain_command(arguments: list[str]) -> int:
    options = explain_parser().parse_args(arguments)
    fault, ruleset = FAULTS.get(options.id.upper()), RULESETS.get(options.id.lower())
    if options.format == "json":
        if ruleset is not None:
            record = _ruleset_record(ruleset)
        else:
            record = fault._asdict() if fault is not None else rule_record(find_rule(options.id))
        sys.stdout.write(json.dumps({"schema_version": SCHEMA_VERSION, **record}, indent=2) + "\n")
        return OK
    style = Style.of(sys.stdout)
    if ruleset is not None:
        sys.stdout.write(_ruleset(ruleset, style))
    else:
        sys.stdout.write(_fault(fault, style) if fault is not None else _rule(find_rule(options.id), style))
    return OK


def _ruleset_record(ruleset: Ruleset) -> dict[str, Any]:
    return {"name": ruleset.name, "summary": ruleset.summary, "rules": [rule.id for rule in rules_of(ruleset.name)]}


def _ruleset(ruleset: Ruleset, style: Style) -> str:
    listed = "".join(f"  {rule.id:31} {rule.summary}\n" for rule in rules_of(ruleset.name))
    return f"{style.paint(ruleset.name, 'bold')}\n\n{ruleset.summary}\n\n{listed}"


def _fault(fault: Fault, style: Style) -> str:
    rules = ", ".join(rule.id for rule in rules_of_fault(fault)) or "no rule, only a probe of a live server"
    return f"{style.paint(fault.id, 'bold')}  ({fault.paper})\n\n{fault.summary}\n\nFound by: {rules}\n"


def _rule(rule: Rule, style: Style) -> str:
    title = rule.id if rule.name == rule.id else f"{rule.id} ({rule.name})"
    lines = [style.paint(title, "bold"), "", rule.summary, ""]
    lines += [line for paragraph in rule.details for line in (paragraph, "")]
    width = max(len(label) for label, _ in facts_of(rule))
    lines += [f"  {label:{width}}  {value}" for label, value in facts_of(rule)]
    lines += ["", f"{style.paint('Why', 'bold')}  {rule.why}", f"{style.paint('Fix', 'bold')}  {rule.advice}"]
    for each in example_help(rule.id):
        lines += [f"     {style.paint(f'{each.framework}, {each.place}:', 'dim')}", _indented(each.code, 7)]
    cases = cases_of(rule)
    for heading, listed in (("Reported", cases.bad), ("Not reported", cases.good)):
        lines += ["", style.paint(heading, "bold")]
        for case in listed:
            lines += _case(case, style)
    return "\n".join(lines) + "\n"


def _case(case: RuleCase, style: Style) -> list[str]:
    lines = [f"  {style.paint(case.title, 'dim')}", _indented(case.shown)]
    if case.fixed is not None:
        lines += [f"  {style.paint('after --fix', 'dim')}", _indented(compact_json(case.fixed))]
    return lines


def _indented(text: str, width: int = 4) -> str:
    return "\n".join(f"{' ' * width}{line}" for line in text.splitlines())
