"""Resolve TARGET arguments to inputs: files, standard input, source, live servers."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, BinaryIO

from mcproof.client.endpoints import AccessOptions
from mcproof.core.catalog.model import Origin
from mcproof.core.console import shell_word
from mcproof.core.errors import InputError, UsageError, reason_of
from mcproof.core.named_tuple import NamedTuple
from mcproof.core.text.files import open_in_checkout

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from mcproof.client.endpoints import Endpoint
    from mcproof.core.catalog.model import Catalog
    from mcproof.core.errors import SettingLocation
    from mcproof.targets.client_config import ConfiguredServer
    from mcproof.targets.folders import LeftOut

    Target = str | ConfiguredServer
    """A target as typed, or a live server that a configuration names."""

LARGEST_INPUT = 1 << 30
"""The most bytes read, in case the input is endless."""
_USUAL_INPUT = 1 << 16


class LiveOptions(NamedTuple):
    """How to start or reach live servers."""

    command: tuple[str, ...] = ()
    """The words after `--`."""
    environment: Mapping[str, str] = {}
    inherited: tuple[str, ...] = ()
    """Values that come from this process's environment: secret, whatever they look like."""
    headers: Mapping[str, str] = {}
    access: AccessOptions = AccessOptions()
    directory: str | None = None
    all_configured: bool = False
    """Whether a client configuration without a server's name stands for all its servers."""
    uses_configured: bool = False
    """Whether live servers run that only `[targets]` of a configuration names."""


class Input(NamedTuple):
    """One thing to read: a file, standard input, or a live server."""

    name: str
    folder: str = ""
    """The folder that it was found in; a file of it is skipped if it is not a catalog."""
    obstacle: InputError | None = None
    """Why it cannot be read, if that is already known; other inputs still are."""
    is_source: bool = False
    """Whether it is source code: a file, or a folder with source files below it."""
    server: Endpoint | None = None
    """The live server; None for a file."""
    origin: Origin | None = None
    """Where a live server is named."""
    data: bytes | None = None
    """The content, if it is already in memory."""
    catalog: Catalog | None = None
    """The catalog, if it is already known: that of one server of several in a folder."""

    @property
    def is_stdin(self) -> bool:
        return self.name == "-"

    @property
    def title(self) -> str:
        """Its name in messages."""
        return "<stdin>" if self.is_stdin else self.name

    @property
    def configured_near(self) -> str:
        """The file whose nearest configuration applies; `-` for the working directory."""
        if self.server is None:
            return self.name
        return "-" if self.origin is None or self.origin.line is None else self.origin.file


class SkippedFiles:
    """What is not checked in the folders among the targets."""

    def __init__(self) -> None:
        self.files: list[str] = []
        """JSON files that are not catalogs."""
        self.servers: list[LeftOut] = []
        """Servers in languages that are not read."""


def find_inputs(
    targets: Iterable[Target],
    live: LiveOptions,
    *,
    command: str = "lint",
    skipped: SkippedFiles | None = None,
    as_one: bool = False,
) -> list[Input]:
    """The inputs that targets stand for, in order and without duplicates.

    Folders stand for all servers and snapshots in them; `skipped` collects the rest, with hints for a `command` of
    mcproof. With `as_one`, the source of a folder makes one catalog.
    """
    skipped = SkippedFiles() if skipped is None else skipped
    inputs_by_name: dict[str, Input] = {}
    for target in targets:
        try:
            if isinstance(target, str) and not as_one and _is_folder(target):
                inputs = _in_folder(target, command, skipped)
            else:
                inputs = _inputs(target, live) if isinstance(target, str) else [_named_server(target, live)]
            for source in inputs:
                _add(inputs_by_name, source)
        except InputError as error:
            name = (error.file or target) if isinstance(target, str) else target.name
            _add(inputs_by_name, Input(name, obstacle=error))
    if live.command:
        from mcproof.client.endpoints import CommandEndpoint

        server = CommandEndpoint(live.command, live.environment, live.directory, live.inherited)
        _add(inputs_by_name, Input(server.label, server=server, origin=Origin(server.label)))
    return list(inputs_by_name.values())


def _add(inputs: dict[str, Input], new: Input) -> None:
    """Add an input unless it is already there. Servers with the same redacted name are numbered."""
    name, number = new.name, 1
    while name in inputs and inputs[name].server != new.server:
        number += 1
        name = f"{new.name} ({number})"
    inputs.setdefault(name, new._replace(name=name))


def is_single(targets: Sequence[Target]) -> bool:
    """Whether the user names one input, rather than several or a folder of them."""
    if len(targets) != 1:
        return False
    (target,) = targets
    return not isinstance(target, str) or not os.path.isdir(target) or _is_source(target)


def _is_folder(target: str) -> bool:
    return target != "-" and not is_url(target) and os.path.isdir(target)


def _in_folder(folder: str, command: str, skipped: SkippedFiles) -> list[Input]:
    """All servers and snapshots in a folder. Raises an InputError if there are none."""
    from mcproof.targets.folders import contents_of, nothing_in

    # Files below it are passed over if they cannot be read, but the folder that the user names is not.
    try:
        with os.scandir(folder):
            pass
    except OSError as error:
        raise _unreadable(folder, error) from None
    contents = contents_of(folder, command, _is_snapshot)
    if contents.is_empty and not contents.has_source:
        raise nothing_in(folder, contents)
    skipped.files += contents.skipped
    skipped.servers += contents.left_out
    servers = contents.servers
    if contents.has_source and not servers:
        # Reading it gives the reason, which is an error only if there is nothing else.
        inputs = [Input(folder, folder=folder if contents.snapshots else "", is_source=True)]
    elif len(servers) == 1:
        inputs = [Input(folder, is_source=True, catalog=servers[0])]
    else:
        inputs = [Input(catalog.name, folder=folder, is_source=True, catalog=catalog) for catalog in servers]
    return inputs + [Input(file, folder=folder) for file in contents.snapshots]


def _is_snapshot(file: str) -> bool:
    """Whether a file is a catalog, or is meant to be one and cannot be read."""
    from mcproof.targets.snapshots import NoCatalogError

    try:
        read_catalog(Input(file, folder=os.curdir))
    except NoCatalogError:  # any other JSON file
        return False
    except InputError:
        return True
    return True


def is_live(target: Target) -> bool:
    """Whether reading a target starts a server, or sends something to one."""
    return not isinstance(target, str) or is_url(target) or configured_name(target) is not None


def is_url(target: str) -> bool:
    """Whether a target is a URL, and not a file of that name."""
    return "://" in target and not os.path.exists(target)


def configured_name(target: str) -> tuple[str, str] | None:
    """The file and the server of `FILE.json#NAME`; None for anything else."""
    if "#" in target and not os.path.exists(target):
        parts = target.split("#")
        for number in range(1, len(parts)):  # a server's name may contain `#` too
            if os.path.isfile(file := "#".join(parts[:number])):
                return file, "#".join(parts[number:])
    return None


def configured_target(
    name: str,
    configured: Mapping[str, Target],
    locations: Mapping[str, SettingLocation],
    *,
    is_live_allowed: bool = False,
) -> Target:
    """Replace a name from the configuration with its target; files come first.

    Raises a UsageError for a live server named like a file: whoever types `tools.json` means the file.
    """
    if os.path.lexists(name) or name not in configured:
        return name
    target = configured[name]
    is_like_a_path = name.endswith((".json", ".py")) or any(
        separator in name for separator in ("/", os.sep, "#", "://")
    )
    if is_live(target) and not is_live_allowed and is_like_a_path:
        raise UsageError(
            f"there is no file `{name}`; {locations[f'targets.{name}']} gives this name to a live server, "
            "which needs --live"
        )
    return target


def shown_target(target: Target) -> str:
    """A target of the configuration as text, without the secrets of a URL or a command."""
    from mcproof.client.redaction import redacted_command, redacted_text

    if isinstance(target, str):
        return redacted_text(target) if "://" in target else target
    if "url" in target.entry:
        return redacted_text(target.entry["url"])
    return " ".join(map(shell_word, redacted_command([target.entry["command"], *target.entry["args"]])))


def _is_source(target: str) -> bool:
    """Whether a target is source code: a file by its name, a folder by the files below it."""
    from mcproof.source.pipeline import SOURCE_SUFFIXES, holds_source

    return holds_source(target) if os.path.isdir(target) else target.endswith(SOURCE_SUFFIXES)


def _inputs(target: str, live: LiveOptions) -> list[Input]:
    if is_url(target):
        from mcproof.client.endpoints import UrlEndpoint

        endpoint = UrlEndpoint(target, live.headers, live.inherited, live.access)
        if target.partition("://")[0].lower() not in ("http", "https"):
            raise InputError("unsupported URL: neither http:// nor https://", file=endpoint.label)
        return [Input(endpoint.label, server=endpoint, origin=Origin(endpoint.label))]
    if configured := configured_name(target):
        return _configured(*configured, live)
    if target != "-" and _is_source(target):
        return [Input(target, is_source=True)]
    if live.all_configured and os.path.isfile(target):
        return _configured(target, None, live)
    return [Input(target)]


def _configured(file: str, name: str | None, live: LiveOptions) -> list[Input]:
    """One server of a client configuration, or all of them; any other file is a snapshot."""
    from mcproof.targets.client_config import pick, read_servers, server_of

    text = decoded(read_bytes(Input(file)), file)
    try:
        servers = read_servers(text, file)
    except InputError:
        if name is not None:
            raise
        return [Input(file)]  # its errors are reported when it is read as a snapshot
    if servers is None:
        if name is None:
            return [Input(file)]
        raise InputError("not a client configuration: no `mcpServers` or `servers`", file=file)
    inputs = []
    for configured in servers if name is None else [pick(servers, name, file)]:
        title = f"{file}#{configured.name}"
        try:
            server = _with_options(server_of(configured), live)
            inputs.append(Input(title, server=server, origin=Origin(file, configured.line)))
        except InputError as error:  # reported at its place among the other servers
            inputs.append(Input(title, obstacle=error))
    return inputs


def _named_server(configured: ConfiguredServer, live: LiveOptions) -> Input:
    """A live server of `[targets]`, known by its command or URL as if the command line had them."""
    from mcproof.targets.client_config import server_of

    server = _with_options(server_of(configured), live)
    return Input(server.label, server=server, origin=Origin(server.label))


def _with_options(server: Endpoint, live: LiveOptions) -> Endpoint:
    """A configured server with the options of the command line, which take precedence."""
    from mcproof.client.endpoints import CommandEndpoint

    if isinstance(server, CommandEndpoint):
        environment = {**server.environment, **live.environment}
        return server._replace(
            environment=environment,
            directory=live.directory or server.directory,
            filled=(*server.filled, *live.inherited),
        )
    given = {name.lower() for name in live.headers}
    configured = {name: value for name, value in server.headers.items() if name.lower() not in given}
    return server._replace(headers={**configured, **live.headers}, access=live.access)


def read_bytes(source: Input) -> bytes:
    """Read an input. Raises an InputError with the reason if it cannot be read."""
    if source.obstacle is not None:
        raise source.obstacle
    if source.data is not None:
        return source.data
    try:
        if source.is_stdin:
            if sys.stdin is None:
                raise InputError("cannot be read: standard input is closed", file=source.title)
            data = _read_all(sys.stdin.buffer)
        else:
            # A file that the user names may be a link to anywhere; one that is found in a folder may not.
            with open(source.name, "rb", opener=open_in_checkout if source.folder else None) as file:
                data = _read_all(file)
    except OSError as error:
        raise _unreadable(source.title, error) from None
    if len(data) > LARGEST_INPUT:
        raise InputError(f"larger than {LARGEST_INPUT:,} bytes", file=source.title)
    return data


def _read_all(stream: BinaryIO) -> bytes:
    """Read a stream up to the limit and one byte more.

    A read allocates memory for all that it may return, so the first one is small.
    """
    data = stream.read(_USUAL_INPUT)
    return data if len(data) < _USUAL_INPUT else data + stream.read(LARGEST_INPUT + 1 - len(data))


def _unreadable(name: str, error: OSError) -> InputError:
    if isinstance(error, FileNotFoundError):
        from mcproof.targets.folders import similar_name

        return InputError(f"cannot be read: {reason_of(error)}{similar_name(name)}", file=name)
    return InputError(f"cannot be read: {reason_of(error)}", file=name)


def read_catalog(source: Input, *, whole: bool = False) -> Catalog:
    """Read the catalog in a file, standard input, or source; with `whole`, everything a source file serves."""
    if source.catalog is not None:
        return source.catalog
    if source.is_source:
        from mcproof.targets.folders import read_source

        return read_source(source.name, whole=whole)
    from mcproof.targets.snapshots import NoCatalogError, read_snapshot

    data = read_bytes(source)
    try:
        # A file that was found in a folder may be any JSON: docs/decisions/0038-one-report-per-server.md.
        return read_snapshot(data, source.title, is_certain=not source.folder)
    except InputError as error:
        from mcproof.targets.client_config import listing

        if (listed := listing(data, source.title)) is None:
            raise
        raise NoCatalogError(listed, file=source.title) from error


def decoded(data: bytes, name: str) -> str:
    """Decode a file, with or without a byte order mark. Raises an InputError with the position of invalid UTF-8."""
    from mcproof.targets.snapshots import text_of

    return text_of(data, name)
