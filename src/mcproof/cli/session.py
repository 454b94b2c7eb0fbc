"""What every checking command does with its targets: read each, check it, render it, add up the exit code."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NamedTuple

from mcproof.cli.main import FAILED, FINDINGS, INTERRUPTED, OK
from mcproof.errors import InputError, McproofError
from mcproof.finding import LEVELS
from mcproof.report.records import error_document, targets_document
from mcproof.report.terminal import Progress, print_lines, safe
from mcproof.targets.argument import find_inputs, is_single, read_catalog

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from mcproof.catalog import Catalog
    from mcproof.finding import Finding
    from mcproof.targets.argument import Input


class Outcome(NamedTuple):
    """What one target gives: its rendering, in pieces, and whether it passes."""

    rendering: Iterable[str]
    passed: bool


def check_targets(targets: list[str], format: str, check: Callable[[Catalog], Outcome]) -> int:
    """Check every target and print what comes of it. One that cannot be read does not hide the others."""
    inputs = find_inputs(targets)
    alone = is_single(targets)
    progress = Progress(len(inputs))
    documents: list[str] = []
    code = OK
    checked = 0
    try:
        for number, source in enumerate(inputs, 1):
            progress.step(number, source.name)
            try:
                outcome = check(read_catalog(source))
            except McproofError as error:
                if alone:
                    raise
                progress.clear()
                if not _passed_over(source, error):
                    code = FAILED
                    documents.append(error_document(error, source.title))
                continue
            checked += 1
            progress.clear()
            if code == OK and not outcome.passed:
                code = FINDINGS
            if format != "json":
                print_lines(outcome.rendering, sys.stdout)
            elif alone:
                sys.stdout.writelines([*outcome.rendering, "\n"])  # all of it, or nothing
            else:
                documents.append("".join(outcome.rendering))
    except KeyboardInterrupt:
        progress.clear()
        sys.stderr.write(f"mcproof: interrupted after {checked} of {len(inputs)} targets\n")
        code = INTERRUPTED
    if not checked and code == OK:
        raise InputError(f"nothing to check: no snapshot among the `.json` files of {', '.join(targets)}")
    if format == "json" and not alone:
        sys.stdout.write(targets_document(documents) + "\n")
    return code


def _passed_over(source: Input, error: McproofError) -> bool:
    """Tell about a target that gives nothing; whether that is no failure, because a folder brought it in."""
    from mcproof.targets.snapshot import NoCatalogError

    harmless = source.from_folder and isinstance(error, NoCatalogError)
    what = f"passed over {safe(source.name)}: no catalog in it" if harmless else safe(str(error))
    print_lines([f"mcproof: {what}\n"], sys.stderr)
    return harmless


def reaching(findings: list[Finding], fail_on: str) -> int:
    """How many findings are at or above a level."""
    if fail_on == "never":
        return 0
    failing = LEVELS[: LEVELS.index(fail_on) + 1]
    return sum(finding.level in failing for finding in findings)
