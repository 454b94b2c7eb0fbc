"""What the tests of a suite came to, in every format."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import junitparser
import pytest

from mcproof.report.formats import FORMATS
from mcproof.report.html.parts import duration
from mcproof.runs.results import RunResult, SuitePayload, TargetResult, Trouble
from mcproof.runs.stored import read_run, run_document

from .readers import acts, parse_commands, parse_tap, refuse_markup
from .runs import FORMATS as GOLDEN_FORMATS
from .suites import FILE, PROBED, SECOND, UNMET, Failure, Result, many_tests_run, one_suite_run, suite_run
from .test_formats import EXTENSIONS
from .test_golden import compare
from .test_html import Element, Page, page_of
from .test_trials import rendered, validate
from .trials import HOSTILE

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("format", GOLDEN_FORMATS)
def test_a_suite_is_printed_as_in_the_golden_file(format: str) -> None:
    compare(rendered(suite_run(), format), f"suites/suites.{EXTENSIONS.get(format, format)}")


def test_a_suite_in_colour_and_in_ascii_is_as_in_the_golden_file() -> None:
    compare(rendered(suite_run(), "text", colour=True), "suites/suites.colour.txt")
    compare(rendered(suite_run(), "text", unicode=False, width=60), "suites/suites.ascii.txt")


def test_a_stored_run_renders_as_the_run_did() -> None:
    again = read_run("".join(run_document(suite_run())).encode(), "run.json")
    for kind in FORMATS:
        assert rendered(again, kind) == rendered(suite_run(), kind), kind


def test_the_documents_keep_to_their_schemas() -> None:
    validate(json.loads(rendered(suite_run(), "json")), "tests")
    validate(json.loads("".join(run_document(suite_run()))), "run")


def test_those_who_made_the_formats_can_read_them_and_nothing_in_it_acts() -> None:
    printed = {kind: rendered(suite_run(), kind) for kind in FORMATS}
    for kind in set(FORMATS) - {"github", "html"}:
        assert acts(printed[kind]) == [], kind
    suites = junitparser.JUnitXml.fromstring(printed["junit"].encode())
    assert (suites.tests, suites.failures, suites.errors, suites.skipped) == (10, 3, 2, 2)
    assert len(parse_tap(printed["tap"])) == 10
    ElementTree.fromstring(printed["junit"])  # noqa: S314 (ours)
    assert [command.name for command in parse_commands(printed["github"])] == ["error"] * 6
    refuse_markup(printed["markdown"], (2, 3, 4))
    assert {issue["location"]["path"] for issue in json.loads(printed["gitlab"])} == {FILE, "other.yaml"}
    assert len(json.loads(printed["sarif"])["runs"][0]["results"]) == 5


def test_a_server_that_is_not_there_is_told_once_to_people_and_of_every_test_to_machines() -> None:
    why, lines = "the server exited with code 1", "Traceback:\n  line 1 in <a>"
    tests = [
        Result("a", "tools", "late", "error", why, (), FILE, 28, detail=lines),
        Result("b", "tools", "there", "passed", file=FILE, line=30),
        Result("a", "fuzz", "late", "error", why, (), FILE, 28),
        Result("run make", "teardown", "", "error", "exit code 2", (), FILE, 3),
        Result("run make", "teardown", "", "error", "exit code 2", (), FILE, 4),
    ]
    run = one_suite_run()
    run = run._replace(targets=[run.targets[0]._replace(payload=SuitePayload(tests))])
    told = "2 tests on `late` could not run"
    assert (
        f"  ! {told}\n      {why}\n        Traceback:\n          line 1 in <a>\n      {FILE}:28\n  ✓ b\n"
        in rendered(run, "text")
    )
    assert rendered(run, "concise").startswith(f"{FILE}:28: error {told}: {why}\n{FILE}:3: error run make")
    assert f"title={told}::{why}%0ATraceback:%0A  line 1 in <a>\n" in rendered(run, "github")
    assert f"| {told} | `{FILE}:28` | {why}<br>Traceback:<br>  line 1 in \\<a\\> |" in rendered(run, "markdown")
    for kind in ("text", "concise", "github", "markdown"):
        assert rendered(run, kind).count(why) == 1
    assert [each["outcome"] for each in json.loads(rendered(run, "json"))["tests"]].count("error") == 4
    assert f">{why}\nTraceback:\n  line 1 in &lt;a&gt;\n{FILE}:28</error>" in rendered(run, "junit")
    again = read_run("".join(run_document(run)).encode(), "run.json")
    for kind in FORMATS:
        assert rendered(again, kind) == rendered(run, kind), kind
    validate(json.loads(rendered(run, "json")), "tests")


# --- the page -----------------------------------------------------------------------------------------------------


def groups_of(page: Page) -> dict[str, list[str]]:
    """The names of the tests below each heading of the page, in its order."""
    groups: dict[str, list[str]] = {}
    titles = {id(parent): title for title in page.all(name="title") for parent in title.parents}
    for name in page.all("b"):
        if any("test" in parent.classes for parent in name.parents):
            (group,) = [parent for parent in name.parents if "group" in parent.classes]
            groups.setdefault(titles[id(group)].text, []).append(name.text)
    return groups


def row_of(page: Page, words: str) -> Element:
    """The one test on the page whose text has these words."""
    (row,) = [each for each in page.all("li", name="test") if words in squeezed(each)]
    return row


def squeezed(element: Element) -> str:
    return " ".join(element.text.split())


def with_outcomes(*outcomes: str) -> RunResult:
    """A suite whose tests ended so."""
    tests = [Result(str(number), "tools", "x", outcome) for number, outcome in enumerate(outcomes)]  # type: ignore[arg-type]
    return RunResult("run", "0.1.0", [TargetResult(FILE, payload=SuitePayload(tests))])


def test_a_page_of_a_suite_speaks_of_tests_and_not_of_findings() -> None:
    for run in (one_suite_run(), suite_run(), with_outcomes()):
        page = page_of(run)
        assert "finding" not in page.text.replace(page.one("script").text, "").lower()
        assert page.one("a", name="skip").text == "Skip to the tests"
    assert page_of(suite_run()).one("h1").text == "2 suites"


@pytest.mark.parametrize(
    ("outcomes", "headline", "tile"),
    [
        ("passed passed", "all 2 tests passed", "passed ✓"),
        ("passed", "1 test passed", "passed ✓"),
        ("passed skipped passed not_applicable", "2 of 4 tests passed, 1 skipped, 1 not applicable", "passed ✓"),
        ("passed failed skipped", "1 of 3 tests failed", "failed ✕"),
        ("failed", "1 of 1 test failed", "failed ✕"),
        ("failed error error", "1 of 3 tests failed, 2 could not run", "failed ✕"),
        ("passed error", "1 of 2 tests could not run", "incomplete ✕"),
        ("skipped not_applicable", "none of 2 tests ran, 1 skipped, 1 not applicable", "inconclusive ?"),
        ("", "no tests", "inconclusive ?"),
    ],
)
def test_the_headline_begins_with_what_is_wrong(outcomes: str, headline: str, tile: str) -> None:
    page = page_of(with_outcomes(*outcomes.split()))
    assert page.one("p", name="headline").text == headline
    assert page.one("p", name="tile").text == tile
    assert page.one("title").text == f"{FILE}: {headline} · mcproof"


def test_tests_that_call_for_work_come_first_and_each_outcome_has_its_own_place() -> None:
    page = page_of(one_suite_run())
    assert groups_of(page) == {
        "Failed": ["Bergen", "Bergen"],
        "Could not run": ["a note", "run make"],
        "Skipped": ["greeting"],
        "Not applicable": ["nothing"],
        "Passed": ["a forecast names the city", "late"],
    }
    assert (
        page.one("svg", name="proportions").attributes["aria-label"]
        == "2 passed, 2 failed, 2 could not run, 1 skipped, 1 not applicable"
    )
    looks = {mark.attributes["class"] + mark.text for mark in page.all("span", name="square")}
    assert len(looks) == 5


def test_a_failed_test_says_of_what_what_is_wrong_and_both_values() -> None:
    page = page_of(one_suite_run())
    assert squeezed(row_of(page, "Oslo")) == (
        f"✗failed: Bergen weather 500 ms {UNMET.target} {UNMET.message} "
        f"expected{UNMET.expected} got{UNMET.got} {SECOND.target} expected{SECOND.expected} got{SECOND.got} {FILE}:21"
    )
    refused = row_of(page, "a list for")
    assert squeezed(refused).startswith(
        "✗failed: Bergen negative_path weather 2.2 s wrong_type: accepted, a list for near"
    )
    assert PROBED.got in refused.text


def test_a_test_that_could_not_be_made_says_why_and_where() -> None:
    page = page_of(one_suite_run())
    assert squeezed(row_of(page, "a note")) == (
        f"!could not run: a note resources gone cannot reach the server: no gone here {FILE}:26"
    )
    assert squeezed(row_of(page, "run make")) == f"!could not run: run make teardown exit code 2 {FILE}:3"


def test_the_others_take_a_line_with_what_is_to_be_said_of_them() -> None:
    page = page_of(one_suite_run())
    assert squeezed(row_of(page, "forecast")) == "✓passed: a forecast names the city weather 21 ms"
    assert squeezed(row_of(page, "late")) == "✓passed: late weather passed at attempt 2 1.5 s"
    assert squeezed(row_of(page, "greeting")) == "–skipped: greeting prompts weather interrupted"
    assert squeezed(row_of(page, "nothing")) == "·not applicable: nothing fuzz weather the tool takes no arguments"


def test_two_values_that_the_message_only_repeats_are_told_once() -> None:
    failures = (Failure("result.n", "expected 3, got 4", "3", "4"), Failure("", "the call failed: no such city"))
    test = Result("n", "tools", "x", "failed", failures[0].message, failures)
    page = page_of(RunResult("run", "0.1.0", [TargetResult(FILE, payload=SuitePayload([test]))]))
    assert squeezed(page.one("ul", name="unmet")) == "result.n expected3 got4 the call failed: no such city"


def test_a_server_is_told_once_where_there_is_one_and_with_each_test_where_there_are_more() -> None:
    assert squeezed(page_of(one_suite_run()).one("dl", name="facts")) == "Serversweather, gone Took4.5 s"
    page = page_of(many_tests_run())
    assert squeezed(page.one("dl", name="facts")) == "Serverweather Took1 min 15 s"
    assert page.all("span", name="server") == []


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (0.0, ""),
        (0.0004, "< 1 ms"),
        (0.0213, "21 ms"),
        (0.9994, "999 ms"),
        (0.9996, "1.0 s"),
        (59.94, "59.9 s"),
        (59.96, "1 min 0 s"),
        (3725.2, "62 min 5 s"),
        (1e300, ""),
        (float("inf"), ""),
        (float("nan"), ""),
    ],
)
def test_a_duration_is_told_in_the_unit_that_suits_it(seconds: float, told: str) -> None:
    assert duration(seconds) == told


def test_several_suites_have_their_numbers_side_by_side() -> None:
    run = suite_run()
    run.targets.append(
        TargetResult("gone.yaml", Trouble("cannot start `x`", "gone.yaml", 2, 3), payload=SuitePayload())
    )
    page = page_of(run)
    rows = [squeezed(row) for row in page.all("tr")]
    assert rows == [
        "SuitePassedFailedCould not runSkippedNot applicableTookResult",
        f"{FILE}2 passed2 failed2 could not run1 skipped1 not applicable4.5 sfailed",
        "other.yaml1 passed1 failed0 could not run0 skipped0 not applicable100 msfailed",
        "gone.yamlcould not be checkedincomplete",
    ]
    assert [row.attributes["href"] for row in page.all("a")][1:] == ["#t1", "#t2", "#t3"]
    assert page.one("p", name="headline").text == ("incomplete: 2 of 3 suites could not be checked in full, 2 failed")
    assert page.one("title").text == "incomplete: 2 of 3 suites could not be checked in full, 2 failed · mcproof run"
    heads = [squeezed(each) for each in page.all("summary") if "target" in each.parents[-1].classes]
    assert heads == [
        f"✕{FILE}2 of 8 tests failed, 2 could not run",
        "✕other.yaml1 of 2 tests failed",
        "!gone.yamlcould not be checked",
    ]


def test_of_many_suites_those_that_failed_are_open() -> None:
    good = with_outcomes("passed").targets[0]
    bad = with_outcomes("failed").targets[0]
    page = page_of(RunResult("run", "0.1.0", [good, good, bad, good], is_single=False))
    assert ["open" in each.attributes for each in page.all("details", name="target")] == [False, False, True, False]


def test_a_thousand_tests_start_with_what_failed_and_fold_the_rest() -> None:
    page = page_of(many_tests_run())
    assert {title: len(names) for title, names in groups_of(page).items()} == {"Failed": 2, "Skipped": 1, "Passed": 997}
    assert ["open" in each.attributes for each in page.all("details", name="group")] == [True, False, False]
    short = page_of(one_suite_run())
    assert all("open" in each.attributes for each in short.all("details", name="group"))


def test_the_least_of_a_thousand_is_seen_in_the_bar() -> None:
    widths = [float(each.attributes["width"][:-1]) for each in page_of(many_tests_run()).all("rect")]
    assert sum(widths) == pytest.approx(100, abs=0.1)
    assert min(widths) > 1


def test_hostile_text_of_a_suite_is_shown_and_stays_text() -> None:
    hostile = suite_run().targets[1]._replace(target=HOSTILE)
    trouble = TargetResult(HOSTILE, Trouble(HOSTILE, HOSTILE, 1, 1), payload=SuitePayload())
    tests = [
        Result(HOSTILE, outcome, HOSTILE, outcome, HOSTILE, (), HOSTILE, 1)
        for outcome in ("passed", "error", "skipped", "not_applicable")
    ]
    others = TargetResult(HOSTILE, payload=SuitePayload(tests))
    for targets in ([hostile], [others], [hostile, others, trouble]):
        page = page_of(RunResult("run", HOSTILE, targets, is_single=len(targets) == 1))
        assert len(page.all("script")) == 1
        assert "<script>alert(1)</script>" in page.text
        assert "alert(1)</script>" not in page.source
        assert not {"\x1b", "\u202e"} & set(page.source)
