"""Documentation and cases of rules: the help that `explain`, the docs and editors show.

The text of a rule is its docstring. A case is data: a subject that the rule reports (`bad`) or does not report
(`good`), and for a fixable rule the fixed subject (`fixed`). Cases are in `rules/cases/<id>.yml`.
Why the docstring is the documentation: docs/decisions/0019-rules-are-generators.md.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

from mcproof.checks.engine import check
from mcproof.checks.fixes.snippets import example_help
from mcproof.checks.rule import (
    Fault,
    GradeTraits,
    Rule,
    SpecTraits,
    Thresholds,
    TrustTraits,
    all_rules,
)
from mcproof.checks.scores.grade import BONUS, BONUS_LENGTH, POINTS, THRESHOLDS
from mcproof.checks.scores.trust import LEAST_COVERAGE
from mcproof.checks.subjects import RuleCrash, observed_by_reading
from mcproof.core.named_tuple import NamedTuple
from mcproof.core.observations.probes import ItemProbes
from mcproof.targets.snapshots import read_snapshot


class RuleCase(NamedTuple):
    """One example of one rule."""

    title: str
    tool: Any = None
    """A tool, as an entry of `tools/list`."""
    catalog: Any = None
    """A whole snapshot, for rules that check more than a tool."""
    text: str | None = None
    """The snapshot as text, if its formatting matters."""
    crash: dict[str, Any] | None = None
    """The crash of a rule, for the rule that reports crashes."""
    wire: dict[str, Any] | None = None
    """The lines a server `sends`, or fields of `ObservedConnection`, for rules about connections."""
    trial: dict[str, Any] | None = None
    """What was `sent` to a live server and its `answer`, or `crash` or `hang`, for rules about responses."""
    source: str | None = None
    """A Python file, for facts that only source shows."""
    facts: dict[str, Any] | None = None
    """The fields of a fact that `scan` collects, by the name of its class."""
    before: Any = None
    """The snapshot that was locked, for rules about what changed since; `catalog` is the new one."""
    neighbours: dict[str, list[str]] | None = None
    """The tools of other servers of a client configuration, for rules about several servers; `catalog` is one more."""
    levels: int | None = None
    """The nesting depth of a generated tool, for schemas too large to show."""
    tools: int | None = None
    """The number of generated tools, for catalogs too large to show."""
    length: int | None = None
    """The length of generated texts: the tool's description, its parameter's, and the server's instructions."""
    at: tuple[str, ...] = ()
    """The pointers of a bad case's findings, from the tool or from the reported item."""
    fixed: Any = None

    @property
    def snapshot(self) -> str | None:
        """The case as the text of a snapshot; None if it is not a snapshot."""
        if self.text is not None:
            return self.text
        observed = (self.crash, self.wire, self.trial, self.source, self.facts, self.before, self.neighbours)
        if any(value is not None for value in observed):
            return None
        document = self.catalog if self.catalog is not None else {"tools": [self.subject]}
        if self.tools is not None:
            document = {"tools": [_generated_tool(f"tool_{number}", 40) for number in range(self.tools)]}
        elif self.length is not None:
            tool = _generated_tool("long", self.length)
            document = {"initialize": {"instructions": "x" * self.length}, "tools": [tool]}
        return json.dumps(document, indent=2, ensure_ascii=False)

    @property
    def subject(self) -> Any:
        """The tool of the case."""
        return self.tool if self.levels is None else nested_tool(self.levels)

    @property
    def shown(self) -> str:
        """The case as displayed."""
        if self.text is not None:
            return self.text.rstrip()
        if self.wire is not None and "sends" in self.wire:
            return "\n".join(self.wire["sends"])
        if self.trial is not None:
            return shown_exchange(self.trial)
        if self.source is not None:
            return self.source.rstrip()
        if self.levels is not None:
            return f"(a schema with {self.levels} levels)"
        if self.tools is not None:
            return f"(a server with {self.tools:,} tools)"
        if self.length is not None:
            return f"(texts of {self.length:,} characters)"
        if self.before is not None:
            return f"before: {compact_json(self.before)}\nnow: {compact_json(self.catalog)}"
        if self.neighbours is not None:
            others = "\n".join(f"{server}: {', '.join(tools)}" for server, tools in self.neighbours.items())
            return f"{others}\nthis server: {compact_json(self.catalog)}"
        subject = next(
            value for value in (self.crash, self.wire, self.facts, self.tool, self.catalog) if value is not None
        )
        return compact_json(subject)

    @property
    def language(self) -> str:
        """The language of the displayed case, for syntax highlighting."""
        if self.source is not None:
            return "python"
        return "json" if self.trial is None and self.before is None and self.neighbours is None else "text"


class RuleCases(NamedTuple):
    bad: list[RuleCase]
    good: list[RuleCase]


def nested_tool(levels: int) -> dict[str, Any]:
    """A tool whose schema is nested at least this deep."""
    schema: dict[str, Any] = {"type": "object"}
    for _ in range(levels // 2):
        schema = {"type": "object", "properties": {"inner": schema}}
    return {"name": "deep", "description": "Takes something very deep.", "inputSchema": schema}


def _generated_tool(name: str, length: int) -> dict[str, Any]:
    """A tool with an optional parameter and descriptions of this length."""
    query = {"type": "string", "description": "x" * length}
    return {
        "name": name,
        "description": "x" * length,
        "inputSchema": {"type": "object", "properties": {"query": query}},
    }


def cases_of(rule: Rule) -> RuleCases:
    """Read a rule's cases from its file."""
    import yaml

    file = files("mcproof.checks.rules") / "cases" / f"{rule.id}.yml"
    data = yaml.load(file.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    return RuleCases(*([_case(case) for case in data[kind]] for kind in ("bad", "good")))


def _case(data: dict[str, Any]) -> RuleCase:
    at = data.get("at", ())
    return RuleCase(**{**data, "at": (at,) if isinstance(at, str) else tuple(at)})


METHODS = {
    "unknown_method": "mcproof/no-such-method",
    "bad_cursor": "tools/list",
    "unknown_prompt": "prompts/get",
    "unknown_resource": "resources/read",
}
"""The methods that protocol probes call; other probes call a tool unless the case names a method."""
_NO_RESPONSE = {"crash": "(none: the server exited)", "hang": "(none before the timeout)"}


def shown_exchange(trial: dict[str, Any]) -> str:
    """A request and its response as displayed."""
    sent, answer = trial["sent"], trial["answer"]
    parts = {name: trial[name] for name in ("tool", "revision") if name in trial}
    lines = [f"{name}: {value if isinstance(value, str) else compact_json(value)}" for name, value in parts.items()]
    method = trial.get("method") or METHODS.get(trial["probe"], "tools/call")
    lines.append(f"sent: {sent}" if isinstance(sent, str) else f"sent: {method} {compact_json(sent)}")
    lines.append(f"answer: {_NO_RESPONSE.get(answer, answer) if isinstance(answer, str) else compact_json(answer)}")
    return "\n".join(lines)


def compact_json(value: Any, width: int = 88) -> str:
    """JSON in a readable layout: whatever fits on one line is on one line."""

    def laid_out(value: Any, indent: int) -> str:
        line = json.dumps(value, ensure_ascii=False)
        if len(line) + indent <= width or not isinstance(value, (dict, list)) or not value:
            return line
        inner = " " * (indent + 2)
        if isinstance(value, dict):
            keys = [f"{json.dumps(key, ensure_ascii=False)}: " for key in value]
            parts = [key + laid_out(member, indent + 2) for key, member in zip(keys, value.values(), strict=True)]
            return "{\n" + ",\n".join(inner + part for part in parts) + "\n" + " " * indent + "}"
        parts = [laid_out(member, indent + 2) for member in value]
        return "[\n" + ",\n".join(inner + part for part in parts) + "\n" + " " * indent + "]"

    return laid_out(value, 0)


def facts_of(rule: Rule) -> list[tuple[str, str]]:
    """Short facts about a rule, each with a label."""
    facts = [
        ("Ruleset", rule.ruleset),
        ("Category", rule.category),
        ("Severity", rule.severity if rule.severity == rule.level else f"{rule.severity} (level: {rule.level})"),
        ("Fault", f"{rule.fault.id} ({rule.fault.paper})" if rule.fault is not None else "none"),
        *([("Same as", rule.same_as)] if rule.same_as is not None else []),
        ("Auto-fixable", "yes" if rule.fixable else "no"),
        ("Needs a language model", "yes" if rule.needs_language_model else "no"),
        ("Stable since", rule.since),
    ]
    own = rule.traits.own
    if isinstance(own, SpecTraits):
        facts += [("Revisions", ", ".join(own.revisions)), ("Source", own.source)]
    if isinstance(own, GradeTraits):
        facts.append(("Points", str(POINTS[rule.scheme_severity])))
    facts += [("Limit", f"{value:,} {unit}") for unit, value in limits_of(rule).items()]
    if related := related_rules(rule):
        facts.append(("Related", ", ".join(related)))
    if isinstance(own, TrustTraits):
        facts += [("Weight", str(own.weight)), ("Dimension", own.dimension), ("Phase", own.phase)]
        facts += [("Set by mcproof", ", ".join(own.chosen))] if own.chosen else []
        facts += [("Counted by", own.counted_by)] if own.counted_by else []
    return facts


def rule_record(rule: Rule) -> dict[str, Any]:
    """A rule as JSON."""
    own = rule.traits.own
    return {
        "id": rule.id,
        "name": rule.name,
        "ruleset": rule.ruleset,
        "category": rule.category,
        "severity": rule.severity,
        "level": rule.level,
        "fault": rule.fault.id if rule.fault is not None else None,
        "fixable": rule.fixable,
        "needs_language_model": rule.needs_language_model,
        "since": rule.since,
        "summary": rule.summary,
        "why": rule.why,
        "fix": rule.advice,
        "disable": rule.disabling,
        "related": related_rules(rule),
        "limits": limits_of(rule),
        "weight": own.weight if isinstance(own, TrustTraits) else None,
        "dimension": own.dimension if isinstance(own, TrustTraits) else None,
        "phase": own.phase if isinstance(own, TrustTraits) else None,
        "points": POINTS[rule.scheme_severity] if isinstance(own, GradeTraits) else None,
        "evidence": example_of_evidence(rule),
    }


LIMITS = {
    "tool_input_schemas_well_formed": {"bytes": 65_536, "levels": 32},
    "tool_count_is_reasonable": {"tools": 50},
    "tool_name_safety": {"characters": 64},
    "prompt_injection_surface": {"characters": 200},
    "tool-short-description": {"characters": 10},
    "tool-long-description": {"characters": 500},
    "tls_certificate_not_expiring_soon": {"days": 14},
    "transport_redirects_within_bound": {"redirects": 3},
    "transport_response_within_size_bound": {"bytes": 1_000_000},
}
"""The limits of rules that have one, by their unit."""


def limits_of(rule: Rule) -> dict[str, int]:
    return LIMITS.get(rule.id, {})


_MOST_RELATED = 4


def related_rules(rule: Rule) -> list[str]:
    """The rules about the same fact or fault, then others of its ruleset and category."""
    same = {rule.same_as} if rule.same_as is not None else set()
    rules = [other for other in all_rules() if other.id != rule.id]
    close = [other.id for other in rules if other.id in same or other.same_as == rule.id]
    close += [other.id for other in rules if rule.fault is not None and other.fault is rule.fault]
    close += [other.id for other in rules if (other.ruleset, other.category) == (rule.ruleset, rule.category)]
    return list(dict.fromkeys(close))[:_MOST_RELATED]


@cache
def example_of_evidence(rule: Rule) -> Any:
    """The evidence of a finding about the rule's first bad case; None if it has none, or needs more than a snapshot."""
    if not isinstance(rule.traits.own, TrustTraits) or rule.subject is RuleCrash:
        return None
    snapshot = next((case.snapshot for case in cases_of(rule).bad if case.snapshot is not None), None)
    if snapshot is None:
        return None
    catalog = read_snapshot(snapshot.encode(), "case.json")
    findings = check(catalog, [rule], observed=observed_by_reading(catalog))
    return next((finding.evidence for finding in findings if finding.evidence is not None), None)


def grade_method() -> list[str]:
    """How the grade is computed, in lines of plain text."""
    tops = [100, *(threshold - 1 for _, threshold, _ in THRESHOLDS)]
    ranges = [
        f"  {letter}  {threshold:>3} to {top:<3}  {word:12}"
        + (f"up to {100 - threshold} points lost" if threshold else "more than that")
        for (letter, threshold, word), top in zip(THRESHOLDS, tops, strict=False)
    ]
    rules = sorted(
        (rule for rule in all_rules() if rule.ruleset == "grade"),
        key=lambda rule: -POINTS[rule.scheme_severity],
    )
    return [
        "The letter says how well names, descriptions and schemas tell a model what to call, and how.",
        "It does not say whether the tools work (`mcproof prove`) or are safe (`mcproof scan`).",
        "",
        "A server starts at 100. Each finding of a rule below costs its points:",
        f"{POINTS['error']} for an error, {POINTS['warning']} for a warning, {POINTS['info']} for an info.",
        f"If every tool has a description of {BONUS_LENGTH} characters or more, {BONUS} points are added.",
        "Points are not divided by the number of tools: one parameter that 20 tools leave unexplained costs 20 times.",
        "Points below zero and above 100 count for the next fix, and the score is shown within 0 and 100.",
        "A server without tools, resources and prompts scores 0.",
        "",
        *ranges,
        "",
        "An edit gains the points of the findings that it fixes; `mcproof grade` lists what gains most. A tool whose",
        "parameters all have a default or accept null costs its point, and no edit is advised: it may be meant so.",
        "`mcproof check` and `mcproof lint` show the place of each, and what to write there.",
        "",
        "Findings that the configuration or a comment ignores cost nothing; those of a baseline do.",
        "Source has a letter only if nothing that is unknown in it could change the letter.",
        "",
        "An example: one of three tools has no description (-15), four parameters have none (-20),",
        "and one tool requires none of its parameters (-1): 100 - 36 = 64, a C.",
        "Describing that tool gains 15 points and the bonus: 64 + 15 + 5 = 84, a B.",
        "",
        *(f"  -{POINTS[rule.scheme_severity]:<3} {rule.id:28} {rule.summary}" for rule in rules),
    ]


def trust_method() -> list[str]:
    """How the verdict of a scan is reached, in lines of plain text."""
    rules = [rule for rule in all_rules() if isinstance(rule.traits.own, TrustTraits)]
    blocking = [rule.id for rule in rules if rule.own(TrustTraits).hard_fail is not None]
    return [
        "Every rule has a weight. The score is the weight of the rules that passed, in percent of that of all judged.",
        "The rules of the published catalog are also scored alone; the verdict follows the lower of the two scores.",
        "",
        f"  block   the lower score is below {Thresholds().review}, or a rule failed that blocks a server alone",
        f"  review  the lower score is below {Thresholds().allow}, or a rule TRU-… has a critical or high finding,",
        f"          or less than {LEAST_COVERAGE:.0%} of the weight was observed",
        "  allow   everything else",
        "",
        "An example: rules that weigh 80 passed and rules that weigh 20 failed: 80 of 100, allow.",
        "Without the rules that mcproof adds, 60 passed and 20 failed: 75 of 100, so the verdict is review.",
        "",
        "These block a server alone, some of them only if anyone can reach it without credentials:",
        *(f"  {', '.join(blocking[start : start + 3])}" for start in range(0, len(blocking), 3)),
        "",
        *(f"  {rule.own(TrustTraits).weight:>3} {rule.id:45} {rule.summary}" for rule in rules),
    ]


def rules_of_fault(fault: Fault) -> list[Rule]:
    return [rule for rule in all_rules() if rule.fault is fault]


def rule_page(rule: Rule) -> str:
    """The documentation page of a rule, in Markdown."""
    cases = cases_of(rule)
    title = rule.id if rule.name == rule.id else f"{rule.id}: {rule.name}"
    lines = [f"# {title}", "", rule.summary, ""]
    lines += [line for paragraph in rule.details for line in (paragraph, "")]
    lines += ["| | |", "| --- | --- |"]
    lines += [f"| {label} | {value} |" for label, value in facts_of(rule)]
    lines += ["", "## Why it matters", "", sentence(rule.why), "", "## How to fix it", "", sentence(rule.advice), ""]
    for snippet in example_help(rule.id):
        lines += [f"{snippet.framework}, {snippet.place}:", "", "```text", snippet.code, "```", ""]
    for heading, cases_of_heading in (("Reported", cases.bad), ("Not reported", cases.good)):
        lines += [f"## {heading}", ""]
        for case in cases_of_heading:
            lines += [f"{sentence(case.title)}", "", f"```{case.language}", case.shown, "```", ""]
            if case.at and any(case.at):
                lines += [f"At {', '.join(f'`{pointer}`' for pointer in case.at)}.", ""]
            if case.fixed is not None:
                lines += ["After `--fix`:", "", "```json", compact_json(case.fixed), "```", ""]
    everywhere = f"For one run: `mcproof lint --ignore {rule.id}`."
    if rule.subject is ItemProbes:
        everywhere = f'Everywhere: `ignore = ["{rule.id}"]` in `mcproof.toml`.'
    if (evidence := example_of_evidence(rule)) is not None:
        lines += ["## Evidence", "", "Of the first example:", "", "```json", compact_json(evidence), "```", ""]
    lines += ["## When to disable it", "", sentence(rule.disabling), ""]
    lines += ["## How to silence it", "", f"{everywhere} For one tool, with a reason:", ""]
    entry = f'[[ignore-for]]\ntool = "legacy_*"\nrules = ["{rule.id}"]\nreason = "frozen until version 3"'
    lines += ["```toml", entry, "```", ""]
    return "\n".join(lines)


def sentence(text: str) -> str:
    """A text with an initial capital and a full stop."""
    text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "!", "?")) else f"{text}."
