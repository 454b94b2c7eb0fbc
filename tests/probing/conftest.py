"""Fixtures of the tests that probe servers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from client.in_memory import in_memory
from mcproof.probing.fuzz import tool
from mcproof.probing.fuzz import tool as sender
from mcproof.probing.probes import blame, promises

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from client.in_memory import InMemory


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to be in, as failures are stored in the folder where mcproof is started."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def memory() -> Iterator[InMemory]:
    """The servers of `contract.py` run in this process, and no wait for them takes time."""
    with in_memory() as servers:
        yield servers


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """No time is given to servers that end some time after an answer; for tests in which none does."""
    monkeypatch.setattr(blame, "SETTLE", 0.0)
    monkeypatch.setattr(promises, "_SETTLE", 0.05)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Little is spent on servers that do not answer; for tests in which one never does."""
    monkeypatch.setattr(blame, "QUICK", 1.0)
    monkeypatch.setattr(blame, "LONGER", 1.5)
    monkeypatch.setattr(tool, "MOST_HANGS", 1)
    monkeypatch.setattr(sender, "MOST_SLOW_CALLS", 2)
