"""The edits that help most, across grade, clients, trust, promises and errors.

An edit fixes the findings of one rule, or those of them that come from one definition, such as a parameter that 45
tools share. What else is wrong at the same places is fixed with it.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from mcproof.checks.findings import advice_of
from mcproof.checks.reporting import locate, locate_findings, number_twins, written_item
from mcproof.checks.rule import VERDICTS, GradeTraits, Thresholds
from mcproof.checks.scores.grade import LETTERS, POINTS, letter_of
from mcproof.checks.scores.trust import verdict_without
from mcproof.core.console import few, plural
from mcproof.core.named_tuple import NamedTuple
from mcproof.runs.results import Edit

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from mcproof.checks.clients.verdicts import Improvement
    from mcproof.checks.findings import Finding
    from mcproof.checks.scores.grade import Grade
    from mcproof.checks.scores.trust import Trust
    from mcproof.core.catalog.model import Catalog

MOST_EDITS = 5
_LONGEST_SNIPPET = 3
"""How many lines of a snippet an edit has."""
_WORTH = {"verdict": 30, "letter": 20, "error": 12, "client": 5, "more errors": 2, "point": 1, "warning": 0.1}
"""The worth of a better verdict or letter, an error less, a client, further errors, a point, a warning less."""
_MOST_ERRORS = 10
"""The further errors that count: more of them rarely are more work."""
_COUNTED_PARAMETERS = re.compile(r"\{n\} parameter\{s\}")
_NUMBER = re.compile(r"\d[\d,]*")
_LONGEST_ADVICE = 110
_END_OF_CLAUSE = re.compile(r"; |: |, (?:or|and) ")


class _Gain(NamedTuple):
    """What an edit gains: how much it is worth, and in words."""

    worth: float
    words: str


class _Draft(NamedTuple):
    """The findings that one edit fixes, and the rules that it is about."""

    findings: list[Finding]
    is_shared: bool = False
    """Whether they come from one definition."""

    @property
    def rules(self) -> list[str]:
        return list(dict.fromkeys(finding.rule.id for finding in self.findings))

    @property
    def key(self) -> tuple[object, ...]:
        """What drafts have in common that are one edit: their places, or what to do about the server's behaviour."""
        rule = self.findings[0].rule
        if rule.ruleset == "wire":
            return (rule.advice,)
        # The item as a whole says little about what is wrong with it.
        is_precise = all(finding.pointer for finding in self.findings)
        return (self.places,) if is_precise else (self.places, rule.same_as or rule.id)

    @property
    def places(self) -> frozenset[tuple[str, str]]:
        return frozenset((finding.item.pointer, finding.pointer) for finding in self.findings)


class Scored(NamedTuple):
    """The scores that an edit may raise."""

    grade: Grade | None
    trust: Trust | None
    improvements: Sequence[Improvement]
    thresholds: Thresholds = Thresholds()


def most_helpful(
    catalog: Catalog, findings: Sequence[Finding], scored: Scored, source: Catalog | None = None
) -> list[Edit]:
    """Return the edits that gain most, the best first; `source` has the places of a live server in its code."""
    gains = [(draft, _gain(draft, findings, scored)) for draft in _drafts(findings)]
    gains = sorted((pair for pair in gains if pair[1].worth > 0), key=lambda pair: -pair[1].worth)
    edits: dict[str, Edit] = {}
    for draft, gain in gains:
        what = _what(draft, scored)
        # Another rule about some of the same texts asks for the same: `shorten 7 descriptions`, `shorten 2 …`.
        if (same := _NUMBER.sub("", what).replace("s", "")) not in edits:
            edits[same] = _edit(catalog, draft, what, gain, source)
        if len(edits) == MOST_EDITS:
            break
    return list(edits.values())


def _drafts(findings: Sequence[Finding]) -> list[_Draft]:
    """Group findings into edits: by rule, a large shared definition apart, and rules about the same places together."""
    twins = number_twins(findings)
    by_rule: dict[str, list[int]] = {}
    for number, finding in enumerate(findings):
        if not finding.problem.may_be_meant and (finding.level != "note" or finding.rule.ruleset == "grade"):
            by_rule.setdefault(finding.rule.id, []).append(number)
    drafts: dict[tuple[object, ...], _Draft] = {}
    for numbers in by_rule.values():
        for draft in _parts(findings, numbers, twins):
            same = drafts.get(draft.key)
            drafts[draft.key] = draft if same is None else same._replace(findings=[*same.findings, *draft.findings])
    return list(drafts.values())


def _parts(findings: Sequence[Finding], numbers: list[int], twins: dict[int, int]) -> Iterator[_Draft]:
    """Split the findings of a rule, if most of them come from one definition."""
    groups: dict[int, list[int]] = {}
    for number in numbers:
        if number in twins:
            groups.setdefault(twins[number], []).append(number)
    shared = max(groups.values(), key=len, default=[])
    # A minority from one definition is one place among many, and no edit of its own. A client needs all of them.
    if 2 * len(shared) < len(numbers) or findings[numbers[0]].rule.ruleset == "compat":
        shared = []
    if shared:
        yield _Draft([findings[number] for number in shared], is_shared=True)
    if rest := set(numbers).difference(shared):
        yield _Draft([findings[number] for number in sorted(rest)])


def _gain(draft: _Draft, findings: Sequence[Finding], scored: Scored) -> _Gain:
    """What fixing the findings of a draft gains."""
    gains = [*_grade_gains(draft, scored.grade)]
    of_draft, of_all = (Counter(finding.rule.id for finding in part) for part in (draft.findings, findings))
    # Only without any of its findings is a client, or a rule, better off.
    rules = [rule for rule in draft.rules if of_draft[rule] == of_all[rule]]
    gains += [*_client_gains(rules, scored.improvements), *_trust_gains(rules, scored)]
    if not any(gain.worth >= _WORTH["letter"] for gain in gains) and all(
        finding.level == "note" for finding in draft.findings
    ):
        return _Gain(0, "")  # a note may be intended, such as a tool whose parameters have good defaults
    gains += _error_gains(draft.findings, is_all=not any(gain.words for gain in gains))
    return _Gain(sum(gain.worth for gain in gains), "; ".join(filter(None, (gain.words for gain in gains))))


def _grade_gains(draft: _Draft, grade: Grade | None) -> Iterator[_Gain]:
    points = sum(POINTS[finding.rule.scheme_severity] for finding in draft.findings if finding.rule.ruleset == "grade")
    if grade is None or not points:
        return
    whole = next((gain for gain in grade.gains if [gain.rule] == draft.rules and gain.cost == points), None)
    # From the score without its floor: what lifts a server from -40 to -20 points gains no letter yet.
    after = max(0, min(100, grade.unclamped + points)) if whole is None else grade.score + whole.points
    letter = letter_of(after)
    steps = LETTERS.index(grade.letter) - LETTERS.index(letter)
    worth = _WORTH["letter"] * steps + _WORTH["point"] * (after - grade.score or points / 10)
    if grade.score == 100:
        yield _Gain(worth, "")
    elif steps:
        yield _Gain(worth, f"{grade.letter} → {letter}")
    else:
        below = "" if after > grade.score else f" of {100 - grade.unclamped:,} lost"
        yield _Gain(worth, f"+{plural(after - grade.score or points, 'point')}{below}")


def _client_gains(rules: list[str], improvements: Iterable[Improvement]) -> Iterator[_Gain]:
    # Of clients alone: model APIs are behind them, and would be counted twice.
    gains = [(step.rule in rules, gain) for step in improvements for gain in step.gains if gain.kind == "client"]
    better = list(dict.fromkeys(gain.name for is_ours, gain in gains if is_ours and gain.before != gain.after))
    repaired = [is_ours for is_ours, gain in gains if gain.before == "breaks" != gain.after]
    if better:
        # A server that no longer breaks anywhere is worth as much as a better verdict.
        all_work = bool(repaired) and all(repaired)
        yield _Gain(_WORTH["client"] * len(better) + _WORTH["verdict"] * all_work, f"better in {few(better, 3)}")


def _trust_gains(rules: list[str], scored: Scored) -> Iterator[_Gain]:
    trust = scored.trust
    actions = [] if trust is None else [action for action in trust.actions if action.rule in rules]
    if trust is None or not actions:
        return
    points = sum(action.points for action in actions)
    words = [f"trust +{points}"] if points else []
    after = verdict_without(trust, rules, scored.thresholds)
    steps = float(VERDICTS.index(trust.verdict) - VERDICTS.index(after))
    # A verdict may have several causes: without one of them it is still the same.
    causes = [outcome.rule for outcome in trust.outcomes if outcome.is_hard_fail] or [
        outcome.rule for outcome in trust.outcomes if outcome.caps_verdict
    ]
    if steps:
        words.insert(0, f"{trust.verdict} → {after}")
    elif trust.verdict != VERDICTS[0] and (ours := sum(cause in rules for cause in causes)):
        steps = ours / len(causes)
        words.insert(0, f"removes {ours:,} of {len(causes):,} causes of `{trust.verdict}`")
    yield _Gain(_WORTH["verdict"] * steps + _WORTH["point"] * points, ", ".join(words))


def _error_gains(findings: list[Finding], *, is_all: bool) -> Iterator[_Gain]:
    """What fewer findings are worth; warnings are named if an edit gains nothing else."""
    errors, warnings = (sum(finding.level == level for finding in findings) for level in ("error", "warning"))
    yield _Gain(_WORTH["warning"] * warnings, f"fixes {plural(warnings, 'warning')}" if is_all and not errors else "")
    if errors:
        # What is wrong with the transport reaches every request.
        is_everywhere = any(finding.level == "error" and finding.rule.category == "transport" for finding in findings)
        more = _WORTH["more errors"] * (_MOST_ERRORS if is_everywhere else min(errors - 1, _MOST_ERRORS))
        yield _Gain(_WORTH["error"] + more, f"fixes {plural(errors, 'error')}")


def _edit(catalog: Catalog, draft: _Draft, what: str, gain: _Gain, source: Catalog | None) -> Edit:
    first = draft.findings[0]
    snippet = _snippet(catalog, draft.findings, source)
    return Edit(what, gain.words, _place(catalog, first, source), snippet, draft.rules)


def _what(draft: _Draft, scored: Scored) -> str:
    """What to do, in a phrase: of the rule that says it best."""
    first, count = draft.findings[0], len(draft.places)
    for finding in draft.findings:
        if finding.rule.ruleset == "grade":
            remedy, name = finding.rule.own(GradeTraits).remedy, finding.parameter
            if draft.is_shared and name is not None and _COUNTED_PARAMETERS.search(remedy):
                return _COUNTED_PARAMETERS.sub(f"`{name}`", remedy) + f", in {count:,} tools from one definition"
            return remedy.format(n=f"{count:,}", s="" if count == 1 else "s")
    improvement = next((step for step in scored.improvements if step.rule in draft.rules), None)
    if improvement is not None:
        return improvement.remedy
    advice = advice_of([first]).partition(". ")[0].rstrip(".")
    ends = (
        [] if len(advice) <= _LONGEST_ADVICE else [clause_end.start() for clause_end in _END_OF_CLAUSE.finditer(advice)]
    )
    advice = advice[: max((end for end in ends if end <= _LONGEST_ADVICE), default=len(advice))]
    items = _items(draft.findings)
    return f"{few(items, 1)}: {advice}" if items else advice


def _items(findings: list[Finding]) -> list[str]:
    """The items that findings are about: for one about the server, the tools that its evidence names."""
    labels: list[str] = []
    for finding in findings:
        if finding.item.kind == "server":
            lists = [hits for hits in (finding.evidence or {}).values() if isinstance(hits, list)]
            labels += [
                str(hit["toolName"]) for hits in lists for hit in hits if isinstance(hit, dict) and "toolName" in hit
            ]
        else:
            labels.append(finding.item.label)
    return [f"`{label}`" for label in dict.fromkeys(labels)]


def _place(catalog: Catalog, finding: Finding, source: Catalog | None) -> str:
    """The first place to change: file and line where they are known, and the item."""
    (location,) = locate_findings(catalog, [finding])
    item, pointer, near = finding.item, finding.pointer, finding.problem.near
    if item.kind == "server" and isinstance(near, str):  # a rule about the server that names tools
        for tool in catalog.tools:
            if near == tool.pointer or near.startswith(f"{tool.pointer}/"):
                item, pointer = tool, near.removeprefix(tool.pointer)
    if location.line is None and source is not None and item.kind != "server":
        # The finding is about what the server sends; its author wants the line that sends it.
        written = written_item(item, source)
        location = location if written is None else locate(source, written.pointer + pointer)
    subject = "" if item.kind == "server" else f"{item.kind} `{item.label}`"
    if finding.parameter is not None and item.kind == "tool":
        subject += f", parameter `{finding.parameter}`"
    where = "" if location.line is None else f"{location.file}:{location.line}"
    return ", ".join(filter(None, (where, subject))) or "the server as a whole"


def _snippet(catalog: Catalog, findings: list[Finding], source: Catalog | None) -> str:
    """What to write in the code, or in a snapshot; empty if that depends on what the author wants."""
    if catalog.source is not None or catalog.connection is not None:
        from mcproof.checks.fixes.snippets import code_help

        helped = code_help(catalog, findings, source)
        lines = helped[0].code.splitlines() if helped else []
        # Which of the forms the code has is unknown: those of one line have room beside the first.
        others = [other.code for other in helped[1:] if other.rule == helped[0].rule and "\n" not in other.code]
        written = [line for line in lines if not line.startswith(("from ", "import "))]
        if len(written) == 1 and others:
            return f"{written[0]}\nor: {others[0]}"
        more = ["…"] if len(lines) > _LONGEST_SNIPPET else []
        return "\n".join([*lines[:_LONGEST_SNIPPET], *more])
    fix = next((finding.fix for finding in findings if finding.fix is not None), None)
    if fix is None:
        return ""
    from json import dumps

    return f"{dumps(fix.key)}: {dumps(fix.value, ensure_ascii=False)}"
