"""Discovery in source of any language: the catalog of a target, and what else its source shows.

A file is read by its suffix. A folder is read in both languages; where it has servers in both, what needs one catalog
takes those of Python, and `discover_servers` gives all of them. Why each language has an interpreter of its own:
docs/decisions/0075-two-interpreters.md.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from mcproof.source.suffixes import JAVASCRIPT, SOURCE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tree_sitter import Tree

    from mcproof.core.catalog.model import SourceMap
    from mcproof.core.observations.source import SourceConfiguration, SourceFlows, SourceProblem
    from mcproof.source.python.pipeline import SyntaxTreeCache


SOURCE_SUFFIXES = SOURCE
"""How the names of files end that are read as source."""


def discover(
    target: str,
    overrides: Mapping[str, bytes] | None = None,
    *,
    whole: bool = False,
    cache: SyntaxTreeCache | None = None,
) -> SourceMap:
    """Return the catalog that the source at `target` would serve, without importing or running it.

    For a file, that is what the file itself defines; with `whole`, also what the modules that it imports register.
    `overrides` replaces the content of files, by their real paths. `cache` has syntax trees of Python, in an editor.
    """
    is_folder = os.path.isdir(target)
    if not target.endswith(JAVASCRIPT) and (not is_folder or _has_file(target, (".py",))):
        from mcproof.source.python import pipeline as python

        source_map = python.discover(target, overrides, whole=whole, cache=cache)
        if any(source_map.document.values()) or not is_folder or not _has_file(target, JAVASCRIPT):
            return source_map
    from mcproof.source.javascript import pipeline as javascript

    return javascript.discover(target, overrides, whole=whole)


def discover_servers(folder: str, overrides: Mapping[str, bytes] | None = None) -> list[tuple[str, SourceMap]]:
    """Return the catalog of each server in the source below a folder, with a name that leads to it."""
    servers = []
    if _has_file(folder, (".py",)):
        from mcproof.source.python import pipeline as python

        servers += python.discover_servers(folder, overrides)
    if _has_file(folder, JAVASCRIPT):
        from mcproof.source.javascript import pipeline as javascript

        served = {name for name, source in servers if any(source.document.values())}
        for name, source in javascript.discover_servers(folder, overrides):
            if any(source.document.values()):
                # the folder itself may be the name of a server in Python already
                servers.append((source.files[0] if name in served and source.files else name, source))
    return servers


def registers(content: bytes) -> bool:
    """Whether JavaScript or TypeScript has a word in it that registers something with a server."""
    from mcproof.source.javascript.files import registers

    return registers(content)


def syntax_tree_of(file: str, data: bytes) -> Tree:
    """The syntax tree of a file in JavaScript or TypeScript."""
    from mcproof.source.javascript.syntax import parsed

    return parsed(file, data)


def syntax_trees() -> SyntaxTreeCache:
    """An empty store of syntax trees, which an editor passes to each discovery."""
    from mcproof.source.python.pipeline import SyntaxTreeCache

    return SyntaxTreeCache()


def rediscover(source_map: SourceMap, changed: Mapping[str, bytes]) -> SourceMap | None:
    """Repeat a discovery with other content of some files, by their real paths; None if the server is gone."""
    overrides = {**source_map.overrides, **changed}
    if source_map.server is None:
        return discover(source_map.target, overrides, whole=source_map.is_whole)
    discovered = discover_servers(source_map.target, overrides)
    same = [
        candidate
        for _, candidate in discovered
        if candidate.servers == source_map.servers and candidate.server == source_map.server
    ]
    return next((candidate for candidate in same if _is_python(candidate) == _is_python(source_map)), None)


def flows_of(source_map: SourceMap) -> SourceFlows:
    """The flows from what a client sends to dangerous calls."""
    if not _is_python(source_map):
        from mcproof.source.javascript import pipeline as javascript

        return javascript.flows_of(source_map)
    from mcproof.source.python import pipeline as python

    return python.flows_of(source_map)


def configuration_of(source_map: SourceMap, target: str) -> SourceConfiguration:
    """What the source of a catalog configures."""
    if not _is_python(source_map):
        from mcproof.core.observations.source import SourceConfiguration

        why = "the configuration of servers in JavaScript and TypeScript is not read"
        return SourceConfiguration(unobserved=dict.fromkeys(("TRU-309", "TRU-310", "TRU-311"), why))
    from mcproof.source.python import pipeline as python

    return python.configuration_of(source_map, target)


def holds_source(folder: str) -> bool:
    """Whether a folder contains source that may register something with an MCP server."""
    problems: list[SourceProblem] = []
    if _has_file(folder, (".py",)):
        from mcproof.source.python.files import may_register, python_files, read_bytes

        for file in python_files(folder, problems):
            data = read_bytes(file, problems)
            if data is not None and may_register(data, file):
                return True
    if _has_file(folder, JAVASCRIPT):
        from mcproof.source.javascript.files import holds_server

        return holds_server(folder)
    return False


def _is_python(source_map: SourceMap) -> bool:
    return all(file.endswith(".py") for file in source_map.files)


def _has_file(folder: str, suffixes: tuple[str, ...]) -> bool:
    """Whether a name below a folder is that of a source file: a cheap test, as discovery takes long to import.

    Discovery decides about linked folders.
    """
    waiting = [folder]
    while waiting:
        with suppress(OSError), os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if entry.name.endswith(suffixes) or (entry.is_symlink() and entry.is_dir()):
                    return True
                is_own = not entry.name.startswith(".") and entry.name != "node_modules"
                if is_own and entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
    return False
