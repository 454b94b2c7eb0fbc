"""Servers built with the official SDK: the same catalog over every transport and in both eras, without anomalies."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from mcproof.client.endpoints import CommandEndpoint, UrlEndpoint
from mcproof.core.observations.connection import ProcessEnd

from .running import SDK, captured, document

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.client.capture import Capture

SERVER = CommandEndpoint((sys.executable, SDK), {})
LISTS = ("tools", "resources", "resourceTemplates", "prompts")


@pytest.fixture(scope="module")
def ports() -> Iterator[tuple[int, int]]:
    """Where one process serves Streamable HTTP and the older transport."""
    process = subprocess.Popen([*SERVER.words, "web"], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    with process.stdout:
        streamable, legacy = process.stdout.readline().split()
    yield int(streamable), int(legacy)
    process.kill()
    process.wait(30)


@pytest.fixture(scope="module")
def expected() -> dict[str, Any]:
    """What the server lists, as a client of the newer era sees it on standard output."""
    return lists(captured(SERVER, protocol="2026-07-28"))


def lists(capture: Capture) -> dict[str, Any]:
    assert capture.connection.anomalies == ()
    assert capture.connection.unserved == ()
    return {key: document(capture)[key] for key in LISTS}


def test_it_lists_everything(expected: dict[str, Any]) -> None:
    assert [tool["name"] for tool in expected["tools"]] == ["find_book", "lend_book"]
    assert [len(expected[key]) for key in LISTS] == [2, 1, 1, 1]


@pytest.mark.parametrize(("protocol", "era"), [(None, "stateless"), ("2025-06-18", "handshake")])
def test_on_standard_output(protocol: str | None, era: str, expected: dict[str, Any]) -> None:
    capture = captured(SERVER, protocol=protocol)
    assert lists(capture) == expected
    assert (capture.connection.transport, capture.connection.era) == ("stdio", era)
    assert capture.connection.agreed == (protocol or "2026-07-28")
    assert capture.connection.ending == ProcessEnd("by-itself", 0)


@pytest.mark.parametrize(
    ("protocol", "era"),
    [
        (None, "stateless"),
        ("2026-07-28", "stateless"),
        ("2025-11-25", "handshake"),
        ("2025-03-26", "handshake"),
        ("2024-11-05", "handshake"),
    ],
)
def test_over_streamable_http(protocol: str | None, era: str, ports: tuple[int, int], expected: dict[str, Any]) -> None:
    capture = captured(UrlEndpoint(f"http://127.0.0.1:{ports[0]}/mcp", {}), protocol=protocol)
    assert lists(capture) == expected
    assert (capture.connection.transport, capture.connection.era) == ("http", era)
    assert capture.connection.agreed == (protocol or "2026-07-28")


@pytest.mark.parametrize("protocol", [None, "2025-06-18"])
def test_over_the_older_transport(protocol: str | None, ports: tuple[int, int], expected: dict[str, Any]) -> None:
    capture = captured(UrlEndpoint(f"http://127.0.0.1:{ports[1]}/sse", {}), protocol=protocol)
    assert lists(capture) == expected
    assert (capture.connection.transport, capture.connection.era) == ("sse", "handshake")
    assert capture.connection.agreed == (protocol or "2024-11-05")
