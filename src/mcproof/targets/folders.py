"""What a folder stands for: every server in its Python source, every snapshot, and what is left out."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from mcproof.core.console import shell_word
from mcproof.core.errors import InputError
from mcproof.core.text.files import files_below, start_of_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from mcproof.core.catalog.model import Catalog

MOST_FILES = 20_000
"""How many JSON files of a folder are looked at."""
LARGEST_SNAPSHOT = 64 << 20
"""Larger files in a folder are data; naming the file itself reads it."""
_START = 1 << 16
"""How much of a file is searched for the words of a catalog."""
_WORDS = (
    b'"tools"', b'"inputSchema"', b'"resources"', b'"resourceTemplates"', b'"prompts"', b'"initialize"', b'"discover"',
)  # fmt: skip
"""Keys of which every catalog has one, except a list of tools without schemas."""
_MOST_SCRIPTS = 500
"""How many scripts are searched for a server if there is no `package.json`."""
_SDK = b"@modelcontextprotocol/"
_CLIENT_FILES = ("claude_desktop_config.json", "settings.json")
"""Client configurations with other names than `mcp.json`."""


class LeftOut(NamedTuple):
    """Something in a folder that is not checked, and the command that would."""

    where: str
    message: str


class FolderContents(NamedTuple):
    """The parts of a folder that can be checked, and those that are left out."""

    has_source: bool
    """Whether there is Python source that may register something."""
    servers: list[Catalog]
    """Of the Python source, one for each server."""
    snapshots: list[str]
    """Files that are snapshots, or may be if the folder has no source."""
    skipped: list[str]
    """JSON files that are not catalogs."""
    left_out: list[LeftOut]
    """Servers that are not checked."""

    @property
    def is_empty(self) -> bool:
        return not (self.servers or self.snapshots)


def contents_of(folder: str, command: str, is_snapshot: Callable[[str], bool]) -> FolderContents:
    """Look through a folder; `command` is that of mcproof, for hints, and `is_snapshot` reads a file.

    A folder without source is a collection of snapshots: all JSON files count, so that a broken one is reported. Next
    to source, only those that are snapshots do.
    """
    from mcproof.targets.python_project import holds_source, read_servers_in

    has_source = holds_source(folder)
    files = list(files_below(folder))
    packages = [file for file in files if os.path.basename(file) == "package.json"]
    texts = [file for file in files if file.endswith(".json")][:MOST_FILES]
    left_out = list(_scripts(files, packages, command))
    snapshots, skipped = texts, []
    if has_source or packages or left_out:
        likely = {file for file in texts if may_be_snapshot(file) and is_snapshot(file)}
        snapshots = [file for file in texts if file in likely]
        skipped = [file for file in texts if file not in likely]
    servers = read_servers_in(folder) if has_source else []
    return FolderContents(has_source, servers, snapshots, skipped, left_out)


def may_be_snapshot(file: str) -> bool:
    """Whether a JSON file may be a catalog, by its size and the words at its start."""
    try:
        if os.path.getsize(file) > LARGEST_SNAPSHOT:
            return False
    except OSError:
        return False
    start = start_of_file(file, _START)
    return any(word in start for word in _WORDS) or start.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"[")


def nothing_in(folder: str, contents: FolderContents) -> InputError:
    """The error for a folder with nothing to check."""
    if contents.left_out:
        return InputError(f"nothing to check: {contents.left_out[0].message}", file=folder)
    return InputError("nothing to check: no MCP server in Python and no `.json` snapshot in this folder", file=folder)


def _scripts(files: list[str], packages: list[str], command: str) -> Iterator[LeftOut]:
    """Servers in TypeScript or JavaScript."""
    from mcproof.source.packages.projects import SUFFIXES, package_in, start_of

    what = "TypeScript and JavaScript are not read; start the server instead"
    found = []
    for file in packages:
        package = package_in(os.path.dirname(file))
        if package is not None and package.is_server:
            found.append((os.path.dirname(file) or os.curdir, package.start))
    if not packages:
        scripts = [file for file in files if file.endswith(SUFFIXES)][:_MOST_SCRIPTS]
        found += [(file, start_of(file)) for file in scripts if _SDK in start_of_file(file, _START)][:1]
    for where, start in found:
        shown = " ".join(("mcproof", command, *map(shell_word, start.arguments)))
        yield LeftOut(where, f"{what}: `{shown}`{f' (after `{start.build}`)' if start.build else ''}")


def configured_servers(files: Iterable[str], command: str) -> Iterator[LeftOut]:
    """Client configurations among files, whose servers are not started because a file names them."""
    from mcproof.targets.client_config import server_names

    for file in files:
        name = os.path.basename(file)
        if ("mcp" in name or name in _CLIENT_FILES) and (servers := server_names(start_of_file(file, _START), file)):
            listed = ", ".join(servers[:5]) + (f" and {len(servers) - 5:,} more" if len(servers) > 5 else "")
            hint = f"`mcproof {command} {shell_word(f'{file}#{servers[0]}')}` starts and checks one"
            yield LeftOut(file, f"skipped (not a catalog): a client configuration of {listed}; {hint}")
