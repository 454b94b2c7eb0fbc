"""A hang is one only if the request hangs again, alone, on a server that neither computes nor waits for a CPU."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from mcproof.cli.main import main
from mcproof.client import waiting
from servers import slow

from .running import at_once, tried

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SLOW = ("--", sys.executable, "-I", "-S", slow.__file__)
ONLY = ("--checks", "missing_required")

pytestmark = [pytest.mark.usefixtures("here", "hurried"), pytest.mark.slow]
needs_proc = pytest.mark.skipif(not os.path.exists("/proc/self/schedstat"), reason="needs /proc")


@contextlib.contextmanager
def busy_loops(count: int) -> Iterator[None]:
    """Processes beside the test that use every CPU."""
    loops = [subprocess.Popen([sys.executable, "-I", "-S", "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for each in loops:
            each.kill()
            each.wait()


def ends(document: Any) -> list[tuple[str, str]]:
    """The findings about crashes and hangs."""
    return [(each["rule"], each["message"]) for each in document["findings"] if each["rule"] in ("WIR-017", "WIR-018")]


def proven(limit: float, *habits: str) -> list[tuple[str, str]]:
    return ends(tried("prove", "--max-call-ms", str(int(limit * 1000)), *ONLY, *SLOW, *habits))


def test_a_server_that_sleeps_hangs() -> None:
    [(rule, message)] = proven(0.5, "sleeps")
    assert rule == "WIR-018"
    assert message.endswith("no response within 1.5 seconds; other requests still get responses")


@needs_proc
def test_a_server_that_spins_hangs() -> None:
    [(rule, message)] = proven(0.25, "spins")
    assert rule == "WIR-018"
    assert message.endswith("no response within 0.75 seconds of CPU time; the server no longer responds")


@needs_proc
def test_a_server_that_computes_longer_than_the_limit_does_not_hang() -> None:
    assert proven(0.6, "computes=0.9") == []


def test_a_server_that_waits_for_something_longer_than_the_limit_does_not_hang() -> None:
    assert proven(1, "waits=1.6") == []


def test_a_server_that_ends_after_a_hang_has_crashed() -> None:
    found = proven(0.5, "dies-of-next")
    assert {rule for rule, _ in found} == {"WIR-017"}
    assert all("exited with code 5" in message and "still" not in message for _, message in found)


@needs_proc
def test_on_a_busy_machine_what_sleeps_hangs_and_what_computes_does_not(here: Path) -> None:
    def found(habit: str) -> list[str]:
        file = here / f".{habit}.json"
        main(["prove", "--max-call-ms", "600", *ONLY, "--output", f"json:{file}", *SLOW, habit])
        return [rule for rule, _ in ends(json.loads(file.read_text(encoding="utf-8")))]

    # Both at once, as every second of them costs as many seconds of CPU time as there are CPUs.
    with busy_loops(2 * (os.cpu_count() or 1)):
        assert at_once(found, ["computes=0.9", "sleeps"]) == {"computes=0.9": [], "sleeps": ["WIR-018"]}


@needs_proc
def test_a_machine_that_is_too_busy_to_tell_makes_no_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "HARD_FACTOR", 1.5)
    monkeypatch.setattr(waiting, "HARD_LEAST", 0.0)
    monkeypatch.setattr(waiting, "_STARVED", -1.0)
    document = tried("prove", "--max-call-ms", "400", *ONLY, *SLOW, "computes=100")
    assert ends(document) == []


def test_without_cpu_times_a_hang_is_a_matter_of_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcproof.client.transports.stdio.cpu_usage", lambda _: None)
    [(rule, message)] = proven(0.4, "spins")
    assert rule == "WIR-018"
    assert "no response within 1.2 seconds; the server no longer responds" in message


def test_fuzzing_confirms_hangs_too() -> None:
    words = ("--max-call-ms", "1000", "--cases", "3", *SLOW)
    assert ends(tried("fuzz", *words, "waits=1.2")) == []
    [(rule, _)] = ends(tried("fuzz", *words, "sleeps", code=1))
    assert rule == "WIR-018"
