"""The trust score: a number from 0 to 100, a verdict, and the share of rules that could be observed.

A rule passes, fails, or is not judged. The score is the weight of the rules that passed, in percent of the weight
of those that were judged; nothing is earned by what could not be observed. The rules of the published catalog are
also scored alone, and the verdict follows the lower score: rules that mcproof adds must not dilute the others.
Why unobserved rules lower the coverage: docs/decisions/0052-what-coverage-counts.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Literal

from mcproof.checks.findings import advice_of
from mcproof.checks.rule import VERDICTS, Rule, Thresholds, TrustTraits, Verdict
from mcproof.core.named_tuple import NamedTuple
from mcproof.core.stored_form import Count, Text, member, record

if TYPE_CHECKING:
    from mcproof.checks.findings import Finding
    from mcproof.checks.subjects import Unjudged
    from mcproof.core.observations.perimeter import Exposure

LEAST_COVERAGE = 0.5
"""The share of the weight that must be observed before a server is allowed."""
_SERIOUS = ("critical", "high")
_ADDED = "TRU-"
"""The beginning of the ids of rules that the published catalog does not have."""


@record()
class RuleOutcome(NamedTuple):
    """What became of one rule."""

    rule: Text
    """The id of the rule."""
    outcome: Literal["passed", "failed", "not observed", "not applicable"]
    """Not observed: it concerns the target, which did not show it. Not applicable: it does not concern the target."""
    weight: Count
    """Its weight in the score; 0 if another rule counts the same fact."""
    why: str = ""
    """Why it was not judged; empty if it was."""
    is_hard_fail: Annotated[bool, member("hard_fail")] = False
    """Whether it alone makes the verdict `block`."""
    caps_verdict: bool = False
    """Whether it alone makes the verdict `review` at best."""


@record()
class Action(NamedTuple):
    """The effect of fixing all findings of one rule, after those of the actions before it."""

    rule: Text
    """The id of the rule."""
    advice: str
    """What to do."""
    points: int
    """By how much the score rises."""
    verdict: Verdict
    """The verdict afterwards."""


@record()
class Trust(NamedTuple):
    """Whether to trust the server."""

    score: Annotated[int, member(minimum=0, maximum=100)]
    """The weight of the rules that passed, in percent of that of the rules that were judged."""
    verdict: Verdict
    """Whether an agent may connect to the server."""
    coverage: Annotated[float, member(minimum=0, maximum=1)]
    """The share of the weight that was observed, of the rules that concern the target."""
    hard_fails: list[Text]
    """The ids of the failed rules that alone make the verdict `block`."""
    reasons: list[str]
    """The verdict in words, the strongest reason first."""
    actions: list[Action]
    """What to do, the largest gain first."""
    outcomes: Annotated[list[RuleOutcome], member("rules")]
    """Every rule that was selected."""
    published_score: Annotated[int | None, member(minimum=0, maximum=100)] = None
    """The score of the published rules alone; the verdict follows the lower of both."""
    overruled: Count = 0
    """How many findings count although a comment in the source asks to ignore them."""


def trust_score(
    rules: Sequence[Rule],
    findings: Iterable[Finding],
    unjudged: Mapping[str, Unjudged],
    exposure: Exposure,
    thresholds: Thresholds,
) -> Trust:
    """Return the score of a target; only rules and findings of the `trust` ruleset count."""
    by_rule: dict[str, list[Finding]] = {}
    for finding in findings:
        by_rule.setdefault(finding.rule.id, []).append(finding)
    judged = [rule for rule in rules if rule.ruleset == "trust"]
    outcomes = [_outcome(rule, by_rule.get(rule.id, []), unjudged.get(rule.id), exposure) for rule in judged]
    state = _State.of(outcomes, thresholds)
    by_id = {rule.id: rule for rule in judged}
    return Trust(
        score=state.score,
        verdict=state.verdict,
        coverage=state.coverage,
        hard_fails=list(state.hard_fails),
        reasons=list(_reasons(state, by_id, by_rule, thresholds)),
        actions=_actions(state, by_rule, outcomes, thresholds),
        outcomes=outcomes,
        published_score=state.published_score,
    )


def _outcome(rule: Rule, findings: list[Finding], unjudged: Unjudged | None, exposure: Exposure) -> RuleOutcome:
    traits = rule.own(TrustTraits)
    weight = 0 if traits.counted_by else traits.weight
    if findings:
        blocks = traits.hard_fail
        is_hard_fail = blocks is not None and any(blocks(finding.evidence or {}, exposure) for finding in findings)
        caps = rule.id.startswith(_ADDED) and any(_severity(finding) in _SERIOUS for finding in findings)
        return RuleOutcome(rule.id, "failed", weight, is_hard_fail=is_hard_fail, caps_verdict=caps)
    if unjudged is not None:
        outcome: Literal["not observed", "not applicable"] = "not observed" if unjudged.concerns else "not applicable"
        # A rule that crashed may have missed anything: docs/decisions/0018-rules-about-mcproof.md.
        return RuleOutcome(rule.id, outcome, weight, unjudged.why, caps_verdict=unjudged.is_crash)
    return RuleOutcome(rule.id, "passed", weight)


def _severity(finding: Finding) -> str:
    """The severity of a finding in its ruleset, whatever the user has changed."""
    return finding.problem.severity or finding.rule.scheme_severity


def verdict_without(trust: Trust, rules: Sequence[str], thresholds: Thresholds) -> Verdict:
    """Return the verdict if these rules had passed, and all others were as they are."""
    done = [
        RuleOutcome(outcome.rule, "passed", outcome.weight) if outcome.rule in rules else outcome
        for outcome in trust.outcomes
    ]
    return _State.of(done, thresholds).verdict


class _State(NamedTuple):
    """The score and the verdict that outcomes result in."""

    score: int
    published_score: int | None
    """The score of the published rules alone; None if none of them was judged."""
    verdict: Verdict = "allow"
    coverage: float = 0.0
    hard_fails: Sequence[str] = ()
    serious: Sequence[str] = ()
    """The rules that cap the verdict at `review`: they failed or crashed."""

    @classmethod
    def of(cls, outcomes: Sequence[RuleOutcome], thresholds: Thresholds) -> _State:
        weights = _weights(outcomes)
        published = _weights(outcome for outcome in outcomes if not outcome.rule.startswith(_ADDED))
        judged = weights["passed"] + weights["failed"]
        is_published = published["passed"] + published["failed"] > 0
        state = cls(_score(weights), _score(published) if is_published else None)
        lower = state.lower
        # What does not apply to the target is in no sum: docs/decisions/0052-what-coverage-counts.md.
        concerning = judged + weights["not observed"]
        coverage = round(judged / concerning, 2) if concerning else 0.0
        hard_fails = [outcome.rule for outcome in outcomes if outcome.is_hard_fail]
        serious = [outcome.rule for outcome in outcomes if outcome.caps_verdict]
        verdict: Verdict = "allow" if lower >= thresholds.allow else "review" if lower >= thresholds.review else "block"
        if verdict == "allow" and (serious or coverage < LEAST_COVERAGE):
            verdict = "review"
        verdict = "block" if hard_fails else verdict
        return state._replace(verdict=verdict, coverage=coverage, hard_fails=hard_fails, serious=serious)

    @property
    def lower(self) -> int:
        """The score that the verdict follows."""
        return self.score if self.published_score is None else min(self.score, self.published_score)


def _weights(outcomes: Iterable[RuleOutcome]) -> dict[str, int]:
    weights = dict.fromkeys(("passed", "failed", "not observed", "not applicable"), 0)
    for outcome in outcomes:
        weights[outcome.outcome] += outcome.weight
    return weights


def _score(weights: Mapping[str, int]) -> int:
    """The weight of what passed, in percent of the weight of what was judged."""
    judged = weights["passed"] + weights["failed"]
    return round(100 * weights["passed"] / judged) if judged else 0


def _reasons(
    state: _State, rules: Mapping[str, Rule], findings: Mapping[str, list[Finding]], thresholds: Thresholds
) -> Iterable[str]:
    """The verdict in plain words: what blocks, what caps, the score, the coverage."""
    for name in state.hard_fails:
        yield f"{_statement(rules[name], findings[name])}: this alone blocks the server"
    for name in state.serious:
        if name not in findings:
            yield f"{name} crashed on this server: a person must review it"
        elif name not in state.hard_fails:
            yield f"{_statement(rules[name], findings[name])}: a person must review it"
    limit = thresholds.review if state.lower < thresholds.review else thresholds.allow
    if state.lower < limit:
        whose = "" if state.lower == state.score else " by the published rules alone"
        yield f"the score of {state.lower}{whose} is below {limit}"
    if state.coverage < LEAST_COVERAGE:
        yield f"only {state.coverage:.0%} of what the rules weigh could be observed"


def _statement(rule: Rule, findings: list[Finding]) -> str:
    """What is wrong, with the number of places if there are several.

    A rule may have another title for findings that its summary does not describe.
    """
    count = f" ({len(findings):,} findings)" if len(findings) > 1 else ""
    summary, title_of = rule.summary.rstrip("."), rule.own(TrustTraits).title_of
    titles = {(title_of is not None and title_of(finding.evidence or {})) or summary for finding in findings}
    title = titles.pop() if len(titles) == 1 else summary
    return f"{title}{count} [{rule.id}]"


def _actions(
    state: _State, by_rule: Mapping[str, list[Finding]], outcomes: Sequence[RuleOutcome], thresholds: Thresholds
) -> list[Action]:
    """What to fix, in this order: what improves the verdict most, then what gains the most points.

    Each gain counts from the action before it, so that the gains add up to what all of them achieve.
    """
    alone: list[tuple[RuleOutcome, Action]] = []
    for number, outcome in enumerate(outcomes):
        if outcome.outcome == "failed":
            fixed = [*outcomes[:number], RuleOutcome(outcome.rule, "passed", outcome.weight), *outcomes[number + 1 :]]
            after = _State.of(fixed, thresholds)
            alone.append(
                (
                    outcome,
                    Action(outcome.rule, advice_of(by_rule[outcome.rule]), after.score - state.score, after.verdict),
                )
            )
    alone.sort(key=lambda pair: (VERDICTS.index(pair[1].verdict), not pair[0].is_hard_fail, -pair[1].points))
    actions, reached = [], state
    done = {outcome.rule: outcome for outcome in outcomes}
    for outcome, action in alone:
        done[action.rule] = RuleOutcome(action.rule, "passed", outcome.weight)
        after = _State.of(list(done.values()), thresholds)
        actions.append(action._replace(points=after.score - reached.score, verdict=after.verdict))
        reached = after
    return actions
