"""`--security` on the command line: what is reported, stored and replayed."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from .running import hostile_server, mcproof, refused, tried

pytestmark = pytest.mark.usefixtures("here", "hurried")


@pytest.fixture
def folder(here: Path) -> Path:
    """The folder that the tools may read."""
    folder = here / "data"
    folder.mkdir()
    (folder / "a").write_text("a book\n", encoding="utf-8")
    return folder


def fuzzed(folder: Path, *tools: str, code: int) -> Any:
    return tried("fuzz", "--security", "--cases", "2", *hostile_server(folder, *tools), code=code)


def test_an_injection_fails_a_run_and_is_a_finding(folder: Path) -> None:
    document = fuzzed(folder, "read_joined", "read_safely", code=1)
    assert document["outcomes"]["injection"] == 1
    assert sum(document["outcomes"].values()) == document["cases"] == sum(document["tools"].values())
    (failure,) = document["failures"]
    assert (failure["tool"], failure["outcome"], failure["arguments"]) == (
        "read_joined",
        "injection",
        {"path": "<marker>"},
    )
    (finding,) = [each for each in document["findings"] if each["rule"] == "WIR-032"]
    assert (finding["tool"], finding["level"]) == ("read_joined", "error")
    assert finding["pointer"].endswith("/inputSchema/properties/path")
    assert finding["message"] == (
        "path traversal through `path`: returns a file outside its folders (`path` as an absolute path)"
    )
    assert finding["evidence"]["failure"] == failure["id"]


def test_hardened_tools_pass(folder: Path) -> None:
    document = fuzzed(folder, "read_safely", "count_safely", "echo_safely", code=0)
    assert document["outcomes"]["injection"] == 0
    assert document["failures"] == document["findings"] == []


def test_a_path_that_is_split_over_two_arguments_is_attacked_as_a_whole(folder: Path) -> None:
    """The vault is learned from the refusal, and no single argument leads out of the folder."""
    document = fuzzed(folder, "read_note", code=1)
    (failure,) = [failure for failure in document["failures"] if failure["outcome"] == "injection"]
    assert failure["arguments"]["vault"] == "main"
    assert failure["arguments"]["filename"].startswith("<marker name>")
    assert failure["arguments"]["folder"].endswith("/..<marker folder>")
    assert failure["what"].startswith("path traversal through `folder`: returns a file outside its folders")
    assert document["paths"] == {"read_note": {"folder": True, "filename": False}}
    assert document["conclusion"]["because"].endswith("1 of 2 path parameters not reached")
    assert "still failing: injection: " in mcproof("replay", failure["id"]).output


def test_an_attack_keeps_the_ending_that_a_description_names(folder: Path) -> None:
    (failure, *_) = fuzzed(folder, "read_manual", code=1)["failures"]
    assert failure["arguments"]["path"].endswith("<marker>.rst")


def test_a_path_in_a_list_is_attacked_with_items_in_all_lists(folder: Path) -> None:
    """The smallest valid call has empty lists, and reads nothing."""
    document = fuzzed(folder, "read_ranges", code=1)
    (failure, *_) = document["failures"]
    assert failure["arguments"]["files"][0]["file_path"] == "<marker>"
    assert failure["arguments"]["files"][0]["ranges"]


def test_paths_are_not_clean_if_the_valid_call_is_refused(folder: Path) -> None:
    document = fuzzed(folder, "read_note_safely", code=0)
    assert document["paths"] == {"read_note_safely": {"folder": False, "filename": False}}
    assert document["outcomes"]["not_reached"] > 0
    assert document["outcomes"]["clean"] == 2, "the cases that are not hostile"
    conclusion = document["conclusion"]
    assert (conclusion["outcome"], conclusion["judged"]) == ("inconclusive", 0)
    assert conclusion["because"].endswith("2 of 2 path parameters not reached")
    (why,) = [entry["why"] for entry in document["not_tested"] if entry["what"].startswith("paths in `folder`")]
    assert why.startswith('not reached, as {"vault": "main", ')
    printed = mcproof("fuzz", "--security", "--cases", "2", *hostile_server(folder, "read_note_safely")).output
    assert re.search(r"(?m)^  not reached +\d+", printed)
    assert "\ninconclusive: " in printed
    (folder / "a.md").write_text("a note\n", encoding="utf-8")
    valid = 'read_note_safely={"vault": "main", "folder": ".", "filename": "a"}'
    words = ("fuzz", "--security", "--cases", "2", "--args", valid, *hostile_server(folder, "read_note_safely"))
    assert mcproof(*words).output.splitlines()[-1] == "✓ passed: no errors in behaviour; 1 tool called"


def test_nothing_hostile_is_sent_without_the_option(folder: Path) -> None:
    document = tried("fuzz", "--cases", "2", *hostile_server(folder, "read_joined"), code=0)
    assert "injection" not in document["outcomes"]


def test_a_tool_that_may_change_something_is_not_attacked(folder: Path) -> None:
    document = tried("fuzz", "--security", "--skip", "read_joined", *hostile_server(folder, "read_joined"), code=1)
    assert document["cases"] == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("tool", "hardened"), [("read_joined", "path"), ("find_formatted", "title"), ("fetch_but_localhost", "link")]
)
def test_an_injection_can_be_replayed(folder: Path, tool: str, hardened: str) -> None:
    (failure,) = fuzzed(folder, tool, code=1)["failures"]
    stored = Path(".mcproof", "failures", f"{failure['id']}.json").read_text(encoding="utf-8")
    assert "mcproof-" not in stored, "no random value is stored"
    again = mcproof("replay", failure["id"])
    assert again.code == 1
    assert "still failing: injection: " in again.output
    assert "mcproof-" not in again.output
    fixed = mcproof("replay", failure["id"], *hostile_server(folder, f"{tool}:{hardened}"))
    assert (fixed.code, "fixed: the call has no effect" in fixed.output) == (0, True), fixed


def test_a_crash_by_a_hostile_argument_can_be_replayed(folder: Path) -> None:
    document = fuzzed(folder, "crash_on_nul", code=1)
    failure = next(each for each in document["failures"] if each["arguments"] == {"text": "a\0"})
    assert failure["outcome"] == "crash"
    assert "still failing: crash" in mcproof("replay", failure["id"]).output


def test_a_damaged_recipe_is_refused(folder: Path) -> None:
    (failure,) = fuzzed(folder, "read_joined", code=1)["failures"]
    file = Path(".mcproof", "failures", f"{failure['id']}.json")
    file.write_text(
        file.read_text(encoding="utf-8").replace('"base": {', '"base": {"x": {}}, "y": {'), encoding="utf-8"
    )
    assert "`recipe` does not fit the arguments" in refused("replay", failure["id"], "--trust")


@pytest.mark.parametrize("form", ["text", "markdown", "html", "sarif", "junit", "tap", "github", "gitlab", "concise"])
def test_every_format_shows_an_injection(folder: Path, form: str) -> None:
    words = ("fuzz", "--security", "--cases", "1", "--format", form)
    done = mcproof(*words, *hostile_server(folder, "read_joined"))
    assert done.code == 1
    assert "path traversal" in done.output
    assert "/var/tmp" not in done.output  # noqa: S108


def test_two_runs_print_the_same(folder: Path) -> None:
    words = ("fuzz", "--security", "--cases", "2", "--format", "json")
    tools = ("read_joined", "find_formatted", "count_plain", "fetch_any")
    printed = {mcproof(*words, *hostile_server(folder, *tools)).output for _ in range(2)}
    assert len(printed) == 1


def test_a_server_at_a_url_of_this_machine_is_attacked(folder: Path) -> None:
    tools = ("read_joined", "fetch_any", "find_formatted", "echo_safely")
    words = hostile_server(folder, "--http", *tools)[1:]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        url = f"http://127.0.0.1:{int(process.stdout.readline())}/mcp"
        valid = 'read_joined={"path": "a"}'
        document = tried("fuzz", "--security", "--cases", "1", "--args", valid, url, code=1)
        process.stdin.close()
    found = {each["tool"] for each in document["failures"] if each["outcome"] == "injection"}
    assert found == {"read_joined", "fetch_any", "find_formatted"}
    assert document["not_tested"] == [{"what": "WIR-038", "why": "the server runs elsewhere"}]


# --- prove --------------------------------------------------------------------------------------------------------


def test_prove_reports_each_family(folder: Path) -> None:
    words = ("--security", "--checks", "unknown_tool", "--args", 'read_joined={"path": "a"}')
    document = tried("prove", *words, *hostile_server(folder, "read_joined", "fetch_any"), code=1)
    probes = {(each["tool"], each["probe"]): each for each in document["probes"]}
    traversal = probes["read_joined", "path_traversal"]
    assert (traversal["outcome"], traversal["passed"]) == ("injection", False)
    assert traversal["request"] == '{"path": "<marker>"}'
    assert probes["read_joined", "command_injection"]["outcome"] == "clean"
    assert probes["read_joined", "request_forgery"]["outcome"] == "not_applicable"
    assert probes["fetch_any", "request_forgery"]["outcome"] == "injection"
    assert {(each["rule"], each["tool"]) for each in document["findings"] if each["rule"] == "WIR-032"} == {
        ("WIR-032", "read_joined"),
        ("WIR-032", "fetch_any"),
    }
    assert document["negative_path"]["failures"] == 0


def test_prove_passes_hardened_tools(folder: Path) -> None:
    words = ("prove", "--security", "--checks", "unknown_tool")
    done = mcproof(*words, "--args", '{"path": "a"}', *hostile_server(folder, "read_safely"))
    assert done.code == 0, done.output
    assert "; hostile arguments for 1 tool: no effect\n" in done.output
    refused = mcproof(*words, *hostile_server(folder, "read_safely"))
    assert "; hostile arguments not judged in 1 tool\n" in refused.output


@pytest.mark.parametrize("form", ["text", "markdown", "html", "sarif", "junit", "tap"])
def test_every_format_shows_an_injection_of_prove(folder: Path, form: str) -> None:
    words = ("prove", "--security", "--checks", "unknown_tool", "--format", form)
    done = mcproof(*words, *hostile_server(folder, "read_joined"))
    assert done.code == 1
    assert "path traversal" in done.output


# --- suites -------------------------------------------------------------------------------------------------------


def run_suite(folder: Path, tool: str, block: dict[str, Any]) -> Any:
    words = hostile_server(folder, tool)[1:]
    test = {"name": "hostile", "server": "s", "tool": tool, "fuzz": {"cases": 1, **block}}
    Path("mcproof.yaml").write_text(
        json.dumps({"servers": {"s": {"command": words}}, "tools": [test]}), encoding="utf-8"
    )
    done = mcproof("run", "--format", "json")
    (result,) = done.document["tests"]
    return done.code, result["outcome"], result["message"]


def test_an_injection_fails_a_suite(folder: Path) -> None:
    code, outcome, message = run_suite(folder, "read_joined", {"security": True})
    assert (code, outcome) == (1, "failed")
    assert message.startswith('injection at {"path": "<marker>"}: path traversal through `path`')


@pytest.mark.parametrize(("tool", "outcome"), [("read_joined", "failed"), ("read_safely", "passed")])
def test_a_suite_can_expect_that_there_are_no_injections(folder: Path, tool: str, outcome: str) -> None:
    expect = [{"target": "fuzz.injections", "matcher": {"exact": 0}}]
    assert run_suite(folder, tool, {"security": True, "expect": expect})[1] == outcome


def test_without_security_a_suite_attacks_nothing(folder: Path) -> None:
    assert run_suite(folder, "read_joined", {"security": False})[:2] == (0, "passed")
