"""Suites as tests of pytest: a file, an item for each part of a test, servers shared until the file is done."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any
from warnings import warn

import pytest

from mcproof.console import Style, safe
from mcproof.errors import InputError
from mcproof.report.suite_tests import reasons
from mcproof.suite.locate import USUAL
from mcproof.suite.parse.problems import SuiteError
from mcproof.suite.parse.suite_parser import read_suite
from mcproof.suite.run.execute_test import parts_of, unmade
from mcproof.suite.run.runner import Running, Workbench
from mcproof.testing.background import Background

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mcproof.results.run import Notice
    from mcproof.results.suite_tests import TestResult
    from mcproof.suite.definition import Suite, SuiteTest
    from mcproof.suite.snapshots import SnapshotStore

_SUITE = re.compile(rb"^(?:servers|imports)\s*:", re.MULTILINE)
"""What every suite has; other plugins have YAML of their own."""
_LOOKED_AT = 1_000_000
_MARK = re.compile(r"[A-Za-z]\w*")
_TAKEN = frozenset({"filterwarnings", "parametrize", "skip", "skipif", "usefixtures", "xfail"})
"""Marks that do something; a tag only says something."""


def looks_like_a_suite(file: Path) -> bool:
    """Whether a YAML file that was named may be meant as a suite."""
    if file.name in USUAL:
        return True
    try:
        with open(file, "rb") as stream:
            return _SUITE.search(stream.read(_LOOKED_AT)) is not None
    except OSError:
        return False


class SuiteFile(pytest.File):
    """A suite."""

    def __init__(self, *, store: SnapshotStore, **others: Any) -> None:
        super().__init__(**others)
        self._snapshots = store
        self._shown_as = _shown_as(self.path)
        self._suite: Suite | None = None
        self._bench: Workbench | None = None
        self._background: Background | None = None
        self._results: list[tuple[SuiteTest, TestResult]] = []
        self._told: list[Notice] = []

    def collect(self) -> Iterator[SuiteItem]:
        """An item for each part of a test. What only the environment knows is not needed for that."""
        try:
            suite = read_suite(self._shown_as, None)
        except SuiteError as error:
            raise self.CollectError(_listed(error)) from None
        for number, test, part, name in _named_parts(suite):
            item = SuiteItem.from_parent(self, name=name, number=number, test=test, part=part)
            _mark(item, test)
            yield item

    def setup(self) -> None:
        """Read the suite with the environment, and do what comes before the tests."""
        try:
            suite = self._suite = read_suite(self._shown_as, os.environ)
            self._snapshots.read()
        except SuiteError as error:
            raise pytest.fail.Exception(_listed(error), pytrace=False) from None
        except InputError as error:
            raise pytest.fail.Exception(safe(str(error)), pytrace=False) from None
        self._background = Background(self._leave)
        bench = self._bench = Workbench(suite, Running(), self._snapshots, list(suite.tests))
        failed = self._background.run(bench.set_up())
        if failed is not None:
            pytest.fail(f"the setup failed: {_said(bench.hidden(failed))}", pytrace=False)

    def run_part(self, number: int, part: str) -> TestResult:
        """Make a part of a test."""
        assert self._suite is not None  # noqa: S101
        assert self._bench is not None  # noqa: S101
        assert self._background is not None  # noqa: S101
        test = self._suite.tests[number]
        result = self._background.run(self._bench.test_to_the_end(test, part))
        self._results.append((test, result))
        for notice in self._bench.notices():
            if notice not in self._told:
                self._told.append(notice)
                warn(safe(str(notice)), stacklevel=2)
        return result

    def teardown(self) -> None:
        """Do what comes after the tests, and leave nothing running; then it is known what ended a server."""
        background, bench = self._background, self._bench
        if background is None or bench is None:
            return
        try:
            failed = [f"the teardown failed: {_said(bench.hidden(each))}" for each in background.run(bench.tear_down())]
        finally:
            background.close()
        for test, result in self._results:
            with_end = bench.with_end(test, result)
            if with_end is not result:
                failed.append(f"{_said(bench.hidden(with_end))} ({test.place.file}:{test.place.line})")
        if failed:
            pytest.fail("\n".join(failed), pytrace=False)

    async def _leave(self, at_once: bool) -> None:
        if self._bench is not None:
            await self._bench.leave(at_once=at_once)


class SuiteItem(pytest.Item):
    """A part of a test of a suite."""

    parent: SuiteFile

    def __init__(self, *, number: int, test: SuiteTest, part: str, **others: Any) -> None:
        super().__init__(**others)
        self._number = number
        self._test = test
        self._part = part

    def runtest(self) -> None:
        """Make it, and say what came of it as `mcproof run` does."""
        result = self.parent.run_part(self._number, self._part)
        if result.outcome in ("skipped", "not_applicable"):
            pytest.skip(safe(result.message))
        if result.outcome != "passed":
            pytest.fail("\n".join(reasons(result, Style())), pytrace=False)
        if result.message:
            self.add_report_section("call", "mcproof", safe(result.message))

    def reportinfo(self) -> tuple[str, int, str]:
        """Where it stands; pytest counts lines from 0."""
        return self._test.place.file, self._test.place.line - 1, self.name


def _shown_as(file: Path) -> str:
    """A file as one would name it here."""
    here = os.path.relpath(file)
    return str(file) if here.startswith(os.pardir) else here


def _listed(error: SuiteError) -> str:
    style = Style()
    return "\n".join(style.text(line, 2000) for line in error.lines)


def _said(result: TestResult) -> str:
    return safe(f"{result.name}: {result.message}")


def _named_parts(suite: Suite) -> Iterator[tuple[int, SuiteTest, str, str]]:
    """The parts of all tests, each with a name that no other has and the command line can say."""
    taken: set[str] = set()
    for number, test in enumerate(suite.tests):
        for part in parts_of(test):
            label = safe(unmade(test, part, "skipped", "").label).replace("::", ": :")
            if label in taken:  # another list has a test of this name
                label = f"{label} ({part})"
            taken.add(label)
            yield number, test, part, label


def _mark(item: SuiteItem, test: SuiteTest) -> None:
    """Let `-m` and `-k` choose by tags, and a runner with several workers keep a suite together."""
    for tag in test.tags:
        item.extra_keyword_matches.add(tag)
        if _MARK.fullmatch(tag) and tag not in _TAKEN:
            item.config.addinivalue_line("markers", f"{tag}: a tag of {item.path.name}")
            item.add_marker(tag)
    if item.config.pluginmanager.hasplugin("xdist"):
        file = item.nodeid.partition("::")[0].replace("@", "")  # which divides a test from its group
        item.add_marker(pytest.mark.xdist_group(file))
