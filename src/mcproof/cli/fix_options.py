"""`--fix`, `--diff` and `--write`: what a machine can mend, for every command that shows such findings."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from mcproof.cli.execute import Run, check_targets
from mcproof.console import plural, print_lines, safe, tell
from mcproof.errors import UsageError
from mcproof.execution.check_catalog import judge
from mcproof.results.build import report_findings
from mcproof.results.run import TargetResult
from mcproof.targets.argument import read_bytes

if TYPE_CHECKING:
    import argparse

    from mcproof.catalog.model import Catalog
    from mcproof.cli.execute import Work
    from mcproof.cli.options import Parser
    from mcproof.cli.planning import Command
    from mcproof.execution.check_catalog import Judged
    from mcproof.linting.finding import Finding
    from mcproof.linting.fixing.snapshot_fix import FixedSnapshot
    from mcproof.linting.fixing.source_fix import FixedSource


def add_fixing(parser: Parser) -> None:
    """The options that mend instead of reporting."""
    parser.add_argument("--fix", action="store_true", help="print the tightened catalog, or Python file")
    parser.add_argument("--write", action="store_true", help="with --fix: replace the files instead of printing")
    parser.add_argument("--diff", action="store_true", help="print what --fix would change, and change nothing")
    parser.add_argument(
        "--keep-optional",
        action="store_true",
        help="leave parameters with a default, or that may be null, out of a new `required` list",
    )


def check_or_fix(command: Command, options: argparse.Namespace) -> int:
    """Report what a command finds, or mend it."""
    _refuse_nonsense(options)
    return _fix_targets(command, options) if options.fix or options.diff else check_targets(command, options)


def _refuse_nonsense(options: argparse.Namespace) -> None:
    if options.write and options.diff:
        raise UsageError("--write and --diff exclude each other: --diff changes nothing")
    if options.write and not options.fix:
        raise UsageError("--write needs --fix")
    if options.keep_optional and not (options.fix or options.diff):
        raise UsageError("--keep-optional needs --fix or --diff")
    if options.write and "-" in options.targets:
        raise UsageError("--write needs a file: standard input cannot be replaced")
    if options.diff and options.format != "text":
        raise UsageError(f"--diff prints a diff; it does not go with --format {options.format}")
    if (options.fix or options.diff) and (options.output or options.report or options.update_baseline):
        raise UsageError("--fix and --diff print no report; for --output, --report or --update-baseline, run again")


def _fix_targets(command: Command, options: argparse.Namespace) -> int:
    """Mend every target: print it, replace it, or only show what would change."""
    run = Run(command, options)
    if options.write and run.has_live:
        raise UsageError("--write needs files: a live server cannot be rewritten; `mcproof capture` saves its catalog")
    if options.fix and not (options.write or options.diff) and run.has_several:
        raise UsageError("--fix prints one catalog; for several use --write or --diff")
    if options.fix and not (options.write or options.diff) and run.has_source_folder:
        raise UsageError("--fix prints one file; for a folder of Python source use --write or --diff")
    reports = []
    for report in run.over_targets(lambda work: _fix(work, options)):
        if report.trouble is not None:
            if run.is_single:
                raise report.trouble.as_error()
            tell(str(report.trouble))
        reports.append(report)
    notices = run.notices()
    for notice in notices:
        tell(str(notice))
    return run.exit_code(reports, notices)


def _fix(work: Work, options: argparse.Namespace) -> TargetResult:
    from mcproof.linting.fixing.snapshot_fix import fix_snapshot

    catalog = work.catalog
    judged = judge(catalog, work.plan, work.tracker, work.baseline)
    if catalog.source is not None:
        return _fix_source(work, judged, options)
    fixed = fix_snapshot(catalog, judged.costing, keep_optional=options.keep_optional)
    _hand_over(catalog, fixed, options)
    return _reported(work, judged, fixed, {id(each) for each in judged.costing if each.fix is not None}, options)


def _hand_over(catalog: Catalog, fixed: FixedSnapshot, options: argparse.Namespace) -> None:
    """Show what changes, print the new text, or put it in the place of the old."""
    from mcproof.text.atomic import replace_file
    from mcproof.text.unified_diff import unified_diff

    document = catalog.document
    if options.diff:
        print_lines(map(_harmless, unified_diff(document.text, fixed.edits, catalog.name)), sys.stdout)
    elif not options.write:
        _print_bytes(document.encode(fixed.text))
    elif fixed.applied:
        replace_file(catalog.name, document.encode(document.text), document.encode(fixed.text))


def _fix_source(work: Work, judged: Judged, options: argparse.Namespace) -> TargetResult:
    """Mend Python source, file by file; what is not certain is left as it is."""
    from mcproof.linting.fixing.source_fix import fix_source
    from mcproof.text.atomic import replace_files
    from mcproof.text.unified_diff import unified_diff

    fixed = fix_source(work.catalog, judged.costing, keep_optional=options.keep_optional)
    if options.diff:
        for each in fixed.files:
            print_lines(map(_harmless, unified_diff(each.text, each.edits, each.file)), sys.stdout)
    elif options.write:
        replace_files([(each.file, each.before, each.after) for each in fixed.files])
    else:
        _print_bytes(fixed.files[0].after if fixed.files else read_bytes(work.source))
    return _reported(work, judged, fixed, {id(each) for each in fixed.mended}, options)


def _print_bytes(data: bytes) -> None:
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def _reported(
    work: Work, judged: Judged, fixed: FixedSnapshot | FixedSource, mended: set[int], options: argparse.Namespace
) -> TargetResult:
    """What is left, said and as a report."""
    catalog = work.catalog
    left = [finding for finding in judged.costing if id(finding) not in mended]
    print_lines([_told(catalog, fixed, left, options)], sys.stderr)
    # A diff changes nothing, so everything that was found is still there; what was accepted never counts.
    still_there = [finding for finding in judged.standing if options.diff or id(finding) not in mended]
    return TargetResult(catalog.name, findings=report_findings(catalog, still_there), fail_on=work.plan.fail_on)


def _harmless(line: str) -> str:
    """A line of a diff without characters that act on a terminal; its end and its tabs are kept."""
    body = line.rstrip("\r\n")
    return "\t".join(map(safe, body.split("\t"))) + line[len(body) :]


def _told(
    catalog: Catalog, fixed: FixedSnapshot | FixedSource, left: list[Finding], options: argparse.Namespace
) -> str:
    """One line on what was done and what is left."""
    done, became = ("would fix", "would become") if options.diff else ("fixed", "became")
    sentence = f"{safe(catalog.name)}: {done} {plural(fixed.applied, 'finding')}"
    if fixed.made_required:
        sentence += f"; {plural(fixed.made_required, 'optional parameter')} {became} required"
        if not options.keep_optional:
            sentence += " (--keep-optional leaves out those with a default or that may be null)"
    counts: dict[str, int] = {}
    for finding in left:
        counts[finding.rule.id] = counts.get(finding.rule.id, 0) + 1
    listed = ", ".join(f"{rule} {count:,}" for rule, count in sorted(counts.items()))
    uncertain = sum(finding.fix is not None for finding in left)
    if uncertain:
        listed += f" ({uncertain:,} in schemas that are not one literal of the tool's own)"
    return f"{sentence}; {f'left for the author: {listed}' if left else 'nothing is left'}\n"
