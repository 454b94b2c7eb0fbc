"""Messages about the responses of live servers stay short, whatever the server sent."""

from __future__ import annotations

from mcproof.checks.rule import find_rule
from mcproof.core.catalog.model import Tool
from mcproof.core.observations.probes import ERROR_AS_SUCCESS, ItemProbes, ProbeRecord, ResponseFlaw


def test_an_error_without_a_mark_is_quoted_in_part() -> None:
    body = '{"error": "' + "x" * 180 + '"}'
    flaw = ResponseFlaw(ERROR_AS_SUCCESS, body)
    record = ProbeRecord("baseline", "a valid call", "success", "accepted", flaws=(flaw,))
    probes = ItemProbes(Tool({"name": "find"}, "/tools/0"), [record], "2025-11-25")
    [problem] = find_rule("WIR-023").check(probes)
    assert problem.message == f'reports an error without `isError`: {body[:78]}…"'
