"""How often the commands that call a server start it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from mcproof.probing.fuzz import campaign
from mcproof.runs import prove
from probing.running import small_server, tool, tried

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("hurried")
TEXT = {"type": "string"}


@pytest.fixture(autouse=True)
def single(monkeypatch: pytest.MonkeyPatch) -> None:
    """Probes go to one process; how soon there are more depends on the machine."""
    monkeypatch.setattr(prove, "MOST_PROBE_PROCESSES", 1)


@pytest.fixture
def log(here: Path) -> Path:
    """A file that gets a line for each start."""
    return here / "starts"


def counted(log: Path, tools: list[Any], *habits: str, script: str = 'exec "$@"') -> list[str]:
    """The end of a command line for a small server that records its starts."""
    dashes, *words = small_server(tools, *habits)
    return [dashes, "sh", "-c", f'echo started >> "{log}"; {script}', "sh", *words]


def starts(log: Path) -> int:
    return len(log.read_text().splitlines())


@pytest.mark.parametrize("command", [["probe"], ["fuzz", "--processes=1", "--cases=5"]])
def test_a_good_server_is_started_once(log: Path, command: list[str]) -> None:
    tried(*command, *counted(log, [tool(text=TEXT)]))
    assert starts(log) == 1


def test_the_protocol_probes_need_three_more(log: Path) -> None:
    """`not_json`, `not_object` and `bad_version` are sent over connections of their own."""
    tried("prove", *counted(log, [tool(text=TEXT)]))
    assert starts(log) == 4


def test_little_work_needs_no_further_process(log: Path) -> None:
    tools = [tool(name, text=TEXT) for name in ("read", "list", "find")]
    tried("fuzz", "--processes=2", "--cases=5", *counted(log, tools))
    assert starts(log) == 1


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 3])
def test_each_further_process_of_fuzzing_is_a_start(log: Path, monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    monkeypatch.setattr(campaign, "START_DELAY", 0.0)
    tools = [tool(name, text=TEXT) for name in ("read", "list", "find")]
    tried("fuzz", "--processes=2", "--cases=60", *counted(log, tools[:count], "slow"))
    assert starts(log) == 2


@pytest.mark.slow
def test_a_server_that_allows_one_process_is_fuzzed_over_that_one(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(campaign, "START_DELAY", 0.0)
    only_once = f'test $(wc -l < "{log}") = 1 || exit 3; exec "$@"'
    document = tried("fuzz", "--processes=3", "--cases=60", *counted(log, [tool(text=TEXT)], "slow", script=only_once))
    assert document["cases"] == 60
    assert document["not_tested"] == []


def test_a_crash_costs_one_more_to_blame_it(log: Path) -> None:
    """The call with every argument, which comes last, ends the server."""
    tools = [tool(text=TEXT)]
    tools[0]["inputSchema"]["required"] = ["text"]
    document = tried("probe", "--checks=unknown_tool", *counted(log, tools, "dies-of-full"))
    assert "WIR-017" in str(document)
    assert starts(log) == 2


@pytest.mark.slow
def test_how_the_server_ends_is_seen_after_the_calls(log: Path) -> None:
    """The exit is a fact for the rules, though it comes after the last call."""
    document = tried("probe", *counted(log, [tool(text=TEXT)], script='"$@"; exec sleep 60'))
    assert starts(log) == 2  # another one confirms it
    assert "WIR-008" in str(document)


def test_noise_at_the_end_is_seen_after_the_calls(log: Path) -> None:
    document = tried("probe", *counted(log, [tool(text=TEXT)], script='"$@"; echo bye'))
    assert starts(log) == 1
    assert "WIR-001" in str(document)
