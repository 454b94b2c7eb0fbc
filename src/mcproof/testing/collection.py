"""Collect suites as pytest tests: one item for each part of a test; the items of a file share its servers.

Why suites are collected only where they are named: docs/decisions/0022-tests-in-threads.md.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any
from warnings import warn

import pytest

from mcproof.core.console import Style, safe
from mcproof.core.errors import InputError, Notice
from mcproof.testing.outcomes import TestResult, reasons
from mcproof.testing.server import Background
from mcproof.testing.suites.execute import result_of
from mcproof.testing.suites.model import SuiteError
from mcproof.testing.suites.parser import read_suite
from mcproof.testing.suites.runner import RunOptions, SuiteRuntime

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mcproof.testing.suites.model import Suite, SuiteTest
    from mcproof.testing.suites.snapshots import SnapshotStore

_MARK = re.compile(r"[A-Za-z]\w*")
_TAKEN = frozenset({"filterwarnings", "parametrize", "skip", "skipif", "usefixtures", "xfail"})
"""Marks with a meaning in pytest; tags must not trigger them."""


class SuiteFile(pytest.File):
    """A suite file."""

    def __init__(self, *, store: SnapshotStore, **others: Any) -> None:
        super().__init__(**others)
        self._snapshots = store
        self._shown_as = _shown_as(self.path)
        self._suite: Suite | None = None
        self._runtime: SuiteRuntime | None = None
        self._background: Background | None = None
        self._results: list[tuple[SuiteTest, TestResult]] = []
        self._shown_notices: list[Notice] = []

    def collect(self) -> Iterator[SuiteItem]:
        """Yield an item for each part of a test. This does not need the environment."""
        try:
            suite = read_suite(self._shown_as, None)
        except SuiteError as error:
            raise self.CollectError(_listed(error)) from None
        for number, test, part, name in _named_parts(suite):
            item = SuiteItem.from_parent(self, name=name, number=number, test=test, part=part)
            _mark(item, test)
            yield item

    def setup(self) -> None:
        """Parse the suite with the environment, and run its setup steps."""
        try:
            suite = self._suite = read_suite(self._shown_as, os.environ)
            self._snapshots.read()
        except SuiteError as error:
            raise pytest.fail.Exception(_listed(error), pytrace=False) from None
        except InputError as error:
            raise pytest.fail.Exception(safe(str(error)), pytrace=False) from None
        self._background = Background(self._close)
        runtime = self._runtime = SuiteRuntime(suite, RunOptions(), self._snapshots, list(suite.tests))
        failed = self._background.run(runtime.set_up())
        if failed is not None:
            pytest.fail(f"setup failed: {_labelled(runtime.hidden(failed))}", pytrace=False)

    def run_part(self, number: int, part: str) -> TestResult:
        """Run a part of a test."""
        assert self._suite is not None  # noqa: S101
        assert self._runtime is not None  # noqa: S101
        assert self._background is not None  # noqa: S101
        test = self._suite.tests[number]
        result = self._background.run(self._runtime.run_part_alone(test, part))
        self._results.append((test, result))
        for notice in self._runtime.notices():
            if notice not in self._shown_notices:
                self._shown_notices.append(notice)
                warn(safe(str(notice)), stacklevel=2)
        return result

    def teardown(self) -> None:
        """Run the teardown steps and end the servers; a test that ended its server fails now."""
        background, runtime = self._background, self._runtime
        if background is None or runtime is None:
            return
        try:
            failed = [
                f"teardown failed: {_labelled(runtime.hidden(result))}"
                for result in background.run(runtime.tear_down())
            ]
        finally:
            background.close()
        for test, result in self._results:
            blamed = runtime.with_blame(test, result)
            if blamed is not result:
                failed.append(f"{_labelled(runtime.hidden(blamed))} ({test.location.file}:{test.location.line})")
        if failed:
            pytest.fail("\n".join(failed), pytrace=False)

    async def _close(self, at_once: bool) -> None:
        if self._runtime is not None:
            await self._runtime.close(at_once=at_once)


class SuiteItem(pytest.Item):
    """A part of a test in a suite."""

    parent: SuiteFile

    def __init__(self, *, number: int, test: SuiteTest, part: str, **others: Any) -> None:
        super().__init__(**others)
        self._number = number
        self._test = test
        self._part = part

    def runtest(self) -> None:
        """Run the part; failures look as in `mcproof run`."""
        result = self.parent.run_part(self._number, self._part)
        if result.outcome in ("skipped", "not_applicable"):
            pytest.skip(safe(result.message))
        if result.outcome != "passed":
            pytest.fail("\n".join(reasons(result, Style())), pytrace=False)
        if result.message:
            self.add_report_section("call", "mcproof", safe(result.message))

    def reportinfo(self) -> tuple[str, int, str]:
        """Return the location; pytest counts lines from 0."""
        return self._test.location.file, self._test.location.line - 1, self.name


def _shown_as(file: Path) -> str:
    """Return the path of a file relative to the working directory, if it is below it."""
    here = os.path.relpath(file)
    return str(file) if here.startswith(os.pardir) else here


def _listed(error: SuiteError) -> str:
    style = Style()
    return "\n".join(style.text(line, 2000) for line in error.lines)


def _labelled(result: TestResult) -> str:
    return safe(f"{result.name}: {result.message}")


def _named_parts(suite: Suite) -> Iterator[tuple[int, SuiteTest, str, str]]:
    """Yield the parts of all tests with unique names that are valid in node ids."""
    taken: set[str] = set()
    for number, test in enumerate(suite.tests):
        for part in test.parts:
            label = safe(result_of(test, part, "skipped", "").label).replace("::", ": :")
            if label in taken:  # a test in another list has the same name
                label = f"{label} ({part})"
            taken.add(label)
            yield number, test, part, label


def _mark(item: SuiteItem, test: SuiteTest) -> None:
    """Make tags available to `-m` and `-k`, and keep a suite on one worker of pytest-xdist."""
    for tag in test.tags:
        item.extra_keyword_matches.add(tag)
        # A mark has to be an identifier; other tags are only keywords.
        if _MARK.fullmatch(tag) and tag not in _TAKEN:
            item.config.addinivalue_line("markers", f"{tag}: a tag of {item.path.name}")
            item.add_marker(tag)
    if item.config.pluginmanager.hasplugin("xdist"):
        file = item.nodeid.partition("::")[0].replace("@", "")  # xdist separates test and group with `@`
        item.add_marker(pytest.mark.xdist_group(file))
