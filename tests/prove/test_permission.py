"""Tools that may change something are called only on request."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from mcproof.catalog.model import Tool
from mcproof.catalog.tool_names import words_of
from mcproof.prove.permission import (
    DESTRUCTIVE,
    MUTATING,
    MUTATING_AT_THE_END,
    MUTATING_IN_FRONT,
    Permission,
    permission,
)
from mcproof.report.formats import FORMATS

from .running import command, http, mcproof, small_server, tried

if TYPE_CHECKING:
    from pathlib import Path

COMMANDS = ["probe", "prove", "fuzz"]
SAFE = {"find_book", "count_books", "list_shelves"}
UNSAFE = {"add_book", "delete_book", "archive"}


def asked(name: Any, *, allow_writes: bool = False, **hints: Any) -> Permission:
    fields = {"name": name, **({"annotations": hints} if hints else {})}
    return permission(Tool(fields, "/tools/0"), allow_writes=allow_writes)


# --- which tools --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("delete_user", ["delete", "user"]),
        ("deleteUser", ["delete", "user"]),
        ("DeleteUser", ["delete", "user"]),
        ("user.delete", ["user", "delete"]),
        ("user/delete-all", ["user", "delete", "all"]),
        ("getHTTPStatus", ["get", "http", "status"]),
        ("s3DeleteObject", ["s3", "delete", "object"]),
        ("DELETE_USER", ["delete", "user"]),
        ("", []),
        ("__", []),
    ],
)
def test_a_name_is_made_of_words(name: str, words: list[str]) -> None:
    assert words_of(name) == words


@pytest.mark.parametrize("name", ["delete_user", "deleteUser", "user.delete", "removeAll", "s3-purge", "DROP_TABLE"])
def test_a_destructive_word_is_enough(name: str) -> None:
    assert not asked(name).is_granted
    assert not asked(name, readOnlyHint=True).is_granted
    assert "is destructive" in asked(name).reason


@pytest.mark.parametrize("name", ["create_user", "createUser", "user.update", "runQuery", "write", "sendMail", "reply"])
def test_a_mutating_word_is_enough_unless_the_tool_says_that_it_only_reads(name: str) -> None:
    assert not asked(name).is_granted
    assert "may change something" in asked(name).reason
    granted = asked(name, readOnlyHint=True)
    assert (granted.is_granted, granted.is_presumed, granted.reason) == (True, False, "`readOnlyHint` is true")


@pytest.mark.parametrize(
    "name", ["get_user", "listAddresses", "undeleted", "updates", "offset_of", "runtime_version", "deletion_log", "x"]
)
def test_a_word_inside_a_word_is_none(name: str) -> None:
    granted = asked(name)
    assert granted.is_granted
    assert granted.is_presumed


@pytest.mark.parametrize(
    ("verb", "noun"), [("log_in", "git_log"), ("open_door", "is_open"), ("order_pizza", "get_order")]
)
def test_some_words_are_verbs_only_in_front(verb: str, noun: str) -> None:
    assert not asked(verb).is_granted
    assert asked(noun).is_granted


@pytest.mark.parametrize(
    "name",
    [
        *("browser_type", "browser_hover", "browser_go_back", "goForward", "puppeteer_select", "form_fill"),
        *("trigger-job", "voice_design", "design_logo", "text_to_speech", "textToImage", "generate_video"),
        *("cache_touch", "opt_in_phone"),
    ],
)
def test_what_does_something_on_a_screen_or_makes_something_is_not_called(name: str) -> None:
    assert not asked(name).is_granted
    assert asked(name, readOnlyHint=True).is_granted


@pytest.mark.parametrize(
    "name", ["get_type", "list_designs", "get_design_context", "browser_snapshot", "git_log", "sql_to_text", "is_open"]
)
def test_the_same_words_as_nouns_are_harmless(name: str) -> None:
    assert asked(name).is_granted


def test_a_destructive_hint_wins_over_everything() -> None:
    assert asked("find", destructiveHint=True, readOnlyHint=True).reason.startswith("`destructiveHint` is true")
    assert not asked("find", destructiveHint=True).is_granted


@pytest.mark.parametrize("hint", [False, None, "true", 1, [], {}])
def test_only_true_lets_a_tool_be_called(hint: Any) -> None:
    assert not asked("create_user", readOnlyHint=hint).is_granted


@pytest.mark.parametrize("hint", [False, None, 0, "", []])
def test_what_is_not_meant_as_a_hint_is_none(hint: Any) -> None:
    assert asked("find", destructiveHint=hint).is_granted
    assert asked("find", destructiveHint=hint).is_presumed


@pytest.mark.parametrize("hint", ["true", 1, {"value": True}])
def test_a_destructive_hint_that_is_no_boolean_is_heeded(hint: Any) -> None:
    assert not asked("find", destructiveHint=hint).is_granted


@pytest.mark.parametrize("annotations", [None, [], "readOnlyHint", 7])
def test_annotations_that_are_no_object_say_nothing(annotations: Any) -> None:
    tool = Tool({"name": "create_user", "annotations": annotations}, "/tools/0")
    assert not permission(tool, allow_writes=False).is_granted


@pytest.mark.parametrize("name", ["delete_user", "create_user", "log_in"])
def test_all_may_be_allowed_and_the_reason_stays(name: str) -> None:
    granted = asked(name, allow_writes=True)
    assert granted.is_granted
    assert not granted.is_presumed
    assert granted.reason.endswith("allowed by --allow-writes")
    assert asked(name).reason.endswith("--allow-writes allows it")


@pytest.mark.parametrize("name", [None, "", 7])
def test_what_has_no_name_cannot_be_called_even_if_all_is_allowed(name: Any) -> None:
    assert not asked(name, allow_writes=True).is_granted


def test_no_word_stands_in_two_lists() -> None:
    assert not DESTRUCTIVE & MUTATING
    assert not (DESTRUCTIVE | MUTATING) & (MUTATING_IN_FRONT | MUTATING_AT_THE_END)
    assert all(word == word.lower() and word.isalpha() for word in DESTRUCTIVE | MUTATING | MUTATING_IN_FRONT)


# --- what is called -----------------------------------------------------------------------------------------------


def called(file: Path) -> set[str]:
    """The tools of the server that were called; not those that do not exist."""
    return {name for name in file.read_text(encoding="utf-8").split() if name in SAFE | UNSAFE}


@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize("name", COMMANDS)
def test_nothing_that_may_change_something_is_called(here: Path, name: str) -> None:
    document = tried(name, "--env", f"CALLED={here / 'called'}", "--", *command("good"), code=0)
    assert called(here / "called") == SAFE
    left_out = {each["what"]: each["why"] for each in document["not_tested"]}
    assert left_out == {
        "tool add_book": "`add` in its name may change something; --allow-writes allows it",
        "tool delete_book": "`destructiveHint` is true; --allow-writes allows it",
        "tool archive": "`destructiveHint` is true; --allow-writes allows it",
    }


@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize("name", COMMANDS)
def test_everything_is_called_where_that_is_allowed(here: Path, name: str) -> None:
    document = tried(name, "--allow-writes", "--env", f"CALLED={here / 'called'}", "--", *command("good"), code=0)
    assert called(here / "called") == SAFE | UNSAFE
    assert document["not_tested"] == []


@pytest.mark.usefixtures("hurried")
def test_nothing_that_may_change_something_is_called_over_http(here: Path) -> None:
    with http("good", CALLED=str(here / "called")) as url:
        tried("fuzz", "--cases", "5", url, code=0)
        tried("prove", url, code=0)
    assert called(here / "called") == SAFE


@pytest.mark.usefixtures("here", "hurried")
def test_naming_a_tool_is_no_permission() -> None:
    document = tried("probe", "--tool", "delete_book", "--", *command("good"), code=0)
    assert {each["outcome"] for each in document["probes"] if each["tool"] == "delete_book"} == {"not_tested"}
    assert document["negative_path"] == {"checks_run": 1, "failures": 0, "gate_passed": 1}


@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize("name", COMMANDS)
def test_the_first_reason_that_matches_decides(here: Path, name: str) -> None:
    reads, destroys = {"readOnlyHint": True}, {"destructiveHint": True}
    tools = {
        "deleteUser": {},
        "removeUser": reads,
        "createUser": {},
        "updateUser": reads,
        "getUser": {},
        "findUser": destroys,
        "listUsers": {**destroys, **reads},
    }
    schema = {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}
    listed = [{"name": each, "inputSchema": schema, "annotations": hints} for each, hints in tools.items()]
    words = ("--cases", "5") if name == "fuzz" else ()
    tried(name, *words, "--env", f"CALLED={here / 'called'}", *small_server(listed))
    calls = [json.loads(line)[0] for line in (here / "called").read_text(encoding="utf-8").splitlines()]
    assert {each for each in calls if each in tools} == {"updateUser", "getUser"}


@pytest.mark.usefixtures("here", "hurried")
@pytest.mark.parametrize("name", COMMANDS)
def test_what_is_not_called_is_listed_in_every_format_but_mere_lists_of_findings(here: Path, name: str) -> None:
    files = {form: here / f"out.{form}" for form in FORMATS if form not in ("concise", "sarif", "github", "gitlab")}
    outputs = [word for form, file in files.items() for word in ("--output", f"{form}:{file}")]
    words = ("--cases", "5") if name == "fuzz" else ()
    mcproof(name, *words, *outputs, "--", *command("good"))
    unsaid = [form for form, file in files.items() if "delete_book" not in file.read_text(encoding="utf-8")]
    assert unsaid == []


@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize("name", COMMANDS)
def test_the_tools_are_announced_before_they_are_called(here: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from mcproof.cli import request_runner

    said: list[str] = []

    def tell(sentence: str) -> None:
        assert not (here / "called").exists()
        said.append(sentence)

    monkeypatch.setattr(request_runner, "tell", tell)
    mcproof(name, "--env", f"CALLED={here / 'called'}", "--", *command("good"))
    assert (here / "called").exists()
    assert said == [
        "calls 2 tools: find_book, count_books",
        "calls 1 tool, presumed read-only: list_shelves",
        "does not call 3 tools: add_book, delete_book, archive",
    ]


@pytest.mark.usefixtures("here", "hurried")
def test_what_will_be_called_is_told_on_standard_error() -> None:
    done = mcproof("probe", "--format", "json", "--", *command("good"))
    assert "calls 2 tools: find_book, count_books" in done.errors
    assert "does not call 3 tools: add_book, delete_book, archive" in done.errors


@pytest.mark.usefixtures("here", "hurried")
@pytest.mark.parametrize(("name", "rules"), [("prove", {"WIR-024"}), ("fuzz", {"WIR-011", "WIR-025", "WIR-031"})])
def test_a_rule_that_a_command_asks_nothing_about_has_not_passed(name: str, rules: set[str]) -> None:
    for form in ("tap", "junit"):
        output = mcproof(name, "--format", form, "--", *command("good")).output
        assert "WIR-020" in output
        assert not {rule for rule in rules if rule in output}
