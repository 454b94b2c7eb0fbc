"""Check one open document as `mcproof lint`, `validate` and `config` would, with unsaved texts instead of files.

An `Analyst` keeps what does not change from one edit to the next, the plans of configurations included.
Why an edit touches only some tools: docs/decisions/0058-edits-touch-tools.md.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from mcproof.checks.engine import KeptFindings
from mcproof.checks.ignores import IgnoreTracker
from mcproof.checks.reporting import report_findings
from mcproof.core.errors import McproofError, Notice, from_exception
from mcproof.runs.config import OWN_FILE, SHARED_FILE, SettingsFinder, settings_of
from mcproof.runs.judging import CatalogFindings, Plan, find_problems
from mcproof.runs.loop import omissions
from mcproof.runs.planning import Planner
from mcproof.runs.requests import LintRequest, TargetSelection
from mcproof.services.lsp.documents import LARGEST_DOCUMENT, kind_of_document
from mcproof.source.python.pipeline import SyntaxTreeCache, discover
from mcproof.targets.arguments import Input
from mcproof.targets.snapshots import NoCatalogError, read_snapshot
from mcproof.targets.source_projects import catalog_of
from mcproof.testing.suites.entries import warnings_of
from mcproof.testing.suites.loading import SuiteError, SuiteProblem
from mcproof.testing.suites.parser import read_suite

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mcproof.checks.findings import Level, ReportedFinding
    from mcproof.core.catalog.model import Catalog


MOST_PLANS = 50

FileState = tuple[str, bytes | tuple[int, int] | None]
"""A file with its unsaved content, or its modification time and size; None if it does not exist."""


class _CachedPlan(NamedTuple):
    plan: Plan
    state: tuple[FileState, ...]
    baseline: FileState | None


class PlanCache:
    """A cache of the plan of each folder."""

    def __init__(self) -> None:
        self._cached: dict[tuple[str, bool], _CachedPlan] = {}

    def plan_for(self, path: str, contents: Mapping[str, bytes], *, is_source: bool) -> Plan:
        """The plan for a document, by its nearest configuration. Raises an error if that is invalid."""
        key = os.path.dirname(path), is_source
        state = tuple(_configurations(path, contents))
        cached = self._cached.pop(key, None)
        if cached is None or cached.state != state or cached.baseline != _baseline(cached.plan):
            planner = Planner(LintRequest(TargetSelection(names=(path,))), SettingsFinder(contents))
            plan = planner.plan_for(Input(path, is_source=is_source))
            cached = _CachedPlan(plan, state, _baseline(plan))
        self._cached[key] = cached
        if len(self._cached) > MOST_PLANS:  # the oldest first
            del self._cached[next(iter(self._cached))]
        return cached.plan


def _configurations(path: str, contents: Mapping[str, bytes]) -> Iterator[FileState]:
    """The states of all files that may configure a document, or the folder in which the server runs."""
    for start in (os.path.dirname(path), os.getcwd()):
        folder = start
        while True:
            for name in (OWN_FILE, SHARED_FILE):
                file = os.path.join(folder, name)
                state = contents.get(file) or _stored(file)
                if state is not None:
                    yield file, state
            # At the root, a folder is its own parent.
            if folder == (folder := os.path.dirname(folder)):
                break


def _baseline(plan: Plan) -> FileState | None:
    return None if plan.baseline is None else (plan.baseline.file, _stored(plan.baseline.file))


def _stored(file: str) -> tuple[int, int] | None:
    try:
        status = os.stat(file)
    except (OSError, ValueError):
        return None
    return status.st_mtime_ns, status.st_size


MOST_DOCUMENTS = 50
"""How many documents have their findings kept."""


class EditorProblem(NamedTuple):
    """Something to show in an editor."""

    file: str
    """The absolute path of the file, which may be another one than the document that was checked."""
    line: int | None
    column: int | None
    end_column: int | None
    level: Level
    message: str
    code: str = ""
    """The id of a rule or the kind of a notice; empty for a document that cannot be read."""
    finding: ReportedFinding | None = None


class Analysis(NamedTuple):
    """The result of checking one document."""

    path: str
    problems: tuple[EditorProblem, ...] = ()
    depends: frozenset[str] = frozenset()
    """The absolute paths of the files that the result depends on."""
    catalog: Catalog | None = None
    findings: CatalogFindings | None = None
    plan: Plan | None = None


class Analyst:
    """Checks documents, and remembers what does not change from one edit to the next. Not safe for threads."""

    def __init__(self) -> None:
        self._trees = SyntaxTreeCache()
        self._plans = PlanCache()
        self._findings: dict[str, KeptFindings] = {}

    def analyse(self, path: str, contents: Mapping[str, bytes]) -> Analysis:
        """Check a document; `contents` are those of all open documents, by path and by real path."""
        try:
            return self._analyse(path, contents)
        except McproofError as error:
            return Analysis(path, (_trouble(path, error),), frozenset([path, *_file_of(error)]))
        except Exception as error:  # a defect of mcproof must not end the editor's session
            return Analysis(path, (_trouble(path, from_exception(error)),), frozenset([path]))

    def _analyse(self, path: str, contents: Mapping[str, bytes]) -> Analysis:
        content = contents[path]
        kind = kind_of_document(path, content)
        if kind is None:
            return Analysis(path)
        if len(content) > LARGEST_DOCUMENT:
            message = f"larger than {LARGEST_DOCUMENT >> 20} MB; not checked in editors"
            return Analysis(path, (EditorProblem(path, None, None, None, "note", message, "not-checked"),))
        if kind == "settings":
            settings_of(content, path)  # raises an error with the location of the first mistake
            return Analysis(path)
        if kind == "suite":
            return _check_suite(path, contents)
        return self._check_source(path, contents) if kind == "source" else self._check_snapshot(path, contents)

    def _findings_of(self, path: str) -> KeptFindings:
        findings = self._findings.pop(path, None)
        if findings is None:
            findings = KeptFindings()
        self._findings[path] = findings
        if len(self._findings) > MOST_DOCUMENTS:  # the oldest first
            del self._findings[next(iter(self._findings))]
        return findings

    def _check_source(self, path: str, contents: Mapping[str, bytes]) -> Analysis:
        source = discover(path, contents, cache=self._trees)
        if any(source.document.values()):
            return self._checked(path, catalog_of(source, path, indent=None), contents)._replace(depends=source.read)
        unread = [
            EditorProblem(_absolute(problem.file), *problem[1:3], None, "error", problem.what)
            for problem in source.problems
        ]
        omitted = [Notice("not-checked", what, file, line) for file, line, _, what in source.omissions]
        return Analysis(path, (*unread, *map(_notice, omitted)), source.read)

    def _check_snapshot(self, path: str, contents: Mapping[str, bytes]) -> Analysis:
        try:
            # An editor opens any JSON file; one that is not a catalog has no problems.
            catalog = read_snapshot(contents[path], path, is_certain=False)
        except NoCatalogError:
            return Analysis(path)
        return self._checked(path, catalog, contents)

    def _checked(self, path: str, catalog: Catalog, contents: Mapping[str, bytes]) -> Analysis:
        """Run the rules of the nearest configuration on a catalog."""
        plan = self._plans.plan_for(path, contents, is_source=catalog.source is not None)
        tracker = IgnoreTracker()
        findings = find_problems(catalog, plan, tracker, kept=self._findings_of(path))
        reported = report_findings(catalog, findings.active, lines=catalog.source is None)
        notices = [Notice(*notice) for notice in tracker.notices.values() if notice is not None] + omissions(catalog)
        problems = (*map(_finding, reported), *map(_notice, notices))
        return Analysis(path, problems, frozenset([path]), catalog, findings, plan)


def _check_suite(path: str, contents: Mapping[str, bytes]) -> Analysis:
    try:
        suite = read_suite(path, None, contents)
    except SuiteError as error:
        problems = tuple(_suite_problem(problem, "error") for problem in error.problems)
        return Analysis(path, problems, frozenset([path, *(problem.file for problem in problems)]))
    warned = tuple(_suite_problem(problem, "warning") for problem in warnings_of(suite))
    return Analysis(path, warned, frozenset(map(_absolute, suite.files)))


def _finding(finding: ReportedFinding) -> EditorProblem:
    return EditorProblem(
        file=_absolute(finding.file),
        line=finding.line,
        column=finding.column,
        end_column=finding.end_column,
        level=finding.level,
        message=finding.message,
        code=finding.rule.id,
        finding=finding,
    )


def _notice(notice: Notice) -> EditorProblem:
    return EditorProblem(_absolute(notice.file), notice.line, None, None, notice.level, notice.message, notice.kind)


def _suite_problem(problem: SuiteProblem, level: Level) -> EditorProblem:
    return EditorProblem(_absolute(problem.file), problem.line, problem.column, None, level, problem.message)


def _trouble(path: str, error: McproofError) -> EditorProblem:
    """A document that cannot be checked; the reason is shown in the file that it is about."""
    file = next(_file_of(error), path)
    return EditorProblem(file, error.line, error.column, None, "error", error.message)


def _file_of(error: McproofError) -> Iterator[str]:
    if error.file is not None and os.path.isfile(error.file):
        yield _absolute(error.file)


def _absolute(file: str) -> str:
    return os.path.abspath(file)
