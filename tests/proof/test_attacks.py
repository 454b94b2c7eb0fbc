"""Servers and files that are out to mislead: to hide a crash, to have another blamed, to get called, to be shown."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from servers import spiteful

from .running import tried

pytestmark = pytest.mark.usefixtures("here")

PATIENT = ("--max-call-ms", "20000")


def server(habit: str) -> list[str]:
    """The end of a command line that starts a server with this habit."""
    return ["--", sys.executable, "-I", "-S", spiteful.__file__, habit, "started"]


def crashes(document: Any) -> list[tuple[str | None, str]]:
    """The tools that are said to crash, and what is said."""
    return [(each["tool"], each["message"]) for each in document["findings"] if each["rule"] == "WIR-017"]


# --- who is to blame ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["probe", "prove", "fuzz"])
def test_a_crash_of_a_server_that_never_starts_again_is_a_crash_all_the_same(name: str) -> None:
    ((blamed, message),) = crashes(tried(name, *PATIENT, *server("dies-once"), code=1))
    assert blamed is None
    assert "exited with code 6" in message
    assert "cannot be started again" in message


def test_a_tool_is_not_blamed_for_what_the_tool_before_it_has_done() -> None:
    document = tried("fuzz", "--processes", "1", "--cases", "1", *PATIENT, *server("dies-later"), code=1)
    ((blamed, message),) = crashes(document)
    assert blamed is None
    assert "exited with code 9" in message
    assert document["failures"] == []


def test_a_case_that_turns_out_to_crash_is_counted_once() -> None:
    document = tried("fuzz", "--processes", "1", "--cases", "40", *PATIENT, *server("dies-after-accepting"), code=1)
    outcomes = document["outcomes"]
    assert outcomes["crash"] > 0
    assert outcomes["clean"] == valid_cases(40)
    assert sum(outcomes.values()) == 40


def valid_cases(number: int) -> int:
    """How many of the first cases of the schema are valid."""
    from itertools import islice

    from mcproof.proof.barrage import cases_of

    return sum(case.is_valid for case in islice(cases_of(spiteful.SCHEMA, 0, "get_first"), number))


def test_a_crash_is_told_however_much_else_was_wrong_before_it() -> None:
    document = tried("fuzz", "--processes", "1", "--cases", "400", *PATIENT, *server("dies-of-late-types"), code=1)
    assert [blamed for blamed, _ in crashes(document)] == ["get_first"]
