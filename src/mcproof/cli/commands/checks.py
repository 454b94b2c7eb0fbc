"""Commands that check catalogs: `check`, `lint`, `schema-lint`, `grade`, `compat`, `scan`, `diff`, `lock`."""

from __future__ import annotations

import argparse
import sys

from mcproof.checks.rule import RULESETS
from mcproof.cli.command import ARGUMENTS, Command, Option, seconds, whole_number, words
from mcproof.cli.options import (
    CALL_OPTIONS,
    CALLS,
    CLIENT_FIXING,
    COMPARISON,
    CONFIG,
    FAIL_ON,
    RULES,
    SELECTION,
    STRICT_FIXING,
    parse_config,
    policy,
)
from mcproof.cli.outputs import CHECK_OUTPUTS, OUTPUTS, TEXT_OR_JSON, VERBOSITY, parse_outputs
from mcproof.cli.run import ConsoleListener, run_request
from mcproof.cli.target_options import CONFIGURED_LIVE, LIVE, TARGETS, TARGETS_USAGE, parse_targets
from mcproof.core.console import Style, print_document, print_lines
from mcproof.core.errors import FINDINGS, OK, InputError, UsageError
from mcproof.runs import execute
from mcproof.runs.requests import (
    KINDS,
    CheckRequest,
    CompatRequest,
    DiffRequest,
    GradeRequest,
    LintRequest,
    LockRequest,
    Policy,
    ScanRequest,
    SchemaLintRequest,
)

GATES = "Gates"
"""The title of a group of options."""


def _required(values: list[str]) -> tuple[str, ...]:
    """Parse `--require`: names of clients, whose versions only `--client` sets."""
    names = words(values)
    if pinned := next((name for name in names if "@" in name), None):
        name = pinned.partition("@")[0]
        raise UsageError(f"--require takes no version: use `--client {pinned} --require {name}`")
    return names


def _letter(text: str) -> str:
    from mcproof.checks.scores.grade import LETTERS

    if text.upper() not in LETTERS:
        raise argparse.ArgumentTypeError(f"`{text}` is not a grade; there are {', '.join(LETTERS)}")
    return text.upper()


def _diff(options: argparse.Namespace) -> int:
    if (options.new is None) == (not options.server_command):
        raise UsageError("name the new catalog once: as NEW, or as the server that `-- COMMAND ARG...` starts")
    if options.all:
        raise UsageError("--all names several servers; name two catalogs")
    if options.old == options.new == "-":
        raise InputError("both catalogs cannot be standard input; name a file for one of them")
    new = parse_targets(options, *([] if options.new is None else [options.new]))
    old = new._replace(names=(options.old,), live=new.live._replace(command=()))
    return run_request(DiffRequest(old=old, new=new, fail_on=options.fail_on), parse_outputs(options))


def _lock(options: argparse.Namespace) -> int:
    policy = Policy(parse_config(options))
    request = LockRequest(parse_targets(options, *options.targets), policy, only_checks=options.check)
    from mcproof.report.listings import lock_document, lock_lines

    listener = ConsoleListener()
    try:
        outcome = execute(request, listener)
    finally:
        listener.clear()
    if options.format == "json":
        print_document(lock_document(outcome))
    else:
        print_lines(lock_lines(outcome, Style.of(sys.stdout)), sys.stdout)
    return OK if outcome.is_written or outcome.is_equal else FINDINGS


_LISTED = "`mcproof explain clients` lists them; comma-separated, repeatable"
_CATALOG = (
    "a snapshot, Python, JavaScript or TypeScript source, -, a URL, FILE.json#NAME of a client configuration, "
    "or a name from the configuration"
)
_COMMON = (CHECK_OUTPUTS, LIVE, CONFIGURED_LIVE)
"""The options that all checks end with."""
_CHECK = Option(GATES, "--check", "write nothing; exit 1 if a target does not offer what is locked")
_MIN_GRADE = Option(GATES, "--min-grade LETTER", "fail below this grade", to="min_grade", type=_letter)
_FAIL_ON_VERDICT = Option(
    GATES,
    "--fail-on-verdict",
    "exit 1 on this verdict or a worse one (default block)",
    to="fails_on",
    choices=("review", "block"),
    default="block",
)
_MIN_CLIENTS = Option(
    GATES,
    "--min-clients N",
    "fail if it works in fewer clients than this",
    to="min_clients",
    type=whole_number("clients"),
)
_CLIENTS_THAT_MATTER = Option(
    RULES,
    "--client NAME[@VERSION]",
    "a client that matters: what breaks there is an error, and all its facts are checked; "
    "`mcproof explain clients` lists them; comma-separated, repeatable",
    to="clients",
    read=words,
    repeatable=True,
)
COMMANDS = (
    Command(
        "check",
        "Say on one screen how good a server is: grade, clients, trust, promises, and the edits that help most.",
        (
            TARGETS,
            _MIN_GRADE,
            _FAIL_ON_VERDICT,
            _MIN_CLIENTS,
            _CLIENTS_THAT_MATTER,
            Option(CALLS, "--static", "call no tool: promises are not judged", to="is_static"),
            Option(
                CALLS,
                "--max-time SECONDS",
                "call no more this long after the start of the check (default 30)",
                to="max_seconds",
                type=seconds,
                default=30.0,
            ),
            CALL_OPTIONS,
            policy(KINDS[CheckRequest].fail_on),
            *_COMMON,
        ),
        usage=TARGETS_USAGE,
        examples="""\
mcproof check -- python server.py  a server on this machine; its read-only tools are called
mcproof check https://host/mcp  a remote server
mcproof check tools.json src/  a snapshot and source, one screen each
mcproof check --min-grade B --fail-on-verdict review -- python server.py  a gate for CI
""",
        notes="""\
It exits with 1 on an error, a broken promise or the verdict `block`. `grade`, `compat`, `scan` and `prove` show each
part in full; `scan` also connects several times to compare what it lists.
""",
        request=CheckRequest,
    ),
    Command(
        "lint",
        "Check a catalog for problems that confuse agents and clients.",
        (
            TARGETS,
            Option(
                RULES,
                "--ruleset NAME",
                f"the rulesets to run, comma-separated, repeatable: {', '.join(RULESETS)} or all "
                f"(default {','.join(KINDS[LintRequest].rulesets)})",
                repeatable=True,
            ),
            _CLIENTS_THAT_MATTER,
            SELECTION,
            *COMPARISON,
            policy(KINDS[LintRequest].fail_on),
            STRICT_FIXING,
            *_COMMON,
        ),
        usage=TARGETS_USAGE,
        examples="""\
mcproof lint  everything below this folder
mcproof lint tools.json  a snapshot
mcproof lint src/  Python, JavaScript or TypeScript source, which is not run
mcproof lint -- python server.py  a live server
mcproof lint .mcp.json#weather  a server of a client configuration
mcproof lint --ruleset all --fail-on warning  every rule, and stricter
mcproof lint tools.json --client cursor,claude-code  errors for what breaks in two clients
mcproof lint --output results.sarif  also a file for CI
mcproof lint --locked  fail if anything changed since `mcproof lock`
""",
        request=LintRequest,
    ),
    Command(
        "schema-lint",
        "Check how strictly input schemas constrain calls, and tighten them.",
        (TARGETS, STRICT_FIXING, SELECTION, policy(KINDS[SchemaLintRequest].fail_on), *_COMMON),
        usage=TARGETS_USAGE,
        examples="""\
mcproof schema-lint tools.json  report; exit 1 on any finding
mcproof schema-lint tools.json --diff  show what the fix would change
mcproof schema-lint tools.json --fix --write  change the file
""",
        notes="""\
The fix closes objects (`additionalProperties: false`) and adds `required` lists. It invents no types and no bounds:
those findings are left for the author. If closing an object would change what another schema accepts, the finding is
left too, with the reason. In Python source, the fix changes schemas that are one literal of a tool's own.
""",
        request=SchemaLintRequest,
    ),
    Command(
        "grade",
        "Grade a catalog from A to F, with its token cost.",
        (
            TARGETS,
            _MIN_GRADE,
            Option(
                GATES,
                "--max-tokens N",
                "fail if the tools cost more tokens than this",
                to="max_tokens",
                type=whole_number("tokens"),
            ),
            policy(KINDS[GradeRequest].fail_on),
            *_COMMON,
        ),
        usage=TARGETS_USAGE,
        examples="""\
mcproof grade -- python server.py  a live server
mcproof grade  every server and snapshot below this folder
mcproof grade tools.json --min-grade B  fail below B
""",
        request=GradeRequest,
    ),
    Command(
        "compat",
        "Show in which MCP clients and model APIs a server breaks, and what to change.",
        (
            TARGETS,
            Option(
                "Clients",
                "--client NAME[@VERSION]",
                f"report only on these clients, with all their facts: {_LISTED}",
                repeatable=True,
            ),
            Option(
                "Clients",
                "--server-key KEY",
                "the server's name in client configurations (default: its own)",
                to="server_key",
                default="",
            ),
            Option(
                GATES,
                "--require NAME",
                f"fail if the server breaks in one of these: {_LISTED}",
                to="require",
                read=_required,
                repeatable=True,
            ),
            _MIN_CLIENTS,
            CLIENT_FIXING,
            policy(KINDS[CompatRequest].fail_on),
            *_COMMON,
        ),
        usage=TARGETS_USAGE,
        examples="""\
mcproof compat -- python server.py  every client, and what to change first
mcproof compat tools.json --client cursor,claude-code@2.1.40  all facts about two clients
mcproof compat tools.json --require claude-code,vscode-copilot  a gate for CI
mcproof compat tools.json --diff  the edits that help clients and harm none
""",
        request=CompatRequest,
    ),
    Command(
        "scan",
        "Say whether an agent may connect to a server: a score, a verdict (allow, review, block) and the evidence.",
        (
            TARGETS,
            _FAIL_ON_VERDICT,
            *COMPARISON,
            Option(
                "Observing", "--deep", "also call up to 3 tools that are read-only by their own annotation", to="deep"
            ),
            Option(
                "Observing",
                "--judge URL",
                "also ask a model of your own, with an API like OpenAI's, about the texts of each tool",
                to="judge",
            ),
            Option("Observing", "--judge-model NAME", "the model to ask", to="judge_model", default="default"),
            Option("Observing", "--judge-key VARIABLE", "the environment variable with its key", to="judge_key"),
            Option(
                "Observing",
                "--judge-record FILE",
                "keep judgements here, and ask only for those that it does not have; without --judge none",
                to="judge_record",
            ),
            SELECTION,
            policy(KINDS[ScanRequest].fail_on),
            *_COMMON,
        ),
        usage=TARGETS_USAGE,
        examples="""\
mcproof scan https://host/mcp  TLS, headers, authorization, texts and tools of a remote server
mcproof scan -- npx -y some-server  a server before it is added to an agent
mcproof scan src/  the code of a Python server: where arguments reach a shell, SQL, a path
mcproof scan .mcp.json --all --fail-on-verdict review  every configured server, in CI
""",
        request=ScanRequest,
    ),
    Command(
        "diff",
        "Show what changed between two catalogs, and what breaks callers.",
        (
            Option(ARGUMENTS, "old OLD", f"the catalog that callers know: {_CATALOG}"),
            Option(ARGUMENTS, "new NEW", f"the new catalog: {_CATALOG}; or -- COMMAND ARG... at the end", nargs="?"),
            Option(
                "Failing",
                "--fail-on",
                "exit 1 on changes at or above this level (default error)",
                choices=FAIL_ON,
                default="error",
            ),
            OUTPUTS,
            LIVE,
        ),
        usage="[OPTIONS] OLD NEW\n[OPTIONS] OLD -- COMMAND ARG...",
        examples="""\
mcproof diff released.json tools.json  two snapshots; exit 1 if callers break
mcproof diff released.json -- python server.py  a snapshot and a live server
mcproof diff mcproof.lock -- python server.py  what was locked of a server, and the server
""",
        notes="""\
A change breaks callers if a call that was valid is now rejected, or if a result lacks something that it had. If that
is undecidable, the change is reported as "cannot tell", never as compatible. Levels: breaking is an error, cannot tell
a warning, compatible a note.
""",
        run=_diff,
    ),
    Command(
        "lock",
        "Lock what servers offer, so that later changes are noticed.",
        (TARGETS, _CHECK, CONFIG, TEXT_OR_JSON, VERBOSITY, LIVE, CONFIGURED_LIVE),
        usage=TARGETS_USAGE,
        examples="""\
mcproof lock -- npx -y some-server  lock a server that you have reviewed
mcproof lock .mcp.json --all  every server of a client configuration
mcproof lock --check -- npx -y some-server  write nothing; fail if it offers anything else
""",
        notes="""\
The lock, mcproof.lock in this folder, has the texts of all tools, resources and prompts and of the instructions, each
with its hash. `lint --locked` and `scan --locked` compare a target with its entry and exit 1 on any difference. Running
`mcproof lock` again shows what changed and replaces the entries of its targets; the other entries stay.
""",
        run=_lock,
    ),
)
