"""Findings: what a rule yields, and what a result holds of it.

A rule yields `Problem`s; the engine makes `Finding`s with rule and item; `ReportedFinding` also has location,
snippet and fix. All are plain values without rendering. `fingerprints` identifies a finding after its file has
changed.
Why identities have no line: docs/decisions/0006-finding-identity.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from mcproof.core.named_tuple import NamedTuple
from mcproof.core.stored_form import Count, Fault, Position, Text, member, record
from mcproof.source.suffixes import JAVASCRIPT, SOURCE

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mcproof.checks.ignores import Suppression
    from mcproof.checks.rule import Rule
    from mcproof.core.catalog.model import Item
    from mcproof.core.observations.source import HiddenLine, SourceLocation
    from mcproof.core.text.json_positions import Span


Level = Literal["error", "warning", "note"]
LEVELS: tuple[Level, ...] = ("error", "warning", "note")
"""From the most to the least serious."""

_LEVEL_OF: dict[str, Level] = {
    **dict.fromkeys(("critical", "high", "error"), "error"),
    **dict.fromkeys(("medium", "warning", "warn"), "warning"),
    **dict.fromkeys(("low", "info", "note"), "note"),
}


def level_of(severity: str) -> Level:
    """The level of a severity word of any ruleset."""
    return _LEVEL_OF[severity]


class SetMember(NamedTuple):
    """A fix: set the member `key` of the object that the finding points at."""

    key: str
    value: Any


class SharedEvidence(dict[str, Any]):
    """Evidence that many findings share, which is therefore encoded only once."""

    __slots__ = ("encoded",)
    encoded: str
    """Its JSON text, once a report needed it."""


class Problem(NamedTuple):
    """What a rule reports about a subject."""

    message: str
    at: str = ""
    """The pointer from the checked item; empty for the item itself."""
    parameter: str | None = None
    """The argument at fault, if there is one."""
    evidence: dict[str, Any] | None = None
    fix: SetMember | None = None
    near: str | Span | SourceLocation | HiddenLine | None = None
    """A pointer, a span in the document or a place in source to show instead, for what has no pointer of its own."""
    item: Item | None = None
    """The item at fault, if a catalog-wide rule reports a single item."""
    severity: str | None = None
    """Its severity, if that is not the rule's; a user's choice of severity comes first."""
    same_as: str | None = None
    """The id of the rule of another ruleset that reports the same, if not every problem of the rule has one."""
    may_be_meant: bool = False
    """Whether it looks intended: it counts, and nobody is advised to change it."""


class Finding(NamedTuple):
    """One rule, one subject, one pointer, one message."""

    rule: Rule
    item: Item
    problem: Problem

    @property
    def pointer(self) -> str:
        """The pointer from the item: `/inputSchema/properties/x`."""
        return self.problem.at

    @property
    def message(self) -> str:
        return self.problem.message

    @property
    def parameter(self) -> str | None:
        return self.problem.parameter

    @property
    def evidence(self) -> dict[str, Any] | None:
        return self.problem.evidence

    @property
    def fix(self) -> SetMember | None:
        return self.problem.fix

    @property
    def near(self) -> str | Span | SourceLocation | HiddenLine | None:
        return self.problem.near

    @property
    def level(self) -> Level:
        return self.rule.level

    @property
    def subject(self) -> str:
        """The subject as `kind:name`."""
        if self.parameter is not None:
            return f"parameter:{self.parameter}"
        return self.item.subject

    @property
    def shown_pointer(self) -> str:
        """The pointer to show in the document; a finding about a whole item is shown at its name."""
        _, item, problem = self
        if isinstance(problem.near, str):
            return problem.near
        if not problem.at and item.name:
            return f"{item.pointer}/name"
        return item.pointer + problem.at


def fingerprints(findings: list[Finding]) -> list[str]:
    """An identity for each finding that survives moved lines, reordered tools and reordered lists.

    It consists of the rule, the item's name and the pointer without its indices. Findings with equal parts are
    numbered: two tools of one name stay distinct, as do three branches of a union. A finding that summarises an item is
    identified by everything it summarises, not by its pointer, so one more problem changes its identity.
    """
    # A number distinguishes twins; it only changes if one of them goes: docs/decisions/0006-finding-identity.md.
    seen: dict[tuple[str, ...], int] = {}
    result = []
    for finding in findings:
        item = finding.item
        sums_up = finding.rule.traits.sums_up
        pointer = sums_up(finding.evidence) if sums_up is not None and finding.evidence is not None else None
        if pointer is None:
            # An index changes when an entry is put before it, and the finding would count as a new one.
            pointer = "/".join("*" if token.isdigit() else token for token in finding.pointer.split("/"))
        key = (finding.rule.id, item.kind, item.given_name, pointer, finding.parameter or "")
        twin = seen[key] = seen.get(key, -1) + 1
        result.append(identity_of(*key, str(twin)))
    return result


def identity_of(*parts: str) -> str:
    """A short hash of a combination of texts."""
    # Here, as a run that asks for no identities need not load it.
    from hashlib import sha256

    return sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]


RULESET_NAMES = ["catalog", "strict", "grade", "trust", "spec", "polish", "compat", "wire", "diff"]
Severity = Annotated[str, member(enum=_LEVEL_OF)]


@record()
class RuleSummary(NamedTuple):
    """One rule."""

    id: Annotated[str, member(pattern="^[A-Za-z0-9_-]+$")]
    """The permanent id."""
    name: Text
    """The readable name of the rule; the id if that is readable."""
    ruleset: Annotated[str, member(enum=RULESET_NAMES)]
    """The ruleset of the rule."""
    category: Text
    """The category of the rule."""
    severity: Severity
    """The severity, as the ruleset publishes it."""
    level: Level
    """The level, which determines the exit code."""
    fault: Fault | None
    """The id in the fault taxonomy that rules and probes share, or None."""
    fixable: bool
    """Whether `schema-lint --fix` can fix its findings."""
    needs_language_model: bool
    """Whether the rule uses a language model."""
    since: Annotated[str, member(pattern=r"^\d+\.\d+\.\d+$")]
    """The version since which the rule is stable."""
    summary: Text
    """What the rule reports, in one sentence."""
    why: Text
    """Why it matters."""
    fix: Text
    """What to do about it."""
    same_as: Annotated[str | None, member(presence="newer")] = None
    """The id of an equivalent rule of another ruleset, or None; absent in older reports."""


@record()
class Snippet(NamedTuple):
    """The line of a finding, cropped around its location."""

    text: str
    """The line, or a part of it."""
    start: Count
    """The start of the part to highlight in `text`, counted from 0."""
    end: Count
    """Where it ends."""
    cut_before: bool
    """Whether the line continues before `text`."""
    cut_after: bool
    """Whether the line continues after it."""


@record()
class TextEdit(NamedTuple):
    """A range of the file and its replacement; lines and columns count from 1."""

    line: Position
    """The first line."""
    column: Position
    """The first column."""
    end_line: Position
    """The last line."""
    end_column: Position
    """The column after the last."""
    text: str
    """The replacement."""


class FixSummary(NamedTuple):
    """An automatic fix: set this member of the object the finding points at."""

    key: str
    value: Any
    edit: TextEdit | None = None
    """The same as a change of the file, if the run determined it."""


class ReportedFinding(NamedTuple):
    """A finding with its location."""

    rule: RuleSummary
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
    fix: FixSummary | None
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
    def advice(self) -> str:
        """What to do about it, in the language of its file."""
        return advice_for(self.rule.fix, [self.file])

    @property
    def in_clients(self) -> str:
        """What the fault does in clients, with which a message of `compat` ends; empty for other rulesets."""
        return self.message.partition(": ")[2] if self.rule.ruleset == "compat" else ""


def advice_for(advice: str, files: Iterable[str]) -> str:
    """The part of a rule's advice for the language of these files; all of it if they are in several, or none."""
    python, _, javascript = advice.partition(" In JavaScript: ")
    languages = {file.endswith(JAVASCRIPT) for file in files if file.endswith(SOURCE)}
    return advice if not javascript or len(languages) != 1 else javascript if languages.pop() else python


def advice_of(findings: Sequence[Finding]) -> str:
    """The advice about findings of one rule, in the language of the source that they are in."""
    return advice_for(findings[0].rule.advice, [getattr(finding.near, "file", "") for finding in findings])


def originals(reported: Iterable[ReportedFinding], findings: Iterable[Finding]) -> list[Finding | None]:
    """Return the findings behind reported ones, as the rules made them; None for one that is not among them."""
    by_place = {
        (finding.rule.id, finding.item.pointer, finding.pointer, finding.message): finding for finding in findings
    }
    return [by_place.get((shown.rule.id, shown.item_pointer, shown.pointer, shown.message)) for shown in reported]


class FindingGroup(NamedTuple):
    """Findings that people see as one: the finding shown, and those of other rules that report the same."""

    shown: ReportedFinding
    others: list[ReportedFinding]

    @property
    def also(self) -> list[str]:
        """The ids of the other rules."""
        return [other.rule.id for other in self.others]

    @property
    def also_in_words(self) -> list[str]:
        """The ids of the other rules, with what the fault does in clients where one reports that."""
        return [
            f"{other.rule.id} ({effect})" if (effect := other.in_clients) else other.rule.id for other in self.others
        ]


def group_by_fault(findings: Iterable[ReportedFinding]) -> list[FindingGroup]:
    """Group findings that report one fault at one location; the most serious is shown, preferably one with a fix.

    Findings of equivalent rules are grouped too. Findings about a live server's behaviour have no location, so each
    stays on its own.
    """
    groups: dict[tuple[object, ...], list[ReportedFinding]] = {}
    all_findings = list(findings)
    repeated = {finding.rule.same_as for finding in all_findings}
    faults = {finding.rule.id: finding.rule.fault for finding in all_findings if finding.rule.ruleset != "wire"}
    for number, finding in enumerate(all_findings):
        rule = finding.rule
        equivalent = rule.same_as or (rule.id if rule.id in repeated else None)
        shared = faults.get(rule.id) or (equivalent and faults.get(equivalent)) or equivalent
        # What one fault looks like to several rulesets is one thing to repair, so people see it once.
        key = (number,) if shared is None else (shared, finding.item_pointer, finding.pointer)
        groups.setdefault(key, []).append(finding)
    result = []
    for members in groups.values():
        shown = min(members, key=_urgency)
        result.append(FindingGroup(shown, [finding for finding in members if finding is not shown]))
    return result


def _urgency(finding: ReportedFinding) -> tuple[int, bool, bool]:
    """Sort key for the finding to show: most serious first, then with a fix, then not from `polish`."""
    return LEVELS.index(finding.rule.level), finding.fix is None, finding.rule.ruleset == "polish"


CHANGE_SEVERITIES: dict[bool | None, str] = {True: "error", None: "warning", False: "note"}
"""The severity of a change in a comparison, by whether it breaks callers; None means unknown."""

IS_BREAKING: dict[str, bool | None] = {severity: breaking for breaking, severity in CHANGE_SEVERITIES.items()}
