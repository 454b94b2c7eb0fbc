"""Commands to begin with: `mcproof init` writes a first suite, `mcproof demo` shows an example."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import mcproof
from mcproof.cli.command import ARGUMENTS, Command, Option, words
from mcproof.cli.main import command_named
from mcproof.cli.options import CALLS, PERMISSIONS
from mcproof.cli.outputs import COLOR, OUTPUT, VERBOSITY, refuse_unwritable
from mcproof.cli.run import run_check
from mcproof.cli.target_options import LIVE, SERVER_USAGE, header_variables, parse_targets
from mcproof.core.console import Counter, Style, listed_names, plural, print_document, print_note, shell_word
from mcproof.core.errors import FAILED, FINDINGS, OK, InputError, UsageError
from mcproof.core.named_tuple import NamedTuple
from mcproof.runs import execute
from mcproof.runs.config import settings_for
from mcproof.runs.events import ProgressMade
from mcproof.runs.requests import CallOptions, ReadRequest, SettingsSource, TargetSelection
from mcproof.runs.results import CatalogRead
from mcproof.targets.arguments import configured_target, shown_target

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from mcproof.runs.events import Event
    from mcproof.targets.arguments import Target
    from mcproof.testing.suites.new_suite import FirstSuite, NewSuite


SERVER = ("python", "-m", "mcproof.demo.server")
_ENVIRONMENT = (
    "--env",
    f"PYTHONPATH={os.path.dirname(os.path.dirname(mcproof.__file__))}",
    "--env",
    "PYTHONSAFEPATH=1",
)
"""Makes Python import the server from this package, whatever the current folder contains."""


def _demo(options: argparse.Namespace) -> int:
    style = Style.of(sys.stdout)
    # Makes `python` this interpreter, whether or not its environment is active.
    os.environ["PATH"] = f"{os.path.dirname(sys.executable)}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    started = " ".join(SERVER)
    sys.stdout.write(style.paint(f"$ mcproof check -- {started}", "bold") + "\n\n")
    sys.stdout.flush()
    command = command_named("check")
    arguments = ["--no-config", "--color", options.color, *_ENVIRONMENT, "--", *SERVER]
    parsed = command.parser().parse_args(arguments)
    parsed.stores_failures = False  # the demo leaves no files, so its output has no ids to replay
    code = run_check(command, parsed)
    if code not in (OK, FINDINGS):
        return code
    sys.stdout.write(f"\nEvery promise of its schemas, tool by tool: mcproof prove -- {started}\n")
    sys.stdout.write("Now try it on a server of your own: mcproof check -- python server.py\n")
    return OK


class _Options(NamedTuple):
    """The options of a command line, parsed."""

    targets: TargetSelection
    resolved: list[Target]
    """The target with a name from the configuration resolved; empty for a command."""
    file: str
    """The suite to write; `-` for standard output."""
    calls: bool
    """Whether to call tools and read resources and prompts."""
    permissions: CallOptions
    """The tools that the user allows or denies."""
    variables: list[str]
    """The environment variables that headers refer to."""


def _init(parsed: argparse.Namespace) -> int:
    options = _parse(parsed)
    file = options.file
    reads = _read(options)
    suite = _new_suite(reads, options).written(f"mcproof run{_named(file)}")
    _refuse_unreadable(suite, file)
    if file == "-":
        print_document([suite.text])
    else:
        from mcproof.core.text.files import write_file

        write_file(file, suite.text.encode())
    _print_next_steps(suite, file)
    return FAILED if any(read.trouble is not None for read in reads) else OK


def _parse(options: argparse.Namespace) -> _Options:
    if options.target is not None and options.server_command:
        raise UsageError("name a TARGET or `-- COMMAND ARG...`, not both")
    if options.target is None and not options.server_command:
        raise UsageError("nothing to write a suite for: name a TARGET, or put `-- COMMAND ARG...` at the end")
    typed = [] if options.target is None else [options.target]
    target = _target(options.target) if typed else None
    return _Options(
        targets=parse_targets(options, *typed),
        resolved=[] if target is None else [target],
        file=_output(options.output, target, force=options.force),
        calls=not options.no_calls,
        permissions=CallOptions(allow=words(options.allow), deny=words(options.deny)),
        variables=header_variables(options),
    )


def _target(name: str) -> Target:
    settings = settings_for(os.curdir)
    target = configured_target(name, settings.targets, settings.locations)
    if target is not name:
        print_note(f"{name}: {shown_target(target)}")
    if isinstance(target, str) and os.path.isdir(target):
        from mcproof.targets.arguments import is_single

        if not is_single([target]):
            raise InputError("is a folder; name one catalog", file=target)
    return target


def _output(given: str | None, target: Target | None, *, force: bool) -> str:
    """The suite to write. Raises a UsageError before a server is started if it cannot be written."""
    from mcproof.testing.suites.model import DEFAULT_NAMES

    file = given if given is not None else DEFAULT_NAMES[0]
    if file == "-":
        return file
    refuse_unwritable([file])
    if isinstance(target, str) and os.path.realpath(target.partition("#")[0]) == os.path.realpath(file):
        raise UsageError(f"`{file}` is what is read; name another file to write to")
    # All default names: a second one beside the first would be run instead of it, or with it.
    for existing in [file] if given is not None else DEFAULT_NAMES:
        if os.path.lexists(existing) and not force:
            how = "overwrite it" if existing == file else f"write `{file}` too"
            raise UsageError(f"`{existing}` exists; use --force to {how}")
    return file


def _read(options: _Options) -> list[CatalogRead]:
    """Read the catalogs of the target; one that cannot be read does not hide the others."""
    counter = Counter()

    def listen(event: Event) -> None:
        if isinstance(event, ProgressMade):
            counter.step(*event)

    # The name in the configuration is resolved here, because the file to write depends on it.
    timeout = options.targets.timeout or settings_for(os.curdir).timeout
    targets = options.targets._replace(
        names=tuple(target for target in options.resolved if isinstance(target, str)),
        servers=tuple(target for target in options.resolved if not isinstance(target, str)),
        timeout=timeout,
    )
    reads = execute(ReadRequest(targets, SettingsSource(is_disabled=True)), listen)
    counter.clear()
    catalogs_read = []
    for read in reads:
        catalog, trouble = read.catalog, read.trouble
        if catalog is not None and not (catalog.tools or catalog.resources or catalog.templates or catalog.prompts):
            message = "nothing to test: the catalog has no tools, resources or prompts"
            trouble = InputError(message, file=read.source.title)
        if trouble is not None:
            if len(reads) == 1:
                raise trouble
            print_note(str(trouble))
        catalogs_read.append(read if trouble is None else CatalogRead(read.source, None, trouble))
    if all(read.catalog is None for read in catalogs_read):
        names = "".join(options.targets.names)
        raise InputError("nothing to write a suite for: no server has responded", file=names or None)
    return catalogs_read


def _new_suite(reads: list[CatalogRead], options: _Options) -> NewSuite:
    """The suite with its servers and tests; the tests of live servers are tried."""
    from mcproof.testing.suites.new_suite import NewSuite, ReadServer, SuiteOptions

    wanted = SuiteOptions(
        folder="" if options.file == "-" else os.path.dirname(options.file),
        timeout=options.targets.timeout,
        protocol=options.targets.protocol,
        start_timeout=options.targets.start_timeout,
        variables=tuple(options.variables),
        allow=options.permissions.allow,
        deny=options.permissions.deny,
    )
    suite = NewSuite([ReadServer(read.source, read.catalog, str(read.trouble)) for read in reads], wanted)
    if options.calls:
        # Announced before the first call, since a presumption about a tool may be wrong.
        for trial in suite.trials.values():
            _print_calls(trial.drafts, "" if len(reads) == 1 else f"{trial.name}: ")
        counter = Counter()
        suite.try_tests(counter.step)
        counter.clear()
    return suite


def _print_calls(drafts: Sequence[Any], of: str) -> None:
    from mcproof.testing.suites.model import METHODS

    tools = [draft for draft in drafts if draft.block == "tools"]
    called = [draft.subject for draft in tools if draft.is_active and draft.subject not in METHODS]
    refused = [draft.subject for draft in tools if not draft.is_active]
    read = {
        block: sum(draft.is_active and draft.block == block for draft in drafts) for block in ("resources", "prompts")
    }
    if called:
        print_note(f"{of}calls {plural(len(called), 'tool')} to see what works: {listed_names(called)}")
    if any(read.values()):
        counts = " and ".join(plural(count, block.removesuffix("s")) for block, count in read.items() if count)
        print_note(f"{of}reads {counts} to see what works")
    if refused:
        print_note(f"{of}does not call {plural(len(refused), 'tool')}: {listed_names(refused)}")


def _refuse_unreadable(suite: FirstSuite, file: str) -> None:
    """Raise an InputError if the suite is too large to be read back."""
    from mcproof.core.text.yaml_document import YamlError, decode, parse

    try:
        # Read back before it is written: `mcproof run` must accept what `init` wrote.
        parse(decode(suite.text.encode()))
    except YamlError as error:
        raise InputError(f"too large for one suite; try one server alone: {error.message}", file=file) from None


def _named(file: str) -> str:
    """The suite as an argument of `mcproof run`; empty for the default one."""
    from mcproof.testing.suites.model import DEFAULT_NAMES

    return "" if file in ("-", DEFAULT_NAMES[0]) else f" {shell_word(file)}"


def _print_next_steps(suite: FirstSuite, file: str) -> None:
    if file != "-":
        counts = {"test": suite.commented_out, "call": suite.failed_calls, "probe": suite.failed_checks}
        off = ", ".join(plural(count, noun) for noun, count in counts.items() if count)
        comments = f"; as comments: {off}" if off else ""
        print_note(f"{file}: {plural(suite.tests, 'test')} on {plural(suite.servers, 'server')} written{comments}")
    steps = [f"replace `{suite.placeholder}` with the command of your server"] if suite.placeholder else []
    steps += [f"set {', '.join(suite.unset)}"] if suite.unset else []
    steps.append(f"`mcproof run{_named(file)}`" if file != "-" else "save this to FILE, then `mcproof run FILE`")
    print_note(f"next: {', then '.join(steps)}")


COMMANDS = (
    Command(
        "init",
        "Write a first test suite for a server, for `mcproof run`.",
        (
            Option(
                ARGUMENTS,
                "target TARGET",
                "a URL, FILE.json#NAME of a client configuration (FILE.json with --all), a snapshot, Python "
                "source, or a name from the configuration; or -- COMMAND ARG... at the end",
                nargs="?",
            ),
            Option(OUTPUT, "-o, --output FILE", "the suite to write (default mcproof.yaml); - prints it"),
            Option(OUTPUT, "--force", "overwrite an existing suite"),
            VERBOSITY,
            Option(CALLS, "--no-calls", "call and read nothing; only list the catalog"),
            PERMISSIONS,
            LIVE,
        ),
        usage=SERVER_USAGE,
        examples="""\
mcproof init -- python server.py  write mcproof.yaml
mcproof init .mcp.json --all -o tests/servers.yaml  every server of a client configuration
""",
        notes="""\
Tools of a live server that, by their annotations and words, change nothing are called once and probed as by
`mcproof prove --quick`; resources and prompts are read once. Tests that do not pass today are written as comments, with
the reason. Other tools are not called, and nothing of a snapshot is. Secrets are never written: the suite refers to
environment variables instead.
""",
        run=_init,
    ),
    Command(
        "demo",
        "Check an example server, with the faults of real ones.",
        (COLOR,),
        examples="mcproof demo",
        run=_demo,
    ),
)
