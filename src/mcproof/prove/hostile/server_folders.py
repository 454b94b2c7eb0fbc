"""The folders of a server on this machine, as far as its command line tells, and a place outside all of them."""

from __future__ import annotations

import os
import tempfile
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from mcproof.client.endpoints import CommandEndpoint
from mcproof.core.addresses import is_this_machine
from mcproof.prove.hostile.attacks import MOST_FOLDERS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.client.endpoints import Endpoint

_PLACES = ("/var/tmp", "/dev/shm")  # noqa: S108 (a name there is random)
"""Places for files of our own that servers rarely serve; the usual temporary folder comes last."""

_CODE = frozenset({"bin", "build", "dist", "lib", "node_modules", "src", "target", "test", "tests", "venv"})


class ServerFolders(NamedTuple):
    """Where a server may read, and where it may not."""

    is_local: bool
    """Whether the server runs on this machine, as far as its command or URL tells."""
    folders: tuple[str, ...] = ()
    """The folders that its command line and variables name, its working directory, and the folders in it."""
    outside: str | None = None
    """A writable folder outside all of them; None if there is none."""


def folders_of(server: Endpoint) -> ServerFolders:
    """The folders of a server."""
    if not isinstance(server, CommandEndpoint):
        is_local = _is_loopback(server.url)
        return ServerFolders(is_local, (), _outside(()) if is_local else None)
    own = os.path.realpath(server.directory or os.getcwd())
    root = os.path.join(os.path.splitdrive(own)[0], os.sep)
    named = list(_named(server, own))
    likely = [
        *named,
        own,
        *_below(own),
        *(each for script in _scripts(server, own) for each in (script, *_below(script))),
    ]
    folders = tuple(each for each in dict.fromkeys(likely) if each != root)
    return ServerFolders(True, folders[:MOST_FOLDERS], None if root in named else _outside(folders))


def _named(server: CommandEndpoint, own: str) -> Iterator[str]:
    """The folders in the words and the variables of a command."""
    texts = [part for word in server.words[1:] for part in (word, word.partition("=")[2])]
    texts += [part for value in server.environment.values() for part in value.split(os.pathsep)]
    for text in texts:
        if text and "\0" not in text and os.path.isdir(path := os.path.join(own, os.path.expanduser(text))):
            yield os.path.realpath(path)


def _scripts(server: CommandEndpoint, own: str) -> Iterator[str]:
    """The folders of the files in the words of a command."""
    for word in server.words[1:]:
        if word and "\0" not in word and os.path.isfile(path := os.path.join(own, word)):
            yield os.path.dirname(os.path.realpath(path))


def _below(folder: str) -> list[str]:
    """The folders in a folder, as far as a server may serve them: its data rather than its code."""
    try:
        names = sorted(entry.name for entry in os.scandir(folder) if entry.is_dir(follow_symlinks=False))
    except OSError:
        return []
    return [os.path.join(folder, name) for name in names if name[0] not in "._" and name not in _CODE][:MOST_FOLDERS]


def _outside(folders: tuple[str, ...]) -> str | None:
    for place in (*_PLACES, tempfile.gettempdir()):
        path = os.path.realpath(place)
        is_inside = any(os.path.commonpath((path, each)) == each for each in folders)
        if not is_inside and os.path.isdir(path) and os.access(path, os.W_OK):
            return path
    return None


def _is_loopback(url: str) -> bool:
    try:
        return is_this_machine(urlsplit(url).hostname or "")
    except ValueError:
        return False
