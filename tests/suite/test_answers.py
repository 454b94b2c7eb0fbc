"""Answers in suites and files: what is parsed, what is refused, and what a test expects of questions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mcproof.client.answers import Answer
from mcproof.suite.parse.answer_fields import read_answer_file
from mcproof.suite.parse.problems import SuiteError

if TYPE_CHECKING:
    from pathlib import Path


def _read(folder: Path, text: str) -> tuple[Answer, ...]:
    file = folder / "answers.yaml"
    file.write_text(text)
    answers = read_answer_file(str(file))
    return tuple(each._replace(location=each.location.removeprefix(f"{folder}/")) for each in answers)


def _problems(folder: Path, text: str) -> list[str]:
    with pytest.raises(SuiteError) as caught:
        _read(folder, text)
    return [f"{each.line}: {each.message}" for each in caught.value.problems]


def test_answers_of_every_kind_are_parsed(tmp_path: Path) -> None:
    text = """\
- asked: Which size?
  reply: {size: L, count: 2, now: true, extras: [a, b], nick: null}
- reply: accept
- {kind: url, reply: cancel}
- {kind: sampling, asked: Summarize, reply: In short.}
- {kind: roots, reply: [file:///a, {uri: file:///b, name: b}]}
"""
    values = {"size": "L", "count": 2, "now": True, "extras": ["a", "b"], "nick": None}
    assert _read(tmp_path, text) == (
        Answer("form", "Which size?", values, "answers.yaml:1"),
        Answer("form", "", "accept", "answers.yaml:3"),
        Answer("url", "", "cancel", "answers.yaml:4"),
        Answer("sampling", "Summarize", "In short.", "answers.yaml:5"),
        Answer("roots", "", ["file:///a", {"uri": "file:///b", "name": "b"}], "answers.yaml:6"),
    )


def test_a_file_is_a_list_or_has_a_key(tmp_path: Path) -> None:
    assert _read(tmp_path, "answers: [{reply: accept}]") == _read(tmp_path, "[{reply: accept}]")
    assert _read(tmp_path, "[]") == ()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("5", "1: a file of answers must be a list, not a number"),
        ("{}", "1: a file of answers lacks `answers`"),
        ("- {asked: x}", "1: an answer lacks `reply`"),
        ("- {reply: yes}", "1: `reply` must be accept, decline or cancel, or a mapping with fields, not `yes`"),
        ("- {reply: 5}", "1: `reply` must be accept, decline or cancel, or a mapping with fields, not a number"),
        (
            "- {reply: {a: {b: 1}}}",
            "1: `reply` must be fields with texts, numbers, booleans or lists of texts, not a mapping",
        ),
        ("- {kind: url, reply: {a: 1}}", "1: `reply` must be accept, decline or cancel, not a mapping"),
        ("- {kind: sampling, reply: [a]}", "1: `reply` must be the text of the model, or decline, not a list"),
        (
            "- {kind: roots, reply: 5}",
            "1: `reply` must be a list of `file://` URIs, or of mappings with `uri` and `name`, not a number",
        ),
        ("- {kind: roots, asked: x, reply: []}", "1: `asked` cannot be combined with `kind: roots`, which has no text"),
        (
            "- {ask: x, reply: accept}",
            "1: unknown key `ask` in an answer (did you mean `asked`?); expected one of kind, asked, reply",
        ),
    ],
)
def test_mistakes_are_named(tmp_path: Path, text: str, problem: str) -> None:
    assert _problems(tmp_path, text) == [problem]
