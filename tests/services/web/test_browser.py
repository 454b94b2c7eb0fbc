"""The pages of the service in a real browser: what people do on them, how they fit, and who can use them."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
import uvicorn

from mcproof.services.store.database import open_database
from mcproof.services.store.queries import history_of
from mcproof.services.store.recording import record_run
from mcproof.services.web.server import WebSettings, create_service
from report.browser import Browser, browser_session
from report.trials import TRIALS
from servers.web import Request, Web
from services.store.filling import KNOWN, Size, fill
from services.store.runs import linted

from .axe import axe_script, barriers

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGES = {
    "dashboard": "/",
    "filtered dashboard": "/?grade=F&sort=name",
    "empty list": "/?q=nothing",
    "server": f"/servers/{KNOWN}",
    "server that is gone": "/servers/gone",
    "run": "/runs/{uid}",
    "compare": f"/compare?a={KNOWN}&b=server+7",
    "compare nothing": "/compare?a=none&b=none",
    "rules": "/rules",
    "rule": "/rules/SCH-001",
    "lint": "/lint",
    "no such server": "/servers/none",
    "no such page": "/nothing",
    "wrong order": "/?sort=size",
}
WIDTHS = (360, 768, 1280)
TAB = "\ue004"


class Waiting(Web, fault="waits-for-the-test"):
    """Responds to nothing until the test lets it."""

    is_released = False

    async def handle(self, request: Request) -> None:
        while not self.is_released:
            await asyncio.sleep(0.01)
        await super().handle(request)


class Site(NamedTuple):
    """A running service."""

    url: str
    uid: str


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    database = open_database(str(tmp_path_factory.mktemp("store") / "store.sqlite"))
    fill(database, Size(servers=60, runs=2), history=8)
    record_run(database, TRIALS["prove"]._replace(started="2026-01-30T00:00:00Z"), [None], KNOWN)
    record_run(database, linted(b"no"), [None], "gone")
    settings = WebSettings(requests_a_minute=1_000_000, networks=("127.0.0.1/32",))
    config = uvicorn.Config(create_service(database, settings), log_config=None, access_log=False)
    config.port = 0
    sock = config.bind_socket()
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [sock]})
    thread.start()
    uid = history_of(database, KNOWN, 10).runs[0].uid
    yield Site(f"http://127.0.0.1:{sock.getsockname()[1]}", uid)
    server.should_exit = True
    thread.join()
    sock.close()
    database.close()


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser_session(tmp_path_factory.mktemp("browser")) as session:
        yield session


@pytest.fixture
def page(browser: Browser, site: Site) -> Iterator[Page]:
    yield Page(browser, site)
    browser.prefer("light")
    browser.resize(1000)


class Page:
    """A page of the service in the browser."""

    def __init__(self, browser: Browser, site: Site) -> None:
        self.browser = browser
        self._site = site

    def show(self, path: str) -> None:
        self.browser.visit(self._site.url + path.format(uid=self._site.uid))

    def rows(self, column: int = 0) -> list[str]:
        """The texts of a column of the list."""
        script = (
            f"return [...document.querySelectorAll('.listing tbody tr')].map(each => each.cells[{column}].innerText)"
        )
        texts: list[str] = self.browser.run(script)
        return texts

    def choose(self, name: str, value: str) -> None:
        """Choose an option, after which the page sends its form."""
        script = "const field = document.forms[0].elements[arguments[0]]; field.value = arguments[1];"
        self.browser.leave(f"{script} field.dispatchEvent(new Event('change', {{bubbles: true}}));", name, value)

    def follow(self, selector: str) -> None:
        """Click on what leads to another page."""
        self.browser.leave("document.querySelector(arguments[0]).click()", selector)

    def complaints(self) -> list[str]:
        """What the console has, besides the status of the page itself."""
        entries = [str(entry["message"]) for entry in self.browser.logs("browser")]
        return [each for each in entries if "the server responded with a status of 4" not in each]


@pytest.mark.slow
@pytest.mark.parametrize("name", PAGES)
def test_everybody_can_use_a_page(page: Page, name: str) -> None:
    script = axe_script()
    page.show(PAGES[name])
    assert barriers(page.browser, script) == []
    assert page.complaints() == []


@pytest.mark.parametrize("name", PAGES)
def test_a_page_fits_phones_and_screens(page: Page, name: str) -> None:
    page.show(PAGES[name])
    for width in WIDTHS:
        page.browser.resize(width)
        page.browser.frame()
        assert page.browser.run("return document.scrollingElement.scrollWidth") <= width
    assert page.complaints() == []


def test_servers_are_ranked_sorted_and_paged(page: Page) -> None:
    page.show("/")
    scores = [int(each.split()[1]) for each in page.rows(1)]
    assert scores == sorted(scores, reverse=True)
    page.follow("th:nth-child(4) a")
    tokens = [int(each.replace(",", "")) for each in page.rows(3) if each != "–"]
    assert tokens == sorted(tokens, reverse=True)
    first = page.rows()
    page.follow("a[rel=next]")
    assert page.rows()
    assert not set(page.rows()) & set(first)
    assert len(first) + len(page.rows()) == 62
    page.follow(".pages a")
    assert page.rows() == first
    assert page.complaints() == []


def test_servers_are_searched_and_filtered(page: Page) -> None:
    page.show("/")
    page.choose("grade", "A")
    assert {each.split()[0] for each in page.rows(1)} == {"A"}
    page.choose("verdict", "allow")
    assert set(page.rows(4)) == {"allow"}
    assert {each.split()[0] for each in page.rows(1)} == {"A"}
    page.show("/")
    page.browser.type("input[type=search]", "server 4")
    page.follow(".filter button")
    assert set(page.rows()) == {f"server {number}" for number in (4, *range(40, 50))}
    page.follow(".grades a")
    assert {each.split()[0] for each in page.rows(1)} <= {"A"}


def test_two_versions_of_a_catalog_are_compared(page: Page) -> None:
    page.show(f"/servers/{KNOWN}")
    runs = page.rows()
    assert len(runs) > 5
    assert runs == sorted(runs, reverse=True)
    listed = page.browser.run("return [...document.querySelector('[name=a]').options].map(each => each.value)")
    assert 1 < len(set(listed)) == len(listed) <= len(runs)
    page.browser.run("document.querySelector('[name=a]').value = arguments[0]", listed[-1])
    page.follow("form.versions button")
    chosen = page.browser.run("return ['a', 'b'].map(name => document.querySelector(`[name=${name}]`).value)")
    assert chosen[0] == page.browser.run("return new URL(location).searchParams.get('a')") == listed[-1]
    assert chosen[1] == listed[0]
    assert page.browser.run("return document.querySelectorAll('.differences tbody tr').length") > 0


def test_a_server_shows_what_it_keeps_of_its_promises(page: Page) -> None:
    page.show(f"/servers/{KNOWN}")
    assert page.browser.run("return document.querySelectorAll('.matrix td.square.bad').length") > 0
    assert page.browser.run("return document.querySelector('.legend').checkVisibility()")


def test_two_servers_are_compared(page: Page) -> None:
    page.show("/compare")
    choose = "document.querySelector(`[name=${arguments[0]}]`).value = arguments[1]"
    page.browser.run(choose, "a", KNOWN)
    page.browser.run(choose, "b", "server 7")
    page.follow("form button")
    assert page.rows()[:2] == ["Grade", "Verdict"]
    assert page.complaints() == []


def test_everything_is_reached_by_keyboard(page: Page) -> None:
    page.show("/")
    focused = """
        const shown = document.activeElement, style = getComputedStyle(shown);
        return [shown.className || shown.name || shown.tagName, style.outlineStyle !== 'none', shown.checkVisibility()];
    """
    seen: list[Any] = []
    for _ in range(30):
        page.browser.press(TAB)
        seen.append(page.browser.run(focused))
    assert seen[0][0] == "skip"
    assert {"q", "grade", "verdict", "client", "rule", "BUTTON"} <= {name for name, _, _ in seen}
    assert [each for each in seen if not each[1] or not each[2]] == []


def test_reading_needs_no_script(page: Page) -> None:
    page.browser.devtools("Emulation.setScriptExecutionDisabled", value=True)
    try:
        for name in ("dashboard", "server", "compare", "rule"):
            page.show(PAGES[name])
            assert page.browser.source().count("<tr") + page.browser.source().count("<section") > 2
    finally:
        page.browser.devtools("Emulation.setScriptExecutionDisabled", value=False)


@pytest.mark.slow
@pytest.mark.parametrize(
    "url", ["http://169.254.169.254/mcp", "http://127.0.0.1:9/mcp"], ids=["refused", "unreachable"]
)
def test_a_check_that_fails_has_a_page(page: Page, url: str) -> None:
    script = axe_script()
    page.show("/lint")
    page.browser.type("[name=url]", url)
    page.follow("form button")
    page.browser.until("document.querySelector('.trouble, .headline.failed') !== null")
    assert barriers(page.browser, script) == []
    assert page.complaints() == []


@pytest.mark.slow
def test_a_live_server_is_checked_from_the_page(page: Page) -> None:
    script = axe_script()
    with Waiting() as server:
        page.show("/lint")
        page.browser.type("[name=url]", server.url)
        page.follow("form button")
        page.browser.until("document.querySelector('#progress')?.textContent.startsWith('Connecting')")
        assert page.browser.run("return document.querySelector('.steps .now').dataset.step") == "connecting"
        assert barriers(page.browser, script) == []
        server.is_released = True
        page.browser.until("document.querySelector('.finding') !== null")
    text = page.browser.run("return document.querySelector('main').innerText")
    assert "find_book" in text
    assert page.browser.run("return document.querySelectorAll('.copy').length") > 0
    assert page.complaints() == []
    assert barriers(page.browser, script) == []
    page.browser.resize(360)
    page.browser.frame()
    assert page.browser.run("return document.scrollingElement.scrollWidth") <= 360
