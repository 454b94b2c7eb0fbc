"""Which folders the tools of the MCP server may read, and the file or folder that an agent names in them.

That nothing else is read, whatever a file names, is up to the confinement of the process: `services.workers`.
Why a child process reads catalogs: docs/decisions/0057-agents-check-in-a-child.md.
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from mcproof.core.errors import InputError, reason_of
from mcproof.core.named_tuple import NamedTuple
from mcproof.services.workers.confinement import is_below

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


LARGEST_FILE = 16 * 1024 * 1024
"""The most bytes of a file that is named as a target."""


class AllowedPath(NamedTuple):
    """A path that may be read."""

    path: str
    """As a user would write it: relative if it is below the working directory."""
    root: str
    """The root above it."""


def given_roots(folders: Iterable[str]) -> tuple[str, ...]:
    """The real paths of folders that the user names. Raises an InputError if one is not a folder."""
    roots = []
    for folder in folders:
        real = os.path.realpath(folder)
        if not os.path.isdir(real):
            raise InputError("not a folder; --root names a folder that may be read", file=folder)
        roots.append(real)
    return tuple(dict.fromkeys(roots))


def default_roots() -> tuple[str, ...]:
    """The working directory; none if that is the home directory or the root of the file system.

    Some clients start servers there, where a project is not what they mean.
    """
    try:
        here = os.path.realpath(os.getcwd())
    except OSError:  # it was deleted
        return ()
    if here in (os.path.realpath(os.path.expanduser("~")), os.path.dirname(here)):
        return ()
    return (here,)


def client_roots(uris: Iterable[str]) -> tuple[str, ...]:
    """The folders that a client offers as `file://` URIs; others are left out."""
    from urllib.parse import urlsplit
    from urllib.request import url2pathname

    roots = []
    for uri in uris:
        parts = urlsplit(uri)
        path = os.path.realpath(url2pathname(parts.path))
        if parts.scheme == "file" and parts.netloc in ("", "localhost") and os.path.isdir(path):
            roots.append(path)
    return tuple(dict.fromkeys(roots))


def allowed_path(name: str, roots: Sequence[str]) -> AllowedPath:
    """The file or folder behind a name, with links resolved. Raises an InputError if it may not be read.

    A relative name is looked up in each root. The message for a path outside the roots does not depend on what is
    there.
    """
    if "\0" in name or "\n" in name:
        raise InputError("neither a path nor the JSON text of a catalog")
    if "://" in name:
        raise InputError("this server opens no URLs; save the catalog with `mcproof capture URL`, and name the file")
    if not roots:
        raise InputError("no folder may be read; start the server with `--root FOLDER`, or pass the text of a catalog")
    within = [(real, root) for root in roots if is_below(real := os.path.realpath(os.path.join(root, name)), root)]
    if not within:
        raise InputError(f"outside the allowed folders ({', '.join(roots)})", file=name)
    real, root = next(((real, root) for real, root in within if os.path.exists(real)), within[0])
    try:
        status = os.stat(real)
    except OSError as error:
        hint = "; this server starts no servers, so `FILE.json#NAME` is not a target" if "#" in name else ""
        raise InputError(f"cannot be read: {reason_of(error)}{hint}", file=name) from None
    if stat.S_ISREG(status.st_mode):
        if status.st_size > LARGEST_FILE:
            raise InputError(f"larger than {LARGEST_FILE:,} bytes", file=name)
    elif not stat.S_ISDIR(status.st_mode):
        raise InputError("neither a file nor a folder", file=name)
    return AllowedPath(_as_named(real), root)


def _as_named(real: str) -> str:
    try:
        here = os.path.realpath(os.getcwd())
    except OSError:
        return real
    return os.path.relpath(real, here) if is_below(real, here) else real
