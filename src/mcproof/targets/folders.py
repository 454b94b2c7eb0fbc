"""What a folder stands for: servers in source, snapshots, what is left out; and what a mistaken target meant.

Nothing is run to find out: only names, sizes and `package.json` are read.
Why each server in a folder has a report of its own: docs/decisions/0038-one-report-per-server.md.
"""

from __future__ import annotations

import json
import os
import re
from itertools import islice
from typing import TYPE_CHECKING

from mcproof.core.console import shell_word
from mcproof.core.errors import InputError, nearest, reason_of
from mcproof.core.named_tuple import NamedTuple
from mcproof.core.text.files import files_below, is_inside, open_in_checkout, start_of_file
from mcproof.source.packages.projects import SUFFIXES, package_in, start_of
from mcproof.targets.snapshots import NoCatalogError, read_snapshot

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from mcproof.core.catalog.model import Catalog, SourceMap
    from mcproof.core.observations.source import SourceProblem


def _unreadable(name: str, error: OSError) -> InputError:
    """The error for a file or folder that cannot be opened."""
    import errno

    what = reason_of(error)
    if error.errno == errno.ELOOP:
        what = "circular symbolic link"
    elif os.path.islink(name):
        what = f"broken link to `{os.readlink(name)}`"
    elif error.errno == errno.ENOENT:
        from mcproof.targets.folders import similar_name

        what += similar_name(name)
    return InputError(f"cannot be read: {what}", file=name)


def _problems_of_text(name: str) -> list[SourceProblem]:
    """Problems in the text of a file; discovery does not decode Python files that mention no server."""
    if not name.endswith(".py"):
        return []
    from mcproof.source.python.files import decoded, read_bytes

    problems: list[SourceProblem] = []
    if os.path.isfile(name) and (data := read_bytes(name, problems)) is not None:
        decoded(data, name, problems)
    return problems


def read_source(name: str, *, whole: bool = False) -> Catalog:
    """Read the catalog that the source in a file or folder would serve; `catalog.source` has its locations.

    For a file, that is what the file itself defines, as in a check of changed files; with `whole`, everything that
    running it would serve.
    """
    from mcproof.source.pipeline import discover

    try:
        os.stat(name)
    except OSError as error:
        raise _unreadable(name, error) from None
    source = discover(name, whole=whole)
    if not any(source.document.values()):
        raise _nothing_found(name, source, whole=whole)
    return catalog_of(source, name)


def read_servers_in(folder: str) -> list[Catalog]:
    """Read the catalog of each server in the source below a folder; empty if there is none."""
    from mcproof.source.pipeline import discover_servers

    return [catalog_of(source, name) for name, source in discover_servers(folder) if any(source.document.values())]


def _nothing_found(name: str, source: SourceMap, *, whole: bool) -> InputError:
    """The error for source without any item."""
    from mcproof.source.pipeline import discover

    problems = source.problems or _problems_of_text(name)
    if problems:
        first = problems[0]
        return InputError(first.what, file=first.file, line=first.line, column=first.column)
    if source.omissions:
        first = source.omissions[0]
        return NoCatalogError(f"nothing to check: {first.what}", file=first.file, line=first.line)
    if not whole and os.path.isfile(name) and any(discover(name, whole=True).document.values()):
        message = "nothing to check: what this file serves is defined in other files; pass their folder"
        return NoCatalogError(message, file=name)
    return NoCatalogError(
        "nothing to check: found no tool, resource or prompt of an MCP server in this source", file=name
    )


def catalog_of(source: SourceMap, name: str, *, indent: int | None = 2) -> Catalog:
    """The catalog in discovered source; its document has this indentation, and is made faster without any."""
    text = json.dumps(source.document, indent=indent, ensure_ascii=False)
    try:
        data = text.encode()
    except UnicodeEncodeError:  # a lone surrogate in a string
        data = json.dumps(source.document, indent=indent).encode()
    catalog = read_snapshot(data, name)
    catalog.source = source
    for tool, facts in zip(catalog.tools, source.tools, strict=True):
        tool.source = facts
    return catalog


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
    """Whether there is source that may register something."""
    servers: list[Catalog]
    """Of the source, one for each server."""
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
    from mcproof.source.pipeline import holds_source
    from mcproof.targets.folders import read_servers_in

    has_source = holds_source(folder)
    files = list(files_below(folder))
    packages = [file for file in files if os.path.basename(file) == "package.json"]
    texts = [file for file in files if file.endswith(".json")][:MOST_FILES]
    servers = read_servers_in(folder) if has_source else []
    left_out = list(_unread(files, packages, command, servers))
    snapshots, skipped = texts, []
    if has_source or packages or left_out:
        likely = {file for file in texts if may_be_snapshot(file) and is_snapshot(file)}
        snapshots = [file for file in texts if file in likely]
        skipped = [file for file in texts if file not in likely]
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
    return InputError(
        "nothing to check: no source of an MCP server and no `.json` snapshot in this folder", file=folder
    )


def _unread(files: list[str], packages: list[str], command: str, read: list[Catalog]) -> Iterator[LeftOut]:
    """Servers in TypeScript or JavaScript of which the source shows nothing."""
    from mcproof.source.packages.projects import SUFFIXES, package_in

    what = "nothing that this server registers is found in its source; start the server instead"
    sources = [file for catalog in read if catalog.source is not None for file in catalog.source.files]
    servers = []
    for file in packages:
        package = package_in(os.path.dirname(file))
        if package is not None and package.is_server:
            servers.append((os.path.dirname(file) or os.curdir, package.start))
    # Without a package, scripts do not show where one server ends: what was read may use all of them.
    if not packages and not any(file.endswith(SUFFIXES) for file in sources):
        scripts = [file for file in files if file.endswith(SUFFIXES)][:_MOST_SCRIPTS]
        servers += [(file, start_of(file)) for file in scripts if _SDK in start_of_file(file, _START)][:1]
    for where, start in servers:
        if any(is_inside(os.path.abspath(file), os.path.abspath(where)) for file in sources):
            continue
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


_PROGRAMS = frozenset((
    "bash", "bun", "bunx", "cargo", "cmd", "deno", "docker", "dotnet", "go", "hatch", "java", "make", "mise", "node",
    "nodejs", "npm", "npx", "pdm", "php", "pipenv", "pipx", "pixi", "pnpm", "podman", "poetry", "powershell", "pwsh",
    "py", "ruby", "rye", "sh", "ts-node", "tsx", "uv", "uvx", "yarn", "zsh",
))  # fmt: skip
"""Programs that start servers."""
_PYTHON = re.compile(r"(?:python|pypy)[\d.]*w?")
_OTHER_LANGUAGES = {
    ".go": "Go", ".rs": "Rust", ".java": "Java", ".kt": "Kotlin", ".cs": "C#", ".rb": "Ruby", ".php": "PHP",
    ".swift": "Swift", ".ex": "Elixir", ".exs": "Elixir", ".scala": "Scala", ".lua": "Lua",
}  # fmt: skip
_LONGEST_LOOKED_AT = 1 << 20


def is_program(word: str) -> bool:
    """Whether a word of the command line starts a server, rather than naming a target."""
    return is_launcher(word) or _is_installed(word)


def is_launcher(word: str) -> bool:
    """Whether a word is the name of a program that starts servers, such as `python`."""
    name = os.path.basename(word).lower().removesuffix(".exe")
    return not os.path.isdir(word) and (name in _PROGRAMS or _PYTHON.fullmatch(name) is not None)


def _is_installed(word: str) -> bool:
    """Whether a word names an executable file that is not a snapshot or source."""
    if os.path.isdir(word) or word.endswith((".json", ".py", *SUFFIXES, *_OTHER_LANGUAGES)):
        return False
    if os.path.exists(word):
        return os.path.isfile(word) and os.access(word, os.X_OK)
    from shutil import which

    return os.sep not in word and which(word) is not None


def quoted_command(word: str) -> tuple[str, ...]:
    """The words of a command that was quoted as one word; empty if it is not a command."""
    if not any(map(str.isspace, word)) or os.path.exists(word):
        return ()
    import shlex

    try:
        words = shlex.split(word)
    except ValueError:  # a quote without its partner
        return ()
    return tuple(words) if len(words) > 1 and is_program(words[0]) else ()


def mistake_of(target: str) -> str | None:
    """What is wrong with a file that is the source of a server in an unsupported language; None if it is not one."""
    suffix = os.path.splitext(target)[1].lower()
    return f"{_OTHER_LANGUAGES[suffix]} is not read" if suffix in _OTHER_LANGUAGES and os.path.isfile(target) else None


def start_words(target: str) -> tuple[tuple[str, ...], str]:
    """Options and `-- COMMAND ARG...` that start the server in a file or a folder, and what has to be built first."""
    if not target.endswith(SUFFIXES):
        if words := python_start(target):
            return words, ""
        package = package_in(target) if os.path.isdir(target) else None
        return (package.start.arguments if package is not None else ()), ""
    start = start_of(target)
    return start.arguments, f" (after `{start.build}`)" if start.build else ""


def python_start(target: str) -> tuple[str, ...]:
    """Options and `-- COMMAND ARG...` that start the server in a Python file or folder; empty if they are unknown."""
    file = target if os.path.isfile(target) else _main_file(target)
    if file is None:
        return ()
    folder, module = _module(file)
    if module and re.search(r"^\s*from \.", _text(file), re.MULTILINE):  # it runs only as a part of its package
        return (*(("--cwd", folder) if folder else ()), "--", "python", "-m", module)
    return "--", "python", file


def _main_file(folder: str) -> str | None:
    """The file in a folder that starts a server; None if there are several or none."""
    from mcproof.source.python.files import may_register, python_files

    files = []
    for file in python_files(folder, []):
        text = _text(file)
        if re.search(r"\.run(?:_\w+)?\(|__main__", text) and may_register(text.encode(), file):
            files.append(os.path.normpath(file))
    return files[0] if len(files) == 1 else None


def _module(file: str) -> tuple[str, str]:
    """The folder that a file is imported from and its dotted name; no name if it is not in a package."""
    folder, name = os.path.split(file)
    parts = [] if name == "__main__.py" else [name.removesuffix(".py")]
    is_packaged = False
    while folder and os.path.isfile(os.path.join(folder, "__init__.py")):
        is_packaged = True
        folder, package = os.path.split(folder)
        parts.insert(0, package)
    return (folder, ".".join(parts)) if is_packaged else (folder, "")


def _text(file: str) -> str:
    try:
        with open(file, encoding="utf-8", errors="replace", opener=open_in_checkout) as opened:
            return opened.read(_LONGEST_LOOKED_AT)
    except OSError:
        return ""


_MOST_NAMES = 1_000
"""How many names of a folder are compared."""


def similar_name(path: str) -> str:
    """A hint with the name most similar to a missing one, with the same extension; empty if there is none."""
    folder, name = os.path.split(path.rstrip(os.sep))
    stem, extension = os.path.splitext(name)
    try:
        with os.scandir(folder or os.curdir) as entries:
            names = [os.path.splitext(entry.name) for entry in islice(entries, _MOST_NAMES)]
    except OSError:
        return ""
    hint = nearest(stem, sorted(other_stem for other_stem, other in names if other == extension))
    return hint.replace("`", f"`{os.path.join(folder, '')}", 1).replace("`?)", f"{extension}`?)")
