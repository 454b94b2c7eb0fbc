"""Formats on text that nobody would write: whatever a server says, readers read on and nothing acts."""

from __future__ import annotations

import json
from typing import Any, get_args
from xml.etree import ElementTree

import junitparser
from hypothesis import given
from hypothesis import strategies as st

from mcproof.checks.diff.items import compare_catalogs, report_changes
from mcproof.checks.ignores import IgnoreTracker
from mcproof.checks.reporting import rule_facts
from mcproof.checks.rule import all_rules
from mcproof.core.console import Style
from mcproof.core.errors import Untested
from mcproof.probing.outcomes import FAILURE_OUTCOMES, Cell, Failure, Fuzzing, ProbeResult, Verdict
from mcproof.report.formats import FORMATS, harmless
from mcproof.report.grids import MEANINGS
from mcproof.runs.judging import Plan, check_catalog
from mcproof.runs.requests import Detail
from mcproof.runs.results import DiffPayload, FuzzPayload, Payload, ProbePayload, ProvePayload, RunResult, TargetResult
from mcproof.runs.stored import read_run, run_document
from mcproof.targets.snapshots import read_snapshot

from .readers import acts, parse_commands, parse_tap, refuse_markup
from .test_html import page_of

EVERYTHING = Detail(lines=True, identities=True, scores=True)

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


def _run(text: str, file: str = "catalog.json") -> RunResult:
    catalog = read_snapshot(text.encode(), file)
    rules = all_rules()
    report = check_catalog(catalog, Plan(rules, "note"), EVERYTHING, IgnoreTracker()).result
    assert report.findings
    return RunResult("lint", "0.0.0", [report], [rule_facts(rule) for rule in rules], exit_code=1)


def _text(run: RunResult, format: str) -> str:
    return "".join(harmless(run, format, Style()))


NAMES = [name for name in FORMATS if name != "html"]


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


@given(catalogs())
def test_a_stored_report_renders_as_the_run_did(text: str) -> None:
    run = _run(text)
    stored = read_run("".join(run_document(run)).encode(), "run.json")
    for name in NAMES:
        assert _text(stored, name) == _text(run, name)


@given(catalogs(), catalogs(), hostile.filter(bool), hostile.filter(bool))
def test_a_comparison_of_whatever_servers_say_can_be_read_and_nothing_in_it_acts(
    old: str, new: str, before: str, after: str
) -> None:
    catalogs = read_snapshot(old.encode(), before), read_snapshot(new.encode(), after)
    changes = report_changes(*catalogs, compare_catalogs(*catalogs))
    report = TargetResult(after, counts=catalogs[1].counts, findings=changes, payload=DiffPayload(before))
    kinds = list({each.rule.id: each.rule for each in changes}.values())
    run = RunResult("diff", "0.0.0", [report], kinds, exit_code=1)

    stored = read_run("".join(run_document(run)).encode(), "run.json")

    for name in NAMES:
        document = _text(run, name)
        assert document == _text(stored, name)
        assert name == "github" or acts(document) == [], name
    refuse_markup(_text(run, "markdown"))


PROBES = (
    "baseline",
    "unknown_tool",
    "missing_required",
    "wrong_type",
    "extra_field",
    "oversized",
    "wrong_value",
    "bad_cursor",
)
OUTCOMES = ("rejected", "accepted", "hang", "crash", "malformed", "not_applicable", "not_tested")
VERDICTS: tuple[Verdict, ...] = tuple(get_args(Verdict))
truths = st.sampled_from((True, False, None))
names = hostile.filter(bool)
probes = st.builds(
    ProbeResult, st.none() | names, st.sampled_from(PROBES), st.none(), st.sampled_from(OUTCOMES), truths, hostile,
    st.booleans(), hostile, hostile, hostile, st.booleans(),
)  # fmt: skip
counts = st.integers(0, 1_000)
cells = st.builds(
    Cell, names, st.sampled_from(list(MEANINGS)), st.none(), truths, truths, st.sampled_from(VERDICTS), counts, counts,
    counts, counts, st.lists(hostile, max_size=3).map(tuple), hostile,
    st.sampled_from(((), ("SCH-002",), ("SCH-002", "SCH-004"))),
)  # fmt: skip
failures = st.builds(
    Failure, names, st.none() | names, st.sampled_from(FAILURE_OUTCOMES),
    st.dictionaries(hostile, hostile | st.integers() | st.none(), max_size=2), hostile, hostile, st.integers(1, 3),
)  # fmt: skip
fuzzings = st.builds(
    Fuzzing, st.integers(), st.integers(0, 9), st.just({"clean": 1, "leak": 2}), st.lists(failures, max_size=3),
    st.dictionaries(names, st.integers(0, 9), max_size=2),
)  # fmt: skip


payloads: st.SearchStrategy[Payload] = st.one_of(
    st.builds(ProbePayload, st.lists(probes, max_size=6)),
    st.builds(ProvePayload, st.lists(probes, max_size=6), st.lists(cells, max_size=6)),
    st.builds(FuzzPayload, fuzzings),
)


@st.composite
def trials(draw: st.DrawFn) -> TargetResult:
    """A server that was tried, in which every text that it can choose is hostile."""
    return TargetResult(
        draw(names),
        counts={"tools": 1, "resources": 0, "templates": 0, "prompts": 0},
        fail_on=draw(st.sampled_from(("error", "never", "broken"))),
        untested=[Untested(draw(names), draw(names)) for _ in range(draw(st.integers(0, 2)))],
        payload=draw(payloads),
    )


@given(trials(), st.integers(40, 120), st.booleans())
def test_whatever_a_server_does_under_trial_can_be_read_and_nothing_in_it_acts(
    report: TargetResult, width: int, unicode: bool
) -> None:
    run = RunResult(report.payload.kind, "0.0.0", [report], exit_code=0)
    style = Style(width=width, unicode=unicode)
    stored = read_run("".join(run_document(run)).encode(), "run.json")

    for name in FORMATS:
        document = "".join(harmless(run, name, style))
        assert document == "".join(harmless(stored, name, style)), name
        assert name in ("github", "html") or acts(document) == [], name
        document.encode()
    refuse_markup(_text(run, "markdown"), range(2, 10))
    (suite,) = junitparser.JUnitXml.fromstring(_text(run, "junit").encode())
    assert len(parse_tap(_text(run, "tap"))) == suite.tests
    assert "".join(harmless(run, "text", Style(unicode=False))).isascii()
    page_of(run)
