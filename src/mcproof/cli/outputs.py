"""Where a run's report goes: standard output as the run goes on, files when it is over."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from mcproof.console import Style, discard_output, print_document, print_lines, tell
from mcproof.errors import UsageError
from mcproof.execution.check_catalog import Depth
from mcproof.report.formats import FORMATS, harmless, parse_output, render_target

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable

    from mcproof.results.run import RunResult, TargetResult


class Outputs:
    """The formats that a command line asks for."""

    def __init__(self, command: str, options: argparse.Namespace, *, is_single: bool = True) -> None:
        self._command = command
        self._is_single = is_single
        self._format = FORMATS[options.format]
        self._files = [parse_output(word) for word in options.output]
        self._report: str | None = options.report
        self._style = Style.of(sys.stdout)
        self._named = [*(each.file for each in self._files), *([self._report] if self._report is not None else [])]
        refuse_impossible(self._named)
        wanted = [self._format, *(FORMATS[each.format] for each in self._files)]
        everything = self._report is not None
        self.depth = Depth(
            everything or any(each.lines for each in wanted),
            everything or any(each.identities for each in wanted),
            everything or any(each.scores for each in wanted),
        )

    def show(self, report: TargetResult) -> None:
        """Print one target at once, where people read along; and say on standard error what could not be done."""
        if report.trouble is not None:
            if self._format.is_text or not self._is_single:
                tell(str(report.trouble))
        elif self._format.is_text:
            name = self._format.name
            shown = render_target(report, name, self._style, is_single=self._is_single)
            _until_the_reader_goes(lambda: print_lines(shown, sys.stdout))

    def refuse_to_replace(self, kept: dict[str, str]) -> None:
        """Raise a UsageError where an output would take the place of a file that is still needed."""
        real = {os.path.realpath(name): what for name, what in kept.items()}
        for file in self._named:
            if what := real.get(os.path.realpath(file)):
                raise UsageError(f"`{file}` is {what}; name another file to write to")

    def write(self, run: RunResult) -> None:
        """Write the files. Before anything is printed as a whole: if one fails, that is all there is to print."""
        for output in self._files:
            _write(output.file, harmless(run, output.format, Style()))
        if self._report is not None:
            from mcproof.results.stored import run_document

            _write(self._report, run_document(run))
        if self._format.name == "github":
            _append_job_summary(run)

    def print(self, run: RunResult) -> None:
        """Print what is printed as a whole."""
        if not self._format.is_text:
            pieces = list(harmless(run, self._format.name, self._style))
            _until_the_reader_goes(lambda: print_document(pieces))


def _until_the_reader_goes(write: Callable[[], None]) -> None:
    """Print, and where nobody reads any more, as with `head`, go on without: the exit code still tells."""
    try:
        write()
    except BrokenPipeError:
        discard_output()


def _write(file: str, pieces: Iterable[str]) -> None:
    from mcproof.text.atomic import write_file

    write_file(file, "".join(pieces).encode("utf-8", "backslashreplace"))


def _append_job_summary(run: RunResult) -> None:
    """Add the findings to the summary page of the job, where GitHub runs this."""
    if file := os.environ.get("GITHUB_STEP_SUMMARY"):
        from mcproof.report.markdown import document
        from mcproof.text.atomic import append_file

        append_file(file, "".join(document(run)).encode("utf-8", "backslashreplace"))


def refuse_impossible(files: list[str]) -> None:
    """Say before the work, not after it, that a file cannot be written."""
    for number, file in enumerate(files):
        if any(os.path.realpath(file) == os.path.realpath(other) for other in files[:number]):
            raise UsageError(f"two outputs go to the same file, `{file}`")
        if os.path.isdir(file):
            raise UsageError(f"`{file}` is a folder; name a file to write to")
        if not os.path.isdir(os.path.dirname(file) or "."):
            raise UsageError(f"`{file}` cannot be written: there is no folder `{os.path.dirname(file)}`")
