"""Requests and responses below what they show."""

from __future__ import annotations

from typing import Any

import pytest

from mcproof.core.console import Style, display_width
from mcproof.probing.outcomes import Failure, Fuzzing
from mcproof.report.formats import harmless
from mcproof.report.frames import readable_response
from mcproof.runs.results import FuzzPayload, ProvePayload, RunResult, TargetResult

from .trials import finding


def _prove(evidence: dict[str, Any], message: str = "accepts a call that violates its schema", **style: Any) -> str:
    found = finding("WIR-013", "find_book", message, evidence={"probe": "wrong_type", **evidence})
    result = TargetResult("python3 library.py", findings=[found], payload=ProvePayload())
    return "".join(harmless(RunResult("prove", "0.0.0", [result]), "text", Style(**style)))


ANSWER = '{"jsonrpc": "2.0", "id": 0, "result": {"content": [{"type": "text", "text": "two books"}], "isError": false}}'


def test_the_request_is_shown_with_marks_under_the_offending_argument() -> None:
    sent = '{"title": "a", "rows": [{"id": {}}], "limit": 3}'
    lines = _prove({"sent": sent, "answer": ANSWER, "argument": "rows[].id"}).splitlines()
    at = lines.index(f"  | request   {sent}")
    assert lines[at + 1] == "  | " + " " * (10 + sent.index('"rows"')) + "^" * len('"rows": [{"id": {}}]')
    assert lines[at + 2] == '  | response  "two books"'


def test_an_undeclared_argument_is_marked() -> None:
    text = _prove({"sent": '{"id": 1, "colour": "red"}', "answer": ANSWER}, "accepts an undeclared `colour`")
    assert "\n  | " + " " * (10 + len('{"id": 1, ')) + "^" * len('"colour": "red"') + "\n" in text


@pytest.mark.parametrize("sent", ['{"title": "aaaa… (1,048,598 characters)', '["a"]', '{"other": 1}', ""])
def test_nothing_is_marked_where_the_argument_is_not_in_the_text(sent: str) -> None:
    assert "^" not in _prove({"sent": sent, "answer": ANSWER, "argument": "title"})


def test_a_response_that_the_message_has_is_not_repeated() -> None:
    why = "the server exited with code 1"
    text = _prove({"sent": '{"title": "a"}', "answer": why}, f"crashes: {why}")
    assert "request " in text
    assert "response" not in text


def test_only_the_first_exchange_of_several_is_shown_unless_all_are_asked_for() -> None:
    examples = [{"sent": f'{{"id": {number}}}', "answer": ANSWER} for number in range(5)]
    evidence = {**examples[0], "examples": examples}
    assert _prove(evidence).count("request ") == 1
    assert _prove(evidence, examples=None).count("request ") == 5


@pytest.mark.parametrize("width", [40, 60, 120])
@pytest.mark.parametrize("unicode", [True, False])
def test_requests_and_responses_fit_the_terminal(width: int, unicode: bool) -> None:
    sent = '{"題名": "図書館の目録から本を探します", "title": "\\u001b[31m' + "x" * 200 + '"}'
    answer = ANSWER.replace("two", "図" * 50)
    evidence = {"sent": sent, "answer": answer, "argument": "title"}
    lines = _prove(evidence, width=width, unicode=unicode).splitlines()
    shown = [line for line in lines if line.startswith("  | ")]
    assert len(shown) >= 2
    assert max(map(display_width, shown)) <= width


def _structured(text: str, structured: str) -> str:
    content = f'[{{"type": "text", "text": "{text}"}}]'
    return f'{{"jsonrpc": "2.0", "id": 0, "result": {{"content": {content}, "structuredContent": {structured}}}}}'


@pytest.mark.parametrize(
    ("response", "shown"),
    [
        (ANSWER, '"two books"'),
        (ANSWER.replace("false", "true"), 'isError: "two books"'),
        ('{"jsonrpc": "2.0", "id": 0, "error": {"code": -32602}}', 'error {"code": -32602}'),
        ('{"jsonrpc": "2.0", "id": 0, "result": {"content": []}}', '{"content": []}'),
        (f"{ANSWER[:83]}… (900 characters)", '"two bo…" (900 characters)'),
        (f"{ANSWER[:-2]}… (900 characters)", '"two books"'),
        (f"{ANSWER[:79]}a \\… (900 characters)", '"twa …" (900 characters)'),
        ('{"jsonrpc": "2.0", "id": "a", "error": {"code": -3… (900 characters)', 'error {"code": -3… (900 characters)'),
        ('{"result":{"content":[{"type":"text","text":"[1, … (900 characters)', '"[1, …" (900 characters)'),
        ('{"jsonrpc":"2.0","id":0,"result":{"content":[{"text":"two… (900 characters)', '"two…" (900 characters)'),
        ('{"id":0,"error":{"code":-3… (900 characters)', 'error {"code":-3… (900 characters)'),
        (_structured("two", '{"result": "two"}'), '"two"'),
        (_structured("[1]", '{"result": [1]}'), '"[1]"'),
        (_structured('{\\"a\\": 1}', '{"a": 1}'), '"{\\"a\\": 1}"'),
        (
            _structured("two", '{"a": 1}'),
            '{"content": [{"type": "text", "text": "two"}], "structuredContent": {"a": 1}}',
        ),
        ("no response in 10 s", "no response in 10 s"),
        ("[]", "[]"),
        ("[" * 100_000, "[" * 100_000),
        (
            '{"jsonrpc":"2.0","id":3,"result":{"_meta":{"fastmcp":{"wrap_result":true}},"content":[{"type":"text",'
            '"text":"notes.md:1: root…',
            '"notes.md:1: root…"',
        ),
    ],
)
def test_a_response_is_shown_without_its_envelope(response: str, shown: str) -> None:
    assert readable_response(response) == shown


def _fuzz(failures: list[Failure], **style: Any) -> str:
    payload = FuzzPayload(Fuzzing(seed=1, cases=9, outcomes={"accepted": 9}, failures=failures))
    run = RunResult("fuzz", "0.0.0", [TargetResult("python3 library.py", payload=payload)])
    return "".join(harmless(run, "text", Style(**style)))


def _failure(number: int, **changes: Any) -> Failure:
    failure = Failure(
        f"c{number}", "find_book", "accepted", {"id": number}, f"mcproof replay c{number}", response=ANSWER
    )
    return failure._replace(**changes)


def test_a_failed_case_has_its_response() -> None:
    assert '    arguments  {"id": 1}\n    response   "two books"\n    replay     mcproof replay c1\n' in _fuzz(
        [_failure(1)]
    )
    assert "response " not in _fuzz([_failure(1, what=f"broken: {ANSWER}")])


def test_three_failed_cases_of_an_outcome_of_a_tool_are_shown_and_the_others_counted() -> None:
    failures = [*map(_failure, range(5)), _failure(6, tool="lend_book"), _failure(7, outcome="crash")]
    text = _fuzz(failures)
    assert [f"replay c{number}\n" in text for number in (0, 1, 2, 3, 4, 6, 7)] == [True] * 3 + [False] * 2 + [True] * 2
    assert "\nand 2 more: lenient find_book (--show all)\n" in text
    assert "more" not in _fuzz(failures, examples=None)
