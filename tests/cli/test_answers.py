"""Answers to what a server asks: from a file, and from the user at a terminal."""

from __future__ import annotations

import json
import os
import pty
import sys
from select import select
from typing import TYPE_CHECKING, Any

import pytest

from limits import HANG
from servers import asking

from .running import COMMAND, document_of, fails, run
from .serving import SECRET

if TYPE_CHECKING:
    from pathlib import Path

ERAS = ("handshake", "stateless")


def _server(era: str = "handshake") -> tuple[str, ...]:
    return ("--", sys.executable, "-I", "-S", asking.__file__, "--era", era)


def _file(folder: Path, *answers: dict[str, Any], name: str = "answers.json") -> str:
    (folder / name).write_text(json.dumps(answers, indent="\t"))
    return str(folder / name)


# --- a file -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("era", ERAS)
def test_a_file_answers_a_call(tmp_path: Path, era: str) -> None:
    file = tmp_path / "answers.yaml"
    file.write_text("answers:\n  - asked: pizza\n    reply: {name: Ada, size: L, extras: [o]}\n")
    done = run("call", "order_pizza", "--answer", str(file), *_server(era))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == 'ordered {"count": 1, "extras": ["o"], "name": "Ada", "size": "L", "urgent": false}\n'


def test_the_document_of_a_call_has_the_reply(tmp_path: Path) -> None:
    answers = _file(tmp_path, {"kind": "sampling", "reply": "A monk."})
    done = run("call", "summarize", "--answer", answers, "--format", "json", *_server())
    (asked,) = document_of(done, "call")["asked"]
    assert (asked["kind"], asked["reply"], asked["reason"]) == ("sampling", "accept", "")
    assert asked["message"] == "Summarize The Name of the Rose"


@pytest.mark.parametrize("era", ERAS)
def test_an_answer_that_the_schema_does_not_allow_is_an_error(tmp_path: Path, era: str) -> None:
    answers = _file(tmp_path, {"asked": "else", "reply": "accept"}, {"reply": {"name": "Ada", "count": 12}})
    error = fails("call", "order_pizza", "--answer", answers, *_server(era))
    assert error == f"mcproof: {answers}:6: the answer cannot be sent: /count: 12 is greater than the maximum of 9\n"


def test_a_bad_file_is_reported_before_anything_starts(tmp_path: Path) -> None:
    started = ("--", "touch", str(tmp_path / "started"))
    answers = _file(tmp_path, {"kind": "from", "reply": "accept"})
    error = fails("call", "order_pizza", "--answer", answers, *started)
    assert f"{answers}:3:11: unknown kind `from` (did you mean `form`?)" in error
    assert "cannot be read: no such file" in fails("prove", "--answer", str(tmp_path / "none"), *started)
    assert not (tmp_path / "started").exists()


@pytest.mark.parametrize("era", ERAS)
def test_prove_goes_on_after_an_answer(tmp_path: Path, era: str) -> None:
    answers = _file(tmp_path, {"reply": {"name": "Ada"}})
    words = ("prove", "--tool", "lend_book", "--format", "json", "--answer", answers)
    done = run(*words, *_server(era), cwd=tmp_path)
    cells = {cell["column"]: cell["verdict"] for cell in document_of(done, "prove")["matrix"]}
    assert done.returncode == 1
    assert (cells["missing"], cells["type"], cells["extra"]) == ("broken promise", "broken promise", "open")


def test_fuzz_goes_on_after_an_answer(tmp_path: Path) -> None:
    answers = _file(tmp_path, {"reply": {"name": "Ada"}})
    words = ("fuzz", "--tool", "lend_book", "--cases", "20", "--format", "json", "--answer", answers)
    assert document_of(run(*words, *_server(), cwd=tmp_path), "fuzz")["outcomes"]["accepted"] > 0


def test_a_pipe_is_never_asked() -> None:
    done = run("call", "order_pizza", *_server(), stdin="L\n1\n\nAda\n\n\n")
    assert (done.returncode, done.stdout) == (1, "decline\n")


@pytest.mark.parametrize(
    "words",
    [
        ("call", "leaky"),
        ("call", "leaky", "--format", "json"),
        ("prove", "--tool", "leaky"),
        ("prove", "--tool", "leaky", "--format", "json"),
        ("fuzz", "--tool", "leaky", "--cases", "3"),
        ("call", "leaky", "--answer", "wrong.json"),
        ("call", "leaky", "--trace"),
    ],
)
def test_secrets_in_questions_are_hidden(tmp_path: Path, words: tuple[str, ...]) -> None:
    _file(tmp_path, {"reply": {"key": "x"}}, name="wrong.json")
    done = run(*words, "--env", "SECRET", *_server(), cwd=tmp_path, env={"SECRET": SECRET})
    assert "leaky" in done.stdout or "asks the user: Is *** right?" in done.stderr or "cannot be sent" in done.stderr
    assert SECRET not in done.stdout + done.stderr


# --- a terminal ---------------------------------------------------------------------------------------------------


def _typed(
    *lines: str, tool: str = "order_pizza", options: tuple[str, ...] = (), era: str = "handshake"
) -> tuple[int, str]:
    """The exit code and the screen of a call, with a line typed after each prompt."""
    child, terminal = pty.fork()
    if child == 0:
        command = [*COMMAND, "call", tool, *options, *_server(era)]
        os.execv(command[0], command)  # noqa: S606
    screen, waiting = b"", list(lines)
    while select([terminal], [], [], HANG)[0]:
        try:
            shown = os.read(terminal, 65_536)
        except OSError:  # the end, on Linux
            break
        if not shown:
            break
        screen += shown
        if screen.endswith((b"> ", b"] ")) and waiting:
            os.write(terminal, waiting.pop(0).encode())
    os.close(terminal)
    _, status = os.waitpid(child, 0)
    lines_shown = [line.rstrip() for line in screen.decode().splitlines()]
    return os.waitstatus_to_exitcode(status), "\n".join(lines_shown)


@pytest.mark.parametrize("era", ERAS)
def test_the_user_fills_in_a_form_field_by_field(era: str) -> None:
    code, screen = _typed("3\n", "12\n", "2\n", "1, Olives\n", "A\n", "Ada\n", "y\n", "\n", era=era)
    assert code == 0, screen
    assert (
        screen
        == """\
the server asks:
  What pizza?
  (Enter takes the value in brackets, - leaves a field out, Ctrl-D declines)
  Size
    1 S
    2 M
    3 L
  size (optional) [M]> 3
  count (optional) [1]> 12
  /count: 12 is greater than the maximum of 9
  count (optional) [1]> 2
    1 Cheese
    2 Olives
  extras (optional)> 1, Olives
  Name for the order.
  name> A
  /name: "A" is shorter than 2 characters
  name> Ada
  urgent (optional) [false]> y
  send {"size": "L", "count": 2, "extras": ["c", "o"], "name": "Ada", "urgent": true}? [Y/n]
ordered {"count": 2, "extras": ["c", "o"], "name": "Ada", "size": "L", "urgent": true}"""
    )


@pytest.mark.parametrize("typed", [("\x04",), ("\n", "\n", "\n", "Ada\n", "\n", "n\n")])
def test_the_user_declines(typed: tuple[str, ...]) -> None:
    code, screen = _typed(*typed)
    assert (code, screen.splitlines()[-1]) == (0, "decline")


def test_the_user_leaves_fields_out() -> None:
    code, screen = _typed("-\n", "-\n", "\n", "Ada\n", "-\n", "y\n")
    assert (code, screen.splitlines()[-1]) == (0, 'ordered {"name": "Ada"}')


def test_an_interrupt_ends_a_question_at_once() -> None:
    code, screen = _typed("L\n", "\x03")
    assert (code, screen.splitlines()[-1]) == (130, "mcproof: interrupted")


def test_a_url_is_shown_escaped_and_confirmed() -> None:
    code, screen = _typed("yes\n", tool="script_url")
    assert code == 0
    assert "\x1b" not in screen
    assert "  open this URL yourself if you trust it: javascript:alert(1)//\\x1b]0;x\\x07\n" in screen
    assert screen.splitlines()[-1] == "accept"


def test_a_file_comes_before_the_user(tmp_path: Path) -> None:
    answers = _file(tmp_path, {"asked": "first", "reply": {"sure": True}})
    code, screen = _typed("yes\n", "\n", tool="ask_twice", options=("--answer", answers))
    assert (code, screen.splitlines()[-1]) == (0, "accept, accept")
    assert "First?" not in screen


def test_secrets_are_hidden_on_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", SECRET)
    code, screen = _typed("1\n", "\n", tool="leaky", options=("--env", "SECRET"))
    assert (code, screen.splitlines()[-1]) == (0, "accept")
    assert SECRET not in screen
    assert "  Is *** right?" in screen
