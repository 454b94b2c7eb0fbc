"""Helpers: capture test servers and inspect the captures."""

from __future__ import annotations

import gc
import json
import os
import sys
from pathlib import Path
from time import sleep
from typing import Any

from limits import hang_limit
from mcproof.client.capture import Capture, capture_all
from mcproof.client.connect import ConnectOptions
from mcproof.client.connection import Limits
from mcproof.client.endpoints import CommandEndpoint, UrlEndpoint
from mcproof.client.errors import ConnectError
from servers import raw

PATIENT = Limits(start=30, request=30, total=60, grace=30)
"""Limits that no good server reaches on a busy machine; whoever tests a limit lowers that one."""

SDK = str(Path(raw.__file__).with_name("sdk.py"))
"""A server of the official SDK, whose import takes a second."""
RAW = (sys.executable, "-I", "-S", raw.__file__)


def command(fault: str, *arguments: str, **environment: str) -> CommandEndpoint:
    return CommandEndpoint((*RAW, fault, *arguments), environment)


def outcome(
    server: CommandEndpoint | UrlEndpoint, limits: Limits = PATIENT, protocol: str | None = None
) -> Capture | ConnectError:
    """What becomes of a server; whatever is left open shows now, and not in some other test."""
    finished: list[object] = []
    (result,), interrupted = capture_all([server], ConnectOptions(limits, protocol), finished.append)
    assert finished == [server]
    assert result is not None
    assert not interrupted
    gc.collect()
    return result


def captured(server: CommandEndpoint | UrlEndpoint, limits: Limits = PATIENT, protocol: str | None = None) -> Capture:
    result = outcome(server, limits, protocol)
    assert isinstance(result, Capture), result
    json.loads(result.text.encode(), parse_constant=_no_constant)
    return result


def _no_constant(word: str) -> None:
    raise AssertionError(word)


def refused(server: CommandEndpoint | UrlEndpoint, limits: Limits = PATIENT, protocol: str | None = None) -> str:
    result = outcome(server, limits, protocol)
    assert isinstance(result, ConnectError), result
    assert result.file == server.label
    return result.message


def noted(capture: Capture) -> list[tuple[str, str]]:
    return [(each.kind, each.detail) for each in capture.connection.anomalies]


def kinds(capture: Capture) -> list[str]:
    return [each.kind for each in capture.connection.anomalies]


def document(capture: Capture) -> Any:
    return json.loads(capture.text)


def tool_names(capture: Capture) -> list[str]:
    return [tool["name"] for tool in document(capture)["tools"]]


def processes(marker: str) -> list[str]:
    """The processes whose command line has this word in it. Zombies have none."""
    found = []
    for number in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{number}/cmdline", "rb") as line:
                words = line.read()
        except OSError:
            continue
        if marker.encode() in words and int(number) != os.getpid():
            found.append(f"{number}: {words!r}")
    return found


def assert_nothing_is_left(marker: str) -> None:
    """A process that was killed takes a moment to go."""
    with hang_limit(30):
        while processes(marker):
            sleep(0.01)


def children() -> list[str]:
    """The children of this process, zombies included."""
    with open(f"/proc/self/task/{os.getpid()}/children", encoding="ascii") as listed:
        return listed.read().split()
