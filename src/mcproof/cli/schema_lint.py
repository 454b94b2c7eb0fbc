"""`mcproof schema-lint`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from mcproof.cli.lint import render
from mcproof.cli.main import FINDINGS, OK
from mcproof.cli.options import Parser, add_fail_on, add_format, add_selection, add_targets, words
from mcproof.cli.session import Outcome, check_targets, reaches
from mcproof.engine import check
from mcproof.errors import UsageError
from mcproof.registry import choose
from mcproof.report.terminal import safe
from mcproof.report.text import plural

if TYPE_CHECKING:
    import argparse

    from mcproof.catalog import Catalog
    from mcproof.finding import Finding
    from mcproof.fix import Fixed
    from mcproof.registry import Rule
    from mcproof.targets.argument import Input

BYTE_ORDER_MARK = b"\xef\xbb\xbf"

EPILOG = """\
The fix closes objects (`additionalProperties: false`) and lists what is required. It invents no type and no
size: those stay findings for the author. Where closing one object would change what another accepts, the
finding stays too and says why.
"""


def command(arguments: list[str]) -> int:
    parser = Parser(
        "schema-lint", "Check how strictly the input schemas constrain a call, and tighten them.", epilog=EPILOG
    )
    add_targets(parser)
    add_format(parser, "text", "concise", "json")
    add_selection(parser)
    add_fail_on(parser, "note")
    parser.add_argument("--fix", action="store_true", help="print the tightened catalog")
    parser.add_argument("--write", action="store_true", help="with --fix: replace the file instead of printing it")
    parser.add_argument("--diff", action="store_true", help="print what --fix would change, and change nothing")
    parser.add_argument(
        "--keep-optional",
        action="store_true",
        help="leave parameters with a default, or that may be null, out of a new `required` list",
    )
    options = parser.parse_args(arguments)
    _refuse_nonsense(options)
    rules = choose(["strict", "catalog"], select=words(options.select), ignore=words(options.ignore))
    if options.fix or options.diff:
        return _fix(options, rules)

    def look(catalog: Catalog) -> Outcome:
        findings = check(catalog, rules)
        return Outcome(render(catalog, findings, options.format), not reaches(findings, options.fail_on))

    return check_targets(options.targets, options.format, look)


def _refuse_nonsense(options: argparse.Namespace) -> None:
    if options.write and options.diff:
        raise UsageError("--write and --diff exclude each other: --diff changes nothing")
    if options.write and not options.fix:
        raise UsageError("--write needs --fix")
    if options.keep_optional and not (options.fix or options.diff):
        raise UsageError("--keep-optional needs --fix or --diff")
    if options.write and "-" in options.targets:
        raise UsageError("--write needs a file: standard input cannot be replaced")


def _fix(options: argparse.Namespace, rules: list[Rule]) -> int:
    from mcproof.fix import apply_fixes, replace_file, unified_diff
    from mcproof.targets.argument import find_inputs, read_bytes
    from mcproof.targets.snapshot import NoCatalogError, read_snapshot

    inputs = find_inputs(options.targets)
    if len(inputs) > 1 and not (options.write or options.diff):
        raise UsageError("--fix prints one catalog; for several use --write or --diff")
    code = OK
    for source in inputs:
        data = read_bytes(source)
        try:
            catalog = read_snapshot(data, source.title)
        except NoCatalogError:
            if not source.from_folder:
                raise
            continue
        findings = check(catalog, rules)
        fixed = apply_fixes(catalog, findings, keep_optional=options.keep_optional)
        left = [finding for finding in findings if finding.fix is None]
        if options.diff:
            sys.stdout.write(unified_diff(catalog.document.text, fixed.text, safe(source.title)))
        else:
            mark = BYTE_ORDER_MARK if data.startswith(BYTE_ORDER_MARK) else b""
            after = mark + fixed.text.encode()
            if not options.write:
                sys.stdout.flush()
                sys.stdout.buffer.write(after)
                sys.stdout.buffer.flush()
            elif after != data:
                replace_file(source.name, data, after)
        sys.stderr.write(_told(source, fixed, left, options))
        if reaches(left, options.fail_on):
            code = FINDINGS
    return code


def _told(source: Input, fixed: Fixed, left: list[Finding], options: argparse.Namespace) -> str:
    """One line on what was done and what is left."""
    verb = "would fix" if options.diff else "fixed"
    sentence = f"{safe(source.title)}: {verb} {plural(fixed.applied, 'finding')}"
    if fixed.made_required:
        parameters = plural(fixed.made_required, "optional parameter")
        sentence += f"; {parameters} became required"
        if not options.keep_optional:
            sentence += " (--keep-optional leaves out those with a default or that may be null)"
    counts: dict[str, int] = {}
    for finding in left:
        counts[finding.rule.id] = counts.get(finding.rule.id, 0) + 1
    listed = ", ".join(f"{rule} {count:,}" for rule, count in sorted(counts.items()))
    return f"{sentence}; {f'left for the author: {listed}' if left else 'nothing is left'}\n"
