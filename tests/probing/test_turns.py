"""The order in which the tools are fuzzed."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, Any

import pytest

from mcproof.core.catalog.model import Tool
from mcproof.probing.calls import CallPlan
from mcproof.probing.fuzz import campaign as turns_module
from mcproof.probing.fuzz.campaign import FIRST, LATER, turns
from mcproof.probing.fuzz.tool import MOST_CRASHES, CaseSlice, FuzzPlan, PendingCase, SentCase, ToolFuzzer, cases_of
from mcproof.probing.probes.responses import Judgement

if TYPE_CHECKING:
    from mcproof.core.observations.probes import Outcome

SCHEMA = {"type": "object", "properties": {"text": {"type": "string", "maxLength": 20}}, "required": ["text"]}


def fuzzer(name: str, cases: int = 60, schema: Any = SCHEMA) -> ToolFuzzer:
    plan = FuzzPlan(CallPlan([], {}, limit=1.0), seed=1, cases=cases)
    return ToolFuzzer(Tool({"name": name, "inputSchema": schema}, "/tools/0"), None, plan, [])


def send(slice_: CaseSlice, outcome: Outcome = "accepted") -> None:
    """Record a slice as sent: every case got this outcome."""
    for number, case in slice_.cases:
        judgement = Judgement("crash", "it ended") if outcome == "crash" else Judgement("clean")
        slice_.sent[number] = SentCase(number=number, case=case, judgement=judgement, is_refused=False)


def test_every_tool_has_a_short_first_turn() -> None:
    slices = [
        (each.fuzzer.tool.name, len(each.cases)) for each in turns([fuzzer("a"), fuzzer("b", 30), fuzzer("c", 3)])
    ]
    assert slices == [
        *[("a", FIRST), ("b", FIRST), ("c", 3)],
        *[("a", LATER), ("b", LATER)],
        *[("a", LATER), ("b", 30 - FIRST - LATER)],
        ("a", 60 - FIRST - 2 * LATER),
    ]


@pytest.mark.parametrize(("name", "value"), [("_MOST_TOOLS", 2), ("_MOST_WEIGHT", 200)])
def test_many_tools_take_turns_in_groups(monkeypatch: pytest.MonkeyPatch, name: str, value: int) -> None:
    monkeypatch.setattr(turns_module, name, value)
    order = [each.fuzzer.tool.name for each in turns([fuzzer(name, 40) for name in "abc"])]
    assert "".join(order) == "abc" + "abab" + "cc"


@pytest.mark.parametrize("most_tools", [50, 1])
def test_the_cases_are_those_of_the_seed_however_they_are_taken(
    monkeypatch: pytest.MonkeyPatch, most_tools: int
) -> None:
    monkeypatch.setattr(turns_module, "_MOST_TOOLS", most_tools)
    taken: dict[str, list[Any]] = {"a": [], "b": []}
    for each in turns([fuzzer("a"), fuzzer("b")]):
        taken[each.fuzzer.tool.name] += each.cases
    for name, cases in taken.items():
        generated = [case for case, _ in zip(cases_of(SCHEMA, 1, name), range(60), strict=False)]
        assert cases == list(enumerate(generated, 1))


def test_slices_are_counted_in_order() -> None:
    tool = fuzzer("a")
    first, second, third = tool.take(5), tool.take(5), tool.take(5)
    assert first is not None
    assert second is not None
    assert third is not None
    for each in (first, second, third):
        send(each)
    assert tool.finish(third) == 0
    assert tool.finish(first) == 1
    assert tool.sent == 5
    assert tool.finish(second) == 2
    assert tool.sent == 15


def test_what_follows_the_last_crash_that_counts_is_dropped() -> None:
    tool = fuzzer("a")
    slices = [tool.take(6) for _ in range(3)]
    for each in reversed(slices):
        assert each is not None
        send(each, "crash")
        tool.finish(each)
    assert (tool.sent, tool.outcomes["crash"]) == (MOST_CRASHES, MOST_CRASHES)
    assert tool.stopped == "stopped after 10 cases: repeated crashes or hangs"
    assert tool.take(5) is None


def test_what_was_sent_counts_after_an_interrupt() -> None:
    tool = fuzzer("a")
    first, second = tool.take(5), tool.take(5)
    assert first is not None
    assert second is not None
    send(second)
    tool.finish(second)
    tool.finish_early("interrupted")
    assert tool.sent == 5
    assert tool.stopped == "interrupted after 5 cases"
    assert not tool.has_been_tried


@pytest.mark.parametrize(("seconds", "is_tried"), [(0, True), (2, False)])
def test_a_tool_with_an_overdue_response_has_not_been_tried(seconds: int, is_tried: bool) -> None:
    one = fuzzer("a")
    slice_ = one.take(60)
    assert slice_ is not None
    send(slice_)
    number, case = slice_.cases[-1]
    del slice_.sent[number]
    slice_.pending = PendingCase(case, monotonic() - seconds)
    one.finish_early("time limit reached")
    assert one.stopped.startswith("time limit reached after 59 cases, without a response to {")
    assert one.has_been_tried is is_tried
