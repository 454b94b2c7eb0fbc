"""`--format json`: one document on standard output, on every path, as the shipped schemas say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema_rs
import pytest

from .running import (
    CLEAN_TOOL,
    FAULTY_TOOL,
    LOOSE_TOOL,
    document_of,
    error_of,
    run,
    shipped_schema,
    validator,
    write,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

OPTIONAL = {
    "sweep": set(),
    "sweep-outcome": {
        *(
            "reason",
            "message",
            "server",
            "protocol",
            "transport",
            "counts",
            "grade",
            "tokens",
            "descriptions",
            "summary",
        ),
        *("trust", "scan_error", "proof", "prove_error", "name", "version"),
    },
    "lint": {"not_judged", "notices", "polish", "suppressed"},
    "grade": {"descriptions", "not_judged", "notices"},
    "compat": {"not_judged", "notices", "suppressed"},
    "check": {"grade_withheld", "not_judged", "notices", "suppressed"},
    "clients": set(),
    "error": {"target", "trust", "tool_graph", "gates", "findings", "summary", "notices"},
    "rules": set(),
    "explain": set(),
    "config": set(),
    "run": {
        "repairs",
        "check",
        "source",
        "code_help",
        "not_judged",
        "called",
        "reached",
        "not_reached",
        "paths",
        "tool_graph",
        "twins",
        "response",
        "configurations",
        "name",
        "version",
        "grade",
        "polish",
        "descriptions",
        "probes",
        "matrix",
        "fuzzing",
        "clients",
        "fixable",
        "injection",
        "tests",
        "same_as",
        "trust",
        "detail",
        "error",
        "notices",
    },
    "probe": {"notices", "suppressed"},
    "prove": {"notices", "suppressed"},
    "fuzz": {"called", "reached", "not_reached", "paths", "injection", "notices", "response", "suppressed"},
    "tests": {"detail", "notices"},
    "validate": {"error"},
    "diff": set(),
    "baseline": set(),
    "advisories": set(),
    "lock": set(),
    "replay": set(),
    "lockfile": {"name", "version", "description", "title", "inputSchema", "outputSchema", "annotations", "other"},
    "call": {"messages", "requestedSchema", "url"},
    "trace": {"message", "text"},
    "event": {"error", "gates", "changes", "more_changes"},
    "tools": {"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"},
}
"""What a document may leave out, by its schema; everything else is always there."""
SCHEMAS = list(OPTIONAL)


@pytest.fixture
def catalog(tmp_path: Path) -> str:
    return write(tmp_path / "catalog.json", {"tools": [CLEAN_TOOL, LOOSE_TOOL, FAULTY_TOOL, None]})


@pytest.fixture
def clean(tmp_path: Path) -> str:
    return write(tmp_path / "clean.json", {"tools": [CLEAN_TOOL]})


# --- the schemas themselves ---------------------------------------------------------------------------------------


def _subschemas(schema: Any) -> Iterator[dict[str, Any]]:
    """Every schema in one of ours that says what a value is; they use few of the keywords there are."""
    yield schema
    for keyword in ("properties", "$defs"):
        for child in schema.get(keyword, {}).values():
            yield from _subschemas(child)
    for keyword in ("items", "additionalProperties"):
        if isinstance(schema.get(keyword), dict):
            yield from _subschemas(schema[keyword])


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_shipped_schema_is_valid_and_has_an_id(name: str) -> None:
    schema = shipped_schema(name)
    jsonschema_rs.meta.validate(schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["$id"] == f"urn:mcproof:{name}:{2 if name in ('prove', 'run') else 1}"
    assert schema["description"]


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_shipped_schema_is_strict_and_describes_every_field(name: str) -> None:
    for schema in _subschemas(shipped_schema(name)):
        if "properties" in schema:
            assert schema["additionalProperties"] is False
            assert set(schema["properties"]) - set(schema["required"]) <= OPTIONAL[name]
        for key, field in schema.get("properties", {}).items():
            assert field.get("description") or "$ref" in field, key


def test_what_several_schemas_define_is_the_same_in_all() -> None:
    lint, grade, error = (shipped_schema(name)["$defs"] for name in ("lint", "grade", "error"))
    for name in ("finding", "fix", "failed", "problem"):
        assert lint[name] == grade[name]
        for trying in ("probe", "prove", "fuzz"):
            assert lint[name] == shipped_schema(trying)["$defs"][name]
    run = shipped_schema("run")["$defs"]
    for schema, name in (("probe", "probe_result"), ("prove", "probe_result"), ("prove", "cell"), ("fuzz", "failure")):
        assert shipped_schema(schema)["$defs"][name] == run[name]
    assert lint["problem"] == error["problem"]
    listed, explained = (shipped_schema(name)["$defs"]["rule"]["properties"] for name in ("rules", "explain"))
    assert {key: field for key, field in explained.items() if key != "schema_version"} == listed


def test_a_schema_refuses_what_is_not_described(catalog: str) -> None:
    document = document_of(run("lint", catalog, "--format", "json"), "lint")
    assert not validator("lint").is_valid({**document, "more": 1})
    assert not validator("lint").is_valid({**document, "schema_version": 2})
    document["findings"][0]["line"] = 0
    assert not validator("lint").is_valid(document)


# --- lint and schema-lint -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["lint", "schema-lint"])
def test_lint_prints_findings_and_a_summary_that_counts_them(catalog: str, command: str) -> None:
    done = run(command, catalog, "--format", "json")
    assert done.returncode == 1
    assert done.stderr == ""
    document = document_of(done, "lint")
    findings, summary = document["findings"], document["summary"]
    assert document["target"] == catalog
    for level in ("error", "warning", "note"):
        assert summary[f"{level}s"] == sum(finding["level"] == level for finding in findings)
    rules = [finding["rule"] for finding in findings]
    assert summary["by_rule"] == {rule: rules.count(rule) for rule in sorted(set(rules))}


def test_machines_get_every_finding_also_where_people_see_it_once(catalog: str) -> None:
    document = document_of(run("lint", catalog, "--format", "json", "--ruleset", "all"), "lint")
    at_one_place = [
        finding["rule"]
        for finding in document["findings"]
        if (finding["tool"], finding["pointer"]) == ("burn_book", "/inputSchema/properties/id")
        and finding["fault"] == "FAULT-SCHEMA-TYPE-MISMATCH"
    ]
    assert sorted(at_one_place) == ["SCH-003", "prop-no-type"]


def test_a_finding_has_every_field_that_the_specification_names(catalog: str) -> None:
    document = document_of(run("schema-lint", catalog, "--format", "json"), "lint")
    finding = next(each for each in document["findings"] if each["rule"] == "SCH-001")
    lines = [line.strip() for line in Path(catalog).read_text().splitlines()]
    assert finding == {
        "rule": "SCH-001",
        "ruleset": "strict",
        "severity": "warning",
        "level": "warning",
        "fault": "FAULT-SCHEMA-MISSING-REQUIRED",
        "subject": "tool:list_books",
        "tool": "list_books",
        "pointer": "/inputSchema",
        "message": finding["message"],
        "evidence": None,
        "file": catalog,
        "line": lines.index('"inputSchema": {', lines.index('"name": "list_books",')) + 1,
        "column": 7,
        "fix": {"set": "required", "to": ["shelf", "limit"]},
    }


def test_a_critical_keeps_its_word_and_is_an_error(catalog: str) -> None:
    document = document_of(run("schema-lint", catalog, "--format", "json"), "lint")
    found = [each for each in document["findings"] if each["rule"] == "SCH-003"]
    assert [(each["severity"], each["level"], each["subject"], each["tool"]) for each in found] == [
        ("critical", "error", "parameter:id", "burn_book")
    ]


@pytest.mark.parametrize(
    ("command", "gate"),
    [("lint", "no findings (gate: errors)"), ("schema-lint", "no findings (gate: all findings)")],
)
def test_a_clean_catalog_gives_an_empty_list(clean: str, command: str, gate: str) -> None:
    done = run(command, clean, "--format", "json")
    assert done.returncode == 0
    assert document_of(done, "lint") == {
        "schema_version": 1,
        "target": clean,
        "findings": [],
        "summary": {"errors": 0, "warnings": 0, "notes": 0, "by_rule": {}},
        "conclusion": {"outcome": "passed", "judged": 1, "of": 1, "because": gate},
    }


# --- grade --------------------------------------------------------------------------------------------------------


def test_grade_prints_score_counts_and_tokens(catalog: str) -> None:
    done = run("grade", catalog, "--format", "json")
    assert done.returncode == 1
    assert done.stderr == ""
    document = document_of(done, "grade")
    counts = document["counts"]
    assert counts == {"errors": 1, "warnings": 2, "infos": 2}
    assert document["score"] == 100 - 15 - 2 * 5 - 2
    assert (document["scheme"], document["grade"], document["gates"]) == ("grade", "C", [])
    assert document["rules"] == {
        "prop-no-description": 1,
        "prop-no-type": 1,
        "tool-no-description": 1,
        "tool-no-required": 2,
    }
    tokens = document["tokens"]
    assert tokens["total"] == sum(tokens["tools"].values())
    assert list(tokens["tools"])[:3] == ["find_book", "list_books", "burn_book"]
    descriptions = document["descriptions"]
    assert list(descriptions) == list(tokens["tools"])
    assert descriptions["burn_book"] == 0 < descriptions["find_book"] < 1


def test_what_is_wrong_with_the_input_is_listed_by_grade_and_counts_for_nothing(catalog: str) -> None:
    document = document_of(run("grade", catalog, "--format", "json"), "grade")
    assert "CAT-001" in [finding["rule"] for finding in document["findings"]]
    assert "CAT-001" not in document["rules"]


def test_grade_tells_which_gates_were_met(catalog: str) -> None:
    done = run("grade", catalog, "--format", "json", "--min-grade", "D", "--max-tokens", "10", "--fail-on", "never")
    assert done.returncode == 1
    document = document_of(done, "grade")
    total = document["tokens"]["total"]
    assert document["gates"] == [
        {"gate": "min-grade", "limit": "D", "actual": "C", "passed": True},
        {"gate": "max-tokens", "limit": 10, "actual": total, "passed": False},
    ]


# --- rules and explain --------------------------------------------------------------------------------------------


def test_rules_prints_every_rule_once() -> None:
    done = run("rules", "--format", "json")
    assert done.returncode == 0
    ids = [rule["id"] for rule in document_of(done, "rules")["rules"]]
    assert len(ids) == len(set(ids))
    assert {"CAT-001", "SCH-001", "SCH-002", "SCH-003", "SCH-004", "tool_input_schemas_well_formed"} <= set(ids)


def test_explain_prints_the_same_record_as_rules() -> None:
    listed = {rule["id"]: rule for rule in document_of(run("rules", "--format", "json"), "rules")["rules"]}
    explained = document_of(run("explain", "SCH-003", "--format", "json"), "explain")
    assert explained == {"schema_version": 1, **listed["SCH-003"]}


def test_explain_prints_a_fault() -> None:
    explained = document_of(run("explain", "FAULT-PROTO-UNKNOWN-METHOD", "--format", "json"), "explain")
    assert explained["paper"] == "arXiv:2606.05339"


# --- what cannot be done ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        ["lnt", "--format", "json"],
        ["lnt", "--format=json"],
        ["prove", "--format", "json"],
        ["lint", "--format", "json", "--nonsense", "x.json"],
        ["lint", "--format", "json", "--select", "nonsense", "x.json"],
        ["lint", "--format", "json", "--ruleset", "nonsense", "x.json"],
        ["lint", "--format", "json", "https://example.com/mcp"],
        ["schema-lint", "--format", "json", "--write", "x.json"],
        ["grade", "--format", "json", "--min-grade", "E", "x.json"],
        ["explain", "--format", "json", "nonsense"],
        ["rules", "--format", "json", "nonsense"],
    ],
    ids=" ".join,
)
def test_a_bad_command_line_gives_an_error_document(arguments: list[str]) -> None:
    done = run(*arguments)
    assert done.returncode == 2
    assert done.stderr == ""
    error = document_of(done, "error")["error"]
    assert (error["line"], error["column"]) == (None, None)


@pytest.mark.parametrize("command", ["lint", "schema-lint", "grade"])
def test_an_unreadable_file_gives_an_error_document(tmp_path: Path, command: str) -> None:
    missing = str(tmp_path / "missing.json")
    error = error_of(command, missing, "--format", "json")
    assert error == {
        "message": "cannot be read: no such file or directory",
        "file": missing,
        "line": None,
        "column": None,
    }


@pytest.mark.parametrize("command", ["lint", "schema-lint", "grade"])
def test_what_is_not_json_gives_its_place(tmp_path: Path, command: str) -> None:
    broken = tmp_path / "broken.json"
    broken.write_text('{"tools": [\n  {"name" "a"}\n]}')
    error = error_of(command, str(broken), "--format", "json")
    assert (error["file"], error["line"], error["column"]) == (str(broken), 2, 11)
    assert "expected `:`" in error["message"]


def test_the_last_format_that_was_asked_for_counts_for_errors_too() -> None:
    done = run("lnt", "--format", "json", "--format", "text")
    assert done.stdout == ""
    assert done.stderr.startswith("mcproof: ")


def test_schema_lint_with_fix_prints_the_catalog_in_every_format(clean: str, tmp_path: Path) -> None:
    done = run("schema-lint", clean, "--fix", "--format", "json")
    assert json.loads(done.stdout) == {"tools": [CLEAN_TOOL]}


def test_a_diff_is_no_json(catalog: str) -> None:
    """A machine format prints its payload and nothing else: what has no JSON form is refused."""
    done = run("schema-lint", catalog, "--diff", "--format", "json")
    assert done.returncode == 2
    document_of(done, "error")


# --- several targets ----------------------------------------------------------------------------------------------


def test_several_targets_give_one_document_with_one_entry_each(catalog: str, clean: str, tmp_path: Path) -> None:
    missing = str(tmp_path / "missing.json")
    for command, schema in (("lint", "lint"), ("schema-lint", "lint"), ("grade", "grade")):
        done = run(command, clean, missing, catalog, "--format", "json")
        assert done.returncode == 2
        document = document_of(done, schema)
        assert [entry["target"] for entry in document["targets"]] == [clean, missing, catalog]
        assert [("error" in entry, "findings" in entry) for entry in document["targets"]] == [
            (False, True),
            (True, False),
            (False, True),
        ]


def test_an_entry_of_several_is_what_the_target_gives_alone(catalog: str, clean: str) -> None:
    for command, schema in (("lint", "lint"), ("grade", "grade")):
        alone = [document_of(run(command, name, "--format", "json"), schema) for name in (catalog, clean)]
        together = document_of(run(command, catalog, clean, "--format", "json"), schema)
        assert together == {"schema_version": 1, "targets": alone}


def test_standard_input_has_one_name_whether_or_not_it_can_be_read(clean: str) -> None:
    targets = [
        document_of(run("lint", "-", clean, "--format", "json", stdin=text), "lint")["targets"][0]
        for text in (json.dumps([CLEAN_TOOL]), "{")
    ]
    assert "error" in targets[1]
    assert targets[0]["target"] == targets[1]["target"]
