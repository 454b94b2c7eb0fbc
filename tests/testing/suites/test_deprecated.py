from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.testing.suites.entries import warnings_of

from .test_parser import read

if TYPE_CHECKING:
    from pathlib import Path

TESTS = """\
resources:
  - {name: n, server: a, uri: "x:y", expect: [{target: error.code, matcher: {exact: -32002}}]}
  - {name: m, server: a, uri: "x:y", expect: [{target: error.code, matcher: {exact: -32602}}]}
"""


def test_removed_features_are_reported_with_their_lines(tmp_path: Path) -> None:
    entry = 'servers:\n  a: {url: "https://host/sse", headers: {Mcp-Session-Id: x, Accept: y}}\n'
    warnings = warnings_of(read(tmp_path, entry + TESTS))
    assert [(each.line, each.message) for each in warnings] == [
        (
            2,
            "the server `a` seems to use HTTP+SSE, deprecated since 2025-03-26; use Streamable HTTP",
        ),
        (2, "the header `Mcp-Session-Id` of the server `a` was removed in 2026-07-28"),
        (4, "the error code -32002 (resource not found) was removed in 2026-07-28"),
    ]


def test_removed_codes_and_fields_are_found_anywhere(tmp_path: Path) -> None:
    expectations = (
        "{target: error, matcher: {exact: {code: -32042, message: x}}}",
        "{target: error.code, matcher: {schema: {enum: [1, -32002]}}}",
        "{target: error.code, matcher: {not: {exact: -32002}}}",
        "{target: 'result.tools[0].execution.taskSupport', matcher: {exact: null}}",
        "{target: result.code, matcher: {exact: -32002}}",
    )
    tests = [
        f"  - {{name: n{number}, server: a, tool: t, expect: [{each}]}}\n" for number, each in enumerate(expectations)
    ]
    warnings = warnings_of(read(tmp_path, f"servers:\n  a: {{command: [x]}}\ntools:\n{''.join(tests)}"))
    assert [each.line for each in warnings] == [4, 5, 6, 7]


def test_a_server_pinned_to_an_older_revision_gets_no_warnings(tmp_path: Path) -> None:
    entry = 'servers:\n  a: {url: "https://host/mcp", protocol: "2025-06-18", headers: {Mcp-Session-Id: x}}\n'
    assert warnings_of(read(tmp_path, entry + TESTS)) == []
