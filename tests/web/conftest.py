"""Servers and services that several tests use."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from servers.web import Web
from web.visiting import visiting

if TYPE_CHECKING:
    from collections.abc import Iterator

    from starlette.testclient import TestClient


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    with visiting(tmp_path_factory.mktemp("store")) as client:
        yield client


@pytest.fixture(scope="module")
def server() -> Iterator[Web]:
    with Web() as running:
        yield running
