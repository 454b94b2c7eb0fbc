"""The formats there are: what each is for, what it needs, and how a run report becomes one."""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from mcproof.console import Style, harmless_lines
from mcproof.errors import UsageError, nearest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mcproof.errors import McproofError
    from mcproof.results.payloads import Kind
    from mcproof.results.run import RunResult, TargetResult


class Format(NamedTuple):
    """A way to write down a run report."""

    name: str
    summary: str
    extensions: tuple[str, ...] = ()
    lines: bool = False
    """Whether it shows the lines that findings are about."""
    identities: bool = False
    """Whether it needs fingerprints, or fixes as edits of the file."""
    scores: bool = False
    """Whether it shows the grade and the tokens."""
    is_text: bool = False
    """Whether people read it as it comes: then what cannot be done is told on standard error."""


FORMATS = {
    each.name: each
    for each in (
        Format(
            "text",
            "people: a frame with the offending line, a caret, what to do",
            (".txt",),
            lines=True,
            is_text=True,
        ),
        Format("concise", "people and grep: one line a finding", is_text=True),
        Format("json", "programs: the command's own document", (".json",)),
        Format("sarif", "code scanning: SARIF 2.1.0", (".sarif", ".sarif.json"), lines=True, identities=True),
        Format("junit", "CI servers: JUnit XML", (".xml",)),
        Format("tap", "test harnesses: TAP version 14", (".tap",)),
        Format("github", "GitHub Actions: annotations, and the job summary", lines=True, scores=True),
        Format("gitlab", "GitLab: a code quality report", identities=True),
        Format("markdown", "a pull-request comment", (".md", ".markdown"), scores=True),
        Format("html", "a person: one page that needs nothing else", (".html", ".htm"), lines=True, scores=True),
    )
}


_HARMLESS = ("json", "sarif", "junit", "github", "gitlab")
"""Formats that escape what a terminal or a CI runner could take for a command, each in its own way."""


def harmless(run: RunResult, format: str, style: Style) -> Iterable[str]:
    """A run report in a format, in pieces of which no terminal and no CI runner takes one for a command."""
    pieces = render(run, format, style)
    return pieces if format in _HARMLESS else harmless_lines(pieces)


def render(run: RunResult, format: str, style: Style) -> Iterable[str]:
    """A run report in a format, in pieces."""
    if FORMATS[format].is_text:
        return _texts(run, format, style)
    if format == "json":
        module, name = _DOCUMENTS[run.kind]
    else:
        module, name = format, "document"
    pieces: Iterable[str] = getattr(import_module(f"mcproof.report.{module}"), name)(run)
    return pieces


_DOCUMENTS: dict[Kind, tuple[str, str]] = {
    "lint": ("documents", "lint_document"),
    "diff": ("documents", "diff_document"),
    "grade": ("documents", "grade_document"),
    "probe": ("proof_records", "probe_document"),
    "prove": ("proof_records", "prove_document"),
    "fuzz": ("proof_records", "fuzz_document"),
    "suite": ("suite_tests", "run_tests_document"),
}
"""The module and function that write the JSON document of each kind of run."""


def _texts(run: RunResult, format: str, style: Style) -> Iterator[str]:
    for report in run.targets:
        if report.trouble is not None:
            yield f"mcproof: {style.text(str(report.trouble))}\n"
        else:
            yield from render_target(report, format, style, is_single=run.is_single)
    for notice in run.notices:
        yield f"mcproof: {style.text(str(notice))}\n"


def render_target(report: TargetResult, format: str, style: Style, *, is_single: bool) -> Iterable[str]:
    """Render one target as text, as soon as its result is there."""
    kind = report.payload.kind
    if kind == "grade" and format == "text" and not is_single:
        from mcproof.report.grade_card import row

        return row(report, style)
    module, name = (_CONCISE if format == "concise" else _TEXTS)[kind]
    pieces: Iterable[str] = getattr(import_module(f"mcproof.report.{module}"), name)(report, style)
    return pieces


_TEXTS: dict[Kind, tuple[str, str]] = {
    "lint": ("text", "frames"),
    "grade": ("grade_card", "card"),
    "diff": ("diff_text", "changes_text"),
    "probe": ("proof_text", "probe_text"),
    "prove": ("proof_text", "prove_text"),
    "fuzz": ("fuzz_text", "fuzz_text"),
    "suite": ("suite_tests", "tests_text"),
}
"""The module and function that render the text of each kind of run."""

_CONCISE: dict[Kind, tuple[str, str]] = {
    **dict.fromkeys(_TEXTS, ("text", "concise")),
    "diff": ("diff_text", "changes_concise"),
    "suite": ("suite_tests", "tests_concise"),
}


def render_failure(error: McproofError, command: str, format: str) -> Iterable[str]:
    """What a machine format says where the job could not be done at all. Raises LookupError for no format."""
    from mcproof import __version__
    from mcproof.results.payloads import empty_payload
    from mcproof.results.run import RunResult, TargetResult, Trouble

    failed = TargetResult(error.file or "mcproof", Trouble.of(error), payload=empty_payload(command))
    return harmless(RunResult(command, __version__, [failed], exit_code=2), format, Style())


class Output(NamedTuple):
    """A file to write, and in which format."""

    format: str
    file: str


def parse_output(word: str) -> Output:
    """What `--output` asks for: `FORMAT:FILE`, or a file whose extension tells the format."""
    prefix, colon, rest = word.partition(":")
    if colon and prefix in FORMATS:
        if not rest:
            raise UsageError(f"`--output {word}` names no file")
        return Output(prefix, rest)
    if colon and len(prefix) > 1 and prefix.isalpha():  # a single letter is a drive of Windows
        hint = nearest(prefix, list(FORMATS))
        raise UsageError(f"unknown format `{prefix}`{hint}; there are {', '.join(FORMATS)}")
    name = os.path.basename(word).lower()
    extensions = {extension: each.name for each in FORMATS.values() for extension in each.extensions}
    for extension in sorted(extensions, key=len, reverse=True):
        if name.endswith(extension):
            return Output(extensions[extension], word)
    raise UsageError(
        f"`--output {word}`: the format is not known by its extension ({', '.join(sorted(extensions))}); "
        f"write `FORMAT:{word}`, with one of {', '.join(FORMATS)}"
    )
