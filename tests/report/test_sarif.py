"""SARIF, as an independent reader and the rules of GitHub's code scanning take it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pysarif  # type: ignore[import-untyped]
import pytest

from mcproof.checks.rule import all_rules
from mcproof.cli.main import main
from mcproof.report import sarif
from mcproof.report.phrases import SITE

from .readers import with_fixes
from .runs import RUNS, folder
from .snapshots import SNAPSHOTS

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["folder"]


def _printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    capsys.readouterr()
    main([*arguments, "--format", "sarif"])
    return capsys.readouterr().out


def _run_of(text: str) -> Any:
    (run,) = pysarif.load_from_json(text).runs
    return run


@pytest.mark.parametrize("name", RUNS)
def test_an_independent_reader_reads_every_run(folder: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments, code = RUNS[name]
    run = _run_of(_printed(capsys, *arguments))
    assert run.tool.driver.name == "mcproof"
    (invocation,) = run.invocations
    assert invocation.exit_code == code
    assert invocation.execution_successful == (code < 2)
    assert bool(run.results) == (name in ("lint", "grade", "compat", "diff"))


def test_the_reader_finds_what_the_run_had_to_say(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = _run_of(_printed(capsys, *RUNS["lint"].arguments))
    results = {(each.rule_id, each.message.text.partition(":")[0]): each for each in run.results}
    assert results["tool-no-description", "burn_book"].level == "error"
    assert results["SCH-002", "burn_book"].level == "warning"
    assert results["tool-no-required", "burn_book"].level == "note"
    (ignored,) = results["prop-no-description", "burn_book"].suppressions
    assert ignored.kind == "external"
    assert ignored.justification == "nobody is meant to call it"
    (accepted,) = results["tool-name-convention", "lend book"].suppressions
    assert "baseline" in accepted.justification
    assert results["tool-no-description", "burn_book"].suppressions is None
    (invocation,) = run.invocations
    (trouble,) = invocation.tool_execution_notifications
    assert trouble.level == "error"
    assert trouble.locations[0].physical_location.artifact_location.uri == "broken.json"
    (stale,) = invocation.tool_configuration_notifications
    assert stale.level == "error"


def _uris(value: Any) -> list[str]:
    """Every address of a file in a document."""
    if isinstance(value, list):
        return [uri for each in value for uri in _uris(each)]
    if not isinstance(value, dict):
        return []
    own = [value["artifactLocation"]["uri"]] if "artifactLocation" in value else []
    return own + [uri for each in value.values() for uri in _uris(each)]


@pytest.mark.parametrize("name", RUNS)
def test_code_scanning_can_take_it(folder: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    document = json.loads(_printed(capsys, *RUNS[name].arguments))
    assert document["version"] == "2.1.0"
    (run,) = document["runs"]
    rules = run["tool"]["driver"]["rules"]
    ids = [rule["id"] for rule in rules]
    assert len(ids) == len(set(ids))
    for rule in rules:
        assert rule["shortDescription"]["text"]
        assert rule["help"]["text"]
        assert urlsplit(rule["helpUri"]).scheme == "https"
        assert rule["defaultConfiguration"]["level"] in ("error", "warning", "note")
        assert rule.get("name") != rule["id"]
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] in ("error", "warning", "note")
        assert result["message"]["text"]
        assert all(result["partialFingerprints"].values())
        (location,) = result["locations"]
        region = location["physicalLocation"]["region"]
        assert region["startLine"] >= 1
        assert 1 <= region["startColumn"] < region["endColumn"]
    for uri in _uris(document):
        assert not urlsplit(uri).scheme
        assert not uri.startswith("/")
        assert "\\" not in uri
    fingerprints = [json.dumps(result["partialFingerprints"]) for result in run["results"]]
    assert len(fingerprints) == len(set(fingerprints))


def test_every_rule_has_a_page_that_is_there(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from pathlib import Path

    document = json.loads(_printed(capsys, "lint", "library.json", "--ruleset", "all"))
    home = Path(__file__).parents[2]
    rules = document["runs"][0]["tool"]["driver"]["rules"]
    assert {rule["id"] for rule in rules} == {rule.id for rule in all_rules() if rule.ruleset != "wire"}
    for rule in rules:
        assert rule["helpUri"].startswith(f"{SITE}/")
        page = rule["helpUri"].removeprefix(f"{SITE}/").removesuffix("/")
        assert (home / "docs" / f"{page}.md").is_file()


def test_the_base_of_links_to_the_documentation_can_be_replaced(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MCPROOF_DOCS_URL", "https://docs.example/mcproof/")
    document = json.loads(_printed(capsys, "lint", "library.json"))
    uris = {rule["helpUri"] for rule in document["runs"][0]["tool"]["driver"]["rules"]}
    assert all(uri.startswith("https://docs.example/mcproof/rules/") for uri in uris)


@pytest.mark.parametrize(
    ("name", "uri"), [("a b.json", "a%20b.json"), ("ü#?.json", "%C3%BC%23%3F.json"), ("a:b.json", "./a%3Ab.json")]
)
def test_a_file_name_becomes_an_address_that_leads_back_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str, uri: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_text(SNAPSHOTS["mixed"], encoding="utf-8")
    assert set(_uris(json.loads(_printed(capsys, "lint", name)))) == {uri}


def test_an_address_starts_at_the_root_of_the_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    inner = tmp_path / "servers" / "library"
    inner.mkdir(parents=True)
    (inner / "tools.json").write_text(SNAPSHOTS["mixed"], encoding="utf-8")
    monkeypatch.chdir(inner)
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path))
    assert set(_uris(json.loads(_printed(capsys, "lint", "tools.json")))) == {"servers/library/tools.json"}


def test_what_code_scanning_would_refuse_is_left_out_and_told(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sarif, "MOST_RESULTS", 3)
    run = _run_of(_printed(capsys, "lint", "library.json", "--select", "all"))
    assert len(run.results) == 3
    assert {result.level for result in run.results} == {"error"}
    (notification,) = run.invocations[0].tool_execution_notifications
    assert notification.level == "warning"
    assert "left out" in notification.message.text


def test_nothing_is_left_out_of_what_code_scanning_takes(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert sarif.MOST_RESULTS == 25_000
    every = len(_run_of(_printed(capsys, "lint", "library.json", "--select", "all")).results)
    monkeypatch.setattr(sarif, "MOST_RESULTS", every)
    run = _run_of(_printed(capsys, "lint", "library.json", "--select", "all"))
    assert len(run.results) == every
    assert run.invocations[0].tool_execution_notifications is None


def test_no_message_has_a_link_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A viewer of SARIF makes a link of `[text](address)`, wherever a message has it."""
    monkeypatch.chdir(tmp_path)
    tool = {"name": "[click](https://example.com)", "inputSchema": {"type": "object", "properties": {"[a](1)": {}}}}
    (tmp_path / "x.json").write_text(json.dumps([tool]), encoding="utf-8")
    run = _run_of(_printed(capsys, "lint", "x.json", "--ruleset", "all"))
    messages = [result.message.text for result in run.results]
    assert any("[click]" in message for message in messages)
    assert not any("](" in message for message in messages)


# --- fixes --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("snapshot", SNAPSHOTS)
def test_the_fixes_give_what_the_fix_command_gives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], snapshot: str
) -> None:
    monkeypatch.chdir(tmp_path)
    text = SNAPSHOTS[snapshot]
    (tmp_path / "x.json").write_bytes(text.encode())
    main(["schema-lint", "x.json", "--format", "sarif"])
    document = json.loads(capfd.readouterr().out)
    assert any("fixes" in result for result in document["runs"][0]["results"])
    main(["schema-lint", "x.json", "--fix", "--write"])
    assert with_fixes(text, document) == (tmp_path / "x.json").read_bytes().decode()


SOURCES = {
    "one line": '{"type": "object", "properties": {"n": {"type": "integer"}}}',
    "lines": '{\n        "type": "object",\n        "properties": {"ä": {"type": "integer"}},\n    }',
    "lines without a last comma": '{\n        "type": "object",\n        "properties": {}  # none\n    }',
    "nested": '{"type": "object", "properties": {"n": {"type": "object", "properties": {"m": {}}}}, "required": []}',
}


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
@pytest.mark.parametrize("schema", SOURCES.values(), ids=SOURCES)
def test_the_fixes_of_source_give_what_the_fix_command_gives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], schema: str, line_end: str
) -> None:
    monkeypatch.chdir(tmp_path)
    text = (
        'from mcp.server import Server\nfrom mcp.types import Tool\nserver = Server("x")\n@server.list_tools()\n'
        f'async def list_tools():\n    return [Tool(name="f", inputSchema={schema})]\n'
    ).replace("\n", line_end)
    (tmp_path / "x.py").write_bytes(text.encode())
    main(["schema-lint", "x.py", "--format", "sarif"])
    document = json.loads(capfd.readouterr().out)
    assert any("fixes" in result for result in document["runs"][0]["results"])
    main(["schema-lint", "x.py", "--fix", "--write"])
    assert with_fixes(text, document) == (tmp_path / "x.py").read_bytes().decode()


def test_a_fix_of_source_that_is_not_certain_is_not_offered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.py").write_text(
        'from mcp.server import Server\nfrom mcp.types import Tool\nserver = Server("x")\nS = {"type": "object"}\n'
        "@server.list_tools()\nasync def list_tools():\n"
        '    return [Tool(name="f", inputSchema=S), Tool(name="g", inputSchema=S)]\n'
    )
    main(["schema-lint", "x.py", "--format", "sarif"])
    results = json.loads(capfd.readouterr().out)["runs"][0]["results"]
    assert results
    assert not any("fixes" in result for result in results)
