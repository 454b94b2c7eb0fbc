"""The API, fuzzed from its own OpenAPI document: no crash, and every response is one that the document describes."""

from __future__ import annotations

from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING

import pytest

from mcproof.services.store.database import open_database
from mcproof.services.store.queries import history_of
from mcproof.services.store.recording import record_run
from mcproof.services.web.server import WebSettings, create_service
from services.store.runs import BAD, GOOD, judged, linted, scanned

from .fuzzing import MODES, fuzz, operations_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

    from fastapi import FastAPI
    from schemathesis import GenerationMode

EXAMPLES = 12
COMMANDS = ["lint", "grade", "compat", "scan", "diff"]


@contextmanager
def fuzzed_service(folder: Path) -> Iterator[FastAPI]:
    """A service over a store with two servers."""
    database = open_database(str(folder / "store.sqlite"))
    record_run(database, linted(BAD), [BAD.decode()], "books")
    record_run(database, judged(BAD), [BAD.decode()], "books")
    record_run(database, scanned(GOOD), [GOOD.decode()], "https://host.example/mcp?x=1")
    created = create_service(database, WebSettings(hosts=("*",), requests_a_minute=1_000_000))
    created.router.lifespan_context = _endless  # schemathesis would start and stop it for each request
    yield created
    created.state.visits.close()
    database.close()


@asynccontextmanager
async def _endless(_: object) -> AsyncIterator[None]:
    yield


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FastAPI]:
    with fuzzed_service(tmp_path_factory.mktemp("store")) as created:
        yield created


def known_parameters(service: FastAPI) -> dict[str, list[str]]:
    """Parameters of paths that exist."""
    runs = history_of(service.state.database, "books", 2).runs
    return {"name": ["books"], "uid": [run.uid for run in runs], "id": ["SCH-001", "tool-no-type"], "command": COMMANDS}


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.value)
def test_no_request_breaks_the_api(service: FastAPI, mode: GenerationMode) -> None:
    known = known_parameters(service)
    sent = {name: fuzz(operation, mode, EXAMPLES, known) for name, operation in operations_of(service).items()}
    assert sent["GET /api/v1/servers"] >= EXAMPLES
    assert {"GET /api/v1/runs/{uid}/findings", "POST /api/v1/{command}"} <= set(sent)
