"""Blame: only the request that ends or silences a server is reported."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

from cli.running import TIMEOUT, environment, validator
from client.running import children, processes

from .running import CONTRACT, command, http, mcproof, tried

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PATIENT = ("--max-call-ms", "30000")
SHORT = ("--max-call-ms", "1000", "--timeout", "5")
HUGE = {"query": "a" * 1024 * 1024}

pytestmark = pytest.mark.usefixtures("here", "impatient")


@pytest.fixture
def marker() -> Iterator[str]:
    """A word on the command line of every server of a test; none may be left."""
    word = f"mcproof-{uuid4().hex[:12]}"
    before = children()
    yield word
    left = processes(word)
    for line in left:
        os.kill(int(line.partition(":")[0]), signal.SIGKILL)
    assert left == []
    assert children() == before


def blamed(document: Any, rule: str = "WIR-017") -> list[tuple[str | None, str]]:
    """The tools, and the arguments, that a rule blames."""
    return [(each["tool"], each["evidence"]["sent"]) for each in document["findings"] if each["rule"] == rule]


def outcomes(document: Any, tool: str | None) -> dict[str, str]:
    return {each["probe"]: each["outcome"] for each in document["probes"] if each["tool"] == tool}


# --- probes -------------------------------------------------------------------------------------------------------

WRONG = '{"query": {"mcproof": "wrong type"}}'


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "probe", "sent"),
    [
        ("crash-on-missing", "missing_required", "{}"),
        ("crash-on-wrong-type", "wrong_type", WRONG),
        ("crash-after-answer", "wrong_type", WRONG),
        ("crash-soon-after-answer", "wrong_type", WRONG),
    ],
)
def test_a_crash_is_blamed_on_the_call_that_caused_it(fault: str, probe: str, sent: str, marker: str) -> None:
    document = tried("prove", *PATIENT, "--", *command(fault, marker), code=1)
    assert blamed(document)[0] == ("find_book", sent)
    assert {tool for tool, _ in blamed(document)} == {"find_book"}
    rows = [each for each in document["probes"] if each["tool"] == "find_book"]
    assert {each["probe"] for each in rows if each["outcome"] == "crash"} == {probe}
    assert {each["outcome"] for each in rows if each["probe"] not in (probe, "baseline")} == {"rejected"}
    assert set(outcomes(document, "list_shelves").values()) == {"accepted", "rejected"}


@pytest.mark.slow
@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize("fault", ["crash-on-unknown-tool", "hang-on-unknown-tool", "deaf-after-unknown-tool"])
def test_harm_of_an_unknown_tool_is_blamed_on_no_tool(fault: str, marker: str) -> None:
    document = tried("prove", *SHORT, "--", *command(fault, marker), code=1)
    rule = "WIR-017" if fault.startswith("crash") else "WIR-018"
    assert [tool for tool, _ in blamed(document, rule)] == [None]
    assert outcomes(document, "find_book")["baseline"] == "accepted"


@pytest.mark.slow
@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize("fault", ["hang-on-missing", "deaf-after-missing"])
def test_a_server_that_stops_answering_is_blamed_for_that_call_alone(fault: str, marker: str) -> None:
    document = tried("prove", *SHORT, "--", *command(fault, marker), code=1)
    assert blamed(document, "WIR-018") == [("find_book", "{}")]
    answer = next(each["answer"] for each in document["probes"] if each["outcome"] == "hang")
    is_deaf = fault.startswith("deaf")
    assert ("the server no longer responds" in answer) is is_deaf
    assert ("other requests still get responses" in answer) is not is_deaf


@pytest.mark.usefixtures("hurried")
def test_a_server_that_is_started_anew_is_asked_the_rest(marker: str) -> None:
    document = tried("prove", *PATIENT, "--", *command("crash-on-valid", marker), code=1)
    assert outcomes(document, "find_book") == {
        "baseline": "crash",
        "missing_required": "rejected",
        "wrong_type": "rejected",
        "extra_field": "rejected",
        "oversized": "rejected",
        "wrong_value": "rejected",
    }
    assert outcomes(document, "list_shelves")["baseline"] == "accepted"


# --- over HTTP, where it cannot be restarted ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fault", "sent"),
    [("crash-on-missing", "{}"), ("crash-on-wrong-type", WRONG), ("crash-after-answer", WRONG)],
)
def test_over_http_the_call_that_ended_the_server_is_blamed_and_the_rest_is_not_tested(fault: str, sent: str) -> None:
    with http(fault) as url:
        document = tried("prove", *PATIENT, url, code=1)
    assert blamed(document) == [("find_book", sent)]
    assert outcomes(document, "find_book")["oversized"] == "not_tested"
    assert set(outcomes(document, "list_shelves").values()) == {"accepted", "not_tested"}, "its valid call came before"
    left_out = {each["what"]: each["why"] for each in document["not_tested"]}
    assert left_out["tool list_shelves, in part"].startswith("the server is gone: ")
    rows = [each for each in document["probes"] if each["tool"] == "list_shelves" and each["probe"] != "baseline"]
    assert all(each["reason"].startswith("the server is gone: ") for each in rows)
    assert {each["verdict"] for each in document["matrix"] if each["tool"] == "list_shelves"} == {"not tested"}


def test_over_http_what_is_left_of_a_tool_is_listed_as_not_tested() -> None:
    with http("crash-on-missing") as url:
        document = tried("prove", *PATIENT, "--tool", "find_book", url, code=1)
    verdicts = [each["verdict"] for each in document["matrix"]]
    assert verdicts == ["broken promise", "not tested", "not tested", "not tested", "not tested"]
    assert document["promises"] == {"declared": 8, "kept": 0, "broken": 1, "not_shown": 0, "not_tested": 7}


def test_over_http_fuzzing_stops_where_the_server_has_gone() -> None:
    with http("crash-on-missing") as url:
        document = tried("fuzz", *PATIENT, url, code=1)
    assert [tool for tool, _ in blamed(document)] == ["find_book"]
    assert document["outcomes"]["crash"] == 1
    left_out = {each["what"]: each["why"] for each in document["not_tested"]}
    for name in ("find_book", "count_books", "list_shelves"):
        assert left_out[f"tool {name}, in part"].startswith("the server is gone")


# --- fuzzing ------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("crash-on-missing", PATIENT),
        ("crash-soon-after-answer", PATIENT),
        ("hang-on-missing", SHORT),
        ("deaf-after-missing", SHORT),
    ],
)
def test_fuzzing_blames_the_arguments_that_did_it(fault: str, words: tuple[str, ...], marker: str) -> None:
    document = tried(
        "fuzz", "--tool", "find_book", "--cases", "25", *words, "--strict", "--", *command(fault, marker), code=1
    )
    assert document["failures"]
    on_missing = fault.endswith("missing")
    for failure in document["failures"]:
        assert failure["tool"] == "find_book"
        assert failure["outcome"] == ("crash" if fault.startswith("crash") else "hang")
        sent = failure["arguments"]
        assert ("query" not in sent) if on_missing else is_of_wrong_type(sent), failure


def is_of_wrong_type(arguments: Any) -> bool:
    """Whether the library finds a wrong type in the arguments of `find_book`."""
    from servers.library import SCHEMAS, violations

    return any(each.keyword == "type" for each in violations(SCHEMAS["find_book"], arguments))


@pytest.mark.slow
def test_a_server_that_dies_of_every_20th_call_is_blamed_as_a_whole(marker: str) -> None:
    document = tried(
        "fuzz", "--tool", "find_book", "--cases", "50", "--", *command("crash-every-20th-call", marker), code=1
    )
    assert document["failures"] == []
    assert [tool for tool, _ in blamed(document)] == [None]
    assert document["outcomes"]["crash"] == 2
    assert sum(document["outcomes"].values()) == document["cases"] + 2


# --- nothing is left ----------------------------------------------------------------------------------------------

_WITH_SIGINT = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); from mcproof.cli.main import run; run()"
)
"""Starts mcproof such that SIGINT reaches it, even where the tests run in the background, which ignores it."""


@pytest.mark.parametrize("name", ["probe", "prove", "fuzz"])
def test_ctrl_c_leaves_no_process_and_keeps_what_was_found(here: Path, name: str, marker: str) -> None:
    called = here / "called"
    os.mkfifo(called)  # whoever calls a tool waits here until somebody reads
    words = ["--format", "json", "--report", "run.json", "--env", f"CALLED={called}"]
    process = subprocess.Popen(
        [sys.executable, "-c", _WITH_SIGINT, name, *words, "--", *CONTRACT, "hang-on-valid", marker],
        env=environment(),
        cwd=here,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        while "find_book" not in called.read_text(encoding="utf-8"):
            pass
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=TIMEOUT)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 130, err
    assert b"Traceback" not in err
    document = json.loads(out)
    validator(name).validate(document)
    assert {"what": "tool list_shelves", "why": "interrupted"} in document["not_tested"]
    stored = json.loads((here / "run.json").read_text(encoding="utf-8"))
    validator("run").validate(stored)
    assert stored["exit_code"] == 130
    (result,) = stored["targets"]
    assert not result["passed"]
    assert {"gate": "complete", "limit": "all calls", "actual": "interrupted", "passed": False} in result["gates"]
    shown = mcproof("report", "run.json", "--format", "text").output
    assert shown.splitlines()[-1].startswith("failed: interrupted: incomplete (")
    if name != "fuzz":
        assert outcomes(document, None)["unknown_tool"] == "not_tested", "the tools come first"
