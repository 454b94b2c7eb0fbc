"""Batching: read-only tests without duration checks may run concurrently.

All other tests run one by one, in the order of the suite.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.core.catalog.model import Tool
from mcproof.probing.permission import permission
from mcproof.suite.definition import METHODS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mcproof.core.catalog.model import Catalog
    from mcproof.suite.definition import Expect, SuiteTest, ToolHints


def is_untimed(test: SuiteTest) -> bool:
    """Whether the outcome of a test does not depend on its duration."""
    return test.timeout_ms is None and not _checks_duration(test.expect)


def read_only_tests(tests: list[SuiteTest], catalog: Catalog, annotations: Mapping[str, ToolHints]) -> set[int]:
    """Return the numbers of untimed tests that only read, according to the annotations of their tools.

    The suite's annotations outrank the server's.
    """
    permissions = [permission(annotated(tool, annotations)) for tool in catalog.tools]
    harmless = {each.tool.name for each in permissions if each.is_granted and not each.is_presumed}
    return {
        test.number
        for test in tests
        if is_untimed(test)
        and not test.steps
        and not test.answers
        and not test.expects_questions
        and (test.block != "tools" or test.subject in METHODS or test.subject in harmless)
    }


def annotated(tool: Tool, annotations: Mapping[str, ToolHints]) -> Tool:
    """The tool with the hints that the suite gives for it."""
    if tool.name not in annotations:
        return tool
    own = tool.fields.get("annotations")
    hints = {**(own if isinstance(own, dict) else {}), **annotations[tool.name].values}
    return Tool({**tool.fields, "annotations": hints}, tool.pointer)


def batches(tests: list[SuiteTest], read_only: set[int]) -> Iterator[list[SuiteTest]]:
    """Yield the tests in order: runs of read-only tests, and every other test alone."""
    batch: list[SuiteTest] = []
    for test in tests:
        if test.number in read_only:
            batch.append(test)
            continue
        if batch:
            yield batch
            batch = []
        yield [test]
    if batch:
        yield batch


def _checks_duration(expect: Expect | None) -> bool:
    if expect is None:
        return False
    return expect.max_duration_ms is not None or any(each.path.root == "duration_ms" for each in expect.assertions)
