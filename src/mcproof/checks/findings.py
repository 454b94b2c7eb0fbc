"""A finding as a result holds it: with its rule, location, snippet and fix."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.linting.finding import LEVELS, Level

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcproof.linting.suppression.ignores import Suppression


class RuleFacts(NamedTuple):
    """The facts about a rule that reports show, with the severity it has in this run."""

    id: str
    name: str
    ruleset: str
    category: str
    severity: str
    level: Level
    fault: str | None
    fixable: bool
    needs_language_model: bool
    since: str
    summary: str
    why: str
    fix: str
    """What to do about a finding."""
    same_as: str | None = None
    """The id of an equivalent rule of another ruleset."""


class Snippet(NamedTuple):
    """The line of a finding, cropped around its location, with the part to highlight."""

    text: str
    start: int
    end: int
    cut_before: bool
    """Whether the line continues before `text`."""
    cut_after: bool


class TextEdit(NamedTuple):
    """A change of a file by lines and columns; an insertion where start and end are equal."""

    line: int
    column: int
    end_line: int
    end_column: int
    text: str


class FixFacts(NamedTuple):
    """An automatic fix: set this member of the object the finding points at."""

    key: str
    value: Any
    edit: TextEdit | None = None
    """The same as a change of the file, if the run determined it."""


class ReportedFinding(NamedTuple):
    """A finding with its location."""

    rule: RuleFacts
    item: str
    """The item it is about, as `kind:name`; for a parameter, its tool."""
    item_pointer: str
    """The JSON pointer of that item in the document."""
    subject: str
    pointer: str
    message: str
    evidence: dict[str, Any] | None
    file: str
    line: int | None
    column: int | None
    fix: FixFacts | None
    fingerprint: str = ""
    """An identity that survives moved lines and reordered tools; empty if the run computed none."""
    end_column: int | None = None
    """The end of the part to highlight, on the same line."""
    snippet: Snippet | None = None
    suppression: Suppression | None = None
    twins: int = 0
    """A number that identical findings about several items share: a definition that many tools carry. 0 for none."""

    @property
    def level(self) -> Level:
        return self.rule.level

    @property
    def tool(self) -> str | None:
        return self.item.removeprefix("tool:") if self.item.startswith("tool:") else None

    @property
    def label(self) -> str:
        """The name of its item; empty for the server."""
        return self.item.partition(":")[2]

    @property
    def sentence(self) -> str:
        """The message, prefixed with the name of its item."""
        return f"{self.label}: {self.message}" if self.label else self.message

    @property
    def in_clients(self) -> str:
        """What the fault does in clients, with which a message of `compat` ends; empty for other rulesets."""
        return self.message.partition(": ")[2] if self.rule.ruleset == "compat" else ""


def reported_finding(
    *,
    rule: RuleFacts,
    item: str,
    item_pointer: str,
    subject: str,
    pointer: str,
    message: str,
    evidence: dict[str, Any] | None,
    file: str,
    line: int | None,
    column: int | None,
    fix: FixFacts | None,
) -> ReportedFinding:
    """Return a finding at a location, faster than a call of the class with keywords."""
    fields = (rule, item, item_pointer, subject, pointer, message, evidence, file, line, column, fix)
    return tuple.__new__(ReportedFinding, fields + _DEFAULTS)


_DEFAULTS = tuple(ReportedFinding._field_defaults.values())


class FindingGroup(NamedTuple):
    """Findings that people see as one: the finding shown, and those of other rules that report the same."""

    shown: ReportedFinding
    others: list[ReportedFinding]

    @property
    def also(self) -> list[str]:
        """The ids of the other rules."""
        return [each.rule.id for each in self.others]

    @property
    def also_in_words(self) -> list[str]:
        """The ids of the other rules, with what the fault does in clients where one reports that."""
        return [f"{each.rule.id} ({effect})" if (effect := each.in_clients) else each.rule.id for each in self.others]


def group_by_fault(findings: Iterable[ReportedFinding]) -> list[FindingGroup]:
    """Group findings that report one fault at one location; the most serious is shown, preferably one with a fix.

    Findings of equivalent rules are grouped too. Findings about a live server's behaviour have no location, so each
    stays on its own.
    """
    groups: dict[tuple[object, ...], list[ReportedFinding]] = {}
    all_findings = list(findings)
    repeated = {each.rule.same_as for each in all_findings}
    faults = {each.rule.id: each.rule.fault for each in all_findings if each.rule.ruleset != "wire"}
    for number, each in enumerate(all_findings):
        rule = each.rule
        equivalent = rule.same_as or (rule.id if rule.id in repeated else None)
        shared = faults.get(rule.id) or (equivalent and faults.get(equivalent)) or equivalent
        groups.setdefault((number,) if shared is None else (shared, each.item_pointer, each.pointer), []).append(each)
    result = []
    for members in groups.values():
        shown = min(members, key=_urgency)
        result.append(FindingGroup(shown, [each for each in members if each is not shown]))
    return result


def _urgency(each: ReportedFinding) -> tuple[int, bool, bool]:
    """Sort key for the finding to show: most serious first, then with a fix, then not from `polish`."""
    return LEVELS.index(each.rule.level), each.fix is None, each.rule.ruleset == "polish"


CHANGE_SEVERITIES: dict[bool | None, str] = {True: "error", None: "warning", False: "note"}
"""The severity of a change in a comparison, by whether it breaks callers; None means unknown."""

IS_BREAKING: dict[str, bool | None] = {severity: breaking for breaking, severity in CHANGE_SEVERITIES.items()}
