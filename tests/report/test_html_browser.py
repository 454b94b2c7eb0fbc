"""The HTML report in a real browser: what its script does, how it fits, and that nothing leaves it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mcproof.checks.findings import group_by_fault
from mcproof.report.html.page import document

from .browser import Browser, browser_session
from .snapshots import GRADED, MIXED
from .suites import many_tests_run, suite_run
from .test_html import HOSTILE, HOSTILE_CATALOG, RUNS, report_of, run_of, suppressing_run

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mcproof.runs.results import RunResult

SHOWN = "[...document.querySelectorAll('.finding')].filter(each => each.checkVisibility())"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser_session(tmp_path_factory.mktemp("browser")) as session:
        yield session


@pytest.fixture
def page(browser: Browser, tmp_path: Path) -> Iterator[Page]:
    yield Page(browser, tmp_path)
    browser.prefer("light")
    browser.resize(1000)


class Page:
    """A report in the browser."""

    def __init__(self, browser: Browser, folder: Path) -> None:
        self.browser = browser
        self._file = folder / "report.html"

    def show(self, run: RunResult) -> None:
        self._file.write_text("".join(document(run)), encoding="utf-8")
        self.browser.open(self._file)

    def messages(self) -> list[str]:
        """The messages of the findings that can be seen, or would be if scrolled to."""
        texts: list[str] = self.browser.run(f"return {SHOWN}.map(each => each.querySelector('.message').textContent)")
        return texts

    def count(self) -> str:
        """What the page says about how many findings are shown."""
        text: str = self.browser.run("return document.getElementById('matches').value")
        return text

    def choose(self, field: str, beginning: str) -> None:
        """Choose the option whose text begins so."""
        script = f"""
            const field = document.getElementById('{field}');
            field.value = [...field.options].find(each => each.text.startsWith('{beginning}')).value;
            field.dispatchEvent(new Event('change', {{bubbles: true}}));
        """
        self.browser.frame(script)

    def click(self, selector: str) -> None:
        self.browser.click(selector)
        self.browser.frame()

    def type(self, keys: str) -> None:
        self.browser.type("#query", keys)
        self.browser.frame()


@pytest.mark.parametrize("kind", RUNS)
def test_a_page_opens_without_a_complaint_and_asks_for_nothing(page: Page, kind: str) -> None:
    page.show(RUNS[kind]())
    page.browser.frame()
    assert page.browser.logs("browser") == []
    assert [url.partition(":")[0] for url in page.browser.requests()] in (["file"], ["file", "data"])


def test_the_policy_of_a_page_stops_what_it_does_not_name(page: Page) -> None:
    page.show(run_of(report_of(MIXED)))
    page.browser.frame("""
        const script = document.createElement('script');
        script.textContent = 'window.pwned = 1';
        document.body.append(script);
        const image = document.createElement('img');
        image.src = 'http://127.0.0.1:9/x.png';
        document.body.append(image);
    """)
    assert page.browser.run("return window.pwned") is None
    complaints = [entry["message"] for entry in page.browser.logs("browser")]
    assert len(complaints) == 2
    assert all("Content Security Policy" in each for each in complaints)


def test_hostile_text_does_not_run(page: Page) -> None:
    page.show(run_of(report_of(HOSTILE_CATALOG, HOSTILE)))
    page.type("onerror")
    page.browser.frame("document.querySelectorAll('.finding a.rule').forEach(each => each.click())")
    assert page.browser.run("return window.pwned") is None
    assert page.browser.run("return document.images.length") == 0
    assert page.browser.run("return document.querySelectorAll('script').length") == 1
    assert page.browser.logs("browser") == []


def test_a_search_narrows_the_findings_and_escape_takes_it_back(page: Page) -> None:
    page.show(run_of(report_of(MIXED)))
    everything = page.messages()
    page.type("MOOD")
    found = page.messages()
    assert found == [message for message in everything if "mood" in message]
    assert 0 < len(found) < len(everything)
    assert page.count() == f"{len(found)} of {len(everything)} findings"
    page.type("\ue00c")
    assert page.messages() == everything


def test_all_words_of_a_search_must_occur_in_tool_message_rule_or_line(page: Page) -> None:
    page.show(run_of(report_of(MIXED)))
    page.type("find_book sch-001")
    assert len(page.messages()) == 2
    page.type(" the object at")
    assert len(page.messages()) == 1
    page.type(" nowhere")
    assert page.messages() == []
    assert page.browser.run("return document.getElementById('nothing').checkVisibility()")


def test_a_key_leads_to_the_search(page: Page) -> None:
    page.show(run_of(report_of(MIXED)))
    page.browser.type("body", "/")
    assert page.browser.run("return document.activeElement.id") == "query"
    assert page.browser.run("return document.activeElement.value") == ""


@pytest.mark.parametrize("level", ["error", "warning", "note"])
def test_a_level_can_be_left_out(page: Page, level: str) -> None:
    page.show(run_of(report_of(MIXED)))
    levels = f"return {SHOWN}.map(each => each.classList[1])"
    before = page.browser.run(levels)
    page.click(f".box.{level}")
    after = page.browser.run(levels)
    assert level in before
    assert after == [each for each in before if each != level]


def test_one_rule_or_one_ruleset_can_be_chosen(page: Page) -> None:
    report = report_of(MIXED)
    page.show(run_of(report))
    page.choose("rule", "prop-no-type")
    assert len(page.messages()) == report.by_rule()["prop-no-type"]
    page.click("#clear")
    page.choose("ruleset", "strict")
    rules = page.browser.run(f"return {SHOWN}.map(each => each.querySelector('.where').textContent)")
    assert rules
    assert all("SCH-" in each for each in rules)


def test_suppressed_findings_are_shown_on_demand(page: Page) -> None:
    page.show(suppressing_run())
    before = len(page.messages())
    page.click(".box.suppressed")
    assert len(page.messages()) == before + 2


def test_everything_is_there_without_the_script(page: Page) -> None:
    run = suppressing_run()
    browser = page.browser
    browser.devtools("Emulation.setScriptExecutionDisabled", value=True)
    try:
        page.show(run)
        browser.devtools("Emulation.setScriptExecutionDisabled", value=False)
        (report,) = run.targets
        assert len(page.messages()) == len(group_by_fault(report.findings)) + len(report.suppressed)
        assert browser.run("return document.getElementById('filter').checkVisibility()") is False
    finally:
        browser.devtools("Emulation.setScriptExecutionDisabled", value=False)


def test_the_help_of_a_rule_opens_in_place_and_closes_again(page: Page) -> None:
    page.show(run_of(report_of(MIXED)))
    page.click(".finding a.rule")
    assert "Why" in page.browser.run("return document.querySelector('.finding .inline').textContent")
    assert page.browser.run("return document.querySelector('.finding a.rule').getAttribute('aria-expanded')") == "true"
    page.click(".finding a.rule")
    assert page.browser.run("return document.querySelector('.finding .inline')") is None


def test_help_leads_to_the_findings_of_its_rule_alone(page: Page) -> None:
    report = report_of(GRADED["f"])
    page.show(run_of(report))
    page.browser.frame("document.querySelector('details.help').open = true")
    page.click("details.help .only")
    rule = page.browser.run("return document.querySelector('details.help code').textContent")
    assert page.count().startswith(f"{report.by_rule()[rule]} of ")


def test_a_search_with_few_hits_opens_them_and_closes_them_afterwards(page: Page) -> None:
    page.show(run_of(report_of(GRADED["f"])))
    assert page.messages() == []
    page.type("longer_than_the_column")
    assert page.messages()
    page.click("#clear")
    assert page.messages() == []
    page.click("#expand")
    assert len(page.messages()) > 30
    page.click("#collapse")
    assert page.messages() == []


def test_the_overview_leads_into_a_folded_target(page: Page) -> None:
    reports = [report_of(GRADED["c"], f"{number}.json") for number in range(5)]
    page.show(run_of(*reports))
    assert page.messages() == []
    page.click(".overview a[href='#t4']")
    assert page.browser.run("return [...document.querySelectorAll('.target')].map(each => each.open)") == [
        False,
        False,
        False,
        True,
        False,
    ]
    top = page.browser.run("return document.querySelectorAll('.target')[3].getBoundingClientRect().top")
    assert 0 <= top < 800


def test_dark_and_light_have_colours_of_their_own(page: Page) -> None:
    page.show(run_of(report_of(MIXED)))
    colours = {}
    for scheme in ("light", "dark"):
        page.browser.prefer(scheme)
        style = "const style = getComputedStyle(document.body); return [style.backgroundColor, style.color]"
        colours[scheme] = [sum(map(int, each[4:-1].split(","))) for each in page.browser.run(style)]
    (light_paper, light_ink), (dark_paper, dark_ink) = colours["light"], colours["dark"]
    assert min(light_paper, dark_ink) > 600
    assert max(light_ink, dark_paper) < 200


@pytest.mark.parametrize("kind", RUNS)
def test_a_page_fits_phones_and_screens(page: Page, kind: str) -> None:
    page.show(RUNS[kind]())
    for width in (320, 660, 800, 1400):
        page.browser.resize(width)
        page.browser.frame("document.querySelectorAll('details').forEach(each => { each.open = true; })")
        overflow = page.browser.run("return [document.scrollingElement.scrollWidth, innerWidth]")
        assert overflow[0] <= overflow[1], width


def test_what_is_folded_is_printed(page: Page) -> None:
    page.show(run_of(report_of(GRADED["f"])))
    folded = "return document.querySelectorAll('details:not([open])').length"
    before = page.browser.run(folded)
    assert before > 5
    page.browser.run("dispatchEvent(new Event('beforeprint'))")
    assert page.browser.run(folded) == 0
    page.browser.run("dispatchEvent(new Event('afterprint'))")
    assert page.browser.run(folded) == before


def test_thousands_of_findings_are_all_searched(page: Page) -> None:
    properties: dict[str, object] = {f"parameter_{number}": {} for number in range(50)}
    tools = [
        {"name": f"tool_{number}", "inputSchema": {"type": "object", "properties": properties}} for number in range(30)
    ]
    page.show(run_of(report_of({"tools": tools})))
    assert page.browser.run("return document.querySelectorAll('.finding').length") > 3000
    page.type("tool_29 parameter_49")
    shown = "[...document.querySelectorAll('.finding')].filter(each => each.checkVisibility())"
    texts = page.browser.run(f"return {shown}.map(each => each.textContent)")
    assert texts
    assert all("parameter_49" in text for text in texts)


TESTS = "[...document.querySelectorAll('.test')].filter(each => each.checkVisibility())"


def test_the_tests_of_suites_are_searched_and_chosen_by_outcome(page: Page) -> None:
    page.show(suite_run())
    outcomes = f"return {TESTS}.map(each => each.dataset.outcome)"
    before = page.browser.run(outcomes)
    assert len(before) == 10
    page.click(".box:has([value=passed])")
    assert page.browser.run(outcomes) == [each for each in before if each != "passed"]
    assert page.count() == "7 of 10 tests"
    page.type("bergen NEGATIVE_path")
    assert page.browser.run(outcomes) == ["failed"]
    assert page.browser.run("return document.querySelectorAll('.target')[1].checkVisibility()") is False
    page.click("#clear")
    assert page.browser.run(outcomes) == before
    assert page.count() == "10 tests"


def test_a_search_finds_one_of_a_thousand_tests_where_it_is_folded(page: Page) -> None:
    page.show(many_tests_run())
    assert page.browser.run(f"return {TESTS}.length") == 2
    page.type("call 777")
    assert page.browser.run(f"return {TESTS}.map(each => each.querySelector('b').textContent)") == ["call 777"]
    page.click("#clear")
    assert page.browser.run(f"return {TESTS}.length") == 2
