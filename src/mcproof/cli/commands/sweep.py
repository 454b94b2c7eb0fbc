"""`mcproof sweep`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from mcproof.cli.command import ARGUMENTS, RECORDING, Command, Option, seconds, whole_number
from mcproof.cli.options import CONFIG, DATABASE, SELECTION, parse_config, parse_selection
from mcproof.cli.outputs import COLOR, OUTPUT, VERBOSITY
from mcproof.core.console import Style, print_document, print_lines, print_message, print_note
from mcproof.core.errors import INTERRUPTED, OK, UsageError
from mcproof.runs.requests import SettingsSource

if TYPE_CHECKING:
    import argparse

    from mcproof.services.sweep import SweepRequest

_CHECKS, _TRUST, _POLITENESS, _MACHINES = "What is checked", "What may be started", "Limits", "Where"
"""Titles of groups of options."""


def _sweep(options: argparse.Namespace) -> int:
    if options.database is not None and not options.record:
        raise UsageError("`--database` is for `--record`")
    if options.address is not None and options.engine != "ray":
        raise UsageError("`--address` is for `--engine ray`")
    from mcproof.services.sweep import run_sweep

    request = _request(options)
    try:
        summary = run_sweep(request, print_note)
    except KeyboardInterrupt:  # each finished target is in the results already
        print_message(f"interrupted; the same command goes on with {request.results}")
        return INTERRUPTED
    if options.format == "json":
        print_document(summary.pieces())
    else:
        print_lines(summary.lines(Style.of(sys.stdout), request.results), sys.stdout)
    return OK


def _request(options: argparse.Namespace) -> SweepRequest:
    from mcproof.services.sweep import EngineChoice, Permissions, Politeness, SweepPlan, SweepRequest

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
    return SweepRequest(
        sources=tuple(options.sources),
        results=options.results,
        plan=plan,
        permissions=Permissions(options.allow_commands, options.run_packages, frozenset(options.allow_env)),
        politeness=Politeness(options.per_host, options.retries),
        engine=EngineChoice(options.engine, options.address, options.jobs, options.at_once),
        restarts=options.restart,
        outputs=tuple(options.output),
        database=options.database,
    )


COMMANDS = (
    Command(
        "sweep",
        "Grade thousands of servers. A sweep that was interrupted or killed goes on with the same command.",
        (
            Option(
                ARGUMENTS,
                "sources SOURCE",
                "a folder of captures, a list of targets (one a line, or JSON lines), a client configuration, a "
                "document of the MCP registry, a capture, a URL, or - for a list on standard input",
                nargs="+",
            ),
            Option(_CHECKS, "--scan", "also judge whether an agent may connect"),
            Option(_CHECKS, "--prove", "also call the read-only tools of live servers"),
            SELECTION,
            Option(_TRUST, "--allow-commands", "start the commands of lists and configurations"),
            Option(
                _TRUST,
                "--run-packages",
                "download and run the packages of registry documents that have no remote (npx, uvx, docker, dnx)",
            ),
            Option(
                _TRUST,
                "--allow-env NAME[=PLACE]",
                "fill in this environment variable where a target needs it; in a registry only if PLACE is the "
                "host of the URL, or the name of an entry with packages; repeatable",
                repeatable=True,
            ),
            Option(_POLITENESS, "--timeout SECONDS", "per target (default 60)", type=seconds, default=60.0),
            Option(
                _POLITENESS,
                "--at-once N",
                "live servers that are checked at once (default 32)",
                type=whole_number("servers", 1, 1000),
                default=32,
            ),
            Option(
                _POLITENESS,
                "--per-host N",
                "of them, at one host and port (default 2)",
                type=whole_number("servers", 1, 1000),
                default=2,
            ),
            Option(
                _POLITENESS,
                "--retries N",
                "further tries after connection errors, HTTP 429 and 5xx (default 2)",
                type=whole_number("tries", 0, 20),
                default=2,
            ),
            Option(_MACHINES, "--engine", "where to work (default local)", choices=("local", "ray"), default="local"),
            Option(_MACHINES, "--address ADDRESS", "the Ray cluster (default: one on this machine)"),
            Option(
                _MACHINES,
                "--jobs N",
                "processes that check captures (default: one per core)",
                type=whole_number("processes", 1, 1000),
            ),
            CONFIG,
            Option(OUTPUT, "--results FILE", "one JSON line per target (default sweep.jsonl)", default="sweep.jsonl"),
            Option(OUTPUT, "--restart", "replace the results instead of going on"),
            Option(OUTPUT, "--format", "of the summary (default text)", choices=("text", "json"), default="text"),
            Option(
                OUTPUT,
                "--output FILE",
                "also write the summary (.json, .txt), a leaderboard (.html) or a table (.parquet); repeatable",
                repeatable=True,
            ),
            COLOR,
            VERBOSITY,
            Option(RECORDING, "--record", "also keep every result in the store, for `mcproof serve`"),
            DATABASE,
        ),
        usage="[OPTIONS] SOURCE...",
        examples="""\
mcproof sweep captures/  every capture below a folder, on all cores
mcproof sweep registry.json --output leaderboard.html  the remote servers of a saved registry page
mcproof sweep servers.txt --allow-commands --record  a list of URLs and commands, for `mcproof serve`
mcproof sweep captures/ --engine ray --address auto  on a Ray cluster
""",
        run=_sweep,
        without_server="`sweep` takes no command after `--`; write it into a list, and pass --allow-commands",
    ),
)
