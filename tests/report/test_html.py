"""The HTML report as a document: what it holds, that nothing in it comes from elsewhere, and that nothing gets out."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from base64 import b64encode
from functools import partial
from hashlib import sha256
from html.parser import HTMLParser
from importlib.resources import files
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from jinja2 import UndefinedError

from mcproof.checks.findings import ReportedFinding, RuleSummary, Snippet, group_by_fault
from mcproof.checks.ignores import IgnoreTracker, Suppression
from mcproof.checks.reporting import rule_facts
from mcproof.checks.rule import all_rules, find_rule
from mcproof.core.console import without_commands
from mcproof.core.errors import Notice, Untested
from mcproof.report.html.page import document, environment
from mcproof.runs.judging import Plan, check_catalog
from mcproof.runs.requests import Detail
from mcproof.runs.results import DiffPayload, Gate, RunResult, Scores, TargetResult, Trouble
from mcproof.targets.snapshots import read_snapshot

from .snapshots import GRADED, MIXED
from .suites import many_tests_run, one_suite_run, suite_run
from .trials import TRIALS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

VOID = {"meta", "link", "input", "rect", "circle"}
"""What needs no end tag; the shapes of a drawing close themselves."""

HOSTILE = '</script></style><img src=x onerror="window.pwned=1">\'"`&amp;<!--\x1b[31m\u202egnp.exe\u200b'
"""A name that tries to get out of whatever it is put in."""

HOSTILE_CATALOG: dict[str, Any] = {
    "initialize": {"protocolVersion": HOSTILE, "serverInfo": {"name": HOSTILE, "version": HOSTILE}},
    "tools": [
        {
            "name": f"{HOSTILE}{number}",
            "description": HOSTILE,
            "inputSchema": {
                "type": "object",
                "properties": {HOSTILE: {}, "a\tb": {"type": "object", "properties": {"x": {}}}},
                "required": [f"{HOSTILE}!"],
            },
        }
        for number in range(2)
    ],
}


def report_of(catalog: Any, name: str = "catalog.json", **changes: Any) -> TargetResult:
    """The report about a catalog, which is given as text or as a value, under all rules."""
    text = catalog if isinstance(catalog, str) else json.dumps(catalog, indent=1)
    plan = Plan(all_rules(), "error", min_grade="B", max_tokens=10)
    report = check_catalog(
        read_snapshot(text.encode(), name), plan, Detail(lines=True, identities=True, scores=True), IgnoreTracker()
    )
    return report.result._replace(**changes)


def run_of(*reports: TargetResult, command: str = "lint", **changes: Any) -> RunResult:
    """A run that came upon these reports."""
    rules = [rule_facts(rule) for rule in all_rules()]
    run = RunResult(command, "1.2.3", list(reports), rules, exit_code=1, is_single=len(reports) == 1)
    return run._replace(**changes)


def suppressing_run() -> RunResult:
    """A run with findings that were ignored and accepted, and with entries that nobody needs any more."""
    report = report_of(MIXED, "library.json")
    ignored = Suppression("ignore-for", "the old reader needs it <now>", "mcproof.toml", 12)
    accepted = Suppression("baseline", None, "baseline.json", 7)
    first, second, *others = [each for each in report.findings if each.rule.ruleset != "spec"]
    suppressed = [first._replace(suppression=ignored), second._replace(suppression=accepted)]
    notices = [
        Notice("unused-ignore", "unused: `ignore-for` of SCH-001 matched nothing in this run", "mcproof.toml", 30),
        Notice("stale-baseline", "stale: SCH-002 at tool:x no longer occurs", "baseline.json", 3),
    ]
    return run_of(report._replace(findings=others, suppressed=suppressed), notices=notices)


def _change(level: Any, tool: str, message: str, file: str) -> ReportedFinding:
    rule = RuleSummary(
        f"change-{level}", f"change-{level}", "diff", "diff", level, level, None, False, False, "1", "S.", "W.", "F."
    )
    snippet = Snippet(f'  "name": "{tool}",', 2, 16, False, False)
    pointer = f"/tools/{tool}"
    return ReportedFinding(
        rule, f"tool:{tool}", pointer, f"tool:{tool}", "", message, None, file, 4, 3, None, snippet=snippet
    )


def diff_run(*levels: str) -> RunResult:
    """A comparison of two catalogs with changes of these levels."""
    changes = [_change(level, f"tool_{number}", "is different", "new.json") for number, level in enumerate(levels)]
    report = TargetResult("catalogs/new.json", findings=changes, payload=DiffPayload("<old>.json"))
    return run_of(report, command="diff", rules=[])


def page_of(run: RunResult) -> Page:
    """A run's report, read as a browser reads it."""
    return Page("".join(document(run)))


class Element:
    """An element of a page with its own text and that of all in it."""

    def __init__(self, tag: str, attributes: dict[str, str], parents: tuple[Element, ...]) -> None:
        self.tag = tag
        self.attributes = attributes
        self.parents = parents
        self.text = ""

    @property
    def classes(self) -> list[str]:
        return self.attributes.get("class", "").split()


class Page(HTMLParser):
    """A page, whose every element must be closed in its turn."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.source = text
        self.elements: list[Element] = []
        self.comments: list[str] = []
        self._open: list[Element] = []
        self.feed(text)
        self.close()
        assert [element.tag for element in self._open] == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len({name for name, _ in attrs}) == len(attrs), f"an attribute twice: {attrs}"
        element = Element(tag, {name: value or "" for name, value in attrs}, tuple(self._open))
        self.elements.append(element)
        if tag not in VOID:
            self._open.append(element)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self._open.pop().tag == tag

    def handle_data(self, data: str) -> None:
        for element in self._open:
            element.text += data

    def handle_comment(self, data: str) -> None:
        self.comments.append(data)

    def all(self, tag: str = "", **attributes: str) -> list[Element]:
        """The elements of a tag whose attributes have these values; of a class, where it is among several."""
        classes = attributes.pop("name", "").split()
        return [
            element
            for element in self.elements
            if tag in ("", element.tag)
            and all(each in element.classes for each in classes)
            and all(element.attributes.get(key) == value for key, value in attributes.items())
        ]

    def one(self, tag: str = "", **attributes: str) -> Element:
        (element,) = self.all(tag, **attributes)
        return element

    @property
    def text(self) -> str:
        return self.one("body").text


RUNS: dict[str, Callable[[], RunResult]] = {
    "findings of all levels": lambda: run_of(report_of(MIXED)),
    "an excellent grade": lambda: run_of(report_of(GRADED["a"])),
    "the worst grade": lambda: run_of(report_of(GRADED["f"])),
    "an empty server": lambda: run_of(report_of(GRADED["empty"])),
    "suppressed findings": suppressing_run,
    "hostile text": lambda: run_of(report_of(HOSTILE_CATALOG, HOSTILE)),
    "several targets": lambda: run_of(
        report_of(MIXED), report_of(GRADED["a"], "a.json"), TargetResult("gone.json", Trouble("no", "gone.json", 3, 4))
    ),
    "no target": run_of,
    "a failure": lambda: run_of(TargetResult("x.json", Trouble("not JSON", "x.json", 1, 2)), rules=[], exit_code=2),
    "changes": lambda: diff_run("error", "warning", "note"),
    "no changes": diff_run,
    "no grade": lambda: run_of(report_of(MIXED, scores=Scores(), gates=[])),
    "a suite": one_suite_run,
    "several suites": suite_run,
    "a thousand tests": many_tests_run,
    **{f"trials: {name}": partial(TRIALS.__getitem__, name) for name in TRIALS},
}


@pytest.fixture(params=RUNS, scope="module")
def run(request: pytest.FixtureRequest) -> RunResult:
    """Each kind of run in turn."""
    return RUNS[request.param]()


def test_every_page_is_well_formed_with_landmarks_and_one_main_heading(run: RunResult) -> None:
    page = page_of(run)
    assert page.source.startswith("<!DOCTYPE html>\n<html lang=")
    for landmark in ("header", "main", "footer", "h1", "title"):
        assert page.one(landmark).text.strip()
    ids = [element.attributes["id"] for element in page.elements if "id" in element.attributes]
    assert len(ids) == len(set(ids))


def test_headings_leave_out_no_level(run: RunResult) -> None:
    levels = [int(element.tag[1]) for element in page_of(run).elements if re.fullmatch("h[1-6]", element.tag)]
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_every_link_leads_to_a_place_on_the_page(run: RunResult) -> None:
    page = page_of(run)
    ids = {element.attributes.get("id") for element in page.elements}
    links = [element.attributes["href"] for element in page.all("a")]
    assert [link for link in links if link.removeprefix("#") not in ids] == []


def test_every_control_has_a_label(run: RunResult) -> None:
    page = page_of(run)
    for control in (*page.all("input"), *page.all("select")):
        (label,) = [parent for parent in control.parents if parent.tag == "label"]
        assert label.text.strip()
    assert all(button.text.strip() for button in page.all("button"))


def test_the_policy_names_the_one_style_and_the_one_script_by_their_hashes(run: RunResult) -> None:
    page = page_of(run)
    policy = page.one("meta", **{"http-equiv": "Content-Security-Policy"}).attributes["content"]
    directives = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    assert directives["default-src"] == "'none'"
    for tag, directive in (("style", "style-src"), ("script", "script-src")):
        digest = b64encode(sha256(page.one(tag).text.encode()).digest()).decode()
        assert directives[directive] == f"'sha256-{digest}'"
    assert "unsafe" not in policy


def test_nothing_on_a_page_comes_from_elsewhere_or_runs_by_itself(run: RunResult) -> None:
    page = page_of(run)
    assert {element.tag for element in page.elements}.isdisjoint(
        {"img", "iframe", "object", "embed", "base", "form", "video", "audio", "image", "use", "foreignobject"}
    )
    for element in page.elements:
        for name, value in element.attributes.items():
            assert not name.startswith("on"), element.attributes
            assert name not in ("style", "src", "srcset", "action", "formaction", "ping", "srcdoc")
            if name == "href":
                assert value.startswith("data:image/svg+xml," if element.tag == "link" else "#")
    assert not re.search(r"url\(|@import|@font-face", page.one("style").text)
    assert not re.search(r"fetch\(|XMLHttpRequest|import\(|innerHTML|eval\(", page.one("script").text)
    assert page.comments == []


def test_a_page_is_the_same_every_time_but_for_the_line_that_says_when(run: RunResult) -> None:
    first = "".join(document(run._replace(started="2026-01-01T10:00:00Z", seconds=1.0)))
    second = "".join(document(run._replace(started="2027-02-02T20:00:00Z", seconds=2.0)))
    differing = [pair for pair in zip(first.splitlines(), second.splitlines(), strict=True) if pair[0] != pair[1]]
    assert len(differing) == 1
    assert "2026-01-01T10:00:00Z" in differing[0][0]
    assert "Started" not in "".join(document(run))


def test_no_control_or_invisible_character_is_on_a_page(run: RunResult) -> None:
    source = "".join(document(run))
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]", source)
    source.encode()


def test_hostile_text_is_shown_and_stays_text() -> None:
    page = page_of(run_of(report_of(HOSTILE_CATALOG, HOSTILE)))
    assert len(page.all("script")) == len(page.all("style")) == 1
    assert '<img src=x onerror="window.pwned=1">' in page.text
    assert "\\x1b[31m\\u202egnp.exe\\u200b" in page.text
    assert "<img" not in page.source


def test_hostile_text_stays_text_wherever_a_stored_report_has_it() -> None:
    rule = RuleSummary(
        HOSTILE, HOSTILE, HOSTILE, HOSTILE, "error", "error", HOSTILE, True, False, HOSTILE, HOSTILE, HOSTILE, HOSTILE
    )
    finding = ReportedFinding(
        rule,
        f"tool:{HOSTILE}",
        HOSTILE,
        HOSTILE,
        HOSTILE,
        HOSTILE,
        {HOSTILE: HOSTILE},
        HOSTILE,
        1,
        2,
        None,
        suppression=Suppression(HOSTILE, HOSTILE, HOSTILE, 1),
    )
    report = report_of(GRADED["c"], HOSTILE)._replace(
        protocol=HOSTILE,
        findings=[finding._replace(suppression=None)],
        suppressed=[finding],
        gates=[Gate("min-grade", HOSTILE, HOSTILE, False)],
        untested=[Untested(HOSTILE, HOSTILE)],
    )
    notices = [Notice(HOSTILE, HOSTILE, HOSTILE, 1)]
    run = RunResult(HOSTILE, HOSTILE, [report], [rule._replace(id="other")], notices, 1, True, HOSTILE)
    broken = RunResult(HOSTILE, HOSTILE, [TargetResult(HOSTILE, Trouble(HOSTILE, HOSTILE, 1, 1))], is_single=False)
    for page in (page_of(run), page_of(broken)):
        assert len(page.all("script")) == len(page.all("style")) == 1
        assert "<img" not in page.source
        assert not re.search("[\x1b\u202e\u200b]", page.source)


def test_every_finding_is_there_with_its_message_rule_place_and_line() -> None:
    report = report_of(MIXED, "library.json")
    page = page_of(run_of(report))
    shown = [element.text for element in page.all("li", name="finding")]
    assert len(shown) == len(group_by_fault(report.findings)) > 5
    for group in group_by_fault(report.findings):
        each = group.shown
        assert each.snippet is not None
        marked = each.snippet.text[each.snippet.start : each.snippet.end]
        assert [
            text
            for text in shown
            if each.message.replace("`", "") in text
            and f"{each.rule.id} " in text
            and all(rule in text for rule in group.also)
            and f"line {each.line}:{each.column}" in text
            and marked in text
        ], each
    marks = [element.text for element in page.all("mark")]
    assert len(marks) == len(shown)
    assert all(marks)


def test_findings_stand_with_their_tool_and_twins_of_one_name_stay_two() -> None:
    tool = {"name": "twin", "description": "", "inputSchema": {"type": "object"}}
    page = page_of(run_of(report_of({"tools": [tool, tool]})))
    titles = [element.text for element in page.all("h3", name="title") if element.parents[-2].classes == ["group"]]
    assert titles.count("twin") == 2


def test_a_finding_says_its_level_in_words() -> None:
    page = page_of(run_of(report_of(MIXED)))
    for level in ("error", "warning", "note"):
        findings = page.all("li", name=f"finding {level}")
        assert findings
        assert all(element.text.startswith(level) for element in findings)


def test_a_long_report_starts_folded_and_a_short_one_open() -> None:
    long, short = page_of(run_of(report_of(GRADED["f"]))), page_of(run_of(report_of(GRADED["c"])))
    assert not any("open" in group.attributes for group in long.all("details", name="group"))
    assert all("open" in group.attributes for group in short.all("details", name="group"))


def test_a_fix_is_told_and_so_is_the_command_for_it() -> None:
    page = page_of(run_of(report_of(MIXED, "my library.json")))
    remedies = [element.text for element in page.all("p", name="remedy")]
    assert any("set additionalProperties to false on line" in text for text in remedies)
    assert "mcproof schema-lint 'my library.json' --fix" in page.text


def test_the_advice_of_a_rule_is_beside_its_first_finding_in_each_item_and_the_reason_is_there_once() -> None:
    report = report_of(GRADED["f"])
    rule = rule_facts(find_rule("prop-no-description"))
    assert sum(each.rule.id == rule.id for each in report.findings) > 20
    page = page_of(run_of(report))
    assert page.source.count(rule.why) == 1
    items = {finding.item for finding in report.findings if finding.rule.id == rule.id}
    assert page.source.count(rule.fix) == 1 + len(items)


def test_rules_that_found_nothing_are_named_too() -> None:
    silent = page_of(run_of(report_of(GRADED["a"]))).one("details", name="silent").text
    assert "prop-no-description" in silent
    assert "SCH-002" not in silent


def test_the_grade_and_how_it_came_about_are_shown() -> None:
    report = report_of(GRADED["c"])
    score = report.scores.grade
    assert score is not None
    page = page_of(run_of(report))
    assert page.one("p", name="tile").text == "failed ✕"
    assert (
        page_of(run_of(report._replace(fail_on="never", gates=[]))).one("p", name="tile").text
        == f"grade {score.letter}"
    )
    assert f"{score.score} of 100, {score.word}" in page.text
    assert page.one("title").text.startswith(f"{score.letter} · ")
    cost = sum(each.points for each in score.deductions)
    assert page.one("p", name="sum").text == f"100 − {cost} + {score.bonus} = {score.unclamped}"
    for each in score.deductions:
        assert each.rule in page.text
    assert score.gains[0].remedy in page.one("ol", name="advice").text


def test_an_excellent_grade_is_no_sign_of_a_target_that_fails() -> None:
    page = page_of(run_of(report_of(GRADED["a"], gates=[Gate("max-tokens", 1, 118, False)])))
    assert page.one("p", name="tile").text == "failed ✕"
    assert "100 of 100" in page.text
    assert page.source.count('class="band now"') == 1  # of the letter, on the scale beside it


def test_a_score_below_zero_says_so() -> None:
    report = report_of(GRADED["f"])
    assert report.scores.grade is not None
    assert report.scores.grade.unclamped < 0
    text = page_of(run_of(report)).text
    assert f"{-report.scores.grade.unclamped} points below zero" in text
    assert ", counted as 0" in text


def test_an_empty_server_has_no_calculation() -> None:
    assert "An empty server scores 0" in page_of(run_of(report_of(GRADED["empty"]))).text


def test_the_dearest_tools_have_a_bar_and_the_rest_is_summed_up() -> None:
    report = report_of(GRADED["f"])
    assert report.scores.tokens is not None
    ranked = sorted(report.scores.tokens.tools.values(), reverse=True)
    page = page_of(run_of(report))
    assert f"{len(ranked) - 12} more tools" in page.text
    assert len([bar for bar in page.all("svg", name="bar note") if "info" not in bar.parents[-2].text]) >= 12
    assert f"{sum(ranked[12:])}" in page.one("tr", name="rest").text


def test_the_reasons_for_passing_and_failing_are_listed() -> None:
    text = page_of(run_of(report_of(MIXED))).one("ul", name="reasons").text
    assert "failed grade D, at least B required" in text
    assert "at most 10 allowed" in text
    assert "at or above level error (--fail-on)" in text
    clean = page_of(run_of(report_of(GRADED["a"], gates=[], fail_on="never"))).one("ul", name="reasons").text
    assert clean.strip().splitlines() == [
        "not gated findings (--fail-on never)",
        "not gated grade A",
        "not tested behaviour: no tool was called",
    ]


def test_suppressed_findings_say_by_whom_where_and_why() -> None:
    page = page_of(suppressing_run())
    texts = [element.text for element in page.all("p", name="suppression")]
    assert sorted(texts) == [
        "Accepted in the baseline, without a reason baseline.json:7",
        "Ignored by the configuration: the old reader needs it <now> mcproof.toml:12",
    ]
    assert len(page.all("li", name="finding suppressed")) == 2


def test_what_is_unused_or_stale_is_told_and_a_stale_baseline_fails() -> None:
    page = page_of(suppressing_run())
    notices = page.one("ul", name="notices").text
    assert "warning unused: ignore-for of SCH-001" in notices
    assert "mcproof.toml:30" in notices
    assert "error stale: SCH-002" in notices
    assert "failed 1 stale in the baseline" in page.one("ul", name="reasons").text


def test_what_was_not_tested_is_told() -> None:
    report = report_of(MIXED, untested=[Untested("behaviour", "nothing was called")])
    text = page_of(run_of(report)).one("dl", name="untested").text
    assert "behaviour" in text
    assert "nothing was called" in text


def test_a_rule_that_crashed_is_a_finding_like_any_other() -> None:
    crash = ReportedFinding(
        rule_facts(find_rule("CAT-004")),
        "server:",
        "",
        "server:",
        "",
        "rule `SCH-001` failed on tool:x: KeyError: 'y'",
        {"rule": "SCH-001"},
        "catalog.json",
        1,
        1,
        None,
    )
    page = page_of(run_of(report_of(GRADED["a"], findings=[crash])))
    assert "rule SCH-001 failed on tool:x: KeyError: 'y'" in page.one("li", name="finding").text


def test_several_targets_have_a_table_that_leads_to_each() -> None:
    run = RUNS["several targets"]()
    page = page_of(run)
    rows = [row.text for row in page.all("tr") if any("overview" in parent.classes for parent in row.parents)]
    first, second, third = (
        next(row for row in rows if title in row) for title in (run.targets[0].title, "library 1.2.3", "gone.json")
    )
    assert "failed" in first
    assert "A 100" in second
    assert "could not be checked" in third
    links = [link.attributes["href"] for link in page.all("a")]
    assert [link for link in links if link.startswith("#t")] == ["#t1", "#t2", "#t3"]
    assert len(page.all("details", name="target")) == 3
    assert "1 of 3 targets could not be checked" in page.one("p", name="headline").text


def test_a_target_that_cannot_be_read_says_why_and_where() -> None:
    page = page_of(RUNS["a failure"]())
    assert page.one("div", name="trouble").text.split() == ["not", "JSON", "x.json:1:2"]
    assert page.one("p", name="tile").text == "could not be checked !"
    assert "incomplete exit code 2" in page.one("header").text


@pytest.mark.parametrize(
    ("levels", "headline", "sign"),
    [
        (["error", "error", "note"], "failed: 2 breaking changes (gate: breaking changes)", "✕"),
        (["warning", "note"], "1 change that may break callers", "?"),
        (["note"], "1 change, none breaking", "✓"),
        ([], "no changes", "✓"),
    ],
)
def test_a_comparison_speaks_of_changes_and_has_no_grade(levels: list[str], headline: str, sign: str) -> None:
    page = page_of(diff_run(*levels))
    assert page.one("p", name="headline").text == headline
    assert page.one("p", name="tile").text.endswith(f" {sign}")
    assert headline in page.one("title").text
    assert "of 100" not in page.text


def test_a_comparison_names_both_catalogs() -> None:
    page = page_of(diff_run("note"))
    assert page.one("h1").text == "catalogs/new.json"
    assert "Compared with<old>.json" in page.one("dl", name="facts").text.replace("\n", "")
    assert "Compared with" not in page_of(run_of(report_of(MIXED))).text


def test_changes_have_words_of_their_own_for_their_levels() -> None:
    page = page_of(diff_run("error", "warning", "note"))
    words = [element.text for element in page.all("span", name="level")]
    assert words == ["breaking", "cannot tell", "compatible"]
    assert "1 change at or above level breaking" in page.text
    assert all("new.json:4:3" in element.text for element in page.all("li", name="finding"))


def test_a_long_line_is_cropped_around_the_place() -> None:
    catalog = json.dumps({"tools": [{"name": f"tool {number}", "inputSchema": {}} for number in range(50)]})
    page = page_of(run_of(report_of(catalog)))
    lines = [element.text for element in page.all("pre")]
    assert max(map(len, lines)) <= 200
    assert sum(line.startswith("…") and line.endswith("…") for line in lines) > 40


def test_colours_can_be_told_apart_in_both_themes() -> None:
    style = _asset("report.css")
    themes = [
        dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", part)) for part in style.split("@media screen and (prefers", 1)
    ]
    assert len(themes[0]) == len(themes[1]) > 15
    for theme in themes:
        pairs = [
            (ink, paper)
            for ink in ("ink", "quiet", "link", "error", "warning", "note", "good")
            for paper in ("paper", "raised", "sunken")
        ]
        pairs += [(name, f"{name}-soft") for name in ("error", "warning", "note", "good")]
        pairs += [("ink", f"{name}-soft") for name in ("error", "warning", "note")]
        for ink, paper in pairs:
            assert _contrast(theme[ink], theme[paper]) >= 4.5, (ink, paper)
        assert _contrast(theme["strong-line"], theme["paper"]) >= 3


def _contrast(one: str, other: str) -> float:
    """How far apart two colours are, by the definition of WCAG."""
    darker, lighter = sorted((_luminance(one), _luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: str) -> float:
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in channels]
    return sum(weight * each for weight, each in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


@pytest.mark.parametrize("name", ["report.css", "report.js"])
def test_style_and_script_survive_being_printed_and_stay_in_their_element(name: str) -> None:
    asset = _asset(name)
    assert [line for line in asset.splitlines() if without_commands(line) != line] == []
    assert "</" not in asset
    assert "<!--" not in asset
    assert asset.isascii()


def _asset(name: str) -> str:
    return (files("mcproof.report") / "html" / "templates" / name).read_text(encoding="utf-8")


def test_the_command_line_writes_and_prints_a_page(tmp_path: Path) -> None:
    (tmp_path / "library.json").write_text(MIXED, encoding="utf-8")
    command = [sys.executable, "-m", "mcproof", "grade", "library.json", "--format", "html", "--output", "report.html"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=60, check=False)
    assert done.returncode == 1, done.stderr
    page = Page((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert page.one("p", name="tile").text == "failed ✕"
    assert done.stdout.decode("utf-8").splitlines() == page.source.splitlines()


TEMPLATES = sorted(each.name for each in (files("mcproof.report.html") / "templates").iterdir())
UNESCAPED = re.compile(r"\|\s*safe\b|autoescape|Markup|\|\s*(?:xmlattr|tojson|urlize)\b")
"""What prints text without escaping it, or turns it into markup."""


@pytest.mark.parametrize("name", TEMPLATES)
def test_no_template_turns_escaping_off(name: str) -> None:
    source = _asset(name)
    assert not UNESCAPED.search(source)
    assert not re.search(r"=\{\{", source), "an attribute without quotes"


def test_no_code_of_pages_builds_markup() -> None:
    for module in (files("mcproof.report.html")).iterdir():
        if module.name.endswith(".py"):
            source = module.read_text(encoding="utf-8")
            assert not re.search(r"Markup\(|markupsafe|autoescape=False|select_autoescape|</", source), module.name


def test_untrusted_text_is_escaped_wherever_a_template_prints_it() -> None:
    pages = environment()
    assert pages.autoescape is True
    printed = pages.from_string('<p title="{{ value }}">{{ value }}</p>').render(value="<b>\"'&\x1b\u202e")
    shown = r"&lt;b&gt;&#34;&#39;&amp;\x1b\u202e"
    assert printed == f'<p title="{shown}">{shown}</p>'


def test_a_misspelt_name_in_a_template_fails() -> None:
    with pytest.raises(UndefinedError):
        environment().from_string("{{ mising }}").render()
