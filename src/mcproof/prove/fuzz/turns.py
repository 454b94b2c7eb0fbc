"""The order in which the tools of a server are fuzzed: in turns, a few cases at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.prove.fuzz.case_slice import CaseSlice
    from mcproof.prove.fuzz.tool_fuzzer import ToolFuzzer

FIRST = 5
"""The cases of a tool in the first round, which is short so that every tool has its turn soon."""
LATER = 20
_MOST_TOOLS = 50
_MOST_WEIGHT = 1_000_000
"""The tools and the size of their schemas that take turns after the first round: their generators use memory."""


def turns(fuzzers: list[ToolFuzzer]) -> Iterator[CaseSlice]:
    """Yield the slices of all tools: the first of each, then the others, group by group."""
    groups = list(_groups(fuzzers))
    for fuzzer in fuzzers:
        if (first := fuzzer.take(FIRST)) is not None:
            yield first
        if len(groups) > 1:
            fuzzer.rest()
    for group in groups:
        waiting = group
        while waiting:
            unfinished = []
            for fuzzer in waiting:
                if (later := fuzzer.take(LATER)) is not None:
                    unfinished.append(fuzzer)
                    yield later
            waiting = unfinished


def _groups(fuzzers: list[ToolFuzzer]) -> Iterator[list[ToolFuzzer]]:
    group: list[ToolFuzzer] = []
    weight = 0
    for fuzzer in fuzzers:
        if group and (len(group) == _MOST_TOOLS or weight + fuzzer.weight > _MOST_WEIGHT):
            yield group
            group, weight = [], 0
        group.append(fuzzer)
        weight += fuzzer.weight
    if group:
        yield group
