"""Stores, servers and services that several tests use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from mcproof.services.store.database import open_database
from mcproof.services.web.reading import StoreReader
from mcproof.services.web.visits import Visits
from servers.web import Web
from services.web.visiting import visiting

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from starlette.testclient import TestClient

    from mcproof.services.store.database import Database


@pytest.fixture(autouse=True, scope="module")
def _workers() -> Iterator[list[Visits | StoreReader]]:
    """What starts workers in services that a test calls without ever starting or stopping them; ended in the end."""
    started: list[Visits | StoreReader] = []

    def noting(initialize: Any) -> Any:
        def noted(workers: Any, *arguments: Any, **named: Any) -> None:
            initialize(workers, *arguments, **named)
            started.append(workers)

        return noted

    with pytest.MonkeyPatch.context() as patched:
        for kind in (Visits, StoreReader):
            patched.setattr(kind, "__init__", noting(kind.__init__))
        yield started
    for workers in started:
        workers.close()


@pytest.fixture(autouse=True)
def _stays_quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the priority of the process of the tests as it is, where they do the work of a worker."""
    monkeypatch.setattr("os.nice", lambda _: 0)


@pytest.fixture(autouse=True)
def _no_worker_is_left(_workers: list[Visits | StoreReader]) -> Iterator[None]:
    """End the workers of the services that a test makes for itself."""
    before = len(_workers)
    yield
    while len(_workers) > before:
        _workers.pop().close()


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
