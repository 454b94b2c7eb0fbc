"""Every fault of the test servers is found by the intended rules, on the right tool.

The servers run in this process, where no wait takes time (`client.in_memory`); at the end, one fault of each kind is
looked for over pipes and sockets.
"""

from __future__ import annotations

import json
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import pytest

from cli.running import validator
from client.in_memory import in_memory
from mcproof.cli.main import main
from servers.contract_faults import FAULTS

from .running import at_once, command, http, silently

if TYPE_CHECKING:
    from collections.abc import Iterable
    from contextlib import AbstractContextManager
    from pathlib import Path

    from client.in_memory import InMemory

SILENT = [name for name in FAULTS if not FAULTS[name].fires]
RULES = sorted({rule for fault in FAULTS.values() for rule in fault.fires})
BY_FUZZING = {"crash-on-x-and-limit"}
"""What breaking one promise at a time does not show: two values that meet."""
OF_THE_SERVER = ("unknown-", "not-json-", "version-", "bad-cursor-", "crash-every-", "ping-")
"""How the names of faults begin, or what they end in, that no tool is to blame for."""
ON_ONE = "unknown_tool,missing_required,wrong_type,extra_field,oversized,wrong_value,unknown_method"
"""The probes that take no server of their own; over HTTP and in the stateless era, all are sent to each server."""
SLOW = {"WIR-018", "WIR-019", "WIR-026"}
"""The rules of faults that leave a request without an answer; there, the limit is low. Nowhere else."""
EVERYWHERE = {
    *("good", "unknown-tool-text", "accepts-missing", "accepts-wrong-type", "accepts-extra", "accepts-oversized"),
    *("crash-on-missing", "crash-on-valid", "hang-on-wrong-type", "deaf-after-oversized", "result-and-error"),
    *("answer-not-json", "structured-invalid", "structured-missing", "content-missing", "is-error-text-true"),
    *("says-error", "unknown-method-result", "not-json-ends", "not-json-swallows-next", "bad-cursor-accepted"),
    *("unknown-prompt-result", "unknown-resource-empty", "looks-odd-blocks", "looks-deaf-to-not-json", "says-nan"),
    "leaks-path",
    "ping-served-arguments-demanded",
}
"""At least one fault of each rule, to be found over HTTP and in the stateless era, too; besides those that exist only
there."""


def expected(name: str) -> set[tuple[str, str | None]]:
    """The rules that must find something in a server, each with the tool to blame."""
    fault = FAULTS[name]
    is_whole = name.startswith(OF_THE_SERVER) or name.endswith("unknown-tool")
    return {(rule, None if is_whole else fault.tool) for rule in fault.fires}


def found(
    name: str, transport: str, era: str, words: list[str], folder: Path, memory: InMemory | None = None
) -> set[tuple[str, str | None]]:
    """The rules that find something in a server, each with the tool that it blames."""
    results = folder / ".results"  # hidden: other runs would take it for a file that their server leaves (WIR-038)
    results.mkdir(exist_ok=True)
    file = results / f"{name}-{transport}-{era}.json"
    slow = ["--max-call-ms", "1000", "--timeout", "3"] if SLOW & set(FAULTS[name].fires) else []
    words = [*words, *slow, "--output", f"json:{file}"]
    if transport == "stdio":
        code = main([*words, "--", *command(name, "--era", era)])
    else:
        served: AbstractContextManager[str] = nullcontext(memory.url(name, era)) if memory else http(name, era)
        with served as url:
            code = main([*words, url])
    document: Any = json.loads(file.read_text(encoding="utf-8"))
    validator(words[0]).validate(document)
    wire = [each for each in document["findings"] if each["ruleset"] == "wire"]
    assert code == any(each["level"] == "error" for each in wire), (name, code)
    return {(each["rule"], each["tool"]) for each in wire}


def exists(name: str, transport: str, era: str) -> bool:
    return FAULTS[name].transport in (None, transport) and FAULTS[name].era in (None, era)


def assert_all_found(
    names: Iterable[str], transport: str, era: str, words: list[str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    with in_memory() as memory, silently():
        for name in names:
            assert found(name, transport, era, words, folder, memory) == expected(name), name


KINDS = {"calls": range(11, 17), "harm": range(17, 19), "answers": range(19, 25), "protocol": (*range(25, 32), 34, 35)}
"""The rules that belong together, by the numbers in their ids."""


def of_kind(kind: str) -> list[str]:
    """The faults whose first rule is of this kind, those that take long in front."""
    rules = [f"WIR-{number:03}" for number in KINDS[kind]]
    names = [name for name in FAULTS if FAULTS[name].fires[:1] and FAULTS[name].fires[0] in rules]
    return sorted(names, key=lambda name: "deaf" not in name and "every" not in name)


@pytest.mark.parametrize("kind", KINDS)
def test_each_fault_is_proven_by_its_rules_alone(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [name for name in of_kind(kind) if exists(name, "stdio", "handshake") and name not in BY_FUZZING]
    words = ["prove", *([] if kind == "protocol" else ["--checks", ON_ONE])]
    assert_all_found(names, "stdio", "handshake", words, tmp_path, monkeypatch)


@pytest.mark.parametrize(("transport", "era"), [("http", "handshake"), ("stdio", "stateless"), ("http", "stateless")])
def test_faults_are_proven_over_http_and_in_the_stateless_era(
    transport: str, era: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [name for kind in ("harm", "calls", "answers", "protocol") for name in of_kind(kind)]
    chosen = [name for name in names if exists(name, transport, era) and is_chosen(name, transport, era)]
    assert_all_found(chosen, transport, era, ["prove"], tmp_path, monkeypatch)


def is_chosen(name: str, transport: str, era: str) -> bool:
    """Whether a fault is among those that are looked for everywhere, or exists in few places."""
    is_new_there = FAULTS[name].transport == "http" or (FAULTS[name].era == "stateless" and transport == "stdio")
    return is_new_there or (name in EVERYWHERE and (transport, era) != ("http", "stateless"))


def test_each_rule_is_looked_for_everywhere() -> None:
    by_probes = {rule for rule in RULES if rule not in ("WIR-016", "WIR-035")}
    for transport, era in (("http", "handshake"), ("stdio", "stateless")):
        names = [name for name in FAULTS if exists(name, transport, era) and is_chosen(name, transport, era)]
        of_an_era = {"WIR-031"} if era == "handshake" else set()
        of_an_era |= {"WIR-027"} if transport == "http" else set()
        assert {rule for name in names for rule in FAULTS[name].fires} >= by_probes - of_an_era


def test_invalid_calls_and_their_results_are_found_by_fuzzing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [name for kind in ("harm", "calls", "answers") for name in of_kind(kind)]
    words = ["fuzz", "--tool", "find_book,list_shelves"]
    chosen = [name for name in names if name in BY_FUZZING or name.startswith("accepts-")]
    assert_all_found(chosen, "stdio", "handshake", words, tmp_path, monkeypatch)


@pytest.mark.parametrize("words", [["probe"], ["prove"], ["fuzz", "--cases", "80"]], ids=lambda words: str(words[0]))
def test_what_only_looks_faulty_is_left_alone(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert_all_found(SILENT, "stdio", "handshake", words, tmp_path, monkeypatch)


REPEATED = (
    *("good", "accepts-missing", "crash-on-missing", "crash-after-answer", "hang-on-wrong-type", "answer-not-json"),
    *("structured-invalid", "not-json-ends", "looks-deaf-to-not-json"),
)
"""One fault of each kind, and each way in which a process or a connection ends or goes silent."""


def test_each_kind_of_fault_is_repeated() -> None:
    assert all(set(of_kind(kind)) & set(REPEATED) for kind in KINDS)


@pytest.mark.slow
@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_one_fault_of_each_kind_is_proven_over_pipes_and_sockets(
    transport: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names = [*REPEATED, "deaf-after-oversized" if transport == "stdio" else "http-500"]
    seen = at_once(lambda name: found(name, transport, "handshake", ["prove"], tmp_path), names)
    assert seen == {name: expected(name) for name in names}


@pytest.mark.slow
@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("command", ["probe", "fuzz"])
@pytest.mark.parametrize(("transport", "era"), [("http", "handshake"), ("stdio", "stateless"), ("http", "stateless")])
def test_the_good_server_is_left_alone_wherever_it_is(
    command: str, transport: str, era: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with silently():
        assert found("good", transport, era, [command], tmp_path) == set()
