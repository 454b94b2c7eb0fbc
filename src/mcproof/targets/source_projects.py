"""Source code as a target: the catalog that it would serve."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from mcproof.core.errors import InputError, reason_of
from mcproof.targets.snapshots import NoCatalogError, read_snapshot

if TYPE_CHECKING:
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
