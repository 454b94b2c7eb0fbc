"""Check one catalog: run rules, apply suppressions, score, build the result."""

from __future__ import annotations

from heapq import nsmallest
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

from mcproof.linting.engine import check
from mcproof.linting.registry import CRASHED, rules_of
from mcproof.linting.suppression.ignores import ACCEPTED
from mcproof.results.build import report_findings
from mcproof.results.fix_edits import proven_edits
from mcproof.results.payloads import LintPayload
from mcproof.results.run import Gate, TargetResult, Untested
from mcproof.results.scores import Descriptions, Scores, Weakness

if TYPE_CHECKING:
    from mcproof.catalog.model import Catalog
    from mcproof.config.settings import IgnoreFor
    from mcproof.execution.run_requests import Detail
    from mcproof.linting.finding import Finding
    from mcproof.linting.registry import Rule
    from mcproof.linting.suppression.baseline import Baseline
    from mcproof.linting.suppression.ignores import IgnoreTracker, Suppression
    from mcproof.results.payloads import Payload
    from mcproof.scores.grade import Grade
    from mcproof.scores.tokens import TokenCost

_LINT = LintPayload()
NO_TOOLS = "no list of tools"
"""Why rules about tools could not run."""
WEAKEST = 3
"""How many of the worst descriptions a result names."""


class Plan(NamedTuple):
    """What to check on a catalog: request and configuration, resolved."""

    rules: list[Rule]
    fail_on: str
    ignores: tuple[IgnoreFor, ...] = ()
    min_grade: str | None = None
    max_tokens: int | None = None
    left_out: tuple[Untested, ...] = ()
    """The rules that the user chose not to run."""
    baseline: Baseline | None = None


class CatalogFindings(NamedTuple):
    """The findings of a catalog, each with its suppression or None."""

    findings: list[Finding]
    suppressions: list[Suppression | None]

    @property
    def active(self) -> list[Finding]:
        """The findings that are not suppressed."""
        return [each for each, why in zip(*self, strict=True) if why is None]

    @property
    def scored(self) -> list[Finding]:
        """The findings that cost points: all that configuration and comments do not ignore. A baseline only accepts."""
        return [each for each, why in zip(*self, strict=True) if why is None or why.by == ACCEPTED]


def find_problems(catalog: Catalog, plan: Plan, tracker: IgnoreTracker) -> CatalogFindings:
    """Run the rules, then apply configuration, comments and baseline."""
    findings = check(catalog, plan.rules)
    suppressions: list[Suppression | None] = [None] * len(findings)
    # A rule that crashed may have missed findings, so nothing about it counts as stale or unused.
    failed = {each.evidence["rule"] for each in findings if each.rule.id == CRASHED and each.evidence is not None}
    ran = [rule for rule in plan.rules if rule.id not in failed]
    if plan.ignores:
        suppressions = tracker.apply(findings, plan.ignores, ran)
    if catalog.source is not None and catalog.source.comments:
        from mcproof.linting.suppression.comments import apply_comments

        suppressions = apply_comments(catalog, findings, suppressions, ran, tracker)
    if plan.baseline is not None:
        suppressions = plan.baseline.accept(catalog, findings, suppressions, ran)
    return CatalogFindings(findings, suppressions)


def check_catalog(
    catalog: Catalog, plan: Plan, detail: Detail, tracker: IgnoreTracker, payload: Payload = _LINT
) -> TargetResult:
    """Return the result of one catalog."""
    start = perf_counter()
    found = find_problems(catalog, plan, tracker)
    suppressed_any = any(found.suppressions)
    reported = report_findings(
        catalog,
        found.findings,
        found.suppressions if suppressed_any else None,
        lines=detail.lines,
        identities=detail.identities,
        edits=proven_edits(catalog, found.findings) if detail.identities else None,
    )
    grade, tokens = _scores(catalog, plan, found) if detail.scores else (None, None)
    info = catalog.server_info
    return TargetResult(
        target=catalog.name,
        server={key: info[key] for key in ("name", "version") if isinstance(info.get(key), str) and info[key]},
        protocol=catalog.protocol,
        connection=_connection(catalog),
        counts=catalog.counts,
        findings=[each for each in reported if each.suppression is None] if suppressed_any else reported,
        suppressed=[each for each in reported if each.suppression is not None] if suppressed_any else [],
        scores=Scores(
            grade=grade,
            tokens=tokens,
            descriptions=_descriptions(catalog) if detail.scores else None,
            polish=_polish(catalog, plan, found),
        ),
        gates=_gates(plan, grade, tokens),
        fail_on=plan.fail_on,
        untested=[*plan.left_out, *_unobserved(catalog, plan)],
        seconds=perf_counter() - start,
        payload=payload,
    )


def _connection(catalog: Catalog) -> dict[str, str | None] | None:
    wire = catalog.connection
    if wire is None:
        return None
    return {"transport": wire.transport, "era": wire.era, "requested": wire.requested, "agreed": wire.agreed}


def _scores(catalog: Catalog, plan: Plan, found: CatalogFindings) -> tuple[Grade | None, TokenCost]:
    """The grade, unless a rule of it is missing that the user did not leave out; and the token cost."""
    from mcproof.scores.grade import grade
    from mcproof.scores.tokens import token_cost

    left_out = {name for each in plan.left_out for name in each.rules}
    expected = {rule.id for rule in rules_of("grade")} - left_out
    tokens = token_cost(catalog)
    if not expected or not expected <= {rule.id for rule in plan.rules}:
        return None, tokens
    return grade(catalog, found.scored), tokens


def _polish(catalog: Catalog, plan: Plan, found: CatalogFindings) -> int | None:
    """The polish score, unless a rule of it is missing that the user did not leave out."""
    running = {rule.id for rule in plan.rules if rule.ruleset == "polish"}
    if not running:
        return None
    from mcproof.scores.polish import polish

    left_out = {name for each in plan.left_out for name in each.rules}
    if not {rule.id for rule in rules_of("polish")} - left_out <= running:
        return None
    return polish(catalog, found.scored).score


def _descriptions(catalog: Catalog) -> Descriptions:
    from mcproof.scores.description import describe_score, description_scores

    scores = description_scores(catalog)
    lowest = dict(nsmallest(WEAKEST, scores.items(), key=lambda each: each[1]))
    weakest: dict[str, Weakness] = {}
    for tool in catalog.tools:
        if tool.label in lowest and tool.label not in weakest:
            described = describe_score(tool)
            if described.reasons and round(described.score, 2) == lowest[tool.label]:
                weakest[tool.label] = Weakness(tool.label, lowest[tool.label], described.reasons[0])
    return Descriptions(scores, sorted(weakest.values(), key=lambda each: each.score))


def _gates(plan: Plan, grade: Grade | None, tokens: TokenCost | None) -> list[Gate]:
    """The requested gates, each with whether it is met."""
    gates = []
    if plan.min_grade is not None and grade is not None:
        gates.append(Gate("min-grade", plan.min_grade, grade.letter, grade.letter <= plan.min_grade))
    if plan.max_tokens is not None and tokens is not None:
        gates.append(Gate("max-tokens", plan.max_tokens, tokens.total, tokens.total <= plan.max_tokens))
    return gates


def _unobserved(catalog: Catalog, plan: Plan) -> list[Untested]:
    """What this input cannot show, whichever rules run."""
    unobserved = []
    if catalog.item_probes is None:
        uncalled = tuple(rule.id for rule in plan.rules if rule.scope == "ItemProbes")
        why = "no tool was called (static run)"
        unobserved.append(Untested("behaviour", why, uncalled))
    if catalog.connection is None and any(rule.ruleset == "wire" for rule in plan.rules):
        unobserved.append(Untested("ruleset wire", "no live connection"))
    without_tools = [rule.id for rule in plan.rules if rule.traits.get("phase") == "post-handshake"]
    if without_tools and not catalog.lists_tools:
        unobserved.append(Untested.of(without_tools, NO_TOOLS))
    without_server = [rule.id for rule in plan.rules if rule.traits.get("needs") == "server"]
    if without_server and not catalog.describes_server:
        of_source = catalog.source is not None or catalog.server_info
        why = "source code leaves it to the framework" if of_source else "a list of tools has no server info"
        unobserved.append(Untested.of(without_server, why))
    return unobserved
