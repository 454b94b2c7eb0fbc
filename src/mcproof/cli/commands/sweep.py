"""`mcproof sweep`."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from mcproof.cli.options import RECORDING, add_config, add_database, add_selection, parse_config, parse_selection
from mcproof.cli.outputs import OUTPUT, add_color, add_verbosity
from mcproof.cli.parser import Parser, seconds, whole_number
from mcproof.core.console import Style, print_document, print_lines, remark, tell
from mcproof.core.errors import INTERRUPTED, OK, UsageError
from mcproof.runs.requests import SettingsSource

if TYPE_CHECKING:
    import argparse

    from mcproof.services.store.database import Database
    from mcproof.services.sweep import SweepRequest

SWEEP_EXAMPLES = """\
mcproof sweep captures/  every capture below a folder, on all cores
mcproof sweep registry.json --output leaderboard.html  the remote servers of a saved registry page
mcproof sweep servers.txt --allow-commands --record  a list of URLs and commands, for `mcproof serve`
mcproof sweep captures/ --engine ray --address auto  on a Ray cluster
"""
_POLITENESS, _TRUST, _MACHINES = "Limits", "What may be started", "Where"


def sweep_parser() -> Parser:
    parser = Parser(
        "sweep",
        "Grade thousands of servers. A sweep that was interrupted or killed goes on with the same command.",
        usage="[OPTIONS] SOURCE...",
        examples=SWEEP_EXAMPLES,
    )
    parser.add_argument(
        "sources",
        nargs="+",
        metavar="SOURCE",
        help="a folder of captures, a list of targets (one a line, or JSON lines), a client configuration, a document "
        "of the MCP registry, a capture, a URL, or - for a list on standard input",
    )
    checks = parser.group("What is checked")
    checks.add_argument("--scan", action="store_true", help="also judge whether an agent may connect")
    checks.add_argument("--prove", action="store_true", help="also call the read-only tools of live servers")
    add_selection(parser)
    trust = parser.group(_TRUST)
    trust.add_argument("--allow-commands", action="store_true", help="start the commands of lists and configurations")
    packages = "download and run the packages of registry documents that have no remote (npx, uvx, docker, dnx)"
    trust.add_argument("--run-packages", action="store_true", help=packages)
    variables = "fill in this environment variable where a target needs it; repeatable"
    trust.add_argument("--allow-env", action="append", default=[], metavar="NAME", help=variables)
    limits = parser.group(_POLITENESS)
    limits.add_argument("--timeout", type=seconds, default=60.0, metavar="SECONDS", help="per target (default 60)")
    limits.add_argument(
        "--at-once",
        type=whole_number("servers", 1, 1000),
        default=32,
        metavar="N",
        help="live servers that are checked at once (default 32)",
    )
    limits.add_argument(
        "--per-host",
        type=whole_number("servers", 1, 1000),
        default=2,
        metavar="N",
        help="of them, at one host and port (default 2)",
    )
    retried = "further tries after connection errors, HTTP 429 and 5xx (default 2)"
    limits.add_argument("--retries", type=whole_number("tries", 0, 20), default=2, metavar="N", help=retried)
    machines = parser.group(_MACHINES)
    machines.add_argument("--engine", choices=("local", "ray"), default="local", help="where to work (default local)")
    machines.add_argument("--address", metavar="ADDRESS", help="the Ray cluster (default: one on this machine)")
    jobs = "processes that check captures (default: one per core)"
    machines.add_argument("--jobs", type=whole_number("processes", 1, 1000), metavar="N", help=jobs)
    add_config(parser)
    output = parser.group(OUTPUT)
    output.add_argument(
        "--results", default="sweep.jsonl", metavar="FILE", help="one JSON line per target (default sweep.jsonl)"
    )
    output.add_argument("--restart", action="store_true", help="replace the results instead of going on")
    output.add_argument("--format", choices=("text", "json"), default="text", help="of the summary (default text)")
    further = "also write the summary (.json, .txt), a leaderboard (.html) or a table (.parquet); repeatable"
    output.add_argument("--output", action="append", default=[], metavar="FILE", help=further)
    add_color(parser)
    add_verbosity(parser)
    parser.group(RECORDING).add_argument(
        "--record", action="store_true", help="also keep every result in the store, for `mcproof serve`"
    )
    add_database(parser)
    return parser


def sweep_command(arguments: list[str]) -> int:
    if "--" in arguments:
        raise UsageError("`sweep` takes no command after `--`; write it into a list, and pass --allow-commands")
    options = sweep_parser().parse_args(arguments)
    if options.database is not None and not options.record:
        raise UsageError("`--database` is for `--record`")
    if options.address is not None and options.engine != "ray":
        raise UsageError("`--address` is for `--engine ray`")
    from mcproof.services.sweep.outputs import check_outputs, summary_pieces, write_outputs

    check_outputs(options.output, options.results)
    request = _request(options)
    database = _database(options)
    from mcproof.services.sweep import run_sweep
    from mcproof.services.sweep.outputs import SweepProgress

    progress = SweepProgress(request)
    try:
        run = run_sweep(request, database, progress=progress, tell=remark)
    except KeyboardInterrupt:
        progress.clear()
        tell(f"interrupted; the same command goes on with {request.results}")
        return INTERRUPTED
    finally:
        progress.clear()
        if database is not None:
            database.close()
    if run.outdated:
        remark(f"{run.outdated:,} entries are older versions or deleted; left out")
    if database is not None:
        remark(f"recorded {run.recorded:,} runs in {database.label}")
    summary = write_outputs(request.results, options.output)
    if options.format == "json":
        print_document(summary_pieces(summary))
    else:
        from mcproof.services.sweep.summary import summary_lines

        print_lines(summary_lines(summary, Style.of(sys.stdout), request.results), sys.stdout)
    return OK


def _request(options: argparse.Namespace) -> SweepRequest:
    from mcproof.services.sweep import EngineChoice, SweepRequest
    from mcproof.services.sweep.check import SweepPlan
    from mcproof.services.sweep.conductor import Politeness
    from mcproof.services.sweep.registry import Permissions

    settings = parse_config(options)
    plan = SweepPlan(
        rules=parse_selection(options),
        # A configuration beside strangers' captures decides nothing.
        settings=settings if settings.file is not None else SettingsSource(is_disabled=True),
        scans=options.scan,
        proves=options.prove,
        limit=options.timeout,
        records=options.record,
    )
    written = [options.results, f"{options.results}.journal", *options.output]
    return SweepRequest(
        sources=tuple(options.sources),
        results=options.results,
        plan=plan,
        permissions=Permissions(options.allow_commands, options.run_packages, frozenset(options.allow_env)),
        politeness=Politeness(options.per_host, options.retries),
        engine=EngineChoice(options.engine, options.address, options.jobs, options.at_once),
        restarts=options.restart,
        ours=frozenset(map(os.path.realpath, written)),
    )


def _database(options: argparse.Namespace) -> Database | None:
    if not options.record:
        return None
    from mcproof.services.store.database import open_database

    return open_database(options.database)
