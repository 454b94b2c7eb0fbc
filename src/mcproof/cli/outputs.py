"""Outputs: a result on standard output while the run goes on, in files at its end, and recorded in the store."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from itertools import chain
from typing import TYPE_CHECKING

from mcproof.cli.command import Option, Options
from mcproof.cli.options import RECORD_OPTIONS, RecordOptions, parse_recording
from mcproof.core.console import (
    EXAMPLES,
    NORMAL,
    QUIET,
    VERBOSE,
    Style,
    discard_output,
    print_document,
    print_lines,
    print_message,
    print_note,
)
from mcproof.core.errors import FINDINGS, INTERRUPTED, UsageError
from mcproof.core.named_tuple import NamedTuple
from mcproof.core.text.files import leads_out
from mcproof.report.formats import (
    FORMATS,
    Output,
    closing,
    harmless,
    parse_output,
    render,
    render_target,
    statistics,
    verdict_sentence,
)
from mcproof.runs.requests import Detail

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from mcproof.core.catalog.model import Catalog
    from mcproof.runs.results import AppliedConfiguration, RunResult, TargetResult
    from mcproof.services.store.database import Database


class Recorder:
    """Keeps the catalogs of a run, and records everything when it is finished."""

    def __init__(self, options: RecordOptions) -> None:
        self._options = options
        self._database: Database | None = None
        self._catalogs: list[str | None] = []

    def open(self, *, is_single: bool) -> None:
        """Open the store before any work is done. Raises an error if that is not possible."""
        if self._options.name is not None and not is_single:
            raise UsageError("`--name` names one server, and there are several targets")
        from mcproof.services.store.database import open_database

        self._database = open_database(self._options.database)

    def keep(self, catalog: Catalog | None) -> None:
        """Keep the catalog of a target; None if it could not be read."""
        from mcproof.targets.snapshots import catalog_text

        # A URL that was seen only from outside has an empty catalog, which would hide its last one in the history.
        is_there = catalog is not None and (catalog.tools or catalog.server.raw)
        self._catalogs.append(catalog_text(catalog) if catalog is not None and is_there else None)

    def record(self, run: RunResult) -> None:
        """Record a finished run; one that was interrupted shows less than the server has."""
        if self._database is None:
            return
        with contextlib.closing(self._database):
            if run.exit_code == INTERRUPTED:
                print_note("not recorded: interrupted")
                return
            from mcproof.services.store.recording import record_run

            recorded = record_run(self._database, run, self._catalogs, self._options.name)
            progress = self._progress(recorded[0].name) if run.kind == "grade" and len(recorded) == 1 else ""
        names = recorded[0].name if len(recorded) == 1 else f"{len(recorded):,} servers"
        print_note(f"recorded {names} in {self._database.label}{progress}")

    def _progress(self, name: str) -> str:
        from mcproof.services.store.queries import progress_of

        progress = progress_of(self._database, name) if self._database is not None else ""
        return f": {progress}" if progress else ""


OUTPUT = "Output"
"""The title of a group of options."""


class OutputOptions(NamedTuple):
    """The formats and files of a command line."""

    format: str = "text"
    files: tuple[Output, ...] = ()
    report: str | None = None
    """The file for the run report."""
    examples: int | None = EXAMPLES
    """How many findings of a rule the text shows; None for all."""
    statistics: bool = False
    """Whether to print only the number of findings of each rule."""
    recording: RecordOptions | None = None
    """How to record the run; None if it is not recorded."""

    @property
    def is_text(self) -> bool:
        """Whether standard output is text for people, printed while the run goes on."""
        return FORMATS[self.format].is_text

    @property
    def file_names(self) -> list[str]:
        return [*(output.file for output in self.files), *([self.report] if self.report is not None else [])]

    @property
    def detail(self) -> Detail:
        """The parts of a result that the formats need."""
        wanted = [FORMATS[self.format], *(FORMATS[output.format] for output in self.files)]
        everything = self.report is not None or self.recording is not None
        return Detail(
            lines=everything or any(shown.lines for shown in wanted),
            identities=everything or any(shown.identities for shown in wanted),
            scores=everything or any(shown.scores for shown in wanted),
        )


COLOR = Option(
    OUTPUT,
    "--color",
    "colour text (default auto: on terminals; NO_COLOR and FORCE_COLOR are respected)",
    choices=("auto", "always", "never"),
    default="auto",
)
VERBOSITY = Options(
    Option(
        OUTPUT,
        "-q, --quiet",
        "print only results and errors: no progress, hints or notices",
        dest="verbosity",
        action="store_const",
        const=QUIET,
        default=NORMAL,
    ),
    Option(
        OUTPUT,
        "-v, --verbose",
        "also report every skipped file, and the time that each target takes",
        dest="verbosity",
        action="store_const",
        const=VERBOSE,
    ),
)
TEXT_OR_JSON = Options(
    Option(OUTPUT, "--format", "how to print (default text)", choices=("text", "json"), default="text"),
    COLOR,
)
FORMATS_AND_FILES = Options(
    Option(
        OUTPUT,
        "--format FORMAT",
        f"how to print: {', '.join(FORMATS)} (default text)",
        choices=list(FORMATS),
        default="text",
    ),
    Option(
        OUTPUT,
        "--output [FORMAT:]FILE",
        "also write a file, in the format of its extension or prefix; repeatable",
        repeatable=True,
    ),
)
REPORT = Option(OUTPUT, "--report FILE", "also write the run report, for `mcproof report`")
OUTPUTS = Options(FORMATS_AND_FILES, REPORT, VERBOSITY, COLOR)


def _examples(text: str) -> int | None:
    if text == "all":
        return None
    if not text.isascii() or not text.isdigit() or len(text) > 9 or int(text) < 1:
        raise argparse.ArgumentTypeError(f"`{text}` is neither a number from 1 on nor `all`")
    return int(text)


AMOUNT = Options(
    Option(
        OUTPUT,
        "--show N",
        f"how many findings of each rule the text shows: a number, or all (default {EXAMPLES})",
        type=_examples,
        default=EXAMPLES,
    ),
    Option(OUTPUT, "--statistics", "print only the number of findings of each rule"),
)
"""How much text shows of the findings."""
CHECK_OUTPUTS = Options(
    FORMATS_AND_FILES, REPORT, RECORD_OPTIONS, VERBOSITY, COLOR, AMOUNT, detail=lambda options: options.outputs.detail
)
"""The outputs of a check, which can be recorded; `run_check` parses them into `options.outputs`."""


def parse_outputs(options: argparse.Namespace) -> OutputOptions:
    """Parse the options for outputs. Raises a UsageError if a file cannot be written, before any work is done."""
    outputs = OutputOptions(
        format=options.format,
        files=tuple(map(parse_output, options.output)),
        report=getattr(options, "report", None),
        examples=getattr(options, "show", EXAMPLES),
        statistics=getattr(options, "statistics", False),
        recording=parse_recording(options),
    )
    if outputs.statistics and not outputs.is_text:
        raise UsageError(f"--statistics prints text; it cannot be combined with --format {outputs.format}")
    refuse_unwritable(outputs.file_names)
    return outputs


class Outputs:
    """The outputs of one run."""

    def __init__(self, options: OutputOptions) -> None:
        self._options = options
        self._format = FORMATS[options.format]
        self._style = Style.of(sys.stdout)
        self._style.examples = options.examples
        self._is_single = True
        self._configurations: list[str] = []
        """The lines about configurations that are not printed yet."""
        self._recorder = None if options.recording is None else Recorder(options.recording)

    def start(self, *, is_single: bool, needed: Mapping[str, str]) -> None:
        """Prepare for one target or several. Raises a UsageError if an output would replace a needed file."""
        self._is_single = is_single
        if self._recorder is not None:
            # Opened before the work, as a run of minutes must not end with an unreachable store.
            self._recorder.open(is_single=is_single)
        if not self._options.file_names:
            return
        # By real path: a link or `./` must not get past the check.
        roles = {os.path.realpath(name): role for name, role in needed.items()}
        for file in self._options.file_names:
            if role := roles.get(os.path.realpath(file)):
                raise UsageError(f"`{file}` is {role}; name another file to write to")

    def show(self, result: TargetResult, catalog: Catalog | None = None) -> None:
        """Print the result of one target, if the format is text; report trouble on standard error."""
        if self._recorder is not None:
            self._recorder.keep(catalog)
        if result.trouble is not None and (self._format.is_text or not self._is_single):
            print_message(str(result.trouble))
        if result.is_judged and self._format.is_text and not self._options.statistics:
            name = self._format.name
            shown = render_target(result, name, self._style, is_single=self._is_single)
            configurations, self._configurations = self._configurations, []
            _print_if_read(lambda: print_lines(chain(configurations, shown), sys.stdout))

    def show_configuration(self, configuration: AppliedConfiguration) -> None:
        """Name a configuration that changed what was checked before the first result, if the format is text."""
        if self._format.name == "text":
            line = self._style.paint(self._style.text(str(configuration), 1_000), "dim")
            self._configurations.append(f"{line}\n")

    def write(self, run: RunResult) -> None:
        """Write the files. This comes before `print`: if a file fails, only the error is printed."""
        for output in self._options.files:
            _write(output.file, harmless(run, output.format, Style(examples=self._options.examples)))
        if self._options.report is not None:
            from mcproof.runs.stored import run_document

            _write(self._options.report, run_document(run))
        if self._recorder is not None:
            self._recorder.record(run)
        if self._format.name == "github":
            _append_job_summary(run)

    def print(self, run: RunResult) -> None:
        """Print the document of a machine format, the statistics, or the verdict, which is the last line of text."""
        if self._options.statistics:
            configurations, self._configurations = self._configurations, []
            counts = statistics(run, self._style)
            _print_if_read(lambda: print_lines([*configurations, *counts, closing(run, self._style)], sys.stdout))
        elif not self._format.is_text:
            # Rendered as a whole before a byte is printed: half a document is worse than none.
            pieces = list(harmless(run, self._format.name, self._style))
            _print_if_read(lambda: print_document(pieces))
        elif self._format.name == "text":
            _print_if_read(lambda: print_lines([closing(run, self._style)], sys.stdout))
        elif run.exit_code == FINDINGS and not _is_listed(run):
            _print_if_read(sys.stdout.flush)
            print_message(verdict_sentence(run))


def _is_listed(run: RunResult) -> bool:
    """Whether the concise format lists a finding or a test that fails the run; it has one line for each, for grep."""
    return any(result.failing or any(test.is_bad for test in result.tests) for result in run.targets)


def _print_if_read(write: Callable[[], None]) -> None:
    """Print; if the reader is gone, as `head` does, go on without: the exit code still counts."""
    try:
        write()
    except BrokenPipeError:  # the reader has seen enough, such as `head`; files and the exit code still count
        discard_output()


def _write(file: str, pieces: Iterable[str]) -> None:
    from mcproof.core.text.files import write_file

    write_file(file, "".join(pieces).encode("utf-8", "backslashreplace"))


def _append_job_summary(run: RunResult) -> None:
    """Append the findings to the summary page of a GitHub Actions job."""
    if file := os.environ.get("GITHUB_STEP_SUMMARY"):
        from mcproof.core.text.files import append_file

        # Appended: the steps of a job share this file.
        append_file(file, "".join(render(run, "markdown", Style())).encode("utf-8", "backslashreplace"))


def refuse_unwritable(files: list[str]) -> None:
    """Raise a UsageError if a file cannot be written: before the work, not after it."""
    for number, file in enumerate(files):
        if any(os.path.realpath(file) == os.path.realpath(other) for other in files[:number]):
            raise UsageError(f"two outputs go to the same file, `{file}`")
        if os.path.isdir(file):
            raise UsageError(f"`{file}` is a folder; name a file to write to")
        if not os.path.isdir(os.path.dirname(file) or "."):
            raise UsageError(f"`{file}` cannot be written: there is no folder `{os.path.dirname(file)}`")
        if (there := leads_out(file)) is not None:
            raise UsageError(f"`{file}` leads out of the working directory, to `{there}`; name that file itself")
