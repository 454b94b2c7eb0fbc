"""Tools that ask the user: a declined question is neither proof nor failure."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest

from servers import asking

from .running import mcproof, tried

if TYPE_CHECKING:
    from pathlib import Path

ERAS = ("handshake", "stateless")
_WHO = "asks the user: Who are you? (declined: no answer)"


def _server(era: str) -> tuple[str, ...]:
    return ("--", sys.executable, "-I", "-S", asking.__file__, "--era", era)


def _verdicts(document: dict[str, Any], tool: str) -> dict[str, str]:
    return {cell["column"]: cell["verdict"] for cell in document["matrix"] if cell["tool"] == tool}


def _text(*words: str) -> str:
    """What a successful run prints, on one line."""
    done = mcproof(*words)
    assert done.code == 0, done
    return " ".join(done.output.split())


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("era", ERAS)
def test_a_call_that_ends_in_a_question_shows_nothing(era: str) -> None:
    document = tried("prove", "--tool", "lend_book,find_book", *_server(era), code=0)
    assert _verdicts(document, "lend_book") == {
        "missing": "not shown",
        "type": "not shown",
        "extra": "not shown",
        "size": "not shown",
        "values": "not applicable",
    }
    assert [each["rule"] for each in document["findings"] if each["ruleset"] == "wire"] == []
    text = _text("prove", "--tool", "lend_book", *_server(era))
    what = f"lend_book, in part: the valid call {_WHO}, so only refusals before the question count; answer it with"
    assert f"{what} `--answer FILE`, or `answers` in a suite" in text


@pytest.mark.parametrize("era", ERAS)
def test_a_refusal_before_the_question_proves_a_promise(era: str) -> None:
    document = tried("prove", "--tool", "find_book", *_server(era), code=0)
    assert set(_verdicts(document, "find_book").values()) == {"proven", "not applicable"}


def test_probes_without_a_judgement_name_the_question() -> None:
    document = tried("probe", "--tool", "lend_book", "--checks", "missing_required", *_server("handshake"))
    (probe,) = (each for each in document["probes"] if each["probe"] == "missing_required")
    assert (probe["passed"], probe["outcome"]) == (None, "rejected")
    assert probe["reason"] == f"without the required `title`; it {_WHO}, so this shows nothing"


@pytest.mark.parametrize("era", ERAS)
def test_fuzzing_does_not_blame_a_tool_for_its_questions(era: str) -> None:
    document = tried("fuzz", "--tool", "lend_book", "--cases", "20", "--strict", *_server(era), code=0)
    assert document["outcomes"] == {**dict.fromkeys(document["outcomes"], 0), "clean": 20}
    text = _text("fuzz", "--tool", "lend_book", "--cases", "20", *_server(era))
    assert f"lend_book, in part: in 20 of 20 calls, it {_WHO}; answer it with `--answer FILE`" in text


def test_endless_questions_are_a_hang() -> None:
    done = mcproof("fuzz", "--tool", "endless", "--cases", "1", *_server("handshake"))
    assert done.code == 1
    assert "the server asks more than 100 questions" in done.output


def test_tools_that_are_added_meanwhile_are_reported() -> None:
    done = mcproof("fuzz", "--tool", "grow", "--cases", "1", *_server("handshake"))
    message = "mcproof: the server has changed its tools during the run; what it added is not tested\n"
    assert (done.code, message in done.errors) == (0, True)
    assert message not in mcproof("fuzz", "--tool", "count_books", "--cases", "1", *_server("handshake")).errors


def test_hostile_arguments_of_a_tool_that_asks_are_tested_in_part() -> None:
    text = _text("prove", "--security", "--tool", "lend_book", "--checks", "unknown_tool", *_server("handshake"))
    assert f"hostile arguments of tool lend_book, in part: it {_WHO}; answer it with `--answer FILE`" in text
