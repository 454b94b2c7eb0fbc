"""Messages about clients claim no more than the facts: versions, models, and limits on the server as a whole."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from mcproof.checks.clients.hits import ClientChecks
from mcproof.checks.clients.profiles import ClientChoice, choose_clients, known_profiles
from mcproof.checks.engine import check
from mcproof.checks.findings import SharedEvidence
from mcproof.checks.reporting import report_findings
from mcproof.checks.rule import rules_of
from mcproof.checks.rules.compat import _evidence, in_words
from mcproof.runs.records import finding_line

from .helpers import catalog_of

if TYPE_CHECKING:
    from mcproof.checks.clients.profiles import ActiveConstraint
    from mcproof.checks.findings import Finding


def findings(tool: dict[str, Any], *, server: str = "weather", clients: list[str] | None = None) -> list[Finding]:
    """The findings of `lint` about a tool."""
    catalog = catalog_of({"initialize": {"serverInfo": {"name": server}}, "tools": [tool]})
    return check(catalog, rules_of("compat"), ClientChecks(choose_clients(clients or []).for_lint()))


def active(client: str, constraint: str) -> ActiveConstraint:
    known = ClientChoice(known_profiles()).all_active()
    return next(each for each in known if each.key == (client, constraint))


def test_a_message_names_the_versions_or_models() -> None:
    assert (
        in_words([active(client="cursor", constraint="enum-strings")])
        == "every request with the tool fails in Cursor (Gemini models)"
    )


def test_a_name_that_is_only_too_long_with_the_name_of_the_server_is_a_note() -> None:
    tool = {"name": "a" * 46, "description": "Search.", "inputSchema": {"type": "object", "properties": {}}}
    [found] = findings(tool, server="weather-server")
    assert found.level == "note"
    assert found.message == (
        "the name is too long with the server name `weather-server` before it: the tool is missing in Cursor, "
        "Roo Code; calls sometimes go wrong in Claude Code; the name is cut in Gemini CLI, Qwen Code"
    )
    assert found.evidence is not None
    assert found.evidence["server_key"] == "weather-server"
    assert {each["level"] for each in found.evidence["clients"]} == {"note"}
    assert findings(tool, server="weather") == findings(tool, server="") == []


def test_a_name_that_is_too_long_by_itself_has_the_level_of_its_effect() -> None:
    tool = {"name": "a" * 60, "description": "Search.", "inputSchema": {"type": "object", "properties": {}}}
    [alone] = findings(tool, server="")
    assert (alone.level, alone.message) == ("warning", "the name is too long: the tool is missing in Cursor")
    [both] = findings(tool, server="s")
    assert both.level == "warning"
    assert both.message.startswith(
        "the name is too long with the server name `s` before it: the tool is missing in Cursor (even without it), "
        "Roo Code;"
    )


def test_a_message_names_the_keyword_and_the_parameter() -> None:
    schema = {"type": "object", "properties": {"a b": {"type": "integer", "if": {"minimum": 1}}}}
    found = findings({"name": "search", "description": "Search.", "inputSchema": schema})
    assert [each.message.partition(":")[0] for each in found] == [
        "clients do not accept the parameter name `a b`",
        "clients refuse `if`",
    ]


@pytest.mark.parametrize(
    "properties",
    [
        {"per-page": {"type": "integer"}},
        {"filter": {"type": "object", "properties": {"of": {"type": ["string", "null"]}}}},
    ],
    ids=["disputed", "conditional"],
)
def test_lint_leaves_out_what_is_not_certain_to_break(properties: dict[str, Any]) -> None:
    tool = {"name": "search", "description": "Search.", "inputSchema": {"type": "object", "properties": properties}}
    assert findings(tool) == []
    assert len(findings(tool, clients=["gemini-api"])) == 1


def test_a_limit_on_the_number_of_tools_is_not_about_one_tool() -> None:
    broken = [active(client=client, constraint="tools") for client in ("openai-api", "cursor")]
    assert in_words(broken) == "every request with all tools fails in OpenAI API; some tools are missing in Cursor"


def test_the_evidence_cites_the_source_of_its_date() -> None:
    fact = active(client="claude-desktop", constraint="output-dialect")
    record = _evidence(fact)
    assert (record["source"], record["date"]) in {(each.url, each.date) for each in fact.constraint.sources}
    assert record["date"] == fact.constraint.newest


def test_findings_with_the_same_clients_share_their_evidence_and_its_json() -> None:
    tools = [{"name": name, "inputSchema": {"type": "object", "oneOf": []}} for name in ("one", "two")]
    catalog = catalog_of({"tools": tools})
    found = [each for each in check(catalog, rules_of("compat")) if each.rule.id == "CMP-011"]
    assert len(found) == 2
    assert found[0].evidence is found[1].evidence
    lines = [finding_line(each) for each in report_findings(catalog, found)]
    assert [json.loads(line)["evidence"] for line in lines] == [each.evidence for each in found]
    assert isinstance(found[0].evidence, SharedEvidence)
    assert found[0].evidence.encoded in lines[0]


def test_the_evidence_has_the_doubt_about_a_fact() -> None:
    record = _evidence(active(client="copilot-studio", constraint="exclusive"))
    assert record["doubt"] == "The documentation does not say whether other tools are lost, too."
    assert "doubt" not in _evidence(active(client="copilot-studio", constraint="ref"))


def test_a_message_states_when_a_dated_fact_was_last_reported() -> None:
    """By the newest report of a user; code read later is not a report."""
    assert (
        in_words([active(client="azure-foundry-portal", constraint="anyof")])
        == "every request with the tool fails in Foundry portal (last reported in 2025-11)"
    )
    older = active(client="openai-api", constraint="description")
    assert older.constraint.last_report < older.constraint.newest
    assert in_words([older]).endswith("OpenAI API (older models through Chat Completions; last reported in 2025-04)")


def test_a_message_states_that_a_fact_is_disputed() -> None:
    assert in_words([active(client="gemini-api", constraint="property-key")]) == (
        "every request with the tool fails in Gemini API (parameters; documented, but users report the opposite)"
    )


def test_a_restriction_joins_the_brackets_of_a_name() -> None:
    assert in_words([active(client="gemini-api", constraint="type-union")]) == (
        "every request with the tool fails in Gemini API "
        "(parameters; clients that fill `parameters` with the schema as it is)"
    )


@pytest.mark.parametrize(
    ("client", "schema", "fault"),
    [
        ("gemini-api", {"type": "string", "enum": ["a", ""]}, "an enum has no values, or an empty one"),
        ("vscode-copilot", {"type": "string", "enum": ["a", "a"]}, "an enum has no values, or repeated ones"),
        (
            "llama-cpp",
            {"type": "string", "pattern": "^\\d$"},
            "engines cannot use a `pattern` with look-around or with a class such as `\\d`",
        ),
        (
            "claude-desktop",
            {"type": "string", "description": "x" * 17_000},
            "the schema is too large for clients",
        ),
    ],
    ids=["empty", "repeated", "pattern", "size"],
)
def test_a_message_states_what_is_wrong(client: str, schema: dict[str, Any], fault: str) -> None:
    inputs = {"type": "object", "properties": {"unit": schema}}
    found = findings({"name": "search", "description": "Search.", "inputSchema": inputs}, clients=[client])
    assert fault in {each.message.partition(": ")[0] for each in found}


def test_a_message_about_an_output_schema_names_the_reference() -> None:
    tool = {
        "name": "search",
        "description": "Search.",
        "inputSchema": {"type": "object", "properties": {}},
        "outputSchema": {"type": "object", "properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"a": {}}},
    }
    [found] = findings(tool, clients=["copilot-studio"])
    assert found.message.startswith("clients cannot follow a `$ref` of the output schema: ")


@pytest.mark.parametrize("greeting", ["initialize", "discover"])
def test_long_instructions_are_shown_where_they_are(greeting: str) -> None:
    document = {greeting: {"instructions": "x" * 2_049}, "tools": []}
    [found] = check(catalog_of(document), rules_of("compat"), ClientChecks(choose_clients([]).for_lint()))
    assert (found.rule.id, found.shown_pointer) == ("CMP-062", f"/{greeting}/instructions")
