"""A real browser for tests of pages, driven by the WebDriver protocol."""

from __future__ import annotations

import json
import os
import re
import selectors
import shutil
import signal
import subprocess
import time
from base64 import b64decode
from contextlib import contextmanager, suppress
from http.client import HTTPConnection
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
DRIVER = "chromedriver"
TIMEOUT = 60
"""Seconds that starting, or any one command, may take on a busy machine."""

_FLAGS = (
    "--headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage --disable-quic --no-first-run --disable-sync "
    "--disable-background-networking --disable-component-update --disable-default-apps --disable-extensions "
    "--window-size=1000,800"
)


class WebDriverError(Exception):
    """What the driver refuses to do."""


def find_browser() -> tuple[str, str] | None:
    """The browser and its driver, where both are installed."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    driver = shutil.which(DRIVER)
    return (browser, driver) if browser and driver else None


class Browser:
    """A session of a browser."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._session = ""
        self.process: int | None = None

    def start(self, binary: str, profile: Path) -> None:
        options = {"binary": binary, "args": [*_FLAGS.split(), f"--user-data-dir={profile}"]}
        wanted = {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"}}
        answer = self._send("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
        self._session = f"/session/{answer['sessionId']}"
        self.process = answer["capabilities"].get("goog:processID")

    def stop(self) -> None:
        if self._session:
            self._send("DELETE", self._session)

    def open(self, page: Path) -> None:
        """Open a page of the file system; what the one before had logged is dropped."""
        self.logs("browser")
        self.logs("performance")
        self._post("/url", {"url": page.as_uri()})

    def visit(self, url: str) -> None:
        """Open a page of a server, without what the browser has logged before."""
        self.logs("browser")
        self._post("/url", {"url": url})

    def source(self) -> str:
        """The source of the page, which can be read while scripts are disabled."""
        return str(self._send("GET", f"{self._session}/source"))

    def screenshot(self, file: Path) -> None:
        """Save the whole page as a picture."""
        height = self.run("return document.documentElement.scrollHeight")
        width = self.run("return innerWidth")
        clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
        shot = self.devtools("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)
        file.write_bytes(b64decode(shot["data"]))

    def press(self, keys: str) -> None:
        """Press keys wherever the focus is."""
        pressed = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        self._post("/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": pressed}]})

    def wait(self, script: str) -> Any:
        """Run a script, and return what it gives to its callback, `arguments[0]`."""
        return self._post("/execute/async", {"script": script, "args": []})

    def until(self, condition: str) -> None:
        """Wait for something on the page, also across pages."""
        deadline = time.monotonic() + TIMEOUT
        while True:
            with suppress(WebDriverError):  # the page is being replaced
                if self.run(f"return {condition}"):
                    return
            assert time.monotonic() < deadline, condition
            time.sleep(0.05)

    def leave(self, script: str, *args: Any) -> None:
        """Run a script that leads to another page, and wait for that page."""
        self.run("window.isOld = true;" + script, *args)
        self.until("window.isOld === undefined && document.readyState === 'complete'")

    def run(self, script: str, *args: Any) -> Any:
        """What a function body in JavaScript returns."""
        return self._post("/execute/sync", {"script": script, "args": args})

    def frame(self, script: str = "") -> None:
        """Run a script, and wait until the browser has drawn what comes of it."""
        waiting = "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => done(null)));"
        self._post("/execute/async", {"script": f"{script};{waiting}", "args": []})

    def devtools(self, command: str, **params: Any) -> Any:
        return self._post("/goog/cdp/execute", {"cmd": command, "params": params})

    def logs(self, kind: str) -> list[dict[str, Any]]:
        entries: list[dict[str, Any]] = self._post("/se/log", {"type": kind})
        return entries

    def requests(self) -> list[str]:
        """The address of everything that the page has asked for, and nothing that the browser's own start page has."""
        events = [json.loads(entry["message"])["message"] for entry in self.logs("performance")]
        sent = [each["params"] for each in events if each["method"] == "Network.requestWillBeSent"]
        return [each["request"]["url"] for each in sent if not each["documentURL"].startswith("chrome:")]

    def type(self, selector: str, keys: str) -> None:
        """Press keys in a field, as a person does."""
        (element,) = self._post("/element", {"using": "css selector", "value": selector}).values()
        self._post(f"/element/{element}/value", {"text": keys})

    def click(self, selector: str) -> None:
        (element,) = self._post("/element", {"using": "css selector", "value": selector}).values()
        self._post(f"/element/{element}/click", {})

    def resize(self, width: int, height: int = 800) -> None:
        """Give the page a width, which may be less than a window can have."""
        self.devtools(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False
        )

    def prefer(self, scheme: str) -> None:
        """Ask for light or dark colours."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.devtools("Emulation.setEmulatedMedia", features=features)

    def _post(self, path: str, body: dict[str, Any]) -> Any:
        return self._send("POST", self._session + path, body)

    def _send(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        connection = HTTPConnection("127.0.0.1", self._port, timeout=TIMEOUT)
        try:
            data = None if body is None else json.dumps(body).encode()
            connection.request(method, path, data, {"Content-Type": "application/json"})
            value = json.loads(connection.getresponse().read())["value"]
        finally:
            connection.close()
        if isinstance(value, dict) and "error" in value:
            raise WebDriverError(f"{path}: {value['error']}: {value.get('message')}")
        return value


@contextmanager
def browser_session(folder: Path) -> Iterator[Browser]:
    """A browser; the test is skipped where there is none, or fails if one is required."""
    found = find_browser()
    if found is None:
        missing = (
            f"no browser: needs one of {', '.join(BROWSERS)}, and {DRIVER}; scripts/install_test_tools.sh gets them"
        )
        if os.environ.get("MCPROOF_REQUIRE_BROWSER"):
            pytest.fail(missing)
        pytest.skip(missing)
    with browsing(*found, folder) as session:
        yield session


@contextmanager
def browsing(binary: str, driver: str, folder: Path) -> Iterator[Browser]:
    """A browser with a profile of its own, of which nothing is left afterwards."""
    process = subprocess.Popen(
        [driver, "--port=0"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        env={**os.environ, "HOME": str(folder)},
    )
    browser = None
    try:
        browser = Browser(_port_of(process))
        browser.start(binary, folder / "profile")
        yield browser
    finally:
        with suppress(OSError, ValueError, WebDriverError):
            if browser is not None:
                browser.stop()
        for leader in (browser.process if browser is not None else None, process.pid):
            if leader is not None:
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(leader, signal.SIGKILL)
        process.wait(TIMEOUT)
        if process.stdout is not None:
            process.stdout.close()


def _port_of(process: subprocess.Popen[bytes]) -> int:
    """The port that the driver says it listens on."""
    assert process.stdout is not None
    deadline = time.monotonic() + TIMEOUT
    said = b""
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while (left := deadline - time.monotonic()) > 0 and selector.select(left):
            chunk = os.read(process.stdout.fileno(), 4096)
            said += chunk
            if found := re.search(rb"successfully on port (\d+)", said):
                return int(found[1])
            if not chunk:
                break
    raise WebDriverError(f"the driver did not start: {said.decode(errors='replace')}")
