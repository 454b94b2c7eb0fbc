"""A slow start and a failed exit are findings only if a second process shows them; output at the end always is."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest

from mcproof.checks.rules import wire
from mcproof.client import waiting
from mcproof.client.transports.processes import CpuUsage
from mcproof.core.observations.connection import SLOW_START
from probing.running import tried
from servers import slow

if TYPE_CHECKING:
    from pathlib import Path

SLOW = ("--", sys.executable, "-I", "-S", slow.__file__)
LIVE = ("WIR-001", "WIR-007", "WIR-008")
COMMANDS = pytest.mark.parametrize(
    "words",
    [("lint",), ("prove", "--checks", "unknown_tool"), ("fuzz", "--cases", "2")],
    ids=lambda words: str(words[0]),
)


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def found(words: tuple[str, ...], *command: str) -> list[tuple[str, str]]:
    document: Any = tried(*words, *command)
    return [(each["rule"], each["message"]) for each in document["findings"] if each["rule"] in LIVE]


@pytest.fixture
def quick_exit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "GRACE", 0.5)
    monkeypatch.setattr(waiting, "LONGER_GRACE", 1.0)


def slow_start_after(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    for module in (waiting, wire):
        assert vars(module)["SLOW_START"] == SLOW_START
        monkeypatch.setattr(module, "SLOW_START", seconds)


@pytest.mark.slow
@COMMANDS
@pytest.mark.usefixtures("quick_exit")
def test_a_process_that_never_ends_is_found(words: tuple[str, ...]) -> None:
    assert [rule for rule, _ in found(words, *SLOW, "never-ends")] == ["WIR-008"]


@pytest.mark.slow
@COMMANDS
def test_a_process_that_ends_after_three_seconds_is_in_order(words: tuple[str, ...]) -> None:
    assert found(words, *SLOW, "ends-late=3") == []


@pytest.mark.usefixtures("quick_exit")
def test_a_process_that_ends_the_second_time_is_in_order(tmp_path: Path) -> None:
    assert found(("lint",), *_first_time(tmp_path, "never-ends")) == []


@COMMANDS
def test_text_printed_at_the_end_is_found(words: tuple[str, ...]) -> None:
    [(rule, message)] = found(words, *SLOW, "says-bye")
    assert rule == "WIR-001"
    assert message == "sends lines that are not JSON: goodbye"


@pytest.mark.parametrize("command", ["prove", "fuzz"])
def test_text_printed_during_calls_is_found(command: str) -> None:
    [(rule, message)] = found((command,), *SLOW, "says-hello")
    assert rule == "WIR-001"
    assert "hello" in message


def test_a_start_that_is_slow_twice_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    slow_start_after(monkeypatch, 0.3)
    [(rule, _)] = found(("lint",), *SLOW, "starts-late=0.6")
    assert rule == "WIR-007"


def test_a_start_that_is_slow_once_is_in_order(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    slow_start_after(monkeypatch, 2)
    assert found(("lint",), *_first_time(tmp_path, "starts-late=2.5")) == []


def test_time_without_a_cpu_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    slow_start_after(monkeypatch, 0.3)
    monkeypatch.setattr("mcproof.client.transports.stdio.cpu_usage", lambda _: CpuUsage(used=0.1, waited=100.0))
    assert found(("lint",), *SLOW, "starts-late=0.6") == []


def _first_time(folder: Path, habit: str) -> list[str]:
    """A command whose server has a habit only the first time that it is started."""
    mark = folder / "started"
    script = f'if [ -e {mark} ]; then exec "$0" "$@"; else touch {mark}; exec "$0" "$@" {habit}; fi'
    return ["--", "sh", "-c", script, *SLOW[1:]]
