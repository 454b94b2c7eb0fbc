"""Check one catalog: run rules, apply suppressions, score, build the result."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from mcproof.checks.engine import check, needs_observation, unjudged_rules
from mcproof.checks.fixes import proven_edits
from mcproof.checks.ignores import ACCEPTED, COMMENTED
from mcproof.checks.reporting import report_findings
from mcproof.checks.rule import CRASHED, Thresholds, is_ignored, rules_of
from mcproof.checks.subjects import NOTHING
from mcproof.core.errors import Untested
from mcproof.core.named_tuple import NamedTuple
from mcproof.core.observations.connection import ObservedConnection
from mcproof.core.observations.probes import ItemProbes
from mcproof.runs.results import INJECTIONS, Descriptions, Gate, LintPayload, Scores, TargetResult, Weakness

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from mcproof.checks.baseline import Baseline
    from mcproof.checks.clients.hits import CatalogHits, ClientChecks
    from mcproof.checks.clients.profiles import Profile
    from mcproof.checks.findings import Finding
    from mcproof.checks.fixes.snippets import CodeHelp
    from mcproof.checks.ignores import IgnoreFor, IgnoreTracker, Suppression
    from mcproof.checks.rule import Rule
    from mcproof.checks.scores.grade import Grade, NotJudged
    from mcproof.checks.scores.tokens import TokenCost
    from mcproof.checks.subjects import Observed, Unjudged
    from mcproof.core.catalog.model import Catalog
    from mcproof.runs.requests import Detail
    from mcproof.runs.results import Payload

LINT = LintPayload()
WEAKEST = 3
"""How many of the worst descriptions a result names."""


class Plan(NamedTuple):
    """What to check on a catalog: request and configuration, resolved."""

    rules: list[Rule]
    fail_on: str
    ignores: tuple[IgnoreFor, ...] = ()
    min_grade: str | None = None
    max_tokens: int | None = None
    ignored: frozenset[str] = frozenset()
    """The rules that do not run, and whose findings other rules may not repeat."""
    left_out: tuple[Untested, ...] = ()
    """The rules that the user chose not to run."""
    baseline: Baseline | None = None
    clients: ClientChecks | CatalogHits | None = None
    """The constraints of clients to check; None for those of `lint`."""
    profiles: Mapping[str, Profile] | None = None
    """The client profiles, if the configuration changes any."""
    named_clients: tuple[str, ...] = ()
    """The clients that the configuration names, as `NAME` or `NAME@VERSION`."""
    thresholds: Thresholds = Thresholds()
    """The scores that the verdicts of `scan` need."""
    overrules_comments: bool = False
    """Whether rules of `trust` report also what a comment in the source asks to ignore."""


class CatalogFindings(NamedTuple):
    """The findings of a catalog, each with its suppression or None."""

    findings: list[Finding]
    suppressions: list[Suppression | None]
    crashed: frozenset[str] = frozenset()
    """The ids of the rules that crashed, reported or not: they may have missed findings."""
    overruled: int = 0
    """How many findings count although a comment in the source asks to ignore them."""

    @property
    def active(self) -> list[Finding]:
        """The findings that are not suppressed."""
        return [finding for finding, why in zip(self.findings, self.suppressions, strict=True) if why is None]

    @property
    def scored(self) -> list[Finding]:
        """The findings that cost points: all that configuration and comments do not ignore. A baseline only accepts."""
        return [
            finding
            for finding, why in zip(self.findings, self.suppressions, strict=True)
            if why is None or why.by == ACCEPTED
        ]


def _crashed(findings: list[Finding]) -> frozenset[str]:
    return frozenset(
        finding.evidence["rule"] for finding in findings if finding.rule.id == CRASHED and finding.evidence is not None
    )


def find_problems(
    catalog: Catalog, plan: Plan, tracker: IgnoreTracker, observed: Observed = NOTHING
) -> CatalogFindings:
    """Run the rules, then apply configuration, comments and baseline."""
    findings = check(catalog, plan.rules, plan.clients, observed)
    failed = _crashed(findings)
    if plan.ignored:
        findings = [finding for finding in findings if not is_ignored(finding.rule, plan.ignored)]
    suppressions: list[Suppression | None] = [None] * len(findings)
    overruled = 0
    # A rule that crashed may have missed findings, so nothing about it counts as stale or unused.
    ran = [rule for rule in plan.rules if rule.id not in failed] if failed else plan.rules
    if plan.ignores:
        suppressions = tracker.apply(findings, plan.ignores, ran)
    if catalog.source is not None and catalog.source.comments:
        from mcproof.checks.ignores import apply_comments

        suppressions = apply_comments(catalog, findings, suppressions, ran, tracker)
        if plan.overrules_comments:
            # Whoever asks for trust must not grant it: docs/decisions/0021-suppression-and-scores.md.
            for at, (finding, why) in enumerate(zip(findings, suppressions, strict=True)):
                if why is not None and why.by == COMMENTED and finding.rule.ruleset == "trust":
                    suppressions[at], overruled = None, overruled + 1
    if plan.baseline is not None:
        suppressions = plan.baseline.accept(catalog, findings, suppressions, ran, observed)
    return CatalogFindings(findings, suppressions, failed, overruled)


class Checked(NamedTuple):
    """The result of a target, partial if the user interrupted the check."""

    result: TargetResult
    findings: list[Finding] = []  # noqa: RUF012 (never mutated)
    """The findings that count, as the rules made them."""
    catalog: Catalog | None = None
    """The catalog that was checked; the run adds it."""
    is_interrupted: bool = False

    def with_gates(self, gates: Iterable[Gate]) -> Checked:
        """The same with more gates."""
        return self._replace(result=self.result._replace(gates=[*self.result.gates, *gates]))


def check_catalog(
    catalog: Catalog,
    plan: Plan,
    detail: Detail,
    tracker: IgnoreTracker,
    payload: Payload = LINT,
    *,
    observed: Observed = NOTHING,
    summarize: Callable[[CatalogFindings, Mapping[str, Unjudged]], Payload] | None = None,
) -> Checked:
    """Return the result of one catalog and what was observed besides; `summarize` makes a payload."""
    checked = find_problems(catalog, plan, tracker, observed)
    active = checked.active
    needs = _needs(tuple(plan.rules))
    unjudged = unjudged_rules(needs.observation, catalog, observed)
    suppressed_any = any(checked.suppressions)
    reported = report_findings(
        catalog,
        checked.findings,
        checked.suppressions if suppressed_any else None,
        lines=detail.lines,
        identities=detail.identities,
        positions=detail.positions,
        edits=proven_edits(catalog, checked.findings) if detail.identities else None,
    )
    grade, tokens = _scores(catalog, plan, checked) if detail.scores else (None, None)
    # A grade is shown only if no unknown could change its letter: docs/decisions/0025-unknown-is-silent.md.
    grade, unknown = _withheld(catalog, grade)
    info = catalog.server_info
    result = TargetResult(
        target=catalog.name,
        server={key: info[key] for key in ("name", "version") if isinstance(info.get(key), str) and info[key]},
        protocol=catalog.protocol,
        connection=_connection(catalog),
        counts=catalog.counts,
        findings=[finding for finding in reported if finding.suppression is None] if suppressed_any else reported,
        suppressed=[finding for finding in reported if finding.suppression is not None] if suppressed_any else [],
        scores=Scores(
            grade=grade,
            tokens=tokens,
            descriptions=_descriptions(catalog) if detail.scores else None,
            polish=_polish(catalog, plan, checked),
        ),
        gates=_gates(plan, grade, tokens, is_withheld=unknown is not None and unknown.best is not None),
        fail_on=plan.fail_on,
        untested=[*plan.left_out, *_unobserved(needs, unjudged, observed), *_unsought(catalog, payload)],
        payload=payload if summarize is None else summarize(checked, unjudged),
        code_help=_code_help(catalog, active),
        not_judged=unknown,
    )
    return Checked(result, active)


def _code_help(catalog: Catalog, findings: list[Finding]) -> list[CodeHelp]:
    """What to write in the code of a server; empty for a snapshot, which is fixed where it is."""
    if not findings or (catalog.source is None and catalog.connection is None):
        return []
    from mcproof.checks.fixes.snippets import code_help

    return code_help(catalog, findings)


def _connection(catalog: Catalog) -> dict[str, str | None] | None:
    wire = catalog.connection
    if wire is None:
        return None
    return {"transport": wire.transport, "era": wire.era, "requested": wire.requested, "agreed": wire.agreed}


def _scores(catalog: Catalog, plan: Plan, checked: CatalogFindings) -> tuple[Grade | None, TokenCost]:
    """The grade, unless a rule of it is missing that the user did not leave out; and the token cost."""
    from mcproof.checks.scores.grade import grade
    from mcproof.checks.scores.tokens import token_cost

    tokens = token_cost(catalog)
    if not _runs_whole("grade", tuple(plan.rules), plan.left_out):
        return None, tokens
    return grade(catalog, checked.scored), tokens


def _withheld(catalog: Catalog, grade: Grade | None) -> tuple[Grade | None, NotJudged | None]:
    """The grade, unless what is unknown could change its letter; and what is unknown."""
    if catalog.source is None:
        return grade, None
    from mcproof.checks.scores.grade import letter_range, not_judged

    unknown = not_judged(catalog)
    if grade is None or unknown is None:
        return grade, unknown
    best, worst = letter_range(catalog, grade)
    return (grade, unknown) if best == worst else (None, unknown._replace(best=best))


@lru_cache(maxsize=32)
def _runs_whole(ruleset: str, rules: tuple[Rule, ...], left_out: tuple[Untested, ...]) -> bool:
    """Whether all rules of a ruleset run that the user did not leave out, and at least one."""
    ignored = {name for left in left_out for name in left.rules}
    # A grade by some of its rules would be better than the server is.
    running = {rule.id for rule in rules if rule.ruleset == ruleset}
    return bool(running) and {rule.id for rule in rules_of(ruleset)} - ignored <= running


def _polish(catalog: Catalog, plan: Plan, checked: CatalogFindings) -> int | None:
    """The polish score, unless a rule of it is missing that the user did not leave out."""
    if not _runs_whole("polish", tuple(plan.rules), plan.left_out):
        return None
    from mcproof.checks.scores.grade import polish

    return polish(catalog, checked.scored).score


def _descriptions(catalog: Catalog) -> Descriptions:
    from mcproof.checks.scores.descriptions import description_scores, judge

    # A description that code computes is unknown, not empty: it must not count as the worst.
    judged = [judge(tool) for tool in catalog.tools if tool.knows("/description") and tool.knows_all("/inputSchema")]
    scores = description_scores(judged)
    lowest = dict(sorted(scores.items(), key=lambda score: score[1])[:WEAKEST])
    weakest: dict[str, Weakness] = {}
    for description in judged:
        label = description.tool.label
        if label in lowest and label not in weakest and description.score == lowest[label]:
            reasons = description.explained().reasons
            if reasons:
                weakest[label] = Weakness(label, lowest[label], reasons[0])
    return Descriptions(scores, sorted(weakest.values(), key=lambda weakness: weakness.score))


def _gates(plan: Plan, grade: Grade | None, tokens: TokenCost | None, *, is_withheld: bool) -> list[Gate]:
    """The requested gates, each with whether it is met; a withheld grade meets none."""
    gates = []
    if plan.min_grade is not None and is_withheld:
        gates.append(Gate("min-grade", plan.min_grade, "withheld", passed=False))
    if plan.min_grade is not None and grade is not None:
        gates.append(Gate("min-grade", plan.min_grade, grade.letter, grade.letter <= plan.min_grade))
    if plan.max_tokens is not None and tokens is not None:
        gates.append(Gate("max-tokens", plan.max_tokens, tokens.total, tokens.total <= plan.max_tokens))
    return gates


def _unobserved(needs: _Needs, unjudged: Mapping[str, Unjudged], observed: Observed) -> list[Untested]:
    """What this input cannot show, whichever rules run."""
    unobserved = []
    if not observed.calls_tools:
        unobserved.append(Untested("behaviour", "no tool was called (static run)", needs.calls))
    if needs.connection and not observed.of(ObservedConnection):
        unobserved.append(Untested("ruleset wire", "no live connection"))
    # By reason, as a static run leaves out dozens of rules for two or three of them.
    by_reason: dict[str, list[str]] = {}
    for rule, reason in unjudged.items():
        if rule not in needs.neighbours:  # a run with one server has no neighbours, which is nothing to report
            by_reason.setdefault(reason.why, []).append(rule)
    return unobserved + [Untested.of(rules, why) for why, rules in by_reason.items()]


def _unsought(catalog: Catalog, payload: Payload) -> list[Untested]:
    """What a lint of source does not look for, although it reads the code."""
    is_lint = payload.kind == "lint" and catalog.source is not None
    return [Untested(INJECTIONS, "`scan` looks for them")] if is_lint else []


class _Needs(NamedTuple):
    """The rules that need something of a catalog."""

    calls: tuple[str, ...]
    connection: tuple[str, ...]
    observation: tuple[Rule, ...]
    neighbours: tuple[str, ...]


@lru_cache(maxsize=32)  # a run with many files has a few plans
def _needs(rules: tuple[Rule, ...]) -> _Needs:
    return _Needs(
        calls=tuple(rule.id for rule in rules if rule.subject is ItemProbes),
        connection=tuple(rule.id for rule in rules if rule.ruleset == "wire"),
        observation=tuple(rule for rule in rules if needs_observation(rule)),
        neighbours=tuple(rule.id for rule in rules if rule.traits.needs == "neighbours"),
    )
