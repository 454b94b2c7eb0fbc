"""One catalog through the whole house: rules, suppression, scores, and the report that comes of it."""

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
    from mcproof.linting.finding import Finding
    from mcproof.linting.registry import Rule
    from mcproof.linting.suppression.baseline import Baseline
    from mcproof.linting.suppression.ignores import IgnoreTracker, Suppression
    from mcproof.results.payloads import Payload
    from mcproof.scores.grade import Grade
    from mcproof.scores.tokens import TokenCost

_LINT = LintPayload()

NO_TOOLS = "no list of tools"
"""Why rules that look at tools could say nothing."""


WEAKEST = 3
"""How many of the worst descriptions a report names."""


class Plan(NamedTuple):
    """What is asked of a catalog: the command line and the configuration, settled."""

    rules: list[Rule]
    fail_on: str
    ignores: tuple[IgnoreFor, ...] = ()
    min_grade: str | None = None
    max_tokens: int | None = None
    left_out: tuple[Untested, ...] = ()
    """The rules that somebody decided not to run."""


class Depth(NamedTuple):
    """How much a report has to hold, which the formats decide that are made of it."""

    lines: bool
    """The lines that findings are about."""
    identities: bool
    """Fingerprints, and fixes as edits of the file."""
    scores: bool
    """The grade, the tokens and the scores of descriptions."""


class Judged(NamedTuple):
    """The findings of a catalog, and for each what suppresses it, if anything does."""

    findings: list[Finding]
    suppressions: list[Suppression | None]

    @property
    def standing(self) -> list[Finding]:
        """What nothing suppresses."""
        return [each for each, why in zip(*self, strict=True) if why is None]

    @property
    def costing(self) -> list[Finding]:
        """What counts for a score: all but what configuration and comments ignore. A baseline makes nothing better."""
        return [each for each, why in zip(*self, strict=True) if why is None or why.by == ACCEPTED]


def judge(catalog: Catalog, plan: Plan, tracker: IgnoreTracker, baseline: Baseline | None) -> Judged:
    """What the rules find, and what configuration, comments and baseline make of that."""
    findings = check(catalog, plan.rules)
    suppressions: list[Suppression | None] = [None] * len(findings)
    # Of a rule that failed nobody can say that it finds something no longer.
    failed = {each.evidence["rule"] for each in findings if each.rule.id == CRASHED and each.evidence is not None}
    ran = [rule for rule in plan.rules if rule.id not in failed]
    if plan.ignores:
        suppressions = tracker.apply(findings, plan.ignores, ran)
    if catalog.source is not None and catalog.source.comments:
        from mcproof.linting.suppression.comments import apply_comments

        suppressions = apply_comments(catalog, findings, suppressions, ran, tracker)
    if baseline is not None:
        suppressions = baseline.accept(catalog, findings, suppressions, ran)
    return Judged(findings, suppressions)


def examine(
    catalog: Catalog,
    plan: Plan,
    depth: Depth,
    tracker: IgnoreTracker,
    baseline: Baseline | None,
    payload: Payload = _LINT,
) -> TargetResult:
    """The report of one catalog."""
    start = perf_counter()
    judged = judge(catalog, plan, tracker, baseline)
    suppressed_any = any(judged.suppressions)
    reported = report_findings(
        catalog,
        judged.findings,
        judged.suppressions if suppressed_any else None,
        lines=depth.lines,
        identities=depth.identities,
        edits=proven_edits(catalog, judged.findings) if depth.identities else None,
    )
    grade, tokens = _scores(catalog, plan, judged) if depth.scores else (None, None)
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
            descriptions=_descriptions(catalog) if depth.scores else None,
            polish=_polish(catalog, plan, judged),
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


def _scores(catalog: Catalog, plan: Plan, judged: Judged) -> tuple[Grade | None, TokenCost]:
    """The grade, if all of its rules ran that nobody left out on purpose, and the tokens."""
    from mcproof.scores.grade import grade
    from mcproof.scores.tokens import token_cost

    left_out = {name for each in plan.left_out for name in each.rules}
    expected = {rule.id for rule in rules_of("grade")} - left_out
    tokens = token_cost(catalog)
    if not expected or not expected <= {rule.id for rule in plan.rules}:
        return None, tokens
    return grade(catalog, judged.costing), tokens


def _polish(catalog: Catalog, plan: Plan, judged: Judged) -> int | None:
    """The polish score, if all of its rules ran that nobody left out on purpose."""
    running = {rule.id for rule in plan.rules if rule.ruleset == "polish"}
    if not running:
        return None
    from mcproof.scores.polish import polish

    left_out = {name for each in plan.left_out for name in each.rules}
    if not {rule.id for rule in rules_of("polish")} - left_out <= running:
        return None
    return polish(catalog, judged.costing).score


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
    """The gates that were asked for, and whether each is met."""
    gates = []
    if plan.min_grade is not None and grade is not None:
        gates.append(Gate("min-grade", plan.min_grade, grade.letter, grade.letter <= plan.min_grade))
    if plan.max_tokens is not None and tokens is not None:
        gates.append(Gate("max-tokens", plan.max_tokens, tokens.total, tokens.total <= plan.max_tokens))
    return gates


def _unobserved(catalog: Catalog, plan: Plan) -> list[Untested]:
    """What this input cannot tell, whatever rules run."""
    unobserved = []
    if catalog.item_probes is None:
        uncalled = tuple(rule.id for rule in plan.rules if rule.scope == "ItemProbes")
        why = "nothing was called: a catalog shows what is promised, not what is kept"
        unobserved.append(Untested("behaviour", why, uncalled))
    if catalog.connection is None and any(rule.ruleset == "wire" for rule in plan.rules):
        unobserved.append(Untested("ruleset wire", "no live connection"))
    without_tools = [rule.id for rule in plan.rules if rule.traits.get("phase") == "post-handshake"]
    if without_tools and not catalog.lists_tools:
        unobserved.append(Untested.of(without_tools, NO_TOOLS))
    without_server = [rule.id for rule in plan.rules if rule.traits.get("needs") == "server"]
    if without_server and not catalog.describes_server:
        of_source = catalog.source is not None or catalog.server_info
        why = "source code leaves it to the framework" if of_source else "a list of tools says nothing of the server"
        unobserved.append(Untested.of(without_server, why))
    return unobserved
