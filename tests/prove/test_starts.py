"""How often the commands that call a server start it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from prove.running import small_server, tool, tried

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("hurried")
TEXT = {"type": "string"}


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


def test_the_protocol_probes_need_two_more(log: Path) -> None:
    """`not_json` and `bad_version` are sent over connections of their own."""
    tried("prove", *counted(log, [tool(text=TEXT)]))
    assert starts(log) == 3


def test_each_further_process_of_fuzzing_is_a_start(log: Path) -> None:
    tools = [tool(name, text=TEXT) for name in ("read", "list", "find")]
    tried("fuzz", "--processes=2", "--cases=5", *counted(log, tools))
    assert starts(log) == 2


def test_a_crash_costs_one_to_blame_it_and_one_to_see_the_exit(log: Path) -> None:
    """The call with every argument, which comes last, ends the server."""
    tools = [tool(text=TEXT)]
    tools[0]["inputSchema"]["required"] = ["text"]
    document = tried("probe", "--checks=unknown_tool", *counted(log, tools, "dies-of-full"))
    assert "WIR-017" in str(document)
    assert starts(log) == 3


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
