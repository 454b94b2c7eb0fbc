"""Commands that check catalogs: `lint`, `schema-lint`, `grade`, `compat`, `scan`, `diff`, `lock`, with `--fix`."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING

from mcproof.checks.rule import RULESETS
from mcproof.cli.options import (
    FAIL_ON,
    RULES,
    FixOptions,
    add_client_fixing,
    add_comparison,
    add_config,
    add_fixing,
    add_policy,
    add_selection,
    parse_config,
    parse_fixing,
    parse_policy,
    parse_selection,
)
from mcproof.cli.outputs import add_amount, add_format, add_outputs, add_verbosity, parse_outputs
from mcproof.cli.parser import Parser, words
from mcproof.cli.run import ConsoleListener, run_request
from mcproof.cli.target_options import TARGETS_USAGE, add_configured_live, add_live, add_targets, parse_targets
from mcproof.core.console import Style, plural, print_document, print_lines, safe, safe_line, tell
from mcproof.core.errors import FINDINGS, OK, InputError, UsageError
from mcproof.runs import execute
from mcproof.runs.events import Event, FixPlanned, RunStarted, TargetFinished, TargetFixed
from mcproof.runs.planning import COMPAT, GRADE, LINT, SCAN, SCHEMA_LINT, few
from mcproof.runs.requests import (
    CompatRequest,
    DiffRequest,
    FixRequest,
    GradeRequest,
    LintRequest,
    LockRequest,
    Policy,
    ScanRequest,
    SchemaLintRequest,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.runs.fix import FixedTarget
    from mcproof.runs.results import TargetResult


COMPAT_EXAMPLES = """\
mcproof compat -- python server.py  every client, and what to change first
mcproof compat tools.json --client cursor,claude-code@2.1.40  all facts about two clients
mcproof compat tools.json --require claude-code,vscode-copilot  a gate for CI
mcproof compat tools.json --diff  the edits that help clients and harm none
"""


def compat_parser() -> Parser:
    parser = Parser(
        "compat",
        "Show in which MCP clients and model APIs a server breaks, and what to change.",
        usage=TARGETS_USAGE,
        examples=COMPAT_EXAMPLES,
    )
    add_targets(parser)
    named = "`mcproof clients` lists them; comma-separated, repeatable"
    clients = parser.group("Clients")
    clients.add_argument(
        "--client",
        action="append",
        default=[],
        metavar="NAME[@VERSION]",
        help=f"report only on these clients, with all their facts: {named}",
    )
    clients.add_argument(
        "--server-key", default="", metavar="KEY", help="the server's name in client configurations (default: its own)"
    )
    gates = parser.group("Gates")
    breaks = f"fail if the server breaks in one of these: {named}"
    gates.add_argument("--require", action="append", default=[], metavar="NAME", help=breaks)
    gates.add_argument("--min-clients", type=_count, metavar="N", help="fail if it works in fewer clients than this")
    add_client_fixing(parser)
    add_policy(parser, COMPAT.fail_on)
    add_outputs(parser, records=True)
    add_amount(parser)
    add_live(parser)
    add_configured_live(parser)
    return parser


def compat_command(arguments: list[str]) -> int:
    options = compat_parser().parse_args(arguments)
    fixing, outputs = parse_fixing(options), parse_outputs(options)
    if fixing is None and options.for_clients:
        raise UsageError("--for needs --fix or --diff; --client chooses the clients of a report")
    if fixing is not None and (options.client or options.require or options.min_clients is not None):
        raise UsageError("--client, --require and --min-clients are about the report; --fix takes --for")
    request = CompatRequest(
        targets=parse_targets(options, *options.targets),
        clients=words(options.client or options.for_clients),
        server_key=options.server_key,
        require=_required(options.require),
        min_clients=options.min_clients,
        policy=parse_policy(options),
        detail=outputs.detail,
    )
    if fixing is None:
        return run_request(request, outputs)

    return fix_command(request, fixing)


def _required(values: list[str]) -> tuple[str, ...]:
    """Parse `--require`: names of clients, whose versions only `--client` sets."""
    names = words(values)
    if pinned := next((name for name in names if "@" in name), None):
        name = pinned.partition("@")[0]
        raise UsageError(f"--require takes no version: use `--client {pinned} --require {name}`")
    return names


def _count(text: str) -> int:
    if not text.isascii() or not text.isdigit():
        raise argparse.ArgumentTypeError(f"`{text}` is not a number of clients")
    return int(text)


DIFF_NOTES = """\
A change breaks callers if a call that was valid is now rejected, or if a result lacks something that it had. If that
is undecidable, the change is reported as "cannot tell", never as compatible. Levels: breaking is an error, cannot tell
a warning, compatible a note.
"""
DIFF_EXAMPLES = """\
mcproof diff released.json tools.json  two snapshots; exit 1 if callers break
mcproof diff released.json -- python server.py  a snapshot and a live server
"""


def diff_parser() -> Parser:
    parser = Parser(
        "diff",
        "Show what changed between two catalogs, and what breaks callers.",
        usage="[OPTIONS] OLD NEW\n[OPTIONS] OLD -- COMMAND ARG...",
        examples=DIFF_EXAMPLES,
        notes=DIFF_NOTES,
    )
    target = (
        "a snapshot, Python source, -, a URL, FILE.json#NAME of a client configuration, or a name from the "
        "configuration"
    )
    parser.add_argument("old", metavar="OLD", help=f"the catalog that callers know: {target}")
    started = "-- COMMAND ARG... at the end"
    parser.add_argument("new", metavar="NEW", nargs="?", help=f"the new catalog: {target}; or {started}")
    parser.group("Failing").add_argument(
        "--fail-on", choices=FAIL_ON, default="error", help="exit 1 on changes at or above this level (default error)"
    )
    add_outputs(parser)
    add_live(parser)
    return parser


def diff_command(arguments: list[str]) -> int:
    options = diff_parser().parse_args(arguments)
    return run_request(_parse(options), parse_outputs(options))


def _parse(options: argparse.Namespace) -> DiffRequest:
    if (options.new is None) == (not options.server_command):
        raise UsageError("name the new catalog once: as NEW, or as the server that `-- COMMAND ARG...` starts")
    if options.all:
        raise UsageError("--all names several servers; name two catalogs")
    if options.old == options.new == "-":
        raise InputError("both catalogs cannot be standard input; name a file for one of them")
    new = parse_targets(options, *([] if options.new is None else [options.new]))
    old = new._replace(names=(options.old,), live=new.live._replace(command=()))
    return DiffRequest(old=old, new=new, fail_on=options.fail_on)


GRADE_EXAMPLES = """\
mcproof grade -- python server.py  a live server
mcproof grade  every server and snapshot below this folder
mcproof grade tools.json --min-grade B  fail below B
"""


def grade_parser() -> Parser:
    parser = Parser(
        "grade", "Grade a catalog from A to F, with its token cost.", usage=TARGETS_USAGE, examples=GRADE_EXAMPLES
    )
    add_targets(parser)
    gates = parser.group("Gates")
    gates.add_argument("--min-grade", type=_letter, metavar="LETTER", help="fail below this grade")
    gates.add_argument("--max-tokens", type=_tokens, metavar="N", help="fail if the tools cost more tokens than this")
    add_policy(parser, GRADE.fail_on)
    add_outputs(parser, records=True)
    add_amount(parser)
    add_live(parser)
    add_configured_live(parser)
    return parser


def grade_command(arguments: list[str]) -> int:
    options = grade_parser().parse_args(arguments)
    outputs = parse_outputs(options)
    request = GradeRequest(
        targets=parse_targets(options, *options.targets),
        min_grade=options.min_grade,
        max_tokens=options.max_tokens,
        policy=parse_policy(options),
        detail=outputs.detail,
    )
    return run_request(request, outputs)


def _letter(text: str) -> str:
    from mcproof.checks.scores.grade import LETTERS

    if text.upper() not in LETTERS:
        raise argparse.ArgumentTypeError(f"`{text}` is not a grade; there are {', '.join(LETTERS)}")
    return text.upper()


def _tokens(text: str) -> int:
    if not text.isascii() or not text.isdigit():
        raise argparse.ArgumentTypeError(f"`{text}` is not a number of tokens")
    return int(text)


LINT_EXAMPLES = """\
mcproof lint  everything below this folder
mcproof lint tools.json  a snapshot
mcproof lint src/  Python source, which is not run
mcproof lint -- python server.py  a live server
mcproof lint .mcp.json#weather  a server of a client configuration
mcproof lint --ruleset all --fail-on warning  every rule, and stricter
mcproof lint tools.json --client cursor,claude-code  errors for what breaks in two clients
mcproof lint --output results.sarif  also a file for CI
mcproof lint --locked  fail if anything changed since `mcproof lock`
"""


def lint_parser() -> Parser:
    parser = Parser(
        "lint",
        "Check a catalog for problems that confuse agents and clients.",
        usage=TARGETS_USAGE,
        examples=LINT_EXAMPLES,
    )
    add_targets(parser)
    parser.group(RULES).add_argument(
        "--ruleset",
        action="append",
        default=[],
        metavar="NAME",
        help=f"the rulesets to run, comma-separated, repeatable: {', '.join(RULESETS)} or all "
        f"(default {','.join(LINT.rulesets)})",
    )
    parser.group(RULES).add_argument(
        "--client",
        action="append",
        default=[],
        metavar="NAME[@VERSION]",
        help="a client that matters: what breaks there is an error, and all its facts are checked; "
        "`mcproof clients` lists them; comma-separated, repeatable",
    )
    add_selection(parser)
    add_comparison(parser)
    add_policy(parser, LINT.fail_on)
    add_fixing(parser)
    add_outputs(parser, records=True)
    add_amount(parser)
    add_live(parser)
    add_configured_live(parser)
    return parser


def lint_command(arguments: list[str]) -> int:
    options = lint_parser().parse_args(arguments)
    fixing, outputs = parse_fixing(options), parse_outputs(options)
    request = LintRequest(
        targets=parse_targets(options, *options.targets),
        rules=parse_selection(options, words(options.ruleset)),
        policy=parse_policy(options),
        detail=outputs.detail,
        clients=words(options.client),
        locked=options.locked,
        against=options.against,
    )
    if fixing is None:
        return run_request(request, outputs)
    if options.locked or options.against is not None:
        raise UsageError("--locked and --against compare catalogs, and nothing is compared with --fix")

    return fix_command(request, fixing)


LOCK_NOTES = """\
The lock, mcproof.lock in this folder, has the texts of all tools, resources and prompts and of the instructions, each
with its hash. `lint --locked` and `scan --locked` compare a target with its entry and exit 1 on any difference. Running
`mcproof lock` again shows what changed and replaces the entries of its targets; the other entries stay.
"""
LOCK_EXAMPLES = """\
mcproof lock -- npx -y some-server  lock a server that you have reviewed
mcproof lock .mcp.json --all  every server of a client configuration
mcproof lint --locked -- npx -y some-server  fail if it offers anything else
"""


def lock_parser() -> Parser:
    parser = Parser(
        "lock",
        "Lock what servers offer, so that later changes are noticed.",
        usage=TARGETS_USAGE,
        examples=LOCK_EXAMPLES,
        notes=LOCK_NOTES,
    )
    add_targets(parser)
    add_config(parser)
    add_format(parser, "text", "json")
    add_verbosity(parser)
    add_live(parser)
    add_configured_live(parser)
    return parser


def lock_command(arguments: list[str]) -> int:
    options = lock_parser().parse_args(arguments)
    request = LockRequest(parse_targets(options, *options.targets), Policy(parse_config(options)))
    from mcproof.report.listings import lock_document, lock_lines
    from mcproof.runs.diff import lock_targets

    listener = ConsoleListener()
    try:
        outcome = lock_targets(request, listener)
    finally:
        listener.clear()
    if options.format == "json":
        print_document(lock_document(outcome))
    else:
        print_lines(lock_lines(outcome, Style.of(sys.stdout)), sys.stdout)
    return OK


SCAN_EXAMPLES = """\
mcproof scan https://host/mcp  TLS, headers, authorization, texts and tools of a remote server
mcproof scan -- npx -y some-server  a server before it is added to an agent
mcproof scan src/  the code of a Python server: where arguments reach a shell, SQL, a path
mcproof scan .mcp.json --all --fail-on-verdict review  every configured server, in CI
"""


def scan_parser() -> Parser:
    parser = Parser(
        "scan",
        "Say whether an agent may connect to a server: a score, a verdict (allow, review, block) and the evidence.",
        usage=TARGETS_USAGE,
        examples=SCAN_EXAMPLES,
    )
    add_targets(parser)
    gates = parser.group("Gates")
    verdicts = "exit 1 on this verdict or a worse one (default block)"
    gates.add_argument("--fail-on-verdict", choices=("review", "block"), default="block", help=verdicts)
    add_comparison(parser)
    observing = parser.group("Observing")
    calls = "also call up to 3 tools that are read-only by their own annotation"
    observing.add_argument("--deep", action="store_true", help=calls)
    add_selection(parser)
    add_policy(parser, SCAN.fail_on)
    add_outputs(parser, records=True)
    add_amount(parser)
    add_live(parser)
    add_configured_live(parser)
    return parser


def scan_command(arguments: list[str]) -> int:
    options = scan_parser().parse_args(arguments)
    outputs = parse_outputs(options)
    request = ScanRequest(
        targets=parse_targets(options, *options.targets),
        rules=parse_selection(options),
        fails_on=options.fail_on_verdict,
        deep=options.deep,
        locked=options.locked,
        against=options.against,
        policy=parse_policy(options),
        detail=outputs.detail,
    )
    return run_request(request, outputs)


SCHEMA_LINT_NOTES = """\
The fix closes objects (`additionalProperties: false`) and adds `required` lists. It invents no types and no bounds:
those findings are left for the author. If closing an object would change what another schema accepts, the finding is
left too, with the reason. In Python source, the fix changes schemas that are one literal of a tool's own.
"""
SCHEMA_LINT_EXAMPLES = """\
mcproof schema-lint tools.json  report; exit 1 on any finding
mcproof schema-lint tools.json --diff  show what the fix would change
mcproof schema-lint tools.json --fix --write  change the file
"""


def schema_lint_parser() -> Parser:
    parser = Parser(
        "schema-lint",
        "Check how strictly input schemas constrain calls, and tighten them.",
        usage=TARGETS_USAGE,
        examples=SCHEMA_LINT_EXAMPLES,
        notes=SCHEMA_LINT_NOTES,
    )
    add_targets(parser)
    add_fixing(parser)
    add_selection(parser)
    add_policy(parser, SCHEMA_LINT.fail_on)
    add_outputs(parser, records=True)
    add_amount(parser)
    add_live(parser)
    add_configured_live(parser)
    return parser


def schema_lint_command(arguments: list[str]) -> int:
    options = schema_lint_parser().parse_args(arguments)
    fixing, outputs = parse_fixing(options), parse_outputs(options)
    request = SchemaLintRequest(
        targets=parse_targets(options, *options.targets),
        rules=parse_selection(options),
        policy=parse_policy(options),
        detail=outputs.detail,
    )
    if fixing is None:
        return run_request(request, outputs)

    return fix_command(request, fixing)


_KEEPING = "; --keep-optional leaves out those with a default or that may be null"


def fix_command(request: LintRequest | CompatRequest, options: FixOptions) -> int:
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
        from mcproof.report.verdicts import run_verdict

        tell(str(run_verdict(result)))
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
            if len(run.inputs) > 1:
                raise UsageError("--fix prints one catalog; for several use --write or --diff")
            if any(source.is_source and os.path.isdir(source.name) for source in run.inputs):
                raise UsageError("--fix prints one file; for a folder of Python source use --write or --diff")

    def _warn(self, fixed: FixedTarget) -> None:
        """Report before anything is written that the fix breaks callers, in the words of `mcproof diff`."""
        if fixed.made_required:
            what, is_one = plural(fixed.made_required, "optional parameter"), fixed.made_required == 1
            verb = "would become" if self._options.prints_diff else "becomes" if is_one else "become"
            hint = "" if self._options.keep_optional else _KEEPING
            omitted = "it" if is_one else "them"
            tell(f"{safe(fixed.name)}: {what} {verb} required: breaking for callers that omit {omitted}{hint}")

    def _show_fixed(self, fixed: FixedTarget) -> None:
        if self._options.prints_diff:
            from mcproof.core.text.json_document import unified_diff

            for each in fixed.files:
                print_lines(map(safe_line, unified_diff(each.text, each.edits, each.file)), sys.stdout)
        elif not self._options.writes:
            sys.stdout.flush()
            sys.stdout.buffer.writelines(each.after for each in fixed.files[:1])
            sys.stdout.buffer.flush()
        print_lines([_summary(fixed, self._options), *_reasons(fixed)], sys.stderr)

    def _show_trouble(self, result: TargetResult) -> None:
        if result.trouble is not None:
            if self._is_single:
                raise result.trouble.as_error()
            tell(str(result.trouble))


def _summary(fixed: FixedTarget, options: FixOptions) -> str:
    """One line about what was fixed and what is left."""
    sentence = (
        f"{safe(fixed.name)}: {'would fix' if options.prints_diff else 'fixed'} {plural(fixed.applied, 'finding')}"
    )
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
    for each in fixed.kept:
        names = tools.setdefault((each.rule, each.reason), [])
        if each.tool.label not in names:
            names.append(each.tool.label)
    for (rule, reason), names in sorted(tools.items()):
        yield f"  {rule or 'edits'} not auto-fixable: {reason} ({safe(few(names))})\n"
