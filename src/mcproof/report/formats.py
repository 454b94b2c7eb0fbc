"""The formats: the purpose of each, the detail it needs, and its renderer.

A new format is a module with `document(run)` and an entry of `FORMATS`; what it needs, such as lines or
fingerprints, is computed for it.
Why renderers get one value: docs/decisions/0013-one-result-many-formats.md.
"""

from __future__ import annotations

import os
from importlib import import_module
from itertools import chain
from typing import TYPE_CHECKING

from mcproof.core.console import Style, harmless_lines
from mcproof.core.errors import UsageError, nearest
from mcproof.core.named_tuple import NamedTuple
from mcproof.runs.results import CALLING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mcproof.core.errors import McproofError
    from mcproof.runs.results import Kind, RunResult, SingleResponse, TargetResult


class Format(NamedTuple):
    """A way to write a result."""

    name: str
    summary: str
    extensions: tuple[str, ...] = ()
    lines: bool = False
    """Whether it shows the lines of findings."""
    identities: bool = False
    """Whether it needs fingerprints, or fixes as edits."""
    scores: bool = False
    """Whether it shows the grade and the tokens."""
    is_text: bool = False
    """Whether people read it as it is printed; errors then go to standard error."""


FORMATS = {
    entry.name: entry
    for entry in (
        Format(
            "text",
            "people: findings by rule, with the offending line, a caret and advice",
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
        Format("html", "people: one self-contained page", (".html", ".htm"), lines=True, scores=True),
    )
}


_HARMLESS = ("json", "sarif", "junit", "github", "gitlab")
"""Formats that escape terminal and workflow commands in their own way."""


def harmless(run: RunResult, format: str, style: Style) -> Iterable[str]:
    """Render a result in a format, in pieces that no terminal or CI runner takes for a command."""
    pieces = render(run, format, style)
    # Texts come from strangers, and CI reads this output: docs/decisions/0010-hostile-input.md.
    return pieces if format in _HARMLESS else harmless_lines(pieces)


def render(run: RunResult, format: str, style: Style) -> Iterable[str]:
    """Render a result in a format, in pieces."""
    if FORMATS[format].is_text:
        return _texts(run, format, style)
    # Imported by name: HTML brings a template engine, which no other format pays for.
    module, name = _DOCUMENTS[format]
    pieces: Iterable[str] = getattr(import_module(module), name)(run)
    return pieces


_DOCUMENTS = {
    "json": ("mcproof.report.json", "document"),
    "sarif": ("mcproof.report.sarif", "document"),
    "junit": ("mcproof.report.ci", "junit_document"),
    "tap": ("mcproof.report.ci", "tap_document"),
    "github": ("mcproof.report.ci", "github_document"),
    "gitlab": ("mcproof.report.ci", "gitlab_document"),
    "markdown": ("mcproof.report.markdown", "document"),
    "html": ("mcproof.report.html.page", "document"),
}
"""The module and function that render each format of a whole run; imported only for the format that is asked for."""


def _texts(run: RunResult, format: str, style: Style) -> Iterator[str]:
    for result in run.targets:
        if result.trouble is not None:
            yield f"mcproof: {style.text(str(result.trouble))}\n"
        if result.is_judged:
            yield from render_target(result, format, style, is_single=run.is_single)
    for notice in run.notices:
        yield f"mcproof: {style.text(str(notice))}\n"
    if format == "text":
        yield closing(run, style)


def closing(run: RunResult, style: Style) -> str:
    """Return the last line of text: the verdict and its reason; empty if it is already there."""
    from mcproof.report.text import closing_line

    return closing_line(run, _fitted(style, run.kind))


_SCREEN = 100
"""The most columns of `check`, which is one screen."""


def _fitted(style: Style, kind: Kind) -> Style:
    return style.narrower(max(0, style.width - _SCREEN)) if kind == "check" else style


def verdict_sentence(run: RunResult) -> str:
    """Return the verdict and its reason."""
    from mcproof.report.verdicts import run_verdict

    return str(run_verdict(run))


def statistics(run: RunResult, style: Style) -> Iterator[str]:
    """Render the number of findings of each rule."""
    from mcproof.report.frames import rule_counts

    return rule_counts(run, style)


def render_target(result: TargetResult, format: str, style: Style, *, is_single: bool) -> Iterable[str]:
    """Render one target as text, as soon as its result is there; one of several with findings, below its name."""
    kind = result.payload.kind
    if format == "concise":
        from mcproof.report.frames import concise_lines

        pieces: Iterable[str] = concise_lines(result, style)
    elif kind == "grade" and not is_single:
        from mcproof.report.text import grade_line

        pieces = [grade_line(result, style)]
    else:
        from mcproof.report.sections import document_of
        from mcproof.report.text import TextRenderer

        pieces = TextRenderer(_fitted(style, kind)).draw(document_of(result).blocks)
    if (
        format == "text"
        and not is_single
        and (kind in CALLING or kind in ("compat", "scan", "check") or (kind == "lint" and result.findings))
    ):
        return chain([style.paint(style.text(result.target), "bold") + "\n\n"], pieces, ["\n"])
    return pieces


def render_failure(error: McproofError, command: str, format: str) -> Iterable[str]:
    """Render an error that prevented the whole run, for a machine format. Raise LookupError if unknown."""
    from mcproof import __version__
    from mcproof.runs.results import RunResult, TargetResult, Trouble, empty_payload

    # As a result of one target: so every format has one way to say that nothing could be checked.
    failed = TargetResult(error.file or "mcproof", Trouble.of(error), payload=empty_payload(command))
    return harmless(RunResult(command, __version__, [failed], exit_code=2), format, Style())


def render_response(response: SingleResponse, format: str, style: Style) -> Iterable[str]:
    """Render the response to one request, as text or JSON."""
    from mcproof.report.responses import response_document, response_text

    return response_document(response) if format == "json" else response_text(response, style)


class Output(NamedTuple):
    """A file to write, and its format."""

    format: str
    file: str


def parse_output(word: str) -> Output:
    """Parse a value of `--output`: `FORMAT:FILE`, or a file whose extension determines the format."""
    prefix, colon, rest = word.partition(":")
    if colon and prefix in FORMATS:
        if not rest:
            raise UsageError(f"`--output {word}` names no file")
        return Output(prefix, rest)
    if colon and len(prefix) > 1 and prefix.isalpha():  # a single letter is a Windows drive
        hint = nearest(prefix, list(FORMATS))
        raise UsageError(f"unknown format `{prefix}`{hint}; there are {', '.join(FORMATS)}")
    name = os.path.basename(word).lower()
    extensions = {extension: entry.name for entry in FORMATS.values() for extension in entry.extensions}
    for extension in sorted(extensions, key=len, reverse=True):  # `.sarif.json` before `.json`
        if name.endswith(extension):
            return Output(extensions[extension], word)
    raise UsageError(
        f"`--output {word}`: unknown extension (known: {', '.join(sorted(extensions))}); "
        f"write `FORMAT:{word}`, with one of {', '.join(FORMATS)}"
    )
