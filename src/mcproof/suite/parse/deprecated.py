"""Warn about deprecated or removed MCP features in a suite."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcproof.core.protocol import FIRST_STATELESS
from mcproof.suite.parse.problems import MOST_PROBLEMS, SuiteProblem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.suite.definition import ServerEntry, Suite, SuiteTest

_CODES = {-32002: "resource not found", -32042: "URL elicitation required"}
"""Error codes removed in the newest revision."""
_FIELDS = {"taskSupport": "task support of a tool", "elicitationId": "ID of an elicitation"}
"""Fields removed in the newest revision."""
_HEADERS = ("mcp-session-id", "last-event-id")


def warnings_of(suite: Suite) -> list[SuiteProblem]:
    """Return the warnings in file order. Servers pinned to an older revision may use its features."""
    found = [warning for entry in suite.servers.values() for warning in _of_server(entry)]
    for test in suite.tests:
        entry = suite.servers[test.server]
        if entry.protocol is None or entry.protocol >= FIRST_STATELESS:
            found += _of_test(test)
    return sorted(found, key=lambda each: (each.file, each.line or 0))[:MOST_PROBLEMS]


def _of_server(entry: ServerEntry) -> Iterator[SuiteProblem]:
    if entry.url.partition("?")[0].rstrip("/").endswith("/sse"):
        what = f"the server `{entry.name}` seems to use HTTP+SSE, deprecated since 2025-03-26"
        yield SuiteProblem(*entry.location, f"{what}; use Streamable HTTP")
    if entry.protocol is None or entry.protocol >= FIRST_STATELESS:
        for name in entry.headers:
            if name.lower() in _HEADERS:
                what = f"the header `{name}` of the server `{entry.name}`"
                yield SuiteProblem(*entry.location, f"{what} was removed in {FIRST_STATELESS}")


def _of_test(test: SuiteTest) -> Iterator[SuiteProblem]:
    for each in test.expect.assertions if test.expect is not None else ():
        for code in _codes_in(each.matcher.expected) if each.path.root == "error" else ():
            yield SuiteProblem(
                *each.location, f"the error code {code} ({_CODES[code]}) was removed in {FIRST_STATELESS}"
            )
        for step in each.path.steps:
            if step in _FIELDS:
                yield SuiteProblem(*each.location, f"`{step}` ({_FIELDS[str(step)]}) was removed in {FIRST_STATELESS}")


def _codes_in(expected: Any) -> Iterator[int]:
    """Yield the removed error codes in a matcher. Recursion is safe: the depth of suites is limited."""
    if isinstance(expected, dict | list):
        for each in expected.values() if isinstance(expected, dict) else expected:
            yield from _codes_in(each)
    elif isinstance(expected, int) and expected in _CODES:
        yield expected
