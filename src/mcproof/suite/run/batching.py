"""Which tests of a server may be under way at once: those that only look, and do not look at a clock.

A server says of a tool that it changes nothing; of what a server says nothing, nothing is assumed, and its tests are
made one after the other in the order of the suite.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.prove.permission import permission
from mcproof.suite.definition import METHODS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.catalog.model import Catalog
    from mcproof.suite.definition import Expect, SuiteTest


def may_look(test: SuiteTest) -> bool:
    """Whether a test might only look, for all that the suite says."""
    return test.timeout_ms is None and not _is_timed(test.expect)


def looking(tests: list[SuiteTest], catalog: Catalog) -> set[int]:
    """The tests that only look, by their identity."""
    permissions = [permission(tool, allow_writes=False) for tool in catalog.tools]
    harmless = {each.tool.name for each in permissions if each.is_granted and not each.is_presumed}
    return {
        id(test)
        for test in tests
        if may_look(test) and (test.block != "tools" or test.subject in METHODS or test.subject in harmless)
    }


def stretches(tests: list[SuiteTest], looking: set[int]) -> Iterator[list[SuiteTest]]:
    """The tests in their order: several in a row that only look, or one that may do more."""
    stretch: list[SuiteTest] = []
    for test in tests:
        if id(test) in looking:
            stretch.append(test)
            continue
        if stretch:
            yield stretch
            stretch = []
        yield [test]
    if stretch:
        yield stretch


def _is_timed(expect: Expect | None) -> bool:
    if expect is None:
        return False
    return expect.max_duration_ms is not None or any(each.target.root == "duration_ms" for each in expect.assertions)
