"""Fuzzing: seeds, numbers of cases, outcomes."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from cli.running import run_process, validator
from mcproof.probing import calls
from mcproof.probing.fuzz import campaign
from mcproof.probing.fuzz.tool import cases_of
from servers.library import SCHEMAS

from .running import command, mcproof, refused, small_server, tool, tried

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("here")

TEXT = {"type": "string", "maxLength": 20}
STRICT_TOOL = tool(text=TEXT)
STRICT_TOOL["inputSchema"] |= {"required": ["text"], "additionalProperties": False}
BOOKS = ("--tool", "find_book")


def failures(document: Any) -> list[tuple[str, str, Any]]:
    return [(each["tool"], each["outcome"], each["arguments"]) for each in document["failures"]]


# --- determinism --------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_same_seed_prints_the_same_whatever_the_hash_seed(here: Path) -> None:
    words = ("fuzz", "--format", "json", "--seed", "7", "--cases", "150", "--", *command("accepts-wrong-type"))
    printed = set()
    for number in ("0", "1"):
        done = run_process(*words, cwd=here, env={"PYTHONHASHSEED": number})
        assert done.returncode == 0, done.stderr
        printed.add(done.stdout)
    assert len(printed) == 1
    assert json.loads(printed.pop())["failures"]


@pytest.mark.slow
@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize(
    "fault", ["accepts-wrong-type", "crash-on-x-and-limit", "crash-on-valid", "crash-after-answer", "leaks-token"]
)
@pytest.mark.parametrize("words", [(), BOOKS])
def test_the_number_of_processes_does_not_change_the_report(
    monkeypatch: pytest.MonkeyPatch, fault: str, words: tuple[str, ...]
) -> None:
    monkeypatch.setattr(campaign, "START_DELAY", 0.0)
    printed = {
        mcproof(
            "fuzz",
            "--format",
            "json",
            "--seed",
            "7",
            "--cases",
            "50",
            "--processes",
            number,
            *words,
            "--",
            *command(fault),
        ).output
        for number in ("1", "4")
    }
    assert len(printed) == 1
    assert json.loads(printed.pop())["failures"]


def test_another_seed_has_other_cases_after_the_same_beginning() -> None:
    schema = SCHEMAS["find_book"]

    def drawn(seed: int, name: str = "find_book") -> list[Any]:
        cases = cases_of(schema, seed, name)
        return [case.arguments for case, _ in zip(cases, range(120), strict=False)]

    assert drawn(1) == drawn(1)
    assert drawn(1) != drawn(2)
    assert drawn(1) != drawn(1, "another")
    assert drawn(1)[:25] == drawn(2)[:25]


@pytest.mark.usefixtures("hurried")
def test_the_seed_reaches_the_server(here: Path) -> None:
    def sent(seed: str) -> str:
        file = here / f"called-{seed}"
        tried("fuzz", "--seed", seed, "--env", f"CALLED={file}", *small_server([STRICT_TOOL]))
        return file.read_text(encoding="utf-8")

    assert sent("1") != sent("2")


# --- how much -----------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("hurried")
def test_as_many_cases_as_asked_for_are_sent_to_each_tool(here: Path) -> None:
    called = here / "called"
    document = tried("fuzz", "--cases", "40", "--env", f"CALLED={called}", "--", *command("good"), code=0)
    assert document["tools"] == {"find_book": 40, "count_books": 40, "list_shelves": 40}
    assert document["cases"] == 120
    assert sum(document["outcomes"].values()) == 120
    assert len(called.read_text(encoding="utf-8").splitlines()) == 3 + 120, "first a valid call of each tool"
    assert list(document["outcomes"]) == ["clean", "accepted", "crash", "hang", "protocol_violation", "leak"]


@pytest.mark.usefixtures("hurried")
def test_one_case_is_the_valid_call(here: Path) -> None:
    tried("fuzz", "--cases", "1", "--env", f"CALLED={here / 'called'}", *small_server([STRICT_TOOL]), code=0)
    sent = [json.loads(line) for line in (here / "called").read_text(encoding="utf-8").splitlines()]
    assert sent == [["read", {"text": "a"}]] * 2, "it is tried first"


@pytest.mark.usefixtures("hurried")
def test_given_arguments_come_first(here: Path) -> None:
    words = ("--cases", "1", "--args", '{"text": "mine"}', "--env", f"CALLED={here / 'called'}")
    tried("fuzz", *words, *small_server([STRICT_TOOL]), code=0)
    assert json.loads((here / "called").read_text(encoding="utf-8")) == ["read", {"text": "mine"}]


@pytest.mark.usefixtures("hurried")
def test_random_cases_last_as_long_as_the_time_limit() -> None:
    words = (*BOOKS, "--cases", "100000000", "--max-time", "1")
    document = tried("fuzz", *words, "--", *command("good"), code=0)
    assert 0 < document["cases"] < 1_000_000
    (why,) = [each["why"] for each in document["not_tested"]]
    assert why == f"time limit reached after {document['cases']:,} cases"


@pytest.mark.usefixtures("hurried")
def test_a_run_out_of_time_before_the_random_cases_is_incomplete() -> None:
    tools = [tool(name, text=TEXT, count={"type": "integer"}) for name in ("read", "list", "find")]
    words = ("--processes", "1", "--max-time", "1", *small_server(tools, "slow"))
    document = tried("fuzz", *words, code=1)
    sent = document["tools"]
    assert all(sent[name] >= 5 for name in ("read", "list")), "tools take turns"
    assert [each["what"].removesuffix(", in part") for each in document["not_tested"]] == [
        f"tool {name}" for name in sent
    ]
    done = mcproof("fuzz", *words)
    assert done.code == 1
    assert done.output.splitlines()[-1].startswith("failed: out of time: incomplete (")
    assert "passed" not in done.output


@pytest.mark.usefixtures("hurried", "impatient")
def test_a_call_that_is_pending_when_the_time_is_up_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "GRACE", 0.1)
    words = ("--max-time", "0.5", "--max-call-ms", "3600000", "--", *command("hang-on-valid"))
    document = tried("fuzz", *words, code=1)
    assert document["tools"]["find_book"] == 0
    assert "find_book" in document["called"], "what the server saw"
    why = 'time limit reached, without a response to {"query": "a"}'
    assert {"what": "tool find_book", "why": why} in document["not_tested"]


@pytest.mark.usefixtures("hurried")
def test_a_tool_without_a_case_does_not_pass() -> None:
    outside = tool("list", text={"$ref": "https://example.com/text.json"})
    document = tried("fuzz", "--cases", "5", *small_server([STRICT_TOOL, outside]), code=1)
    assert document["tools"] == {"read": 5, "list": 0}
    assert {"what": "tool list", "why": "it refers to an external schema"} in document["not_tested"]
    done = mcproof("fuzz", "--cases", "5", *small_server([STRICT_TOOL, outside]))
    assert done.output.splitlines()[-1].startswith("✗ failed: 1 of 2 tools tested, all required")


@pytest.mark.usefixtures("hurried", "impatient")
def test_a_tool_whose_responses_never_arrive_in_time_is_left_alone() -> None:
    document = tried("fuzz", *BOOKS, "--max-call-ms", "700", "--", *command("answer-not-json"), code=1)
    assert document["tools"]["find_book"] < 10
    assert document["outcomes"]["protocol_violation"] == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--cases", "0"), "`0` is not a number of cases from 1"),
        (("--cases", "-1"), "`-1` is not a number of cases"),
        (("--seed", "x"), "`x` is not a number of seeds"),
        (("--max-time", "0"), "`0` is not a number of seconds"),
        (("--processes", "0"), "`0` is not a number of processes"),
        (("--max-call-ms", "0"), "`0` is not a number of milliseconds"),
    ],
)
def test_numbers_that_make_no_sense_are_refused(here: Path, words: tuple[str, str], said: str) -> None:
    assert said in refused("fuzz", *words, "--", "touch", "mark")
    assert not (here / "mark").exists()


@pytest.mark.slow
@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize(("fault", "outcome", "most"), [("crash-on-valid", "crash", 10), ("hang-on-valid", "hang", 3)])
def test_a_tool_that_breaks_again_and_again_is_left_alone(fault: str, outcome: str, most: int) -> None:
    document = tried("fuzz", *BOOKS, "--max-call-ms", "700", "--", *command(fault), code=1)
    assert document["outcomes"][outcome] == most
    assert document["cases"] < 200
    assert {
        "what": "tool find_book, in part",
        "why": f"stopped after {document['cases']:,} cases: repeated crashes or hangs",
    } in document["not_tested"]


# --- what comes of it ---------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("hurried")
def test_what_is_accepted_fails_a_run_only_if_it_is_strict() -> None:
    words = (*BOOKS, "--cases", "60")
    document = tried("fuzz", *words, "--", *command("accepts-extra"), code=0)
    assert document["outcomes"]["accepted"] > 0
    assert {each["level"] for each in document["findings"]} == {"warning"}
    document = tried("fuzz", "--strict", *words, "--", *command("accepts-extra"), code=1)
    assert {each["level"] for each in document["findings"]} == {"error"}


@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize("words", [(), ("--strict",)])
def test_a_configured_severity_stands(here: Path, words: tuple[str, ...]) -> None:
    (here / "mcproof.toml").write_text('[severity]\nWIR-014 = "note"\n', encoding="utf-8")
    document = tried("fuzz", *words, *BOOKS, "--cases", "60", "--", *command("accepts-extra"), code=0)
    assert {each["level"] for each in document["findings"]} == {"note"}


@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize("level", ["warning", "note"])
def test_warnings_can_fail_a_run(level: str) -> None:
    tried("fuzz", *BOOKS, "--cases", "60", "--fail-on", level, "--", *command("accepts-extra"), code=1)


@pytest.mark.usefixtures("hurried")
def test_what_two_things_have_to_meet_for_is_found_and_made_small() -> None:
    document = tried("fuzz", *BOOKS, "--", *command("crash-on-x-and-limit"), code=1)
    assert failures(document) == [("find_book", "crash", {"query": "x", "limit": 41})]
    (failure,) = document["failures"]
    assert failure["replay"] == f"mcproof replay {failure['id']}"
    (finding,) = document["findings"]
    assert finding["evidence"]["failure"] == failure["id"]


@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize(
    ("fault", "smallest"),
    [
        ("accepts-missing", [{}]),
        ("accepts-above-maximum", [{"query": "a", "limit": 51}]),
        ("accepts-below-min-length", [{"query": ""}]),
        ("accepts-oversized", [{"query": "a" * 200 + "… (201 characters)"}]),
        ("accepts-extra", [{"query": "a", "mcproof_unexpected": 0}]),
    ],
)
def test_what_is_accepted_is_made_small(fault: str, smallest: list[Any]) -> None:
    document = tried("fuzz", *BOOKS, "--", *command(fault))
    assert [arguments for _, _, arguments in failures(document)] == smallest
    assert {outcome for _, outcome, _ in failures(document)} == {"accepted"}


@pytest.mark.usefixtures("hurried")
def test_a_finding_shows_the_response_to_the_smallest_arguments() -> None:
    document = tried("fuzz", *small_server([tool(text=TEXT, count={"type": "integer"})], "repeats"))
    assert document["findings"]
    for finding in document["findings"]:
        evidence = finding["evidence"]
        (content,) = json.loads(evidence["answer"])["result"]["content"]
        assert content["text"] == f"Done: {evidence['sent']}"


@pytest.mark.usefixtures("hurried")
def test_a_tool_that_refuses_every_valid_call_was_never_reached() -> None:
    document = tried("fuzz", *small_server([STRICT_TOOL], "refuses-everything"), code=0)
    (left_out,) = document["not_tested"]
    assert left_out["what"] == "the logic of tool read"
    assert left_out["why"].startswith("all ")
    assert left_out["why"].partition(";")[0].endswith(" valid calls were rejected, so it was never reached")


@pytest.mark.usefixtures("hurried")
def test_a_tool_that_takes_some_valid_calls_was_reached() -> None:
    document = tried("fuzz", *small_server([STRICT_TOOL], "refuses-empty", "refuses-objects", "refuses-unknown"))
    assert document["not_tested"] == []


@pytest.mark.usefixtures("hurried")
def test_a_tool_without_valid_calls_is_said_to_have_none() -> None:
    impossible = tool(text={"type": "string", "minLength": 3, "maxLength": 2})
    impossible["inputSchema"] |= {"required": ["text"], "additionalProperties": False}
    document = tried("fuzz", *small_server([impossible], "refuses-everything"))
    (left_out,) = document["not_tested"]
    assert left_out["what"] == "the logic of tool read"
    assert left_out["why"].startswith("no valid call could be generated: ")


@pytest.mark.usefixtures("hurried")
def test_a_secret_of_the_environment_in_an_error_is_a_leak_and_not_repeated(here: Path) -> None:
    secret = "hunter2-hunter2"  # noqa: S105
    words = ("--env", f"SECRET={secret}", "--report", "run.json")
    done = mcproof("fuzz", "--format", "json", *words, *small_server([STRICT_TOOL], "refuses-empty", "shows-secret"))
    assert done.code == 1
    assert {(each["rule"], each["tool"]) for each in done.document["findings"]} >= {("WIR-024", "read")}
    outcomes = done.document["outcomes"]
    assert outcomes["leak"] > 0
    assert sum(outcomes.values()) == done.document["cases"], "a case that leaks is not clean"
    stored = "".join(each.read_text(encoding="utf-8") for each in here.rglob("*.json"))
    assert secret not in stored + done.output + done.errors


@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize("fault", ["looks-like-leak-repeats", "looks-like-leak-uuid", "looks-like-leak-url"])
def test_what_only_looks_like_a_leak_is_none_whatever_the_seed(fault: str) -> None:
    for seed in ("1", "2"):
        document = tried("fuzz", *BOOKS, "--seed", seed, "--", *command(fault), code=0)
        assert document["outcomes"]["leak"] == 0


# --- what is stored -----------------------------------------------------------------------------------------------


def stored(folder: Path) -> dict[str, bytes]:
    return {each.stem: each.read_bytes() for each in (folder / ".mcproof" / "failures").glob("*.json")}


@pytest.mark.usefixtures("hurried")
def test_failures_are_stored_where_no_repository_takes_them_in(here: Path) -> None:
    document = tried("fuzz", *BOOKS, "--", *command("accepts-wrong-type"))
    assert set(stored(here)) == {each["id"] for each in document["failures"]}
    assert (here / ".mcproof" / ".gitignore").read_text(encoding="utf-8") == "*\n"


@pytest.mark.usefixtures("hurried")
def test_the_same_failure_has_the_same_id_in_every_run(here: Path) -> None:
    tried("fuzz", *BOOKS, "--", *command("accepts-missing"))
    before = stored(here)
    assert before
    tried("fuzz", *BOOKS, "--seed", "3", "--", *command("accepts-missing"))
    assert stored(here) == before


@pytest.mark.usefixtures("hurried")
def test_a_good_server_leaves_nothing_behind(here: Path) -> None:
    tried("fuzz", "--cases", "20", "--", *command("good"), code=0)
    assert list(here.iterdir()) == []


@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize("name", ["probe", "prove", "fuzz"])
def test_a_folder_that_cannot_be_written_to_does_not_fail_the_run(here: Path, name: str) -> None:
    (here / ".mcproof").write_text("in the way", encoding="utf-8")
    done = mcproof(name, "--format", "json", *BOOKS, "--", *command("accepts-missing"))
    assert done.code == (0 if name == "fuzz" else 1)
    validator(name).validate(done.document)
    assert "failures are not stored, so `mcproof replay` will not find them" in done.errors
    assert (here / ".mcproof").read_text(encoding="utf-8") == "in the way"


@pytest.mark.usefixtures("hurried")
def test_an_ignore_file_of_the_users_own_stays(here: Path) -> None:
    (here / ".mcproof").mkdir()
    (here / ".mcproof" / ".gitignore").write_text("# mine\n", encoding="utf-8")
    tried("fuzz", *BOOKS, "--", *command("accepts-missing"))
    assert (here / ".mcproof" / ".gitignore").read_text(encoding="utf-8") == "# mine\n"


@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize("name", ["probe", "prove", "fuzz"])
def test_the_run_report_keeps_to_its_schema_and_can_be_shown_again(here: Path, name: str) -> None:
    words = ("--report", "run.json", *BOOKS)
    done = mcproof(name, "--format", "json", *words, "--", *command("accepts-missing"))
    document = json.loads((here / "run.json").read_text(encoding="utf-8"))
    validator("run").validate(document)
    assert document["exit_code"] == done.code
    assert mcproof("report", "run.json", "--format", "json").output == done.output
    assert os.path.exists(here / ".mcproof")


@pytest.mark.usefixtures("hurried")
def test_a_severity_that_is_configured_as_the_usual_one_stands(here: Path) -> None:
    (here / "mcproof.toml").write_text('[severity]\n"WIR-014" = "error"\n', encoding="utf-8")
    tried("fuzz", "--cases", "60", "--", *command("accepts-extra"), code=1)
