"""Both databases, each with an empty store."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

from mcproof.services.store.database import open_database

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mcproof.services.store.database import Database


@pytest.fixture(params=["sqlite", "postgres"])
def word(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A new, empty store as `--database` names it."""
    if request.param == "sqlite":
        return str(tmp_path / "store.sqlite")
    return new_database(request.getfixturevalue("postgres"))


def new_database(url: str) -> str:
    """Create a database with the word order of a language, as most have, and return its URL."""
    import psycopg

    name = f"t{uuid4().hex}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'cs-CZ'")
    return url.replace("/postgres?", f"/{name}?")


@pytest.fixture
def database(word: str) -> Iterator[Database]:
    opened = open_database(word)
    yield opened
    opened.close()
