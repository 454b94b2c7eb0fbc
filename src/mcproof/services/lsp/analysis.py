"""Check one open document as `mcproof lint`, `validate` and `config` would, with unsaved texts instead of files.

An `Analyst` keeps the syntax trees of statements that an edit does not change, and nothing else.
Why: docs/decisions/0058-edits-touch-tools.md.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from mcproof.core.errors import McproofError, Notice, from_exception
from mcproof.core.named_tuple import NamedTuple
from mcproof.runs import execute
from mcproof.runs.config import settings_of
from mcproof.runs.events import collecting
from mcproof.runs.requests import Detail, LintRequest, RunSession, ScanRequest, TargetSelection
from mcproof.services.lsp.documents import LARGEST_DOCUMENT, kind_of_document, lines_of
from mcproof.source.pipeline import discover, syntax_trees
from mcproof.targets.arguments import Input
from mcproof.targets.folders import catalog_of
from mcproof.targets.snapshots import NoCatalogError, read_snapshot
from mcproof.testing.suites.entries import warnings_of
from mcproof.testing.suites.model import SuiteError, SuiteProblem
from mcproof.testing.suites.parser import read_suite

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from mcproof.checks.findings import Finding, Level, ReportedFinding
    from mcproof.core.catalog.model import Catalog
    from mcproof.runs.events import TargetFinished
    from mcproof.runs.results import RunResult


_OF_WHOLE_RUNS = ("stale-baseline", "unused-ignore")
"""The kinds of notices that say nothing about one document: what it does not need, another may."""


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
    text: str = ""
    """The text of its line, by which it is found again after an edit; empty if each analysis has it anew."""

    def moved_to(self, lines: list[str]) -> EditorProblem | None:
        """The same where its line is now: the nearest one with its text; None if there is none."""
        at = [number for number, line in enumerate(lines, 1) if line == self.text]
        if not at or self.line is None:
            return None
        line = min(at, key=lambda number: abs(number - (self.line or 0)))
        return self._replace(line=line, finding=self.finding and self.finding._replace(line=line))


class Analysis(NamedTuple):
    """The result of checking one document."""

    path: str
    problems: tuple[EditorProblem, ...] = ()
    depends: frozenset[str] = frozenset()
    """The absolute paths of the files that the result depends on."""
    catalog: Catalog | None = None
    findings: list[Finding] = []  # noqa: RUF012 (never mutated)
    """The findings that count, as the rules made them."""

    @property
    def is_scanned(self) -> bool:
        """Whether `Analyst.scan` may find more in the document."""
        return self.catalog is not None and self.catalog.source is not None

    def with_scanned(self, scanned: Iterable[EditorProblem]) -> Analysis:
        """The same with what a scan found, instead of what an earlier one did."""
        return self._replace(problems=(*(problem for problem in self.problems if not problem.text), *scanned))

    def keeping(self, earlier: Analysis, content: bytes) -> Analysis:
        """The same with what a scan found in an earlier text, as far as its lines are still there."""
        scanned = [problem for problem in earlier.problems if problem.text]
        if not scanned or not self.is_scanned:
            return self
        lines = lines_of(content)
        moved = (problem.moved_to(lines) if problem.file == self.path else problem for problem in scanned)
        return self.with_scanned(problem for problem in moved if problem is not None)


class Analyst:
    """Checks documents, and remembers the statements of each that did not change. Not safe for threads."""

    def __init__(self) -> None:
        self._trees = syntax_trees()

    def analyse(self, path: str, contents: Mapping[str, bytes]) -> Analysis:
        """Check a document; `contents` are those of all open documents, by path and by real path."""
        try:
            return self._analyse(path, contents)
        except McproofError as error:
            return Analysis(path, (_trouble(path, error),), frozenset([path, *_file_of(error)]))
        except Exception as error:  # a defect of mcproof must not end the editor's session
            return Analysis(path, (_trouble(path, from_exception(error)),), frozenset([path]))

    def scan(self, path: str, contents: Mapping[str, bytes]) -> list[EditorProblem]:
        """What the rules of `mcproof scan` find in the code of a document: from what a client sends to a shell, say.

        It takes several times as long as the rest, so it is not part of each analysis.
        """
        try:
            source = discover(path, contents, whole=True)
            (result, _, _), _ = _run(ScanRequest(_selected(path, catalog_of(source, path, indent=None))), contents)
        except Exception:  # the analysis of the same document reports what is wrong
            return []
        lines = {path: lines_of(contents[path])}
        problems = []
        for finding in result.findings:
            if finding.rule.category != "source" or finding.line is None:
                continue
            problem = _finding(finding)
            of_file = lines.get(problem.file, [])
            text = of_file[finding.line - 1] if finding.line <= len(of_file) else "elsewhere"
            problems.append(problem._replace(text=text))
        return problems

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
        return self._check_source(path, contents) if kind == "source" else _check_snapshot(path, contents)

    def _check_source(self, path: str, contents: Mapping[str, bytes]) -> Analysis:
        source = discover(path, contents, cache=self._trees)
        if any(source.document.values()):
            return _checked(path, catalog_of(source, path, indent=None), contents)._replace(depends=source.read)
        unread = [
            EditorProblem(os.path.abspath(problem.file), *problem[1:3], None, "error", problem.what)
            for problem in source.problems
        ]
        omitted = [Notice("not-checked", reason, file, line) for file, line, _, reason in source.omissions]
        return Analysis(path, (*unread, *map(_notice, omitted)), source.read)


def _check_snapshot(path: str, contents: Mapping[str, bytes]) -> Analysis:
    try:
        # An editor opens any JSON file; one that is not a catalog has no problems.
        catalog = read_snapshot(contents[path], path, is_certain=False)
    except NoCatalogError:
        return Analysis(path)
    return _checked(path, catalog, contents)


def _checked(path: str, catalog: Catalog, contents: Mapping[str, bytes]) -> Analysis:
    """Run the rules of the nearest configuration on a catalog."""
    detail = Detail(lines=catalog.source is None)
    (result, _, findings), run = _run(LintRequest(_selected(path, catalog), detail=detail), contents)
    notices = [notice for notice in run.notices if notice.kind not in _OF_WHOLE_RUNS]
    problems = (*map(_finding, result.findings), *map(_notice, notices))
    return Analysis(path, problems, frozenset([path]), catalog, findings)


def _selected(path: str, catalog: Catalog) -> TargetSelection:
    return TargetSelection(inputs=(Input(path, is_source=catalog.source is not None, catalog=catalog),))


def _run(request: LintRequest | ScanRequest, contents: Mapping[str, bytes]) -> tuple[TargetFinished, RunResult]:
    """Run a request for one catalog. Raises a McproofError with the reason if it cannot be checked."""
    finished: list[TargetFinished] = []
    run = execute(request, collecting(finished), RunSession(contents))
    return finished[0], run


def _check_suite(path: str, contents: Mapping[str, bytes]) -> Analysis:
    try:
        suite = read_suite(path, None, contents)
    except SuiteError as error:
        problems = tuple(_suite_problem(problem, "error") for problem in error.problems)
        return Analysis(path, problems, frozenset([path, *(problem.file for problem in problems)]))
    warned = tuple(_suite_problem(problem, "warning") for problem in warnings_of(suite))
    return Analysis(path, warned, frozenset(map(os.path.abspath, suite.files)))


def _finding(finding: ReportedFinding) -> EditorProblem:
    return EditorProblem(
        file=os.path.abspath(finding.file),
        line=finding.line,
        column=finding.column,
        end_column=finding.end_column,
        level=finding.level,
        message=finding.message,
        code=finding.rule.id,
        finding=finding,
    )


def _notice(notice: Notice) -> EditorProblem:
    return EditorProblem(
        os.path.abspath(notice.file), notice.line, None, None, notice.level, notice.message, notice.kind
    )


def _suite_problem(problem: SuiteProblem, level: Level) -> EditorProblem:
    return EditorProblem(os.path.abspath(problem.file), problem.line, problem.column, None, level, problem.message)


def _trouble(path: str, error: McproofError) -> EditorProblem:
    """A document that cannot be checked; the reason is shown in the file that it is about."""
    file = next(_file_of(error), path)
    return EditorProblem(file, error.line, error.column, None, "error", error.message)


def _file_of(error: McproofError) -> Iterator[str]:
    if error.file is not None and os.path.isfile(error.file):
        yield os.path.abspath(error.file)
