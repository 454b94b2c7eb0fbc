"""`mcproof init`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from mcproof.cli.live_options import asking, header_variables, live_options
from mcproof.cli.main import FAILED, OK
from mcproof.cli.options import Parser, add_live
from mcproof.cli.outputs import refuse_impossible
from mcproof.cli.planning import resolve_target
from mcproof.config.settings import settings_for
from mcproof.console import plural, print_document, shell_word, tell
from mcproof.errors import InputError, McproofError, UsageError

if TYPE_CHECKING:
    import argparse

    from mcproof.catalog.model import Catalog
    from mcproof.suite.scaffold.drafts import Draft
    from mcproof.suite.scaffold.first_suite import FirstServer, FirstSuite
    from mcproof.suite.scaffold.server_entry import EntryOptions, SecretVariables, UniqueNames
    from mcproof.targets.argument import Input
    from mcproof.targets.live_servers import LiveCatalogs

EPILOG = """\
The tools of a live server that, by their annotations and names, change nothing are called once, and sent the bad
requests of `mcproof probe`; resources and prompts are read once. What does not pass today is written as a comment, with
the reason. Of the rest, and of a snapshot, nothing is called. No secret is written: variables of the environment stand
in their place.
"""


def parser() -> Parser:
    parser = Parser("init", "Write a first suite of tests for a server, for `mcproof run`.", epilog=EPILOG)
    parser.add_argument(
        "target",
        metavar="TARGET",
        nargs="?",
        help="a URL, a client configuration (FILE.json, or FILE.json#NAME for one server), a snapshot, Python source, "
        "or a name of the configuration; or -- COMMAND ARG... at the end",
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="the suite to write (default mcproof.yaml); - prints it")
    parser.add_argument("--force", action="store_true", help="replace a suite that is there")
    parser.add_argument("--no-calls", action="store_true", help="call and read nothing; only list what there is")
    add_live(parser, takes_all=True)
    parser.set_defaults(tool=[], skip=[], allow_writes=False)
    return parser


class _Found(NamedTuple):
    """A target that was read, or why it was not."""

    source: Input
    catalog: Catalog | None
    trouble: McproofError | None = None


def command(arguments: list[str]) -> int:
    options = parser().parse_args(arguments)
    target = _target(options)
    file = _output(options, target)
    found = _read(target, options)
    servers, variables = _servers(found, options, file)
    from mcproof.suite.scaffold.first_suite import first_suite

    suite = first_suite(servers, f"mcproof run{_named(file)}")
    _refuse_unreadable(suite, file)
    if file == "-":
        print_document([suite.text])
    else:
        from mcproof.text.atomic import write_file

        write_file(file, suite.text.encode())
    _tell_next(suite, servers, variables, file)
    return FAILED if any(each.trouble is not None for each in found) else OK


def _target(options: argparse.Namespace) -> str | None:
    """What the suite is for: what the command line names, by whatever name, or all that the configuration does."""
    if options.target is not None and options.server_command:
        raise UsageError("a TARGET or `-- COMMAND ARG...`, not both")
    if options.target is None:
        if not options.server_command:
            raise UsageError("nothing to write a suite for: name a TARGET, or put `-- COMMAND ARG...` at the end")
        return None
    target = resolve_target(options.target, settings_for(os.curdir))
    if os.path.isdir(target):
        from mcproof.targets.argument import is_single

        if not is_single([target]):
            raise InputError("is a folder; name one catalog", file=target)
    return target


def _output(options: argparse.Namespace, target: str | None) -> str:
    """Where the suite goes; said before a server is started where it cannot go there."""
    from mcproof.suite.locate import DEFAULT_NAMES

    file: str = options.output if options.output is not None else DEFAULT_NAMES[0]
    if file == "-":
        return file
    refuse_impossible([file])
    if target is not None and os.path.realpath(target.partition("#")[0]) == os.path.realpath(file):
        raise UsageError(f"`{file}` is what is read; name another file to write to")
    for there in [file] if options.output is not None else DEFAULT_NAMES:
        if os.path.lexists(there) and not options.force:
            raise UsageError(f"there is a suite already, `{there}`; --force writes `{file}` all the same")
    return file


def _read(target: str | None, options: argparse.Namespace) -> list[_Found]:
    """The catalogs behind the target. One that cannot be read does not hide the others."""
    from mcproof.targets.argument import find_inputs

    inputs = find_inputs([] if target is None else [target], live_options(options))
    live = None
    if any(source.server is not None for source in inputs):
        from mcproof.console import Progress
        from mcproof.targets.live_servers import LiveCatalogs

        progress = Progress(len(inputs))
        live = LiveCatalogs(inputs, asking(options, settings_for(os.curdir).timeout), progress.step)
        progress.clear()
        if live.interrupted:
            raise KeyboardInterrupt
    found = []
    for source in inputs:
        try:
            found.append(_Found(source, _catalog(source, live)))
        except McproofError as error:
            if len(inputs) == 1:
                raise
            tell(str(error))
            found.append(_Found(source, None, error))
    if all(each.catalog is None for each in found):
        raise InputError("nothing to write a suite for: no server has answered", file=target)
    return found


def _catalog(source: Input, live: LiveCatalogs | None) -> Catalog:
    from mcproof.cli.execute import refuse_partial
    from mcproof.targets.argument import read_catalog

    catalog = live.catalog(source) if live is not None and source.server is not None else read_catalog(source)
    if catalog is None:
        raise KeyboardInterrupt
    refuse_partial(catalog)
    if not (catalog.tools or catalog.resources or catalog.templates or catalog.prompts):
        raise InputError("nothing to test: there is no tool, no resource and no prompt", file=source.title)
    return catalog


def _servers(found: list[_Found], options: argparse.Namespace, file: str) -> tuple[list[FirstServer], SecretVariables]:
    """Each server with its entry and its tests, tried where it is live."""
    from mcproof.suite.scaffold.first_suite import FirstServer
    from mcproof.suite.scaffold.server_entry import EntryOptions, SecretVariables, UniqueNames

    way = EntryOptions(options.timeout, options.protocol)
    variables = SecretVariables(os.environ, header_variables(options))
    server_names, test_names = UniqueNames(), UniqueNames()
    is_alone = sum(each.catalog is not None for each in found) == 1
    servers = []
    for each in found:
        name = server_names.unique(_name(each.source))
        if each.catalog is None:
            servers.append(FirstServer(name, name, [], trouble=str(each.trouble)))
            continue
        entry = _entry(each.source, each.catalog, name, variables, "" if file == "-" else os.path.dirname(file), way)
        label = each.source.title if each.source.server is None else each.source.server.label
        drafts = _drafts(each, options, test_names, "" if is_alone else f" of {name}")
        servers.append(FirstServer(name, label, entry, drafts, each.catalog))
    if not options.no_calls:
        servers = _tried(servers, found, way)
    return servers, variables


def _name(source: Input) -> str:
    """What a suite calls a server: as its client configuration does, or by where it is."""
    from mcproof.client.endpoints import UrlEndpoint
    from mcproof.suite.scaffold.server_entry import server_name

    if (source.origin is not None and source.origin.line is not None) or source.obstacle is not None:
        return server_name(source.name.partition("#")[2])
    return "remote" if isinstance(source.server, UrlEndpoint) else "local"


def _entry(
    source: Input, catalog: Catalog, name: str, variables: SecretVariables, folder: str, way: EntryOptions
) -> list[str]:
    from mcproof.suite.scaffold.server_entry import captured_lines, entry_lines, placeholder_lines
    from mcproof.text.yamlwriter import UnwritableError

    try:
        if source.server is not None:
            return entry_lines(source.server, name, variables, folder, way)
        if source.is_source:
            return placeholder_lines(["python", source.name] if os.path.isfile(source.name) else [])
        return captured_lines(catalog.server.fields.get("server"), name, variables) or placeholder_lines()
    except UnwritableError as error:
        raise InputError(f"how the server is started cannot stand in a suite: {error}", file=source.title) from None


def _drafts(found: _Found, options: argparse.Namespace, names: UniqueNames, suffix: str) -> list[Draft]:
    from mcproof.cli.live_command import permissions_of
    from mcproof.client.secrets import hiding_whole
    from mcproof.suite.scaffold.drafts import drafts_of

    if found.catalog is None:
        return []
    hide = hiding_whole(found.source.server.secrets if found.source.server is not None else ())
    return drafts_of(found.catalog, permissions_of(found.catalog, options), names, hide, suffix)


def _tried(servers: list[FirstServer], found: list[_Found], way: EntryOptions) -> list[FirstServer]:
    """The servers with what came of calling their tools; what is called is said before."""
    from mcproof.console import Counter
    from mcproof.suite.run.suite_runtime import RunOptions
    from mcproof.suite.scaffold.trial_run import TrialServer, try_drafts

    live = [at for at, each in enumerate(found) if each.source.server is not None and each.catalog is not None]
    on_trial = [
        TrialServer(servers[at].name, server, servers[at].drafts)
        for at in live
        if (server := found[at].source.server) is not None
    ]
    for each in on_trial:
        _tell_calls(each.drafts, "" if len(servers) == 1 else f"{each.name}: ")
    counter = Counter()
    drafts = try_drafts(on_trial, way, RunOptions(), counter.step) if on_trial else []
    counter.clear()
    for at, of_server in zip(live, drafts, strict=True):
        servers[at] = servers[at]._replace(drafts=of_server)
    return servers


def _tell_calls(drafts: list[Draft], of: str) -> None:
    from mcproof.cli.live_command import named
    from mcproof.suite.definition import METHODS

    tools = [draft for draft in drafts if draft.block == "tools"]
    called = [draft.subject for draft in tools if draft.is_active and draft.subject not in METHODS]
    refused = [draft.subject for draft in tools if not draft.is_active]
    read = {
        block: sum(draft.is_active and draft.block == block for draft in drafts) for block in ("resources", "prompts")
    }
    if called:
        tell(f"{of}calls {plural(len(called), 'tool')} to see what works: {named(called)}")
    if any(read.values()):
        counts = " and ".join(plural(count, block.removesuffix("s")) for block, count in read.items() if count)
        tell(f"{of}reads {counts} to see what works")
    if refused:
        tell(f"{of}does not call {plural(len(refused), 'tool')}: {named(refused)}")


def _refuse_unreadable(suite: FirstSuite, file: str) -> None:
    """Say that no suite can hold all this, rather than write what nobody can read."""
    from mcproof.text.yamltext import YamlError, decode, parse

    try:
        parse(decode(suite.text.encode()))
    except YamlError as error:
        raise InputError(f"too much for one suite, try one server alone: {error.message}", file=file) from None


def _named(file: str) -> str:
    """The name of a suite as `mcproof run` needs it: not at all where it is the usual one."""
    from mcproof.suite.locate import DEFAULT_NAMES

    return "" if file in ("-", DEFAULT_NAMES[0]) else f" {shell_word(file)}"


def _tell_next(suite: FirstSuite, servers: list[FirstServer], variables: SecretVariables, file: str) -> None:
    from mcproof.suite.scaffold.server_entry import PLACEHOLDER

    if file != "-":
        asked = sum(not server.trouble for server in servers)
        counts = {"test": suite.commented_out, "call": suite.failed_calls, "probe": suite.failed_checks}
        off = ", ".join(plural(count, what) for what, count in counts.items() if count)
        comments = f"; as comments: {off}" if off else ""
        tell(f"{file}: {plural(suite.tests, 'test')} on {plural(asked, 'server')} written{comments}")
    steps = []
    if any(PLACEHOLDER in line for server in servers for line in server.entry):
        steps.append(f"put the command of your server in the place of `{PLACEHOLDER}`")
    if variables.unset:
        steps.append(f"set {', '.join(variables.unset)}")
    steps.append(f"`mcproof run{_named(file)}`" if file != "-" else "`mcproof run FILE`, with what you save this as")
    tell(f"next: {', then '.join(steps)}")
