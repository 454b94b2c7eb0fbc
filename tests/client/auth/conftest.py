"""A browser that follows redirects, and a state folder of its own for each test."""

from __future__ import annotations

import urllib.error
import urllib.request
import webbrowser
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "mcproof" / "tokens"


@pytest.fixture
def visited(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The addresses that the browser has opened; every user grants everything."""
    opened: list[str] = []

    def visit(url: str) -> bool:
        opened.append(url)
        try:
            urllib.request.urlopen(url, timeout=30).close()  # noqa: S310
        except urllib.error.HTTPError as error:
            error.close()
        except OSError:
            pass
        return True

    monkeypatch.setenv("BROWSER", "the test")
    monkeypatch.setattr(webbrowser, "open", visit)
    return opened
