"""Where a run's report goes: standard output as the run goes on, files when it is over."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from mcproof.errors import UsageError
from mcproof.pipeline import Depth
from mcproof.report.formats import FORMATS, parse_output, render, render_target
from mcproof.report.terminal import Style, print_lines, safe

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable

    from mcproof.report.model import RunReport, TargetReport

_RAW = ("json", "sarif", "junit", "github", "gitlab")
"""Formats that escape what a terminal or a CI runner could take for a command, each in its own way."""


class Outputs:
    """The formats that a command line asks for."""

    def __init__(self, command: str, options: argparse.Namespace) -> None:
        self._command = command
        self._format = FORMATS[options.format]
        self._files = [parse_output(word) for word in options.output]
        self._report: str | None = options.report
        self._style = Style.of(sys.stdout)
        self.is_single = True
        self.files = [*(each.file for each in self._files), *([self._report] if self._report else [])]
        """Everything that will be written when the run is over."""
        _refuse_impossible(self.files)
        wanted = [self._format, *(FORMATS[each.format] for each in self._files)]
        everything = self._report is not None
        self.depth = Depth(
            everything or any(each.lines for each in wanted),
            everything or any(each.identities for each in wanted),
            everything or any(each.scores for each in wanted),
        )

    def show(self, report: TargetReport) -> None:
        """Print one target at once, where people read along; and say on standard error what could not be done."""
        if report.trouble is not None:
            if self._format.is_text or not self.is_single:
                print_lines([f"mcproof: {safe(str(report.trouble))}\n"], sys.stderr)
        elif self._format.is_text:
            name = self._format.name
            shown = render_target(report, self._command, name, self._style, is_single=self.is_single)
            print_lines(shown, sys.stdout)

    def write(self, run: RunReport) -> None:
        """Print what is printed as a whole, and write the files."""
        if not self._format.is_text:
            print_document(self._format.name, render(run, self._format.name, self._style))
            if self._format.name == "github":
                _append_job_summary(run)
        for output in self._files:
            _write(output.file, render(run, output.format, Style()))
        if self._report is not None:
            from mcproof.report.run import run_document

            _write(self._report, run_document(run))


def _write(file: str, pieces: Iterable[str]) -> None:
    from mcproof.files import write_file

    write_file(file, "".join(pieces).encode("utf-8", "backslashreplace"))


def print_document(format: str, pieces: Iterable[str]) -> None:
    """Print a document in one go: all of it, or nothing."""
    if format in _RAW:
        sys.stdout.writelines(list(pieces))
    else:
        print_lines(list(pieces), sys.stdout)


def _append_job_summary(run: RunReport) -> None:
    """Add the findings to the summary page of the job, where GitHub runs this."""
    if file := os.environ.get("GITHUB_STEP_SUMMARY"):
        from mcproof.files import append_file
        from mcproof.report.markdown import document

        append_file(file, "".join(document(run)).encode("utf-8", "backslashreplace"))


def _refuse_impossible(files: list[str]) -> None:
    """Say before the work, not after it, that a file cannot be written."""
    for number, file in enumerate(files):
        if any(os.path.abspath(file) == os.path.abspath(other) for other in files[:number]):
            raise UsageError(f"two outputs go to the same file, `{file}`")
        if os.path.isdir(file):
            raise UsageError(f"`{file}` is a folder; name a file to write to")
        if not os.path.isdir(os.path.dirname(file) or "."):
            raise UsageError(f"`{file}` cannot be written: there is no folder `{os.path.dirname(file)}`")
