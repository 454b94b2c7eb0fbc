"""Trust rules about the surface of a server: evidence, hard fails, and what `lint` runs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from mcproof.checks.engine import check
from mcproof.checks.findings import fingerprints
from mcproof.checks.rule import TrustTraits, find_rule, rules_of
from mcproof.core.observations.perimeter import Exposure
from mcproof.targets.snapshots import read_snapshot

if TYPE_CHECKING:
    from mcproof.checks.findings import Finding

OPEN, LOCAL, GUARDED = Exposure(is_http=True), Exposure(), Exposure(is_http=True, needs_credentials=True)


def tool(name: str, description: str = "", *parameters: str, **annotations: bool) -> dict[str, Any]:
    schema = {"type": "object", "properties": {each: {"type": "string"} for each in parameters}}
    return {"name": name, "description": description, "inputSchema": schema, "annotations": annotations}


def findings(rule: str, *tools: dict[str, Any], **others: Any) -> list[Finding]:
    text = json.dumps({"tools": tools, **others})
    return check(read_snapshot(text.encode(), "catalog.json"), [find_rule(rule)])


def evidence(rule: str, *tools: dict[str, Any], **others: Any) -> dict[str, Any]:
    """The evidence of the only finding."""
    (finding,) = findings(rule, *tools, **others)
    assert finding.evidence is not None
    return finding.evidence


SHELL = tool("bash", "Run a command in a shell.", "command")
DELETE = tool("delete_record", "Delete a record.", "id")


def test_one_finding_lists_every_tool() -> None:
    second = tool("analyze", "Executes Python code.", "code")
    assert evidence("no_public_code_execution_tools", SHELL, DELETE, second) == {
        "matches": [
            {
                "toolName": "bash",
                "keyword": "run",
                "source": "description",
                "why": "`run a command` in its description",
            },
            {
                "toolName": "analyze",
                "keyword": "execute",
                "source": "description",
                "why": "`execute python code` in its description",
            },
        ]
    }


def test_the_message_names_the_first_tools() -> None:
    tools = [tool(f"delete_{each}", "", "id") for each in ("a", "b", "c", "d", "e")]
    (finding,) = findings("no_public_destructive_tools", *tools)
    named = ", ".join(f"`delete_{each}` (`delete {each}` in its name)" for each in ("a", "b", "c"))
    assert finding.message == f"5 tools can delete data: {named} and 2 more"
    assert finding.item.kind == "server"
    assert finding.shown_pointer == "/tools/0/name"


def test_evidence_of_destructive_tools() -> None:
    (entry,) = evidence("no_public_destructive_tools", SHELL, DELETE)["destructiveTools"]
    assert entry == {
        "toolName": "delete_record",
        "verb": "delete",
        "source": "name",
        "why": "`delete record` in its name",
    }


def test_a_tool_without_a_name_is_listed_by_its_position() -> None:
    nameless = {"description": "Deletes all records.", "inputSchema": {"type": "object", "properties": {}}}
    assert evidence("no_public_destructive_tools", nameless)["destructiveTools"][0]["toolName"] == "tools[0]"


@pytest.mark.parametrize(
    "rule",
    [
        "no_public_code_execution_tools",
        "no_public_credential_access_tools",
        "no_public_filesystem_write_tools",
        "no_public_admin_control_tools",
    ],
)
def test_capabilities_block_only_open_servers(rule: str) -> None:
    blocks = find_rule(rule).own(TrustTraits).hard_fail
    assert blocks is not None
    assert [blocks({}, exposure) for exposure in (OPEN, LOCAL, GUARDED)] == [True, False, False]


def test_no_other_rule_of_the_surface_blocks() -> None:
    public = [rule for rule in rules_of("trust") if rule.id.startswith("no_public")]
    blocking = {rule.id for rule in public if rule.own(TrustTraits).hard_fail is not None}
    assert blocking == {
        "no_public_code_execution_tools",
        "no_public_credential_access_tools",
        "no_public_filesystem_write_tools",
        "no_public_admin_control_tools",
    }


def test_a_tool_that_comes_to_a_finding_changes_its_identity() -> None:
    before = findings("no_public_destructive_tools", DELETE)
    reordered = findings("no_public_destructive_tools", SHELL, DELETE)
    more = findings("no_public_destructive_tools", DELETE, tool("drop_table", "", "name"))
    assert fingerprints(before) == fingerprints(reordered) != fingerprints(more)


# Annotations


def test_hints_that_contradict_a_capability() -> None:
    read_only = {**DELETE, "annotations": {"readOnlyHint": True}}
    assert evidence("tool_annotations_consistent", read_only) == {
        "hits": [
            {
                "toolName": "delete_record",
                "kind": "readonly_but_destructive_capability",
                "annotation": "readOnlyHint: true",
                "capabilityKind": "delete_data",
                "why": "`delete record` in its name",
            }
        ]
    }


def test_a_parameter_alone_does_not_contradict_a_hint() -> None:
    screenshot = tool("take_screenshot", "Take a screenshot.", "output_path", readOnlyHint=True)
    assert findings("no_public_filesystem_write_tools", screenshot)
    assert not findings("tool_annotations_consistent", screenshot)


def test_undeclared_destructive_tools() -> None:
    payment = tool("create_payment", "Create a payment.", "amount")
    declared = {**DELETE, "annotations": {"destructiveHint": True}}
    hits = evidence("destructive_tools_declare_destructive_hint", payment, declared)["hits"]
    assert hits == [{"toolName": "create_payment", "capabilityKind": "financial_action"}]


def test_hints_that_are_not_booleans_are_no_hints() -> None:
    odd = {**DELETE, "annotations": ["readOnlyHint"]}
    assert not findings("tool_annotations_consistent", odd, {**DELETE, "annotations": {"readOnlyHint": "yes"}})


# Schemas


def test_hits_of_all_tools_are_in_one_finding() -> None:
    first, second = tool("ask", "Ask.", "prompt"), tool("find", "Run a Cypher query.", "query", "limit")
    assert evidence("prompt_injection_surface", first, DELETE, second) == {
        "hits": [
            {"toolName": "ask", "field": "prompt", "path": "/properties/prompt"},
            {"toolName": "find", "field": "query", "path": "/properties/query"},
        ]
    }


def test_rules_of_lint_report_each_tool() -> None:
    """So that a finding has a line, and can be ignored for one tool."""
    bare, load = {"name": "load it"}, tool("load", "Load.", "url")
    for rule in ("all_tools_have_input_schema", "tool_name_safety", "no_broad_schema_risk"):
        (finding,) = findings(rule, bare, load)
        assert finding.item.kind == "tool"


def test_kinds_of_broad_schemas() -> None:
    schema = {
        "type": "object",
        "properties": {
            "options": {"type": "object"},
            "map": {"type": "object", "additionalProperties": {"type": "string"}},
            "any": {},
            "file_path": {"type": "string"},
            "nested": {"type": "object", "properties": {"sql": {"type": ["string", "null"]}}},
        },
        "additionalProperties": True,
    }
    hits = evidence("no_broad_schema_risk", {"name": "run", "inputSchema": schema})["hits"]
    assert [(hit["kind"], hit["field"], hit["path"]) for hit in hits] == [
        ("additional_properties", "(root)", "(root)"),
        ("open_object", "options", "/properties/options"),
        ("untyped_property", "any", "/properties/any"),
        ("free_form_sensitive_field", "file_path", "/properties/file_path"),
        ("free_form_sensitive_field", "sql", "/properties/nested/properties/sql"),
    ]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("get weather", "contains-whitespace"),
        ("get_weather\n", "contains-whitespace"),
        ("wetter_für", "contains-unsafe-characters"),
        ("2fa", "does-not-start-with-a-letter"),
        ("a" * 65, "too-long"),
    ],
)
def test_reasons_of_unsafe_names(name: str, reason: str) -> None:
    assert evidence("tool_name_safety", tool(name)) == {"unsafeNames": [{"toolName": name, "reason": reason}]}


def test_missing_schemas_and_descriptions_are_listed() -> None:
    bare = {"name": "one"}
    assert evidence("all_tools_have_input_schema", bare, SHELL) == {"missingFor": ["one"]}
    assert evidence("all_tools_have_descriptions", bare, SHELL) == {"missingFor": ["one"]}


# Texts and resources

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def test_a_secret_is_located_and_never_shown() -> None:
    leaking = tool("list_issues", f"Uses the token {TOKEN}.")
    initialize = {"protocolVersion": "2025-11-25", "instructions": f"Send {TOKEN} with every request."}
    (finding,) = findings("no_secret_leakage_in_observed_text", leaking, initialize=initialize)
    assert finding.evidence is not None
    assert finding.evidence["hits"] == [
        {
            "pattern": "github_token",
            "location": "instructions",
            "toolName": None,
            "path": "/initialize/instructions",
        },
        {"pattern": "github_token", "location": "description", "toolName": "list_issues", "path": "/description"},
    ]
    assert TOKEN[:12] not in finding.message + json.dumps(finding.evidence)


def test_addresses_show_no_login_and_no_values() -> None:
    resources = [{"uri": "http://user:s3cret@example.com/a?token=abc123", "name": "a"}]
    (hit,) = evidence("no_dangerous_resource_uris", resources=resources)["hits"]
    assert hit == {
        "kind": "http_scheme",
        "uri": "http://***@example.com/a?token=***",
        "name": "a",
        "reason": "`http:` is not encrypted",
    }


# The server


def test_evidence_about_the_server() -> None:
    initialize = {"protocolVersion": "2025-11-25", "serverInfo": {"name": "weather"}}
    found = evidence("initialize_advertises_server_version", SHELL, initialize=initialize)
    assert found == {"serverInfo": {"name": "weather", "version": None}}
    assert evidence("initialize_advertises_server_info", SHELL, initialize={}) == {"serverInfo": None}
    assert evidence("initialize_advertises_protocol_version", SHELL, initialize={}) == {"protocolVersion": None}


def test_evidence_of_too_many_tools() -> None:
    assert evidence("tool_count_is_reasonable", *(tool(f"t{each}") for each in range(51))) == {
        "count": 51,
        "threshold": 50,
    }


def test_weights_of_the_published_catalog() -> None:
    weights = {rule.id: rule.own(TrustTraits).weight for rule in rules_of("trust")}
    assert (
        weights.items()
        >= {
            "no_public_code_execution_tools": 14,
            "no_public_credential_access_tools": 12,
            "no_public_filesystem_write_tools": 10,
            "no_public_admin_control_tools": 10,
            "no_public_destructive_tools": 8,
            "prompt_injection_surface": 8,
            "no_public_send_message_tools": 6,
            "no_public_financial_action_tools": 6,
            "no_public_network_access_tools": 6,
            "tool_annotations_consistent": 6,
            "no_dangerous_resource_uris": 6,
            "all_tools_have_input_schema": 6,
            "no_secret_leakage_in_observed_text": 5,
            "tool_input_schemas_well_formed": 4,
            "no_pii_keywords_in_tool_surface": 3,
            "initialize_advertises_protocol_version": 3,
            "all_tools_have_descriptions": 3,
            "tool_name_safety": 2,
            "no_broad_schema_risk": 2,
            "tool_count_is_reasonable": 2,
            "initialize_advertises_server_info": 2,
            "mcp_tools_list_succeeded": 1,
            "initialize_advertises_server_version": 1,
        }.items()
    )


def test_lint_runs_only_the_rules_about_schemas() -> None:
    in_lint = {rule.id for rule in rules_of("trust") if rule.traits.in_lint and not rule.id.startswith("TRU-")}
    assert in_lint == {
        "tool_input_schemas_well_formed",
        "all_tools_have_input_schema",
        "tool_name_safety",
        "no_broad_schema_risk",
    }
