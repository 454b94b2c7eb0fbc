"""The trust score, its verdict and its coverage."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from mcproof.checks.findings import Finding, Problem
from mcproof.checks.rule import Rule, RuleTraits, Thresholds, TrustTraits
from mcproof.checks.rules.trust.rule import always, if_open
from mcproof.checks.scores.trust import trust_score
from mcproof.checks.subjects import Unjudged
from mcproof.core.catalog.model import Catalog, Server
from mcproof.core.observations.perimeter import Exposure

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mcproof.checks.scores.trust import Trust

STARTED, OPEN, GUARDED = Exposure(), Exposure(is_http=True), Exposure(is_http=True, needs_credentials=True)


def _check(catalog: Catalog) -> Iterator[Problem]:
    """Something is wrong.

    Why: it matters.
    Fix: fix it.
    """
    yield Problem(catalog.name)


def rule(name: str, severity: str = "medium", weight: int = 10, ruleset: str = "trust", **traits: Any) -> Rule:
    return Rule(
        _check,
        subject=Catalog,
        id=name,
        ruleset=ruleset,
        name=name,
        severity=severity,
        category="test",
        fault=None,
        fixable=False,
        since="0.1.0",
        traits=RuleTraits(own=TrustTraits(weight, "Schema quality", "post-handshake", **traits)),
    )


def score(
    *rules: Rule,
    failed: tuple[str, ...] = (),
    unjudged: Mapping[str, Unjudged] | None = None,
    exposure: Exposure = STARTED,
    thresholds: Thresholds | None = None,
) -> Trust:
    findings = [Finding(each, Server({}, ""), Problem("bad")) for each in rules if each.id in failed]
    return trust_score(rules, findings, unjudged or {}, exposure, thresholds or Thresholds())


def test_the_score_is_the_share_of_the_weight_that_passed() -> None:
    trust = score(rule("a", weight=8), rule("b", weight=2), rule("c", weight=3), failed=("b",))
    assert (trust.score, trust.verdict, trust.coverage) == (round(100 * 11 / 13), "allow", 1.0)


@pytest.mark.parametrize(("weight", "verdict"), [(20, "allow"), (21, "review"), (50, "review"), (51, "block")])
def test_the_score_decides_the_verdict(weight: int, verdict: str) -> None:
    trust = score(rule("good", weight=100 - weight), rule("bad", weight=weight), failed=("bad",))
    assert trust.verdict == verdict
    assert (trust.reasons == []) == (verdict == "allow")


def test_the_user_sets_the_thresholds() -> None:
    rules = rule("good", weight=40), rule("bad", weight=60)
    assert score(*rules, failed=("bad",), thresholds=Thresholds(40, 20)).verdict == "allow"
    assert score(*rules, failed=("bad",), thresholds=Thresholds(90, 41)).verdict == "block"


def test_what_was_not_observed_is_in_neither_sum_and_lowers_the_coverage() -> None:
    rules = rule("a", weight=10), rule("b", weight=10), rule("c", weight=20)
    trust = score(*rules, failed=("b",), unjudged={"c": Unjudged("no tools")})
    assert (trust.score, trust.coverage) == (50, 0.5)
    assert trust.outcomes[2] == ("c", "not observed", 20, "no tools", False, False)


def test_a_crashed_rule_caps_the_verdict() -> None:
    trust = score(rule("a", weight=99), rule("b", weight=1), unjudged={"b": Unjudged("crashed", is_crash=True)})
    assert (trust.score, trust.verdict, trust.coverage) == (100, "review", 0.99)
    assert trust.reasons == ["b crashed on this server: a person must review it"]


def test_a_rule_that_does_not_apply_leaves_the_coverage_as_it_is() -> None:
    trust = score(rule("a"), rule("b"), unjudged={"b": Unjudged("public", concerns=False)})
    assert (trust.score, trust.coverage, trust.outcomes[1].outcome) == (100, 1.0, "not applicable")


def test_a_server_that_shows_less_than_half_is_never_allowed() -> None:
    trust = score(rule("a", weight=49), rule("b", weight=51), unjudged={"b": Unjudged("no tools")})
    assert (trust.score, trust.verdict) == (100, "review")
    assert trust.reasons == ["only 49% of what the rules weigh could be observed"]


def test_a_server_that_shows_nothing_earns_nothing() -> None:
    trust = score(rule("a"), unjudged={"a": Unjudged("unreachable")})
    assert (trust.score, trust.verdict, trust.coverage) == (0, "block", 0.0)


def test_a_hard_fail_blocks_whatever_the_score() -> None:
    trust = score(rule("a", weight=99), rule("b", weight=1, hard_fail=always), failed=("b",))
    assert (trust.score, trust.verdict, trust.hard_fails) == (99, "block", ["b"])
    assert trust.reasons == ["Something is wrong [b]: this alone blocks the server"]


@pytest.mark.parametrize(("exposure", "verdict"), [(STARTED, "allow"), (GUARDED, "allow"), (OPEN, "block")])
def test_a_capability_blocks_only_where_anyone_can_reach_it(exposure: Exposure, verdict: str) -> None:
    rules = rule("a", weight=99), rule("b", "critical", weight=1, hard_fail=if_open)
    assert score(*rules, failed=("b",), exposure=exposure).verdict == verdict


@pytest.mark.parametrize(
    ("severity", "verdict"), [("critical", "review"), ("high", "review"), ("medium", "allow"), ("info", "allow")]
)
def test_a_serious_rule_of_ours_needs_a_review(severity: str, verdict: str) -> None:
    trust = score(rule("a", weight=99), rule("TRU-999", severity, weight=1), failed=("TRU-999",))
    assert trust.verdict == verdict


def test_a_finding_that_is_less_serious_than_its_rule_needs_no_review() -> None:
    rules = rule("a", weight=99), rule("TRU-999", "critical", weight=1)
    finding = Finding(rules[1], Server({}, ""), Problem("odd", severity="medium"))
    assert trust_score(rules, [finding], {}, STARTED, Thresholds()).verdict == "allow"


def test_a_published_rule_of_high_severity_only_costs_its_weight() -> None:
    assert score(rule("a", weight=99), rule("b", "high", weight=1), failed=("b",)).verdict == "allow"


def test_a_fact_that_another_rule_counts_is_counted_once() -> None:
    rules = rule("a", weight=90), rule("b", weight=10), rule("TRU-999", "medium", weight=4, counted_by="b")
    trust = score(*rules, failed=("b", "TRU-999"))
    assert (trust.score, trust.outcomes[2].weight) == (90, 0)


def test_rules_of_other_rulesets_do_not_count() -> None:
    trust = score(rule("a"), rule("other", ruleset="catalog"), failed=("other",))
    assert [each.rule for each in trust.outcomes] == ["a"]


def test_actions_are_ordered_by_what_they_gain() -> None:
    rules = rule("a", weight=60), rule("b", weight=10), rule("c", weight=30), rule("d", weight=1, hard_fail=always)
    trust = score(*rules, failed=("b", "c", "d"))
    assert [(each.rule, each.verdict) for each in trust.actions] == [("d", "review"), ("c", "allow"), ("b", "allow")]
    assert trust.score + sum(each.points for each in trust.actions) == 100
    assert trust.actions[1].points == round(100 * 90 / 101) - round(100 * 60 / 101)


def test_rules_that_the_published_catalog_does_not_have_do_not_dilute_the_verdict() -> None:
    published = rule("a", weight=75), rule("b", "low", weight=25)
    diluted = score(*published, rule("TRU-999", weight=100), failed=("b",))
    assert (diluted.score, diluted.published_score, diluted.verdict) == (88, 75, "review")
    assert diluted.reasons == ["the score of 75 by the published rules alone is below 80"]
    assert score(*published, failed=("b",)).verdict == "review"


def test_a_lower_score_with_the_rules_of_mcproof_decides_too() -> None:
    trust = score(rule("a", weight=50), rule("TRU-999", "low", weight=50), failed=("TRU-999",))
    assert (trust.score, trust.published_score, trust.verdict) == (50, 100, "review")


def test_without_a_published_rule_the_score_decides_alone() -> None:
    assert score(rule("TRU-999", weight=1)).published_score is None
