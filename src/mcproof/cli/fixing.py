"""`--fix` and `--diff`: print, replace or show the fixed files, with a summary of each target."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from mcproof.cli.run import ConsoleListener
from mcproof.core.console import (
    few,
    plural,
    print_bytes,
    print_diff,
    print_lines,
    print_message,
    safe,
    without_commands,
)
from mcproof.core.errors import FINDINGS, UsageError
from mcproof.runs import execute
from mcproof.runs.events import Event, FixPlanned, RunStarted, TargetFinished, TargetFixed
from mcproof.runs.requests import FixRequest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.cli.options import FixOptions
    from mcproof.runs.events import FixedTarget
    from mcproof.runs.requests import CompatRequest, LintRequest
    from mcproof.runs.results import TargetResult


_KEEPING = "; --keep-optional leaves out those with a default or that may be null"


def run_fix(request: LintRequest | CompatRequest, options: FixOptions) -> int:
    """Fix the findings of a request; return the exit code."""
    fix = FixRequest(
        check=request, keep_optional=options.keep_optional, is_dry_run=options.prints_diff, writes=options.writes
    )
    listener = FixListener(options)
    try:
        result = execute(fix, listener)
    finally:
        listener.clear()
    if result.exit_code == FINDINGS:
        from mcproof.report.formats import verdict_sentence

        print_message(verdict_sentence(result))
    return result.exit_code


class FixListener(ConsoleListener):
    """Prints fixed files or diffs on standard output, and a summary of each target on standard error."""

    def __init__(self, options: FixOptions) -> None:
        super().__init__()
        self._options = options
        self._is_single = True

    def _show(self, event: Event) -> None:
        if isinstance(event, RunStarted):
            self._start(event)
        elif isinstance(event, FixPlanned):
            self._warn(event.fixed)
        elif isinstance(event, TargetFixed):
            self._show_fixed(event.fixed)
        elif isinstance(event, TargetFinished):
            self._show_trouble(event.result)
        else:
            super()._show(event)

    def _start(self, run: RunStarted) -> None:
        """Raise a UsageError if the targets cannot be fixed in the requested way."""
        self._is_single = run.is_single
        if self._options.writes:
            if any(source.server is not None for source in run.inputs):
                raise UsageError(
                    "--write needs files: a live server cannot be rewritten; `mcproof capture` saves its catalog"
                )
        elif not self._options.prints_diff:
            # Printed one after the other, several catalogs would be no valid file.
            if len(run.inputs) > 1:
                raise UsageError("--fix prints one catalog; for several use --write or --diff")
            if any(source.is_source and os.path.isdir(source.name) for source in run.inputs):
                raise UsageError("--fix prints one file; for a folder of source use --write or --diff")

    def _warn(self, fixed: FixedTarget) -> None:
        """Report before anything is written that the fix breaks callers, in the words of `mcproof diff`."""
        if fixed.made_required:
            what, is_one = plural(fixed.made_required, "optional parameter"), fixed.made_required == 1
            verb = "would become" if self._options.prints_diff else "becomes" if is_one else "become"
            hint = "" if self._options.keep_optional else _KEEPING
            omitted = "it" if is_one else "them"
            print_message(f"{safe(fixed.name)}: {what} {verb} required: breaking for callers that omit {omitted}{hint}")

    def _show_fixed(self, fixed: FixedTarget) -> None:
        if self._options.prints_diff:
            from mcproof.core.text.json_document import unified_diff

            for file in fixed.files:
                # A name of such characters could not be applied either.
                print_diff(unified_diff(file.text, file.edits, without_commands(safe(file.file))))
        elif not self._options.writes:
            print_bytes(file.after for file in fixed.files[:1])
        print_lines([_summary(fixed, self._options), *_reasons(fixed)], sys.stderr)

    def _show_trouble(self, result: TargetResult) -> None:
        if result.trouble is not None:
            if self._is_single:
                raise result.trouble.as_error()
            print_message(str(result.trouble))


def _summary(fixed: FixedTarget, options: FixOptions) -> str:
    """One line about what was fixed and what is left."""
    sentence = (
        f"{safe(fixed.name)}: {'would fix' if options.prints_diff else 'fixed'} {plural(fixed.applied, 'finding')}"
    )
    # Of `left`, not of `active`: what a baseline accepts still needs its author.
    counts: dict[str, int] = {}
    for finding in fixed.left:
        counts[finding.rule.id] = counts.get(finding.rule.id, 0) + 1
    listed = ", ".join(f"{rule} {count:,}" for rule, count in sorted(counts.items()))
    uncertain = sum(finding.fix is not None for finding in fixed.left)
    if uncertain:
        listed += f" ({uncertain:,} in schemas that are not one literal of the tool's own)"
    return f"{sentence}; {f'left for the author: {listed}' if fixed.left else 'nothing is left'}\n"


def _reasons(fixed: FixedTarget) -> Iterator[str]:
    """A line for each reason why something that clients refuse is left, with the tools."""
    tools: dict[tuple[str, str], list[str]] = {}
    for hit in fixed.kept:
        names = tools.setdefault((hit.rule, hit.reason), [])
        if hit.tool.label not in names:
            names.append(hit.tool.label)
    for (rule, reason), names in sorted(tools.items()):
        yield f"  {rule or 'edits'} not auto-fixable: {reason} ({safe(few(names))})\n"
