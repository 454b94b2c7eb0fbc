"""axe-core, the accessibility checker: taken from npm when the tests run, never part of this repository."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from tempfile import gettempdir, mkdtemp
from typing import TYPE_CHECKING, Any

import pytest

from limits import HANG

if TYPE_CHECKING:
    from report.browser import Browser

VERSION = "4.10.2"
_FILE = Path("node_modules", "axe-core", "axe.min.js")
SERIOUS = ("serious", "critical")


def axe_script() -> str:
    """The script, from a cache folder or from npm; the test is skipped where neither has it."""
    folder = Path(os.environ.get("XDG_CACHE_HOME") or gettempdir(), f"mcproof-tests-axe-{VERSION}")
    if not (folder / _FILE).exists() and (missing := _install(folder)):
        if os.environ.get("MCPROOF_REQUIRE_BROWSER"):
            pytest.fail(missing)
        pytest.skip(missing)
    return (folder / _FILE).read_text(encoding="utf-8")


def _install(folder: Path) -> str:
    """Install it in a folder. Returns why that is not possible; several processes may try at once."""
    npm = shutil.which("npm")
    if npm is None:
        return "no npm to install axe-core"
    folder.parent.mkdir(parents=True, exist_ok=True)
    place = mkdtemp(dir=folder.parent)
    command = [npm, "install", "--no-save", "--ignore-scripts", "--no-audit", "--prefix", place, f"axe-core@{VERSION}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=HANG, check=False, stdin=subprocess.DEVNULL)
    if done.returncode:
        shutil.rmtree(place)
        return f"npm cannot install axe-core: {done.stderr.strip().splitlines()[-1:]}"
    try:
        Path(place).rename(folder)
    except OSError:  # another process was faster
        shutil.rmtree(place)
    return ""


def barriers(browser: Browser, script: str) -> list[str]:
    """What axe-core finds on the page in view and rates as serious: everything in light colours, contrast in dark."""
    browser.devtools("Runtime.evaluate", expression=script)  # as a debugger does: the policy of the page stays as it is
    found = []
    for scheme, options in (("light", "{}"), ("dark", "{runOnly: ['color-contrast']}")):
        browser.prefer(scheme)
        browser.frame()
        run = f"const done = arguments[0]; axe.run(document, {options}).then(done, error => done(String(error)));"
        result: Any = browser.wait(run)
        assert isinstance(result, dict), result
        found += [
            f"{scheme}: {each['id']}: {each['help']}: {node['html'][:200]}: {node.get('failureSummary', '')}"
            for each in result["violations"]
            if each["impact"] in SERIOUS
            for node in each["nodes"][:3]
        ]
    return found
