"""Certificates, and names that lead to this machine."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Any

import pytest

from servers.certificates import Authority

if TYPE_CHECKING:
    from pathlib import Path

PUBLIC_NAME = "mcp.weather.test"
"""A name that looks public and resolves to this machine."""


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


@pytest.fixture
def trusted(authority: Authority, monkeypatch: pytest.MonkeyPatch) -> Authority:
    """An authority that the system trusts."""
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
    return authority


@pytest.fixture(autouse=True)
def _names(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names in `.test` resolve to this machine, and all others to nothing."""
    usual = socket.getaddrinfo

    def resolve(host: Any, *arguments: Any, **options: Any) -> Any:
        name = host.decode() if isinstance(host, bytes) else str(host)
        if name.endswith(".test"):
            host = "127.0.0.1"
        elif name.rpartition(".")[2].isalpha() and name != "localhost":
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return usual(host, *arguments, **options)

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
