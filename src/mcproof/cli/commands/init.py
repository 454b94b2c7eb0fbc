"""Commands to begin with: `mcproof init` writes a first suite, `mcproof demo` shows an example."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import mcproof
from mcproof.cli.command import ARGUMENTS, Command, Option, words
from mcproof.cli.main import command_named
from mcproof.cli.options import CALLS, PERMISSIONS
from mcproof.cli.outputs import COLOR, OUTPUT, VERBOSITY, refuse_unwritable
from mcproof.cli.run import run_check
from mcproof.cli.target_options import LIVE, SERVER_USAGE, header_variables, parse_targets
from mcproof.core.console import Counter, Style, listed_names, plural, print_document, remark, shell_word
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

    from mcproof.core.catalog.model import Catalog
    from mcproof.runs.events import Event
    from mcproof.targets.arguments import Input, Target
    from mcproof.testing.suites.drafts import Draft
    from mcproof.testing.suites.new_suite import EntryOptions, FirstServer, FirstSuite, SecretVariables, UniqueNames


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
    found = _read(options)
    servers, variables = _servers(found, options)
    from mcproof.testing.suites.new_suite import first_suite

    suite = first_suite(servers, f"mcproof run{_named(file)}")
    _refuse_unreadable(suite, file)
    if file == "-":
        print_document([suite.text])
    else:
        from mcproof.core.text.files import write_file

        write_file(file, suite.text.encode())
    _tell_next(suite, servers, variables, file)
    return FAILED if any(read.trouble is not None for read in found) else OK


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
        remark(f"{name}: {shown_target(target)}")
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
    found = []
    for read in reads:
        catalog, trouble = read.catalog, read.trouble
        if catalog is not None and not (catalog.tools or catalog.resources or catalog.templates or catalog.prompts):
            message = "nothing to test: the catalog has no tools, resources or prompts"
            trouble = InputError(message, file=read.source.title)
        if trouble is not None:
            if len(reads) == 1:
                raise trouble
            remark(str(trouble))
        found.append(read if trouble is None else CatalogRead(read.source, None, trouble))
    if all(read.catalog is None for read in found):
        names = "".join(options.targets.names)
        raise InputError("nothing to write a suite for: no server has responded", file=names or None)
    return found


def _servers(found: list[CatalogRead], options: _Options) -> tuple[list[FirstServer], SecretVariables]:
    """The servers with their entries and tests; the tests of live servers are tried."""
    from mcproof.testing.suites.new_suite import EntryOptions, FirstServer, SecretVariables, UniqueNames

    way = EntryOptions(options.targets.timeout, options.targets.protocol, options.targets.start_timeout)
    variables = SecretVariables(os.environ, options.variables)
    folder = "" if options.file == "-" else os.path.dirname(options.file)
    _refuse_unknown(found, options.permissions)
    server_names, test_names = UniqueNames(), UniqueNames()
    is_alone = sum(read.catalog is not None for read in found) == 1
    servers = []
    for read in found:
        name = server_names.unique(_name(read.source))
        if read.catalog is None:
            servers.append(FirstServer(name, name, [], trouble=str(read.trouble)))
            continue
        entry = _entry(read.source, read.catalog, name, variables, folder, way)
        label = read.source.title if read.source.server is None else read.source.server.label
        drafts = _drafts(read, options.permissions, test_names, "" if is_alone else f" of {name}")
        servers.append(FirstServer(name, label, entry, drafts, read.catalog))
    if options.calls:
        servers = _tried(servers, found, options.permissions, way)
    return servers, variables


def _name(source: Input) -> str:
    """The name of a server in a suite: from its client configuration, or `remote` or `local`."""
    from mcproof.client.endpoints import UrlEndpoint
    from mcproof.testing.suites.new_suite import server_name

    if (source.origin is not None and source.origin.line is not None) or source.obstacle is not None:
        return server_name(source.name.partition("#")[2])
    return "remote" if isinstance(source.server, UrlEndpoint) else "local"


def _entry(
    source: Input, catalog: Catalog, name: str, variables: SecretVariables, folder: str, way: EntryOptions
) -> list[str]:
    from mcproof.core.text.yaml_document import UnwritableError
    from mcproof.testing.suites.new_suite import captured_lines, entry_lines, placeholder_lines

    try:
        if source.server is not None:
            return entry_lines(source.server, name, variables, folder, way)
        if source.is_source:
            return placeholder_lines(["python", source.name] if os.path.isfile(source.name) else [])
        return captured_lines(catalog.server.fields.get("server"), name, variables) or placeholder_lines()
    except UnwritableError as error:
        raise InputError(f"the server entry cannot be written to a suite: {error}", file=source.title) from None


def _refuse_unknown(found: list[CatalogRead], permissions: CallOptions) -> None:
    """Raise a UsageError if no server has a tool that the user allows or denies."""
    from mcproof.probing.permission import refuse_unknown_tools

    names = [tool.name for read in found if read.catalog is not None for tool in read.catalog.tools if tool.name]
    refuse_unknown_tools((*permissions.allow, *permissions.deny), names)


def _drafts(found: CatalogRead, permissions: CallOptions, names: UniqueNames, suffix: str) -> list[Draft]:
    from mcproof.client.redaction import hiding_whole
    from mcproof.probing.permission import permissions_of
    from mcproof.testing.suites.drafts import drafts_of

    if found.catalog is None:
        return []
    hide = hiding_whole(found.source.server.secrets if found.source.server is not None else ())
    permitted = permissions_of(found.catalog, allow=permissions.allow, deny=permissions.deny)
    return drafts_of(found.catalog, permitted, names, hide, suffix)


def _tried(
    servers: list[FirstServer], found: list[CatalogRead], permissions: CallOptions, way: EntryOptions
) -> list[FirstServer]:
    """Try the tests of live servers; the calls are announced first."""
    from mcproof.probing.permission import permissions_of
    from mcproof.testing.suites.drafts import TrialServer, try_drafts
    from mcproof.testing.suites.runner import RunOptions

    live = [at for at, read in enumerate(found) if read.source.server is not None and read.catalog is not None]
    on_trial = [
        TrialServer(
            servers[at].name,
            server,
            servers[at].drafts,
            catalog,
            permissions_of(catalog, allow=permissions.allow, deny=permissions.deny),
        )
        for at in live
        if (server := found[at].source.server) is not None and (catalog := found[at].catalog) is not None
    ]
    # Announced before the first call, since a presumption about a tool may be wrong.
    for trial in on_trial:
        _tell_calls(trial.drafts, "" if len(servers) == 1 else f"{trial.name}: ")
    counter = Counter()
    drafts = try_drafts(on_trial, way, RunOptions(), counter.step) if on_trial else []
    counter.clear()
    for at, of_server in zip(live, drafts, strict=True):
        servers[at] = servers[at]._replace(drafts=of_server)
    return servers


def _tell_calls(drafts: list[Draft], of: str) -> None:
    from mcproof.testing.suites.model import METHODS

    tools = [draft for draft in drafts if draft.block == "tools"]
    called = [draft.subject for draft in tools if draft.is_active and draft.subject not in METHODS]
    refused = [draft.subject for draft in tools if not draft.is_active]
    read = {
        block: sum(draft.is_active and draft.block == block for draft in drafts) for block in ("resources", "prompts")
    }
    if called:
        remark(f"{of}calls {plural(len(called), 'tool')} to see what works: {listed_names(called)}")
    if any(read.values()):
        counts = " and ".join(plural(count, block.removesuffix("s")) for block, count in read.items() if count)
        remark(f"{of}reads {counts} to see what works")
    if refused:
        remark(f"{of}does not call {plural(len(refused), 'tool')}: {listed_names(refused)}")


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


def _tell_next(suite: FirstSuite, servers: list[FirstServer], variables: SecretVariables, file: str) -> None:
    from mcproof.testing.suites.new_suite import PLACEHOLDER

    if file != "-":
        asked = sum(not server.trouble for server in servers)
        counts = {"test": suite.commented_out, "call": suite.failed_calls, "probe": suite.failed_checks}
        off = ", ".join(plural(count, what) for what, count in counts.items() if count)
        comments = f"; as comments: {off}" if off else ""
        remark(f"{file}: {plural(suite.tests, 'test')} on {plural(asked, 'server')} written{comments}")
    steps = []
    if any(PLACEHOLDER in line for server in servers for line in server.entry):
        steps.append(f"replace `{PLACEHOLDER}` with the command of your server")
    if variables.unset:
        steps.append(f"set {', '.join(variables.unset)}")
    steps.append(f"`mcproof run{_named(file)}`" if file != "-" else "save this to FILE, then `mcproof run FILE`")
    remark(f"next: {', then '.join(steps)}")


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
