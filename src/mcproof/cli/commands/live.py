"""Commands that call the tools of a live server on their own: `probe`, `prove`, `fuzz`, `replay`."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from mcproof.cli.command import ARGUMENTS, Command, Option, seconds, whole_number, words
from mcproof.cli.options import ANSWER, CALL_OPTIONS, CALLS, SECURITY, policy
from mcproof.cli.outputs import CHECK_OUTPUTS, TEXT_OR_JSON, VERBOSITY
from mcproof.cli.run import ConsoleListener
from mcproof.cli.target_options import LIVE, SERVER, SERVER_USAGE, parse_targets
from mcproof.core.console import Style, print_document, print_lines, print_note, wrapped
from mcproof.core.errors import FAILED, FINDINGS, OK, UsageError
from mcproof.core.observations.probes import MAX_CALLS
from mcproof.runs import execute
from mcproof.runs.requests import KINDS, FuzzRequest, ProbeRequest, ProveRequest, ReplayRequest

if TYPE_CHECKING:
    import argparse

    from mcproof.probing.probes.failures import StoredFailure
    from mcproof.probing.replay import ReplayResult
    from mcproof.testing.suites.regression import RegressionTest


CASES = "Cases"
"""The title of a group of options."""
_CODES = {"fixed": OK, "still failing": FINDINGS, "could not tell": FAILED}


def _replay(options: argparse.Namespace) -> int:
    if options.all:
        raise UsageError("--all names several servers; a failure has one")
    if options.id is None:
        return _list(as_json=options.format == "json")
    targets = parse_targets(options, *([] if options.target is None else [options.target]), needs_server=True)
    request = ReplayRequest(options.id, targets, is_trusted=options.trust, suite=options.to_suite)
    failed, result, test = execute(request, ConsoleListener())
    if test is not None:
        return _show_test(failed, test, options.to_suite, as_json=options.format == "json")
    if result is None:
        raise ValueError("neither sent nor written")
    if options.format == "json":
        from mcproof.runs.records import small_document

        about = {"id": failed.id, "tool": failed.tool, "outcome": failed.outcome}
        judged = {"verdict": result.verdict, "reason": result.reason, "answer": result.response}
        print_document(small_document(**about, **judged))
    else:
        print_lines(_text(failed, result, Style.of(sys.stdout)), sys.stdout)
    return _CODES[result.verdict]


def _show_test(failed: StoredFailure, test: RegressionTest, file: str, *, as_json: bool) -> int:
    if as_json:
        from mcproof.runs.records import small_document

        print_document(small_document(id=failed.id, suite=file, test=test.name, unset_variables=list(test.unset)))
        return OK
    print_note(f"{file}: the test `{test.name}` was added; it fails until the server is fixed")
    if test.unset:
        print_note(f"set before running it: {', '.join(test.unset)}")
    print_note(f"next: `mcproof run {file}`")
    return OK


def _list(*, as_json: bool) -> int:
    from mcproof.probing.probes.failures import FOLDER, stored
    from mcproof.runs.records import small_document

    failures = stored()
    if as_json:
        listed = [
            {"id": failure.id, "tool": failure.tool, "outcome": failure.outcome, "what": failure.what}
            for failure in failures
        ]
        print_document(small_document(stored=listed))
        return OK
    if not failures:
        print_note(f"nothing is stored in {FOLDER}; `mcproof prove --quick`, `prove` and `fuzz` store failures")
        return OK
    style = Style.of(sys.stdout)
    width = max(len(failure.outcome) for failure in failures)
    print_lines(
        (f"{failure.id}  {failure.outcome:{width}}  {_summary(failure, style)}\n" for failure in failures), sys.stdout
    )
    return OK


def _summary(failed: StoredFailure, style: Style) -> str:
    where = f"{style.text(failed.tool, 80)}: " if failed.tool is not None else ""
    return f"{where}{style.text(failed.what)}"


def _text(failed: StoredFailure, result: ReplayResult, style: Style) -> list[str]:
    colours = {"fixed": "good", "still failing": "error", "could not tell": "warning"}
    verdict = style.paint(result.verdict, colours[result.verdict], "bold")
    parts = {"sent": _summary(failed, style), "request": style.text(_request(failed), 400)}
    if result.response:
        parts["response"] = style.text(result.response, 400)
    lines = []
    for label, text in parts.items():
        first, *others = wrapped(text, style.width, used=len(label) + 4, indent=4)
        lines += [f"  {label}: {first}\n", *(f"{line}\n" for line in others)]
    return [*lines, f"{failed.id}: {verdict}: {style.text(result.reason)}\n"]


def _request(failed: StoredFailure) -> str:
    """The request as it was sent: its method, and the arguments of a call or else its parameters."""
    params = failed.params
    is_call = failed.method == "tools/call" and "arguments" in params
    return f"{failed.method} {json.dumps(params['arguments'] if is_call else params, ensure_ascii=False)}"


def _prove_request(*, is_quick: bool, **fields: Any) -> ProbeRequest:
    """The request of `prove`: with `--quick`, that of `probe`."""
    return ProbeRequest(**fields) if is_quick else ProveRequest(**fields)


_PROBING = (
    SERVER,
    Option(
        CALLS,
        "--checks PROBE",
        "send only these probes; comma-separated, repeatable",
        to="checks",
        read=words,
        repeatable=True,
    ),
    CALL_OPTIONS,
    Option(
        CALLS,
        "--oversize BYTES",
        "length of the oversized string (default 1048576)",
        to="oversize",
        type=whole_number("bytes", 1, 32 * 1024 * 1024),
        default=1024 * 1024,
    ),
    Option(CALLS, "--max-time SECONDS", "stop after this time", to="max_seconds", type=seconds),
    policy(KINDS[ProbeRequest].fail_on),
    CHECK_OUTPUTS,
    LIVE,
)
"""The options of the commands that send probes."""
COMMANDS = (
    Command(
        "probe",
        "Send a live server bad requests, and check that it rejects them: `mcproof prove --quick` by its old name.",
        _PROBING,
        usage=SERVER_USAGE,
        examples="""\
mcproof prove --quick -- python server.py  every probe, on every tool that is read-only
mcproof prove --quick https://host/mcp --tool search  only one tool
mcproof prove --quick --checks unknown_tool,missing_required -- python server.py
""",
        request=ProbeRequest,
    ),
    Command(
        "prove",
        "Show which promises of its schemas a live server keeps: the strict rules and the probes side by side.",
        (
            *_PROBING,
            Option(CALLS, "--quick", "send one bad request of each kind per tool; no matrix", to="is_quick"),
            Option(
                CALLS,
                "--max-calls N",
                f"probes per tool; one of each kind first (default {MAX_CALLS})",
                to="max_calls",
                type=whole_number("calls", 1, 1_000_000),
                default=MAX_CALLS,
            ),
            Option(
                CALLS,
                "--strict",
                'also fail if a value of a wrong type is converted, such as "5" for 5',
                to="is_strict",
            ),
            SECURITY,
        ),
        usage=SERVER_USAGE,
        examples="""\
mcproof prove -- python server.py  the contract matrix of a server
mcproof prove --quick -- python server.py  one bad request of each kind per tool
mcproof prove --allow create_note -- python server.py  also call a tool that changes something
mcproof prove --output report.html -- python server.py  a page with every request and response
""",
        request=_prove_request,
    ),
    Command(
        "fuzz",
        "Call the tools of a live server with generated arguments until something breaks.",
        (
            SERVER,
            Option(
                CASES,
                "--seed N",
                "seed of the random cases; the same seed gives the same cases (default 0)",
                to="seed",
                type=whole_number("seeds", 0, 2**63 - 1),
                default=0,
            ),
            Option(
                CASES,
                "--cases N",
                "cases per tool (default 200)",
                to="cases",
                type=whole_number("cases", 1, 100_000_000),
                default=200,
            ),
            Option(CASES, "--max-time SECONDS", "stop after this time", to="max_seconds", type=seconds),
            Option(CASES, "--strict", "also fail if an invalid call is accepted", to="is_strict"),
            Option(
                CASES,
                "--processes N",
                "server processes at once (default: one per core, up to 4; one connection to a URL)",
                to="processes",
                type=whole_number("processes", 1, 64),
            ),
            CALL_OPTIONS,
            SECURITY,
            policy(KINDS[FuzzRequest].fail_on),
            CHECK_OUTPUTS,
            LIVE,
        ),
        usage=SERVER_USAGE,
        examples="""\
mcproof fuzz --max-time 60 -- python server.py
mcproof fuzz --tool search --cases 2000 --seed 7 -- python server.py
mcproof fuzz --security -- python server.py  hostile arguments, too
""",
        request=FuzzRequest,
    ),
    Command(
        "replay",
        "Send a stored failure again: fixed (exit code 0), still failing (1), or could not tell (2). Without an ID, "
        "list the failures stored in .mcproof.",
        (
            Option(ARGUMENTS, "id ID", "the id of the failure, from a report, or the beginning of it", nargs="?"),
            Option(
                ARGUMENTS,
                "target TARGET",
                "the server to send it to, instead of the one that failed: a URL, FILE.json#NAME, a name from the "
                "configuration, or -- COMMAND ARG...",
                nargs="?",
            ),
            Option(
                "What to do with it",
                "--trust",
                "send a failure that somebody else stored to the server that it names: this starts its command",
            ),
            Option(
                "What to do with it",
                "--to-suite FILE",
                "send nothing; add the failure to this suite as a test, which fails until the server is fixed",
            ),
            ANSWER,
            TEXT_OR_JSON,
            VERBOSITY,
            LIVE,
        ),
        usage="[OPTIONS] [ID [TARGET]]\n[OPTIONS] ID -- COMMAND ARG...",
        examples="""\
mcproof replay  list the stored failures
mcproof replay 00e4a5  send one again; the beginning of an id is enough
mcproof replay 00e4a5 --to-suite mcproof.yaml  keep it as a test
""",
        run=_replay,
    ),
)
