"""Steps of a test: values of their results in later arguments and expectations."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest

from mcproof.testing.suites.model import SuiteError
from mcproof.testing.suites.parser import read_suite
from servers import suited

from .suites import outcomes_of, run_json, write_suite

if TYPE_CHECKING:
    from pathlib import Path

STDIO: dict[str, Any] = {"command": [sys.executable, "-I", "-S", suited.__file__]}
SUM: dict[str, Any] = {
    "tool": "promise",
    "args": {"content": {"sum": 7}},
    "save": {"sum": "result.structuredContent.sum", "all": "result.structuredContent"},
}
TEXT = "result.content[0].text"


def with_steps(name: str, *steps: dict[str, Any], **others: Any) -> dict[str, Any]:
    return {"name": name, "server": "s", "steps": list(steps), **others}


def test_values_are_carried_with_their_types(tmp_path: Path) -> None:
    again = {"tool": "promise", "args": {"content": {"sum": "${steps.sum}"}}, "save": {"next": SUM["save"]["sum"]}}
    tests = [
        with_steps(
            "typed",
            SUM,
            again,
            tool="promise",
            args={"content": "${steps.all}"},
            expect=[
                {"target": "result.structuredContent.sum", "matcher": {"exact": "${steps.next}"}},
                {"target": "result.structuredContent", "matcher": {"schema": {"const": "${steps.all}"}}},
            ],
        ),
        with_steps(
            "text",
            SUM,
            tool="echo",
            args={"text": "no ${steps.sum} of ${steps.all}, $${steps.sum}"},
            expect=[{"target": TEXT, "matcher": {"exact": 'no 7 of {"sum": 7}, $${steps.sum}'}}],
        ),
        with_steps("another", SUM, tool="echo", args={"text": "x"}, expect=[
            {"target": TEXT, "matcher": {"contains": "${steps.sum}"}}
        ]),
    ]  # fmt: skip
    write_suite(tmp_path, {"s": STDIO}, tools=tests)
    outcomes = outcomes_of(run_json(tmp_path))
    assert outcomes["tools/typed"] == ("passed", "")
    assert outcomes["tools/text"] == ("passed", "")
    assert outcomes["tools/another"][0] == "failed"


@pytest.mark.parametrize(
    ("step", "message"),
    [
        ({"tool": "fail"}, "step 1 (fail): the call failed: isError is true"),
        ({"tool": "refuse"}, "step 1 (refuse): the call failed: error -32000"),
        (
            {**SUM, "save": {"id": "result.structuredContent.id"}},
            "step 1 (promise): cannot save `id`: no value: `result.structuredContent` has sum",
        ),
    ],
)
def test_a_step_that_fails_fails_the_test(tmp_path: Path, step: dict[str, Any], message: str) -> None:
    tests = [with_steps("a", step, tool="echo", args={"text": "x"}), with_steps("b", SUM, tool="fail")]
    write_suite(tmp_path, {"s": STDIO}, tools=tests)
    outcomes = outcomes_of(run_json(tmp_path))
    assert outcomes["tools/a"][0] == outcomes["tools/b"][0] == "failed"
    assert outcomes["tools/a"][1].startswith(message)
    assert outcomes["tools/b"][1].startswith("the call failed: isError is true")


HEAD = "servers: {s: {command: [x]}}\ntools:\n  - name: n\n    server: s\n    tool: t\n"


@pytest.mark.parametrize(
    ("rest", "line", "message"),
    [
        (
            "    steps: [{tool: a, save: {key: result.x}}]\n    args: {k: '${steps.kye}'}\n",
            7,
            "unknown value `${steps.kye}` (did you mean `key`?); earlier steps save key",
        ),
        ("    args: {k: '${steps.key}'}\n", 6, "no earlier step of this test saves a value"),
        ("    steps:\n      - {tool: a, args: {k: 'x ${steps.key}'}, save: {key: result.x}}\n", 7, "unknown value"),
        ("    steps: [{tool: a, save: {key: error.x}}]\n", 6, "must start with `result`"),
        ("    steps: [{tool: a, save: {a-b: result.x}}]\n", 6, "invalid name `a-b` in `save`"),
        ("    save: {a: result.x}\n", 6, "(only `steps` can save values: a test has none for other tests)"),
        ("    steps: [{tool: a, sav: {a: result.x}}]\n", 6, "unknown key `sav`"),
        ("    steps: [{tool: a}]\n    negative_path: {}\n", 6, "`steps` cannot be combined with `negative_path`"),
        ("    steps: [{tool: '${steps.a}'}]\n", 6, "`${steps.a}` can only be used in `args` and in matchers"),
        (
            "    expect: [{target: result.x, matcher: {exact: '${steps.key}'}}]\n",
            6,
            "no earlier step of this test saves a value",
        ),
        ("setup: [{call: {server: s, tool: t, args: {a: '${steps.a}'}}}]\n", 6, "no earlier step"),
    ],
)
def test_mistakes_are_reported_before_anything_starts(tmp_path: Path, rest: str, line: int, message: str) -> None:
    (tmp_path / "s.yaml").write_text(HEAD + rest, encoding="utf-8")
    with pytest.raises(SuiteError) as found:
        read_suite(str(tmp_path / "s.yaml"), {})
    (problem,) = found.value.problems
    assert problem.line == line
    assert message in problem.message
