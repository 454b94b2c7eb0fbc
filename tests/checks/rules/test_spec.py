"""`spec`: the revision that judges a catalog, levels by revision, and the choice of rules for an item."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from mcproof.checks.engine import check
from mcproof.checks.findings import group_by_fault
from mcproof.checks.reporting import report_findings
from mcproof.checks.rule import SpecTraits, find_rule, rules_of
from mcproof.checks.rulebook import cases_of
from mcproof.checks.rules.spec.demand import address_of
from mcproof.checks.subjects import DatedItem, Observed, effective_revision
from mcproof.core.protocol import REVISIONS
from mcproof.targets.snapshots import read_snapshot

if TYPE_CHECKING:
    from mcproof.checks.findings import Finding
    from mcproof.core.catalog.model import Catalog

FIRST, ANNOTATED, STRUCTURED, DIALECTS, STATELESS = sorted(REVISIONS)
EXTERNAL = {"name": "count", "inputSchema": {"type": "object", "properties": {"x": {"$ref": "https://example.com/x"}}}}
HEADER = {
    "name": "count",
    "inputSchema": {"type": "object", "properties": {"x": {"type": "string", "x-mcp-header": ""}}},
}


def catalog_of(document: Any) -> Catalog:
    return read_snapshot(json.dumps(document).encode(), "case.json")


def found(document: Any, revision: str | None = None, *rulesets: str) -> list[Finding]:
    return check(catalog_of(document), rules_of(*(rulesets or ("spec",))), observed=Observed(revision=revision))


def levels(document: Any, revision: str | None = None) -> dict[str, str]:
    return {each.rule.id: each.level for each in found(document, revision)}


def handshake(revision: Any) -> dict[str, Any]:
    return {"initialize": {"protocolVersion": revision, "capabilities": {"tools": {}}}, "tools": [{"name": "count"}]}


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (handshake("2025-06-18"), (STRUCTURED, False)),
        (handshake("2025-12-31"), (DIALECTS, False)),
        (handshake("2024-10-07"), (FIRST, False)),
        (handshake("2030-01-01"), (STATELESS, False)),
        (handshake("latest"), (DIALECTS, True)),
        (handshake(7), (DIALECTS, True)),
        ({"tools": [{"name": "count"}]}, (DIALECTS, True)),
        ({"discover": {"supportedVersions": [STATELESS]}, "tools": []}, (STATELESS, False)),
    ],
)
def test_the_handshake_names_the_revision_that_judges(document: Any, expected: tuple[str, bool]) -> None:
    assert effective_revision(catalog_of(document)) == expected


def test_the_user_chooses_another_revision() -> None:
    assert effective_revision(catalog_of(handshake(FIRST)), STATELESS) == (STATELESS, False)


def test_an_external_reference_is_an_error_only_in_the_revision_that_forbids_it() -> None:
    assert {each: levels([EXTERNAL], each)["SPEC-016"] for each in (FIRST, DIALECTS, STATELESS)} == {
        FIRST: "warning",
        DIALECTS: "warning",
        STATELESS: "error",
    }


def test_the_dialect_is_a_warning_only_for_an_output_schema() -> None:
    schema = {"$schema": "http://json-schema.org/draft-07/schema#", "type": "object"}
    both = found([{"name": "count", "inputSchema": schema, "outputSchema": schema}])
    assert [(each.pointer, each.level) for each in both if each.rule.id == "SPEC-015"] == [
        ("/inputSchema/$schema", "note"),
        ("/outputSchema/$schema", "warning"),
    ]


def test_a_demand_of_the_newest_revision_alone_is_a_note_if_the_revision_is_unknown() -> None:
    assert levels([HEADER])["SPEC-070"] == "note"
    assert levels([HEADER], STATELESS)["SPEC-070"] == "error"
    assert "SPEC-070" not in levels([HEADER], DIALECTS)


def test_a_vendor_key_is_a_note() -> None:
    meta = {"openai/toolInvocation/invoking": 1, "_mine": 1}
    keys = found([{"name": "count", "inputSchema": {"type": "object"}, "_meta": meta}])
    assert [each.level for each in keys if each.rule.id == "SPEC-060"] == ["note", "warning"]


def test_a_finding_cites_the_revision_that_judges() -> None:
    (finding,) = [
        each for each in found([{"name": "a b", "inputSchema": {"type": "object"}}]) if each.level == "warning"
    ]
    assert finding.evidence is not None
    assert finding.evidence["revision"] == DIALECTS
    assert (
        finding.evidence["source"]
        == f"https://modelcontextprotocol.io/specification/{DIALECTS}/server/tools#tool-names"
    )


@pytest.mark.parametrize(
    ("key", "fault"),
    [
        ("_mine", "has a name that does not start and end with a letter or digit"),
        ("com.example/my name", "has characters other than letters, digits, `-`, `_` and `.` in its name"),
        ("a/b/c", "has more than one `/`"),
        ("7up.com/team", "has a prefix that is not like `com.example`"),
    ],
)
def test_a_message_states_what_is_wrong_with_a_meta_key(key: str, fault: str) -> None:
    keys = found([{"name": "count", "inputSchema": {"type": "object"}, "_meta": {key: 1}}])
    assert [each.message for each in keys if each.rule.id == "SPEC-060"] == [f"the key `{key}` {fault}"]


def test_an_unknown_annotation_is_not_reported_as_missing() -> None:
    tool = {"name": "count", "inputSchema": {"type": "object"}, "annotations": {"category": "network"}}
    assert [each.message for each in found([tool]) if each.rule.id == "SPEC-031"] == [
        "the protocol defines no annotation `category`"
    ]


def test_a_later_member_is_reported_with_the_revision_of_the_server() -> None:
    document = {**handshake(ANNOTATED), "tools": [{"name": "a", "inputSchema": {"type": "object"}, "_meta": {}}]}
    assert [each.message for each in found(document) if each.rule.id == "SPEC-044"] == [
        "1 of 1 tools have `_meta`, which revision 2025-06-18 added; the server speaks 2025-03-26"
    ]


def test_a_capability_is_shown_where_it_is_declared() -> None:
    old = {"initialize": {"protocolVersion": DIALECTS, "capabilities": {"tools": {}}}, "prompts": [{"name": "a"}]}
    assert [each.shown_pointer for each in found(old) if each.rule.id == "SPEC-200"] == ["/initialize/capabilities"]
    new = {"discover": {"supportedVersions": [STATELESS], "capabilities": {"logging": {}}}, "tools": []}
    assert [each.shown_pointer for each in found(new) if each.rule.id == "SPEC-203"] == [
        "/discover/capabilities/logging"
    ]


@pytest.mark.parametrize(("revision", "cited"), [(ANNOTATED, ANNOTATED), (STATELESS, DIALECTS)])
def test_a_page_is_cited_as_of_the_last_revision_that_has_it(revision: str, cited: str) -> None:
    assert address_of("lifecycle#initialization", revision).split("/")[4] == cited


def test_every_rule_has_a_source() -> None:
    for rule in rules_of("spec"):
        assert rule.own(SpecTraits).source.startswith("https://"), rule.id
        assert rule.own(SpecTraits).revisions, rule.id
    assert address_of("schema#Tool", FIRST).endswith("/schema/2024-11-05/schema.json (Tool)")


def test_what_two_rulesets_report_is_shown_once() -> None:
    document = {
        "initialize": {"protocolVersion": DIALECTS, "capabilities": {"tools": {}}},
        "tools": [{"name": "count"}],
    }
    catalog = catalog_of(document)
    findings = check(catalog, rules_of("catalog", "grade", "spec"))
    reported = report_findings(catalog, findings, None, lines=False, identities=False, edits=None)
    shown = {each.shown.rule.id: each.also for each in group_by_fault(reported)}
    assert shown["server-no-name"] == ["SPEC-202"]
    assert shown["server-no-version"] == ["SPEC-202"]
    assert shown["SPEC-001"] == ["tool-no-schema"]


ITEM_DEMANDS = [
    pytest.param(rule, revision, id=f"{rule.id}-{revision}")
    for rule in rules_of("spec")
    if rule.subject is DatedItem
    for revision in sorted(REVISIONS)
    if revision in rule.own(SpecTraits).revisions
]


@pytest.mark.parametrize(("rule", "revision"), ITEM_DEMANDS)
def test_the_choice_of_rules_hides_nothing(rule: Any, revision: str) -> None:
    """What a rule reports if it runs on every item, it reports if marks choose its items."""
    cases = cases_of(rule)
    for case in [*cases.bad, *cases.good]:
        if case.snapshot is None:
            continue
        catalog = catalog_of(json.loads(case.snapshot))
        items = [catalog.server, *catalog.tools, *catalog.resources, *catalog.templates, *catalog.prompts]
        every = [
            (item.pointer, problem.at)
            for item in items
            if item.kind in rule.own(SpecTraits).kinds and _can_run(rule, item)
            for problem in rule.check(DatedItem(item, revision))
        ]
        run = check(catalog, [rule], observed=Observed(revision=revision))
        chosen = [(finding.item.pointer, finding.pointer) for finding in run]
        assert sorted(chosen) == sorted(every)


def _can_run(rule: Any, item: Any) -> bool:
    """Whether an item has what a rule reads without asking."""
    needed = {"SPEC-041": "execution", "SPEC-105": "mimeType", "SPEC-106": "size", "SPEC-107": "annotations"}
    if item.kind == "server":
        return "icons" in item.fields.get("initialize", {}).get("serverInfo", {})
    return needed.get(rule.id, "name") in item.fields or rule.id not in needed


def test_hostile_items_are_checked_in_one_pass() -> None:
    deep: dict[str, Any] = {}
    for _ in range(400):
        deep = {"a": deep}
    tool = {
        "name": "x" * 1_000_000,
        "inputSchema": {"type": "object", "properties": {f"p{number}": True for number in range(20_000)}},
        "icons": [{"src": "http://x", "sizes": "x" * 1000}] * 50_000,
        "_meta": {"_" + "a" * 100_000 + "-": deep, **{f"_{number}": deep for number in range(1_000)}},
        "annotations": {f"hint{number}": number for number in range(20_000)},
    }
    findings = found({"tools": [tool], "resourceTemplates": [{"name": "t", "uriTemplate": "{" * 200_000}]})
    assert max(len(each.message) for each in findings) < 300
    assert {"SPEC-002", "SPEC-012", "SPEC-050", "SPEC-051", "SPEC-060", "SPEC-102"} <= {
        each.rule.id for each in findings
    }
    per_rule = [sum(each.rule.id == rule for each in findings) for rule in {each.rule.id for each in findings}]
    assert max(per_rule) <= 100


def test_a_user_severity_comes_before_that_of_a_problem() -> None:
    rule = find_rule("SPEC-016").with_severity("note")
    (finding,) = check(catalog_of([EXTERNAL]), [rule], observed=Observed(revision=STATELESS))
    assert finding.level == "note"
