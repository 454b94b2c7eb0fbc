"""JUnit, TAP, GitLab, GitHub and Markdown, as those read them who made the formats."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import junitparser
import pytest

from mcproof.cli.main import main
from mcproof.report import markdown

from .readers import parse_commands, parse_tap, refuse_markup
from .runs import RUNS, folder

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["folder"]

HOSTILE = {
    "control characters": "a\x00b\x1b[31mc\x7fd\x9be",
    "end of CDATA": "]]><x>&amp;",
    "quotes": "\"'`",
    "no characters": "\ufffe\uffff",
    "half a character": "\ud800",
    "lines": "one\r\n::error::two\n##[error]three",
    "percent, colon, comma": "100%0A,:%25",
    "link": "[x](https://example.com) https://example.com www.example.com ![y](z)",
    "mention": "@octocat #123 GH-7 org/repo#4 a@example.com",
    "tags": "<b>x</b><!-- <script>alert(1)</script> </details>",
    "bars": "a|b\\|c`|`d",
    "markup": "*a* __b__ ~~c~~ `d` ``e`` $f$",
    "directives": "x # SKIP y # TODO z\\",
}

STATIC = "catalog,strict,grade,spec,polish,compat,wire,tool_input_schemas_well_formed"
"""Every ruleset, without the rules that only a scan can judge."""


def _printed(capsys: pytest.CaptureFixture[str], format: str, *arguments: str) -> str:
    capsys.readouterr()
    main([*arguments, "--format", format])
    return capsys.readouterr().out


@pytest.fixture(params=list(HOSTILE))
def hostile(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A catalog in a file, and a reason in its configuration, that say something hostile wherever they can."""
    text: str = HOSTILE[request.param]
    monkeypatch.chdir(tmp_path)
    tool = {"name": text, "description": text, "inputSchema": {"type": "object", "properties": {text: {}, "p": {}}}}
    capture = {
        "initialize": {"serverInfo": {"name": text, "version": text}},
        "tools": [tool, {**tool, "name": "quiet"}],
    }
    file = "".join(each for each in text if each not in "/\0" and not "\ud800" <= each <= "\udfff") + ".json"
    (tmp_path / file).write_text(json.dumps(capture), encoding="utf-8")
    reason = json.dumps("because " + "".join(each for each in text if not "\ud800" <= each <= "\udfff"))
    ignore = f'[[ignore-for]]\ntool = "quiet"\nrules = ["SCH-003"]\nreason = {reason}\n'
    (tmp_path / "mcproof.toml").write_text(ignore.replace("\x7f", "\\u007f"), encoding="utf-8")
    return file


def test_hostile_names_are_read_as_junit(hostile: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = _printed(capsys, "junit", "lint", hostile, "--select", STATIC, "--fail-on", "note")
    root = ElementTree.fromstring(text)  # noqa: S314 (ours)
    (suite,) = junitparser.JUnitXml.fromstring(text.encode())
    cases = list(suite)
    assert suite.tests == len(cases) == len(root.findall("*/testcase"))
    assert suite.failures == len(root.findall("*/*/failure")) > 0
    assert suite.skipped == len(root.findall("*/*/skipped")) == 2
    assert suite.errors == 0
    assert all(case.name and case.classname for case in cases)


def test_hostile_names_are_read_as_tap(hostile: str, capsys: pytest.CaptureFixture[str]) -> None:
    points = parse_tap(_printed(capsys, "tap", "lint", hostile, "--select", STATIC, "--fail-on", "note"))
    skipped = [point for point in points if point.skipped is not None]
    failed = [point for point in points if not point.passed]
    assert len(skipped) == 2
    assert failed
    assert all(point.facts is not None and point.facts["message"] for point in failed)
    assert all(point.passed for point in skipped)


def test_hostile_names_stay_in_their_annotation(hostile: str, capsys: pytest.CaptureFixture[str]) -> None:
    commands = parse_commands(_printed(capsys, "github", "lint", hostile, "--ruleset", "all"))
    assert {command.name for command in commands} >= {"error", "warning"}
    assert all(set(command.properties) == {"file", "line", "col", "endColumn", "title"} for command in commands)


def test_hostile_names_are_nothing_but_text_in_markdown(hostile: str, capsys: pytest.CaptureFixture[str]) -> None:
    page = refuse_markup(_printed(capsys, "markdown", "lint", hostile, "--ruleset", "all"))
    assert sum(row[0] == "rule" for row in page.rows) in (3, 4)  # a table for each level, and that of the rules
    assert page.tags.count("details") in (1, 2)  # for notes, if there are any, and for what was not tested


@pytest.mark.parametrize("text", ["a`b", "a|b", "1. x", "- x", "=", "*a*", "[a](b)", "<b>", "a\\|b", "`a``b`", "``"])
def test_a_name_is_shown_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    """What is escaped must come out again, or the reader looks for a tool that is not there."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.json").write_text(json.dumps([{"name": text}]), encoding="utf-8")
    page = refuse_markup(_printed(capsys, "markdown", "lint", "x.json", "--select", "tool-no-description"))
    assert page.rows[1] == ["tool-no-description", f"{text} x.json:1", "has no description"]


# --- JUnit and TAP ------------------------------------------------------------------------------------------------


def test_a_rule_that_crashed_or_could_not_look_has_not_passed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "list.json").write_text('[{"name": "a", "description": "Say whatever comes to mind."}]', encoding="utf-8")
    for name, rule in (("library.json", "prompt-no-description"), ("list.json", "server-no-name")):
        points = parse_tap(_printed(capsys, "tap", "lint", name, "--no-config"))
        (point,) = [point for point in points if point.description == f"{name}: {rule}"]
        assert point.skipped
        (suite,) = junitparser.JUnitXml.fromstring(_printed(capsys, "junit", "lint", name, "--no-config").encode())
        (case,) = [case for case in suite if case.name == rule]
        assert [type(each).__name__ for each in case.result] == ["Skipped"]


def test_tap_and_junit_agree_with_the_exit_code(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("lint", "grade", "diff"):
        arguments, code = RUNS[name]
        points = parse_tap(_printed(capsys, "tap", *arguments))
        assert all(point.passed for point in points) == (code == 0)
    never = ("lint", "library.json", "--no-config", "--fail-on", "never")
    assert all(point.passed for point in parse_tap(_printed(capsys, "tap", *never)))
    suites = junitparser.JUnitXml.fromstring(_printed(capsys, "junit", *never).encode())
    assert suites.failures == suites.errors == 0


@pytest.mark.parametrize("name", ["missing", "refused"])
def test_tap_bails_out_where_nothing_could_be_done(folder: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = _printed(capsys, "tap", *RUNS[name].arguments)
    assert parse_tap(text) == []
    assert "\nBail out! " in text


# --- GitLab -------------------------------------------------------------------------------------------------------


def _issues(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, Any]]:
    issues: list[dict[str, Any]] = json.loads(_printed(capsys, "gitlab", *arguments))
    return issues


@pytest.mark.parametrize("name", RUNS)
def test_gitlab_gets_what_it_asks_for(folder: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    issues = _issues(capsys, *RUNS[name].arguments)
    assert issues
    for issue in issues:
        assert issue["description"]
        assert issue["check_name"]
        assert issue["severity"] in ("info", "minor", "major", "critical", "blocker")
        assert issue["location"]["lines"]["begin"] >= 1
        assert not issue["location"]["path"].startswith(("/", "./"))
    assert len({issue["fingerprint"] for issue in issues}) == len(issues)


def test_twins_have_fingerprints_of_their_own(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two entries of the configuration that say the same, and two tools of one name."""
    unused = '[[ignore-for]]\ntool = "read_book"\nrules = ["tool-no-description"]\n'
    inner = folder / "inner"
    inner.mkdir()
    (inner / "mcproof.toml").write_text(unused * 2, encoding="utf-8")
    (inner / "twins.json").write_text('[{"name": "a"}, {"name": "a"}]', encoding="utf-8")
    issues = _issues(capsys, "lint", "inner/twins.json")
    assert sum(issue["check_name"] == "unused-ignore" for issue in issues) == 2
    assert len({issue["fingerprint"] for issue in issues}) == len(issues)


def test_a_fingerprint_does_not_depend_on_how_the_file_was_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CI_PROJECT_DIR", str(folder))
    expected = _issues(capsys, "lint", "library.json", "--no-config")
    assert _issues(capsys, "lint", "./library.json", "--no-config") == expected
    assert _issues(capsys, "lint", str(folder / "library.json"), "--no-config") == expected
    (folder / "elsewhere").mkdir()
    monkeypatch.chdir(folder / "elsewhere")
    assert _issues(capsys, "lint", "../library.json", "--no-config") == expected


# --- GitHub -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["lint", "grade", "diff"])
def test_the_most_serious_annotations_come_first(folder: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    names = [command.name for command in parse_commands(_printed(capsys, "github", *RUNS[name].arguments))]
    assert names == sorted(names, key=["error", "warning", "notice"].index)
    assert names[0] == "error"


def test_one_fault_at_one_place_is_annotated_once(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    commands = parse_commands(_printed(capsys, "github", *RUNS["lint"].arguments))
    titles = [command.properties["title"] for command in commands if command.properties.get("line") == "12"]
    assert sorted(titles) == ["SCH-003, prop-no-type", "stale-baseline"]


def test_percent_line_feed_colon_and_comma_are_escaped(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = "100%,a:b.json"
    (folder / name).write_text('[{"name": "50%0Aoff, now: ::error::"}]', encoding="utf-8")
    text = _printed(capsys, "github", "lint", name, "--select", "tool-no-description", "--no-config")
    assert text.startswith("::error file=100%25%2Ca%3Ab.json,line=1,")
    (command,) = parse_commands(text)
    assert command.properties["file"] == name
    first, second = command.message.split("\n")
    assert first == "50%0Aoff, now: ::error::: has no description"
    assert second.startswith("help: ")


def test_the_summary_of_the_job_is_added_to_and_only_by_its_own_format(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    summary = folder / "summary.md"
    summary.write_text("what another step wrote\n", encoding="utf-8")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    for name in ("text", "json", "markdown", "sarif"):
        _printed(capsys, name, "lint", "library.json")
        main(["lint", "library.json", "--output", f"{name}:out"])
    expected = _printed(capsys, "markdown", "lint", "library.json")
    assert summary.read_text(encoding="utf-8") == "what another step wrote\n"
    for times in (1, 2):
        _printed(capsys, "github", "lint", "library.json")
        assert summary.read_text(encoding="utf-8") == "what another step wrote\n" + expected * times


# --- Markdown -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", RUNS)
def test_a_page_is_whole_and_says_how_it_ended(folder: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = _printed(capsys, "markdown", *RUNS[name].arguments)
    assert text.startswith(markdown.MARK)
    page = refuse_markup(text, columns=(3, 5) if name == "compat" else (3,))
    assert ("failed" if RUNS[name].code == 1 else "incomplete") in page.text


def test_a_comment_that_would_be_too_long_is_cut_with_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for count in (500, 2_000):
        tools = [{"name": f"tool_{number}", "description": "Say whatever."} for number in range(count)]
        (tmp_path / "many.json").write_text(json.dumps(tools), encoding="utf-8")
        # Errors for some, folded notes for others: the cut comes within a table, open or folded.
        for rule in ("tool-no-schema", "strict,grade,trust"):
            text = _printed(capsys, "markdown", "lint", "many.json", "--select", rule)
            page = refuse_markup(text)
            is_cut = "Truncated: the rest" in page.text
            assert len(text) < 61_000
            assert is_cut == (count == 2_000)
            if is_cut:
                assert text.rstrip().endswith("does not fit into a comment.")


def test_the_sentence_about_the_cut_is_not_folded_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    tools = [{"name": f"tool {number}"} for number in range(2_000)]
    (tmp_path / "many.json").write_text(json.dumps(tools), encoding="utf-8")
    text = _printed(capsys, "markdown", "lint", "many.json", "--select", "tool-name-convention")
    assert text.count("<details>") == text.count("</details>") == 1
    assert text.index("</details>") < text.index("Truncated: the rest")


def test_one_endless_name_does_not_push_out_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    tools = [{"name": "x" * 100_000}, {"name": "y"}]
    (tmp_path / "x.json").write_text(json.dumps(tools), encoding="utf-8")
    page = refuse_markup(_printed(capsys, "markdown", "lint", "x.json", "--select", "tool-no-description"))
    assert [row[1][:1] for row in page.rows] == ["w", "x", "y"]
    assert "does not fit" not in page.text
