"""What holds for every rule, and how rules are chosen."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mcproof.checks.rule import FAULTS, RULESETS, Rule, TrustTraits, all_rules, choose_rules, find_rule, rules_of
from mcproof.checks.rulebook import cases_of
from mcproof.core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[3]

ID_FORMS = {
    "wire": r"WIR-\d{3}",
    "catalog": r"CAT-\d{3}",
    "strict": r"SCH-\d{3}",
    "grade": r"[a-z]+(-[a-z]+)+",
    "trust": r"TRU-\d{3}|[a-zA-Z]+\d*(_[a-z\d]+)+",
    "spec": r"SPEC-\d{3}",
    "polish": r"MP\d{3}",
    "compat": r"CMP-\d{3}",
}


def test_an_equivalent_rule_is_in_another_ruleset_and_has_no_equivalent_itself() -> None:
    repeating = {rule: find_rule(rule.same_as) for rule in all_rules() if rule.same_as is not None}
    assert {rule.id: other.id for rule, other in repeating.items()} == {
        "CMP-001": "tool-name-convention",
        "CMP-004": "server-duplicate-tools",
        "CMP-005": "tool-no-description",
        "CMP-006": "tool-long-description",
        "CMP-010": "tool-schema-not-object",
        "CMP-014": "required-not-in-properties",
        "CMP-024": "prop-no-type",
        "MP001": "tool-no-description",
        "MP002": "prop-no-description",
        "MP020": "tool-short-description",
        "MP021": "tool-long-description",
        "SPEC-002": "tool-name-convention",
        "SPEC-003": "server-duplicate-tools",
        "SPEC-010": "tool-no-schema",
        "SPEC-011": "tool-schema-not-object",
        "SPEC-013": "CAT-007",
        "SPEC-014": "MP005",
        "SPEC-016": "tool_input_schemas_well_formed",
        "SPEC-017": "tool_input_schemas_well_formed",
        "SPEC-040": "CAT-006",
        "SPEC-206": "WIR-006",
        "SPEC-207": "CMP-064",
        "TRU-101": "MP040",
        "TRU-110": "MP041",
        "all_tools_have_input_schema": "tool-no-schema",
        "tool_name_safety": "tool-name-convention",
    }
    assert all(rule.ruleset != other.ruleset and other.same_as is None for rule, other in repeating.items())
    assert all(rule.fault is None for rule in repeating)


def test_the_documentation_of_a_rule_does_not_depend_on_what_replaces_its_check(broken_rule: Rule) -> None:
    """Reports keep it for as long as the process lives."""
    assert broken_rule.summary == "An object accepts undeclared properties."


GRADE_SEVERITIES = {
    "tool-no-description": "error",
    "tool-short-description": "warning",
    "tool-long-description": "warning",
    "tool-description-is-name": "warning",
    "tool-no-schema": "warning",
    "tool-schema-not-object": "info",
    "prop-no-description": "warning",
    "prop-no-type": "warning",
    "tool-no-required": "info",
    "required-not-in-properties": "error",
    "tool-empty-schema": "info",
    "tool-name-convention": "info",
    "resource-no-name": "warning",
    "resource-no-description": "warning",
    "resource-no-mimetype": "info",
    "prompt-no-description": "error",
    "prompt-arg-no-description": "warning",
    "server-empty": "error",
    "server-no-name": "warning",
    "server-no-version": "warning",
    "server-duplicate-tools": "error",
}

POLISH = {
    "MP001": ("require-tool-description", "schema", "error"),
    "MP002": ("require-param-description", "schema", "warn"),
    "MP003": ("require-return-schema", "schema", "note"),
    "MP004": ("require-required-array", "schema", "warn"),
    "MP005": ("valid-json-schema", "schema", "error"),
    "MP010": ("generic-tool-name", "naming", "warn"),
    "MP011": ("redundant-prefix", "naming", "note"),
    "MP012": ("inconsistent-verb-pattern", "naming", "warn"),
    "MP013": ("name-collision-cross-server", "naming", "warn"),
    "MP014": ("snake-vs-camel", "naming", "note"),
    "MP020": ("description-too-short", "description", "warn"),
    "MP021": ("description-too-long", "description", "note"),
    "MP022": ("missing-example", "description", "note"),
    "MP023": ("no-trigger-condition", "description", "note"),
    "MP024": ("jargon-density", "description", "note"),
    "MP025": ("useless-qualifier", "description", "note"),
    "MP030": ("param-type-mismatch", "consistency", "error"),
    "MP033": ("duplicate-tool-description", "consistency", "error"),
    "MP040": ("hidden-prompt-injection", "security", "error"),
    "MP041": ("instruction-in-description", "security", "error"),
}

FAULT_OF = {
    "MP004": "FAULT-SCHEMA-MISSING-REQUIRED",
    "SCH-001": "FAULT-SCHEMA-MISSING-REQUIRED",
    "tool-no-required": "FAULT-SCHEMA-MISSING-REQUIRED",
    "SCH-002": "FAULT-SCHEMA-UNEXPECTED-FIELD",
    "SCH-003": "FAULT-SCHEMA-TYPE-MISMATCH",
    "prop-no-type": "FAULT-SCHEMA-TYPE-MISMATCH",
    "SCH-004": "FAULT-INPUT-OVERSIZED",
    "WIR-011": "FAULT-PROTO-UNKNOWN-METHOD",
    "WIR-012": "FAULT-SCHEMA-MISSING-REQUIRED",
    "WIR-013": "FAULT-SCHEMA-TYPE-MISMATCH",
    "WIR-014": "FAULT-SCHEMA-UNEXPECTED-FIELD",
    "WIR-015": "FAULT-INPUT-OVERSIZED",
    "WIR-025": "FAULT-PROTO-UNKNOWN-METHOD",
}

PAPER_OF = {
    "FAULT-SCHEMA-MISSING-REQUIRED": "arXiv:2603.05637",
    "FAULT-SCHEMA-TYPE-MISMATCH": "arXiv:2603.05637",
    "FAULT-SCHEMA-UNEXPECTED-FIELD": "arXiv:2603.05637",
    "FAULT-INPUT-OVERSIZED": "arXiv:2606.05339",
    "FAULT-PROTO-UNKNOWN-METHOD": "arXiv:2606.05339",
}

LEVEL_OF = {
    **dict.fromkeys(("critical", "high", "error"), "error"),
    **dict.fromkeys(("medium", "warning", "warn"), "warning"),
    **dict.fromkeys(("low", "info", "note"), "note"),
}


def offenders(holds: Callable[[Rule], object]) -> list[str]:
    """The ids of the rules that something does not hold for."""
    return [rule.id for rule in all_rules() if not holds(rule)]


def ids(rules: list[Rule]) -> list[str]:
    return [rule.id for rule in rules]


# --- identity -----------------------------------------------------------------------------------------------------


def test_ids_and_names_are_unique() -> None:
    words = [word.lower() for rule in all_rules() for word in {rule.id, rule.name}]
    assert len(words) == len(set(words))


def test_no_rule_has_the_name_of_a_ruleset() -> None:
    words = {word for rule in all_rules() for word in (rule.id, rule.name)}
    assert words.isdisjoint({*RULESETS, "all"})


def test_ids_have_the_form_of_their_ruleset() -> None:
    assert not offenders(lambda rule: re.fullmatch(ID_FORMS[rule.ruleset], rule.id))


def test_names_are_in_kebab_case() -> None:
    assert not offenders(lambda rule: re.fullmatch(r"[a-z]+(-[a-z]+)*", rule.name))


def test_the_numbered_rulesets_have_no_gaps() -> None:
    assert ids(rules_of("catalog")) == [f"CAT-{number:03}" for number in range(1, 12)]
    assert ids(rules_of("wire")) == [f"WIR-{number:03}" for number in range(1, 39)]
    assert ids(rules_of("strict")) == [f"SCH-{number:03}" for number in range(1, 5)]


def test_a_trust_rule_carries_what_its_score_needs() -> None:
    rule = find_rule("tool_input_schemas_well_formed")
    assert rule.severity == "medium"
    assert rule.own(TrustTraits)[:3] == (4, "Schema quality", "post-handshake")


# --- documentation ------------------------------------------------------------------------------------------------


def test_every_summary_is_one_sentence() -> None:
    assert not offenders(lambda rule: re.fullmatch(r"[A-Z`].*\.", rule.summary) and ". " not in rule.summary)


def test_every_rule_documents_why_it_matters_and_how_to_fix_it() -> None:
    assert not offenders(lambda rule: rule.why and rule.advice and not rule.why.endswith("Fix:"))


def test_every_rule_has_a_category_and_a_version_and_needs_no_language_model() -> None:
    assert not offenders(lambda rule: re.fullmatch(r"[a-z]+", rule.category))
    assert not offenders(lambda rule: re.fullmatch(r"\d+\.\d+\.\d+", rule.since))
    assert not offenders(lambda rule: rule.needs_language_model is False)


def test_every_rule_has_bad_and_good_cases() -> None:
    assert not offenders(lambda rule: all(cases_of(rule)))


def test_every_case_file_has_a_rule() -> None:
    names = {file.name for file in (files("mcproof.checks.rules") / "cases").iterdir()}
    assert names == {f"{rule.id}.yml" for rule in all_rules()}


# --- severities and faults ----------------------------------------------------------------------------------------


def test_levels_follow_from_severities() -> None:
    assert not offenders(lambda rule: rule.level == LEVEL_OF[rule.severity])


def test_the_strict_rules_have_the_published_severities() -> None:
    severities = {rule.id: rule.severity for rule in rules_of("strict")}
    assert severities == {"SCH-001": "warning", "SCH-002": "warning", "SCH-003": "critical", "SCH-004": "warning"}


def test_there_are_exactly_the_21_published_grade_rules() -> None:
    assert len(GRADE_SEVERITIES) == 21
    assert {rule.id: rule.severity for rule in rules_of("grade")} == GRADE_SEVERITIES


def test_the_polish_rules_have_the_published_names_categories_and_severities() -> None:
    assert {rule.id: (rule.name, rule.category, rule.severity) for rule in rules_of("polish")} == POLISH
    assert ids(rules_of("polish")) == list(POLISH)


def test_rules_have_the_specified_faults() -> None:
    assert {rule.id: rule.fault.id for rule in all_rules() if rule.fault is not None} == FAULT_OF


def test_every_fault_names_its_paper() -> None:
    assert {fault.id: fault.paper for fault in FAULTS.values()} == PAPER_OF


def test_only_rules_on_required_and_additional_properties_are_fixable() -> None:
    tightening = {"SCH-001", "SCH-002", "MP004"}
    for_clients = {f"CMP-{number}" for number in ("012", "023", "030", "031", "032", "034", "051", "052")}
    assert {rule.id for rule in all_rules() if rule.fixable} == tightening | for_clients


# --- choosing -----------------------------------------------------------------------------------------------------

COMPANIONS = {"CAT-004", "CAT-005"}
"""Rules that report where other rules fell short; they run along with them."""


def test_a_ruleset_selects_all_its_rules() -> None:
    assert set(ids(choose_rules(["strict"]))) == {"SCH-001", "SCH-002", "SCH-003", "SCH-004"} | COMPANIONS


def test_all_brings_every_rule_once() -> None:
    assert sorted(ids(choose_rules(["all"]))) == sorted(ids(all_rules()))
    assert sorted(ids(choose_rules(["grade", "all", "grade"]))) == sorted(ids(all_rules()))


def test_a_rule_is_selected_by_id_or_by_name_in_any_case() -> None:
    for word in ("SCH-003", "sch-003", "untyped-property", "Untyped-Property"):
        assert set(ids(choose_rules(["grade"], select=[word]))) == {"SCH-003"} | COMPANIONS


def test_a_selection_replaces_the_rulesets_and_may_name_whole_ones() -> None:
    chosen = set(ids(choose_rules(["grade"], select=["trust", "SCH-001"])))
    assert chosen == {*ids(rules_of("trust")), "SCH-001"} | COMPANIONS


def test_a_rule_that_is_selected_twice_runs_once() -> None:
    chosen = ids(choose_rules([], select=["SCH-001", "strict", "no-required-list"]))
    assert len(chosen) == len(set(chosen))


def test_what_is_ignored_is_left_out_by_id_name_or_ruleset() -> None:
    everything = set(ids(all_rules()))
    assert set(ids(choose_rules(["all"], ignore=["SCH-003"]))) == everything - {"SCH-003"}
    assert set(ids(choose_rules(["all"], ignore=["untyped-property"]))) == everything - {"SCH-003"}
    assert set(ids(choose_rules(["all"], ignore=["grade"]))) == everything - set(GRADE_SEVERITIES)


def test_ignoring_wins_over_selecting() -> None:
    assert (
        set(ids(choose_rules([], select=["strict"], ignore=["SCH-004"])))
        == {"SCH-001", "SCH-002", "SCH-003"} | COMPANIONS
    )


def test_a_rule_about_others_comes_with_them_and_only_then() -> None:
    assert "CAT-004" in ids(choose_rules(["grade"]))
    assert "CAT-005" not in ids(choose_rules(["grade"]))
    assert "CAT-005" not in ids(choose_rules(["catalog", "grade"]))
    assert "CAT-005" in ids(choose_rules(["grade", "strict"]))


def test_a_rule_about_others_runs_where_it_is_selected() -> None:
    assert "CAT-005" in ids(choose_rules(["grade"], select=["nested-too-deep"]))


def test_even_a_companion_can_be_ignored() -> None:
    assert ids(choose_rules([], select=["SCH-001"], ignore=["CAT-004", "CAT-005"])) == ["SCH-001"]


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("SCH-03", "SCH-003"),
        ("untyped-propertie", "untyped-property"),
        ("tool-no-requird", "tool-no-required"),
        ("tool_input_schema_well_formed", "tool_input_schemas_well_formed"),
    ],
)
def test_an_unknown_rule_is_an_error_that_names_the_nearest(word: str, meant: str) -> None:
    for select, ignore in (([word], []), ([], [word])):
        with pytest.raises(UsageError, match=f"unknown rule `{word}`.*did you mean `{meant}`"):
            choose_rules(["all"], select=select, ignore=ignore)


def test_an_unknown_rule_that_is_near_to_none_gets_no_guess() -> None:
    with pytest.raises(UsageError, match="unknown rule `zzzz`") as caught:
        find_rule("zzzz")
    assert "did you mean" not in caught.value.message


def test_an_unknown_ruleset_is_an_error_that_names_the_nearest_and_lists_all() -> None:
    with pytest.raises(UsageError, match=r"unknown ruleset `strickt` \(did you mean `strict`\?\)") as caught:
        choose_rules(["strickt"])
    for name in (*RULESETS, "all"):
        assert name in caught.value.message


def test_ignoring_everything_that_was_chosen_is_an_error() -> None:
    with pytest.raises(UsageError, match="no rules left to run"):
        choose_rules(["strict"], ignore=["strict"])
    with pytest.raises(UsageError, match="no rules left to run"):
        choose_rules(["all"], select=["SCH-001"], ignore=["no-required-list"])
