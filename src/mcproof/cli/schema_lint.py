"""`mcproof schema-lint`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from mcproof.cli.lint import render
from mcproof.cli.options import Parser, add_fail_on, add_format, add_selection, add_targets, words
from mcproof.cli.session import Outcome, check_targets, reaching
from mcproof.engine import check
from mcproof.errors import UsageError
from mcproof.registry import choose
from mcproof.report.terminal import print_lines, safe
from mcproof.report.text import plural
from mcproof.targets.argument import find_inputs

if TYPE_CHECKING:
    import argparse

    from mcproof.catalog import Catalog
    from mcproof.finding import Finding
    from mcproof.fix import Fixed
    from mcproof.registry import Rule

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
        return check_targets(options.targets, "text", lambda catalog: _fix(catalog, options, rules))

    def look(catalog: Catalog) -> Outcome:
        findings = check(catalog, rules)
        return Outcome(render(catalog, findings, options.format), not reaching(findings, options.fail_on))

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
    if options.diff and options.format == "json":
        raise UsageError("--diff prints a diff; it does not go with --format json")
    if options.fix and not (options.write or options.diff) and len(find_inputs(options.targets)) > 1:
        raise UsageError("--fix prints one catalog; for several use --write or --diff")


def _fix(catalog: Catalog, options: argparse.Namespace, rules: list[Rule]) -> Outcome:
    """Mend one catalog: print it, replace it, or only show what would change."""
    from mcproof.fix import apply_fixes, replace_file, unified_diff

    findings = check(catalog, rules)
    fixed = apply_fixes(catalog, findings, keep_optional=options.keep_optional)
    left = [finding for finding in findings if finding.fix is None]
    document = catalog.document
    rendering: list[str] = []
    if options.diff:
        rendering = [_harmless(line) for line in unified_diff(document.text, fixed.edits, catalog.name)]
    elif not options.write:
        sys.stdout.flush()
        sys.stdout.buffer.write(document.encode(fixed.text))
        sys.stdout.buffer.flush()
    elif fixed.applied:
        replace_file(catalog.name, document.encode(document.text), document.encode(fixed.text))
    print_lines([_told(catalog, fixed, left, options)], sys.stderr)
    # A diff changes nothing, so everything that was found is still there.
    return Outcome(rendering, not reaching(findings if options.diff else left, options.fail_on))


def _harmless(line: str) -> str:
    """A line of a diff without characters that act on a terminal; its end and its tabs are kept."""
    body = line.rstrip("\r\n")
    return "\t".join(map(safe, body.split("\t"))) + line[len(body) :]


def _told(catalog: Catalog, fixed: Fixed, left: list[Finding], options: argparse.Namespace) -> str:
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
    return f"{sentence}; {f'left for the author: {listed}' if left else 'nothing is left'}\n"
