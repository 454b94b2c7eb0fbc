"""What the tests of trying servers out share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mcproof.proof import sending

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to be in, as failures are stored in the folder where mcproof is started."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """No time is given to servers that end some time after an answer; for tests in which none does."""
    monkeypatch.setattr(sending, "SETTLE", 0.0)
