"""Answers in suites and files: what is parsed, what is refused, and what a test expects of questions."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import pytest

from mcproof.client.questions import Answer
from mcproof.testing.suites.entries import read_answer_file
from mcproof.testing.suites.model import SuiteError
from servers import asking

from .suites import outcomes_of, run_json, write_suite

if TYPE_CHECKING:
    from pathlib import Path

SERVERS = {
    era: {"command": [sys.executable, "-I", "-S", asking.__file__, "--era", era]} for era in ("handshake", "stateless")
}


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


def _test(tool: str, *expected: tuple[str, Any], answers: list[Any] | None = None, **more: Any) -> list[dict[str, Any]]:
    """A test in both eras."""
    expect = [{"target": target, "matcher": matcher} for target, matcher in expected]
    keys = {**({"expect": expect} if expect else {}), **({} if answers is None else {"answers": answers}), **more}
    return [{"name": f"{tool} {era}", "server": era, "tool": tool, **keys} for era in SERVERS]


def _ran(folder: Path, tests: list[dict[str, Any]], **blocks: Any) -> set[tuple[str, str]]:
    """The outcomes and messages of tests, which are the same in both eras."""
    write_suite(folder, SERVERS, tools=tests, **blocks)
    return set(outcomes_of(run_json(folder)).values())


def test_a_test_answers_a_question_and_expects_it(tmp_path: Path) -> None:
    tests = _test(
        "order_pizza",
        ("asked[0].message", {"exact": "What pizza?"}),
        ("asked[0].kind", {"exact": "form"}),
        ("asked[0].requestedSchema.properties.size.default", {"exact": "M"}),
        ("asked", {"schema": {"maxItems": 1}}),
        ("result.content[0].text", {"contains": '"name": "Ada"'}),
        answers=[{"asked": "pizza", "reply": {"name": "Ada"}}],
    )
    assert _ran(tmp_path, tests) == {("passed", "")}


def test_a_question_that_is_expected_must_be_asked(tmp_path: Path) -> None:
    tests = _test("count_books", ("asked[0].message", {"contains": "pizza"}))
    assert _ran(tmp_path, tests) == {("failed", "asked[0].message: no value: `asked` has 0 items")}
    silent = [*_test("count_books", ("asked", {"exact": []}))]
    assert _ran(tmp_path, silent) == {("passed", "")}


def test_a_question_without_an_answer_fails_a_test_that_expects_nothing_else(tmp_path: Path) -> None:
    why = "the server asks the user: What pizza? (declined: no answer); answer it with `answers`"
    assert _ran(tmp_path, _test("order_pizza")) == {("failed", why)}
    declined = _test("order_pizza", ("result.content[0].text", {"exact": "decline"}))
    assert _ran(tmp_path, declined) == {("passed", "")}
    wrong = _test("order_pizza", ("result.content[0].text", {"exact": "accept"}))
    ((outcome, message),) = _ran(tmp_path, wrong)
    assert outcome == "failed"
    assert message.endswith("(and 1 more)")


def test_an_answer_that_the_schema_does_not_allow_fails_the_test(tmp_path: Path) -> None:
    tests = _test("order_pizza", answers=[{"reply": {"name": "Ada", "size": "XL"}}])
    problem = 'the answer cannot be sent: /size: "XL" is not one of "S", "M" or "L"'
    assert _ran(tmp_path, tests) == {("failed", f"mcproof.yaml:2: {problem}")}


def test_answers_of_the_suite_come_after_those_of_a_test(tmp_path: Path) -> None:
    tests = [
        *_test("ask_twice", ("result.content[0].text", {"exact": "accept, cancel"}), answers=[_SURE]),
        *_test("summarize", ("result.content[0].text", {"exact": "summary: Short."})),
    ]
    answers = [{"asked": "first", "reply": "decline"}, {"reply": "cancel"}, {"kind": "sampling", "reply": "Short."}]
    assert _ran(tmp_path, tests, answers=answers) == {("passed", "")}


_SURE = {"asked": "First", "reply": {"sure": True}}


def test_answers_of_an_importing_suite_come_first(tmp_path: Path) -> None:
    (tmp_path / "common.yaml").write_text(json.dumps({"answers": [{"reply": "cancel"}]}))
    tests = _test("ask_twice", ("result.content[0].text", {"exact": "accept, cancel"}))
    assert _ran(tmp_path, tests, imports=["common.yaml"], answers=[_SURE]) == {("passed", "")}


def test_an_answer_uses_a_saved_value(tmp_path: Path) -> None:
    tests = _test(
        "order_pizza",
        ("result.content[0].text", {"contains": '"name": "4711 books"'}),
        answers=[{"reply": {"name": "${steps.count}"}}],
        steps=[{"tool": "count_books", "save": {"count": "result.content[0].text"}}],
    )
    assert _ran(tmp_path, tests) == {("passed", "")}


def test_probes_of_a_test_use_its_answers(tmp_path: Path) -> None:
    probes: dict[str, Any] = {"args": {"title": "Emma"}, "negative_path": {"checks": ["missing_required"]}}
    ((outcome, message),) = _ran(tmp_path, _test("lend_book", **probes))
    assert outcome == "failed"
    assert "no probe could be evaluated: missing_required: without the required `title`; it asks the user" in message
    answered = _ran(tmp_path, _test("lend_book", answers=[{"reply": {"name": "Ada"}}], **probes))
    assert answered == {
        ("failed", "missing_required: accepted, without the required `title` [FAULT-SCHEMA-MISSING-REQUIRED]")
    }
    fuzz: dict[str, Any] = {"fuzz": {"cases": 10, "expect": [{"target": "fuzz.accepted", "matcher": {"exact": 0}}]}}
    assert {outcome for outcome, _ in _ran(tmp_path, _test("lend_book", **fuzz))} == {"passed"}
    answered = _ran(tmp_path, _test("lend_book", answers=[{"reply": {"name": "Ada"}}], **fuzz))
    assert {outcome for outcome, _ in answered} == {"failed"}


def test_questions_of_concurrent_tests_are_attributed(tmp_path: Path) -> None:
    """All tools declare that they only read, so that their tests may run at once."""
    tests = [
        *_test("order_pizza", ("result.content[0].text", {"exact": "decline"})),
        *_test("count_books", ("result.content[0].text", {"contains": "4711"})),
        *_test("connect_account", ("asked[0].url", {"exact": "https://host/in"})),
    ]
    assert _ran(tmp_path, tests) == {("passed", "")}


def test_a_tool_that_the_server_adds_later_is_tested(tmp_path: Path) -> None:
    servers = {"handshake": SERVERS["handshake"]}
    tests = [
        {"name": "before", "server": "handshake", "tool": "find_book", "negative_path": {"checks": ["unknown_tool"]}},
        {"name": "grow", "server": "handshake", "tool": "grow"},
        {"name": "grown", "server": "handshake", "tool": "grown", "negative_path": {"checks": ["wrong_type"]}},
    ]
    write_suite(tmp_path, servers, tools=tests)
    results = outcomes_of(run_json(tmp_path))
    assert "has no tool" not in str(results)
