"""Commands about past runs: `store`, `history`, `report`."""

from __future__ import annotations

import argparse
import json
import sys
from contextlib import closing
from typing import TYPE_CHECKING

from mcproof.cli.command import ARGUMENTS, Command, Option
from mcproof.cli.options import parse_store, store
from mcproof.cli.outputs import (
    AMOUNT,
    COLOR,
    FORMATS_AND_FILES,
    OUTPUT,
    TEXT_OR_JSON,
    VERBOSITY,
    Outputs,
    parse_outputs,
)
from mcproof.core.console import Style, plural, print_lines, print_message, print_note
from mcproof.core.errors import FINDINGS, OK, InputError, UsageError, reason_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcproof.services.store.database import Database


def _history(options: argparse.Namespace) -> int:
    from mcproof.services.store.database import open_database

    database = open_database(parse_store(options).database, creates=False)
    # after the check that SQLAlchemy is installed
    from mcproof.services.store.queries import history_document, history_lines, history_of, server_names

    if options.name is None:
        with closing(database):
            names = server_names(database)
        if options.format == "json":
            raise UsageError("`--format json` is about one server: `mcproof history NAME --format json`")
        print_lines((f"{name}\n" for name in names or ["the store is empty; `--record` adds a run"]), sys.stdout)
        return OK
    try:
        history = history_of(database, options.name, options.last)
    finally:
        database.close()
    if options.format == "json":
        sys.stdout.write(json.dumps(history_document(history), indent=2) + "\n")
    else:
        print_lines(history_lines(history, Style.of(sys.stdout)), sys.stdout)
    return OK


def _report(options: argparse.Namespace) -> int:
    from mcproof.runs.stored import read_run
    from mcproof.targets.arguments import Input, read_bytes

    source = Input(options.file)
    run = read_run(read_bytes(source), source.title)
    outputs = Outputs(parse_outputs(options))
    outputs.start(is_single=run.is_single, needed={options.file: "what is read"})
    # In the order of a run, so that a stored report prints as the run itself did.
    for configuration in run.configurations:
        outputs.show_configuration(configuration)
    for result in run.targets:
        outputs.show(result)
    for notice in run.notices:
        print_message(str(notice))
    outputs.write(run)
    outputs.print(run)
    return OK


ACTIONS = ("export", "import", "prune", "check")


def _store(options: argparse.Namespace) -> int:
    action: str = options.action
    if (options.file is not None) != (action == "import"):
        raise UsageError("`import` takes a file" if action == "import" else f"`{action}` takes no file")
    if action != "prune" and (options.days is not None or options.keep is not None):
        raise UsageError("--days and --keep are for `prune`")
    configured = parse_store(options)
    if action == "prune":
        if options.days is None and options.keep is None:
            options.days, options.keep = configured.days, configured.keep
        if options.days is None and options.keep is None:
            raise UsageError("`prune` needs --days, --keep or both; `[store]` of a configuration may have them")
    from mcproof.services.store.database import open_database

    with closing(open_database(configured.database, creates=action == "import")) as database:
        if action == "export":
            return _export(database)
        if action == "import":
            return _import(database, options.file)
        return _prune(database, options) if action == "prune" else _check(database)


def _export(database: Database) -> int:
    from mcproof.services.store.recording import export_lines

    damaged: list[str] = []
    # Line by line, as a store may be larger than memory; damage is reported at the end, not among the lines.
    for line in export_lines(database, damaged.append):
        sys.stdout.write(line)
    for problem in damaged:
        print_message(f"not exported: {problem}")
    return FINDINGS if damaged else OK


def _import(database: Database, file: str) -> int:
    from mcproof.services.store.recording import import_lines

    try:
        if file == "-":
            done = import_lines(database, sys.stdin, "<stdin>")
        else:
            with open(file, encoding="utf-8") as lines:
                done = import_lines(database, lines, file)
    except OSError as error:
        raise InputError(f"cannot be read: {reason_of(error)}", file=file) from None
    except UnicodeDecodeError:
        raise InputError("not UTF-8", file=file) from None
    print_note(f"{plural(done.added, 'run')} added, {done.known:,} known already")
    return OK


def _prune(database: Database, options: argparse.Namespace) -> int:
    from mcproof.services.store.recording import prune

    done = prune(database, days=options.days, keep=options.keep)
    print_note(f"{plural(done.runs, 'run')} and {plural(done.catalogs, 'catalog')} deleted")
    return OK


def _check(database: Database) -> int:
    from mcproof.services.store.recording import problems_of

    style, count = Style.of(sys.stdout), 0
    for problem in problems_of(database):
        count += 1
        print_lines([f"{style.text(problem)}\n"], sys.stdout)
    print_lines(
        [f"{plural(count, 'problem') if count else 'no problems'} in {style.text(database.label)}\n"], sys.stdout
    )
    return FINDINGS if count else OK


def _number_up_to(most: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        if not text.isascii() or not text.isdigit() or not 1 <= int(text[:9]) <= most:
            raise argparse.ArgumentTypeError(f"`{text}` is not a number from 1 to {most:,}")
        return int(text)

    return parse


COMMANDS = (
    Command(
        "history",
        "Show grade, tokens and findings of a server over time, from the runs that were recorded with --record.",
        (
            Option(
                ARGUMENTS,
                "name NAME",
                "the server: its --name, its own name, or the target as it was given (default: list them)",
                nargs="?",
            ),
            store(),
            TEXT_OR_JSON,
            Option(OUTPUT, "--last N", "how many runs to show (default 20)", type=_number_up_to(10_000), default=20),
        ),
        usage="[OPTIONS] [NAME]",
        examples="""\
mcproof lint tools.json --record  keep a result
mcproof history tools.json  grade, tokens and findings over time
""",
        run=_history,
    ),
    Command(
        "store",
        "Export, import, prune or check the store of recorded runs.",
        (
            Option(ARGUMENTS, "action ACTION", "export, import, prune or check", choices=ACTIONS),
            Option(ARGUMENTS, "file FILE", "the file to import; - for standard input", nargs="?"),
            Option("Pruning", "--days N", "delete runs that are older than this", type=_number_up_to(1_000_000)),
            Option("Pruning", "--keep N", "keep at most this many runs of a server", type=_number_up_to(1_000_000)),
            store(),
        ),
        usage="[OPTIONS] export | import FILE | prune | check",
        examples="""\
mcproof store export > runs.jsonl  everything, as JSON lines
mcproof store import runs.jsonl --database postgresql://host/mcproof  into another store
mcproof store prune --days 90 --keep 100  delete old runs; the newest of a server always stays
mcproof store check  verify that every run and catalog is readable
""",
        run=_store,
    ),
    Command(
        "report",
        "Render a stored run report in any format.",
        (
            Option(ARGUMENTS, "file FILE", "a run report that `--report FILE` wrote, or -"),
            FORMATS_AND_FILES,
            VERBOSITY,
            COLOR,
            AMOUNT,
        ),
        usage="[OPTIONS] FILE",
        examples="mcproof lint --report run.json && mcproof report run.json --format markdown",
        run=_report,
    ),
)
