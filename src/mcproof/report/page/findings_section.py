"""The findings of a target on a page: a group for each tool, in it each finding with its line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from mcproof.console import plural
from mcproof.linting.finding import LEVELS, Level
from mcproof.report.page.markup import prose, text
from mcproof.results.findings import group_by_fault

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mcproof.linting.suppression.ignores import Suppression
    from mcproof.report.page.markup import Words
    from mcproof.results.findings import FindingGroup, FixFacts, ReportedFinding, RuleFacts, Snippet
    from mcproof.results.run import RunResult, TargetResult

OPEN = 30
"""A target with no more findings than this shows them all at once."""

BEFORE, AFTER = 60, 120
"""How much of a long line is shown around the place; a page wraps, and a minified file has one line for all."""

_SUPPRESSED_BY = {
    "ignore-for": "Ignored by the configuration",
    "baseline": "Accepted in the baseline",
    "comment": "Ignored by a comment",
}


class ToolFindings(NamedTuple):
    """What there is to say about one tool, or whatever else the findings are about."""

    item: str
    shown: list[FindingGroup]
    suppressed: list[FindingGroup]

    @property
    def kind(self) -> str:
        return self.item.partition(":")[0]

    @property
    def name(self) -> str:
        return self.item.partition(":")[2]

    def levels(self) -> dict[Level, int]:
        """How many findings of each level count."""
        return count_levels(self.shown)


class Findings(NamedTuple):
    """The findings of a target as people see them: those of one fault at one place are one."""

    shown: list[FindingGroup]
    suppressed: list[FindingGroup]

    def by_tool(self) -> list[ToolFindings]:
        """What there is about each tool, the worst first."""
        tools: dict[tuple[str, str], ToolFindings] = {}
        for index, groups in enumerate(self):
            for group in groups:
                key = (group.shown.item_pointer, group.shown.item)
                tool = tools.get(key) or tools.setdefault(key, ToolFindings(group.shown.item, [], []))
                (tool.suppressed if index else tool.shown).append(group)
        return sorted(tools.values(), key=lambda tool: [-count for count in tool.levels().values()])


def findings_of(report: TargetResult) -> Findings:
    """The findings of a target, put together."""
    return Findings(group_by_fault(report.findings), group_by_fault(report.suppressed))


def count_levels(groups: Iterable[FindingGroup]) -> dict[Level, int]:
    """How many of the findings have each level."""
    counted: dict[Level, int] = dict.fromkeys(LEVELS, 0)
    for group in groups:
        counted[group.shown.level] += 1
    return counted


class RuleUse(NamedTuple):
    """A rule that has findings in a run."""

    rule: RuleFacts
    number: int
    """What identifies it on the page; an id from outside would not be a safe name for an anchor."""
    times: int


def rules_used(run: RunResult) -> dict[str, RuleUse]:
    """The rules with findings, suppressed or not, by their ids; the most serious and most frequent first."""
    facts: dict[str, RuleFacts] = {}
    times: dict[str, int] = {}
    for report in run.targets:
        for each in (*report.findings, *report.suppressed):
            rule = each.rule
            facts.setdefault(rule.id, rule)
            times[rule.id] = times.get(rule.id, 0) + 1
    ranked = sorted(facts.values(), key=lambda rule: (LEVELS.index(rule.level), -times[rule.id], rule.id))
    return {rule.id: RuleUse(rule, number, times[rule.id]) for number, rule in enumerate(ranked, 1)}


def rule_link(rule_id: str, rules: dict[str, RuleUse]) -> str:
    """A rule by its id, with a link to its help where the page has that."""
    use = rules.get(rule_id)
    shown = f"<code>{text(rule_id)}</code>"
    return shown if use is None else f'<a class="rule" href="#r{use.number}">{shown}</a>'


def level_counts(counts: dict[Level, int], words: Words) -> str:
    """How many there are of each level that occurs."""
    parts = [
        f'<span class="count {level}">{words.counted(count, level)}</span>' for level, count in counts.items() if count
    ]
    return " ".join(parts)


def tool_sections(
    report: TargetResult, findings: Findings, rules: dict[str, RuleUse], words: Words, heading: int
) -> Iterator[str]:
    """The findings of a target, a section that opens for each tool."""
    costs = report.scores.tokens.tools if report.scores.tokens is not None else None
    state = " open" if len(findings.shown) + len(findings.suppressed) <= OPEN else ""
    for tool in findings.by_tool():
        yield f'<details class="group"{state}>\n<summary>{_tool_head(tool, costs, words, heading)}</summary>\n<ol>\n'
        for group in (*tool.shown, *tool.suppressed):
            yield _finding(group, report.target, rules, words)
        yield "</ol>\n</details>\n"


def _tool_head(tool: ToolFindings, costs: dict[str, int] | None, words: Words, heading: int) -> str:
    kind = "" if tool.kind == "tool" else f'<span class="kind">{text(tool.kind, 40)}</span> '
    name = f'<code class="name">{text(tool.name, 200)}</code>' if tool.name else ""
    counts = level_counts(tool.levels(), words)
    if tool.suppressed:
        counts += f' <span class="count suppressed">{len(tool.suppressed):,} suppressed</span>'
    cost = ""
    if costs is not None:
        known = tool.kind == "tool" and tool.name in costs
        cost = f'<span class="cost">{plural(costs[tool.name], "token") if known else ""}</span>'
    return f'<h{heading} class="title">{kind}{name}</h{heading}><span class="counts">{counts}</span>{cost}'


def _finding(group: FindingGroup, target: str, rules: dict[str, RuleUse], words: Words) -> str:
    """One finding: level, message, rule, place, line, and what can be done or was said about it."""
    shown = group.shown
    ids = [shown.rule.id, *group.also]
    hidden = " suppressed" if shown.suppression is not None else ""
    links = " ".join(rule_link(each, rules) for each in ids)
    numbers = " ".join(str(rules[each].number) for each in ids)
    return (
        f'<li class="finding {shown.level}{hidden}" data-rules="{numbers}">'
        f'<span class="level">{words.levels[shown.level]}</span>'
        f'<div class="what"><p class="message">{prose(shown.message)}</p>\n'
        f'<p class="where">{links} {_place(shown, target)}</p>\n'
        f"{_excerpt(shown.snippet, shown.line)}{_remedy(shown.fix)}{_suppression(shown.suppression)}</div></li>\n"
    )


def _place(shown: ReportedFinding, target: str) -> str:
    """Where it stands; the file only where it is not the target itself."""
    parts = [str(part) for part in (shown.line, shown.column) if part is not None]
    if shown.file != target:
        parts.insert(0, text(shown.file))
        place = ":".join(parts)
    else:
        place = f"line {':'.join(parts)}" if parts else ""
    pointer = f' <code class="pointer">{text(shown.pointer, 300)}</code>' if shown.pointer else ""
    return f'<span class="place">{place}</span>{pointer}' if place else pointer


def _excerpt(snippet: Snippet | None, line: int | None) -> str:
    """The line of the file without its indentation, with the part that it is about marked."""
    if snippet is None:
        return ""
    first = max(0, snippet.start - BEFORE)
    last = min(len(snippet.text), snippet.start + AFTER)
    end = min(snippet.end, last)
    before, marked, after = (
        part.replace("\t", "    ")
        for part in (snippet.text[first : snippet.start], snippet.text[snippet.start : end], snippet.text[end:last])
    )
    before = f"…{before}" if first or snippet.cut_before else before.lstrip()
    if last < len(snippet.text) or snippet.cut_after:
        after += "…"
    number = "" if line is None else f' data-line="{line}"'
    mark = f"<mark>{text(marked)}</mark>" if marked else ""
    return f'<pre class="excerpt"{number}><code>{text(before)}{mark}{text(after.rstrip())}</code></pre>\n'


def _remedy(fix: FixFacts | None) -> str:
    """What a machine can do about it."""
    if fix is None:
        return ""
    value = text(json.dumps(fix.value, ensure_ascii=False), 200)
    place = "" if fix.edit is None else f" on line {fix.edit.line}"
    key = text(fix.key, 200)
    return f'<p class="remedy">Can be fixed by machine: set <code>{key}</code> to <code>{value}</code>{place}</p>\n'


def _suppression(suppression: Suppression | None) -> str:
    """Who says that it does not count, where, and why."""
    if suppression is None:
        return ""
    by = _SUPPRESSED_BY.get(suppression.by) or f"Suppressed by {text(suppression.by, 40)}"
    line = "" if suppression.line is None else f":{suppression.line}"
    reason = f": {text(suppression.reason)}" if suppression.reason else ", without a reason"
    place = f'<span class="place">{text(suppression.file)}{line}</span>'
    return f'<p class="suppression">{by}{reason} {place}</p>\n'
