"""Formats on text that nobody would write: whatever a server says, readers read on and nothing acts."""

from __future__ import annotations

import json
from typing import Any
from xml.etree import ElementTree

import junitparser
from hypothesis import given, settings
from hypothesis import strategies as st

from mcproof.comparison.changes import compare
from mcproof.pipeline import Depth, Plan, examine
from mcproof.registry import all_rules
from mcproof.report.build import rule_facts
from mcproof.report.changes import report_changes
from mcproof.report.formats import FORMATS, harmless
from mcproof.report.model import RunReport, TargetReport
from mcproof.report.run import read_run, run_document
from mcproof.report.terminal import Style
from mcproof.suppress import IgnoreLedger
from mcproof.targets.snapshot import read_snapshot

from .readers import acts, parse_commands, parse_tap, refuse_markup

EVERYTHING = Depth(lines=True, identities=True, scores=True)

PIECES = (
    "::error file=x::y", "\n::warning::z", "##[error]", "###[group]", "##vso[task]", "\x1b[31m", "\x07",
    "\x9b", "\x7f", "\r", "\n", "\t", "\0", "\u202e", "\u2028", "\u200b", "\ufeff", "\ufffe", "\uffff",
    "\ud800", "]]>", "<!--", "<b>", "</details>", "<script>", "&amp;", "&#8203;", "`", "``", "|", "\\", "\\|",
    "![x](y)", "[a](b)", "*", "_", "~~", "@octocat", "#12", "GH-7", "https://example.com", "www.example.com",
    "a@example.com", "$x$", "# ", "%0A", "%25", ",", ":", '"', "'", "not ok 1", "# SKIP", "  ---", "  ...",
    "Bail out!", "1..3", "a", "tool", " ", "é", "検索", "😀", "{0}",
)  # fmt: skip
hostile = st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=3)), min_size=1, max_size=5).map("".join)


@st.composite
def catalogs(draw: st.DrawFn) -> str:
    """A catalog in which every text that a server can choose is hostile."""
    tools: list[Any] = [
        {
            "name": draw(hostile),
            "description": draw(hostile),
            "inputSchema": {
                "type": "object",
                "properties": {draw(hostile): {}, draw(hostile): {"type": "string", "description": draw(hostile)}},
                "required": [draw(hostile)],
            },
        }
        for _ in range(draw(st.integers(1, 2)))
    ]
    capture = {
        "initialize": {"serverInfo": {"name": draw(hostile), "version": draw(hostile)}},
        "tools": tools,
        "resources": [{"uri": draw(hostile)}],
        "prompts": [{"name": draw(hostile), "arguments": [{"name": draw(hostile)}]}],
    }
    return json.dumps(capture, indent=draw(st.sampled_from((None, 1))))


def _run(text: str, file: str = "catalog.json") -> RunReport:
    catalog = read_snapshot(text.encode(), file)
    rules = all_rules()
    report = examine(catalog, Plan(rules, "note"), EVERYTHING, IgnoreLedger(), None)
    assert report.findings
    return RunReport("lint", "0.0.0", [report], [rule_facts(rule) for rule in rules], exit_code=1)


def _text(run: RunReport, format: str) -> str:
    return "".join(harmless(run, format, Style()))


NAMES = [name for name in FORMATS if name != "html"]


@settings(max_examples=200, deadline=None, derandomize=True)
@given(catalogs(), hostile)
def test_whatever_a_server_says_every_format_can_be_read_and_nothing_in_it_acts(text: str, file: str) -> None:
    run = _run(text, file)
    printed = {name: _text(run, name) for name in NAMES}
    for name, document in printed.items():
        if name != "github":
            assert acts(document) == [], name
    for name in ("json", "sarif", "gitlab"):
        json.loads(printed[name])
    ElementTree.fromstring(printed["junit"])  # noqa: S314 (ours)
    (suite,) = junitparser.JUnitXml.fromstring(printed["junit"].encode())
    points = parse_tap(printed["tap"])
    assert len(points) == suite.tests
    commands = parse_commands(printed["github"])
    assert {command.name for command in commands} <= {"error", "warning", "notice"}
    assert not any(acts(command.message) for command in commands)
    refuse_markup(printed["markdown"])


@settings(max_examples=100, deadline=None, derandomize=True)
@given(catalogs())
def test_a_stored_report_renders_as_the_run_did(text: str) -> None:
    run = _run(text)
    stored = read_run("".join(run_document(run)).encode(), "run.json")
    for name in NAMES:
        assert _text(stored, name) == _text(run, name)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(catalogs(), catalogs(), hostile.filter(bool), hostile.filter(bool))
def test_a_comparison_of_whatever_servers_say_can_be_read_and_nothing_in_it_acts(
    old: str, new: str, before: str, after: str
) -> None:
    catalogs = read_snapshot(old.encode(), before), read_snapshot(new.encode(), after)
    changes = report_changes(*catalogs, compare(*catalogs))
    report = TargetReport(after, counts=catalogs[1].counts, findings=changes, compared_with=before)
    kinds = list({each.rule.id: each.rule for each in changes}.values())
    run = RunReport("diff", "0.0.0", [report], kinds, exit_code=1)

    stored = read_run("".join(run_document(run)).encode(), "run.json")

    for name in NAMES:
        document = _text(run, name)
        assert document == _text(stored, name)
        assert name == "github" or acts(document) == [], name
    refuse_markup(_text(run, "markdown"))
