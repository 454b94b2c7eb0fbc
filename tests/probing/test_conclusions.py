"""What `prove`, `fuzz` and `check` conclude of a server of which more or less can be judged."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from servers import concluding

from .running import mcproof, tried

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

COMMAND = (sys.executable, "-I", "-S", concluding.__file__)
PROVED = {
    "refuses-all": "inconclusive",
    "needs-key": "inconclusive",
    "answers-same": "failed",
    "half-reached": "passed",
    "all-reached": "passed",
}
"""What `prove` concludes: a promise is judged if the refusal speaks of the argument, or the valid call succeeds."""
FUZZED = {"refuses-all": 0, "needs-key": 0, "answers-same": 2, "half-reached": 1, "all-reached": 2}
"""How many of the two tools `fuzz` reaches."""


@contextmanager
def target(habit: str, era: str, transport: str) -> Iterator[tuple[str, ...]]:
    """The end of a command line for a server with this habit."""
    if transport == "stdio":
        yield ("--", *COMMAND, habit, era)
        return
    with subprocess.Popen([*COMMAND, habit, era, "--http"], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield (process.stdout.readline().strip(),)
        finally:
            process.kill()


@pytest.mark.parametrize("transport", ["stdio", "http"])
@pytest.mark.parametrize("era", concluding.ERAS)
@pytest.mark.parametrize("habit", PROVED)
def test_a_server_is_concluded_about_by_what_was_judged(habit: str, era: str, transport: str) -> None:
    with target(habit, era, transport) as words:
        proved = tried("prove", *words)
        fuzzed = tried("fuzz", "--cases", "30", *words)
    promises, conclusion = proved["promises"], proved["conclusion"]
    assert conclusion["outcome"] == PROVED[habit], conclusion
    assert (conclusion["judged"], conclusion["of"]) == (promises["kept"] + promises["broken"], promises["declared"])
    assert promises["declared"] == 18
    reached = fuzzed["conclusion"]
    assert (reached["judged"], reached["of"], len(fuzzed["reached"])) == (FUZZED[habit], 2, FUZZED[habit])
    assert reached["outcome"] == ("passed" if FUZZED[habit] else "inconclusive")


@pytest.mark.parametrize(("habit", "code"), [("needs-key", 1), ("all-reached", 0)])
def test_an_inconclusive_end_is_not_green_and_fails_on_request(habit: str, code: int) -> None:
    for command in ("prove", "fuzz"):
        done = mcproof(command, "--require-conclusive", "--", *COMMAND, habit)
        last = done.output.splitlines()[-1]
        assert done.code == code, done
        assert last.startswith("inconclusive: " if code else "✓ passed: ")
        assert mcproof(command, "--", *COMMAND, habit).code == 0


@pytest.mark.parametrize(("habit", "outcome"), [("needs-key", "inconclusive"), ("all-reached", "passed")])
def test_check_concludes_as_prove(habit: str, outcome: str) -> None:
    document = tried("check", "--", *COMMAND, habit)
    assert document["conclusion"]["outcome"] == outcome


def test_check_says_that_valid_calls_are_refused() -> None:
    screen = " ".join(mcproof("check", "--", *COMMAND, "needs-key").output.split())
    assert 'not judged; 2 tools called - 2 valid calls refused, see `prove`: isError: "The variable' in screen


def test_what_was_refused_is_told_in_the_words_of_the_server(tmp_path: Path) -> None:
    file = tmp_path / "args.json"
    for command in ("prove", "fuzz"):
        done = mcproof(command, "--write-args", str(file), "--", *COMMAND, "needs-key")
        assert "The variable API_KEY is not set." in " ".join(done.output.split())
        assert f"then pass `--args @{file}`" in done.errors
        written = json.loads(file.read_text("utf-8"))
        assert written.keys() == {"find_books", "count_books"}
        assert mcproof(command, "--args", f"@{file}", "--", *COMMAND, "all-reached").code == 0
