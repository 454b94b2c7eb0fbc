"""An empty store in a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mcproof.store.database import open_database

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mcproof.store.database import Database


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = open_database(str(tmp_path / "store.sqlite"))
    yield opened
    opened.close()
