"""What a suite uses of MCP that a revision has deprecated or removed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcproof.suite.parse.problems import MOST, Problem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.suite.definition import ServerEntry, Suite, SuiteTest

NEWEST = "2026-07-28"
_CODES = {-32002: "resource not found", -32042: "a URL is to be visited"}
"""Error codes that the newest revision does not have any more."""
_FIELDS = {"taskSupport": "whether a tool runs as a task", "elicitationId": "an elicitation by its number"}
"""Fields that it does not have any more."""
_HEADERS = ("mcp-session-id", "last-event-id")


def warnings_of(suite: Suite) -> list[Problem]:
    """Each with its place, in the order of the file; what is pinned to an older revision may keep its ways."""
    found = [warning for entry in suite.servers.values() for warning in _of_server(entry)]
    for test in suite.tests:
        entry = suite.servers[test.server]
        if entry.protocol is None or entry.protocol >= NEWEST:
            found += _of_test(test)
    return sorted(found, key=lambda each: (each.file, each.line or 0))[:MOST]


def _of_server(entry: ServerEntry) -> Iterator[Problem]:
    if entry.url.partition("?")[0].rstrip("/").endswith("/sse"):
        what = f"the server `{entry.name}` looks like HTTP+SSE, which is deprecated since 2025-03-26"
        yield Problem(*entry.place, f"{what}; Streamable HTTP takes its place")
    if entry.protocol is None or entry.protocol >= NEWEST:
        for name in entry.headers:
            if name.lower() in _HEADERS:
                yield Problem(*entry.place, f"the header `{name}` of the server `{entry.name}` was removed in {NEWEST}")


def _of_test(test: SuiteTest) -> Iterator[Problem]:
    for each in test.expect.assertions if test.expect is not None else ():
        for code in _codes_in(each.matcher.expected) if each.target.root == "error" else ():
            yield Problem(*each.place, f"the error code {code} ({_CODES[code]}) was removed in {NEWEST}")
        for step in each.target.steps:
            if step in _FIELDS:
                yield Problem(*each.place, f"`{step}` ({_FIELDS[str(step)]}) was removed in {NEWEST}")


def _codes_in(expected: Any) -> Iterator[int]:
    """The codes that a matcher names, whatever stands around them; what a suite holds is never deep."""
    if isinstance(expected, dict | list):
        for each in expected.values() if isinstance(expected, dict) else expected:
            yield from _codes_in(each)
    elif isinstance(expected, int) and expected in _CODES:
        yield expected
