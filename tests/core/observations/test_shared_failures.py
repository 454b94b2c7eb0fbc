"""Failures that all tools share are one fact about the server."""

from __future__ import annotations

from mcproof.core.catalog.model import Server, Tool
from mcproof.core.observations.probes import ItemProbes, ProbeRecord, ResponseFlaw, with_shared_failures

SERVER = Server({}, "")
EXTRA = "FAULT-SCHEMA-UNEXPECTED-FIELD"
ACCEPTED = ProbeRecord("extra_field", "an undeclared `x`", "rejection", "accepted", EXTRA, "additionalProperties")
REFUSED = ACCEPTED._replace(outcome="rejected")
VALID = ProbeRecord("baseline", "a valid call", "success", "accepted")
HANG = ProbeRecord("oversized", "a very long string", "response", "hang", response="no response")


def shared(*tools: list[ProbeRecord], refused: str | None = None) -> tuple[list[ProbeRecord], list[int]]:
    """The shared failures, and how many records each tool keeps."""
    cases = frozenset([refused]) if refused else frozenset()
    probes = [
        ItemProbes(Tool({"name": f"t{number}"}, f"/tools/{number}"), records, "2025-11-25", cases)
        for number, records in enumerate(tools)
    ]
    found = with_shared_failures(probes, SERVER)
    of_server = [record for each in found if each.item is SERVER for record in each.records]
    return of_server, [len(each.records) for each in found if each.item is not SERVER]


def test_a_promise_that_no_tool_keeps_is_one_record() -> None:
    [record], left = shared([VALID, ACCEPTED], [VALID, ACCEPTED], [VALID, ACCEPTED, ACCEPTED._replace(times=4)])
    assert [name for name, _ in record.of_tools] == ["t0", "t1", "t2", "t2"]
    assert record.description == "an undeclared `x`"
    assert left == [1, 1, 1]


def test_two_tools_are_too_few() -> None:
    assert shared([VALID, ACCEPTED], [VALID, ACCEPTED, ACCEPTED]) == ([], [2, 3])


def test_one_tool_that_keeps_the_promise_makes_it_a_matter_of_each_tool() -> None:
    assert shared([VALID, ACCEPTED], [VALID, ACCEPTED], [VALID, ACCEPTED], [VALID, REFUSED])[0] == []
    assert shared([ACCEPTED], [ACCEPTED], [ACCEPTED], refused=EXTRA)[0] == []


def test_a_text_that_reports_an_error_keeps_the_promise() -> None:
    said = ACCEPTED._replace(flaws=(ResponseFlaw("error-as-success", "Error: x"),))
    assert shared([VALID, ACCEPTED], [VALID, ACCEPTED], [VALID, ACCEPTED], [VALID, said])[0] == []
    assert shared([VALID, said], [VALID, said], [VALID, said])[0] == []


def test_a_tool_that_refuses_everything_shows_nothing() -> None:
    fails = [VALID._replace(outcome="rejected"), REFUSED]
    [record], _ = shared([VALID, ACCEPTED], [VALID, ACCEPTED], [VALID, ACCEPTED], fails)
    assert len(record.of_tools) == 3


def test_leniency_and_undeclared_promises_are_not_shared() -> None:
    lenient, open_ = ACCEPTED._replace(is_lenient=True), ACCEPTED._replace(expects="nothing")
    assert shared(*[[VALID, lenient, open_]] * 3)[0] == []


def test_faults_are_told_apart() -> None:
    other = ACCEPTED._replace(fault=None, keyword="enum")
    records, left = shared(*[[VALID, ACCEPTED, other]] * 3)
    assert [record.fault for record in records] == [EXTRA, None]
    assert left == [1, 1, 1]
    records, _ = shared([VALID, ACCEPTED, other], [VALID, ACCEPTED], [VALID, ACCEPTED])
    assert [record.fault for record in records] == [EXTRA]


def test_a_probe_that_hangs_in_every_tool_is_one_record() -> None:
    [record], left = shared([VALID, HANG], [VALID, HANG], [VALID, HANG], [VALID])
    assert [name for name, _ in record.of_tools] == ["t0", "t1", "t2"]
    assert left == [1, 1, 1, 1]


def test_a_probe_that_one_tool_survives_is_a_matter_of_each_tool() -> None:
    survived = HANG._replace(outcome="rejected")
    assert shared([VALID, HANG], [VALID, HANG], [VALID, HANG], [VALID, survived])[0] == []


def test_fuzzing_sends_cases_to_every_tool() -> None:
    hang = HANG._replace(probe="fuzz")
    assert len(shared([hang], [hang], [hang])[0]) == 1
    assert shared([hang], [hang], [hang], [])[0] == []
