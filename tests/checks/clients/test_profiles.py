"""The data about clients: complete, well-formed and in words."""

from __future__ import annotations

import re
from typing import Any

import pytest

from mcproof.checks.clients.constraints import SERVER_KINDS, TOOL_KINDS
from mcproof.checks.clients.profiles import (
    EFFECTS,
    KINDS,
    Constraint,
    Profile,
    Source,
    choose_clients,
    in_a_sentence,
    known_profiles,
    parameters_of,
    problem_of,
)
from mcproof.checks.rules.compat.table import CLIENT_RULES

FACTS = [
    pytest.param(profile, fact, id=f"{profile.id}/{fact.id}")
    for profile in known_profiles().values()
    for fact in profile.constraints
]


@pytest.mark.parametrize(("profile", "fact"), FACTS)
def test_a_fact_is_complete(profile: Profile, fact: Constraint) -> None:
    assert fact.sources, "a source"
    for source in fact.sources:
        assert re.fullmatch(r"https?://\S+", source.url)
        assert re.fullmatch(r"20\d\d(-\d\d){0,2}", source.date)
        assert source.kind in ("documented", "source", "run", "issue", "secondary")
    assert fact.effect in EFFECTS
    assert fact.kind in TOOL_KINDS or fact.kind in SERVER_KINDS
    assert fact.rule in {each.id for each in CLIENT_RULES}


@pytest.mark.parametrize(("profile", "fact"), FACTS)
def test_a_fact_has_the_parameters_of_its_kind_and_words(profile: Profile, fact: Constraint) -> None:
    required, optional = parameters_of(fact.kind)
    assert required.keys() <= fact.params.keys() <= required.keys() | optional.keys()
    sentence = in_a_sentence(fact)
    assert re.search(r"[.)]$", sentence)
    assert "{" not in sentence.replace("{server}", "").replace("{tool}", "").replace(
        str(fact.params.get("pattern", "?")), ""
    )


@pytest.mark.parametrize(("profile", "fact"), FACTS)
def test_a_pattern_compiles_and_is_linear(profile: Profile, fact: Constraint) -> None:
    for key in ("pattern", "forbid"):
        pattern = fact.params.get(key)
        if isinstance(pattern, str):
            re.compile(pattern)
            assert problem_of(pattern) == ""


@pytest.mark.parametrize("profile", known_profiles().values(), ids=lambda each: each.id)
def test_a_profile_is_complete(profile: Profile) -> None:
    assert re.fullmatch(r"20\d\d(-\d\d){0,2}", profile.checked)
    assert profile.constraints
    assert len({fact.id for fact in profile.constraints}) == len(profile.constraints)
    assert all(api in known_profiles() for api in profile.sends_to)


def test_every_kind_is_used_or_documented() -> None:
    assert {fact.kind for profile in known_profiles().values() for fact in profile.constraints} <= set(KINDS)


def test_a_fault_that_another_rule_reports_ends_at_the_first_colon() -> None:
    """Text shows what follows the colon: what the fault does in clients."""
    shared = [each for each in CLIENT_RULES if each.same_as]
    assert len(shared) > 5
    assert [each.id for each in shared if ": " in each.message or each.naming] == []


def test_versions_without_a_fact_are_reported() -> None:
    choice = choose_clients(["cursor@1.2", "zed@2026-01"])
    assert choice.version_messages() == [
        "cursor: no fact depends on a version; judged as current",
        "zed: no fact depends on a date; judged as current",
    ]


def fact(date: str, **fields: Any) -> Constraint:
    source = Source("https://example.com", "issue", date)
    made = Constraint("a", "CMP-023", "input.type_union", {}, "call_rejected", "current", (source,))
    return made._replace(**fields)


def counted(constraint: Constraint, *named: str) -> bool:
    profile = Profile("client", "Client", "client", "2026-01-01", (constraint,))
    choice = choose_clients(named, {"client": profile})
    [active] = choice.all_active()
    assert bool(choice.for_compat()) == active.holds, "findings and verdicts use the same facts"
    assert bool(choice.for_lint()) == active.holds
    return active.holds


@pytest.mark.parametrize("date", ["2025-12-01", "2025-12", "2025", ""])
def test_a_recent_fact_counts(date: str) -> None:
    assert counted(fact(date))


@pytest.mark.parametrize(
    "constraint",
    [
        fact("2025-01-31"),
        fact("2024"),
        fact("2026-01-01", disputed=True),
        fact("2026-01-01", status="dated"),
        fact("2026-01-01", opt_in=True),
        fact("2026-01-01", rule="CMP-007"),
    ],
)
def test_an_old_doubted_or_harmless_fact_does_not_count(constraint: Constraint) -> None:
    assert not counted(constraint)


def test_an_old_fact_counts_for_a_client_that_the_user_names() -> None:
    assert counted(fact("2025-01-31"), "client")
