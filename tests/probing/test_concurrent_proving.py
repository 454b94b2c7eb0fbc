"""`prove` with several server processes, and with a time limit."""

from __future__ import annotations

import json
import re
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

from mcproof import runs
from mcproof.client.capture import OpenServer
from mcproof.client.connect import ConnectOptions
from mcproof.client.endpoints import CommandEndpoint
from mcproof.probing import calls
from mcproof.probing.probes import promises, session
from mcproof.runs import execute, prove
from mcproof.runs.events import ProgressMade
from mcproof.runs.requests import ProveRequest, TargetSelection
from mcproof.targets.arguments import LiveOptions

from .running import SMALL, command, mcproof, small_server, tool, tried

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("here", "hurried")
TEXT = {"type": "string", "maxLength": 20}


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Further processes are started at once."""
    monkeypatch.setattr(session, "START_DELAY", 0.0)


def closed(name: str) -> dict[str, Any]:
    made = tool(name, text=TEXT, count={"type": "integer", "minimum": 1})
    made["inputSchema"] |= {"required": ["text"], "additionalProperties": False}
    return made


@pytest.mark.slow
@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize(
    "fault", ["good", "accepts-wrong-type", "crash-on-wrong-type", "crash-after-answer", "leaks-path"]
)
def test_the_number_of_processes_does_not_change_the_report(monkeypatch: pytest.MonkeyPatch, fault: str) -> None:
    printed = set()
    for number in (1, 4):
        monkeypatch.setattr(prove, "MOST_PROBE_PROCESSES", number)
        printed.add(mcproof("prove", "--format", "json", "--", *command(fault)).output)
    assert len(printed) == 1


def starts(file: Path, words: list[str]) -> list[str]:
    """A command line that also records every start and call of its server."""
    dashes, *rest = words
    return ["--env", f"CALLED={file}", dashes, "sh", "-c", f'echo start >> "{file}"; exec "$@"', "sh", *rest]


@pytest.mark.slow
@pytest.mark.usefixtures("eager")
def test_several_processes_probe_one_tool(here: Path) -> None:
    log = here / "log"
    tried("prove", "--checks", "wrong_type", *starts(log, small_server([closed("read")], "slow", "refuses-unknown")))
    assert log.read_text().splitlines().count("start") > 1


@pytest.mark.usefixtures("eager")
def test_tools_that_may_change_something_are_called_one_at_a_time_in_order(here: Path) -> None:
    log = here / "log"
    tools = [closed("write_a"), closed("write_b")]
    words = ("--allow-writes", "--checks", "wrong_type")
    tried("prove", *words, *starts(log, small_server(tools, "slow", "refuses-unknown")))
    first, *calls = log.read_text().splitlines()
    assert first == "start"
    assert "start" not in calls
    names = [json.loads(call)[0] for call in calls]
    assert names == sorted(names)
    assert set(names) == {"write_a", "write_b"}


@pytest.mark.parametrize("name", ["probe", "prove"])
def test_a_run_out_of_time_is_incomplete(here: Path, name: str) -> None:
    tools = [closed(f"read_{number}") for number in range(30)]
    words = ("--max-time", "1", "--report", "run.json", *small_server(tools, "slow", "refuses-unknown"))
    done = mcproof(name, *words)
    assert done.code == 1
    assert "out of time: incomplete" in done.output.splitlines()[-1]
    assert "passed:" not in done.output
    document = tried(name, *words, code=1)
    why = {each["what"]: each["why"] for each in document["not_tested"]}
    assert next(reason for what, reason in why.items() if what.startswith("tool read_29")) == "time limit reached"
    (result,) = json.loads((here / "run.json").read_text())["targets"]
    assert {"gate": "complete", "limit": "all calls", "actual": "out of time", "passed": False} in result["gates"]
    if name == "prove":
        last = [each["verdict"] for each in document["matrix"] if each["tool"] == "read_29"]
        assert set(last) <= {"not tested", "not applicable"}


def test_invalid_calls_come_first_if_valid_ones_are_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "SLOW", 0.5)
    monkeypatch.setattr(prove, "MOST_PROBE_PROCESSES", 1)
    tools = [tool(f"read_{number}", text=TEXT) for number in range(20)]
    for listed in tools:
        listed["inputSchema"] |= {"required": ["text"], "additionalProperties": False}
    words = ("--max-time", "15", *small_server(tools, "works-slowly"))
    document = tried("prove", *words)
    assert document["promises"]["kept"] == document["promises"]["declared"] > 0
    assert "time limit reached" in {entry["why"] for entry in document["not_tested"]}


@pytest.mark.parametrize("kind", ["prove", "check"])
def test_calls_of_tools_come_before_probes_that_start_the_server_again(
    kind: str, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(promises, "_SETTLE", 100.0)  # such a probe takes all the time that is left
    monkeypatch.setattr(prove, "MOST_PROBE_PROCESSES", 1)
    log = here / "log"
    document = tried(kind, "--max-time", "6", *starts(log, small_server([closed("read")])))
    assert document["promises"]["kept"] + document["promises"]["broken"] > 0
    first, *rest = log.read_text().splitlines()
    assert first == "start"
    assert "read" not in rest[rest.index("start") :]
    left_out = {entry["what"]: entry["why"] for entry in document.get("not_tested", ())}
    assert (
        kind == "check"
        or dict.fromkeys(("not_json", "not_object", "bad_version"), "time limit reached").items() <= left_out.items()
    )


def test_the_screen_of_a_check_names_the_probes_that_it_did_not_try(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(promises, "_SETTLE", 100.0)
    done = mcproof("check", "--verbose", "--max-time", "4", *small_server([closed("read")]))
    assert "- not tried (time limit reached): not_json, not_object, bad_version\n" in done.output
    assert done.errors.startswith("mcproof: may call 1 tool")
    (seconds,) = re.findall(r": took (\S+) s\n", done.errors)
    assert float(seconds) >= 4, "the time in which tools are called counts"


@pytest.mark.parametrize("words", [("prove", "--security"), ("fuzz", "--security"), ("check",)])
def test_the_time_limit_counts_from_the_beginning(words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """What is done before the first call, such as reading source on a busy machine, is not added to it."""
    monkeypatch.setattr(runs, "monotonic", lambda: time.monotonic() - 100)
    begin = time.monotonic()
    document = tried(*words, "--max-time", "30", *small_server([closed("read")], "slow"))
    left_out = {entry["why"] for entry in document.get("not_tested", ()) if "tool read" in entry["what"]}
    assert left_out <= {"time limit reached"}
    assert left_out or document["promises"]["kept"] + document["promises"]["broken"] == 0
    assert time.monotonic() - begin < 15


def test_a_server_that_does_not_exit_is_not_waited_for_once_the_time_is_up() -> None:
    code = "import sys, time\nsys.argv.pop(0)\nexec(open(sys.argv[0]).read())\ntime.sleep(100)"
    endpoint = CommandEndpoint((sys.executable, "-I", "-S", "-c", code, SMALL[-1], "[]"), {})
    with OpenServer(endpoint, ConnectOptions(), 10) as server:
        server.capture()
        begin = time.monotonic()
        facts = server.close(seconds=0.0)
        assert time.monotonic() - begin < 5
    assert facts is not None
    assert facts.ending is None, "a short wait does not show whether it exits"


def test_a_call_that_is_pending_when_the_time_is_up_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "GRACE", 0.1)
    words = ("--max-time", "2", "--max-call-ms", "3600000", "--checks", "wrong_type", "--", *command("hang-on-valid"))
    document = tried("prove", *words, code=1)
    why = [each["why"] for each in document["not_tested"] if each["what"].startswith("tool find_book")]
    assert why == ["time limit reached"]


def test_the_progress_reaches_its_total() -> None:
    tools = [closed("read"), closed("list"), tool("delete_all")]
    made: list[ProgressMade] = []

    def listen(event: object) -> None:
        if isinstance(event, ProgressMade):
            made.append(event)

    server = LiveOptions(command=(*SMALL, json.dumps(tools), "refuses-unknown"))
    execute(ProveRequest(targets=TargetSelection(live=server)), listen)
    assert made[-1].done == made[-1].total
    assert [each.done for each in made] == sorted(each.done for each in made)
    assert "call" in made[-1].label
