"""Stores, servers and services that several tests use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from mcproof.services.store.database import open_database
from mcproof.services.web.visits import Visits
from servers.web import Web
from services.web.visiting import visiting

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from starlette.testclient import TestClient

    from mcproof.services.store.database import Database


@pytest.fixture(autouse=True)
def _no_worker_is_left(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """End the workers of services that a test calls without ever starting or stopping them."""
    started: list[Visits] = []

    def noted(visits: Visits, *arguments: Any, **named: Any) -> None:
        initialize(visits, *arguments, **named)
        started.append(visits)

    initialize = Visits.__init__
    monkeypatch.setattr(Visits, "__init__", noted)
    yield
    for visits in started:
        visits.close()


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    """An empty store in a file."""
    opened = open_database(str(tmp_path / "store.sqlite"))
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """A service for visitors."""
    with visiting(tmp_path_factory.mktemp("store")) as client:
        yield client


@pytest.fixture(scope="module")
def server() -> Iterator[Web]:
    """An MCP server on this machine."""
    with Web() as running:
        yield running
