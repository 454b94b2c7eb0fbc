"""Rules over a catalog: order, isolation, identity."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from mcproof.checks.engine import check
from mcproof.checks.findings import Finding, fingerprints, group_by_fault
from mcproof.checks.reporting import report_findings
from mcproof.checks.rule import Rule, choose_rules
from mcproof.targets.snapshots import read_snapshot

if TYPE_CHECKING:
    from mcproof.core.catalog.model import Catalog

LOOSE = {"type": "object", "properties": {"q": {"description": "Words."}}}


def catalog_of(*tools: Any, indent: int | None = 2) -> Catalog:
    return read_snapshot(json.dumps({"tools": tools}, indent=indent).encode(), "case.json")


def tool(name: str, **fields: Any) -> dict[str, Any]:
    return {"name": name, "description": "Does something that is described.", "inputSchema": LOOSE, **fields}


def ids(findings: list[Finding]) -> list[str]:
    return [finding.rule.id for finding in findings]


def test_a_rule_that_crashes_becomes_one_finding_and_the_others_still_run(broken_rule: Rule) -> None:
    findings = check(catalog_of(tool("a"), tool("b")), choose_rules(["strict"]))
    assert ids(findings).count("CAT-004") == 1
    assert ids(findings).count("SCH-001") == 2
    crash = findings[-1]
    assert crash.evidence == {
        "rule": "SCH-002",
        "subject": "tool:a",
        "error": "ZeroDivisionError: on purpose",
        "times": 2,
    }


def test_what_a_rule_found_before_it_crashed_is_kept(broken_rule: Rule) -> None:
    findings = check(catalog_of(tool("a")), choose_rules([], select=["SCH-002"]))
    assert ids(findings) == ["SCH-002", "CAT-004"]


def test_findings_come_server_first_then_tool_by_tool_in_the_order_of_the_catalog() -> None:
    findings = check(catalog_of(tool("b", description=""), tool("a"), tool("b")), choose_rules(["all"]))
    assert findings[0].rule.id == "server-duplicate-tools"
    order = [finding.item.index for finding in findings[1:]]
    assert order == sorted(order)


def test_a_run_of_chosen_rules_finds_what_they_find_among_all() -> None:
    catalog = catalog_of(tool("a"), tool("b", description="x"))
    everything = check(catalog, choose_rules(["all"]))
    strict = check(catalog, choose_rules(["strict"]))
    assert strict == [finding for finding in everything if finding.rule.ruleset == "strict"]


def test_a_fingerprint_survives_reformatting_and_reordering() -> None:
    first, second = tool("a"), tool("b")
    before = check(catalog_of(first, second), choose_rules(["all"]))
    after = check(catalog_of(second, first, indent=None), choose_rules(["all"]))
    assert sorted(fingerprints(before)) == sorted(fingerprints(after))


def test_twins_have_fingerprints_of_their_own() -> None:
    findings = check(catalog_of(tool("a"), tool("a")), choose_rules(["strict"]))
    assert len(set(fingerprints(findings))) == len(findings)


def test_one_fault_at_one_place_is_one_group_with_the_other_ids_beside_it() -> None:
    catalog = catalog_of(tool("a"))
    groups = group_by_fault(report_findings(catalog, check(catalog, choose_rules(["all"]))))
    shown = {group.shown.rule.id: group.also for group in groups}
    assert shown["SCH-001"] == ["MP004", "tool-no-required"], "the warning with a fix is shown, the others beside it"
    assert shown["SCH-003"] == ["no_broad_schema_risk", "prop-no-type", "CMP-024"]
    assert shown["SCH-002"] == []


def test_rules_that_say_the_same_are_one_group_at_each_place() -> None:
    silent = {"description": "", "inputSchema": {"type": "object", "properties": {"q": {"type": "string"}}}}
    catalog = catalog_of(tool("a", **silent), tool("b", **silent))
    rules = choose_rules([], select=["tool-no-description", "prop-no-description", "MP001", "MP002"])
    groups = group_by_fault(report_findings(catalog, check(catalog, rules)))
    assert [(group.shown.item, group.shown.rule.id, *group.also) for group in groups] == [
        ("tool:a", "tool-no-description", "MP001"),
        ("tool:a", "prop-no-description", "MP002"),
        ("tool:b", "tool-no-description", "MP001"),
        ("tool:b", "prop-no-description", "MP002"),
    ]


def test_findings_without_a_fault_are_never_grouped() -> None:
    catalog = catalog_of(tool("a", description=""), tool("b", description=""))
    located = report_findings(catalog, check(catalog, choose_rules(["grade"], select=["tool-no-description"])))
    assert len(group_by_fault(located)) == 2


def test_what_a_rule_about_the_catalog_says_of_a_tool_is_a_finding_of_that_tool_in_its_turn() -> None:
    same = "Find tickets by their text."
    catalog = catalog_of(tool("a", description=same), tool("b"), tool("c", description=same))
    findings = check(catalog, choose_rules([], select=["MP033", "SCH-002"]))
    assert [(finding.item.name, finding.rule.id) for finding in findings if not finding.pointer.count("/") > 1] == [
        ("a", "MP033"),
        ("a", "SCH-002"),
        ("b", "SCH-002"),
        ("c", "MP033"),
        ("c", "SCH-002"),
    ]
